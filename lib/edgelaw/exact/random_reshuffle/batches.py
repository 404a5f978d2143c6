r"""An epoch of averaged batches of rows: the double Cauchy transform b of its operator.

An epoch is a product of :math:`P_k = I - \tau_kU_k^\top U_k`, one factor per batch of :math:`\kappa_kd` rows. With x,
r and a of :mod:`edgelaw.exact.random_reshuffle.rows` and :math:`\theta_k = 1 - \kappa_k\tau_k\lambda` its
differential equations become, with :math:`\gamma_k = \langle\lambda rf_{k-1}\rangle` and :math:`c_k = \langle\lambda
C_{k-1}\rangle`,

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
         + \sum_k\kappa_k\tau_k^2(c_k + a_2\gamma_k^2)(\langle\lambda r_1G_k^2\rangle + a_1h_k^2)

is :math:`\mathbb E\operatorname{tr}[(z_1-S)^{-1}A(z_2-S)^{-1}A^\top]/d`. The mean epoch has :math:`\prod_k(1 -
\kappa_k\tau_k/x)` where rows one by one have :math:`e^{-\eta\rho/x}`. *Derived*: U_k is Gaussian and enters linearly;
quadratic forms are replaced by their means. One batch, L = 1, is gradient descent, exactly.

If the last batch is shorter, then A and its transpose differ in law and b is not symmetric. Only Φ costs anything: one
matrix product of the G by the γ.
"""

from dataclasses import dataclass

import numpy as np

from edgelaw._common.types import Array
from edgelaw.exact.batches.partition import Partition
from edgelaw.exact.random_reshuffle import engine
from edgelaw.exact.random_reshuffle.contours import Complex, End, Law, Pairs, Points, with_conjugates


@dataclass(frozen=True, eq=False)
class Batches:
    """An epoch of averaged batches."""

    cut: Partition

    @property
    def symmetric(self) -> bool:
        """Whether all batches are equal, so that A and its transpose have the same law."""
        return self.cut.equal

    def mean(self, x: Complex, rho: float) -> Complex:
        """∏(1 − κτ/x)."""
        if self.cut.equal:
            return (1 - self.cut.kappas[0] * self.cut.taus[0] / x) ** self.cut.batches
        return (1 - self.cut.kappas * self.cut.taus / x[:, None]).prod(axis=1)

    def pairs(self, points: Points, part: float) -> Pairs:
        """b at all pairs of the points, and of them and their conjugates; nothing is discretised, so no `part` is."""
        return two_resolvents(points, self.cut)

    def end(self, points: Points, tau: Complex, part: float) -> End:
        """C at the end of an epoch, for the kick of residuals: of the transposed epoch, whose last batch comes first.

        The kick is what reaches λ from 0, while C says what reaches 0 from z.
        """
        return _end(points, tau, reverse(self.cut))


def reverse(cut: Partition) -> Partition:
    """The batches in the opposite order."""
    return Partition(cut.kappas[::-1].copy(), cut.taus[::-1].copy())


def refuse_unstable(law: Law, cut: Partition, step: float) -> None:
    """Refuse a step beyond stability."""
    if engine.amplification(law, Batches(cut)) >= 1:
        limit = step * stable_factor(law, cut)
        raise ValueError(
            f"step must be below {limit:.6g}, where random reshuffle with this batch becomes unstable, not {step:g}."
        )


def stable_factor(law: Law, cut: Partition) -> float:
    """By what all steps may be multiplied before T's spectral radius is 1, to a relative 1e-6."""

    def stable(factor: float) -> bool:
        return engine.amplification(law, Batches(cut.scaled(factor))) < 1

    low = high = 1.0
    while not stable(low):
        low, high = low / 2, low
    while low == high or stable(high):
        low, high = high, 2 * high
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if stable(middle) else (low, middle)
    return low


def two_resolvents(points: Points, cut: Partition) -> Pairs:
    """b at all pairs of the points and of them and their conjugates."""
    b, count = _transform(points, cut), len(points.z)
    other = b if cut.equal else _transform(points, reverse(cut))
    plain, conjugate = b[:, :count], b[:, count:]
    plain_off, conjugate_off = plain - other[:, :count].T, conjugate - other[:, count:].conj().T
    difference = max(np.abs(plain_off).max(), np.abs(conjugate_off).max())
    return Pairs(plain, conjugate, float(difference / np.abs(b).max(initial=1e-300)), _first(points, cut))


