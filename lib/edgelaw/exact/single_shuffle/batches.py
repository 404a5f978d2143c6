"""The largest stable step of averaged batches under single shuffle."""

from edgelaw.exact import graded_circle
from edgelaw.exact.batches.blocks import Rows
from edgelaw.exact.batches.partition import Partition
from edgelaw.exact.single_shuffle import settings

LIMIT_PRECISION = 0.01  # of a limit; an eigenvalue of an epoch below e^LIMIT_PRECISION may count as inside


def stable(rows: Rows, cut: Partition) -> bool:
    """Whether the cloud of an epoch's eigenvalues stays inside the unit circle.

    On a circle that is nearly the unit circle both generating functions are squared norms, and positive, as long as
    there is no eigenvalue outside.
    """
    last = int(graded_circle.AMPLIFIED / (2 * LIMIT_PRECISION))
    tried = settings.of(rows, cut, last, LIMIT_PRECISION)
    return any(settings.inside_the_domain(setting, -LIMIT_PRECISION) for setting in tried)


def stable_factor(rows: Rows, cut: Partition) -> float:
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
