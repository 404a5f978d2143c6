r"""IID sampling: the exact learning curves of isotropic Gaussian rows, as d → ∞.

Every update draws one of m rows at random. The mean square :math:`s(\lambda)` of the error along an eigenvector of
:math:`X^\top X/m` obeys, with time in epochs of :math:`m = \rho d` updates and :math:`\langle\cdot\rangle` the mean
over the spectrum, :math:`s' = \rho\,(-2 \eta \lambda s + \eta^2 \lambda \langle \lambda s \rangle)`, s(0) = 1: a
diagonal plus a rank-one operator. So the losses :math:`\langle s\rangle` and :math:`\langle\lambda s\rangle` are

.. math:: \text{test}(n) = \int e^{-2\eta\rho n x}\,d\mu(x), \qquad
   \text{train}(n) = \int \frac{x}{1-\eta/2}\, e^{-2\eta\rho n x}\,d\mu(x),

and here μ is known in closed form; ``edgelaw.exact.iid`` computes it for any other spectrum. **Proved**
(thm-proof-iid) for rows with a Haar left basis, Gaussian ones among them; *derived* here for others.
"""

import functools

import numpy as np

from edgelaw._common import arguments
from edgelaw._common.numerics import panels
from edgelaw._common.types import Array, ArrayLike, FloatOrArray, Integers
from edgelaw.laws import EdgeFit, MarchenkoPastur
from edgelaw.theory._epochs import by_epoch

__all__ = [
    "edge_law",
    "effective_step",
    "rate_density",
    "test_constant",
    "test_loss",
    "train_constant",
    "train_loss",
]

_SMALLEST = 1e-12  # first panel of the angle: what is narrower has vanished at any n that floats hold


def test_loss(n: ArrayLike, step: float = 1.0, rho: float = 1.0) -> FloatOrArray:
    r"""Test loss after n epochs; relative accuracy about 1e-13 for steps up to 1.99.

    In the angle of :math:`\lambda = |1 - r e^{i\theta}|^2`, :math:`r = \rho^{-1/2}`, with :math:`b = \eta/2`,
    :math:`a = 1 - b` and :math:`P(w) = b w^2 - b (r + 1/r) w + 1` it is

    .. math:: \max(0, 1-\rho) + \frac2\pi \int_0^\pi e^{-2\eta\rho n\lambda}\,
       \frac{a^2 \sin^2\theta}{\lambda\, \lvert P(e^{i\theta})\rvert^2}\, d\theta,

    and where the step exceeds :math:`2/(r + 1/r - 1)`, which it cannot at ρ = 1, one isolated exponential that decays
    more slowly than the edge of the spectrum. Accurate for any n at ρ = 1 and down to 1e-250 at other ρ.

    >>> [round(float(x), 6) for x in test_loss([0, 1, 100])]
    [1.0, 0.501944, 0.040083]
    """
    step, rho = arguments.step(step), arguments.aspect(rho)
    rates, weights, _ = _marchenko_pastur_rule(step, rho)
    return by_epoch(n, lambda later: max(0.0, 1 - rho) + decaying(later, 2 * step * rho * rates, weights)[0])


def train_loss(n: ArrayLike, step: float = 1.0, rho: float = 1.0) -> FloatOrArray:
    r"""Training loss after n epochs: the integral of `test_loss` with :math:`\lambda/a` in it, as accurate.

    >>> [round(float(x), 6) for x in train_loss([0, 1, 100])]
    [1.0, 0.244628, 0.000202]
    """
    step, rho = arguments.step(step), arguments.aspect(rho)
    rates, _, weights = _marchenko_pastur_rule(step, rho)
    return by_epoch(n, lambda later: decaying(later, 2 * step * rho * rates, weights)[0])


def rate_density(x: ArrayLike, step: float = 1.0, rho: float = 1.0) -> FloatOrArray:
    r"""Density of the measure μ of decay rates, without zeros and an isolated rate: what noise makes of the spectrum.

    The Marchenko–Pastur density times :math:`a^2/(a^2 - 2 a b\,x \cos\theta/r + b^2 x^2/r^2)`, in the symbols of
    `test_loss`, a factor that tends to 1 as x → 0: at ρ = 1 the noise leaves the left edge alone.

    >>> round(float(rate_density(1e-8) / MarchenkoPastur().pdf(1e-8)), 6)
    1.0
    """
    step, rho = arguments.step(step), arguments.aspect(rho)
    a, b, r = 1 - step / 2, step / 2, rho**-0.5
    density = MarchenkoPastur(rho).pdf(x)
    x = np.asarray(x, dtype=float)
    return density * a**2 / (a**2 - a * b * x * (1 + r**2 - x) / r**2 + (b * x / r) ** 2)


def test_constant(step: float = 1.0) -> float:
    r"""The limit of :math:`\sqrt n` times the test loss at ρ = 1: :math:`1/\sqrt{2\pi\eta}`.

    >>> round(test_constant(), 6)
    0.398942
    """
    return float((2 * np.pi * arguments.step(step)) ** -0.5)


