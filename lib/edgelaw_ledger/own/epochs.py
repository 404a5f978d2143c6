"""Sentences on epochs of one order: free probability, single shuffle, flip-flop."""

import functools
import math

import numpy as np
from scipy import optimize, stats

from edgelaw import data
from edgelaw.exact import labels as noise
from edgelaw.theory import flip_flop, free, iid, single_shuffle
from edgelaw_ledger.evidence import Evidence, decide
from edgelaw_ledger.routes import (
    constant,
    critical_moment,
    epoch_by_solve,
    exact_train,
    extrapolated,
    gaussian_iid,
    limit_in_n,
    limit_in_root,
    moment_at_step,
    require,
    unit_rows,
    within,
)

STEPS = (0.05, 0.5, 1.0, 1.5, 1.9, 1.98)


# ------------------------------------------------------------------------------------------- free probability


def _powers(matrix, count):
    """Normalised traces of the first powers of a matrix."""
    power, traces = matrix, []
    for _ in range(count):
        traces.append(np.trace(power) / len(matrix))
        power = power @ matrix
    return traces


def _both_moments(U):
    """Traces of Aⁿ and of (AAᵀ)ⁿ, n = 1 to 6, of one epoch at step 1."""
    A = epoch_by_solve(U, 1.0)
    return np.array(_powers(A, 6) + _powers(A @ A.T, 6))


def moments_of_an_epoch(*, size: int = 100, draws: int = 30, seed: int = 41) -> Evidence:
    """Traces of twelve powers of epochs at step 1, extrapolated from two sizes, against nⁿ/(eⁿ n!)."""
    mean, error = extrapolated(_both_moments, size, draws, seed)
    expected = np.array(2 * [float(critical_moment(n)) for n in range(1, 7)])
    return decide(
        within(mean, error, expected),
        measured=f"first moments {mean[0]:.4f} and {mean[6]:.4f}, sixth {mean[5]:.4f} and {mean[11]:.4f}",
        claimed=f"{expected[0]:.4f} and {expected[5]:.4f}, of eigenvalues and of squared singular values",
        tolerance=f"4 standard errors of at most {error.max():.1g}",
    )


@functools.cache
def _squared_moments(step):
    """The statistic: traces of (AAᵀ)ⁿ, n = 1 to 3, of an epoch at this step."""

    def statistic(U):
        A = epoch_by_solve(U, step)
        return np.array(_powers(A @ A.T, 3))

    return statistic


def singular_values_at_a_step(*, size: int = 80, draws: int = 24, seed: int = 42) -> Evidence:
    """Moments of squared singular values at six steps, extrapolated from two sizes, against trace moments of τ."""
    agree = True
    for step in STEPS:
        mean, error = extrapolated(_squared_moments(step), size, draws, seed)
        expected = [float(moment_at_step(n, step * (2 - step))) for n in (1, 2, 3)]
        agree = agree and within(mean, error, expected)
    # τ < η above step 1 and τ > η below it, and the first moment e^(−η) falls: equal at step 1 only.
    grid = np.arange(0.02, 1.99, 0.02)
    same = np.isclose(np.exp(-grid * (2 - grid)), np.exp(-grid), rtol=1e-12)
    return decide(
        bool(agree and same.sum() == 1 and same[np.isclose(grid, 1)].all()),
        measured=f"18 moments at steps {STEPS[0]} to {STEPS[-1]} agree: {agree}; equal first moments at "
        f"{same.sum()} of {len(grid)} steps",
        claimed="trace moments of step η(2 − η), those of η at step 1 only",
        tolerance="4 standard errors",
    )


def order_of_the_limits(*, size: int = 4**8) -> Evidence:
    """Exact second moments for single rows and for √d blocks, at d and 4d, against e^(−2ηρ)(1 + η²ρ)."""
    rows, blocks = 0.0, 0.0
    for step in STEPS:
        for rho in (0.5, 1.0, 2.0):
            limit = math.exp(-2 * step * rho) * (1 + step**2 * rho)
            for d in (size, 4 * size):
                rows = max(rows, d * abs(_second_moment(d, step, rho, 1) - limit))
                blocks = max(blocks, math.sqrt(d) * abs(_second_moment(d, step, rho, math.isqrt(d)) - limit))
    return decide(
        bool(rows < 1 and blocks < 0.2),
        measured=f"distance at most {rows:.2f}/d for rows and {blocks:.2f}/√d for blocks",
        claimed="one limit for both, 6 steps and 3 aspect ratios",
        tolerance="1/d and 0.2/√d",
    )


