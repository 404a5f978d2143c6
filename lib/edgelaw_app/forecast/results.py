"""What a forecast returns: what to do, every order's losses, how far to believe them, and code to paste."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from edgelaw._common import notebook
from edgelaw._common.types import Array
from edgelaw_app.forecast.ridge import ClosedForm
from edgelaw_app.plain import plain

FLOOR = 1e-12  # losses below it, in units of their start, are not told from zero: nothing is ranked by them


class Caution(NamedTuple):
    """A reason to do something else, or not to believe a part of the forecast: a code, and a sentence with a remedy."""

    code: str
    text: str


@dataclass(frozen=True, eq=False)
class OrderForecast:
    """Losses of one order at a learning rate."""

    order: str
    lr: float  #: of the first epoch, for ``torch.optim.SGD`` and ``nn.MSELoss()``
    rates: Array = field(repr=False)  #: the same for each epoch
    step: float  #: the same in units of the theory: lr · 2 · mean squared norm of a row / outputs
    epochs: Array = field(repr=False)  #: when losses are recorded; fractions are rows over all rows
    #: by name: "parameter error" and "training loss" (relative to their start), or with labels "training loss" and
    #: "held-out loss" (squared errors summed over outputs, means over rows)
    losses: dict[str, Array] = field(repr=False)
    errors: dict[str, Array] = field(repr=False)  #: relative standard errors, or what theory is good for
    #: "theory", "simulated", "pilot" (run on a part of the rows, and corrected by theory) or "part" (which compares
    #: orders, but has no level)
    how: str = "theory"
    why: str = field(default="", repr=False)  #: a sentence, where it is not theory
    runs: int = 0
    #: share of held-out rows that runs classify correctly after the last epoch, and its standard deviation over runs
    accuracy: tuple[float, float] | None = None

    @property
    def values(self) -> Array:
        """All losses, an array (losses, epochs)."""
        return np.array(list(self.losses.values()))

    def at(self, time: float, loss: str) -> tuple[float, float]:
        """A loss at a recorded time, and its relative standard error."""
        place = int(np.argmin(np.abs(self.epochs - time)))
        return float(self.losses[loss][place]), float(self.errors[loss][place])


@dataclass(frozen=True)
class Advice:
    """What to do."""

    order: str
    lr: float
    batch: int
    epochs: int
    loss: str  #: which one decides
    time: float  #: the epoch at which orders are compared
    value: float  #: that loss then
    error: float  #: its relative standard error
    verdict: str  #: "ahead", "tied", "undecided" (its margin's error is above 20 %) or "alone"
    rival: str  #: the nearest other order that is not better
    margin: float  #: how much more it leaves, relatively
    margin_error: float
    tie: tuple[str, ...]  #: all orders that are tied or undecided with it
    sentences: tuple[str, ...] = field(repr=False)  #: the same in words


@dataclass(frozen=True)
class Check:
    """SGD, run on the rows, against the theory."""

    verdict: str  #: "agrees", "differs", "undecided" or "not run": by the errors of the runs
    text: str  #: a sentence
    excess: float | None = None  #: measured over predicted, less 1, where the two are furthest apart
    error: float | None = None  #: its standard error


@dataclass(frozen=True)
class Labels:
    """What is known only with labels."""

    held_out_rows: int
    outputs: int
    classes: tuple[str, ...] | None = field(repr=False)
    chance: float  #: the loss of zero weights: for classes, of always answering with their frequencies
    largest_class: float | None  #: the share of the largest class among the held-out rows
    ridge: ClosedForm  #: direct solutions on the same rows
    costs: dict[str, float]  #: the deciding loss at the end with other learning rates; infinite: SGD diverges
    gain: float | None  #: how much of the best constant lr's loss a schedule saves; None where that is run


@dataclass(frozen=True, eq=False)
class Forecast:
    """Everything that `predict` or `probe` found."""

    shape: tuple[int, int]  #: rows to train on, and columns as SGD sees them
    advice: Advice
    orders: dict[str, OrderForecast]  #: each at its own best learning rate
    asked: dict[str, OrderForecast]  #: the same at the learning rate that was asked for; empty without one
    largest_lr: dict[str, float]  #: for each order the lr from which on it diverges
    budget: int  #: epochs
    target: float | None
    reached: dict[str, float | None]  #: for each order when the deciding loss is at the target first, or None
    check: Check
    cautions: tuple[Caution, ...]
    assumed: str  #: a sentence or two
    code: str  #: lines of PyTorch that do what `advice` says
    preparation: tuple[str, ...]  #: what was done to the rows, a sentence each
    operations: float  #: multiply-adds that were spent on running SGD
    #: of XᵀX/m for rows of norm √d, ascending; with labels of the rows as they are, mean 1
    eigenvalues: Array = field(repr=False)
    labels: Labels | None = None

    @property
    def start(self) -> float:
        """The deciding loss of zero weights."""
        return 1.0 if self.labels is None else self.labels.chance

    @property
    def best(self) -> OrderForecast:
        """The order to take at its best learning rate."""
        return self.orders[self.advice.order]

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, numbers and words that JSON can hold; None stands for what is not a finite number."""
        return {**plain(self), "floor": FLOOR}

    def __repr__(self) -> str:
        """The advice, and a line per order."""
        lines = [f"{type(self).__name__}({self.shape[0]:,} × {self.shape[1]:,}): {self.advice.sentences[0]}"]
        for order, one in self.orders.items():
            value = with_error(*one.at(self.advice.time, self.advice.loss), self.start)
            how = "" if one.how == "theory" else f" ({one.how})"
            lines.append(f"  {order:<17} lr {one.lr:.3g}: {self.advice.loss} {value}{how}")
        more = [f"  {len(self.cautions)} caution(s): {', '.join(one.code for one in self.cautions)}"]
        return "\n".join([*lines, *(more if self.cautions else [])])

    def picture(self, loss: str, label: str, colours: Mapping[str, str] | None = None) -> str:
        """A loss of every order by epoch as an SVG element, described by `label`, and the target if it decides.

        Two standard errors are shaded where SGD was run; `colours` has what stands in a page for a line's colour.
        """
        from edgelaw import plots

        lines = []
        for order, one in self.orders.items():
            look, ran = plots.ORDER_STYLES[order], one.how != "theory"
            style = look["label"] + f" ({one.how})" * ran, look["color"], look["linestyle"]
            error = one.errors[loss] if ran else 0.0
            lines.append(notebook.Line(one.epochs, one.losses[loss], *style, error=error))
        if self.target is not None and loss == self.advice.loss:
            ends, level = self.best.epochs[[1, -1]], [self.target, self.target]
            lines.append(notebook.Line(ends, level, f"target {self.target:.6g}", style=(0, (2, 3))))
        return notebook.plot(lines, "epoch", loss, label, colours)

    def _repr_html_(self) -> str:
        """The advice in a notebook, with the deciding loss of every order in a small plot and a small table."""
        from edgelaw import plots

        loss, rows = self.advice.loss, []
        for order, one in self.orders.items():
            value = with_error(*one.at(self.advice.time, loss), self.start)
            rows.append([plots.ORDER_STYLES[order]["label"], notebook.number(one.lr), value])
        header = ["order", "lr", f"{loss}, epoch {notebook.number(self.advice.time)}"]
        picture = self.picture(loss, f"{loss} by epoch in each order.")
        note = " ".join([self.assumed, *(caution.text for caution in self.cautions)])
        return notebook.card(" ".join(self.advice.sentences), picture, header, rows, note)


def with_error(
    value: float, error: float, start: float = 1.0, shown: Callable[[float], str] = notebook.number
) -> str:
    """A loss with its relative standard error, as readers see it, where it began at `start`.

    >>> with_error(0.01234, 0.0), with_error(0.01234, 0.021), with_error(3e-17, 0.1), with_error(np.inf, 0.1)
    ('0.0123', '0.0123 ± 2 %', '< 1e-12', 'diverges')
    """
    if not np.isfinite(value):
        return "diverges"
    if value < FLOOR * start:
        return f"< {FLOOR * start:.0e}"
    known = np.isfinite(error) and error >= 5e-4
    return shown(value) + (f" ± {100 * error:.{0 if error >= 0.01 else 1}f} %" if known else "")
