r"""Checks of group C: the epoch as a free product (the paper's Section 4 and Appendix C).

Independent of ``edgelaw.theory`` are: formal series in exact fractions, Lambert's W and Poisson sums by mpmath at
forty digits, and epochs multiplied out row by row. An average over matrices of dimension d is off by O(1/d); the
combination :math:`2f(2d) - f(d)` removes that, and its standard error is over independent draws.
"""

import math
from fractions import Fraction
from math import e, pi, sqrt

import mpmath
import numpy as np

from edgelaw.theory import free, single_shuffle
from edgelaw_ledger.evidence import Evidence, decide, number
from edgelaw_ledger.routes import (
    close,
    critical_moment,
    epoch,
    extrapolated,
    lambert,
    moment_at_step,
    poisson_moment,
    require,
    taylor,
    unit_rows,
    within,
)

# ------------------------------------------------------------------------------------------ independent routes


def _edge_parameter(phi, rho=1.0):
    """Quantile and CDF of the squared singular values at an angle φ, step 1: x and 1 − φ/π − (1−ρ)·arg/π."""
    s = phi / (rho * np.sin(phi))
    x = np.exp(-np.log(s) - rho * (1 - s * np.cos(phi)))
    return x, 1 - (phi + (1 - rho) * np.arctan2(s * np.sin(phi), 1 - s * np.cos(phi))) / pi


def _series_product(a, b):
    return [sum((a[i] * b[k - i] for i in range(k + 1)), Fraction(0)) for k in range(len(a))]


# --------------------------------------------------------------------------------------------------- the checks


def _resolvent_at_a_half(U):
    """tr (1 − A/2)⁻¹/d."""
    return np.trace(np.linalg.inv(np.eye(len(U)) - 0.5 * epoch(U))) / len(U)


def c1(*, argument: float = 1 / e) -> Evidence:
    """The formula at z = 1/2 by mpmath against the summed moments, the library, and resolvents of random matrices."""
    z = 0.5
    with mpmath.workdps(40):
        stated = float(1 / (1 + mpmath.lambertw(-argument * z)))
        summed = float(1 + sum(critical_moment(n) * mpmath.mpf(z) ** n for n in range(1, 130)))
    mean, error = extrapolated(_resolvent_at_a_half, 60, 40, 101)
    exact = free.generating_function(z)
    return decide(
        close([exact, summed], stated, 1e-12) and within(mean, error, stated),
        measured=f"at z = 1/2: {exact:.10f}, sum of n^n z^n/(e^n n!) {summed:.10f}, matrices {mean:.4f}",
        claimed=f"{stated:.10f}",
        tolerance=f"relative 1e-12; 4 standard errors of {error:.1g}",
    )


def c2(*, leading: float = (2 * pi) ** -0.5, second: float = 1 / 12) -> Evidence:
    """Exact moments by mpmath at n = 1000 and 10000: what the two printed terms leave, times n squared."""
    with mpmath.workdps(40):
        rests = [
            float(n * n * (critical_moment(n) * mpmath.sqrt(n) / leading - 1 + mpmath.mpf(second) / n))
            for n in (1000, 10000)
        ]
        library = float(free.trace_moment(1000) / critical_moment(1000) - 1)
    return decide(
        abs(library) < 1e-10 and max(map(abs, rests)) < 0.01,
        measured=f"n^2 times the rest: {rests[0]:.5f}, {rests[1]:.5f} at n = 1000, 10000 (1/288 = "
        f"{1 / 288:.5f})",
        claimed=f"{leading:.6f} n^-1/2 (1 - {second:.6f}/n) + O(n^-2) relative",
        tolerance="rest below 0.01 n^-2; library within 1e-10",
    )


