"""What a reader of a prediction is warned of: one small function per caution, the weightiest first."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from edgelaw._common.types import Array
from edgelaw.laws import EdgeFit
from edgelaw.theory import regimes
from edgelaw_app.forecast.results import Caution, Diagnostic

FEW_ROWS = 40
MANY_ROWS = 1.2  # rows per dimension beyond which the smallest eigenvalue is well away from zero


@dataclass(frozen=True, eq=False)
class Facts:
    """What the cautions are about.

    Attributes
    ----------
    shape : (m, d)
    eigenvalues : ndarray
        Of XᵀX/m, ascending.
    edge, edge_error
        The fit of the left edge and the standard error of its exponent; None where there is no power law.
    diagnostic : Diagnostic
    duplicates : int
        Rows that repeat an earlier one.
    epochs, step, target
        As asked; the smallest step where orders have their own.
    edge_reason : str
        A sentence why there is no edge.
    columns : tuple of str
        What is odd about columns, in sentences.
    """

    shape: tuple[int, int]
    eigenvalues: Array
    edge: EdgeFit | None
    edge_error: float | None
    diagnostic: Diagnostic
    duplicates: int
    epochs: int
    step: float
    target: float | None
    edge_reason: str = ""
    columns: tuple[str, ...] = ()

    @property
    def null(self) -> int:
        """How many eigenvalues are zero."""
        return int((self.eigenvalues == 0).sum())

    @property
    def rho(self) -> float:
        """Rows per dimension."""
        return self.shape[0] / self.shape[1]


def cautions(facts: Facts) -> tuple[Caution, ...]:
    """All that apply."""
    return tuple(caution for function in BY_WEIGHT if (caution := function(facts)) is not None)


def not_haar(facts: Facts) -> Caution | None:
    """Real runs are not what eigenvalues predict, or it cannot be told."""
    if facts.diagnostic.fits:
        return None
    return Caution(
        "undecided" if facts.diagnostic.verdict == "undecided" else "not_haar", facts.diagnostic.text
    )


def columns(facts: Facts) -> Caution | None:
    """Some columns do not look like features."""
    return Caution("columns", " ".join(facts.columns)) if facts.columns else None


def few_rows(facts: Facts) -> Caution | None:
    """So few rows have no spectrum."""
    m = facts.shape[0]
    if m >= FEW_ROWS:
        return None
    return Caution(
        "few_rows",
        f"{m} rows: eigenvalues of so few are not a spectrum, and curves vary from order to order.",
    )


def duplicates(facts: Facts) -> Caution | None:
    """Some rows are equal."""
    if not facts.duplicates:
        return None
    return Caution(
        "duplicates",
        f"{facts.duplicates} rows repeat an earlier one: an order cannot place them independently, and the "
        "training loss may be far from the theory.",
    )


def plateau(facts: Facts) -> Caution | None:
    """Fewer rows than dimensions leave a part of the test loss that no epoch removes."""
    (m, d), null, target = facts.shape, facts.null, facts.target
    if m >= d:
        return None
    never = f", so the target {target:g} is never reached" if target and target < null / d else ""
    return Caution(
        "plateau",
        f"{m} rows in {d} dimensions leave {null} directions that no row has: the test loss (error of the "
        f"parameters) ends at {null / d:.3g} for every order and step{never}; the training loss ends at zero.",
    )


def null_direction(facts: Facts) -> Caution | None:
    """Enough rows, yet some directions are in none of them."""
    (m, d), null = facts.shape, facts.null
    if m < d or not null:
        return None
    return Caution(
        "null_direction",
        f"{null} direction{'s' if null > 1 else ''} of {d} {'are' if null > 1 else 'is'} in no row (centring "
        f"takes one at m = d): {null / d:.2g} of the test loss never goes away.",
    )


def exponential(facts: Facts) -> Caution | None:
    """So many rows that the losses fall exponentially within the budget."""
    smallest = facts.eigenvalues[facts.null] / facts.eigenvalues.mean()
    rate = 2 * facts.step * facts.rho * smallest
    if facts.rho <= MANY_ROWS or rate * facts.epochs <= 3:
        return None
    return Caution(
        "exponential",
        f"With {facts.rho:.3g} rows per dimension the smallest eigenvalue is {smallest:.2g} of the mean: losses fall "
        f"exponentially, by a factor of about e every {1 / rate:.2g} epochs, not by a power law. With real labels "
        "their noise decides long before such losses are reached.",
    )


def edge_uncertain(facts: Facts) -> Caution | None:
    """The exponent of the edge is not known well enough."""
    if facts.edge is None or facts.edge_error is None:
        return None
    if facts.edge_error <= max(0.15, 0.3 * facts.edge.beta):
        return None
    return Caution(
        "edge_uncertain",
        f"The exponent of the left edge, {facts.edge.beta:.2f} ± {facts.edge_error:.2f}, is too uncertain to mean "
        "anything.",
    )


def no_window(facts: Facts) -> Caution | None:
    """There is no range of epochs with a power law."""
    if facts.edge is None:
        return Caution("no_window", facts.edge_reason or "No power law is claimed at the left edge.")
    m, d = facts.shape
    start, end = power_law_window(facts.edge, d, m, facts.step)
    if end >= 4 * start or m < d or facts.rho > MANY_ROWS:
        return None
    return Caution(
        "no_window",
        f"No power law to speak of: the edge is seen from epoch {start:.0f} on, and at epoch {end:.0f} one "
        "eigenvalue is left below 1/t.",
    )


def power_law_window(edge: EdgeFit, d: int, m: int, step: float) -> tuple[float, float]:
    """First and last epoch of the power law of the edge, in the time t = 2·step·(m/d)·n."""
    scale = step * m / d
    at_zero = EdgeFit(edge.beta, edge.Q, 0.0, edge.count, edge.null, edge.residual, edge.window)
    with np.errstate(over="ignore"):
        return float(regimes.window_start(at_zero, scale)), float(regimes.window_end(d, at_zero, scale))


BY_WEIGHT: tuple[Callable[[Facts], Caution | None], ...] = (
    not_haar,
    few_rows,
    columns,
    duplicates,
    plateau,
    null_direction,
    exponential,
    edge_uncertain,
    no_window,
)
