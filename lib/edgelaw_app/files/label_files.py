"""Labels from a reader's file, one entry per row of the features; and both together, as a probe is trained on them."""

from __future__ import annotations

import math
import os
import re
from typing import NamedTuple

import numpy as np

from edgelaw._common.types import Array
from edgelaw_app.files.columns import Choice, Columns, listed
from edgelaw_app.files.errors import InputError, as_input_error
from edgelaw_app.files.opening import TABLES, ending, open_matrix, opened
from edgelaw_app.files.reader import Opened, pick
from edgelaw_app.files.survey import Survey
from edgelaw_app.files.tables import Table
from edgelaw_app.files.text import Text, number

LARGEST = 2**31  # bytes of an array of labels, which is read whole


def label_place(text: str, features: str) -> tuple[str, str | None]:
    """The file and the key or column that a reader means by labels.

    Parameters
    ----------
    text : str
        A file, a file and a name in it (``labels.npz:y``), or a name in the file of the features: a key of one that
        holds several arrays, a column of a table.
    features : str
        The file of the features.

    Returns
    -------
    path, name
        The name is None for a file that is given alone.

    Examples
    --------
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
    """Features from a file and labels from the same one or another; a column of labels is no feature.

    Where the labels are is what `label_place` says; the rest is as for `open_matrix`.
    """
    left_out = [drop] if isinstance(drop, str | int) else list(drop or [])
    if label_name is not None and label_file == features and ending(features) in TABLES:
        left_out.append(label_name)
    _refuse_folder(label_file)
    source = open_matrix(features, key, columns, left_out or None)
    X = source.matrix()
    warnings = Survey.of(X).sentences(source.columns)
    return Pair(X, read_labels(label_file, label_name, len(X)), source.notes, warnings)


def read_labels(path: str, name: str | None, rows: int) -> np.ndarray:
    """Labels of so many rows: an array of integers, floats or texts, of one or two dimensions.

    Parameters
    ----------
    path : str
        A file of any format that :func:`open_matrix` reads.
    name : str or None
        A key or a column; several columns separated by commas. None for the only one there is.
    rows : int
        How many labels there must be.

    Raises
    ------
    InputError
        When the file is missing, not regular, a pickle, or has no such labels; in one sentence.
    """
    _refuse_folder(path)
    arrays = opened(path)
    with as_input_error(path):
        labels = (
            _of_table(path, name, rows) if ending(path) in TABLES else _of_arrays(arrays, path, name, rows)
        )
    if labels.dtype.kind not in "fiubUS":
        raise InputError(f"{path} must hold labels as numbers or texts, not dtype {labels.dtype}.")
    return labels


def _refuse_folder(path: str) -> None:
    if os.path.isdir(path):
        raise InputError(f"{path} is a folder; labels must be in one file of their own, as in labels.npy.")


def _of_table(path: str, name: str | None, rows: int) -> np.ndarray:
    """Labels from columns of a table: one as a vector, several as a matrix of floats."""
    table: Table | Text = TABLES[str(ending(path))](path)
    if isinstance(table, Text):  # a line of names is one line more than there are rows
        table.head(table.shape[0] + table.header == rows + 1)
    if table.shape[0] != rows:
        raise InputError(f"{path} must hold {_one_label(rows)}, not {table.shape[0]:,}.")
    if name is None and table.shape[1] > 1:
        raise InputError(f"{path} holds {table.shape[1]} columns; name one as {path}:COLUMN.")
    numbers = Choice(name).numbers(path, table.shape[1], table.names)
    columns = [_plain(column) for column in table.columns(numbers)]
    if len(columns) == 1:
        return columns[0]
    if any(column.dtype.kind not in "fiub" for column in columns):
        raise InputError(f"{path} must hold numbers in several columns of labels, or texts in one.")
    return np.column_stack([column.astype(np.float64) for column in columns])


def _of_arrays(arrays: Opened, path: str, name: str | None, rows: int) -> np.ndarray:
    """Labels from an array, read whole."""
    if name is None and len(arrays) > 1:
        keys = listed(str(key) for key in arrays)
        raise InputError(f"{path} holds several arrays; name one as {path}:KEY, where KEY is among {keys}.")
    reader = pick(arrays, path, name)
    if len(reader.shape) not in (1, 2) or reader.shape[0] != rows:
        raise InputError(f"{path} must hold {_one_label(rows)}, not an array of shape {reader.shape}.")
    size = math.prod(reader.shape) * reader.dtype.itemsize
    if size > LARGEST:
        raise InputError(f"{path} holds {size:,} bytes; labels have at most {LARGEST:,}.")
    return np.concatenate(list(reader.read(0, rows, rows)))


def _one_label(rows: int) -> str:
    return f"one label for each of the {rows:,} rows"


def _plain(values: np.ndarray) -> np.ndarray:
    """Objects of Python as texts of NumPy, or as integers or floats where all of them are written as such."""
    if values.dtype.kind != "O" or not all(isinstance(one, str) for one in values):
        return values
    if all(re.fullmatch(r"[+-]?\d{1,18}", one) for one in values):
        return values.astype(np.int64)
    numbers = [number(one) for one in values]
    return values.astype(str) if None in numbers else np.array(numbers)
