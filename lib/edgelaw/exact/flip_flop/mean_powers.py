r"""From functions of Σ to functions of the sample: the mean of single shuffle's epochs, along each eigenvector.

The mean over orders of a power of the epoch is a function :math:`b_n` of the Gram matrix's eigenvalue κ. Its
deterministic equivalent is the function :math:`[z^n](1-ze^{-c\lambda})^{-1}` of Σ. The resolvent :math:`(\zeta-S)^{-1}`
has the equivalent :math:`1/(\zeta(1-x\lambda))`; with y = 1/x(ζ) that is inverted by

.. math:: b_n(\kappa) = \oint [z^n]\frac1{1-ze^{-cy}}\;\frac\zeta{\zeta-\kappa}\,\frac{dy}{2\pi iy} ,

along a contour in ζ around all eigenvalues and 0, inside which the integrand is analytic. A row that was left out sees
the mean weights with another factor: leaving out a row divides residuals of a resolvent by the mean diagonal entry of
:math:`\zeta(\zeta-K)^{-1}`, and the mean error on fresh rows is ρβ times the target along each eigenvector of K,

.. math:: \beta_n(\kappa) = \oint [z^n]\frac1{1-ze^{-cy}}\;\frac1{\zeta-\kappa}\,\frac{dy}{2\pi i} .
"""

import numpy as np

_POINTS = 120, 240, 480, 960  # on the upper half of the contour
_ACCURATE = 1e-11  # of the transform of 1
_INSIDE = 6.0  # by so many e-foldings of the last epoch the circle in z is inside that of the losses
_AROUND = 6.0  # points of that circle per epoch


class Transform:
    """The contour in ζ of one setting, as points y with weights; `gram` and `parts` are the Gram matrix's spectrum."""

    def __init__(self, contour, gram, parts, rho):
        for points in _POINTS:
            upper = contour(points)
            self.zeta = np.concatenate([upper, upper[::-1].conj()])
            self.resolvent = 1 / (self.zeta[:, None] - gram)
            self.y = 1 / (self.resolvent @ parts) / rho
            self.slopes = _derivative(self.y) / (2 * points * 1j)
            self.error = float(np.abs(self.of_functions(np.ones((1, 2 * points))) - 1).max())
            if self.error < _ACCURATE:
                break

    def of_functions(self, values):
        """Functions of S at each κ from functions of Σ at the points y (last axis)."""
        return ((values * (self.slopes * self.zeta / self.y)) @ self.resolvent).real

    def left_out(self, values):
        """What a row that was left out sees of them: β at each κ."""
        return ((values * self.slopes) @ self.resolvent).real


def on_contour(pairs, transform, n, least):
    """[zⁿ] 1/(1 − z e^(−cy)) at the points of a contour, an array (n, points)."""
    last = int(n[-1])
    log_radius = -(least / 2 + _INSIDE) / last
    half = int(np.ceil(_AROUND * last / 2)) + 32
    angles = np.pi * (1 - (np.arange(half) + 0.5) / half)
    c, worst = pairs.around(np.exp(log_radius), angles)
    if not worst < 1e-9:
        raise ArithmeticError(f"The equation for single shuffle's exponent was solved only to {worst:.0e}.")
    z = np.exp(log_radius + 1j * angles)
    size = len(transform.y) // 2
    waves = np.exp(-np.multiply.outer(n, log_radius + 1j * angles)) / (2 * half)
    values = waves @ (1 / (1 - z[:, None] * np.exp(-c[:, None] * transform.y)))
    other = np.concatenate([values[:, size:][:, ::-1], values[:, :size][:, ::-1]], axis=1)
    return values + other.conj()  # the points of the lower half circle


def _derivative(values):
    """The derivative of a periodic function by its angle, from values at the midpoints of an even grid."""
    size = len(values)
    k = np.fft.fftfreq(size, 1 / size)
    k[size // 2] = 0
    return np.fft.ifft(1j * k * np.fft.fft(values))
