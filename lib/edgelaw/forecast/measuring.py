"""Real runs of SGD on given rows: the measured curve, what it costs, and a random part of the rows to run on."""

import time
from typing import Any

import numpy as np

from edgelaw import inputs, kaczmarz
from edgelaw._common.types import Array, Integers
from edgelaw.curves import LearningCurve
from edgelaw.data import normalize_rows
from edgelaw.forecast.rows import LARGEST_BYTES
from edgelaw.theory import iid

FEWEST_PROBES, MOST_RUNS = 16, 6
SMALLEST_PILOT = 64  # dimensions


def measured_curve(
    X: Array, order: str, epochs: Integers, step: float, rng: np.random.Generator, runs: int, probes: int
) -> LearningCurve:
    """Losses of real runs on rows of equal norm: means over `runs` orders, each from orthonormal starts.

    With as many starts as dimensions only the orders are left to chance, and IID's loss is its exact expectation.
    """
    d = X.shape[1]
    if order == "iid" and probes == d:
        curve = iid.expected_curve(X, epochs, step, tolerance=1e-5)
        zeros = np.zeros(len(curve.epochs))
        return LearningCurve(curve.epochs, curve.test, curve.train, zeros, zeros, error=1e-5)
    how: dict[str, Any] = {"starts": "all"} if probes == d else {"starts": "orthonormal", "probes": probes}
    curve = kaczmarz.simulate(
        X, order, int(epochs[-1]), step, runs=runs, rng=rng, record=epochs.tolist(), **how
    )
    # over all starts both losses begin at 1; what some of them begin at would only be noise
    curve.test[0] = curve.train[0] = 1.0
    curve.test_se[0] = curve.train_se[0] = 0.0
    return curve


def seconds_per_epoch(X: Array, probes: int) -> float:
    """How long an epoch of one run takes here and now, from a few hundred rows of it."""
    part, starts = X[:256], np.eye(X.shape[1])[:, :probes]
    best = np.inf
    for _ in range(3):
        before = time.perf_counter()
        for _ in kaczmarz.iterates(part, "random_reshuffle", 1, starts, rng=0):
            pass
        best = min(best, time.perf_counter() - before)
    return best * len(X) / len(part)


def affordable(X: Array, epochs: int, orders: int, seconds: float) -> tuple[int, int] | None:
    """Runs and probes that fit into the time for so many orders, as many as useful; None if not even a few do."""
    d = X.shape[1]
    cost = seconds_per_epoch(X, min(d, 256)) / min(d, 256) * epochs * orders  # of one probe and run
    for probes in sorted({d, d // 2, d // 4, max(FEWEST_PROBES, d // 8), min(d, 2 * FEWEST_PROBES)})[::-1]:
        runs = int(seconds / (cost * probes))
        if runs >= 3 and probes >= min(d, FEWEST_PROBES):
            return min(runs, MOST_RUNS), probes
    return None


def random_part(design: inputs.Design, rows: int, dims: int, rng: np.random.Generator) -> Array:
    """So many random rows, in so many random directions (a Haar projection), scaled to equal norm again."""
    m, d = design.shape
    places = np.sort(rng.choice(m, rows, replace=False)) if rows < m else np.arange(m)
    part = design.take(places)
    if dims < d:
        part = part @ np.linalg.qr(rng.standard_normal((d, dims)))[0]
    return normalize_rows(part)


def pilot_size(
    shape: tuple[int, int], epochs: int, orders: int, seconds: float, rate: float
) -> tuple[int, int]:
    """Rows and dimensions of a pilot of the same aspect that fits, at `rate` seconds per row, dim, probe and epoch."""
    m, d = shape
    rho, dims = m / d, min(d, 1024)
    while dims > SMALLEST_PILOT:
        if rate * rho * dims**3 * epochs * orders * 3 <= seconds and rho * dims**2 * 8 < LARGEST_BYTES:
            break
        dims = int(dims * 0.8)
    dims = max(dims, min(d, SMALLEST_PILOT))
    return max(20, round(rho * dims)), dims
