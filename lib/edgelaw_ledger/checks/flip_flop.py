r"""Checks of group E: flip-flop at step 1 (the paper's Section 4 and Appendix E).

Two epochs multiply by :math:`B = A^\top A`. Independent of ``edgelaw.theory`` are Taylor coefficients of the
paper's closed forms, its Poisson sums at fifty digits, epochs multiplied out row by row, and for IID sampling the
Laplace transform of its two equations on the Marchenko–Pastur law, inverted numerically.
"""

import math
from fractions import Fraction
from functools import cache
from math import pi, sqrt

import mpmath
import numpy as np

from edgelaw.theory import flip_flop, free, iid, single_shuffle
from edgelaw_ledger import routes
from edgelaw_ledger.evidence import Evidence, below, compared, near, number, off, printed
from edgelaw_ledger.routes import close, epoch, extrapolated, require, samples, stieltjes

RHOS, ORDERS = (0.5, 1.0, 2.3), (*range(1, 10), 40)

# ------------------------------------------------------------------------------------------ independent routes


def _generating(z, rho):
    """The paper's closed form of Σ a_n zⁿ, by mpmath."""
    W, rho = routes.lambert(z, rho), mpmath.mpf(rho)
    return (W**2 + rho * z * (rho**2 + (1 + rho) * W)) / (z * (rho + W) ** 2)


@cache
def _coefficients(rho):
    """The first ten Taylor coefficients a_n of that closed form."""
    return routes.taylor(lambda z: _generating(z, rho), 10)


def _beta_closed(rho, lam):
    """The paper's β = 1 + λα, by mpmath."""
    return 1 + lam * stieltjes(rho, lam)


def _gamma_closed(rho, lam):
    """The paper's γ, by mpmath."""
    C = lam * stieltjes(rho, lam)
    return ((1 + C) ** 2 + (1 + C) * rho) * mpmath.exp(-rho / C) - (1 + C) ** 2


@cache
def _poisson_train(n, rho=1):
    """The paper's Poisson representation of a_n, summed by mpmath at fifty digits."""
    with mpmath.workdps(50):
        rho = mpmath.mpf(rho)
        p, q = mpmath.exp(-rho * n), mpmath.exp(-rho * (n + 1))
        first = second = mpmath.mpf(0)
        for k in range(n):
            first += p * (n - k) * (rho - n + k)
            second += q * (n + 1 - k) * (n - k)
            p *= rho * n / (k + 1)
            q *= rho * (n + 1) / (k + 1)
        return first / n + second / (n + 1)


def _off(stated, orders):
    """How far a formula of n and ρ is from the library's losses, and up to n = 9 from the generating function's."""
    worst = 0.0
    for rho in RHOS:
        for n in orders:
            exact = [rho * flip_flop.train_loss(n, rho=rho), *_coefficients(rho)[n : n + 1]]
            worst = max(worst, *(abs(a / stated(n, rho) - 1) for a in exact))
    return worst


@cache
def _iid_losses(n, step=1.0):
    """Test and training loss of IID sampling at m = d from s′ = −2ηλs + η²λL on Marchenko–Pastur, by Laplace."""
    with mpmath.workdps(20):
        eta = mpmath.mpf(step)

        def transform(p):
            x = p / (2 * eta)
            inverse = (mpmath.sqrt(1 + 4 / x) - 1) / (4 * eta)  # ∫ 1/(p + 2ηλ)
            first = (1 - p * inverse) / (2 * eta)
            return first / (1 - eta**2 * (1 - p * first) / (2 * eta))

        train = mpmath.invertlaplace(transform, n, method="talbot")
        test = mpmath.invertlaplace(lambda p: (1 - eta * (2 - eta) * transform(p)) / p, n, method="talbot")
        return float(test), float(train)


def _iid_expectation(U, step, epochs):
    """tr E[S]/d after so many epochs of IID sampling on given unit rows, by the exact linear recursion."""
    m, d = U.shape
    H, M = U.T @ U / m, np.eye(d)
    for _ in range(m * epochs):
        forms = np.einsum("ij,ij->i", U @ M, U)
        M = M - step * (H @ M + M @ H) + step**2 * (U.T * forms) @ U / m
    return np.trace(M) / d


