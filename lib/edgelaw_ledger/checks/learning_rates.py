"""Group F: Appendix F, learning rates."""

import functools
import math

import mpmath
import numpy as np
import scipy.integrate
import scipy.optimize
import scipy.special

from edgelaw.theory import BY_ORDER, flip_flop, free, single_shuffle
from edgelaw_ledger import routes
from edgelaw_ledger.evidence import Evidence, compared, near, off, true
from edgelaw_ledger.routes import X, Y, close, require

CASES = ((0.4, 1.0), (1.0, 0.6), (1.6, 1.0), (1.3, 2.0))  # step, rho


def _on_matrices(name, exact, cases=CASES):
    """Rows that compare a trace of one epoch with a function of step and ρ."""
    return [row for case in cases for row in routes.on_matrices({name: exact(*case)}, *case)]


@functools.cache
def _resolvent(rho, lam, step):
    """s(rho, lam) from the library's moments, |lam| > 1."""
    n = np.arange(300)
    return -float((free.trace_moment(n, step, rho) / lam ** (n + 1.0)).sum())


@functools.cache
def _moments_agree():
    """Whether the library's trace moments are those of Lagrange's formula."""
    return all(
        close(free.trace_moment(n, s, r), float(routes.moment_at_step(n, s, r)), 1e-10)
        for s, r in CASES
        for n in (1, 3, 7)
    )


def _equation(step, rho):
    """How far the differential equation is from so, by finite differences of the resolvent from exact moments."""
    s, e = _resolvent(rho, X, step), 1e-4
    by_rho = (_resolvent(rho + e, X, step) - _resolvent(rho - e, X, step)) / (2 * e)
    by_lam = (_resolvent(rho, X + e, step) - _resolvent(rho, X - e, step)) / (2 * e)
    return abs(by_rho * (1 - step - step * X * s) / (step * s + step * X * by_lam) - 1)


def _off(stated, exact, library):
    """How far a formula of step and rho is from an exact route, which the library confirms, in the four cases."""
    worst = 0.0
    for case in CASES:
        truth = np.array(exact(*case))
        require(close(library(*case), truth, 1e-9), "the library")
        worst = max(worst, np.abs(stated(*case) / truth - 1).max())
    return worst


def f1(*, bound: float = 1.0, upper: float = 2.0) -> Evidence:
    """Spectral norms of single updates and of whole epochs on random rows over the steps, and just beyond."""
    rng, inside, outside = np.random.default_rng(1), [], []
    for k in (*range(1, 40), 39.996):
        U, step = routes.unit_rows(9, 6, rng), upper * k / 40
        inside += [np.linalg.norm(routes.epoch(rows, step), 2) for rows in (U, U[:1])]
        outside.append(np.linalg.norm(routes.epoch(U[:1], upper + 0.001 * k), 2))
    return compared(
        near("largest norm", float(max(inside)), bound, 1e-12),
        true(f"above 1 for steps above {upper:g}", min(outside) > 1),
    )


def f2(*, one: float = 1.0, half: float = 0.5, at_one: float = 2.0) -> Evidence:
    """Exact trace moments extrapolated in n at five steps, by Lagrange's formula too, and what it leaves."""

    def stated(s):
        return 1 / math.sqrt(at_one * math.pi) if s == 1 else math.sqrt((one - half * s) / s / math.pi)

    n = np.array([10**6, 10**7])
    for s in (0.01, *routes.STEPS[:-1], 1.8, 1.98):
        early, late = n * (free.trace_moment(n, s) * np.sqrt(n * math.pi / (1 / s - 0.5)) - 1)
        require(s > 1.8 or abs(early) < 10, "a correction below 1e-5 at n = 1e6")
        require(close(early, late, 0.4), "of order 1/n")
    return routes.constant_evidence("trace", stated, "sqrt(a/pi)")


