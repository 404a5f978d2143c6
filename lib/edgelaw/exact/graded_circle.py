r"""Coefficients of a generating function from few points of a circle, dense where its nearest singularity is.

A generating function is known at points :math:`z_j = r e^{i\theta_j}` and analytic out to :math:`z^* > r` on the
positive axis, further out elsewhere. The points are equidistant in x,

.. math:: \theta = \pi - 2\,\mathrm{am}(2Kx \mid m), \qquad m = \frac{1}{1+\delta^2}, \qquad
   \frac{d\theta}{dx} \propto \sqrt{\sin^2(\theta/2) + \delta^2} .

With :math:`\delta = \sinh(\tfrac12\log(z^*/r))` the singularity at :math:`z^*` is as far away in x as the period of am
allows. Coefficients are integrals of the trigonometric interpolant in x, whose weights are computed once for all;
interpolation errors are amplified by :math:`(z^*/r)^n`, so r stays close to :math:`z^*`.

Where singularities are close on all sides, the points are equidistant in θ (an infinite grading), and the trapezoidal
rule of N > n of them gives the n-th coefficient plus the (n + N)-th times :math:`r^N`. For a symmetric function of two
variables z is at the angles :math:`2\pi(j+\tfrac14)/N` and w at the conjugate points: the aliases :math:`(n+N, n)` and
:math:`(n, n+N)` cancel, and what is left is :math:`(r/z^*)^{2N}`, less than one over what rounding is amplified by.
"""

import functools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.fft
import scipy.special

from edgelaw._common.types import Array, ArrayLike, FloatOrArray, Integers

ANGLES = np.pi / 2.0 ** np.arange(5)  # where the distance of the nearest singularity is asked for
AMPLIFIED = (
    4.0  # the least logarithm of how much a circle amplifies errors, which keeps it off the singularity
)
BESIDES = 50  # equidistant points besides one per coefficient
MOST = 1600  # equidistant points, of which all pairs are taken
LEAST = 2e-8  # error stated of what comes from a circle: rounding leaves as much of its sums


