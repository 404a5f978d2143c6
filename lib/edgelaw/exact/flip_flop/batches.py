r"""Flip-flop with averaged batches: the boundary problem of :mod:`.boundary` as a recursion over the batches.

An epoch is a product of L factors :math:`I - \tau U_k^\top U_k` of κd rows each, and the next epoch takes them in
reverse. With :math:`\alpha_j = r_j/D_j`, :math:`\beta_j = H_j/D_j`, :math:`D = H^2 - zr\tilde r`, a tilde for j → L −
1 − j, and the average ⟨·⟩ of :mod:`edgelaw.exact.levy`,

.. math:: Y_0 = 1, \qquad Y_{j+1} = \frac{(1-\kappa\lambda\beta_j)^2Y_j}{1-\kappa\lambda z\tilde\alpha_jY_j}
    + \kappa\lambda\alpha_j, \qquad 0 \le j < L,

and with :math:`v_j = 1 - \kappa\lambda z\tilde\alpha_jY_j` and
:math:`N = v\tilde v - z(1-\kappa\lambda\beta)^2Y\tilde Y`

.. math:: r = \Bigl\langle\frac{\lambda Y\tilde v}N\Bigr\rangle, \qquad
    H = \frac1\tau + \Bigl\langle\frac{\lambda z(1-\kappa\lambda\beta)Y\tilde Y}N\Bigr\rangle .

*Derived* here: for the two visits of a batch, out = in − κλ a in with a 2 × 2 matrix a = (1/τ + g)⁻¹, where g is ⟨λ·⟩
of what a visit's input hears of a visit's output around the cycle of two epochs; Y is the ratio of the backward to the
forward wave after all later batches, whose inverse ratio is :math:`z\tilde Y` by symmetry. The losses are the
coefficients of

.. math:: \Bigl\langle\frac1{1-zY_L}\Bigr\rangle, \qquad \Bigl\langle\frac\lambda{1-zY_L}\Bigr\rangle
    + \frac zL\sum_j(z\tilde\alpha_jx_{2j}^2 - 2\beta_jx_{1j}x_{2j} + \alpha_jx_{1j}^2),

where :math:`x_1 = \langle\lambda F_{j+1}\rangle`, :math:`x_2 = \langle\lambda Y_jF_j\rangle` are the waves that enter
a batch from a source at the beginning, :math:`F_L = 1/(1-zY_L)`, :math:`F_j = (1-\kappa\lambda\beta_j)F_{j+1}/v_j`:
the trace of :math:`U_k(\cdot)U_k^\top` is that of a fresh batch less what the batch itself has changed. L = 1 is
gradient descent, κ → 0 the differential equation of single rows.

Numerics: Y = f/g with f and g linear in their predecessors and scaled, so that Y may pass through infinity; α and β
are the unknowns of Newton's method, whose equations GMRES solves by differences: work in proportion to L.
"""

import functools

import numpy as np
import scipy.optimize

from edgelaw._common.types import Array, Integers
from edgelaw.curves import LearningCurve
from edgelaw.exact import levy
from edgelaw.exact.batches.blocks import Rows
from edgelaw.exact.batches.partition import Partition
from edgelaw.exact.flip_flop import boundary
from edgelaw.exact.flip_flop.collocation import Complex, Equations, Unsolved


def curve(n: Integers, rows: Rows, cut: Partition) -> LearningCurve:
    """The learning curve with these batches, which must be equal."""
    if not cut.equal:
        raise ArithmeticError(
            "batch must divide the number of rows: on its way back flip-flop would have other batches, and no curve is "
            "known for that."
        )
    tau, kappa = float(cut.taus[0]), float(cut.kappas[0])
    slow = 1 / (1 / tau + kappa / 2)  # the step of single rows with the same slowest directions
    return boundary.curve(n, rows, slow, lambda average, _: Problem(average, cut))


