r"""The sample spectrum of rows of a given covariance, through its transforms in the complex plane.

For m = ρ d Gaussian rows of covariance spectrum τ the companion transform :math:`v(x) = \int dF_m(\lambda)/(\lambda -
x)`, over the spectrum of :math:`X X^\top/m`, is for Im x > 0 the only solution with Im v > 0 of

.. math:: x = -\frac1v + \frac1\rho \left\langle \frac{\tau}{1 + \tau v} \right\rangle .
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import scipy

from edgelaw._common.types import Array, ArrayLike, FloatOrArray
from edgelaw.exact.batches.blocks import Point, Rows


class PopulationRows(Rows):
    """Gaussian rows of a covariance with positive eigenvalues of mean 1, and the limit spectrum of their sample."""

    def at(self, log: float) -> Point:
        """1/x beyond the largest eigenvalue by e^log times that; λx/(1 − λx) loses no digits there."""
        largest = self.values[-1]
        x = 1 / (largest * (1 + np.exp(log)))
        ratios = self.values / (largest * np.exp(log) + (largest - self.values))
        return Point((self.rho + self.shares @ ratios) / x, x, self.rho - self.shares @ ratios**2)

    def position(self, v: FloatOrArray) -> FloatOrArray:
        """x(v), the equation read from right to left."""
        return -1 / v + (self.shares / self.rho * self.values / (1 + np.multiply.outer(v, self.values))).sum(
            axis=-1
        )

    def companion(self, x: npt.NDArray) -> npt.NDArray:
        """v(x) for Im x > 0: Newton's method, coming down from high above the real axis."""
        height = 4 * (np.abs(x) + self.values.max() * (1 + 1 / self.rho))
        v = -1 / (x + 1j * height)
        while height.max() > 0:
            height = np.where(height > 0.2 * x.imag, 0.6 * height, 0.0)
            for _ in range(4):
                v = self._newton(x + 1j * height, v)
        for _ in range(3):
            v = self._newton(x, v)
        worst = np.abs(self.position(v) / x - 1).max()
        if not (worst < 1e-9 and v.imag.min() > 0):
            raise ArithmeticError(f"Silverstein's equation was solved only to a relative {worst:.1e}.")
        return v

    def _newton(self, x: npt.NDArray, v: npt.NDArray) -> npt.NDArray:
        terms = self.values / (1 + np.multiply.outer(v, self.values))
        excess = -1 / v + terms @ self.shares / self.rho - x
        return v - excess / (1 / v**2 - (terms**2) @ self.shares / self.rho)

    def leftmost(self, denominator: Callable[[float, float], float] = lambda x, v: 1.0) -> float:
        """The smallest singularity above 0: a zero of denominator(x, v) before the left edge, or that edge."""
        if abs(self.rho - 1) < 1e-13:  # rounded shares of null directions; the edge is below 1e-26
            return 0.0
        few, smallest = self.rho < 1, self.values.min()

        def v(log: float) -> float:  # along v > 0, or along v < −1/τ for every τ
            return float((np.exp(log) if few else -1 - np.exp(log)) / smallest)

        def slope(log: float) -> float:  # v² x′(v)
            return float(
                1 - self.shares @ (self.values * v(log) / (1 + self.values * v(log))) ** 2 / self.rho
            )

        def at(log: float) -> float:
            return float(denominator(self.position(v(log)), v(log)))

        # below −25 the pole at −1/τ would be met in rounding; up to 40 any such ρ has its edge inside
        low, high = np.log(smallest / self.values.max()) - 30 if few else -25.0, 40.0
        top = scipy.optimize.brentq(slope, low, high, xtol=1e-13)
        if at(top) < 0:  # between x = 0 and the edge
            zero = high
            if few:
                zero = scipy.optimize.brentq(lambda log: self.position(v(log)), low, top, xtol=1e-13)
            top = scipy.optimize.brentq(at, *sorted((zero, top)), xtol=1e-13)
        return float(self.position(v(top)))


def decay(
    transforms: Callable[[npt.NDArray], npt.NDArray],
    speed: float,
    start: float,
    times: ArrayLike,
    points: int = 24,
) -> Array:
    r"""Integrals of :math:`e^{-\text{speed}\cdot x t}` over measures on x ≥ start, from their Cauchy transforms.

    Talbot's contour (Weideman 2006), moved to the start of the support: accuracy survives an exponential decay.
    """
    theta = np.pi * np.arange(1, points, 2) / points
    z = points * (0.5017 * theta / np.tan(0.6407 * theta) - 0.6122 + 0.2645j * theta)
    slope = 0.5017 / np.tan(0.6407 * theta) - 0.5017 * 0.6407 * theta / np.sin(0.6407 * theta) ** 2 + 0.2645j
    sums = []
    for block in np.array_split(speed * np.asarray(times, dtype=float), 1 + np.size(times) // 64):
        values = np.conj(transforms((start - z / block[:, None]).conj()))
        sums.append((values * (2j * np.exp(z) * slope)).sum(axis=-1).real / block * np.exp(-start * block))
    return np.concatenate(sums, axis=-1)