def _moments_of_squares(U, step=1.0):
    """tr(AᵀA)ⁿ/d for n = 1, 2, 3, 4 and 8."""
    squares = np.linalg.svd(epoch(U, step), compute_uv=False) ** 2
    return [np.sum(squares**n) / U.shape[1] for n in (1, 2, 3, 4, 8)]


def _weighted_moments(U):
    """tr S(AᵀA)ⁿ/d for n = 1, 2 and 3."""
    A, P, moments = epoch(U), U, []
    for _ in range(3):
        P = P @ A.T @ A
        moments.append(np.sum(P * U) / U.shape[1])
    return moments


def _traces(U):
    """tr R/d, tr AR/d and tr SR/d with R = (AᵀA − 1.5)⁻¹, what β = 1 + λα leaves of the first two, and tr AAᵀA/d."""
    d, A = U.shape[1], epoch(U)
    R = np.linalg.inv(A.T @ A - 1.5 * np.eye(d))
    a, b, c = np.trace(R) / d, np.sum(A * R) / d, np.sum((U @ R) * U) / d
    return [a, b, c, b - 1.5 * a, np.sum(A * (A.T @ A)) / d]


# --------------------------------------------------------------------------------------------------- test loss


def e1() -> Evidence:
    """The one-row identity on a matrix, the residual of the closed form by mpmath, and traces of random matrices."""
    A, u, after, _ = routes.one_row()
    B, v, eye, lam = A.T @ A, A.T @ u, np.eye(len(u)), 1.4
    R = np.linalg.inv(B - lam * eye)
    change = np.trace(np.linalg.inv(after.T @ after - lam * eye)) - np.trace(R)
    gaps = (
        np.abs(after.T @ after - B + np.outer(v, v)).max(),
        abs(change - v @ R @ R @ v / (1 - v @ R @ v)),
        abs(np.trace(A @ R @ A.T) - len(u) - lam * np.trace(R)),
    )
    rows = []
    for k, rho in enumerate((0.8, 1.5)):
        sampled = extrapolated(lambda U: _traces(U)[0], 60, 60, 301 + k, rho)
        rows += samples(f"s(rho, 1.5) on matrices, rho = {rho}", *sampled, float(stieltjes(rho, 1.5).real))
    return compared(
        off("B' = B - vv' and the traces that follow", max(gaps), 1e-10),
        off("s_rho + s_lambda/s = -1/lambda, s = 1/(1 - lambda) at 0", routes.stieltjes_residual(), 1e-20),
        *rows,
    )


def e2() -> Evidence:
    """Moments of random matrices at two aspects, and exact values of both from separate formulas at three."""
    rows, worst = [], 0.0
    for k, rho in enumerate((0.6, 1.0)):
        mean, error = (x[:3] for x in extrapolated(_moments_of_squares, 60, 150, 302 + k, rho))
        expected = [float(routes.poisson_moment(n, rho)) for n in (1, 2, 3)]
        rows += samples([f"b_{n} on matrices, rho = {rho:g}" for n in (1, 2, 3)], mean, error, expected)
    for rho in (0.6, 1.0, 1.7):
        for n in (1, 2, 3, 9, 40):
            both = (flip_flop.test_loss(n, rho=rho), free.trace_moment(n, rho=rho))
            worst = max(worst, *(abs(x / float(routes.poisson_moment(n, rho)) - 1) for x in both))
    return compared(off("b_n = m_n, n to 40, three rho", worst, 1e-9), *rows)


def e3(*, leading: float = (2 * pi) ** -0.5) -> Evidence:
    """What exact losses at n up to 1e6 leave beyond the leading term, and random matrices at n = 2 and 4."""
    rests = [n**1.5 * (flip_flop.test_loss(n) - leading / sqrt(n)) for n in (100, 101, 10000, 1000000)]
    exact = max(abs(flip_flop.test_loss(n) / float(routes.critical_moment(n)) - 1) for n in (2, 100, 10000))
    mean, error = (x[[1, 3]] for x in extrapolated(_moments_of_squares, 60, 150, 303))
    return compared(
        below("n^3/2 (loss - leading), n to 1e6", max(map(abs, rests)), 0.1),
        off("n^n/(e^n n!)", exact, 1e-11),
        *samples(["b_2 on matrices", "b_4"], mean, error, [float(routes.critical_moment(n)) for n in (2, 4)]),
    )


