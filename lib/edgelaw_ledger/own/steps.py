"""Sentences on the step and on the two appendices: learning rates, random reshuffle, the triangular solve."""

import functools
import math

import numpy as np
from scipy import optimize, special

from edgelaw import orders
from edgelaw.theory import BY_ORDER, free, iid, random_reshuffle, single_shuffle
from edgelaw_ledger.evidence import Evidence, decide
from edgelaw_ledger.routes import epoch, limit_in_root, require, unit_rows

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
    """Both losses of all orders at the steps 2 − 10⁻⁷ and 1.5, isotropic and skewed rows, after 1 and 4 epochs."""
    rng, near, inside = np.random.default_rng(seed), 0.0, 0.0
    skewed = rng.standard_normal((30, 20)) * np.arange(1, 21) ** -1.0
    for X in (rng.standard_normal((24, 24)), skewed):
        U = X / np.linalg.norm(X, axis=1)[:, None]
        for order in orders.ORDERS:
            for n in (1, 4):
                ends = _averaged_losses(U, order, n, 2 - 1e-7)
                near = max(near, *(abs(x - 1) for x in ends))
                inside = max(inside, *_averaged_losses(U, order, n, 1.5))
    return decide(
        bool(near < 1e-4 and inside < 1),
        measured=f"within {near:.0e} of 1 at step 2 − 10⁻⁷, at most {inside:.2f} at step 1.5, 32 losses each",
        claimed="1 in the limit, below 1 before",
        tolerance="1e-4",
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
    rising = [next(n for n in range(1, 151) if not _falls(n, rho, grid)) for rho in (0.2, 0.6, 0.93)]
    # the same seen on the moments themselves, at the first n that rises
    step = np.linspace(1.02, 1.98, 49)
    values = [
        free.trace_moment(n, float(s), rho)
        for n, rho in zip(rising[:2], (0.2, 0.6), strict=True)
        for s in step
    ]
    seen = [bool((np.diff(part) > 0).any()) for part in np.split(np.array(values), 2)]
    return decide(
        bool(falling and all(seen)),
        measured=f"falling at ρ = 1, 1.5, 4 for n up to 60: {falling}; at ρ = 0.2, 0.6, 0.93 the first to rise are "
        f"n = {rising[0]}, {rising[1]}, {rising[2]}",
        claimed="falling on (0, 2) for every n if and only if ρ ≥ 1",
        tolerance="1500 steps up to 1.999",
    )


#: Single shuffle's best steps for the test and the training loss at the budgets, to 0.01.
BEST = ((1.19, 1.41, 1.52, 1.61, 1.71, 1.76), (0.92, 1.04, 1.10, 1.14, 1.18, 1.20))


def best_order_and_step() -> Evidence:
    """Single shuffle at its best steps against the other orders at every step of a grid up to 1.98, six budgets."""
    n, grid = np.array(BUDGETS), np.append(np.arange(7, 19) / 10, (1.88, 1.98))
    ratios = []
    for loss, steps in zip(("test_loss", "train_loss"), BEST, strict=True):
        pairs = zip(BUDGETS, steps, strict=True)
        single = np.array([float(getattr(single_shuffle, loss)(k, s)) for k, s in pairs])
        for order in ("iid", "random_reshuffle", "flip_flop"):
            others = np.min([getattr(BY_ORDER[order], loss)(n, float(s)) for s in grid], axis=0)
            ratios.append(single / others)
    worst = float(np.max(ratios))
    return decide(
        bool(worst < 0.97),
        measured=f"single shuffle's loss is at most {worst:.3f} of any other order's on the grid",
        claimed="below 1 at all six budgets, both losses",
        tolerance="0.97, since a minimum between two steps of the grid may be a little lower than at them",
    )


@functools.cache
def _at_twenty(loss, step):
    """Single shuffle's loss after 20 epochs."""
    return float(getattr(single_shuffle, loss)(20, step))


def _is_best(loss, step, half=0.01):
    """Whether the minimum lies within `half` of this step: the loss falls before and rises after."""
    lower, upper = step - half, step + half
    return _at_twenty(loss, lower - 1e-3) > _at_twenty(loss, lower) and _at_twenty(loss, upper) < _at_twenty(
        loss, upper + 1e-3
    )


def price_of_step_one(
    *, best_test: float = 1.61, best_train: float = 1.14, cost_test: float = 0.48, cost_train: float = 0.05
) -> Evidence:
    """Single shuffle after 20 epochs: where each loss has its minimum, and what step 1 costs over it."""
    best = {"test_loss": best_test, "train_loss": best_train}
    right = all(_is_best(loss, step) for loss, step in best.items())
    costs = [_at_twenty(loss, 1.0) / _at_twenty(loss, step) - 1 for loss, step in best.items()]
    near = [abs(cost / stated - 1) for cost, stated in zip(costs, (cost_test, cost_train), strict=True)]
    return decide(
        bool(right and max(near) < 0.01),
        measured=f"minima within 0.01 of the stated steps: {right}; step 1 costs {costs[0]:.1%} and {costs[1]:.2%}",
        claimed=f"{best_test} and {best_train}; {cost_test:.0%} and {cost_train:.0%}",
        tolerance="0.01 in the step; relative 0.01 in the cost",
    )


@functools.cache
def _near_step_two(n):
    """Single shuffle's exact test loss at the step 2 − 1.2 n^(−1/3)."""
    return float(single_shuffle.test_loss(n, 2 - 1.2 * n ** (-1 / 3)))


@functools.cache
def _late_slope(step):
    """The power with which single shuffle's test loss falls at a fixed step, between n = 4·10⁸ and 16·10⁸."""
    early, late = single_shuffle.test_loss(np.array([4 * 10**8, 16 * 10**8]), step)
    return math.log(early / late) / math.log(4)


def step_tuned_to_the_budget(
    *, exponent: float = 2 / 3, height: float = 0.321, fixed: float = 0.5
) -> Evidence:
    """Exact losses at the step 2 − 1.2 n^(−1/3), n = 2000 to 8000, and at fixed steps up to 1.98, n from 4·10⁸."""
    early, late = _near_step_two(2000), _near_step_two(8000)
    slope, observed = math.log(early / late) / math.log(4), late * 8000 ** (2 / 3)
    slopes = [_late_slope(step) for step in (0.05, 1.0, 1.9, 1.98)]
    return decide(
        bool(
            abs(slope / exponent - 1) < 0.005
            and abs(observed / height - 1) < 0.005
            and max(abs(x / fixed - 1) for x in slopes) < 0.01
        ),
        measured=f"exponent {slope:.4f}, constant {observed:.4f}; fixed steps {min(slopes):.4f} to {max(slopes):.4f}",
        claimed=f"{exponent:.4f}, {height}; {fixed}",
        tolerance="relative 0.005 and 0.01",
    )


# --------------------------------------------------------------------------------------------- the appendices


def constant_of_random_reshuffle() -> Evidence:
    """The test constant at six steps up to 1.98 from exact losses, and the three constants on a grid of steps."""
    worst = 0.0
    for step in STEPS:
        limit = limit_in_root(lambda n, s=step: random_reshuffle.test_loss(n, s) * n**0.5, 4000)
        worst = max(worst, abs(limit * math.sqrt(2 * math.pi * step * (1 + step / 2)) - 1))
    grid = np.arange(1, 200) / 100
    between = all(
        single_shuffle.test_constant(s) < 1 / math.sqrt(2 * math.pi * s * (1 + s / 2)) < iid.test_constant(s)
        for s in grid
    )
    return decide(
        bool(worst < 1e-5 and between),
        measured=f"limits within a relative {worst:.0e}; between the other two at {len(grid)} steps: {between}",
        claimed="1/√(2πη(1 + η/2)), strictly between",
        tolerance="relative 1e-5; steps 0.01 to 1.99",
    )


@functools.cache
def _least_of_reshuffle():
    """The step of the smallest training constant, the constant, and the same from exact losses there."""
    best = optimize.minimize_scalar(random_reshuffle.train_constant, bounds=(0.5, 1.6), method="bounded")
    limit = limit_in_root(lambda n: random_reshuffle.train_loss(n, float(best.x)) * n**1.5, 4000)
    return float(best.x), float(best.fun), limit


def training_constant_of_random_reshuffle(*, step: float = 1.07, least: float = 0.0969) -> Evidence:
    """The minimum of the training constant over the step, and the same constant from exact losses."""
    at, observed, limit = _least_of_reshuffle()
    require(abs(limit / observed - 1) < 1e-5, f"the constant {observed:.6f} from exact losses, {limit:.6f}")
    return decide(
        bool(abs(at - step) < 0.005 and abs(observed / least - 1) < 0.001),
        measured=f"{observed:.5f} at step {at:.3f}",
        claimed=f"{least} at step {step}",
        tolerance="relative 0.001; 0.005 in the step",
    )


def first_epoch_of_a_permutation() -> Evidence:
    """Losses after one epoch of the three orders that permute, steps to 1.98, three aspect ratios, against e^(−τρ)."""
    permuting, gap = [module for order, module in BY_ORDER.items() if order != "iid"], 0.0
    for step in (0.05, 0.7, 1.3, 1.98):
        for rho in (0.5, 1.0, 3.0):
            stated = math.exp(-step * (2 - step) * rho)
            tests = [float(module.test_loss(1, step, rho)) / stated for module in permuting]
            trains = [float(module.train_loss(1, step, rho)) for module in permuting]
            gap = max(gap, *(abs(x - 1) for x in tests), max(trains) / min(trains) - 1)
    return decide(
        bool(gap < 1e-8),
        measured=f"largest relative difference {gap:.0e}, 36 losses of each kind",
        claimed="equal, and the test loss e^(−η(2 − η)ρ)",
        tolerance="relative 1e-8",
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
    rng, worst = np.random.default_rng(seed), 0.0
    w, repeated = rng.standard_normal(24), 0
    for V in _visited(seed).values():
        y = rng.standard_normal(len(V))
        repeated += len(V) - len(np.unique(V, axis=0))
        for step in (*STEPS, 2.2):
            moved = w.copy()
            for u, target in zip(V, y, strict=True):
                moved -= step * (u @ moved - target) * u
            solved = w - V.T @ np.linalg.solve(_triangle(V, step), V @ w - y)
            worst = max(worst, float(np.abs(moved - solved).max() / np.abs(moved).max()))
    return decide(
        bool(worst < 1e-11 and repeated > 0),
        measured=f"largest relative difference {worst:.0e}, {repeated} repeated rows among them",
        claimed="equal up to rounding",
        tolerance="relative 1e-11",
    )


def backwards_is_the_transpose(*, seed: int = 92) -> Evidence:
    """The epoch matrix of the rows in opposite order against the transpose: four orders, six steps."""
    worst = max(
        float(np.abs(epoch(V[::-1], step) - epoch(V, step).T).max())
        for V in _visited(seed).values()
        for step in STEPS
    )
    return decide(
        bool(worst < 1e-13), measured=f"largest difference {worst:.0e}", claimed="equal", tolerance="1e-13"
    )


def triangle_bounded_below(*, seed: int = 93) -> Evidence:
    """The smallest singular value of M against 1/η − 1/2: four orders, steps 0.02 to 1.98, and one row repeated."""
    cases = [*_visited(seed).values(), np.tile(unit_rows(1, 24, np.random.default_rng(seed)), (40, 1))]
    least = min(
        float(np.linalg.svd(_triangle(V, step), compute_uv=False)[-1] / (1 / step - 0.5))
        for V in cases
        for step in np.arange(1, 100) / 50
    )
    return decide(
        bool(least >= 1 - 1e-9),
        measured=f"smallest singular value at least {least:.4f} times the bound, 495 triangles",
        claimed="‖Mx‖ ≥ (1/η − 1/2)‖x‖",
        tolerance="1e-9",
    )
