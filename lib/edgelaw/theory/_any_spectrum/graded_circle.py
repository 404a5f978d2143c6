r"""Coefficients of a generating function from few points of a circle, dense where its nearest singularity is.

A generating function is known at points :math:`z_j = r e^{i\theta_j}` and analytic out to :math:`z^* > r` on the
positive axis, further out elsewhere. The points are equidistant in x,

.. math:: \theta = \pi - 2\,\mathrm{am}(2Kx \mid m), \qquad m = \frac{1}{1+\delta^2}, \qquad
   \frac{d\theta}{dx} \propto \sqrt{\sin^2(\theta/2) + \delta^2} ,

so that their spacing grows with the distance from :math:`\theta = 0`. With :math:`\delta =
\sinh(\tfrac12\log(z^*/r))` the singularity at :math:`z^*` is as far away in x as the period of am allows, and the
number of points for a given accuracy grows like the logarithm of the number of coefficients. Coefficients are
integrals of the trigonometric interpolant in x, whose weights are computed once for all coefficients; interpolation
errors are amplified by :math:`(z^*/r)^n`, so r stays close to :math:`z^*`.

Where singularities are close on all sides, grading gains nothing, and the points are equidistant in θ (`EVEN`). The
trapezoidal rule of N points gives the n-th coefficient plus the (n + N)-th times :math:`r^N`: no interpolant is needed,
only N > n, and it has an error of :math:`(r/z^*)^N`. Rounding errors are amplified by :math:`(z^*/r)^n` in each
variable, so that N is a compromise between the two.
"""

import functools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.fft
import scipy.special

ANGLES = np.pi / 2.0 ** np.arange(5)  # where the distance of the nearest singularity is asked for
EVEN = np.inf  # the grading of equidistant points
_DIGITS = 14.5  # of an interpolant (its count is careful), for which the rules below are made


class Even(NamedTuple):
    """How many equidistant points there are per coefficient and besides, and their digits, in powers of e."""

    per_coefficient: float
    besides: float
    digits: float


PRECISE = Even(2.2, 70.0, 18.0)  # about 1e-8
QUICK = Even(1.8, 50.0, 17.0)  # about 1e-7
DECAYING = Even(2.0, 60.0, 17.0)  # the same for small losses, where rounding counts more


@dataclass(frozen=True, eq=False)
class Circle:
    """A circle with points in the upper half plane, from −r to r, and the weights of the coefficients n."""

    n: np.ndarray
    radius: float
    points: np.ndarray
    weights: np.ndarray  # (n, points); those of the conjugate points are conjugate

    def pair_coefficients(self, same, mixed):
        """[zⁿwⁿ] of a symmetric function of two variables: its values at pairs (z, w) and at pairs (z, w̄)."""
        w = self.weights
        sums = ((w @ same) * w).sum(axis=1) + ((w @ mixed) * w.conj()).sum(axis=1)
        return 2 * sums.real * self.radius ** (-2.0 * self.n)


def circle(n, points, radius, grading):
    """The circle for the coefficients n with an even number of points and a grading δ."""
    theta, weights = _rule(tuple(int(k) for k in n), points, grading)
    return Circle(np.asarray(n), radius, radius * np.exp(1j * theta), weights)


