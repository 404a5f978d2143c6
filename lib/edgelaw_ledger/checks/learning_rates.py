"""Group F: Appendix F, learning rates, one check per claim."""

import functools
import itertools
import math

import mpmath
import numpy as np
import scipy.special

from edgelaw import kaczmarz
from edgelaw.theory import BY_ORDER, flip_flop, free, single_shuffle
from edgelaw_ledger import routes
from edgelaw_ledger.evidence import Evidence, decide, number
from edgelaw_ledger.routes import close, require

STEPS = (0.4, 1.0, 1.7)
CASES = ((0.4, 1.0), (1.0, 0.6), (1.6, 1.0), (1.3, 2.0))  # step, rho


def f1(*, bound: float = 1.0, upper: float = 2.0, seed: int = 1) -> Evidence:
    """Spectral norms of single updates and of whole epochs on random rows over the steps, and just outside of
    them."""
    rng = np.random.default_rng(seed)
    inside, outside = [], []
    for k in range(1, 40):
        u = routes.unit_rows(1, 6, rng)[0]
        inside.append(np.linalg.norm(np.eye(6) - upper * k / 40 * np.outer(u, u), 2))
        inside.append(np.linalg.norm(routes.epoch(routes.unit_rows(9, 6, rng), upper * k / 40), 2))
        outside.append(np.linalg.norm(np.eye(6) - (upper + 0.001 * k) * np.outer(u, u), 2))
    inside.append(np.linalg.norm(np.eye(6) - 0.9999 * upper * np.outer(u, u), 2))
    return decide(
        bool(max(inside) <= bound + 1e-12 and max(inside) > bound - 1e-3 and min(outside) > 1),
        measured=f"norms up to {max(inside):.12f} inside, {max(outside):.3f} just beyond",
        claimed=f"at most {bound:g} for eta in (0, {upper:g})",
        tolerance="1e-12, and attained",
    )


@functools.cache
def _moments_agree(count=(1, 3, 7)):
    """Whether the library's trace moments are those of Lagrange's formula."""
    return all(
        close(routes.lagrange_moment(n, s, r), free.trace_moment(n, s, r), 1e-10)
        for s, r in CASES
        for n in count
    )


def f2(*, one: float = 1.0, half: float = 0.5, at_one: float = 2.0) -> Evidence:
    """Exact trace moments extrapolated in n at three steps; the moments by Taylor coefficients in mpmath."""
    limit = routes.constant(free.trace_moment, 0.5, 1.0)
    evidence = routes.constant_evidence(
        free.trace_moment,
        0.5,
        lambda s: math.sqrt((one - half * s) / s / math.pi),
        STEPS,
        _moments_agree(),
        "sqrt(a/pi)",
    )
    if not close(limit, 1 / math.sqrt(at_one * math.pi), 1e-3):
        return number(limit, 1 / math.sqrt(at_one * math.pi), 1e-3, what="limit at step 1")
    return evidence


def f3(*, seed: int = 3) -> Evidence:
    """Traces of resolvents before and after one update of a random matrix, at real and complex points."""
    rng = np.random.default_rng(seed)
    worst = 0.0
    for step, lam in ((0.3, 1.7), (1.0, -1.4), (1.6, 1.1 + 0.7j), (1.9, 0.4j)):
        U = routes.unit_rows(10, 9, rng)
        A, u = routes.epoch(U[:9], step), U[9]
        R = np.linalg.inv(A - lam * np.eye(9))
        after = np.linalg.inv(A - step * np.outer(u, u @ A) - lam * np.eye(9))
        one, two = u @ R @ u, u @ R @ R @ u
        worst = max(
            worst,
            abs(np.trace(after) - np.trace(R) - step * (one + lam * two) / (1 - step - step * lam * one)),
        )
    return decide(
        bool(worst < 1e-10),
        measured=f"largest difference {worst:.0e}",
        claimed="(eta u'Ru + eta lam u'R^2u)/(1 - eta - eta lam u'Ru)",
        tolerance="1e-10",
    )


def _resolvent(rho, lam, step):
    """s(rho, lam) from the library's moments, lam > 1."""
    n = np.arange(300)
    return -float((free.trace_moment(n, step, rho) / lam ** (n + 1.0)).sum())


