r"""What the residuals of a least-squares fit add to the error in an epoch of random reshuffle.

Let r be orthogonal to the columns of U, as residuals are. An epoch adds :math:`U^\top M^{-1}r` to the error, and the
mean of its square along the eigenvector of λ is :math:`\lVert r\rVert^2\nu(\lambda)`. It is what the kernel of T
(:mod:`edgelaw.exact.random_reshuffle`) makes of a direction whose eigenvalue λ₀ tends to 0 while it carries
:math:`\lVert r\rVert^2/\lambda_0`. Extrapolating the kernel to 0 across a gap would lose all digits; the equations of
one point do not need to. With C(z, τ) the solution at s = ρ of the equation for C at λ = τ
(:mod:`edgelaw.exact.random_reshuffle.rows`),

.. math:: \sum_j\frac{\nu(\lambda_j)}{z-\lambda_j} = -\oint C(z, 1/x(\zeta))\,\frac{x'(\zeta)}{x(\zeta)\,\zeta}
    \frac{d\zeta}{2\pi i} - \frac{2\bar a'(0)}z - \frac1{z^2},

ζ around F and zero, z outside: the coefficient of λ in :math:`(T\frac1{z-\cdot})(\lambda)`, without that of
:math:`\bar a^2/(z-\lambda)`. *Derived.*

**Where F keeps off zero** both contours go around F alone. Then the last two terms, analytic inside z's contour, drop
out, and so do the digits that they would cancel; ζ's contour around zero is a residue, since 1/x vanishes there:
:math:`y_1\,\partial_\tau C(z,0)` with :math:`1/x = y_1\zeta + \dots` and

.. math:: \partial_\tau C(z,0) = \frac xz + \int_0^\rho\Bigl\{\eta^2(c + a\gamma^2) - \frac{2\eta a\gamma}z\Bigr\}ds
    + \frac{\text{const}}z .
"""

import numpy as np

from edgelaw.exact.random_reshuffle import means
from edgelaw.exact.random_reshuffle.contours import Complex, Contour, Epoch, Law, Points, inner_rule


def transform(law: Law, epoch: Epoch, contour: Contour, points: Points, part: float) -> Complex:
    """Σ ν/(z − λ) at points of the contour, up to what is analytic inside it; `part` of the times s are taken."""
    tau, zeta, weights = inner_rule(law, contour)
    end = epoch.end(points, tau, part)
    total = end.values @ (-tau / zeta * weights)
    if contour.low > 0:
        return total + end.at_zero / _residue(law)
    return total + 2 * means.rate_at_zero(law, epoch, contour) / points.z - 1 / points.z**2


def _residue(law: Law) -> float:
    """ζx at ζ = 0: ρ times the share of zeros in the spectrum of UUᵀ."""
    z = np.array([1e-16 * law.lowest], dtype=complex)  # the next term is smaller by z
    return float((z * law.transform(z)[0])[0].real)
