"""The learning rates to take: the best constant step, a shape with its best height, or every epoch's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from edgelaw._common.types import Array
from edgelaw.exact.labels import schedules
from edgelaw_app.labels.curves import Problem, has_theory, losses, too_few_dimensions

SAFE = 0.95  # part of the largest stable step beyond which no step is tried
SPREAD = 1.8  # between the three steps around a guess
MOST_MOVES = 12
FACTOR = 3.0  # between two steps of the first, coarse look
FINEST = 0.04  # in the logarithm of the step: the loss is flat at its minimum


def shape(schedule: str, epochs: int) -> Array:
    """The steps of a schedule over its first one, by epoch.

    Examples
    --------
    >>> shape("linear", 4).tolist(), shape("1/t", 3).round(3).tolist(), shape("cosine", 2).round(3).tolist()
    ([1.0, 0.75, 0.5, 0.25], [1.0, 0.5, 0.333], [1.0, 0.5])
    """
    return schedules.profile(schedule, epochs, decay=1.0)


class Tuned(NamedTuple):
    """Steps by epoch with the smallest loss at their end, and the best constant step beside them."""

    steps: Array
    loss: float
    constant_step: float
    constant_loss: float


def best(problem: Problem, order: str, epochs: int, schedule: str, limit: float) -> Tuned:
    """The best steps of a schedule: by theory, or by running SGD where theory has none.

    Runs at different steps visit the rows in the same orders, so that their differences are not noise. The best
    schedule of all takes theory; where there is none, a cosine stands for it.
    """
    rows = problem.rows
    if schedule != "constant" and problem.ridge == 0 and (order == "iid" or not too_few_dimensions(rows)):
        upper = SAFE * min(limit, problem.row_limit)
        loss = "train" if rows.held_out is None else "held_out"
        try:
            made = schedules.best_schedule(order, rows, epochs, loss, schedule, upper, problem.batch)
        except ArithmeticError:
            pass
        else:
            return Tuned(made.steps, made.loss, made.constant_step, made.constant_loss)
    constant = best_height(problem, order, np.ones(epochs), limit)
    form = shape("cosine" if schedule == "best" else schedule, epochs)
    height = constant if schedule == "constant" else best_height(problem, order, form, limit)
    return Tuned(height.step * form, height.loss, constant.step, constant.loss)


class Minimum(NamedTuple):
    """The step with the smallest loss, and that loss."""

    step: float
    loss: float


def best_height(problem: Problem, order: str, form: Array, limit: float) -> Minimum:
    """The factor of a schedule's form with the smallest loss at its end, below a stable limit."""

    def last(step: float) -> float:
        curve = losses(order, problem, step * form)
        if curve is None:
            raise ValueError(
                "There is no theory for this question, and simulating it would take too long; give fewer rows."
            )
        return float(curve.loss[-1]) if np.isfinite(curve.loss[-1]) else np.inf

    highest = SAFE * (min(limit, problem.row_limit) if has_theory(order, problem, form) else limit)
    if order == "iid" or not has_theory("iid", problem, form):
        return minimise(last, highest)
    # IID's theory costs a tenth of the others', and its best step is a good guess for theirs
    return near(last, min(best_height(problem, "iid", form, limit).step, highest), highest)


def near(last: Callable[[float], float], guess: float, highest: float) -> Minimum:
    """The minimum of a loss over the logarithm of the step, near a guess: three steps around it, then a parabola."""
    values = {guess: last(guess)}
    centre = guess
    for _ in range(MOST_MOVES):
        low, high = centre / SPREAD, min(centre * SPREAD, highest)
        for step in (low, high):
            if step not in values:
                values[step] = last(step)
        best_so_far = min(values, key=values.__getitem__)
        if best_so_far == centre or centre == highest:
            break
        centre = best_so_far
    else:
        return Minimum(centre, values[centre])
    x = np.log([low, centre, high])
    y = np.array([values[low], values[centre], values[high]])
    if high > 1.05 * centre and np.isfinite(y).all():
        slopes = np.diff(y) / np.diff(x)
        bend = (slopes[1] - slopes[0]) / (x[2] - x[0])
        vertex = float(np.exp((x[0] + x[1]) / 2 - slopes[0] / (2 * bend))) if bend > 0 else centre
        if low < vertex < high:
            values[vertex] = last(vertex)
    lowest = min(values, key=values.__getitem__)
    return Minimum(lowest, values[lowest])


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
