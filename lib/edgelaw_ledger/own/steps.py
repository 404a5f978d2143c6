"""Sentences on the step and on the two appendices: learning rates, random reshuffle, the triangular solve."""

import functools
import math

import numpy as np
from scipy import interpolate, optimize, special

from edgelaw import data, exact, kaczmarz, orders, spectrum
from edgelaw.theory import BY_ORDER, free, iid, random_reshuffle, single_shuffle
from edgelaw_ledger.evidence import Evidence, compared, near, off, true
from edgelaw_ledger.routes import (
    constant,
    epoch,
    epoch_by_solve,
    extrapolated,
    limit_in_root,
    samples,
    unit_rows,
)

STEPS = (0.05, 0.5, 1.0, 1.5, 1.9, 1.98)
BUDGETS = (2, 5, 10, 20, 50, 100)


# --------------------------------------------------------------------------------------------- learning rates


def _averaged_losses(U, order, epochs, step):
    """Test and training loss over all starts after so many epochs, rows visited one at a time."""
    stream, M = orders.stream(order, len(U), rng=7), np.eye(U.shape[1])
    for n in range(epochs):
        M = epoch(U[stream.epoch(n)], step) @ M
    return float((M**2).sum()) / len(M), float(((U @ M) ** 2).sum()) / len(U)


def back_at_the_start(*, seed: int = 71) -> Evidence:
    """Both losses of all orders at the steps 2 − 10⁻⁷ and 1.5, four kinds of rows, after 1 and 4 epochs."""
    rng, ends, inside = np.random.default_rng(seed), [], []
    kinds = [
        rng.standard_normal((24, 24)),
        rng.standard_normal((30, 20)) * np.arange(1, 21) ** -1.0,
        rng.standard_t(1, size=(10, 20)),
        np.repeat(rng.choice([-1.0, 1.0], size=(8, 6)), 3, axis=0),
    ]
    for X in kinds:
        U = X / np.linalg.norm(X, axis=1)[:, None]
        for order in orders.ORDERS:
            for n in (1, 4):
                ends += _averaged_losses(U, order, n, 2 - 1e-7)
                inside += _averaged_losses(U, order, n, 1.5)
    return compared(
        off(f"{len(ends)} losses at step 2 - 1e-7 are 1", np.abs(np.array(ends) - 1).max(), 1e-4),
        true("all are below 1 at step 1.5", max(inside) < 1),
    )


def _falls(n, rho, grid):
    """Whether the n-th trace moment falls over the grid of steps, by the sign of its derivative (steps above 1)."""
    q = 1 - grid
    laguerre = special.eval_genlaguerre(n - 1, 1, -n * grid**2 * rho / q)
    return bool((np.sign(q) ** (n - 1) * laguerre > 0).all())


def trace_moments_and_the_step() -> Evidence:
    """The sign of the derivative of trace moments, n up to 60 and 150, on steps to 1.999, at six aspect ratios."""
    # Below step 1 all coefficients are positive and every moment falls; the grid is finer towards step 2.
    grid = 2 - np.geomspace(0.001, 0.999, 1500)
    falling = all(_falls(n, rho, grid) for rho in (1.0, 1.5, 4.0) for n in range(1, 61))
    rising = [next((n for n in range(1, 151) if not _falls(n, rho, grid)), 0) for rho in (0.2, 0.6, 0.93)]
    # the same seen on the moments themselves, at the first n that rises
    step = np.linspace(1.02, 1.98, 49)
    moments = [
        [free.trace_moment(n, float(s), rho) for s in step]
        for n, rho in zip(rising[:2], (0.2, 0.6), strict=True)
    ]
    return compared(
        true("falling at aspect ratios 1, 1.5 and 4 for n up to 60", falling),
        true(
            "rising somewhere at 0.2, 0.6 and 0.93, first at n = {}, {} and {}".format(*rising),
            all(rising),
        ),
        true("the first two moments rise", (np.diff(moments) > 0).any(axis=1).all()),
    )


#: Single shuffle's best steps for the test and the training loss at the budgets, to 0.01.
BEST = {"test_loss": (1.19, 1.41, 1.52, 1.61, 1.71, 1.76), "train_loss": (0.92, 1.04, 1.10, 1.14, 1.18, 1.20)}


