"""Labels from a reader's file: a vector or a few columns of numbers or texts, one entry per row of the features."""

from __future__ import annotations

import contextlib
import csv
import gzip
import os
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from edgelaw_app.files.columns import listed
from edgelaw_app.files.errors import InputError, MissingFile, as_input_error
from edgelaw_app.files.opening import FORMATS, refuse_irregular
from edgelaw_app.files.reader import package

LARGEST = 2**31  # bytes of an array of labels, which is read whole
_TEXTS = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
_TABLES = (".parquet", ".feather", ".arrow")


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
    if _exists(text) or _ending(text):
        return text, None
    head, colon, tail = text.rpartition(":")
    if colon and tail and (_exists(head) or _ending(head)):
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
    ending = _ending(path)
    place = Path(path)
    if not _exists(path):
        raise MissingFile(f"There is no file {path}.")
    if place.is_dir() and ending != ".zarr":
        raise InputError(f"{path} is a folder; labels must be in one file of their own, as in labels.npy.")
    if ending is None:
        raise InputError(f"{path} must end in {', '.join(FORMATS)} to be read as labels.")
    refuse_irregular(place, path)
    if ending in _TEXTS:
        labels = _from_text(path, name, rows)
    elif ending in _TABLES:
        labels = _from_table(path, name, ending)
    else:
        labels = _ARRAYS[ending](path, name)
    if labels.dtype.kind not in "fiubUS":
        raise InputError(f"{path} must hold labels as numbers or texts, not dtype {labels.dtype}.")
    if labels.ndim not in (1, 2) or len(labels) != rows:
        shape = f"{len(labels):,}" if labels.ndim == 1 else f"an array of shape {labels.shape}"
        raise InputError(f"{path} must hold one label for each of the {rows:,} rows, not {shape}.")
    return labels


def _exists(path: str) -> bool:
    try:
        return os.path.exists(path)
    except ValueError:  # a null character
        return False


def _ending(path: str) -> str | None:
    name = os.path.basename(path).lower()
    return next((ending for ending in sorted(FORMATS, key=len, reverse=True) if name.endswith(ending)), None)


def _one_of(keys: Sequence[str], path: str, name: str | None) -> str:
    """The array to read among several."""
    if name is None and len(keys) == 1:
        return keys[0]
    if name is None:
        raise InputError(
            f"{path} holds several arrays; name one as {path}:KEY, where KEY is among {listed(keys)}."
        )
    if name not in keys:
        raise InputError(f"{path} has no array {name!r}; its arrays are: {listed(keys)}.")
    return name


def _refuse_name(path: str, name: str | None) -> None:
    if name is not None:
        raise InputError(f"{path} holds one array without a name, so there is no array {name!r}.")


# arrays ----------------------------------------------------------------------------------------------------


def _from_npy(path: str, name: str | None) -> np.ndarray:
    _refuse_name(path, name)
    with as_input_error(path, "a numpy file"), _no_objects(path):
        _refuse_pickle(path)
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))


def _from_npz(path: str, name: str | None) -> np.ndarray:
    with as_input_error(path, "a numpy .npz file"):
        _refuse_pickle(path)
        with zipfile.ZipFile(path) as archive:
            sizes = {
                one.filename.removesuffix(".npy"): one.file_size
                for one in archive.infolist()
                if one.filename.endswith(".npy")
            }
        key = _one_of(list(sizes), path, name)
        if sizes[key] > LARGEST:
            raise InputError(
                f"{path} holds {sizes[key]:,} bytes as {key!r}; labels have at most {LARGEST:,}."
            )
        with np.load(path, allow_pickle=False) as archive, _no_objects(path):
            return np.asarray(archive[key])


@contextlib.contextmanager
def _no_objects(path: str) -> Iterator[None]:
    """What numpy says of an array of objects, in a sentence with the remedy."""
    try:
        yield
    except ValueError as error:
        if not re.search("pickle|objects", str(error).lower()) or isinstance(error, InputError):
            raise
        raise InputError(
            f"{path} holds pickled objects, which are never loaded: save integers, or texts by y.astype(str)."
        ) from None


def _refuse_pickle(path: str) -> None:
    with open(path, "rb") as handle:
        if handle.read(1) == b"\x80":
            raise InputError(f"{path} is a pickle; pickles are never loaded: save a plain array.")


def _from_torch(path: str, name: str | None) -> np.ndarray:
    torch: Any = package("torch", path)
    try:
        loaded = torch.load(path, map_location="cpu", weights_only=True)
    except Exception:
        raise InputError(
            f"{path} cannot be read as tensors only, so it is refused: it is damaged, or a pickle of other objects, "
            "which are never loaded."
        ) from None
    if isinstance(loaded, dict):
        tensors = {str(key): value for key, value in loaded.items() if isinstance(value, torch.Tensor)}
        loaded = tensors[_one_of(list(tensors), path, name)]
    elif isinstance(loaded, torch.Tensor):
        _refuse_name(path, name)
    else:
        raise InputError(f"{path} must hold a tensor or a dictionary of tensors.")
    with as_input_error(path, "a torch file"):
        return (loaded.float() if loaded.dtype == torch.bfloat16 else loaded).numpy()


def _from_safetensors(path: str, name: str | None) -> np.ndarray:
    safetensors: Any = package("safetensors", path)
    with as_input_error(path, "a safetensors file"), safetensors.safe_open(path, "np") as file:
        return np.asarray(file.get_tensor(_one_of(list(file.keys()), path, name)))


