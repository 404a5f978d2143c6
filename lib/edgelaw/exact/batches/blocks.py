r"""The Gram matrix :math:`D = U_BU_B^\top` of one batch: its largest eigenvalue and its Cauchy transform.

A batch is κd of the m = ρd unit rows. With ⟨·⟩ the average of :mod:`edgelaw.exact.levy`, the transform
:math:`g(s) = \frac1b\operatorname{tr}(s-D)^{-1}` and the right edge of D's law are, from a covariance,

.. math:: s = \frac\kappa x + \Bigl\langle\frac{\lambda}{1-\lambda x}\Bigr\rangle, \qquad g = \frac x\kappa, \qquad
   \text{edge} = \min_{0<x<1/\lambda_{\max}} s(x),

and from a sample, whose batch is a free compression of :math:`K = UU^\top` to a share p = κ/ρ of its rows, with G the
Cauchy transform of K,

.. math:: s = \zeta - \frac{1-p}{G(\zeta)}, \qquad g = \frac{G(\zeta)}{p}, \qquad
   \text{edge} = \min_{\zeta>\lambda_{\max}(K)} s(\zeta) .

Both are derived (the second is exact for Haar left bases as d grows). At finite d single large eigenvalues of D lie
below the edge by a relative :math:`O(b^{-1/2})`.
"""

import numpy as np

from edgelaw._common.roots import bracketed_root
from edgelaw._common.types import Array
from edgelaw.exact import levy

_NEAR, _FAR = -60.0, 30.0  # logarithms of the distance from where the transform is infinite


class SampleRows:
    """Rows of which the eigenvalues of XᵀX/m are known: values of mean 1 and their shares, and ρ = m/d."""

    def __init__(self, values: Array, shares: Array, rho: float) -> None:
        self.rho = rho
        self.values, self.shares = values, shares
        self.gram, self.parts = levy.companion(values, shares, rho)

    def edge(self, kappa: float) -> float:
        """The right edge of the law of D for a batch of κd rows."""
        return self._block(self._turning(kappa / self.rho), kappa / self.rho)

    def cauchy(self, kappa: float, s: float) -> float:
        """g(s) of a batch of κd rows, for s beyond the edge."""
        p = kappa / self.rho
        log = bracketed_root(lambda log: self._block(log, p) - s, self._turning(p), np.log(s / p) + 1, 1e-14)
        return self._transform(log)[0] / p

    def _transform(self, log):
        """G and −G′ at e^log beyond the largest eigenvalue."""
        gap = 1 / (np.exp(log) + (self.gram[-1] - self.gram))
        return float(gap @ self.parts), float(gap**2 @ self.parts)

    def _block(self, log, p):
        return self.gram[-1] + np.exp(log) - (1 - p) / self._transform(log)[0]

    def _turning(self, p):
        """Where s(ζ) is smallest: at the largest eigenvalue itself if more than a share 1 − p of K is there."""

        def slope(log):
            G, minus = self._transform(log)
            return G**2 - (1 - p) * minus

        return _NEAR if slope(_NEAR) >= 0 else bracketed_root(slope, _NEAR, _FAR, 1e-13)


class PopulationRows:
    """Gaussian rows of a covariance with positive eigenvalues of mean 1 in these shares, and ρ = m/d."""

    def __init__(self, values: Array, shares: Array, rho: float) -> None:
        self.rho = rho
        self.values, self.shares = values, shares

    def edge(self, kappa: float) -> float:
        """The right edge of the law of D for a batch of κd rows."""
        return self._block(self._turning(kappa), kappa)

    def cauchy(self, kappa: float, s: float) -> float:
        """g(s) of a batch of κd rows, for s beyond the edge."""
        log = bracketed_root(
            lambda log: self._block(log, kappa) - s,
            self._turning(kappa),
            np.log(s / kappa / self.values[-1] + 1) + 1,
            1e-14,
        )
        return self._point(log) / kappa

    def _point(self, log):
        return 1 / (self.values[-1] * (1 + np.exp(log)))

    def _ratios(self, log):
        """λ/(1 − λx) times 1/x⁻¹, without cancellation at the largest eigenvalue."""
        largest = self.values[-1]
        return self.values / (largest * np.exp(log) + (largest - self.values))

    def _block(self, log, kappa):
        return (kappa + self.shares @ self._ratios(log)) / self._point(log)

    def _turning(self, kappa):
        """Where s(x) is smallest."""

        def slope(log):
            return kappa - self.shares @ self._ratios(log) ** 2

        return bracketed_root(slope, _NEAR, _FAR, 1e-13)
