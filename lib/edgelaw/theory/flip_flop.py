r"""Flip-flop: the same permutation forwards and backwards in turn, on isotropic Gaussian rows, exactly.

Let :math:`A` be the forward epoch, :math:`B = A^\top A` and :math:`S = \sum_i u_i u_i^\top`, with
:math:`m = \rho d` unit rows and :math:`d \to \infty`. Reversing the rows turns :math:`A` into
:math:`A^\top` and leaves :math:`S` alone, so that the losses after :math:`n` epochs, odd or even, are

.. math:: \text{test} = \tfrac1d \mathbb{E} \operatorname{Tr} B^n, \qquad
          \text{train} = \tfrac1{\rho d} \mathbb{E} \operatorname{Tr} S B^n .

With :math:`\tau = \eta(2-\eta)`, :math:`\kappa = (1-\eta)^2 = 1-\tau` and :math:`c = \eta^2\rho` their
generating functions :math:`\sum_n z^n (\cdot)` are

.. math::

   \begin{gathered}
   \Phi = \frac{\tau+\kappa q}{\tau(1-q)}, \qquad
   G = \frac{\tau+\kappa q}{\tau} \int_0^1 \bigl(1 + c(1-u)\bigr) e^{-uc(1-q)}\,du, \\
   q = z\,(\tau+\kappa q)\,e^{-\tau\rho(1-q)} .
   \end{gathered}

:math:`q(z)` is the generating function of the total progeny of a branching process whose offspring are a
Bernoulli(κ) and a Poisson(τρ) variable together; it is critical exactly at :math:`\rho = 1`. (In the
variable :math:`h = \Phi - 1` of the paper, :math:`q = \tau h/(1+\tau h)`.) Lagrange's formula turns both into
sums of positive terms; with :math:`M \sim` Binomial(n, τ) and :math:`J \sim` Poisson(nτρ) independent,

.. math:: \text{test} = \mathbb{E}(M-J)^+ / \mathbb{E} M .

How it is known: *proved* at every fixed n, with an error of order 1/d in mean square (the book's pages of proofs);
found by the transport equations of the paper's appendix at a general step, and checked against matrices.
"""

import dataclasses

import numpy as np
import scipy

from edgelaw._common import arguments, threads
from edgelaw._common.types import ArrayLike, FloatOrArray
from edgelaw.curves import LearningCurve
from edgelaw.exact import agreement, sources
from edgelaw.exact.batches import edges, requests
from edgelaw.exact.flip_flop import batches as in_batches
from edgelaw.exact.flip_flop import boundary, spectra

__all__ = [
    "curve",
    "effective_step",
    "population_constants",
    "population_curve",
    "test_constant",
    "test_loss",
    "train_constant",
    "train_loss",
]

_SMALLEST = 1e-300
_LATE = 1000, 2000, 4000  # epochs from which a constant is extrapolated
_TRUSTED = 1e-3  # as far as the extrapolated test constant may be from the known one


def test_loss(n: ArrayLike, step: float = 1.0, rho: float = 1.0) -> FloatOrArray:
    r"""Mean of ‖w_n‖² / ‖w_0‖² after n epochs, :math:`\lim \mathbb{E}\operatorname{Tr}(A^\top A)^n/d`.

    .. math:: b_n = \frac{1}{n\tau}\,[q^{n-1}]\,\frac{(\tau+\kappa q)^n e^{-n\tau\rho(1-q)}}{(1-q)^2}
                  = \frac{\mathbb{E}(M-J)^+}{n\tau}, \qquad n \ge 1 .

    At step 1 and rho 1 this is :math:`n^n e^{-n}/n!`. For rho < 1 it tends to 1 − rho: the directions that no
    row touches. For rho > 1 it decays exponentially.

    Parameters
    ----------
    n : int or array of int
        Epochs, 0, 1, 2, ...; odd ones end with a forward, even ones with a backward pass.
    step : float
        In (0, 2).
    rho : float
        Rows per dimension, m/d > 0.

    Returns
    -------
    float or ndarray
        In the shape of `n`, 1 at n = 0. Relative error below 1e-12 for step in [0.05, 1.95], rho in [0.25, 4]
        and n up to 1e6 wherever the value exceeds 1e-250; below 1e-300 it is 0.

    Examples
    --------
    >>> round(test_loss(1), 8)  # exp(−1)
    0.36787944
    >>> test_loss([0, 1, 2, 3], step=0.5).round(4).tolist()
    [1.0, 0.4724, 0.3486, 0.2888]
    """
    return _evaluate(_test, n, step, rho)


