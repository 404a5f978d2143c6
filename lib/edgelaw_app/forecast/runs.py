"""SGD, run until the mean of its losses is known to a few per cent, or the operations are spent.

Runs are drawn independently: each has its own orders and starts. An interval of two `errors` on both sides of a mean
contains the truth in about 95 of 100 cases: with few runs an error is widened by Student's t.
"""

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
import scipy.special

from edgelaw._common.types import Array, ArrayLike
from edgelaw_app.forecast.results import FLOOR

if TYPE_CHECKING:
    from edgelaw_app.forecast.labelled import Labelled
    from edgelaw_app.forecast.spectral import Spectral

    Problem: TypeAlias = Spectral | Labelled

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
        """Relative standard errors of the means: half of Student's 95 % interval, or what the largest run has."""
        runs = len(self.losses)
        if runs < 2:
            return np.full(self.losses.shape[1:], np.inf)
        with np.errstate(all="ignore"):
            mean = self.losses.mean(axis=0)
            single = self.losses.std(axis=0, ddof=1) / np.sqrt(runs) / mean
            wider = single * float(scipy.special.stdtrit(runs - 1, 0.975)) / 1.96
            rare = np.where(single > 0, self.losses.max(axis=0) / self.losses.sum(axis=0) - 1 / runs, 0.0)
        return np.where(np.isfinite(mean) & (mean > 0), np.maximum(wider, rare), 0.0)


def until_precise(
    problem: "Problem",
    order: str,
    steps: Array,
    times: Array,
    rng: np.random.Generator,
    budget: Budget,
    share: float,
    precise: ArrayLike = PRECISE,
) -> Losses | None:
    """Means over runs, as precise as that where something is left, as far as the share goes; None if for few runs."""
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
    problem: "Problem",
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
    """A few of the times up to the last, 0 and it included, evenly spaced in their logarithm."""
    times = times[times <= last]
    after = times[times > 0]
    if len(after) <= MOMENTS:
        return times
    goals = np.geomspace(after[0], after[-1], MOMENTS)
    return np.append(0, np.unique(after[np.abs(np.log(after[:, None] / goals)).argmin(axis=0)]))
