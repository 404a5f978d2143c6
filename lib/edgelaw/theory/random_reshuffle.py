r"""Random reshuffle: a new permutation every epoch, on isotropic Gaussian rows, as d → ∞ with m = ρd.

With :math:`S = \sum_i u_i u_i^\top` of the unit rows and A the matrix of one epoch, an epoch averaged over its
permutation acts on functions of S, :math:`\mathbb E_\pi A^\top f(S) A \simeq (Tf)(S)`, so that

.. math::

    \text{test} = \int T^n 1 \, dF, \qquad \text{train} = \frac1\rho \int \lambda\, T^n 1 \, dF, \qquad
    (Tf)(\lambda) = \bar a(\lambda)^2 f(\lambda) + \int k(\lambda,\mu) f(\mu)\, dF(\mu),

where F is the law of the eigenvalues λ of S (Marchenko–Pastur, mean ρ). For λ in the bulk let a be a root of
:math:`\rho a^2 - (\lambda+\rho-1)\,a + \lambda = 0`, and write
:math:`⟦\varphi⟧(\lambda) = \operatorname{Im}\varphi(a)/\operatorname{Im} a` and
:math:`g[\lambda,\mu] = (g(\lambda)-g(\mu))/(\lambda-\mu)`. With :math:`\varepsilon(a) = e^{-\eta\rho a}` and the entire
:math:`H(a) = [(a-1)\,e^{-2\eta\rho a} + \frac\eta2 e^{-\eta(2-\eta)\rho}]/(2a-2+\eta)`

.. math::

    \bar a = ⟦(a - \tfrac{\rho-1}{\rho})\,\varepsilon⟧, \qquad
    \frac{k(\lambda,\mu)}{\lambda\mu} = \frac{⟦\varepsilon⟧[\lambda,\mu]^2}{\rho^2}
    - \frac{⟦(a-1)\varepsilon⟧[\lambda,\mu]^2}{\rho} - \frac\eta\rho ⟦(a-1)H⟧[\lambda,\mu].

The mean epoch :math:`\bar a` is proved (thm-rr-mean); T is derived (thm-rr-operator) and agrees with matrices.
``edgelaw.exact.random_reshuffle`` has T on any other spectrum.

Numerics: k/(λμ) is entire in λ and μ, so it is interpolated from a Chebyshev grid; F is integrated in the angle of
:math:`\lambda = (1-\sqrt\rho)^2 + 4\sqrt\rho\sin^2(\theta/2)`, on panels that shrink towards the left edge; T becomes a
symmetric matrix of 400 rows, diagonalised once per step and aspect ratio (a tenth of a second) and kept.
"""

import functools

import numpy as np
import numpy.typing as npt

from edgelaw._common import arguments
from edgelaw._common.numerics import panels
from edgelaw._common.types import Array, ArrayLike, FloatOrArray
from edgelaw.theory._epochs import by_epoch

__all__ = [
    "effective_step",
    "mean_epoch",
    "one_resolvent",
    "overlap",
    "test_constant",
    "test_loss",
    "train_constant",
    "train_loss",
    "two_resolvents",
]

_PANELS, _ORDER = 24, 16  # dyadic panels of the angle, Gauss points on each
_GRID = 48  # Chebyshev points for the kernel, and 12 √rho more
_LARGE = 10**6  # at rho = 1 and beyond so many epochs: the constants, with a correction that falls as 1/n


def test_loss(n: ArrayLike, step: float = 1.0, rho: float = 1.0) -> FloatOrArray:
    r"""Test loss after n epochs, :math:`\lim_d \mathbb E\lVert w_n\rVert^2/\lVert w_0\rVert^2 = \int T^n1\,dF`.

    *Derived* (thm-rr-operator). Relative accuracy about 1e-12 up to n = 1000 for step in [0.05, 1.95] and rho in
    [0.25, 4]; beyond, the error grows like n · 1e-16, but at rho = 1 it is 1e-9 or better for every n: from a million
    epochs on the value is ``test_constant(step) / sqrt(n)`` times 1 + c/n. The value at n = 1, exp(−η(2−η)ρ), is
    exact.

    >>> [round(float(x), 6) for x in test_loss([0, 1, 10])]
    [1.0, 0.367879, 0.104071]
    """
    return _loss(n, step, rho, "test")