def train_loss(n: ArrayLike, step: float = 1.0, rho: float = 1.0) -> FloatOrArray:
    r"""Mean of (1/m) ‖X w_n‖² / ‖w_0‖² after n epochs, :math:`\lim \mathbb{E}\operatorname{Tr} S(A^\top A)^n/m`.

    .. math:: a_n = \frac{1}{n}\,[q^{n-1}]\,G'(q)\,(\tau+\kappa q)^n e^{-n\tau\rho(1-q)}, \qquad n \ge 1,

    with the entire function :math:`G` at the top of this module. In the paper's variables
    :math:`\rho\,G = (1+h)\bigl[\rho - \frac{2-\eta}{\eta} h (1 - e^{-\eta^2\rho/(1+\tau h)})\bigr]`, and the
    paper's :math:`a_n`, which starts at rho, is rho times this.

    Parameters
    ----------
    n : int or array of int
        Epochs, 0, 1, 2, ...; one formula serves odd and even n.
    step : float
        In (0, 2).
    rho : float
        Rows per dimension, m/d > 0.

    Returns
    -------
    float or ndarray
        In the shape of `n`, 1 at n = 0. Relative error as for `test_loss`.

    Examples
    --------
    >>> round(train_loss(1), 8)  # exp(−2)
    0.13533528
    >>> train_loss([0, 1, 2, 3], step=0.5).round(4).tolist()
    [1.0, 0.1589, 0.067, 0.0388]
    """
    return _evaluate(_train, n, step, rho)


def test_constant(step: float = 1.0) -> float:
    r"""The limit of √n · `test_loss` at rho = 1: :math:`\sqrt{(1/\tau - 1/2)/\pi}`, smallest at step 1.

    Examples
    --------
    >>> round(test_constant(), 6)
    0.398942
    """
    tau = _tau(arguments.step(step))
    return float(np.sqrt((1 / tau - 0.5) / np.pi))


