"""Flip-flop on any spectrum: curves, constants and the effective step."""

import dataclasses

import numpy as np

from edgelaw._common import arguments
from edgelaw._common.types import ArrayLike
from edgelaw.curves import LearningCurve
from edgelaw.exact import agreement, sources
from edgelaw.exact.batches import edges, requests
from edgelaw.exact.flip_flop import batches as in_batches
from edgelaw.exact.flip_flop import boundary, spectra

_LATE = 1000, 2000, 4000  # epochs from which a constant is extrapolated
_TRUSTED = 1e-3  # as far as the extrapolated test constant may be from the known one


def curve(
    eigenvalues: ArrayLike,
    epochs: ArrayLike,
    step: float = 1.0,
    rho: float = 1.0,
    weights: ArrayLike | None = None,
    batch: int = 1,
) -> LearningCurve:
    r"""Learning curve on a given sample spectrum, as d → ∞ with the rows' left basis Haar.

    With :math:`\langle\cdot\rangle` the average over the spectrum's free cumulants (:mod:`edgelaw.exact.levy`), find
    :math:`q(s, \lambda)` on :math:`0 \le s \le 1` such that :math:`q(1) = 1` and, for all λ, with
    :math:`y(s) = z/q(1-s)`,

    .. math::

       \begin{gathered}
       q' = -\frac{\lambda}{D}\,(2Hq - P - Rq^2), \\
       R = \Bigl\langle\frac{\lambda}{q-y}\Bigr\rangle, \quad
       P = \Bigl\langle\frac{\lambda q y}{q-y}\Bigr\rangle, \quad
       H = \frac1\eta + \Bigl\langle\frac{\lambda y}{q-y}\Bigr\rangle,
       \end{gathered}

    with :math:`D = H^2 - PR`, which does not depend on s. The losses are the coefficients of :math:`z^n` in

    .. math::

       \begin{gathered}
       \sum_n z^n\,\text{test}_n = \Bigl\langle\frac{q_0}{q_0-z}\Bigr\rangle, \\
       \sum_n z^n\,\text{train}_n = \Bigl\langle\frac{\lambda q_0}{q_0-z}\Bigr\rangle
       + z \int_0^1 \frac{P X^2 - 2HXY + RY^2}{D}\,ds,
       \end{gathered}

    where :math:`q_0 = q(0)`, :math:`X = \langle\lambda g\rangle`, :math:`Y = \langle\lambda q g\rangle`,
    :math:`g' = \frac{\lambda}{D}(H - Rq)\,g` and :math:`g(0) = 1/(q_0 - z)`.
    """
    n, (values, shares) = sources.recorded(epochs), sources.sample(eigenvalues, weights)
    if not requests.single_rows(batch):
        cut, step, rho = requests.requested(eigenvalues, batch, step, rho, weights)
        return _in_batches(n, step, cut, spectra.SampleSpectrum(values, shares, rho))
    step, rho = arguments.step(step), arguments.aspect(rho)
    if len(values) == 1 and rho == 1:
        return agreement.orthogonal(n, step)
    fewer, missing = agreement.without_lone_zero(values, shares, rho)
    try:
        return _any_spectrum(n, step, spectra.SampleSpectrum(values, shares, rho))
    except ArithmeticError:
        if not missing:
            raise
    without = _any_spectrum(n, step, spectra.SampleSpectrum(values, shares, fewer))
    return agreement.with_a_row_less(without, missing)


def population_curve(
    covariance_eigenvalues: ArrayLike,
    epochs: ArrayLike,
    step: float = 1.0,
    rho: float = 1.0,
    batch: int = 1,
) -> LearningCurve:
    r"""Learning curve for m = ρ d Gaussian rows of a given covariance, as d → ∞: no data needed.

    The formulas of `curve`, with the average over the covariance's eigenvalues and s from 0 to ρ.
    """
    n = sources.recorded(epochs)
    values, shares = arguments.spectrum(covariance_eigenvalues, name="covariance_eigenvalues")
    if not requests.single_rows(batch):
        cut, step, rho = requests.requested(covariance_eigenvalues, batch, step, rho)
        return _in_batches(n, step, cut, spectra.PopulationSpectrum(values, shares, rho))
    step, rho = arguments.step(step), arguments.aspect(rho)
    return _any_spectrum(n, step, spectra.PopulationSpectrum(values, shares, rho))


