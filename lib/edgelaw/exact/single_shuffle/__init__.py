"""Single shuffle on any spectrum: curves, constants and the effective step."""

import dataclasses

import numpy as np

from edgelaw._common import arguments
from edgelaw._common.types import ArrayLike, Integers
from edgelaw.curves import LearningCurve
from edgelaw.exact import agreement, sources
from edgelaw.exact.batches import edges, limits, requests
from edgelaw.exact.batches.blocks import PopulationRows, Rows, SampleRows
from edgelaw.exact.batches.partition import Partition
from edgelaw.exact.single_shuffle import batches, settings
from edgelaw.theory import gradient_descent


def curve(
    eigenvalues: ArrayLike,
    epochs: ArrayLike,
    step: float = 1.0,
    rho: float = 1.0,
    weights: ArrayLike | None = None,
    batch: int = 1,
) -> LearningCurve:
    r"""Learning curve on a given sample spectrum, as d → ∞ with the rows' left basis Haar.

    Both losses depend on the rows only through :math:`K = U U^\top`, whose eigenvectors are Haar for Gaussian rows
    of any covariance: the eigenvalues are enough. They enter through their free cumulants
    (:mod:`edgelaw.exact.levy`):
    :math:`\sum_n z^n E A^n \simeq (I - z e^{-c\Sigma})^{-1}` with
    :math:`c\,(1/\eta + \langle\lambda\alpha\rangle) = \rho` and :math:`\alpha = (e^{c\lambda}/z - 1)^{-1}`, and the
    losses are coefficients :math:`[z^nw^n]` of a bilinear form in two such resolvents.
    """
    n = sources.recorded(epochs)
    if not requests.single_rows(batch):
        return _batch_curve(eigenvalues, n, step, rho, weights, batch)
    step = arguments.step(step)
    rho, (values, shares) = arguments.aspect(rho), sources.sample(eigenvalues, weights)
    if len(values) == 1 and rho == 1:
        return agreement.orthogonal(n, step)
    rows = settings.Rows(values, shares, rho, step)
    return from_settings(n, settings.of_sample(rows, max(int(n[-1]), 1), follow=True))


def _batch_curve(
    eigenvalues: ArrayLike, n: Integers, step: float, rho: float, weights: ArrayLike | None, batch: int
) -> LearningCurve:
    """The curve of averaged batches on a sample spectrum."""
    values, shares = sources.sample(eigenvalues, weights)
    cut, step, rho = requests.requested(eigenvalues, batch, step, rho, weights)
    if len(values) == 1 and rho == 1:
        _refuse(step, 2 * step / float(cut.taus.max()))
        return agreement.orthogonal(n, cut.taus, cut.kappas / cut.kappas.sum())
    if cut.batches == 1:
        _refuse(step, 2 * np.size(eigenvalues) / float(values[-1]))
        losses = gradient_descent.weighted_losses(n, values, shares, step / np.size(eigenvalues))
        return agreement.learning_curve(n, *losses, 0.0)
    return _stable_curve(n, SampleRows(values, shares, rho), cut, step)


def _stable_curve(n: Integers, rows: Rows, cut: Partition, step: float) -> LearningCurve:
    """The curve of batches, or a refusal of a step at which an epoch has eigenvalues outside the unit circle."""
    if limits.contraction(rows, cut) <= 1 and not batches.stable(rows, cut):
        limits.refuse_unstable("single_shuffle", rows, cut, step)
    return from_settings(n, batches.makers(rows, cut, max(int(n[-1]), 1)))


def _refuse(step: float, limit: float) -> None:
    if step >= limit:
        raise ValueError(
            f"step must be below {limit:.6g}, where single shuffle with this batch becomes unstable, not {step:g}."
        )


def population_curve(
    covariance_eigenvalues: ArrayLike, epochs: ArrayLike, step: float = 1.0, rho: float = 1.0, batch: int = 1
) -> LearningCurve:
    r"""Learning curve for m = ρ d Gaussian rows of a given covariance, as d → ∞: no data needed.

    The formulas of `curve`, with the average over the covariance's eigenvalues.
    """
    n = sources.recorded(epochs)
    values, shares, null = sources.covariance(covariance_eigenvalues)
    if requests.single_rows(batch):
        step, rho = arguments.step(step), arguments.aspect(rho)
        rows = settings.Rows(values, shares, rho / (1 - null), step)
        moving = from_settings(n, settings.of_covariance(rows, max(int(n[-1]), 1)))
    else:
        cut, step, rho = requests.requested(covariance_eigenvalues, batch, step, rho, null=null)
        moving = _stable_curve(n, PopulationRows(values, shares, rho), cut, step)
    return dataclasses.replace(moving, test=null + (1 - null) * moving.test)