def train_constant(step: float = 1.0) -> float:
    r"""The limit of :math:`n^{3/2}` · `train_loss` at rho = 1.

    .. math:: \frac{G'(1)}{\sqrt{2\pi\tau(2-\tau)}}, \qquad
              G'(1) = \frac{(1-\eta)^2 (1 + \eta^2/2) + \eta^2/2 + \eta^4/6}{\tau} .

    :math:`\sqrt2/(3\sqrt\pi)` at step 1; smallest, 0.1747, at step 0.708.

    Examples
    --------
    >>> round(train_constant(), 6)
    0.265962
    """
    eta = arguments.step(step)
    tau = _tau(eta)
    slope = ((1 - eta) ** 2 * (1 + eta**2 / 2) + eta**2 / 2 + eta**4 / 6) / tau
    return float(slope / np.sqrt(2 * np.pi * tau * (2 - tau)))


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

    Parameters
    ----------
    step : float
        In (0, 2).
    eigenvalues : array, optional
        The sample's eigenvalues at m = d, those of XᵀX/m, in any scale. Their relative variance is 1 + v on
        average; less than 1 (a sample more regular than Gaussian rows) counts as it is, with a negative v.
    batch : int
        Rows per averaged update; with more than one, eigenvalues are required, since their number is m = d, and a step
        beyond stability is refused.

    Examples
    --------
    >>> effective_step(1.0)
    1.0
    >>> round(effective_step(0.5), 3), round(effective_step(1.5), 3)
    (0.6, 0.6)
    """
    if not requests.single_rows(batch):
        return 1 / edges.flip_flop(edges.of_sample("flip_flop", eigenvalues, step, batch))
    eta = arguments.step(step)
    v = 0.0
    if eigenvalues is not None:
        values = arguments.eigenvalues(eigenvalues, fewest=1, nonzero=True, ascending=False)
        v = values.var() / values.mean() ** 2 - 1
    return float(1 / (2 / _tau(eta) - 1 + eta * v / (3 * (2 - eta))))


# --------------------------------------------------------------------------------------------------- any spectrum


@threads.one_blas_thread()
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

    Parameters
    ----------
    eigenvalues : array_like
        Eigenvalues of :math:`X^\top X/m`, zeros included, at least 20 of them, in any order and on any scale: they
        are divided by their mean. (If row norms vary, those of the normalised rows,
        ``edgelaw.data.normalize_rows``.)
    epochs : int or array of int
        Up to which epoch, or the epochs wanted; 0 is always among those returned. Odd epochs end with a forward, even
        ones with a backward pass.
    step : float
        η, in (0, 2).
    rho : float
        m/d.
    weights : array_like, optional
        The share of the spectrum at each eigenvalue, if not equal: the nodes and weights of a quadrature make this
        the curve of a continuous law, with any number of nodes. Not with batches.
    batch : int
        Rows per update, which is then the average of theirs at the given step, as in ``kaczmarz.simulate`` with
        ``batch_mode="average"``. If the last batch of an epoch is shorter, then reversed epochs are cut into other
        batches; a partition that is its own mirror image stands for both, and `error` includes what this changes. The
        number of eigenvalues is d, and m = ρd is rounded. The step may be as large as every batch contracts with, and
        is refused beyond.

    Returns
    -------
    LearningCurve
        Standard errors are NaN: nothing was drawn. `error` is an upper bound of the relative error: three times the
        difference between two resolutions. A loss that has fallen below 1e-12 (1e-7, where the resolutions do not
        agree any more) goes on by its last ratio: `continued` says from which epoch.

    Raises
    ------
    ArithmeticError
        If that error exceeds 2 %, or if the equations cannot be solved at two resolutions.

    Notes
    -----
    How it is known: *proved* for rows with Haar left singular vectors and a bounded spectrum, almost surely at every
    fixed n (the book's pages of proofs). Matrices of size d are seen to deviate by a relative O(1/d), or O(1/effective
    rank). The mean over the orders of the rows is meant: for one order, the training losses of odd and even epochs
    differ. About a tenth of a second (`benchmarks/CURVES.md`); on spectra with a gap that leave no room for a contour
    one to three seconds, and up to ten with large eigenvalues.

    Examples
    --------
    Orthogonal rows: an epoch multiplies every coordinate by 1 − η.

    >>> [round(float(x), 6) for x in curve(np.ones(30), epochs=2, step=0.5).test]
    [1.0, 0.25, 0.0625]
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


@threads.one_blas_thread()
def population_curve(
    covariance_eigenvalues: ArrayLike,
    epochs: ArrayLike,
    step: float = 1.0,
    rho: float = 1.0,
    batch: int = 1,
) -> LearningCurve:
    r"""Learning curve for m = ρ d Gaussian rows of a given covariance, as d → ∞: no data needed.

    The formulas of `curve`, with the average over the covariance's eigenvalues and s from 0 to ρ.

    Parameters
    ----------
    covariance_eigenvalues : array_like
        Non-negative, on any scale; zeros are directions that no row has.
    epochs, step
        As in `curve`.
    rho : float
        m/d, positive.
    batch : int
        As in `curve`; with batches the number of eigenvalues is d.

    Returns
    -------
    LearningCurve
        With NaN for standard errors, and `error` as in `curve`.

    Notes
    -----
    Rows are normalised by the update, which changes nothing as long as their norms concentrate: the squared norm of a
    row fluctuates by a relative :math:`\sqrt{2/r}` with r the effective rank of the covariance.

    Examples
    --------
    >>> curve = population_curve(np.ones(2), epochs=2, rho=2.0)
    >>> bool(np.allclose(curve.train[1:], train_loss([1, 2], rho=2.0), rtol=1e-8))
    True
    """
    n = sources.recorded(epochs)
    values, shares = arguments.spectrum(covariance_eigenvalues, name="covariance_eigenvalues")
    if not requests.single_rows(batch):
        cut, step, rho = requests.requested(covariance_eigenvalues, batch, step, rho)
        return _in_batches(n, step, cut, spectra.PopulationSpectrum(values, shares, rho))
    step, rho = arguments.step(step), arguments.aspect(rho)
    return _any_spectrum(n, step, spectra.PopulationSpectrum(values, shares, rho))


def population_constants(
    covariance_eigenvalues: ArrayLike, step: float = 1.0, batch: int = 1
) -> tuple[float, float]:
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

    Parameters
    ----------
    covariance_eigenvalues : array_like
        Positive, on any scale. A zero would leave a constant test loss, and no power law.
    step : float
        In (0, 2); with a batch, below the limit of stability.
    batch : int
        Rows per averaged update; the number of eigenvalues is then m = d.

    Returns
    -------
    tuple of float
        The constants of the test and of the training loss.

    Notes
    -----
    How it is known: *derived*, both. The rational numbers in the training constant are volumes of orders: with o a unit
    vector of the slow space, :math:`MM^\top o = b^2o - \frac14(I+2L)^2o`, and :func:`edgelaw.theory.free.words.at_zero`
    counts :math:`\|(I+2L)^2o\|^2` exactly. Evaluated for many spectra and steps, the expansion of the exact curve at
    the edge leaves a remainder of 1e-13. With equal eigenvalues they are `test_constant` and `train_constant`.

    Examples
    --------
    >>> test, train = population_constants([1.0, 1.0], step=0.5)
    >>> bool(np.isclose(test, test_constant(0.5))), bool(np.isclose(train, train_constant(0.5)))
    (True, True)
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


# ------------------------------------------------------------------------------------------ how it is computed
#
# Both losses are coefficients of series with positive terms, so a circle through the minimum of the integrand on
# the positive axis loses no digits, and the trapezoidal rule on it is exact up to the terms that alias. Only an
# arc of width ~ 1/√n around the real axis counts: the cost does not depend on n, and no switch to an asymptote
# is needed. Logarithms are written in 1 − q, since n is multiplied on.


def _evaluate(loss, n, step, rho):
    """`loss` at every entry of n, in the shape of n."""
    eta, rho = arguments.step(step), arguments.aspect(rho)
    epochs = arguments.counts(n, "n")
    distinct, places = np.unique(epochs, return_inverse=True)
    values = np.array([loss(int(k), eta, rho) if k else 1.0 for k in distinct])
    values[values < _SMALLEST] = 0.0
    result = values[places].reshape(epochs.shape)
    return result if epochs.ndim else float(result)


def _tau(eta):
    """η(2 − η), the step of the squared update."""
    return eta * (2 - eta)


def _train(n, eta, rho):
    """The training loss at n ≥ 1, on the circle through the saddle point of ψ(q)/q."""
    tau, kappa, c = _tau(eta), (1 - eta) ** 2, eta**2 * rho
    gap = _saddle(tau, kappa, rho)
    radius = 1 - gap

    def weight(q, one_minus_q):
        m0, m1, m2 = _moments(c * one_minus_q)
        inner = m0 + c * (m0 - m1)
        slope = c * (m1 + c * (m1 - m2))
        return q * (kappa * inner + (tau + kappa * q) * slope) / tau

    spread = n * _variance(radius, tau, kappa, rho) + c * radius + 1
    nodes = 10 * np.sqrt(spread) + c * radius + 64
    return _circle(n, tau, kappa, rho, gap, weight, nodes)


def _test(n, eta, rho):
    """The test loss at n ≥ 1; for rho < 1 the pole's residue 1 − rho and a circle outside of it."""
    tau, kappa = _tau(eta), (1 - eta) ** 2
    inside = rho >= 1
    gap = _between_pole_and_saddle(n, tau, kappa, rho, inside)

    def weight(q, one_minus_q):
        return q / (tau * one_minus_q**2)

    nodes = 10 * np.sqrt(n * _variance(1 - gap, tau, kappa, rho) + 1) + 64 + 45 / abs(np.log1p(-gap))
    value = _circle(n, tau, kappa, rho, gap, weight, nodes)
    return value if inside else 1 - rho + value


