"""One pass over rows: their mean and the columns' spread, fingerprints of equal rows, columns unlike features."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from edgelaw._common import preprocessing
from edgelaw._common.types import Array
from edgelaw_app.files.columns import listed

CLASSES = 1000  # different integers beyond which a column is not taken for classes
COUNTS = 64  # columns of integers beyond which integers are what the table is about
FIRST = 16  # rows that tell most columns from integers
REMEMBERED = 2**24  # rows whose fingerprints are kept to find duplicates: 128 MB


class Scales(NamedTuple):
    """How far the standard deviations of the columns that are not constant lie apart."""

    ratio: float  #: The largest over the smallest; 1 where fewer than two columns vary.
    largest: str  #: The column of the largest, by name or number; "" where none varies.
    smallest: str  #: The column of the smallest.
    deviations: Array  #: Of all columns; exactly 0 for constant ones.


class Watch:
    """What is noticed of rows while they are read, a block at a time or in parts that are merged.

    Attributes
    ----------
    count : int
        How many rows there were.
    mean : array
        The mean row.
    """

    def __init__(self, columns: int = 1) -> None:
        self.count, self.mean = 0, np.zeros(columns)
        self._squares = np.zeros(columns)  # sums of squared distances from the mean
        self._low, self._high = np.full(columns, np.inf), np.full(columns, -np.inf)
        # of columns that held integers only: whether they rise from row to row, and some of the integers
        self._whole: dict[int, tuple[bool, set[float]]] = {}
        self._classes = True  # whether few different integers are odd
        self._prints: list[np.ndarray] | None = []

    def add(self, block: np.ndarray) -> None:
        """Take some rows, as they are in the file."""
        if len(block):
            self._take(_of_block(block))

    def merge(self, other: Watch) -> Watch:
        """What was noticed of both parts of the rows; neither is changed."""
        both = copy.copy(self)
        both._prints = None if self._prints is None else list(self._prints)
        if other.count:
            both._take(other)
        return both

    def _take(self, other: Watch) -> None:
        """Take what was noticed of other rows, before or after these."""
        if not self.count:
            vars(self).update(vars(other), _prints=None if other._prints is None else list(other._prints))
            return
        count, shift = self.count + other.count, other.mean - self.mean
        disjoint = (self._high < other._low) | (other._high < self._low)
        self._whole = {
            k: (rise and other._whole[k][0] and bool(disjoint[k]), _union(some, other._whole[k][1]))
            for k, (rise, some) in self._whole.items()
            if k in other._whole
        }
        self._squares = self._squares + other._squares + shift**2 * (self.count * other.count / count)
        self.count, self.mean = count, self.mean + shift * (other.count / count)
        self._low, self._high = np.minimum(self._low, other._low), np.maximum(self._high, other._high)
        self._classes = self._classes and other._classes
        if self._prints is None or other._prints is None or count > REMEMBERED:
            self._prints = None
        else:
            self._prints += other._prints

    def light(self) -> Watch:
        """The same without what only finds equal rows: little to send."""
        other = copy.copy(self)
        other._prints = None
        return other

    @property
    def deviations(self) -> Array:
        """The standard deviation of every column, exactly 0 for a constant one."""
        varies = self._high > self._low
        deviations = np.where(varies, np.sqrt(self._squares / max(self.count, 1)), 0.0)
        if len(vanishing := np.flatnonzero(varies & (deviations < preprocessing.SMALLEST))):
            raise ValueError(
                f"Column {vanishing[0]} (counted from 0) of X holds numbers so small that their squares vanish: "
                "multiply them by a number first."
            )
        return deviations

    @property
    def duplicates(self) -> int | None:
        """How many rows repeat an earlier one; None if there were too many rows to remember."""
        if self._prints is None:
            return None
        return self.count - len(np.unique(np.concatenate(self._prints)))

    def scales(self, names: list[str]) -> Scales:
        """How far apart the scales of the columns of these names are."""
        deviations = self.deviations
        varying = np.flatnonzero(deviations)
        if not len(varying):
            return Scales(1.0, "", "", deviations)
        high, low = (varying[place(deviations[varying])] for place in (np.argmax, np.argmin))
        return Scales(
            float(deviations[high] / deviations[low]), names[int(high)], names[int(low)], deviations
        )

    def sentences(self, names: Sequence[str]) -> tuple[str, ...]:
        """What to say of columns of these names that are unlike features; empty where none is."""
        lines, constant = [], np.flatnonzero(self._low == self._high).tolist()
        if many := len(constant):
            lines.append(
                f"Column{'s' * (many > 1)} {listed(names[k] for k in constant)} hold{'s' * (many == 1)} one number "
                f"only, which is no feature: leave {'them' if many > 1 else 'it'} out by drop."
            )
        for k, (_, some) in self._whole.items():
            if k in constant:
                continue
            if self._numbers_rows(k):
                lines.append(
                    f"Column {names[k]!r} numbers the rows ({self._low[k]:.0f} to {self._high[k]:.0f}) and is no "
                    "feature: leave it out by drop."
                )
            elif self._classes and len(some) <= min(CLASSES, self.count // 3):
                lines.append(
                    f"Column {names[k]!r} holds {len(some)} different integers only, as classes do: leave it out by "
                    "drop unless it is a feature."
                )
        return tuple(lines)

    def _numbers_rows(self, k: int) -> bool:
        """Whether a column of integers rises from row to row, or holds as many consecutive ones as there are rows."""
        m, consecutive = self.count, self._high[k] - self._low[k] + 1 == self.count
        middle = np.isclose(self.mean[k] - self._low[k], (m - 1) / 2, rtol=1e-9)
        spread = np.isclose(self._squares[k], m * (m**2 - 1) / 12, rtol=1e-9)
        return m >= 3 and bool(self._whole[k][0] or (consecutive and middle and spread))


def _of_block(block: np.ndarray) -> Watch:
    """What is noticed of one block of rows."""
    seen = Watch(block.shape[1])
    seen.count, seen.mean = len(block), block.mean(axis=0, dtype=np.float64)
    tall = max(1, preprocessing.CACHED // len(seen.mean))
    for k in range(0, len(block), tall):
        centred = block[k : k + tall] - seen.mean
        seen._squares += np.einsum("ij,ij->j", centred, centred)
    seen._low, seen._high = block.min(axis=0).astype(float), block.max(axis=0).astype(float)
    few = block[:FIRST].astype(np.float64)
    whole = np.flatnonzero((few == np.rint(few)).all(axis=0))
    seen._classes = len(whole) <= min(COUNTS, block.shape[1] / 2)
    if (
        not seen._classes
    ):  # integers are what the table is about; one column could number its rows nevertheless
        whole = whole[(np.diff(few[:, whole], axis=0) > 0).all(axis=0)]
    for k in whole.tolist():
        column = block[:, k].astype(np.float64)
        if (column == np.rint(column)).all():
            some = set(np.unique(column)[: CLASSES + 1].tolist())
            seen._whole[k] = bool((np.diff(column) > 0).all()), some
    seen._prints = [fingerprints(block)]
    return seen


def _union(one: set[float], other: set[float]) -> set[float]:
    """Of two sets of integers as many as tell whether there are more than CLASSES."""
    return one if len(one) > CLASSES else one | other


def fingerprints(block: np.ndarray) -> np.ndarray:
    """64 bits per row, equal for rows that are equal bit by bit, and for others by chance once in 2^64 pairs."""
    floats = block if block.dtype in (np.float32, np.float64) else block.astype(np.float64)
    words = np.ascontiguousarray(floats).view(np.uint32)
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
