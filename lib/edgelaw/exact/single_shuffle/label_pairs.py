r"""Single shuffle from given targets: the two-variable generating functions of its losses.

Notation and objects as in :mod:`edgelaw.exact.single_shuffle.pairs`. The mean over orders of
:math:`A^{j\top}NA^i`, a function of the sample matrix, has a deterministic equivalent that is a function of Σ; starts
enter it through one more linear functional. With :math:`q_a = (o_a\cdot t)^2` for the eigenvectors of the Gram matrix,
κ_a its eigenvalues, and :math:`y = 1/x(\zeta)` as in the theory of the average,

.. math:: \Bigl\langle\frac{\lambda}{y-\lambda}\Bigr\rangle_t = \sum_a\frac{q_a}{\zeta-\kappa_a} ,

which defines :math:`\langle\varphi\rangle_t` for φ(0) = 0. The residuals of least squares are what t has in the null
space of the Gram matrix, κ = 0. With E = 1 + α, F = 1 + β and the solution of :math:`(s_k-J)C = M`,

.. math:: C = \frac M{s_k+\sigma\lambda} + \sigma\varphi_k\mu_k\frac\lambda{s_k+\sigma\lambda}, \qquad
   \mu_k = \Bigl\langle\frac{\lambda\tau}{s_k+\sigma\lambda}\Bigr\rangle_t ,

the part of C that carries the start itself sums over k to EF/τ · M, and its share of the integral over s in Ψ to
:math:`(\beta FD_z + \alpha ED_w)M/\tau`. What remains is

.. math::

   \text{training} &: \langle\lambda(\rho EF + FD_z + ED_w)\rangle_t
      + \frac1\rho\sum_k\varphi_k\mu_k\,\{\langle\lambda T\rangle - s_k\langle\lambda T/(s_k+\sigma\lambda)\rangle
      + \sigma s_kg_kv_k\}, \\
   \text{fresh rows} &: \langle\lambda EF\rangle_t
      + \frac1\rho\sum_k\varphi_k\mu_k\,\{\langle\lambda\tau\rangle - s_kg_k\}, \\
   \text{distance} &: \langle EF\rangle_t + \frac\sigma\rho\sum_k\varphi_k\mu_kg_k, \qquad
   v_k = \Bigl\langle\frac\lambda{s_k+\sigma\lambda}\Bigr\rangle ,

for m times the training loss, for d times the mean squared error on a fresh row of the same law (noise included), and
for the squared distance. EF at λ = 0 is :math:`E_0F_0 = 1/((1-z)(1-w))`, and :math:`\langle EF\rangle_t` stands for
:math:`\langle EF-E_0F_0\rangle_t`; its nodes' total weight times :math:`E_0F_0` is added and taken from the
coefficients again, since without it the function would not decay. From the distance goes what the residuals have of it
in the null space, :math:`|r|^2(f(z)F_0 + f(w)E_0)` with f the slope at 0 of the mean of the iterates,
:math:`\langle E-E_0\rangle` for the one eigenvalue 0.
"""

import numpy as np
import numpy.typing as npt

from edgelaw._common.types import Array, Integers
from edgelaw.exact.single_shuffle.pairs import Pairs
from edgelaw.exact.single_shuffle.targets import StartMeasure

TRAIN, FRESH, DISTANCE = range(3)


class LabelPairs:
    """The three generating functions at pairs of points, for one average of single rows and start measure.

    `pairs` are the average's; `null` is the start measure of a target in the null space of the Gram matrix, and `noise`
    its squared length.
    """

    def __init__(
        self, pairs: Pairs, start: StartMeasure, null: StartMeasure | None = None, noise: float = 0.0
    ) -> None:
        self.pairs, self.start, self.null, self.noise = pairs, start, null, noise
        self.total = start.weights.sum().real

    def values(
        self, log_z: npt.NDArray, solved: npt.NDArray, first: Integers, second: Integers
    ) -> npt.NDArray:
        """The functions at pairs of indices into the points followed by their conjugates."""
        sums = self.pairs.label_sums(log_z, solved, self.start, first, second)
        log_z, solved = np.concatenate([log_z, log_z.conj()]), np.concatenate([solved, solved.conj()])
        return self._separable(log_z, solved)[:, first, second] + sums

    def _separable(self, log_z: npt.NDArray, solved: npt.NDArray) -> npt.NDArray:
        """The terms without a sum over k, at all pairs of points."""
        start, rho = self.start, self.pairs.rho
        E, moved = self._geometric(log_z, solved, start.nodes)
        D = self._differences(log_z, solved, E - 1)
        heavy = start.weights * start.nodes
        both = (E * heavy) @ E.T
        values = np.empty((3, len(log_z), len(log_z)), dtype=complex)
        values[TRAIN] = rho * both + (D * heavy) @ E.T + (E * heavy) @ D.T
        values[FRESH] = both
        E0, mean = -1 / np.expm1(log_z), moved @ start.weights
        values[DISTANCE] = (moved * start.weights) @ E.T + np.multiply.outer(E0, mean + self.total * E0)
        if self.null is not None and self.noise:
            slope = self.noise * (self._geometric(log_z, solved, self.null.nodes)[1] @ self.null.weights)
            values[DISTANCE] -= np.multiply.outer(slope, E0) + np.multiply.outer(E0, slope)
        return values

    def _differences(self, log_z: npt.NDArray, solved: npt.NDArray, alpha: npt.NDArray) -> npt.NDArray:
        """D at the start measure's nodes: ⟨λ'(α(λ') − α(λ))/(λ' − λ)⟩' over the nodes of the average.

        A node next to a place would cost digits: there α(λ') − α(λ) is (1 + α(λ'))α(λ)·(e^(−c(λ' − λ)) − 1).
        """
        pairs, places = self.pairs, self.start.nodes
        gaps = pairs.nodes[:, None] - places
        near = np.abs(gaps) < 0.01 * np.abs(places)
        divided = np.where(near, 0, pairs.heavy[:, None] / np.where(near, 1, gaps))
        E = self._geometric(log_z, solved, pairs.nodes)[0]
        D = (E - 1) @ divided - alpha * divided.sum(axis=0)
        node, place = np.nonzero(near)
        gap, c = gaps[node, place], pairs.rho * solved[:, :1]
        slopes = np.where(gap == 0, -c, np.expm1(-c * gap) / np.where(gap == 0, 1, gap))
        return D + (E[:, node] * alpha[:, place] * slopes * pairs.heavy[node]) @ np.eye(len(places))[place]

    def _geometric(
        self, log_z: npt.NDArray, solved: npt.NDArray, places: npt.NDArray
    ) -> tuple[npt.NDArray, npt.NDArray]:
        """1 + α at some λ, and by how much it differs from its value at λ = 0."""
        decay, log_z = self.pairs.decay(solved, places), log_z[:, None]
        values = -1 / np.expm1(log_z - decay)
        return values, np.exp(log_z) * np.expm1(-decay) * values / -np.expm1(log_z)
