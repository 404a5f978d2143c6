r"""Flip-flop with averaged batches: the boundary problem of `flip_flop_boundary` as a recursion over the batches.

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

import numpy as np

from edgelaw._common.compiled import compiled
from edgelaw.exact.batches import limits
from edgelaw.exact.batches.partition import Partition
from edgelaw.exact.flip_flop import boundary as flip_flop_boundary
from edgelaw.exact.flip_flop import spectra as flip_flop_spectra
from edgelaw.exact.flip_flop.collocation import Unsolved

_RESIDUAL = 1e-4  # relative, that GMRES leaves of Newton's equations
_KRYLOV = 80  # its directions, at most
_SAME = 1e-8  # relative size of a last step, up to so many epochs:
_MANY = 200
_UNEVEN = 0.8  # times the root of what a short batch changes in the first epoch: what it may change later


def losses(spectrum, n, cut, step):
    """Losses at ascending epochs n ≥ 1, their error, from where they are continued, if so; and another error.

    That is what a short last batch may change, 0 without one. The first epoch is known for any partition. What the
    mirrored one makes of it is off by a second order of the step, and later epochs by a first order: hence the root,
    with a factor that is fitted, on 90 simulated curves; of 72 others none was off by more than 0.63 of this error.
    """
    limits.refuse_unstable("flip_flop", spectrum.rows, cut, np.inf, step)
    if cut.batches == 1 and isinstance(spectrum, flip_flop_spectra.SampleSpectrum):
        return *_gradient_descent(spectrum, n, cut.taus[0]), 0.0
    mirrored = symmetric(cut)

    def build(spectrum, step, edge, last, resolution, probes=()):
        average = spectrum.average(step, edge, last, resolution.left, resolution.tolerance)
        return Problem(average, mirrored, probes, _SAME * min(1.0, _MANY / last))

    # the step of single rows with the same slowest directions, which places the contour of the average
    mean = float(mirrored.kappas @ (1 / mirrored.taus + mirrored.kappas / 2)) / spectrum.rho
    values, error, continued = flip_flop_boundary.losses(spectrum, n, 1 / mean, build)
    if cut.equal:
        return values, error, continued, 0.0
    average = build(spectrum, 1 / mean, np.inf, 1, flip_flop_boundary.RESOLUTIONS[-1])
    first, other = (Problem(average.average, one).first_epoch() for one in (cut, mirrored))
    still = np.array([average.still, 0.0])
    values[:, n == 1] = (first + still)[:, None]
    off = float(np.abs((other - first) / (first + still)).max())
    return values, error, continued, off + _UNEVEN * off**0.5


def _gradient_descent(spectrum, n, tau):
    """The losses if all rows of a sample are one batch, their error, and None."""
    factors = np.power.outer(1 - tau * spectrum.values, 2 * n)
    moving = spectrum.rho * spectrum.shares * (spectrum.values > 0)
    train = (spectrum.shares * spectrum.values) @ factors
    return np.array([spectrum.null + moving @ factors, train]), 1e-14, None


def symmetric(cut):
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
    """The recursion over batches for one average; their partition must be its own mirror image."""

    def __init__(self, average, cut, probes=(), same=_SAME):
        moving = average.nodes != 0
        nodes, weights = (x[moving].astype(complex) for x in (average.nodes, average.weights))
        self.still = average.weights[~moving].sum().real  # λ = 0: Y = 1
        nodes = np.append(nodes, probes)
        weights = np.append(weights, np.zeros(len(probes)))
        self.average, self.nodes, self.weights, self.moments = average, nodes, weights, nodes * weights
        self.taus, self.kappas, self.same = cut.taus, cut.kappas, same
        self.equations = nodes, np.ascontiguousarray(cut.kappas), self.moments

    def start(self):
        """α and β at z = 0, where the recursion is explicit."""
        Y, alpha = np.ones(len(self.nodes), dtype=complex), np.empty(len(self.taus), dtype=complex)
        for j, (kappa, tau) in enumerate(zip(self.kappas, self.taus, strict=True)):
            alpha[j] = self.moments @ Y * tau**2
            Y = (1 - kappa * self.nodes * tau) ** 2 * Y + kappa * self.nodes * alpha[j]
        return np.array([alpha, self.taus + 0j])

    def first_epoch(self):
        """Both losses after the first epoch, the derivatives of the transforms at z = 0; without what never moves."""
        X = self.start()
        f, g, _, scales = waves(0j, X, *self.equations[:2])
        Y = f[:, -1] / g[:, -1]
        integral = integrated(0j, X, *self.equations, f, g, scales) / self.kappas.sum()
        return np.array([self.weights @ Y, self.moments @ Y + integral]).real

    def ones(self):
        """Unknown: α and β at z = 1 if all rows are independent."""
        return None

    def touched(self, z, end):
        """1/(1 − zY) after the last batch."""
        f, g = end
        return g / (g - z * f)

    def charted(self, solutions):
        """The same: α and β need no charts."""
        return solutions

    def determinant(self, z, X):
        """A sign and the logarithm of a size that do not change: Newton's equations are never written down."""
        return 1.0, 0.0

    def newton(self, z, X, steps=10):
        """X at z and (f, g) at its end from a guess; `Unsolved` if that takes more than a few steps."""
        for _ in range(steps):
            change = self._change(z, X)
            size = np.abs(change).max() / np.abs(X).max() if change is not None else np.inf
            if not size < 1e3:
                break
            X = X + change * min(1.0, 0.5 / size)
            if size < self.same:
                f, g, _, _ = waves(z, X, *self.equations[:2])
                return X, (f[:, -1], g[:, -1])
        raise Unsolved("Newton's method for the flip-flop equations did not converge.")

    def _change(self, z, X):
        """Newton's step."""
        f, _, u, scales = waves(z, X, *self.equations[:2])
        inverse, r, H = fields(z, X, *self.equations, f, u)
        H += 1 / self.taus
        D = H**2 - z * r * r[::-1]
        new = np.array([r / D, H / D])
        if not np.isfinite(new).all():
            return None

        def derivative(direction):
            dr, dH = tangent(z, X, direction, *self.equations, f, u, scales, inverse)
            dD = 2 * H * dH - z * (dr * r[::-1] + r * dr[::-1])
            return direction - np.array([dr - new[0] * dD, dH - new[1] * dD]) / D

        return gmres(derivative, new - X)

    def transforms(self, z, X, end):
        """The generating functions of the test and of the training loss at z."""
        f, g, _, scales = waves(z, X, *self.equations[:2])
        touched = self.touched(z, end)
        test = self.weights @ touched + (self.still / (1 - z) if self.still else 0)
        integral = integrated(z, X, *self.equations, f, g, scales) / self.kappas.sum()
        return np.array([test, self.moments @ touched + z * integral])


