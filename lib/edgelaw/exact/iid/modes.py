r"""The spectrum of a diagonal matrix minus a rank-one one, :math:`\operatorname{diag}(\ell) - gg^\top`.

That is what an update under IID sampling takes from the mean squares of the error along eigenvectors: its own part
:math:`\ell_j` of each, less what the noise of all of them gives back. The eigenvalues x, the *rates*, are the roots of
the secular equation :math:`\sum_jg_j^2/(\ell_j-x) = 1`, one below each :math:`\ell_j`; the eigenvector of a root is
:math:`g_j/(\ell_j-x)`. Powers, sums of powers and exponentials of the matrix follow from them, so that an epoch of any
number of updates costs as much as one.
"""

from dataclasses import dataclass

import numpy as np

from edgelaw._common.compiled import compiled
from edgelaw._common.types import Array, Integers

SAME_POLE = 1e-13  # relative distance of two poles between which no root can be told
_LAST_STEP = 1e-8  # relative step of an iteration that converges quadratically, after which one more is exact


@dataclass(frozen=True, eq=False)
class Roots:
    """Roots in the order of their poles: values, nearest pole, distance from it, and Σ (g/(p − x))² there."""

    values: Array
    nearest: Integers
    offsets: Array
    squares: Array


def equal_poles(poles: Array) -> Integers:
    """The group of each of ascending positive poles: a new one begins where a pole is really larger than the last."""
    return np.cumsum(np.append(False, poles[1:] > poles[:-1] * (1 + SAME_POLE)))


def secular(poles: Array, g: Array) -> Roots:
    """The roots x of 1 + Σ g²/(p − x) = 0, one above each of the ascending poles p, all g positive.

    A root is sought as its distance τ from the nearer pole, so that all p − x are relatively accurate. A step takes
    that pole's term as it is, and of the others their sum and its derivative, as a constant and a term at the other end
    of the interval, or at the last root as a line: the root of such an equation is a quadratic's.
    """
    nearest, offsets, squares = _roots(poles, g)
    return Roots(poles[nearest] + offsets, nearest, offsets, squares)