def f4(*, seed: int = 4) -> Evidence:
    """Finite differences of the resolvent summed from exact moments, which random matrices confirm."""
    rng, lam, e, worst = np.random.default_rng(seed), 1.5, 1e-4, 0.0
    for step, rho in CASES:
        s = _resolvent(rho, lam, step)
        by_rho = (_resolvent(rho + e, lam, step) - _resolvent(rho - e, lam, step)) / (2 * e)
        by_lam = (_resolvent(rho, lam + e, step) - _resolvent(rho, lam - e, step)) / (2 * e)
        worst = max(worst, abs(by_rho * (1 - step - step * lam * s) / (step * s + step * lam * by_lam) - 1))
        A = kaczmarz.epoch_matrix(routes.unit_rows(round(300 * rho), 300, rng), step)
        require(close(np.trace(np.linalg.inv(A - lam * np.eye(300))) / 300, s, 0.02), "a random matrix")
    require(_moments_agree((1, 4)), "the moments")
    require(close(_resolvent(1e-12, lam, 1.0), 1 / (1 - lam), 1e-9), "the start 1/(1 - lam)")
    return decide(
        worst < 1e-5,
        measured=f"left over right side - 1: {worst:.0e}",
        claimed="ds/drho = (eta s + eta lam ds/dlam)/(1 - eta - eta lam s), s = 1/(1-lam) at 0",
        tolerance="1e-5",
    )


def f5(*, seed: int = 5) -> Evidence:
    """The implicit equation on the resolvent summed from exact moments, and on random matrices."""
    rng, worst, drawn = np.random.default_rng(seed), 0.0, 0.0
    for step, rho in CASES:
        for lam in (1.3, 2.5):
            C = lam * _resolvent(rho, lam, step)
            worst = max(worst, abs(C / (1 + C) * math.exp(-step * rho / (1 - step - step * C)) / lam - 1))
        A = kaczmarz.epoch_matrix(routes.unit_rows(round(300 * rho), 300, rng), step)
        C = 1.6 * np.trace(np.linalg.inv(A - 1.6 * np.eye(300))) / 300
        drawn = max(drawn, abs(C / (1 + C) * math.exp(-step * rho / (1 - step - step * C)) / 1.6 - 1))
    return decide(
        bool(worst < 1e-10 and drawn < 0.05),
        measured=f"off by {worst:.0e}, on matrices of size 300 by {drawn:.3f}",
        claimed="lam = C/(1+C) exp(-eta rho/(1 - eta - eta C)), C = lam s",
        tolerance="1e-10; 5 % for matrices",
    )


def f6(*, seed: int = 6) -> Evidence:
    """Taylor coefficients by mpmath against the library's moments, and traces of powers of random matrices."""
    worst = max(
        abs(routes.lagrange_moment(n, s, r) / free.trace_moment(n, s, r) - 1)
        for s, r in CASES
        for n in (1, 2, 5, 12)
    )
    rng, traces = np.random.default_rng(seed), []
    for _ in range(40):
        A = kaczmarz.epoch_matrix(routes.unit_rows(120, 120, rng), 0.8)
        traces.append(np.trace(np.linalg.matrix_power(A, 3)) / 120)
    error = np.std(traces) / math.sqrt(40)
    stated = routes.lagrange_moment(3, 0.8, 1.0)
    require(
        error < 0.005 * stated and abs(np.mean(traces) - stated) < 4 * error + stated / 60, "random matrices"
    )
    return decide(
        bool(worst < 1e-9),
        measured=f"off by {worst:.0e} at n = 1, 2, 5, 12; 40 matrices: {np.mean(traces):.4f} for {stated:.4f}",
        claimed="m_n = (1/n)[h^(n-1)] (1+h)^n exp(-n eta rho/(1+eta h))",
        tolerance="1e-9",
    )


def _first_three(step, rho, c):
    e, k = math.exp(-step * rho), step**2 * rho
    return [e, e**2 * (1 + c[0] * k), e**3 * (1 + c[1] * k - c[2] * step * k + c[3] * k**2)]


def f7(*, second: float = 1.0, third: float = 3.0, cubic: float = 1.0, square: float = 1.5) -> Evidence:
    """The printed polynomials against Taylor coefficients in mpmath and against the library."""
    worst = 0.0
    for s, r in CASES:
        stated = _first_three(s, r, (second, third, cubic, square))
        exact = [routes.lagrange_moment(n, s, r) for n in (1, 2, 3)]
        require(close(free.trace_moment([1, 2, 3], s, r), exact, 1e-10), "the library")
        worst = max(worst, *(abs(a / b - 1) for a, b in zip(stated, exact, strict=True)))
    return decide(
        worst < 1e-9,
        measured=f"off by {worst:.0e}",
        claimed="m_1, m_2, m_3 as printed",
        tolerance="1e-9",
    )