def train_constant(step: float = 1.0) -> float:
    r"""The limit of :math:`n^{3/2}` times the training loss at ρ = 1: :math:`1/(2\sqrt{2\pi}\,\eta^{3/2}(2-\eta))`.

    >>> round(train_constant(), 6)
    0.199471
    """
    step = arguments.step(step)
    return test_constant(step) / (2 * step * (2 - step))


def effective_step(step: float) -> float:
    """The step itself: *proved* (thm-four-constants).

    >>> effective_step(1.5)
    1.5
    """
    return arguments.step(step)


def edge_law(n: ArrayLike, edge: EdgeFit, step: float = 1.0) -> tuple[Array, Array]:
    r"""What an edge at zero says of both losses at m = d for n ≥ 1: the theorem's two power laws.

    .. math:: \text{test} \sim Q\,\Gamma(\beta+1)(2\eta n)^{-\beta}, \qquad
       \text{train} \sim \frac{\beta}{\eta(2-\eta)}\, Q\,\Gamma(\beta+1)(2\eta)^{-\beta} n^{-\beta-1}.

    *Proved* (thm-iid-edge) for the large-d equations; on Marchenko–Pastur the relative error is of order 1/n.

    >>> test, train = edge_law(100, MarchenkoPastur().edge)
    >>> round(float(test), 6), round(float(train), 6)
    (0.039894, 0.000199)
    """
    n, step = arguments.counts(n, "n"), arguments.step(step)
    if edge.lambda_0 != 0:
        raise ValueError(f"edge must sit at zero (lambda_0 = 0), not at {edge.lambda_0:g}.")
    if (n == 0).any():
        raise ValueError("n must be positive: a power law has no value at n = 0.")
    test = edge.laplace(2.0 * step * n)
    return test, edge.beta / (step * (2 - step)) * test / n


@functools.lru_cache(maxsize=64)
def _marchenko_pastur_rule(step, rho):
    """Nodes x and weights of the two measures; distances to P's zeros are products, in which nothing cancels."""
    b = step / 2
    a, r = 1 - b, rho**-0.5
    gap = (r**0.5 - r**-0.5) ** 2  # r + 1/r − 2, without cancellation
    discriminant = gap + gap**2 / 4 - a / b
    if discriminant < 0:  # zeros w, w̄ of modulus b^(−1/2)
        angle = np.arctan2((-discriminant) ** 0.5, 1 + gap / 2)
        beyond = np.expm1(-0.5 * (np.log(b) if b < 0.5 else np.log1p(-a)))
        theta, offset, h = _panels(angle, beyond)
        near, far = (beyond**2 + 4 * (1 + beyond) * np.sin(x / 2) ** 2 for x in (offset, theta + angle))
    else:  # two positive zeros; the smaller may be inside the unit circle
        large = 1 + gap / 2 + discriminant**0.5
        small, inside = 1 / (b * large), (a - b * gap) / (b * (1 - large))  # inside = 1 − small
        theta, _, h = _panels(0.0, 1.0)
        near, far = (
            d**2 + 4 * zero * np.sin(theta / 2) ** 2 for d, zero in ((inside, small), (1 - large, large))
        )
    x = r * gap + 4 * r * np.sin(theta / 2) ** 2
    train = 2 / np.pi * h * a * np.sin(theta) ** 2 / (b * b * near * far)
    if discriminant >= 0 and small < 1:
        x = np.append(x, a * r / (b * small))
        train = np.append(train, (1 / small - small) / (b * (large - small)))
    return x, a * train / x, train


def _panels(centre, width):
    """Angles of (0, π), their distances from a centre and weights, on panels graded towards 0 and the centre."""
    pieces = [(0.0, np.geomspace(_SMALLEST, centre / 2 if centre else np.pi, 60), 1)]
    if centre:
        count, least = max(2, int(2 + np.log2(np.pi / width))), min(width, centre / 4) / 2
        pieces.append((centre, np.geomspace(least, centre / 2, count), -1))
        pieces.append((centre, np.geomspace(least, np.pi - centre, count + 2), 1))
    rules = [(anchor, sign, *panels(np.append(0.0, edges), 24)) for anchor, edges, sign in pieces]
    theta = np.concatenate([anchor + sign * local for anchor, sign, local, _ in rules])
    offset = np.concatenate([anchor - centre + sign * local for anchor, sign, local, _ in rules])
    return theta, offset, np.concatenate([weights for *_, weights in rules])


def decaying(n: Array | Integers, rates: Array, *weights: Array) -> Array:
    """Σ w exp(−rate·n) at each n, a row for each set of weights, without the terms that have vanished."""
    order = np.argsort(rates)
    rates, columns = rates[order], np.stack(weights, axis=1)[order]
    sums = np.empty((len(n), columns.shape[1]))
    for places in np.array_split(np.argsort(n), 1 + len(n) * len(rates) // 2**21):
        earliest = n[places].min() if len(places) else 1
        alive = np.searchsorted(rates, 745 / earliest, side="right") if earliest > 0 else len(rates)
        sums[places] = np.exp(-np.multiply.outer(n[places], rates[:alive])) @ columns[:alive]
    return sums.T
