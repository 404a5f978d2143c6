r"""The learning curves' formulas as power series in the step, in exact rational arithmetic.

A truncated polynomial is a dictionary from exponents of (z, w, η, s, λ) to fractions: z and w the variables of the
generating functions (or 1/z₁ and 1/z₂), s the time within an epoch, λ the eigenvalue. Terms beyond the limits in z, w
and η are dropped. Averages replace :math:`\lambda^i` by given numbers, so that no measure is needed.
"""

from fractions import Fraction
from math import comb, factorial

ONE = (0, 0, 0, 0, 0)
Z, W, ETA, TIME, LAMBDA = range(5)


def power(variable, exponent=1):
    """One variable to a power."""
    key = [0] * 5
    key[variable] = exponent
    return {tuple(key): Fraction(1)}


class Algebra:
    """Truncated polynomials with an average: limits in z, w and η, and the moments ⟨λ^i⟩."""

    def __init__(self, limits, moments):
        self.limits, self.moments = limits, moments

    def times(self, *factors):
        """A product; numbers are allowed among the factors."""
        first, *others = (
            factor if isinstance(factor, dict) else {ONE: Fraction(factor)} for factor in factors
        )
        product = {key: value for key, value in first.items() if self._kept(key)}
        for factor in others:
            product = self._pair(product, factor)
        return product

    def _kept(self, key):
        return all(exponent <= most for exponent, most in zip(key, self.limits, strict=False))

    def _pair(self, left, right):
        most_z, most_w, most_eta = self.limits
        product = {}
        for (z, w, e, s, x), first in left.items():
            for (z2, w2, e2, s2, x2), second in right.items():
                if z + z2 <= most_z and w + w2 <= most_w and e + e2 <= most_eta:
                    key = (z + z2, w + w2, e + e2, s + s2, x + x2)
                    term, known = first * second, product.get(key)
                    product[key] = term if known is None else known + term
        return product

    def sum(self, *terms):
        """A sum; numbers are allowed among the terms."""
        total = {}
        for term in terms:
            for key, value in (term if isinstance(term, dict) else {ONE: Fraction(term)}).items():
                total[key] = total[key] + value if key in total else value
        return {key: value for key, value in total.items() if value}

    def series(self, x, coefficient):
        """The sum of coefficient(k) x^k for an x without constant term."""
        total, term, k = {ONE: Fraction(coefficient(0))}, {ONE: Fraction(1)}, 0
        while term:
            k += 1
            term = self.sum(self.times(term, x))
            total = self.sum(total, self.times(term, coefficient(k)))
        return total

    def exp(self, x):
        """The exponential of an x without constant term."""
        return self.series(x, lambda k: Fraction(1, factorial(k)))

    def inverse(self, x):
        """1/x for an x with constant term 1."""
        return self.series(self.sum(1, self.times(-1, x)), lambda k: 1)

    def average(self, x):
        """⟨x⟩: every λ^i replaced by its moment."""
        terms = [{(*key[:4], 0): value * self.moments[key[4]]} for key, value in x.items()]
        return self.sum(*terms)

    def integral(self, x):
        """The integral over the time from 0 on."""
        return {(z, w, e, s + 1, k): value / (s + 1) for (z, w, e, s, k), value in x.items()}

    def at(self, x, time):
        """The value at a time."""
        terms = [{(z, w, e, 0, k): value * time**s} for (z, w, e, s, k), value in x.items()]
        return self.sum(*terms)

    def backwards(self, x, end):
        """The same with end − s in the place of s."""
        terms = [
            {(z, w, e, j, k): value * comb(s, j) * end ** (s - j) * (-1) ** j}
            for (z, w, e, s, k), value in x.items()
            for j in range(s + 1)
        ]
        return self.sum(*terms)


def _other(x):
    """The same with z and w exchanged."""
    return {(w, z, e, s, k): value for (z, w, e, s, k), value in x.items()}


def single_shuffle(algebra, rho):
    """The generating functions of both losses of single shuffle."""
    t, plus, mean = algebra.times, algebra.sum, algebra.average
    z, eta, x, s = power(Z), power(ETA), power(LAMBDA), power(TIME)
    zw = t(z, power(W))
    a = eta
    for _ in range(algebra.limits[0] + 1):
        decay = t(z, algebra.exp(t(-rho, a, x)))
        alpha = t(decay, algebra.inverse(plus(1, t(-1, decay))))
        a = t(eta, algebra.inverse(plus(1, t(eta, mean(t(x, alpha))))))
    b, beta = _other(a), _other(alpha)
    both = plus(1, alpha, beta)

    def flow(f):
        return plus(t(-1, plus(a, b), x, f), t(a, b, x, mean(t(x, both, f))))

    def evolved(f, time):
        total, term, k = f, f, 0
        while term := flow(term):
            k += 1
            term = t(term, Fraction(1, k), time)
            total = plus(total, term)
        return total

    start, term = {ONE: Fraction(1)}, {ONE: Fraction(1)}
    while term := plus(t(zw, evolved(term, rho))):
        start = plus(start, term)
    now = evolved(start, s)
    up, up2 = algebra.exp(t(a, x, s)), algebra.exp(t(b, x, s))
    down, down2 = algebra.exp(t(-1, a, x, s)), algebra.exp(t(-1, b, x, s))
    first, second = t(a, mean(t(x, alpha, up))), t(b, mean(t(x, beta, up2)))
    psi = plus(
        mean(t(x, both, start)),
        t(first, second, mean(t(x, both, now))),
        t(-1, first, mean(t(x, plus(t(up2, beta, now), t(plus(1, alpha), down, start))))),
        t(-1, second, mean(t(x, plus(t(up, alpha, now), t(plus(1, beta), down2, start))))),
    )
    train = t(1 / Fraction(rho), algebra.at(algebra.integral(psi), rho))
    return mean(t(both, start)), train


