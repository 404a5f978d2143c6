"""Sentences on epochs of one order: free probability, single shuffle, flip-flop."""

import functools
import math

import numpy as np
from scipy import optimize

from edgelaw import data
from edgelaw.exact import labels as noise
from edgelaw.theory import flip_flop, free, iid, single_shuffle
from edgelaw_ledger.evidence import Evidence, compared, near, off, true
from edgelaw_ledger.routes import (
    constant,
    critical_moment,
    epoch_by_solve,
    errors_away,
    extrapolated,
    gaussian_iid,
    limit_in_n,
    limit_in_root,
    moment_at_step,
    unit_rows,
)

STEPS = (0.05, 0.5, 1.0, 1.5, 1.9, 1.98)
ASPECTS = (0.5, 1.0, 2.0)


# ------------------------------------------------------------------------------------------- free probability


def _powers(matrix, count):
    """Normalised traces of the first powers of a matrix."""
    power, traces = matrix, []
    for _ in range(count):
        traces.append(np.trace(power) / len(matrix))
        power = power @ matrix
    return traces


@functools.cache
def _moments(step, count, both):
    """The statistic: traces of (AAᵀ)ⁿ of an epoch at this step, n = 1 to count, and before them perhaps those of Aⁿ."""

    def statistic(U):
        A = epoch_by_solve(U, step)
        return np.array((_powers(A, count) if both else []) + _powers(A @ A.T, count))

    return statistic


def _moments_away(step, rho, count, both, size, draws, seed):
    """How far, in standard errors below 0.5 %, they are from the trace moments of η(2 − η), and of η."""
    mean, error = extrapolated(_moments(step, count, both), size, draws, seed, rho)
    steps = (step, step * (2 - step)) if both else (step * (2 - step),)
    return errors_away(
        mean, error, [float(moment_at_step(n, s, rho)) for s in steps for n in range(1, count + 1)]
    )


def moments_of_an_epoch(*, size: int = 80, draws: int = 64, seed: int = 42) -> Evidence:
    """Traces of powers of A and of AAᵀ, extrapolated from two sizes, against the trace moments of two steps."""
    away = [_moments_away(step, rho, 3, False, size, draws, seed) for step in STEPS for rho in ASPECTS]
    stated = max(abs(moment_at_step(n, 1.0) / critical_moment(n) - 1) for n in range(1, 60))
    # the first moment e^(−ηρ) falls with η
    grid = np.arange(1, 200) / 100
    same = np.isclose(grid * (2 - grid), grid, rtol=1e-12)
    return compared(
        off(
            "twelve moments at step 1, m = d, in standard errors",
            _moments_away(1.0, 1.0, 6, True, 100, 30, 41),
            4,
        ),
        off("54 moments of squared singular values at six steps and three aspects", max(away), 4),
        off("those of step 1 at m = d over n^n/(e^n n!), n to 59", float(stated), 1e-12),
        true("the first moments of eta and eta (2 - eta) are equal at step 1 only", [*grid[same]] == [1]),
    )


def order_of_the_limits(*, size: int = 4**8) -> Evidence:
    """Exact second moments for single rows and for √d blocks, at d and 4d, against e^(−2ηρ)(1 + η²ρ)."""
    rows, blocks = 0.0, 0.0
    for step in STEPS:
        for rho in ASPECTS:
            limit = math.exp(-2 * step * rho) * (1 + step**2 * rho)
            for d in (size, 4 * size):
                root = math.isqrt(d)
                rows = max(rows, d * abs(free.second_moments(d, round(rho * d), 1, step)[0] - limit))
                in_blocks = free.second_moments(d, round(rho * d / root), root, step)[0]
                blocks = max(blocks, root * abs(in_blocks - limit))
    return compared(
        off("d times the distance of rows", rows, 1), off("sqrt(d) times that of blocks", blocks, 0.2)
    )


@functools.cache
def supports(size, draws, seed):
    """Epochs at step 1, four aspect ratios: masses of the atom at 1 over 1 − ρ, distances of both ends from theirs."""
    rng, atoms, ends = np.random.default_rng(seed), [], []
    for rho in (0.4, 0.8, 1.0, 2.0):
        for _ in range(draws):
            A = epoch_by_solve(unit_rows(round(rho * size), size, rng), 1.0)
            values = np.linalg.svd(A, compute_uv=False) ** 2
            others = values[values < 1 - 1e-9] if rho < 1 else values
            atoms.append(len(values) - len(others) == round(max(1 - rho, 0) * size))
            ends.append((others.min(), abs(others.max() - rho * math.exp(1 - rho))))
    return all(atoms), *np.max(ends, axis=0)


def share_below():
    """The share of squared singular values at step 1, m = d, below e^(−2): their quantile of order 1 − φ/π, solved."""
    phi = optimize.brentq(lambda x: math.log(math.sin(x) / x) + x / math.tan(x) + 1, 0.1, 3.0)
    return 1 - phi / math.pi