def f3() -> Evidence:
    """Traces of resolvents before and after one update of a random matrix, at real and complex points."""
    rng, worst = np.random.default_rng(3), 0.0
    for step, lam in ((0.3, 1.7), (1.0, -1.4), (1.6, 1.1 + 0.7j), (1.9, 0.4j)):
        U = routes.unit_rows(10, 9, rng)
        A, u = routes.epoch(U[:9], step), U[9]
        R = np.linalg.inv(A - lam * np.eye(9))
        after = np.linalg.inv(A - step * np.outer(u, u @ A) - lam * np.eye(9))
        one, two = u @ R @ u, u @ R @ R @ u
        stated = step * (one + lam * two) / (1 - step - step * lam * one)
        worst = max(worst, abs(np.trace(after) - np.trace(R) - stated))
    return compared(off("(eta u'Ru + eta lam u'R^2u)/(1 - eta - eta lam u'Ru), four steps", worst, 1e-10))


def f4() -> Evidence:
    """Finite differences of the resolvent summed from exact moments, which random matrices confirm."""
    first = [2 * _resolvent(1e-3, X, step) - _resolvent(2e-3, X, step) for step, _ in CASES]
    require(_moments_agree(), "the moments")
    return compared(
        off(
            "ds/drho = (eta s + eta lam ds/dlam)/(1 - eta - eta lam s)",
            max(_equation(*c) for c in CASES),
            1e-5,
        ),
        off("s = 1/(1 - lam) as rho tends to 0", max(abs(x * (1 - X) - 1) for x in first), 1e-4),
        *_on_matrices("resolvent of A", lambda step, rho: _resolvent(rho, X, step)),
    )


def f5() -> Evidence:
    """The implicit equation on the resolvent summed from exact moments, which random matrices confirm."""
    pairs = [(x, x * _resolvent(r, x, s), s, r) for x in (1.3, 2.5, X, Y, -1.6) for s, r in CASES]
    gaps = [c / (1 + c) * math.exp(-s * r / (1 - s - s * c)) / x - 1 for x, c, s, r in pairs]
    return compared(
        off("x = C/(1+C) exp(-eta rho/(1 - eta - eta C)), C = x s, at five x", np.abs(gaps).max(), 1e-10),
        *_on_matrices("resolvent of A", lambda step, rho: _resolvent(rho, X, step)),
    )


def _lagrange(n, step, rho, sign=1):
    """Lagrange's formula for the trace moment in the paper's two forms, in h or u = -h, by mpmath."""
    with mpmath.workdps(40):
        t, r = mpmath.mpf(step), mpmath.mpf(rho)
        f = mpmath.taylor(
            lambda h: (1 + sign * h) ** n * mpmath.exp(-n * t * r / (1 + sign * t * h)), 0, n - 1
        )
        return float(sign ** (n + 1) * f[n - 1] / n)


def f6() -> Evidence:
    """Taylor coefficients by mpmath against the library's moments, and traces of powers of random matrices."""
    n = (1, 2, 5, 12)
    worst = _off(
        lambda s, r: [_lagrange(k, s, r) for k in n],
        lambda s, r: [float(routes.moment_at_step(k, s, r)) for k in n],
        lambda s, r: free.trace_moment(n, s, r),
    )
    return compared(
        off("(1/n)[h^(n-1)] (1+h)^n exp(-n eta rho/(1+eta h)), n = 1, 2, 5, 12", worst, 1e-9),
        *_on_matrices("m_3", lambda s, r: _lagrange(3, s, r), CASES[:2]),
    )


def _first_three(step, rho, c):
    e, k = math.exp(-step * rho), step**2 * rho
    return np.array([e, e**2 * (1 + c[0] * k), e**3 * (1 + c[1] * k - c[2] * step * k + c[3] * k**2)])


def f7(*, second: float = 1.0, third: float = 3.0, cubic: float = 1.0, square: float = 1.5) -> Evidence:
    """The printed polynomials against Lagrange's formula in mpmath and against the library."""
    worst = _off(
        lambda s, r: _first_three(s, r, (second, third, cubic, square)),
        lambda s, r: [float(routes.moment_at_step(n, s, r)) for n in (1, 2, 3)],
        lambda s, r: free.trace_moment([1, 2, 3], s, r),
    )
    return compared(off("m_1, m_2, m_3 at four steps and aspects", worst, 1e-9))


