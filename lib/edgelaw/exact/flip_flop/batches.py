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

*Derived*: for the two visits of a batch, out = in − κλ a in with a 2 × 2 matrix a = (1/τ + g)⁻¹, where g is ⟨λ·⟩ of
what a visit's input hears of a visit's output around the cycle of two epochs; Y is the ratio of the backward to the
forward wave after all later batches, whose inverse ratio is :math:`z\tilde Y` by symmetry. The losses are the
coefficients of

.. math:: \Bigl\langle\frac1{1-zY_L}\Bigr\rangle, \qquad \Bigl\langle\frac\lambda{1-zY_L}\Bigr\rangle
    + \frac zL\sum_j(z\tilde\alpha_jx_{2j}^2 - 2\beta_jx_{1j}x_{2j} + \alpha_jx_{1j}^2),

where :math:`x_1 = \langle\lambda F_{j+1}\rangle`, :math:`x_2 = \langle\lambda Y_jF_j\rangle` are the waves that enter
a batch from a source at the beginning, :math:`F_L = 1/(1-zY_L)`, :math:`F_j = (1-\kappa\lambda\beta_j)F_{j+1}/v_j`:
the trace of :math:`U_k(\cdot)U_k^\top` is that of a fresh batch less what the batch itself has changed. L = 1 is
gradient descent, κ → 0 the differential equation of single rows.

