"""IID sampling on any spectrum, with batches and targets: a recursion of mean squares along eigenvectors."""

from edgelaw.exact.iid.curves import (
    constants,
    curve,
    curve_at,
    effective_step,
    population_curve,
)
from edgelaw.exact.iid.expected import expected_curve
from edgelaw.exact.iid.labels import floor, probe_curve

__all__ = [
    "constants",
    "curve",
    "curve_at",
    "effective_step",
    "expected_curve",
    "floor",
    "population_curve",
    "probe_curve",
]
