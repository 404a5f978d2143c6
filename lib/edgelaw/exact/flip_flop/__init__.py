r"""Flip-flop on any spectrum: a boundary value problem, solved on a circle of generating variables z.

:mod:`.boundary` states the problem and reads losses off the circle, :mod:`.collocation` solves it at one z,
:mod:`.batches` is the same with averaged batches, :mod:`.spectra` the averages. The mean over the orders of the rows is
meant: for one order, the training losses of odd and even epochs differ. With labels the distance to least squares is
known (:mod:`.labels`), but no training or held-out loss.

**The edge.** With v the variance of the covariance's eigenvalues (mean 1), and m = d,

.. math:: \frac1{\eta_{\mathrm{eff}}} = 2a, \qquad a = \frac{1}{\eta(2-\eta)} - \frac12 + \frac{\eta\,v}{6(2-\eta)},

larger than the step below 1, smaller above. In terms of the *sample's* spectrum, whose variance at mean 1 is
:math:`\kappa_2 = 1 + v`, :math:`1/\eta_{\mathrm{eff}} = 2(1/\eta^2 - 1/\eta + 1/3 + \kappa_2/6)/(2/\eta - 1)`.
*Derived*: :math:`(I-A^\top A)^{-1} = U^{-1}MM^\top U^{-\top}/(2/\eta-1)` exactly, and for a slow unit vector o of K
(K o = 0) with Haar left singular vectors the partial sums of K's rows against o are bridges, whence
:math:`\lVert M^\top o\rVert^2 = 1/\eta^2 - 1/\eta + 1/3 + \kappa_2/6`. Expanding the boundary problem at z = 1 gives
the same. With batches see :func:`edgelaw.exact.batches.edges.flip_flop`.

**The constants.** With :math:`b = 1/\eta - 1/2`, :math:`\kappa_j = \langle\lambda^j\rangle` over the covariance's
eigenvalues (mean 1), :math:`v = \kappa_2 - 1`, :math:`\ell = \langle1/\lambda\rangle` and
:math:`B = b^2 + \frac14 + \frac v6`,

.. math::

   \begin{gathered}
   \text{test} \sim \sqrt{\frac{\ell B}{2\pi b\,n}}, \\
   \text{train} \sim \sqrt{\frac{b\,\ell}{2\pi B}}\,\Bigl[\frac{b^2}{4} + \frac18 + \frac v{12}
   + \frac1{b^2}\Bigl(\frac{83}{960} + \frac{9v}{80} + \frac{v^2}{30} + \frac{\kappa_3}{40}
   + \frac{\kappa_4}{120}\Bigr)\Bigr]\,n^{-3/2} .
   \end{gathered}

*Derived*. The rational numbers in the training constant are volumes of orders: with o a unit vector of the slow space,
:math:`MM^\top o = b^2o - \frac14(I+2L)^2o`, and :func:`edgelaw.theory.free.words.at_zero` counts
:math:`\|(I+2L)^2o\|^2` exactly. With batches, which must divide m, the first is
:math:`\sqrt{\ell/(2\pi\eta_{\mathrm{eff}}n)}`. No formula is known for the second: it is extrapolated from late epochs.
"""

import functools

import numpy as np

from edgelaw._common import arguments
from edgelaw._common.types import ArrayLike, Integers
from edgelaw.curves import LearningCurve
from edgelaw.exact import agreement, sources
from edgelaw.exact.batches import edges, requests
from edgelaw.exact.batches.partition import Partition
from edgelaw.exact.flip_flop import batches, boundary
from edgelaw.exact.flip_flop.spectra import PopulationSpectrum, SampleSpectrum, Spectrum

_LATE_EPOCHS = 1000, 2000, 4000  # from which a constant is extrapolated, to about 1e-5
_TRUSTED_CONSTANT = 1e-3  # as far as the extrapolated test constant may be from the known one


def curve(
    eigenvalues: ArrayLike,
    epochs: ArrayLike,
    step: float = 1.0,
    rho: float = 1.0,
    weights: ArrayLike | None = None,
    batch: int = 1,
) -> LearningCurve:
    """Learning curve from the spectrum of a sample."""
    n, (values, shares) = sources.recorded(epochs), sources.sample(eigenvalues, weights)
    if not requests.single_rows(batch):
        cut, step, rho = requests.requested(eigenvalues, batch, step, rho, weights)
        return batches.curve(n, SampleSpectrum(values, shares, rho), cut, step)
    step, rho = arguments.step(step), arguments.aspect(rho)
    if len(values) == 1 and rho == 1:
        return agreement.orthogonal(n, step)
    return _single_rows(n, step, SampleSpectrum(values, shares, rho))


