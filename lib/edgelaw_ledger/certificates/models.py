r"""Expansions in :math:`s = n^{-1/2}` with explicit remainders: Taylor models.

A model is a polynomial in s of degree L with balls for coefficients, which stands for a function of n that is
:math:`\sum_{i<L} c_i s^i + R\,s^L` for **every** :math:`n \ge N`: its last coefficient is a ball for R. Sums of models
are models, and so is what :func:`folded` makes of a product. Whatever is built from them is an asymptotic expansion
that holds with a stated error, not only in the limit; its coefficients are therefore the asymptotic ones.
"""

from collections.abc import Sequence

from flint import arb, arb_poly, fmpq

from edgelaw_ledger.certificates.balls import symmetric, up_to

TERMS = 8  # L, even
START = 10**4  # N
BITS = 400


def small() -> arb:
    """The ball [0, N^(−1/2)] of all values that s takes."""
    return up_to(arb(START).rsqrt())


def folded(polynomial: arb_poly) -> arb_poly:
    """A polynomial in s as a model: R takes in the powers beyond L."""
    coefficients = polynomial.coeffs()
    beyond = arb_poly(coefficients[TERMS:])(small())
    return arb_poly(coefficients[:TERMS]) + arb_poly([beyond]).left_shift(TERMS)


def even(terms: Sequence) -> arb_poly:
    """The model whose expansion in s² has these coefficients, the last one with its remainder."""
    return folded(arb_poly([x for term in terms for x in (term, 0)]))


def exponential(model: arb_poly) -> arb_poly:
    """The exponential of a model without constant term."""
    size = model.right_shift(1)(small())  # |model| ≤ size · s
    total, power = arb_poly([1]), arb_poly([1])
    for k in range(1, TERMS):
        power = folded(power * model * fmpq(1, k))
        total += power
    last = size**TERMS / arb(TERMS).fac() * symmetric((size * small()).exp())
    return total + arb_poly([last]).left_shift(TERMS)


def over_power(model: arb_poly, power: int) -> arb_poly:
    """This over s^power, whose first coefficients vanish; R becomes a ball for the last coefficient, at every n."""
    if not all(c.is_zero() for c in model.coeffs()[:power]):
        raise ArithmeticError(f"The first {power} coefficients do not vanish.")
    return model.right_shift(power)


def at(model: arb_poly, n: int) -> arb:
    """A ball for the value at one n ≥ N."""
    if n < START:
        raise ValueError(f"The remainder is proved for n of {START} and more, not for {n}.")
    return model(arb(n).rsqrt())


def binomial(exponent: fmpq) -> arb_poly:
    """(1 + s²)^exponent for a negative exponent: the series alternates, so the next term bounds what is left."""
    terms = [fmpq(1)]
    for k in range(TERMS // 2):
        terms.append(terms[-1] * (exponent - k) / (k + 1))
    return even([*terms[:-1], symmetric(terms[-1])])


def stirling() -> arb_poly:
    r""":math:`\sqrt{2\pi n}\,n^ne^{-n}/n! = \exp(-\sum_i B_{2i}/(2i(2i-1)n^{2i-1}))`; the next term bounds the rest."""
    *terms, bound = (fmpq.bernoulli(2 * i) / (2 * i * (1 - 2 * i)) for i in range(1, TERMS // 4 + 2))
    return exponential(even([x for term in (*terms, symmetric(bound)) for x in (0, term)]))