def train_loss(n: ArrayLike, step: float = 1.0, rho: float = 1.0) -> FloatOrArray:
    r"""Training loss after n epochs, :math:`\frac1\rho\int\lambda\, T^n1\,dF`. As accurate as `test_loss`.

    At n = 1 it is :math:`W + \frac{2-\eta}{\eta\rho}(e^{-2\eta\rho} - W)`, where :math:`W = e^{-\eta(2-\eta)\rho}`.

    >>> round(train_loss(1), 6), bool(np.isclose(train_loss(1), np.exp(-2)))
    (0.135335, True)
    """
    return _loss(n, step, rho, "train")


def test_constant(step: float = 1.0) -> float:
    r""":math:`\lim_n \sqrt n` · test loss at ρ = 1: gradient descent's constant at :func:`effective_step`.

    *Proved* (thm-rr-test-constant).

    >>> bool(np.isclose(test_constant(), 1 / np.sqrt(3 * np.pi)))
    True
    """
    return float(1 / np.sqrt(2 * np.pi * effective_step(step)))


def train_constant(step: float = 1.0) -> float:
    r""":math:`\lim_n n^{3/2}` · training loss at ρ = 1: :math:`g(0)/(2\sqrt{2\pi\,\eta(1+\eta/2)})`, (1 − T) g = λ.

    g(λ) is the training loss added up over all epochs when the start is an eigenvector of eigenvalue λ. To about
    1e-12. *Derived* (thm-rr-operator); no closed form known.

    >>> round(train_constant(), 7)
    0.0977282
    """
    return float(_potential(arguments.step(step)) / (2 * np.sqrt(2 * np.pi * effective_step(step))))


def effective_step(step: float) -> float:
    """η(1 + η/2) = −ā′(0), the rate at which the mean epoch forgets a direction of small eigenvalue.

    *Proved* (thm-rr-mean).

    >>> effective_step(1.0)
    1.5
    """
    eta = arguments.step(step)
    return eta * (1 + eta / 2)


def mean_epoch(eigenvalues: ArrayLike, step: float = 1.0, rho: float = 1.0) -> FloatOrArray:
    r"""The mean epoch :math:`\mathbb E_\pi A \simeq \bar a(S)`, at λ in the bulk of S. *Proved* (thm-rr-mean).

    >>> float(mean_epoch(0.0)), bool(np.isclose(mean_epoch(1e-6), 1 - 1.5e-6, rtol=1e-11))
    (1.0, True)
    """
    eta, rho = arguments.step(step), arguments.aspect(rho)
    return _multiplier(_angle_root(_angle(_bulk(eigenvalues, rho), rho), rho), eta, rho)[()]


def overlap(first: ArrayLike, second: ArrayLike, step: float = 1.0, rho: float = 1.0) -> FloatOrArray:
    """T's kernel, k(λ, μ) = lim d · E (v_λᵀ A v_μ)², for eigenvectors v of S with different eigenvalues.

    >>> bool(overlap(0.5, 2.0) > 0), bool(np.isclose(overlap(0.5, 2.0), overlap(2.0, 0.5)))
    (True, True)
    """
    eta, rho = arguments.step(step), arguments.aspect(rho)
    grid, kernel = _kernel(eta, rho)
    first, second = _bulk(first, rho), _bulk(second, rho)
    left, right = (_interpolation(grid, x.ravel(), rho).reshape(*x.shape, -1) for x in (first, second))
    return (first * second * np.einsum("...j,...j->...", left @ kernel, right))[()]


def one_resolvent(x: npt.ArrayLike, step: float = 1.0, rho: float = 1.0) -> npt.NDArray:
    r""":math:`\lim \frac1d\operatorname{tr} A (z-S)^{-1} A^\top` as a function of x = G(z), the Cauchy transform of F.

    :math:`(a-1)\,[\eta\,W + (2-\eta)\,x\,e^{-2\eta\rho a}]/(2a-2+\eta)` with a = 1/(1−x), W = exp(−η(2−η)ρ), and z =
    1/x + ρa.

    >>> round(float(one_resolvent(1e-6)) / 1e-6, 4)  # x ≈ 1/z at large z: the test loss after one epoch
    0.3679
    """
    eta, rho = arguments.step(step), arguments.aspect(rho)
    a = 1 / (1 - np.asarray(x))
    W = np.exp(-eta * (2 - eta) * rho)
    return (a - 1) * (eta * W + (2 - eta) * (1 - 1 / a) * np.exp(-2 * eta * rho * a)) / (2 * a - 2 + eta)


