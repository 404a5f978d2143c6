r"""An epoch of single rows: the double Cauchy transform b of its operator, and what residuals meet at its end.

With x, a and r of :mod:`edgelaw.exact.random_reshuffle.contours`, η the step, s = (rows used)/d from 0 to ρ,
:math:`\gamma = \langle\lambda rf\rangle` and :math:`c = \langle\lambda C\rangle`,

.. math::

    f' = -\eta\lambda(f + a\gamma),\ f(0) = 1; \qquad
    C' = -2\eta\lambda C + \eta^2\lambda c + a\lambda(\eta^2\gamma^2 - 2\eta\gamma r f),\ C(0) = r

are :math:`(z-S)^{-1}A_s \simeq rf` and :math:`A_s(z-S)^{-1}A_s^\top \simeq C`. For two points, with
:math:`\langle\cdot\rangle_{12} = \langle\cdot\,r_1r_2\rangle`, :math:`\bar f = f_1(\rho-s)`,
:math:`\bar\gamma = \gamma_1(\rho-s)`, :math:`l = -\bar f'`, :math:`q = \gamma_2(s)`, c = c₂(s) and
:math:`D = 1 - a_1a_2\langle\lambda^2\rangle_{12}s`,

.. math::

    p &= \{\langle\lambda f_1(\rho)\rangle_{12} + a_2\textstyle\int_0^s q\langle\lambda l\rangle_{12}\}/D, \\
    P &= \langle\lambda f_1(\rho)\bar f\rangle_{12}
         + a_2\textstyle\int_0^s q(s')\langle\lambda l(s')\bar f\rangle_{12}ds'
         + \langle\lambda^2\bar f\rangle_{12}\int_0^s a_1a_2\{p + a_2qs'\langle\lambda l\rangle_{12}\}D^{-1}ds', \\
    b &= \langle f_1(\rho)^2\rangle_{12} + \textstyle\int_0^\rho\{\eta^2(c + a_2q^2)\langle\lambda\bar f^2r_1\rangle
         + a_1\eta^2c\bar\gamma^2 + a_1a_2(p - \eta q\bar\gamma)^2 - 2\eta a_2qP\}\,ds

is :math:`\mathbb E\operatorname{tr}[(z_1-S)^{-1}A(z_2-S)^{-1}A^\top]/d`: symmetric in z₁ and z₂, though it does not
look it. The equations are solved in integral form on S Gauss points of s in (0, ρ), dense at both ends. For two points
almost all the work is the double integral

.. math:: \int_0^\rho q(s)\int_0^s q(s')\,\langle\lambda\,l(s')\bar f(s)\rangle_{12}\,ds'ds
          = \sum_k w_kr_{1k}r_{2k}\sum_{s \le s'} Y_k(s, s')\,q(s)q(s') ,

whose Y, symmetric in s and s', depends on the first point only: one matrix product a row, of S(S+1)/2 pairs of times
by the nodes k of ⟨·⟩ and the second points. Since b is symmetric, and ⟨·⟩ real on real functions, half the second
points are enough, and f is solved for in the upper half plane only.
"""

import functools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.polynomial import legendre

from edgelaw._common.types import Array
from edgelaw.exact.random_reshuffle.contours import Complex, End, Nodes, Pairs, Points

_SMALL_B = 28.0  # a first epoch's decay, in powers of e, from which on b is too small for more times to help


@dataclass(frozen=True)
class Rows:
    """An epoch of single rows at a step η."""

    step: float
    symmetric = True

    def mean(self, x: Complex, rho: float) -> Complex:
        """exp(−ηρ/x)."""
        return np.exp(-self.step * rho / x)

    def pairs(self, points: Points, part: float) -> Pairs:
        """b at all pairs of the points, and of them and their conjugates."""
        return two_resolvents(points, self.step, self.grid(points.rho, part, points.nodes))

    def end(self, points: Points, tau: Complex, part: float) -> End:
        """C at the end of an epoch, for the kick of residuals."""
        grid = self.grid(points.rho, part, np.concatenate([points.nodes, tau]))
        return _end(points, tau, self.step, grid)

    def grid(self, rho: float, part: float, nodes: Nodes) -> "Grid":
        """Times s that give b to 1e-13 of its size, or part of them: more if b is small but not too small."""
        decay, rate = self.step * (2 - self.step) * rho, self.step * rho * float(np.abs(nodes).max())
        count = 18 + 5 * np.log1p(rate) + (0.75 * decay if decay < _SMALL_B else 0.0)
        return time_grid(int(part * int(count)), rho, rate)


@dataclass(frozen=True, eq=False)
class Grid:
    """Times s, ∫₀ˢ as a matrix, ∫₀^ρ as weights."""

    s: Array
    cumulative: Array
    weights: Array


