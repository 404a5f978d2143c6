r"""Expansions in :math:`s = n^{-1/2}` with explicit remainders: Taylor models.

A :class:`Model` stands for a function of n that is :math:`\sum_{i<L} c_i s^i + R\,s^L` for **every** :math:`n \ge N`,
with balls for the coefficients :math:`c_i` and for R. Sums, products and exponentials of models are models, so
whatever is built from them is an asymptotic expansion that holds with a stated error, not only in the limit; its
coefficients are therefore the asymptotic ones.
"""

from collections.abc import Sequence

from flint import arb, fmpq

TERMS = 8  # L
START = 10**4  # N
BITS = 400


def small() -> arb:
    """The ball [0, N^(−1/2)] of all values that s takes."""
    half = arb(START).rsqrt() / 2
    return half + symmetric(half)


def symmetric(bound) -> arb:
    """The ball [−bound, bound]."""
    return arb(0, arb(bound).abs_upper())


class Model:
    """Coefficients of 1, s, s², … and a ball R for what multiplies the next power of s."""

    def __init__(self, coefficients: Sequence, rest=0) -> None:
        kept = [arb(c) for c in coefficients[:TERMS]]
        self.coefficients = kept + [arb(0)] * (TERMS - len(kept))
        self.rest = arb(rest) + _evaluated(coefficients[TERMS:])

    def __add__(self, other):
        other = _model(other)
        pairs = zip(self.coefficients, other.coefficients, strict=True)
        return Model([a + b for a, b in pairs], self.rest + other.rest)

    def __sub__(self, other):
        return self + _model(other) * -1

    def __mul__(self, other):
        other = _model(other)
        product = [arb(0)] * (2 * TERMS - 1)
        for i, a in enumerate(self.coefficients):
            for j, b in enumerate(other.coefficients):
                product[i + j] += a * b
        rest = self.rest * _evaluated(other.coefficients) + other.rest * _evaluated(self.coefficients)
        return Model(product, rest + self.rest * other.rest * small() ** TERMS)

    __radd__, __rmul__ = __add__, __mul__

    def times_power(self, power: int) -> "Model":
        """This times s^power."""
        return Model([0] * power + self.coefficients, self.rest * small() ** power)

    def exp(self) -> "Model":
        """The exponential of a model without constant term."""
        size = _evaluated(self.coefficients[1:]) + self.rest * small() ** (TERMS - 1)  # |self| ≤ size · s
        total, power = Model([1]), Model([1])
        for k in range(1, TERMS):
            power = power * self * fmpq(1, k)
            total = total + power
        last = size**TERMS / arb(TERMS).fac() * symmetric((size * small()).exp())
        return total + Model([], last)

    def over_power(self, power: int) -> "Model":
        """This over s^power, whose first coefficients vanish; R becomes a ball for the last coefficient, at every n."""
        if not all(c.is_zero() for c in self.coefficients[:power]):
            raise ArithmeticError(f"The first {power} coefficients do not vanish.")
        return Model([*self.coefficients[power:], self.rest])

    def at(self, n: int) -> arb:
        """A ball for the value at one n ≥ N."""
        if n < START:
            raise ValueError(f"The remainder is proved for n of {START} and more, not for {n}.")
        s = arb(n).rsqrt()
        return sum((c * s**i for i, c in enumerate(self.coefficients)), arb(0)) + self.rest * s**TERMS


def _model(value):
    return value if isinstance(value, Model) else Model([value])


def _evaluated(coefficients) -> arb:
    """Σ c_i s^i over all s in question."""
    s, total = small(), arb(0)
    for c in reversed(list(coefficients)):
        total = total * s + c
    return total


def binomial(exponent: fmpq) -> Model:
    """(1 + s²)^exponent for a negative exponent: the series alternates, so the next term bounds what is left."""
    coefficients, term, k = [], fmpq(1), 0
    while 2 * k < TERMS:
        coefficients += [term, 0]
        term, k = term * (exponent - k) / (k + 1), k + 1
    return Model(coefficients[:TERMS], symmetric(arb(term)) * small() ** (2 * k - TERMS))


def stirling() -> Model:
    r""":math:`\sqrt{2\pi n}\,n^ne^{-n}/n! = \exp(-\sum_i B_{2i}/(2i(2i-1)n^{2i-1}))`; the next term bounds the rest."""
    coefficients = [fmpq(0)] * (2 * TERMS + 4)
    i = 1
    while 2 * (2 * i - 1) < TERMS:
        coefficients[2 * (2 * i - 1)] = -_stirling_term(i)
        i += 1
    rest = symmetric(arb(_stirling_term(i))) * small() ** (2 * (2 * i - 1) - TERMS)
    return Model(coefficients[:TERMS], rest).exp()


def _stirling_term(i):
    return fmpq.bernoulli(2 * i) / (2 * i * (2 * i - 1))
