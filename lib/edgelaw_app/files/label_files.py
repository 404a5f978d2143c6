"""Labels from a reader's file: a vector or a few columns of numbers or texts, one entry per row of the features."""

from __future__ import annotations

import math
import os
import re

import numpy as np

from edgelaw_app.files.columns import Choice, listed
from edgelaw_app.files.errors import InputError
from edgelaw_app.files.opening import FORMATS, ending, opened
from edgelaw_app.files.reader import pick
from edgelaw_app.files.tables import Ipc, Parquet
from edgelaw_app.files.text import Text, number

LARGEST = 2**31  # bytes of an array of labels, which is read whole
_TABLES = {".parquet": Parquet, ".feather": Ipc, ".arrow": Ipc} | dict.fromkeys(
    (".csv", ".tsv", ".csv.gz", ".tsv.gz"), Text
)


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


def read_labels(path: str, name: str | None, rows: int) -> np.ndarray:
    """Labels of so many rows: an array of integers, floats or texts, of one or two dimensions.

    Parameters
    ----------
    path : str
        A .npy, .npz, .csv or .tsv (plain or .gz), .parquet, .feather, .arrow, .safetensors, .pt, .pth or .zarr file.
    name : str or None
        A key or a column; several columns separated by commas. None for the only one there is.
    rows : int
        How many labels there must be.

    Raises
    ------
    InputError
        When the file is missing, not regular, a pickle, or has no such labels; in one sentence.
    """
    kind = ending(path)
    if os.path.isdir(path) and kind != ".zarr":
        raise InputError(f"{path} is a folder; labels must be in one file of their own, as in labels.npy.")
    if kind is None:
        raise InputError(f"{path} must end in {', '.join(FORMATS)} to be read as labels.")
    arrays = opened(path)
    table = _TABLES[kind](path) if kind in _TABLES else None
    if isinstance(table, Text):  # a line of names is one line more than there are rows
        lines = table.shape[0] + table.header
        table.head(lines - rows if lines in (rows, rows + 1) else 0)
    if name is None and table is None and len(arrays) > 1:
        keys = listed(str(key) for key in arrays)
        raise InputError(f"{path} holds several arrays; name one as {path}:KEY, where KEY is among {keys}.")
    reader = table or pick(arrays, path, name)
    if len(reader.shape) not in (1, 2) or reader.shape[0] != rows:
        count = (
            f"{reader.shape[0]:,}" if table or len(reader.shape) == 1 else f"an array of shape {reader.shape}"
        )
        raise InputError(f"{path} must hold one label for each of the {rows:,} rows, not {count}.")
    if table is not None:
        if name is None and reader.shape[1] > 1:
            raise InputError(f"{path} holds {reader.shape[1]} columns; name one as {path}:COLUMN.")
        numbers = Choice(name).numbers(path, reader.shape[1], reader.names)
        labels = _joined([_plain(column) for column in table.columns(numbers)], path)
    else:
        size = math.prod(reader.shape) * reader.dtype.itemsize
        if size > LARGEST:
            raise InputError(f"{path} holds {size:,} bytes; labels have at most {LARGEST:,}.")
        labels = np.concatenate(list(reader.read(0, rows, rows)))
    if labels.dtype.kind not in "fiubUS":
        raise InputError(f"{path} must hold labels as numbers or texts, not dtype {labels.dtype}.")
    return labels


def _joined(arrays: list[np.ndarray], path: str) -> np.ndarray:
    """One column as a vector, several as a matrix of floats."""
    if len(arrays) == 1:
        return arrays[0]
    if any(array.dtype.kind not in "fiub" for array in arrays):
        raise InputError(f"{path} must hold numbers in several columns of labels, or texts in one.")
    return np.column_stack([array.astype(np.float64) for array in arrays])


def _plain(values: np.ndarray) -> np.ndarray:
    """Objects of Python as texts of NumPy, or as integers or floats where all of them are written as such."""
    if values.dtype.kind != "O" or not all(isinstance(one, str) for one in values):
        return values
    if all(re.fullmatch(r"[+-]?\d{1,18}", one) for one in values):
        return values.astype(np.int64)
    numbers = [number(one) for one in values]
    return values.astype(str) if None in numbers else np.array(numbers)
