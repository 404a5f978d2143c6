"""Labels from a reader's file: a vector or a few columns of numbers or texts, one entry per row of the features."""

from __future__ import annotations

import math
import os
import re

import numpy as np

from edgelaw_app.files.columns import Choice, listed
from edgelaw_app.files.errors import InputError, as_input_error
from edgelaw_app.files.opening import FORMATS, ending, opened
from edgelaw_app.files.reader import pick
from edgelaw_app.files.tables import Ipc, Parquet, Table
from edgelaw_app.files.text import Text

LARGEST = 2**31  # bytes of an array of labels, which is read whole
_TABLES: dict[str, type[Table]] = {".parquet": Parquet, ".feather": Ipc, ".arrow": Ipc}


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
    if kind in _TABLES:
        table = _TABLES[kind](path)
        _refuse_count(path, table.shape[:1], rows)
        numbers = _columns(path, name, table.shape[1], table.names)
        labels = _joined([_plain(table.column(k)) for k in numbers], path)
    elif FORMATS[kind] == Text.opened:
        labels = _from_text(Text(path), name, rows)
    else:
        if name is None and len(arrays) > 1:
            keys = listed(str(key) for key in arrays)
            raise InputError(
                f"{path} holds several arrays; name one as {path}:KEY, where KEY is among {keys}."
            )
        reader = pick(arrays, path, name)
        _refuse_count(path, reader.shape, rows)
        size = math.prod(reader.shape) * reader.dtype.itemsize
        if size > LARGEST:
            raise InputError(f"{path} holds {size:,} bytes; labels have at most {LARGEST:,}.")
        labels = np.concatenate(list(reader.read(0, rows, rows)))
    if labels.dtype.kind not in "fiubUS":
        raise InputError(f"{path} must hold labels as numbers or texts, not dtype {labels.dtype}.")
    return labels


def _refuse_count(path: str, shape: tuple[int, ...], rows: int) -> None:
    """Refuse an array of labels of another length than that of the rows."""
    if len(shape) not in (1, 2) or shape[0] != rows:
        found = f"{shape[0]:,}" if len(shape) == 1 else f"an array of shape {shape}"
        raise InputError(f"{path} must hold one label for each of the {rows:,} rows, not {found}.")


def _columns(path: str, name: str | None, width: int, names: tuple[str, ...]) -> list[int]:
    """The numbers of the columns of labels."""
    if name is None and width > 1:
        raise InputError(f"{path} holds {width} columns; name one as {path}:COLUMN.")
    return Choice.of(name, None).numbers(path, width, names)


def _from_text(table: Text, name: str | None, rows: int) -> np.ndarray:
    """Columns of a .csv or .tsv file; it has a line of names if it has one line more than there are rows."""
    path = table.path
    with as_input_error(path, "a table of text"):
        lines = table.lines()
        count = table.shape[0] + len(table.names[:1])
        if count not in (rows, rows + 1):
            raise InputError(
                f"{path} must hold one label for each of the {rows:,} rows, not {count:,} lines with labels."
            )
        head = [] if count == rows else table.cells(next(lines))
        numbers = _columns(path, name, table.width, tuple(head))
        texts: list[list[str]] = [[] for _ in numbers]
        for line in lines:
            cells = table.cells(line)
            for kept, column in zip(texts, numbers, strict=True):
                if column >= len(cells) or not cells[column]:
                    raise InputError(f"{path} has no label in its line {line[0]}.")
                kept.append(cells[column])
    return _joined([_typed(column) for column in texts], path)


def _joined(arrays: list[np.ndarray], path: str) -> np.ndarray:
    """One column as a vector, several as a matrix of floats."""
    if len(arrays) == 1:
        return arrays[0]
    if any(array.dtype.kind not in "fiub" for array in arrays):
        raise InputError(f"{path} must hold numbers in several columns of labels, or texts in one.")
    return np.column_stack([array.astype(np.float64) for array in arrays])


def _plain(array: np.ndarray) -> np.ndarray:
    """Texts that Arrow gives as objects of Python, as NumPy's."""
    texts = array.dtype.kind == "O" and all(isinstance(one, str) for one in array.tolist())
    return array.astype(str) if texts else array


def _typed(cells: list[str]) -> np.ndarray:
    """Texts as integers or floats where all of them are."""
    if all(re.fullmatch(r"[+-]?\d{1,18}", cell) for cell in cells):
        return np.array([int(cell) for cell in cells], dtype=np.int64)
    try:
        return np.array([float(cell) if "_" not in cell else float("x") for cell in cells])
    except ValueError:
        return np.array(cells)