def f8(*, one: float = 1.0, half: float = 0.5) -> Evidence:
    """The implicit equation at large u by mpmath, and the size of the moment series near z = 1."""
    worst = series = 0.0
    with mpmath.workdps(40):
        for s in routes.STEPS:
            u, a = mpmath.mpf(10) ** 8, (one - half * s) / s
            z = (1 - 1 / u) * mpmath.exp(s / (1 - s + s * u))
            worst = max(worst, abs((1 - z) * u**2 / a - 1))
            M = free.generating_function(1 - 1e-9, s).real
            series = max(series, abs(M * math.sqrt(1e-9 / a) - 1))
    return compared(
        off("(1 - Psi) u^2 = (1 - eta/2)/eta at u = 1e8, five steps", worst, 1e-5),
        off("M = sqrt(a/(1-z)) at 1 - z = 1e-9", series, 1e-3),
    )


def _slope(n, step, rho):
    q = 1 - step
    L = scipy.special.eval_genlaguerre(n - 1, 1, -n * step**2 * rho / q)
    return -rho * math.exp(-n * step * rho) * q ** (n - 1) * L


def f9() -> Evidence:
    """Exact trace moments rising with the step below the threshold in rho, by mpmath and by the library."""
    rows = []
    for n, rho in ((2, 0.15), (3, 0.2), (6, 0.4)):
        low, high = (float(routes.moment_at_step(n, s, rho)) for s in (1.7, 1.99))
        require(close([free.trace_moment(n, s, rho) for s in (1.7, 1.99)], [low, high], 1e-9), "the library")
        rows.append(near(f"m_n(1.99)/m_n(1.7) or 1, n = {n}, rho = {rho}", max(high / low, 1), 1, 1e-3))
    grid = [s for s in np.linspace(0.01, 1.999, 400) if abs(s - 1) > 1e-3]
    for n in (2, 3, 5, 12):
        threshold = scipy.special.roots_genlaguerre(n - 1, 1)[0].max() / (4 * n)
        falls = [all(_slope(n, s, r) < 0 for s in grid) for r in (0.98 * threshold, 1.02 * threshold, 1.0)]
        require(falls == [False, True, True], "the threshold in rho")
    lower = (free.trace_moment(4, 0.7001, 0.1) - free.trace_moment(4, 0.6999, 0.1)) / 2e-4
    require(close(lower, _slope(4, 0.7, 0.1), 1e-5) and lower < 0, "the derivative")
    return compared(*rows)


def f10() -> Evidence:
    """The coefficient of the printed derivative by mpmath at points where the function is positive."""
    rows = []
    with mpmath.workdps(30):
        for n, step, rho in ((2, 1.9, 0.1), (3, 1.8, 0.25), (2, 0.8, 0.1)):

            def f(h, n=n, step=step, rho=rho):
                return (1 + h) ** n / (1 + step * h) ** 2 * mpmath.exp(-n * step * rho / (1 + step * h))

            require(min(f(mpmath.mpf(x) / 100) for x in range(0, 500, 10)) > 0, "a positive function")
            coefficient = float(mpmath.taylor(f, 0, n - 1)[n - 1])
            require(close(coefficient, -_slope(n, step, rho) / rho, 1e-9), "the Laguerre polynomial")
            rows.append(true(f"coefficient {coefficient:.4f} of a positive function > 0", coefficient > 0))
    return compared(*rows)


def _integrated(step, a, b, rho):
    """F at rho by integrating dF/drho = kappa F + gamma F^2 numerically from alpha beta."""
    delta = (1 - step - step * a) * (1 - step - step * b)
    kappa, gamma = step**2 * (1 + a + b) / delta, step**2 / delta
    path = scipy.integrate.solve_ivp(
        lambda _, F: kappa * F + gamma * F**2, (0, rho), [a * b], method="DOP853", rtol=1e-12, atol=1e-14
    )
    return path.y[0, -1]


@functools.cache
def _losses_agree():
    """Whether the losses that follow from the two resolvents are the library's."""
    return all(
        close(routes.single_shuffle_loss(n, s, r), single_shuffle.test_loss(n, s, r), 1e-9)
        for n in (1, 2, 3)
        for s, r in (*CASES, (0.5, 1.0))
    )


