"""How an epoch of m rows is cut into batches, in the units of the large-d equations."""

from dataclasses import dataclass

import numpy as np

from edgelaw._common.types import Array


@dataclass(frozen=True, eq=False)
class Partition:
    """The batches of an epoch in visiting order: their rows over d, and the step that each row of a batch takes.

    The averaged update of b rows at step η moves the weights by η/b per row. The last batch of an epoch is shorter
    where b does not divide m; its average is over its own rows, so that its step per row is larger.

    Attributes
    ----------
    kappas : ndarray (L,)
        Rows of each batch over d; they add up to ρ = m/d.
    taus : ndarray (L,)
        Steps per row, η over the rows of the batch.

    Examples
    --------
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
    """The batches of an epoch of `m` rows in `d` dimensions: whole ones of `batch` rows, then what is left of the rows.

    Both numbers may be fractions; `batch` is at most m.

    Examples
    --------
    >>> partition(m=512, d=512, batch=64, step=32.0).taus.tolist() == [0.5] * 8
    True
    """
    whole = int(m // batch)
    sizes = np.full(whole, float(batch))
    rest = m - whole * batch
    if rest > 1e-9 * m:
        sizes = np.append(sizes, rest)
    return Partition(sizes / d, step / sizes)
