"""What `labels.forecast` returns: the probe to train, what to expect of it, and what a wrong choice would cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from edgelaw._common.types import Array
from edgelaw_app.labels.closed_form import ClosedForm
from edgelaw_app.labels.preparation import Prepared
from edgelaw_app.plain import plain


@dataclass(frozen=True)
class Caution:
    """A reason not to believe a part of the forecast.

    Attributes
    ----------
    code : str
        One of disagreement, few_rows, unequal_norms, long_rows, edge_of_stability, few_held_out, too_large; or, from
        the command line, columns (that do not look like features).
    text : str
        A sentence.
    """

    code: str
    text: str


@dataclass(frozen=True, eq=False)
class OrderForecast:
    """Losses of one order at the forecast's learning rates, by epoch from 0.

    Attributes
    ----------
    order : str
    how : {"theory", "simulated"}
        By theory, or by running SGD.
    train, held_out : array
        Means over rows of the squared error, summed over outputs; held_out is None without held-out rows.
    error : float
        Relative: what theory states of itself, or the largest standard error of the simulation.
    floor : float or None
        The training loss that this order ends at with a constant learning rate; None where theory has none.
    """

    order: str
    how: str
    train: Array = field(repr=False)
    held_out: Array | None = field(repr=False)
    error: float
    floor: float | None = None

    @property
    def loss(self) -> Array:
        """The loss that decides: held-out, or training loss without held-out rows."""
        return self.train if self.held_out is None else self.held_out


@dataclass(frozen=True)
class Costs:
    """What a wrong choice costs: the loss at the end of the budget over that of the forecast.

    Attributes
    ----------
    orders : dict
        For every other order at the same learning rates.
    smaller, larger : float or None
        With a ten times smaller and a ten times larger learning rate; larger is None where that diverges.
    larger_lr : float
        The larger learning rate: ten times, or 0.95 of the largest stable one.
    larger_factor : float
        larger_lr over the forecast's: ten, or less where ten times as much would diverge.
    """

    orders: dict[str, float]
    smaller: float | None
    larger: float | None
    larger_lr: float
    larger_factor: float


@dataclass(frozen=True)
class Accuracy:
    """How the mean weights at the end of the budget classify the held-out rows.

    A run differs from the mean by its noise, and is seldom more accurate.

    Attributes
    ----------
    held_out : float
        The share of held-out rows whose own class has the largest score.
    margin : float
        The median over held-out rows of that class's score minus the largest other one. Scores are regressed on 0 and
        1, so that 1 would be perfect, and a row below 0 is classified wrongly.
    largest_class : float
        The share of the most frequent class: the accuracy of always naming it.
    """

    held_out: float
    margin: float
    largest_class: float


@dataclass(frozen=True, eq=False)
class ProbeForecast:
    r"""How to train a linear probe by SGD, and the losses to expect.

    Losses are means over rows of the squared error, summed over outputs. Learning rates are those of
    ``torch.optim.SGD`` for **half** that loss, averaged over the batch: an update is
    :math:`w \leftarrow w - \frac{\text{lr}}b\sum_{i\in B}(x_i\cdot w - t_i)\,x_i`. For ``nn.MSELoss()``, which averages
    over outputs and has no half, it is `mse_lr`.

    Attributes
    ----------
    shape : (m, d)
        Training rows, and columns as SGD sees them.
    held_out_rows, outputs : int
    classes : tuple of str, or None
    preparation : tuple of str
        What was done to features and labels, one sentence each.
    lr, mse_lr : float
        The learning rate (of the first epoch) for either loss; as asked, or the best one.
    best_lr : float
        The constant one with the smallest loss at the end of the budget.
    largest_lr : float
        Beyond it SGD diverges.
    step : float
        lr times the mean squared norm of a row: the dimensionless step of the theory.
    batch, order, epochs
        Rows per update, the order to take, the budget.
    enough : int
        Epochs after which the loss is within 1 % of its smallest value.
    schedule : str
    rates : array
        The learning rate of each epoch.
    train, held_out : array
        Of the order to take, by epoch from 0; held_out is None without held-out rows.
    orders : dict
        An `OrderForecast` per order, all at the same learning rates.
    gain : float or None
        How much of the best constant learning rate's loss the schedule saves; None for a constant one.
    costs : Costs
    closed_form : ClosedForm
    chance : float
        The loss of zero weights: for classes, of always answering with their frequencies.
    accuracy : Accuracy or None
        Of the mean weights on the held-out rows; None without classes or held-out rows, and with ridge.
    simulated : OrderForecast or None
        A run of SGD at the same settings, where it was made.
    cautions : tuple of Caution
    sentences : dict
        The answer in plain sentences: "advice", "judged", "loss", "accuracy", "schedule", "rates", "closed_form",
        "check".
    ridge : float
        Weight decay.
    intercept : {"mean", "column", "none"}
        The mean target, a constant column that is trained, or none.
    data : Prepared
        Rows and targets as SGD sees them; not part of `to_dict`.
    """

    shape: tuple[int, int]
    held_out_rows: int
    outputs: int
    classes: tuple[str, ...] | None
    preparation: tuple[str, ...]
    lr: float
    mse_lr: float
    best_lr: float
    largest_lr: float
    step: float
    batch: int
    order: str
    epochs: int
    enough: int
    schedule: str
    rates: Array = field(repr=False)
    train: Array = field(repr=False)
    held_out: Array | None = field(repr=False)
    orders: dict[str, OrderForecast] = field(repr=False)
    gain: float | None
    costs: Costs
    closed_form: ClosedForm
    chance: float
    accuracy: Accuracy | None
    simulated: OrderForecast | None = field(repr=False)
    cautions: tuple[Caution, ...]
    sentences: dict[str, str]
    ridge: float
    intercept: str
    data: Prepared = field(repr=False, metadata={"plain": False})

    @property
    def loss(self) -> Array:
        """The loss that decides: held-out, or training loss without held-out rows."""
        return self.train if self.held_out is None else self.held_out

    @property
    def relative_to_chance(self) -> float:
        """The loss at the end over that of zero weights."""
        return float(self.loss[-1] / self.chance)

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and words that JSON can hold; None stands for what is not a finite number."""
        return {**plain(self), "relative_to_chance": plain(self.relative_to_chance)}

    def _repr_html_(self) -> str:
        """The advice in a notebook, with the loss of every order in a small plot and a small table."""
        from edgelaw_app.labels.card import card

        return card(self)
