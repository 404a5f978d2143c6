r"""What the residuals of a least-squares fit add to the error in an epoch of random reshuffle.

Let r be orthogonal to the columns of U, as residuals are. An epoch adds :math:`U^\top M^{-1}r` to the error, and the
mean of its square along the eigenvector of λ is :math:`\lVert r\rVert^2\nu(\lambda)`. It is what the kernel of T
(:mod:`edgelaw.exact.random_reshuffle.operator`) makes of a direction whose eigenvalue λ₀ tends to 0 while it
carries :math:`\lVert r\rVert^2/\lambda_0`. Extrapolating the kernel to 0 across a gap would lose all digits; the
equations of one point do not need to. With C(z, τ) the solution at s = ρ of that module's equation for C at λ = τ,

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

from edgelaw._common.compiled import compiled
from edgelaw.exact.random_reshuffle import pairs as reshuffle_pairs

_BETWEEN = 0.5  # ζ's contour, over z's
_DIGITS = 52  # of the rule on it, in powers of e: its integrand has poles on both sides


def transform(law, epoch, contour, average, z, part):
    """Σ ν/(z − λ) at points z of the contour, up to what is analytic inside it; `part` of the times s are taken."""
    x, _ = law.transform(z)
    zeta, dz = contour.scaled(_BETWEEN)(_DIGITS)
    inner, slope = law.transform(zeta)
    weights = -slope / (inner * zeta) * dz
    tau, weights = np.concatenate([1 / inner, 1 / inner.conj()]), np.concatenate([weights, weights.conj()])
    values, at_zero = epoch.end(average, z, x, law.rho, tau, part)
    total = values @ weights
    if contour.low > 0:
        return total + at_zero / residue(law)
    return total + 2 * rate_at_zero(law, epoch, contour) / z - 1 / z**2


def residue(law):
    """ζx at ζ = 0: ρ times the share of zeros in the spectrum of UUᵀ."""
    z = np.array([1e-16 * law.lowest])  # the next term is smaller by z
    return float((z * law.transform(z)[0])[0].real)


def rate_at_zero(law, epoch, contour):
    """−ā′(0), by the derivative of ā's contour integral."""
    z, dz = contour(80)
    x, slope = law.transform(z)
    return float(2 * (epoch.mean(x, law.rho) / z * slope / x * dz).sum().real)


def end_of_rows(average, z, x, rho, step, tau, points):
    """C(z, τ) after an epoch of single rows, and ∂C/∂τ at τ = 0 up to a multiple of 1/z."""
    rate = step * max(np.abs(average[0]).max(), np.abs(tau).max()) * rho
    s, cumulative, weights = grid = reshuffle_pairs.time_grid(points, rho, rate)
    one = reshuffle_pairs.one_resolvent(average, z, x, rho, step, grid)
    r = 1 / (z[:, None] * (1 - x[:, None] * tau))
    drive = one.a[:, None] * one.gamma
    fresh = step**2 * (one.c + drive * one.gamma)
    decay = np.exp(-2 * step * np.multiply.outer(tau, rho - s)) * weights
    values = r * np.exp(-2 * step * rho * tau) + (fresh @ decay.T) * tau
    values -= 2 * step * r * tau * _driven(drive, decay, step * tau, cumulative)
    return values, x / z + (fresh - 2 * step * drive / z[:, None]) @ weights


def _driven(drive, decay, rates, cumulative):
    """Σ_s decay f drive, a row per z and a column per τ, f the solution of (1 + ητ∫)f = 1 − ητ∫ drive.

    It is linear in the drive but for a quadratic form, whose matrix is one for all z: the pairs of times are columns.
    """
    free, response = reshuffle_pairs.decays(rates, cumulative)
    early, late = np.triu_indices(len(cumulative))
    form = decay[:, :, None] * response
    both = (form + form.transpose(0, 2, 1))[:, early, late]
    both[:, early == late] /= 2
    return drive @ (free * decay).T - (drive[:, early] * drive[:, late]) @ (rates[:, None] * both).T


@compiled
def end_of_batches(z, x, a, gamma, c, tau, size, taus):
    """The same after an epoch of batches, from γ and c before each; `size` are their κτ."""
    points, nodes = len(z), len(tau)
    values, at_zero = np.empty((points, nodes), dtype=np.complex128), np.empty(points, dtype=np.complex128)
    for i in range(points):
        total = x[i] / z[i]
        for k in range(len(size)):
            drive = a[i] * gamma[k, i]
            total += size[k] * (taus[k] * (c[k, i] + drive * gamma[k, i]) - 2 * drive / z[i])
        at_zero[i] = total
        for j in range(nodes):
            r = 1 / (z[i] * (1 - x[i] * tau[j]))
            f, C = 1 + 0j, r
            for k in range(len(size)):
                rate = size[k] * tau[j]
                drive = a[i] * gamma[k, i]
                before = (1 - rate) * f
                f = before - rate * drive
                C = (1 - rate) * (1 - rate) * C + rate * (
                    taus[k] * (c[k, i] + drive * gamma[k, i]) - drive * r * (before + f)
                )
            values[i, j] = C
    return values, at_zero