def f8(*, one: float = 1.0, half: float = 0.5) -> Evidence:
    """The implicit equation at large u by mpmath, and the size of the moment series near z = 1."""
    worst = 0.0
    with mpmath.workdps(40):
        for s in (0.3, 1.0, 1.8):
            u, a = mpmath.mpf(10) ** 8, (one - half * s) / s
            z = (1 - 1 / u) * mpmath.exp(s / (1 - s + s * u))
            worst = max(worst, abs(float((1 - z) * u**2) / a - 1))
            M = free.generating_function(1 - 1e-9, s).real
            require(close(M * math.sqrt(1e-9), math.sqrt((1 - s / 2) / s), 1e-3), "M ~ sqrt(a/(1-z))")
    return decide(
        worst < 1e-5,
        measured=f"(1 - Psi) u^2 over a: off by {worst:.0e} at u = 1e8",
        claimed="Psi = 1 - a/u^2 + O(u^-3), a = (1 - eta/2)/eta",
        tolerance="1e-5",
    )


def _slope(n, step, rho):
    q = 1 - step
    L = scipy.special.eval_genlaguerre(n - 1, 1, -n * step**2 * rho / q)
    return -rho * math.exp(-n * step * rho) * q ** (n - 1) * L


def f9() -> Evidence:
    """Exact trace moments in closed form, by mpmath and by the library, rising with the step below the
    threshold in rho."""
    rises = []
    for n, rho in ((2, 0.15), (3, 0.2), (6, 0.4)):
        values = [routes.lagrange_moment(n, s, rho) for s in (1.7, 1.99)]
        require(
            close(
                values,
                free.trace_moment(n, 1.7, rho)
                * np.array([1, free.trace_moment(n, 1.99, rho) / free.trace_moment(n, 1.7, rho)]),
                1e-9,
            ),
            "the library",
        )
        rises.append(values[1] / values[0])
    for n in (2, 3, 5, 12):
        threshold = scipy.special.roots_genlaguerre(n - 1, 1)[0].max() / (4 * n)
        grid = [s for s in np.linspace(0.01, 1.999, 400) if abs(s - 1) > 1e-3]
        falls = [all(_slope(n, s, r) < 0 for s in grid) for r in (0.98 * threshold, 1.02 * threshold, 1.0)]
        require(falls == [False, True, True], "the threshold in rho")
    lower = (free.trace_moment(4, 0.7001, 0.1) - free.trace_moment(4, 0.6999, 0.1)) / 2e-4
    require(close(lower, _slope(4, 0.7, 0.1), 1e-5) and lower < 0, "the derivative")
    return decide(
        max(rises) < 1,
        measured=f"m_n(1.99)/m_n(1.7) = {', '.join(f'{r:.3f}' for r in rises)} at (n, rho) = (2, 0.15), (3, 0.2), "
        "(6, 0.4)",
        claimed="strictly decreasing on (0, 2) for every n and rho",
        tolerance="1e-9; it is so iff rho >= x_n/4n, checked at 2 %",
    )


def f10() -> Evidence:
    """The coefficient of the printed derivative by mpmath at points where the function is positive."""
    coefficients, expected = [], []
    with mpmath.workdps(30):
        for n, step, rho in ((2, 1.9, 0.1), (3, 1.8, 0.25), (2, 0.8, 0.1)):

            def f(h, n=n, step=step, rho=rho):
                return (1 + h) ** n / (1 + step * h) ** 2 * mpmath.exp(-n * step * rho / (1 + step * h))

            require(min(f(mpmath.mpf(x) / 100) for x in range(0, 500, 10)) > 0, "a positive function")
            coefficients.append(float(mpmath.taylor(f, 0, n - 1)[n - 1]))
            expected.append(-_slope(n, step, rho) / rho)
    require(close(coefficients, expected, 1e-9), "the Laguerre polynomial")
    return decide(
        min(coefficients) > 0,
        measured=f"coefficients {', '.join(f'{x:.4f}' for x in coefficients)} of positive functions",
        claimed="positive, since the function is",
        tolerance="sign; the Laguerre form agrees to 1e-9",
    )


def _matrices(step, rho, rng, size=400, x=1.3, y=-1.6):
    A = kaczmarz.epoch_matrix(routes.unit_rows(round(rho * size), size, rng), step)
    R, S = np.linalg.inv(A - x * np.eye(size)), np.linalg.inv(A.T - y * np.eye(size))
    return x * np.trace(R) / size, y * np.trace(S) / size, x * y * (R * S.T).sum() / size


