r"""Full gradient descent: the yardstick for every order of SGD.

After n steps :math:`w_n = (I - \eta H)^n w_0`, so from a random start the test loss is
:math:`\int (1-\eta\lambda)^{2n}\,dF` and the training loss :math:`\int \lambda (1-\eta\lambda)^{2n}\,dF`, with F the
distribution of the eigenvalues of :math:`H = X^\top X/m`, scaled to mean 1: both start at 1. One step costs one
pass over the data, an epoch. Steps must stay below :math:`2/\lambda_{\max}`, which is 1/2 for isotropic Gaussian
data at m = d: the steps near 1 that suit the Kaczmarz orders are out of reach, and ``step`` has no default here.
"""

import numpy as np
import scipy.special

from edgelaw._common import arguments
from edgelaw._common.types import Array, ArrayLike, FloatOrArray
from edgelaw.curves import LearningCurve
from edgelaw.laws import EdgeFit, MarchenkoPastur

__all__ = [
    "asymptotic_test",
    "asymptotic_train",
    "curve",
    "effective_step",
    "test_constant",
    "test_loss",
    "train_constant",
    "train_loss",
    "weighted_losses",
]
TINY = 1e-300  # what is smaller comes out as 0.0


def test_loss(n: ArrayLike, step: float, rho: float = 1.0) -> FloatOrArray:
    r"""Test loss after n epochs on isotropic Gaussian rows, d → ∞, m = ρd (**proved**: an exact integral).

    :math:`\int (1-\eta\lambda)^{2n} dF` over the Marchenko–Pastur law, the atom :math:`1-\rho` of ρ < 1 included:
    that is the plateau on which the loss of an underdetermined problem ends.

    Parameters
    ----------
    n : int or array of int
        Epochs, non-negative.
    step : float
        In :math:`(0, 2/\lambda_{\max})` with :math:`\lambda_{\max} = (1+\rho^{-1/2})^2`.
    rho : float
        Aspect m/d, positive.

    Returns
    -------
    float or ndarray
        Of the shape of n. Relative accuracy 1e-11 for n up to 10⁶ (tested against mpmath); the sum has positive terms
        only. Values below 1e-300 are 0.0.

    Notes
    -----
    In the angle :math:`\lambda = 1 + r^2 - 2 r\cos\theta`, :math:`r = \rho^{-1/2}`, the integrand is a trigonometric
    polynomial times :math:`1/\lambda`, a Poisson kernel. M equispaced angles integrate the product *exactly* up to
    degree M when the j-th kernel value is multiplied by :math:`1 - (-1)^j s^M`, :math:`s = \min(r, 1/r)`: that
    undoes its aliasing. The Fourier coefficients of the polynomial are the law of a lazy random walk of 2n steps, so
    :math:`M = 14\sqrt n` angles leave out less than :math:`2 e^{-49}` of it (Hoeffding).

    Examples
    --------
    >>> round(float(test_loss(0, step=0.25)), 12), round(float(test_loss(1, step=0.25)), 12)
    (1.0, 0.625)
    >>> round(float(test_loss(10**6, step=0.25) * 1000 / test_constant(0.25)), 6)
    1.0
    """
    return _marchenko_pastur(n, step, rho, power=0)


def train_loss(n: ArrayLike, step: float, rho: float = 1.0) -> FloatOrArray:
    r"""Training loss after n epochs on isotropic Gaussian rows, d → ∞, m = ρd (**proved**: an exact integral).

    :math:`\int \lambda(1-\eta\lambda)^{2n} dF`, which starts at 1. Parameters, accuracy and method are those of
    :func:`test_loss`; here the integrand has no kernel and equispaced angles alone are exact.

    Examples
    --------
    >>> round(float(train_loss(1, step=0.25)), 12)  # 1 − 2ηm₂ + η²m₃ with m₂ = 2, m₃ = 5
    0.3125
    """
    return _marchenko_pastur(n, step, rho, power=1)


def _marchenko_pastur(n, step, rho, power):
    """∫ λ^power (1 − step λ)^{2n} dF at each n."""
    n = arguments.counts(n, "n")
    law = MarchenkoPastur(arguments.aspect(rho))
    step = stable_step(step, law.support[1])
    values = [_integral(int(k), step, law, power) for k in n.ravel()]
    return np.reshape(values, n.shape) if n.ndim else float(values[0])


