r"""IID sampling on any spectrum: one map of mean squares along eigenvectors, diagonal plus rank one.

`labels` has the map of batches of b rows at finite d. As d grows, with ⟨·⟩ the mean over the spectrum, it has two
limits: with batches of κd rows the recursion of `batches`, and with single rows, with time in epochs, a flow,

.. math:: s' = \rho\,(-2 \eta \lambda s + \eta^2 \lambda \langle \lambda s \rangle), \qquad s(0) = 1 .

The test loss ⟨s⟩ is :math:`\int e^{-2\eta\rho nx}\,d\mu(x)`, the training loss ⟨λs⟩ the same with
:math:`x/(1-\eta/2)` in it. From a sample the rates x are roots of the secular equation (`modes`); from a covariance,
with v the solution of Silverstein's equation and :math:`g = -\rho(1+xv)`, the Cauchy transform of the training loss's
measure is :math:`g/(a+bxg)`, :math:`b = \eta/2`, :math:`a = 1-b`. For rows with a Haar left basis the flow is
**proved** (thm-proof-iid) at every fixed n, in the mean over the draws; for other rows, and with batches, it is
*derived* here.
"""

import functools

import numpy as np
import numpy.typing as npt

from edgelaw._common.types import Array, Integers
from edgelaw.curves import LearningCurve
from edgelaw.exact import agreement, silverstein, sources
from edgelaw.exact.batches.blocks import Asked, Rows
from edgelaw.exact.iid import batches
from edgelaw.exact.iid.modes import distinct, secular
from edgelaw.exact.labels.curves import ROUNDING
from edgelaw.theory import iid as closed_form


def curve(n: Integers, asked: Asked) -> LearningCurve:
    """From a sample's spectrum, to a relative 1e-12 at any n, or from a covariance, to about 1e-9 (batches: 1e-11)."""
    rows, cut = asked.rows, asked.cut
    if not isinstance(rows, silverstein.PopulationRows):
        if cut is None:
            return flow(n, rows, asked.step)
        test, train = batches.losses(batches.of_rows(rows)[0], cut, n)
        return agreement.learning_curve(n, test, train, ROUNDING)
    if cut is None:
        return _population_flow(rows, n, asked.step)
    return agreement.settled(n, [functools.partial(batches.attempt, rows, cut)])


def flow(n: npt.NDArray, rows: Rows, step: float) -> LearningCurve:
    """The limit of single rows, by its rates."""
    values, shares, null = sources.positive(rows.values, rows.shares)
    rates, test = rates_and_weights(values, shares, step)
    train = test * rates / (1 - step / 2)
    error = ROUNDING + max(abs(test.sum() / shares.sum() - 1), abs(train.sum() - 1))
    test, train = closed_form.decaying(n, 2 * step * rows.rho * rates, test, train)
    return agreement.learning_curve(n, null + test, train, error)


def rates_and_weights(values: Array, shares: Array, step: float) -> tuple[Array, Array]:
    """The measure μ: rates x, in units of 2·step an epoch at m = d, and masses, for ascending values of mean 1."""
    b = step / 2
    values = distinct(values)
    roots = secular(-values[::-1], (np.sqrt(b * shares) * values)[::-1])
    rates = -roots.values
    return rates, ((1 - b) / rates) ** 2 / (b * roots.squares)


def _population_flow(law: silverstein.PopulationRows, n: npt.NDArray, step: float) -> LearningCurve:
    """The limit of single rows, by 24 and by 20 points of Talbot's contour about the slowest rate."""
    if len(n) == 1:
        return agreement.learning_curve(n, np.ones(1), np.ones(1), 0.0)
    a, b, rho = 1 - step / 2, step / 2, law.rho
    start = law.leftmost(lambda x, v: a - b * rho * x * (1 + x * v))

    def transforms(x: npt.NDArray) -> npt.NDArray:
        v = law.companion(x)
        g = -rho * (1 + x * v)
        shifted = b * rho * g - a * rho * v if rho < 1 else b * g + a * ((1 - rho) / x - rho * v)
        return np.stack([shifted, g]) / (a + b * x * g)

    null = np.array([[max(0.0, 1 - rho)], [0.0]])
    fine, coarse = (
        null + silverstein.decay(transforms, 2 * step * rho, start, n[1:], points) for points in (24, 20)
    )
    return agreement.vouched(n, n[1:], agreement.Attempt(fine, coarse, float(null[0, 0]), ROUNDING))


def constants(asked: Asked) -> tuple[float, float]:
    r"""The theorem's constants with :math:`Q = \frac2\pi\sqrt{\langle1/\lambda\rangle}`, over eigenvalues of mean 1.

    With batches the step per row τ stands for η in the first, and in the second :math:`2-\eta` becomes 2 − 2 `echo`.
    NaN if b does not divide m: the noise varies in an epoch.
    """
    (inverse,), cut = asked.edge_averages(np.reciprocal), asked.cut
    if cut is None:
        factor = inverse**0.5
        return factor * closed_form.test_constant(asked.step), factor * closed_form.train_constant(asked.step)
    rate = effective_step(asked)
    test = float(np.sqrt(inverse / (2 * np.pi * rate)))
    echo = batches.echo(batches.of_rows(asked.rows)[0], cut) if cut.equal else np.nan
    return test, test / (4 * rate * (1 - echo))


def effective_step(asked: Asked) -> float:
    """The step itself (thm-edge-orders); with batches the step per row (thm-mb-steps), with a short last one Lη/m."""
    return asked.step if asked.cut is None else float(asked.cut.kappas @ asked.cut.taus)
