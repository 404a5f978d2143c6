r"""Full gradient descent: the yardstick for every order of SGD.

After n steps the test loss from a random start is :math:`\int (1-\eta\lambda)^{2n}\,dF`, the training loss
:math:`\int \lambda (1-\eta\lambda)^{2n}\,dF`, F the distribution of the eigenvalues of :math:`X^\top X/m`, scaled to
mean 1. One step is one epoch. Steps must stay below :math:`2/\lambda_{\max}`, which is 1/2 for isotropic rows at m =
d: those that suit SGD are out of reach, and ``step`` has no default here. All of it is **proved**
(thm-gd-edge); on Marchenko and Pastur's law relatively accurate to 1e-11 for n up to 10⁶.
"""

import numpy as np

from edgelaw._common import arguments
from edgelaw._common.types import Array, ArrayLike, FloatOrArray
from edgelaw.curves import LearningCurve
from edgelaw.laws import EdgeFit, MarchenkoPastur
from edgelaw.theory._epochs import TINY, by_epoch

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


def test_loss(n: ArrayLike, step: float, rho: float = 1.0) -> FloatOrArray:
    """Test loss after n epochs on isotropic Gaussian rows; for ρ < 1 it ends at the atom 1 − ρ.

    >>> round(float(test_loss(0, step=0.25)), 12), round(float(test_loss(1, step=0.25)), 12)
    (1.0, 0.625)
    """
    law = MarchenkoPastur(arguments.aspect(rho))
    step = stable_step(step, law.support[1])
    return by_epoch(n, lambda later: law.atom + weighted_losses(later, *law.rule(), step)[0])


def train_loss(n: ArrayLike, step: float, rho: float = 1.0) -> FloatOrArray:
    """Training loss after n epochs on isotropic Gaussian rows.

    >>> round(float(train_loss(1, step=0.25)), 12)  # 1 − 2ηm₂ + η²m₃ with m₂ = 2, m₃ = 5
    0.3125
    """
    law = MarchenkoPastur(arguments.aspect(rho))
    step = stable_step(step, law.support[1])
    return by_epoch(n, lambda later: weighted_losses(later, *law.rule(), step)[1])


def test_constant(step: float) -> float:
    r"""Limit of :math:`\sqrt n` times the test loss at ρ = 1: :math:`1/\sqrt{2\pi\eta}`, η < 1/2.

    >>> round(float(test_constant(0.25)), 6)
    0.797885
    """
    return float(1 / np.sqrt(2 * np.pi * stable_step(step, 4.0)))


def train_constant(step: float) -> float:
    r"""Limit of :math:`n^{3/2}` times the training loss at ρ = 1: :math:`(2\eta)^{-3/2}/(2\sqrt\pi)`.

    IID SGD's without the factor :math:`2/(2-\eta)` that the noise of single rows costs.

    >>> round(float(train_constant(0.25)), 6)
    0.797885
    """
    return float((2 * stable_step(step, 4.0)) ** -1.5 / (2 * np.sqrt(np.pi)))


def effective_step(step: float) -> float:
    """The step itself, if Marchenko and Pastur's law allows it.

    >>> effective_step(0.3)
    0.3
    """
    return stable_step(step, 4.0)


def curve(eigenvalues: ArrayLike, epochs: ArrayLike, step: float) -> LearningCurve:
    r"""Learning curve on a given spectrum, the mean over random starts, exactly.

    ``eigenvalues`` of :math:`X^\top X/m` have mean 1 if the training loss is to start at 1, zeros among them if m <
    d; ``epochs`` are all up to a given one, or the given ones, and 0.

    >>> curve([0.5, 1.5], epochs=1, step=1.0).test.tolist()
    [1.0, 0.25]
    """
    values = arguments.eigenvalues(eigenvalues, fewest=1, nonzero=True, ascending=False)
    recorded = arguments.epochs(epochs)
    test, train = weighted_losses(recorded, values, np.full(len(values), 1 / len(values)), step)
    return LearningCurve(recorded, test, train, np.zeros_like(test), np.zeros_like(train))


def weighted_losses(n: ArrayLike, eigenvalues: Array, weights: Array, step: float) -> tuple[Array, Array]:
    r"""Losses of a start with these weights on the eigenvectors: :math:`\sum_j a_j(1-\eta\lambda_j)^{2n}`, and of aⱼλⱼ.

    >>> test, train = weighted_losses(1, np.array([0.5, 1.5]), np.array([1.0, 0.0]), step=1.0)
    >>> float(test), float(train)
    (0.25, 0.125)
    """
    counts = arguments.counts(n, "n")
    shrunk = stable_step(step, eigenvalues.max()) * eigenvalues
    with np.errstate(divide="ignore"):  # a factor of zero, which n = 0 can still multiply
        logs = np.where(shrunk < 0.5, np.log1p(-np.minimum(shrunk, 0.5)), np.log(np.abs(1 - shrunk)))
    logs = np.maximum(logs, -1e3)
    both = np.stack([weights, weights * eigenvalues])
    losses = np.array([(both * np.exp(2 * count * logs)).sum(axis=1) for count in counts.ravel().tolist()])
    losses = np.where(losses < TINY, 0.0, losses).reshape(*counts.shape, 2)
    return losses[..., 0], losses[..., 1]


def asymptotic_test(n: ArrayLike, edge: EdgeFit, step: float) -> FloatOrArray:
    r"""What a left edge says of the test loss as n grows (for an exact edge, as n → ∞ after d → ∞).

    :math:`Q\,\Gamma(\beta+1)\,(2\eta' n)^{-\beta}\,(1-\eta\lambda_0)^{2n}` with :math:`\eta' =
    \eta/(1-\eta\lambda_0)`; the paper's :math:`e^{-2\eta\lambda_0 n}` is too large by about
    :math:`e^{n\eta^2\lambda_0^2}`. The left edge must be the slow one, :math:`\eta < 2/(\lambda_0+\lambda_{\max})`,
    of which only :math:`\eta\lambda_0 < 1` can be checked here.

    >>> from edgelaw.laws import EdgeFit
    >>> round(float(asymptotic_test(1, EdgeFit(0.5, 2 / np.pi), 0.25)), 6)
    0.797885
    """
    return _edge_terms(n, edge, step)[0][()]


def asymptotic_train(n: ArrayLike, edge: EdgeFit, step: float) -> FloatOrArray:
    r"""The same of the training loss, :math:`Q\,\beta\,\Gamma(\beta+1)(2\eta' n)^{-\beta-1}` in front, plus λ₀ · test.

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
    with np.errstate(divide="ignore"):
        test = EdgeFit(edge.beta, edge.Q).laplace(t) * np.exp(2 * n * np.log1p(-step * edge.lambda_0))
        return test, edge.beta * test / t


def stable_step(step: float, largest: float) -> float:
    """A step of gradient descent that does not diverge where this is the largest eigenvalue."""
    return arguments.number(step, "step (gradient descent diverges from 2/λmax on)", 0, 2 / largest)
