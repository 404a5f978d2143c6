r"""Single shuffle from given targets: the two-variable generating functions of its losses, for single rows.

Notation as in :mod:`edgelaw.exact.single_shuffle.pairs`. The mean over orders of :math:`A^{j\top}NA^i` is a function of
Σ; starts enter it through one more linear functional, :math:`\langle\cdot\rangle_t` of `targets`. With E = 1 + α,
F = 1 + β the part that carries the start itself sums to EF; in what remains :math:`c = p\mu/(1-pt_1)` with the start's
:math:`\mu = \langle\lambda\tau/D\rangle_t` in place of :math:`t_0`,

.. math::

   \text{training} &: \langle\lambda(\rho EF + FD_z + ED_w)\rangle_t
      + \frac1\rho\sum_kc\,(u_1 + we_0t_0), \\
   \text{fresh rows} &: \langle\lambda EF\rangle_t + \frac1\rho\sum_kc\,t_1, \qquad
   \text{distance} : \langle EF\rangle_t + \frac1\rho\sum_kc\,t_0 ,

for m times the training loss, for d times the mean squared error on a fresh row of the same law (noise included), and
for the squared distance. EF at λ = 0 is :math:`E_0F_0 = 1/((1-z)(1-w))`, and :math:`\langle EF\rangle_t` stands for
:math:`\langle EF-E_0F_0\rangle_t`; its nodes' total weight times :math:`E_0F_0` is added and taken from the
coefficients again, since without it the function would not decay. From the distance goes what the residuals have of it
in the null space, :math:`|r|^2(f(z)F_0 + f(w)E_0)` with f the slope at 0 of the mean of the iterates,
:math:`\langle E-E_0\rangle` for the one eigenvalue 0.
"""

import numpy as np
import numpy.typing as npt

from edgelaw._common.types import Integers
from edgelaw.exact.levy import Average
from edgelaw.exact.single_shuffle.pairs import Pairs


class LabelPairs:
    """The three generating functions at pairs of points, for one average of single rows and one start measure.

    `measures` are the targets' and, if they have `noise`, that of a unit target in the null space of the Gram matrix.
    """

    def __init__(self, pairs: Pairs, measures: list[Average], noise: float) -> None:
        self.pairs, self.start, self.noise = pairs, measures[0], noise
        self.null = measures[1] if noise else None
        self.total = self.start.weights.sum().real

    def values(
        self, log_z: npt.NDArray, solved: npt.NDArray, first: Integers, second: Integers
    ) -> npt.NDArray:
        """The functions at pairs of indices into the points followed by their conjugates."""
        sums = self.pairs.label_sums(log_z, solved, self.start, first, second)
        log_z, solved = np.concatenate([log_z, log_z.conj()]), np.concatenate([solved, solved.conj()])
        return self._separable(log_z, solved)[:, first, second] + sums

    def _separable(self, log_z: npt.NDArray, solved: npt.NDArray) -> npt.NDArray:
        """The terms without a sum over k, at all pairs of points."""
        start = self.start
        E, moved = self._geometric(log_z, solved, start.nodes)
        D = self._differences(log_z, solved, E - 1)
        heavy = start.weights * start.nodes
        fresh = (E * heavy) @ E.T
        train = self.pairs.rho * fresh + (D * heavy) @ E.T + (E * heavy) @ D.T
        E0, mean = -1 / np.expm1(log_z), moved @ start.weights
        distance = (moved * start.weights) @ E.T + np.multiply.outer(E0, mean + self.total * E0)
        if self.null is not None:
            slope = self.noise * (self._geometric(log_z, solved, self.null.nodes)[1] @ self.null.weights)
            distance -= np.multiply.outer(slope, E0) + np.multiply.outer(E0, slope)
        return np.stack([train, fresh, distance])

    def _differences(self, log_z: npt.NDArray, solved: npt.NDArray, alpha: npt.NDArray) -> npt.NDArray:
        """D at the start measure's nodes: ⟨λ'(α(λ') − α(λ))/(λ' − λ)⟩' over the nodes of the average.

        A node next to a place would cost digits: there α(λ') − α(λ) is (1 + α(λ'))α(λ)·(e^(−ρa(λ' − λ)) − 1).
        """
        pairs, places = self.pairs, self.start.nodes
        gaps = pairs.nodes[:, None] - places
        near = np.abs(gaps) < 0.01 * np.abs(places)
        divided = np.where(near, 0, pairs.heavy[:, None] / np.where(near, 1, gaps))
        E = self._geometric(log_z, solved, pairs.nodes)[0]
        D = (E - 1) @ divided - alpha * divided.sum(axis=0)
        node, place = np.nonzero(near)
        gap, rate = gaps[node, place], pairs.rho * solved[:, :1]
        slopes = np.where(gap == 0, -rate, np.expm1(-rate * gap) / np.where(gap == 0, 1, gap))
        return D + (E[:, node] * alpha[:, place] * slopes * pairs.heavy[node]) @ np.eye(len(places))[place]

    def _geometric(
        self, log_z: npt.NDArray, solved: npt.NDArray, places: npt.NDArray
    ) -> tuple[npt.NDArray, npt.NDArray]:
        """1 + α at some λ, and by how much it differs from its value at λ = 0."""
        decay, log_z = self.pairs.decay(solved, places), log_z[:, None]
        values = -1 / np.expm1(log_z - decay)
        return values, np.exp(log_z) * np.expm1(-decay) * values / -np.expm1(log_z)