def _second_moment(d, step, rho, size):
    """tr A²/d in expectation: ρd rows, in blocks of this size."""
    return free.second_moments(d, round(rho * d / size), size, step)[0]


def support_of_singular_values(*, share: float = 0.43, size: int = 300, seed: int = 44) -> Evidence:
    """Epochs at step 1 and four aspect ratios: atom and ends; and the share below e^(−2) from the quantile function."""
    rng, inside, atoms = np.random.default_rng(seed), True, True
    for rho in (0.4, 0.8, 1.0, 2.0):
        A = epoch_by_solve(unit_rows(round(rho * size), size, rng), 1.0)
        values = np.linalg.svd(A, compute_uv=False) ** 2
        others = values[values < 1 - 1e-9] if rho < 1 else values
        right = rho * math.exp(1 - rho)
        atoms = atoms and len(values) - len(others) == round(max(1 - rho, 0) * size)
        inside = inside and right - 0.1 < others.max() < right + 0.02 and others.min() < 1e-6
    # At ρ = 1 the quantile of order 1 − φ/π is (sin φ/φ) e^(φ cot φ − 1).
    phi = optimize.brentq(lambda x: math.log(math.sin(x) / x) + x / math.tan(x) + 1, 0.1, 3.0)
    below = 1 - phi / math.pi
    return decide(
        bool(inside and atoms and abs(below - share) < 0.005),
        measured=f"atoms of mass 1 − ρ: {atoms}, ends as stated: {inside}, share below e^(−2) {below:.4f}",
        claimed=f"[0, ρe^(1 − ρ)] and an atom; share {share:.2f}",
        tolerance="0.005 for the share; +0.02 and −0.1 at the right end",
    )


def edge_of_the_eigenvalues(*, leftmost: float = -0.135, size: int = 300, seed: int = 45) -> Evidence:
    """Eigenvalues of six epochs at step 1, m = d, in eight sectors: how far out they go, over |λ| = e^(cos θ − 1)."""
    rng = np.random.default_rng(seed)
    values = np.ravel([np.linalg.eigvals(epoch_by_solve(unit_rows(size, size, rng), 1.0)) for _ in range(6)])
    grid, angle = np.linspace(0, math.pi, 4001), np.abs(np.angle(values))
    # On the curve arg λ = sin θ − θ; the law is symmetric about the real axis.
    ratio = np.abs(values) / np.interp(angle, grid - np.sin(grid), np.exp(np.cos(grid) - 1))
    sector = np.minimum((angle / (math.pi / 8)).astype(int), 7)
    reach = [ratio[sector == k].max() for k in range(8)]
    complexes = float((np.abs(values.imag) > 1e-9).mean())
    end = float(free.eigenvalue_boundary(grid).real.min())
    on_curve = min(reach) > 0.9 and max(reach) < 1.15
    return decide(
        bool(complexes > 0.7 and on_curve and abs(end / leftmost - 1) < 0.005),
        measured=f"{complexes:.0%} complex; they reach {min(reach):.2f} to {max(reach):.2f} of the curve; "
        f"leftmost point {end:.4f}",
        claimed=f"most complex, ending on the curve; {leftmost}",
        tolerance="70 %, 0.9 to 1.15 at d = 300; relative 0.005",
    )


# --------------------------------------------------------------------------------------------- single shuffle


def _single_losses(U):
    """Test and training loss of single shuffle at step 1 after 1, 2, 4 and 8 epochs, over all starts."""
    power, losses = epoch_by_solve(U, 1.0), []
    for _ in range(4):
        losses += [(power**2).sum() / U.shape[1], ((U @ power) ** 2).sum() / len(U)]
        power = power @ power
    return np.array(losses)


