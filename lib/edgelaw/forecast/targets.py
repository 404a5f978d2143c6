"""When a curve reaches a target: the first epoch at or below it, or a sentence on why there is none."""

import numpy as np

from edgelaw._common.types import Array
from edgelaw.curves import LearningCurve
from edgelaw.forecast.exact_curves import exact_curve

LOSSES = ("test", "train")


def first_recorded(curve: LearningCurve, loss: str, target: float | None) -> int | None:
    """The first recorded epoch at which the loss is at or below the target; None if there is none, or no target."""
    if target is None:
        return None
    below = np.flatnonzero(getattr(curve, loss) <= target)
    return int(curve.epochs[below[0]]) if len(below) else None


def first_between(
    order: str, eigenvalues: Array, curve: LearningCurve, loss: str, step: float, rho: float, target: float
) -> int | None:
    """The first epoch at or below the target, also among those that were not recorded, by an exact curve."""
    hit = first_recorded(curve, loss, target)
    if hit is None or hit == 0:
        return hit
    before = int(curve.epochs[np.searchsorted(curve.epochs, hit) - 1])
    if hit - before < 2:
        return hit
    try:
        fine, _ = exact_curve(order, eigenvalues, np.arange(before + 1, hit + 1), step, rho)
    except ArithmeticError:
        return hit
    below = fine.epochs[(getattr(fine, loss) <= target) & (fine.epochs > 0)]
    return int(below[0]) if len(below) else hit


def unreached(curve: LearningCurve, target: float | None, null: float) -> dict[str, str]:
    """A sentence for each loss that does not reach the target; `null` is the share of directions that no row has."""
    sentences: dict[str, str] = {}
    if target is None:
        return sentences
    for loss in LOSSES:
        if first_recorded(curve, loss, target) is None:
            end = getattr(curve, loss)[-1]
            sentences[loss] = f"not within {int(curve.epochs[-1])} epochs, where it is {end:.3g}"
    if "test" in sentences and target < null:
        sentences["test"] = f"never: {null:.3g} of the test loss is in directions that no row has"
    return sentences