Numerics: Y = f/g with f and g linear in their predecessors and scaled, so that Y may pass through infinity; α and β
are the unknowns of Newton's method, whose equations GMRES solves with exact derivatives: work in proportion to L.
"""

import dataclasses
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse.linalg

from edgelaw._common.compiled import compiled
from edgelaw._common.types import Array, Integers
from edgelaw.curves import LearningCurve
from edgelaw.exact import agreement, levy
from edgelaw.exact.batches import limits
from edgelaw.exact.batches.partition import Partition
from edgelaw.exact.flip_flop import boundary
from edgelaw.exact.flip_flop.collocation import Complex, Unsolved
from edgelaw.exact.flip_flop.spectra import SampleSpectrum, Spectrum

_GMRES_LEAVES, _DIRECTIONS = (
    1e-4,
    80,
)  # relative residual of Newton's equations, and directions for it at most
_UNEVEN = 0.8  # times the root of what a short batch changes in the first epoch: what it may change later


def curve(n: Integers, spectrum: Spectrum, cut: Partition, step: float) -> LearningCurve:
    """The learning curve with these batches; a step at which a batch does not contract is refused.

    With a short last batch `error` has what it may change. The first epoch is known for any partition. What the
    mirrored one makes of it is off by a second order of the step, and later epochs by a first order: hence the root,
    with a factor that is fitted, on 90 simulated curves; of 72 others none was off by more than 0.63 of this error.
    """
    limits.refuse_unstable("flip_flop", spectrum.rows, cut, np.inf, step)
    if cut.batches == 1 and isinstance(spectrum, SampleSpectrum):
        return _gradient_descent(n, spectrum, cut.taus[0])
    mirrored = symmetric(cut)
    # the step of single rows with the same slowest directions, which places the contour of the average
    slow = 1 / (float(mirrored.kappas @ (1 / mirrored.taus + mirrored.kappas / 2)) / spectrum.rho)

    def build(edge: float, last: int, resolution: boundary.Resolution) -> Problem:
        average = spectrum.average(slow, edge, last, resolution.left, resolution.tolerance)
        return Problem(average, mirrored, boundary.newton_tolerance(last))

    made = boundary.curve(n, spectrum, slow, build)
    if cut.equal:
        return made
    average = spectrum.average(slow, np.inf, 1, boundary.FINER.left, boundary.FINER.tolerance)
    first, other = (_first_epoch(average, one) for one in (cut, mirrored))
    for loss, exact in zip((made.test, made.train), first, strict=True):
        loss[n == 1] = exact
    off = float(np.abs(other / first - 1).max())
    return dataclasses.replace(made, error=made.error + off + _UNEVEN * off**0.5)


def _first_epoch(average: levy.Average, cut: Partition) -> Array:
    problem = Problem(average, cut)
    return problem.first_epoch() + [problem.still, 0.0]


def _gradient_descent(n: Integers, spectrum: SampleSpectrum, tau: float) -> LearningCurve:
    """All rows of a sample in one batch."""
    factors = np.power.outer(1 - tau * spectrum.values, 2 * n)
    moving = spectrum.rho * spectrum.shares * (spectrum.values > 0)
    train = (spectrum.shares * spectrum.values) @ factors
    return agreement.learning_curve(n, spectrum.null + moving @ factors, train, 1e-14)


def symmetric(cut: Partition) -> Partition:
    """The partition, or one that is its own mirror image in place of a partition with a short last batch.

    Epochs in reverse are cut into batches from their own beginning. So the short batch is now at one end of the rows,
    now at the other: at both ends there are as many rows that take its step every other epoch.
    """
    if cut.equal:
        return cut
    rest, tau = cut.kappas[-1], (cut.taus[0] + cut.taus[-1]) / 2
    inner = cut.kappas.sum() - 2 * rest
    count = max(1, round(inner / cut.kappas[0]))
    kappas, taus = np.full(count + 2, inner / count), np.full(count + 2, cut.taus[0])
    kappas[[0, -1]], taus[[0, -1]] = rest, tau
    return Partition(kappas, taus)


class Problem:
    """The recursion over batches for one average; their partition must be its own mirror image.

    Unknowns are X = (α, β), an array (2, batches).
    """

    def __init__(self, average: levy.Average, cut: Partition, same: float = 1e-8) -> None:
        moving = average.nodes != 0
        self.nodes, self.weights = (x[moving].astype(complex) for x in (average.nodes, average.weights))
        self.still = average.weights[~moving].sum().real  # λ = 0: Y = 1
        self.moments = self.nodes * self.weights
        self.taus, self.kappas, self.same = cut.taus, np.ascontiguousarray(cut.kappas), same
        self.rates = np.multiply.outer(self.nodes, self.kappas)

    def start(self) -> Complex:
        """α and β at z = 0, where the recursion is explicit."""
        Y, alpha = np.ones(len(self.nodes), dtype=complex), np.empty(len(self.taus), dtype=complex)
        for j, tau in enumerate(self.taus):
            alpha[j] = self.moments @ Y * tau**2
            Y = (1 - self.rates[:, j] * tau) ** 2 * Y + self.rates[:, j] * alpha[j]
        return np.array([alpha, self.taus + 0j])

    def first_epoch(self) -> Array:
        """Both losses after the first epoch, the derivatives of the transforms at z = 0; without what never moves."""
        X = self.start()
        f, g, _, scales = waves(0j, X, self.rates)
        Y = f[:, -1] / g[:, -1]
        return np.array([self.weights @ Y, self.moments @ Y + self._sum_of_squares(0j, X, f, g, scales)]).real

    def charted(self, solutions: list[Complex]) -> list[Complex]:
        """The same: α and β need no charts."""
        return solutions

    def newton(self, z: complex, X: Complex, steps: int = 10) -> tuple[Complex, npt.NDArray]:
        """X at z and 1/(1 − zY) at its end from a guess; `Unsolved` if that takes more than a few steps."""
        for _ in range(steps):
            change = self._change(z, X)
            size = np.abs(change).max() / np.abs(X).max()
            if not size < 1e3:
                break
            X = X + change * min(1.0, 0.5 / size) if size else X
            if size < self.same:
                f, g, _, _ = waves(z, X, self.rates)
                return X, g[:, -1] / (g[:, -1] - z * f[:, -1])
        raise Unsolved("Newton's method for the flip-flop equations did not converge.")

    def _change(self, z: complex, X: Complex) -> Complex:
        """Newton's step; NaN where there is none."""
        with np.errstate(all="ignore"):
            f, _, u, scales = waves(z, X, self.rates)
            inverse, r, H = self.fields(z, X, f, u)
            D = H**2 - z * r * r[::-1]
            new = np.array([r / D, H / D])
            if not np.isfinite(new).all():
                return np.full_like(X, np.nan)

        def derivative(direction: Any) -> Complex:
            direction = direction.reshape(X.shape)
            dr, dH = tangent(z, X, direction, self.rates, self.moments, f, u, scales, inverse)
            dD = 2 * H * dH - z * (dr * r[::-1] + r * dr[::-1])
            return (direction - np.array([dr - new[0] * dD, dH - new[1] * dD]) / D).ravel()

        operator = scipy.sparse.linalg.LinearOperator((X.size, X.size), derivative, dtype=complex)
        change, failed = scipy.sparse.linalg.gmres(
            operator, (new - X).ravel(), rtol=_GMRES_LEAVES, restart=_DIRECTIONS, maxiter=1
        )
        return np.full_like(X, np.nan) if failed else change.reshape(X.shape)

    def fields(self, z: complex, X: Complex, f: Complex, u: Complex) -> tuple[Complex, Complex, Complex]:
        """1/W at all nodes, and r and H, at all batches."""
        p, f = 1 - self.rates * X[1], f[:, :-1]
        product = z * p * f * f[:, ::-1]
        inverse = 1 / (u * u[:, ::-1] - p * product)
        r = self.moments @ (f * u[:, ::-1] * inverse)
        return inverse, r, 1 / self.taus + self.moments @ (product * inverse)

    def transforms(self, z: complex, X: Complex, end: npt.NDArray) -> Complex:
        """The generating functions of the test and of the training loss at z."""
        f, g, _, scales = waves(z, X, self.rates)
        test = self.weights @ end + (self.still / (1 - z) if self.still else 0)
        return np.array([test, self.moments @ end + z * self._sum_of_squares(z, X, f, g, scales)])

    def _sum_of_squares(self, z: complex, X: Complex, f: Complex, g: Complex, scales: Array) -> complex:
        """Σ κ(zα̃x₂² − 2βx₁x₂ + αx₁²) over the batches, over ρ."""
        alpha, beta = X
        wave = self.moments / (g[:, -1] - z * f[:, -1])
        x1, x2 = np.empty_like(alpha), np.empty_like(alpha)
        for j in reversed(range(len(alpha))):
            x1[j] = wave @ g[:, j + 1]
            wave = wave * scales[:, j] * (1 - self.rates[:, j] * beta[j])
            x2[j] = wave @ f[:, j]
        squares = z * alpha[::-1] * x2**2 - 2 * beta * x1 * x2 + alpha * x1**2
        return complex(self.kappas @ squares / self.kappas.sum())


