"""A root between two ends, and quadrature on panels: small, because importing SciPy's takes longer than using them."""

import functools
from collections.abc import Callable

import numpy as np

from edgelaw._common.types import Array, ArrayLike


def bracketed_root(
    function: Callable[[float], float], low: float, high: float, tolerance: float = 1e-12
) -> float:
    """The root of a continuous function that changes its sign between two ends, by bisection and secants in turn.

    It is known to `tolerance` times 1 + |root|. Equal signs at the ends, or a value that is not a number, are refused.

    >>> round(bracketed_root(lambda x: x * x - 2, 0.0, 2.0), 12)
    1.414213562373
    """
    at_low, at_high = function(low), function(high)
    if not at_low * at_high <= 0:
        raise ValueError("The function must have different signs at the two ends.")
    for turn in range(200):
        if abs(high - low) <= tolerance * (1 + abs(low)) or at_low == 0 or at_high == 0:
            break
        middle = (low + high) / 2
        if turn % 3 and np.isfinite(at_low + at_high):
            middle = (low * at_high - high * at_low) / (at_high - at_low)
        value = function(middle)
        if at_low * value <= 0:
            high, at_high = middle, value
        else:
            low, at_low = middle, value
    return low if abs(at_low) < abs(at_high) else high


def panels(edges: ArrayLike, order: int) -> tuple[Array, Array]:
    """Gauss and Legendre's points and weights, so many between each two neighbours of ascending edges.

    >>> x, weights = panels([0.0, 0.1, 1.0], 3)
    >>> round(float(weights @ x**5), 12)
    0.166666666667
    """
    edges = np.asarray(edges, dtype=float)
    nodes, weights = _rule(order)
    half = np.diff(edges)[:, None] / 2
    return (edges[:-1, None] + half * (1 + nodes)).ravel(), (half * weights).ravel()


_rule = functools.cache(np.polynomial.legendre.leggauss)
