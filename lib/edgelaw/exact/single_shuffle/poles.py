r"""Single shuffle on spectra with single large eigenvalues: the poles of α are followed to where contours cannot go.

The average of a sample is known outside a contour in ζ, through :math:`t = 1/G(\zeta)`. It is a functional of functions
that are analytic inside, and α has poles, at :math:`\lambda_k = (\log z + 2\pi ik)/c`. The contours of `curve`
keep them outside. That is not always possible: where an eigenvalue stands alone, t has critical points above and below
it, at a relative distance of about :math:`1/\sqrt m`, which belong inside, and a pole may have to pass below one of
them long before |z| = 1. Nothing happens to the losses then. The pole's place :math:`\zeta_k`, with
:math:`t(\zeta_k) = \rho\lambda_k`, goes on smoothly; only :math:`\lambda_k` turns around at the critical value and
comes back on another sheet of ζ(t).

So poles are allowed inside, and what this changes is added. Let N be the average of a contour, and let φ have a simple
pole of residue r at :math:`\lambda_k` inside. Without the pole's part φ is analytic, and of 1/(λ − λ_k) the average is
known from :math:`\zeta_k`. Hence

.. math:: \langle\varphi\rangle = N(\varphi) + r\,\Delta_k, \qquad
   \lambda_k\Delta_k = \rho - \frac{\zeta_k}{\lambda_k} - N\Bigl(\frac{\lambda}{\lambda-\lambda_k}\Bigr),

where Δ vanishes as long as the pole is outside. The equation for c becomes

.. math:: c\,\bigl(1/\eta + N(\lambda\alpha)\bigr) + \sum_k\lambda_k\Delta_k = \rho, \qquad
   t(\zeta_k) = \rho\lambda_k,

to be solved for c and all :math:`\zeta_k` together: it is regular at the critical points. In Φ and Ψ every function
averaged is linear in α and D, which have residues 1/c and :math:`-\langle\lambda/(\lambda-\lambda_k)\rangle/c`, so
that a pole acts like one more node of its own point z. The resolvents :math:`1/(s_k+\sigma\lambda)` have poles as well,
but τ vanishes there, and in Ψ they cancel.

Two points with the same poles, z = w, would have to be treated as a limit. They do not occur on staggered circles
(`graded_circle`), which are the only ones used here.
"""

import numpy as np
import numpy.typing as npt

from edgelaw._common.types import Array
from edgelaw.exact.levy import Average
from edgelaw.exact.single_shuffle import kernel, paths
from edgelaw.exact.single_shuffle.pairs import Pairs

_POWERS = 8  # negative powers of z that are asked for
_OUTSIDE = 9.0  # decimal digits to which λΔ/ρ vanishes for a pole that is outside and far away


class FollowedPairs(Pairs):
    """Φ and Ψ/ρ at pairs of points for single rows, some poles of α being followed.

    What is solved at a point is a row: a, log z, and the places ζ of the poles followed.
    """

    def __init__(
        self, average: Average, rho: float, step: float, spectrum: tuple[Array, Array], turns: Array
    ) -> None:
        super().__init__(average, rho, step)
        self.turns, scales = turns, np.array([1 / step, rho])
        self._equation = (scales, self.nodes, self.heavy, *spectrum, turns)

    def around(self, radius: float, angles: Array) -> tuple[npt.NDArray, float]:
        """The solution at radius·e^(i·angles), angles descending from π, and Newton's largest last relative change."""
        path = paths.around(float(np.log(radius)), angles)
        c, _ = paths.follow(path[:1], self.start, super().changes, 0.1 * self.tau)
        poles = (path[0] + 2j * np.pi * self.turns) / (self.rho * c[0])
        seen = (self.heavy / (self.nodes - poles[:, None])).sum(axis=1)
        start = np.append(self.rho * c[0], (self.rho - seen) * poles)
        solved, worst = paths.follow(path, start, self.changes, 0.1 * self.rho * self.tau)
        solved[:, 0] /= self.rho
        return np.insert(solved, 1, path, axis=1)[1:], worst

    def changes(self, log_z: complex, x: npt.NDArray) -> tuple[npt.NDArray, npt.NDArray]:
        """Newton's change of c and all ζ, and their slopes by log z."""
        gap, slopes = kernel.followed(log_z, x, self._equation)
        return gap, -slopes

    def real(self, solved: npt.NDArray) -> npt.NDArray:
        """Real amplitudes are not asked for: no point is on the real axis."""
        return np.ones(len(solved), dtype=bool)

    def negative_powers(self, angles: Array, solved: npt.NDArray) -> float:
        """The largest coefficient of the first negative powers of z in a, over a at z = 0, from equidistant angles."""
        waves = np.exp(1j * np.multiply.outer(np.arange(1, _POWERS), angles))
        return float(np.abs((waves * solved[:, 0]).real.mean(axis=1)).max() / self.tau)

    def poles(self, log_z: npt.NDArray, solved: npt.NDArray) -> npt.NDArray:
        """The nearest poles of α that are not followed."""
        low, high = self.turns[0], self.turns[-1]
        turns = 2j * np.pi * np.array([low - 2, low - 1, high + 1, high + 2])[:, None]
        return (log_z + turns) / (self.rho * solved[:, 0])

    def resolvents(
        self, log_z: npt.NDArray, solved: npt.NDArray
    ) -> tuple[npt.NDArray, npt.NDArray, tuple[npt.NDArray, ...]]:
        """α and D at the nodes, and at the poles that are followed, which are the points' own nodes."""
        c, logs, zeta = self.rho * solved[:, 0], solved[:, 1], solved[:, 2:]
        poles = (logs[:, None] + 2j * np.pi * self.turns) / c[:, None]
        inverse = 1 / (self.nodes - poles[:, :, None])
        alone = 1 - self.rho + zeta / poles  # −⟨λ_k/(λ − λ_k)⟩
        moved = self.rho - zeta / poles - inverse @ self.heavy  # λ_k Δ_k
        far = np.abs(poles) > 2 * np.abs(self.nodes).max()
        outside = far & (np.abs(moved) < 10**-_OUTSIDE * self.rho)
        moved = np.where(outside, 0, moved) / c[:, None]
        alpha, D, _ = super().resolvents(logs, solved)
        D -= (moved[:, :, None] * inverse).sum(axis=1)
        return alpha, D, (np.where(outside, 1, poles), moved, -(1 - alone) * moved)
