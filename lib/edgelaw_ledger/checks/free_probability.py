r"""Checks of group C: the epoch as a free product (the paper's Section 4 and Appendix C).

Independent of ``edgelaw.theory`` are: formal series in exact fractions, Lambert's W and Poisson sums by mpmath at
forty digits, and epochs multiplied out row by row. An average over matrices of dimension d is off by O(1/d); the
combination :math:`2f(2d) - f(d)` removes that, and its standard error is over independent draws.
"""

import functools
import math
from fractions import Fraction
from math import e, pi, sqrt

import mpmath
import numpy as np

from edgelaw.theory import free, single_shuffle
from edgelaw_ledger import routes
from edgelaw_ledger.evidence import Evidence, compared, drawn, near, number, off, true
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
)


def _edge_parameter(phi, rho=1.0):
    """Quantile and CDF of the squared singular values at an angle φ, step 1: x and 1 − φ/π − (1−ρ)·arg/π."""
    s = phi / (rho * np.sin(phi))
    x = np.exp(-np.log(s) - rho * (1 - s * np.cos(phi)))
    return x, 1 - (phi + (1 - rho) * np.arctan2(s * np.sin(phi), 1 - s * np.cos(phi))) / pi


def _series_product(a, b):
    return [sum((a[i] * b[k - i] for i in range(k + 1)), Fraction(0)) for k in range(len(a))]


def _resolvent(
    z: float, d: int, draws: int, seed: int, step: float = 1.0, rho: float = 1.0
) -> tuple[float, float]:
    """tr (1 − zA)⁻¹/d of random epochs, extrapolated in d: mean and standard error, below 0.5 %."""

    def statistic(U):
        return np.trace(np.linalg.inv(np.eye(U.shape[1]) - z * epoch(U, step))) / U.shape[1]

    mean, error = extrapolated(statistic, d, draws, seed, rho)
    require(error < 0.005 * mean, "a standard error below 0.5 %")
    return mean, error


@functools.cache
def _at_a_half():
    """The generating function at 1/2: by the library, by its series in mpmath, and on random matrices."""
    with mpmath.workdps(40):
        summed = float(1 + sum(critical_moment(n) * mpmath.mpf(0.5) ** n for n in range(1, 130)))
    return free.generating_function(0.5), summed, *_resolvent(0.5, 60, 40, 101)


def c1(*, argument: float = 1 / e) -> Evidence:
    """The formula at z = 1/2 by mpmath against the summed moments, the library, and resolvents of random matrices."""
    library, summed, mean, error = _at_a_half()
    stated = float(1 / (1 + mpmath.lambertw(-argument * 0.5)))
    return compared(
        near("at z = 1/2", library, stated, 1e-12),
        near("sum of n^n z^n/(e^n n!)", summed, stated, 1e-12),
        drawn("matrices", mean, error, stated),
    )


def c2(*, leading: float = (2 * pi) ** -0.5, second: float = 1 / 12) -> Evidence:
    """Exact moments by mpmath at n = 1000 and 10000: what the two printed terms leave, times n squared."""
    with mpmath.workdps(40):
        rests = [
            float(n * n * (critical_moment(n) * mpmath.sqrt(n) / leading - 1 + mpmath.mpf(second) / n))
            for n in (1000, 10000)
        ]
        library = float(free.trace_moment(1000) / critical_moment(1000) - 1)
    require(abs(library) < 1e-10, "the library's moment")
    terms = f"{leading:.6f} n^-1/2 (1 - {second:.6f}/n)"
    return compared(off(f"{terms} + O(n^-2), n^2 times the rest", max(map(abs, rests)), 0.01))


def _square(U):
    """tr A²/d of the epoch."""
    return np.sum((A := epoch(U)) * A.T) / len(U)


def c3() -> Evidence:
    """Exact second moments in three limits (four rows as d grows, m blocks, m = d rows), and random matrices."""
    limit = 2 * math.exp(-2)
    fixed = free.second_moments(10**6, 4)[0]
    blocks = [free.block_trace_moment(2, m) - limit for m in (100, 1000)]
    joint = [free.second_moments(d, d)[0] - limit for d in (10**3, 10**4)]
    return compared(
        near("tr A^2/d for 4 rows as d grows", fixed, limit, 0.01),
        repaired=[
            off("for m blocks, then m: the gap falls as 1/m", abs(blocks[0] / blocks[1] / 10 - 1), 0.05),
            off("for m = d rows: as 1/d", abs(joint[0] / joint[1] / 10 - 1), 0.05),
            drawn("matrices", *extrapolated(_square, 60, 100, 103), limit),
        ],
    )