def _integral(n, step, law, power):
    r = law.aspect**-0.5
    s = min(r, 1 / r)
    M = int(min(2 * n, 14 * np.sqrt(n))) + 8
    j = np.arange(1, M)  # at j = 0 and j = M the weight vanishes
    theta = np.pi * j / M
    # factor |1 − ηλ|^{2n} of the slower end out, and count the angle from there: nothing underflows or cancels
    left, right = law.support
    if 1 - step * left >= step * right - 1:
        slow, gap = np.log1p(-step * left), 4 * r * np.sin(theta / 2) ** 2 * step / (1 - step * left)
        scaled = np.where(gap < 1.5, np.log1p(-np.minimum(gap, 0.75)), 0.0)
        scaled = np.where(gap > 0.75, _log_abs(1 - gap), scaled)
    else:
        slow, gap = np.log(step * right - 1), 4 * r * np.cos(theta / 2) ** 2 * step / (step * right - 1)
        scaled = _log_abs(1 - gap)
    if n == 0:
        scaled, slow = np.zeros_like(theta), 0.0
    total = slow * 2 * n + np.log(_weights(theta, j, M, r, s, power) @ np.exp(2 * n * scaled))
    value = np.exp(total) if total > np.log(TINY) else 0.0
    return value + (law.atom if power == 0 else 0.0)


def _weights(theta, j, M, r, s, power):
    """Weights at the angles for (2/π) sin²θ dθ (power 1), divided by λ (power 0) with its aliasing undone."""
    weights = 2 / M * np.sin(theta) ** 2
    if power:
        return weights
    kernel = (1 - s) ** 2 + 4 * s * np.sin(theta / 2) ** 2
    return weights * (1 - (-1.0) ** j * s**M) / (kernel * max(r, 1) ** 2)


def _log_abs(x):
    with np.errstate(divide="ignore"):  # ηλ = 1 is forgotten in one step: log 0 = −∞ is right
        return np.log(np.abs(x))


def test_constant(step: float) -> float:
    r"""Limit of :math:`\sqrt n` times the test loss at ρ = 1, :math:`1/\sqrt{2\pi\eta}` (**proved**), η < 1/2.

    Examples
    --------
    >>> round(float(test_constant(0.25)), 6)
    0.797885
    """
    return float(1 / np.sqrt(2 * np.pi * stable_step(step, 4.0)))


def train_constant(step: float) -> float:
    r"""Limit of :math:`n^{3/2}` times the training loss at ρ = 1: :math:`(2\eta)^{-3/2}/(2\sqrt\pi)`, **proved**.

    It is the law of IID SGD's, :math:`1/(2\sqrt{2\pi}\,\eta^{3/2}(2-\eta))`, without the factor
    :math:`2/(2-\eta)` that the noise of single rows costs.

    Examples
    --------
    >>> round(float(train_constant(0.25)), 6)
    0.797885
    """
    return float((2 * stable_step(step, 4.0)) ** -1.5 / (2 * np.sqrt(np.pi)))


def effective_step(step: float) -> float:
    """The gradient-descent step with the same test-loss edge: for gradient descent, the step itself.

    It exists so that every order has one; a step that Marchenko and Pastur's law does not allow is refused.

    Examples
    --------
    >>> effective_step(0.3)
    0.3
    """
    return stable_step(step, 4.0)


def curve(eigenvalues: ArrayLike, epochs: ArrayLike, step: float) -> LearningCurve:
    r"""Learning curve on a given spectrum, exactly.

    Test loss :math:`\frac1d\sum_j (1-\eta\lambda_j)^{2n}`, training loss the same with weights
    :math:`\lambda_j` (**proved**).

    Parameters
    ----------
    eigenvalues : array_like
        Eigenvalues of :math:`X^\top X/m`, non-negative, with mean 1 if the training loss is to start at 1; a design
        with m < d has zeros among them.
    epochs : int or iterable of int
        The last epoch of a curve that records all of them, or the epochs to record; 0 is always included.
    step : float
        Below :math:`2/\lambda_{\max}`.

    Returns
    -------
    LearningCurve
        With standard errors of zero: it is the mean over random starts, exactly.

    Examples
    --------
    >>> curve([0.5, 1.5], epochs=1, step=1.0).test.tolist()
    [1.0, 0.25]
    """
    values = arguments.eigenvalues(eigenvalues, fewest=1, nonzero=True, ascending=False)
    recorded = arguments.epochs(epochs)
    test, train = weighted_losses(recorded, values, np.full(len(values), 1 / len(values)), step)
    return LearningCurve(recorded, test, train, np.zeros_like(test), np.zeros_like(train))