def e4(*, leading: float = (2 * pi) ** -0.5, second: float = 1 / 12, third: float = 1 / 288) -> Evidence:
    """Exact moments by mpmath at n = 200 and 2000: what the three printed terms leave, times n cubed."""
    return routes.stirling_evidence(leading, second, third, flip_flop.test_loss)


# ----------------------------------------------------------------------------------------------- training loss


def e5() -> Evidence:
    """Residuals of closed solutions by mpmath at three points, and three traces of random matrices."""
    forms, worst = (stieltjes, _beta_closed, _gamma_closed), routes.stieltjes_residual()
    with mpmath.workdps(40):
        for text in (("0.8", "1.5"), ("1", "-2"), ("1.8", "1.4")):
            point = _, lam = tuple(map(mpmath.mpf, text))
            a, b, c = (f(*point) for f in forms)
            rates = [[mpmath.diff(f, point, k) for k in ((1, 0), (0, 1))] for f in forms]
            worst = max(worst, abs(rates[1][0] + rates[1][1] / a))
            worst = max(worst, abs(rates[2][0] - a + (c + lam * rates[2][1]) / (lam * a) + b**2 / (lam * a)))
        start = abs(_gamma_closed(mpmath.mpf(10) ** -15, mpmath.mpf("1.5")))
        expected = [float(f(mpmath.mpf("0.8"), mpmath.mpf("1.5"))) for f in forms]
    mean, error = (x[:3] for x in extrapolated(_traces, 60, 100, 305, 0.8))
    return compared(
        off("three equations in closed solutions", worst, 1e-20),
        off("gamma = 0 at rho = 0", start, 1e-12),
        *samples(["alpha on matrices, rho = 0.8, lambda = 1.5", "beta", "gamma"], mean, error, expected),
    )


def e6() -> Evidence:
    """Transport along a characteristic by mpmath, and traces of random matrices."""
    with mpmath.workdps(30):  # transport of β along the characteristics of α
        start, rho = mpmath.mpf(3), mpmath.mpf("0.7")
        lam = start * mpmath.exp(rho * (1 - start) / start)
        conserved = abs(_beta_closed(rho, lam) * (1 - start) - 1)
    mean, error = (x[[1, 3, 4]] for x in extrapolated(_traces, 60, 150, 306))
    expected = [float(_beta_closed(1, 1.5)), 1, flip_flop.test_loss(2)]
    return compared(
        off("beta constant along a characteristic", conserved, 1e-20),
        *samples(["beta on matrices", "beta - lambda alpha", "b_2"], mean, error, expected),
    )


def e7() -> Evidence:
    """The integral along characteristics by quadrature, the library's losses, and traces of random matrices."""
    worst = 0.0
    with mpmath.workdps(30):
        for start, rho in ((mpmath.mpf(3), mpmath.mpf("0.7")), (mpmath.mpf(-2), mpmath.mpf(2))):
            C = start / (1 - start)
            # γ e^(ρ/C) is the integral of (α − β²/C) e^(τ/C) along the characteristic, α = C/λ
            integral = mpmath.quad(
                lambda t, C=C, s=start: C / s - (1 + C) ** 2 / C * mpmath.exp(t / C), [0, rho]
            )
            stated = ((1 + C) ** 2 + (1 + C) * rho) * mpmath.exp(-rho / C) - (1 + C) ** 2
            closed = _gamma_closed(rho, start * mpmath.exp(rho / C))
            worst = max(worst, *(abs(g / stated - 1) for g in (integral * mpmath.exp(-rho / C), closed)))
        expected = float(_gamma_closed(mpmath.mpf(1), mpmath.mpf("1.5")))
    z = 1 / 1.5
    library = -z * (1 + sum(flip_flop.train_loss(n) * z**n for n in range(1, 90)))
    mean, error = (x[2] for x in extrapolated(_traces, 60, 100, 307))
    return compared(
        off("gamma and its integral along characteristics", worst, 1e-20),
        near("gamma at rho = 1, lambda = 1.5 from the library's losses", library, expected, 1e-9),
        *samples("on matrices", mean, error, expected),
    )


