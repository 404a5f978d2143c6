"""A matrix that is read a block of rows at a time, from one file or from many."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from edgelaw._common import arguments, preprocessing
from edgelaw_app.files.errors import InputError
from edgelaw_app.files.reader import Reader

_NEAR = 16  # rows between two that are read in one go: cheaper than to seek
_EXACT = 2**53  # floating point numbers cannot tell larger integers from each other


class Source:
    """A matrix that is read a block at a time; made by :func:`open_matrix`.

    Attributes
    ----------
    name : str
        The path as it was given.
    shape : (rows, columns)
    dtype : numpy.dtype
        Of what is read: float32 if stored as float32 or float16 (or bfloat16), else float64.
    keys : list of str
        The arrays in the (first) file, if they have names.
    notes : tuple of str
        What was left out of the file, in sentences.
    """

    def __init__(self, readers: Sequence[Reader], name: str) -> None:
        self.name, self._readers = name, list(readers)
        self._ends = np.cumsum([0, *(reader.shape[0] for reader in readers)])
        self.shape = (int(self._ends[-1]), int(readers[0].shape[1]))
        self.dtype = np.result_type(*(_kept(reader.dtype) for reader in readers))
        self.keys = list(readers[0].keys)
        self.notes = tuple(dict.fromkeys(note for reader in readers for note in reader.notes))

    def __repr__(self) -> str:
        return f"Source({self.name!r}, shape={self.shape}, dtype={self.dtype})"

    def __getstate__(self) -> dict:
        return {**self.__dict__, "_readers": [reader.portable() for reader in self._readers]}

    @property
    def columns(self) -> list[str]:
        """The names of the columns that are read; their numbers in the file, counted from 0, where they have none."""
        first = self._readers[0]
        return list(first.names) or [
            str(k) for k in (range(self.shape[1]) if first.numbers is None else first.numbers)
        ]

    @property
    def seeks(self) -> bool:
        """Whether reading from the middle is cheap."""
        return all(reader.seeks for reader in self._readers)

    @property
    def in_memory(self) -> bool:
        """Whether the rows are an array of this process and not a file that others can read too."""
        return any(reader.in_memory for reader in self._readers)

    def blocks(self, rows: int = 4096, start: int = 0, stop: int | None = None) -> Iterator[np.ndarray]:
        """All rows, or those from `start` to `stop`, as arrays of at most `rows` rows.

        Raises
        ------
        InputError
            At the first block that is not finite, after the rest has been counted.
        """
        rows = arguments.whole(rows, "rows", 1)
        stop = self.shape[0] if stop is None else min(stop, self.shape[0])
        pieces = self._raw(rows, start, stop)
        for first, raw in pieces:
            yield self._floats(raw, range(first, first + len(raw)), pieces)

    def take(self, indices: npt.ArrayLike) -> np.ndarray:
        """These rows, in the order given; only what is needed of the file is read, where its format allows it."""
        numbers = row_numbers(indices, self.shape[0])
        order = np.argsort(numbers, kind="stable")
        result = np.empty((len(numbers), self.shape[1]), self.dtype)
        for first, rows in self.ascending(numbers[order]):
            result[order[first : first + len(rows)]] = rows
        return result

    def ascending(self, numbers: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """Pairs of (k, the rows numbers[k], numbers[k+1], ...) for row numbers that ascend."""
        for reader, begin, end in self._files():
            low, high = np.searchsorted(numbers, [begin, end])
            mine = numbers[low:high] - begin
            if not len(mine):
                continue
            # a format that seeks is read in runs of near rows, another from its beginning to the last row needed
            cuts = np.flatnonzero(np.diff(mine) > _NEAR) + 1 if reader.seeks else np.array([], int)
            for run in np.split(mine, cuts):
                row = int(run[0]) if reader.seeks else 0
                for raw in reader.read(row, int(run[-1]) + 1, 4096):
                    a, b = np.searchsorted(mine, [row, row + len(raw)])
                    if a < b:
                        rows = raw[mine[a:b] - row]
                        yield int(low) + int(a), self._floats(rows, numbers[low + a : low + b])
                    row += len(raw)

    def parts(self, count: int) -> list[tuple[int, int]]:
        """About `count` ranges of rows (start, stop) that can be read independently at no extra cost."""
        size = max(1, -(-self.shape[0] // max(count, 1)))
        ranges: list[tuple[int, int]] = []
        for reader, begin, end in self._files():
            cuts = [begin + cut for cut in reader.cuts(size)]
            for a, b in zip(cuts, [*cuts[1:], end], strict=True):
                if ranges and b - ranges[-1][0] <= size:
                    ranges[-1] = (ranges[-1][0], b)
                else:
                    ranges.append((a, b))
        return ranges

    def _files(self) -> Iterator[tuple[Reader, int, int]]:
        """Every file's reader, with the numbers of its first row and of the next file's."""
        ends = self._ends.tolist()
        return zip(self._readers, ends[:-1], ends[1:], strict=True)

    def _raw(self, rows: int, start: int, stop: int) -> Iterator[tuple[int, np.ndarray]]:
        """Pairs of (number of the first row, rows as they are stored)."""
        for reader, begin, end in self._files():
            row, last = max(start, begin), min(stop, end)
            if row < last:
                for raw in reader.read(row - begin, last - begin, rows):
                    yield row, raw
                    row += len(raw)

    def _floats(
        self,
        raw: np.ndarray,
        numbers: Sequence[int] | np.ndarray,
        rest: Iterable[tuple[int, np.ndarray]] = (),
    ) -> np.ndarray:
        """Raw rows as finite floats, or a sentence about what is wrong and how much of it is in the rest."""
        if raw.dtype.kind in "iu":
            if raw.dtype.itemsize == 8 and (raw.max(initial=0) > _EXACT or raw.min(initial=0) < -_EXACT):
                i, j = np.argwhere((raw > _EXACT) | (raw < -_EXACT))[0]
                raise InputError(
                    f"{self.name} holds integers beyond 2^53, which floating point numbers cannot hold exactly; "
                    f"the first is in row {numbers[i]}, column {j} (counted from 0)."
                )
            return raw.astype(self.dtype)
        block = raw.astype(self.dtype, copy=False)
        with np.errstate(over="ignore", invalid="ignore"):
            quick = np.isfinite(block.sum())
        if not quick and not np.isfinite(block).all():
            self._refuse_not_finite(block, numbers, rest)
        if block.dtype.itemsize > 4 and max(block.max(), -block.min()) > preprocessing.LARGEST:
            i, j = np.argwhere(np.abs(block) > preprocessing.LARGEST)[0]
            raise InputError(
                f"{self.name} must hold numbers below {preprocessing.LARGEST:g} in size, so that their "
                f"squares are finite; there is a larger one in row {numbers[i]}, column {j} (counted from 0)."
            )
        return block

    def _refuse_not_finite(
        self,
        block: np.ndarray,
        numbers: Sequence[int] | np.ndarray,
        rest: Iterable[tuple[int, np.ndarray]],
    ) -> NoReturn:
        i, j = np.argwhere(~np.isfinite(block))[0]
        nans, infinite = int(np.isnan(block).sum()), int(np.isinf(block).sum())
        for _, raw in rest:
            if raw.dtype.kind == "f":
                nans, infinite = nans + int(np.isnan(raw).sum()), infinite + int(np.isinf(raw).sum())
        counts = " and ".join(f"{n} {kind}" for n, kind in ((nans, "NaN"), (infinite, "infinite")) if n)
        raise InputError(
            f"{self.name} must hold finite numbers, but it contains {counts}; the first is {block[i, j]} in "
            f"row {numbers[i]}, column {j} (counted from 0)."
        )


def _kept(dtype: np.dtype) -> np.dtype:
    """float32 for numbers that fit into it, else float64."""
    return np.dtype(np.float32) if dtype in (np.float32, np.float16) else np.dtype(np.float64)


def row_numbers(indices: npt.ArrayLike, available: int) -> np.ndarray:
    """Numbers of rows as integers, refused where there is no such row."""
    numbers = np.asarray(indices)
    if numbers.size == 0:
        return np.empty(0, dtype=np.int64)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
        raise ValueError("indices must be a list of row numbers.")
    if numbers.min() < 0 or numbers.max() >= available:
        raise ValueError(
            f"indices must be from 0 to {available - 1}, not {numbers.min()} to {numbers.max()}."
        )
    return numbers.astype(np.int64)