def best_order_and_step() -> Evidence:
    """Single shuffle at its best steps against other orders at every step of a grid from 0.2 to 1.98, six budgets."""
    grid, ratios = np.append(np.arange(2, 19) / 10, (1.88, 1.98)), []
    for loss, steps in BEST.items():
        pairs = zip(BUDGETS, steps, strict=True)
        single = np.array([float(getattr(single_shuffle, loss)(k, s)) for k, s in pairs])
        for order in ("iid", "random_reshuffle", "flip_flop"):
            others = [getattr(BY_ORDER[order], loss)(np.array(BUDGETS), float(s)) for s in grid]
            ratios.append(single / np.min(others, axis=0))
    # below 1, since a minimum between two steps of the grid may be a little lower than at them
    return compared(off("single shuffle's losses over any other order's", np.max(ratios), 0.97))


@functools.cache
def at_twenty(loss, step):
    """Single shuffle's loss after 20 epochs."""
    return float(getattr(single_shuffle, loss)(20, step))


def is_best(loss, step, half=0.01):
    """Whether the minimum lies within `half` of this step: the loss falls before and rises after."""
    below, lower, upper, above = (at_twenty(loss, step + x) for x in (-half - 1e-3, -half, half, half + 1e-3))
    return below > lower and upper < above


@functools.cache
def near_step_two(n):
    """Single shuffle's exact test loss at the step 2 − 1.2 n^(−1/3)."""
    return float(single_shuffle.test_loss(n, 2 - 1.2 * n ** (-1 / 3)))


@functools.cache
def late_slope(step):
    """The power with which single shuffle's test loss falls at a fixed step, between n = 4·10⁸ and 16·10⁸."""
    early, late = single_shuffle.test_loss(np.array([4 * 10**8, 16 * 10**8]), step)
    return math.log(early / late) / math.log(4)


@functools.cache
def on_photographs(order):
    """The best steps for the test loss of 512 embeddings at the budgets, and the losses there, by exact curves."""
    values, nodes = spectrum.gram_eigenvalues(_photographs()), 1 - 0.95 * np.cos(np.pi * np.arange(41) / 40)
    losses = [exact.curve(order, values, BUDGETS, float(step)).test[1:] for step in nodes]
    fine = np.linspace(0.05, 1.95, 951)
    between = interpolate.CubicSpline(nodes, np.log(losses))(fine)
    return fine[between.argmin(axis=0)], np.exp(between.min(axis=0))


@functools.cache
def _photographs():
    """The embeddings of chapter 7."""
    return data.preprocess(data.load("cifar10").features, 512, 512, rng=0).X


def reshuffle_over_others():
    """Random reshuffle's losses at its best steps over those of the other orders at theirs, the largest of 18."""
    others = [on_photographs(order)[1] for order in ("iid", "single_shuffle", "flip_flop")]
    return float((on_photographs("random_reshuffle")[1] / others).max())


@functools.cache
def reshuffle_leads_in_runs(place):
    """By how many standard errors 16 runs of it are below those of each other order, all at their best steps."""
    runs = {}
    for order in orders.ORDERS:
        step = float(on_photographs(order)[0][place])
        curve = kaczmarz.simulate(_photographs(), order, [BUDGETS[place]], step, runs=16, rng=100)
        runs[order] = curve.test[-1], curve.test_se[-1]
    least, error = runs.pop("random_reshuffle")
    return min((loss - least) / math.hypot(se, error) for loss, se in runs.values())


# --------------------------------------------------------------------------------------------- the appendices


def _reshuffled(rng):
    """A statistic of rows: both losses of random reshuffle after three epochs at step 1.3."""

    def statistic(U):
        A = np.linalg.multi_dot([epoch_by_solve(rng.permutation(U), 1.3) for _ in range(3)])
        return [(A**2).sum() / len(A), ((U @ A) ** 2).sum() / len(U)]

    return statistic


def random_reshuffle_constant(*, at_step_one: float = 1 / math.sqrt(3 * math.pi)) -> Evidence:
    """Constants at six steps up to 1.98 from exact losses, among those of other orders; the curve on matrices."""

    def stated(step):
        return 1 / math.sqrt(2 * math.pi * step * (1 + step / 2))

    def limit(step):
        return limit_in_root(lambda n: test_loss(n, step) * n**0.5, 4000)

    test_loss, train_loss = random_reshuffle.test_loss, random_reshuffle.train_loss
    train = [constant(train_loss, 1.5, s) / random_reshuffle.train_constant(s) - 1 for s in STEPS[1:5]]
    between = all(
        single_shuffle.test_constant(s) < stated(s) < iid.test_constant(s) for s in np.arange(1, 200) / 100
    )
    sample = extrapolated(_reshuffled(np.random.default_rng(5)), 50, 100, 4)
    names = "test loss on matrices, step 1.3, n = 3", "training loss"
    return compared(
        near("sqrt(n) test loss at step 1", limit(1.0), at_step_one, 1e-5),
        off(
            "limits over 1/sqrt(2 pi eta (1 + eta/2)), six steps",
            max(abs(limit(s) / stated(s) - 1) for s in STEPS),
            1e-5,
        ),
        off("the quadrature of the training constant", np.abs(train).max(), 1e-3),
        true("strictly between the other two at 199 steps from 0.01 to 1.99", between),
        *samples(names, *sample, [test_loss(3, 1.3), train_loss(3, 1.3)], cap=0.02),
    )


