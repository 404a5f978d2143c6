r"""Single shuffle (shuffle once, then repeat the same order): the exact curves of isotropic Gaussian rows.

One epoch is :math:`A = \prod_k (I - \eta u_k u_k^\top)` with :math:`m = \rho d` uniform unit vectors, the same in
every epoch. As :math:`d \to \infty`

.. math::

   \sum_{i,j} z^i w^j\, \frac{E \operatorname{tr} A^i A^{j\top}}{d} = \Phi, \qquad
   \sum_{i,j} z^i w^j\, \frac{E \operatorname{tr} S A^i A^{j\top}}{\rho d} = \Psi, \qquad S = \sum_k u_k u_k^\top,

both closed forms in two parameters v and v′. Write :math:`g = \eta + (1-\eta) v`,
:math:`z = (v/g)\, e^{\eta\rho(1-v)}`, the same with primes for w, :math:`u = v v'/(g g')` and
:math:`K = u\, e^{\rho (1-u) g g'}`; then

.. math::

   \begin{gathered}
   \Phi = \frac{(1-u)\, g g'}{\eta^2 (1-v)(1-v')(1-K)}, \\
   \Psi = \frac{1}{1-K}\Bigl\{\frac{g + g'}{\eta} - 1 - \frac{2-\eta}{\eta}\,
   \frac{u\,(e^{\rho(1-u)gg'}-1)}{\rho\,(1-u)}\Bigr\}.
   \end{gathered}

The test loss after n epochs is :math:`[z^n w^n]\Phi`, the training loss :math:`[z^n w^n]\Psi`; both are 1 at n = 0.
(The paper's training loss is :math:`\rho\Psi`: its S starts at :math:`\rho`.) *Proved* at every fixed n, with an
error of order 1/d in mean square (the book's pages of proofs).

The double contour integral stays inside the region where :math:`\Phi(z, \bar z)` is finite, which is where
:math:`\rho` times the logarithmic mean of :math:`\|v\|^2` and :math:`\|g\|^2` is less than 1 (outside the cloud of A's
eigenvalues); there, by Cauchy and Schwarz, :math:`\Phi` has no singularity in either variable.
"""

import dataclasses

import numpy as np
import numpy.typing as npt

from edgelaw._common import arguments, threads
from edgelaw._common.types import ArrayLike, FloatOrArray
from edgelaw.curves import LearningCurve
from edgelaw.exact import agreement, graded_circle, sources
from edgelaw.exact.batches import edges, limits, requests
from edgelaw.exact.batches.blocks import PopulationRows, SampleRows
from edgelaw.exact.single_shuffle import batches
from edgelaw.exact.single_shuffle import settings as shuffle_curve
from edgelaw.theory import _shuffle_contour as contours
from edgelaw.theory.single_shuffle_sums import (
    expansion,
    queue_weights,
    test_expansion,
    test_sum,
    train_expansion,
    train_sum,
)

__all__ = [
    "curve",
    "effective_step",
    "expansion",
    "generating_functions",
    "population_constants",
    "population_curve",
    "queue_weights",
    "test_constant",
    "test_expansion",
    "test_loss",
    "test_sum",
    "train_constant",
    "train_expansion",
    "train_loss",
    "train_sum",
]

_LEAST = graded_circle.PRECISE.least  # stated: circles are made for so much, and may agree better by chance


# ------------------------------------------------------------------------------------------------ the exact curves


def test_loss(n: ArrayLike, step: float = 1.0, rho: float = 1.0) -> FloatOrArray:
    r"""The test loss :math:`E\|A^n\|_F^2/d` as :math:`d \to \infty`: the squared parameter error after n epochs.

    Parameters
    ----------
    n : int or array of int
        Epochs, non-negative.
    step : float
        In (0, 2).
    rho : float
        m/d, positive.

    Returns
    -------
    float or array
        Of the shape of ``n``; 1 at n = 0. Below 1e-300 it is 0.

    Notes
    -----
    A double contour integral by the trapezoidal rule, refined until it no longer changes. Relative accuracy about
    1e-13 at steps up to 1.5, rising like 1e-15 √n with n; 1e-9 or better for n ≤ 300, steps in [0.05, 1.95] and rho
    in [0.25, 4]; at rho = 1, better than 1e-9 at every n up to 1e8 for steps in [0.05, 1.98]. The nodes needed grow
    with n where the step is close to 2 and rho far from 1 (ten seconds at n = 300, step 1.9, rho 4); where they do
    not suffice for 1e-6 (step 1.99 near n = 3000) a ValueError says so. *Derived.*

    Examples
    --------
    One epoch leaves :math:`e^{-\eta(2-\eta)\rho}`, two leave :math:`e^{-2} + 2e^{-3}` at step 1 and rho 1:

    >>> bool(np.allclose(test_loss([1, 2]), [np.exp(-1), np.exp(-2) + 2 * np.exp(-3)], rtol=1e-12))
    True
    """
    return _losses("test", n, step, rho)


