r"""An epoch of averaged batches of rows: the double Cauchy transform b of its operator.

An epoch is a product of :math:`I - \tau_kU_k^\top U_k`, one factor per batch of :math:`\kappa_kd` rows. With
:math:`\theta_k = 1 - \kappa_k\tau_k\lambda`, :math:`\gamma_k = \langle\lambda rf_{k-1}\rangle` and
:math:`c_k = \langle\lambda C_{k-1}\rangle` the equations of :mod:`.rows` become

.. math::

    f_k &= \theta_kf_{k-1} - \kappa_k\tau_k\lambda a\gamma_k, & f_0 &= 1, \\
    C_k &= \theta_k^2C_{k-1} - \kappa_k\tau_k\lambda a\gamma_kr(\theta_kf_{k-1} + f_k)
           + \kappa_k\tau_k^2\lambda(c_k + a\gamma_k^2), & C_0 &= r .

For a first point take the same recursion from the last batch, :math:`G_L = 1`, :math:`G_{k-1} = \theta_kG_k -
\kappa_k\tau_k\lambda a_1h_k`, :math:`h_k = \langle\lambda r_1G_k\rangle`, and γ, c from the second. Then

.. math::

    \Phi &= G_0 - a_2\lambda\sum_k\kappa_k\tau_k\gamma_kG_k, \qquad
    \psi = \langle\lambda r_1r_2\Phi\rangle, \qquad \Gamma = \sum_k\kappa_k\tau_k\gamma_kh_k, \qquad
    g = \frac{\psi - a_1a_2\langle\lambda^2r_1r_2\rangle\Gamma}{1 - \rho a_1a_2\langle\lambda^2r_1r_2\rangle}, \\
    b &= \langle r_1r_2\Phi^2\rangle + a_1a_2(\rho g\psi - \Gamma\psi - g\Gamma)
         + \sum_k\kappa_k\tau_k^2(c_k + a_2\gamma_k^2)(\langle\lambda r_1G_k^2\rangle + a_1h_k^2) .

*Derived*: U_k is Gaussian and enters linearly; quadratic forms are replaced by their means. One batch is gradient
descent, exactly. With a shorter last batch the epoch and its transpose differ in law, and b is not symmetric.
"""

from dataclasses import dataclass

import numpy as np

from edgelaw.exact.batches.partition import Partition
from edgelaw.exact.random_reshuffle.contours import Complex, Pairs, Points


@dataclass(frozen=True, eq=False)
class Batches:
    """An epoch of averaged batches."""

    cut: Partition

    @property
    def symmetric(self) -> bool:
        """Whether all batches are equal."""
        return self.cut.equal

    def mean(self, x: Complex, rho: float) -> Complex:
        """∏(1 − κτ/x), which single rows have as exp(−ηρ/x)."""
        sizes, counts = np.unique(self.cut.kappas * self.cut.taus, return_counts=True)
        return ((1 - sizes / x[:, None]) ** counts).prod(axis=1)

    def pairs(self, points: Points, part: float = 1.0) -> Pairs:
        """b at all pairs of the points, and of them and their conjugates, exactly, whatever the `part` of the times."""
        b = _transform(points, self.cut)
        plain, conjugate, first = b[:-1, :-1:2], b[:-1, 1::2], b[-1, -1].real
        other = b if self.symmetric else _transform(points, self._reversed)
        off = plain - other[:-1, :-1:2].T, conjugate - other[:-1, 1::2].conj().T
        asymmetry = np.abs(off).max() / np.abs(b[:-1, :-1]).max(initial=1e-300)
        return Pairs(plain, conjugate, float(asymmetry), float(first))

    def end(self, points: Points, tau: Complex, part: float) -> tuple[Complex, Complex]:
        """As of single rows, of the transposed epoch: the kick is what reaches λ from 0, C says what reaches 0 from z.

        Each τ is a node of no weight.
        """
        cut, count = self._reversed, len(points.nodes)
        nodes, weights = np.append(points.nodes, tau), np.append(points.weights, np.zeros(len(tau)))
        gamma, c, C = _forwards(points._replace(nodes=nodes, weights=weights), cut)
        drive = points.a * gamma
        change = cut.taus[:, None] * (c + drive * gamma) - 2 * drive / points.z
        return C[count:], points.x / points.z + (cut.kappas * cut.taus) @ change

    @property
    def _reversed(self) -> Partition:
        """The batches in the opposite order."""
        return Partition(self.cut.kappas[::-1].copy(), self.cut.taus[::-1].copy())


def _transform(points: Points, cut: Partition) -> Complex:
    """b at the points and infinity and, along the second axis, at the points, their conjugates, and infinity."""
    every, size = points.doubled(), (cut.kappas * cut.taus)[::-1, None]  # the last batch first
    t, w, a2, r2 = every.nodes[:, None], every.weights[:, None], every.a, every.resolvent()
    a, r = a2[::2], r2[:, ::2]
    gamma, c = (part[::-1] for part in _forwards(every, cut)[:2])
    noise = size * cut.taus[::-1, None] * (c + a2 * gamma**2)
    G = np.ones(r.shape, dtype=complex)
    sums = np.zeros((r.size, len(a2)), dtype=complex)  # Σ κτγG
    Gamma, rest = np.zeros((2, len(a), len(a2)), dtype=complex)
    for first in range(0, cut.batches, len(t)):  # so many G are held at a time
        part = slice(first, first + len(t))
        table, h, G = _backwards(w * t * r, a, t * size[part, None], G)
        sums += table.reshape(len(table), -1).T @ (size * gamma)[part]
        Gamma += h.T @ (size * gamma)[part]
        rest += ((w * t * r * table**2).sum(axis=1) + a * h**2).T @ noise[part]
    Phi = G[..., None] - a2 * (t[..., None] * sums.reshape(*r.shape, -1))
    W = (w * r)[..., None] * r2[:, None]
    psi, v = (t[..., None] * W * Phi).sum(axis=0), (t[..., None] ** 2 * W).sum(axis=0)
    both = a[:, None] * a2
    g = (psi - both * v * Gamma) / (1 - points.rho * both * v)
    return (W * Phi**2).sum(axis=0) + both * (points.rho * g * psi - Gamma * psi - g * Gamma) + rest


def _backwards(moments: Complex, a: Complex, rates: Complex, G: Complex) -> tuple[Complex, Complex, Complex]:
    """G after each of some batches, the last batch first, and h there; and G before all of them."""
    table, h = np.empty((len(rates), *G.shape), dtype=complex), np.empty((len(rates), len(a)), dtype=complex)
    for k, rate in enumerate(rates):
        table[k], h[k] = G, (moments * G).sum(axis=0)
        G = (1 - rate) * G - rate * (a * h[k])
    return table, h, G


def _forwards(points: Points, cut: Partition) -> tuple[Complex, Complex, Complex]:
    """γ and c before every batch, a row each, at all points; and C after the epoch."""
    t, r, a = points.nodes[:, None], points.resolvent(), points.a
    moments = points.weights * points.nodes
    gamma, c = np.empty((2, cut.batches, len(a)), dtype=complex)
    f, C = np.ones(r.shape, dtype=complex), r
    for k, (size, tau) in enumerate(zip(cut.kappas * cut.taus, cut.taus, strict=True)):
        gamma[k], c[k] = moments @ (r * f), moments @ C
        rate, drive = size * t, a * gamma[k]
        before = (1 - rate) * f
        f = before - rate * drive
        C = (1 - rate) ** 2 * C + rate * (tau * (c[k] + drive * gamma[k]) - drive * r * (before + f))
    return gamma, c, C