def e8() -> Evidence:
    """Nine Taylor coefficients at three aspects against Poisson sums and the library, γ, and random matrices."""
    z, gap = mpmath.mpf("0.4"), 0.0
    with mpmath.workdps(30):
        for rho in RHOS:
            gap = max(gap, abs(_generating(z, rho) + _gamma_closed(mpmath.mpf(rho), 1 / z) / z))
    sampled = extrapolated(
        lambda U: np.sum((U @ np.linalg.inv(np.eye(U.shape[1]) - 0.7 * (A := epoch(U)).T @ A)) * U) / U.shape[1],
        50, 60, 308, 2.0,
    )  # fmt: skip
    return compared(
        off("coefficients of z to z^9, three rho", _off(_poisson_train, range(1, 10)), 1e-11),
        off("-gamma(1/z)/z at z = 0.4", gap, 1e-11),
        *samples("at rho = 2, z = 0.7 on matrices", *sampled, float(_generating(0.7, 2.0).real)),
    )


def e9(*, inside: float = 2.0) -> Evidence:
    """Lambert's function by mpmath at a distance of 1e-24 from its branch point, 60 digits."""
    with mpmath.workdps(60):
        u = mpmath.mpf(10) ** -24
        w = mpmath.lambertw(-mpmath.exp(-1) + u).real + 1
        first, second = float(w**2 / u), float((mpmath.sqrt(2 * mpmath.e * u) - w) / u)
    require(close(second, 2 / 3 * math.e, 1e-6), "the linear coefficient is 2e/3")
    library = (free.lambert_w(-1 / math.e + 1e-10) + 1) ** 2 / 1e-10
    require(close(library, first, 1e-3), "the library's W near -1/e")
    return number(first, inside, 1e-6, corrected=2 * math.e, what="(W + 1)^2/u")


@cache
def _total_training_loss():
    """The sum of all training losses at step 1: two thousand of them and the tail of the power law."""
    n = np.arange(1, 2001)
    return 1 + flip_flop.train_loss(n).sum() + flip_flop.train_constant() * float(mpmath.zeta(1.5, 2001))


def e10(*, value: float = 3 / 2, slope: float = 2 * 2**0.5 / 3) -> Evidence:
    """The closed form by mpmath at 1e-16 and 1e-20 from the edge, and the sum of all training losses."""
    with mpmath.workdps(60):
        gap, rests = mpmath.mpf(10) ** -20, []
        edge = _generating(1 - gap, 1).real
        fall = (mpmath.mpf(3) / 2 - edge) / mpmath.sqrt(gap)
        for x in (gap, 10**4 * gap):
            rests.append(abs((_generating(1 - x, 1).real - 1.5 + 2 * mpmath.sqrt(2 * x) / 3) / x))
    return compared(
        near("value at 1", edge, value, 1e-6),
        near("sum of the library's losses", _total_training_loss(), value, 1e-4),
        near("slope in sqrt(1 - z)", fall, slope, 1e-6),
        below("rest over 1 - z", max(rests), 10),
    )


def e11(*, leading: float = 2**0.5 / (3 * pi**0.5)) -> Evidence:
    """Poisson sums by mpmath extrapolated in n, the library up to n = 1e5, and a coefficient on random matrices."""
    rests = [n * (flip_flop.train_loss(n) * n**1.5 / leading - 1) for n in (1000, 1001, 100000)]
    mean, error = (x[1] for x in _sampled_coefficients())
    return compared(
        near("limit of n^3/2 a_n", _limits_at_step_one()["flip-flop"][1], leading, 1e-7),
        below("n times the relative rest, n to 1e5", max(map(abs, rests)), 2),
        *samples("a_2 on matrices", mean, error, float(_poisson_train(2)), cap=0.008),
    )


