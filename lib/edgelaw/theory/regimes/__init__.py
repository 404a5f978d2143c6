r"""How long the power law lasts, how much one draw strays from it, and what follows (chapter 1).

The time of gradient descent is :math:`t = 2\eta n`: it has left :math:`\frac1d\sum_j e^{-t\lambda_j}` of the error. A
left edge (β, Q) at zero makes this a power law for :math:`t \ll (Qd)^{1/\beta}`. What happens then, and how large the
fluctuations are before, β and Q do not decide: **independent** eigenvalues, which the paper's proofs assume, and
those of a square real **Gaussian** design, which repel each other, are worked out.
"""

import functools

import numpy as np
import scipy.special

from edgelaw._common import arguments
from edgelaw._common.numerics import panels
from edgelaw._common.types import Array, ArrayLike, FloatOrArray
from edgelaw.laws import EdgeFit, MarchenkoPastur
from edgelaw.theory import gradient_descent


def window_end(dims: int, edge: EdgeFit, step: float) -> float:
    r"""The epoch at which about one eigenvalue is left below 1/t: :math:`n = (Qd)^{1/\beta} / (2\eta)`.

    The power law holds for n far below it: the paper's :math:`d^{1/\beta}` with its constant.

    >>> round(float(window_end(256, EdgeFit(0.5, 2 / np.pi), step=1.0)))
    13280
    """
    dims, step = arguments.whole(dims, "dims", 1), arguments.number(step, "step", 0)
    return (edge.Q * dims) ** (1 / edge.beta) / (2 * step)


def window_start(edge: EdgeFit, step: float, beyond: float = 0.10) -> float:
    r"""The epoch, not rounded, from which all but ``beyond`` of the Laplace integral lies inside the fitted edge.

    The fraction :math:`\Gamma(\beta, tX)/\Gamma(\beta)` comes from beyond X, the window's far end measured from
    :math:`\lambda_0` (*derived* here; the paper has no criterion).
    """
    step, beyond = arguments.number(step, "step", 0), arguments.number(beyond, "beyond", 0, 1)
    reach = edge.window[1] - edge.lambda_0
    if not 0 < reach < np.inf:
        raise ValueError("edge must be fitted over a window that ends beyond its lambda_0.")
    return scipy.special.gammainccinv(edge.beta, beyond) / (2 * step * reach)


def independent_spread(n: ArrayLike, dims: int, edge: EdgeFit, step: float) -> FloatOrArray:
    r"""Relative standard deviation of the loss over draws of d *independent* eigenvalues, in the window.

    :math:`\left((t/2)^\beta / (Q\Gamma(\beta+1)d)\right)^{1/2}`, the paper's :math:`\sqrt{n^\beta/d}`: the first line
    of prop-rigid.
    """
    t, dims = _time(n, step), arguments.whole(dims, "dims", 1)
    return np.sqrt((t / 2) ** edge.beta / (edge.Q * scipy.special.gamma(edge.beta + 1) * dims))[()]


def gaussian_spread(n: ArrayLike, dims: int, step: float) -> FloatOrArray:
    r"""Relative standard deviation of the loss over square real Gaussian designs: :math:`\sqrt{\eta n}/d`.

    *Derived* (prop-rigid) for :math:`1 \ll t \ll d^2`, from the Bessel process; it grows as :math:`n^\beta/d`, the
    *square* of the independent one.

    >>> float(gaussian_spread(100, 500, step=0.25))
    0.01
    """
    return (np.sqrt(_time(n, step) / 2) / arguments.whole(dims, "dims", 1))[()]


def smallest_survival(x: ArrayLike, dims: int) -> FloatOrArray:
    r"""Probability that the smallest eigenvalue of a square real Gaussian :math:`X^\top X/d` exceeds x.

    **Cited** (thm-edelman), as d → ∞: :math:`\exp(-z/2 - \sqrt z)` with :math:`z = d^2 x`; for finite d up to
    O(1/d).

    >>> round(float(smallest_survival(0.297 / 100**2, 100)), 2)
    0.5
    """
    z = arguments.whole(dims, "dims", 1) ** 2 * _nonnegative(x, "x")
    return np.exp(-z / 2 - np.sqrt(z))[()]


def smallest_survival_independent(x: ArrayLike, dims: int, edge: EdgeFit) -> FloatOrArray:
    r"""Probability that the smallest of d independent eigenvalues exceeds x: :math:`\exp(-d\,Q\,x^\beta)`.

    As d → ∞ this is the limit of :math:`(1-F(x))^d`.
    """
    return np.exp(-arguments.whole(dims, "dims", 1) * edge.cdf(_nonnegative(x, "x")))[()]


