"""Balls: what the enclosures share. A ball is an interval [mid ± radius] that is proved to contain a number."""

import functools
import math
from collections.abc import Callable
from fractions import Fraction

import flint
from flint import arb, fmpq

BITS = 256  # of working precision, unless a computation asks for more
DOUBLE = 2.0**-50  # the relative distance between a number and the double that stands for it, at most


def precisely(bits: int = BITS, terms: int = 12) -> Callable:
    """Decorate a function: its balls have so many bits, its power series so many terms; results are kept."""

    def decorate(function):
        @functools.cache
        @functools.wraps(function)
        def wrapped(*arguments, **options):
            before = flint.ctx.cap
            flint.ctx.cap = terms
            try:
                with flint.ctx.workprec(bits):
                    return function(*arguments, **options)
            finally:
                flint.ctx.cap = before

        return wrapped

    return decorate


def exact(value: Fraction | int) -> fmpq:
    """A rational number as flint's."""
    value = Fraction(value)
    return fmpq(value.numerator, value.denominator)


def around(double: float, relative: float = DOUBLE) -> arb:
    """The ball of all numbers within a relative distance of a double."""
    if not math.isfinite(double):
        raise ValueError(f"A ball needs a finite centre, not {double!r}.")
    return arb(double, abs(double) * relative)


def root(value) -> arb:
    """The square root of a positive rational or ball."""
    return arb(value).sqrt()


def symmetric(bound) -> arb:
    """The ball [−bound, bound]."""
    return arb(0, arb(bound).abs_upper())


def up_to(bound) -> arb:
    """The ball [0, bound]."""
    return arb(0).union(arb(bound))