def constants(covariance_eigenvalues: ArrayLike, step: float = 1.0, batch: int = 1) -> tuple[float, float]:
    r"""The limits of √n · test and :math:`n^{3/2}` · train at ρ = 1, for Gaussian rows of a given covariance.

    With :math:`b = 1/\eta - 1/2`, :math:`\kappa_j = \langle\lambda^j\rangle` over the eigenvalues (mean 1),
    :math:`v = \kappa_2 - 1`, :math:`\ell = \langle1/\lambda\rangle` and :math:`B = b^2 + \frac14 + \frac v6`,

    .. math::

       \begin{gathered}
       \text{test} \sim \sqrt{\frac{\ell B}{2\pi b\,n}}, \\
       \text{train} \sim \sqrt{\frac{b\,\ell}{2\pi B}}\,\Bigl[\frac{b^2}{4} + \frac18 + \frac v{12} \\
       + \frac1{b^2}\Bigl(\frac{83}{960} + \frac{9v}{80} + \frac{v^2}{30} + \frac{\kappa_3}{40}
       + \frac{\kappa_4}{120}\Bigr)\Bigr]\,n^{-3/2} .
       \end{gathered}

    With averaged batches, which must divide m, the first is :math:`\sqrt{\ell/(2\pi\eta_{\mathrm{eff}}n)}` with the
    :func:`effective_step` of a large square sample. No formula is known for the second: it is extrapolated from
    `population_curve` at 1000, 2000 and 4000 epochs, to about 1e-5, and NaN where the same extrapolation misses the
    test constant by more than 1e-3.
    """
    k2, k3, k4, inverse = sources.edge_averages(
        covariance_eigenvalues, np.square, lambda x: x**3, lambda x: x**4, np.reciprocal
    )
    if not requests.single_rows(batch):
        edge = edges.of_covariance("flip_flop", covariance_eigenvalues, step, batch)
        slow = edges.flip_flop(edge)
        test = float(np.sqrt(inverse * slow / (2 * np.pi)))
        if edge.cut.batches == 1:  # gradient descent
            return test, test * slow / 4
        return test, _extrapolated(float(step), edge.cut, covariance_eigenvalues, test)
    b = 1 / arguments.step(step) - 0.5
    v = k2 - 1
    B = b**2 + 1 / 4 + v / 6
    slope = b**2 / 4 + 1 / 8 + v / 12 + (83 / 960 + 9 * v / 80 + v**2 / 30 + k3 / 40 + k4 / 120) / b**2
    return float(np.sqrt(inverse * B / (2 * np.pi * b))), float(
        slope * np.sqrt(b * inverse / (2 * np.pi * B))
    )


def _any_spectrum(n, step, spectrum):
    """The learning curve of a spectrum, with the error that two resolutions show."""
    if len(n) == 1:
        return agreement.learning_curve(n, np.ones(1), np.ones(1), 0.0)
    return _vouched(n, *boundary.losses(spectrum, n[1:], step))


def _extrapolated(step, cut, covariance_eigenvalues, test):
    """The training constant with batches, from three late epochs whose corrections fall as 1/n and 1/n².

    NaN where the curve does not reach so far, or does not lead to the test constant that is known.
    """
    values, shares = arguments.spectrum(covariance_eigenvalues, name="covariance_eigenvalues")
    n = np.array([0, *_LATE])
    try:
        curve = _in_batches(n, step, cut, spectra.PopulationSpectrum(values, shares, 1.0))
    except ArithmeticError:
        return np.nan
    constants = np.stack([curve.test[1:] * n[1:] ** 0.5, curve.train[1:] * n[1:] ** 1.5])
    for power in (1, 2):
        constants = (2**power * constants[:, 1:] - constants[:, :-1]) / (2**power - 1)
    (at_edge,), (train,) = constants
    trusted = curve.continued is None and abs(at_edge / test - 1) < _TRUSTED
    return float(train) if trusted else np.nan


