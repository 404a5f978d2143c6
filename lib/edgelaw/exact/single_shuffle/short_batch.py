r"""Single shuffle with averaged batches: the two-variable generating functions of its losses (*derived*).

An epoch multiplies the error by :math:`A = P_L\cdots P_1`, :math:`P_k = I - \tau_kU_k^\top U_k`, with
:math:`\kappa_kd` rows in :math:`U_k`. With the average ⟨·⟩ of :mod:`edgelaw.exact.levy` and Gaussian rows the planar
Dyson equation makes of every factor a function of λ,

.. math:: \theta_k = 1 - \kappa_ka_k\lambda, \qquad
   \frac1{a_k} = \frac1{\tau_k} + \Bigl\langle\lambda\,\frac{z\prod_{j\ne k}\theta_j}{1-z\prod_j\theta_j}\Bigr\rangle,
   \qquad \sum_n z^n\,EA^n \simeq \frac{1}{1-z\prod_j\theta_j} = 1 + \alpha ,

since a batch sees its own earlier visits through the response of its input to its output one epoch later. In the two
variables z and w (where a prime marks what belongs to w, and β is α′) ladder diagrams have the free part
:math:`(1+\alpha)(1+\beta) = \tau/(1 - zw\prod\theta_j\theta_j')`, :math:`\tau = 1 + \alpha + \beta`, so that with

.. math:: T_kY = \theta_k\theta_k'\,Y + \kappa_ka_ka_k'\,\lambda\,\langle\lambda\tau Y\rangle, \qquad
   Y = (I - zw\,T_L\cdots T_1)^{-1}1

the profile of the error, :math:`\sum z^iw^jE A^iA^{j\top} \simeq f = \tau Y`, gives the test loss
:math:`\Phi = \langle f\rangle`.

**The training loss needs no further diagrams.** For Gaussian rows, integration by parts over all m = ρd of them gives
for any matrix H of the rows that rotates with them, and f the profile of its mean,

.. math:: \frac1m E\operatorname{tr}(U^\top U\,H) = \langle\lambda f\rangle
   + \frac1\rho\Bigl\langle\!\Bigl\langle\lambda\mu\,\frac{f(\lambda)-f(\mu)}{\lambda-\mu}\Bigr\rangle\!\Bigr\rangle .

**Equal batches** have one θ and :math:`Y = (I - zwT^L)^{-1}1 = \frac1L\sum_s(I - sT)^{-1}1` over the L roots of
:math:`s^L = zw`. T is diagonal plus rank one: with :math:`q = \theta\theta'`, :math:`D = 1 - sq`, σ = a + a′,
p = aa′ and

.. math:: t_k = \Bigl\langle\frac{\lambda^{1+k}\tau}{D}\Bigr\rangle, \quad
   e_k = \Bigl\langle\frac{\lambda^{1+k}}{D}\Bigr\rangle, \quad
   u_k = \Bigl\langle\frac{\lambda^{1+k}T}{D}\Bigr\rangle, \quad c = \frac{s\kappa p\,t_0}{1-s\kappa p\,t_1},

the solution is :math:`(1 + c\lambda)/D`, the divided difference separates since D is quadratic in λ, and

.. math::

    \Phi &= \langle(1+\alpha)(1+\beta)\rangle + \frac1L\sum_s c\,t_0, \\
    \rho\Psi &= \frac1L\sum_s\Bigl\{u_0 + c\,u_1 + (c(1-s) - s\kappa\sigma)\,e_0t_0 + s\kappa^2p\,(e_1t_0+e_0t_1)
       + cs\kappa^2p\,e_1t_1\Bigr\},

with :math:`T = \rho\tau + D_z + D_w` as for single rows (`shuffle_pairs`), whose formulas these become as κ → 0. The
mean of :math:`u_0` is :math:`\langle\lambda T/(1-zwq^L)\rangle`. Terms of s far from 1 are smooth: many roots are
replaced by a Gauss rule.

**A short last batch** has its own :math:`a_s`, :math:`\theta_s`, :math:`T_s`. With n whole batches before it and
:math:`R = (I - zwT^n)^{-1}`, a sum over roots again, :math:`Y = RV` where :math:`((I-T_s)R + T_s)V = 1`: one small
linear system per pair of points. Y as a function of λ, whose derivative is needed at the nodes, is then

.. math:: Y(1 - zwq^nq_s) = 1 + \lambda\bigl\{q_s\kappa p\,(1-zwq^n)\,S + zw\,\kappa_sa_sa_s'x_s\bigr\}, \quad
   S = \frac1n\sum_s\frac{s\,\langle\lambda\tau V/D\rangle}{(1-s\kappa p\,t_1)\,D}, \quad
   zw\,x_s = \langle\lambda\tau(Y-V)\rangle .
"""

