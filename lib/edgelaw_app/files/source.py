"""A matrix that is read a block of rows at a time, from one file or from many."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from edgelaw._common import arguments, preprocessing
from edgelaw_app.files.errors import InputError, as_input_error
from edgelaw_app.files.reader import Reader


class Source:
    """A matrix that is read a block at a time; made by :func:`open_matrix`."""

    name: str  #: the path as it was given
    shape: tuple[int, int]  #: rows and columns
    dtype: np.dtype  #: of what is read: float32 if stored as float32 or float16 (or bfloat16), else float64
    columns: list[
        str
    ]  #: names of those that are read; their numbers in the file, counted from 0, without names
    notes: tuple[str, ...]  #: what was left out of the file, in sentences

    def __init__(self, readers: Sequence[Reader], name: str) -> None:
        self.name, self._readers = name, list(readers)
        self._ends = np.cumsum([0, *(reader.shape[0] for reader in readers)]).tolist()
        self.dtype = np.result_type(*(_kept(reader.dtype) for reader in readers))
        self.columns = readers[0].used_names()
        self.shape = (int(self._ends[-1]), len(self.columns))
        self.notes = tuple(dict.fromkeys(note for reader in readers for note in reader.notes))

    def __repr__(self) -> str:
        return f"Source({self.name!r}, shape={self.shape}, dtype={self.dtype})"

    @property
    def in_memory(self) -> bool:
        """Whether the rows are an array of this process and not a file that others can read too."""
        return any(reader.in_memory for reader in self._readers)

    def blocks(self, rows: int = 4096, start: int = 0, stop: int | None = None) -> Iterator[np.ndarray]:
        """All rows, or those from `start` to `stop`, as arrays of at most `rows` rows; none that is not finite."""
        rows = arguments.whole(rows, "rows", 1)
        stop = self.shape[0] if stop is None else min(stop, self.shape[0])
        for reader, begin, end in self._files():
            if max(start, begin) < min(stop, end):
                for raw in reader.read(max(start - begin, 0), min(stop, end) - begin, rows):
                    yield self._floats(raw, range(start, start + len(raw)))
                    start += len(raw)

    def take(self, indices: npt.ArrayLike) -> np.ndarray:
        """These rows, in the order given; only what is needed of the file is read, where its format allows it."""
        numbers = row_numbers(indices, self.shape[0])
        order = np.argsort(numbers, kind="stable")
        ascending = numbers[order]
        result = np.empty((len(numbers), self.shape[1]), self.dtype)
        for reader, begin, end in self._files():
            a, b = np.searchsorted(ascending, [begin, end])
            if a < b:
                with as_input_error(reader.path):
                    raw = reader.take(ascending[a:b] - begin)
                result[order[a:b]] = self._floats(raw, ascending[a:b])
        return result

    def matrix(self) -> np.ndarray:
        """All rows in memory."""
        return filled(self.shape, self.dtype, self.blocks())

    def parts(self, count: int) -> list[tuple[int, int]]:
        """About `count` ranges of rows (start, stop); files that cannot be entered in the middle are not cut."""
        size = max(1, -(-self.shape[0] // max(count, 1)))
        ranges: list[tuple[int, int]] = []
        for reader, begin, end in self._files():
            for a in range(begin, end, size if reader.seeks else end - begin):
                b = min(a + size, end) if reader.seeks else end
                joined = ranges and b - ranges[-1][0] <= size
                ranges[-1:] = [(ranges[-1][0], b)] if joined else [*ranges[-1:], (a, b)]
        return ranges

    def _files(self) -> Iterator[tuple[Reader, int, int]]:
        """Every file's reader, with the numbers of its first row and of the next file's."""
        return zip(self._readers, self._ends[:-1], self._ends[1:], strict=True)

    def _floats(self, raw: np.ndarray, numbers: Sequence[int] | np.ndarray) -> np.ndarray:
        """Raw rows, of these numbers, as floats whose squares are finite; the first that is not is refused."""
        with np.errstate(invalid="ignore"):  # some bits of no number are told of even where they are cast
            block = raw.astype(self.dtype, copy=False)
            largest = float(max(block.max(initial=0), -block.min(initial=0)))  # NaN where there is one
            if not largest <= preprocessing.LARGEST:
                i, j = np.argwhere(~(np.abs(block.astype(np.float64)) <= preprocessing.LARGEST))[0]
                raise InputError(
                    f"{self.name} must hold finite numbers, at most {preprocessing.LARGEST:g} in size, but there is "
                    f"{block[i, j]} in row {numbers[i]}, column {self.columns[j]!r} (counted from 0)."
                )
        return block


def filled(shape: tuple[int, int], dtype: npt.DTypeLike, blocks: Iterable[np.ndarray]) -> np.ndarray:
    """A matrix of these blocks of rows."""
    X, first = np.empty(shape, dtype), 0
    for block in blocks:
        X[first : first + len(block)] = block
        first += len(block)
    return X


def _kept(dtype: np.dtype) -> np.dtype:
    """float32 for numbers that fit into it, else float64."""
    return np.dtype(np.float32) if dtype in (np.float32, np.float16) else np.dtype(np.float64)


def row_numbers(indices: npt.ArrayLike, available: int) -> np.ndarray:
    """Numbers of rows as integers, refused where there is no such row."""
    numbers = np.asarray(indices)
    if numbers.size == 0:
        return np.empty(0, dtype=np.int64)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or numbers.min() < 0 or numbers.max() >= available:
        raise ValueError(f"indices must be a list of row numbers from 0 to {available - 1}.")
    return numbers
