r"""Single shuffle on any spectrum: the two-variable generating functions of its losses, without any eigenproblem.

One epoch multiplies the error by A. In terms of the average ⟨·⟩ of :mod:`edgelaw.exact.levy`, with m = ρd,

.. math:: \sum_n z^n\,E A^n \simeq (I - z e^{-c\Sigma})^{-1}, \qquad c\,\bigl(1/\eta + \langle\lambda\alpha\rangle\bigr)
   = \rho, \qquad \alpha = \frac{z e^{-c\lambda}}{1 - z e^{-c\lambda}},

and with a = c/ρ at z, b and β the same at w, σ = a + b, τ = 1 + α + β, and the linear operator J on functions of λ,
:math:`J C = -\sigma\lambda C + ab\lambda\langle\lambda\tau C\rangle`,

.. math:: \Phi(z, w) = \sum_{i,j} z^i w^j\,\frac{E\operatorname{tr}A^iA^{j\top}}{d}
   = \langle\tau\,C_0\rangle, \qquad C_s = e^{sJ}(I - zw\,e^{\rho J})^{-1}1 .

The training loss is the same with :math:`S = \sum_k u_ku_k^\top` in the trace. With :math:`p = e^{a\lambda s}`,
:math:`q = e^{b\lambda s}`, :math:`X = a\langle\lambda\alpha p\rangle` and :math:`Y = b\langle\lambda\beta q\rangle`
it is :math:`[z^nw^n]\,\Psi/\rho`,

.. math:: \Psi = \int_0^\rho \bigl\{\langle\lambda\tau C_0\rangle + XY\langle\lambda\tau C_s\rangle
   - X\langle\lambda(q\beta C_s + (1+\alpha)C_0/p)\rangle
   - Y\langle\lambda(p\alpha C_s + (1+\beta)C_0/q)\rangle\bigr\}\,ds .

**Both in closed form up to one sum.** J is diagonal plus rank one, its rank-one part is tied to the diagonal by
:math:`\sigma/(ab) = \kappa + \langle\lambda\tau\rangle` with κ = 2/η − 1 (the equations for a and b added), and
:math:`1/(1-e^x) = \frac12 - \sum_k 1/(x-2\pi ik)`. So with

.. math:: s_k = \frac{-\log zw + 2\pi ik}{\rho}, \quad
   g_k = \Bigl\langle\frac{\lambda\tau}{s_k+\sigma\lambda}\Bigr\rangle,
   \quad \varphi_k = \frac{1}{\kappa + s_kg_k}, \quad \theta_k = g_k\varphi_k

the solution of :math:`(s_k - J)C = 1` is :math:`\theta_k + \kappa\varphi_k/(s_k+\sigma\lambda)`, and

.. math::

    \Phi &= \frac{\langle\tau\rangle}{1-zw} - \frac{\sigma\kappa}{\rho}\sum_k\frac{\theta_k}{s_k}, \\
    \Psi &= \tfrac12\langle\lambda T\rangle + \frac1\rho\sum_k\Bigl\{\theta_k\langle\lambda T\rangle
      + \kappa\varphi_k\Bigl\langle\frac{\lambda T}{s_k+\sigma\lambda}\Bigr\rangle
      - \kappa\sigma\theta_k\Bigl\langle\frac{\lambda}{s_k+\sigma\lambda}\Bigr\rangle\Bigr\}, \\
    T &= \rho\tau + D_z + D_w, \qquad
    D_z(\lambda) = \Bigl\langle\lambda'\,\frac{\alpha(\lambda')-\alpha(\lambda)}{\lambda'-\lambda}\Bigr\rangle' .

In Ψ the term with XY cancels against the constant part of :math:`C_s`, since σ/(ab) = 1/a + 1/b; what is left separates
in λ and λ', and the integrals over s of X and Y give :math:`D_z` and :math:`D_w`.

**The sum over k.** The terms of k and −k together are an even function of k, analytic at infinity, with poles on the
imaginary axis out to :math:`k_{\max} = |\sigma|\rho\lambda_{\max}/2\pi`. The first few are taken as they are; the
others by the Gauss rule of the measure :math:`\sum_{k>K} y_k\delta_{y_k}`, :math:`y = 1/(k^2 + (K+1)k_{\max})`, which
puts the poles at equal distances on both sides. A dozen to a hundred terms do for ten digits.
"""

