"""Gauss–Legendre quadrature on panels, which may shrink towards a point that the integrand crowds at."""

import functools

import numpy as np

from edgelaw._common.types import Array, ArrayLike


def panels(edges: ArrayLike, order: int) -> tuple[Array, Array]:
    """Points and weights of the rule with so many points between each two neighbours of ascending edges.

    Examples
    --------
    >>> x, weights = panels([0.0, 0.1, 1.0], 3)
    >>> round(float(weights @ x**5), 12)
    0.166666666667
    """
    edges = np.asarray(edges, dtype=float)
    nodes, weights = _rule(order)
    half = np.diff(edges)[:, None] / 2
    return (edges[:-1, None] + half * (1 + nodes)).ravel(), (half * weights).ravel()


@functools.cache
def _rule(order: int) -> tuple[Array, Array]:
    return np.polynomial.legendre.leggauss(order)
