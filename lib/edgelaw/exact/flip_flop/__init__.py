r"""Flip-flop on any spectrum: a boundary value problem, solved on a circle of generating variables z.

:mod:`.boundary` states the problem and reads losses off the circle, :mod:`.collocation` solves it at one z,
:mod:`.batches` is the same with averaged batches, :mod:`.spectra` the averages. The mean over the orders of the rows is
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

*Derived* (appendix on any spectrum); the rational numbers are volumes of orders, which
:func:`edgelaw.theory.free.words.at_zero` counts. For batches, which must divide m, the first is in
:func:`edgelaw.exact.batches.edges.flip_flop`, and the last is extrapolated from late epochs.
"""

import functools

import numpy as np

from edgelaw._common.types import Integers
from edgelaw.curves import LearningCurve
from edgelaw.exact.batches import edges
from edgelaw.exact.batches.blocks import Asked, Rows, SampleRows
from edgelaw.exact.batches.partition import Partition
from edgelaw.exact.flip_flop import batches, boundary, spectra

_LATE_EPOCHS = 1000, 2000, 4000  # from which a constant is extrapolated, to about 1e-5
_TRUSTED_CONSTANT = 1e-3  # as far as the extrapolated test constant may be from the known one


def curve(n: Integers, asked: Asked) -> LearningCurve:
    """Learning curve from the spectrum of a sample or of a covariance."""
    spectrum, step, cut = spectra.of_rows(asked.rows), asked.step, asked.cut
    if cut is not None:
        return batches.curve(n, spectrum, cut)
    return boundary.curve(n, spectrum, step, functools.partial(boundary.single_rows, spectrum.rho, step))


def constants(asked: Asked) -> tuple[float, float]:
    """The limits of √n · test and n^(3/2) · train at m = d; the second is NaN where no curve reaches so far."""
    k2, k3, k4, inverse = asked.edge_averages(np.square, lambda x: x**3, lambda x: x**4, np.reciprocal)
    slow = 1 / effective_step(asked)
    test = float(np.sqrt(inverse * slow / (2 * np.pi)))
    if asked.cut is not None and asked.cut.batches == 1:  # gradient descent
        return test, test * slow / 4
    if asked.cut is not None:
        return test, _extrapolated(asked.rows, asked.cut, test)
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


def _extrapolated(rows: Rows, cut: Partition, test: float) -> float:
    """The training constant with batches, from three late epochs whose corrections fall as 1/n and 1/n².

    NaN where the curve does not reach so far, or does not lead to the test constant that is known.
    """
    n = np.array([0, *_LATE_EPOCHS])
    try:
        late = batches.curve(n, spectra.of_rows(rows), cut)
    except ArithmeticError:
        return np.nan
    limits = np.stack([late.test[1:] * n[1:] ** 0.5, late.train[1:] * n[1:] ** 1.5])
    for power in (1, 2):
        limits = (2**power * limits[:, 1:] - limits[:, :-1]) / (2**power - 1)
    (at_edge,), (train,) = limits
    trusted = late.continued is None and abs(at_edge / test - 1) < _TRUSTED_CONSTANT
    return float(train) if trusted else np.nan