def population_curve(
    covariance_eigenvalues: ArrayLike,
    epochs: ArrayLike,
    step: float = 1.0,
    rho: float = 1.0,
    batch: int = 1,
) -> LearningCurve:
    """Learning curve for Gaussian rows of a given covariance."""
    n = sources.recorded(epochs)
    values, shares = arguments.spectrum(covariance_eigenvalues, name="covariance_eigenvalues")
    if not requests.single_rows(batch):
        cut, step, rho = requests.requested(covariance_eigenvalues, batch, step, rho)
        return batches.curve(n, PopulationSpectrum(values, shares, rho), cut, step)
    step, rho = arguments.step(step), arguments.aspect(rho)
    return _single_rows(n, step, PopulationSpectrum(values, shares, rho))


def constants(covariance_eigenvalues: ArrayLike, step: float = 1.0, batch: int = 1) -> tuple[float, float]:
    """The limits of √n · test and n^(3/2) · train at m = d; the second is NaN where no curve reaches so far."""
    k2, k3, k4, inverse = sources.edge_averages(
        covariance_eigenvalues, np.square, lambda x: x**3, lambda x: x**4, np.reciprocal
    )
    if not requests.single_rows(batch):
        edge = edges.of_covariance("flip_flop", covariance_eigenvalues, step, batch)
        slow = edges.flip_flop(edge)
        test = float(np.sqrt(inverse * slow / (2 * np.pi)))
        if edge.cut.batches == 1:  # gradient descent
            return test, test * slow / 4
        return test, _extrapolated(covariance_eigenvalues, edge.cut, float(step), test)
    b, v = 1 / arguments.step(step) - 0.5, k2 - 1
    B = b**2 + 1 / 4 + v / 6
    slope = b**2 / 4 + 1 / 8 + v / 12 + (83 / 960 + 9 * v / 80 + v**2 / 30 + k3 / 40 + k4 / 120) / b**2
    test, train = np.sqrt(inverse * B / (2 * np.pi * b)), slope * np.sqrt(b * inverse / (2 * np.pi * B))
    return float(test), float(train)


def effective_step(step: float, eigenvalues: ArrayLike | None = None, batch: int = 1) -> float:
    """The step of gradient descent with the same edge; a sample more regular than Gaussian rows has a negative v."""
    if not requests.single_rows(batch):
        return 1 / edges.flip_flop(edges.of_sample("flip_flop", eigenvalues, step, batch))
    eta, v = arguments.step(step), 0.0
    if eigenvalues is not None:
        values = arguments.eigenvalues(eigenvalues, fewest=1, nonzero=True, ascending=False)
        v = values.var() / values.mean() ** 2 - 1
    return float(1 / (2 / (eta * (2 - eta)) - 1 + eta * v / (3 * (2 - eta))))


def _single_rows(n: Integers, step: float, spectrum: Spectrum) -> LearningCurve:
    return boundary.curve(n, spectrum, step, functools.partial(boundary.single_rows, spectrum.rho, step))


def _extrapolated(covariance_eigenvalues: ArrayLike, cut: Partition, step: float, test: float) -> float:
    """The training constant with batches, from three late epochs whose corrections fall as 1/n and 1/n².

    NaN where the curve does not reach so far, or does not lead to the test constant that is known.
    """
    spectrum = PopulationSpectrum(*arguments.spectrum(covariance_eigenvalues), 1.0)
    n = np.array([0, *_LATE_EPOCHS])
    try:
        late = batches.curve(n, spectrum, cut, step)
    except ArithmeticError:
        return np.nan
    limits = np.stack([late.test[1:] * n[1:] ** 0.5, late.train[1:] * n[1:] ** 1.5])
    for power in (1, 2):
        limits = (2**power * limits[:, 1:] - limits[:, :-1]) / (2**power - 1)
    (at_edge,), (train,) = limits
    trusted = late.continued is None and abs(at_edge / test - 1) < _TRUSTED_CONSTANT
    return float(train) if trusted else np.nan
