"""An epoch of single rows: its equations in integral form, on Gauss points of time."""

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre

from edgelaw._common.types import Array
from edgelaw.exact import agreement
from edgelaw.exact.random_reshuffle.contours import Complex, Points
from edgelaw.exact.random_reshuffle.epochs import Epoch, Walk


class Grid(NamedTuple):
    """Times s, ∫₀ˢ as a matrix, ∫₀^ρ as weights; the same from the end on."""

    s: Array
    cumulative: Array
    weights: Array


@dataclass(frozen=True)
class Rows(Epoch):
    """An epoch of single rows at a step η."""

    step: float

    def mean(self, x: Complex, rho: float) -> Complex:
        """exp(−ηρ/x)."""
        return np.exp(-self.step * rho / x)

    def walk(self, points: Points, part: float) -> Iterator[Walk]:
        """All times at once, by a linear system in γ and one in c."""
        step, t, rho, grid = self.step, points.nodes[:, None], points.rho, self._grid(points, part)
        r, moments, identity = points.resolvent(), points.weights[:, None] * t, np.eye(len(grid.s))
        start, response = _decays(step * t, grid.cumulative)
        loop = identity + step * np.tensordot(points.a * moments * t * r, response, axes=(0, 0))
        gamma = np.linalg.solve(loop, ((moments * r).T @ start)[..., None])[..., 0].T
        drive = points.a * gamma
        f = start[..., None] - step * t[..., None] * np.tensordot(response, drive, axes=1)
        last = 1 - step * t * (grid.weights @ (f + drive))
        start, response = _decays(2 * step * t, grid.cumulative)
        source = step * drive * (step * gamma - 2 * r[:, None] * f)
        weighted = (moments * t)[..., None] * response
        free = start.T @ (moments * r) + np.tensordot(weighted, source, axes=((0, 2), (0, 1)))
        c = np.linalg.solve(identity - step**2 * weighted.sum(axis=0), free)
        decay = np.exp(-2 * step * t * (rho - grid.s)) * grid.weights
        C = r * np.exp(-2 * step * t * rho) + t * np.einsum("ts,tsz->tz", decay, source + step**2 * c)
        moved = step * grid.weights
        yield Walk(moved, step * moved, f.swapaxes(0, 1), gamma, c, last, C)

    def _grid(self, points: Points, part: float) -> Grid:
        """Gauss points that give b to 1e-13 of its size, or part of them: more if b is small but can still be seen."""
        decay = self.step * (2 - self.step) * points.rho
        rate = self.step * points.rho * float(np.abs(points.nodes).max())
        count = 18 + 5 * np.log1p(rate) + (0.75 * decay if np.exp(-decay) > agreement.VISIBLE else 0.0)
        y, w, cumulative = _integrals(int(part * int(count)))
        steep = min(4.0, 0.01 + np.log(max(rate, 1.0)) / 2)  # dense at both ends if rates are high
        slope = points.rho * steep / np.cosh(steep * y) ** 2 / np.tanh(steep) / 2
        s = points.rho * (1 + np.tanh(steep * y) / np.tanh(steep)) / 2
        return Grid(s, cumulative * slope, w * slope)


def _decays(rates: Complex, cumulative: Array) -> tuple[Complex, Complex]:
    """u′ = −rate·u + f, a conjugate for a conjugate rate: the solution for u(0) = 1 and f = 0, the response to f."""
    both = np.append(cumulative, np.ones((len(cumulative), 1)), axis=1)
    upper, which = np.unique(rates.real + 1j * np.abs(rates.imag), return_inverse=True)
    solved = np.linalg.solve(np.eye(len(cumulative)) + upper[:, None, None] * cumulative, both)[which.ravel()]
    np.conj(solved, out=solved, where=rates[..., None].imag < 0)
    return solved[..., -1], np.ascontiguousarray(solved[..., :-1])


@functools.lru_cache(maxsize=64)
def _integrals(points: int) -> tuple[Array, Array, Array]:
    """Gauss points and weights on (−1, 1), and the integral from −1 to each point as a matrix."""
    y, w = legendre.leggauss(points)
    P = legendre.legvander(y, points)
    coefficients = (P[:, :-1] * w[:, None]).T * (np.arange(points) + 0.5)[:, None]
    return y, w, P @ legendre.legint(coefficients, lbnd=-1)
