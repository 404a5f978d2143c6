r"""The double Cauchy transform b of random reshuffle's operator T, on one set of points and their conjugates.

The equations are those of :mod:`edgelaw.exact.random_reshuffle.operator`. They are solved in integral form on
S Gauss points of s in (0, ρ), dense at both ends. For two points almost all the work is the double integral

.. math:: \int_0^\rho q(s)\int_0^s q(s')\,\langle\lambda\,l(s')\bar f(s)\rangle_{12}\,ds'ds
          = \sum_k w_kr_{1k}r_{2k}\sum_{s \le s'} Y_k(s, s')\,q(s)q(s') ,

whose Y, symmetric in s and s', depends on the first point only: one matrix product a row, of S(S+1)/2 pairs of times
by the nodes k of ⟨·⟩ and the second points. Since b is symmetric, and ⟨·⟩ real on real functions, half the second
points are enough, and f is solved for in the upper half plane only.
"""

import functools
from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre

from edgelaw._common.compiled import compiled


class Pair(NamedTuple):
    """b(z_i, z_j), symmetric, and b(z_i, z̄_j), Hermitian; how far from it a row computed in full is; the first epoch's
    test loss.
    """

    plain: np.ndarray
    conjugate: np.ndarray
    asymmetry: float
    first: float


class Single(NamedTuple):
    """What belongs to one point z: r (z, t), a (z), f (z, t, s), f at ρ (z, t), γ (z, s), c (z, s); c for r = 1."""

    r: np.ndarray
    a: np.ndarray
    f: np.ndarray
    end: np.ndarray
    gamma: np.ndarray
    c: np.ndarray
    fresh: np.ndarray


class Second(NamedTuple):
    """The second points, each followed by its conjugate, along the last axis: r, a, γ, c, and γ(s)γ(s′) for s ≤ s′."""

    r: np.ndarray
    a: np.ndarray
    gamma: np.ndarray
    c: np.ndarray
    products: np.ndarray


def two_resolvents(average, z, x, rho, step, points):
    """b at all pairs of the points z and of them and their conjugates; ⟨·⟩ must be closed under conjugation."""
    grid = time_grid(points, rho, step * np.abs(average[0]).max() * rho)
    one = one_resolvent(average, z, x, rho, step, grid)
    mirrored = _resolvent(average[0], z.conj(), x.conj())
    a, gamma, c = (_interleaved(values, values.conj()) for values in (one.a, one.gamma, one.c))
    early, late = np.triu_indices(points)
    second = Second(_interleaved(one.r, mirrored), a, gamma, c, gamma[early] * gamma[late])
    count = len(z)
    plain, conjugate = np.empty((2, count, count), dtype=complex)
    for i in range(count):
        row = _row(i, average, one, Second(*(part[..., 2 * i :] for part in second)), step, grid)
        plain[i, i:], conjugate[i, i:] = row[::2], row[1::2]
        plain[i:, i], conjugate[i:, i] = row[::2], row[1::2].conj()
    last = _row(count - 1, average, one, second, step, grid)
    difference = max(np.abs(last[::2] - plain[-1]).max(), np.abs(last[1::2] - conjugate[-1]).max())
    asymmetry = difference / max(np.abs(last).max(), 1e-12 * np.abs(one.r).max() ** 2)
    first = 1 - step * (2 - step) * (grid[2] @ one.fresh).real  # fresh rows, the same for every order
    return Pair(plain, conjugate, float(asymmetry), float(first))


def _interleaved(values, mirrored):
    """A row a point made a column a point, followed by its mirror image's."""
    return np.ascontiguousarray(
        np.stack([values, mirrored], axis=1).reshape(2 * len(values), *values.shape[1:]).T
    )


def _row(i, average, one, second, step, grid):
    """b(z_i, ·) at the second points."""
    (t, w), (s, cumulative, weights) = average, grid
    back, before = one.f[i][:, ::-1], one.gamma[i][::-1, None]  # the grid is symmetric: these are at ρ − s
    a, q, c = second.a, second.gamma, second.c
    own, end, s = one.a[i], one.end[i], s[:, None]
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