def losses_as_finite_sums(*, size: int = 64, draws: int = 120, seed: int = 51) -> Evidence:
    """Losses on random rows at three aspect ratios, extrapolated from two sizes, against the sums."""
    agree = True
    for rho in (0.5, 1.0, 2.0):
        mean, error = extrapolated(_single_losses, size, draws, seed, rho)
        sums = (single_shuffle.test_sum, single_shuffle.train_sum)
        expected = [float(total(n, rho)) for n in (1, 2, 4, 8) for total in sums]
        agree = agree and within(mean, error, expected)
    n = 12
    by_hand = sum((k / n) ** 2 * stats.poisson.pmf(n - k, n) ** 2 for k in range(1, n + 1))
    gap = max(abs(by_hand / exact_train(n) - 1), abs(by_hand / float(single_shuffle.train_loss(n)) - 1))
    return decide(
        bool(agree and gap < 1e-10),
        measured=f"24 losses of random rows agree: {agree}; the training sum at n = 12 to {gap:.0e}",
        claimed="both losses at step 1 are the sums",
        tolerance="4 standard errors; relative 1e-10",
    )


@functools.cache
def _test_sum(n):
    """Single shuffle's exact test loss at step 1, m = d."""
    return float(single_shuffle.test_sum(n))


def second_term_of_single_shuffle(
    *, leading: float = 1 / (2 * math.sqrt(math.pi)), second: float = 1 / (6 * math.pi)
) -> Evidence:
    """Two coefficients extrapolated from exact sums at n up to 6400, and what is left after both, times n^(3/2)."""
    first = limit_in_root(lambda n: _test_sum(n) * n**0.5, 100)
    then = limit_in_root(lambda n: (_test_sum(n) - leading * n**-0.5) * n, 100)
    left = [(_test_sum(n) - leading * n**-0.5 - second / n) * n**1.5 for n in (400, 6400)]
    return decide(
        bool(
            abs(first / leading - 1) < 1e-4
            and abs(then / second - 1) < 1e-3
            and 0.5 < left[1] / left[0] < 2
            and then > 0
        ),
        measured=f"{first:.6f} and {then:+.6f}; the rest is {left[0]:.3f} and {left[1]:.3f} n^(−3/2)",
        claimed=f"{leading:.6f} and {second:+.6f}, remainder O(n^(−3/2))",
        tolerance="relative 1e-4 and 1e-3",
    )


def constant_at_every_step() -> Evidence:
    """The test constant at five steps up to 1.98, extrapolated from exact losses at n up to 8·10⁷, against √(a/2π)."""
    worst, effective = 0.0, 0.0
    for step in (0.05, 0.5, 1.0, 1.6, 1.98):
        stated = math.sqrt((1 / step - 0.5) / (2 * math.pi))
        worst = max(worst, abs(constant(single_shuffle.test_loss, 0.5, step, 10**7, 4) / stated - 1))
        effective = max(effective, abs(stated * math.sqrt(2 * math.pi * 2 * step / (2 - step)) - 1))
    return decide(
        bool(worst < 1e-4 and effective < 1e-12),
        measured=f"limits of exact losses within a relative {worst:.0e}",
        claimed="√(a/(2πn)), the asymptote of the effective step 2η/(2 − η)",
        tolerance="relative 1e-4, steps 0.05 to 1.98",
    )


@functools.cache
def _over_asymptote(step):
    """Exact test loss over its asymptote at n = 100 and n = 10⁵."""
    n = np.array([100, 10**5])
    return single_shuffle.test_loss(n, step) * np.sqrt(n) / math.sqrt((1 / step - 0.5) / (2 * math.pi))


def late_asymptote(*, at_hundred: float = 3.0, later: float = 1.05) -> Evidence:
    """Exact test losses over their asymptotes at n = 100 and 10⁵, for steps from 0.5 to 1.98."""
    ratios = np.array([_over_asymptote(step) for step in (0.5, 1.0, 1.5, 1.7, 1.9, 1.98)])
    rises = bool((np.diff(ratios, axis=0) > 0).all())
    observed = ratios[4]
    return decide(
        bool(rises and abs(observed[0] / at_hundred - 1) < 0.01 and abs(observed[1] / later - 1) < 0.01),
        measured=f"step 1.9: {observed[0]:.3f} and {observed[1]:.3f}; rising with the step: {rises}",
        claimed=f"{at_hundred} and {later}",
        tolerance="relative 0.01",
    )