def two_resolvents(x: npt.ArrayLike, y: npt.ArrayLike, step: float = 1.0, rho: float = 1.0) -> FloatOrArray:
    r""":math:`\lim \frac1d\operatorname{tr}(z-S)^{-1}A(w-S)^{-1}A^\top` as a function of x = G(z) and y = G(w), x ≠ y.

    With a = 1/(1−x), b = 1/(1−y), z = 1/x + ρa, w = 1/y + ρb and H as at the head of this module it is

    .. math::

        \frac{(x e^{-\eta\rho a} - y e^{-\eta\rho b})^2}{(x-y)(w-z)} - \eta\,(a-1)(b-1)\,\frac{H(a)-H(b)}{a-b}.

    >>> bool(np.isclose(two_resolvents(0.1j, 0.2), two_resolvents(0.2, 0.1j)))
    True
    """
    eta, rho = arguments.step(step), arguments.aspect(rho)
    x, y = np.asarray(x, dtype=complex), np.asarray(y, dtype=complex)
    a, b = 1 / (1 - x), 1 / (1 - y)
    z, w = 1 / x + rho * a, 1 / y + rho * b
    square = (x * np.exp(-eta * rho * a) - y * np.exp(-eta * rho * b)) ** 2
    difference = (_entire(a, eta, rho) - _entire(b, eta, rho)) / (a - b)
    return (square / ((x - y) * (w - z)) - eta * (a - 1) * (b - 1) * difference)[()]


def _loss(n, step, rho, which):
    """Either loss at all n."""
    eta, rho = arguments.step(step), arguments.aspect(rho)
    modes, plateau = _modes(eta, rho), max(0.0, 1 - rho) if which == "test" else 0.0
    if rho != 1.0:
        return by_epoch(n, lambda later: plateau + _decay(modes, later, which))
    power, constant = (0.5, test_constant(eta)) if which == "test" else (1.5, train_constant(eta))

    def losses(later):
        near = _decay(modes, np.append(np.minimum(later, _LARGE), _LARGE), which)
        correction = near[-1] * _LARGE**power / constant - 1
        large = later.astype(float)
        return np.where(
            later > _LARGE, constant * large**-power * (1 + correction * _LARGE / large), near[:-1]
        )

    return by_epoch(n, losses)


def _decay(modes, n, which):
    """Σ_j (weight of mode j) · (its factor)^n at each n ≥ 1; an odd power of a negative factor is negative."""
    factors, weights = modes[0], modes[1 if which == "test" else 2]
    with np.errstate(divide="ignore", under="ignore"):
        logs = np.log(np.abs(factors))
        signs = np.where(factors < 0, -1.0, 1.0)
        return np.array([(np.exp(k * logs) * signs ** (k % 2)) @ weights for k in n.tolist()])


@functools.lru_cache(maxsize=64)
def _modes(eta, rho):
    """Eigenvalues of T on the continuous part of F, and the weights of its modes in either loss."""
    theta, dtheta = panels(np.append(0.0, np.pi * 0.5 ** np.arange(_PANELS, -1, -1)), _ORDER)
    values = _eigenvalue(theta, rho)
    root = np.sqrt(2 * rho / np.pi * np.sin(theta) ** 2 / values * dtheta)
    grid, kernel = _kernel(eta, rho)
    left = _interpolation(grid, values, rho) * (root * values)[:, None]
    T = left @ kernel @ left.T
    T[np.diag_indices(len(T))] += _multiplier(_angle_root(theta, rho), eta, rho) ** 2
    factors, vectors = np.linalg.eigh((T + T.T) / 2)
    ones, lambdas = vectors.T @ root, vectors.T @ (root * values)
    return factors, ones**2, ones * lambdas / rho


@functools.lru_cache(maxsize=64)
def _potential(eta):
    """g(0) at rho = 1, by g(λ) (1 − ā²)/λ − ∫ k/(λμ) μ g(μ) dF(μ) = 1, in which all is entire in λ."""
    count = 64
    theta = np.pi * (np.arange(count) + 0.5) / count  # midpoints: exact for even trigonometric polynomials
    values = _eigenvalue(theta, 1.0)
    mass = 2 / np.pi * np.cos(theta / 2) ** 2 * np.pi / count
    grid, kernel = _kernel(eta, 1.0)
    at = _interpolation(grid, values, 1.0)
    rate = (1 - _multiplier(_angle_root(theta, 1.0), eta, 1.0) ** 2) / values
    g = np.linalg.solve(np.diag(rate) - (at @ kernel @ at.T) * (mass * values), np.ones(count))
    start = _interpolation(grid, np.zeros(1), 1.0) @ kernel @ at.T @ (mass * values * g)
    return float((1 + start[0]) / (2 * effective_step(eta)))