import functools
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from edgelaw._common.types import Array, Integers
from edgelaw.exact import sources
from edgelaw.exact.levy import Average
from edgelaw.exact.single_shuffle import kernel, paths
from edgelaw.exact.single_shuffle.targets import StartMeasure

_DIGITS = 11.3  # decimal, of the sum over k
_ALL = 96  # so many roots of unity, or fewer, are taken one by one
_EXPLICIT = 20000  # terms of the sum's measure before it becomes an integral
_BLOCK = 256  # pairs whose arrays (pairs, terms) are in memory at once


class Pairs:
    """Φ and Ψ/ρ at pairs of points for one average, a step τ per row, and batches of κd of the ρd rows (κ = 0: rows).

    What is solved at a point is a row whose first number is the amplitude a.
    """

    def __init__(self, average: Average, rho: float, tau: float, kappa: float = 0.0) -> None:
        moving = average.nodes != 0
        self.null = average.weights[~moving].sum().real
        self.nodes = average.nodes[moving].astype(complex)
        self.weights = average.weights[moving].astype(complex)
        self.heavy = self.nodes * self.weights
        self.rho, self.tau, self.kappa = rho, tau, kappa
        self.start = np.full(1, tau, dtype=complex)
        self._mirror = np.abs(self.nodes[:, None].conj() - self.nodes).argmin(axis=1)
        gaps = self.nodes[:, None] - self.nodes
        np.fill_diagonal(gaps, np.inf)
        self._divided = self.heavy[:, None] / gaps

    @property
    def count(self) -> int:
        """Batches per epoch; 0 for single rows, of which there are infinitely many."""
        return round(self.rho / self.kappa) if self.kappa else 0

    def changes(self, log_z: complex, x: npt.NDArray) -> tuple[npt.NDArray, npt.NDArray]:
        """Newton's change of a(1/τ + ⟨λα/θ⟩) = 1, and the slope of its solution by log z."""
        seen, by_z, by_a = kernel.response(x[0], log_z, self.nodes, self.heavy, self.rho, self.kappa)
        slope = 1 / self.tau + seen - x * by_a
        return (x * (1 / self.tau + seen) - 1) / slope, -x * by_z / slope

    def around(self, radius: float, angles: Array) -> tuple[npt.NDArray, float]:
        """What is solved at radius·e^(i·angles), angles descending from π, and Newton's largest last relative change."""
        path = paths.around(float(np.log(radius)), angles)
        solved, worst = paths.follow(path, self.start, self.changes, 0.1 * self.tau)
        return solved[1:], worst

    def decay(self, solved: npt.NDArray, places: npt.NDArray) -> npt.NDArray:
        """−log θ^L at some λ, cλ for single rows: α is 1/(e^decay/z − 1)."""
        seen = solved[..., :1] * places
        return -self.count * np.log(1 - self.kappa * seen) if self.kappa else self.rho * seen

    def real(self, solved: npt.NDArray) -> npt.NDArray:
        """Whether amplitudes are real."""
        return (np.abs(solved.imag) < 1e-7 * np.abs(solved)).all(axis=1)

    def poles(self, log_z: npt.NDArray, solved: npt.NDArray) -> npt.NDArray:
        """The poles of α as functions of λ that are nearest to the nodes, and of batches those opposite."""
        turns = np.arange(-2.0, 3)
        if self.kappa:
            turns = np.unique(np.append(turns, self.count // 2 + turns) % self.count)
        return self._shifted((log_z + 2j * np.pi * turns[:, None]) / self.rho) / solved[:, 0]

    def _shifted(self, x: npt.NDArray) -> npt.NDArray:
        """(1 − e^(−κx))/κ, which is x for single rows."""
        return -np.expm1(-self.kappa * x) / self.kappa if self.kappa else x

    def diagonal(self, log_z: npt.NDArray, solved: npt.NDArray) -> Array:
        """Φ and Ψ/ρ at the pairs (z, z̄), where they are squared norms as long as the series converge."""
        places = np.arange(len(log_z))
        return self.values(log_z, solved, places, places + len(log_z)).real

    def values(
        self, log_z: npt.NDArray, solved: npt.NDArray, first: Integers, second: Integers
    ) -> npt.NDArray:
        """Φ and Ψ/ρ at pairs of indices into the points followed by their conjugates."""
        points = self._points(log_z, solved, *self.resolvents(log_z, solved))
        logs, tau = points.logs, (points.weights[:, 0] / points.nodes).sum(axis=1)
        if points.own.size:
            tau = tau + (points.parts[:, 0] / points.own).sum(axis=1)
        ct, _, train, free, separate = self._sums(points, first, second)
        heavy = points.weights[:, 1].sum(axis=1) + points.parts[:, 1].sum(axis=1)
        phi = ct - free - (tau[first] + tau[second]) / np.expm1(logs[first] + logs[second])
        phi += self.null / (np.expm1(logs[first]) * np.expm1(logs[second]))
        psi = train + separate + (heavy[first] + heavy[second]) / 2
        return np.stack([phi, psi / self.rho])

    def label_sums(
        self, log_z: npt.NDArray, solved: npt.NDArray, start: StartMeasure, first: Integers, second: Integers
    ) -> npt.NDArray:
        """The sums over k of training loss, fresh-row loss and distance (`label_pairs`), for single rows."""
        points = self._points(log_z, solved, *self.resolvents(log_z, solved))
        begun = 1 / np.expm1(self.decay(points.a[:, None], start.nodes) - points.logs[:, None])
        weights = np.zeros((len(points.a), 4, len(self.nodes) + len(start.nodes)), complex)
        weights[:, :3, : len(self.nodes)] = points.weights
        weights[:, 3, len(self.nodes) :] = start.weights * start.nodes * (0.5 + begun)
        points = points._replace(nodes=np.append(self.nodes, start.nodes), weights=weights)
        distance, fresh, train, *_ = self._sums(points, first, second)
        return np.stack([train, fresh, distance])

    def resolvents(
        self, log_z: npt.NDArray, solved: npt.NDArray
    ) -> tuple[npt.NDArray, npt.NDArray, tuple[npt.NDArray, ...]]:
        """α and D at the nodes, and the points' own nodes: places, and weight · place times α and times D."""
        alpha = 1 / np.expm1(self.decay(solved, self.nodes) - log_z[:, None])
        slope = self.rho * solved[:, :1] / (1 - self.kappa * solved[:, :1] * self.nodes)
        D = alpha @ self._divided - alpha * self._divided.sum(axis=0)
        nothing = np.empty((len(log_z), 0), complex)
        return alpha, D - self.heavy * slope * alpha * (1 + alpha), (nothing, nothing, nothing)

    def _points(
        self,
        log_z: npt.NDArray,
        solved: npt.NDArray,
        alpha: npt.NDArray,
        D: npt.NDArray,
        own: tuple[npt.NDArray, ...],
    ) -> "_Points":
        """What the sums need to know of the points and their conjugates."""
        alpha, D = (np.concatenate([x, x.conj()[:, self._mirror]]) for x in (alpha, D))
        places, tau, rest = (np.concatenate([x, x.conj()]) for x in own)
        T = self.heavy * (self.rho * (0.5 + alpha) + D)
        weights = [self.heavy * (0.5 + alpha), T, np.broadcast_to(self.heavy / 2, T.shape)]
        parts = [tau, self.rho * tau + rest, np.zeros_like(tau)]
        if self.kappa:
            weights += [self.nodes * (T + self.kappa / 2 * self.heavy), self.nodes * weights[0]]
            parts += [places * parts[1], places * tau]
        logs, a = (np.concatenate([x, x.conj()]) for x in (log_z, solved[:, 0]))
        return _Points(logs, a, self.nodes, np.stack(weights, axis=1), places, np.stack(parts, axis=1))

    def _sums(self, points: "_Points", first: Integers, second: Integers) -> npt.NDArray:
        """The sums over k, over ρ, for pairs of points."""
        own = self.rho * np.abs(points.a[:, None] * points.own).max(initial=0.0)
        reach = np.abs(self.decay(points.a[:, None], points.nodes)).max(), own, np.abs(points.logs.real).max()
        rule, values = terms(max(reach) / np.pi, self.count), np.empty((5, len(first)), complex)
        for start in range(0, len(first), _BLOCK):
            block = slice(start, start + _BLOCK)
            i, j = first[block], second[block]
            weights = points.weights[i] + points.weights[j]
            nodes = np.broadcast_to(points.nodes, (len(i), len(points.nodes)))
            if points.own.size:
                weights = np.concatenate([weights, points.parts[i], points.parts[j]], axis=2)
                nodes = np.concatenate([nodes, points.own[i], points.own[j]], axis=1)
            sigma, p = points.a[i] + points.a[j], points.a[i] * points.a[j]
            slopes = nodes * (sigma[:, None] - self.kappa * p[:, None] * nodes)
            pieces = points.logs[i] + points.logs[j], sigma, p, slopes
            values[:, block] = kernel.sums(pieces, weights, rule, self.rho, self.kappa)
        return values / self.rho


class _Points(NamedTuple):
    """Points followed by their conjugates: log z, a, nodes and weights of the sums, and each point's own ones."""

    logs: npt.NDArray
    a: npt.NDArray
    nodes: npt.NDArray
    weights: npt.NDArray
    own: npt.NDArray
    parts: npt.NDArray


def terms(furthest: float, count: int = 0) -> tuple[Array, Array]:
    """k and weights of the sum over k, or over so many roots of unity, for poles up to i·furthest."""
    largest = 2.0 ** (np.ceil(2 * np.log2(max(furthest, 1.0))) / 2) if np.isfinite(furthest) else np.inf
    if count and (count <= _ALL or 8 * largest > count):
        return np.arange(count) - count // 2.0, np.ones(count)
    return _sum_rule(largest if np.isfinite(largest) else 1.0, count)


@functools.lru_cache(maxsize=64)
def _sum_rule(largest: float, count: int) -> tuple[Array, Array]:
    """The terms |k| ≤ K as they are and the others by a Gauss rule; K makes the two parts cost the same."""
    digits = _DIGITS * np.log(10)
    explicit = max(1, int(np.ceil((0.12 * digits * np.sqrt(largest)) ** (2 / 3) - 1)))
    size = 2 + int(np.ceil(digits / 4.15 * np.sqrt(largest / (explicit + 1))))
    shift = (explicit + 1.0) * largest
    if count:
        k = np.arange(explicit + 1, count // 2 + 1)
        y = 1 / ((count / np.pi * np.sin(np.pi * k / count)) ** 2 + shift)
        masses = np.where(2 * k == count, 0.5, 1.0) * y
    else:
        k = np.arange(explicit + 1.0, _EXPLICIT + 1)
        u, weights = np.polynomial.legendre.leggauss(60)
        u, weights, start = (u + 1) / 2, weights / 2, _EXPLICIT + 0.5  # the rest is an integral over k = start/u
        beyond = u**2 / (start**2 + shift * u**2)
        y = np.append(1 / (k**2 + shift), beyond)
        masses = np.append(y[: len(k)], weights * beyond * start / u**2)
    roots, shares = sources.gauss_rule(y / y[0], masses, size)
    late = np.sqrt(np.maximum(1 / (roots * y[0]) - shift, 0))
    if count:
        late = count / np.pi * np.arcsin(np.minimum(np.pi * late / count, 1.0))
    near, shares = np.arange(-explicit, explicit + 1.0), shares / (roots * y[0])
    return np.concatenate([near, late, -late]), np.concatenate([np.ones(len(near)), shares, shares])
