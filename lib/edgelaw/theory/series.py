r"""Coefficient extraction: Taylor coefficients on a circle, diagonals of bivariate series, Poisson weights.

A learning curve is the *diagonal* :math:`[z^n w^n]\,\Phi(z, w)` of a generating function of two variables that is known
only through a parameter, :math:`z = z(v)`. Cauchy's formula needs no inverse of that map:

.. math:: [z^n w^n]\,\Phi = \oint\!\!\oint \Phi\; z^{-n} w^{-n}\,
          \frac{d\log z}{2\pi i}\,\frac{d\log w}{2\pi i} ,

and the trapezoidal rule on a closed smooth contour converges geometrically. With :math:`E_{n j} = z_j^{-n} \omega_j`,
where the nodes are :math:`z_j` and the weights :math:`\omega_j`, the diagonals are the quadratic
forms :math:`E_n^\top \Phi E_n`.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from edgelaw._common import arguments
from edgelaw._common.types import Array, ArrayLike, FloatOrArray

_EXPONENTS = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)


def coefficients(function: Callable[[npt.NDArray], npt.NDArray], count: int, radius: float = 0.5) -> Array:
    r"""The first ``count`` Taylor coefficients at 0 of a function that is real on the real axis.

    The trapezoidal rule on the circle of this radius with at least four times as many points, by one FFT. The
    absolute error of coefficient k is about :math:`10^{-16} \max\|f\| / r^k`, plus :math:`r^{3 \cdot
    \mathrm{count}}` in units of the coefficients' growth: take the radius well inside the disc of convergence,
    and close to it for many coefficients.

    Examples
    --------
    >>> [round(float(c), 12) for c in coefficients(np.exp, 4)]
    [1.0, 1.0, 0.5, 0.166666666667]
    """
    count, radius = arguments.whole(count, "count", 1), arguments.number(radius, "radius", 0)
    points = 4 * count + 64
    z = radius * np.exp(2j * np.pi * np.arange(points) / points)
    return (np.fft.fft(function(z)) / points)[:count].real / radius ** np.arange(count)


def diagonal(
    n: ArrayLike,
    log_z: npt.NDArray,
    weights: npt.NDArray,
    kernel: Callable[[slice], npt.NDArray],
    base: float = 0.0,
) -> tuple[Array, Array]:
    r"""Diagonal coefficients :math:`[z^n w^n]\Phi` times :math:`e^{2 n\,\mathrm{base}}`, by the trapezoidal rule.

    The contour is symmetric about the real axis and :math:`\Phi` real on it, so the rows below the axis are the
    conjugates of those above, and only the upper half of the kernel is needed.

    Parameters
    ----------
    n : array of int
    log_z : complex array (2M,)
        :math:`\log z` at the nodes, the second half the conjugates of the first.
    weights : complex array (2M,)
        :math:`d\log z / 2\pi i` there.
    kernel : callable
        ``kernel(rows)`` is :math:`\Phi` between the nodes of a slice of the first half and all nodes.
    base : float
        Subtracted from :math:`\log z`, to keep large powers within range.

    Returns
    -------
    values, magnitudes : float arrays
        The coefficients, and the same sums with every term replaced by its size: their ratio times 1e-16 is what
        rounding costs.

    Examples
    --------
    Of :math:`1/(1 - zw)` every diagonal coefficient is 1:

    >>> angle = (np.arange(32) + 0.5) * np.pi / 32
    >>> log_z = np.log(0.3) + 1j * np.concatenate([angle, -angle])
    >>> z = np.exp(log_z)
    >>> values, _ = diagonal([0, 1, 5], log_z, np.full(64, 1 / 64), lambda rows: 1 / (1 - np.outer(z[rows], z)))
    >>> [round(float(value), 9) for value in values]
    [1.0, 1.0, 1.0]
    """
    powers = np.exp(-np.outer(np.asarray(n), log_z - base)) * weights
    sizes, half = np.abs(powers), len(log_z) // 2
    values, magnitudes = np.zeros(len(powers)), np.zeros(len(powers))
    for k in range(0, half, 512):  # in strips, to keep the memory small
        rows = slice(k, min(k + 512, half))
        strip = kernel(rows)
        values += 2 * ((powers[:, rows] @ strip) * powers).sum(axis=1).real
        magnitudes += 2 * ((sizes[:, rows] @ np.abs(strip)) * sizes).sum(axis=1)
    return values, magnitudes


def poisson(k: ArrayLike, mean: ArrayLike) -> FloatOrArray:
    r"""Poisson probabilities :math:`e^{-\mu}\mu^k/k!` to nearly full relative accuracy, also for huge means.

    Written as :math:`\exp(-\mu\,\varphi(x) - s_k)/\sqrt{2\pi k}` with :math:`x = (k-\mu)/\mu`,
    :math:`\varphi(x) = (1+x)\log(1+x) - x` and Stirling's error :math:`s_k`: the large terms of
    :math:`k \log\mu - \mu - \log k!` never meet. Negative k have probability 0.

    Examples
    --------
    >>> [float(round(p * np.exp(2), 12)) for p in poisson(np.array([-1, 0, 1, 2]), 2.0)]
    [0.0, 1.0, 2.0, 2.0]
    """
    k, mean = np.broadcast_arrays(np.asarray(k, dtype=np.float64), np.asarray(mean, dtype=np.float64))
    small = np.clip(k, 0, 15)
    large = np.maximum(k, 15.0)
    x = (large - mean) / mean
    near = np.abs(x) < 0.02
    small_x = np.where(near, x, 0.0)
    # (1+x) log(1+x) - x = x²/2 - x³/6 + x⁴/12 - ...
    phi = sum((-1) ** j * small_x**j / (j * (j - 1)) for j in range(2, 11))
    phi = np.where(near, phi, (1 + x) * np.log1p(np.where(near, 0.0, x)) - x)
    stirling = sum(c / large ** (2 * i + 1) for i, c in enumerate(_EXPONENTS))
    big = np.exp(-mean * phi - stirling) / np.sqrt(2 * np.pi * large)
    few = np.exp(small * np.log(mean) - mean - gammaln(small + 1))
    return np.where(k < 0, 0.0, np.where(k < 15, few, big))
