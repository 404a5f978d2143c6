r"""The double Cauchy transform b of random reshuffle's operator T, for averaged batches of rows.

An epoch is a product of :math:`P_k = I - \tau_kU_k^\top U_k`, one factor per batch of :math:`\kappa_kd` rows. With x,
r and a of :mod:`edgelaw.exact.random_reshuffle.operator` and :math:`\theta_k = 1 - \kappa_k\tau_k\lambda` its
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

from edgelaw._common.compiled import compiled
from edgelaw.exact.batches.partition import Partition
from edgelaw.exact.random_reshuffle import kick as reshuffle_kick
from edgelaw.exact.random_reshuffle import operator as reshuffle_operator
from edgelaw.exact.random_reshuffle.pairs import Pair

_CHUNK = 128  # batches whose G are held at a time
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Epoch:
    """An epoch of averaged batches as `reshuffle_operator` asks for it."""

    partition: Partition
    contracts = False  # a stable step may let the loss rise at first
    fewest = 0  # one batch has no kernel

    @property
    def symmetric(self):
        """Whether A and its transpose have the same law."""
        return self.partition.equal

    def mean(self, x, rho):
        """What stands for the mean epoch in the contour integral of ā: ∏(1 − κτ/x)."""
        cut = self.partition
        if cut.equal:
            return (1 - cut.kappas[0] * cut.taus[0] / x) ** cut.batches
        return (1 - cut.kappas * cut.taus / x[:, None]).prod(axis=1)

    def pair(self, average, z, x, rho, part):
        """b at all pairs of the points z, and of them and their conjugates; nothing is discretised, so no `part` is."""
        return two_resolvents(average, z, x, rho, self.partition)

    def end(self, average, z, x, rho, tau, part):
        """C at the end of an epoch, for the kick of residuals: of the transposed epoch, whose last batch comes first.

        The kick is what reaches λ from 0, while C says what reaches 0 from z.
        """
        cut = Partition(self.partition.kappas[::-1].copy(), self.partition.taus[::-1].copy())
        t, w = (np.asarray(values, dtype=complex) for values in average)
        r, a, size = 1 / (z[:, None] * (1 - x[:, None] * t)), x * z / rho, cut.kappas * cut.taus
        gamma, c, _ = _forwards(t, w, r, a, size, cut.taus)
        return reshuffle_kick.end_of_batches(z, x, a, gamma, c, tau, size, cut.taus)

    def rate(self, parts):
        """How fast the test loss falls in the first epoch."""
        return -np.log(max(parts.first, _TINY))

    def at_once(self, law):
        """No epoch is replaced by another equation's."""
        return None


def losses(law, n, cut, step):
    """Losses of F's positive part as `reshuffle_operator.losses` returns them; a step beyond stability is refused."""
    if reshuffle_operator.amplification(law, Epoch(cut)) >= 1:
        limit = step * stable_factor(law, cut)
        raise ValueError(
            f"step must be below {limit:.6g}, where random reshuffle with this batch becomes unstable, not {step:g}."
        )
    return reshuffle_operator.losses(law, n, Epoch(cut))


def stable_factor(law, cut):
    """By what all steps may be multiplied before T's spectral radius is 1, to a relative 1e-6."""

    def stable(factor):
        return reshuffle_operator.amplification(law, Epoch(Partition(cut.kappas, factor * cut.taus))) < 1

    low = high = 1.0
    while not stable(low):
        low, high = low / 2, low
    while low == high or stable(high):
        low, high = high, 2 * high
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if stable(middle) else (low, middle)
    return low


def two_resolvents(average, z, x, rho, cut):
    """b at all pairs of the points z and of them and their conjugates; ⟨·⟩ must be closed under conjugation."""
    b, first = _transform(average, z, x, rho, cut)
    other = b if cut.equal else _transform(average, z, x, rho, Partition(cut.kappas[::-1], cut.taus[::-1]))[0]
    count = len(z)
    plain, conjugate = b[:, :count], b[:, count:]
    difference = max(
        np.abs(plain - other[:, :count].T).max(), np.abs(conjugate - other[:, count:].conj().T).max()
    )
    return Pair(plain, conjugate, float(difference / max(np.abs(b).max(), _TINY)), first)


