"""Checks of group E: flip-flop at step 1 (the paper's Section 4 and Appendix E), in powers of B = A'A."""

import math
from fractions import Fraction
from functools import cache
from math import pi, sqrt

import mpmath
import numpy as np

from edgelaw.theory import BY_ORDER, flip_flop, free, iid, single_shuffle
from edgelaw_ledger import routes
from edgelaw_ledger.evidence import Evidence, below, compared, near, number, off, printed
from edgelaw_ledger.routes import X, close, limit, on_matrices, poisson_train, require, stieltjes

RHOS, ORDERS = (0.5, 1.0, 2.3), (*range(1, 10), 40)


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


def _off(stated, orders):
    """How far a formula of n and ρ is from the library's losses, and up to n = 9 from the generating function's."""
    worst = 0.0
    for rho in RHOS:
        for n in orders:
            exact = [rho * flip_flop.train_loss(n, rho=rho), *_coefficients(rho)[n : n + 1]]
            worst = max(worst, *(abs(a / stated(n, rho) - 1) for a in exact))
    return worst


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
    return compared(
        off("B' = B - vv' and the traces that follow", max(gaps), 1e-10),
        off("s_rho + s_lambda/s = -1/lambda, s = 1/(1 - lambda) at 0", routes.stieltjes_residual(), 1e-20),
        *(row for r in (0.6, 1.0) for row in on_matrices({"alpha": float(stieltjes(r, X).real)}, rho=r)),
    )


def e2() -> Evidence:
    """Moments of random matrices at two aspects, and exact values of both from separate formulas at three."""
    rows, worst = [], 0.0
    for rho in (0.6, 1.0, 1.7):
        for n in (1, 2, 3, 9, 40):
            both = (flip_flop.test_loss(n, rho=rho), free.trace_moment(n, rho=rho))
            worst = max(worst, *(abs(x / float(routes.moment_at_step(n, 1.0, rho)) - 1) for x in both))
    for rho in (0.6, 1.0):
        exact = [float(routes.moment_at_step(n, 1.0, rho)) for n in (2, 3)]
        for name in "bm":
            rows += on_matrices({f"{name}_{n}": x for n, x in zip((2, 3), exact, strict=True)}, rho=rho)
    return compared(off("b_n = m_n, n to 40, three rho", worst, 1e-9), *rows)


def e3(*, leading: float = (2 * pi) ** -0.5) -> Evidence:
    """What exact losses at n up to 1e6 leave beyond the leading term, and random matrices at n = 2 and 4."""
    rests = [n**1.5 * (flip_flop.test_loss(n) - leading / sqrt(n)) for n in (100, 101, 10000, 1000000)]
    exact = max(abs(flip_flop.test_loss(n) / float(routes.critical_moment(n)) - 1) for n in (2, 100, 10000))
    return compared(
        below("n^3/2 (loss - leading), n to 1e6", max(map(abs, rests)), 0.1),
        off("n^n/(e^n n!)", exact, 1e-11),
        *on_matrices({f"b_{n}": float(routes.critical_moment(n)) for n in (2, 4)}),
    )


