"""Single shuffle on any spectrum: curves, constants and the effective step."""

import functools

import numpy as np

from edgelaw._common.types import Integers
from edgelaw.curves import LearningCurve
from edgelaw.exact import agreement
from edgelaw.exact.batches import edges
from edgelaw.exact.batches.blocks import Asked
from edgelaw.exact.single_shuffle import settings


def curve(n: Integers, asked: Asked) -> LearningCurve:
    """Learning curve from the spectrum of a sample or of a covariance: the equations are in `pairs`."""
    made = settings.of(asked.rows, asked.cut or asked.step, max(int(n[-1]), 1))
    return agreement.settled(n, (functools.partial(settings.attempt, setting) for setting in made))


def constants(asked: Asked) -> tuple[float, float]:
    r"""The limits of √n · test and :math:`n^{3/2}` · train at ρ = 1, for Gaussian rows of a given covariance.

    With a one over the effective step, v the variance of the eigenvalues (mean 1) and :math:`\ell =
    \langle1/\lambda\rangle`,

    .. math:: \text{test} \sim \sqrt{\frac{\ell a}{2\pi n}}, \qquad
       \text{train} \sim \frac{\sqrt{\ell}\,(a^2 + \frac14 + \frac v6)}{4\sqrt{2\pi a}}\, n^{-3/2} .

    With batches the bracket is :math:`\lVert Mo\rVert^2` of a null vector o (`edges`).
    """
    second, inverse = asked.edge_averages(np.square, np.reciprocal)
    a = 1 / effective_step(asked)
    square = a**2 + 1 / 4 + (second - 1) / 6
    if asked.cut is not None:
        square = edges.slow_forms(asked.cut, asked.total, second).square
    test = np.sqrt(inverse * a / (2 * np.pi))
    return float(test), float(test * square / (4 * a))


def effective_step(asked: Asked) -> float:
    r"""The gradient-descent step with the same test-loss edge at m = d: :math:`2\eta/(2-\eta)`, on any spectrum.

    It is good once :math:`C(\beta)\,\kappa_2 f_n \ll 12 a^2\beta` (:func:`edgelaw.theory.gap.skew_correction`), and
    *proved* (thm-gap-laws) for rows with Haar left singular vectors; not for clustered ones
    (:func:`edgelaw.theory.gap.cluster_gain`).
    With batches it is :math:`1/(o^\top Mo)` of a null vector o (`edges`), that of one full update per epoch.
    """
    if asked.cut is not None:
        return 1 / edges.slow_forms(asked.cut, asked.total).first
    return 1 / (1 / asked.step - 0.5)