def _in_batches(n, step, cut, spectrum):
    """The same with averaged batches."""
    later = n[1:] if len(n) > 1 else np.ones(1, dtype=int)
    losses, error, continued, uneven = in_batches.losses(spectrum, later, cut, step)
    curve = _vouched(n, losses[:, : len(n) - 1], error, continued)
    return dataclasses.replace(curve, error=curve.error + uneven)


def _vouched(n, losses, error, continued):
    """The learning curve from its losses after n[1:] epochs; refused if they are not accurate."""
    if not error < agreement.LARGEST_ERROR:
        raise ArithmeticError(
            f"Two resolutions of flip-flop's equations differ by a relative {error:.0e}, so this curve is not "
            "returned: ask for fewer epochs or another step."
        )
    curve = agreement.learning_curve(n, *np.concatenate([np.ones((2, 1)), losses], axis=1), error)
    return curve if continued is None else dataclasses.replace(curve, continued=continued - 1)


def effective_step(step: float, eigenvalues: ArrayLike | None = None, batch: int = 1) -> float:
    r"""The step at which gradient descent has the same test-loss asymptote, on a spectrum with a hard edge.

    .. math:: \eta_{\mathrm{eff}} = \frac{1}{2a}, \qquad
              a = \frac{1}{\eta(2-\eta)} - \frac12 + \frac{\eta\,v}{6(2-\eta)},

    where v is the variance of the covariance's eigenvalues (mean 1). It is 0 for isotropic rows, and then
    :math:`\eta_{\mathrm{eff}} = \tau/(2-\tau)`: larger than the step below 1, smaller above, never larger
    than 1. In terms of the *sample's* spectrum, whose variance at mean 1 is :math:`\kappa_2 = 1 + v`,

    .. math:: \frac{1}{\eta_{\mathrm{eff}}} = \frac{2\,(1/\eta^2 - 1/\eta + 1/3 + \kappa_2/6)}{2/\eta - 1} .

    How it is known: *derived*. :math:`(I-A^\top A)^{-1} = U^{-1}MM^\top U^{-\top}/(2/\eta-1)` exactly, and for a slow
    unit vector o of K (K o = 0) with Haar left singular vectors the partial sums of K's rows against o are bridges,
    whence :math:`\lVert M^\top o\rVert^2 = 1/\eta^2 - 1/\eta + 1/3 + \kappa_2/6`. Expanding the
    boundary problem of `curve` at z = 1 gives the same. Confirmed by exact traces for seven edge exponents and seven
    steps.

    *Domain.* m = d, a left edge at zero of any exponent, Haar left singular vectors; a limit of many epochs, late for
    broad spectra. It is always below single shuffle's :math:`1/a`, because :math:`\lVert M^\top o\rVert \ge a`.

    *With batches* of b rows, averaged, at τ = η/b per row and κ = b/m, the effective step is that of gradient descent
    with one full update per epoch, on XᵀX/m of mean eigenvalue 1: τ itself for b = m, and what it was for b = 1.
    Here :math:`1/\eta_{\mathrm{eff}} = 2o^\top ME^{-1}M^\top o` with single shuffle's
    :math:`a = \frac1\tau - \frac12\frac{m-b}{m-1}`, L = m/b, s = 2/τ, and g the Cauchy transform of a batch's
    Gram matrix at s,

    .. math::

       \begin{gathered}
       \frac1{\eta_{\mathrm{eff}}} = a + \frac{(se-1)(L-1)(2L-1)}{6L}
       + \frac{se^2(L^2-1)}{6L^2\,(1-(1-\kappa)e)}, \\ e = 1 - \frac1{s\,g} .
       \end{gathered}

    *Derived*; null vectors of random Gram matrices and extrapolated curves agree. A batch must divide m.
    """
    if not requests.single_rows(batch):
        return 1 / edges.flip_flop(edges.of_sample("flip_flop", eigenvalues, step, batch))
    eta = arguments.step(step)
    v = 0.0
    if eigenvalues is not None:
        values = arguments.eigenvalues(eigenvalues, fewest=1, nonzero=True, ascending=False)
        v = values.var() / values.mean() ** 2 - 1
    return float(1 / (2 / (eta * (2 - eta)) - 1 + eta * v / (3 * (2 - eta))))