import numpy as np
import numpy.typing as npt

from edgelaw._common.types import Array, Integers
from edgelaw.exact.batches.partition import Partition
from edgelaw.exact.levy import Average
from edgelaw.exact.single_shuffle import pairs

_ROOM = 2**21  # numbers in an array of (pairs, roots, nodes)


class ShortBatchPairs(pairs.Pairs):
    """Φ and Ψ/ρ at pairs of points where the last batch of an epoch is short.

    What is solved at a point is a row: a, and the short batch's a.
    """

    def __init__(self, average: Average, rho: float, partition: Partition) -> None:
        super().__init__(average, rho, float(partition.taus[0]), float(partition.kappas[0]))
        self.whole, self.short, self.start = (
            partition.batches - 1,
            float(partition.kappas[-1]),
            partition.taus[[0, -1]].astype(complex),
        )

    @property
    def count(self) -> int:
        """Batches per epoch; the step of the short one is the same, so that its θ is nearly the same."""
        return self.whole + 1

    def changes(self, log_z: complex, x: npt.NDArray) -> tuple[npt.NDArray, npt.NDArray]:
        """Newton's change and the slope by log z of the solution of a(1/τ + ⟨λα/θ⟩) = 1, of either kind of batch."""
        visits, kappas = np.array([self.whole, 1.0]), np.array([self.kappa, self.short])
        theta = 1 - (kappas * x)[:, None] * self.nodes
        power = np.exp(log_z) * theta[0] ** self.whole * theta[1]
        alpha = power / (1 - power)
        seen = self.heavy * alpha / theta
        total = 1 / self.start + seen.sum(axis=1)
        bent = self.nodes / theta  # of −log α by κa, but for 1 + α and the number of visits
        jacobian = -x[:, None] * ((seen * (1 + alpha)) @ bent.T) * (visits * kappas)
        jacobian += np.diag(total + x * kappas * (seen * bent).sum(axis=1))
        gaps = np.column_stack([x * total - 1, x * (seen @ (1 + alpha))])
        change, slope = np.linalg.solve(jacobian, gaps).T
        return change, -slope

    def values(self, log_z: npt.NDArray, solved: npt.NDArray, first: Integers, second: Integers) -> npt.NDArray:
        """Φ and Ψ/ρ at pairs of indices into the points followed by their conjugates."""
        logs, c = np.concatenate([log_z, log_z.conj()]), np.concatenate([solved, solved.conj()])
        furthest = max(np.abs(self.decay(c, self.nodes)).max(), np.abs(logs.real).max()) / np.pi
        turns, shares = pairs.terms(furthest, self.whole)
        values = np.empty((2, len(first)), dtype=complex)
        size = max(1, _ROOM // (len(turns) * len(self.nodes)))
        for start in range(0, len(first), size):
            block = slice(start, start + size)
            one, two = (_Side(self, logs[places[block]], c[places[block]]) for places in (first, second))
            values[:, block] = self._with_short_batch(one, two, 2 * np.pi * turns / self.whole, shares / self.whole)
        values[0] += self.null / (np.expm1(logs[first]) * np.expm1(logs[second]))
        values[1] /= self.rho
        return values

    def _with_short_batch(self, one: "_Side", two: "_Side", phases: Array, shares: Array) -> npt.NDArray:
        """Φ and Ψ of the nodes that are not 0."""
        tau, tau_slope = 1 + one.alpha + two.alpha, one.alpha_slope + two.alpha_slope
        logarithm = one.log_z + two.log_z
        logarithm = logarithm - 2j * np.pi * np.round(logarithm.imag / (2 * np.pi))
        Y, slope = _profile(self, one, two, np.exp(logarithm / self.whole + 1j * phases), shares)
        f, f_slope = tau * Y, tau_slope * Y + tau * slope
        psi = (f * (self.rho - 2 * self._divided.sum(axis=0))) @ self.heavy + f_slope @ self.heavy**2
        return np.stack([f @ self.weights, psi])


class _Side:
    """What belongs to one of two points: its θ's and α at the nodes, and their derivatives by λ."""

    def __init__(self, pairs: ShortBatchPairs, log_z: npt.NDArray, c: npt.NDArray) -> None:
        n = pairs.whole
        self.log_z, self.a, self.b = log_z[:, None], c[:, :1], c[:, 1:]
        self.theta, self.last = 1 - pairs.kappa * self.a * pairs.nodes, 1 - pairs.short * self.b * pairs.nodes
        self.less = np.exp(self.log_z) * self.theta ** (n - 1)
        self.power = self.less * self.theta
        G = 1 / (1 - self.power * self.last)
        self.alpha = self.power * self.last * G
        moved = n * pairs.kappa * self.a * self.less * self.last + pairs.short * self.b * self.power
        self.alpha_slope = -moved * G**2


def _profile(
    pairs: ShortBatchPairs, one: _Side, two: _Side, s: npt.NDArray, shares: Array
) -> tuple[npt.NDArray, npt.NDArray]:
    """Y and its derivative by λ at the nodes, for pairs of points with roots s."""
    kappa, short, n, nodes = pairs.kappa, pairs.short, pairs.whole, pairs.nodes
    heavy = pairs.heavy * (1 + one.alpha + two.alpha)
    product, sigma = kappa * one.a * two.a, one.a + two.a
    last_product = short * one.b * two.b
    q_s, u = one.last * two.last, one.power * two.power
    q_slope = -kappa * (sigma - 2 * product * nodes)
    D = 1 - s[:, :, None] * (one.theta * two.theta)[:, None]
    inverse = 1 / D
    weighted = heavy[:, None] * inverse
    gain = shares / (1 - s * product * (weighted @ nodes))
    R = ((gain * s * product)[:, :, None] * inverse).transpose(0, 2, 1) @ weighted
    R *= nodes[:, None]
    places = np.arange(len(nodes))
    R[:, places, places] += 1 / (1 - u)
    last = (last_product * nodes)[:, :, None] * heavy[:, None]  # the rank-one part of T_s
    matrix = (1 - q_s)[:, :, None] * R - (last_product * nodes)[:, :, None] * (
        heavy[:, None] @ R
    )
    matrix += last
    matrix[:, places, places] += q_s
    V = np.linalg.solve(matrix, np.ones((len(matrix), len(nodes), 1)))
    Y = (R @ V)[:, :, 0]
    responses = (gain * s)[:, None] * (weighted @ V).transpose(0, 2, 1)
    S = (responses @ inverse)[:, 0]
    S_slope = ((responses * s[:, None]) @ inverse**2)[:, 0] * q_slope
    x = (heavy * (Y - V[:, :, 0])).sum(axis=1, keepdims=True)
    q_s_slope = -short * (one.b + two.b - 2 * last_product * nodes)
    u_slope = n * one.less * two.less * q_slope
    inner = q_s * product * (1 - u) * S + last_product * x
    inner_slope = product * ((q_s_slope * (1 - u) - q_s * u_slope) * S + q_s * (1 - u) * S_slope)
    slope = inner + nodes * inner_slope + Y * (u * q_s_slope + q_s * u_slope)
    return Y, slope / (1 - q_s * u)
