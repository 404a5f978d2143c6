"""Single shuffle with averaged batches on any spectrum: the update, its exact special cases and its limit."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from edgelaw._common.types import Array, Integers
from edgelaw.curves import LearningCurve
from edgelaw.exact import agreement
from edgelaw.exact.batches.partition import Partition, partition
from edgelaw.exact.levy import Average
from edgelaw.exact.single_shuffle import settings
from edgelaw.exact.single_shuffle.pairs import Pairs
from edgelaw.exact.single_shuffle.short_batch import ShortBatchPairs

_EPOCHS = 200  # an eigenvalue of an epoch that is below e^(1/100) may count as inside the unit circle
_PRECISION = 0.01  # of a limit


@dataclass(frozen=True)
class Batches:
    """Averaged updates of `batch` rows in `dims` dimensions at a step."""

    step: float
    batch: int
    dims: float

    def cut(self, rho: float) -> Partition:
        """The batches of an epoch of ρ rows per dimension."""
        return partition(rho * self.dims, self.dims, self.batch, self.step)

    def pairs(self, average: Average, rho: float) -> Pairs:
        """Φ and Ψ of an average."""
        cut = self.cut(rho)
        if not cut.equal:
            return ShortBatchPairs(average, rho, cut)
        return Pairs(average, rho, float(cut.taus[0]), rho / cut.batches)

    def inverse_rate(self, rho: float) -> float:
        """One over the effective step per row."""
        cut = self.cut(rho)
        return float((cut.kappas / cut.taus).sum() / rho - (1 - (cut.kappas**2).sum() / rho**2) / 2)


def whole(n: Integers, values: Array, shares: Array, update: Batches) -> LearningCurve:
    """The curve of one batch per epoch, which is gradient descent at the step η/d, exactly."""
    logs = 2 * np.log(np.abs(1 - update.step / update.dims * values) + 1e-300)
    left = np.exp(np.multiply.outer(n, logs))
    return agreement.learning_curve(n, left @ shares, left @ (shares * values), 0.0)


def orthogonal(n: Integers, partition: Partition) -> LearningCurve:
    """The curve of orthogonal rows, m = d: every coordinate is visited once per epoch, at the step of its batch."""
    parts = partition.kappas / partition.kappas.sum()
    losses = np.power(1 - partition.taus, 2.0 * n[:, None]) @ parts
    return agreement.learning_curve(n, losses, losses.copy(), 0.0)


SettingsOf = Callable[[Batches, int], list[settings.Maker]]


def stable(settings_of: SettingsOf, update: Batches) -> bool:
    """Whether the cloud of an epoch's eigenvalues stays inside the unit circle.

    `settings_of(update, last)` are makers of the settings of an update on a spectrum. On a circle that is nearly the
    unit circle both generating functions are squared norms, and positive, as long as there is no eigenvalue outside.
    """
    try:
        setting = settings_of(update, _EPOCHS)[0]()
    except ArithmeticError:
        return False
    return settings.inside_the_domain(setting, -setting.least / (2 * _EPOCHS))


def limit(settings_of: SettingsOf, update: Batches, largest: float) -> float:
    """The largest stable step, to about one percent, where the spectrum of the sample ends at `largest`.

    Any batch alone diverges from 2b on, and gradient descent from 2d/λmax on; more than one batch per epoch bears a
    little more.
    """
    low, high = 0.0, min(2.0 * update.batch, 2.3 * update.dims / largest)
    while high - low > _PRECISION * high and high > 1e-6:
        middle = (low + high) / 2 if low > 0 else 0.7 * high
        low, high = (middle, high) if stable(settings_of, replace(update, step=middle)) else (low, middle)
    return low
