"""The learning rates to take: the best constant step, a shape with its best height, or every epoch's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from edgelaw._common.types import Array
from edgelaw.labels.curves import Problem, by_theory, losses

SAFE = 0.95  # part of the largest stable step beyond which no step is tried
FACTOR = 3.0  # between two steps of the first, coarse look
FINEST = 0.04  # in the logarithm of the step: the loss is flat at its minimum


def shape(schedule: str, epochs: int) -> Array:
    """The steps of a schedule over its first one, by epoch.

    Examples
    --------
    >>> shape("linear", 4).tolist(), shape("1/t", 3).round(3).tolist(), shape("cosine", 2).round(3).tolist()
    ([1.0, 0.75, 0.5, 0.25], [1.0, 0.5, 0.333], [1.0, 0.5])
    """
    part = np.arange(epochs) / epochs
    return {
        "constant": np.ones(epochs),
        "cosine": (1 + np.cos(np.pi * part)) / 2,
        "linear": 1 - part,
        "1/t": 1 / (1 + np.arange(epochs)),
    }[schedule]


class Minimum(NamedTuple):
    """The step with the smallest loss, and that loss."""

    step: float
    loss: float


def best_height(problem: Problem, order: str, form: Array, limit: float) -> Minimum:
    """The factor of a schedule's form with the smallest loss at its end, below a stable limit."""

    def last(step: float) -> float:
        curve = by_theory(order, problem, step * form) or losses(order, problem, step * form)
        return np.inf if curve is None or not np.isfinite(curve.loss[-1]) else float(curve.loss[-1])

    return minimise(last, SAFE * limit)


def minimise(last: Callable[[float], float], highest: float) -> Minimum:
    """The minimum of a loss over the logarithm of the step, from the highest allowed one downwards."""
    steps, values = [highest], [last(highest)]
    # downwards until the loss has risen twice in a row, or has nothing left to lose
    while len(steps) < 16 and not (len(values) > 2 and values[-1] > values[-2] > values[-3]):
        steps.append(steps[-1] / FACTOR)
        values.append(last(steps[-1]))
    best = int(np.argmin(values))
    low = np.log(steps[min(best + 1, len(steps) - 1)])
    high = np.log(steps[max(best - 1, 0)])
    known = {np.log(step): value for step, value in zip(steps, values, strict=True)}
    middle = np.log(steps[best])
    while high - low > 4 * FINEST:
        # the larger of the two parts, at golden ratio from the best point so far
        left = (middle - low) > (high - middle)
        trial = middle - 0.38 * (middle - low) if left else middle + 0.38 * (high - middle)
        known[trial] = last(float(np.exp(trial)))
        if known[trial] < known[middle]:
            low, high, middle = (low, middle, trial) if left else (middle, high, trial)
        elif left:
            low = trial
        else:
            high = trial
    return Minimum(float(np.exp(middle)), known[middle])