@dataclass(frozen=True, eq=False)
class Single:
    """What belongs to one point z: r (z, t), a (z), f (z, t, s), f at ρ (z, t), γ (z, s), c (z, s); c for r = 1."""

    r: Complex
    a: Complex
    f: Complex
    end: Complex
    gamma: Complex
    c: Complex
    fresh: Complex


class Second(NamedTuple):
    """The second points, each followed by its conjugate, along the last axis: r, a, γ, c, and γ(s)γ(s′) for s ≤ s′."""

    r: Complex
    a: Complex
    gamma: Complex
    c: Complex
    products: Complex

    def beyond(self, first: int) -> "Second":
        """The same from a column on."""
        return Second(*(part[..., first:] for part in self))


def two_resolvents(points: Points, step: float, grid: Grid) -> Pairs:
    """b at all pairs of the points and of them and their conjugates."""
    one = one_resolvent(points, step, grid)
    a, gamma, c = (_interleaved(values, values.conj()) for values in (one.a, one.gamma, one.c))
    early, late = np.triu_indices(len(grid.s))
    r = _interleaved(one.r, points.mirrored().resolvent())
    second = Second(r, a, gamma, c, gamma[early] * gamma[late])
    count = len(points.z)
    plain, conjugate = np.empty((2, count, count), dtype=complex)
    for i in range(count):
        row = _row(i, points, one, second.beyond(2 * i), step, grid)
        plain[i, i:], conjugate[i, i:] = row[::2], row[1::2]
        plain[i:, i], conjugate[i:, i] = row[::2], row[1::2].conj()
    last = _row(count - 1, points, one, second, step, grid)
    difference = max(np.abs(last[::2] - plain[-1]).max(), np.abs(last[1::2] - conjugate[-1]).max())
    asymmetry = difference / max(np.abs(last).max(), 1e-12 * np.abs(one.r).max() ** 2)
    first = 1 - step * (2 - step) * (grid.weights @ one.fresh).real  # fresh rows, the same for every order
    return Pairs(plain, conjugate, float(asymmetry), float(first))


def _interleaved(values: Complex, mirrored: Complex) -> Complex:
    """A row a point made a column a point, followed by its mirror image's."""
    both = np.stack([values, mirrored], axis=1).reshape(2 * len(values), *values.shape[1:])
    return np.ascontiguousarray(both.T)


def _row(i: int, points: Points, one: Single, second: Second, step: float, grid: Grid) -> Complex:
    """b(z_i, ·) at the second points."""
    t, w, weights, cumulative = points.nodes, points.weights, grid.weights, grid.cumulative
    back, before = one.f[i][:, ::-1], one.gamma[i][::-1, None]  # the grid is symmetric: these are at ρ − s
    a, q, c = second.a, second.gamma, second.c
    own, end, s = one.a[i], one.end[i], grid.s[:, None]
    W = (w * one.r[i])[:, None] * second.r
    change = -step * t[:, None] * (back + own * before.T)
    double = _symmetric_pairs(t[:, None] * back, change, weights[:, None] * cumulative) @ second.products
    tables = (t[:, None] * change).T, ((t * end)[:, None] * back).T, ((t**2)[:, None] * back).T
    moments = np.concatenate([*tables, [t**2, t * end, end**2]]) @ W
    lone, direct, squares = moments[:-3].reshape(3, len(s), -1)
    square, first, last = moments[-3:]
    D = 1 - own * a * square * s
    p = (first + a * (cumulative @ (q * lone))) / D
    P = direct + squares * (cumulative @ (own * a * (p + a * q * s * lone) / D))
    integrand = step**2 * (c + a * q**2) * ((w * t * one.r[i]) @ back**2)[:, None]
    integrand += own * step**2 * c * before**2 + own * a * (p - step * q * before) ** 2
    integrand -= 2 * step * a * q * P
    return last + weights @ integrand - 2 * step * a**2 * (W * double).sum(axis=0)


def _symmetric_pairs(outer: Complex, inner: Complex, weights: Array) -> Complex:
    """Y(k, s ≤ s′): the sum of outer(s) weights(s, s′) inner(s′) and the same with s and s′ exchanged."""
    table = outer[:, :, None] * inner[:, None, :]
    table *= weights
    table += table.transpose(0, 2, 1).copy()
    diagonal = np.arange(len(weights))
    table[:, diagonal, diagonal] /= 2
    return table.reshape(len(table), -1)[:, _upper(len(weights))]


@functools.lru_cache(maxsize=64)
def _upper(size: int) -> npt.NDArray[np.intp]:
    """Where a square matrix, flattened, has its upper triangle."""
    return np.ravel_multi_index(np.triu_indices(size), (size, size))