def crossover_of_the_training_loss() -> Evidence:
    """Exact training losses at ρ = 1 + s/√n, n = 10⁴ and 10⁶, against e^(−s²)/(8√π), for s from −2 to 2."""
    offsets = (-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0)

    def distance(n):
        losses = np.array([float(single_shuffle.train_loss(n, 1.0, 1 + s / n**0.5)) for s in offsets])
        limit = np.exp(-np.square(offsets)) / (8 * math.sqrt(math.pi))
        return float(np.abs(losses * n**1.5 / limit - 1).max())

    early, late = distance(10**4), distance(10**6)
    return decide(
        bool(late < 0.01 and late < early / 5),
        measured=f"largest relative distance {early:.3f} at n = 10⁴, {late:.4f} at n = 10⁶",
        claimed="0 in the limit, symmetric in s",
        tolerance="relative 0.01 at n = 10⁶, and falling like n^(−1/2)",
    )


# -------------------------------------------------------------------------------------------------- flip-flop


@functools.cache
def _flip_losses(step):
    """The statistic: flip-flop's test loss after 1, 2, 3 and 6 epochs, over all starts."""

    def statistic(U):
        A = epoch_by_solve(U, step)
        M, losses = np.eye(len(A)), []
        for n in range(6):
            M = (A.T if n % 2 else A) @ M
            losses.append((M**2).sum() / len(A))
        return np.array(losses)[[0, 1, 2, 5]]

    return statistic


def _count(n, step, rho):
    """E(M − J)⁺/EM, summed term by term."""
    tau = step * (2 - step)
    wins = np.arange(n + 1)
    chance = np.outer(stats.binom.pmf(wins, n, tau), stats.poisson.pmf(wins, n * tau * rho))
    return float((np.maximum(wins[:, None] - wins, 0) * chance).sum()) / (n * tau)


def flip_flop_as_a_count(*, size: int = 64, draws: int = 64, seed: int = 61) -> Evidence:
    """Losses on random rows, odd and even n, steps to 1.98, extrapolated from two sizes, against the count."""
    cases = ((0.05, 1.0), (0.5, 0.5), (1.0, 1.0), (1.5, 2.0), (1.98, 1.0))
    agree = True
    for step, rho in cases:
        mean, error = extrapolated(_flip_losses(step), size, draws, seed, rho)
        agree = agree and within(mean, error, [_count(n, step, rho) for n in (1, 2, 3, 6)])
    n = (7, 40, 300)
    gap = max(abs(_count(k, *case) / float(flip_flop.test_loss(k, *case)) - 1) for k in n for case in cases)
    return decide(
        bool(agree and gap < 1e-9),
        measured=f"20 losses of random rows agree: {agree}; the library's at n = 7, 40, 300 to {gap:.0e}",
        claimed="the test loss is E(M − J)⁺/EM at odd and even n",
        tolerance="4 standard errors; relative 1e-9",
    )


@functools.cache
def _flip_train(n):
    """Flip-flop's exact training loss at step 1, m = d, times n^(3/2)."""
    return float(flip_flop.train_loss(n)) * n**1.5


def second_term_of_flip_flop(
    *, leading: float = math.sqrt(2) / (3 * math.sqrt(math.pi)), second: float = 14 / 15
) -> Evidence:
    """Two coefficients extrapolated from exact training losses at n up to 3200, and what is left, times n²."""
    first = limit_in_n(_flip_train, 400)
    then = limit_in_n(lambda n: n * (_flip_train(n) / leading - 1), 400)
    left = [n**2 * (_flip_train(n) / leading - 1 + second / n) for n in (400, 1600)]
    return decide(
        bool(
            abs(first / leading - 1) < 1e-7 and abs(then / second + 1) < 1e-4 and 0.5 < left[1] / left[0] < 2
        ),
        measured=f"{first:.6f} and {then:+.6f}/n; the rest is {left[0]:.3f} and {left[1]:.3f} n^(−2)",
        claimed=f"{leading:.6f} and {-second:+.6f}/n, remainder O(n^(−2))",
        tolerance="relative 1e-7 and 1e-4",
    )


def _by_singular_values(step, last, cells=500):
    """Flip-flop's test loss for n = 1 to last: moments of the law of an epoch's squared singular values, in cells."""
    law = free.SquaredSingularValues(1.0, step)
    root = np.linspace(0, math.sqrt(-math.log(max(law.support[0], 1e-20))), cells + 1)  # √(−log x)
    mass = -np.diff(law.cdf(np.exp(-(root**2))))
    middle = (root[1:] + root[:-1]) / 2
    return mass @ np.exp(-np.outer(middle**2, np.arange(1, last + 1)))


