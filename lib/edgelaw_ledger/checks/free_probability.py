"""Checks of group C: the epoch as a free product (the paper's Section 4 and Appendix C)."""

import functools
import math
from fractions import Fraction
from math import e, pi, sqrt

import mpmath
import numpy as np

from edgelaw.theory import free
from edgelaw_ledger import routes
from edgelaw_ledger.evidence import Evidence, compared, near, number, off, true
from edgelaw_ledger.routes import close, epoch, lambert, moment_at_step, on_matrices, require, unit_rows


def _edge_parameter(phi):
    """Quantile of the squared singular values at an angle φ, m = d, step 1."""
    s = phi / np.sin(phi)
    return np.exp(-np.log(s) - 1 + s * np.cos(phi))


@functools.cache
def _generating(z, step=1.0, rho=1.0):
    """The sum of the moments times zⁿ, by mpmath, and the library's."""
    with mpmath.workdps(40):
        summed = float(1 + sum(moment_at_step(n, step, rho) * mpmath.mpf(z) ** n for n in range(1, 120)))
    return summed, free.generating_function(z, step, rho)


def _evidence(stated, cases):
    """Evidence for a generating function at z = 2/3: library, summed moments, and resolvents of random matrices."""
    worst = 0.0
    for step, rho in cases:
        value = stated(2 / 3, step, rho)
        worst = max(worst, *(abs(x / value - 1) for x in _generating(2 / 3, step, rho)))
    rows = on_matrices({"resolvent of A": -value / routes.X}, step, rho)
    return compared(off(f"library and summed moments at z = 2/3, step and rho {cases}", worst, 1e-8), *rows)


def c1(*, argument: float = 1 / e) -> Evidence:
    """The formula at z = 2/3 by mpmath against the summed moments, the library, and resolvents of random matrices."""
    return _evidence(lambda z, *_: float(1 / (1 + mpmath.lambertw(-argument * z))), ((1.0, 1.0),))


def c2(*, leading: float = (2 * pi) ** -0.5, second: float = 1 / 12) -> Evidence:
    """Exact moments by mpmath at n = 200 and 2000: what the two printed terms leave, times n squared."""
    return routes.stirling(free.trace_moment, leading, -second)


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
            *on_matrices({"m_2": limit}),
        ],
    )


