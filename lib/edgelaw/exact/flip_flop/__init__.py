r"""Flip-flop on any spectrum: a boundary value problem, solved on a circle of generating variables z.

:mod:`.boundary` states the problem and reads losses off the circle, :mod:`.collocation` solves it at one z,
:mod:`.batches` is the same with averaged batches. The mean over the orders of the rows is
meant: for one order, the training losses of odd and even epochs differ. With labels the distance to least squares is
known (:mod:`.labels`), but no training or held-out loss.

At m = d, with v the variance of a covariance's eigenvalues (mean 1), :math:`\kappa_j = \langle\lambda^j\rangle`,
:math:`\ell = \langle1/\lambda\rangle` and :math:`b = 1/\eta - 1/2`,

.. math::

   \begin{gathered}
   \frac1{\eta_{\mathrm{eff}}} = \frac2{\eta(2-\eta)} - 1 + \frac{\eta\,v}{3(2-\eta)}, \qquad
   \text{test} \sim \sqrt{\frac{\ell}{2\pi\eta_{\mathrm{eff}}n}}, \\
   \text{train} \sim \sqrt{\frac{\ell\eta_{\mathrm{eff}}}{2\pi}}\,\Bigl[\frac{b^2}{4} + \frac18 + \frac v{12}
   + \frac1{b^2}\Bigl(\frac{83}{960} + \frac{9v}{80} + \frac{v^2}{30} + \frac{\kappa_3}{40}
   + \frac{\kappa_4}{120}\Bigr)\Bigr]\,n^{-3/2} .
   \end{gathered}

*Proved* (thm-as-train); the rational numbers are volumes of orders, which
:func:`edgelaw.theory.free.words.at_zero` counts. For batches, which must divide m, the first is in
:func:`edgelaw.exact.batches.edges.flip_flop`, and the last is not known.
"""

import functools

import numpy as np

from edgelaw._common.types import Integers
from edgelaw.curves import LearningCurve
from edgelaw.exact import agreement, first_epoch, graded_circle
from edgelaw.exact.batches import edges
from edgelaw.exact.batches.blocks import Asked, SampleRows
from edgelaw.exact.flip_flop import batches, boundary
from edgelaw.exact.flip_flop.collocation import Problem


def curve(n: Integers, asked: Asked) -> LearningCurve:
    """Learning curve from the spectrum of a sample or of a covariance."""
    rows, step = asked.rows, asked.step
    if asked.cut is not None:
        return batches.curve(n, rows, asked.cut)
    if isinstance(rows, SampleRows) and np.exp(-step * (2 - step) * rows.rho) < agreement.AT_ONCE:
        null = boundary.null_share(rows)
        once = first_epoch.curve(rows.values, 1.0, step, rows.rho, rows.shares)
        losses = np.array([once.test[1] - null, once.train[1]])
        if losses.max() < agreement.AT_ONCE:
            error = max(once.error, graded_circle.LEAST)
            return agreement.settled(n, [functools.partial(agreement.vanished, losses, losses, null, error)])
    return boundary.curve(n, rows, step, lambda average, points: Problem(average, rows.rho, step, points))


def constants(asked: Asked) -> tuple[float, float]:
    """The limits of √n · test and n^(3/2) · train at m = d; the second is not known with batches."""
    k2, k3, k4, inverse = asked.edge_averages(np.square, lambda x: x**3, lambda x: x**4, np.reciprocal)
    slow = 1 / effective_step(asked)
    test = float(np.sqrt(inverse * slow / (2 * np.pi)))
    if asked.cut is not None and asked.cut.batches == 1:  # gradient descent
        return test, test * slow / 4
    if asked.cut is not None:
        return test, np.nan
    b, v = 1 / asked.step - 0.5, k2 - 1
    slope = b**2 / 4 + 1 / 8 + v / 12 + (83 / 960 + 9 * v / 80 + v**2 / 30 + k3 / 40 + k4 / 120) / b**2
    return test, float(slope * np.sqrt(inverse / (2 * np.pi * slow)))


def effective_step(asked: Asked) -> float:
    """The step of gradient descent with the same edge; a sample more regular than Gaussian rows has a negative v."""
    rows, eta = asked.rows, asked.step
    if asked.cut is not None:
        return 1 / edges.flip_flop(asked.cut, asked.total, rows)
    v = rows.shares @ rows.values**2 - (2 if isinstance(rows, SampleRows) else 1)
    return float(1 / (2 / (eta * (2 - eta)) - 1 + eta * v / (3 * (2 - eta))))
