"""Checks of chapter 12: floors under noise, averaging, stopping, and the recorded study (``data/torch_probe.md``)."""

import functools
import math
from collections.abc import Collection

import numpy as np
from scipy import optimize

from edgelaw import data, kaczmarz
from edgelaw.exact import labels as noise
from edgelaw_app.training import probe, study
from edgelaw_ledger.evidence import Evidence, compared, off, printed, true

ANIMALS = (2, 3, 4, 5, 6, 7)  # classes of CIFAR-10


def iid_floor(*, two: float = 2.0, designs: int = 16, seed: int = 3) -> Evidence:
    """The stationary second moments by a dense linear solve, heavy-tailed rows, at steps from 0.1 to 1.98."""
    rng, worst = np.random.default_rng(seed), 0.0
    for _ in range(designs):
        d = int(rng.integers(2, 6))
        m = d + int(rng.integers(1, 20))
        X = data.normalize_rows(rng.standard_t(2, size=(m, d)))
        y = rng.standard_t(3, size=m)
        U, r = X / math.sqrt(d), y - X @ np.linalg.lstsq(X, y, rcond=None)[0]
        for step in (0.1, 0.5, 1.0, 1.5, 1.98):
            updates = np.eye(d) - step * U[:, :, None] * U[:, None]
            pairs = np.einsum("kab,kcd->acbd", updates, updates).reshape(d * d, d * d) / m
            noise_in = step**2 / d * np.einsum("k,ka,kb->ab", r**2, U, U).ravel() / m
            moments = np.linalg.solve(np.eye(d * d) - pairs, noise_in).reshape(d, d)
            excess = np.einsum("ka,ab,kb->k", X, moments, X).mean()
            worst = max(worst, abs(excess / (step / (two - step) * (r**2).mean()) - 1))
    return compared(off(f"excess is eta/({two:g} - eta) of the least loss", worst, 1e-8))


def mean_iterate_is_a_filter(*, factor: float = 1.30, size: int = 200, seed: int = 4) -> Evidence:
    """The mean update iterated on noisy targets, along every eigenvector, against ridge regression's shares."""
    highest = -optimize.minimize_scalar(
        lambda x: -(1 - math.exp(-x)) * (1 + x) / x, bounds=(0.1, 10), method="bounded"
    ).fun
    rng, deviation, ratios = np.random.default_rng(seed), 0.0, []
    for rho in (1, 2, 4):
        X = data.normalize_rows(rng.standard_normal((rho * size, size)) * np.arange(1, size + 1) ** -0.5)
        values, basis = np.linalg.eigh(X.T @ X / len(X))
        values, basis = values[values > 1e-9], basis[:, values > 1e-9]
        best = np.linalg.lstsq(X, rng.standard_normal(len(X)), rcond=None)[0] @ basis
        for step in (0.1, 0.5, 1.0):
            weights = np.zeros(len(values))
            for k in range(1, 20 * len(X) + 1):
                weights = weights + step / size * values * (best - weights)
                if k % len(X) == 0:
                    shares, n = weights / best, k // len(X)
                    ours = noise.filter_factors(values, n, step, rho, size)
                    deviation = max(deviation, np.abs(shares / ours - 1).max())
                    ratios += [*(shares * (1 + 1 / (step * rho * n * values)))]
    return compared(
        printed("the limit's maximum", highest, factor, 2),
        true("shares over ridge's at least 1", min(ratios) >= 1),
        true(f"at most that maximum times 1 + 1/{size}", max(ratios) < highest * (1 + 1 / size)),
        off("the library's shares", deviation, 1e-6),
    )


def ends(grids: Collection[study.Grid], order: str, budgets: Collection[str] = study.BUDGETS) -> list[float]:
    """Of an order's losses over random reshuffle's: least and largest in parameter error, then in training loss."""
    return [end for measure in study.MEASURES for end in study.span(grids, order, [measure], budgets)]


def accuracy_gaps():
    """Held-out accuracy of labels over random reshuffle's in points, at best steps: (grids, orders, budgets)."""
    grids = study.chosen(["labels", "tall"])
    best = np.array([100 * grid.means[..., 2].max(axis=0) for grid in grids])
    return best - best[:, [grids[0].orders.index("random_reshuffle")]]


def split(rows, dims, seed):
    """Training and held-out rows of the chapter, CIFAR-10."""
    pool = data.cifar10()
    return probe.split(pool.features, pool.labels, rows, dims, held=1400, rng=seed)


@functools.cache
def averaged(order, runs=64, epochs=200):
    """Parameter error of the last weights over that of the mean, and the ratio's standard error over runs."""
    one = split(512, 128, 0)
    X, y = one.X, one.targets[:, ANIMALS].sum(axis=1)
    best = np.linalg.lstsq(X, y, rcond=None)[0]
    errors = []
    for seed in range(runs):
        walk = kaczmarz.iterates(kaczmarz.Problem(X, y), order, epochs, 0 * best, 1.0, rng=seed)
        E = np.array([w for _, w in walk]) - best
        mean = E[epochs // 10 :].mean(axis=0)
        errors.append([E[-1] @ E[-1], mean @ mean])
    last, mean = np.transpose(errors)
    ratio = last.mean() / mean.mean()
    return ratio, (last - ratio * mean).std(ddof=1) / mean.mean() / math.sqrt(runs)


@functools.cache
def accuracies(splits=16):
    """Held-out accuracy of random reshuffle at step 0.1 on labels, m = d = 256, after 10 and after 1000 epochs."""
    measured = []
    for seed in range(splits):
        one = split(256, 256, seed)
        best = np.linalg.lstsq(one.X, one.targets, rcond=1e-10)[0]
        walk = kaczmarz.iterates(one.X, "random_reshuffle", (10, 1000), -best, 0.1, rng=seed)
        scores = [one.held @ (best + E) for n, E in walk if n]
        measured.append([(each.argmax(axis=1) == one.held_labels).mean() for each in scores])
    return np.mean(measured, axis=0), np.std(measured, axis=0, ddof=1) / math.sqrt(splits)
