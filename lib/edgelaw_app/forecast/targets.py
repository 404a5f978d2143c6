"""When a curve reaches a target: after how many row updates, or a sentence on why not."""

import numpy as np

from edgelaw._common.types import Array
from edgelaw.curves import LearningCurve
from edgelaw_app.forecast.exact_curves import exact_curve

LOSSES = ("test", "train")
_BETWEEN = 17  # moments at which an interval of the first epoch is looked at


def first_recorded(curve: LearningCurve, loss: str, target: float | None) -> float | None:
    """The first recorded time at which the loss is at or below the target; None if there is none, or no target."""
    if target is None:
        return None
    below = np.flatnonzero(getattr(curve, loss) <= target)
    return curve.epochs[below[0]].item() if len(below) else None


def first_between(
    order: str,
    eigenvalues: Array,
    curve: LearningCurve,
    loss: str,
    step: float,
    shape: tuple[int, int],
    target: float,
    batch: int = 1,
) -> float | None:
    """The first time at or below the target, also among those that were not recorded, by an exact curve.

    A whole number of epochs, or within the first epoch a whole number of rows over the m rows (batches: whole epochs).
    """
    hit = first_recorded(curve, loss, target)
    if hit is None or hit == 0:
        return hit
    before = curve.epochs[np.searchsorted(curve.epochs, hit) - 1].item()
    m, d = shape
    try:
        if hit <= 1 and batch == 1:
            return _rows(order, eigenvalues, loss, step, shape, target, round(before * m), round(hit * m)) / m
        if hit - before < 2:
            return hit
        between = np.arange(int(before) + 1, int(hit) + 1)
        fine = exact_curve(order, eigenvalues, between, step, m / d, checked=False, batch=batch)
    except ArithmeticError:
        return hit
    below = fine.epochs[(getattr(fine, loss) <= target) & (fine.epochs > 0)]
    return below[0].item() if len(below) else hit


def _rows(
    order: str,
    eigenvalues: Array,
    loss: str,
    step: float,
    shape: tuple[int, int],
    target: float,
    low: int,
    high: int,
) -> int:
    """The first number of rows in (low, high] after which the loss is at or below the target."""
    m, d = shape
    while high - low > 1:
        rows = np.unique(np.linspace(low, high, _BETWEEN).round().astype(np.int64))[1:-1]
        curve = exact_curve(order, eigenvalues, rows / m, step, m / d, checked=False)
        below = np.flatnonzero(getattr(curve, loss)[1:] <= target)
        place = below[0] if len(below) else len(rows)
        low, high = (rows[place - 1] if place > 0 else low), (rows[place] if place < len(rows) else high)
    return int(high)


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