@functools.cache
def least_of_reshuffle():
    """The step of the smallest training constant, the constant, and the same from exact losses there."""
    best = optimize.minimize_scalar(random_reshuffle.train_constant, bounds=(0.5, 1.6), method="bounded")
    limit = limit_in_root(lambda n: random_reshuffle.train_loss(n, float(best.x)) * n**1.5, 4000)
    return float(best.x), float(best.fun), limit


def first_epoch_of_a_permutation() -> Evidence:
    """Losses after one epoch of the three orders that permute, steps to 1.98, four aspect ratios, against e^(−τρ)."""
    permuting, tests, trains = [module for order, module in BY_ORDER.items() if order != "iid"], [], []
    for step in STEPS:
        for rho in (0.25, 0.5, 1.0, 3.0):
            stated = math.exp(-step * (2 - step) * rho)
            tests += [abs(float(module.test_loss(1, step, rho)) / stated - 1) for module in permuting]
            trains.append(np.ptp(np.log([float(module.train_loss(1, step, rho)) for module in permuting])))
    return compared(
        off(f"{len(tests)} test losses over e^(-eta (2 - eta) rho)", max(tests), 1e-8),
        off("training losses of three orders over each other", max(trains), 1e-8),
    )


def _triangle(U, step):
    """M = I/η + the strictly lower triangle of UUᵀ."""
    return np.eye(len(U)) / step + np.tril(U @ U.T, -1)


def _visited(seed, rows=40, dims=24):
    """Unit rows as each order visits them in its first epoch, by order."""
    U = unit_rows(rows, dims, np.random.default_rng(seed))
    return {order: U[orders.stream(order, rows, rng=1).epoch(0)] for order in orders.ORDERS}


def epoch_as_a_triangular_solve(*, seed: int = 91) -> Evidence:
    """Updates row by row, with targets, against one triangular solve: four orders, seven steps, one of them above 2."""
    rng, worst, repeated = np.random.default_rng(seed), 0.0, 0
    w = rng.standard_normal(24)
    for V in _visited(seed).values():
        y = rng.standard_normal(len(V))
        repeated += len(V) - len(np.unique(V, axis=0))
        for step in (*STEPS, 2.2):
            moved = w.copy()
            for u, target in zip(V, y, strict=True):
                moved -= step * (u @ moved - target) * u
            solved = w - V.T @ np.linalg.solve(_triangle(V, step), V @ w - y)
            worst = max(worst, float(np.abs(moved - solved).max() / np.abs(moved).max()))
    return compared(
        off("row by row and in one solve", worst, 1e-11), true("with repeated rows", repeated > 0)
    )


def backwards_is_the_transpose(*, seed: int = 92) -> Evidence:
    """The epoch matrix of the rows in opposite order against the transpose: four orders, six steps."""
    pairs = [(V, step) for V in _visited(seed).values() for step in STEPS]
    worst = max(float(np.abs(epoch(V[::-1], step) - epoch(V, step).T).max()) for V, step in pairs)
    return compared(off("backwards and transposed", worst, 1e-13))


def triangle_bounded_below(*, seed: int = 93) -> Evidence:
    """The smallest singular value of M over 1/η − 1/2: four orders, steps 0.02 to 1.98, and one row repeated."""
    cases = [*_visited(seed).values(), np.tile(unit_rows(1, 24, np.random.default_rng(seed)), (40, 1))]
    least = min(
        float(np.linalg.svd(_triangle(V, step), compute_uv=False)[-1] / (1 / step - 0.5))
        for V in cases
        for step in np.arange(1, 100) / 50
    )
    return compared(
        true("the smallest singular value over the bound is at least 1, 495 triangles", least >= 1 - 1e-9)
    )
