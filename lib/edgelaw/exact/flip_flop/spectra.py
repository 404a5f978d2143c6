r"""What flip-flop's curve needs of a spectrum: its average, for poles left of it or in a gap, and its null directions.

What is averaged has its pole in λ at 1 − zY_ρ(λ) = 0. In the plane of the Gram matrix's eigenvalues ζ, λ = 1/(ρG(ζ)),
that is near ζ = log z/η' with η' of the order of 1/(1/η − 1/2): left of zero by 1/(nη') for n epochs without a gap, at
zero for z = 1, and in a gap right of it. So the average's contour has its left end there, not where some reach
in λ ends, which may be far beyond the gap.
"""

import functools
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from edgelaw._common.numerics import bracketed_root
from edgelaw._common.types import Array
from edgelaw.exact import levy
from edgelaw.exact.batches.blocks import PopulationRows, SampleRows

Complex = npt.NDArray[np.complex128]
_BEYOND = 1.5  # limits a contour on the right, in largest eigenvalues, where a pole comes from there too
_OUTSIDE = 1e-5  # the weight that an average in the gap may leave outside
_WITHIN_GAP = 0.8  # how far into the gap the contour of an average comes


class SampleSpectrum:
    """Eigenvalues of a sample, mean 1, and their shares, with m = ρd rows."""

    def __init__(self, values: Array, shares: Array, rho: float) -> None:
        self.rho, self.rows = rho, SampleRows(values, shares, rho)
        self.null = float(shares[values == 0].sum())
        self.values, self.shares = self.rows.gram, self.rows.parts
        self.independent_rows = bool(self.values[0] > 0)
        self.lowest = self.values[self.values > 0][0]

    @functools.cached_property
    def gapped(self) -> bool:
        """Whether a contour that leaves out zero has the whole functional inside: all weight but null directions'.

        It has for random rows, but not for a few levels or an exact power law as the spectrum of a sample.
        """
        if self.independent_rows:
            return True
        average = self._average(self.end, 1e-4 * _OUTSIDE)
        return bool(abs(average.weights[average.nodes != 0].sum() - 1 + self.null) < _OUTSIDE)

    @functools.cached_property
    def end(self) -> float:
        """The left end of contours in the gap: well below the lowest eigenvalue, and where 1/G is still finite."""
        end = _WITHIN_GAP * self.lowest
        if self.independent_rows or self.transform(end / 0.85) > 0:
            return end
        return min(end, 0.85 * bracketed_root(self.transform, 1e-12 * self.lowest, end / 0.85))

    def transform(self, zeta: float) -> float:
        """The Cauchy transform G of the Gram matrix's spectrum."""
        return float((self.shares / (zeta - self.values)).sum())

    def average(self, step: float, edge: float, last: int, left: float, tolerance: float) -> levy.Average:
        """The average for z up to exp(edge), or without a gap for `last` epochs; `left` times as far out."""
        if edge == 0:
            return self._average(_left_end(step, last, left), tolerance)
        average = self._average(self.end / max(left, 1.0) ** 0.25, tolerance)
        if self.independent_rows:
            return average
        # λ = 0 is outside the contour: what the fit leaves for it is noise, and null directions are known
        weights = np.where(average.nodes == 0, self.null, average.weights)
        return levy.Average(average.nodes, weights, average.error)

    def contour(self, step: float, last: int, left: float) -> Callable[[int], Complex]:
        """The contour of the average without a gap, its upper half as a function of the number of points."""
        return functools.partial(self._contour, _left_end(step, last, left))

    def _average(self, end: float, tolerance: float) -> levy.Average:
        """The average for functions analytic inside a contour with this left end, around the eigenvalues above it.

        The contours of `levy.from_gram` have a pole instead, which may be below zeros that these leave out.
        """
        return levy.from_contour(
            self.values, self.shares, self.rho, functools.partial(self._contour, end), tolerance
        )

    def _contour(self, end: float, points: int) -> Complex:
        beyond = _BEYOND if self.independent_rows and end > 0 else np.finfo(float).eps ** -0.5  # no limit
        return _around(self.values[self.values > end], end, beyond * self.values[-1], points)


class PopulationSpectrum:
    """Eigenvalues of a covariance, mean 1, and their shares; m = ρd Gaussian rows."""

    def __init__(self, values: Array, shares: Array, rho: float) -> None:
        self.values, self.shares, self.rho = values, shares, rho
        self.rows = PopulationRows(values[values > 0], shares[values > 0], rho)
        zeros = float(shares[values == 0].sum())
        self.null = max(zeros, 1 - rho)
        self.independent_rows = rho < 1 - zeros
        self.lowest = values[values > 0][0]
        self.gapped = abs(rho / (1 - zeros) - 1) > 1e-12

    def average(self, step: float, edge: float, last: int, left: float, tolerance: float) -> levy.Average:
        """The average over the eigenvalues, by a Gauss rule if they are many."""
        reach = left * 0.2 / np.sqrt(last)
        if edge != 0:
            reach = min(reach, 0.1 * left * self.lowest)
        return levy.from_covariance(self.values, self.shares, reach, tolerance)


def _left_end(step: float, last: int, left: float) -> float:
    """Where a contour for so many epochs passes zero."""
    return -left / (last * _effective(step))


def _effective(step: float) -> float:
    """1/(1/η − 1/2), the step of the slowest directions."""
    return 1 / (1 / step - 0.5)


def _around(values: Array, end: float, limit: float, points: int) -> Complex:
    """Upper half of an ellipse in log((ζ − pole)/(limit − ζ)) about the values, right to left, by its left end."""

    def ellipse(
        log: float,
    ) -> tuple[float, float, float]:  # its pole, and its centre and half its width in the logarithm
        pole = end - np.exp(log)
        low, high = (np.log((value - pole) / (limit - value)) for value in (values[0], values[-1]))
        return pole, (low + high) / 2, np.hypot((high - low) / 2, levy.HALF_HEIGHT)

    def excess(log: float) -> float:
        _, centre, width = ellipse(log)
        return centre - width - log + np.log(limit - end)

    scale = np.log(values[-1] - end)
    pole, centre, width = ellipse(bracketed_root(excess, scale - 60, scale + 5))
    theta = np.pi * (np.arange(points) + 0.5) / points
    ratio = np.exp(centre + width * np.cos(theta) + 1j * levy.HALF_HEIGHT * np.sin(theta))
    return (pole + limit * ratio) / (1 + ratio)


Spectrum = SampleSpectrum | PopulationSpectrum