def gmres(operator, target):
    """The solution of a linear equation by GMRES, to a relative residual; None if it takes too many directions."""
    norm = np.linalg.norm(target)
    if norm == 0:
        return np.zeros_like(target)
    basis = np.empty((_KRYLOV + 1, target.size), dtype=complex)
    basis[0] = target.ravel() / norm
    H = np.zeros((_KRYLOV + 1, _KRYLOV), dtype=complex)
    right = np.zeros(_KRYLOV + 1, dtype=complex)
    right[0] = norm
    for k in range(_KRYLOV):
        v = operator(basis[k].reshape(target.shape)).ravel()
        for _ in range(2):
            parts = basis[: k + 1].conj() @ v
            v = v - parts @ basis[: k + 1]
            H[: k + 1, k] += parts
        H[k + 1, k] = np.linalg.norm(v)
        if not np.isfinite(H[k + 1, k]):
            return None
        y = np.linalg.lstsq(H[: k + 2, : k + 1], right[: k + 2], rcond=None)[0]
        left = np.linalg.norm(H[: k + 2, : k + 1] @ y - right[: k + 2])
        if left < _RESIDUAL * norm or H[k + 1, k] < 1e-14 * norm:
            return (y @ basis[: k + 1]).reshape(target.shape)
        basis[k + 1] = v / H[k + 1, k]
    return None


