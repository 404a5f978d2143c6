r"""What flip-flop's curve needs of a spectrum: its average, for poles left of it or in a gap, and its null directions.

What is averaged has its pole in λ at 1 − zY_ρ(λ) = 0. In the plane of the Gram matrix's eigenvalues ζ, λ = 1/(ρG(ζ)),
that is near ζ = log z/η' with η' of the order of 1/(1/η − 1/2): left of zero by 1/(nη') for n epochs without a gap, at
zero for z = 1, and in a gap right of it. So the average's contour has its own pole there, and not where some reach in λ
ends, which may be far beyond the gap.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from edgelaw._common.numerics import bracketed_root
from edgelaw._common.types import Array
from edgelaw.exact import agreement, levy
from edgelaw.exact.batches.blocks import Rows, SampleRows
from edgelaw.exact.silverstein import PopulationRows

Complex = npt.NDArray[np.complex128]


@dataclass(frozen=True)
class Resolution:
    """One way to discretise: everything that should not matter."""

    left: float  # how far left of the poles of functions the average's contour has its own
    digits: int  # decimal ones of the average; the circle has one less
    points: int  # in a panel

    @property
    def tolerance(self) -> float:
        """Of the average."""
        return 0.1**self.digits

    @property
    def margin(self) -> float:
        """Of the circle, which crosses the axis at z*·exp(−margin/n), and loses exp(margin) in precision."""
        return float(np.sqrt(2 * self.left))


FINE, FINER = Resolution(6.0, 11, 7), Resolution(4.5, 12, 8)


class SampleSpectrum(SampleRows):
    """Eigenvalues of a sample, mean 1, and their shares, with m = ρd rows."""

    def __init__(self, values: Array, shares: Array, rho: float) -> None:
        super().__init__(values, shares, rho)
        self.null = float(shares[values == 0].sum())
        self.lowest = float(self.gram[self.gram > 0][0])
        self.independent_rows = bool(self.gram[0] > 0)

    @functools.cached_property
    def gapped(self) -> bool:
        """Whether a contour that leaves out zero has the whole functional inside: all weight but null directions'.

        It has for random rows, but not for a few levels or an exact power law as the spectrum of a sample.
        """
        if self.independent_rows:
            return True
        average = self._beyond(FINER)
        return bool(abs(average.weights[average.nodes != 0].sum() - 1 + self.null) < agreement.ENOUGH)

    @functools.cached_property
    def _gap(self) -> float:
        """How far contours in the gap may come: to the lowest eigenvalue, or where 1/G is infinite before it."""

        def transform(zeta: float) -> float:
            return float((self.parts / (zeta - self.gram)).sum())

        near = 0.999 * self.lowest
        if self.independent_rows or transform(near) > 0:
            return near
        return bracketed_root(transform, 1e-12 * self.lowest, near)

    def average(self, beyond: bool, time: float, way: Resolution) -> levy.Average:
        """The average for z beyond 1, or for so many epochs times the effective step."""
        if not beyond:
            return levy.from_gram(self.gram, self.parts, self.rho, -way.left / time, way.tolerance)
        average = self._beyond(way)
        if self.independent_rows:
            return average
        # λ = 0 is outside the contour: what the fit leaves for it is noise, and null directions are known
        weights = np.where(average.nodes == 0, self.null, average.weights)
        return levy.Average(average.nodes, weights, average.error)

    def _beyond(self, way: Resolution) -> levy.Average:
        return levy.from_gram(self.gram, self.parts, self.rho, self._gap / way.left**0.5, way.tolerance)

    def contour(self, time: float, way: Resolution) -> Callable[[int], Complex]:
        """The contour of the average without a gap, its upper half as a function of the number of points."""
        return functools.partial(levy.ellipse, self.gram, -way.left / time)


class PopulationSpectrum(PopulationRows):
    """Positive eigenvalues of a covariance, mean 1, and their shares; m = ρd Gaussian rows."""

    def __init__(self, values: Array, shares: Array, rho: float) -> None:
        super().__init__(values, shares, rho)
        self.null, self.independent_rows = max(0.0, 1 - rho), rho < 1
        self.lowest = rho * self.leftmost()
        self.gapped = self.lowest > 0

    def average(self, beyond: bool, time: float, way: Resolution) -> levy.Average:
        """The average over the eigenvalues, by a Gauss rule if they are many."""
        reach = way.left * 0.07 / np.sqrt(time)
        if beyond:
            reach = min(reach, 0.03 * way.left * self.values[0])
        return levy.from_covariance(self.values, self.shares, reach, way.tolerance)


Spectrum = SampleSpectrum | PopulationSpectrum


def of_rows(rows: Rows) -> Spectrum:
    """The spectrum of a sample's or a covariance's rows."""
    kind = SampleSpectrum if isinstance(rows, SampleRows) else PopulationSpectrum
    return kind(rows.values, rows.shares, rows.rho)
