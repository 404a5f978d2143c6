"""Features and labels together, as a linear probe is trained on them: read whole, labels out of the features."""

from __future__ import annotations

import os
from typing import NamedTuple

import numpy as np

from edgelaw._common.types import Array
from edgelaw_app.files.columns import Columns
from edgelaw_app.files.errors import InputError
from edgelaw_app.files.label_files import read_labels
from edgelaw_app.files.oddities import Watch
from edgelaw_app.files.opening import open_matrix

TABLES = (".csv", ".tsv", ".csv.gz", ".tsv.gz", ".parquet", ".feather", ".arrow")


class Pair(NamedTuple):
    """Rows (m, d) and labels, what was done to them, and sentences on columns that are no features."""

    X: Array
    y: np.ndarray
    notes: tuple[str, ...]
    warnings: tuple[str, ...]


def read_pair(
    features: str,
    label_file: str,
    label_name: str | None,
    key: str | None = None,
    columns: Columns | None = None,
    drop: Columns | None = None,
) -> Pair:
    """Features from a file and labels from the same one or another; a column of labels is no feature.

    Where the labels are is what `label_place` says; the rest is as for `open_matrix`.
    """
    left_out = [drop] if isinstance(drop, str | int) else list(drop or [])
    if label_name is not None and label_file == features and features.lower().endswith(TABLES):
        left_out.append(label_name)
    if os.path.isdir(features) and label_file == features and not features.lower().endswith(".zarr"):
        raise InputError(
            f"{features} is a folder; labels must be in one file of their own, as in labels.npy."
        )
    source = open_matrix(features, key, columns, left_out or None)
    X, first, watch = np.empty(source.shape, source.dtype), 0, Watch(source.shape[1])
    for block in source.blocks():
        watch.add(block)
        X[first : first + len(block)] = block
        first += len(block)
    return Pair(X, read_labels(label_file, label_name, len(X)), source.notes, watch.sentences(source.columns))