def expected_smallest(n: ArrayLike, dims: int, step: float) -> FloatOrArray:
    r"""What the smallest eigenvalue alone contributes to the expected loss of Gaussian designs, m = d (*derived* here).

    :math:`\frac1d\int_0^\infty (1+y)\,e^{-(1/2+t/d^2)y^2-y}\,dy`, by :func:`smallest_survival`; for t ≫ d² a *power
    law* :math:`\frac{\sqrt\pi}{2} t^{-1/2}`, carried by the few draws whose smallest eigenvalue is far below
    :math:`d^{-2}`.
    """
    dims = arguments.whole(dims, "dims", 1)
    a = 0.5 + _time(n, step) / dims**2
    # ∫ e^{−ay²−y} dy = √π erfcx(1/(2√a)) / (2√a), and ∫ y e^{−ay²−y} dy = (1 − that) / (2a)
    plain = np.sqrt(np.pi) * scipy.special.erfcx(0.5 / np.sqrt(a)) / (2 * np.sqrt(a))
    return ((plain + (1 - plain) / (2 * a)) / dims)[()]


def expected_loss(n: ArrayLike, dims: int, step: float) -> FloatOrArray:
    r"""Expected test loss of gradient descent over square real Gaussian designs, in every regime.

    *Derived* (prop-expected-loss).

    The Marchenko–Pastur integral with the 1/d correction of the real Wishart ensemble,
    :math:`\frac1d\left(\frac{f(0)+f(4)}4 - \frac12\int_0^4 \frac{f\,d\lambda}{\pi\sqrt{\lambda(4-\lambda)}}\right)`,
    resolved at 0 by the microscopic density of the Bessel process. With :math:`\sigma = t/4d^2` and :math:`h(y) = 1 -
    \int_0^y J_0` the sum over eigenvalues is there

    .. math::

        g(\sigma) = \frac{e^{-1/2\sigma}}{4\sigma}\Bigl(I_0 + I_1\Bigr)\!\Bigl(\frac1{2\sigma}\Bigr) + \frac14
        - \frac\sigma2\int_0^\infty y\,e^{-\sigma y^2} h(y)^2\,dy .

    It starts as :math:`1/\sqrt{\pi t}`, leaves it near t = d² *upwards*, and ends at π/2 times it. For steps below
    1/2 the error is O(1/d²) in the window and a relative O(1/d) beyond (measured: tests).

    >>> round(float(expected_loss(0, 50, 0.25)), 9)
    1.0
    >>> far = 10**10
    >>> law = gradient_descent.test_constant(0.25) / np.sqrt(far)
    >>> round(float(expected_loss(far, 1000, 0.25) / law / (np.pi / 2)), 3)
    1.0
    """
    n, dims = arguments.counts(n, "n"), arguments.whole(dims, "dims", 2)
    bulk = np.asarray(gradient_descent.test_loss(n, step))
    micro = [_resolved(float(2 * step * k) / (4 * dims**2)) for k in n.flat]
    arcsine = [_arcsine(int(k), step) for k in n.flat]
    ends = np.reshape(np.array(micro) - 0.5 * np.array(arcsine), n.shape)
    return (bulk + (ends + 0.25 * np.abs(1 - 4 * step) ** (2.0 * n)) / dims)[()]


@functools.lru_cache(maxsize=4096)
def _resolved(sigma):
    """g(σ) − 1/√(4πσ): what the microscopic density adds to the law's, 1/4 at σ = 0."""
    root = np.sqrt(sigma)
    if sigma < 1e-6:
        return 0.25 - 0.375 * root / np.sqrt(np.pi)
    z = 1 / (2 * sigma)
    smooth = (scipy.special.ive(0, z) + scipy.special.ive(1, z)) / (4 * sigma)
    end = 6.5 / root  # e^{−σy²} is 5e-19 there
    y, w = panels(np.linspace(0.0, end, int(np.ceil(end / 4)) + 9), 16)
    # ∫₀^y J₀ = y J₀ + (πy/2)(J₁ H₀ − J₀ H₁) with Struve's H
    j0, j1 = scipy.special.j0(y), scipy.special.j1(y)
    h = 1 - y * j0 - np.pi * y / 2 * (j1 * scipy.special.struve(0, y) - j0 * scipy.special.struve(1, y))
    rest = sigma / 2 * (w @ (y * np.exp(-sigma * y * y) * h * h))
    return smooth - 1 / np.sqrt(4 * np.pi * sigma) + 0.25 - rest


def _arcsine(n, step):
    """Mean of (1 − step λ)^{2n} over the arcsine law on [0, 4], exact by equispaced angles."""
    M = int(min(2 * n, 14 * np.sqrt(n))) + 8
    return np.mean((1 - 4 * step * np.sin(np.pi * (np.arange(M) + 0.5) / (2 * M)) ** 2) ** (2 * n))


