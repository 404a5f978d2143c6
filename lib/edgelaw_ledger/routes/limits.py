"""Limits and exponents read off a function of n at a few large arguments."""

import functools
import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike


def _extrapolated(function, n, levels, ratio, factor):
    """Richardson's extrapolation from n, ratio·n, …, where the k-th term falls by factor^k each time."""
    table = [function(n * ratio**k) for k in range(levels)]
    for k in range(1, levels):
        table = [(factor**k * b - a) / (factor**k - 1) for a, b in pairwise(table)]
    return float(table[0])


def limit_in_root(function: Callable, n: int, levels: int = 4) -> float:
    """Limit of a function of n with an expansion in n^(−1/2), from n, 4n, 16n and so on."""
    return _extrapolated(function, n, levels, 4, 2)


def limit_in_n(function: Callable, n: int) -> float:
    """Limit of a function of n with an expansion in 1/n, from n, 2n, 4n and 8n."""
    return _extrapolated(function, n, 4, 2, 2)


@functools.cache
def constant(loss: Callable, power: float, step: float, start: int = 1600, levels: int = 5) -> float:
    """The limit of n^power times a loss, with an expansion in n^(−1/2), from doublings of n."""
    return _extrapolated(lambda n: n**power * float(loss(n, step)), start, levels, 2, math.sqrt(2))


def decay_exponent(function: Callable, n: int = 4000, factor: int = 16) -> float:
    """The power with which |function| changes between n and a multiple of it."""
    return math.log(abs(function(factor * n) / function(n))) / math.log(factor)


def slope(x: ArrayLike, y: ArrayLike) -> float:
    """Least-squares slope of log y against log x."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])