def e12(*, second: float = 203 / 120) -> Evidence:
    """The singular expansion in exact fractions; Poisson sums by mpmath and the library's losses extrapolated."""
    # With ω = 1 + W the generating function is ((1−ω)e^(−ω) + 2ω − 1)/ω² = 3/2 − 2ω/3 + 5ω²/24 − ω³/20 + …, and
    # t = √(2(1−z)) = ω + pω² + qω³ + …; the coefficients of (1−z)^(1/2) and (1−z)^(3/2) give the two terms.
    p, q = Fraction(1, 3), Fraction(1, 8) - Fraction(1, 18)
    third = -Fraction(2, 3) * (2 * p**2 - q) - Fraction(5, 12) * p - Fraction(1, 20)
    require(Fraction(3, 8) + Fraction(9, 2) * third == Fraction(-14, 15), "-14/15, by the singular expansion")
    leading = mpmath.sqrt(2) / (3 * mpmath.sqrt(mpmath.pi))
    limit, library = (
        routes.limit_in_n(lambda n, f=f: n * (f(n) * mpmath.mpf(n) ** 1.5 / leading - 1), start)
        for f, start in ((_poisson_train, 125), (flip_flop.train_loss, 500))
    )
    require(close(library, limit, 1e-4), "the Poisson sum and the library agree")
    return number(limit, second, 1e-5, corrected=-14 / 15, what="n times the relative rest")


def e13(*, power: float = 3.0) -> Evidence:
    """The power of what Poisson sums leave beyond the printed and the corrected terms, n = 125 to 2000."""

    def rest(second):
        c = mpmath.sqrt(2) / (3 * mpmath.sqrt(mpmath.pi))
        return lambda n: float(_poisson_train(n) - c * mpmath.mpf(n) ** -1.5 * (1 + second / n))

    stated, corrected = (
        routes.decay_exponent(rest(mpmath.mpf(a) / b), 125) for a, b in ((203, 120), (-14, 15))
    )
    require(abs(corrected + 3.5) < 0.05, "with -14/(15n) the remainder is O(n^-7/2)")
    require(close(flip_flop.train_loss(2000), float(_poisson_train(2000)), 1e-11), "the library's loss")
    return compared(near("power of n in the remainder", max(stated, -power), -power, 0.01))


# ------------------------------------------------------------------------------------------------ coefficients


def _sampled_coefficients():
    """tr S(AᵀA)ⁿ/d, n = 1, 2, 3, at ρ = 1 on matrices, extrapolated, with standard errors."""
    return extrapolated(_weighted_moments, 60, 150, 311)


def _coefficient(n, stated):
    """Evidence for a formula of ρ as the n-th coefficient, at three aspects, with matrices at ρ = 1."""
    mean, error = (x[n - 1] for x in _sampled_coefficients())
    return compared(
        off(f"a_{n} at rho = 0.5, 1, 2.3", _off(lambda _, rho: stated(rho), [n]), 1e-10),
        *samples("on matrices at rho = 1", mean, error, stated(1.0), cap=0.02),
    )


def e14() -> Evidence:
    """The generating function at 0 and the library at three aspects, and the trace of a matrix of unit rows."""
    U = routes.unit_rows(46, 20, np.random.default_rng(314))
    return compared(
        *(near(f"a_0 at rho = {r}", _generating(mpmath.mpf(10) ** -12, r).real, r, 1e-9) for r in RHOS),
        *(near("by the library", r * flip_flop.train_loss(0, rho=r), r, 1e-12) for r in RHOS),
        near("tr S/d of 46 unit rows in 20 dimensions", np.sum(U * U) / 20, 2.3, 1e-12),
    )


def e15(*, linear: float = 1.0, constant: float = 1.0, second: float = 1.0) -> Evidence:
    """Taylor coefficients of the generating function at three aspects, the library, and random matrices."""
    return _coefficient(1, lambda r: math.exp(-r) * (linear * r - constant) + second * math.exp(-2 * r))


def e16(*, linear: float = 2.0, inner: float = 2.0, constant: float = 2.0) -> Evidence:
    """The second Taylor coefficient of the generating function at three aspects, the library, and random matrices."""
    return _coefficient(
        2, lambda r: (linear * r + (r**2 - inner) * math.exp(r) + constant) * math.exp(-3 * r)
    )


