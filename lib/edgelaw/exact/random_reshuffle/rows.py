r"""An epoch of single rows: the double Cauchy transform b of its operator, and what residuals meet at its end.

The equations of f, γ = ⟨λrf⟩, C and c = ⟨λC⟩ for one point z, and of p, P and b for two, are those of the appendix on
any spectrum (f, ψ, E, e, h, h̄ and b there; its ν is a here), in integral form on S Gauss points of s = (rows used)/d
in (0, ρ). For two points almost all the work is

.. math:: \int_0^\rho q(s)\int_0^s q(s')\,\langle\lambda\,l(s')\bar f(s)\rangle_{12}\,ds'ds
          = \sum_k w_kr_{1k}r_{2k}\sum_{s \le s'} Y_k(s, s')\,q(s)q(s') ,

q the γ of the second point; Y depends on the first one only, so that this is one matrix product a row. Since b is
symmetric, though it does not look it, and ⟨·⟩ real on real functions, half the pairs of points are enough.
"""

import functools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre

from edgelaw._common.types import Array
from edgelaw.exact import agreement
from edgelaw.exact.random_reshuffle.contours import Complex, Pairs, Points


class Grid(NamedTuple):
    """Times s, ∫₀ˢ as a matrix, ∫₀^ρ as weights."""

    s: Array
    cumulative: Array
    weights: Array


@dataclass(frozen=True)
class Rows:
    """An epoch of single rows at a step η."""

    step: float
    symmetric = True

    def mean(self, x: Complex, rho: float) -> Complex:
        """exp(−ηρ/x)."""
        return np.exp(-self.step * rho / x)

    def pairs(self, points: Points, part: float) -> Pairs:
        """b at all pairs of the points, and of them and their conjugates, by a `part` of the times that it takes."""
        return two_resolvents(points, self.step, self.grid(points.rho, part, points.nodes))

    def end(self, points: Points, tau: Complex, part: float) -> tuple[Complex, Complex]:
        """C(z, τ) at the end of an epoch, a row per τ, and ∂C/∂τ at τ = 0 up to a multiple of 1/z."""
        step, grid = self.step, self.grid(points.rho, part, np.append(points.nodes, tau))
        one, r = _one_resolvent(points, step, grid), points.resolvent(tau)
        drive = points.a * one.gamma
        fresh = step**2 * (one.c + drive * one.gamma)
        start, response = _decays(step * tau, grid.cumulative)
        decay = np.exp(-2 * step * np.multiply.outer(tau, points.rho - grid.s)) * grid.weights
        form = _upper(decay[:, :, None] * response) @ (points.a**2 * one.products)
        driven = (decay * start) @ drive - (step * tau)[:, None] * form
        values = r * np.exp(-2 * step * points.rho * tau)[:, None]
        values += tau[:, None] * (decay @ fresh - 2 * step * r * driven)
        return values, points.x / points.z + grid.weights @ (fresh - 2 * step * drive / points.z)

    def grid(self, rho: float, part: float, nodes: Complex) -> Grid:
        """Times s that give b to 1e-13 of its size, or part of them: more if b is small but can still be seen."""
        decay, rate = self.step * (2 - self.step) * rho, self.step * rho * float(np.abs(nodes).max())
        count = 18 + 5 * np.log1p(rate) + (0.75 * decay if np.exp(-decay) > agreement.VISIBLE else 0.0)
        return time_grid(int(part * int(count)), rho, rate)


class Single(NamedTuple):
    """Solutions at points z, along the last axis: r (t, z), f (t, s, z), f at ρ (t, z), γ and c (s, z).

    `products` are γ(s)γ(s′) for s ≤ s′, halved for s = s′.
    """

    r: Complex
    f: Complex
    end: Complex
    gamma: Complex
    c: Complex
    products: Complex


def two_resolvents(points: Points, step: float, grid: Grid) -> Pairs:
    """b at all pairs of the points and of them and their conjugates."""
    every, count = points.doubled(), len(points.z)
    one = _one_resolvent(every, step, grid)
    plain, conjugate = np.empty((2, count + 1, count + 1), dtype=complex)
    for i in range(count + 1):
        row = _row(2 * i, 2 * i, every, one, step, grid)
        plain[i, i:], conjugate[i, i:-1] = row[::2], row[1::2]
        plain[i:, i], conjugate[i:-1, i] = row[::2], row[1::2].conj()
    first, plain, conjugate = plain[-1, -1].real, plain[:-1, :-1], conjugate[:-1, :-1]
    last = _row(2 * count - 2, 0, every, one, step, grid)[:-1]
    difference = max(np.abs(last[::2] - plain[-1]).max(), np.abs(last[1::2] - conjugate[-1]).max())
    asymmetry = difference / max(np.abs(last).max(), 1e-12 * np.abs(one.r).max() ** 2)
    return Pairs(plain, conjugate, float(asymmetry), float(first))