def c4(*, power: float = 2.0) -> Evidence:
    """The exact variance of a trace of two projections, its power of d, and 300 draws at each of two sizes."""
    rng = np.random.default_rng(104)
    variance = {d: free.second_moments(d, 2, d // 2)[2] - 1 / 16 for d in (32, 128, 1000, 4000)}
    for d in (32, 128):
        bases = [[np.linalg.qr(rng.standard_normal((d, d // 2)))[0] for _ in range(2)] for _ in range(300)]
        sample = np.var([np.sum((a.T @ b) ** 2) / d for a, b in bases], ddof=1)
        require(abs(sample / variance[d] - 1) < 4 * sqrt(2 / 299), "the variance of such a trace")
    slope = math.log(variance[4000] / variance[1000]) / math.log(4)
    return compared(
        near("traces of two projections fluctuate by d^-x, x", -slope / 2, power, 0.01),
        repaired=[near("their variance, x", -slope, power, 0.01)],
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
    by_moments = float(free.s_series(np.full(30, 0.8)) @ 0.05 ** np.arange(30))
    return compared(
        true("S_P = 1 + rho/(mz + m - rho), exactly in fractions at 9 points", all(exact)),
        near("from the moments of one of 5 blocks", by_moments, 1 + 1 / (5 * 0.05 + 5 - 1), 1e-12),
    )


def _settles(power, stated):
    """Whether the transform of m blocks tends to the stated one as 1/m, between a million and ten million blocks."""
    gaps = [m * (power(m) / stated - 1) for m in (10**6, 10**7)]
    return abs(float(gaps[1] / gaps[0] - 1))


def _taylor_gap(function, moments):
    """The largest relative difference of Taylor coefficients from the S-series of given moments."""
    with mpmath.workdps(30):
        expected = [float(c) for c in mpmath.taylor(function, 0, len(moments) - 1)]
    return np.abs(free.s_series([float(m) for m in moments]) / expected - 1).max()


def c6() -> Evidence:
    """Powers of the block's transform at a million blocks by mpmath, and the series of exact Poisson moments."""
    worst = rest = 0.0
    for rho in (0.5, 1.0, 2.0):
        with mpmath.workdps(40):
            z, stated = mpmath.mpf("0.3"), mpmath.exp(rho / mpmath.mpf("1.3"))
            rest = max(rest, _settles(lambda m, r=rho, z=z: (1 + r / (m * (z + 1) - r)) ** m, stated))
            moments = [poisson_moment(n, rho) for n in range(1, 7)]
        worst = max(
            worst,
            _taylor_gap(lambda x, r=rho: mpmath.exp(r / (1 + x)), moments),
            abs(free.s_transform(0.3, rho=rho) / float(stated) - 1),
        )
    return compared(
        off("m (S of m blocks / exp(rho/(1 + z)) - 1) settles, rho = 0.5, 1, 2", rest, 1e-4),
        off("six coefficients of the S-series of Poisson moments", worst, 1e-9),
    )


def c7() -> Evidence:
    """Taylor coefficients of the formula by mpmath against Poisson sums, and resolvents of random matrices."""
    worst, rows = 0.0, []
    for k, rho in enumerate((0.5, 2.0)):
        coefficients = taylor(lambda z, r=rho: r / (r + lambert(z, r)), 10)
        with mpmath.workdps(40):
            gaps = [abs(float(coefficients[n] / poisson_moment(n, rho) - 1)) for n in range(1, 10)]
        worst = max(worst, *gaps)
        stated = float(rho / (rho + lambert(0.6, rho)))
        require(close(free.generating_function(0.6, rho=rho), stated, 1e-12), "the library's function")
        rows.append(
            drawn(f"matrices at z = 0.6, rho = {rho:g}", *_resolvent(0.6, 50, 40, 107 + k, rho=rho), stated)
        )
    return compared(off("coefficients of rho/(rho + W0(az)) and Poisson sums, n < 10", worst, 1e-20), *rows)


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
    return compared(
        true(f"coefficients of W^r, W = x exp(-W), in fractions, r = 1..5, n < {size}", wrong == 0),
        near("W(0.1)^2", free.lambert_w(x) ** 2, value, 1e-12),
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
                gaps = by_series[n] / stated - 1, free.trace_moment(n, rho=rho) / stated - 1
                worst = max(worst, *(abs(float(gap)) for gap in gaps))
    terms = "(n rho)^n/(n! e^(n rho)) + (1 - rho) Q(n, n rho)"
    return compared(off(f"{terms}, n < 12, rho = 0.3, 1, 2.5", worst, 1e-9))


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
    require(
        abs(gaps[0.5][0][4]) > 10 * gaps[0.5][1][4], "three block updates at step 1/2 have different moments"
    )
    names = ("tr A^2", "tr A^3", "tr (AA')^2", "tr (AA')^3")
    apart = ("their difference, n = 2", "n = 3")
    return compared(
        *routes.samples(names, mean[:4], error[:4], np.tile(theory, 2), cap=0.01),
        *(drawn(*row, 0.0) for row in zip(apart, mean[4:], error[4:], strict=True)),
    )


def _both_moments(U):
    """Second and third moment of the squared singular values, and how far they are from the eigenvalues'."""
    A = epoch(U)
    eigenvalues, squares = np.linalg.eigvals(A), np.linalg.svd(A, compute_uv=False) ** 2
    moments = [(squares**n).mean() for n in (2, 3)]
    return [*moments, *(x - (eigenvalues**n).mean().real for n, x in zip((2, 3), moments, strict=True))]


def c11() -> Evidence:
    """Eigenvalues and singular values of random epochs, and moments of the limiting law by quadrature."""
    mean, error = extrapolated(_both_moments, 50, 60, 111)
    nodes, weights = np.polynomial.legendre.leggauss(80)
    x = _edge_parameter((nodes + 1) * pi / 2)[0]
    law, rows = free.SquaredSingularValues(), []
    require(error[:2].max() < 0.01 * mean[1], "a standard error below 1 %")
    for k, n in enumerate((2, 3)):
        exact = float(critical_moment(n))
        require(close(law.moment(n), exact, 1e-10), "the library's law")
        rows += [
            near(f"moment {n} of the law", float(weights @ x**n) / 2, exact, 1e-6),
            drawn("of singular values", mean[k], error[k], exact),
            drawn("more than of eigenvalues", mean[k + 2], error[k + 2], 0.0),
        ]
    return compared(*rows)


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
    return compared(
        off("moments 1 - t + t (1 - eta)^n and the closed sum, a block of 3 rows, two steps", worst, 1e-10)
    )


def c13() -> Evidence:
    """The block's equation solved by mpmath at a million blocks, and the series of exact moments."""
    worst = rest = 0.0
    for step, rho in ((0.4, 0.8), (1.6, 0.8), (1.2, 1.7)):
        with mpmath.workdps(50):
            eta, z, q = mpmath.mpf(step), mpmath.mpf("0.2"), 1 - mpmath.mpf(step)
            stated = mpmath.exp(eta * rho / (eta * z + 1))

            def power(m, z=z, q=q, rho=rho):
                t = mpmath.mpf(rho) / m
                w = mpmath.findroot(
                    lambda w: (1 - t) * w / (1 - w) + t * q * w / (1 - q * w) - z, z / (1 + z)
                )
                return ((1 + z) / z * w) ** m

            rest = max(rest, _settles(power, stated))
        moments = [moment_at_step(n, step, rho) for n in range(1, 6)]
        worst = max(
            worst,
            _taylor_gap(lambda x, a=eta, r=rho: mpmath.exp(a * r / (a * x + 1)), moments),
            abs(free.s_transform(0.2, step, rho) / float(stated) - 1),
        )
    return compared(
        off("m (S_P^m / exp(eta rho/(eta z + 1)) - 1) settles, three steps", rest, 1e-4),
        off("five coefficients of the S-series of exact moments", worst, 1e-9),
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
    require(worst < 1e-10, "the library's r-Lambert and generating functions")
    return compared(
        off("rho/(eta rho + W_r) - (1 - eta)/eta, W_r(0) = 0, against moments at 8 points", sums, 1e-8),
        drawn(
            "matrices, step 1.5, z = 1/2",
            *_resolvent(0.5, 50, 60, 114, 1.5),
            free.generating_function(0.5, 1.5),
        ),
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
    return compared(
        near("sqrt(n) m_n", moment, constant, 5e-3),
        near("sqrt(n) |A^n|^2/d of the theorem", loss, constant, 5e-3),
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
    names = ("matrices, rho = 1/2, z = 0.4 + 0.3i, real part", "imaginary part")
    return compared(
        off("-rho/(z (rho + W0(a/z))) at 7 points, rho = 0.5, 1, 2", worst, 1e-7),
        *routes.samples(names, mean, error, [expected.real, expected.imag]),
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
    return compared(
        true("W real on the support", real), near("printed formula over the density", ratios[0], 1, 0.01)
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
    return compared(off("F(0.5) - F(0.2) at best, whatever C", min(differences), 1e-3))


def c21(*, left: float = 2.0, draws: int = 16) -> Evidence:
    """Squared singular values of 16 epochs at d = 200: the share below the printed edge, the smallest, the largest."""
    rows = []
    for rho in (0.5, 1.0):
        law, top, shares, tops = free.SquaredSingularValues(rho=rho), rho * math.exp(1 - rho), [], []
        for k in range(draws):
            U = unit_rows(round(200 * rho), 200, np.random.default_rng([121, k]))
            squares = np.sort(np.linalg.svd(epoch(U), compute_uv=False) ** 2)[
                : len(U)
            ]  # the other d − m are 1
            shares.append((squares < math.exp(-left * rho)).sum() / 200)
            tops.append(squares[-1] / top)
            require(squares[0] < 1e-6, "values down to 0")
        require(
            abs(law.cdf(math.exp(-left * rho)) - np.mean(shares)) < 0.01, "the share below the printed edge"
        )
        require(abs(np.mean(tops) - 1) < 0.04, "a largest value of rho exp(1 - rho)")
        require(close(law.support, (0.0, top), 1e-12), "the library's support")
        rows.append(off(f"share below exp(-{left:g} rho) at rho = {rho:g}", np.mean(shares), 0.005))
    require(round(np.mean(shares), 2) == 0.43, "43 % of the law at rho = 1")
    return compared(*rows)
