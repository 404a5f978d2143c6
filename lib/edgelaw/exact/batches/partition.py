"""How an epoch of m rows is cut into batches, in the units of the large-d equations."""

from typing import NamedTuple

import numpy as np

from edgelaw._common import arguments
from edgelaw._common.types import Array, ArrayLike


class Partition(NamedTuple):
    """The batches of an epoch in visiting order: their rows over d, and the step that each row of a batch takes.

    The last one is shorter where b does not divide m; its average is over its own rows, so their step is larger.

    >>> cut = partition(m=10, d=20, batch=4, step=2.0)
    >>> cut.kappas.tolist(), cut.taus.tolist(), cut.batches, cut.equal
    ([0.2, 0.2, 0.1], [0.5, 0.5, 1.0], 3, False)
    """

    kappas: Array
    taus: Array

    @property
    def batches(self) -> int:
        """L, the number of batches per epoch."""
        return len(self.kappas)

    @property
    def equal(self) -> bool:
        """Whether all batches have the same number of rows."""
        return bool(self.kappas[-1] == self.kappas[0])

    def scaled(self, factor: float) -> "Partition":
        """The same batches at a step that is so many times as large."""
        return Partition(self.kappas, factor * self.taus)


def partition(m: float, d: float, batch: int, step: float) -> Partition:
    """Whole batches of `batch` of m rows in d dimensions, and what is left; m and d may be fractions, m ≥ `batch`."""
    sizes = np.full(int(m // batch), float(batch))
    rest = m - sizes.sum()
    if rest > 1e-9 * m:
        sizes = np.append(sizes, rest)
    return Partition(sizes / d, step / sizes)


def requested(
    eigenvalues: ArrayLike, batch: object, step: object, rho: object, null: float = 0.0
) -> tuple[Partition, float, float]:
    """How m = round(ρd) rows are cut, the step, and m/d with d the number of eigenvalues but the share `null`."""
    d = np.size(eigenvalues) * (1 - null)
    rows = max(1, round(arguments.aspect(rho) * np.size(eigenvalues)))
    size, eta = arguments.batch(batch, rows), arguments.number(step, "step", 0)
    return partition(rows, d, size, eta), eta, rows / d