def c4(*, power: float = 2.0) -> Evidence:
    """The exact variance of a trace of two projections, its power of d, and 300 draws."""
    rng = np.random.default_rng(104)
    variance = {d: free.second_moments(d, 2, d // 2)[2] - 1 / 16 for d in (32, 1000, 4000)}
    bases = (np.linalg.qr(rng.standard_normal((2, 32, 16)))[0] for _ in range(300))
    sample = np.var([np.sum((a.T @ b) ** 2) / 32 for a, b in bases], ddof=1)
    require(abs(sample / variance[32] - 1) < 4 * sqrt(2 / 299), "the variance of such a trace")
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
            t, inverse, stated = 1 - rho / m, m * z / (m * z + m - rho), 1 + rho / (m * z + m - rho)
            exact.append(t * inverse / (1 - inverse) == z and (z + 1) / z * inverse == stated)
            library = free.s_transform(float(z), rho=float(rho), blocks=m)
            require(close(library, float(stated) ** m, 1e-12), "the library's transform")
    by_moments = float(free.s_series(np.full(30, 0.8)) @ 0.05 ** np.arange(30))
    return compared(
        true("S_P = 1 + rho/(mz + m - rho), exactly in fractions at 9 points", all(exact)),
        near("from the moments of one of 5 blocks", by_moments, 1 + 1 / (5 * 0.05 + 5 - 1), 1e-12),
    )


def c13() -> Evidence:
    """The block's equation solved by mpmath at a million blocks, and the series of exact moments, five cases."""

    def stated(z, step, rho):
        return mpmath.exp(mpmath.mpf(step) * rho / (step * z + 1))

    cases = ((1.0, 0.5), (1.0, 2.0), (0.4, 0.8), (1.6, 0.8), (1.2, 1.7))
    worst = rest = 0.0
    for step, rho in cases:
        with mpmath.workdps(50):
            z, q, limit = mpmath.mpf("0.2"), 1 - mpmath.mpf(step), stated(mpmath.mpf("0.2"), step, rho)

            def gap(m, z=z, q=q, rho=rho, limit=limit):
                t = mpmath.mpf(rho) / m
                w = mpmath.findroot(
                    lambda w: (1 - t) * w / (1 - w) + t * q * w / (1 - q * w) - z, z / (1 + z)
                )
                return m * (((1 + z) / z * w) ** m / limit - 1)

            rest = max(rest, abs(float(gap(10**7) / gap(10**6) - 1)))
            expected = mpmath.taylor(lambda x, s=step, r=rho: stated(x, s, r), 0, 4)
        series = free.s_series([float(moment_at_step(n, step, rho)) for n in range(1, 6)])
        worst = max(worst, *np.abs(series / [float(c) for c in expected] - 1))
        worst = max(worst, abs(free.s_transform(0.2, step, rho) / float(limit) - 1))
    return compared(
        off(f"m (S of m blocks / limit - 1) settles, step and rho {cases}", rest, 1e-4),
        off("five coefficients of the S-series of exact moments", worst, 1e-9),
    )


def c7() -> Evidence:
    """The formula at z = 2/3 by mpmath against the summed moments, the library, and resolvents of random matrices."""
    return _evidence(lambda z, _, rho: float(rho / (rho + lambert(z, rho))), ((1.0, 2.0), (1.0, 0.6)))


def _r_lambert(z, step, rho):
    """The paper's formula, its root followed from z = 0 by mpmath."""
    small = z * math.exp(-step * rho)
    x, r, u = -(step**2) * rho * small, -(1 - step) * small, mpmath.mpf(0)
    with mpmath.workdps(30):
        for part in np.linspace(0, 1, 11)[1:]:
            u = mpmath.findroot(lambda u, p=part: u * mpmath.exp(u) + p * r * u - p * x, u)
        require(abs(float(u) / free.r_lambert(x, r) - 1) < 1e-10, "the library's r-Lambert function")
        return float(rho / (step * rho + u) - (1 - step) / step)


def _series_product(a, b):
    return [sum((a[i] * b[k - i] for i in range(k + 1)), Fraction(0)) for k in range(len(a))]


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
    value = sum(float(-2 * Fraction(-n) ** (n - 3) / math.factorial(n - 2)) * 0.1**n for n in range(2, 60))
    return compared(
        true(f"coefficients of W^r, W = x exp(-W), in fractions, r = 1..5, n < {size}", wrong == 0),
        near("W(0.1)^2", free.lambert_w(0.1) ** 2, value, 1e-12),
    )


def _three_projections(d, rng):
    """Of three random projections of traces 0.8, 0.6, 0.5: tr Aⁿ/d and tr(AAᵀ)ⁿ/d for n = 2, 3."""
    A = np.eye(d)
    for trace in (0.8, 0.6, 0.5):
        basis = np.linalg.qr(rng.standard_normal((d, round((1 - trace) * d))))[0]
        A = A - basis @ (basis.T @ A)
    square, gram = A @ A, A @ A.T
    pairs = (square, np.eye(d)), (square, A), (gram, gram), (gram @ gram, gram)
    return np.array([np.vdot(first, second.T) / d for first, second in pairs])


def c10() -> Evidence:
    """Moments of three random projections of different traces, both ways, and by their S-transforms."""
    rng = np.random.default_rng(110)
    small, large = ([_three_projections(d, rng) for _ in range(150)] for d in (40, 80))
    sampled = routes.averaged(2 * np.array(large) - small)
    s = [free.s_series(np.full(3, trace)) for trace in (0.8, 0.6, 0.5)]
    theory = free.moments_from_s_series(np.convolve(np.convolve(s[0], s[1])[:3], s[2])[:3])[1:]
    names = ("tr A^2", "tr A^3", "tr (AA')^2", "tr (AA')^3")
    return compared(*routes.samples(names, *sampled, np.tile(theory, 2), cap=0.01))


def c11() -> Evidence:
    """Eigenvalues and singular values of random epochs, and moments of the limiting law by quadrature."""
    nodes, weights = np.polynomial.legendre.leggauss(80)
    x = _edge_parameter((nodes + 1) * pi / 2)
    law, rows = free.SquaredSingularValues(), []
    for n in (2, 3):
        exact = float(routes.critical_moment(n))
        require(close(law.moment(n), exact, 1e-10), "the library's law")
        rows.append(near(f"moment {n} of the law", float(weights @ x**n) / 2, exact, 1e-6))
        rows += on_matrices({f"b_{n}": exact, f"m_{n}": exact})
    return compared(*rows)


def c12() -> Evidence:
    """Powers of a 12 x 12 block update computed directly against the closed moments and their sum."""
    d, b, rng = 12, 3, np.random.default_rng(112)
    X = rng.standard_normal((d, b))
    worst = 0.0
    for step in (0.4, 1.4):
        P = np.eye(d) - step * X @ np.linalg.solve(X.T @ X, X.T)
        t, q, z = b / d, 1 - step, 0.3
        power, series = P.copy(), 0.0
        for n in range(1, 60):
            worst = max(worst, abs(np.trace(power) / d - (1 - t) - t * q**n))
            series += z**n * np.trace(power) / d
            power = power @ P
        closed = (1 - t) * z / (1 - z) + t * q * z / (1 - q * z)
        s = closed / (1 + closed) * free.s_transform(closed, step, 4 * t, blocks=4) ** 0.25
        worst = max(worst, abs(series - closed), abs(s - z))  # the S-transform inverts the series
    return compared(
        off("moments 1 - t + t (1 - eta)^n and the closed sum, a block of 3 rows, two steps", worst, 1e-10)
    )


def c14() -> Evidence:
    """The root followed from z = 0 by mpmath against summed moments, and resolvents of random matrices."""
    return _evidence(_r_lambert, ((0.5, 0.7), (0.5, 1.6), (1.9, 0.6), (1.6, 1.0)))


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
        library = (1 - z) / (step + w) ** 2 * step / (2 - step)
        require(close(library, 0.5, 2e-3), "the library's r-Lambert function")
    require(max(factors) - min(factors) < 1e-6, "one factor for all steps")
    return number(factors[1], factor, 1e-4, corrected=0.5, what="squared limit over (2 - eta)/eta")


def c16(*, factor: float = 1.0) -> Evidence:
    """The limit of exact moments at four steps, over the printed one."""
    factors = [routes.limit("trace", s) ** 2 * pi * s / (2 - s) for s in routes.STEPS[:-1]]
    require(max(factors) - min(factors) < 1e-6, "one factor for all steps")
    return number(factors[1], factor, 1e-4, corrected=0.5, what="n pi m_n^2 eta/(2 - eta)")


def c17(*, constant: float = pi**-0.5) -> Evidence:
    """The limits of the exact moment and of the theorem's loss: two quantities, neither the printed one."""
    moment, loss = routes.limit("trace"), routes.limit("single_shuffle test")
    require(close([moment * sqrt(2 * pi), loss * 2 * sqrt(pi)], 1, 1e-3), "1/sqrt(2 pi n), 1/(2 sqrt(pi n))")
    return compared(
        near("sqrt(n) m_n", moment, constant, 5e-3),
        near("sqrt(n) |A^n|^2/d of the theorem", loss, constant, 5e-3),
    )


def c18() -> Evidence:
    """The transform by quadrature of the law, by the generating function, and on singular values of random matrices."""

    def stated(z, rho):
        return complex(-rho / (z * (rho + lambert(1 / mpmath.mpc(z), rho))))

    nodes, weights = np.polynomial.legendre.leggauss(200)
    x = _edge_parameter((nodes + 1) * pi / 2)
    gaps = [complex(weights @ (0.5 / (x - z))) / stated(z, 1.0) - 1 for z in (0.3 + 0.2j, -0.5, 1.2)]
    gaps += [
        -free.generating_function(1 / z, rho=r) / z / stated(z, r) - 1 for r in (0.6, 2.0) for z in (1.6, 2j)
    ]
    return compared(
        off("-rho/(z (rho + W0(a/z))) at 7 points, rho = 0.6, 1, 2", np.abs(gaps).max(), 1e-7),
        *on_matrices({"alpha": stated(routes.X, 0.6).real}, rho=0.6),
    )


def c19() -> Evidence:
    """The printed formula against the slope of the distribution function, at four points."""
    ratios, real, h = [], False, 1e-5
    for rho, x in ((1.0, 0.3), (1.0, 0.9), (0.5, 0.3), (2.0, 0.2)):
        w0, w1 = (complex(lambert(1 / mpmath.mpf(x), rho, branch)) for branch in (0, -1))
        printed = (rho / (x * (rho + w0)) - rho / (x * (rho + w1))) / (2j * pi)
        law = free.SquaredSingularValues(rho=rho)
        slope = (law.cdf(x + h) - law.cdf(x - h)) / (2 * h)
        require(abs(law.pdf(x) / slope - 1) < 1e-6, "the density is the slope of the CDF")
        require(abs(w0 - w1.conjugate()) < 1e-12, "the two branches are conjugate on the support")
        real |= abs(w0.imag) < 1e-6
        ratios.append(printed.real / slope)
    require(max(abs(r + 1) for r in ratios) < 1e-5, "the printed formula is minus the density")
    return compared(
        true("W real on the support", real), near("printed formula over the density", ratios[0], 1, 0.01)
    )


def c20() -> Evidence:
    """Differences of the printed function against the distribution function."""
    differences, repaired = [], []
    for rho in (0.5, 1.0, 2.0):
        law = free.SquaredSingularValues(rho=rho)

        def printed(x, rho=rho):
            w = complex(lambert(1 / mpmath.mpf(x), rho))
            return -np.log(w) - (rho - 1) * np.log(w + rho)

        differences.append(abs(printed(0.5) - printed(0.2) - law.cdf(0.5) + law.cdf(0.2)))
        repaired += [abs(-printed(x).imag / pi - law.cdf(x)) for x in (0.02, 0.2, 0.5)]
    require(max(repaired) < 1e-9, "F = -Im(printed)/pi without a constant")
    return compared(off("F(0.5) - F(0.2) at best, whatever C", min(differences), 1e-3))


def c21(*, left: float = 2.0, draws: int = 16) -> Evidence:
    """Squared singular values of 16 epochs at d = 200: the share below the printed edge, the smallest, the largest."""
    rows = []
    for rho in (0.5, 1.0):
        law, top, found = free.SquaredSingularValues(rho=rho), rho * math.exp(1 - rho), []
        for k in range(draws):
            U = unit_rows(round(200 * rho), 200, np.random.default_rng([121, k]))
            squares = np.sort(np.linalg.svd(epoch(U), compute_uv=False) ** 2)
            require(np.abs(squares[len(U) :] - 1).max(initial=0) < 1e-9, "an atom of mass 1 - rho at 1")
            require(squares[0] < 1e-6, "values down to 0")
            found.append([(squares < math.exp(-left * rho)).sum() / 200, squares[len(U) - 1] / top])
        share, largest = np.mean(found, axis=0)
        require(abs(law.cdf(math.exp(-left * rho)) - share) < 0.01, "the share below the printed edge")
        require(abs(largest - 1) < 0.04, "a largest value of rho exp(1 - rho)")
        require(close(law.support, (0.0, top), 1e-12), "the library's support")
        rows.append(off(f"share below exp(-{left:g} rho) at rho = {rho:g}", share, 0.005))
    require(round(share, 2) == 0.43, "43 % of the law at rho = 1")
    return compared(*rows)
