"""What single shuffle's curve is made by, and the largest stable step of averaged batches."""

from edgelaw.exact import graded_circle
from edgelaw.exact.batches import blocks
from edgelaw.exact.batches.partition import Partition
from edgelaw.exact.single_shuffle import settings

STABLE_EPOCHS = 200  # an eigenvalue of an epoch that is below e^(1/100) may count as inside the unit circle
LIMIT_PRECISION = 0.01  # of a limit


def makers(
    rows: blocks.Rows, update: float | Partition, last: int, borne: float = settings.BORNE
) -> list[settings.Maker]:
    """Makers of settings for `last` epochs of single rows or batches, on a sample's spectrum or a covariance's."""
    spectrum = settings.Rows(rows.values, rows.shares, rows.rho, update, borne)
    if not isinstance(rows, blocks.SampleRows):
        return settings.of_covariance(spectrum, last)
    return settings.of_sample(spectrum, last, follow=not isinstance(update, Partition))


def stable(rows: blocks.Rows, cut: Partition) -> bool:
    """Whether the cloud of an epoch's eigenvalues stays inside the unit circle.

    On a circle that is nearly the unit circle both generating functions are squared norms, and positive, as long as
    there is no eigenvalue outside.
    """
    log_radius = -graded_circle.AMPLIFIED / (2 * STABLE_EPOCHS)
    tried = settings.made(makers(rows, cut, STABLE_EPOCHS, LIMIT_PRECISION))
    return any(settings.inside_the_domain(setting, log_radius) for setting in tried)


def stable_factor(rows: blocks.Rows, cut: Partition) -> float:
    """By what all steps of batches may be multiplied to be the largest stable ones, to about one percent.

    Any batch alone diverges from τ = 2 on, and gradient descent from 2/λmax on; more than one batch per epoch bears a
    little more.
    """
    largest = rows.edge(rows.rho) / rows.rho
    low, high = 0.0, min(2.0, 2.3 / (cut.kappas[0] * largest)) / cut.taus[0]
    while high - low > LIMIT_PRECISION * high and high > 1e-6:
        middle = (low + high) / 2 if low > 0 else 0.7 * high
        low, high = (middle, high) if stable(rows, cut.scaled(middle)) else (low, middle)
    return float(low)
