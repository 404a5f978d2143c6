"""The recorded study of linear probes in PyTorch: every order at its own best step.

``data/torch_probe.md`` says what was run. A grid is a problem, a loss to train on, an optimiser and a batch size; in it
all orders have the same ladder of steps, and each has its best step inside the ladder, for parameter error and for
excess training loss, after few epochs and after all of them.
"""

import functools
import json
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from edgelaw import shipped
from edgelaw._common import arguments
from edgelaw._common.types import Array

MEASURES = ("parameter error", "training loss")
BUDGETS = ("few", "all")
NOISY = ("isotropic noisy", "tall")  # problems whose least-squares targets no weights fit


class Ratio(NamedTuple):
    """A paired ratio of two orders' losses: the geometric mean over splits, and the standard error of its logarithm."""

    value: float
    error: float


@dataclass(frozen=True, eq=False)
class Grid:
    """One grid of the study: what was trained, the two budgets, the ladder of steps, and what was recorded."""

    problem: str
    loss: str
    optimiser: str
    batch: int
    orders: tuple[str, ...] = field(repr=False)  #: the four, then "shuffle=True", a `DataLoader`'s own
    epochs: tuple[int, ...] = field(repr=False)  #: the two budgets
    steps: Array = field(repr=False)  #: the ladder
    #: (steps, orders, budgets, 3): means over splits of log parameter error, log excess training loss, accuracy
    means: Array = field(repr=False)
    #: (splits, orders, budgets, measures, 2): loss and accuracy of each split at the order's best step for these
    runs: Array = field(repr=False)

    @property
    def noisy(self) -> bool:
        """Whether no weights fit the targets, so that losses end at a floor."""
        return self.problem in NOISY or self.loss == "cross_entropy"

    def best(self) -> Array:
        """Places in the ladder of the best steps, (orders, budgets, measures)."""
        return self.means[..., :2].argmin(axis=0)

    def best_step(self, order: str, measure: str, budget: str = "all") -> float:
        """The step at which an order's mean logarithm of the loss is least."""
        return float(self.steps[self.best()[self._place(order, measure, budget)]])

    def ratio(self, order: str, measure: str, budget: str = "all") -> Ratio:
        """An order's loss over random reshuffle's, each at its own best step, paired on each split."""
        mean, error = self._over_reshuffle(np.log(self.runs[..., 0].astype(float)), order, measure, budget)
        return Ratio(float(np.exp(mean)), error)

    def points(self, order: str, measure: str, budget: str = "all") -> Ratio:
        """The same for held-out accuracy: a difference in percentage points, and its standard error."""
        return Ratio(*self._over_reshuffle(100 * self.runs[..., 1].astype(float), order, measure, budget))

    def _over_reshuffle(self, values: Array, order: str, measure: str, budget: str) -> tuple[float, float]:
        """The mean difference of an order's values and random reshuffle's, and its standard error."""
        above, below = (self._place(one, measure, budget) for one in (order, "random_reshuffle"))
        gaps = values[:, *above] - values[:, *below]
        return float(gaps.mean()), float(gaps.std(ddof=1) / np.sqrt(len(gaps)))

    def _place(self, order: str, measure: str, budget: str) -> tuple[int, int, int]:
        arguments.choice(order, "order", self.orders)
        arguments.choice(measure, "measure", MEASURES)
        arguments.choice(budget, "budget", BUDGETS)
        return self.orders.index(order), BUDGETS.index(budget), MEASURES.index(measure)


@functools.cache
def grids() -> tuple[Grid, ...]:
    """All grids that were run, in the order of the file."""
    sweep = shipped.sweep("torch_probe")
    made = []
    for number, (problem, loss, optimiser, batch) in enumerate(json.loads(str(sweep["grids"]))):
        orders, epochs = (tuple(sweep[key].tolist()) for key in ("orders", f"budgets {problem}"))
        arrays = (sweep[f"{key} {number}"] for key in ("steps", "grid", "tuned"))
        made.append(Grid(problem, loss, optimiser, batch, orders, epochs, *arrays))
    return tuple(made)


def chosen(
    problems: Collection[str] | None = None,
    losses: Collection[str] | None = None,
    optimisers: Collection[str] | None = None,
    batches: Collection[int] | None = None,
) -> list[Grid]:
    """The grids whose problem, loss, optimiser and batch are among those named; all where none is named."""
    filters = (problems, losses, optimisers, batches)
    kept = []
    for grid in grids():
        facts = (grid.problem, grid.loss, grid.optimiser, grid.batch)
        if all(allowed is None or fact in allowed for fact, allowed in zip(facts, filters, strict=True)):
            kept.append(grid)
    return kept


def span(
    grids: Collection[Grid],
    order: str,
    measures: Collection[str] = MEASURES,
    budgets: Collection[str] = BUDGETS,
) -> tuple[float, float]:
    """The smallest and largest ratio of an order's losses to random reshuffle's over grids, measures and budgets."""
    ratios = [
        grid.ratio(order, measure, budget).value
        for grid in grids
        for measure in measures
        for budget in budgets
    ]
    return min(ratios), max(ratios)