def _circle(n, tau, kappa, rho, gap, weight, nodes):
    """(1/n) · the mean of weight(q) (ψ(q)/q)ⁿ over the circle q = (1 − gap) exp(iθ), ψ = (τ+κq) exp(−τρ(1−q))."""
    r = 1 - gap
    peak = n * (np.log1p(-kappa * gap) - tau * rho * gap - np.log1p(-gap))
    nodes = int(np.ceil(nodes))
    reach = np.sqrt(20 / (n * _variance(r, tau, kappa, rho)))  # beyond: below exp(−40) of the peak
    last = nodes // 2
    if reach < 1:
        last = min(last, int(np.ceil(2 * np.arcsin(reach) * nodes / (2 * np.pi))))
    theta = 2 * np.pi * np.arange(last + 1) / nodes
    versine = 2 * np.sin(theta / 2) ** 2
    base = tau + kappa * r
    decay = 0.5 * np.log1p(-2 * tau * kappa * r * versine / base**2) - tau * rho * r * versine
    turn = np.arctan2(kappa * r * np.sin(theta), tau + kappa * r * np.cos(theta)) + tau * rho * r * np.sin(
        theta
    )
    q = r * np.exp(1j * theta)
    one_minus_q = gap + r * versine - 1j * r * np.sin(theta)
    values = (weight(q, one_minus_q) * np.exp(n * (decay + 1j * (turn - theta)))).real
    copies = np.full(last + 1, 2.0)  # every node but θ = 0 and θ = π has a conjugate
    copies[0] = 1
    if 2 * last == nodes:
        copies[-1] = 1
    return float(np.exp(peak) * (copies @ values) / nodes / n)


