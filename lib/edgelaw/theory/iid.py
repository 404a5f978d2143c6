r"""IID sampling: exact large-d learning curves, on any spectrum, and exact expectations for a given data set.

Every row update draws one of m rows at random and applies :math:`w \leftarrow (I - \eta u u^\top) w` with the unit
row u. In the eigenbasis of the Gram matrix :math:`H = X^\top X/m` (rows of norm :math:`\sqrt d`, so that its mean
eigenvalue is 1) the mean square :math:`s(\lambda)` of the error along an eigenvector obeys, as d grows, with time in
epochs of :math:`m = \rho d` updates and :math:`\langle\cdot\rangle` the mean over the spectrum,

.. math:: s' = \rho\,(-2 \eta \lambda s + \eta^2 \lambda \langle \lambda s \rangle), \qquad s(0) = 1.

The test loss is :math:`\langle s \rangle`, the training loss :math:`\langle \lambda s \rangle`, and the trace decrement
identity links them: :math:`\langle s \rangle' = -\rho \eta (2-\eta) \langle \lambda s \rangle`. The right-hand
side is a diagonal plus a rank-one symmetric operator, so both losses are sums of decaying exponentials with
positive weights,

.. math:: \text{test}(n) = \int e^{-2\eta\rho n x}\,d\mu(x), \qquad
   \text{train}(n) = \int \frac{x}{1-\eta/2}\, e^{-2\eta\rho n x}\,d\mu(x),

and every function here computes the measure μ: in closed form for Marchenko–Pastur (`test_loss`, `train_loss`), from
the secular equation for a sample spectrum (`curve`), through its Cauchy transform for a population spectrum
(`population_curve`), and by Lanczos for the exact finite-d dynamics of a given matrix (`expected_curve`). Nothing
cancels in these sums. How it is known: for rows with a Haar left basis, Gaussian rows among them, the ODE is **proved**
at every fixed n, in the mean over the draws (the book's pages of proofs; the deviations are seen to be of order 1/d);
what follows from it, and `expected_curve`, is **proved**. For other rows the ODE is **derived**.
"""

import dataclasses
import functools

import numpy as np
import scipy.linalg

from edgelaw._common import arguments, threads
from edgelaw._common.compiled import compiled
from edgelaw._common.types import Array, ArrayLike, FloatOrArray
from edgelaw.curves import LearningCurve
from edgelaw.exact import agreement, silverstein, sources
from edgelaw.exact.batches import edges, requests
from edgelaw.exact.iid import batches as batch_iid
from edgelaw.laws import EdgeFit, MarchenkoPastur

__all__ = [
    "curve",
    "curve_at",
    "edge_law",
    "effective_step",
    "expected_curve",
    "population_constants",
    "population_curve",
    "rate_density",
    "test_constant",
    "test_loss",
    "train_constant",
    "train_loss",
]

_SMALLEST = 1e-100  # of the largest eigenvalue: what is smaller would take 10^100 epochs to move
_ROUNDING = 2e-12  # stated at least: rates are exact to some 1e-16, of which n makes more


def test_loss(n: ArrayLike, step: float = 1.0, rho: float = 1.0) -> FloatOrArray:
    r"""Test loss after n epochs for isotropic Gaussian rows, m = ρ d, as d → ∞.

    In the angle of the Marchenko–Pastur law, :math:`\lambda = |1 - r e^{i\theta}|^2` with :math:`r = \rho^{-1/2}`,

    .. math::

       \begin{gathered}
       \max(0, 1-\rho) + \frac2\pi \int_0^\pi e^{-2\eta\rho n\lambda}\,
       \frac{a^2 \sin^2\theta}{\lambda\, \lvert P(e^{i\theta})\rvert^2}\, d\theta,
       \\ P(w) = b w^2 - b (r + 1/r) w + 1,
       \end{gathered}

    with :math:`b = \eta/2`, :math:`a = 1 - b`; and where the step exceeds :math:`2/(r + 1/r - 1)`, which it cannot at
    ρ = 1, one isolated exponential that decays more slowly than the edge of the spectrum.

    Parameters
    ----------
    n : int or array of int
        Epochs, non-negative.
    step : float
        η, in (0, 2).
    rho : float
        m/d, positive.

    Returns
    -------
    float or ndarray
        Of the shape of n. Relative accuracy about 1e-13 for steps up to 1.99, for any n at ρ = 1 and down to 1e-250 at
        other ρ; below 1e-300 the value is 0.0.

    Examples
    --------
    >>> [round(float(x), 6) for x in test_loss([0, 1, 100])]
    [1.0, 0.501944, 0.040083]
    """
    return _gaussian(n, step, rho)[0]


