r"""From functions of Σ to functions of the sample: the mean of single shuffle's epochs, along each eigenvector.

The mean over orders of a power of the epoch, a function :math:`b_n` of the Gram matrix's eigenvalue κ, has the
deterministic equivalent :math:`[z^n](1+\alpha)` of Σ, and :math:`(\zeta-S)^{-1}` has :math:`1/(\zeta(1-x\lambda))`. So,
with y = 1/x(ζ) along a contour in ζ around all eigenvalues and 0, inside which the integrand is analytic,

.. math:: b_n(\kappa) = \oint [z^n](1+\alpha(y))\;\frac\zeta{\zeta-\kappa}\,\frac{dy}{2\pi iy} , \qquad
   \beta_n(\kappa) = \oint [z^n](1+\alpha(y))\;\frac1{\zeta-\kappa}\,\frac{dy}{2\pi i} .

ρβ times the target along an eigenvector of K is the mean error on fresh rows: leaving out a row divides residuals of a
resolvent by the mean diagonal entry of :math:`\zeta(\zeta-K)^{-1}`.
"""

import numpy as np
import numpy.typing as npt

from edgelaw._common.types import Array, Integers
from edgelaw.exact.levy import Contour
from edgelaw.exact.single_shuffle.pairs import Pairs
from edgelaw.exact.single_shuffle.settings import BORNE


class Transform:
    """The contour in ζ of one setting, as points y with weights; `gram` and `parts` are the Gram matrix's spectrum."""

    def __init__(self, contour: Contour, gram: Array, parts: Array, rho: float) -> None:
        for points in (120, 240, 480, 960):
            upper = contour(points)
            zeta = np.concatenate([upper, upper[::-1].conj()])
            self.resolvent = 1 / (zeta[:, None] - gram)
            self.y = 1 / (self.resolvent @ parts) / rho
            self.slopes = _derivative(self.y) / (2 * points * 1j)
            self.weights = self.slopes * zeta / self.y
            if np.abs(self.of_functions(np.ones((1, 2 * points))) - 1).max() < 1e-11:
                break

    def of_functions(self, values: npt.NDArray) -> Array:
        """Functions of S at each κ from functions of Σ at the points y (last axis)."""
        return ((values * self.weights) @ self.resolvent).real

    def left_out(self, values: npt.NDArray) -> Array:
        """What a row that was left out sees of them: β at each κ."""
        return ((values * self.slopes) @ self.resolvent).real


def on_contour(pairs: Pairs, transform: Transform, n: Integers) -> npt.NDArray:
    """[zⁿ](1 + α) at the points of a contour, an array (n, points)."""
    half = 3 * int(n[-1]) + 32
    log_z = -8 / n[-1] + 1j * np.pi * (1 - (np.arange(half) + 0.5) / half)
    solved = pairs.around(log_z)
    if not np.isfinite(solved).all():
        raise ArithmeticError("The equation for single shuffle's amplitude could not be solved on a circle.")
    waves = np.exp(-np.multiply.outer(n, log_z)) / (2 * half)
    means = -1 / np.expm1(log_z[:, None] - pairs.decay(solved, transform.y))
    if not np.abs(solved[:, 0] * (means @ transform.weights - 1 + 1 / pairs.tau) - 1).max() < BORNE:
        raise ArithmeticError("No contour for the mean weights keeps clear of the poles of their resolvent.")
    values = waves @ means
    return values + values[:, ::-1].conj()  # the points of the lower half circle


def _derivative(values: npt.NDArray) -> npt.NDArray:
    """The derivative of a periodic function by its angle, from values at the midpoints of an even grid."""
    size = len(values)
    k = np.fft.fftfreq(size, 1 / size)
    k[size // 2] = 0
    return np.fft.ifft(1j * k * np.fft.fft(values))