def e17(
    *,
    half: float = 0.5,
    square: float = 8.0,
    linear: float = 12.0,
    cubic: float = 3.0,
    inner_linear: float = 6.0,
    inner: float = 6.0,
    constant: float = 6.0,
) -> Evidence:
    """The third Taylor coefficient of the generating function at three aspects, the library, and random matrices."""

    def stated(r):
        bracket = (cubic * r**3 + r**2 - inner_linear * r - inner) * math.exp(r)
        return half * (square * r**2 + linear * r + bracket + constant) * math.exp(-4 * r)

    return _coefficient(3, stated)


def e18() -> Evidence:
    """Taylor coefficients of the generating function, the library, and two million pairs of Poisson draws."""
    rng, n = np.random.default_rng(318), 2
    J, K = rng.poisson(n, 2000000), rng.poisson(n + 1, 2000000)
    draws = (n - J) * (1 - n + J) * (n - 1 >= J) / n + (n + 1 - K) * (n - K) * (n - 1 >= K) / (n + 1)
    error = draws.std() / sqrt(len(draws))
    return compared(
        off("Poisson sums, n = 1 to 9 and 40, three rho", _off(_poisson_train, ORDERS), 1e-11),
        *samples("a_2 at rho = 1 by Poisson draws", draws.mean(), error, float(_poisson_train(2)), cap=0.008),
    )


def e19() -> Evidence:
    """Distribution functions summed by mpmath against Taylor coefficients of the generating function, n = 1 to 9."""

    def Q(m, x):  # a distribution function below 0 is 0
        return mpmath.exp(-x) * sum(x**j / mpmath.factorial(j) for j in range(m + 1))

    @cache
    def stated(n, rho):
        with mpmath.workdps(40):
            r = mpmath.mpf(rho)
            lam, mu = r * n, r * (n + 1)
            first = (
                n * (r - n) * Q(n - 1, lam) + (2 * n - r - 1) * lam * Q(n - 2, lam) - lam**2 * Q(n - 3, lam)
            )
            second = n * (n + 1) * Q(n - 1, mu) - 2 * n * mu * Q(n - 2, mu) + mu**2 * Q(n - 3, mu)
            return first / n + second / (n + 1)

    return compared(off("distribution functions, n = 1 to 9 and 40, three rho", _off(stated, ORDERS), 1e-11))


# -------------------------------------------------------------------------------------------------- comparisons


@cache
def _limits_at_step_one():
    """The constants of test and training loss per order, from exact sums and Laplace transforms."""
    late = 10**5
    return {
        "single shuffle": (
            routes.limit_in_root(lambda n: routes.exact_test(n) * sqrt(n), 400),
            routes.limit_in_root(lambda n: routes.exact_train(n) * n**1.5, 400),
        ),
        "iid": tuple(x * late**p for x, p in zip(_iid_losses(late), (0.5, 1.5), strict=True)),
        "flip-flop": (
            routes.limit_in_n(lambda n: routes.critical_moment(n) * mpmath.sqrt(n), 200),
            routes.limit_in_n(lambda n: _poisson_train(n) * mpmath.mpf(n) ** 1.5, 125),
        ),
    }


@cache
def _ratio_of_training_losses():
    """The limit of flip-flop's training loss over single shuffle's, from the library."""
    return routes.limit_in_root(lambda n: flip_flop.train_loss(n) / single_shuffle.train_loss(n), 1000)


def e20(*, factor: float = 8 * 2**0.5 / 3, rounded: float = 3.77) -> Evidence:
    """The limit of the ratio from two exact sums, and from the library."""
    limits = _limits_at_step_one()
    sums = limits["flip-flop"][1] / limits["single shuffle"][1]
    rise = flip_flop.train_loss(n := np.arange(2, 400)) / single_shuffle.train_loss(n)
    require(round(rise[0], 1) == 1.7 and bool((np.diff(rise) > 0).all()), "1.7 at n = 2, and rising")
    return compared(
        near("limit of the ratio of two exact sums", sums, factor, 1e-4),
        near("by the library", _ratio_of_training_losses(), factor, 1e-4),
        printed("rounded", sums, rounded),
    )