# ------------------------------------------------------------------------------------- loops, and their NumPy twins


def _waves_numpy(z: complex, X: Complex, rates: Complex) -> tuple[Complex, Complex, Complex, Array]:
    (alpha, beta), (count, batches) = X, rates.shape
    f, g = np.ones((2, batches + 1, count), dtype=complex)
    u, scales = np.empty((batches, count), dtype=complex), np.empty((batches, count))
    squares = ((1 - rates * beta) ** 2).T
    for j, rate in enumerate(rates.T):
        u[j] = g[j] - rate * z * alpha[batches - 1 - j] * f[j]
        x = squares[j] * f[j] + rate * alpha[j] * u[j]
        scales[j] = 1 / (np.abs(x.real) + np.abs(x.imag) + np.abs(u[j].real) + np.abs(u[j].imag))
        f[j + 1], g[j + 1] = scales[j] * x, scales[j] * u[j]
    return f.T, g.T, u.T, scales.T


@compiled(numpy=_waves_numpy)
def waves(z, X, rates):
    """f and g with Y = f/g before every batch and after the last, u = g after a batch but for its scale, and scales."""
    alpha, beta = X
    count, batches = rates.shape[0], alpha.size
    f, g = (
        np.empty((count, batches + 1), dtype=np.complex128),
        np.empty((count, batches + 1), dtype=np.complex128),
    )
    u, scales = np.empty((count, batches), dtype=np.complex128), np.empty((count, batches))
    for k in range(count):
        x, y = 1 + 0j, 1 + 0j
        for j in range(batches):
            f[k, j], g[k, j] = x, y
            rate = rates[k, j]
            p = 1 - rate * beta[j]
            y = y - rate * z * alpha[batches - 1 - j] * x
            u[k, j] = y
            x = p * p * x + rate * alpha[j] * y
            scale = 1 / (abs(x.real) + abs(x.imag) + abs(y.real) + abs(y.imag))
            x, y = scale * x, scale * y
            scales[k, j] = scale
        f[k, batches], g[k, batches] = x, y
    return f, g, u, scales


