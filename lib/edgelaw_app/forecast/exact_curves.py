"""Exact curves from eigenvalues, for every order: at epochs, and within the first one where it decides."""

import functools
import threading
from typing import Any

import numpy as np
import numpy.typing as npt

from edgelaw import exact
from edgelaw._common.types import Array, ArrayLike
from edgelaw.curves import VANISHED, LearningCurve
from edgelaw.exact import first_epoch

FLOOR = VANISHED  # losses below are not told from zero: nothing is ranked by them, and they are not printed
FEWEST_EIGENVALUES = 20
EARLY = 1e-2  # where so little is left after one epoch, fractions of it are recorded
MOMENTS = 40  # within the first epoch
_computing = threading.Lock()
ONE_EPOCH = 5e-3  # how far two computations of the first epoch may differ


def recorded_times(epochs: int, early: int = 0, rows: int = 0) -> npt.NDArray[Any]:
    """The times to look at, in epochs: all up to 200, then about a hundred per decade, the last one included.

    They are integers. With `early`, fractions from that many of `rows` rows up to the first epoch are among them,
    evenly spaced in their logarithm.
    """
    times: npt.NDArray[Any] = np.arange(min(epochs, 200) + 1)
    if epochs > 200:
        late = np.geomspace(200, epochs, 2 + int(100 * np.log10(epochs / 200)))
        times = np.union1d(times, np.round(late).astype(np.int64))
    if early:
        times = np.union1d(times, np.round(np.geomspace(early, rows, MOMENTS)) / rows)
    return times