def e21(*, same: float = 1.0, harm: float = 4 / 3) -> Evidence:
    """Both losses over IID's at step 1, n = 1e5, IID's by Laplace transforms; early epochs and step 1/2 beside it."""
    for k in (4, 1000):
        require(
            close(_iid_losses(k), [iid.test_loss(k), iid.train_loss(k)], 1e-6), "IID losses by two routes"
        )
    n = np.arange(1, 201)
    test, train = flip_flop.test_loss(n) / iid.test_loss(n), flip_flop.train_loss(n) / iid.train_loss(n)
    require(
        bool((test < 1).all()) and np.array_equal(train < 1, n <= 8), "ahead in test, in training to n = 8"
    )
    require(close(1 - test[0], 0.27, 0.02), "27 % ahead at n = 1")
    border = [flip_flop.train_constant(s) / iid.train_constant(s) for s in (0.898, 0.9)]
    require(border[0] < 1 < border[1], "equal training constants at step 0.899")
    ratios = {}
    for at, step in ((10**5, 1.0), (10**4, 0.5)):
        late = _iid_losses(at, step)
        ratios[step] = flip_flop.test_loss(at, step) / late[0], flip_flop.train_loss(at, step) / late[1]
    require(max(ratios[0.5]) < 1, "ahead at step 1/2")
    return compared(
        near("flip-flop over IID at step 1, n = 1e5: test", ratios[1.0][0], same, 1e-3),
        near("training", ratios[1.0][1], harm, 1e-3),
    )


def e22() -> Evidence:
    """Exact test losses of both orders at n = 20000 and five steps, and both on random matrices at step 1/2."""
    steps, n = np.array([0.3, 0.5, 0.8, 1.0, 1.3]), 20000
    ratios = [flip_flop.test_loss(n, s) / _iid_losses(n, s)[0] for s in steps]
    constants = np.sqrt(2 * steps * (1 / (steps * (2 - steps)) - 0.5))
    require(close(ratios, constants, 2e-3), "the paper's constants for the two orders")
    sampled = extrapolated(
        lambda U: (_moments_of_squares(U, 0.5)[4], _iid_expectation(U, 0.5, 8)), 24, 30, 322
    )
    exact = [flip_flop.test_loss(8, 0.5), iid.test_loss(8, 0.5)]
    require(routes.within(*sampled, exact, cap=0.03), "both losses at step 1/2 after 8 epochs on matrices")
    return compared(
        *(
            near(f"flip-flop over IID in test, 1 if not below, step {s:g}", min(ratio, 1), 1, 2e-3)
            for s, ratio in zip(steps, ratios, strict=True)
        )
    )


def e23(
    *,
    shuffle_test: float = 0.5 * pi**-0.5,
    shuffle_train: float = pi**-0.5 / 8,
    iid_test: float = (2 * pi) ** -0.5,
    iid_train: float = 0.5 * (2 * pi) ** -0.5,
    flip_test: float = (2 * pi) ** -0.5,
    flip_train: float = 2**0.5 / (3 * pi**0.5),
    ratio: float = 2**0.5,
    rounded: float = 1.41,
) -> Evidence:
    """Limits extrapolated from exact sums for each order, and the library's constants."""
    limits, rows = _limits_at_step_one(), []
    for name, module, stated in (
        ("single shuffle", single_shuffle, (shuffle_test, shuffle_train)),
        ("iid", iid, (iid_test, iid_train)),
        ("flip-flop", flip_flop, (flip_test, flip_train)),
    ):
        library = module.test_constant(), module.train_constant()
        for loss, limit, constant, claim in zip(
            ("test", "train"), limits[name], library, stated, strict=True
        ):
            rows.append(near(f"{name}, {loss}", limit, claim, 1e-3))
            rows.append(near("by the library", constant, claim, 1e-9))
    first = limits["single shuffle"][0]
    rows += [
        near(f"{name} over single shuffle", limits[name][0] / first, ratio, 1e-3)
        for name in ("iid", "flip-flop")
    ]
    return compared(*rows, printed("rounded", limits["flip-flop"][0] / first, rounded))