def flip_flop_against_iid(*, last: int = 1000) -> Evidence:
    """Test losses at 25 steps up to 1 and all n up to 1000, by second routes; constants at 49 steps up to 1.98."""
    n, nearest, gap, at = np.arange(1, last + 1), 0.0, 0.0, [0, 9, last - 1]
    for step in np.arange(1, 26) / 25:
        ratio = _by_singular_values(float(step), last) / gaussian_iid(n, float(step), 300)[0]
        nearest = max(nearest, float(ratio.max()))
        library = flip_flop.test_loss(n[at], step) / iid.test_loss(n[at], step)
        gap = max(gap, float(np.abs(ratio[at] / library - 1).max()))
    require(gap < 1e-5, f"the second route to the ratio, {gap:.0e} from the library's")
    larger = all(flip_flop.test_constant(s) > iid.test_constant(s) for s in np.arange(51, 100) / 50)
    return decide(
        bool(nearest < 1 - gap and larger),
        measured=f"flip-flop over IID at most {nearest:.4f} up to step 1; larger constants at steps 1.02 to 1.98: "
        f"{larger}",
        claimed="below 1 at every step up to 1 and every n up to 1000, above in the limit at every step above 1",
        tolerance=f"two routes to a ratio differ by {gap:.0e}",
    )


@functools.cache
def _training_constants():
    """Where the constants cross, both minima, and whether the sign changes there only, over steps 0.02 to 1.98."""

    def gap(step):
        return flip_flop.train_constant(step) - iid.train_constant(step)

    crossing = optimize.brentq(gap, 0.7, 1.2)
    grid = np.arange(1, 100) / 50
    once = all((gap(s) < 0) == (s < crossing) for s in grid)
    least = []
    for module in (flip_flop, iid):
        best = optimize.minimize_scalar(module.train_constant, bounds=(0.2, 1.8), method="bounded")
        routes = abs(constant(module.train_loss, 1.5, float(best.x)) / best.fun - 1)
        require(routes < 1e-4, f"the training constant from exact losses, {routes:.0e} away")
        least += [best.fun, best.x]
    return crossing, once, *least


def training_constants_of_flip_flop(
    *,
    crossing: float = 0.899,
    least: float = 0.175,
    at: float = 0.71,
    least_iid: float = 0.190,
    at_iid: float = 1.20,
) -> Evidence:
    """The step at which the training constants of flip-flop and IID are equal, and the minimum of each."""
    cross, once, *observed = _training_constants()
    stated = (least, at, least_iid, at_iid)
    agree = all(abs(a / b - 1) < 0.005 for a, b in zip(observed, stated, strict=True))
    return decide(
        bool(once and agree and abs(cross / crossing - 1) < 0.005),
        measured=f"crossing at {cross:.4f} only: {once}; minima {observed[0]:.4f} at {observed[1]:.3f} and "
        f"{observed[2]:.4f} at {observed[3]:.3f}",
        claimed=f"{crossing}; {least} at {at}, {least_iid} at {at_iid}",
        tolerance="relative 0.005; 99 steps from 0.02 to 1.98",
    )


@functools.cache
def _floor_exponents(seed):
    """log₂ of the ratio of test floors at steps 0.0002 and 0.0001, for IID, single shuffle and flip-flop."""
    rng = np.random.default_rng(seed)
    X, y = data.gaussian(256, 64, rng), rng.standard_normal(256)
    floors = [
        (
            noise.iid_floor(X, y, step).test,
            noise.cycle_floor(X, y, "single_shuffle", step).test,
            noise.cycle_floor(X, y, "flip_flop", step).test,
        )
        for step in (1e-4, 2e-4)
    ]
    return np.log2(np.divide(floors[1], floors[0]))


def floors_with_noisy_targets(
    *, iid_power: float = 1.0, single_power: float = 2.0, flip_power: float = 4.0, seed: int = 65
) -> Evidence:
    """Exact floors of one noisy system with 256 rows in 64 dimensions at two small steps: the powers of the step."""
    observed = _floor_exponents(seed)
    stated = (iid_power, single_power, flip_power)
    return decide(
        bool(np.abs(observed / stated - 1).max() < 0.005),
        measured="powers " + ", ".join(f"{x:.4f}" for x in observed),
        claimed=", ".join(f"{x:g}" for x in stated),
        tolerance="relative 0.005 between steps 0.0001 and 0.0002",
    )
