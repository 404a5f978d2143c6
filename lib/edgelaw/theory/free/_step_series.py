"""The learning curves' formulas as power series in the step, in exact rational arithmetic.

Series are polynomials in (z, w, η, s, λ): z and w the variables of the generating functions (or 1/z₁ and 1/z₂), s the
time within an epoch, λ the eigenvalue, whose powers averages replace by given numbers.
"""

from fractions import Fraction
from math import comb, factorial


class Series:
    """A truncated polynomial: fractions by exponents, with the limits and the moments ⟨λ^i⟩ that it shares."""

    def __init__(self, terms, limits, moments):
        self.terms, self.limits, self.moments = terms, limits, moments

    def _like(self, pairs):
        """The sum of monomials, equal ones collected."""
        terms = {}
        for key, value in pairs:
            terms[key] = terms[key] + value if key in terms else value
        return Series({key: value for key, value in terms.items() if value}, self.limits, self.moments)

    def _series(self, other):
        return other if isinstance(other, Series) else self._like([((0, 0, 0, 0, 0), Fraction(other))])

    def __bool__(self):
        return bool(self.terms)

    def __add__(self, other):
        return self._like([*self.terms.items(), *self._series(other).terms.items()])

    def __mul__(self, other):
        most_z, most_w, most_eta = self.limits
        return self._like(
            ((z + z2, w + w2, e + e2, s + s2, x + x2), first * second)
            for (z, w, e, s, x), first in self.terms.items()
            for (z2, w2, e2, s2, x2), second in self._series(other).terms.items()
            if z + z2 <= most_z and w + w2 <= most_w and e + e2 <= most_eta
        )

    def __neg__(self):
        return self * -1

    def __sub__(self, other):
        return self + -self._series(other)

    def __rsub__(self, other):
        return self._series(other) - self

    __radd__, __rmul__ = __add__, __mul__

    def power_series(self, coefficient):
        """The sum of coefficient(k) x^k for an x without constant term."""
        total = term = self._series(1)
        k = 0
        while term := term * self:
            k += 1
            total = total + term * coefficient(k)
        return total

    def exp(self):
        """The exponential of an x without constant term."""
        return self.power_series(lambda k: Fraction(1, factorial(k)))

    def inverse(self):
        """1/x for an x with constant term 1."""
        return (1 - self).power_series(lambda k: 1)

    def mean(self):
        """⟨x⟩: every λ^i replaced by its moment."""
        return self._like(((*key[:4], 0), value * self.moments[key[4]]) for key, value in self.terms.items())

    def integral(self):
        """The integral over the time from 0 on."""
        return self._like(
            ((z, w, e, s + 1, k), value / (s + 1)) for (z, w, e, s, k), value in self.terms.items()
        )

    def at(self, time):
        """The value at a time."""
        return self._like(((z, w, e, 0, k), value * time**s) for (z, w, e, s, k), value in self.terms.items())

    def backwards(self, end):
        """The same with end − s in the place of s."""
        return self._like(
            ((z, w, e, j, k), value * comb(s, j) * end ** (s - j) * (-1) ** j)
            for (z, w, e, s, k), value in self.terms.items()
            for j in range(s + 1)
        )

    def exchanged(self):
        """The same with z and w exchanged."""
        return self._like(((w, z, e, s, k), value) for (z, w, e, s, k), value in self.terms.items())

    def over_step(self):
        """A multiple of the step, divided by it."""
        return self._like(((z, w, e - 1, s, k), value) for (z, w, e, s, k), value in self.terms.items())


def variables(limits, moments):
    """z, w, η, s and λ: limits of the first three, and the moments ⟨λ^i⟩ from i = 0 on."""
    keys = (tuple(int(i == place) for i in range(5)) for place in range(5))
    return [Series({key: Fraction(1)}, limits, moments) for key in keys]


def single_shuffle(symbols, rho):
    """The generating functions of both losses of single shuffle."""
    z, w, eta, s, x = symbols
    a = eta
    for _ in range(z.limits[0] + 1):
        decay = z * (-rho * a * x).exp()
        alpha = decay * (1 - decay).inverse()
        a = eta * (1 + eta * (x * alpha).mean()).inverse()
    b, beta = a.exchanged(), alpha.exchanged()
    both = 1 + alpha + beta

    def evolved(f, time):
        total, k = f, 0
        while f := a * b * x * (x * both * f).mean() - (a + b) * x * f:
            k += 1
            f = f * time * Fraction(1, k)
            total = total + f
        return total

    start = term = 1 + 0 * z
    while term := z * w * evolved(term, rho):
        start = start + term
    now = evolved(start, s)
    up, up2, down, down2 = (a * x * s).exp(), (b * x * s).exp(), (-a * x * s).exp(), (-b * x * s).exp()
    first, second = a * (x * alpha * up).mean(), b * (x * beta * up2).mean()
    psi = (
        (x * both * start).mean()
        + first * second * (x * both * now).mean()
        - first * (x * (up2 * beta * now + (1 + alpha) * down * start)).mean()
        - second * (x * (up * alpha * now + (1 + beta) * down2 * start)).mean()
    )
    return (both * start).mean(), psi.integral().at(rho) * (1 / rho)


