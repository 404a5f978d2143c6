"""Exact curves from eigenvalues, for every order: at epochs, and within the first one where it decides."""

from typing import Any

import numpy as np
import numpy.typing as npt

from edgelaw import exact
from edgelaw._common.types import Array, ArrayLike
from edgelaw.curves import VANISHED, LearningCurve
from edgelaw.exact import finite_size, first_epoch
from edgelaw.exact.batches import requests

FEWEST_EIGENVALUES = 20
EARLY = 1e-2  # where so little is left after one epoch, fractions of it are recorded
MOMENTS = 40  # within the first epoch


def recorded_times(epochs: int, early: int = 0, rows: int = 0) -> npt.NDArray[Any]:
    """Times in epochs: all up to 200, then about a hundred per decade; with `early`, fractions from so many rows on."""
    times: npt.NDArray[Any] = np.arange(min(epochs, 200) + 1)
    if epochs > 200:
        late = np.geomspace(200, epochs, 2 + int(100 * np.log10(epochs / 200)))
        times = np.union1d(times, np.round(late).astype(np.int64))
    if early:
        times = np.union1d(times, np.round(np.geomspace(early, rows, MOMENTS)) / rows)
    return times


def times_for(epochs: int, eigenvalues: Array, shape: tuple[int, int], batch: int = 1) -> Array:
    """The times for a design, with fractions of the first epoch if step 1 (not of batches) leaves next to nothing."""
    m, d = shape
    if batch == 1 and exact.curve("iid", eigenvalues, 1, 1.0, m / d).train[-1] < EARLY:
        return recorded_times(epochs, max(1, d // 8), m)
    return recorded_times(epochs)


def exact_curve(
    order: str, eigenvalues: Array, times: ArrayLike, step: float, rho: float, batch: int = 1
) -> LearningCurve:
    """The exact curve at times in epochs, whole ones or less than one; ArithmeticError if there is none."""
    positive = int((eigenvalues > 0).sum())
    if positive < FEWEST_EIGENVALUES:
        raise ArithmeticError(f"{positive} positive eigenvalues are too few for a spectrum.")
    times = np.union1d(times, 0)
    parts, whole = times[times % 1 > 0], times[times % 1 == 0].astype(np.int64)
    if len(parts) == 0:
        return exact.curve(order, eigenvalues, whole, step, rho, batch=batch)
    if order == "iid":
        return exact.curve_at(eigenvalues, times, step, rho)
    early = first_epoch.curve(eigenvalues, np.append(parts, 1.0), step, rho)
    ends, error, continued = np.array([early.test, early.train]), early.error, early.continued
    late = np.empty((2, 0))
    if whole[-1] > 0 and ends[:, -1].max() < VANISHED:  # next to nothing is left: go on by the first rate
        late, continued = np.maximum(ends[:, -1:], 1e-300) ** whole[1:], 1
    elif whole[-1] > 0:
        curve = exact.curve(order, eigenvalues, whole, step, rho)
        late, continued = np.array([curve.test, curve.train])[:, 1:], curve.continued
        error = max(curve.error, error)
    test, train = np.hstack([np.maximum(ends[:, :-1], 0.0), late])
    nan = np.full(len(times), np.nan)
    made = LearningCurve(times, test, train, nan, nan, error=error, continued=continued)
    asked = requests.of_sample(order, eigenvalues, step, rho=rho)
    return finite_size.added(made, order, asked, len(eigenvalues))
