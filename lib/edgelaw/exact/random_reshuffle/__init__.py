r"""Random reshuffle on any spectrum: curves, constants and the effective step from its operator T.

Rows enter through the spectrum F of :math:`UU^\top` only, where their left basis is Haar. An epoch averaged over its
permutation acts on functions of :math:`S = U^\top U`, :math:`\mathbb E_\pi A^\top g(S)A \simeq (Tg)(S)`, with T a
multiplication and an integral (:mod:`.engine`), from the equations of single rows (:mod:`.rows`) or batches
(:mod:`.batches`): the map of energies that labels have (:mod:`.labels`), from an isotropic start, without residuals.

With the mean epoch ā, :math:`\ell = \langle1/\lambda\rangle` over a covariance of mean 1 and :math:`(1-T)g = \lambda`,

.. math:: \text{test} = \int T^n 1\,dF \sim \sqrt{\frac{\ell}{2\pi\eta_{RR}\,n}}, \qquad
   \text{train} = \int \lambda\,T^n 1\,dF \sim \frac{g(0)}2\sqrt{\frac{\ell}{2\pi\eta_{RR}}}\,n^{-3/2}, \qquad
   \eta_{RR} = -\bar a'(0),

at ρ = 1; train if T is symmetric, which it is not with unequal batches (appendix on random reshuffle).
"""

import dataclasses
import functools
from collections.abc import Callable

import numpy as np

from edgelaw._common import arguments
from edgelaw._common.types import ArrayLike
from edgelaw.curves import LearningCurve
from edgelaw.exact import agreement, sources
from edgelaw.exact.batches import edges, requests
from edgelaw.exact.random_reshuffle import contours, engine
from edgelaw.exact.random_reshuffle.batches import Batches
from edgelaw.exact.random_reshuffle.rows import Rows


def curve(
    eigenvalues: ArrayLike,
    epochs: ArrayLike,
    step: float = 1.0,
    rho: float = 1.0,
    weights: ArrayLike | None = None,
    batch: int = 1,
) -> LearningCurve:
    """Learning curve for the spectrum of a sample of m = ρd rows, as d → ∞, from its eigenvalues alone."""
    values, shares = sources.sample(eigenvalues, weights)
    n = sources.recorded(epochs)
    cut = functools.partial(edges.of_sample, weights=weights)
    epoch, aspect = _asked(cut, eigenvalues, step, batch, rho)
    return agreement.settled(n, engine.attempts(contours.sample(values, shares, aspect), epoch))


def population_curve(
    covariance_eigenvalues: ArrayLike,
    epochs: ArrayLike,
    step: float = 1.0,
    rho: float = 1.0,
    batch: int = 1,
) -> LearningCurve:
    """The same for m = ρ d Gaussian rows of a covariance, with the spectrum that Silverstein's equation gives."""
    values, shares, null = sources.covariance(covariance_eigenvalues)
    n = sources.recorded(epochs)
    epoch, aspect = _asked(edges.of_covariance, covariance_eigenvalues, step, batch, rho)
    if isinstance(epoch, Rows):
        aspect /= 1 - null
    law = contours.population(values, shares, aspect, reach=0.1 * batch / (step * max(1, n[-1])))
    made = agreement.settled(n, engine.attempts(law, epoch))
    return dataclasses.replace(made, test=null + (1 - null) * made.test)


def _asked(
    cut: Callable, eigenvalues: ArrayLike | None, step: float, batch: int, rho: float = 1.0
) -> tuple[engine.Epoch, float]:
    """The epoch that is asked for, and m/d; what `cut` makes batches refuses those that are unstable."""
    if requests.single_rows(batch):
        return Rows(arguments.step(step)), arguments.aspect(rho)
    edge = cut("random_reshuffle", eigenvalues, step, batch, rho)
    return Batches(edge.cut), edge.blocks.rho


def constants(covariance_eigenvalues: ArrayLike, step: float = 1.0, batch: int = 1) -> tuple[float, float]:
    """The limits of √n · test and n^(3/2) · train at ρ = 1, for Gaussian rows of a given covariance."""
    (inverse,) = sources.edge_averages(covariance_eigenvalues, np.reciprocal)
    values, shares, _ = sources.covariance(covariance_eigenvalues)
    epoch, _ = _asked(edges.of_covariance, covariance_eigenvalues, step, batch)
    rate, potential = engine.edge(contours.population(values, shares, 1.0, reach=0.01), epoch)
    test = float(np.sqrt(inverse / (2 * np.pi * rate)))
    return test, test * potential / 2 if epoch.symmetric else np.nan


def effective_step(step: float, eigenvalues: ArrayLike | None = None, batch: int = 1) -> float:
    """The gradient-descent step with the same test-loss edge, −ā′(0): η(1 + η/2) for isotropic rows (chapter 8).

    The edge sets in sooner than single shuffle's: the corrections are of order 1/n, whatever its exponent.
    """
    if eigenvalues is None and requests.single_rows(batch):
        return arguments.step(step) * (1 + arguments.step(step) / 2)
    epoch, _ = _asked(edges.of_sample, eigenvalues, step, batch)
    assert eigenvalues is not None  # batches without them were refused
    law = contours.sample(*arguments.spectrum(eigenvalues))
    around = contours.Contour(0.0, law.highest, contours.SCALE, contours.WIDTHS[-1]).lowered()
    rules = engine.FINE, engine.COARSE
    rates = [engine.rate_at_zero(law, epoch, around, rule.digits) for rule in rules]
    if abs(rates[1] / rates[0] - 1) <= 1e-9:
        return rates[0]
    raise ValueError(
        "The effective step of these eigenvalues could not be computed to 1e-9: they spread over too many scales."
    )