def f11(*, seed: int = 11) -> Evidence:
    """One update of large random matrices along both characteristics against kappa F + gamma F^2; the solution
    on matrices."""
    rng, size, ratios = np.random.default_rng(seed), 600, []
    for step, rho in ((0.5, 0.7), (1.0, 1.0), (1.5, 0.6)):
        x, y, count = 1.4, -1.7, 24
        rows = routes.unit_rows(round(rho * size) + count, size, rng)
        A = kaczmarz.epoch_matrix(rows[:-count], step)
        values, a, b = [], 0.0, 0.0
        for after in (False, True):  # `count` updates apart
            if after:
                A = kaczmarz.epoch_matrix(rows[-count:], step) @ A
                x *= math.exp(-step * count / size / (1 - step - step * a))
                y *= math.exp(-step * count / size / (1 - step - step * b))
            R, S = np.linalg.inv(A - x * np.eye(size)), np.linalg.inv(A.T - y * np.eye(size))
            a, b = x * np.trace(R) / size, y * np.trace(S) / size
            values.append((x * y * (R * S.T).sum() / size, a, b))
        (F0, a, b), (F1, *_) = values
        middle = (F0 + F1) / 2
        rate = step**2 * ((1 + a + b) * middle + middle**2) / ((1 - step - step * a) * (1 - step - step * b))
        ratios.append((F1 - F0) / (count / size) / rate)
    exact = []
    for s, r in CASES:
        alpha, beta, F = _matrices(s, r, rng)
        exact.append(abs(F / routes.two_resolvents(alpha, beta, s, r) - 1))
    loss = max(
        abs(routes.single_shuffle_loss(n, s) / single_shuffle.test_loss(n, s) - 1)
        for n in (1, 3)
        for s in (0.5, 1.5)
    )
    return decide(
        bool(max(abs(r - 1) for r in ratios) < 0.1 and max(exact) < 0.03 and loss < 1e-8),
        measured=f"dF/drho over kappa F + gamma F^2: {min(ratios):.3f} to {max(ratios):.3f} on matrices; losses "
        "from its solution "
        f"off by {loss:.0e}",
        claimed="dF/drho = kappa F + gamma F^2",
        tolerance="10 % for one matrix of size 600; 1e-8 for the losses",
    )


def f12() -> Evidence:
    """The closed form against a Runge-Kutta solution by mpmath of the equation, and the losses it implies."""
    worst = 0.0
    with mpmath.workdps(20):
        for s, a, b, rho in ((0.5, -1.6, -1.3, 1.0), (1.3, -1.2, -1.5, 0.7), (1.0, -1.4, -2.0, 1.5)):
            delta = (1 - s - s * a) * (1 - s - s * b)
            kappa, gamma = s * s * (1 + a + b) / delta, s * s / delta
            F, steps = mpmath.mpf(a * b), 400
            h = mpmath.mpf(rho) / steps
            for _ in range(steps):
                k1 = kappa * F + gamma * F**2
                k2 = kappa * (F + h * k1 / 2) + gamma * (F + h * k1 / 2) ** 2
                k3 = kappa * (F + h * k2 / 2) + gamma * (F + h * k2 / 2) ** 2
                k4 = kappa * (F + h * k3) + gamma * (F + h * k3) ** 2
                F += h * (k1 + 2 * k2 + 2 * k3 + k4) / 6
            worst = max(worst, abs(float(F) / routes.two_resolvents(a, b, s, rho) - 1))
    loss = max(
        abs(routes.single_shuffle_loss(2, s, r) / single_shuffle.test_loss(2, s, r) - 1) for s, r in CASES
    )
    return decide(
        worst < 1e-8 and loss < 1e-8,
        measured=f"off by {worst:.0e} from the integrated equation; its losses by {loss:.0e}",
        claimed="F = kappa ab e^(kappa rho)/(kappa + gamma ab (1 - e^(kappa rho)))",
        tolerance="1e-8",
    )