@dataclass(frozen=True, eq=False)
class Circle:
    """A circle with points in the upper half plane, from −r to r, and the pairs at which functions are asked for.

    `first` and `second` are indices into the points followed by their conjugates. The rows of `weights` belong to the
    coefficients n, the columns to the points.
    """

    n: Integers
    radius: float
    points: npt.NDArray
    weights: npt.NDArray
    first: Integers
    second: Integers

    def pair_coefficients(self, values: npt.NDArray) -> Array:
        """[zⁿwⁿ] of a symmetric function of two variables, real for real ones, from its values at the pairs."""
        w, size = self.weights, len(self.points)
        *same, mixed = values.reshape(-1, size * (size + 1) // 2)
        sums = ((w @ _hermitian(mixed, size)) * w.conj()).sum(axis=1)
        for triangle in same:  # else w is nowhere but at the conjugates of z
            sums = 2 * (sums + ((w @ _symmetric(triangle, size)) * w).sum(axis=1))
        return sums.real * self.radius ** (-2.0 * self.n)


def all_pairs(size: int) -> tuple[Integers, Integers]:
    """Indices of all pairs (z, w), and then of all pairs (z, w̄), of so many points: each pair once."""
    i, j = np.triu_indices(size)
    return np.concatenate([i, i]), np.concatenate([j, j + size])


def staggered_pairs(size: int) -> tuple[Integers, Integers]:
    """Indices of all pairs (z, w̄) of points of which every second one is taken below the real axis: each pair once."""
    i, j = np.triu_indices(size)
    below = np.arange(size) % 2 * size
    return i + below[i], j + size - below[j]


def _symmetric(upper: npt.NDArray, size: int) -> npt.NDArray:
    """The symmetric matrix with this upper triangle."""
    i, j = np.triu_indices(size)
    matrix = np.empty((size, size), dtype=complex)
    matrix[i, j] = matrix[j, i] = upper
    return matrix


def _hermitian(upper: npt.NDArray, size: int) -> npt.NDArray:
    """The Hermitian matrix with this upper triangle."""
    i, j = np.triu_indices(size)
    matrix = np.empty((size, size), dtype=complex)
    matrix[i, j], matrix[j, i] = upper, upper.conj()
    return matrix


def circle(n: Integers, points: int, radius: float, grading: float) -> Circle:
    """The circle for the coefficients n with an even number of points and a grading δ."""
    theta, weights = _rule(tuple(int(k) for k in n), points, grading)
    pairs = staggered_pairs(len(theta)) if np.isinf(grading) else all_pairs(len(theta))
    return Circle(np.asarray(n), radius, radius * np.exp(1j * theta), weights, *pairs)


def plan(largest: int, gaps: Array, digits: float, amplified: float) -> tuple[int, float, float]:
    """Points, logarithmic distance L of the circle from the singularity, and grading, for coefficients up to `largest`.

    `gaps` are the logarithmic distances, at the angles `ANGLES`, of the nearest singularity from the circle through
    that at angle 0. The interpolation error is :math:`e^{-\\pi M w}` for M points and a strip |Im x| < w; it is
    amplified by :math:`e^{a L n}` with a = `amplified` (2 for pairs), which is between e^4 and e^12.
    Equidistant points are cheaper where singularities are on all sides: N of them have N²/2 pairs, M graded ones M²/4.
    """
    losses = AMPLIFIED * np.array([1, 1.5, 2, 3])
    loss, factor = (x.ravel() for x in np.meshgrid(losses, 2.0 ** np.arange(0, 8, 0.5)))
    distance = loss / (amplified * largest)
    grading = factor * np.sinh(distance / 2)
    points = (digits + loss) / (np.pi * _strip(grading, distance, gaps))
    best = np.argmin(points)
    count = largest + BESIDES
    if np.sqrt(2) * count < points[best]:
        if count > MOST:
            raise ArithmeticError(
                f"A circle for {largest} epochs takes too long where singularities come close from all sides, as next "
                f"to the largest step: ask for at most {MOST - BESIDES} epochs, or for a smaller step."
            )
        return count, digits / (count + largest), np.inf
    return int(np.ceil(points[best])), float(distance[best]), float(grading[best])


def _strip(grading: Array, distance: Array, gaps: Array) -> Array:
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


def period(grading: FloatOrArray) -> FloatOrArray:
    """2K, the period of dn and half that of am."""
    return 2 * scipy.special.ellipkm1(grading**2 / (1 + grading**2))


def angles(x: ArrayLike, grading: float) -> tuple[Array, Array]:
    """θ and −dθ/dx, by Landen's transformation: SciPy's am is told m, which has no digits of 1 − m next to 1."""
    whole, complement = period(grading), grading**2 / (1 + grading**2)
    mean, other, ratios = 1.0, np.sqrt(complement), []
    while mean - other > 1e-15 * mean:
        ratios.append((mean - other) / (mean + other))
        mean, other = (mean + other) / 2, np.sqrt(mean * other)
    amplitude = 2.0 ** len(ratios) * mean * whole * np.asarray(x)
    for ratio in reversed(ratios):
        amplitude = (amplitude + np.arcsin(ratio * np.sin(amplitude))) / 2
    slope = np.sqrt(np.cos(amplitude) ** 2 + complement * np.sin(amplitude) ** 2)
    return np.pi - 2 * amplitude, 2 * whole * slope


@functools.lru_cache(maxsize=32)
def _rule(n: tuple[int, ...], points: int, grading: float) -> tuple[Array, npt.NDArray]:
    """Angles in the upper half plane, and weights of the coefficients, by Fourier coefficients in x of e^(−inθ)θ′.

    Of equidistant angles every second one stands for its conjugate, with the weights e^(−inθ)/N. Else θ is odd about
    the middle of the period, so those are real: a cosine and a sine transform over half the period.
    """
    epochs = np.array(n)
    if np.isinf(grading):
        theta = np.pi * (1 - (np.arange(points) + 0.5) / points)
        return theta, _powers(np.where(np.arange(points) % 2, -theta, theta), epochs) / points
    half = points // 2
    x = (np.arange(half) + 0.5) / points
    steepest = angles(np.zeros(1), grading)[1][0]
    sizes = 1 << np.ceil(np.log2(2 * points + 128 + 0.65 * epochs * steepest / np.pi)).astype(int)
    phases = 2 * np.pi * np.multiply.outer(np.arange(half), x)
    cosines, sines = np.cos(phases) / points, np.sin(phases[1:]) / points
    cosines[0] /= 2
    weights = np.empty((len(n), half), dtype=complex)
    for size in np.unique(sizes):
        theta, slopes = angles((np.arange(size) + 0.5) / (2 * size), grading)
        places, block = np.flatnonzero(sizes == size), max(1, 2**17 // size)
        for some in np.split(places, np.arange(block, len(places), block)):
            waves = _powers(theta, epochs[some]) * (slopes / (2 * np.pi * size))
            weights.real[some] = scipy.fft.dct(waves.real, axis=1)[:, :half] @ cosines
            weights.imag[some] = scipy.fft.dst(waves.imag, axis=1)[:, : half - 1] @ sines
    return angles(x, grading)[0], weights


def _powers(theta: Array, n: Integers) -> npt.NDArray:
    """e^(−inθ) for ascending n, each from the one before."""
    powers, once = np.exp(-1j * np.multiply.outer(n[:1], theta)), np.exp(-1j * theta)
    powers = np.repeat(powers, len(n), axis=0)
    for place, more in enumerate(np.diff(n), start=1):
        np.multiply(powers[place - 1], once if more == 1 else np.exp(-1j * more * theta), out=powers[place])
    return powers
