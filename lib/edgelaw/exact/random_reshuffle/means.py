r"""The mean epoch, as a function ā on the spectrum: a contour integral.

.. math:: \bar a(\lambda) = -\frac{1}{2\pi i}\oint\frac{z\,e^{-\eta\rho/x}}{z-\lambda}\frac{x'}{x}\,dz, \qquad
    -\bar a'(0) = \frac{1}{2\pi i}\oint\frac{e^{-\eta\rho/x}}{z}\frac{x'}{x}\,dz,

for single rows; batches have a product in place of the exponential (:mod:`.batches`).
"""

from collections.abc import Callable, Sequence

import numpy as np

from edgelaw.exact.random_reshuffle.contours import Complex, Contour, Epoch, Law, Nodes

_DIGITS = 70.0  # of the trapezoidal rule: the poles inside are the eigenvalues


def at(law: Law, contour: Contour, nodes: Nodes) -> Callable[[Sequence[Epoch]], Nodes]:
    """A function that gives ā at these nodes, a row per epoch."""
    z, x, weights = _rule(law, contour, _DIGITS)
    here, mirrored = (weights[:, None] / (points - z[:, None]) for points in (nodes, nodes.conj()))

    def means(epochs: Sequence[Epoch]) -> Nodes:
        factors = np.array([epoch.mean(x, law.rho) for epoch in epochs])
        if np.iscomplexobj(nodes):
            return factors @ here + (factors @ mirrored).conj()
        return 2 * (factors @ here).real

    return means


def rate_at_zero(law: Law, epoch: Epoch, contour: Contour, digits: float = _DIGITS) -> float:
    """−ā′(0)."""
    z, x, weights = _rule(law, contour, digits)
    return float(2 * (epoch.mean(x, law.rho) @ (weights / z**2)).real)


def _rule(law: Law, contour: Contour, digits: float) -> tuple[Complex, Complex, Complex]:
    """z in the upper half plane, x there, and z x′/x dz/(2πi)."""
    z, dz = contour.points(digits)
    x, slope = law.transform(z)
    return z, x, z * slope / x * dz
