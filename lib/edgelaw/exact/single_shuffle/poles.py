r"""Single shuffle on spectra with single large eigenvalues: the poles of α are followed to where contours cannot go.

A contour keeps the poles of α, :math:`\lambda_k = (\log z + 2\pi ik)/(\rho a)`, outside, unless an eigenvalue that
stands alone leaves no room. The appendix "Any spectrum" says what a pole inside adds to an average N and to the
equation of the amplitude, which is solved for a and the places :math:`\zeta_k` of the poles together:

.. math:: \lambda_k\Delta_k = \rho - \frac{\zeta_k}{\lambda_k} - N\Bigl(\frac{\lambda}{\lambda-\lambda_k}\Bigr), \qquad
   a\,\bigl(1/\eta + N(\lambda\alpha)\bigr) + \frac1\rho\sum_k\lambda_k\Delta_k = 1, \qquad t(\zeta_k) = \rho\lambda_k .

In Φ and Ψ, where α and D have residues :math:`1/(\rho a)` and
:math:`-\langle\lambda/(\lambda-\lambda_k)\rangle/(\rho a)`, a pole acts like one more node of its own point z. Two
points with the same poles, z = w, do not occur on staggered circles (`graded_circle`), the only ones used here.
"""

import numpy as np
import numpy.typing as npt

from edgelaw._common.types import Array
from edgelaw.exact.levy import Average
from edgelaw.exact.single_shuffle import kernel
from edgelaw.exact.single_shuffle.pairs import Pairs


class FollowedPairs(Pairs):
    """Φ and Ψ/ρ at pairs of points for single rows, some poles of α being followed.

    What is solved at a point is a row: a, and the places ζ of the poles followed. `spectrum` is the Gram matrix's.
    """

    def __init__(
        self, average: Average, rho: float, step: float, spectrum: tuple[Array, Array], turns: Array
    ) -> None:
        super().__init__(average, rho, step)
        self.turns, self._plain = turns, self.equation
        self.equation = self.equation._replace(poles=(*spectrum, turns))

    def _start(self, path: npt.NDArray) -> npt.NDArray:
        """The solution without poles, and their places as long as they are outside."""
        solved = kernel.follow(path, super()._start(path), self._plain)
        poles = self._poles(path, solved)[0]
        seen = (self.heavy / (self.nodes - poles[:, None])).sum(axis=1)
        return np.append(solved[0], (self.rho - seen) * poles)

    def _poles(self, log_z: npt.NDArray, solved: npt.NDArray) -> npt.NDArray:
        """The poles that are followed, as functions of λ."""
        return (log_z[:, None] + 2j * np.pi * self.turns) / (self.rho * solved[:, :1])

    def negative_powers(self, log_z: npt.NDArray, solved: npt.NDArray) -> float:
        """The largest coefficient of the first negative powers of z in a, over a at z = 0, from equidistant angles."""
        waves = np.exp(1j * np.multiply.outer(np.arange(1, 8), log_z.imag))
        return float(np.abs((waves * solved[:, 0]).real.mean(axis=1)).max() / self.tau)

    def poles(self, log_z: npt.NDArray, solved: npt.NDArray) -> npt.NDArray:
        """The nearest poles of α that are not followed."""
        low, high = self.turns[0], self.turns[-1]
        turns = 2j * np.pi * np.array([low - 2, low - 1, high + 1, high + 2])[:, None]
        return (log_z + turns) / (self.rho * solved[:, 0])

    def resolvents(
        self, log_z: npt.NDArray, solved: npt.NDArray
    ) -> tuple[npt.NDArray, npt.NDArray, npt.NDArray]:
        """α and D at the nodes, and at the poles that are followed, which are the points' own nodes."""
        alpha, D, _ = super().resolvents(log_z, solved)
        poles, zeta = self._poles(log_z, solved), solved[:, 1:]
        inverse = 1 / (self.nodes - poles[:, :, None])
        moved = self.rho - zeta / poles - inverse @ self.heavy  # λ_k Δ_k
        far = np.abs(poles) > 2 * np.abs(self.nodes).max()
        outside = far & (np.abs(moved) < 1e-9 * self.rho)
        moved = np.where(outside, 0, moved) / (self.rho * solved[:, :1])
        D -= (moved[:, :, None] * inverse).sum(axis=1)
        alone = 1 - self.rho + zeta / poles  # −⟨λ_k/(λ − λ_k)⟩
        return alpha, D, np.stack([np.where(outside, 1, poles), moved, -(1 - alone) * moved])