def _tangent_numpy(z, X, change, rates, moments, f, u, scales, inverse):
    (alpha, beta), (da, db), batches = X, change, rates.shape[1]
    p, dp, f = 1 - rates * beta, -rates * db, f[:, :-1]
    forced_u = -z * rates * da[::-1] * f
    forced_f = rates * (da * u - 2 * p * db * f)
    df, du = np.empty(u.T.shape, dtype=complex), np.empty(u.T.shape, dtype=complex)
    x = y = np.zeros(len(rates), dtype=complex)
    for j, rate in enumerate(rates.T):
        df[j] = x
        du[j] = y + forced_u[:, j] - rate * z * alpha[batches - 1 - j] * x
        x = scales[:, j] * (p[:, j] ** 2 * x + rate * alpha[j] * du[j] + forced_f[:, j])
        y = scales[:, j] * du[j]
    df, du, mirrored_u = df.T, du.T, u[:, ::-1]
    both, dboth = z * f * f[:, ::-1], z * (df * f[:, ::-1] + f * df[:, ::-1])
    dW = (du * mirrored_u + u * du[:, ::-1] - p * (p * dboth + 2 * dp * both)) * inverse
    dr = moments @ ((df * mirrored_u + f * (du[:, ::-1] - mirrored_u * dW)) * inverse)
    return dr, moments @ ((dp * both + p * (dboth - both * dW)) * inverse)


@compiled(numpy=_tangent_numpy)
def tangent(z, X, change, rates, moments, f, u, scales, inverse):
    """The changes of r and H by a change of α and β."""
    alpha, beta = X
    da, db = change
    count, batches = u.shape
    dr, dH = np.zeros(batches, dtype=np.complex128), np.zeros(batches, dtype=np.complex128)
    df, du = np.empty(batches, dtype=np.complex128), np.empty(batches, dtype=np.complex128)
    for k in range(count):
        x, y = 0j, 0j
        for j in range(batches):
            mirror = batches - 1 - j
            rate = rates[k, j]
            p = 1 - rate * beta[j]
            df[j] = x
            y = y - rate * z * (da[mirror] * f[k, j] + alpha[mirror] * x)
            du[j] = y
            x = p * p * x + rate * (da[j] * u[k, j] + alpha[j] * y - 2 * p * db[j] * f[k, j])
            x, y = scales[k, j] * x, scales[k, j] * y
        for j in range(batches):
            mirror = batches - 1 - j
            rate = rates[k, j]
            p, dp = 1 - rate * beta[j], -rate * db[j]
            both = z * f[k, j] * f[k, mirror]
            dboth = z * (df[j] * f[k, mirror] + f[k, j] * df[mirror])
            dW = du[j] * u[k, mirror] + u[k, j] * du[mirror] - p * (p * dboth + 2 * dp * both)
            weight, dW = moments[k] * inverse[k, j], dW * inverse[k, j]
            dr[j] += weight * (df[j] * u[k, mirror] + f[k, j] * (du[mirror] - u[k, mirror] * dW))
            dH[j] += weight * (dp * both + p * (dboth - both * dW))
    return dr, dH