def c3() -> Evidence:
    """Exact second moments in three limits (four rows as d grows, m blocks, m = d rows), and random matrices."""
    limit = 2 * math.exp(-2)
    fixed = free.second_moments(10**6, 4)[0]
    blocks = [free.block_trace_moment(2, m) - limit for m in (100, 1000)]
    joint = [d * (free.second_moments(d, d)[0] - limit) for d in (10**3, 10**4)]
    mean, error = extrapolated(lambda U: np.sum((A := epoch(U)) * A.T) / len(U), 60, 100, 103)
    repaired = (
        abs(blocks[0] / blocks[1] / 10 - 1) < 0.05
        and abs(joint[0] / joint[1] - 1) < 0.05
        and within(mean, error, limit, cap=0.008)
    )
    return decide(
        abs(fixed / limit - 1) < 0.01,
        repaired,
        measured=f"tr A^2/d: {fixed:.4f} for 4 rows as d grows; 2/e^2 + {100 * blocks[0]:.3f}/m for m "
        f"blocks, "
        f"then m; 2/e^2 + {joint[1]:.3f}/d for m = d rows (matrices: {mean:.4f})",
        claimed=f"freeness of the rank-one factors gives the epoch's moments, 2/e^2 = {limit:.4f}",
        tolerance=f"1 %; the two other limits: gap of order 1/m, 1/d within 5 %, 4 standard errors of "
        f"{error:.1g}",
    )


