"""What `edgelaw.predict` returns: one prediction, with one forecast per order, a diagnostic, cautions and advice."""

import warnings
from dataclasses import dataclass
from typing import Any

from edgelaw._common.plain import plain
from edgelaw._common.types import Array
from edgelaw.curves import LearningCurve
from edgelaw.laws import EdgeFit


@dataclass(frozen=True)
class Caution:
    """A warning.

    Attributes
    ----------
    code : str
        One of plateau, exponential, no_window, null_direction, edge_uncertain, not_haar, duplicates, few_rows.
    text : str
        A sentence.
    """

    code: str
    text: str


@dataclass(frozen=True)
class Diagnostic:
    """The first epoch of single shuffle at step 1, measured against its prediction: are the rows of the kind assumed?

    Attributes
    ----------
    measured, predicted : float
        Training loss after one epoch.
    excess : float
        measured/predicted - 1.
    error : float
        Standard error of the excess, over shuffles.
    threshold : float
        What the excess may differ by from -0.6/effective rank, its mean where the theory applies.
    fits : bool
    text : str
        A sentence.
    """

    measured: float
    predicted: float
    excess: float
    error: float
    threshold: float
    fits: bool
    text: str


@dataclass(frozen=True)
class Advice:
    """What to do.

    Attributes
    ----------
    order : str
        The order with the smallest test loss at the end of the budget; training loss where most of the test loss is a
        plateau.
    step : float
    reason : str
        One sentence, with the margin.
    margin : float
        By how much the next order that is not tied is behind, relatively; the nearest one if there is a tie.
    tie : tuple of str
        Orders that are tied with it: within 3 %, or within two standard errors.
    """

    order: str
    step: float
    reason: str
    margin: float
    tie: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Forecast:
    """What one order will do.

    Attributes
    ----------
    order : str
    step : float
    curve : LearningCurve
    how : {"exact", "simulated", "pilot"}
    why : str
        A sentence if not exact, or if an exact curve was continued; else empty.
    simulated : LearningCurve or None
        Real runs of SGD, where they were made.
    discrepancy : dict or None
        For each loss the `worst` relative difference of simulation and theory, its `epoch` and standard `error`.
    epochs_to_target : dict
        For each loss the first epoch at or below the target, or None.
    beyond : dict
        A sentence for each loss that does not reach it.
    best_step : dict
        For each loss the step with the smallest loss at the end of the budget; None where not computed.
    """

    order: str
    step: float
    curve: LearningCurve
    how: str
    why: str
    simulated: LearningCurve | None
    discrepancy: dict[str, dict[str, Any]] | None
    epochs_to_target: dict[str, int | None]
    beyond: dict[str, str]
    best_step: dict[str, float | None]


@dataclass(frozen=True, eq=False)
class Prediction:
    r"""Everything `predict` computed.

    Attributes
    ----------
    shape : (m, d)
    preparation : tuple of str
        What was done to the rows, one sentence each.
    eigenvalues : ndarray
        Of :math:`X^\top X/m`, ascending.
    edge : EdgeFit or None
    edge_error : float or None
        Standard error of its exponent.
    effective_rank, quantile_ratio : float
    step, epochs, target
        As asked.
    forecasts : dict
        One `Forecast` per order.
    diagnostic : Diagnostic
    warnings : tuple of Caution
        The weightiest first.
    advice : Advice
    """

    shape: tuple[int, int]
    preparation: tuple[str, ...]
    eigenvalues: Array
    edge: EdgeFit | None
    edge_error: float | None
    effective_rank: float
    quantile_ratio: float
    step: float | str
    epochs: int
    target: float | None
    forecasts: dict[str, Forecast]
    diagnostic: Diagnostic
    warnings: tuple[Caution, ...]
    advice: Advice

    @property
    def steps(self) -> tuple[str, ...]:
        """The earlier name of `preparation`."""
        warnings.warn("Prediction.steps is now Prediction.preparation.", DeprecationWarning, stacklevel=2)
        return self.preparation

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and words that JSON can hold; None for what is not a finite number."""
        return plain(self)