def e4(*, leading: float = (2 * pi) ** -0.5, second: float = 1 / 12, third: float = 1 / 288) -> Evidence:
    """Exact moments by mpmath at n = 200 and 2000: what the three printed terms leave, times n cubed."""
    return routes.stirling(flip_flop.test_loss, leading, -second, third)


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
        first = mpmath.mpf(10) ** -15, mpmath.mpf("1.5")
        start = max(abs(_gamma_closed(*first)), abs(_beta_closed(*first) * (1 - first[1]) - 1))
        expected = [float(f(mpmath.mpf("0.6"), mpmath.mpf(X))) for f in forms]
    return compared(
        off("three equations in closed solutions", worst, 1e-20),
        off("gamma = 0 and beta = 1/(1 - lambda) at rho = 0", start, 1e-12),
        *on_matrices(dict(zip(("alpha", "beta", "gamma"), expected, strict=True)), rho=0.6),
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
        expected = float(_gamma_closed(mpmath.mpf(1), mpmath.mpf(X)))
    library = -(1 + sum(flip_flop.train_loss(n) * X**-n for n in range(1, 90))) / X
    return compared(
        off("gamma and its integral along characteristics", worst, 1e-20),
        near("gamma at rho = 1, lambda = 1.5 from the library's losses", library, expected, 1e-9),
        *on_matrices({"gamma": expected}),
    )


def e8() -> Evidence:
    """Nine Taylor coefficients at three aspects against Poisson sums and the library, and γ, as on random matrices."""
    z, gap = mpmath.mpf("0.4"), 0.0
    with mpmath.workdps(30):
        for rho in RHOS:
            gap = max(gap, abs(_generating(z, rho) + _gamma_closed(mpmath.mpf(rho), 1 / z) / z))
    return compared(
        off("Poisson sums, n = 1 to 9 and 40, three rho", _off(poisson_train, ORDERS), 1e-11),
        off("-gamma(1/z)/z at z = 0.4", gap, 1e-11),
        *on_matrices(
            {"gamma": -float(_generating(1 / X, 0.6).real) / X, "a_2": float(poisson_train(2, 0.6))}, rho=0.6
        ),
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
    """Exact losses extrapolated in n, which Poisson sums confirm, and what is left at n up to 1e5."""
    rests = [n * (flip_flop.train_loss(n) * n**1.5 / leading - 1) for n in (1000, 1001, 100000)]
    return compared(
        near("limit of n^3/2 a_n", limit("flip_flop train"), leading, 1e-7),
        below("n times the relative rest, n to 1e5", max(map(abs, rests)), 2),
    )


def e12(*, second: float = 203 / 120) -> Evidence:
    """The singular expansion in exact fractions; Poisson sums by mpmath and the library's losses extrapolated."""
    # With ω = 1 + W the generating function is ((1−ω)e^(−ω) + 2ω − 1)/ω² = 3/2 − 2ω/3 + 5ω²/24 − ω³/20 + …, and
    # t = √(2(1−z)) = ω + pω² + qω³ + …; the coefficients of (1−z)^(1/2) and (1−z)^(3/2) give the two terms.
    p, q = Fraction(1, 3), Fraction(1, 8) - Fraction(1, 18)
    third = -Fraction(2, 3) * (2 * p**2 - q) - Fraction(5, 12) * p - Fraction(1, 20)
    require(Fraction(3, 8) + Fraction(9, 2) * third == Fraction(-14, 15), "-14/15, by the singular expansion")
    leading = mpmath.sqrt(2) / (3 * mpmath.sqrt(mpmath.pi))
    by_sums, library = (
        routes.limit_in_n(lambda n, f=f: n * (f(n) * mpmath.mpf(n) ** 1.5 / leading - 1), start)
        for f, start in ((poisson_train, 125), (flip_flop.train_loss, 500))
    )
    require(close(library, by_sums, 1e-4), "the Poisson sum and the library agree")
    return number(by_sums, second, 1e-5, corrected=-14 / 15, what="n times the relative rest")


def e13(*, power: float = 3.0) -> Evidence:
    """The power of what Poisson sums leave beyond the printed and the corrected terms, n = 125 to 2000."""

    def rest(second):
        c = mpmath.sqrt(2) / (3 * mpmath.sqrt(mpmath.pi))
        return lambda n: float(poisson_train(n) - c * mpmath.mpf(n) ** -1.5 * (1 + second / n))

    stated, corrected = (
        routes.decay_exponent(rest(mpmath.mpf(a) / b), 125) for a, b in ((203, 120), (-14, 15))
    )
    require(abs(corrected + 3.5) < 0.05, "with -14/(15n) the remainder is O(n^-7/2)")
    return compared(near("power of n in the remainder", max(stated, -power), -power, 0.01))


def _coefficient(n, stated):
    """Evidence for a formula of ρ as the n-th coefficient, at three aspects, with matrices at ρ = 1."""
    return compared(
        off(f"a_{n} at rho = 0.5, 1, 2.3", _off(lambda _, rho: stated(rho), [n]), 1e-10),
        *on_matrices({f"a_{n}": stated(1.0)}),
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


def e19() -> Evidence:
    """Distribution functions summed by mpmath against Taylor coefficients of the generating function, n = 1 to 9."""

    def Q(m, x):  # a distribution function below 0 is 0
        return mpmath.exp(-x) * sum(x**j / mpmath.factorial(j) for j in range(m + 1))

    def stated(n, rho):
        with mpmath.workdps(40):
            r = mpmath.mpf(rho)
            lam, mu = r * n, r * (n + 1)
            first = n * (r - n) * Q(n - 1, lam) + (2 * n - r - 1) * lam * Q(n - 2, lam)
            second = n * (n + 1) * Q(n - 1, mu) - 2 * n * mu * Q(n - 2, mu) + mu**2 * Q(n - 3, mu)
            return (first - lam**2 * Q(n - 3, lam)) / n + second / (n + 1)

    return compared(off("distribution functions, n = 1 to 9 and 40, three rho", _off(stated, ORDERS), 1e-11))


def e20(*, factor: float = 8 * 2**0.5 / 3, rounded: float = 3.77) -> Evidence:
    """The ratio of the two limits of exact losses, and the losses themselves at n = 2 and later."""
    ratio = limit("flip_flop train") / limit("single_shuffle train")
    rise = flip_flop.train_loss(n := np.arange(2, 400)) / single_shuffle.train_loss(n)
    require(round(rise[0], 1) == 1.7 and bool((np.diff(rise) > 0).all()), "1.7 at n = 2, and rising")
    return compared(near("ratio of the limits", ratio, factor, 1e-4), printed("rounded", ratio, rounded))


@cache
def _over_iid(n, step):
    """Flip-flop's losses over IID's, those from the equation on nodes, which confirms the library's."""
    equation = routes.gaussian_iid(n, step)
    require(close([iid.test_loss(n, step), iid.train_loss(n, step)], equation, 1e-6), "IID by two routes")
    return flip_flop.test_loss(n, step) / equation[0], flip_flop.train_loss(n, step) / equation[1]


def e21(*, same: float = 1.0, harm: float = 4 / 3) -> Evidence:
    """Both losses over IID's at step 1, n = 1e5; early epochs and step 1/2 beside it."""
    n = np.arange(1, 201)
    test, train = flip_flop.test_loss(n) / iid.test_loss(n), flip_flop.train_loss(n) / iid.train_loss(n)
    require((test < 1).all() and np.array_equal(train < 1, n <= 8), "ahead in test, in training to n = 8")
    require(close(1 - test[0], 0.27, 0.02), "27 % ahead at n = 1")
    border = [flip_flop.train_constant(s) / iid.train_constant(s) for s in (0.898, 0.9)]
    require(border[0] < 1 < border[1], "equal training constants at step 0.899")
    require(max(_over_iid(10**5, 0.5)) < 1, "ahead at step 1/2")
    late = _over_iid(10**5, 1.0)
    return compared(
        near("flip-flop over IID at step 1, n = 1e5: test", late[0], same, 1e-3),
        near("training", late[1], harm, 1e-3),
    )


def e22() -> Evidence:
    """Exact test losses of both orders at n = 20000 and five steps; flip-flop's on random matrices."""
    steps = (0.3, 0.5, 0.8, 1.0, 1.3)
    ratios = [_over_iid(20000, s)[0] for s in steps]
    constants = [sqrt(2 * s * (1 / (s * (2 - s)) - 0.5)) for s in steps]
    require(close(ratios, constants, 2e-3), "the paper's constants for the two orders")
    sample = routes.drawn(0.5, 8)["flip_flop", "test"]
    require(routes.within(*sample, flip_flop.test_loss(8, 0.5)), "flip-flop at step 1/2 on matrices")
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
    """Limits extrapolated from exact losses, which other routes confirm, and the library's constants."""
    stated = {
        "single_shuffle": (shuffle_test, shuffle_train),
        "iid": (iid_test, iid_train),
        "flip_flop": (flip_test, flip_train),
    }
    rows = []
    for order, claimed in stated.items():
        for loss, claim in zip(("test", "train"), claimed, strict=True):
            library = getattr(BY_ORDER[order], f"{loss}_constant")()
            rows.append(near(f"{order}, {loss}", limit(f"{order} {loss}"), claim, 1e-3))
            rows.append(near("by the library", library, claim, 1e-9))
    ratios = [limit(f"{order} test") / limit("single_shuffle test") for order in ("iid", "flip_flop")]
    rows += [near("over single shuffle", x, ratio, 1e-3) for x in ratios]
    return compared(*rows, printed("rounded", ratios[1], rounded))
