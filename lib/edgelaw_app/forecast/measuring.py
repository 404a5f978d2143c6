"""Real runs of SGD on given rows: the measured curve, what it costs, and a random part of the rows to run on.

A cost is counted in multiply-adds, never in seconds: what is run must not depend on the machine or its load.
"""

from typing import Any

import numpy as np

from edgelaw import exact, kaczmarz
from edgelaw._common.types import Array, Integers
from edgelaw.curves import LearningCurve
from edgelaw.data import normalize_rows
from edgelaw_app import files
from edgelaw_app.forecast.rows import LARGEST_BYTES

FEWEST_PROBES, MOST_RUNS, FEWEST_RUNS = 16, 6, 3
SMALLEST_PILOT = 64  # dimensions


def measured_curve(
    X: Array,
    order: str,
    times: Array,
    step: float,
    rng: np.random.Generator,
    runs: int,
    probes: int,
    batch: int = 1,
) -> LearningCurve:
    """Losses of real runs on rows of equal norm: means over `runs` orders, each from orthonormal starts.

    `times` are in epochs, 0 among them; those within the first epoch are measured in runs of their own. With as many
    starts as dimensions only the orders are left to chance, and IID's loss at whole epochs, row by row, is its exact
    expectation. Batches are averaged.
    """
    part = (times > 0) & (times < 1)
    whole = times[~part].astype(np.int64)
    curve = _whole_epochs(X, order, whole, step, rng, runs, probes, batch)
    # over all starts both losses begin at 1; what some of them begin at would only be noise
    curve.test[0] = curve.train[0] = 1.0
    curve.test_se[0] = curve.train_se[0] = 0.0
    if not part.any():
        return curve
    early = _within_the_first_epoch(X, order, times[part], step, rng, runs, probes)
    columns = np.empty((4, len(times)))
    columns[:, part] = early
    columns[:, ~part] = curve.test, curve.train, curve.test_se, curve.train_se
    test, train, test_se, train_se = columns
    return LearningCurve(times, test, train, test_se, train_se, error=curve.error)


def _whole_epochs(
    X: Array,
    order: str,
    epochs: Integers,
    step: float,
    rng: np.random.Generator,
    runs: int,
    probes: int,
    batch: int,
) -> LearningCurve:
    d = X.shape[1]
    if order == "iid" and probes == d and batch == 1:
        curve = exact.expected_curve(X, epochs, step, tolerance=1e-5)
        zeros = np.zeros(len(curve.epochs))
        return LearningCurve(curve.epochs, curve.test, curve.train, zeros, zeros.copy(), error=1e-5)
    how: dict[str, Any] = {"starts": "all"} if probes == d else {"starts": "orthonormal", "probes": probes}
    return kaczmarz.simulate(kaczmarz.Problem(X, batch=batch), order, epochs, step, runs=runs, rng=rng, **how)


def _within_the_first_epoch(
    X: Array, order: str, fractions: Array, step: float, rng: np.random.Generator, runs: int, probes: int
) -> Array:
    """Means and standard errors (test, train, test_se, train_se) after fractions of an epoch, over `runs` runs.

    A first part of an epoch is as many random rows, with or without replacement: each piece between two of the
    fractions is run as an epoch over its own rows.
    """
    m, d = X.shape
    ends = np.round(fractions * m).astype(np.int64)
    gram = X.T @ X / m
    losses = np.empty((runs, 2, len(ends)))
    for one, child in zip(losses, rng.spawn(runs), strict=True):
        rows = np.asarray(child.integers(m, size=m)) if order == "iid" else child.permutation(m)
        weights = np.linalg.qr(child.standard_normal((d, probes)))[0]
        for k, (start, end) in enumerate(zip(np.append(0, ends[:-1]), ends, strict=True)):
            piece = X[rows[start:end]]
            *_, (_, weights) = kaczmarz.iterates(piece, "single_shuffle", 1, weights, step, rng=child)
            one[:, k] = (weights**2).sum() / probes, np.einsum("ip,ij,jp->", weights, gram, weights) / probes
    spread = losses.std(axis=0, ddof=1) / np.sqrt(runs)
    return np.concatenate([losses.mean(axis=0), spread])


def cost(shape: tuple[int, int], probes: int, epochs: int) -> float:
    """Multiply-adds of one run: each row meets each start twice, for its residual and for the update."""
    m, d = shape
    return 2.0 * m * d * probes * epochs


def affordable(shape: tuple[int, int], epochs: int, orders: int, operations: float) -> tuple[int, int] | None:
    """Runs and probes that so many multiply-adds pay for, as many as useful; None if not even a few."""
    d = shape[1]
    for probes in sorted({d, d // 2, d // 4, max(FEWEST_PROBES, d // 8), min(d, 2 * FEWEST_PROBES)})[::-1]:
        runs = int(operations / (cost(shape, probes, epochs) * orders))
        if runs >= FEWEST_RUNS and probes >= min(d, FEWEST_PROBES):
            return min(runs, MOST_RUNS), probes
    return None


def random_part(design: files.Design, rows: int, dims: int, rng: np.random.Generator) -> Array:
    """So many random rows, in so many random directions (a Haar projection), scaled to equal norm again."""
    m, d = design.shape
    places = np.sort(rng.choice(m, rows, replace=False)) if rows < m else np.arange(m)
    part = design.take(places)
    if dims < d:
        part = part @ np.linalg.qr(rng.standard_normal((d, dims)))[0]
    return normalize_rows(part)


def pilot_size(shape: tuple[int, int], epochs: int, orders: int, operations: float) -> tuple[int, int]:
    """Rows and dimensions of a pilot of the same aspect, from all starts, that so many multiply-adds pay for."""
    m, d = shape
    rho, dims = m / d, min(d, 1024)
    while dims > SMALLEST_PILOT:
        each = cost((round(rho * dims), dims), dims, epochs)
        if each * orders * FEWEST_RUNS <= operations and rho * dims**2 * 8 < LARGEST_BYTES:
            break
        dims = int(dims * 0.8)
    dims = max(dims, min(d, SMALLEST_PILOT))
    return max(20, round(rho * dims)), dims
