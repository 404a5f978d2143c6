"""Exact curves from eigenvalues, for every order, continued where the theory stops because nothing is left."""

import numpy as np

from edgelaw import theory
from edgelaw._common.types import Array, ArrayLike, Integers
from edgelaw.curves import LearningCurve

SMALL = 1e-9  # below this a loss is continued by its last ratio where the theory refuses to go on
FEWEST_EIGENVALUES = 20


def recorded_epochs(epochs: int) -> Integers:
    """The epochs to look at: all up to 200, then about a hundred per decade, the last one included."""
    if epochs <= 200:
        return np.arange(epochs + 1)
    late = np.geomspace(200, epochs, 2 + int(100 * np.log10(epochs / 200)))
    return np.union1d(np.arange(201), np.round(late).astype(np.int64))


def exact_curve(
    order: str, eigenvalues: Array, epochs: ArrayLike, step: float, rho: float
) -> tuple[LearningCurve, int | None]:
    """The exact curve from the eigenvalues of XᵀX/m, and from which epoch on it is continued, if it is.

    Where the theory refuses so many epochs because nothing is left, half as many are tried, and if both losses are
    below 1e-9 there, they are continued by their last ratios. ArithmeticError if there is no curve.
    """
    n = np.union1d(epochs, 0)
    positive = int((eigenvalues > 0).sum())
    if positive < FEWEST_EIGENVALUES:
        raise ArithmeticError(f"{positive} positive eigenvalues are too few for a spectrum.")
    curve_of = theory.BY_ORDER[order].curve
    try:
        curve = curve_of(eigenvalues, n, step, rho)
        return curve, curve.continued
    except ArithmeticError as refusal:
        last = int(n[-1]) // 2
        if last < 2 or theory.BY_ORDER["iid"].curve(eigenvalues, [last], step, rho).train[-1] > 1e-5:
            raise  # much is left: half as many epochs would not help
        while last >= 2:
            try:
                shorter = curve_of(eigenvalues, np.arange(last + 1), step, rho)
            except ArithmeticError:
                last //= 2
                continue
            if max(shorter.test[-1], shorter.train[-1]) > SMALL:
                break
            return _continued(shorter, n), last
        raise refusal


def _continued(curve: LearningCurve, epochs: Integers) -> LearningCurve:
    """The curve at all `epochs`, beyond its own last one by its last ratio."""
    last = curve.epochs[-1]
    losses = np.empty((2, len(epochs)))
    for row, loss in zip(losses, (curve.test, curve.train), strict=True):
        ratio = min(loss[-1] / loss[-2], 1.0) if loss[-2] > 0 else 0.0
        row[:] = np.where(
            epochs <= last,
            loss[np.minimum(epochs, last)],
            loss[-1] * ratio ** np.maximum(epochs - last, 0).astype(float),
        )
    nan = np.full(len(epochs), np.nan)
    return LearningCurve(epochs, losses[0], losses[1], nan, nan, error=curve.error)
