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


class Columns(NamedTuple):
    """What some rows tell of their columns; those of `whole` held integers only."""

    rows: int
    mean: Array
    squares: Array  # sums of squared distances from the mean
    low: Array
    high: Array
    whole: np.ndarray  # numbers of the columns that held integers only
    rising: np.ndarray  # whether these rose from row to row
    seen: list[set[float]]  # the integers in them, up to some more than CLASSES
    classes: bool  # whether few different integers are odd

    @classmethod
    def of(cls, block: np.ndarray) -> Columns:
        """Those of one block of rows."""
        mean = block.mean(axis=0, dtype=np.float64)
        squares = np.zeros(len(mean))
        tall = max(1, preprocessing.CACHED // len(mean))
        for k in range(0, len(block), tall):
            centred = block[k : k + tall] - mean
            squares += np.einsum("ij,ij->j", centred, centred)
        few = block[:FIRST].astype(np.float64)
        whole = np.flatnonzero((few == np.rint(few)).all(axis=0))
        classes = len(whole) <= min(COUNTS, len(mean) / 2)
        if not classes:  # integers are what the table is about; one column could number its rows nevertheless
            whole = whole[(np.diff(few[:, whole], axis=0) > 0).all(axis=0)]
        rows = block[:, whole].astype(np.float64, copy=False)
        kept = (rows == np.rint(rows)).all(axis=0)
        rows, whole = rows[:, kept], whole[kept]
        seen = [set(np.unique(column)[: CLASSES + 1].tolist()) for column in rows.T]
        rising = np.all(np.diff(rows, axis=0) > 0, axis=0)
        low, high = block.min(axis=0).astype(float), block.max(axis=0).astype(float)
        return cls(len(block), mean, squares, low, high, whole, rising, seen, classes)

    def merge(self, other: Columns) -> Columns:
        """Those of these rows and others, before or after them."""
        rows, apart = self.rows + other.rows, other.mean - self.mean
        squares = self.squares + other.squares + apart**2 * (self.rows * other.rows / rows)
        whole, mine, its = np.intersect1d(self.whole, other.whole, return_indices=True)
        disjoint = (self.high < other.low) | (other.high < self.low)
        rising = self.rising[mine] & other.rising[its] & disjoint[whole]
        pairs = [(self.seen[i], other.seen[j]) for i, j in zip(mine, its, strict=True)]
        return Columns(
            rows,
            self.mean + apart * (other.rows / rows),
            squares,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            whole,
            rising,
            [one if len(one) > CLASSES else one | more for one, more in pairs],
            self.classes and other.classes,
        )

    def numbers_rows(self, place: int) -> bool:
        """Whether a column of integers rises from row to row, or holds as many consecutive ones as there are rows."""
        m, k = self.rows, self.whole[place]
        low, high = self.low[k], self.high[k]
        consecutive = np.isclose(self.mean[k] - low, (m - 1) / 2, rtol=1e-9) and np.isclose(
            self.squares[k], m * (m**2 - 1) / 12, rtol=1e-9
        )
        return m >= 3 and bool(self.rising[place] or (high - low + 1 == m and consecutive))


class Watch:
    """What is noticed of rows while they are read, a block at a time or in parts that are merged."""

    def __init__(self, columns: int | None = None) -> None:
        self._columns: Columns | None = None
        self._prints: list[np.ndarray] | None = []

    def add(self, block: np.ndarray) -> None:
        """Take some rows, as they are in the file."""
        if len(block):
            columns = Columns.of(block)
            self._columns = columns if self._columns is None else self._columns.merge(columns)
            self._remember([fingerprints(block)])

    def merge(self, other: Watch) -> Watch:
        """What was noticed of both parts of the rows; neither is changed."""
        if self._columns is None or other._columns is None:
            return other if self._columns is None else self
        both = copy.copy(self)
        both._columns = self._columns.merge(other._columns)
        both._prints = None if self._prints is None else list(self._prints)
        both._remember(other._prints)
        return both

    def _remember(self, prints: list[np.ndarray] | None) -> None:
        """Keep fingerprints, unless there are too many."""
        if prints is None or self.count > REMEMBERED:
            self._prints = None
        elif self._prints is not None:
            self._prints += prints

    def light(self) -> Watch:
        """The same without what only finds equal rows: little to send."""
        other = copy.copy(self)
        other._prints = None
        return other

    @property
    def count(self) -> int:
        """How many rows there were."""
        return 0 if self._columns is None else self._columns.rows

    @property
    def mean(self) -> Array:
        """The mean row."""
        assert self._columns is not None
        return self._columns.mean

    @property
    def deviations(self) -> Array:
        """The standard deviation of every column, exactly 0 for a constant one."""
        assert self._columns is not None
        varies = self._columns.high > self._columns.low
        deviations = np.where(varies, np.sqrt(self._columns.squares / self.count), 0.0)
        if len(vanishing := np.flatnonzero(varies & (deviations < preprocessing.SMALLEST))):
            raise ValueError(
                f"Column {vanishing[0]} (counted from 0) of X holds numbers so small that their squares vanish: multiply "
                "them by a number first."
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
        if self._columns is None:
            return ()
        lines, seen = [], self._columns
        constant = np.flatnonzero(seen.low == seen.high).tolist()
        if many := len(constant):
            lines.append(
                f"Column{'s' * (many > 1)} {listed(names[k] for k in constant)} hold{'s' * (many == 1)} one number "
                f"only, which is no feature: leave {'them' if many > 1 else 'it'} out by drop."
            )
        for place, k in enumerate(seen.whole.tolist()):
            different = len(seen.seen[place])
            if k in constant:
                continue
            if seen.numbers_rows(place):
                lines.append(
                    f"Column {names[k]!r} numbers the rows ({seen.low[k]:.0f} to {seen.high[k]:.0f}) and is no "
                    "feature: leave it out by drop."
                )
            elif seen.classes and different <= min(CLASSES, self.count // 3):
                lines.append(
                    f"Column {names[k]!r} holds {different} different integers only, as classes do: leave it out by "
                    "drop unless it is a feature."
                )
        return tuple(lines)


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
