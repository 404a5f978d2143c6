"""Columns that do not look like features: row numbers, classes, constants; noticed while rows are read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgelaw._common.types import Array
from edgelaw_app.files.columns import listed

CLASSES = 1000  # different integers beyond which a column is not taken for classes
COUNTS = 64  # columns of integers beyond which integers are what the table is about
FIRST = 16  # rows that tell most columns from integers and constants


class Watch:
    """What was seen of the columns so far: which are constant, which hold integers, and which ones.

    Only columns that are still suspect are looked at, so that rows of real numbers cost next to nothing.
    """

    def __init__(self, columns: int) -> None:
        self.count, self._columns = 0, columns
        self.constant = np.arange(columns)  # columns that held one number so far
        self.whole = np.arange(columns)  # columns that held integers so far
        self._value: Array = np.zeros(columns)  # the numbers of the constant columns
        self._low = self._high = self._last = self._value  # of the columns of integers
        self._sum = self._squares = self._value
        self._rising = np.ones(columns, bool)
        self._seen: list[set[float]] = []
        self._classes = True  # whether few different integers are odd

    def add(self, block: np.ndarray) -> None:
        """Take some rows, as they are in the file."""
        if not len(block):
            return
        if not self.count:
            self._begin(block)
        same = (block[:, self.constant] == self._value).all(axis=0)
        self.constant, self._value = self.constant[same], self._value[same]
        if len(self.whole):
            rows = block[:, self.whole].astype(np.float64, copy=False)
            kept = (rows == np.rint(rows)).all(axis=0)
            self._keep(kept)
            self._take(rows[:, kept])
        self.count += len(block)

    def _begin(self, block: np.ndarray) -> None:
        """Find the suspects among all columns by a few rows."""
        few = block[:FIRST].astype(np.float64)
        self.constant = np.flatnonzero((few == few[0]).all(axis=0))
        self._value = few[0, self.constant]
        self.whole = np.flatnonzero((few == np.rint(few)).all(axis=0))
        self._classes = len(self.whole) <= min(COUNTS, self._columns / 2)
        if (
            not self._classes
        ):  # integers are what the table is about; one column could number its rows nevertheless
            self.whole = self.whole[(np.diff(few[:, self.whole], axis=0) > 0).all(axis=0)]
        first = few[0, self.whole]
        self._low, self._high, self._last = first, first, first - 1
        self._sum, self._squares = np.zeros(len(first)), np.zeros(len(first))
        self._rising = np.ones(len(first), bool)
        self._seen = [set() for _ in first]

    def _keep(self, kept: np.ndarray) -> None:
        """Drop the columns that turned out to hold other numbers than integers."""
        if kept.all():
            return
        self.whole, self._rising, self._last = self.whole[kept], self._rising[kept], self._last[kept]
        self._low, self._high = self._low[kept], self._high[kept]
        self._sum, self._squares = self._sum[kept], self._squares[kept]
        self._seen = [seen for seen, keep in zip(self._seen, kept, strict=True) if keep]

    def _take(self, rows: Array) -> None:
        """Take rows of integers."""
        self._rising = self._rising & (np.diff(rows, axis=0, prepend=self._last[None]) > 0).all(axis=0)
        self._low, self._high = (
            np.minimum(self._low, rows.min(axis=0)),
            np.maximum(self._high, rows.max(axis=0)),
        )
        self._sum, self._squares = self._sum + rows.sum(axis=0), self._squares + (rows**2).sum(axis=0)
        self._last = rows[-1]
        for seen, column in zip(self._seen, rows.T, strict=True):
            if len(seen) <= CLASSES:
                seen.update(np.unique(column)[: CLASSES + 1].tolist())

    def merge(self, other: Watch) -> Watch:
        """Take what was seen of another part of the rows, before or after this one."""
        if not other.count or not self.count:
            return self if self.count else other
        agree = {int(column): value for column, value in zip(other.constant, other._value, strict=True)}
        same = [
            agree.get(int(column)) == value for column, value in zip(self.constant, self._value, strict=True)
        ]
        self.constant, self._value = self.constant[same], self._value[same]
        self._classes = self._classes and other._classes
        self._keep(np.isin(self.whole, other.whole))
        other._keep(np.isin(other.whole, self.whole))
        below, above = self._high < other._low, other._high < self._low
        self._rising = self._rising & other._rising & (below | above)
        self._low, self._high = np.minimum(self._low, other._low), np.maximum(self._high, other._high)
        self._sum, self._squares = self._sum + other._sum, self._squares + other._squares
        for seen, more in zip(self._seen, other._seen, strict=True):
            seen |= more
        self.count += other.count
        return self

    def sentences(self, names: Sequence[str]) -> tuple[str, ...]:
        """What to say of these columns, in sentences; empty where none is odd."""
        lines: list[str] = []
        if not self.count:
            return ()
        constant = [names[k] for k in self.constant.tolist()]
        if constant:
            many = len(constant) > 1
            lines.append(
                f"Column{'s' * many} {listed(constant)} hold{'s' * (not many)} one number only, which is no feature: "
                f"leave {'them' if many else 'it'} out by drop."
            )
        for place, column in enumerate(self.whole.tolist()):
            if column in self.constant:
                continue
            if self._numbers_rows(place):
                lines.append(
                    f"Column {names[column]!r} numbers the rows ({self._low[place]:.0f} to {self._high[place]:.0f}) "
                    "and is no feature: leave it out by drop."
                )
            elif self._classes and len(self._seen[place]) <= min(CLASSES, self.count // 3):
                lines.append(
                    f"Column {names[column]!r} holds {len(self._seen[place])} different integers only, as classes do: "
                    "leave it out by drop unless it is a feature."
                )
        return tuple(lines)

    def _numbers_rows(self, place: int) -> bool:
        """Whether a column of integers rises from row to row, or holds as many consecutive ones as there are rows."""
        if self.count < 3:
            return False
        if self._rising[place]:
            return True
        m, low, high = self.count, self._low[place], self._high[place]
        total, squares = self._sum[place] - m * low, self._squares[place]
        squares += m * low**2 - 2 * low * self._sum[place]
        return bool(
            high - low + 1 == m
            and np.isclose(total, m * (m - 1) / 2, rtol=1e-12)
            and np.isclose(squares, (m - 1) * m * (2 * m - 1) / 6, rtol=1e-9)
        )