def f11() -> Evidence:
    """The equation, integrated along both characteristics, against two resolvents of random matrices; the losses."""

    def solution(step, rho):
        return _integrated(step, *(z * _resolvent(rho, z, step) for z in (X, Y)), rho) / (X * Y)

    return compared(
        true("dF/drho = kappa F + gamma F^2 gives single shuffle's losses, n = 1, 2, 3", _losses_agree()),
        *_on_matrices("phi", solution),
    )


def f12() -> Evidence:
    """The closed form against a numerical solution of the equation, and the losses it implies."""
    cases = ((0.5, -1.6, -1.3, 1.0), (1.3, -1.2, -1.5, 0.7), (1.0, -1.4, -2.0, 1.5))
    worst = max(abs(_integrated(s, a, b, r) / routes.two_resolvents(a, b, s, r) - 1) for s, a, b, r in cases)
    return compared(
        off("F = kappa ab e^(kappa rho)/(kappa + gamma ab (1 - e^(kappa rho))), three points", worst, 1e-8),
        true("its losses", _losses_agree()),
    )


def _inverse_square(U):
    """|A⁻¹|²/d at step 0.3."""
    return (np.linalg.inv(routes.epoch(U, 0.3)) ** 2).sum() / len(U)


def f14() -> Evidence:
    """The printed coefficient at alpha = beta = 0 and at the true base point, against losses and A^-1 on matrices."""

    def at_zero(step):
        def psi(a):
            return (1 + a) * np.exp(step / (1 - step - step * a))

        return routes.double_coefficient(
            lambda a, b: routes.two_resolvents(a, b, step, 1.0) * psi(a) * psi(b), 1, 0.05
        )

    def shifted(n, step):
        def phi(h):
            return ((1 + h) * np.exp(-step / (1 + step * h))) ** n

        return routes.double_coefficient(
            lambda h, k: routes.two_resolvents(-1 - h, -1 - k, step, 1.0) * phi(h) * phi(k), n, 0.1
        )

    require(_losses_agree(), "the mended formula, step 1 included")
    inverse = math.exp(0.7**-2 - 1)
    require(close(at_zero(0.3), inverse, 1e-6), "the mean square of the inverse")
    sampled = routes.extrapolated(_inverse_square, 40, 200, 14)
    require(routes.within(*sampled, inverse, cap=0.01), "A^-1 on random matrices")
    first, second = single_shuffle.test_loss([1, 2], 0.5)
    return compared(
        near("c_1 at step 1/2, about alpha = beta = 0", at_zero(0.5), first, 0.01),
        near("about the true base point", shifted(1, 0.5), first, 0.01),
        near("c_2 there", shifted(2, 0.5), second, 0.01),
    )


def _loss(n, what, name, stated):
    """Rows for a formula of step and ρ as a test loss of single shuffle after few epochs."""
    worst = _off(
        stated,
        lambda s, r: routes.single_shuffle_loss(n, s, r),
        lambda s, r: single_shuffle.test_loss(n, s, r),
    )
    return [off(f"{what} at four steps and aspects", worst, 1e-8), *_on_matrices(name, stated, CASES[:3])]


def f16(*, zero: float = 1.0, rate: float = 2.0) -> Evidence:
    """The printed first losses against the double coefficient formula, the library and random matrices."""
    return compared(
        near("c_0", single_shuffle.test_loss(0, 1.3), zero, 1e-12),
        *_loss(1, "c_1 = exp(-(2-eta) eta rho)", "b_1", lambda s, r: math.exp(-(rate - s) * s * r)),
    )


def f17(*, four: float = 4.0, two: float = 2.0, growth: float = 1.0) -> Evidence:
    """The printed second loss against the double coefficient formula, the library and random matrices."""

    def stated(s, r):
        k, front = s**2 * r, math.exp(-(four - s) * s * r)
        return front * math.exp(growth * k) + front * (two - s) ** 2 * k * (1 + k)

    return compared(*_loss(2, "c_2", "c_2", stated))