def f13(*, seed: int = 13) -> Evidence:
    """Both characteristic equations on random matrices of two sizes, and exactly through the trace moments."""
    rng, gaps = np.random.default_rng(seed), []
    for size in (150, 600):
        worst = 0.0
        for step, rho in CASES:
            a, b, _ = _matrices(step, rho, rng, size)
            for c, z in ((a, 1.3), (b, -1.6)):
                worst = max(worst, abs(c / (1 + c) * math.exp(-step * rho / (1 - step - step * c)) / z - 1))
        gaps.append(worst)
    exact = 0.0
    for step, rho in CASES:
        c = 1.4 * _resolvent(rho, 1.4, step)
        exact = max(exact, abs(c / (1 + c) * math.exp(-step * rho / (1 - step - step * c)) / 1.4 - 1))
    require(gaps[1] < 0.03 and gaps[1] < gaps[0], "matrices")
    return decide(
        exact < 1e-10,
        measured=f"off by {gaps[0]:.3f} and {gaps[1]:.3f} on matrices of size 150 and 600, by {exact:.0e} in the "
        "limit",
        claimed="x = alpha/(1+alpha) exp(-eta rho/Delta_x), the same for y",
        tolerance="1e-10; 3 % for matrices",
    )


def f14() -> Evidence:
    """The printed coefficient at alpha = beta = 0 and at the true base point, against losses and against A^-1
    on matrices."""

    def at_zero(step, rho=1.0):
        def psi(a):
            return (1 + a) * np.exp(step * rho / (1 - step - step * a))

        return routes.double_coefficient(
            lambda a, b: routes.two_resolvents(a, b, step, rho) * psi(a) * psi(b), 1, 0.05
        )

    def shifted(n, step, rho=1.0):
        def phi(h):
            return (1 + h) * np.exp(-step * rho / (1 + step * h))

        return routes.double_coefficient(
            lambda h, k: routes.two_resolvents(-1 - h, -1 - k, step, rho) * (phi(h) * phi(k)) ** n, n, 0.1
        )

    printed = [at_zero(0.5), shifted(1, 0.5), shifted(2, 0.5)]
    exact = [single_shuffle.test_loss(n, 0.5) for n in (1, 1, 2)]
    require(
        all(routes.single_shuffle_agrees(n, s) for n in (1, 2, 3) for s in (0.5, 1.0, 1.5)),
        "the mended formula, step 1 included",
    )
    require(close(at_zero(0.3), math.exp(0.7**-2 - 1), 1e-6), "the mean square of the inverse")
    rng = np.random.default_rng(14)
    inverse = [
        (np.linalg.inv(routes.epoch(routes.unit_rows(60, 60, rng), 0.3)) ** 2).sum() / 60 for _ in range(60)
    ]
    error = np.std(inverse) / math.sqrt(60)
    require(abs(np.mean(inverse) - math.exp(0.7**-2 - 1)) < 4 * error + 0.05, "A^-1 on random matrices")
    return decide(
        close(printed, exact, 0.01),
        measured=f"printed {printed[0]:.1f} at 0, {printed[1]:.3f} at the base point, loss {exact[0]:.3f} (n = 1)",
        claimed="c_n = (1/n^2)[a^(n-1) b^(n-1)] d_a d_b (F Psi^n Psi^n), eta != 1",
        tolerance="1 %; the mended formula agrees to 1e-9",
    )


def f15(*, offset: float = 0.5, scale: float = 2.0) -> Evidence:
    """Exact losses extrapolated in n at three steps; the losses by a double coefficient formula and on random
    matrices."""
    second = all(routes.single_shuffle_agrees(n, s) for n in (1, 2, 3) for s in STEPS)
    second = second and routes.within(
        *routes.drawn(1.0, 8)["single_shuffle", "test"], single_shuffle.test_loss(8), 0.005
    )
    return routes.constant_evidence(
        single_shuffle.test_loss,
        0.5,
        lambda s: math.sqrt((1 / s - offset) / (scale * math.pi)),
        STEPS,
        second,
        "sqrt((1/eta-1/2)/2pi)",
    )


def f16(*, zero: float = 1.0, rate: float = 2.0) -> Evidence:
    """The printed first losses against the double coefficient formula, the library and random matrices."""
    worst = abs(single_shuffle.test_loss(0, 1.3) / zero - 1)
    for s, r in CASES:
        stated, exact = math.exp(-(rate - s) * s * r), routes.single_shuffle_loss(1, s, r)
        require(routes.single_shuffle_agrees(1, s, r), "the library")
        worst = max(worst, abs(exact / stated - 1))
    sample = routes.drawn(1.6, 1, designs=(100, 50))["single_shuffle", "test"]
    require(routes.within(*sample, math.exp(-0.64), 0.005), "random matrices")
    return decide(
        bool(worst < 1e-8),
        measured=f"off by {worst:.0e}",
        claimed="c_0 = 1, c_1 = exp(-(2-eta) eta rho)",
        tolerance="1e-8",
    )