@compiled
def waves(z, X, nodes, kappas):
    """f and g with Y = f/g before every batch and after the last, u = g after a batch but for its scale, and scales."""
    alpha, beta = X
    count, batches = nodes.size, alpha.size
    f, g = (
        np.empty((count, batches + 1), dtype=np.complex128),
        np.empty((count, batches + 1), dtype=np.complex128),
    )
    u, scales = np.empty((count, batches), dtype=np.complex128), np.empty((count, batches))
    for k in range(count):
        x, y = 1 + 0j, 1 + 0j
        for j in range(batches):
            f[k, j], g[k, j] = x, y
            rate = nodes[k] * kappas[j]
            p = 1 - rate * beta[j]
            y = y - rate * z * alpha[batches - 1 - j] * x
            u[k, j] = y
            x = p * p * x + rate * alpha[j] * y
            scale = 1 / (abs(x.real) + abs(x.imag) + abs(y.real) + abs(y.imag))
            x, y = scale * x, scale * y
            scales[k, j] = scale
        f[k, batches], g[k, batches] = x, y
    return f, g, u, scales


@compiled
def fields(z, X, nodes, kappas, moments, f, u):
    """1/W at all nodes, and r and H − 1/τ, at all batches."""
    beta = X[1]
    count, batches = u.shape
    inverse = np.empty((count, batches), dtype=np.complex128)
    r = np.zeros(batches, dtype=np.complex128)
    H = np.zeros(batches, dtype=np.complex128)
    for k in range(count):
        for j in range(batches):
            mirror = batches - 1 - j
            rate = nodes[k] * kappas[j]
            p = 1 - rate * beta[j]
            product = z * p * f[k, j] * f[k, mirror]
            inverse[k, j] = 1 / (u[k, j] * u[k, mirror] - p * product)
            r[j] += moments[k] * f[k, j] * u[k, mirror] * inverse[k, j]
            H[j] += moments[k] * product * inverse[k, j]
    return inverse, r, H


@compiled
def tangent(z, X, change, nodes, kappas, moments, f, u, scales, inverse):
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
            rate = nodes[k] * kappas[j]
            p = 1 - rate * beta[j]
            df[j] = x
            y = y - rate * z * (da[mirror] * f[k, j] + alpha[mirror] * x)
            du[j] = y
            x = p * p * x + rate * (da[j] * u[k, j] + alpha[j] * y - 2 * p * db[j] * f[k, j])
            x, y = scales[k, j] * x, scales[k, j] * y
        for j in range(batches):
            mirror = batches - 1 - j
            rate = nodes[k] * kappas[j]
            p, dp = 1 - rate * beta[j], -rate * db[j]
            both = z * f[k, j] * f[k, mirror]
            dboth = z * (df[j] * f[k, mirror] + f[k, j] * df[mirror])
            dW = du[j] * u[k, mirror] + u[k, j] * du[mirror] - p * (p * dboth + 2 * dp * both)
            weight, dW = moments[k] * inverse[k, j], dW * inverse[k, j]
            dr[j] += weight * (df[j] * u[k, mirror] + f[k, j] * (du[mirror] - u[k, mirror] * dW))
            dH[j] += weight * (dp * both + p * (dboth - both * dW))
    return dr, dH


@compiled
def integrated(z, X, nodes, kappas, moments, f, g, scales):
    """Σ κ(zα̃x₂² − 2βx₁x₂ + αx₁²) over the batches."""
    alpha, beta = X
    count, batches = scales.shape
    x1, x2 = np.zeros(batches, dtype=np.complex128), np.zeros(batches, dtype=np.complex128)
    for k in range(count):
        wave = moments[k] / (g[k, batches] - z * f[k, batches])
        for j in range(batches - 1, -1, -1):
            x1[j] += wave * g[k, j + 1]
            wave *= scales[k, j] * (1 - nodes[k] * kappas[j] * beta[j])
            x2[j] += wave * f[k, j]
    total = 0j
    for j in range(batches):
        value = z * alpha[batches - 1 - j] * x2[j] ** 2 - 2 * beta[j] * x1[j] * x2[j] + alpha[j] * x1[j] ** 2
        total += kappas[j] * value
    return total