def f18() -> Evidence:
    """Slopes of the exact loss at step 1 for every n up to 150 and for large n, and the first ones in closed form."""
    n = np.concatenate([np.arange(1, 151), [10**3, 10**4, 10**6]])
    slopes = np.log(single_shuffle.test_loss(n, 1.001) / single_shuffle.test_loss(n, 0.999)) / 0.002

    require(abs(slopes[0]) < 1e-6, "one slope of 0, at n = 1")
    require(_losses_agree(), "losses")
    for k, stated in ((2, 1.19), (100, 1.76)):
        best = scipy.optimize.minimize_scalar(
            lambda s, k=k: single_shuffle.test_loss(k, s), bounds=(1, 1.9), method="bounded"
        )
        require(round(best.x, 2) == stated, f"the best step at n = {k}, which is {best.x:.3f}")
    return compared(
        true(
            f"slope of log c_n at step 1 at most {slopes[1:].max():.3f}, n = 2 to 150 and to 1e6",
            slopes[1:].max() < -0.1,
        )
    )


def f22(*, two: float = 2.0) -> Evidence:
    """The square of updates at 100 steps against the rank-one form, and the range of tau."""
    rng, worst, taus = np.random.default_rng(22), 0.0, []
    for step in (*np.linspace(0.01, 1.99, 99), 1.0):
        P, u = routes.epoch(U := routes.unit_rows(1, 5, rng), step), U[0]
        taus.append(step * (two - step))
        worst = max(worst, np.abs(P @ P - np.eye(5) + taus[-1] * np.outer(u, u)).max())
    return compared(
        off("(I - eta uu')^2 = I - tau uu' at 100 steps", worst, 1e-14),
        true("tau in (0, 1]", 0 < min(taus) and max(taus) == 1),
    )


def f23(*, offset: float = 0.5, scale: float = 1.0, at_one: float = 2.0) -> Evidence:
    """Exact losses extrapolated in n at five steps; the losses by Lagrange's formula and on random matrices."""

    def stated(s):
        square = 1 / at_one if s == 1 else (1 / (s * (2 - s)) - offset) / scale
        return math.sqrt(square / math.pi)

    return routes.constant_evidence("flip_flop test", stated, "sqrt((1/tau-1/2)/pi)")


def f24() -> Evidence:
    """The equation of F4 at step tau, which is that of y = 1 + lam s; its implicit solution; random matrices."""
    worst = implicit = 0.0
    for step, rho in CASES:
        tau = step * (2 - step)
        y = 1 + X * _resolvent(rho, X, tau)
        worst = max(worst, _equation(tau, rho))
        implicit = max(implicit, abs((1 - 1 / y) * math.exp(-tau * rho / (1 - tau * y)) / X - 1))
    return compared(
        off("dy/drho = tau lam/(1 - tau y) dy/dlam", worst, 1e-5),
        off("lam = (1 - 1/y) exp(-tau rho/(1 - tau y))", implicit, 1e-10),
        *_on_matrices("alpha", lambda step, rho: _resolvent(rho, X, step * (2 - step))),
    )


def f25() -> Evidence:
    """The boxed formula by Taylor coefficients in mpmath against the library's losses and random matrices."""
    worst = max(
        abs(_lagrange(n, s * (2 - s), r, -1) / flip_flop.test_loss(n, s, r) - 1)
        for s, r in CASES
        for n in range(1, 8)
    )
    return compared(
        off("((-1)^(n+1)/n)[u^(n-1)] (1-u)^n exp(-n tau rho/(1 - tau u)), n = 1 to 7", worst, 1e-9),
        *_on_matrices("b_3", lambda s, r: _lagrange(3, s * (2 - s), r, -1), CASES[:3]),
    )