def _variance(r, tau, kappa, rho):
    """Variance of the tilted offspring: how fast (ψ(q)/q)ⁿ falls off the positive axis at radius r."""
    return tau * kappa * r / (tau + kappa * r) ** 2 + tau * rho * r


def _saddle(tau, kappa, rho):
    """1 − q at the minimum of ψ(q)/q on the positive axis: 0 exactly at rho = 1."""
    root = np.sqrt((rho * tau) ** 2 + 4 * rho * kappa)
    return 4 * (rho - 1) / ((rho * tau + root) * (root + 2 - rho * tau))


def _between_pole_and_saddle(n, tau, kappa, rho, inside):
    """1 − q at the minimum of q (1 − q)⁻² (ψ(q)/q)ⁿ for 0 < q < 1, or for q > 1 if not `inside`."""
    sign = 1 if inside else -1

    def slope(log):  # of the logarithm by log q, at |1 − q| = e^log; it is convex there, and so unimodal
        gap = sign * np.exp(log)
        q = 1 - gap
        return sign * (n * (kappa * q / (1 - kappa * gap) + tau * rho * q - 1) + 1 + 2 * q / gap)

    furthest = -(2.0**-53) if inside else 80.0
    if slope(furthest) > 0:  # after one epoch the minimum is at q = 0
        return sign * np.exp(furthest)
    return sign * np.exp(scipy.optimize.brentq(slope, -80.0, furthest))


def _moments(x):
    """∫₀¹ uᵏ exp(−ux) du for k = 0, 1, 2 and complex x: by recurrence, or by series where that would cancel."""
    small = np.abs(x) < 1.5
    safe = np.where(small, 1.0, x)
    decayed = np.exp(-safe)
    m0 = (1 - decayed) / safe
    m1 = (m0 - decayed) / safe
    m2 = (2 * m1 - decayed) / safe
    near = np.where(small, x, 0.0)
    s0, s1, s2 = (np.zeros_like(near) for _ in range(3))
    term = np.ones_like(near)
    for j in range(26):
        s0, s1, s2 = s0 + term / (j + 1), s1 + term / (j + 2), s2 + term / (j + 3)
        term = -term * near / (j + 1)
    return np.where(small, s0, m0), np.where(small, s1, m1), np.where(small, s2, m2)