def f17(*, four: float = 4.0, two: float = 2.0, growth: float = 1.0) -> Evidence:
    """The printed second loss against the double coefficient formula, the library and random matrices."""
    worst = 0.0
    for s, r in CASES:
        k, front = s**2 * r, math.exp(-(four - s) * s * r)
        stated = front * math.exp(growth * k) + front * (two - s) ** 2 * k * (1 + k)
        exact = routes.single_shuffle_loss(2, s, r)
        require(routes.single_shuffle_agrees(2, s, r), "the library")
        worst = max(worst, abs(exact / stated - 1))
    sample = routes.drawn(1.6, 2, designs=(100, 50))["single_shuffle", "test"]
    require(routes.within(*sample, single_shuffle.test_loss(2, 1.6), 0.006), "random matrices")
    return decide(
        worst < 1e-8,
        measured=f"off by {worst:.0e} at four steps and aspects",
        claimed="c_2 as printed",
        tolerance="1e-8",
    )


def f18() -> Evidence:
    """Slopes of the exact loss at step 1 for every n up to 150 and for large n, and the first ones in closed form."""
    n = np.concatenate([np.arange(1, 151), [10**3, 10**4, 10**6]])
    slopes = np.log(single_shuffle.test_loss(n, 1.001) / single_shuffle.test_loss(n, 0.999)) / 0.002

    def c2(s):
        return mpmath.exp(-(4 - s) * s) * (mpmath.exp(s * s) + (2 - s) ** 2 * s * s * (1 + s * s))

    closed = float(mpmath.diff(c2, 1) / c2(1))
    require(close(slopes[1], closed, 1e-3) and abs(slopes[0]) < 1e-6, "n = 1 and 2 in closed form")
    require(
        all(
            close(routes.single_shuffle_loss(k, 1.05), single_shuffle.test_loss(k, 1.05), 1e-8)
            for k in (2, 3)
        ),
        "losses",
    )
    return decide(
        bool(slopes[1:].max() < -0.1),
        measured=f"slope of log c_n at step 1: 0 at n = 1, {slopes[1]:.3f} at 2, at most {slopes[1:].max():.3f} "
        "for n >= 2",
        claimed="the best step is not 1 for n >= 2",
        tolerance="slope below -0.1",
    )


def f22(*, two: float = 2.0, seed: int = 22) -> Evidence:
    """The square of random updates against the rank-one form, and the range of tau."""
    rng, worst, taus = np.random.default_rng(seed), 0.0, []
    for step in np.linspace(0.01, 1.99, 100):
        u = routes.unit_rows(1, 5, rng)[0]
        P, tau = np.eye(5) - step * np.outer(u, u), step * (two - step)
        worst = max(worst, np.abs(P @ P - np.eye(5) + tau * np.outer(u, u)).max())
        taus.append(tau)
    return decide(
        bool(worst < 1e-14 and 0 < min(taus) and max(taus) <= 1),
        measured=f"off by {worst:.0e}, tau from {min(taus):.3f} to {max(taus):.4f}",
        claimed="(I - eta uu')^2 = I - tau uu', tau in (0, 1]",
        tolerance="1e-14",
    )


def f23(*, offset: float = 0.5, scale: float = 1.0, at_one: float = 2.0) -> Evidence:
    """Exact losses extrapolated in n at three steps; the losses by Taylor coefficients in mpmath and on random
    matrices."""
    second = all(
        close(routes.lagrange_moment(n, s * (2 - s), 1), flip_flop.test_loss(n, s), 1e-10)
        for n in (1, 4)
        for s in STEPS
    )
    second = second and routes.within(
        *routes.drawn(1.0, 8)["flip_flop", "test"], flip_flop.test_loss(8), 0.006
    )
    limit = routes.constant(flip_flop.test_loss, 0.5, 1.0)
    if not close(limit, 1 / math.sqrt(at_one * math.pi), 1e-3):
        return number(limit, 1 / math.sqrt(at_one * math.pi), 1e-3, what="limit at step 1")
    return routes.constant_evidence(
        flip_flop.test_loss,
        0.5,
        lambda s: math.sqrt((1 / (s * (2 - s)) - offset) / (scale * math.pi)),
        STEPS,
        second,
        "sqrt((1/tau-1/2)/pi)",
    )