def _transform(points: Points, cut: Partition) -> Complex:
    """b at the points and, along the second axis, at them and their conjugates."""
    t, w, a, r = points.nodes, points.weights, points.a, points.resolvent()
    size = cut.kappas * cut.taus
    r2, a2 = np.concatenate([r, points.mirrored().resolvent()]), with_conjugates(a)
    # the last batch first
    gamma, c = (np.concatenate([part, part.conj()], axis=1)[::-1] for part in _forwards(points, cut))
    noise = (size * cut.taus)[::-1, None] * (c + a2 * gamma**2)
    gamma = size[::-1, None] * gamma
    G = np.ones(r.shape, dtype=complex)
    sums = np.zeros((r.size, len(a2)), dtype=complex)  # Σ κτγG
    Gamma, rest = np.zeros((2, len(a), len(a2)), dtype=complex)
    for first in range(0, cut.batches, len(t)):  # so many G are held at a time
        part = slice(first, first + len(t))
        table, G = _backwards(points, G, size[::-1][part])
        moments = w * t * r * table
        h = moments.sum(axis=-1).T
        square = (moments * table).sum(axis=-1).T + a[:, None] * h**2
        sums += table.reshape(len(table), -1).T @ gamma[part]
        Gamma += h @ gamma[part]
        rest += square @ noise[part]
    Phi = G[:, :, None] - a2 * (t[:, None] * sums.reshape(*r.shape, -1))
    W = (w * r)[:, :, None] * r2.T
    psi, v = (t[:, None] * W * Phi).sum(axis=1), ((t**2)[:, None] * W).sum(axis=1)
    both = a[:, None] * a2
    g = (psi - both * v * Gamma) / (1 - points.rho * both * v)
    return (W * Phi**2).sum(axis=1) + both * (points.rho * g * psi - Gamma * psi - g * Gamma) + rest


def _forwards(points: Points, cut: Partition) -> tuple[Complex, Complex]:
    """γ and c before every batch, one row per batch, at all points."""
    r, a = points.resolvent(), points.a[:, None]
    moments = points.weights * points.nodes
    gamma, c = np.empty((2, cut.batches, len(r)), dtype=complex)
    f, C = np.ones(r.shape, dtype=complex), r
    for k, (size, tau) in enumerate(zip(cut.kappas * cut.taus, cut.taus, strict=True)):
        gamma[k], c[k] = (r * f) @ moments, C @ moments
        feedback = a * gamma[k][:, None]
        source = tau * (c[k][:, None] + feedback * gamma[k][:, None])
        rate = size * points.nodes
        before = (1 - rate) * f
        f = before - rate * feedback
        C = (1 - rate) ** 2 * C + rate * (source - feedback * r * (before + f))
    return gamma, c


def _first(points: Points, cut: Partition) -> float:
    """The test loss after an epoch, ⟨C⟩ for C₀ = 1 and fresh rows."""
    C = np.ones(len(points.nodes), dtype=complex)
    for size, tau in zip(cut.kappas * cut.taus, cut.taus, strict=True):
        rate = size * points.nodes
        C = (1 - rate) ** 2 * C + rate * tau * ((points.weights * points.nodes) @ C)
    return float((points.weights @ C).real)


def _backwards(points: Points, G: Complex, sizes: Array) -> tuple[Complex, Complex]:
    """G after each of some batches, the last batch first, and before all of them."""
    moments, a = points.weights * points.nodes * points.resolvent(), points.a
    table = np.empty((len(sizes), *G.shape), dtype=complex)
    for k, size in enumerate(sizes):
        table[k] = G
        rate = size * points.nodes
        G = (1 - rate) * G - rate * (a * (moments * G).sum(axis=1))[:, None]
    return table, G


def _end(points: Points, tau: Complex, cut: Partition) -> End:
    """C(z, τ) after an epoch of batches, and its slope at τ = 0, from γ and c before each."""
    gamma, c = _forwards(points, cut)
    z, size = points.z[:, None], cut.kappas * cut.taus
    drives = points.a * gamma
    fresh = cut.taus[:, None] * (c + drives * gamma)
    r = points.resolvent(tau)
    f, C = np.ones(r.shape, dtype=complex), r
    for k in range(cut.batches):
        rate, drive = size[k] * tau, drives[k][:, None]
        before = (1 - rate) * f
        f = before - rate * drive
        C = (1 - rate) ** 2 * C + rate * (fresh[k][:, None] - drive * r * (before + f))
    return End(C, points.x / points.z + size @ (fresh - 2 * drives / z.T))
