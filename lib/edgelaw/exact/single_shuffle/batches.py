"""Single shuffle with averaged batches on any spectrum: the update for which `settings` are made, and its limit."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from edgelaw.exact import graded_circle
from edgelaw.exact.batches import blocks
from edgelaw.exact.batches.partition import Partition, partition
from edgelaw.exact.levy import Average
from edgelaw.exact.single_shuffle import settings
from edgelaw.exact.single_shuffle.pairs import Pairs
from edgelaw.exact.single_shuffle.short_batch import ShortBatchPairs

STABLE_EPOCHS = 200  # an eigenvalue of an epoch that is below e^(1/100) may count as inside the unit circle
LIMIT_PRECISION = 0.01  # of a limit

SettingsOf = Callable[["Batches", int, float], list[settings.Maker]]


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


def makers(
    rows: blocks.Rows, update: Batches, last: int, borne: float = 10**-settings.BORNE
) -> list[settings.Maker]:
    """Makers of settings of an update for `last` epochs, on a sample's spectrum or a covariance's."""
    spectrum = settings.Rows(rows.values, rows.shares, rows.rho, update, borne)
    if isinstance(rows, blocks.SampleRows):
        return settings.of_sample(spectrum, last) + settings.narrower(spectrum, last)
    return settings.of_covariance(spectrum, last)


def stable(settings_of: SettingsOf, update: Batches) -> bool:
    """Whether the cloud of an epoch's eigenvalues stays inside the unit circle.

    `settings_of(update, last)` are makers of the settings of an update on a spectrum. On a circle that is nearly the
    unit circle both generating functions are squared norms, and positive, as long as there is no eigenvalue outside.
    """
    log_radius = -graded_circle.AMPLIFIED / (2 * STABLE_EPOCHS)
    tried = settings.made(settings_of(update, STABLE_EPOCHS, LIMIT_PRECISION))
    return any(settings.inside_the_domain(setting, log_radius) for setting in tried)


def limit(settings_of: SettingsOf, update: Batches, largest: float) -> float:
    """The largest stable step, to about one percent, where the spectrum of the sample ends at `largest`.

    Any batch alone diverges from 2b on, and gradient descent from 2d/λmax on; more than one batch per epoch bears a
    little more.
    """
    low, high = 0.0, min(2.0 * update.batch, 2.3 * update.dims / largest)
    while high - low > LIMIT_PRECISION * high and high > 1e-6:
        middle = (low + high) / 2 if low > 0 else 0.7 * high
        low, high = (middle, high) if stable(settings_of, replace(update, step=middle)) else (low, middle)
    return low