def train_loss(n: ArrayLike, step: float = 1.0, rho: float = 1.0) -> FloatOrArray:
    r"""The training loss :math:`E\|X A^n\|_F^2/(m d)` with rows of norm :math:`\sqrt d`, as :math:`d \to \infty`.

    Arguments, algorithm and accuracy as for :func:`test_loss`. The paper's
    :math:`E \operatorname{tr} S A^n A^{n\top}/d` is rho times this. At step 1 and rho 1 it is :math:`\sum_k
    (k/n)^2\, p_{n-k}^2` with p the Poisson probabilities of mean n.

    Examples
    --------
    >>> bool(np.isclose(train_loss(1), np.exp(-2), rtol=1e-12)), train_loss(np.array([0, 3])).shape
    (True, (2,))
    """
    return _losses("train", n, step, rho)


def generating_functions(
    v: npt.ArrayLike, v2: npt.ArrayLike, step: float = 1.0, rho: float = 1.0
) -> tuple[FloatOrArray, FloatOrArray, FloatOrArray, FloatOrArray]:
    r"""z, w, :math:`\Phi` and :math:`\Psi` at parameters v and v′: the closed forms at the head of this module.

    Valid for v and v′ small enough that the series converge; for real ones in [0, 1) and rho ≤ 1 always.

    Examples
    --------
    >>> z, w, test, train = generating_functions(0.0, 0.0)
    >>> float(z.real), float(test.real), float(train.real)
    (0.0, 1.0, 1.0)
    """
    model = contours.model(arguments.step(step), arguments.aspect(rho))
    v, v2 = np.asarray(v, dtype=complex), np.asarray(v2, dtype=complex)
    z, w = (x / (model.eta + model.b * x) * np.exp(model.eta * model.rho * (1 - x)) for x in (v, v2))
    test, train = (model.kernel(loss, v, 1 - v, v2, 1 - v2) for loss in ("test", "train"))
    return z, w, test, train