def c4(*, power: float = 2.0) -> Evidence:
    """The exact variance of a trace of two projections, its power of d, and 300 draws at each of two sizes."""
    dims, rng = np.array([32, 128]), np.random.default_rng(104)
    exact = np.array([free.second_moments(d, 2, d // 2)[2] - 1 / 16 for d in (1000, 4000)])
    sampled = []
    for d in dims:
        bases = [[np.linalg.qr(rng.standard_normal((d, d // 2)))[0] for _ in range(2)] for _ in range(300)]
        sampled.append(np.var([np.sum((a.T @ b) ** 2) / d for a, b in bases], ddof=1))
    expected = np.array([free.second_moments(d, 2, d // 2)[2] - 1 / 16 for d in dims])
    require(
        (np.abs(sampled / expected - 1) < 4 * sqrt(2 / 299)).all(),
        "the variance of the trace of two projections",
    )
    slope = math.log(exact[1] / exact[0]) / math.log(4)
    return decide(
        abs(slope / 2 + power) < 0.05,
        abs(slope + power) < 0.05,
        measured=f"two projections of rank d/2: standard deviation ~ d^{slope / 2:.3f}, variance ~ "
        f"d^{slope:.3f}",
        claimed=f"fluctuations of order d^-{power:g}",
        tolerance="0.05 in the exponent; variances of 300 draws within 4 standard errors (8 % each)",
    )


def c5() -> Evidence:
    """The defining equation in exact fractions at nine points, and the series built from the moments."""
    exact = []
    for m, rho in ((3, Fraction(1)), (7, Fraction(5, 2)), (10, Fraction(2, 5))):
        for z in (Fraction(1, 9), Fraction(-1, 11), Fraction(2)):
            t = 1 - rho / m
            inverse = m * z / (m * z + m - rho)
            stated = 1 + rho / (m * z + m - rho)
            exact.append(t * inverse / (1 - inverse) == z and (z + 1) / z * inverse == stated)
            exact.append(
                close(free.s_transform(float(z), rho=float(rho), blocks=m), float(stated) ** m, 1e-12)
            )
    series = free.s_series(np.full(30, 0.8))
    by_moments = float(series @ 0.05 ** np.arange(30))
    there = 1 + 1 / (5 * 0.05 + 5 - 1)
    return decide(
        all(exact) and abs(by_moments / there - 1) < 1e-12,
        measured=f"exact in fractions at 9 points; from the moments of one of 5 blocks {by_moments:.12f}",
        claimed=f"{there:.12f} there",
        tolerance="equality of fractions; relative 1e-12",
    )


def c6() -> Evidence:
    """Powers of the block's transform at a million blocks by mpmath, and the series of exact Poisson moments."""
    worst, rest = 0.0, 0.0
    for rho in (0.5, 1.0, 2.0):
        with mpmath.workdps(40):
            z = mpmath.mpf("0.3")
            stated = mpmath.exp(rho / (1 + z))
            gaps = [m * ((1 + rho / (m * (z + 1) - rho)) ** m / stated - 1) for m in (10**6, 10**7)]
        rest = max(rest, abs(float(gaps[1] / gaps[0] - 1)))
        with mpmath.workdps(30):
            expected = np.array(
                [float(c) for c in mpmath.taylor(lambda x, r=rho: mpmath.exp(r / (1 + x)), 0, 5)]
            )
            series = free.s_series([float(poisson_moment(n, rho)) for n in range(1, 7)])
        worst = max(
            worst,
            np.abs(series / expected - 1).max(),
            abs(free.s_transform(0.3, rho=rho) / float(stated) - 1),
        )
    return decide(
        rest < 1e-4 and worst < 1e-9,
        measured=f"m (S of m blocks / S - 1) settles within {rest:.0e}; S-series of Poisson moments within "
        f"{worst:.0e}",
        claimed="S_A = exp(rho/(1 + z)), at rho = 0.5, 1, 2",
        tolerance="1e-4 between m = 1e6 and 1e7; relative 1e-9 for six coefficients",
    )


def c7() -> Evidence:
    """Taylor coefficients of the formula by mpmath against Poisson sums, and resolvents of random matrices."""
    good, worst, means = True, 0.0, []
    for k, rho in enumerate((0.5, 2.0)):
        coefficients = taylor(lambda z, r=rho: r / (r + lambert(z, r)), 10)
        with mpmath.workdps(40):
            worst = max(
                [worst] + [abs(float(coefficients[n] / poisson_moment(n, rho) - 1)) for n in range(1, 10)]
            )
        z = 0.6
        stated = float(rho / (rho + lambert(z, rho)))
        mean, error = extrapolated(
            lambda U: np.trace(np.linalg.inv(np.eye(U.shape[1]) - 0.6 * epoch(U))) / U.shape[1],
            50,
            40,
            107 + k,
            rho,
        )
        means.append(f"{mean:.4f} (stated {stated:.4f})")
        good &= close(free.generating_function(z, rho=rho), stated, 1e-12) and within(mean, error, stated)
    return decide(
        good and worst < 1e-20,
        measured=f"coefficients against Poisson sums within {worst:.0e}; matrices at z = 0.6: "
        + ", ".join(means),
        claimed="rho/(rho + W0(az)) at rho = 0.5 and 2",
        tolerance="relative 1e-20 for n < 10; 4 standard errors, below 0.5 %",
    )


def c8() -> Evidence:
    """The power series of W = x exp(-W) in exact fractions, coefficient by coefficient."""
    size = 10
    W = [Fraction(0)] * size
    for _ in range(size):  # W = x exp(−W), a coefficient more each time
        power, total = [Fraction(1)] + [Fraction(0)] * (size - 1), [Fraction(0)] * size
        for j in range(size):
            total = [a + (-1) ** j * b / math.factorial(j) for a, b in zip(total, power, strict=True)]
            power = _series_product(power, W)
        W = [Fraction(0), *total[:-1]]
    power, wrong = W, 0
    for r in range(1, 6):
        for n in range(r, size):
            wrong += power[n] != -r * Fraction(-n) ** (n - r - 1) / math.factorial(n - r)
        power = _series_product(power, W)
    x = 0.1
    value = sum(float(-2 * Fraction(-n) ** (n - 3) / math.factorial(n - 2)) * x**n for n in range(2, 60))
    return decide(
        wrong == 0 and close(free.lambert_w(x) ** 2, value, 1e-12),
        measured=f"{wrong} of 35 coefficients differ from those of W = x exp(-W), r = 1..5, n < {size}",
        claimed="all agree (r >= 1)",
        tolerance="equality of fractions; W(0.1)^2 within 1e-12",
    )


def c9() -> Evidence:
    """The printed sum by mpmath against Taylor coefficients of the generating function and a contour integral."""
    worst = 0.0
    for rho in (0.3, 1.0, 2.5):
        by_series = taylor(lambda z, r=rho: r / (r + lambert(z, r)), 12)
        with mpmath.workdps(40):
            for n in range(1, 12):
                x = mpmath.mpf(rho) * n
                tail = mpmath.gammainc(n, x, mpmath.inf, regularized=True)
                stated = x**n * mpmath.exp(-x) / mpmath.factorial(n) + (1 - mpmath.mpf(rho)) * tail
                worst = max(
                    worst,
                    abs(float(by_series[n] / stated - 1)),
                    abs(free.trace_moment(n, rho=rho) / stated - 1),
                )
    return decide(
        worst < 1e-9,
        measured=f"largest relative difference {float(worst):.0e} from the series of W0 and from the "
        f"contour integral",
        claimed="(n rho)^n/(n! e^(n rho)) + (1 - rho) Q(n, n rho), n < 12, rho = 0.3, 1, 2.5",
        tolerance="relative 1e-9",
    )


def _three_projections(step):
    """A statistic of three random projections of traces 0.8, 0.6, 0.5: tr Aⁿ/d and tr(AAᵀ)ⁿ/d for n = 2, 3."""

    def statistic(d, rng):
        A = np.eye(d)
        for trace in (0.8, 0.6, 0.5):
            basis = np.linalg.qr(rng.standard_normal((d, round((1 - trace) * d))))[0]
            A = A - step * basis @ (basis.T @ A)
        square, gram = A @ A, A @ A.T
        return [
            np.trace(square) / d,
            np.sum(square * A.T) / d,
            np.sum(gram**2) / d,
            np.sum((gram @ gram) * gram) / d,
        ]

    return statistic


def c10() -> Evidence:
    """Moments of three random projections of different traces, both ways, with a control at step 1/2."""
    rng, draws, gaps = np.random.default_rng(110), 150, {}
    for step in (1.0, 0.5):  # at step 1/2 the factors are not projections: the control
        means, squares = [], []
        for d in (40, 80):
            moments = np.array([_three_projections(step)(d, rng) for _ in range(draws)])
            moments = np.hstack([moments, moments[:, 2:] - moments[:, :2]])
            means.append(moments.mean(axis=0))
            squares.append(moments.var(axis=0, ddof=1) / draws)
        gaps[step] = 2 * means[1] - means[0], np.sqrt(4 * squares[1] + squares[0])
    s = [free.s_series(np.full(3, trace)) for trace in (0.8, 0.6, 0.5)]
    theory = free.moments_from_s_series(np.convolve(np.convolve(s[0], s[1])[:3], s[2])[:3])[1:]
    mean, error = gaps[1.0]
    control = abs(gaps[0.5][0][4]) / gaps[0.5][1][4]
    require(control > 10, "three block updates at step 1/2 have different moments")
    same = within(mean[:4], error[:4], np.tile(theory, 2), cap=0.01) and bool(
        (np.abs(mean[4:]) <= 4 * error[4:]).all()
    )
    return decide(
        same,
        measured=f"three projections of traces 0.8, 0.6, 0.5: tr A^2 {mean[0]:.4f}, tr (AA')^2 "
        f"{mean[2]:.4f}, "
        f"S-transform {theory[0]:.4f}; at step 1/2 they differ by {control:.0f} standard errors",
        claimed="equal for all n, here n = 2 and 3",
        tolerance=f"4 standard errors of {error[:4].max():.1g}",
    )


def c11() -> Evidence:
    """Eigenvalues and singular values of random epochs, and moments of the limiting law by quadrature."""

    def statistic(U):
        A = epoch(U)
        eigenvalues, squares = np.linalg.eigvals(A), np.linalg.svd(A, compute_uv=False) ** 2
        pairs = [((eigenvalues**n).mean().real, (squares**n).mean()) for n in (2, 3)]
        return [x for pair in pairs for x in (pair[1], pair[1] - pair[0])]

    mean, error = extrapolated(statistic, 50, 60, 111)
    nodes, weights = np.polynomial.legendre.leggauss(80)
    x = _edge_parameter((nodes + 1) * pi / 2)[0]
    quadrature = [float(weights @ x**n) / 2 for n in (2, 3)]
    exact = [float(critical_moment(n)) for n in (2, 3)]
    law = free.SquaredSingularValues()
    good = close(quadrature, exact, 1e-6) and close([law.moment(2), law.moment(3)], exact, 1e-10)
    good &= within(mean[[0, 2]], error[[0, 2]], exact, cap=0.01) and bool(
        (np.abs(mean[[1, 3]]) <= 4 * error[[1, 3]]).all()
    )
    return decide(
        good,
        measured=f"difference of second moments {mean[1]:+.4f}, of third {mean[3]:+.4f}; law by quadrature "
        f"{quadrature[0]:.6f}, {quadrature[1]:.6f}",
        claimed=f"no difference; both {exact[0]:.6f}, {exact[1]:.6f}",
        tolerance=f"4 standard errors of {error.max():.1g}; quadrature 1e-6",
    )


def c12() -> Evidence:
    """Powers of a 12 x 12 block update computed directly against the closed moments and their sum."""
    d, b, rng = 12, 3, np.random.default_rng(112)
    X = rng.standard_normal((d, b))
    worst = 0.0
    for step in (0.4, 1.4):
        P = np.eye(d) - step * X @ np.linalg.solve(X.T @ X, X.T)
        t, q, z = b / d, 1 - step, 0.3
        power = P.copy()
        series = 0.0
        for n in range(1, 60):
            stated = (1 - t) + t * q**n
            worst = max(worst, abs(np.trace(power) / d - stated))
            series += z**n * np.trace(power) / d
            power = power @ P
        closed = (1 - t) * z / (1 - z) + t * q * z / (1 - q * z)
        s = closed / (1 + closed) * free.s_transform(closed, step, 4 * t, blocks=4) ** 0.25
        worst = max(worst, abs(series - closed), abs(s - z))  # the S-transform inverts the series
    return decide(
        worst < 1e-10,
        measured=f"a 12 x 12 block update with 3 rows, steps 0.4 and 1.4: largest difference {worst:.0e}",
        claimed="moments 1 - t + t (1 - eta)^n and the closed sum",
        tolerance="1e-10",
    )


def c13() -> Evidence:
    """The block's equation solved by mpmath at a million blocks, and the series of exact moments."""
    worst, rest, rho = 0.0, 0.0, 0.8
    for step in (0.4, 1.6):
        with mpmath.workdps(50):
            eta, z, q = mpmath.mpf(step), mpmath.mpf("0.2"), 1 - mpmath.mpf(step)
            stated = mpmath.exp(eta * rho / (eta * z + 1))
            gaps = []
            for m in (10**6, 10**7):
                t = mpmath.mpf(rho) / m
                w = mpmath.findroot(
                    lambda w, t=t, q=q, z=z: (1 - t) * w / (1 - w) + t * q * w / (1 - q * w) - z, z / (1 + z)
                )
                gaps.append(m * (((1 + z) / z * w) ** m / stated - 1))
            rest = max(rest, abs(float(gaps[1] / gaps[0] - 1)))
            expected = np.array(
                [float(c) for c in mpmath.taylor(lambda x, a=eta: mpmath.exp(a * rho / (a * x + 1)), 0, 4)]
            )
        series = free.s_series([float(moment_at_step(n, step, rho)) for n in range(1, 6)])
        worst = max(
            worst,
            np.abs(series / expected - 1).max(),
            abs(free.s_transform(0.2, step, rho) / float(stated) - 1),
        )
    return decide(
        rest < 1e-4 and worst < 1e-9,
        measured=f"m (S_P^m / S - 1) settles within {rest:.0e}; series from exact moments within {worst:.0e}",
        claimed="S_A = exp(eta rho/(eta z + 1)), steps 0.4 and 1.6",
        tolerance="1e-4 between m = 1e6 and 1e7; relative 1e-9",
    )


def c14() -> Evidence:
    """The root followed from z = 0 by mpmath against summed moments, and resolvents of random matrices."""
    worst, sums = 0.0, 0.0
    for step, rho in ((0.5, 0.7), (0.5, 1.6), (1.5, 1.0), (1.9, 0.6)):
        for z in (0.3, 0.8):
            small = z * math.exp(-step * rho)
            x, r = -(step**2) * rho * small, -(1 - step) * small
            with mpmath.workdps(30):
                u = mpmath.mpf(0)
                for part in np.linspace(0, 1, 11)[1:]:  # follow the solution that vanishes at z = 0
                    u = mpmath.findroot(lambda u, p=part, r=r, x=x: u * mpmath.exp(u) + p * r * u - p * x, u)
                stated = float(rho / (step * rho + u) - (1 - step) / step)
                summed = float(
                    1 + sum(moment_at_step(n, step, rho) * mpmath.mpf(z) ** n for n in range(1, 90))
                )
            worst = max(worst, abs(float(u) / free.r_lambert(x, r) - 1))
            worst = max(worst, abs(stated / free.generating_function(z, step, rho) - 1))
            sums = max(sums, abs(stated / summed - 1))
    step, z = 1.5, 0.5
    stated = free.generating_function(z, step)
    mean, error = extrapolated(
        lambda U: np.trace(np.linalg.inv(np.eye(len(U)) - z * epoch(U, step))) / len(U), 50, 60, 114
    )
    return decide(
        worst < 1e-10 and sums < 1e-8 and within(mean, error, stated),
        measured=f"branch with W_r(0) = 0 against moments at 8 points: within {sums:.0e}; matrices "
        f"{mean:.4f}, formula {stated:.4f} at step 1.5, z = 0.5",
        claimed="rho/(eta rho + W_r) - (1 - eta)/eta",
        tolerance=f"relative 1e-10 (sums 1e-8); 4 standard errors of {error:.1g}",
    )


def c15(*, factor: float = 1.0) -> Evidence:
    """The equation of the r-Lambert function solved for z next to the singularity, 60 digits, three steps."""
    factors = []
    for step in (0.5, 1.0, 1.5):
        with mpmath.workdps(60):
            eta, delta = mpmath.mpf(step), mpmath.mpf(10) ** -9
            u = -eta + delta
            z = -u * mpmath.exp(u + eta) / (eta**2 - (1 - eta) * u)  # the equation of W_r, solved for z
            factors.append(float((1 - z) / delta**2 * eta / (2 - eta)))
        z, shrunk = 1 - 1e-8, (1 - 1e-8) * math.exp(-step)
        w = free.r_lambert(-(step**2) * shrunk, -(1 - step) * shrunk)
        require(
            abs((1 - z) / (step + w) ** 2 * step / (2 - step) / 0.5 - 1) < 2e-3,
            "the library's r-Lambert function",
        )
    require(max(factors) - min(factors) < 1e-6, "one factor for all steps")
    return number(factors[1], factor, 1e-4, corrected=0.5, what="squared limit over (2 - eta)/eta")


def c16(*, factor: float = 1.0) -> Evidence:
    """Exact moments at n up to a thousand extrapolated, and the library's at ten million, three steps."""
    factors = []
    for step in (0.5, 1.0, 1.5):
        scale = [pi * step / (2 - step) * n for n in (500, 1000)]
        by_sum = [float(moment_at_step(n, step)) ** 2 * c for n, c in zip((500, 1000), scale, strict=True)]
        late = free.trace_moment(10**7, step) ** 2 * pi * 1e7 * step / (2 - step)
        require(abs((2 * by_sum[1] - by_sum[0]) / late - 1) < 1e-5, "the library's moment at n = 1e7")
        factors.append(late)
    require(max(factors) - min(factors) < 1e-6, "one factor for all steps")
    return number(factors[1], factor, 1e-4, corrected=0.5, what="n pi m_n^2 eta/(2 - eta)")


def c17(*, constant: float = pi**-0.5) -> Evidence:
    """The exact moment and the exact loss of the theorem at n = 1e6: two quantities, neither the printed one."""
    n = 10**6
    moment = float(critical_moment(n) * mpmath.sqrt(n))
    loss = float(single_shuffle.test_loss(n) * sqrt(n))
    require(abs(moment * sqrt(2 * pi) - 1) < 1e-3, "the trace moment is 1/sqrt(2 pi n)")
    require(abs(loss * 2 * sqrt(pi) - 1) < 1e-3, "the theorem's loss is 1/(2 sqrt(pi n))")
    return decide(
        abs(moment / constant - 1) < 5e-3 and abs(loss / constant - 1) < 5e-3,
        measured=f"sqrt(n) m_n = {moment:.5f} = 1/sqrt(2 pi); the theorem's sqrt(n) |A^n|^2/d = {loss:.5f} "
        "= 1/(2 sqrt(pi))",
        claimed=f"both {constant:.5f} = 1/sqrt(pi)",
        tolerance="0.5 % at n = 1e6",
    )


def c18() -> Evidence:
    """The transform by quadrature of the law, by its moment series, and on singular values of random matrices."""

    def stated(z, rho):
        return complex(-rho / (z * (rho + lambert(1 / mpmath.mpc(z), rho))))

    nodes, weights = np.polynomial.legendre.leggauss(200)
    x = _edge_parameter((nodes + 1) * pi / 2)[0]
    worst = max(
        abs(complex(weights @ (0.5 / (x - z))) / stated(z, 1.0) - 1)
        for z in (0.3 + 0.2j, -0.5 + 0j, 1.2 + 0j)
    )
    for rho in (0.5, 2.0):
        for z in (1.6 + 0j, -1.1 + 1.2j):
            series = -1 / z - sum(float(poisson_moment(n, rho)) * z ** (-n - 1) for n in range(1, 90))
            worst = max(worst, abs(series / stated(z, rho) - 1))
            worst = max(worst, abs(-free.generating_function(1 / z, rho=rho) / z / stated(z, rho) - 1))

    def statistic(U):
        squares = np.linalg.svd(epoch(U), compute_uv=False) ** 2
        value = np.mean(1 / (squares - (0.4 + 0.3j)))
        return [value.real, value.imag]

    mean, error = extrapolated(statistic, 50, 100, 118, rho=0.5)
    expected = stated(0.4 + 0.3j, 0.5)
    return decide(
        worst < 1e-7 and within(mean, error, [expected.real, expected.imag]),
        measured=f"largest relative difference {worst:.0e} at 7 points; matrices, rho = 1/2, z = 0.4 + 0.3i: "
        f"{mean[0]:.4f} + {mean[1]:.4f}i",
        claimed=f"there {expected.real:.4f} + {expected.imag:.4f}i",
        tolerance=f"relative 1e-7; 4 standard errors of {error.max():.1g}",
    )


def _printed_density(x, rho):
    """The paper's formula, and the two values of W in it."""
    w0, w1 = (complex(lambert(1 / mpmath.mpf(x), rho, branch)) for branch in (0, -1))
    return (rho / (x * (rho + w0)) - rho / (x * (rho + w1))) / (2j * pi), w0, w1


def c19() -> Evidence:
    """The printed formula against the slope of the distribution function, and the atom counted on a matrix."""
    ratios, real = [], False
    for rho, x in ((1.0, 0.3), (1.0, 0.9), (0.5, 0.3), (2.0, 0.2)):
        printed, w0, w1 = _printed_density(x, rho)
        law = free.SquaredSingularValues(rho=rho)
        h = 1e-5
        slope = (law.cdf(x + h) - law.cdf(x - h)) / (2 * h)
        require(abs(law.pdf(x) / slope - 1) < 1e-6, "the density is the slope of the CDF")
        require(abs(w0 - w1.conjugate()) < 1e-12, "the two branches are conjugate on the support")
        real |= abs(w0.imag) < 1e-6
        ratios.append(printed.real / slope)
    require(max(abs(r + 1) for r in ratios) < 1e-5, "the printed formula is minus the density")
    squares = np.linalg.svd(epoch(unit_rows(100, 200, np.random.default_rng(119))), compute_uv=False) ** 2
    atom = float(np.mean(squares > 1 - 1e-9))
    require(abs(atom - 0.5) < 1e-12, "half of the law sits at 1 when m = d/2")
    return decide(
        real and max(abs(r - 1) for r in ratios) < 0.01,
        measured=f"printed / density = {min(ratios):.6f} to {max(ratios):.6f}; W complex on the support; "
        f"at rho = 1/2 an atom of mass {atom:.2f} at 1 besides",
        claimed="1, with two real branches and no atom",
        tolerance="1e-5",
    )


def c20() -> Evidence:
    """Differences of the printed function against the distribution function, which 300 singular values confirm."""
    differences, repaired = [], []
    for rho in (0.5, 1.0, 2.0):
        law = free.SquaredSingularValues(rho=rho)

        def printed(x, rho=rho):
            w = complex(lambert(1 / mpmath.mpf(x), rho))
            return -np.log(w) - (rho - 1) * np.log(w + rho)

        true = law.cdf(0.5) - law.cdf(0.2)
        differences.append(abs(printed(0.5) - printed(0.2) - true))
        repaired += [abs(-printed(x).imag / pi - law.cdf(x)) for x in (0.02, 0.2, 0.5)]
    squares = np.linalg.svd(epoch(unit_rows(300, 300, np.random.default_rng(120))), compute_uv=False) ** 2
    empirical = abs(np.mean(squares <= 0.5) - free.SquaredSingularValues().cdf(0.5))
    require(max(repaired) < 1e-9, "F = -Im(printed)/pi without a constant")
    require(empirical < 0.01, "the CDF of 300 squared singular values at 0.5 (one is 0.0033)")
    return decide(
        max(differences) < 1e-3,
        measured=f"F(0.5) - F(0.2) missed by {min(differences):.2f} to {max(differences):.2f}, whatever C; "
        f"-Im/pi agrees within {max(repaired):.0e}",
        claimed="F = -log W0 - (rho - 1) log(W0 + rho) + C",
        tolerance="1e-3; correction 1e-9",
    )


def c21(*, left: float = 2.0) -> Evidence:
    """Singular values of epochs at d = 400: the share below the printed edge, the smallest and the largest."""
    below, tops, lows = [], [], []
    for rho in (0.5, 1.0):
        U = unit_rows(round(400 * rho), 400, np.random.default_rng(121))
        squares = np.sort(np.linalg.svd(epoch(U), compute_uv=False) ** 2)[: len(U)]  # the other d − m are 1
        below.append(float((squares < math.exp(-left * rho)).sum()) / 400)
        tops.append(float(squares[-1]) / (rho * math.exp(1 - rho)))
        lows.append(float(squares[0]))
        law = free.SquaredSingularValues(rho=rho)
        require(abs(law.cdf(math.exp(-left * rho)) - below[-1]) < 0.01, "the share below the printed edge")
        require(close(law.support, (0.0, rho * math.exp(1 - rho)), 1e-12), "the library's support")
    require(max(abs(t - 1) for t in tops) < 0.03 and max(lows) < 1e-6, "support from 0 to rho exp(1 - rho)")
    return decide(
        max(below) < 0.005 and abs(tops[0] * 0.5 * math.exp(0.5) - 1) < 0.03,
        measured=f"{below[0]:.2f} (rho = 1/2) and {below[1]:.2f} (rho = 1) of the law lie below exp(-2 "
        f"rho); top / "
        f"(rho exp(1 - rho)) = {tops[0]:.3f}, {tops[1]:.3f}; smallest {max(lows):.0e}",
        claimed=f"nothing below exp(-{left:g} rho), top 1",
        tolerance="shares 0.005, edge 3 % at d = 400",
    )