def weighted_losses(n: ArrayLike, eigenvalues: Array, weights: Array, step: float) -> tuple[Array, Array]:
    r"""The losses of a start that is spread over the eigenvectors with these weights (**proved**).

    They are :math:`\sum_j a_j(1-\eta\lambda_j)^{2n}` and the same with :math:`a_j\lambda_j`, each of the shape of n.
    Equal weights are the mean over random starts, :func:`curve`.

    Examples
    --------
    >>> test, train = weighted_losses(1, np.array([0.5, 1.5]), np.array([1.0, 0.0]), step=1.0)
    >>> float(test), float(train)
    (0.25, 0.125)
    """
    counts = arguments.counts(n, "n")
    shrunk = stable_step(step, eigenvalues.max()) * eigenvalues
    logs = np.where(shrunk < 0.5, np.log1p(-np.minimum(shrunk, 0.5)), _log_abs(1 - shrunk))
    logs = np.maximum(logs, -1e3)  # a factor of zero, and n = 0 can still multiply it
    both = np.stack([weights, weights * eigenvalues])
    losses = np.array([both @ np.exp(2 * count * logs) for count in counts.ravel().tolist()])
    losses = np.where(losses < TINY, 0.0, losses).reshape(*counts.shape, 2)
    return losses[..., 0], losses[..., 1]


def asymptotic_test(n: ArrayLike, edge: EdgeFit, step: float) -> FloatOrArray:
    r"""What a left edge says of the test loss as n grows (**proved** for an exact edge, as n → ∞ after d → ∞).

    .. math::

        \int(1-\eta\lambda)^{2n}dF \sim Q\,\Gamma(\beta+1)\,(2\eta' n)^{-\beta}\,(1-\eta\lambda_0)^{2n},
        \qquad \eta' = \frac{\eta}{1-\eta\lambda_0}.

    At an edge at zero it is the law of Velikanov and Yarotsky. At a shifted edge the step is rescaled and the
    exponential is :math:`(1-\eta\lambda_0)^{2n}`; the paper's :math:`e^{-2\eta\lambda_0 n}` is too large by about
    :math:`e^{n\eta^2\lambda_0^2}`.

    Parameters
    ----------
    n : int or array of int
        Epochs; the law is infinite at n = 0.
    edge : EdgeFit
        The edge's ``beta``, ``Q`` and ``lambda_0``.
    step : float
        Positive. The left edge must be the slow one, :math:`\eta < 2/(\lambda_0+\lambda_{\max})`; only
        :math:`\eta\lambda_0 < 1` can be checked here, where the largest eigenvalue is not known.

    Examples
    --------
    >>> from edgelaw.laws import EdgeFit
    >>> round(float(asymptotic_test(1, EdgeFit(0.5, 2 / np.pi), 0.25)), 6)
    0.797885
    """
    return _edge_terms(n, edge, step)[0][()]


def asymptotic_train(n: ArrayLike, edge: EdgeFit, step: float) -> FloatOrArray:
    r"""What a left edge says of the training loss as n grows (**proved**, as in :func:`asymptotic_test`).

    :math:`Q\,\beta\,\Gamma(\beta+1)(2\eta' n)^{-(\beta+1)}(1-\eta\lambda_0)^{2n}` plus :math:`\lambda_0` times the
    test loss.

    Examples
    --------
    >>> from edgelaw.laws import EdgeFit
    >>> round(float(asymptotic_train(1, EdgeFit(0.5, 2 / np.pi), 0.25)), 6)
    0.797885
    """
    test, tilt = _edge_terms(n, edge, step)
    return (tilt + edge.lambda_0 * test if edge.lambda_0 else tilt)[()]


def _edge_terms(n, edge, step):
    """Integrals of (1 − ηλ)^{2n} and (λ − λ₀)(1 − ηλ)^{2n} over the law of the edge, to leading order."""
    n = arguments.counts(n, "n").astype(float)
    limit = 1 / edge.lambda_0 if edge.lambda_0 else np.inf
    step = arguments.number(step, "step (below 1/λ₀, or the left edge cannot be the slow one)", 0, limit)
    t = 2 * n * step / (1 - step * edge.lambda_0)
    size = edge.Q * scipy.special.gamma(edge.beta + 1) * np.exp(2 * n * np.log1p(-step * edge.lambda_0))
    with np.errstate(divide="ignore"):
        return size * t**-edge.beta, size * edge.beta * t ** -(edge.beta + 1)


def stable_step(step: float, largest: float) -> float:
    """A step of gradient descent that does not diverge where this is the largest eigenvalue."""
    return arguments.number(step, "step (gradient descent diverges from 2/λmax on)", 0, 2 / largest)
