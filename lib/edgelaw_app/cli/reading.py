"""Features, labels and held-out rows from the files that a reader names."""

import argparse
from typing import Any, NamedTuple

import numpy as np

from edgelaw._common.types import Array
from edgelaw_app import files
from edgelaw_app.cli.terminal import Refusal, shortened
from edgelaw_app.files import InputError, label_place


class Read(NamedTuple):
    """What was read: rows and labels, and what to test on, as `probe` takes it."""

    X: Array
    y: np.ndarray
    held_out: Any
    name: str
    labels: str
    notes: tuple[str, ...]
    warnings: tuple[str, ...]


def features_and_labels(arguments: argparse.Namespace) -> Read:
    """Read what the arguments name, with the rows and dimensions they ask for."""
    kind = _held_out_kind(arguments.held_out)
    place, name = label_place(arguments.labels, arguments.file)
    only = {"columns": arguments.columns, "drop": arguments.drop}
    X, y, notes, warnings = files.read_pair(arguments.file, place, name, arguments.key, **only)
    other: Any = kind
    if isinstance(kind, str):
        features, key, label_file, label_name = _held_out_place(kind, arguments, name)
        other = files.read_pair(features, label_file, label_name, key, **only)[:2]
    rng = np.random.default_rng(arguments.seed)
    if arguments.rows is not None:
        if arguments.rows > len(X):
            raise InputError(
                f"--rows must be at most {len(X):,}, the number of rows in the file, not {arguments.rows:,}."
            )
        chosen = np.sort(rng.permutation(len(X))[: arguments.rows])
        X, y = X[chosen], y[chosen]
        notes = (*notes, f"Chose {arguments.rows:,} rows at random (seed {arguments.seed}).")
    if arguments.dims is not None:
        G = rng.standard_normal((X.shape[1], arguments.dims)) / np.sqrt(arguments.dims)
        notes = (*notes, f"Projected {X.shape[1]:,} columns at random onto {arguments.dims:,}.")
        X = X @ G
        other = (other[0] @ G, other[1]) if isinstance(other, tuple) else other
    return Read(X, y, other, str(arguments.file), arguments.labels, notes, warnings)


def _held_out_kind(text: str) -> float | str | None:
    """A fraction, None, or the text of files."""
    if text == "none":
        return None
    try:
        value = float(text)
    except ValueError:
        return text
    if not 0 < value < 1:
        raise Refusal(f"--held-out must be a fraction strictly between 0 and 1, a file, or none, not {text}.")
    return value


def _held_out_place(
    text: str, arguments: argparse.Namespace, label_name: str | None
) -> tuple[str, str | None, str, str | None]:
    """The file and key of held-out features, the file and name of their labels."""
    first, comma, second = text.partition(",")
    if not comma:
        features, key = label_place(text, arguments.file)
        if label_name is None:
            raise Refusal(
                f"--held-out {shortened(text)} does not say where its labels are; give FEATURES,LABELS, two files."
            )
        return features, key or arguments.key, features, label_name
    features, key = label_place(first, arguments.file)
    label_file, name = label_place(second, features)
    return features, key, label_file, name
