"""One pass over a file's rows, read ahead: their mean, fingerprints that find equal ones, the Gram matrix."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

import numpy as np

from edgelaw._common import preprocessing, threads
from edgelaw._common.gram import OuterProducts
from edgelaw._common.types import Array
from edgelaw_app.files.oddities import Watch

Item = TypeVar("Item")


def read_ahead(items: Iterable[Item]) -> Iterator[Item]:
    """The same items, each made by another thread while the one before is in use."""
    iterator = iter(items)
    end = object()
    with threads.executor(1) as thread:
        coming = thread.submit(next, iterator, end)
        try:
            while (item := coming.result()) is not end:
                coming = thread.submit(next, iterator, end)
                yield item  # type: ignore[misc]
        finally:
            coming.cancel()


class Survey:
    """What one pass over the rows tells: how many, their mean, fingerprints to find equal ones, and odd columns."""

    def __init__(self, columns: int, remember: bool = True) -> None:
        self.count, self.total = 0, np.zeros(columns)
        self.prints: list[np.ndarray] | None = [] if remember else None
        self.columns = Watch(columns)

    def add(self, block: np.ndarray) -> None:
        """Take some rows, as they are in the file."""
        self.count += len(block)
        self.total += block.sum(axis=0, dtype=np.float64)
        if self.prints is not None:
            self.prints.append(fingerprints(block))
        self.columns.add(block)

    def merge(self, other: Survey) -> Survey:
        """Take the survey of another part of the rows."""
        self.count, self.total = self.count + other.count, self.total + other.total
        if self.prints is not None and other.prints is not None:
            self.prints += other.prints
        self.columns = self.columns.merge(other.columns)
        return self

    def without_prints(self) -> Survey:
        """What is needed to centre rows, and no more."""
        mean = Survey(len(self.total), remember=False)
        mean.count, mean.total = self.count, self.total
        return mean

    @property
    def mean(self) -> Array:
        """The mean row."""
        return self.total / self.count

    @property
    def duplicates(self) -> int | None:
        """How many rows repeat an earlier one; None if there were too many rows to remember."""
        if self.prints is None:
            return None
        return self.count - len(np.unique(np.concatenate(self.prints)))


def fingerprints(block: np.ndarray) -> np.ndarray:
    """64 bits per row, equal for rows that are equal bit by bit, and for others by chance once in 2^64 pairs."""
    words = np.ascontiguousarray(block).view(np.uint32)
    if words.shape[1] % 2:
        words = np.pad(words, ((0, 0), (0, 1)))
    words = words.view(np.uint64)
    halves = np.random.default_rng(2**61 - 1).integers(0, 2**63, words.shape[1], np.uint64)
    weights = halves * np.uint64(2) + np.uint64(1)  # odd, so that no bit of a word is lost
    prints = np.empty(len(words), np.uint64)
    tall = max(1, 2**15 // words.shape[1])
    for k in range(0, len(words), tall):
        # A weighted sum alone would confuse rows that differ in signs only: mix the bits of each word first.
        mixed = words[k : k + tall] >> np.uint64(31)
        mixed ^= words[k : k + tall]
        mixed *= np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
        mixed *= weights
        mixed.sum(axis=1, out=prints[k : k + tall])
    return prints


class Gram(OuterProducts):
    """The sum of x xᵀ over prepared rows (its lower triangle), the sum of the rows, their norms before scaling."""

    def __init__(self, dims: int, mean: Array | None) -> None:
        super().__init__(dims)
        self.sums: Array = np.zeros(dims)
        self.norms = preprocessing.Norms(mean)

    def merge(self, other: Gram) -> Gram:
        """Take the sums of another part of the rows."""
        self.total += other.total
        self.sums += other.sums
        self.count += other.count
        self.norms.merge(other.norms)
        return self