def _row(i: int, first: int, points: Points, one: Single, step: float, grid: Grid) -> Complex:
    """b(z_i, ·) at the points from the `first` on."""
    t, w, weights, cumulative = points.nodes, points.weights, grid.weights, grid.cumulative
    back, before = one.f[:, ::-1, i], one.gamma[::-1, i, None]  # the grid is symmetric: these are at ρ − s
    a, q, c = points.a[first:], one.gamma[:, first:], one.c[:, first:]
    own, r, end, s = points.a[i], one.r[:, i], one.end[:, i], grid.s[:, None]
    W = (w * r)[:, None] * one.r[:, first:]
    change = -step * t[:, None] * (back + own * before.T)
    table = (t[:, None] * back)[:, :, None] * change[:, None, :]
    table *= weights[:, None] * cumulative
    double = _upper(table) @ one.products[:, first:]
    tables = (t[:, None] * change).T, ((t * end)[:, None] * back).T, ((t**2)[:, None] * back).T
    moments = np.concatenate([*tables, [t**2, t * end, end**2]]) @ W
    lone, direct, squares = moments[:-3].reshape(3, len(s), -1)
    square, at_end, last = moments[-3:]
    D = 1 - own * a * square * s
    p = (at_end + a * (cumulative @ (q * lone))) / D
    P = direct + squares * (cumulative @ (own * a * (p + a * q * s * lone) / D))
    integrand = step**2 * (c + a * q**2) * ((w * t * r) @ back**2)[:, None]
    integrand += own * step**2 * c * before**2 + own * a * (p - step * q * before) ** 2
    integrand -= 2 * step * a * q * P
    return last + weights @ integrand - 2 * step * a**2 * (W * double).sum(axis=0)


def _upper(table: Complex) -> Complex:
    """A table (k, s, s′) and its transpose added up, for s ≤ s′."""
    early, late = _ordered(table.shape[-1])
    both = table + table.transpose(0, 2, 1)
    return both.reshape(len(table), -1)[:, early * table.shape[-1] + late]


_ordered = functools.lru_cache(maxsize=64)(np.triu_indices)


def _one_resolvent(points: Points, step: float, grid: Grid) -> Single:
    """The equations of one point in integral form, implicit, at all points."""
    t, moments = points.nodes, points.weights * points.nodes
    r, identity = points.resolvent(), np.eye(len(grid.s))
    start, response = _decays(step * t, grid.cumulative)
    loop = identity + step * np.tensordot(points.a * (moments * t)[:, None] * r, response, axes=(0, 0))
    gamma = np.linalg.solve(loop, ((moments[:, None] * r).T @ start)[..., None])[..., 0].T
    drive = points.a * gamma
    f = start[..., None] - (step * t)[:, None, None] * np.tensordot(response, drive, axes=1)
    end = 1 - step * t[:, None] * (grid.weights @ (f + drive))
    start, response = _decays(2 * step * t, grid.cumulative)
    source = step * drive * (step * gamma - 2 * r[:, None] * f)
    weighted = (moments * t)[:, None, None] * response
    free = start.T @ (moments[:, None] * r) + np.tensordot(weighted, source, axes=((0, 2), (0, 1)))
    loop = identity - step**2 * weighted.sum(axis=0)
    early, late = _ordered(len(grid.s))
    products = gamma[early] * gamma[late] * np.where(early == late, 0.5, 1.0)[:, None]
    return Single(r, f, end, gamma, np.linalg.solve(loop, free), products)


def _decays(rates: Complex, cumulative: Array) -> tuple[Complex, Complex]:
    """u′ = −rate·u + f, rates closed under conjugation: the solution for u(0) = 1 and f = 0, and the response to f."""
    upper, size = rates[rates.imag >= 0], len(cumulative)
    both = np.append(cumulative, np.ones((size, 1)), axis=1)
    solved = np.linalg.solve(np.eye(size) + upper[:, None, None] * cumulative, both)
    partner = np.abs((rates.real + 1j * np.abs(rates.imag))[:, None] - upper).argmin(axis=1)
    solved = solved[partner]
    solved[rates.imag < 0] = solved[rates.imag < 0].conj()
    return solved[..., -1], np.ascontiguousarray(solved[..., :-1])


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
    coefficients = (P[:, :-1] * w[:, None]).T * (np.arange(points) + 0.5)[:, None]
    return y, w, P @ legendre.legint(coefficients, lbnd=-1)