def f24(*, seed: int = 24) -> Evidence:
    """Finite differences of y summed from exact losses, its implicit equation, and y on random matrices."""

    def y_of(rho, lam, tau):
        n = np.arange(1, 300)
        return -float((flip_flop.test_loss(n, 1 - math.sqrt(1 - tau), rho) / lam**n).sum())

    rng, e, worst, implicit = np.random.default_rng(seed), 1e-4, 0.0, 0.0
    for tau, rho in ((0.36, 1.0), (0.75, 0.6), (1.0, 1.5)):
        lam = 1.5
        y = y_of(rho, lam, tau)
        by_rho = (y_of(rho + e, lam, tau) - y_of(rho - e, lam, tau)) / (2 * e)
        by_lam = (y_of(rho, lam + e, tau) - y_of(rho, lam - e, tau)) / (2 * e)
        worst = max(worst, abs(by_rho * (1 - tau * y) / (tau * lam * by_lam) - 1))
        implicit = max(implicit, abs((1 - 1 / y) * math.exp(-tau * rho / (1 - tau * y)) / lam - 1))
        A = kaczmarz.epoch_matrix(routes.unit_rows(round(300 * rho), 300, rng), 1 - math.sqrt(1 - tau))
        drawn = 1 + lam * np.trace(np.linalg.inv(A.T @ A - lam * np.eye(300))) / 300
        require(close(drawn, y, 0.03), "a random matrix")
    return decide(
        bool(worst < 1e-5 and implicit < 1e-10),
        measured=f"equation off by {worst:.0e}, its implicit solution by {implicit:.0e}",
        claimed="dy/drho = tau lam/(1 - tau y) dy/dlam, lam = (1 - 1/y) exp(-tau rho/(1 - tau y))",
        tolerance="1e-5 and 1e-10",
    )


def _boxed(n, tau, rho):
    """The printed formula with its sign, by mpmath."""
    with mpmath.workdps(40):
        f = mpmath.taylor(
            lambda u: (1 - u) ** n * mpmath.exp(-n * tau * mpmath.mpf(rho) / (1 - tau * u)), 0, n - 1
        )
        return float((-1) ** (n + 1) * f[n - 1] / n)


