r"""Random reshuffle on any spectrum: curves, constants and the effective step from its operator T.

Rows enter through :math:`K = UU^\top` only, and where their left basis is Haar through its spectrum F. An epoch
averaged over its permutation acts on functions of :math:`S = U^\top U`,
:math:`\mathbb E_\pi A^\top g(S)A \simeq (Tg)(S)`, with T a multiplication and an integral (:mod:`.engine`), whose
equations single rows (:mod:`.rows`) and batches (:mod:`.batches`) give. Then

.. math:: \text{test} = \int T^n 1\,dF, \qquad \text{train} = \int \lambda\,T^n 1\,dF :

the map of energies that labels have (:mod:`.labels`), from an isotropic start and without residuals.

**Edge.** With :math:`\ell = \langle1/\lambda\rangle` over a covariance's eigenvalues at mean 1,
:math:`\eta_{RR} = -\bar a'(0)` and g the solution of :math:`(1-T)g = \lambda`, at ρ = 1

.. math:: \text{test} \sim \sqrt{\frac{\ell}{2\pi\eta_{RR}\,n}}, \qquad
   \text{train} \sim \frac{g(0)}2\sqrt{\frac{\ell}{2\pi\eta_{RR}}}\,n^{-3/2},

since, T being symmetric in :math:`L^2(F)`, :math:`\text{train}_n` is the decrease of
:math:`\int g\,T^n1\,dF \sim g(0)\,\text{test}_n` in an epoch; with unequal batches it is not, and the constant is NaN.
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
    r"""The limits of √n · test and :math:`n^{3/2}` · train at ρ = 1, for Gaussian rows of a given covariance."""
    (inverse,) = sources.edge_averages(covariance_eigenvalues, np.reciprocal)
    values, shares, _ = sources.covariance(covariance_eigenvalues)
    epoch, _ = _asked(edges.of_covariance, covariance_eigenvalues, step, batch)
    rate, potential = engine.edge(contours.population(values, shares, 1.0, reach=0.01), epoch)
    test = float(np.sqrt(inverse / (2 * np.pi * rate)))
    return test, test * potential / 2 if epoch.symmetric else np.nan


def effective_step(step: float, eigenvalues: ArrayLike | None = None, batch: int = 1) -> float:
    r"""The gradient-descent step with the same test-loss edge, :math:`-\bar a'(0)`: η(1 + η/2) for isotropic rows.

    That is the rate at which the mean epoch forgets a direction of small eigenvalue (chapters 8 and 13 of the book).
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