def f26(
    *,
    second: float = 1.0,
    third: float = 3.0,
    cubic: float = 1.0,
    square: float = 1.5,
    two: float = 2.0,
    nine: float = 4.5,
) -> Evidence:
    """The printed polynomials and values against the library, Lagrange's formula in mpmath and n^n/(e^n n!)."""
    worst = _off(
        lambda s, r: _first_three(s * (2 - s), r, (second, third, cubic, square)),
        lambda s, r: [float(routes.moment_at_step(n, s * (2 - s), r)) for n in (1, 2, 3)],
        lambda s, r: flip_flop.test_loss([1, 2, 3], s, r),
    )
    stated = np.exp([-1, -2, -3]) * [1, two, nine]
    exact = [float(routes.critical_moment(n)) for n in (1, 2, 3)]
    return compared(
        off("b_1, b_2, b_3 at four steps and aspects", worst, 1e-9),
        off("e^-1, 2e^-2, 4.5e^-3 are n^n/(e^n n!)", np.abs(stated / exact - 1).max(), 1e-9),
        off("and the losses at step 1", np.abs(flip_flop.test_loss([1, 2, 3]) / exact - 1).max(), 1e-9),
    )


def f27(*, half: float = 0.5, one: float = 1.0) -> Evidence:
    """The implicit solution at rho = 1 by mpmath at small t of both signs, t = 1/y, against the printed coefficient."""
    worst = odd = 0.0
    with mpmath.workdps(40):
        for tau in (0.05, 0.3, 0.75, 1.0):
            for t in (mpmath.mpf(10) ** -10, -(mpmath.mpf(10) ** -10)):
                z = 1 / ((1 - t) * mpmath.exp(-tau / (1 - tau / t)))
                worst = max(worst, abs((z - 1) / t**2 / (half - one / tau) - 1))
                odd = max(odd, abs((z - 1) / t))
    return compared(off("(z - 1)/t^2 = 1/2 - 1/tau", worst, 1e-6), off("no term of first order", odd, 1e-8))


def f28(*, trace: float = 1.0, single: float = 2.0, flip: float = 1.0, half: float = 0.5) -> Evidence:
    """The three rows of the table against limits extrapolated from exact values at five steps."""
    worst = 0.0
    for name, scale in (("trace", trace), ("single_shuffle test", single), ("flip_flop test", flip)):
        for s in routes.STEPS:
            step = s * (2 - s) if name == "flip_flop test" else s
            worst = max(
                worst, abs(routes.limit(name, s) / math.sqrt((1 / step - half) / (scale * math.pi)) - 1)
            )
    return compared(off("sqrt(a/pi), sqrt(a/2pi), sqrt(a(tau)/pi) at five steps", worst, 1e-3))


def f29() -> Evidence:
    """The derivative of a by mpmath on a grid, and limits of exact trace moments that fall with the step."""
    grid = [mpmath.mpf(k) / 100 for k in range(1, 200)]
    exact = max(abs(float(mpmath.diff(lambda e: (1 - e / 2) / e, x) * x * x) + 1) for x in grid)
    limits = [routes.limit("trace", s) for s in routes.STEPS]
    return compared(
        off("a' = -1/eta^2 at 199 points", exact, 1e-9),
        true("limits of sqrt(n) m_n fall at five steps", bool((np.diff(limits) < 0).all())),
    )


def f30() -> Evidence:
    """Exact losses of four orders near step 2 over those at smaller steps, on matrices too, and the returns' size."""
    n = np.array([1, 10, 100])
    losses = [loss for module in BY_ORDER.values() for loss in (module.test_loss, module.train_loss)]
    rises = [float((loss(n, 1.995) / loss(n, 1.3)).min()) for loss in losses]
    (late, error), (better, its_error) = (
        routes.drawn(s, 10, 40)["single_shuffle", "test"] for s in (1.95, 1.4)
    )
    require(late - 4 * error > better + 4 * its_error, "random matrices: step 1.95 behind 1.4")
    returns = [float(mpmath.diff(lambda s: mpmath.log(1 / s - 0.5) / 2, x)) for x in (1.0, 1.5, 1.9, 1.99)]
    for module, k, around in ((single_shuffle, 2, 1.2), (single_shuffle, 100, 1.75), (flip_flop, 10, 1.0)):
        low, middle, high = (module.test_loss(k, around + e) for e in (-0.1, 0, 0.1))
        require(middle < min(low, high), f"a best step within 0.1 of {around:g} at n = {k}")
    return compared(
        near("loss at step 1.995 over that at 1.3 or 1, four orders", max(1, *rises), 1, 0.01),
        true("returns diminish towards 2", bool((np.diff(np.abs(returns)) < 0).all())),
    )
