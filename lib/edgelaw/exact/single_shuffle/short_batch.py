r"""Single shuffle with a short last batch: Φ and Ψ where one batch of an epoch has another size (*derived* here).

It has its own :math:`a_s`, :math:`\theta_s`, :math:`T_s`; the rest is as in :mod:`edgelaw.exact.single_shuffle.pairs`.
With n whole batches before it and :math:`R = (I - zwT^n)^{-1}`, a sum over roots s of unity, :math:`Y = RV` where
:math:`((I-T_s)R + T_s)V = 1`: one small linear system per pair of points. Y as a function of λ, whose derivative is
needed at the nodes, is then, with :math:`q = \theta\theta'` and :math:`D = 1 - sq`,

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


class ShortBatchPairs(pairs.Pairs):
    """Φ and Ψ/ρ at pairs of points where the last batch of an epoch is short.

    What is solved at a point is a row: a, and the short batch's a.
    """

    def __init__(self, average: Average, rho: float, partition: Partition) -> None:
        kappa, short = partition.kappas[[0, -1]]
        super().__init__(average, rho, float(partition.taus[0]), kappa)
        self.whole, self.short = partition.batches - 1, short
        self.equation = self._amplitudes([self.whole * kappa, short], [kappa, short], partition.taus[[0, -1]])

    @property
    def count(self) -> int:
        """Batches per epoch; the step of the short one is the same, so that its θ is nearly the same."""
        return self.whole + 1

    def values(
        self, log_z: npt.NDArray, solved: npt.NDArray, first: Integers, second: Integers
    ) -> npt.NDArray:
        """Φ and Ψ/ρ at pairs of indices into the points followed by their conjugates."""
        logs, a = np.concatenate([log_z, log_z.conj()]), np.concatenate([solved, solved.conj()])
        furthest = max(np.abs(self.decay(a, self.nodes)).max(), np.abs(logs.real).max()) / np.pi
        turns, shares = pairs.terms(furthest, self.average.error, self.whole)
        phases, shares = 2 * np.pi * turns / self.whole, shares / self.whole
        values = np.empty((2, len(first)), dtype=complex)
        size = max(1, 2**21 // (len(turns) * len(self.nodes)))  # numbers in an array
        for start in range(0, len(first), size):
            block = slice(start, start + size)
            one, two = (_Side(self, logs[places[block]], a[places[block]]) for places in (first, second))
            values[:, block] = self._of_a_block(one, two, phases, shares)
        values[0] += self.null / (np.expm1(logs[first]) * np.expm1(logs[second]))
        values[1] /= self.rho
        return values

    def _of_a_block(self, one: "_Side", two: "_Side", phases: Array, shares: Array) -> npt.NDArray:
        """Φ and Ψ of the nodes that are not 0."""
        tau, tau_slope = 1 + one.alpha + two.alpha, one.alpha_slope + two.alpha_slope
        logs = one.log_z + two.log_z
        logs = logs - 2j * np.pi * np.round(logs.imag / (2 * np.pi))
        Y, slope = _profile(self, one, two, np.exp(logs / self.whole + 1j * phases), shares)
        f, f_slope = tau * Y, tau_slope * Y + tau * slope
        psi = (f * (self.rho - 2 * self._divided.sum(axis=0))) @ self.heavy + f_slope @ self.heavy**2
        return np.stack([f @ self.weights, psi])


class _Side:
    """What belongs to one of two points: its θ's and α at the nodes, and their derivatives by λ."""

    def __init__(self, pairs: ShortBatchPairs, log_z: npt.NDArray, a: npt.NDArray) -> None:
        n = pairs.whole
        self.log_z, self.a, self.b = log_z[:, None], a[:, :1], a[:, 1:]
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
    tau = pairs.heavy * (1 + one.alpha + two.alpha)
    product, sigma, last_product = kappa * one.a * two.a, one.a + two.a, short * one.b * two.b
    q_s, u = one.last * two.last, one.power * two.power
    q_slope = -kappa * (sigma - 2 * product * nodes)
    inverse = 1 / (1 - s[:, :, None] * (one.theta * two.theta)[:, None])
    weighted = tau[:, None] * inverse
    gain = shares / (1 - s * product * (weighted @ nodes))
    R = ((gain * s * product)[:, :, None] * inverse).transpose(0, 2, 1) @ weighted
    R *= nodes[:, None]
    places = np.arange(len(nodes))
    R[:, places, places] += 1 / (1 - u)
    last = (last_product * nodes)[:, :, None]
    matrix = (1 - q_s)[:, :, None] * R + last * (tau[:, None] - tau[:, None] @ R)
    matrix[:, places, places] += q_s
    V = np.linalg.solve(matrix, np.ones((len(matrix), len(nodes), 1)))
    Y = (R @ V)[:, :, 0]
    responses = (gain * s)[:, None] * (weighted @ V).transpose(0, 2, 1)
    S = (responses @ inverse)[:, 0]
    S_slope = ((responses * s[:, None]) @ inverse**2)[:, 0] * q_slope
    x = (tau * (Y - V[:, :, 0])).sum(axis=1, keepdims=True)
    q_s_slope = -short * (one.b + two.b - 2 * last_product * nodes)
    u_slope = n * one.less * two.less * q_slope
    inner = q_s * product * (1 - u) * S + last_product * x
    inner_slope = product * ((q_s_slope * (1 - u) - q_s * u_slope) * S + q_s * (1 - u) * S_slope)
    slope = inner + nodes * inner_slope + Y * (u * q_s_slope + q_s * u_slope)
    return Y, slope / (1 - q_s * u)