def from_settings(n: Integers, makers: list[settings.Maker]) -> LearningCurve:
    """The learning curve of the first setting that is good enough, or of the best."""
    return agreement.settled(n, settings.attempts(makers))


def constants(covariance_eigenvalues: ArrayLike, step: float = 1.0, batch: int = 1) -> tuple[float, float]:
    r"""The limits of √n · test and :math:`n^{3/2}` · train at ρ = 1, for Gaussian rows of a given covariance.

    With :math:`a = 1/\eta - 1/2`, v the variance of the eigenvalues (mean 1) and
    :math:`\ell = \langle1/\lambda\rangle`,

    .. math:: \text{test} \sim \sqrt{\frac{\ell a}{2\pi n}}, \qquad
       \text{train} \sim \frac{\sqrt{\ell}\,(a^2 + \frac14 + \frac v6)}{4\sqrt{2\pi a}}\, n^{-3/2} .

    With L = m/b averaged batches, κ = 1/L and τ = η/b, :math:`a = 1/\tau - \frac12(1-\kappa)`, and the bracket is
    :math:`a^2 + \frac{1-\kappa^2}{12}(3+2v)`: it is :math:`\lVert Mo\rVert^2` of a null vector o of the Gram
    matrix, and
    2a is :math:`o^\top Eo` (the matrices M and E of an epoch). A shorter last batch is taken into account.
    """
    second, inverse = sources.edge_averages(covariance_eigenvalues, np.square, np.reciprocal)
    if not requests.single_rows(batch):
        edge = edges.of_covariance("single_shuffle", covariance_eigenvalues, step, batch)
        a, square = edges.slow_forms(edge.cut, edge.rows, second)
        test = np.sqrt(inverse * a / (2 * np.pi))
        return float(test), float(test * square / (4 * a))
    a = 1 / arguments.step(step) - 0.5
    variance = second - 1
    test = np.sqrt(inverse * a / (2 * np.pi))
    train = np.sqrt(inverse / (2 * np.pi * a)) * (a**2 + 1 / 4 + variance / 6) / 4
    return float(test), float(train)


def effective_step(step: float, eigenvalues: ArrayLike | None = None, batch: int = 1) -> float:
    r"""The gradient-descent step with the same test-loss edge at m = d: :math:`1/a = 2\eta/(2-\eta)`.

    On isotropic Gaussian rows gradient descent at a step :math:`\eta'` has the edge :math:`1/\sqrt{2\pi\eta'
    n}`, single shuffle :math:`\sqrt{a/2\pi n}`. It is never smaller than the step, twice it at step 1, and no
    longer a stable step of gradient descent above step 2/3.

    *Domain.* Any spectrum with a left edge :math:`Q\lambda^\beta` at zero, any :math:`\beta > 0`, m = d, for rows whose
    left singular vectors are Haar (Gaussian rows of any covariance, designs with Haar bases): the answer does not
    depend on ``eigenvalues``, which are only checked. It is a limit :math:`n \to \infty`, good once
    :math:`C(\beta)\,\kappa_2 f_n \ll 12 a^2\beta` (:func:`edgelaw.theory.gap.skew_correction`); for
    :math:`\beta \lesssim 0.15` that takes more epochs than anyone runs. For clustered or otherwise structured rows it
    fails, at every n (:func:`edgelaw.theory.gap.cluster_gain`). *Derived*: the skew part of M is shown to vanish on
    the slow space to leading order in d; confirmed by exact traces for seven exponents and steps.

    *With batches* of b rows, averaged, at τ = η/b per row and κ = b/m, the effective step is that of gradient descent
    with one full update per epoch, on XᵀX/m of mean eigenvalue 1: τ itself for b = m, and what it was for b = 1.
    Here it is :math:`1/a`, :math:`a = 1/\tau - \frac12\frac{m-b}{m-1}`: the mean of :math:`o^\top Mo` over a
    null vector o
    of the Gram matrix of exchangeable rows. With ``batch`` > 1 eigenvalues are required, since their number is m = d,
    and a step beyond stability is refused. A shorter last batch is taken into account.
    """
    if not requests.single_rows(batch):
        edge = edges.of_sample("single_shuffle", eigenvalues, step, batch)
        return 1 / edges.slow_forms(edge.cut, edge.rows).first
    if eigenvalues is not None:
        arguments.eigenvalues(eigenvalues, fewest=1, nonzero=True)
    return 1 / (1 / arguments.step(step) - 0.5)