def one_resolvent(points: Points, step: float, grid: Grid) -> Single:
    """The equations of one point in integral form, implicit, at all points."""
    t, w = points.nodes, points.weights
    count, size, one = len(t), len(grid.s), np.eye(len(grid.s))
    r, a = points.resolvent(), points.a
    start, response = decays(step * t, grid.cumulative)
    total = ((w * t**2 * r) @ response.reshape(count, -1)).reshape(-1, size, size)
    total = one + (step * a)[:, None, None] * total
    gamma = np.linalg.solve(total, ((w * t * r) @ start)[..., None])[..., 0]
    answer = (response.reshape(-1, size) @ gamma.T).reshape(count, size, -1).transpose(2, 0, 1)
    f = start - (step * a)[:, None, None] * t[:, None] * answer
    end = 1 - step * t * ((f + (a[:, None] * gamma)[:, None, :]) @ grid.weights)
    start, response = decays(2 * step * t, grid.cumulative)
    source = step * (a[:, None] * gamma)[:, None, :] * (step * gamma[:, None, :] - 2 * r[:, :, None] * f)
    free = r @ ((w * t)[:, None] * start)
    free += (((w * t**2)[:, None, None] * response) @ source.transpose(1, 2, 0)).sum(axis=0).T
    free = np.concatenate([free, [(w * t) @ start]])
    total = one - step**2 * ((w * t**2) @ response.reshape(count, -1)).reshape(size, size)
    *c, fresh = np.linalg.solve(total, free.T).T
    return Single(r, a, f, end, gamma, np.array(c), fresh)


def decays(rates: Nodes, cumulative: Array) -> tuple[Complex, Complex]:
    """u′ = −rate·u + f, rates closed under conjugation: the solution for u(0) = 1 and f = 0, and the response to f."""
    upper, lower, size = rates[rates.imag >= 0], rates.imag < 0, len(cumulative)
    both = np.concatenate([cumulative, np.ones((size, 1))], axis=1)
    solved = np.linalg.solve(np.eye(size) + upper[:, None, None] * cumulative, both)
    partner = np.abs(rates.real[:, None] + 1j * np.abs(rates.imag)[:, None] - upper).argmin(axis=1)
    solved = solved[partner]
    solved[lower] = solved[lower].conj()
    return solved[..., -1], np.ascontiguousarray(solved[..., :-1])


def _end(points: Points, tau: Complex, step: float, grid: Grid) -> End:
    """C(z, τ) after an epoch of single rows, and its slope at τ = 0."""
    one, rho, z = one_resolvent(points, step, grid), points.rho, points.z
    r = points.resolvent(tau)
    drive = one.a[:, None] * one.gamma
    fresh = step**2 * (one.c + drive * one.gamma)
    decay = np.exp(-2 * step * np.multiply.outer(tau, rho - grid.s)) * grid.weights
    values = r * np.exp(-2 * step * rho * tau) + (fresh @ decay.T) * tau
    values -= 2 * step * r * tau * _driven(drive, decay, step * tau, grid.cumulative)
    return End(values, points.x / z + (fresh - 2 * step * drive / z[:, None]) @ grid.weights)


def _driven(drive: Complex, decay: Complex, rates: Complex, cumulative: Array) -> Complex:
    """Σ_s decay f drive, a row per z and a column per τ, f the solution of (1 + ητ∫)f = 1 − ητ∫ drive.

    It is linear in the drive but for a quadratic form, whose matrix is one for all z: the pairs of times are columns.
    """
    free, response = decays(rates, cumulative)
    early, late = np.triu_indices(len(cumulative))
    form = decay[:, :, None] * response
    both = (form + form.transpose(0, 2, 1))[:, early, late]
    both[:, early == late] /= 2
    return drive @ (free * decay).T - (drive[:, early] * drive[:, late]) @ (rates[:, None] * both).T


def time_grid(count: int, rho: float, rate: float) -> Grid:
    """So many Gauss points on (0, ρ), dense at both ends if rates are high, and integrals on them."""
    y, w, cumulative = _integrals(count)
    steep = min(4.0, 0.01 + np.log(max(rate, 1.0)) / 2)
    slope = rho * steep / np.cosh(steep * y) ** 2 / np.tanh(steep) / 2
    s = rho * (1 + np.tanh(steep * y) / np.tanh(steep)) / 2
    return Grid(s, cumulative * slope, w * slope)


@functools.lru_cache(maxsize=64)
def _integrals(points: int) -> tuple[Array, Array, Array]:
    """Gauss points and weights on (−1, 1), and the integral from −1 to each point as a matrix."""
    y, w = legendre.leggauss(points)
    P = legendre.legvander(y, points)
    order = np.arange(1, points)
    integrals = np.concatenate([(y + 1)[:, None], (P[:, 2:] - P[:, :-2]) / (2 * order + 1)], axis=1)
    return y, w, integrals @ ((P[:, :-1] * w[:, None]).T * (np.arange(points) + 0.5)[:, None])
