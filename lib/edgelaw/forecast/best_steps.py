"""The step with the smallest loss at the end of the budget, by exact curves at a few steps."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from edgelaw._common.types import Array
from edgelaw.forecast.exact_curves import exact_curve

GRID = 0.2, 0.5, 0.85, 1.2, 1.5, 1.75  # steps tried first
SMALLEST, LARGEST = 0.05, 1.9


class BestStep(NamedTuple):
    """A step, and the loss that it leaves."""

    step: float
    loss: float


def best_steps(
    order: str, eigenvalues: Array, epochs: int, rho: float, tick: Callable[[], object] = lambda: None
) -> dict[str, BestStep]:
    """The best step for the test and for the training loss at the last epoch; ArithmeticError without a curve.

    Logarithms of the losses at six steps, a parabola through the best three, and its minimum if it is better.
    """
    last = np.array([epochs])
    tried: dict[float, Array] = {}

    def attempt(step: float) -> None:
        if step not in tried:
            curve, _ = exact_curve(order, eigenvalues, last, step, rho)
            tried[step] = np.log(np.maximum([curve.test[-1], curve.train[-1]], 1e-290))
            tick()

    for step in GRID:
        attempt(step)
    best = {}
    for i, loss in enumerate(("test", "train")):
        for _ in range(2):
            step = _lowest_of_parabola({step: float(losses[i]) for step, losses in tried.items()})
            if min(abs(step - other) for other in tried) < 0.02:
                break
            attempt(round(step, 3))
        logarithms = {step: float(losses[i]) for step, losses in tried.items()}
        least = min(logarithms, key=logarithms.__getitem__)
        best[loss] = BestStep(float(least), float(np.exp(logarithms[least])))
    return best


def _lowest_of_parabola(losses: dict[float, float]) -> float:
    """Where the parabola through the lowest point and its neighbours is lowest, within the steps allowed."""
    steps = sorted(losses)
    values = np.array([losses[step] for step in steps])
    k = int(np.clip(values.argmin(), 1, len(steps) - 2))
    a, b, _ = np.polyfit(steps[k - 1 : k + 2], values[k - 1 : k + 2], 2)
    middle = float(np.clip(-b / (2 * a), SMALLEST, LARGEST)) if a > 0 else steps[values.argmin()]
    if values.argmin() == len(steps) - 1 and middle > steps[-1]:
        return LARGEST
    return middle
