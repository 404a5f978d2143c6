"""SGD, run until the mean of its losses is known to a few per cent, or the operations are spent.

Runs are drawn independently: each has its own orders and starts. An interval of two `errors` on both sides of a mean
contains the truth in about 95 of 100 cases: with few runs an error is widened by Student's t.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.special

from edgelaw._common.types import Array, ArrayLike
from edgelaw_app.forecast.results import FLOOR

PRECISE = 0.03  # relative standard error at which no more runs are made
FEWEST, CHUNK, MOST = 4, 64, 20_000  # runs: below, nothing is said; of the first portion; at all
FEWEST_LOOKED_FOR, LOOKED_FOR = 2, 8  # runs at each step of a search
MOMENTS = 24  # times at which runs are recorded, at most


class Budget:
    """Multiply-adds that running SGD may take: spent from several places, never more than there are."""

    def __init__(self, operations: float) -> None:
        self.total, self.spent = operations, 0.0

    @property
    def left(self) -> float:
        """What may still be spent."""
        return max(self.total - self.spent, 0.0)


class Losses(NamedTuple):
    """Losses by epoch, arrays (losses, epochs) with their relative standard errors, and how they are known."""

    epochs: Array
    values: Array
    errors: Array
    how: str = "theory"
    why: str = ""
    runs: int = 0
    accuracy: tuple[float, float] | None = None


class Sample(NamedTuple):
    """Losses of runs, an array (runs, losses, epochs), and their accuracies on held-out rows."""

    losses: Array
    accuracies: tuple[float, ...] = ()

    def mean(self) -> Array:
        """Over runs."""
        return self.losses.mean(axis=0)

    def errors(self) -> Array:
        """Relative standard errors of the means: half of a 95 % interval of Student's t.

        Or what the largest run has of the sum: where rare runs decide a mean, others of their kind are still to come.
        """
        runs = len(self.losses)
        if runs < 2:
            return np.full(self.losses.shape[1:], np.inf)
        with np.errstate(all="ignore"):
            mean = self.losses.mean(axis=0)
            single = self.losses.std(axis=0, ddof=1) / np.sqrt(runs) / mean
            wider = single * float(scipy.special.stdtrit(runs - 1, 0.975)) / 1.96
            rare = np.where(single > 0, self.losses.max(axis=0) / self.losses.sum(axis=0) - 1 / runs, 0.0)
        return np.where(np.isfinite(mean) & (mean > 0), np.maximum(wider, rare), 0.0)


class Problem:
    """What rows without labels and with them have in common for a forecast: limits, theory, and runs of SGD."""

    shape: tuple[int, int]  # rows, and columns as SGD sees them
    batch: int
    scale: float  # mean squared norm of a row
    outputs: int = 1
    losses: tuple[str, ...]  # their names, in the order of arrays
    promised: tuple[float, ...]  # how far theory may be off, relatively
    start: float = 1.0  # the deciding loss of zero weights
    eigenvalues: Array

    @property
    def unit(self) -> float:
        """The learning rate of step 1 for ``nn.MSELoss()``, which averages over outputs and has no half."""
        return self.outputs / (2 * self.scale)

    def limit(self, order: str) -> float:
        """The step from which on an order diverges."""
        raise NotImplementedError

    def highest(self, order: str) -> float:
        """The same, or less where a single row overshoots before."""
        return self.limit(order)

    def theory(self, order: str, steps: Array, times: ArrayLike) -> Losses:
        """The losses at the times; ArithmeticError where there is no theory."""
        raise NotImplementedError

    def doubtful(self, values: Array) -> bool:
        """Whether theory was found to be wrong where it has such losses."""
        return False

    def cost(self, times: Array) -> float:
        """Multiply-adds of a run to the last of the times."""
        raise NotImplementedError

    def run(self, order: str, steps: Array, times: Array, runs: int, rng: np.random.Generator) -> Sample:
        """Several runs at the times, 0 among them."""
        raise NotImplementedError

    def part(self, operations: float, epochs: int, rng: np.random.Generator) -> Any:
        """As large a part of the rows as the operations pay for per run: all of them, where a part says nothing."""
        return self


def until_precise(
    problem: Problem,
    order: str,
    steps: Array,
    times: Array,
    rng: np.random.Generator,
    budget: Budget,
    share: float,
    precise: ArrayLike = PRECISE,
) -> Losses | None:
    """Means over runs, as precise as that at every time with something left, as far as the share goes.

    None if it does not pay for a few runs.
    """
    cost = problem.cost(times)
    affordable = int(min(share, budget.left) / cost)
    if affordable < FEWEST:
        return None
    made, count = Sample(np.empty((0, len(problem.losses), len(times)))), min(CHUNK, affordable)
    while True:
        sample = problem.run(order, steps, times, count, rng.spawn(1)[0])
        budget.spent += count * cost
        made = Sample(np.concatenate([made.losses, sample.losses]), made.accuracies + sample.accuracies)
        mean, errors = made.mean(), made.errors()
        seen = mean >= FLOOR * np.maximum(mean[:, :1], 1e-300)
        affordable -= count
        count = min(len(made.losses), affordable, MOST - len(made.losses))
        enough = np.where(seen, errors, 0.0) <= precise
        if enough.all() or count < 2 or not np.isfinite(mean).all():
            break
    spread = None
    if made.accuracies:
        spread = float(np.mean(made.accuracies)), float(np.std(made.accuracies, ddof=1))
    worst, count = np.where(seen, errors, 0.0).max(), len(made.losses)
    known = "" if worst <= PRECISE else f", to {100 * worst:.0f} % only, because the operations are spent"
    return Losses(
        times, mean, errors, "simulated", f"Means over {count:,} runs of SGD{known}.", count, spread
    )


def loss_by_running(
    problem: Problem,
    order: str,
    steps: Array,
    place: tuple[int, float],
    seed: int,
    budget: Budget,
    share: float,
) -> float:
    """The mean of a loss at a time over few runs, the same ones at every step; NaN if the share pays for none."""
    loss, time = place
    times = np.array([0.0, time])
    cost = problem.cost(times)
    count = min(LOOKED_FOR, int(min(share, budget.left) / cost))
    if count < FEWEST_LOOKED_FOR:
        return np.nan
    budget.spent += count * cost
    sample = problem.run(order, steps, times, count, np.random.default_rng(seed))
    return float(sample.mean()[loss, -1])


def moments(times: Array, last: float) -> Array:
    """A few of the times up to the last, 0 and it included, evenly spaced in their logarithm.

    >>> moments(np.arange(9), 3).tolist(), len(moments(np.arange(500), 499))
    ([0, 1, 2, 3], 23)
    """
    times = times[times <= last]
    after = times[times > 0]
    if len(after) <= MOMENTS:
        return times
    goals = np.geomspace(after[0], after[-1], MOMENTS)
    return np.append(0, np.unique(after[np.abs(np.log(after[:, None] / goals)).argmin(axis=0)]))