@functools.lru_cache(maxsize=64)
def _kernel(eta, rho):
    """Chebyshev angles, and k/(λμ) on them: divided differences, the derivative on the diagonal."""
    count = _GRID + int(np.ceil(12 * np.sqrt(rho)))
    theta = np.pi * (np.arange(count) + 0.5) / count
    values, a = _eigenvalue(theta, rho), _angle_root(theta, rho)
    gap = 2 * np.sqrt(rho) * (np.cos(theta) - np.cos(theta)[:, None])  # λ of the row minus λ of the column
    np.fill_diagonal(gap, 1.0)
    weights = (-1.0) ** np.arange(count) * np.sin(theta)
    derivative = weights / weights[:, None] / gap
    np.fill_diagonal(derivative, 0.0)
    np.fill_diagonal(derivative, -derivative.sum(axis=1))

    def divided(phi):
        g = phi.imag / a.imag
        table = (g[:, None] - g) / gap
        np.fill_diagonal(table, derivative @ g)
        return table

    epsilon = np.exp(-eta * rho * a)
    kernel = divided(epsilon) ** 2 / rho**2 - divided((a - 1) * epsilon) ** 2 / rho
    kernel -= eta / rho * divided((a - 1) * _entire(a, eta, rho))
    return values, kernel


def _entire(a, eta, rho):
    """H(a) of the module's description, in a form that does not divide by zero at a = 1 − η/2."""
    y = eta * rho * (2 * a - 2 + eta)
    small = np.abs(y) < 1e-5
    safe = np.where(small, 1.0, y)
    ratio = np.where(small, 1 - y / 2 + y**2 / 6, -np.expm1(-safe) / safe)
    return 0.5 * np.exp(-2 * eta * rho * a) + 0.5 * eta**2 * rho * np.exp(-eta * (2 - eta) * rho) * ratio


def _multiplier(a, eta, rho):
    """ā from the root a; the limit of Im φ(a)/Im a where the two roots meet is the derivative."""
    shift = a - (rho - 1) / rho
    epsilon = np.exp(-eta * rho * a)
    with np.errstate(invalid="ignore"):
        inside = (shift * epsilon).imag / a.imag
    return np.where(a.imag == 0, ((1 - eta * rho * shift) * epsilon).real, inside)


def _interpolation(grid, points, rho):
    """The matrix that takes values on the Chebyshev grid to values at the points (barycentric)."""
    count = len(grid)
    theta = np.pi * (np.arange(count) + 0.5) / count
    gap = points[:, None] - grid
    hit = np.abs(gap) < 1e-15 * (1 + rho)
    ratio = (-1.0) ** np.arange(count) * np.sin(theta) / np.where(hit, 1.0, gap)
    ratio = np.where(hit.any(axis=1, keepdims=True), hit, ratio)
    return ratio / ratio.sum(axis=1, keepdims=True)


def _eigenvalue(theta, rho):
    """λ of an angle."""
    return (1 - np.sqrt(rho)) ** 2 + 4 * np.sqrt(rho) * np.sin(theta / 2) ** 2


def _angle_root(theta, rho):
    """The root a (lower half plane) of ρa² − (λ+ρ−1)a + λ = 0 at the λ of an angle; nothing cancels."""
    return (_eigenvalue(theta, rho) + rho - 1) / (2 * rho) - 1j * np.sin(theta) / np.sqrt(rho)


def _angle(values, rho):
    """The angle of λ."""
    low = (1 - np.sqrt(rho)) ** 2
    return 2 * np.arcsin(np.sqrt(np.clip((values - low) / (4 * np.sqrt(rho)), 0.0, 1.0)))


def _bulk(values: ArrayLike, rho: float) -> Array:
    """Eigenvalues of S in the bulk, or a refusal."""
    array = np.asarray(values, dtype=float)
    low, high = (1 - np.sqrt(rho)) ** 2, (1 + np.sqrt(rho)) ** 2
    if not ((array >= low - 1e-12) & (array <= high + 1e-12)).all():
        raise ValueError(f"eigenvalues must lie in the bulk of S, between {low:g} and {high:g}.")
    return array
