"""Limits and exponents read off a function of n at a few large arguments."""

import functools
import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike


@functools.cache
def constant(loss: Callable, power: float, step: float, start: int = 1600, levels: int = 5) -> float:
    """The limit of n^power times a loss, from doublings of n, by Richardson's extrapolation in n^(-1/2)."""
    n = start * 2 ** np.arange(levels)
    values = n**power * np.asarray(loss(n, step))
    for k in range(1, levels):
        factor = 2 ** (k / 2)
        values = (factor * values[1:] - values[:-1]) / (factor - 1)
    return float(values[-1])


def limit_in_root(function: Callable, n: int, levels: int = 4) -> float:
    """Limit of a function of n with an expansion in n^(−1/2), from n, 4n, 16n and so on."""
    table = [function(n * 4**k) for k in range(levels)]
    for k in range(1, levels):
        table = [(2**k * b - a) / (2**k - 1) for a, b in pairwise(table)]
    return float(table[0])


def limit_in_n(function: Callable, n: int) -> float:
    """Limit of a function of n with an expansion in 1/n, from n, 2n, 4n and 8n."""
    table = [function(n * 2**k) for k in range(4)]
    for power in (2, 4, 8):
        table = [(power * b - a) / (power - 1) for a, b in pairwise(table)]
    return float(table[0])


def decay_exponent(function: Callable, n: int = 4000, factor: int = 16) -> float:
    """The power with which |function| changes between n and a multiple of it."""
    return math.log(abs(function(factor * n) / function(n))) / math.log(factor)


def slope(x: ArrayLike, y: ArrayLike) -> float:
    """Least-squares slope of log y against log x."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])