@functools.cache
def clouds(size, draws, seed):
    """The least share of complex eigenvalues of an epoch at step 1, m = d, and how far eight sectors reach, by draw."""
    rng, grid, complexes, reach = np.random.default_rng(seed), np.linspace(0, math.pi, 4001), [], []
    for _ in range(draws):
        values = np.linalg.eigvals(epoch_by_solve(unit_rows(size, size, rng), 1.0))
        complexes.append((np.abs(values.imag) > 1e-9).mean())
        # On the curve |λ| = e^(cos θ − 1), arg λ = sin θ − θ; the law is symmetric about the real axis.
        angle = np.abs(np.angle(values))
        ratio = np.abs(values) / np.interp(angle, grid - np.sin(grid), np.exp(np.cos(grid) - 1))
        sector = np.minimum((angle / (math.pi / 8)).astype(int), 7)
        reach.append([ratio[sector == k].max() for k in range(8)])
    return min(complexes), np.array(reach)


# --------------------------------------------------------------------------------------------- single shuffle


def _two_terms(scaled, leading, second, power, digits):
    """Rows for leading + second n^(-power) + O(n^(-2 power)), read off exact values at large n."""
    limit = limit_in_n if power == 1 else limit_in_root
    left = [(scaled(n) - leading - second * n**-power) * n ** (2 * power) for n in (400, 1600)]
    return (
        near("leading coefficient", limit(scaled, 400), leading, digits[0]),
        near("second coefficient", limit(lambda n: (scaled(n) - leading) * n**power, 400), second, digits[1]),
        true(f"the rest falls like n^-{2 * power:g}", 0.5 < left[1] / left[0] < 2),
    )


def second_term_of_single_shuffle(
    *, leading: float = 1 / (2 * math.sqrt(math.pi)), second: float = 1 / (6 * math.pi)
) -> Evidence:
    """Two coefficients extrapolated from exact sums at large n, and what is left after both, times n^(3/2)."""
    scaled = functools.cache(lambda n: float(single_shuffle.test_sum(n)) * n**0.5)
    return compared(*_two_terms(scaled, leading, second, 0.5, (1e-4, 1e-3)))


@functools.cache
def over_asymptote(step):
    """Exact test loss over its asymptote at n = 100 and n = 10⁵."""
    n = np.array([100, 10**5])
    return single_shuffle.test_loss(n, step) * np.sqrt(n) / math.sqrt((1 / step - 0.5) / (2 * math.pi))


def crossover_of_the_training_loss() -> Evidence:
    """Exact training losses at ρ = 1 + s/√n, n = 10⁴ and 10⁶, against e^(−s²)/(8√π), for s from −2 to 2."""
    offsets = np.array([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0])

    def distance(n):
        losses = np.array([float(single_shuffle.train_loss(n, 1.0, 1 + s / n**0.5)) for s in offsets])
        return float(np.abs(losses * n**1.5 * np.exp(offsets**2) * 8 * math.sqrt(math.pi) - 1).max())

    early, late = distance(10**4), distance(10**6)
    return compared(
        off("losses over their limits at n = 10^6", late, 0.01),
        off("distance at n = 10^6 over that at n = 10^4", late / early, 0.2),
    )


# -------------------------------------------------------------------------------------------------- flip-flop


def second_term_of_flip_flop(
    *, leading: float = math.sqrt(2) / (3 * math.sqrt(math.pi)), second: float = 14 / 15
) -> Evidence:
    """Two coefficients extrapolated from exact training losses at large n, and what is left, times n²."""
    scaled = functools.cache(lambda n: float(flip_flop.train_loss(n)) * n**1.5)
    return compared(*_two_terms(scaled, leading, -second * leading, 1, (1e-7, 1e-4)))


@functools.cache
def nearest_to_iid(last):
    """The largest ratio of flip-flop's test loss to IID's over 25 steps up to 1 and every n up to the last."""
    n = np.arange(1, last + 1)
    steps = np.arange(1, 26) / 25
    return max((flip_flop.test_loss(n, s) / gaussian_iid(n, s)[0]).max() for s in steps)


@functools.cache
def training_constants():
    """Where the constants cross, both minima, and whether the sign changes there only, over steps 0.02 to 1.98."""

    def gap(step):
        return flip_flop.train_constant(step) - iid.train_constant(step)

    crossing = optimize.brentq(gap, 0.7, 1.2)
    grid = np.arange(1, 100) / 50
    once = all((gap(s) < 0) == (s < crossing) for s in grid)
    least = []
    for module in (flip_flop, iid):
        best = optimize.minimize_scalar(module.train_constant, bounds=(0.2, 1.8), method="bounded")
        least.append((best.fun, best.x, constant(module.train_loss, 1.5, float(best.x))))
    return crossing, once, least


@functools.cache
def floor_exponents(draws):
    """log₂ of the ratio of test floors at steps 0.0002 and 0.0001, for IID, single shuffle and flip-flop, by design."""
    powers = []
    for seed in range(draws):
        rng, floors = np.random.default_rng(seed), []
        X, y = data.gaussian(256, 64, rng), rng.standard_normal(256)
        for step in (1e-4, 2e-4):
            cycles = [noise.cycle_floor(X, y, order, step).test for order in ("single_shuffle", "flip_flop")]
            floors.append([noise.iid_floor(X, y, step).test, *cycles])
        powers.append(np.log2(np.divide(floors[1], floors[0])))
    return np.array(powers)
