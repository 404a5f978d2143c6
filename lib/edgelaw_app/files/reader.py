"""What all formats share: a reader of one array or table in blocks of rows, and the choice among several arrays.

A format is a function from a path to the arrays in the file: a dictionary from their names (None for the only one) to
functions that open them. Packages that only some formats need are imported with such a file.
"""

from __future__ import annotations

import abc
import contextlib
import importlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType

import numpy as np

from edgelaw._common import extras
from edgelaw_app.files.columns import Columns, chosen, note
from edgelaw_app.files.errors import OBJECTS, InputError, as_input_error, refuse_memory

WIDEST = 2**22  # columns: a few rows of more are gigabytes, and no eigenvalues could be computed of them
USUAL_KEYS = ("x_train", "embeddings", "features")  # the paper's two files, then ours


class Reader(abc.ABC):
    """An array or a table, read a block of rows at a time."""

    path: str
    shape: tuple[int, ...]  # of all that is stored, whichever columns are read
    dtype: np.dtype  # as stored
    seeks: bool = True  # whether reading from the middle is cheap
    in_memory: bool = False  # whether the rows are an array of this process, not a file that others can read
    used: list[int] | None = None  # numbers of the columns that are read; None for all
    notes: tuple[str, ...] = ()  # sentences on what was left out

    @abc.abstractmethod
    def _blocks(self, start: int, stop: int, rows: int) -> Iterator[np.ndarray]:
        """Generate the rows from `start` to `stop` in blocks of at most `rows`, with all columns or the used ones."""

    def read(self, start: int, stop: int, rows: int) -> Iterator[np.ndarray]:
        """The used columns of the rows from `start` to `stop`, as they are stored, in blocks of at most `rows`."""
        blocks, row = self._blocks(start, stop, rows), start
        while True:
            with as_input_error(self.path):
                block = next(blocks, None)
                if block is None:
                    break
            row += len(block)
            yield self.only_used(block)
        if row < stop:
            raise InputError(f"{self.path} is truncated: it ends after row {row} of {self.shape[0]}.")

    def only_used(self, rows: np.ndarray) -> np.ndarray:
        """The used columns of some rows; a format may have left out the others already."""
        return rows if self.used is None or rows.shape[1] == len(self.used) else rows[:, self.used]

    def take(self, numbers: np.ndarray) -> np.ndarray:
        """The rows of these ascending numbers, as they are stored, read from the first of them to the last."""
        row, pieces = int(numbers[0]), []
        for block in self.read(row, int(numbers[-1]) + 1, 4096):
            a, b = np.searchsorted(numbers, [row, row + len(block)])
            pieces.append(block[numbers[a:b] - row])
            row += len(block)
        return np.concatenate(pieces)

    def names(self) -> list[str]:
        """The names of all columns; their numbers, counted from 0, where they have none."""
        return [str(k) for k in range(self.shape[1])]

    def choose(self, columns: Columns | None = None, drop: Columns | None = None) -> Reader:
        """This reader, of a matrix of real numbers and of the columns asked for; anything else is refused."""
        _refuse_other_than_matrix(self.path, self.shape, self.dtype)
        used = chosen(self.path, self.names(), columns, drop)
        self.notes = note(used, self.names())
        if len(used) < self.shape[1]:
            self.used = used
            _refuse_other_than_matrix(self.path, (self.shape[0], len(used)), self.dtype)
        return self

    def used_numbers(self) -> Sequence[int]:
        """The numbers of the columns that are read."""
        return range(self.shape[1]) if self.used is None else self.used

    def used_names(self) -> list[str]:
        """The names of the columns that are read."""
        names = self.names()
        return [names[k] for k in self.used_numbers()]

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
    reader = arrays[key]()
    if reader.dtype.hasobject:
        raise InputError(f"{path} holds {OBJECTS}.")
    return reader


def _is_matrix(opened: Callable[[], Reader]) -> bool:
    with contextlib.suppress(Exception):
        reader = opened()
        return len(reader.shape) == 2 and reader.dtype.kind in "fiu"
    return False


def spans(start: int, stop: int, rows: int) -> Iterator[tuple[int, int]]:
    """The blocks of `rows` rows between start and stop."""
    return ((k, min(k + rows, stop)) for k in range(start, stop, rows))


def _refuse_other_than_matrix(path: str, shape: tuple[int, ...], dtype: np.dtype) -> None:
    """Refuse what is no matrix of real numbers with at least two rows and columns."""
    if dtype.kind not in "fiu":
        raise InputError(f"{path} must hold real numbers, not dtype {dtype}.")
    if len(shape) != 2 or min(shape) < 2 or shape[1] > WIDEST:
        raise InputError(
            f"{path} must hold a matrix of at least 2 rows, one per example, and 2 to {WIDEST:,} columns, not an "
            f"array of shape {shape}."
        )
