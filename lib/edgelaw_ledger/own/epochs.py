"""Sentences on epochs of one order: free probability, single shuffle, flip-flop."""

import functools
import math

import numpy as np
from scipy import optimize, stats

from edgelaw import data
from edgelaw.exact import labels as noise
from edgelaw.theory import flip_flop, free, iid, single_shuffle
from edgelaw_ledger.evidence import Evidence, compared, drawn, near, off, printed, true
from edgelaw_ledger.routes import (
    constant,
    critical_moment,
    epoch_by_solve,
    errors_away,
    exact_train,
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


def _both_moments(U):
    """Traces of Aⁿ and of (AAᵀ)ⁿ, n = 1 to 6, of one epoch at step 1."""
    A = epoch_by_solve(U, 1.0)
    return np.array(_powers(A, 6) + _powers(A @ A.T, 6))


def moments_of_an_epoch(*, size: int = 100, draws: int = 30, seed: int = 41) -> Evidence:
    """Traces of twelve powers of epochs at step 1, extrapolated from two sizes, against nⁿ/(eⁿ n!)."""
    mean, error = extrapolated(_both_moments, size, draws, seed)
    expected = 2 * [float(critical_moment(n)) for n in range(1, 7)]
    return compared(
        off("twelve moments, in standard errors below 0.5 %", errors_away(mean, error, expected), 4)
    )


@functools.cache
def _squared_moments(step):
    """The statistic: traces of (AAᵀ)ⁿ, n = 1 to 3, of an epoch at this step."""

    def statistic(U):
        A = epoch_by_solve(U, step)
        return np.array(_powers(A @ A.T, 3))

    return statistic


def singular_values_at_a_step(*, size: int = 80, draws: int = 64, seed: int = 42) -> Evidence:
    """Moments of squared singular values at six steps, extrapolated from two sizes, against trace moments of τ."""
    away = []
    for step in STEPS:
        for rho in ASPECTS:
            mean, error = extrapolated(_squared_moments(step), size, draws, seed, rho)
            expected = [float(moment_at_step(n, step * (2 - step), rho)) for n in (1, 2, 3)]
            away.append(errors_away(mean, error, expected))
    # the first moment e^(−ηρ) falls with η
    grid = np.arange(1, 200) / 100
    same = np.isclose(grid * (2 - grid), grid, rtol=1e-12)
    return compared(
        off("54 moments at six steps and three aspects, in standard errors below 0.5 %", max(away), 4),
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


def _share_below(U):
    """The statistic: the share of squared singular values of an epoch at step 1 below e^(−2)."""
    return np.array([(np.linalg.svd(epoch_by_solve(U, 1.0), compute_uv=False) < math.exp(-1)).mean()])


@functools.cache
def _supports(size, draws, seed):
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


def support_of_singular_values(
    *, share: float = 0.43, size: int = 320, draws: int = 16, seed: int = 44
) -> Evidence:
    """Epochs at step 1 and four aspect ratios: atom and ends; and the share below e^(−2), drawn and by quantiles."""
    atoms, left, right = _supports(size, draws, seed)
    # At ρ = 1 the quantile of order 1 − φ/π is (sin φ/φ) e^(φ cot φ − 1).
    phi = optimize.brentq(lambda x: math.log(math.sin(x) / x) + x / math.tan(x) + 1, 0.1, 3.0)
    mean, error = extrapolated(_share_below, 160, 24, seed)
    return compared(
        true("atoms of mass 1 - rho in every draw", atoms),
        off(f"left ends of {4 * draws} draws, d = {size}", left, 1e-6),
        off("right ends", right, 0.05),
        printed("share below e^(-2)", 1 - phi / math.pi, share, 2),
        drawn("the same drawn", mean[0], error[0], 1 - phi / math.pi),
    )


@functools.cache
def _clouds(size, draws, seed):
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


def edge_of_the_eigenvalues(
    *, leftmost: float = -0.135, size: int = 400, draws: int = 16, seed: int = 45
) -> Evidence:
    """Eigenvalues of 16 epochs at step 1, m = d, in eight sectors: how far out they go, over the curve's distance."""
    complexes, reach = _clouds(size, draws, seed)
    error = reach.std(axis=0, ddof=1).max() / math.sqrt(draws)
    return compared(
        true("most eigenvalues are complex in every draw", complexes > 0.5),
        off(
            f"mean reach of eight sectors, d = {size}, over the curve", abs(reach.mean(axis=0) - 1).max(), 0.1
        ),
        off("its standard error", error, 0.03),
        printed("leftmost point", float(free.eigenvalue_boundary(math.pi).real), leftmost),
        near("that is -e^(-2)", float(free.eigenvalue_boundary(math.pi).real), -math.exp(-2), 1e-6),
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
    away = []
    for rho in ASPECTS:
        mean, error = extrapolated(_single_losses, size, draws, seed, rho)
        sums = (single_shuffle.test_sum, single_shuffle.train_sum)
        away.append(errors_away(mean, error, [float(total(n, rho)) for n in (1, 2, 4, 8) for total in sums]))
    gaps = []
    for n in (1, 2, 12, 60):
        k = np.arange(1, n + 1)
        by_hand = (np.square(k / n) * stats.poisson.pmf(n - k, n) ** 2).sum()
        gaps += [by_hand / exact_train(n) - 1, by_hand / float(single_shuffle.train_loss(n)) - 1]
    return compared(
        off("24 losses of random rows, in standard errors below 0.5 %", max(away), 4),
        off("training sums at n = 1, 2, 12 and 60", np.abs(gaps).max(), 1e-10),
    )


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


def constant_at_every_step() -> Evidence:
    """The test constant at six steps up to 1.98, extrapolated from exact losses at n up to 8·10⁷, against √(a/2π)."""
    worst, effective = 0.0, 0.0
    for step in STEPS:
        stated = math.sqrt((1 / step - 0.5) / (2 * math.pi))
        worst = max(worst, abs(constant(single_shuffle.test_loss, 0.5, step, 10**7, 4) / stated - 1))
        effective = max(effective, abs(stated * math.sqrt(2 * math.pi * 2 * step / (2 - step)) - 1))
    return compared(
        off("limits over sqrt(a/(2 pi)) at six steps", worst, 1e-4),
        off("that constant and the effective step's 2 eta/(2 - eta)", effective, 1e-12),
    )


@functools.cache
def _over_asymptote(step):
    """Exact test loss over its asymptote at n = 100 and n = 10⁵."""
    n = np.array([100, 10**5])
    return single_shuffle.test_loss(n, step) * np.sqrt(n) / math.sqrt((1 / step - 0.5) / (2 * math.pi))


def late_asymptote(*, at_hundred: float = 3.0, later: float = 1.05) -> Evidence:
    """Exact test losses over their asymptotes at n = 100 and 10⁵, for steps from 0.5 to 1.98."""
    ratios = np.array([_over_asymptote(step) for step in (0.5, 1.0, 1.5, 1.7, 1.9, 1.98)])
    return compared(
        true("rising with the step from 0.5 to 1.98", (np.diff(ratios, axis=0) > 0).all()),
        near("step 1.9, n = 100", ratios[4, 0], at_hundred, 0.01),
        near("step 1.9, n = 10^5", ratios[4, 1], later, 0.01),
    )


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
    cases, away = ((0.05, 1.0), (0.5, 0.5), (1.0, 1.0), (1.5, 2.0), (1.98, 1.0)), []
    for step, rho in cases:
        mean, error = extrapolated(_flip_losses(step), size, draws, seed, rho)
        away.append(errors_away(mean, error, [_count(n, step, rho) for n in (1, 2, 3, 6)]))
    n = (7, 40, 300)
    gap = max(abs(_count(k, *case) / float(flip_flop.test_loss(k, *case)) - 1) for k in n for case in cases)
    return compared(
        off("20 losses of random rows, in standard errors below 0.5 %", max(away), 4),
        off("the library's losses at n = 7, 40 and 300", gap, 1e-9),
    )


def second_term_of_flip_flop(
    *, leading: float = math.sqrt(2) / (3 * math.sqrt(math.pi)), second: float = 14 / 15
) -> Evidence:
    """Two coefficients extrapolated from exact training losses at large n, and what is left, times n²."""
    scaled = functools.cache(lambda n: float(flip_flop.train_loss(n)) * n**1.5)
    return compared(*_two_terms(scaled, leading, -second * leading, 1, (1e-7, 1e-4)))


def _by_singular_values(step, last, cells=500):
    """Flip-flop's test loss for n = 1 to last: moments of the law of an epoch's squared singular values, in cells."""
    law = free.SquaredSingularValues(1.0, step)
    root = np.linspace(0, math.sqrt(-math.log(max(law.support[0], 1e-20))), cells + 1)  # √(−log x)
    mass = -np.diff(law.cdf(np.exp(-(root**2))))
    middle = (root[1:] + root[:-1]) / 2
    return mass @ np.exp(-np.outer(middle**2, np.arange(1, last + 1)))


@functools.cache
def _nearest_to_iid(last):
    """The largest ratio of flip-flop's test loss to IID's over 25 steps and n, and its distance from the library's."""
    n, nearest, gap, at = np.arange(1, last + 1), 0.0, 0.0, [0, 9, last - 1]
    for step in np.arange(1, 26) / 25:
        ratio = _by_singular_values(float(step), last) / gaussian_iid(n, float(step))[0]
        library = flip_flop.test_loss(n[at], step) / iid.test_loss(n[at], step)
        nearest, gap = max(nearest, ratio.max()), max(gap, np.abs(ratio[at] / library - 1).max())
    return nearest, gap


def flip_flop_against_iid(*, last: int = 1000) -> Evidence:
    """Test losses at 25 steps up to 1 and all n up to 1000, by second routes; constants at 99 steps up to 1.99."""
    nearest, gap = _nearest_to_iid(last)
    larger = all(flip_flop.test_constant(s) > iid.test_constant(s) for s in np.arange(101, 200) / 100)
    return compared(
        off("two routes to the ratio of the losses", gap, 1e-5),
        true("flip-flop below IID at 25 steps and every n up to 1000, by more than that", nearest < 1 - gap),
        true("larger constants at steps 1.01 to 1.99", larger),
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
        least.append((best.fun, best.x, constant(module.train_loss, 1.5, float(best.x))))
    return crossing, once, least


def training_constants_of_flip_flop(
    *,
    crossing: float = 0.899,
    least: float = 0.175,
    at: float = 0.71,
    least_iid: float = 0.190,
    at_iid: float = 1.20,
) -> Evidence:
    """The step at which the training constants of flip-flop and IID are equal, and the minimum of each."""
    cross, once, minima = _training_constants()
    rows = []
    for order, (value, step, limit), stated in zip(
        ("flip-flop", "IID"), minima, ((least, at), (least_iid, at_iid)), strict=True
    ):
        rows += [
            near(f"least of {order}", value, stated[0], 0.005),
            near(f"its step, {order}", step, stated[1], 0.005),
            near(f"{order}, from exact losses", limit, value, 1e-4),
        ]
    return compared(near("crossing", cross, crossing, 0.005), true("99 steps: there only", once), *rows)


@functools.cache
def _floor_exponents(draws):
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


def floors_with_noisy_targets(
    *, iid_power: float = 1.0, single_power: float = 2.0, flip_power: float = 4.0, draws: int = 16
) -> Evidence:
    """Exact floors of 16 noisy systems with 256 rows in 64 dimensions at two small steps: the powers of the step."""
    powers, stated = _floor_exponents(draws).T, (iid_power, single_power, flip_power)
    return compared(
        *(
            near(f"power for {order}, farthest of {draws}", found[np.abs(found - said).argmax()], said, 0.005)
            for order, found, said in zip(("IID", "single shuffle", "flip-flop"), powers, stated, strict=True)
        )
    )
