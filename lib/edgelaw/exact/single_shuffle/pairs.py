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

import numpy as np

from edgelaw.exact import sources
from edgelaw.exact.single_shuffle import kernel

_DIGITS = 26.0  # e^−26 is left of the sum over k
_TURN = 0.15, 0.3  # the way around a circle: radians per station, and share of the distance from z = 1
_EXPLICIT = 20000  # terms of the sum's measure before it becomes an integral


class Pairs:
    """Φ and Ψ/ρ at pairs of points, for one average, step and ρ."""

    def __init__(self, average, step, rho):
        moving = average.nodes != 0
        self.null = average.weights[~moving].sum().real
        self.nodes = average.nodes[moving].astype(complex)
        self.weights = average.weights[moving].astype(complex)
        self.heavy = self.nodes * self.weights
        self.step, self.rho = step, rho
        self._start = complex(step * rho)
        self._mirror = np.abs(self.nodes[:, None].conj() - self.nodes).argmin(axis=1)
        gaps = self.nodes[:, None] - self.nodes
        np.fill_diagonal(gaps, np.inf)
        self._divided = self.heavy[:, None] / gaps

    def exponent(self, path, start=None):
        """c at the points of a path and how far Newton's method was from its end; from 0 if no start is given."""
        if start is None:
            way = path[0] * np.linspace(0.03, 1, 30)[:-1]
            path = np.concatenate([way, path])
            c, worst = self._exponents(path, self._start)
            return c[29:], worst
        return self._exponents(path, start)

    def _exponents(self, path, start):
        return kernel.exponents(path, self.nodes, self.heavy, 1 / self.step, self.rho, start)

    def around(self, radius, angles):
        """c at radius·e^(i·angles), angles descending from π: along the negative axis, then around the circle."""
        way = np.union1d(stations(np.log(radius)), angles)[::-1]
        c, worst = self.exponent(radius * np.exp(1j * way[way >= angles[-1]]))
        return c[np.searchsorted(-way, -angles)], worst

    def real(self, c):
        """Whether exponents are real."""
        return np.abs(c.imag) < 1e-7 * np.abs(c)

    def poles(self, log_z, c):
        """The poles of α as functions of λ that are nearest to the nodes, for points z with exponents c."""
        turns = 2 * np.pi * np.arange(-2, 3)[:, None]
        return (log_z + 1j * turns) / c

    def diagonal(self, z, c):
        """Φ and Ψ/ρ at the pairs (z, z̄), where they are squared norms as long as the series converge."""
        places = np.arange(len(z))
        return self.values(z, c, places, places + len(z)).real

    def values(self, z, c, first, second):
        """Φ and Ψ/ρ at pairs of indices into the points followed by their conjugates."""
        return self._values(
            np.log(z), c, *self._resolvents(z, c), np.empty((3, len(z), 0), complex), first, second
        )

    def _resolvents(self, z, c):
        """α and D at the nodes, for points z with exponents c."""
        powers = z[:, None] * np.exp(-c[:, None] * self.nodes)
        alpha = powers / (1 - powers)
        D = alpha @ self._divided - alpha * self._divided.sum(axis=0)
        return alpha, D - self.heavy * c[:, None] * alpha * (1 + alpha)

    def _values(self, logs, c, alpha, D, own, first, second):
        """Φ and Ψ/ρ from α and D at the nodes and from the points' own nodes, as `pair_sums` of the kernel has them."""
        alpha, D = (np.concatenate([x, x.conj()[:, self._mirror]]) for x in (alpha, D))
        own = np.concatenate([own, own.conj()], axis=1)
        logs, a = np.concatenate([logs, logs.conj()]), np.concatenate([c, c.conj()]) / self.rho
        z = np.exp(logs)
        reach = max(np.abs(self.nodes).max(), np.abs(own[0]).max(initial=0.0))
        furthest = np.abs(a[first] + a[second]).max() * self.rho * reach
        furthest = max(furthest, np.abs((logs[first] + logs[second]).real).max()) / (2 * np.pi)
        phi, psi = kernel.pair_sums(
            first,
            second,
            logs,
            a,
            alpha,
            D,
            self.nodes,
            self.heavy,
            own,
            2 / self.step - 1,
            self.rho,
            *terms(furthest),
        )
        tau = alpha @ self.weights
        if own.shape[2]:
            tau = tau + (own[1] / own[0]).sum(axis=1)
        phi += (self.weights.sum() + tau[first] + tau[second]) / (1 - z[first] * z[second])
        phi += self.null / ((1 - z[first]) * (1 - z[second]))
        return np.stack([phi, psi / self.rho])


def stations(logarithm):
    """Angles from π to 0 at which c is computed on the way around a circle: denser where the circle passes z = 1."""
    angles = [np.pi]
    while angles[-1] > 0:
        distance = np.hypot(angles[-1], logarithm)
        angles.append(angles[-1] - min(_TURN[0], max(_TURN[1] * distance, 1e-4)))
    return np.maximum(angles, 0.0)


def terms(furthest):
    """k and weights of the sum over k, for poles up to i·furthest; where that is NaN, so are the sums."""
    largest = max(furthest, 1.0) if np.isfinite(furthest) else 1.0
    return _sum_rule(2.0 ** (np.ceil(2 * np.log2(largest)) / 2))


@functools.lru_cache(maxsize=64)
def _sum_rule(largest):
    """The terms |k| ≤ K as they are and the others by a Gauss rule; K makes the two parts cost the same."""
    explicit = max(1, int(np.ceil((0.12 * _DIGITS * np.sqrt(largest)) ** (2 / 3) - 1)))
    size = 2 + int(np.ceil(_DIGITS / 4.15 * np.sqrt(largest / (explicit + 1))))
    shift = (explicit + 1.0) * largest
    k = np.arange(explicit + 1.0, _EXPLICIT + 1)
    y, masses = 1 / (k**2 + shift), 1 / (k**2 + shift)
    u, weights = np.polynomial.legendre.leggauss(60)
    u, weights, start = (u + 1) / 2, weights / 2, _EXPLICIT + 0.5  # the rest is an integral over k = start/u
    beyond = u**2 / (start**2 + shift * u**2)
    y, masses = np.append(y, beyond), np.append(masses, weights * beyond * start / u**2)
    roots, shares = sources.gauss_rule(y / y[0], masses, size)
    late = np.sqrt(np.maximum(1 / (roots * y[0]) - shift, 0))
    k = np.arange(-explicit, explicit + 1.0)
    shares = shares / (roots * y[0])
    return np.concatenate([k, late, -late]), np.concatenate([np.ones(len(k)), shares, shares])