def train_loss(n: ArrayLike, step: float = 1.0, rho: float = 1.0) -> FloatOrArray:
    r"""Training loss after n epochs for isotropic Gaussian rows, m = ρ d, as d → ∞.

    The integral of `test_loss` with :math:`\lambda/a` in it, starting at 1; parameters and accuracy as there.

    Examples
    --------
    >>> [round(float(x), 6) for x in train_loss([0, 1, 100])]
    [1.0, 0.244628, 0.000202]
    """
    return _gaussian(n, step, rho)[1]


def rate_density(x: ArrayLike, step: float = 1.0, rho: float = 1.0) -> FloatOrArray:
    r"""Density of the measure μ of decay rates for isotropic Gaussian rows: what noise makes of the spectrum.

    It is the Marchenko–Pastur density times :math:`a^2/(a^2 - 2 a b\,x \cos\theta/r + b^2 x^2/r^2)` with
    :math:`\cos\theta = (1 + r^2 - x)/(2r)`, :math:`r = \rho^{-1/2}`, :math:`b = \eta/2`, :math:`a = 1 - b`: a factor
    that tends to 1 as x → 0, so that at ρ = 1 the noise leaves the left edge alone. Zeros and an isolated rate are
    not in it.

    Examples
    --------
    >>> round(float(rate_density(1e-8) / MarchenkoPastur().pdf(1e-8)), 6)
    1.0
    """
    step, rho = arguments.step(step), arguments.aspect(rho)
    a, b, r = 1 - step / 2, step / 2, rho**-0.5
    density = MarchenkoPastur(rho).pdf(x)
    x = np.asarray(x, dtype=float)
    return density * a**2 / (a**2 - a * b * x * (1 + r**2 - x) / r**2 + (b * x / r) ** 2)


def test_constant(step: float = 1.0) -> float:
    r"""The limit of :math:`\sqrt n` times the test loss at ρ = 1: :math:`1/\sqrt{2\pi\eta}`.

    Examples
    --------
    >>> round(test_constant(), 6)
    0.398942
    """
    return float((2 * np.pi * arguments.step(step)) ** -0.5)


def train_constant(step: float = 1.0) -> float:
    r"""The limit of :math:`n^{3/2}` times the training loss at ρ = 1: :math:`1/(2\sqrt{2\pi}\,\eta^{3/2}(2-\eta))`.

    Examples
    --------
    >>> round(train_constant(), 6)
    0.199471
    """
    step = arguments.step(step)
    return test_constant(step) / (2 * step * (2 - step))


def effective_step(step: float, eigenvalues: ArrayLike | None = None, batch: int = 1) -> float:
    r"""The step of gradient descent with the same test-loss edge: the step itself, whatever the spectrum.

    On a spectrum with a left edge :math:`F \approx Q\lambda^\beta` at zero, any β > 0, both test losses tend to
    :math:`Q\,\Gamma(\beta+1)(2\eta n)^{-\beta}`. (Gradient descent may be unstable at that step; IID is not.)

    *Domain.* m = d, any rows for which the mean square obeys this module's equation; clustered rows too. Its
    corrections are of order 1/n, with a factor that grows as the step nears 2. **Proved** for the large-d equation.

    *With batches* of b rows, averaged, at τ = η/b per row and κ = b/m, the effective step is that of gradient descent
    with one full update per epoch, on XᵀX/m of mean eigenvalue 1: τ itself for b = m, and what it was for b = 1.
    Here it is the step per row, τ; with a shorter last batch, so L updates per epoch, Lη/m. With ``batch`` > 1
    eigenvalues are required, since their number is m = d, and a step beyond stability is refused.

    Examples
    --------
    >>> effective_step(1.5)
    1.5
    >>> effective_step(8.0, np.linspace(0.0, 2.0, 64), batch=16)
    0.5
    """
    if not requests.single_rows(batch):
        cut = edges.of_sample("iid", eigenvalues, step, batch).cut
        return float(cut.kappas @ cut.taus)
    if eigenvalues is not None:
        arguments.eigenvalues(eigenvalues, fewest=1, nonzero=True)
    return arguments.step(step)