@compiled
def _symmetric_pairs(outer, inner, weights):
    """Y(k, s ≤ s′): the sum of outer(s) weights(s, s′) inner(s′) and the same with s and s′ exchanged."""
    nodes, points = outer.shape
    table = np.empty((nodes, points * (points + 1) // 2), dtype=np.complex128)
    for k in range(nodes):
        place = 0
        for s in range(points):
            table[k, place] = outer[k, s] * inner[k, s] * weights[s, s]
            place += 1
            for other in range(s + 1, points):
                table[k, place] = (
                    outer[k, s] * inner[k, other] * weights[s, other]
                    + outer[k, other] * inner[k, s] * weights[other, s]
                )
                place += 1
    return table


def one_resolvent(average, z, x, rho, step, grid):
    """The equations of one point in integral form, implicit, at all points z."""
    (t, w), (_, cumulative, weights) = average, grid
    count, points, one = len(t), len(cumulative), np.eye(len(cumulative))
    r, a = _resolvent(t, z, x), x * z / rho
    start, response = decays(step * t, cumulative)
    total = ((w * t**2 * r) @ response.reshape(count, -1)).reshape(-1, points, points)
    total = one + (step * a)[:, None, None] * total
    gamma = np.linalg.solve(total, ((w * t * r) @ start)[..., None])[..., 0]
    answer = (response.reshape(-1, points) @ gamma.T).reshape(count, points, -1).transpose(2, 0, 1)
    f = start - (step * a)[:, None, None] * t[:, None] * answer
    end = 1 - step * t * ((f + (a[:, None] * gamma)[:, None, :]) @ weights)
    start, response = decays(2 * step * t, cumulative)
    source = step * (a[:, None] * gamma)[:, None, :] * (step * gamma[:, None, :] - 2 * r[:, :, None] * f)
    free = r @ ((w * t)[:, None] * start)
    free += (((w * t**2)[:, None, None] * response) @ source.transpose(1, 2, 0)).sum(axis=0).T
    free = np.concatenate([free, [(w * t) @ start]])
    total = one - step**2 * ((w * t**2) @ response.reshape(count, -1)).reshape(points, points)
    *c, fresh = np.linalg.solve(total, free.T).T
    return Single(r, a, f, end, gamma, np.array(c), fresh)


def decays(rates, cumulative):
    """u′ = −rate·u + f, rates closed under conjugation: the solution for u(0) = 1 and f = 0, and the response to f."""
    upper, lower, size = rates[rates.imag >= 0], rates.imag < 0, len(cumulative)
    both = np.concatenate([cumulative, np.ones((size, 1))], axis=1)
    solved = np.linalg.solve(np.eye(size) + upper[:, None, None] * cumulative, both)
    partner = np.abs(rates.real[:, None] + 1j * np.abs(rates.imag)[:, None] - upper).argmin(axis=1)
    solved = solved[partner]
    solved[lower] = solved[lower].conj()
    return solved[..., -1], np.ascontiguousarray(solved[..., :-1])


def _resolvent(t, z, x):
    """r (z, t)."""
    return 1 / (z[:, None] * (1 - x[:, None] * t))


def time_grid(points, rho, rate):
    """Gauss points on (0, ρ), dense at both ends if rates are high; ∫₀ˢ as a matrix, ∫₀^ρ as weights."""
    y, w, cumulative = _integrals(points)
    steep = min(4.0, 0.01 + np.log(max(rate, 1.0)) / 2)
    slope = rho * steep / np.cosh(steep * y) ** 2 / np.tanh(steep) / 2
    return rho * (1 + np.tanh(steep * y) / np.tanh(steep)) / 2, cumulative * slope, w * slope


@functools.lru_cache(maxsize=64)
def _integrals(points):
    """Gauss points and weights on (−1, 1), and the integral from −1 to each point as a matrix."""
    y, w = legendre.leggauss(points)
    P = legendre.legvander(y, points)
    order = np.arange(1, points)
    integrals = np.concatenate([(y + 1)[:, None], (P[:, 2:] - P[:, :-2]) / (2 * order + 1)], axis=1)
    return y, w, integrals @ ((P[:, :-1] * w[:, None]).T * (np.arange(points) + 0.5)[:, None])
