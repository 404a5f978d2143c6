"""Labels from a reader's file, one entry per row of the features; and both together, as a probe is trained on them."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from edgelaw._common.types import Array
from edgelaw_app.files.columns import Columns, chosen, listed
from edgelaw_app.files.errors import InputError, as_input_error, refuse_large
from edgelaw_app.files.opening import TABLES, ending, open_matrix, opened
from edgelaw_app.files.reader import Opened, Reader, pick
from edgelaw_app.files.survey import Survey
from edgelaw_app.files.tables import Table
from edgelaw_app.files.text import Text, number


def label_place(text: str, features: str) -> tuple[str, str | None]:
    """The file and the key or column (None for a file alone) that a reader means by labels beside some features.

    They may be named as a file, as a file and a name in it (``labels.npz:y``), or as a name in the features' file.

    >>> label_place("y", "data.npz"), label_place("labels.npz:y", "data.npy"), label_place("labels.csv", "data.npy")
    (('data.npz', 'y'), ('labels.npz', 'y'), ('labels.csv', None))
    """
    if os.path.lexists(text.replace("\0", "")) or ending(text):
        return text, None
    head, _, tail = text.rpartition(":")
    if head and tail and (os.path.lexists(head) or ending(head)):
        return head, tail
    return features, text


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
    """Features from a file and labels from the place that `label_place` says; a column of labels is no feature."""
    left_out = [drop] if isinstance(drop, str | int) else list(drop or [])
    if label_name is not None and label_file == features and ending(features) in TABLES:
        left_out.append(label_name)
    source = open_matrix(features, key, columns, left_out or None)
    X = source.matrix()
    warnings = Survey.of(X).sentences(source.columns)
    return Pair(X, read_labels(label_file, label_name, len(X)), source.notes, warnings)


def read_labels(path: str, name: str | None, rows: int) -> np.ndarray:
    """So many labels, integers, floats or texts: of a key or columns, or of the only ones there are."""
    if os.path.isdir(path):
        raise InputError(f"{path} is a folder; labels must be in one file of their own, as in labels.npy.")
    with as_input_error(path):
        arrays, table = opened(path), TABLES.get(str(ending(path)))
        labels = _of_table(table(path), name, rows) if table else _of_arrays(arrays, path, name, rows)
    if labels.dtype.kind not in "fiubUS":
        raise InputError(f"{path} must hold labels as numbers or texts, not dtype {labels.dtype}.")
    return labels


def _of_table(table: Table | Text, name: str | None, rows: int) -> np.ndarray:
    """Labels from columns of a table: one as a vector, several as a matrix of floats."""
    if isinstance(table, Text):  # a line of names is one line more than there are rows
        table.head(table.shape[0] + table.header == rows + 1)
    _refuse_other_shape(table, rows)
    numbers = chosen(table.path, table.names(), name)
    _refuse_several(table.path, name, [table.names()[k] for k in numbers])
    columns = [_plain(column) for column in table.columns(numbers)]
    if len(columns) == 1:
        return columns[0]
    if any(column.dtype.kind not in "fiub" for column in columns):
        raise InputError(f"{table.path} must hold numbers in several columns of labels, or texts in one.")
    return np.column_stack([column.astype(np.float64) for column in columns])


def _of_arrays(arrays: Opened, path: str, name: str | None, rows: int) -> np.ndarray:
    """Labels from an array, read whole."""
    _refuse_several(path, name, map(str, arrays))
    reader = pick(arrays, path, name)
    _refuse_other_shape(reader, rows)
    refuse_large(path, math.prod(reader.shape) * reader.dtype.itemsize)
    return np.concatenate(list(reader.read(0, rows, rows)))


def _refuse_several(path: str, name: str | None, names: Iterable[str]) -> None:
    names = list(names)
    if name is None and len(names) > 1:
        raise InputError(f"{path} holds several arrays or columns; name one as {path}:NAME: {listed(names)}.")


def _refuse_other_shape(reader: Reader, rows: int) -> None:
    if len(reader.shape) not in (1, 2) or reader.shape[0] != rows:
        raise InputError(
            f"{reader.path} must hold one label for each of the {rows:,} rows, not an array of shape {reader.shape}."
        )


def _plain(values: np.ndarray) -> np.ndarray:
    """Objects of Python as texts of NumPy, or as integers or floats where all of them are written as such."""
    if values.dtype.kind != "O" or not all(isinstance(one, str) for one in values):
        return values
    if all(re.fullmatch(r"[+-]?\d{1,18}", one) for one in values):
        return values.astype(np.int64)
    numbers = [number(one) for one in values]
    return values.astype(str) if None in numbers else np.array(numbers)