def times_for(epochs: int, eigenvalues: Array, step: float, shape: tuple[int, int], batch: int = 1) -> Array:
    """The times to record for a design: with fractions of the first epoch if that leaves less than a hundredth.

    Batches are counted in whole epochs.
    """
    m, d = shape
    if batch > 1:
        return recorded_times(epochs)
    left = exact.curve("iid", eigenvalues, 1, step, m / d).train[-1]
    return recorded_times(epochs, max(1, d // 8), m) if left < EARLY else recorded_times(epochs)


def exact_curve(
    order: str,
    eigenvalues: Array,
    times: ArrayLike,
    step: float,
    rho: float,
    *,
    checked: bool = True,
    batch: int = 1,
) -> LearningCurve:
    """The exact curve from the eigenvalues of XᵀX/m at times in epochs: whole ones, or less than one.

    With `checked`, the first epoch of an order that visits each row once is compared with another computation of it,
    where single rows are visited. Batches of more have whole epochs only.

    Raises
    ------
    ArithmeticError
        If there is no curve: too few eigenvalues, an engine that refuses, or a first epoch that two independent
        computations disagree on.
    """
    positive = int((eigenvalues > 0).sum())
    if positive < FEWEST_EIGENVALUES:
        raise ArithmeticError(f"{positive} positive eigenvalues are too few for a spectrum.")
    times = np.union1d(times, 0)
    if batch > 1:
        return exact.curve(order, eigenvalues, times.astype(np.int64), step, rho, batch=batch)
    parts = times[(times > 0) & (times < 1)]
    whole = np.setdiff1d(times, parts).astype(np.int64)
    if order == "iid":
        if len(parts):
            return exact.curve_at(eigenvalues, times, step, rho)
        return exact.curve("iid", eigenvalues, whole, step, rho)
    if whole[-1] == 0:
        return first_epoch.curve(eigenvalues, parts, step, rho)
    early = _first_epoch(eigenvalues, np.append(parts, 1.0), step, rho) if checked or len(parts) else None
    if early is not None and len(parts) and max(early.test[-1], early.train[-1]) < FLOOR:
        return _gone_in_one_epoch(early, times)
    curve = exact.curve(order, eigenvalues, whole, step, rho)
    if early is None:
        return curve
    if (
        1 in whole
        and (difference := _difference_after_one_epoch(curve, early)) > ONE_EPOCH + curve.error + early.error
    ):
        raise ArithmeticError(
            f"Two computations of the first epoch differ by a relative {difference:.1e}, so this curve is not used."
        )
    return _joined(early, curve, times) if len(parts) else curve


def _first_epoch(eigenvalues: Array, fractions: Array, step: float, rho: float) -> LearningCurve:
    """The first epoch, which all orders that visit each row once share: computed once for all of them."""
    with _computing:  # the orders ask for it at the same time
        values = np.asarray(eigenvalues, dtype=float)
        return _kept_first_epoch(values.tobytes(), fractions.tobytes(), step, rho)


@functools.lru_cache(maxsize=2)
def _kept_first_epoch(eigenvalues: bytes, fractions: bytes, step: float, rho: float) -> LearningCurve:
    return first_epoch.curve(np.frombuffer(eigenvalues), np.frombuffer(fractions), step, rho)


def _gone_in_one_epoch(early: LearningCurve, times: Array) -> LearningCurve:
    """A curve of which nothing is left after the first epoch: further epochs go on by the rate of the first."""
    parts, beyond = early.epochs < 1, times >= 1
    test, train = (
        np.append(np.maximum(values[parts], 0.0), max(values[-1], 1e-300) ** times[beyond])
        for values in (early.test, early.train)
    )
    nan = np.full(len(times), np.nan)
    return LearningCurve(times, test, train, nan, nan.copy(), error=early.error, continued=1)


def _difference_after_one_epoch(curve: LearningCurve, early: LearningCurve) -> float:
    """How far the curve of an order is from what all orders that visit each row once have after one epoch."""
    differences = [0.0]
    for loss in ("test", "train"):
        one, other = float(getattr(curve, loss)[curve.epochs == 1][0]), float(getattr(early, loss)[-1])
        if max(one, other) > 1e3 * FLOOR:
            differences.append(abs(one / other - 1) if other > 0 else np.inf)
    return max(differences)


def _joined(early: LearningCurve, curve: LearningCurve, times: Array) -> LearningCurve:
    """The curve at the given times: fractions from the first epoch's, the rest from the order's own."""
    part, whole = (times > 0) & (times < 1), (times == 0) | (times >= 1)
    test, train = np.empty((2, len(times)))
    for values, fractions, epochs in ((test, early.test, curve.test), (train, early.train, curve.train)):
        values[whole] = epochs
        values[part] = np.maximum(fractions[np.searchsorted(early.epochs, times[part])], 0.0)
    nan = np.full(len(times), np.nan)
    error = max(curve.error, early.error)
    return LearningCurve(times, test, train, nan, nan.copy(), error=error, continued=curve.continued)


def scatter(eigenvalues: Array, test: float) -> float:
    r"""About how much the test loss of a single run scatters around its mean, relatively: a standard deviation.

    A run starts in one random direction, so that its loss is a mean over d directions with random weights. What each
    direction still has is taken to be :math:`x = e^{-\tau\lambda}` with the τ that gives the mean loss; then the
    variance is :math:`\frac{2}{d+2}\bigl(d \sum x^2/(\sum x)^2 - 1\bigr)`. Real runs of all orders on Gaussian rows and
    embeddings are within a quarter of it up to 40 epochs. (Training losses scatter more than this rule says of them.)

    Examples
    --------
    >>> scatter(np.ones(200), 0.1)  # all directions alike
    0.0
    >>> round(scatter(np.arange(1.0, 201.0), 0.1), 3)
    0.196
    """
    values, d = eigenvalues / eigenvalues.mean(), len(eigenvalues)
    low, high = -50.0, 50.0  # of log τ
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if np.exp(-np.exp(middle) * values).mean() > test else (low, middle)
    left = np.exp(-np.exp(low) * values)
    return float(np.sqrt(max(2 / (d + 2) * (d * (left**2).sum() / left.sum() ** 2 - 1), 0.0)))
