"""Checks of the Summary of chapter 12: orders in PyTorch, floors under noise, averaging, stopping.

What was measured in training runs is read from the recorded study (``data/torch_probe.md``); every quantifier of a
sentence runs over all its grids, both losses and both budgets.
"""

import functools
import math

import numpy as np
from scipy import optimize

from edgelaw import data, kaczmarz
from edgelaw.exact import labels as noise
from edgelaw_app.training import splits, study
from edgelaw_ledger.evidence import Evidence, decide

ANIMALS = (2, 3, 4, 5, 6, 7)  # classes of CIFAR-10


def iid_floor(*, two: float = 2.0, seed: int = 3) -> Evidence:
    """The stationary second moments by a dense linear solve, heavy-tailed rows, at steps from 0.1 to 1.98."""
    rng = np.random.default_rng(seed)
    X = data.normalize_rows(rng.standard_t(3, size=(14, 5)))
    y = rng.standard_t(3, size=14)
    best = np.linalg.lstsq(X, y, rcond=None)[0]
    U, r = X / math.sqrt(5), (y - X @ best) / math.sqrt(5)
    worst, least = 0.0, float(((X @ best - y) ** 2).mean())
    for step in (0.1, 0.5, 1.0, 1.5, 1.98):
        updates = np.eye(5) - step * U[:, :, None] * U[:, None]
        pairs = np.einsum("kab,kcd->acbd", updates, updates).reshape(25, 25) / 14
        noise_in = step**2 * np.einsum("k,ka,kb->ab", r**2, U, U).ravel() / 14
        moments = np.linalg.solve(np.eye(25) - pairs, noise_in).reshape(5, 5)
        excess = float(np.einsum("ka,ab,kb->k", X, moments, X).mean())
        worst = max(worst, abs(excess / (step / (two - step) * least) - 1))
    return decide(
        worst < 1e-9,
        measured=f"excess over eta/({two:g} - eta) of the least loss is 1 up to {worst:.1e}, five steps to 1.98",
        claimed="equal at every step",
        tolerance="relative 1e-9",
    )


def mean_iterate_is_a_filter(*, factor: float = 1.30, size: int = 200, seed: int = 4) -> Evidence:
    """The mean update iterated on noisy targets, along every eigenvector, against ridge regression's shares."""
    highest = -optimize.minimize_scalar(
        lambda x: -(1 - math.exp(-x)) * (1 + x) / x, bounds=(0.1, 10), method="bounded"
    ).fun
    rng = np.random.default_rng(seed)
    X = data.normalize_rows(rng.standard_normal((2 * size, size)) * np.arange(1, size + 1) ** -0.5)
    values, basis = np.linalg.eigh(X.T @ X / len(X))
    best = np.linalg.lstsq(X, rng.standard_normal(len(X)), rcond=None)[0] @ basis
    low, high, off = math.inf, 0.0, 0.0
    for step in (0.1, 0.5, 1.0):
        weights = np.zeros(size)
        for k in range(1, 20 * len(X) + 1):
            weights = weights + step / size * values * (best - weights)
            if k % len(X) == 0:
                n = k // len(X)
                shares = weights / best
                off = max(off, np.abs(shares / noise.filter_factors(values, n, step, 2.0, size) - 1).max())
                ratio = shares * (1 + 1 / (step * 2 * n * values))
                low, high = min(low, float(ratio.min())), max(high, float(ratio.max()))
    return decide(
        off < 1e-9 and low >= 1 and high < highest * (1 + 1 / size) and round(highest, 2) == factor,
        measured=f"shares over ridge's from {low:.4f} to {high:.4f}, d = {size}; the limit's maximum is {highest:.4f}",
        claimed=f"between 1 and {factor:.2f}",
        tolerance="maximum as printed, finite rows up to 1/d",
    )


def split(rows, dims, seed):
    """Training and held-out rows of the chapter, CIFAR-10."""
    pool = data.cifar10()
    return splits.split(pool.features, pool.labels, rows, dims, held=1400, rng=seed)


@functools.cache
def animals():
    """Animal or vehicle: the rows and targets of the chapter."""
    one = split(512, 128, 0)
    return one.X, one.targets[:, ANIMALS].sum(axis=1)


@functools.cache
def averaged(order, runs=8, epochs=200):
    """Parameter error of the last weights over that of the mean, 512 rows, 128 dimensions, step 1, real labels."""
    X, y = animals()
    best = np.linalg.lstsq(X, y, rcond=None)[0]
    errors = []
    for seed in range(runs):
        walk = kaczmarz.iterates(kaczmarz.Problem(X, y), order, epochs, 0 * best, 1.0, rng=seed)
        E = np.array([w for _, w in walk]) - best
        mean = E[epochs // 10 :].mean(axis=0)
        errors.append([E[-1] @ E[-1], mean @ mean])
    last, mean = np.mean(errors, axis=0)
    return float(last / mean)


def averaging(*, fresh: float = 114.0, back: float = 1.8, once: float = 1.0) -> Evidence:
    """Weights at the ends of 200 epochs and their mean without the first tenth, eight runs per order, run again."""
    measured = {order: averaged(order) for order in ("random_reshuffle", "flip_flop", "single_shuffle")}
    stated = {"random_reshuffle": (fresh, 0), "flip_flop": (back, 1), "single_shuffle": (once, 1)}
    return decide(
        all(round(measured[order], digits) == value for order, (value, digits) in stated.items()),
        measured="last over mean: " + ", ".join(f"{order} {value:.2f}" for order, value in measured.items()),
        claimed=f"{fresh:g}, {back:g} and {once:g}",
        tolerance="as printed",
    )


def fresh_shuffle(*, error: float = 2.48, train: float = 2.16) -> Evidence:
    """Sampling with replacement over a fresh shuffle in all 42 grids: the least ratio, and medians at the end."""
    grids, least, medians = study.grids(), [], []
    for measure in study.MEASURES:
        ends = [grid.ratio("iid", measure, "all").value for grid in grids]
        least += [min(ends), min(grid.ratio("iid", measure, "few").value for grid in grids)]
        medians.append(float(np.median(ends)))
    return decide(
        len(grids) == 42 and min(least) > 1 and [round(value, 2) for value in medians] == [error, train],
        measured=f"least ratio {min(least):.4f}, medians {medians[0]:.2f} and {medians[1]:.2f}",
        claimed=f"above 1, medians {error:.2f} and {train:.2f}",
        tolerance="as printed",
    )


def single_shuffle(
    *, low: float = 0.76, high: float = 0.91, train_low: float = 0.61, train_high: float = 0.82
) -> Evidence:
    """Single shuffle over a fresh shuffle: SGD on square isotropic rows, and all grids of CIFAR-10 rows one by one."""
    isotropic = study.chosen(["isotropic"], optimisers=["sgd"])
    measured = [
        end for measure in study.MEASURES for end in study.span(isotropic, "single_shuffle", [measure])
    ]
    real = [grid for grid in study.chosen(batches=[1]) if not grid.problem.startswith("isotropic")]
    least = study.span(real, "single_shuffle")[0]
    return decide(
        least > 1 and [round(value, 2) for value in measured] == [low, high, train_low, train_high],
        measured=f"isotropic {', '.join(f'{value:.2f}' for value in measured)}; CIFAR-10 at least {least:.4f}",
        claimed=f"{low:.2f} to {high:.2f} and {train_low:.2f} to {train_high:.2f}; above 1",
        tolerance="as printed",
    )