def flip_flop(symbols, rho):
    """The generating functions of both losses of flip-flop, with the training loss in the form without 1/f."""
    z, _, eta, _, x = symbols

    def fields(f, y):
        inner = (1 - f * y).inverse()
        R, P = (x * f * inner).mean(), (x * y * inner).mean()
        H = 1 + eta * (x * f * y * inner).mean()  # times the step
        return R, eta * H, P, x * (H * H - eta * eta * P * R).inverse()

    f, y = 1 + 0 * z, z
    for _ in range(z.limits[2] + 1):
        R, H, P, rate = fields(f, y)
        rise = (rate * (2 * H * f - eta * eta * (P * f * f + R))).integral()
        f = 1 + rise - rise.at(rho)
        y = z + (rate * (eta * eta * (P + R * y * y) - 2 * H * y)).integral()
    R, H, P, rate = fields(f, y)
    begin = f.at(0)
    pole = (1 - z * begin).inverse()
    g, G = begin * pole, pole
    for _ in range(z.limits[2] + 1):
        g, G = (
            begin * pole + (rate * (H * g - eta * eta * R * G)).integral(),
            pole + (rate * (eta * eta * P * g - H * G)).integral(),
        )
    V, Y = (x * g).mean(), (x * G).mean()
    root = H.over_step()
    scale = (root * root - eta * eta * P * R).inverse()
    psi = (x * pole).mean() + z * scale * (eta * eta * (P * V * V + R * Y * Y) - 2 * H * V * Y)
    return pole.mean(), psi.integral().at(rho) * (1 / rho)


def reshuffle(symbols, rho):
    """The double Cauchy transform of one reshuffled epoch, in powers of z = 1/z₁ and w = 1/z₂."""
    z, _, eta, s, x = symbols
    nu = 1 + 0 * z
    for _ in range(z.limits[0] + 1):
        r = z * (1 - rho * z * nu * x).inverse()
        nu = (1 - (x * r).mean()).inverse()
    f, E = 1 + 0 * z, r
    for _ in range(z.limits[2] + 1):
        psi = (x * r * f).mean()
        grow = eta * eta * x * (x * E).mean() - 2 * eta * x * E
        noise = nu * x * (eta * eta * psi * psi - 2 * eta * psi * r * f)
        f, E = 1 - (eta * x * (f + nu * psi)).integral(), r + (grow + noise).integral()
    psi = (x * r * f).mean()
    nu2, r2, q, c = nu.exchanged(), r.exchanged(), psi.exchanged(), (x * E.exchanged()).mean()
    bar, end, bar_psi = f.backwards(rho), f.at(rho), psi.backwards(rho)

    def pair(g):
        return (g * r * r2).mean()

    delta = (1 - nu * nu2 * pair(x * x) * s).inverse()

    def joint(left, right):
        return pair(left * right) + nu * nu2 * s * delta * pair(x * left) * pair(x * right)

    # p(λ) and p(λ f̄) of the two resolvents with one epoch between them: linear equations in s
    def moved(left, p):
        return nu * nu2 * (p - eta * q * bar_psi) * joint(left, x) - eta * nu2 * q * joint(left, x * bar)

    p = 0 * z
    for _ in range(sum(z.limits) + 2):
        p = pair(x * end) + moved(x, p).integral()
    # λ f̄ at the later time is a polynomial in it: follow p(λ^(k+1)) for every power, then insert
    P = 0 * z
    for (*others, k), value in bar.terms.items():
        weight = x
        for _ in range(k):
            weight = weight * x
        coefficient = Series({(*others, 0): value}, z.limits, z.moments)
        P = P + coefficient * (pair(weight * end) + moved(weight, p).integral())
    difference = p - eta * q * bar_psi
    change = (
        eta * eta * (c + nu2 * q * q) * (x * bar * bar * r).mean()
        + nu * eta * eta * c * bar_psi * bar_psi
        + nu * nu2 * difference * difference
        - 2 * eta * nu2 * q * P
    )
    return pair(end * end) + change.integral().at(rho)
