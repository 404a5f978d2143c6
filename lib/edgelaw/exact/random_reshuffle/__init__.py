r"""Random reshuffle on any spectrum: curves, constants and the effective step from its operator T.

Rows enter through the spectrum F of :math:`UU^\top` only, where their left basis is Haar. An epoch averaged over its
permutation acts on functions of :math:`S = U^\top U`, :math:`\mathbb E_\pi A^\top g(S)A \simeq (Tg)(S)`, with T a
multiplication and an integral (:mod:`.engine`), from the equations of single rows or of batches (:mod:`.epochs`): the
map of energies that labels have (:mod:`.labels`), from an isotropic start, without residuals.

With the mean epoch ā, :math:`\ell = \langle1/\lambda\rangle` over a covariance of mean 1 and :math:`(1-T)g = \lambda`,

.. math:: \text{test} = \int T^n 1\,dF \sim \sqrt{\frac{\ell}{2\pi\eta_{RR}\,n}}, \qquad
   \text{train} = \int \lambda\,T^n 1\,dF \sim \frac{g(0)}2\sqrt{\frac{\ell}{2\pi\eta_{RR}}}\,n^{-3/2}, \qquad
   \eta_{RR} = -\bar a'(0),

at ρ = 1; train if T is symmetric, which it is not with unequal batches (appendix on random reshuffle).
"""

import numpy as np

from edgelaw._common.types import Integers
from edgelaw.curves import LearningCurve
from edgelaw.exact import agreement
from edgelaw.exact.batches.blocks import Asked, SampleRows
from edgelaw.exact.random_reshuffle import contours, engine
from edgelaw.exact.random_reshuffle.batches import Batches
from edgelaw.exact.random_reshuffle.epochs import Epoch
from edgelaw.exact.random_reshuffle.rows import Rows


def curve(n: Integers, asked: Asked) -> LearningCurve:
    """Learning curve for the spectrum of a sample, or of a covariance, which Silverstein's equation gives one."""
    law = contours.of_rows(asked.rows, reach=0.1 / (asked.tau * max(1, n[-1])))
    return agreement.settled(n, engine.attempts(law, _epoch(asked)))


def _epoch(asked: Asked) -> Epoch:
    """The epoch that is asked for."""
    return Rows(asked.step) if asked.cut is None else Batches(asked.cut)


def constants(asked: Asked) -> tuple[float, float]:
    """The limits of √n · test and n^(3/2) · train at ρ = 1, for Gaussian rows of a given covariance."""
    (inverse,), epoch = asked.edge_averages(np.reciprocal), _epoch(asked)
    rate, potential = engine.edge(contours.of_rows(asked.rows, reach=0.01), epoch)
    test = float(np.sqrt(inverse / (2 * np.pi * rate)))
    return test, test * potential / 2 if epoch.symmetric else np.nan


def effective_step(asked: Asked) -> float:
    """The gradient-descent step with the same test-loss edge, −ā′(0): η(1 + η/2) for isotropic rows (chapter 8).

    The edge sets in sooner than single shuffle's: the corrections are of order 1/n, whatever its exponent.
    """
    if not isinstance(asked.rows, SampleRows):
        return asked.step * (1 + asked.step / 2)
    epoch, law = _epoch(asked), contours.of_rows(asked.rows, reach=0.01)
    around = contours.Contour(0.0, law.highest, contours.SCALE, contours.WIDTHS[-1]).lowered()
    rules = engine.FINE, engine.COARSE
    rates = [engine.rate_at_zero(law, epoch, around, rule.digits) for rule in rules]
    if abs(rates[1] / rates[0] - 1) <= 1e-9:
        return rates[0]
    raise ValueError(
        "The effective step of these eigenvalues could not be computed to 1e-9: they spread over too many scales."
    )