def edge_law(n: ArrayLike, edge: EdgeFit, step: float = 1.0) -> tuple[Array, Array]:
    r"""What the left edge says of both losses at m = d: the theorem's two power laws.

    .. math:: \text{test} \sim Q\,\Gamma(\beta+1)(2\eta n)^{-\beta}, \qquad
       \text{train} \sim \frac{\beta}{\eta(2-\eta)}\, Q\,\Gamma(\beta+1)(2\eta)^{-\beta} n^{-\beta-1},

    for an edge at zero and any β > 0. Proved for the large-d equations of `curve`; on Marchenko–Pastur the relative
    error is of order 1/n.

    Parameters
    ----------
    n : int or array of int
        Epochs, positive.
    edge : edgelaw.laws.EdgeFit
        With ``lambda_0`` = 0: beyond a gap the noise changes the rate itself, and no such law holds.
    step : float
        In (0, 2).

    Returns
    -------
    tuple of (float or ndarray)
        Test and training loss.

    Examples
    --------
    >>> test, train = edge_law(100, MarchenkoPastur().edge)
    >>> round(float(test), 6), round(float(train), 6)
    (0.039894, 0.000199)
    """
    n, step = arguments.counts(n, "n"), arguments.step(step)
    if edge.lambda_0 != 0:
        raise ValueError(f"edge must sit at zero (lambda_0 = 0), not at {edge.lambda_0:g}.")
    if (n == 0).any():
        raise ValueError("n must be positive: a power law has no value at n = 0.")
    test = edge.laplace(2.0 * step * n)
    return test, edge.beta / (step * (2 - step)) * test / n


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

    The roots :math:`x_i` of :math:`1 + \frac{\eta}{2d} \sum_j \lambda_j^2/(x - \lambda_j) = 0` are the decay rates.
    They are computed from the equivalent equation in 1/x, where the rank-one term is positive, by their distances from
    the nearest eigenvalues, which keeps them relatively accurate.

    Parameters
    ----------
    eigenvalues : array_like
        Eigenvalues of :math:`X^\top X/m`, zeros included, at least 20 of them, in any order and on any scale: they
        are divided by their mean, because the normalised update does not see the scale of the rows and, with rows of
        norm √d, that mean is 1. (If row norms vary, what counts is the spectrum of the normalised rows,
        ``edgelaw.data.normalize_rows``.)
    epochs : int or array of int
        Up to which epoch, or the epochs wanted; 0 is always among those returned.
    step : float
        η, in (0, 2); with a batch, below the limit of stability.
    rho : float
        m/d: rows drawn per epoch, over d.
    weights : array_like, optional
        The share of the spectrum at each eigenvalue, if not equal: the nodes and weights of a quadrature, say,
        make this the curve of a continuous law, with any number of nodes.
    batch : int
        Rows b per averaged update, each of which moves the weights by step/b; the last batch of an epoch is shorter
        if b does not divide m. The number of eigenvalues is then d.

    Returns
    -------
    LearningCurve
        Standard errors are NaN: nothing was drawn. `error` is how far the two losses are from 1 at n = 0, and 2e-12
        for what rounding may do at other n.

    Notes
    -----
    The equations are solved to a relative accuracy of about 1e-12 at any n. They are those of d → ∞: at a finite d
    the true mean losses differ by a relative O(1/d), which `expected_curve` has exactly.

    Examples
    --------
    A flat spectrum: test and training loss are :math:`e^{-\eta(2-\eta)n}`.

    >>> [round(float(x), 6) for x in curve(np.ones(20), epochs=1).test]
    [1.0, 0.367879]
    """
    if not requests.single_rows(batch):
        return _batch_curve(eigenvalues, sources.recorded(epochs), step, rho, weights, batch)
    return _curve(eigenvalues, sources.recorded(epochs), step, rho, weights)


def _batch_curve(eigenvalues, n, step, rho, weights, batch):
    """The curve of averaged batches, by the recursion over updates."""
    values, shares = sources.sample(eigenvalues, weights, _SMALLEST)
    partition, step, _ = requests.requested(eigenvalues, batch, step, rho, weights)
    rule = batch_iid.of_sample(values, shares)
    _refuse_beyond(rule, values[-1], partition, step)
    test, train = batch_iid.losses(rule, partition, n)
    return agreement.learning_curve(n, test, train, _ROUNDING)


def _refuse_beyond(rule, largest, partition, step):
    """Refuse a step at which the mean square of the error does not decay."""
    if not batch_iid.stable(rule, largest, partition):
        limit = batch_iid.limit(rule, largest, partition) * step
        raise ValueError(
            f"step must be below {limit:.6g}, where IID with these batches becomes unstable, not {step:g}."
        )


@threads.one_blas_thread()
def curve_at(
    eigenvalues: ArrayLike,
    times: ArrayLike,
    step: float = 1.0,
    rho: float = 1.0,
    weights: ArrayLike | None = None,
) -> LearningCurve:
    """The learning curve of `curve` at any times, in epochs: to this order an epoch is nothing special.

    Parameters
    ----------
    eigenvalues, step, rho, weights
        As in `curve`.
    times : array_like
        Non-negative numbers of epochs; 0 is always among those returned.

    Returns
    -------
    LearningCurve
        Its `epochs` are the times, ascending.

    Examples
    --------
    >>> [round(float(x), 6) for x in curve_at(np.ones(20), 0.5).test]
    [1.0, 0.606531]
    """
    n = np.union1d(arguments.real_array(np.atleast_1d(times), "times", 1), 0)
    if n[0] < 0:
        raise ValueError("times must not be negative.")
    return _curve(eigenvalues, n, step, rho, weights)


def _curve(eigenvalues, n, step, rho, weights):
    step, rho = arguments.step(step), arguments.aspect(rho)
    values, shares, null = sources.positive(*sources.sample(eigenvalues, weights, _SMALLEST))
    rates, parts = _modes(values, shares, step)
    losses = parts, parts * rates / (1 - step / 2)
    error = _ROUNDING + max(abs(losses[0].sum() / shares.sum() - 1), abs(losses[1].sum() - 1))
    test, train = _decay(n, 2 * step * rho * rates, *losses)
    return agreement.learning_curve(n, null + test, train, error)


@threads.one_blas_thread()
def population_curve(
    covariance_eigenvalues: ArrayLike, epochs: ArrayLike, step: float = 1.0, rho: float = 1.0, batch: int = 1
) -> LearningCurve:
    r"""Learning curve for m = ρ d Gaussian rows of a given covariance, as d → ∞: no data needed.

    With :math:`v` the solution of Silverstein's equation, :math:`x = -1/v + \frac1\rho\langle\tau/(1+\tau v)\rangle`
    over the covariance spectrum τ, and :math:`g = -\rho(1 + xv)`, the Cauchy transform of the training loss's
    measure is :math:`g/(a + b x g)`, with :math:`b = \eta/2`, :math:`a = 1-b`. The losses are its inverse Laplace
    transform, computed on Talbot's contour about the slowest decay rate.

    Parameters
    ----------
    covariance_eigenvalues : array_like
        Non-negative, on any scale; zeros are directions that no row has.
    epochs, step, rho, batch
        As in `curve`; with a batch the number of eigenvalues is d.

    Returns
    -------
    LearningCurve
        With NaN for standard errors. Relative accuracy about 1e-9; `error` is the difference to a contour with
        fewer points, about 1e-11.

    Notes
    -----
    Rows are normalised by the update, which changes nothing as long as their norms concentrate: the squared norm of a
    row fluctuates by a relative :math:`\sqrt{2/r}` with r the effective rank of the covariance.

    Examples
    --------
    >>> curve = population_curve(np.ones(2), epochs=[1, 100])
    >>> [round(float(x), 6) for x in curve.test]
    [1.0, 0.501944, 0.040083]
    """
    if not requests.single_rows(batch):
        return _batch_population_curve(covariance_eigenvalues, sources.recorded(epochs), step, rho, batch)
    step, rho, n = arguments.step(step), arguments.aspect(rho), sources.recorded(epochs)
    values, shares, null = sources.covariance(covariance_eigenvalues, _SMALLEST)
    law = silverstein.Sample(values, shares, rho / (1 - null))
    a, b, rho = 1 - step / 2, step / 2, law.rho
    start = law.leftmost(lambda x, v: a - b * rho * x * (1 + x * v))

    def transforms(x):
        v = law.companion(x)
        g = -rho * (1 + x * v)
        shifted = b * rho * g - a * rho * v if rho < 1 else b * g + a * ((1 - rho) / x - rho * v)
        return np.stack([shifted, g]) / (a + b * x * g)

    losses, error = np.zeros((2, len(n))), 0.0
    if len(n) > 1:
        losses[:, 1:] = silverstein.decay(transforms, 2 * step * rho, start, n[1:])
        again = silverstein.decay(transforms, 2 * step * rho, start, n[1:], points=20)
        with np.errstate(divide="ignore", invalid="ignore"):
            error = np.nanmax(np.abs(again / losses[:, 1:] - 1), initial=0.0)
    test, train = losses
    return agreement.learning_curve(n, null + (1 - null) * (max(0.0, 1 - rho) + test), train, error)


def _batch_population_curve(covariance_eigenvalues, n, step, rho, batch):
    """The curve of averaged batches, by the recursion over updates with two rules for the sample spectrum."""
    values, shares, null = sources.covariance(covariance_eigenvalues)
    partition, step, rho = requests.requested(covariance_eigenvalues, batch, step, rho, null=null)
    law = batch_iid.sample_law(values, shares, rho)
    rules = batch_iid.of_covariance(law, partition, max(int(n[-1]), 1))
    if not (rules and batch_iid.stable(rules[0], law.rightmost(), partition)):
        _refuse_beyond(*batch_iid.narrow(law), partition, step)
    if not rules:
        raise ArithmeticError(
            "No contour around this spectrum lies where the updates contract: take a smaller step or fewer epochs."
        )
    if len(n) == 1:
        return agreement.learning_curve(n, np.ones(1), np.ones(1), 0.0)
    computed = agreement.supporting_epochs(n)
    fine, coarse = (batch_iid.losses(rule, partition, computed) for rule in rules)
    floor = max(_ROUNDING, *(rule.error for rule in rules))
    curve = agreement.vouched(n, computed, fine, coarse, max(0.0, 1 - rho), floor)
    return dataclasses.replace(curve, test=null + (1 - null) * curve.test)


def population_constants(
    covariance_eigenvalues: ArrayLike, step: float = 1.0, batch: int = 1
) -> tuple[float, float]:
    r"""The limits of √n · test and :math:`n^{3/2}` · train at ρ = 1, for Gaussian rows of a given covariance.

    A square sample has the left edge :math:`\beta = \frac12`, :math:`Q = \frac2\pi\sqrt\ell` with
    :math:`\ell = \langle1/\lambda\rangle` over the eigenvalues at mean 1 (:func:`edgelaw.laws.square_edge`), and
    `edge_law` makes of it

    .. math:: \text{test} \sim \sqrt{\frac{\ell}{2\pi\eta n}}, \qquad
       \text{train} \sim \frac{1}{2\eta(2-\eta)}\sqrt{\frac{\ell}{2\pi\eta}}\, n^{-3/2} .

    With averaged batches of b rows, κ = b/d, the step per row τ = η/b stands for η in the first, and in the second
    :math:`2-\eta` becomes :math:`2-2\tau\langle\lambda/(2-\tau\kappa\lambda)\rangle`, the mean over the
    spectrum of the sample:
    what the noise of all other directions adds to that of the slow ones. If b does not divide m, the noise varies
    within an epoch, and the training constant is NaN: it is not known in closed form.

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
    **Proved** for the large-d equation. With equal eigenvalues they are `test_constant` and `train_constant`.

    Examples
    --------
    >>> test, train = population_constants([2.0, 2.0], step=0.5)
    >>> bool(np.isclose(test, test_constant(0.5))), bool(np.isclose(train, train_constant(0.5)))
    (True, True)
    """
    (inverse,) = sources.edge_averages(covariance_eigenvalues, np.reciprocal)
    if not requests.single_rows(batch):
        edge = edges.of_covariance("iid", covariance_eigenvalues, step, batch)
        rate = float(edge.cut.kappas @ edge.cut.taus)
        test = float(np.sqrt(inverse / (2 * np.pi * rate)))
        return test, test / (4 * rate * (1 - edges.iid_noise(edge)))
    step = arguments.step(step)
    factor = inverse**0.5
    return factor * test_constant(step), factor * train_constant(step)


def expected_curve(
    X: ArrayLike, epochs: ArrayLike, step: float = 1.0, tolerance: float = 1e-10
) -> LearningCurve:
    r"""The exact expected learning curve of one data set, over row draws and isotropic starts: no limit, no noise.

    The mean of :math:`w w^\top` obeys
    :math:`M \mapsto \frac1m \sum_i (I - \eta u_i u_i^\top) M (I - \eta u_i u_i^\top)`, a symmetric operator on d × d
    matrices, so :math:`\operatorname{tr} M_k / d` is the k-th moment of a measure on (−1, 1], and Lanczos from M = I
    turns it into a Gauss quadrature. The training loss follows from the trace decrement identity.

    Parameters
    ----------
    X : array (m, d)
        The rows; only their directions matter.
    epochs : int or array of int
        Up to which epoch, or the epochs wanted; 0 is always among those returned.
    step : float
        η, in (0, 2).
    tolerance : float
        Lanczos stops when eight more steps change neither loss by more than this, relatively, at any epoch wanted.

    Returns
    -------
    LearningCurve
        With NaN for standard errors: nothing was drawn. A Lanczos step costs three d × d × m products, and about
        :math:`8\sqrt{n}` of them are needed for n epochs.

    Examples
    --------
    Two orthogonal rows: a start survives an epoch of two draws in the direction not drawn.

    >>> curve = expected_curve(np.diag([1.0, 3.0]), epochs=2)
    >>> curve.test.round(6).tolist()
    [1.0, 0.25, 0.0625]
    """
    X = arguments.matrix(X, minimum=1).astype(np.float64, copy=False)
    norms = np.linalg.norm(X, axis=1)
    if not norms.all():
        raise ValueError(f"X must have no zero row, but row {norms.argmin()} is zero; leave it out.")
    U, n, step = X / norms[:, None], sources.recorded(epochs), arguments.step(step)
    tolerance = arguments.number(tolerance, "tolerance", 0)
    m, d = U.shape
    A = U.T @ U / m

    def generator(M):
        """The change of M by one mean update, m/step times."""
        quadratic = np.einsum("ij,ij->i", U @ M, U)
        change = A @ M
        return step * (U.T * quadratic) @ U - m * (change + change.T)

    losses = np.full((2, len(n)), np.inf)
    for theta, weights in _lanczos(generator, np.eye(d) / np.sqrt(d)):
        previous = losses
        powers = (1 + theta * step / m) ** (m * n[:, None])
        train = -theta / (m / d * (2 - step))
        losses = np.stack([powers @ weights, powers @ (weights * train)])
        if (np.abs(losses - previous) <= tolerance * np.abs(losses) + 1e-300).all():
            break
    test, train = losses
    return agreement.learning_curve(n, test, train, tolerance)


def _gaussian(n, step, rho):
    """Test and training loss for Marchenko–Pastur, of the shape of n."""
    n = arguments.counts(n, "n")
    step, rho = arguments.step(step), arguments.aspect(rho)
    rates, test, train = _marchenko_pastur_rule(step, rho)
    losses = _decay(n.ravel(), 2 * step * rho * rates, test, train) + np.array([[max(0.0, 1 - rho)], [0.0]])
    losses = np.where(n.ravel() == 0, 1.0, losses)
    losses[losses < 1e-300] = 0.0
    return losses.reshape(2, *n.shape) if n.ndim else losses[:, 0].tolist()


@functools.lru_cache(maxsize=64)
def _marchenko_pastur_rule(step, rho):
    r"""Nodes x and weights of the two measures, the isolated rate included, on panels that serve every n.

    The integrand has poles where P vanishes, and that of 1/λ at :math:`\theta = \pm i \ln r`; panels shrink
    geometrically towards the points of the real axis next to them, which are θ = 0 and the argument of a complex zero.
    """
    b = step / 2
    a, r = 1 - b, rho**-0.5
    gap = (r**0.5 - r**-0.5) ** 2  # r + 1/r − 2, without cancellation
    discriminant = gap + gap**2 / 4 - a / b
    if discriminant < 0:  # zeros w, w̄ of modulus b^(−1/2)
        angle = np.arctan2((-discriminant) ** 0.5, 1 + gap / 2)
        beyond = np.expm1(-0.5 * (np.log(b) if b < 0.5 else np.log1p(-a)))
        theta, offset, h = _panels(angle, beyond)
        near, far = (beyond**2 + 4 * (1 + beyond) * np.sin(x / 2) ** 2 for x in (offset, theta + angle))
    else:  # two positive zeros; the smaller may be inside the unit circle
        large = 1 + gap / 2 + discriminant**0.5
        small = 1 / (b * large)
        inside = (a - b * gap) / (b * (1 - large))  # 1 − small
        theta, _, h = _panels(0.0, 1.0)
        near, far = (
            inside**2 + 4 * small * np.sin(theta / 2) ** 2,
            (1 - large) ** 2 + 4 * large * np.sin(theta / 2) ** 2,
        )
    x = r * gap + 4 * r * np.sin(theta / 2) ** 2
    train = 2 / np.pi * h * a * np.sin(theta) ** 2 / (b * b * near * far)
    if discriminant >= 0 and small < 1:
        x = np.append(x, a * r / (b * small))
        train = np.append(train, (1 / small - small) / (b * (large - small)))
    return x, a * train / x, train


def _panels(centre, width):
    """Gauss–Legendre on (0, π), on panels graded towards 0 and, down to the given width, towards the centre."""
    smallest = 1e-12
    edges = [np.concatenate([[0.0], np.geomspace(smallest, np.pi, 60)])]
    anchors = [0.0]
    if centre > 0:
        edges[0] = np.concatenate([[0.0], np.geomspace(smallest, centre / 2, 60)])
        count = max(2, int(2 + np.log2(np.pi / width)))
        left = np.concatenate([[0.0], np.geomspace(min(width, centre / 4) / 2, centre / 2, count)])
        right = np.concatenate([[0.0], np.geomspace(min(width, centre / 4) / 2, np.pi - centre, count + 2)])
        edges += [-left[::-1], right]
        anchors += [centre, centre]
    nodes, weights = np.polynomial.legendre.leggauss(24)
    theta, offset, h = [], [], []
    for anchor, points in zip(anchors, edges, strict=True):
        half = np.diff(points)[:, None] / 2
        local = (points[:-1, None] + half * (1 + nodes)).ravel()
        theta.append(anchor + local)
        offset.append(anchor - centre + local)
        h.append((half * weights).ravel())
    return np.concatenate(theta), np.concatenate(offset), np.concatenate(h)


def _modes(values, shares, step):
    """Decay rates x (in units of 2·step an epoch at m = d) and test weights, for positive values of mean 1."""
    values, shares = _merged(values, shares)
    poles, shares = np.ascontiguousarray(1 / values[::-1]), np.ascontiguousarray(shares[::-1])
    strength = step / 2 / (1 - step / 2)
    roots, slopes, _, _ = secular(poles, strength * shares)
    return 1 / roots, 1 / (strength * slopes)


@compiled
def secular(poles, weights):
    """The roots x of 1 + Σ w/(p − x) = 0, one above each ascending pole p, and the derivative Σ w/(p − x)² there.

    With them the pole next to each root, and the root's distance from it.

    A root is sought as its distance τ from the nearer pole, so that all p − x are relatively accurate. A step
    takes that pole's term as it is, and of the others their sum and its derivative, as a constant and a term at the
    other end of the interval, or at the last root as a line: the root of such an equation is a quadratic's. Steps
    converge quadratically, so that one after a step of 1e-8 is the last.
    """
    count = len(poles)
    roots, slopes, offsets, total = np.empty(count), np.empty(count), np.empty(count), 0.0
    nearest = np.empty(count, dtype=np.int64)
    for i in range(count):
        total += weights[i]
        last = i == count - 1
        width = total if last else poles[i + 1] - poles[i]
        near, tau = i, width / 2
        gaps = poles - poles[near]
        rest, slope = _other_terms(gaps, weights, near, tau)
        if not last and 1 + rest < weights[near] / tau:  # the next pole is nearer: exchange their terms
            rest -= weights[i] / tau + weights[i + 1] / tau
            slope += (weights[i] - weights[i + 1]) / (tau * tau)
            near, width, tau = i + 1, -width, -tau
            gaps = poles - poles[near]
        low, high = min(width, 0.0), max(2 * width if last else width, 0.0)
        converged = False
        for _ in range(200):
            own = weights[near] / tau
            if converged:
                break
            if 1 + rest < own:
                low = tau
            else:
                high = tau
            proposed = _model_root(1 + rest, slope, weights[near], tau, width, last)
            converged = abs(proposed - tau) <= 1e-8 * abs(tau)
            tau = proposed if converged or low < proposed < high else (low + high) / 2
            rest, slope = _other_terms(gaps, weights, near, tau)
        roots[i], slopes[i] = poles[near] + tau, slope + own / tau
        nearest[i], offsets[i] = near, tau
    return roots, slopes, nearest, offsets


@compiled
def _other_terms(gaps, weights, near, tau):
    """Σ w/(p − x) and its derivative at x = p_near + τ from the gaps p − p_near, without the term of that pole."""
    value = slope = 0.0
    for j in range(near):
        inverse = 1 / (gaps[j] - tau)
        value += weights[j] * inverse
        slope += weights[j] * inverse * inverse
    above, heavy = gaps[near + 1 :], weights[near + 1 :]  # indices from 0: a loop for vector registers
    for j in range(len(above)):
        inverse = 1 / (above[j] - tau)
        value += heavy[j] * inverse
        slope += heavy[j] * inverse * inverse
    return value, slope


@compiled
def _model_root(value, slope, weight, tau, width, last):
    """Where value + slope·(x − τ) at the last root, else c + B/(width − x) of this value and slope, is weight/x."""
    if last:
        square, linear, constant = slope, value - slope * tau, -weight
    else:
        far = width - tau
        top = slope * far * far
        level = value - slope * far
        square, linear, constant = -level, level * width + weight + top, -weight * width
    root = np.sqrt(max(linear * linear - 4 * square * constant, 0.0))
    if linear >= 0:
        return -2 * constant / (linear + root)
    return (root - linear) / (2 * square) if square != 0 else tau


def _merged(values, shares, closest=1e-13):
    """The same spectrum with values that agree to thirteen digits made one: no root can be told between them."""
    groups = np.zeros(len(values), dtype=int)
    if (values[1:] > values[:-1] * (1 + closest)).all():
        return values, shares
    first = 0
    for i in range(1, len(values)):
        if values[i] > values[first] * (1 + closest):
            first = i
        groups[i] = first
    _, groups = np.unique(groups, return_inverse=True)
    merged = np.bincount(groups, shares)
    return np.bincount(groups, shares * values) / merged, merged


def _decay(n, rates, *weights):
    """Σ w exp(−rate·n) at each n, a row for each set of weights, without the terms that have vanished."""
    order = np.argsort(rates)
    rates, weights = rates[order], np.stack(weights, axis=1)[order]
    sums = np.empty((len(n), weights.shape[1]))
    for places in np.array_split(np.argsort(n), 1 + len(n) * len(rates) // 2**21):
        earliest = n[places].min() if len(places) else 1
        alive = np.searchsorted(rates, 745 / earliest, side="right") if earliest > 0 else len(rates)
        sums[places] = np.exp(-np.multiply.outer(n[places], rates[:alive])) @ weights[:alive]
    return sums.T


def _lanczos(operator, start):
    """Yield eigenvalues and squared first components of the Lanczos matrix, every eight steps, until it ends."""
    diagonal, off = [], []
    old, new, size = np.zeros_like(start), start, 0.0
    while True:
        image = operator(new) - size * old
        diagonal.append(np.vdot(new, image))
        image -= diagonal[-1] * new
        size = np.linalg.norm(image)
        exhausted = size <= 1e-12 * max(map(abs, diagonal))
        if len(diagonal) % 8 == 0 or exhausted:
            theta, vectors = scipy.linalg.eigh_tridiagonal(diagonal, off)
            yield theta, vectors[0] ** 2
        if exhausted:
            return
        off.append(size)
        old, new = new, image / size
