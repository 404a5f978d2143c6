r"""An epoch, of single rows or of averaged batches: the double Cauchy transform b of its operator.

An epoch is a product of :math:`I - \tau_kU_k^\top U_k`, one factor per batch of :math:`\kappa_kd` rows. With
:math:`\theta_k = 1 - \kappa_k\tau_k\lambda`, :math:`\gamma_k = \langle\lambda rf_{k-1}\rangle` and
:math:`c_k = \langle\lambda C_{k-1}\rangle` a point z has

.. math::

    f_k &= \theta_kf_{k-1} - \kappa_k\tau_k\lambda a\gamma_k, & f_0 &= 1, \\
    C_k &= \theta_k^2C_{k-1} - \kappa_k\tau_k\lambda a\gamma_kr(\theta_kf_{k-1} + f_k)
           + \kappa_k\tau_k^2\lambda(c_k + a\gamma_k^2), & C_0 &= r .

Single rows have τ = η and κ = ds, s in (0, ρ) the rows used over d: sums become integrals. For a first point take f and
γ from the last batch on, and call them G and h. With γ and c of the second point

.. math::

    \Phi &= G_0 - a_2\lambda\sum_k\kappa_k\tau_k\gamma_kG_k, \qquad
    \psi = \langle\lambda r_1r_2\Phi\rangle, \qquad \Gamma = \sum_k\kappa_k\tau_k\gamma_kh_k, \qquad
    g = \frac{\psi - a_1a_2\langle\lambda^2r_1r_2\rangle\Gamma}{1 - \rho a_1a_2\langle\lambda^2r_1r_2\rangle}, \\
    b &= \langle r_1r_2\Phi^2\rangle + a_1a_2(\rho g\psi - \Gamma\psi - g\Gamma)
         + \sum_k\kappa_k\tau_k^2(c_k + a_2\gamma_k^2)(\langle\lambda r_1G_k^2\rangle + a_1h_k^2) .

*Proved* (thm-as-reshuffle) for single rows, *derived* here for batches: U_k is Gaussian and enters linearly;
quadratic forms are replaced by their means. One batch is gradient descent, exactly. With a shorter last batch the
epoch and its transpose differ in law, and b is not symmetric; else it is, though it does not look it.
"""

import abc
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from edgelaw._common.types import Array
from edgelaw.exact.random_reshuffle.contours import Complex, Points


class Pairs(NamedTuple):
    """b(z_i, z_j) and b(z_i, z̄_j), how far from its symmetry it is, and the first epoch's test loss."""

    plain: Complex
    conjugate: Complex
    asymmetry: float
    first: float


class Walk(NamedTuple):
    """Some times of an epoch: κτ and κτ², f (time, node, point), γ and c (time, point); f and C after them."""

    moved: Array
    noise: Array
    f: Complex
    gamma: Complex
    c: Complex
    last: Complex
    C: Complex


class Epoch(abc.ABC):
    """An epoch at one step."""

    @property
    def symmetric(self) -> bool:
        """Whether the transposed epoch has the same law."""
        return True

    @abc.abstractmethod
    def mean(self, x: Complex, rho: float) -> Complex:
        """The mean epoch, as a function of x."""

    @abc.abstractmethod
    def walk(self, points: Points, part: float) -> Iterator[Walk]:
        """The equations of one point, for some times after others; where times approximate, by a part of the usual."""

    @property
    def transposed(self) -> "Epoch":
        """The epoch from its end to its beginning."""
        return self

    def pairs(self, points: Points, part: float = 1.0) -> Pairs:
        """b at all pairs of the points, and of them and their conjugates."""
        b = self._transform(points, part)
        plain, conjugate, first = b[:-1, :-1:2], b[:-1, 1::2], b[-1, -1].real
        other = b if self.symmetric else self.transposed._transform(points, part)
        off = plain - other[:-1, :-1:2].T, conjugate - other[:-1, 1::2].conj().T
        asymmetry = np.abs(off).max() / np.abs(b[:-1, :-1]).max(initial=1e-300)
        return Pairs(plain, conjugate, float(asymmetry), float(first))

    def _transform(self, points: Points, part: float) -> Complex:
        """b at the points and infinity and, along the second axis, at the points, their conjugates, and infinity."""
        every = points.doubled()
        firsts = every._replace(z=every.z[::2], x=every.x[::2])
        t, w, a, a2 = points.nodes[:, None], points.weights[:, None], firsts.a, every.a
        r, r2 = firsts.resolvent(), every.resolvent()
        gammas, cs = zip(*((some.gamma, some.c) for some in self.walk(every, part)), strict=True)
        gamma, c = np.concatenate(gammas)[::-1], np.concatenate(cs)[::-1]
        sums = np.zeros((r.size, len(a2)), dtype=complex)  # Σ κτγG
        Gamma, rest, now = *np.zeros((2, len(a), len(a2)), dtype=complex), 0
        for back in self.transposed.walk(firsts, part):
            here = slice(now, now := now + len(back.moved))
            drive, noise = back.moved[:, None] * gamma[here], c[here] + a2 * gamma[here] ** 2
            sums += back.f.reshape(len(drive), -1).T @ drive
            Gamma += back.gamma.T @ drive
            rest += ((w * t * r * back.f**2).sum(axis=1) + a * back.gamma**2).T @ (
                back.noise[:, None] * noise
            )
        Phi = back.last[..., None] - a2 * (t[..., None] * sums.reshape(*r.shape, -1))
        W = (w * r)[..., None] * r2[:, None]
        psi, v = (t[..., None] * W * Phi).sum(axis=0), (t[..., None] ** 2 * W).sum(axis=0)
        both = a[:, None] * a2
        g = (psi - both * v * Gamma) / (1 - points.rho * both * v)
        return (W * Phi**2).sum(axis=0) + both * (points.rho * g * psi - Gamma * psi - g * Gamma) + rest

    def end(self, points: Points, tau: Complex, part: float) -> tuple[Complex, Complex]:
        """C(z, τ) after the transposed epoch, a row per τ, and ∂C/∂τ at τ = 0 up to a multiple of 1/z.

        The kick is what reaches λ from 0, C says what reaches 0 from z. Each τ is a node of no weight.
        """
        nodes, weights = np.append(points.nodes, tau), np.append(points.weights, np.zeros(len(tau)))
        at_zero = points.x / points.z
        for some in self.transposed.walk(points._replace(nodes=nodes, weights=weights), part):
            drive = points.a * some.gamma
            at_zero = at_zero + some.noise @ (some.c + drive * some.gamma) - 2 * some.moved @ drive / points.z
        return some.C[len(points.nodes) :], at_zero