def _from_zarr(path: str, name: str | None) -> np.ndarray:
    zarr: Any = package("zarr", path)
    with as_input_error(path, "a zarr store"):
        opened = zarr.open(path, mode="r")
        if not isinstance(opened, zarr.Array):
            opened = opened[_one_of(sorted(key for key, _ in opened.arrays()), path, name)]
        else:
            _refuse_name(path, name)
        if opened.dtype.kind == "O" or opened.size * opened.dtype.itemsize > LARGEST:
            raise InputError(
                f"{path} must hold labels as plain numbers or texts of at most {LARGEST:,} bytes."
            )
        return np.asarray(opened[...])


_ARRAYS: dict[str, Callable[[str, str | None], np.ndarray]] = {
    ".npy": _from_npy,
    ".npz": _from_npz,
    ".pt": _from_torch,
    ".pth": _from_torch,
    ".safetensors": _from_safetensors,
    ".zarr": _from_zarr,
}


# tables ----------------------------------------------------------------------------------------------------


def _from_table(path: str, name: str | None, ending: str) -> np.ndarray:
    """Columns of a .parquet, .feather or .arrow file."""
    package("pyarrow", path)
    import pyarrow
    from pyarrow import feather, ipc, parquet

    with as_input_error(path, "a table of Arrow"):
        if ending == ".parquet":
            names = list(parquet.read_schema(path).names)
            columns = _columns(names, path, name)
            table = parquet.read_table(path, columns=[names[k] for k in columns])
        else:
            try:
                table = feather.read_table(path)
            except pyarrow.ArrowInvalid:
                with pyarrow.memory_map(path) as mapped:
                    table = ipc.open_stream(mapped).read_all()
            table = table.select(_columns(list(table.column_names), path, name))
        arrays = []
        for column in table.columns:
            if column.null_count:
                raise InputError(f"{path} has {column.null_count:,} missing labels in {name!r}.")
            if pyarrow.types.is_dictionary(column.type):
                column = column.combine_chunks().dictionary_decode()
            arrays.append(np.asarray(column.to_numpy(zero_copy_only=False)))
    return _joined(arrays, path)


def _joined(arrays: list[np.ndarray], path: str) -> np.ndarray:
    """One column as a vector, several as a matrix of floats."""
    plain = [
        array.astype(str)
        if array.dtype.kind == "O" and all(isinstance(one, str) for one in array.tolist())
        else array
        for array in arrays
    ]
    if len(plain) == 1:
        return plain[0]
    if any(array.dtype.kind not in "fiub" for array in plain):
        raise InputError(f"{path} must hold numbers in several columns of labels, or texts in one.")
    return np.column_stack([array.astype(np.float64) for array in plain])


def _columns(names: Sequence[str], path: str, name: str | None, width: int | None = None) -> list[int]:
    """The numbers of the columns of labels."""
    width = len(names) if width is None else width
    if name is None:
        if width == 1:
            return [0]
        raise InputError(f"{path} holds {width} columns; name one as {path}:COLUMN.")
    if name in names:
        return [list(names).index(name)]
    numbers = []
    for part in name.split(","):
        part = part.strip()
        if part in names:
            numbers.append(list(names).index(part))
        elif re.fullmatch(r"-?\d{1,9}", part) and -width <= int(part) < width:
            numbers.append(int(part) % width)
        elif names:
            raise InputError(f"{path} has no column {part!r}; its columns are: {listed(names)}.")
        else:
            raise InputError(
                f"{path} has columns without names, so name one by a number from 0 to {width - 1}, not {part!r}."
            )
    return numbers


def _lines(path: str) -> Iterator[list[str]]:
    """The cells of every line that has any."""
    opened: Any = gzip.open if path.lower().endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8-sig", newline="") as handle:
        first = handle.readline(2**24)
        tabs = path.lower().removesuffix(".gz").endswith(".tsv")
        separator = "\t" if tabs else next((sign for sign in ",;\t" if sign in first), ",")
        handle.seek(0)
        for cells in csv.reader(handle, delimiter=separator, skipinitialspace=True):
            if any(cell.strip() for cell in cells):
                yield cells


def _from_text(path: str, name: str | None, rows: int) -> np.ndarray:
    """Columns of a .csv or .tsv file; it has a line of names if it has one line more than there are rows."""
    with as_input_error(path, "a table of text"):
        count = sum(1 for _ in _lines(path))
        if count not in (rows, rows + 1):
            raise InputError(
                f"{path} must hold one label for each of the {rows:,} rows, not {count:,} lines with labels."
            )
        lines = _lines(path)
        head = [cell.strip() for cell in next(lines)]
        names = head if count == rows + 1 else []
        columns = _columns(names, path, name, len(head))
        texts: list[list[str]] = [[] for _ in columns]
        for number, cells in enumerate(lines if names else _lines(path), start=1):
            if len(cells) <= max(columns):
                raise InputError(f"{path} has no label in its row {number}.")
            for kept, column in zip(texts, columns, strict=True):
                kept.append(cells[column].strip())
        return _joined([_typed(column, path) for column in texts], path)


def _typed(cells: list[str], path: str) -> np.ndarray:
    """Texts as integers or floats where all of them are."""
    if "" in cells:
        raise InputError(f"{path} has no label in its row {cells.index('') + 1}.")
    if all(re.fullmatch(r"[+-]?\d{1,18}", cell) for cell in cells):
        return np.array([int(cell) for cell in cells], dtype=np.int64)
    try:
        return np.array([float(cell) if "_" not in cell else float("x") for cell in cells])
    except ValueError:
        return np.array(cells)