def plan(largest, gaps, digits, amplified, least=4.0, even=PRECISE):
    """Points, logarithmic distance L of the circle from the singularity, and grading, for coefficients up to `largest`.

    `gaps` are the logarithmic distances, at the angles `ANGLES`, of the nearest singularity from the circle through
    that at angle 0. The interpolation error is :math:`e^{-\\pi M w}` for M points and a strip |Im x| < w; it is
    amplified by :math:`e^{a L n}` with a = `amplified` (2 for pairs), which is between e^least and e^16 (or e^least).
    The trapezoidal rule of equidistant points has an error of :math:`e^{-LN}`, which is not amplified: where
    singularities are on all sides it needs fewer points; `even` says how many.
    """
    loss, factor = (
        x.ravel()
        for x in np.meshgrid(
            [least, *(x for x in (6.0, 8.0, 12.0, 16.0) if x > least)], 2.0 ** np.arange(0, 8, 0.5)
        )
    )
    distance = loss / (amplified * largest)
    grading = factor * np.sinh(distance / 2)
    points = (digits + loss) / (np.pi * _strip(grading, distance, gaps))
    best = np.argmin(points)
    precision = even.digits + digits - _DIGITS
    count = (even.per_coefficient * largest + even.besides) * precision / even.digits
    if count < points[best]:
        distance = max(least / (2 * largest), precision / count)
        distance *= amplified / 2  # the coarser of two circles further inside, where rounding is to be seen
        return int(np.ceil(count)), distance, EVEN
    return int(np.ceil(points[best])), float(distance[best]), float(grading[best])


def _strip(grading, distance, gaps):
    """How far from the real axis of x the nearest singularity is."""
    small = grading**2 / (1 + grading**2)
    ahead = np.arcsin(np.minimum(1.0, np.tanh(distance / 2) / np.sqrt(small)))
    widths = [scipy.special.ellipkinc(ahead, small)]
    for angle, gap in zip(ANGLES, gaps, strict=True):
        if angle == np.pi:
            widths.append(scipy.special.ellipkinc(np.arctan(np.sinh((distance + gap) / 2)), small))
        else:
            spacing = np.sqrt((np.sin(angle / 2) ** 2 + grading**2) / (1 + grading**2))
            widths.append((distance + gap) / (2 * spacing))
    return np.min(widths, axis=0) / period(grading)


def period(grading):
    """2K, the period of dn and half that of am."""
    return 2 * scipy.special.ellipkm1(grading**2 / (1 + grading**2))


def angles(x, grading):
    """θ and −dθ/dx."""
    whole = period(grading)
    _, _, slope, amplitude = scipy.special.ellipj(whole * x, 1 / (1 + grading**2))
    return np.pi - 2 * amplitude, 2 * whole * slope


@functools.lru_cache(maxsize=32)
def _rule(n, points, grading):
    """Angles in the upper half plane, and weights of the coefficients, by Fourier coefficients in x of e^(−inθ)θ′.

    Equidistant angles have the weights e^(−inθ)/N. Else θ is odd about the middle of the period, so those are real: a
    cosine and a sine transform over half the period.
    """
    half, n = points // 2, np.array(n)
    x = (np.arange(half) + 0.5) / points
    if grading == EVEN:
        theta = np.pi - 2 * np.pi * x
        return theta, _powers(theta, n) / points
    steepest = angles(np.zeros(1), grading)[1][0]
    size = 1 << int(np.ceil(np.log2(2 * points + 128 + 0.65 * n.max() * steepest / np.pi)))
    theta, slopes = angles((np.arange(size) + 0.5) / (2 * size), grading)
    phases = 2 * np.pi * np.multiply.outer(np.arange(half), x)
    cosines, sines = np.cos(phases) / points, np.sin(phases[1:]) / points
    cosines[0] /= 2
    weights = np.empty((len(n), half), dtype=complex)
    block = max(1, 2**17 // size)
    for first in range(0, len(n), block):
        waves = _powers(theta, n[first : first + block]) * (slopes / (2 * np.pi * size))
        even = scipy.fft.dct(waves.real, axis=1)[:, :half]
        odd = scipy.fft.dst(waves.imag, axis=1)[:, : half - 1]
        weights.real[first : first + block] = even @ cosines
        weights.imag[first : first + block] = odd @ sines
    return angles(x, grading)[0], weights


def _powers(theta, n):
    """e^(−inθ) for ascending n, each from the one before."""
    powers, once = np.exp(-1j * np.multiply.outer(n[:1], theta)), np.exp(-1j * theta)
    powers = np.repeat(powers, len(n), axis=0)
    for place, more in enumerate(np.diff(n), start=1):
        np.multiply(powers[place - 1], once if more == 1 else np.exp(-1j * more * theta), out=powers[place])
    return powers