def f25() -> Evidence:
    """The boxed formula by Taylor coefficients in mpmath against the library's losses and traces of random
    matrices."""
    worst = max(
        abs(_boxed(n, mpmath.mpf(s * (2 - s)), r) / flip_flop.test_loss(n, s, r) - 1)
        for s, r in CASES
        for n in range(1, 8)
    )
    require(
        routes.within(*routes.drawn(1.0, 8)["flip_flop", "test"], _boxed(8, 1, 1), 0.006), "random matrices"
    )
    return decide(
        bool(worst < 1e-9),
        measured=f"off by {worst:.0e}, n = 1 to 7",
        claimed="((-1)^(n+1)/n)[u^(n-1)] (1-u)^n exp(-n tau rho/(1 - tau u))",
        tolerance="1e-9",
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
    """The printed polynomials and values against the library, Taylor coefficients in mpmath and n^n/(e^n n!)."""
    worst = 0.0
    for s, r in CASES:
        tau = s * (2 - s)
        stated = _first_three(tau, r, (second, third, cubic, square))
        exact = [_boxed(n, mpmath.mpf(tau), r) for n in (1, 2, 3)]
        require(close(flip_flop.test_loss([1, 2, 3], s, r), exact, 1e-10), "the library")
        worst = max(worst, *(abs(a / b - 1) for a, b in zip(stated, exact, strict=True)))
    values = [math.exp(-1), two * math.exp(-2), nine * math.exp(-3)]
    stirling = [float(mpmath.mpf(n) ** n * mpmath.exp(-n) / mpmath.factorial(n)) for n in (1, 2, 3)]
    worst = max(worst, *(abs(a / b - 1) for a, b in zip(values, stirling, strict=True)))
    require(close(flip_flop.test_loss([1, 2, 3]), stirling, 1e-12), "n^n/(e^n n!)")
    return decide(
        worst < 1e-9,
        measured=f"off by {worst:.0e}",
        claimed="b_1, b_2, b_3 and e^-1, 2e^-2, 4.5e^-3",
        tolerance="1e-9",
    )


def f27(*, half: float = 0.5, one: float = 1.0) -> Evidence:
    """The implicit solution at rho = 1 by mpmath at small t, where t = 1/y, against the printed coefficient."""
    worst, odd = 0.0, 0.0
    with mpmath.workdps(40):
        for tau in (0.3, 0.75, 1.0):
            t = mpmath.mpf(10) ** -10
            for sign in (1, -1):
                y = sign / t
                z = 1 / ((1 - 1 / y) * mpmath.exp(-tau / (1 - tau * y)))
                worst = max(worst, abs(float((z - 1) / t**2) / (half - one / tau) - 1))
                odd = max(odd, abs(float((z - 1) / t)))
    require(odd < 1e-8, "no term of first order")
    return decide(
        worst < 1e-6,
        measured=f"(z - 1)/t^2 off by {worst:.0e} at t = 1e-10",
        claimed="z = 1 + (1/2 - 1/tau) t^2 + O(t^3)",
        tolerance="1e-6",
    )


def f28(*, trace: float = 1.0, single: float = 2.0, flip: float = 1.0, half: float = 0.5) -> Evidence:
    """The three rows of the table against limits extrapolated from exact values at three steps."""
    ratios = []
    for s in STEPS:
        tau = s * (2 - s)
        rows = (
            (free.trace_moment, (1 - half * s) / s / (trace * math.pi)),
            (single_shuffle.test_loss, (1 / s - half) / (single * math.pi)),
            (flip_flop.test_loss, (1 / tau - half) / (flip * math.pi)),
        )
        ratios += [routes.constant(loss, 0.5, s) / math.sqrt(square) for loss, square in rows]
    require(_moments_agree((1, 4)), "trace moments by another route")
    sample = routes.drawn(1.0, 8)
    require(
        routes.within(*sample["single_shuffle", "test"], single_shuffle.test_loss(8), 0.006)
        and routes.within(*sample["flip_flop", "test"], flip_flop.test_loss(8), 0.006),
        "random matrices",
    )
    return decide(
        max(abs(r - 1) for r in ratios) < 1e-3,
        measured=f"limits over the table {min(ratios):.6f} to {max(ratios):.6f}",
        claimed="sqrt(a/pi), sqrt(a/2pi), sqrt(a(tau)/pi)",
        tolerance="relative 1e-3 at three steps",
    )


def f29() -> Evidence:
    """The derivative of a by mpmath on a grid, and limits of exact trace moments that fall with the step."""
    grid = [mpmath.mpf(k) / 100 for k in range(1, 200)]
    steepest = max(float(mpmath.diff(lambda e: (1 - e / 2) / e, x)) for x in grid)
    exact = max(abs(float(mpmath.diff(lambda e: (1 - e / 2) / e, x) * x * x) + 1) for x in grid)
    limits = [routes.constant(free.trace_moment, 0.5, s) for s in (0.2, 0.6, 1.0, 1.4, 1.8)]
    require(exact < 1e-9, "a' = -1/eta^2")
    return decide(
        bool(steepest < 0 and all(b < a for a, b in itertools.pairwise(limits))),
        measured=f"slope at most {steepest:.3f}; limits of sqrt(n) m_n fall from {limits[0]:.3f} to {limits[-1]:.3f}",
        claimed="a(eta) strictly decreasing on (0, 2)",
        tolerance="sign, 199 points",
    )


def f30() -> Evidence:
    """Exact losses of four orders near step 2 over those at smaller steps, on random matrices too, and the
    returns' size."""
    n = np.array([1, 10, 100])
    rises = []
    for module in BY_ORDER.values():
        for loss in (module.test_loss, module.train_loss):
            rises.append(float((loss(n, 1.995) / loss(n, 1.3)).min()))
    sample, better = (routes.drawn(s, 10, (64, 128), (60, 30))["single_shuffle", "test"] for s in (1.95, 1.4))
    require(sample[0] - 4 * sample[1] > better[0] + 4 * better[1], "random matrices: step 1.95 behind 1.4")
    gains = [
        float(mpmath.diff(lambda s: mpmath.log(mpmath.sqrt(1 / s - 0.5)), x)) for x in (1.0, 1.5, 1.9, 1.99)
    ]
    growing = all(b < a for a, b in itertools.pairwise(gains))
    require(growing and close(gains[2], -1 / (1.9 * 0.1), 1e-6), "returns -1/(eta(2-eta))")
    for module, k, around in ((single_shuffle, 2, 1.2), (single_shuffle, 100, 1.75), (flip_flop, 10, 1.0)):
        low, middle, high = (module.test_loss(k, around + e) for e in (-0.1, 0, 0.1))
        require(middle < min(low, high), f"a best step within 0.1 of {around:g} at n = {k}")
    return decide(
        bool(max(rises) < 1),
        measured=f"loss at step 1.995 is at least {min(rises):.1f} times that at 1.3 for all orders, both losses, "
        "n = 1, 10, 100; "
        f"relative return at 1.99 is {gains[3] / gains[0]:.0f} times that at 1",
        claimed="larger steps converge faster, with diminishing returns towards 2",
        tolerance="exact losses",
    )