def flip_flop(algebra, rho):
    """The generating functions of both losses of flip-flop, with the training loss in the form without 1/f."""
    t, plus, mean = algebra.times, algebra.sum, algebra.average
    z, eta, x = power(Z), power(ETA), power(LAMBDA)

    def fields(f, y):
        inner = algebra.inverse(plus(1, t(-1, f, y)))
        R, P = mean(t(x, f, inner)), mean(t(x, y, inner))
        H = plus(1, t(eta, mean(t(x, f, y, inner))))  # times the step
        rate = t(x, algebra.inverse(plus(t(H, H), t(-1, eta, eta, P, R))))
        return R, t(eta, H), P, rate

    f, y = {ONE: Fraction(1)}, z
    for _ in range(algebra.limits[2] + 1):
        R, H, P, rate = fields(f, y)
        slope = t(rate, plus(t(2, H, f), t(-1, eta, eta, plus(t(P, f, f), R))))
        fall = t(rate, plus(t(-2, H, y), t(eta, eta, plus(P, t(R, y, y)))))
        rise = algebra.integral(slope)
        f = plus(1, rise, t(-1, algebra.at(rise, rho)))
        y = plus(z, algebra.integral(fall))
    R, H, P, rate = fields(f, y)
    begin = algebra.at(f, 0)
    pole = algebra.inverse(plus(1, t(-1, z, begin)))
    g, G = t(begin, pole), pole
    for _ in range(algebra.limits[2] + 1):
        slope = t(rate, plus(t(H, g), t(-1, eta, eta, R, G)))
        fall = t(rate, plus(t(eta, eta, P, g), t(-1, H, G)))
        g, G = plus(t(begin, pole), algebra.integral(slope)), plus(pole, algebra.integral(fall))
    V, Y = mean(t(x, g)), mean(t(x, G))
    scale = algebra.inverse(plus(t(_root(H), _root(H)), t(-1, eta, eta, P, R)))
    inside = plus(t(eta, eta, P, V, V), t(-2, H, V, Y), t(eta, eta, R, Y, Y))
    psi = plus(mean(t(x, pole)), t(z, scale, inside))
    return mean(pole), t(1 / Fraction(rho), algebra.at(algebra.integral(psi), rho))


def _root(H):
    """A multiple of the step, divided by it."""
    return {(z, w, e - 1, s, k): value for (z, w, e, s, k), value in H.items()}


def reshuffle(algebra, rho):
    r"""The double Cauchy transform of one reshuffled epoch, in powers of z = 1/z₁ and w = 1/z₂."""
    t, plus, mean = algebra.times, algebra.sum, algebra.average
    eta, x, s = power(ETA), power(LAMBDA), power(TIME)
    nu = {ONE: Fraction(1)}
    for _ in range(algebra.limits[0] + 1):
        r = t(power(Z), algebra.inverse(plus(1, t(-rho, power(Z), nu, x))))
        nu = algebra.inverse(plus(1, t(-1, mean(t(x, r)))))
    f, E = {ONE: Fraction(1)}, r
    for _ in range(algebra.limits[2] + 1):
        psi = mean(t(x, r, f))
        grow = plus(t(-2, eta, x, E), t(eta, eta, x, mean(t(x, E))))
        noise = t(nu, x, plus(t(eta, eta, psi, psi), t(-2, eta, psi, r, f)))
        f = plus(1, algebra.integral(t(-1, eta, x, plus(f, t(nu, psi)))))
        E = plus(r, algebra.integral(plus(grow, noise)))
    psi = mean(t(x, r, f))
    nu2, r2, q, c = _other(nu), _other(r), _other(psi), mean(t(x, _other(E)))
    bar, end = algebra.backwards(f, rho), algebra.at(f, rho)
    bar_psi = algebra.backwards(psi, rho)

    def pair(g):
        return mean(t(g, r, r2))

    square = pair(t(x, x))
    delta = algebra.inverse(plus(1, t(-1, nu, nu2, square, s)))

    def joint(left, right):
        product = t(nu, nu2, s, delta, pair(t(x, left)), pair(t(x, right)))
        return plus(pair(t(left, right)), product)

    # p(λ) and p(λ f̄) of the two resolvents with one epoch between them: linear equations in s
    def moved(left, p):
        source = t(-1, eta, nu2, q, joint(left, t(x, bar)))
        return plus(source, t(nu, nu2, plus(p, t(-1, eta, q, bar_psi)), joint(left, x)))

    p = {}
    for _ in range(algebra.limits[0] + algebra.limits[1] + algebra.limits[2] + 2):
        p = plus(pair(t(x, end)), algebra.integral(moved(x, p)))
    # λ f̄ at the later time is a polynomial in it: follow p(λ^(k+1)) for every power, then insert
    P = {}
    for key, value in bar.items():
        weight = power(LAMBDA, key[4] + 1)
        inner = plus(pair(t(weight, end)), algebra.integral(moved(weight, p)))
        P = plus(P, t({(*key[:4], 0): value}, inner))
    change = plus(
        t(eta, eta, plus(c, t(nu2, q, q)), mean(t(x, bar, bar, r))),
        t(nu, eta, eta, c, bar_psi, bar_psi),
        t(nu, nu2, *([plus(p, t(-1, eta, q, bar_psi))] * 2)),
        t(-2, eta, nu2, q, P),
    )
    return plus(pair(t(end, end)), algebra.at(algebra.integral(change), rho))
