r"""The spectrum of a diagonal matrix minus a rank-one one, :math:`\operatorname{diag}(\ell) - gg^\top`.

That is what an update under IID sampling takes from the mean squares of the error along eigenvectors. The eigenvalues
x are the roots of :math:`\sum_jg_j^2/(\ell_j-x) = 1`, one below each :math:`\ell_j`; the eigenvector of a root is
:math:`g_j/(\ell_j-x)`.
"""

from typing import NamedTuple

import numpy as np

from edgelaw._common.types import Array, Integers


class Roots(NamedTuple):
    """Roots in the order of their poles: values, nearest pole, distance from it, and Σ (g/(p − x))² there."""

    values: Array
    nearest: Integers
    offsets: Array
    squares: Array


def secular(poles: Array, g: Array) -> Roots:
    """The roots x of 1 + Σ g²/(p − x) = 0, one above each of the ascending poles p, all g positive.

    A root is sought as its distance τ from the nearer pole, so that all p − x are relatively accurate, with that pole's
    term as it is and the others as a constant and a term at the other end of the interval: then it is a quadratic's.
    """
    near, active = np.arange(len(poles)), np.arange(len(poles))
    widths = np.append(np.diff(poles), 2 * g @ g)
    tau = widths / 2
    value, slope = _other_terms(poles, g, near, tau)
    beyond = 1 + value < g**2 / tau  # the next pole is nearer
    beyond[-1] = False
    near, turned = near + beyond, np.where(beyond, -1, 1)
    widths, tau = turned * widths, turned * tau
    value[beyond], slope[beyond] = _other_terms(poles, g, near[beyond], tau[beyond])
    low, high = np.minimum(widths, 0.0), np.maximum(widths, 0.0)
    while len(active):
        widths[-1] = 2 * tau[-1]  # beyond the last root is no pole: one is imagined there
        at, weight, level = tau[active], g[near[active]] ** 2, 1 + value[active]
        below = level < weight / at
        low[active], high[active] = np.where(below, at, low[active]), np.where(below, high[active], at)
        proposed = _model_root(level, slope[active], weight, at, widths[active])
        # the next step would be exact
        done = ~(np.abs(proposed - at) > np.finfo(float).eps ** 0.5 * np.abs(at))
        inside = done | ((low[active] < proposed) & (proposed < high[active]))
        middle = (low[active] + high[active]) / 2
        tau[active] = np.where(inside, proposed, middle)
        value[active], slope[active] = _other_terms(poles, g, near[active], tau[active])
        active = active[~done & (low[active] < middle) & (middle < high[active])]
    return Roots(poles[near] + tau, near, tau, slope + (g[near] / tau) ** 2)


def _other_terms(poles: Array, g: Array, near: Integers, tau: Array) -> tuple[Array, Array]:
    """Σ g²/(p − x) and its derivative at x = p_near + τ, without the term of that pole.

    64 roots at a time: their distances stay in the cache.
    """
    value, slope = np.empty((2, len(near)))
    for first in range(0, len(near), 64):
        part = slice(first, first + 64)
        distance = poles - poles[near[part], None]
        distance -= tau[part, None]
        terms = np.divide(g, distance, out=distance)
        np.put_along_axis(terms, near[part, None], 0.0, axis=1)
        value[part], slope[part] = terms @ g, np.einsum("ij,ij->i", terms, terms)
    return value, slope


def _model_root(value: Array, slope: Array, weight: Array, tau: Array, width: Array) -> Array:
    """Where c + B/(width − x) of this value and slope at τ is weight/x."""
    far = width - tau
    level = value - slope * far
    linear, constant = level * width + weight + slope * far * far, -weight * width
    root = np.sqrt(np.maximum(linear * linear + 4 * level * constant, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(linear >= 0, -2 * constant / (linear + root), (linear - root) / (2 * level))


def distinct(values: Array) -> Array:
    """Ascending values, of which equal ones are told apart in their last digits."""
    places = np.arange(len(values))
    raised = np.maximum.accumulate(_ordered(values.view(np.int64)) - places) + places
    return _ordered(raised).view(np.float64)


def _ordered(patterns: Integers) -> Integers:
    """Patterns of 64 bits in the order of the numbers that they stand for, or back: of negative ones it is reversed."""
    return patterns ^ (patterns >> 63 & np.iinfo(np.int64).max)


def modes(loss: Array, g: Array) -> tuple[Array, Array]:
    """The rates and eigenvectors of diag(loss) − ggᵀ, no g zero, or all of them."""
    if not g.any():
        return loss, np.eye(len(loss))
    order, poles = np.argsort(loss, kind="stable")[::-1], np.empty(len(loss))
    poles[order] = -distinct(loss[order[::-1]])[::-1]
    roots = secular(poles[order], g[order])
    vectors = poles[order[roots.nearest]] - poles[:, None]
    vectors += roots.offsets  # root k − pole j, without cancellation
    np.divide(g[:, None], vectors, out=vectors)
    vectors /= roots.squares**0.5
    return -roots.values, vectors