def _transform(average, z, x, rho, cut):
    """b at the points z and, along the second axis, at them and their conjugates; and the first epoch's test loss."""
    t, w = (np.asarray(part, dtype=complex) for part in average)
    r, mirrored = (1 / (at[:, None] * (1 - y[:, None] * t)) for at, y in ((z, x), (z.conj(), x.conj())))
    a, size = x * z / rho, cut.kappas * cut.taus
    gamma, c, first = _forwards(t, w, r, a, size, np.ascontiguousarray(cut.taus))
    r2, a2 = np.concatenate([r, mirrored]), np.concatenate([a, a.conj()])
    gamma, c = (
        np.concatenate([part, part.conj()], axis=1)[::-1] for part in (gamma, c)
    )  # the last batch first
    noise = (size * cut.taus)[::-1, None] * (c + a2 * gamma**2)
    gamma = size[::-1, None] * gamma
    G = np.ones(r.shape, dtype=complex)
    sums = np.zeros((r.size, len(a2)), dtype=complex)  # Σ κτγG
    Gamma, rest = np.zeros((2, len(a), len(a2)), dtype=complex)
    for first_batch in range(0, cut.batches, _CHUNK):
        part = slice(first_batch, first_batch + _CHUNK)
        table, h, square = _backwards(G, t, w, r, a, np.ascontiguousarray(size[::-1][part]))
        sums += table.reshape(r.size, -1) @ gamma[part]
        Gamma += h @ gamma[part]
        rest += square @ noise[part]
    Phi = G[:, :, None] - a2 * (t[:, None] * sums.reshape(*r.shape, -1))
    W = (w * r)[:, :, None] * r2.T
    psi, v = (t[:, None] * W * Phi).sum(axis=1), ((t**2)[:, None] * W).sum(axis=1)
    both = a[:, None] * a2
    g = (psi - both * v * Gamma) / (1 - rho * both * v)
    return (W * Phi**2).sum(axis=1) + both * (rho * g * psi - Gamma * psi - g * Gamma) + rest, float(
        first.real
    )


@compiled
def _forwards(t, w, r, a, size, taus):
    """γ and c before every batch, one row per batch, at all points; and ⟨C_L⟩ for C_0 = 1 and fresh rows."""
    points, nodes = r.shape
    batches = size.size
    gamma, c = (
        np.empty((batches, points), dtype=np.complex128),
        np.empty((batches, points), dtype=np.complex128),
    )
    f, C = np.empty(nodes, dtype=np.complex128), np.empty(nodes, dtype=np.complex128)
    moments = w * t
    for i in range(points):
        for j in range(nodes):
            f[j], C[j] = 1, r[i, j]
        for k in range(batches):
            total, square = 0j, 0j
            for j in range(nodes):
                total += moments[j] * r[i, j] * f[j]
                square += moments[j] * C[j]
            gamma[k, i], c[k, i] = total, square
            feedback, source = a[i] * total, taus[k] * (square + a[i] * total * total)
            for j in range(nodes):
                rate = size[k] * t[j]
                theta = 1 - rate
                before = theta * f[j]
                f[j] = before - rate * feedback
                C[j] = theta * theta * C[j] + rate * (source - feedback * r[i, j] * (before + f[j]))
    C[:] = 1
    for k in range(batches):
        square = (moments * C).sum()
        for j in range(nodes):
            rate = size[k] * t[j]
            C[j] = (1 - rate) * (1 - rate) * C[j] + rate * taus[k] * square
    return gamma, c, (w * C).sum()


@compiled
def _backwards(G, t, w, r, a, size):
    """G from the last of some batches to the first, in place; G, h and ⟨λrG²⟩ + ah² after each, last batch first."""
    points, nodes = r.shape
    batches = size.size
    table = np.empty((points, nodes, batches), dtype=np.complex128)
    h, square = (
        np.empty((points, batches), dtype=np.complex128),
        np.empty((points, batches), dtype=np.complex128),
    )
    for i in range(points):
        for k in range(batches):
            total, both = 0j, 0j
            for j in range(nodes):
                table[i, j, k] = G[i, j]
                term = w[j] * t[j] * r[i, j] * G[i, j]
                total += term
                both += term * G[i, j]
            h[i, k], square[i, k] = total, both + a[i] * total * total
            for j in range(nodes):
                rate = size[k] * t[j]
                G[i, j] = (1 - rate) * G[i, j] - rate * a[i] * total
    return table, h, square
