"""Single shuffle with averaged batches on any spectrum: the update that `shuffle_curve` computes, and its limit."""

from dataclasses import dataclass, replace

from edgelaw.exact.batches.partition import partition
from edgelaw.exact.single_shuffle import settings as shuffle_curve
from edgelaw.exact.single_shuffle.batch_pairs import BatchPairs

_EPOCHS = 200  # an eigenvalue of an epoch that is below e^(1/100) may count as inside the unit circle
_PRECISION = 0.01  # of a limit


@dataclass(frozen=True)
class Batches:
    """Averaged updates of `batch` rows in `dims` dimensions at a step."""

    step: float
    batch: int
    dims: float

    def cut(self, rho):
        """The batches of an epoch of ρ rows per dimension."""
        return partition(rho * self.dims, self.dims, self.batch, self.step)

    def pairs(self, average, rho):
        """Φ and Ψ of an average."""
        return BatchPairs(average, self.cut(rho), rho)

    def inverse_rate(self, rho):
        """One over the effective step per row."""
        cut = self.cut(rho)
        return float((cut.kappas / cut.taus).sum() / rho - (1 - (cut.kappas**2).sum() / rho**2) / 2)


def stable(settings_of, update):
    """Whether the cloud of an epoch's eigenvalues stays inside the unit circle.

    `settings_of(update, last, places)` are the settings of an update on a spectrum. On a circle that is nearly the unit
    circle both generating functions are squared norms, and positive, as long as there is no eigenvalue outside.
    """
    try:
        setting = next(iter(settings_of(update, _EPOCHS, places=1)), None)
    except ArithmeticError:
        return False
    return setting is not None and shuffle_curve.inside_the_domain(setting, -setting.least / (2 * _EPOCHS))


def limit(settings_of, update, largest):
    """The largest stable step, to about one percent, where the spectrum of the sample ends at `largest`.

    Any batch alone diverges from 2b on, and gradient descent from 2d/λmax on; more than one batch per epoch bears a
    little more.
    """
    low, high = 0.0, min(2.0 * update.batch, 2.3 * update.dims / largest)
    while high - low > _PRECISION * high and high > 1e-6:
        middle = (low + high) / 2 if low > 0 else 0.7 * high
        low, high = (middle, high) if stable(settings_of, replace(update, step=middle)) else (low, middle)
    return low
