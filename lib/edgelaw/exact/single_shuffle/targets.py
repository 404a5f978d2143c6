r"""Targets on the eigenvectors of the Gram matrix, and the functional through which they enter functions of Σ.

With :math:`q_a = (o_a\cdot t)^2` for the eigenvectors of the Gram matrix, summed over outputs, κ_a its eigenvalues, and
y = 1/x(ζ) as in the theory of the average (:mod:`edgelaw.exact.levy`),

.. math:: \Bigl\langle\frac{\lambda}{y-\lambda}\Bigr\rangle_t = \sum_a\frac{q_a}{\zeta-\kappa_a}

defines :math:`\langle\varphi\rangle_t` for φ(0) = 0: if g(S) has the deterministic equivalent φ(Σ), then
:math:`\langle\varphi\rangle_t = \sum_aq_a\,g(\kappa_a)/\kappa_a`. It is represented like the average itself, by the
poles and residues of a rational function on the same contour.
"""

import functools

import numpy as np
import numpy.typing as npt

from edgelaw._common.types import Array
from edgelaw.exact import levy, sources
from edgelaw.exact.labels.rows import LabelledRows


class Targets:
    """The targets of labelled rows on the scale of the theory: unit rows on average, targets of unit length in total.

    `squares` are those along the eigenvectors with positive eigenvalues, `noise` those in the null space, all outputs
    together, and `size` the sum of all before they were divided by it.
    """

    def __init__(self, rows: LabelledRows) -> None:
        m, d = rows.shape
        if len(rows.eigenvalues) < sources.FEWEST:
            raise ValueError(
                f"rows must span at least {sources.FEWEST} dimensions to stand for a spectrum, not "
                f"{len(rows.eigenvalues)}."
            )
        if rows.start == 0:
            raise ValueError("targets must not all be zero.")
        self.rows, self.size = rows, m * rows.start
        self.squares = rows.eigenvalues * rows.energies * (rows.scale / (d * rows.start))
        noisy = len(rows.eigenvalues) < m and rows.residual > 1e-14 * rows.start  # more than rounding
        self.noise = rows.residual / rows.start if noisy else 0.0

    @property
    def spectrum(self) -> tuple[Array, Array]:
        """Eigenvalues of XᵀX, mean 1, zeros included, and their shares."""
        d, r = self.rows.shape[1], len(self.rows.eigenvalues)
        zeros = [0.0] if d > r else []
        return np.append(zeros, self.rows.eigenvalues), np.append([1 - r / d] * len(zeros), np.full(r, 1 / d))

    def gram(self, rho: float) -> tuple[Array, Array, Array]:
        """The spectrum of the Gram matrix of m = ρd rows, and the targets' squares on it; 0 is first, always there."""
        gram, parts = levy.companion(*self.spectrum, rho)
        if gram[0] > 0:
            gram, parts = np.append(0.0, gram), np.append(0.0, parts)
        return gram, parts, np.append(self.noise, self.squares)

    def measures(self, contour: levy.Contour, rho: float, tolerance: float) -> list[levy.Average]:
        """⟨·⟩_t of the targets and, if they have a part in the null space, of a unit target there.

        The tolerance is relative to the largest value of the function that is approximated.
        """
        gram, parts, q = self.gram(rho)
        null = np.append(1.0, np.zeros(len(self.squares)))
        columns = np.column_stack([parts, q, null])[:, : 2 + (self.noise > 0)]

        @functools.cache
        def transforms(points: int) -> tuple[npt.NDArray, npt.NDArray]:
            sums = (1 / (contour(points)[:, None] - gram)) @ columns
            return 1 / sums[:, 0], sums[:, 1:].T

        def measure(k: int, scale: float) -> levy.Average:
            def sampled(points: int) -> tuple[npt.NDArray, npt.NDArray]:
                t, sums = transforms(points)
                return t, 1 + sums[k] / scale

            poles, residues, error = levy.rational(sampled, tolerance)
            return levy.Average(poles / rho, scale * residues / poles, float(error))

        scales = np.abs(transforms(60)[1]).max(axis=1)
        return [measure(k, scale) for k, scale in enumerate(scales)]