def _losses(loss, n, step, rho):
    n = arguments.counts(n, "n")
    model = contours.model(arguments.step(step), arguments.aspect(rho))
    distinct, places = np.unique(n, return_inverse=True)
    values = np.ones(len(distinct))
    octave = np.where(distinct > 0, np.floor(np.log2(np.maximum(distinct, 1))), -1)
    for k in np.unique(octave[distinct > 0]):
        group = distinct[octave == k]
        values[octave == k], error = model.diagonals(loss, group, 1e-10)
        if error > 1e-6:
            raise ValueError(
                f"The {loss} loss at {group[-1]} epochs, step {step:g} and rho {rho:g} needs more nodes than are "
                "allowed: take fewer epochs, a smaller step or a rho closer to 1."
            )
    losses = values[places].reshape(n.shape)
    return losses if n.ndim else float(losses)


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

    Both losses depend on the rows only through :math:`K = U U^\top`, whose eigenvectors are Haar for Gaussian rows
    of any covariance: the eigenvalues are enough. They enter through their free cumulants
    (:mod:`edgelaw.exact.levy`):
    :math:`\sum_n z^n E A^n \simeq (I - z e^{-c\Sigma})^{-1}` with
    :math:`c\,(1/\eta + \langle\lambda\alpha\rangle) = \rho` and :math:`\alpha = (e^{c\lambda}/z - 1)^{-1}`, and the
    losses are coefficients :math:`[z^nw^n]` of a bilinear form in two such resolvents.

    Parameters
    ----------
    eigenvalues : array_like
        Eigenvalues of :math:`X^\top X/m`, zeros included, at least 20 of them, in any order and on any scale: they
        are divided by their mean. (If row norms vary, those of the normalised rows,
        ``edgelaw.data.normalize_rows``.)
    epochs : int or array of int
        Up to which epoch, or the epochs wanted; 0 is always among those returned.
    step : float
        η, in (0, 2); with a batch, below the limit of stability.
    rho : float
        m/d.
    weights : array_like, optional
        The share of the spectrum at each eigenvalue, if not equal: the nodes and weights of a quadrature make this
        the curve of a continuous law, with any number of nodes.
    batch : int
        Rows b per averaged update, each of which moves the weights by step/b; the last batch of an epoch is shorter
        if b does not divide m. The number of eigenvalues is then d, and with κ = b/d, τ = η/b the exponential becomes
        the power :math:`(1 - \kappa a\lambda)^{m/b}`.

    Returns
    -------
    LearningCurve
        Standard errors are NaN: nothing was drawn. `error` is three times the largest relative difference between two
        resolutions, usually 1e-9 to 1e-6. Once a loss is below 1e-12 it may go on by its last rate: `continued` says
        from which epoch.

    Raises
    ------
    ArithmeticError
        If two resolutions differ by more than 2 %, which was not met in 1000 curves on spectra of many kinds, up to
        200 epochs, or if the step is close to 2 and more than 1300 to 4096 epochs are asked for.

    Notes
    -----
    *Proved* for rows with Haar left singular vectors and a bounded spectrum, almost surely at every fixed n (the book's
    pages of proofs). Matrices of size d are seen to deviate by a relative O(1/d), or O(1/effective rank). About a tenth
    of a second, a quarter for 200 epochs at step 1.9 (`benchmarks/CURVES.md`). Up to three seconds on spectra with
    single large eigenvalues, with a null eigenvalue of centred rows where m < d, or of few levels: there no contour
    separates the spectrum from all poles, and these are followed instead.

    Examples
    --------
    Orthogonal rows: an epoch multiplies every coordinate by 1 − η.

    >>> [round(float(x), 6) for x in curve(np.ones(30), epochs=2, step=0.5).test]
    [1.0, 0.25, 0.0625]
    """
    n = sources.recorded(epochs)
    if not requests.single_rows(batch):
        return _batch_curve(eigenvalues, n, step, rho, weights, batch)
    step = arguments.step(step)
    rho, (values, shares) = arguments.aspect(rho), sources.sample(eigenvalues, weights)
    if len(values) == 1 and rho == 1:
        return agreement.orthogonal(n, step)
    update, last = shuffle_curve.RowByRow(step), max(int(n[-1]), 1)
    return _any_spectrum(n, shuffle_curve.of_sample(values, shares, rho, update, last, follow=True))


def _batch_curve(eigenvalues, n, step, rho, weights, batch):
    """The curve of averaged batches on a sample spectrum."""
    values, shares = sources.sample(eigenvalues, weights)
    partition, step, rho = requests.requested(eigenvalues, batch, step, rho, weights)
    update = batches.Batches(step, int(batch), np.size(eigenvalues))
    if len(values) == 1 and rho == 1:
        _refuse(step, 2 * step / float(partition.taus.max()))
        return batches.orthogonal(n, partition)
    if partition.batches == 1:
        _refuse(step, 2 * update.dims / float(values[-1]))
        return batches.whole(n, values, shares, update)

    def settings_of(update, last, places=None):
        return shuffle_curve.of_sample(values, shares, rho, update, last, places)

    _refuse_beyond(SampleRows(values, shares, rho), partition, settings_of, update)
    return _any_spectrum(n, settings_of(update, max(int(n[-1]), 1)))


def _refuse_beyond(rows, partition, settings_of, update):
    """Refuse a step at which an epoch has eigenvalues outside the unit circle."""
    if limits.contraction(rows, partition) > 1 or (partition.equal and batches.stable(settings_of, update)):
        return
    limits.refuse_unstable("single_shuffle", rows, partition, update.dims, update.step)


def _refuse(step, limit):
    if step >= limit:
        raise ValueError(
            f"step must be below {limit:.6g}, where single shuffle with this batch becomes unstable, not {step:g}."
        )


@threads.one_blas_thread()
def population_curve(
    covariance_eigenvalues: ArrayLike, epochs: ArrayLike, step: float = 1.0, rho: float = 1.0, batch: int = 1
) -> LearningCurve:
    r"""Learning curve for m = ρ d Gaussian rows of a given covariance, as d → ∞: no data needed.

    The formulas of `curve`, with the average over the covariance's eigenvalues.

    Parameters
    ----------
    covariance_eigenvalues : array_like
        Non-negative, on any scale; zeros are directions that no row has.
    epochs, step, batch
        As in `curve`; with a batch the number of eigenvalues is d.
    rho : float
        m/d, positive.

    Returns
    -------
    LearningCurve
        With NaN for standard errors, and `error` as in `curve`, usually 1e-8.

    Notes
    -----
    Rows are normalised by the update, which changes nothing as long as their norms concentrate: the squared norm of a
    row fluctuates by a relative :math:`\sqrt{2/r}` with r the effective rank of the covariance.

    Examples
    --------
    >>> curve = population_curve(np.ones(2), epochs=2)
    >>> bool(np.allclose(curve.test[1:], test_loss([1, 2]), rtol=1e-8))
    True
    """
    n = sources.recorded(epochs)
    if not requests.single_rows(batch):
        return _batch_population_curve(covariance_eigenvalues, n, step, rho, batch)
    step = arguments.step(step)
    rho = arguments.aspect(rho)
    values, shares, null = sources.covariance(covariance_eigenvalues)
    moving = _any_spectrum(
        n,
        shuffle_curve.of_covariance(
            values, shares, rho / (1 - null), shuffle_curve.RowByRow(step), max(int(n[-1]), 1)
        ),
    )
    return dataclasses.replace(moving, test=null + (1 - null) * moving.test)


def _batch_population_curve(covariance_eigenvalues, n, step, rho, batch):
    """The curve of averaged batches for rows of a covariance."""
    values, shares, null = sources.covariance(covariance_eigenvalues)
    partition, step, rho = requests.requested(covariance_eigenvalues, batch, step, rho, null=null)
    update = batches.Batches(step, int(batch), np.size(covariance_eigenvalues) * (1 - null))

    def settings_of(update, last, places=None):
        return shuffle_curve.of_covariance(values, shares, rho, update, last)

    _refuse_beyond(PopulationRows(values, shares, rho), partition, settings_of, update)
    moving = _any_spectrum(n, settings_of(update, max(int(n[-1]), 1)))
    return dataclasses.replace(moving, test=null + (1 - null) * moving.test)


def population_constants(
    covariance_eigenvalues: ArrayLike, step: float = 1.0, batch: int = 1
) -> tuple[float, float]:
    r"""The limits of √n · test and :math:`n^{3/2}` · train at ρ = 1, for Gaussian rows of a given covariance.

    With :math:`a = 1/\eta - 1/2`, v the variance of the eigenvalues (mean 1) and
    :math:`\ell = \langle1/\lambda\rangle`,

    .. math:: \text{test} \sim \sqrt{\frac{\ell a}{2\pi n}}, \qquad
       \text{train} \sim \frac{\sqrt{\ell}\,(a^2 + \frac14 + \frac v6)}{4\sqrt{2\pi a}}\, n^{-3/2} .

    With L = m/b averaged batches, κ = 1/L and τ = η/b, :math:`a = 1/\tau - \frac12(1-\kappa)`, and the bracket is
    :math:`a^2 + \frac{1-\kappa^2}{12}(3+2v)`: it is :math:`\lVert Mo\rVert^2` of a null vector o of the Gram
    matrix, and
    2a is :math:`o^\top Eo` (the matrices M and E of an epoch). A shorter last batch is taken into account.

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
    Both are *derived*; limits of `population_curve` agree to a relative 1e-4. They set in late for broad
    spectra: beyond :math:`\ell\,(1+v)^2/(144 a^3)` epochs.

    Examples
    --------
    >>> test, train = population_constants([2.0, 2.0], step=0.5)
    >>> bool(np.isclose(test, test_constant(0.5))), bool(np.isclose(train, train_constant(0.5)))
    (True, True)
    """
    second, inverse = sources.edge_averages(covariance_eigenvalues, np.square, np.reciprocal)
    if not requests.single_rows(batch):
        edge = edges.of_covariance("single_shuffle", covariance_eigenvalues, step, batch)
        a, square = edges.slow_forms(edge.cut, edge.rows, second)
        test = np.sqrt(inverse * a / (2 * np.pi))
        return float(test), float(test * square / (4 * a))
    a = 1 / arguments.step(step) - 0.5
    variance = second - 1
    test = np.sqrt(inverse * a / (2 * np.pi))
    train = np.sqrt(inverse / (2 * np.pi * a)) * (a**2 + 1 / 4 + variance / 6) / 4
    return float(test), float(train)


def _any_spectrum(n, settings):
    """The learning curve of the first setting that works, at two resolutions."""
    if len(n) == 1:
        return agreement.learning_curve(n, np.ones(1), np.ones(1), 0.0)
    computed = agreement.supporting_epochs(n)
    (fine, coarse), setting = shuffle_curve.losses(settings, computed)
    floor = max(_LEAST, *(average.error for average in setting.averages))
    curve = agreement.vouched(n, computed, fine, coarse, setting.plateau, floor)
    return agreement.with_a_row_less(curve, setting.missing) if setting.missing else curve


# -------------------------------------------------------------------------------------- constants at the edge, rho = 1


def test_constant(step: float = 1.0) -> float:
    r""":math:`\lim \sqrt n \cdot` test loss at rho = 1: :math:`\sqrt{a/2\pi}` with :math:`a = 1/\eta - 1/2`. *Derived.*

    Examples
    --------
    >>> round(float(test_constant() * 2 * np.sqrt(np.pi)), 12)
    1.0
    """
    return float(np.sqrt((1 / arguments.step(step) - 0.5) / (2 * np.pi)))


def train_constant(step: float = 1.0) -> float:
    r""":math:`\lim n^{3/2} \cdot` training loss at rho = 1.

    .. math:: \frac{a^2 + 1/4}{4\sqrt{2\pi a}} = \frac{2 - 2\eta + \eta^2}{8\sqrt\pi\, \eta^{3/2}\sqrt{2-\eta}},
              \qquad a = \frac1\eta - \frac12 .

    *Derived.* It is smallest at :math:`a = 1/\sqrt{12}`, :math:`\eta \approx 1.27`, and grows without bound at either
    end of (0, 2).

    Examples
    --------
    >>> round(float(train_constant() * 8 * np.sqrt(np.pi)), 12)
    1.0
    """
    a = 1 / arguments.step(step) - 0.5
    return float((a**2 + 0.25) / (4 * np.sqrt(2 * np.pi * a)))


def effective_step(step: float, eigenvalues: ArrayLike | None = None, batch: int = 1) -> float:
    r"""The gradient-descent step with the same test-loss edge at m = d: :math:`1/a = 2\eta/(2-\eta)`.

    On isotropic Gaussian rows gradient descent at a step :math:`\eta'` has the edge :math:`1/\sqrt{2\pi\eta'
    n}`, single shuffle :math:`\sqrt{a/2\pi n}`. It is never smaller than the step, twice it at step 1, and no
    longer a stable step of gradient descent above step 2/3.

    *Domain.* Any spectrum with a left edge :math:`Q\lambda^\beta` at zero, any :math:`\beta > 0`, m = d, for rows whose
    left singular vectors are Haar (Gaussian rows of any covariance, designs with Haar bases): the answer does not
    depend on ``eigenvalues``, which are only checked. It is a limit :math:`n \to \infty`, good once
    :math:`C(\beta)\,\kappa_2 f_n \ll 12 a^2\beta` (:func:`edgelaw.theory.gap.skew_correction`); for
    :math:`\beta \lesssim 0.15` that takes more epochs than anyone runs. For clustered or otherwise structured rows it
    fails, at every n (:func:`edgelaw.theory.gap.cluster_gain`). *Derived*: the skew part of M is shown to vanish on
    the slow space to leading order in d; confirmed by exact traces for seven exponents and steps.

    *With batches* of b rows, averaged, at τ = η/b per row and κ = b/m, the effective step is that of gradient descent
    with one full update per epoch, on XᵀX/m of mean eigenvalue 1: τ itself for b = m, and what it was for b = 1.
    Here it is :math:`1/a`, :math:`a = 1/\tau - \frac12\frac{m-b}{m-1}`: the mean of :math:`o^\top Mo` over a
    null vector o
    of the Gram matrix of exchangeable rows. With ``batch`` > 1 eigenvalues are required, since their number is m = d,
    and a step beyond stability is refused. A shorter last batch is taken into account.

    Examples
    --------
    >>> float(effective_step(1.0))
    2.0
    >>> eigenvalues = np.linspace(0.0, 2.0, 64)
    >>> round(effective_step(16.0, eigenvalues, batch=64), 6)  # gradient descent at 16/64
    0.25
    """
    if not requests.single_rows(batch):
        edge = edges.of_sample("single_shuffle", eigenvalues, step, batch)
        return 1 / edges.slow_forms(edge.cut, edge.rows).first
    if eigenvalues is not None:
        arguments.eigenvalues(eigenvalues, fewest=1, nonzero=True)
    return 1 / (1 / arguments.step(step) - 0.5)