class Problem(Equations):
    """The recursion over equal batches for one average. Unknowns are X = (α, β), an array (2, batches)."""

    def __init__(self, average: levy.Average, cut: Partition) -> None:
        super().__init__(average)
        self.inverse_tau, self.batches = 1 / float(cut.taus[0]), cut.batches
        self.rates = float(cut.kappas[0]) * self.nodes

    def start(self) -> Complex:
        """α and β at z = 0, where the recursion is explicit."""
        Y, alpha = np.ones(len(self.nodes), dtype=complex), np.empty(self.batches, dtype=complex)
        tau = 1 / self.inverse_tau
        for j in range(self.batches):
            alpha[j] = self.moments @ Y * tau**2
            Y = (1 - self.rates * tau) ** 2 * Y + self.rates * alpha[j]
        return np.array([alpha, np.full(self.batches, tau + 0j)])

    def first_epoch(self) -> Array:
        """Both losses after the first epoch, the derivatives of the transforms at z = 0; without what never moves."""
        X = self.start()
        f, g, *_ = waves(0j, X, self.rates)
        Y = f[-1] / g[-1]
        return np.array([self.weights @ Y, self.moments @ Y + self.mean_of_squares(0j, X)]).real

    def newton(self, z: complex, X: Complex, steps: int = 10) -> tuple[Complex, Complex]:
        """As of all equations."""
        same = 1e-11 * float(np.abs(X).max())
        try:
            X = scipy.optimize.newton_krylov(
                functools.partial(self.residual, z),
                X,
                method="gmres",
                maxiter=steps,
                f_tol=same,
                line_search=None,
            )
        except (scipy.optimize.NoConvergence, ValueError):  # no number is left
            raise Unsolved("Newton's method for the flip-flop equations did not converge.") from None
        f, g, *_ = waves(z, X, self.rates)
        return X, g[-1] / (g[-1] - z * f[-1])

    def residual(self, z: complex, X: Complex) -> Complex:
        """What the equations make of α and β, less α and β."""
        with np.errstate(all="ignore"):
            f, _, u, _ = waves(z, X, self.rates)
            p, f = 1 - np.multiply.outer(X[1], self.rates), f[:-1]
            product = z * p * f * f[::-1]
            inverse = 1 / (u * u[::-1] - p * product)
            r = (f * u[::-1] * inverse) @ self.moments
            H = self.inverse_tau + (product * inverse) @ self.moments
            return np.array([r, H]) / (H**2 - z * r * r[::-1]) - X

    def mean_of_squares(self, z: complex, X: Complex) -> complex:
        """Σ (zα̃x₂² − 2βx₁x₂ + αx₁²)/L over the batches."""
        (alpha, beta), (f, g, _, scales) = X, waves(z, X, self.rates)
        wave = self.moments / (g[-1] - z * f[-1])
        x1, x2 = np.empty_like(alpha), np.empty_like(alpha)
        for j in reversed(range(len(alpha))):
            x1[j] = wave @ g[j + 1]
            wave = wave * scales[j] * (1 - self.rates * beta[j])
            x2[j] = wave @ f[j]
        return complex(np.mean(z * alpha[::-1] * x2**2 - 2 * beta * x1 * x2 + alpha * x1**2))


def waves(z: complex, X: Complex, rates: Complex) -> tuple[Complex, Complex, Complex, Array]:
    """f and g with Y = f/g before every batch and after the last, u = g after a batch but for its scale, and scales."""
    (alpha, beta), (batches, count) = X, (X.shape[1], len(rates))
    f, g = np.ones((2, batches + 1, count), dtype=complex)
    u, scales = np.empty((batches, count), dtype=complex), np.empty((batches, count))
    squares = (1 - np.multiply.outer(beta, rates)) ** 2
    backward, forward = np.multiply.outer(z * alpha[::-1], rates), np.multiply.outer(alpha, rates)
    for j in range(batches):
        u[j] = g[j] - backward[j] * f[j]
        x = squares[j] * f[j] + forward[j] * u[j]
        scales[j] = 1 / (np.abs(x) + np.abs(u[j]))
        f[j + 1], g[j + 1] = scales[j] * x, scales[j] * u[j]
    return f, g, u, scales
