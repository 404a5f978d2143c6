"""Checks of the Summary of chapter 14: losses of linear probes by theory and by SGD, floors, schedules, steps."""

import functools
import itertools
import math

import numpy as np
from scipy import optimize

from edgelaw import data, exact
from edgelaw.exact.labels import LabelledRows, schedules
from edgelaw.exact.random_reshuffle import labels as random_reshuffle
from edgelaw.exact.single_shuffle import labels as single_shuffle
from edgelaw_app.forecast.labelled import Labelled
from edgelaw_app.forecast.preparation import Prepared, prepare
from edgelaw_ledger.evidence import Evidence, compared, off, true
from edgelaw_ledger.routes import unit_rows

THEORY = "iid", "random_reshuffle", "single_shuffle"
SWEEP = (1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1)
STEPS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0, 1.1, 1.3, 1.6, 1.9)


@functools.cache
def _prepared(pool: str, rows: int, dims: int | None, normalize: bool) -> Prepared:
    """Training rows of a shipped data set, projected and centred as in the chapter; all others are held out."""
    chosen, rng = getattr(data, pool)(), np.random.default_rng(0)
    features = chosen.features.astype(float)
    if dims is not None:
        features = features @ rng.standard_normal((features.shape[1], dims)) / 16
    here, there = np.split(rng.permutation(len(features)), [rows])
    held = features[there], chosen.labels[there]
    done = ["center", "intercept", *["normalize"] * normalize]
    return prepare(features[here], chosen.labels[here], held, done, rng)


@functools.cache
def _rows(pool: str, rows: int, dims: int | None, normalize: bool) -> LabelledRows:
    problem = _prepared(pool, rows, dims, normalize)
    return LabelledRows.of(problem.X, problem.T, problem.held)


def _run(problem, order, step, epochs, runs, batch=1, seed=1):
    """Losses (runs, 2, epochs + 1) of SGD itself, training and held-out."""
    steps, times = np.full(epochs, step), np.arange(epochs + 1.0)
    return Labelled(problem, batch).run(order, steps, times, runs, np.random.default_rng(seed)).losses


@functools.cache
def over_theory(epochs, runs):
    """Of three orders and three steps, runs over theory less 1, in per cent: (cells, runs, 2, epochs)."""
    problem, rows = (make("cifar10", 1024, 256, True) for make in (_prepared, _rows))
    gaps = []
    for order, step in itertools.product(THEORY, (0.02, 0.1, 0.3)):
        curve = exact.probe_curve(order, rows, epochs, step)
        observed = _run(problem, order, step, epochs, runs)
        gaps.append(100 * (observed / np.array([curve.train, curve.held_out]) - 1)[..., 1:])
    return np.array(gaps)


def scores(gaps):
    """Means over losses and epochs of each cell's runs, in their standard errors."""
    by_run = gaps.mean(axis=(-1, -2))
    return by_run.mean(axis=1) / (by_run.std(axis=1, ddof=1) / math.sqrt(by_run.shape[1]))


def _above(rows, step):
    """Random reshuffle's excess training floor over IID's, which is step/(2 - step), less 1."""
    excess = exact.probe_floor("random_reshuffle", rows, step).train / rows.residual - 1
    return excess * (2 - step) / step - 1


@functools.cache
def crossings():
    """Where the floors of three designs cross IID's, whether each is on its side of it, and the small-step laws."""
    rng = np.random.default_rng(0)
    X = unit_rows(512, 256, rng)
    designs = (
        _rows("cifar10", 1024, 256, True),
        _rows("wikipedia", 1536, 256, True),
        LabelledRows.of(X, rng.standard_normal(512)),
    )
    equal = [optimize.brentq(functools.partial(_above, rows), 0.8, 1.2, xtol=1e-3) for rows in designs]
    cells = itertools.product(zip(designs, equal, strict=True), STEPS)
    sides = all((_above(rows, step) > 0) == (step > crossing) for (rows, crossing), step in cells)
    return equal, sides, _small_step_laws(designs[-1])


