"""One pass over rows: their mean and the columns' spread, fingerprints of equal rows, columns unlike features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from edgelaw._common import preprocessing
from edgelaw._common.types import Array
from edgelaw_app.files.columns import listed

COUNTS = 64  # columns of integers beyond which integers are what the table is about
REMEMBERED = 2**24  # rows whose fingerprints are kept to find duplicates: 128 MB


class Scales(NamedTuple):
    """How far the standard deviations of the columns that are not constant lie apart."""

    ratio: float  #: The largest over the smallest; 1 where fewer than two columns vary.
    largest: str  #: The column of the largest, by name or number; "" where none varies.
    smallest: str  #: The column of the smallest.


class Survey(NamedTuple):
    """What was noticed of some rows; made by `gram.survey`, joined with that of others by `gram.merge`."""

    rows: int  #: How many there were.
    mean: Array  #: The mean row.
    squares: Array  # sums of squared distances from the mean
    low: Array
    high: Array
    whole: np.ndarray  # which columns held integers only
    prints: tuple[np.ndarray, ...] | None  # equal for equal rows; None where there are too many rows

    @classmethod
    def of(cls, block: np.ndarray) -> Survey:
        """What is noticed of one block of rows."""
        mean, squares = block.mean(axis=0, dtype=np.float64), np.zeros(block.shape[1])
        whole, tall = np.ones(len(mean), bool), max(1, preprocessing.CACHED // len(mean))
        for k in range(0, len(block), tall):
            rows = block[k : k + tall]
            centred = rows - mean
            squares += np.einsum("ij,ij->j", centred, centred)
            if whole.any():
                whole[whole] = (rows[:, whole] == np.rint(rows[:, whole])).all(axis=0)
        low, high = block.min(axis=0).astype(float), block.max(axis=0).astype(float)
        return cls(len(block), mean, squares, low, high, whole, (fingerprints(block),))

    def merge(self, other: Survey) -> Survey:
        """What was noticed of both parts of the rows."""
        rows, shift, prints = self.rows + other.rows, other.mean - self.mean, None
        if self.prints is not None and other.prints is not None and rows <= REMEMBERED:
            prints = self.prints + other.prints
        return Survey(
            rows,
            self.mean + shift * (other.rows / rows),
            self.squares + other.squares + shift**2 * (self.rows * other.rows / rows),
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.whole & other.whole,
            prints,
        )

    @property
    def deviations(self) -> Array:
        """The standard deviation of every column, exactly 0 for a constant one."""
        varies = self.high > self.low
        deviations = np.where(varies, np.sqrt(self.squares / self.rows), 0.0)
        if len(vanishing := np.flatnonzero(varies & (deviations < preprocessing.SMALLEST))):
            raise ValueError(
                f"Column {vanishing[0]} (counted from 0) of X holds numbers so small that their squares vanish: "
                "multiply them by a number first."
            )
        return deviations

    @property
    def duplicates(self) -> int | None:
        """How many rows repeat an earlier one; None if there were too many rows to remember."""
        return None if self.prints is None else self.rows - len(np.unique(np.concatenate(self.prints)))

    def scales(self, names: Sequence[str]) -> Scales:
        """How far apart the scales of the columns of these names are."""
        deviations = self.deviations
        varying = np.flatnonzero(deviations)
        if not len(varying):
            return Scales(1.0, "", "")
        high, low = (int(varying[place(deviations[varying])]) for place in (np.argmax, np.argmin))
        return Scales(float(deviations[high] / deviations[low]), names[high], names[low])

    def sentences(self, names: Sequence[str]) -> tuple[str, ...]:
        """What to say of columns of these names that are unlike features; empty where none is."""
        constant = self.low == self.high
        whole = self.whole & ~constant
        if whole.sum() > min(COUNTS, len(whole) / 2):
            whole[:] = False
        kinds = {"one number": constant, "whole numbers, as labels and row numbers are": whole}
        found = {what: [names[k] for k in np.flatnonzero(which).tolist()] for what, which in kinds.items()}
        return tuple(
            f"Columns of nothing but {what}: {listed(named)}; leave out by drop those that are no features."
            for what, named in found.items()
            if named
        )


def fingerprints(block: np.ndarray) -> np.ndarray:
    """64 bits per row, equal for rows that are equal bit by bit, and for others by chance once in 2^64 pairs."""
    words = np.ascontiguousarray(block).view(np.uint32)
    weights = np.random.default_rng(2**61 - 1).integers(0, 2**63, words.shape[1], np.uint64) * 2 + 1
    prints = np.empty(len(words), np.uint64)
    tall = max(1, preprocessing.CACHED // words.shape[1])
    for k in range(0, len(words), tall):
        # A weighted sum alone would confuse rows that differ in signs only: mix the bits of each word first.
        mixed = words[k : k + tall] * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
        mixed *= weights
        mixed.sum(axis=1, out=prints[k : k + tall])
    return prints
