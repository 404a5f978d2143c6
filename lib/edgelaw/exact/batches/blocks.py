r"""The Gram matrix :math:`D = U_BU_B^\top` of one batch: its largest eigenvalue and its Cauchy transform.

A batch of κd of the m = ρd unit rows is a free compression of :math:`K = UU^\top`. With G the Cauchy transform of K and
:math:`x = \rho\,G(\zeta)`, the transform :math:`g(s) = \frac1b\operatorname{tr}(s-D)^{-1}` and the right edge of D's
law, which single large eigenvalues of D miss by a relative :math:`O(b^{-1/2})`, are

.. math:: s = \zeta - \frac{\rho-\kappa}x, \qquad g = \frac x\kappa, \qquad
   \text{edge} = \min_{\zeta>\lambda_{\max}(K)} s(\zeta) .

A sample has :math:`x(\zeta)` by its eigenvalues, a covariance :math:`\zeta = \rho/x + \langle\lambda/(1-\lambda
x)\rangle` for :math:`0 < x < 1/\lambda_{\max}`. *Derived* here.
"""

import abc
import functools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from edgelaw._common.numerics import bracketed_root
from edgelaw._common.types import Array
from edgelaw.exact import levy
from edgelaw.exact.batches.partition import Partition


class Point(NamedTuple):
    """A point of the curve (ζ, x), and −x² dζ/dx there."""

    zeta: float
    x: float
    fall: float


class Rows(abc.ABC):
    """Rows by their spectrum: values of mean 1 and their shares, and ρ = m/d."""

    def __init__(self, values: Array, shares: Array, rho: float) -> None:
        self.values, self.shares, self.rho = values, shares, rho

    @abc.abstractmethod
    def at(self, log: float) -> Point:
        """The point at this logarithm of the distance from the largest x."""

    def edge(self, kappa: float) -> float:
        """The right edge of the law of D for a batch of κd rows."""
        return self._block(self._turning(kappa), kappa)

    def cauchy(self, kappa: float, s: float) -> float:
        """g(s) of a batch of κd rows, for s beyond the edge."""
        far = np.log1p(max(self.rho, 1.0) * s / kappa) + 1
        log = bracketed_root(lambda log: self._block(log, kappa) - s, self._turning(kappa), far, 1e-14)
        return self.at(log).x / kappa

    def _block(self, log: float, kappa: float) -> float:
        point = self.at(log)
        return point.zeta - (self.rho - kappa) / point.x

    def _turning(self, kappa: float) -> float:
        """Where s is smallest: at the largest eigenvalue of K itself if more than a share 1 − κ/ρ of K is there."""

        def slope(log: float) -> float:
            return self.at(log).fall - (self.rho - kappa)

        low, high = -60.0, 30.0  # next to that eigenvalue in floats, and far from all of them
        return low if slope(low) >= 0 else bracketed_root(slope, low, high, 1e-13)


class SampleRows(Rows):
    """Rows of which the eigenvalues of XᵀX/m are known."""

    @functools.cached_property
    def spectrum(self) -> tuple[Array, Array]:
        """The spectrum of K; more positive eigenvalues than it can have are refused."""
        return levy.companion(self.values, self.shares, self.rho)

    @property
    def gram(self) -> Array:
        """The eigenvalues of K."""
        return self.spectrum[0]

    @property
    def parts(self) -> Array:
        """Their shares."""
        return self.spectrum[1]

    def at(self, log: float) -> Point:
        """ζ beyond the largest eigenvalue by e^log."""
        gap = 1 / (np.exp(log) + (self.gram[-1] - self.gram))
        G, minus = float(gap @ self.parts), float(gap**2 @ self.parts)
        return Point(float(self.gram[-1] + np.exp(log)), self.rho * G, self.rho * G**2 / minus)


class Asked(NamedTuple):
    """Rows and an update."""

    rows: Rows
    step: float
    cut: Partition | None = None  # batches, if they are of more than one row
    total: float = np.inf  # rows: infinitely many for a covariance
    null: float = 0.0  # the share of directions that no row has, which the covariance's rows are without

    @property
    def tau(self) -> float:
        """The step of each row."""
        return self.step if self.cut is None else float(self.cut.taus[0])

    def edge_averages(self, *functions: Callable[[Array], Array]) -> list[float]:
        """Means of functions over a covariance's eigenvalues, mean 1, without zeros, which leave no edge at zero."""
        if self.null:
            raise ValueError(
                "covariance_eigenvalues must be positive: a null direction keeps its share of the test loss."
            )
        return [float(self.rows.shares @ function(self.rows.values)) for function in functions]
