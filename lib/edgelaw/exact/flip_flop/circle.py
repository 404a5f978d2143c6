r"""Coefficients of a function with a cut from z* to infinity from few points of a circle inside.

On the circle :math:`z = re^{i\theta}` the angles of `graded_circle`, with
:math:`\delta = \sinh(\frac12\log(z^*/r))`, x in [0, 1], map a strip around the real axis to the plane without the cut
and without its mirror image in the circle: in x a function that is analytic off the cut has Fourier coefficients that
fall like :math:`e^{-\pi^2 k/2K}`, with K growing like log(1/δ) only. So some 40 to 60 equidistant x determine it on the
whole circle, where it is interpolated as finely as the coefficients wanted require. The integral for them is moved
outside a little, which changes nothing, but lets its integrand fall off from the edge: for large n most of it would
only cancel.
"""

import numpy as np
import scipy.special

from edgelaw._common.compiled import compiled
from edgelaw.exact import graded_circle

_DECAY = 25.0  # the integrand of the last coefficient falls by so many e-foldings away from the edge
_AMPLIFIED = 0.3  # by so many at most the interpolation's error grows for that


class Circle:
    """The circle of radius r = exp(log_edge − margin) about 0, graded towards the edge z* = exp(log_edge)."""

    def __init__(self, log_edge, margin, tolerance):
        self.log_radius, self.delta = log_edge - margin, np.sinh(margin / 2)
        self.parameter = 1 / (1 + self.delta**2)
        self.period = graded_circle.period(self.delta)
        self.size = 2 * int(np.ceil(np.log(50 / tolerance) * self.period / np.pi**2))
        self.x = (np.arange(self.size // 2) + 0.5) / self.size  # the upper half; the other is its conjugate

    def z(self, x):
        """The points."""
        return np.exp(self.log_radius + 1j * graded_circle.angles(x, self.delta)[0])

    def coefficients(self, values, n):
        """[zⁿ] of the functions with these values at the points `x` (last axis), n ascending and positive."""
        fine = self.size * int(np.ceil(4 + 2 * n[-1] * self.period / np.pi / self.size))
        outwards = min(_DECAY / (2 * n[-1] * self.period), _AMPLIFIED / (np.pi * self.size))
        phase, slope = self._outside((np.arange(fine // 2) + 0.5) / fine, outwards)
        on_circle = np.concatenate([values, values[..., ::-1].conj()], axis=-1)
        weighted = _interpolated(on_circle, fine, outwards)[..., : fine // 2] * (slope / (np.pi * fine))
        sums = _sums(np.ascontiguousarray(weighted), 1 / phase, n)
        return sums * np.exp(-n * self.log_radius)

    def _outside(self, x, y):
        """z/r and −dθ/dx at x + iy, a little outside of the circle but for the point next to the edge."""
        s, c, d, _ = scipy.special.ellipj(self.period * x, self.parameter)
        s1, c1, d1, _ = scipy.special.ellipj(self.period * y, 1 - self.parameter)
        denominator = 1 - (d * s1) ** 2
        sine = (s * d1 + 1j * c * d * s1 * c1) / denominator
        cosine = (c * c1 - 1j * s * d * s1 * d1) / denominator
        slope = (d * c1 * d1 - 1j * self.parameter * s * c * s1) / denominator
        return -((cosine - 1j * sine) ** 2), 2 * self.period * slope


def _interpolated(values, fine, y):
    """A periodic function from its values at the midpoints of a grid to those of a finer one, moved by iy."""
    size = values.shape[-1]
    k = np.fft.fftfreq(size, 1 / size)
    series = np.fft.fft(values) / size * np.exp(-1j * np.pi * k / size - 2 * np.pi * k * y)
    series[..., size // 2] = 0
    padded = np.zeros((*values.shape[:-1], fine), dtype=complex)
    for part in (slice(0, size // 2), slice(-(size // 2), None)):
        padded[..., part] = series[..., part]
    k = np.fft.fftfreq(fine, 1 / fine)
    return np.fft.ifft(padded * np.exp(1j * np.pi * k / fine)) * fine


@compiled
def _sums(weighted, phase, n):
    """Re Σ_x weighted(x)·phase(x)ⁿ, for ascending n."""
    functions, size = weighted.shape
    sums = np.zeros((functions, n.size))
    for x in range(size):
        power, at = 1 + 0j, 0
        for i in range(n.size):
            gap = n[i] - at
            power *= phase[x] if gap == 1 else phase[x] ** gap
            at = n[i]
            for f in range(functions):
                sums[f, i] += weighted[f, x].real * power.real - weighted[f, x].imag * power.imag
    return sums