def _small_step_laws(rows: LabelledRows, step: float = 0.01) -> tuple[float, float]:
    """Excess floors of random reshuffle and single shuffle over the laws of small steps, from the Gram matrix."""
    gram = rows.aspect * rows.eigenvalues
    k2, k3 = (float((gram**k).sum()) / rows.shape[0] for k in (2, 3))
    laws = step**3 * (k3 + k2 - 1) / 24, step**2 * (k2 + (k2 - 1) / rows.aspect) / 12
    ends = (
        module.floor(rows, step).train / rows.residual - 1 for module in (random_reshuffle, single_shuffle)
    )
    return tuple(end / law for end, law in zip(ends, laws, strict=True))


def _distance(U, r, steps, orders):
    """The mean squared distance after an epoch of each step, by the second moments of (e, 1) averaged over orders."""
    moments = np.eye(3)  # an isotropic start
    for step in steps:
        updates = np.tile(np.eye(3), (3, 1, 1))
        updates[:, :2, :2] -= step * U[:, :, None] * U[:, None, :]
        updates[:, :2, 2] = step * r[:, None] * U
        epochs = (np.linalg.multi_dot(updates[list(order)]) for order in orders)
        moments = np.mean([A @ moments @ A.T for A in epochs], axis=0)
    return np.trace(moments[:2, :2])


def reversal(*, draws: int = 16) -> Evidence:
    """All orders of up to three epochs on three rows: schedules and their reverses, without noise and with."""
    gaps: dict[int, list[float]] = {0: [], 1: []}
    orders = list(itertools.permutations(range(3))), list(itertools.product(range(3), repeat=3))
    schedules_ = (1.0, 0.2), (1.7, 0.4), (0.6, 0.5), (1.5, 0.9, 0.2), (0.3, 1.8, 1.0)
    for seed, steps, visits, noise in itertools.product(range(draws), schedules_, orders, gaps):
        angles = np.random.default_rng(seed).uniform(0, np.pi, 3)
        U = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        r = noise * np.linalg.svd(U)[0][:, 2]
        gaps[noise].append(abs(_distance(U, r, steps, visits) / _distance(U, r, steps[::-1], visits) - 1))
    return compared(
        off("a schedule and its reverse without noise", max(gaps[0]), 1e-12),
        true("with noise half of them differ by a tenth", bool(np.median(gaps[1]) > 0.1)),
    )


@functools.cache
def gains_of_decay():
    """By how much the best schedule divides the excess training loss, and its gains in held-out loss in per cent."""
    rows = _rows("cifar10", 1024, 256, True)
    tuned = schedules.best_schedule("random_reshuffle", rows, 20, "train")
    ratio = (tuned.constant_loss - rows.residual) / (tuned.loss - rows.residual)
    gains = [
        100 * schedules.best_schedule(order, rows, n, "held_out").gain
        for order, n in itertools.product(("iid", "random_reshuffle"), (5, 20))
    ]
    return ratio, gains


@functools.cache
def over_the_best_of_thirteen(name, batch=32, epochs=10):
    """Held-out loss at the learning rate of theory over the best of thirteen others, by two runs; of these two 16."""
    problem, rows = _prepared(*name), _rows(*name)

    def losses(rate, runs, seed):
        step = rate * problem.scale
        return _run(problem, "random_reshuffle", step, epochs, runs, batch, seed)[:, 1, -1]

    ours = schedules.best_step("random_reshuffle", rows, epochs, batch=batch).constant_step / problem.scale
    swept = [losses(rate, 2, 1).mean() for rate in SWEEP]
    best = int(np.nanargmin(swept))
    first, second = losses(ours, 16, 2), losses(SWEEP[best], 16, 3)
    ratio = first.mean() / second.mean()
    error = ratio / 4 * math.hypot(*(x.std(ddof=1) / x.mean() for x in (first, second)))
    return losses(ours, 2, 1).mean() / swept[best], ratio, error
