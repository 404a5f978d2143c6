"""An epoch of averaged batches of rows: its equations, which are a recursion."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from edgelaw.exact.batches.partition import Partition
from edgelaw.exact.random_reshuffle.contours import Complex, Points
from edgelaw.exact.random_reshuffle.epochs import Epoch, Walk


@dataclass(frozen=True, eq=False)
class Batches(Epoch):
    """An epoch of averaged batches."""

    cut: Partition

    @property
    def symmetric(self) -> bool:
        """Where all batches are equal."""
        return self.cut.equal

    @property
    def transposed(self) -> "Batches":
        """The batches in the opposite order."""
        return Batches(Partition(self.cut.kappas[::-1].copy(), self.cut.taus[::-1].copy()))

    def mean(self, x: Complex, rho: float) -> Complex:
        """∏(1 − κτ/x), which single rows have as exp(−ηρ/x)."""
        sizes, counts = np.unique(self.cut.kappas * self.cut.taus, return_counts=True)
        return ((1 - sizes / x[:, None]) ** counts).prod(axis=1)

    def walk(self, points: Points, part: float) -> Iterator[Walk]:
        """Batch by batch, whatever the `part`; so many at a time as there are nodes."""
        t, r, a, cut = points.nodes[:, None], points.resolvent(), points.a, self.cut
        moments, f, C = points.weights * points.nodes, np.ones(r.shape, dtype=complex), r
        for first in range(0, cut.batches, len(t)):
            taus = cut.taus[first : first + len(t)]
            moved = cut.kappas[first : first + len(t)] * taus
            before = np.empty((len(taus), *f.shape), dtype=complex)
            gamma, c = np.empty((2, len(taus), len(a)), dtype=complex)
            for k, (size, tau) in enumerate(zip(moved, taus, strict=True)):
                before[k], gamma[k], c[k] = f, moments @ (r * f), moments @ C
                rate, drive = size * t, a * gamma[k]
                kept = (1 - rate) * f
                f = kept - rate * drive
                C = (1 - rate) ** 2 * C + rate * (tau * (c[k] + drive * gamma[k]) - drive * r * (kept + f))
            yield Walk(moved, moved * taus, before, gamma, c, f, C)