def _roots_numpy(poles: Array, g: Array) -> tuple[Integers, Array, Array]:
    """The nearest poles, offsets and squares of all roots, 64 at a time: their distances stay in the cache."""
    blocks = np.array_split(np.arange(len(poles)), -(-len(poles) // 64))
    parts = [_block(poles, g, block) for block in blocks]
    nearest, offsets, squares = (np.concatenate(column) for column in zip(*parts, strict=True))
    return nearest, offsets, squares


@compiled(numpy=_roots_numpy)
def _roots(poles: Array, g: Array) -> tuple[Integers, Array, Array]:
    """The same, root by root: a tenth of the time at 2048 poles."""
    count = len(poles)
    nearest, offsets, squares = np.empty(count, dtype=np.int64), np.empty(count), np.empty(count)
    weights, total = g * g, 0.0
    for i in range(count):
        total += weights[i]
        last = i == count - 1
        width = total if last else poles[i + 1] - poles[i]
        near, tau = i, width / 2
        gaps = poles - poles[near]  # kept: machine code may reorder sums, but not across what is stored
        value, slope = _sums(gaps, weights, near, tau)
        if not last and 1 + value < weights[near] / tau:  # the next pole is nearer
            near, width, tau = i + 1, -width, -tau
            gaps = poles - poles[near]
            value, slope = _sums(gaps, weights, near, tau)
        low, high = min(width, 0.0), max(2 * width if last else width, 0.0)
        converged = False
        while not converged and low < (low + high) / 2 < high:
            if 1 + value < weights[near] / tau:
                low = tau
            else:
                high = tau
            proposed = _one_root(1 + value, slope, weights[near], tau, width, last)
            converged = not abs(proposed - tau) > _LAST_STEP * abs(tau)
            tau = proposed if converged or low < proposed < high else (low + high) / 2
            value, slope = _sums(gaps, weights, near, tau)
        own = g[near] / tau  # whose square may be known where that of τ is below what floats hold
        nearest[i], offsets[i], squares[i] = near, tau, slope + own * own
    return nearest, offsets, squares


@compiled
def _sums(gaps: Array, weights: Array, near: int, tau: float) -> tuple[float, float]:
    """Σ g²/(p − x) and its derivative at x = p_near + τ from the gaps p − p_near, without the term of that pole."""
    value = slope = 0.0
    for j in range(near):
        inverse = 1 / (gaps[j] - tau)
        value += weights[j] * inverse
        slope += weights[j] * inverse * inverse
    above, heavy = gaps[near + 1 :], weights[near + 1 :]  # indices from 0: a loop for vector registers
    for j in range(len(above)):
        inverse = 1 / (above[j] - tau)
        value += heavy[j] * inverse
        slope += heavy[j] * inverse * inverse
    return value, slope


@compiled
def _one_root(value: float, slope: float, weight: float, tau: float, width: float, last: bool) -> float:
    """What `_model_root` is for one root."""
    if last:
        square, linear, constant = slope, value - slope * tau, -weight
    else:
        far = width - tau
        level = value - slope * far
        square, linear, constant = -level, level * width + weight + slope * far * far, -weight * width
    root = np.sqrt(max(linear * linear - 4 * square * constant, 0.0))
    return -2 * constant / (linear + root) if linear >= 0 else (root - linear) / (2 * square)


def _block(poles: Array, g: Array, places: Integers) -> tuple[Integers, Array, Array]:
    """The nearest poles, offsets and squares of the roots above some of the poles."""
    last = places == len(poles) - 1
    widths = np.where(last, (g**2).sum(), poles[np.minimum(places + 1, len(poles) - 1)] - poles[places])
    near, tau = places.copy(), widths / 2
    value, _ = _other_terms(poles, g, near, tau)
    beyond = ~last & (1 + value < g[near] ** 2 / tau)  # the next pole is nearer
    near[beyond] += 1
    widths, tau = np.where(beyond, -widths, widths), np.where(beyond, -tau, tau)
    low, high = np.minimum(widths, 0.0), np.maximum(np.where(last, 2 * widths, widths), 0.0)
    active = np.arange(len(places))
    while len(active):
        at, weight, width = tau[active], g[near[active]] ** 2, widths[active]
        value, slope = _other_terms(poles, g, near[active], at)
        below = 1 + value < weight / at
        low[active], high[active] = np.where(below, at, low[active]), np.where(below, high[active], at)
        proposed = _model_root(1 + value, slope, weight, at, width, last[active])
        done = ~(np.abs(proposed - at) > _LAST_STEP * np.abs(at))
        inside = done | ((low[active] < proposed) & (proposed < high[active]))
        tau[active] = np.where(inside, proposed, (low[active] + high[active]) / 2)
        middle = (low[active] + high[active]) / 2
        active = active[~done & (low[active] < middle) & (middle < high[active])]
    squares = _other_terms(poles, g, near, tau)[1] + (g[near] / tau) ** 2
    return near, tau, squares


def _other_terms(poles: Array, g: Array, near: Integers, tau: Array) -> tuple[Array, Array]:
    """Σ g²/(p − x) and its derivative at x = p_near + τ, without the term of that pole."""
    distance = poles - poles[near][:, None]
    distance -= tau[:, None]
    parts = np.divide(g, distance, out=distance)
    parts[np.arange(len(near)), near] = 0.0
    return parts @ g, np.einsum("ij,ij->i", parts, parts)


def _model_root(value: Array, slope: Array, weight: Array, tau: Array, width: Array, last: Array) -> Array:
    """Where value + slope·(x − τ) at the last root, else c + B/(width − x) of this value and slope, is weight/x."""
    far = width - tau
    level = value - slope * far
    square = np.where(last, slope, -level)
    linear = np.where(last, value - slope * tau, level * width + weight + slope * far * far)
    constant = np.where(last, -weight, -weight * width)
    root = np.sqrt(np.maximum(linear * linear - 4 * square * constant, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(linear >= 0, -2 * constant / (linear + root), (root - linear) / (2 * square))


@dataclass(frozen=True, eq=False)
class Modes:
    """diag(ℓ) − ggᵀ by its eigenvectors; directions of equal ℓ are one group, with one eigenvector along g.

    What a group has beside `direction`, its part of g over its length, is changed by ℓ alone.
    """

    loss: Array
    members: Integers
    direction: Array
    rates: Array
    vectors: Array

    def apply(self, values: Array, of_rates: Array, of_loss: Array, sizes: bool = False) -> Array:
        """A function of the matrix, given at the rates and at ℓ, on a vector or on columns.

        With `sizes` no terms cancel: the sum of their sizes.
        """
        columns = values.reshape(len(self.loss), -1)
        vectors = np.abs(self.vectors) if sizes else self.vectors
        inside = self.within(columns)
        left = columns if sizes else columns - self.direction[:, None] * inside[self.members]
        moved = self.back(vectors @ (of_rates[:, None] * (vectors.T @ inside)))
        return (moved + of_loss[:, None] * left).reshape(values.shape)

    def within(self, columns: Array) -> Array:
        """What columns have along the groups' parts of g."""
        inside = np.zeros((len(self.rates), columns.shape[1]))
        np.add.at(inside, self.members, self.direction[:, None] * columns)
        return inside

    def back(self, inside: Array) -> Array:
        """Columns with these parts along g, and nothing else."""
        return self.direction[:, None] * inside[self.members]


def modes(loss: Array, g: Array) -> Modes:
    """The spectrum of diag(loss) − ggᵀ, all losses positive or all g zero."""
    order = np.argsort(loss, kind="stable")
    members = np.empty(len(loss), dtype=np.int64)
    groups = equal_poles(loss[order])
    members[order] = groups[-1] - groups  # descending losses: ascending poles
    heads, size = np.sqrt(np.bincount(members, g**2)), np.bincount(members)
    poles = np.zeros(len(heads))
    poles[members] = -loss
    direction = np.divide(g, heads[members], out=1 / size[members] ** 0.5, where=heads[members] > 0)
    if not heads.any():
        return Modes(loss, members, direction, -poles, np.eye(len(poles)))
    roots = secular(poles, heads)
    gaps = (poles[roots.nearest] - poles[:, None]) + roots.offsets  # root k − pole j, without cancellation
    vectors = heads[:, None] / gaps
    return Modes(loss, members, direction, -roots.values, vectors / np.linalg.norm(vectors, axis=0))