def gap_and_atom(
    n: ArrayLike, edge: EdgeFit, smallest: float, fraction: float, step: float
) -> tuple[Array, Array]:
    r"""The paper's finite-d predictor at a shifted edge: a truncated edge plus an atom at the smallest eigenvalue.

    :math:`e^{-2\eta\lambda_0 n}[Q\beta(2\eta n)^{-\beta}\,\Gamma(\beta, z) + p\,e^{-z}]`, :math:`z = 2\eta
    n(\lambda_{\min}-\lambda_0)`, p the fraction of eigenvalues at the smallest. **A heuristic**, kept as the paper
    prints it, which does not conserve mass and fails for gradient descent from :math:`n \sim (\eta\lambda_0)^{-2}`
    on; :func:`atoms_and_edge` repairs both. The paper's training loss, for IID SGD, has a factor :math:`2/(2-\eta)`
    more.
    """
    t, gap = _time(n, step), float(smallest) - edge.lambda_0
    if not 0 <= gap < np.inf:
        raise ValueError(
            f"smallest must not lie below the edge at {edge.lambda_0:g}, but it is {smallest!r}."
        )
    p = arguments.number(fraction, "fraction", 0, 1 + 1e-12)
    body, tilt = _cut(edge, t, gap)
    front, atom = np.exp(-edge.lambda_0 * t), p * np.exp(-smallest * t)
    return (front * body + atom)[()], (front * (edge.lambda_0 * body + tilt) + smallest * atom)[()]


def atoms_and_edge(
    n: ArrayLike, edge: EdgeFit, smallest: ArrayLike, dims: int, step: float
) -> tuple[Array, Array]:
    r"""The predictor that replaces :func:`gap_and_atom`: the k smallest eigenvalues exactly, the edge law beyond them.

    The edge's continuous part starts where :math:`Q x_k^\beta = k/d`, and gradient descent's own
    :math:`(1-\eta\lambda)^{2n}` replaces the exponential. What remains is the error of the edge law away from the
    edge, O(1/n) relatively (*derived* here). With all eigenvalues use :func:`edgelaw.theory.gradient_descent.curve`.

    >>> test, _ = atoms_and_edge(10**6, EdgeFit(0.5, 1.0), smallest=[1e-9], dims=10, step=0.25)
    >>> round(float(test), 3)  # everything else has long decayed: e^{−2ηnλ}/d
    0.1
    """
    n, dims = arguments.counts(n, "n").astype(float), arguments.whole(dims, "dims", 1)
    low = _nonnegative(smallest, "smallest")
    if low.ndim != 1 or len(low) > dims:
        raise ValueError(
            f"smallest must be a list of at most dims = {dims} eigenvalues, not of shape {low.shape}."
        )
    limit = 1 / max(edge.lambda_0, low.max(initial=0.0), 1e-300)
    step = arguments.number(step, "step (below 1/λ of the eigenvalues at the edge)", 0, limit)
    t = 2 * n * step / (1 - step * edge.lambda_0)
    front = np.exp(2 * n * np.log1p(-step * edge.lambda_0))
    cut = (len(low) / dims / edge.Q) ** (1 / edge.beta)
    body, tilt = (front * part for part in _cut(edge, t, cut))
    atoms = np.exp(2 * np.multiply.outer(n, np.log1p(-step * low))) / dims
    return (body + atoms.sum(axis=-1))[()], (edge.lambda_0 * body + tilt + atoms @ low)[()]


def aspect_crossover(n: ArrayLike, rho: float, step: float) -> FloatOrArray:
    r"""Test loss of gradient descent near m = d, plateau, power law and exponential in one formula.

    *Proved* (prop-crossover) as ρ → 1.

    With :math:`z = \lvert 1-\rho^{-1/2}\rvert\sqrt t`,

    .. math:: L \approx \max(1-\rho, 0) + \frac{\rho^{3/4}}{\sqrt{\pi t}}\left(e^{-z^2} -
        \sqrt\pi\,z\,\mathrm{erfc}(z)\right).

    The relative error is below 2 % for t ≥ 40 and ρ in [0.7, 1.3] while :math:`\eta^2\lambda_-^2 n \ll 1` (measured:
    tests).
    """
    t = _time(n, step)
    law = MarchenkoPastur(arguments.aspect(rho))
    z = np.sqrt(law.support[0] * t)
    with np.errstate(divide="ignore"):
        decaying = np.exp(-z * z) * (1 - np.sqrt(np.pi) * z * scipy.special.erfcx(z)) / np.sqrt(np.pi * t)
    return (law.atom + law.aspect**0.75 * decaying)[()]


def _time(n: ArrayLike, step: float) -> Array:
    return 2 * arguments.number(step, "step", 0) * arguments.counts(n, "n").astype(float)


def _nonnegative(values: ArrayLike, name: str) -> Array:
    array = np.asarray(values, dtype=float)
    if not (array >= 0).all() or not np.isfinite(array).all():
        raise ValueError(f"{name} must hold finite numbers, none of them negative.")
    return array


def _cut(edge, t, cut):
    """Integrals of e^{−tx} and x e^{−tx} over the law of the edge beyond x = cut."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return [
            edge.Q * edge.beta * t**-a * scipy.special.gamma(a) * scipy.special.gammaincc(a, t * cut)
            for a in (edge.beta, edge.beta + 1)
        ]
