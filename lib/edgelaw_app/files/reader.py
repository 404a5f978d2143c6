"""What all formats share: a reader of one array or table in blocks of rows, and the choice among several arrays.

A format is a function from a path to the arrays in the file: a dictionary from their names (None for the only one,
without a name) to functions that open them. Nothing is ever unpickled, and what cannot be read is refused as one
:class:`InputError`. Packages that only some formats need are imported when such a file is opened.
"""

from __future__ import annotations

import abc
import importlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType

import numpy as np
import numpy.typing as npt

from edgelaw._common import extras
from edgelaw_app.files.columns import Choice, note
from edgelaw_app.files.errors import InputError, refuse_memory

WIDEST = 2**22  # columns: a few rows of more are gigabytes, and no eigenvalues could be computed of them
USUAL_KEYS = ("x_train", "embeddings", "features")  # the paper's two files, then ours
OBJECTS = (
    "holds pickled objects, which are never loaded: save a plain array, texts by the array's astype(str)"
)


class Reader(abc.ABC):
    """An array or a table, read a block of rows at a time.

    Attributes
    ----------
    path : str
        The file.
    shape : tuple of int
        Of all that is stored, whichever columns are read.
    dtype : numpy.dtype
        As stored.
    seeks : bool
        Whether reading from the middle is cheap.
    in_memory : bool
        Whether the rows are an array of this process and not a file that others can read too.
    names : tuple of str
        The names of the file's columns, if they have names.
    index : sequence of int
        Numbers of those that number the rows.
    used : list of int or None
        The numbers of the columns that are read; None for all.
    notes : tuple of str
        What a reader of the rows should know, such as columns that were left out; sentences.
    """

    path: str
    shape: tuple[int, ...]
    dtype: np.dtype
    seeks: bool = True
    in_memory: bool = False
    names: tuple[str, ...] = ()
    index: Sequence[int] = ()
    used: list[int] | None = None
    notes: tuple[str, ...] = ()
    chosen_by_format = False  # whether `_blocks` leaves out the columns that are not used

    @abc.abstractmethod
    def _blocks(self, start: int, stop: int, rows: int) -> Iterator[np.ndarray]:
        """The rows from `start` to `stop` as they are stored, in blocks of at most `rows`."""

    def read(self, start: int, stop: int, rows: int) -> Iterator[np.ndarray]:
        """The used columns of the rows from `start` to `stop`, as they are stored, in blocks of at most `rows`."""
        row = start
        for block in self._blocks(start, stop, rows):
            row += len(block)
            yield block if self.used is None or self.chosen_by_format else block[:, self.used]
        if row < stop:
            raise InputError(f"{self.path} is truncated: it ends after row {row} of {self.shape[0]}.")

    def take(self, numbers: np.ndarray) -> np.ndarray:
        """The rows of these ascending numbers, as they are stored, read from the first of them to the last."""
        row, pieces = int(numbers[0]), []
        for block in self.read(row, int(numbers[-1]) + 1, 4096):
            a, b = np.searchsorted(numbers, [row, row + len(block)])
            pieces.append(block[numbers[a:b] - row])
            row += len(block)
        return np.concatenate(pieces)

    def choose(self, choice: Choice) -> Reader:
        """This reader, of a matrix of real numbers and of the columns asked for; anything else is refused."""
        width = real_matrix(self.path, self.shape, self.dtype)[1]
        used = choice.numbers(self.path, width, self.names, self.index)
        self.notes = note(used, width, self.names, self.index)
        if len(used) < width:
            self.used = used
            real_matrix(self.path, (self.shape[0], len(used)), self.dtype)
        return self

    def column_names(self) -> list[str]:
        """The names of the columns that are read; their numbers in the file, counted from 0, where they have none."""
        numbers = range(self.shape[1]) if self.used is None else self.used
        return [self.names[k] if self.names else str(k) for k in numbers]

    def __getstate__(self) -> dict:
        """What travels to another process, which may stand in another folder."""
        return vars(self) | ({} if self.in_memory else {"path": os.path.abspath(self.path)})


Opened = dict[str | None, Callable[[], Reader]]


def package(name: str, path: str) -> ModuleType:
    """An optional package, or a sentence that says how to get it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        refuse_memory(error, path)
        raise InputError(f"{path} cannot be read, because {extras.sentence(name.split('.')[0])}") from None


def pick(arrays: Mapping[str | None, Callable[[], Reader]], path: str, key: str | None) -> Reader:
    """Open the array of this name; without one the only array, else the one of a usual name, else the only matrix."""
    if None in arrays and key is not None:
        raise InputError(f"{path} holds one array without a key, so key must be left out, not {key!r}.")
    listed = ", ".join(map(repr, arrays)) or "none"
    if key is not None and key not in arrays:
        raise InputError(f"{path} has no array {key!r}; its arrays are: {listed}.")
    if key is None and len(arrays) == 1:
        (key,) = arrays
    elif key is None:
        candidates: list[str | None] = [usual for usual in USUAL_KEYS if usual in arrays] or [
            name for name, opened in arrays.items() if _is_matrix(opened)
        ]
        if not candidates or (len(candidates) > 1 and candidates[0] not in USUAL_KEYS):
            raise InputError(f"{path} needs a key that says which array to read; its arrays are: {listed}.")
        key = candidates[0]
    return arrays[key]()


def _is_matrix(opened: Callable[[], Reader]) -> bool:
    try:
        reader = opened()
    except InputError:
        return False
    return len(reader.shape) == 2 and reader.dtype.kind in "fiu"


def spans(start: int, stop: int, rows: int) -> Iterator[tuple[int, int]]:
    """The blocks of `rows` rows between start and stop."""
    return ((k, min(k + rows, stop)) for k in range(start, stop, rows))


def real_matrix(path: str, shape: tuple[int, ...], dtype: npt.DTypeLike) -> tuple[int, int]:
    """The shape of a matrix of real numbers with at least two rows and columns; anything else is refused."""
    dtype, shape = np.dtype(dtype), tuple(shape)
    if dtype.hasobject:
        raise InputError(f"{path} {OBJECTS}.")
    if dtype.kind == "c":
        raise InputError(f"{path} must hold real numbers, not complex ones (dtype {dtype}).")
    if dtype.kind not in "fiu":
        raise InputError(f"{path} must hold real numbers, not dtype {dtype}.")
    if len(shape) != 2:
        raise InputError(
            f"{path} must hold a matrix, one example per row, but its array has {len(shape)} dimension(s): "
            f"its shape must be (rows, columns), not shape {shape}."
        )
    if shape[1] > WIDEST:
        raise InputError(f"{path} must have at most {WIDEST:,} columns, not {shape[1]:,}.")
    if 0 in shape:
        raise InputError(f"{path} holds no numbers: its array is empty, of shape {shape}.")
    if min(shape) < 2:
        what = "row" if shape[0] < 2 else "column"
        raise InputError(
            f"{path} holds one {what} only; at least 2 rows and 2 columns are needed, not shape {shape}."
        )
    return shape[0], shape[1]
