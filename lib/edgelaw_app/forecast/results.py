"""What `edgelaw.predict` returns: one prediction, with one forecast per order, a diagnostic, cautions and advice."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from edgelaw._common.types import Array
from edgelaw.curves import LearningCurve
from edgelaw.laws import EdgeFit
from edgelaw.spectrum import EdgeLaw
from edgelaw_app.forecast.assumption import assumption
from edgelaw_app.forecast.exact_curves import FLOOR
from edgelaw_app.plain import plain

if TYPE_CHECKING:
    from edgelaw_app.forecast.batching import Batching


@dataclass(frozen=True)
class Caution:
    """A warning.

    Attributes
    ----------
    code : str
        One of plateau, exponential, no_window, null_direction, edge_uncertain, not_haar, undecided, duplicates,
        few_rows, columns.
    text : str
        A sentence.
    """

    code: str
    text: str


@dataclass(frozen=True)
class Diagnostic:
    """Two orders, run from all starts, against their exact curves: are the rows of the kind assumed?

    Attributes
    ----------
    measured, predicted : float
        The loss where the verdict was decided: the worst place.
    excess : float
        measured/predicted - 1.
    error : float
        Standard error of the excess, over shuffles.
    threshold : float
        What is promised of the excess: 0.02 for the test loss, 0.05 for the training loss.
    fits : bool
        Whether the verdict is "passes".
    text : str
        A sentence or two.
    verdict : {"passes", "fails", "undecided"}
    subset : str
        Which rows and dimensions it ran on.
    order, loss, epoch
        Of the worst place.
    epochs : tuple of int
        Those that were watched.
    shuffles : int
    """

    measured: float
    predicted: float
    excess: float
    error: float
    threshold: float
    fits: bool
    text: str
    verdict: str = ""
    subset: str = ""
    order: str = ""
    loss: str = ""
    epoch: int = 0
    epochs: tuple[int, ...] = ()
    shuffles: int = 0


@dataclass(frozen=True)
class Advice:
    """What to do.

    Attributes
    ----------
    order : str
        The order with the smallest test loss at the end of the budget, or earlier where a loss is down to 1e-12;
        training loss where most of the test loss is a plateau. Among tied orders random reshuffle is named first.
    step : float
    reason : str
        One sentence, with the margin.
    margin : float
        By how much the next order that is not tied is behind the smallest loss, relatively; the nearest one if all
        are tied.
    margin_error : float
        Standard error of the margin: of the simulations, or the accuracy of exact curves.
    tie : tuple of str
        Orders that are tied with it: within two such errors.
    time : float
        When losses were compared, in epochs.
    """

    order: str
    step: float
    reason: str
    margin: float
    margin_error: float
    tie: tuple[str, ...]
    time: float


@dataclass(frozen=True, eq=False)
class Forecast:
    """What one order will do.

    Attributes
    ----------
    order : str
    step : float
    curve : LearningCurve
    how : {"exact", "simulated", "pilot"}
        The same for all orders of a prediction: what is compared is of one kind.
    why : str
        A sentence if not exact, or if an exact curve was continued; else empty.
    simulated : LearningCurve or None
        Real runs of SGD, where they were made.
    discrepancy : dict or None
        For each loss the `worst` relative difference of simulation and theory, its `epoch` and standard `error`.
    epochs_to_target : dict
        For each loss the first epoch at or below the target, a fraction within the first one, or None.
    rows_to_target : dict
        The same in row updates.
    beyond : dict
        A sentence for each loss that does not reach it.
    best_step : dict
        For each loss the step with the smallest loss at `best_step_time`; None where not computed.
    best_step_time : float or None
        In epochs: the end of the budget, or the last recorded time at which the training loss is above 1e-12.
    scatter : float
        About the relative standard deviation of a single run's test loss at the end of the budget, or where it was
        last above 1e-12.
    """

    order: str
    step: float
    curve: LearningCurve
    how: str
    why: str
    simulated: LearningCurve | None
    discrepancy: dict[str, dict[str, Any]] | None
    epochs_to_target: dict[str, float | None]
    rows_to_target: dict[str, int | None]
    beyond: dict[str, str]
    best_step: dict[str, float | None]
    best_step_time: float | None
    scatter: float


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
        None where there is no power law at the left edge, or where that cannot be decided.
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
    batch : int
        Rows per update.
    batching : Batching or None
        What the batch size means: learning rate, critical size, cost; None where rows are visited one by one.
    edge_law : EdgeLaw or None
        Whether there is a power law at the left edge, by which tests, and why not.
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
    edge_law: EdgeLaw | None = None
    batch: int = 1
    batching: "Batching | None" = None

    @property
    def assumption(self) -> str:
        """What the forecast takes for granted, and what noise would change about its advice."""
        return assumption(self.advice.order)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and words that JSON can hold.

        None stands for what is not a finite number, and in a curve for a loss below the ``floor``, which is not told
        from zero.
        """
        content = plain(self)
        for forecast in content["forecasts"].values():
            for curve in filter(None, (forecast["curve"], forecast["simulated"])):
                for loss in ("test", "train"):
                    curve[loss] = [x if x is not None and x >= FLOOR else None for x in curve[loss]]
        return {**content, "assumption": self.assumption, "floor": FLOOR}

    def _repr_html_(self) -> str:
        """The advice in a notebook, with the test loss of every order in a small plot and a small table."""
        from edgelaw import plots
        from edgelaw._common import notebook

        styles = {order: plots.ORDER_STYLES[order] for order in self.forecasts}
        lines = []
        for order, one in self.forecasts.items():
            look = styles[order]
            name = look["label"] if one.how == "exact" else f"{look['label']} ({one.how})"
            lines.append(
                notebook.Line(one.curve.epochs, one.curve.test, name, look["color"], look["linestyle"])
            )
            if one.simulated is not None and one.how == "exact":
                places = notebook.moments(one.simulated.epochs, 7)
                points = one.simulated.epochs[places], one.simulated.test[places]
                lines.append(notebook.Line(*points, "", look["color"], "none", look["marker"]))
        times = next(iter(self.forecasts.values())).curve.epochs
        places = notebook.moments(times, 3)
        label = f"Test loss by epoch in each order. {self.advice.reason}"
        rows = [
            [styles[order]["label"], notebook.number(one.step)]
            + [
                notebook.number(value) if value >= FLOOR else f"< {FLOOR:.0e}"
                for value in one.curve.test[places]
            ]
            for order, one in self.forecasts.items()
        ]
        header = ["test loss", "step", *(f"epoch {notebook.number(times[place])}" for place in places)]
        facts = [self.batching.text] if self.batching else []
        note = " ".join([*facts, self.assumption, *(caution.text for caution in self.warnings)])
        return notebook.card(
            self.advice.reason, notebook.plot(lines, "epoch", "test loss", label), header, rows, note
        )
