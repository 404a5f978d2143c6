r"""IID on any spectrum: the secular equation of a sample, Silverstein's of a covariance, Lanczos for one data set."""

import dataclasses

import numpy as np
import scipy.linalg

from edgelaw._common import arguments, threads
from edgelaw._common.compiled import compiled
from edgelaw._common.types import ArrayLike
from edgelaw.curves import LearningCurve
from edgelaw.exact import agreement, silverstein, sources
from edgelaw.exact.batches import edges, requests
from edgelaw.exact.iid import batches as batch_iid
from edgelaw.theory import iid

_SMALLEST = 1e-100  # of the largest eigenvalue: what is smaller would take 10^100 epochs to move
_ROUNDING = 2e-12  # stated at least: rates are exact to some 1e-16, of which n makes more


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
    test, train = iid.decaying(n, 2 * step * rho * rates, *losses)
    return agreement.learning_curve(n, null + test, train, error)


def population_curve(
    covariance_eigenvalues: ArrayLike, epochs: ArrayLike, step: float = 1.0, rho: float = 1.0, batch: int = 1
) -> LearningCurve:
    r"""Learning curve for m = ρ d Gaussian rows of a given covariance, as d → ∞: no data needed.

    With :math:`v` the solution of Silverstein's equation, :math:`x = -1/v + \frac1\rho\langle\tau/(1+\tau v)\rangle`
    over the covariance spectrum τ, and :math:`g = -\rho(1 + xv)`, the Cauchy transform of the training loss's
    measure is :math:`g/(a + b x g)`, with :math:`b = \eta/2`, :math:`a = 1-b`. The losses are its inverse Laplace
    transform, computed on Talbot's contour about the slowest decay rate.
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


def constants(covariance_eigenvalues: ArrayLike, step: float = 1.0, batch: int = 1) -> tuple[float, float]:
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
    """
    (inverse,) = sources.edge_averages(covariance_eigenvalues, np.reciprocal)
    if not requests.single_rows(batch):
        edge = edges.of_covariance("iid", covariance_eigenvalues, step, batch)
        rate = float(edge.cut.kappas @ edge.cut.taus)
        test = float(np.sqrt(inverse / (2 * np.pi * rate)))
        return test, test / (4 * rate * (1 - edges.iid_noise(edge)))
    step = arguments.step(step)
    factor = inverse**0.5
    return factor * iid.test_constant(step), factor * iid.train_constant(step)


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
    """
    if not requests.single_rows(batch):
        cut = edges.of_sample("iid", eigenvalues, step, batch).cut
        return float(cut.kappas @ cut.taus)
    if eigenvalues is not None:
        arguments.eigenvalues(eigenvalues, fewest=1, nonzero=True)
    return arguments.step(step)
