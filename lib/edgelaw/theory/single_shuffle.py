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

   \Phi = \frac{(1-u)\, g g'}{\eta^2 (1-v)(1-v')(1-K)}, \qquad
   \Psi = \frac{1}{1-K}\Bigl\{\frac{g + g'}{\eta} - 1 - \frac{2-\eta}{\eta}\,
          \frac{u\,(e^{\rho(1-u)gg'}-1)}{\rho\,(1-u)}\Bigr\}.

The test loss after n epochs is :math:`[z^n w^n]\Phi`, the training loss :math:`[z^n w^n]\Psi`; both are 1 at n = 0.
(The paper's training loss is :math:`\rho\Psi`: its S starts at :math:`\rho`.) *Derived*: self-averaging of quadratic
forms is assumed; everything after it is exact.

The double contour integral stays inside the region where :math:`\Phi(z, \bar z)` is finite, which is where
:math:`\rho` times the logarithmic mean of :math:`\|v\|^2` and :math:`\|g\|^2` is less than 1 (outside the cloud of A's
eigenvalues); there, by Cauchy and Schwarz, :math:`\Phi` has no singularity in either variable.
"""

import dataclasses
import functools
import itertools
import math
from fractions import Fraction

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaincc

from edgelaw._common import arguments
from edgelaw.theory import levy, series
from edgelaw.theory._any_spectrum import common, shuffle_pairs
from edgelaw.theory._any_spectrum import shuffle_contour as contours

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


_WORK = 6e7  # nodes cubed times epochs squared, for a sample with m ≠ d: ten to twenty seconds

# ------------------------------------------------------------------------------------------------ the exact curves


def test_loss(n, step=1.0, rho=1.0):
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


def train_loss(n, step=1.0, rho=1.0):
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


def generating_functions(v, v2, step=1.0, rho=1.0):
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
    n = _epochs(n)
    model = contours.model(arguments.step(step), arguments.aspect(rho))
    wanted, where = np.unique(n, return_inverse=True)
    values = np.ones(len(wanted))
    octave = np.where(wanted > 0, np.floor(np.log2(np.maximum(wanted, 1))), -1)
    for k in np.unique(octave[wanted > 0]):
        group = wanted[octave == k]
        values[octave == k], error = model.diagonals(loss, group, 1e-10)
        if error > 1e-6:
            raise ValueError(
                f"The {loss} loss at {group[-1]} epochs, step {step:g} and rho {rho:g} needs more nodes than are "
                "allowed: take fewer epochs, a smaller step or a rho closer to 1."
            )
    return values[where].reshape(n.shape)[()]


def _epochs(n):
    """An array of non-negative integers."""
    array = np.asarray(n)
    if array.dtype.kind not in "iu" or (array < 0).any():
        raise ValueError(f"n must be a non-negative integer or an array of them, not {n!r}.")
    return array.astype(np.int64)


# --------------------------------------------------------------------------------------------------- any spectrum


def curve(eigenvalues, epochs, step=1.0, rho=1.0, weights=None):
    r"""Learning curve on a given sample spectrum, as d → ∞ with the rows' left basis Haar.

    Both losses depend on the rows only through :math:`K = U U^\top`, whose eigenvectors are Haar for Gaussian rows
    of any covariance: the eigenvalues are enough. They enter through their free cumulants
    (:mod:`edgelaw.theory.levy`):
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
        η, in (0, 2).
    rho : float
        m/d.
    weights : array_like, optional
        The share of the spectrum at each eigenvalue, if not equal: the nodes and weights of a quadrature make this
        the curve of a continuous law, with any number of nodes.

    Returns
    -------
    LearningCurve
        Standard errors are NaN: nothing was drawn. `error` is the largest relative difference between two
        resolutions, usually 1e-7 to 1e-4.

    Raises
    ------
    ArithmeticError
        If that difference exceeds 1e-3, as on a spectrum with a gap at zero after many epochs, where nothing is left
        to compute; or if the step is close to 2 and more than 128 epochs are asked for; or if m and d differ and the
        computation would take too long (about 30 epochs on a broad spectrum).

    Notes
    -----
    *Derived*: self-averaging of quadratic forms is assumed, everything after it is exact. Matrices of size d deviate by
    a relative O(1/d), or O(1/effective rank). A second or two for 512 eigenvalues and 50 epochs at steps up to
    1.5; larger n costs little more.

    Examples
    --------
    Orthogonal rows: an epoch multiplies every coordinate by 1 − η.

    >>> [round(float(x), 6) for x in curve(np.ones(30), epochs=2, step=0.5).test]
    [1.0, 0.25, 0.0625]
    """
    step, n = arguments.step(step), common.recorded(epochs)
    rho, (values, shares) = arguments.aspect(rho), common.sample(eigenvalues, weights)
    last = max(int(n[-1]), 1)
    gram, parts = levy.companion(values, shares, rho)
    reach = 1 / (parts / (gram + 1.5 * max(1 / step - 0.5, 0.1) / last)).sum() / rho
    averages = common.sample_averages(values, shares, reach, rho)
    nodes = len(averages[0].nodes)
    if rho != 1 and nodes**3 * last**2 > _WORK:
        raise ArithmeticError(
            f"Single shuffle's contours for {last} epochs and {nodes} nodes of the average take too long where m and d "
            "differ: ask for fewer epochs."
        )
    return _any_spectrum(n, step, rho, *averages)


def population_curve(covariance_eigenvalues, epochs, step=1.0, rho=1.0):
    r"""Learning curve for m = ρ d Gaussian rows of a given covariance, as d → ∞: no data needed.

    The formulas of `curve`, with the average over the covariance's eigenvalues.

    Parameters
    ----------
    covariance_eigenvalues : array_like
        Non-negative, on any scale; zeros are directions that no row has.
    epochs, step
        As in `curve`.
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
    step, n = arguments.step(step), common.recorded(epochs)
    rho = arguments.aspect(rho)
    values, shares, null = common.covariance(covariance_eigenvalues)
    reach = 0.1 * np.sqrt(1.0 / max(int(n[-1]), 1))
    averages = [levy.from_covariance(values, shares, reach, tolerance) for tolerance in (1e-10, 1e-8)]
    found = _any_spectrum(n, step, rho / (1 - null), *averages)
    return dataclasses.replace(found, test=null + (1 - null) * found.test)


def population_constants(covariance_eigenvalues, step=1.0):
    r"""The limits of √n · test and :math:`n^{3/2}` · train at ρ = 1, for Gaussian rows of a given covariance.

    With :math:`a = 1/\eta - 1/2`, v the variance of the eigenvalues (mean 1) and
    :math:`\ell = \langle1/\lambda\rangle`,

    .. math:: \text{test} \sim \sqrt{\frac{\ell a}{2\pi n}}, \qquad
       \text{train} \sim \frac{\sqrt{\ell}\,(a^2 + \frac14 + \frac v6)}{4\sqrt{2\pi a}}\, n^{-3/2} .

    Parameters
    ----------
    covariance_eigenvalues : array_like
        Positive, on any scale. A zero would leave a constant test loss, and no power law.
    step : float
        In (0, 2).

    Returns
    -------
    tuple of float
        The constants of the test and of the training loss.

    Notes
    -----
    The test constant is *derived*, the v/6 of the training constant *fitted* to `population_curve` (it is exact to
    seven digits there). They set in late for broad spectra: beyond :math:`\ell\,(1+v)^2/(144 a^3)` epochs.

    Examples
    --------
    >>> test, train = population_constants([2.0, 2.0], step=0.5)
    >>> bool(np.isclose(test, test_constant(0.5))), bool(np.isclose(train, train_constant(0.5)))
    (True, True)
    """
    a = 1 / arguments.step(step) - 0.5
    second, inverse = common.edge_averages(covariance_eigenvalues, np.square, np.reciprocal)
    variance = second - 1
    test = np.sqrt(inverse * a / (2 * np.pi))
    train = np.sqrt(inverse / (2 * np.pi * a)) * (a**2 + 1 / 4 + variance / 6) / 4
    return float(test), float(train)


def _any_spectrum(n, step, rho, fine, coarse):
    """The learning curve from the average at two resolutions."""
    samples = 12 + 2.5 * np.sqrt(3 * rho * np.abs(fine.nodes).max())
    resolutions = [
        shuffle_pairs.Pairs(fine, step, rho, int(samples)),
        shuffle_pairs.Pairs(coarse, step, rho, int(0.8 * samples)),
    ]
    found = shuffle_pairs.coefficients(*resolutions, n[1:])
    return common.vouched(n, *found)


# -------------------------------------------------------------------------------------- constants at the edge, rho = 1


def test_constant(step=1.0):
    r""":math:`\lim \sqrt n \cdot` test loss at rho = 1: :math:`\sqrt{a/2\pi}` with :math:`a = 1/\eta - 1/2`. *Derived.*

    Examples
    --------
    >>> round(float(test_constant() * 2 * np.sqrt(np.pi)), 12)
    1.0
    """
    return np.sqrt((1 / arguments.step(step) - 0.5) / (2 * np.pi))


def train_constant(step=1.0):
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
    return (a**2 + 0.25) / (4 * np.sqrt(2 * np.pi * a))


def effective_step(step, eigenvalues=None):
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

    Examples
    --------
    >>> float(effective_step(1.0))
    2.0
    """
    if eigenvalues is not None:
        arguments.real_array(eigenvalues, "eigenvalues", 1)
    return 1 / (1 / arguments.step(step) - 0.5)


# ---------------------------------------------------------------------------------- step 1: sums over Poisson weights


def queue_weights(count, rho=1.0):
    r"""The weights :math:`H_k` and :math:`G_k`, k < ``count``, of the sums for the two losses at step 1.

    .. math:: \sum_k H_k u^k = \frac{1-u}{1 - u e^{\rho(1-u)}}, \qquad
              \sum_k G_k u^k = \frac{1}{1-u} - \frac{1-\rho}{1 - u e^{\rho(1-u)}} .

    For rho < 1 they are probabilities: a queue with Poisson arrivals at rate rho and unit service (M/D/1) holds k
    customers with probability :math:`(1-\rho) H_k` and more than k with probability :math:`G_k` (the first formula
    is Pollaczek and Khinchine's). At rho = 1 H tends to 2, faster than :math:`8^{-k}`, and G is 1. For rho > 1 both
    grow like :math:`c^{-k}`, c the solution of :math:`c\,e^{\rho(1-c)} = 1` below 1. The pole at c is split off and
    the rest found by one FFT: relative accuracy about 1e-13. *Exact.*

    Examples
    --------
    >>> H, G = queue_weights(3)
    >>> [round(float(h), 9) for h in H], round(float(np.e - 1), 9), round(float(np.e**2 - 2 * np.e), 9)
    ([1.0, 1.718281828, 1.952492442], 1.718281828, 1.952492442)
    >>> [round(float(g), 9) for g in G]
    [1.0, 1.0, 1.0]
    """
    count, rho = arguments.whole(count, "count", 1), arguments.aspect(rho)
    H, G, log_c = _scaled_weights(count, rho)
    with np.errstate(over="ignore"):
        growth = np.exp(-log_c * np.arange(count))
    return H * growth, G * growth


def _scaled_weights(count, rho):
    """H_k c^k, G_k c^k and log c."""
    delta = _queue_pole(rho)
    c = 1 - delta
    ratio = 0.5 + delta / 3 + delta**2 / 4 if abs(delta) < 1e-4 else (rho - 1) / delta  # (ρ − 1)/(1 − c)
    residue = 1 / (rho - ratio)

    def rest(s):
        u = c * s
        pole = 1 - u * np.exp(rho * (1 - u))
        return (1 - u) / pole - residue / (1 - s), 1 / (1 - u) - (1 - rho) / pole - ratio * residue / (1 - s)

    radius = 1.3
    H, G = (series.coefficients(lambda s, i=i: rest(s)[i], min(count, 200), radius) for i in (0, 1))
    pad = (0, count - len(H))
    return residue + np.pad(H, pad), ratio * residue + np.pad(G, pad), np.log1p(-delta)


def _queue_pole(rho):
    """δ = 1 − c, where log c + ρ(1 − c) = 0 and c ≠ 1 (unless ρ = 1), without loss of digits near ρ = 1."""

    def excess(delta):
        if abs(delta) < 1e-2:
            return sum(delta**j / (j + 1) for j in range(1, 9)) - (rho - 1)
        return -np.log1p(-delta) / delta - rho

    low = -1.0
    while excess(low) > 0:
        low *= 2
    high = 0.5
    while excess(high) < 0:
        high = (1 + high) / 2
    return brentq(excess, low, high, xtol=1e-300, rtol=1e-15)


def test_sum(n, rho=1.0):
    r"""The test loss at step 1 as a sum of n + 1 squares that can be done by hand for n = 1, 2, 3.

    .. math:: c_n = \sum_{k=0}^n H_k \bigl[(1-\rho) P(N \le n-k) + \rho\, P(N = n-k)\bigr]^2,
              \qquad N \sim \mathrm{Poisson}(\rho n),

    with the :math:`H_k` of :func:`queue_weights`; the k = 0 bracket is the trace moment
    :math:`E \operatorname{tr} A^n/d`. Another route to :func:`test_loss`, for one n at a time. *Exact*, given
    the generating function.

    Examples
    --------
    >>> bool(np.isclose(test_sum(1), np.exp(-1), rtol=1e-12))
    True
    """
    n, rho = arguments.whole(n, "n", 0), arguments.aspect(rho)
    if n == 0:
        return 1.0
    k = np.arange(n + 1)
    H, _, log_c = _scaled_weights(n + 1, rho)
    below = (1 - rho) * gammaincc(n - k + 1, rho * n) if rho != 1 else 0.0
    bracket = below + rho * series.poisson(n - k, rho * n)
    return float(np.sum(H * (bracket * np.exp(-log_c * k / 2)) ** 2))


def train_sum(n, rho=1.0):
    r"""The training loss at step 1 as a sum of n squares; at rho = 1 every :math:`G_k` is 1.

    .. math:: \frac1\rho \sum_{k=1}^n G_k \Bigl(\frac kn\Bigr)^2 P(N = n-k)^2, \qquad N \sim \mathrm{Poisson}(\rho n).

    *Exact*, given the generating function.

    Examples
    --------
    At rho = 1 and n = 2: :math:`e^{-4}\,(\tfrac14 \cdot 2^2 + 1)`.

    >>> bool(np.isclose(train_sum(2), 2 * np.exp(-4), rtol=1e-12))
    True
    """
    n, rho = arguments.whole(n, "n", 0), arguments.aspect(rho)
    if n == 0:
        return 1.0
    k = np.arange(n + 1)
    _, G, log_c = _scaled_weights(n + 1, rho)
    return float(np.sum(G * (k / n * series.poisson(n - k, rho * n) * np.exp(-log_c * k / 2)) ** 2) / rho)


# ---------------------------------------------------------------------------- step 1, rho 1: asymptotic expansions


def test_expansion(n, terms=4):
    r"""The first terms of the test loss at step 1 and rho 1 for large n, with exact coefficients.

    .. math:: c_n \sim \frac{1}{2\sqrt\pi}\, n^{-1/2} + \frac{1}{6\pi}\, n^{-1} + \frac{1}{32\sqrt\pi}\, n^{-3/2}
              + \frac{13}{540\pi}\, n^{-2} + \dots

    Every coefficient is a rational over :math:`\sqrt\pi` or :math:`\pi` in turn, from :func:`expansion`.
    *Proved*, given the sum :func:`test_sum`.

    Examples
    --------
    >>> bool(abs(test_expansion(1000, terms=6) / test_loss(1000) - 1) < 1e-9)
    True
    """
    return _evaluate(expansion("test", terms), n)


def train_expansion(n, terms=4):
    r"""The same for the training loss, :math:`\frac{1}{8\sqrt\pi} n^{-3/2} + \frac{1}{12\pi} n^{-2} + \dots`.

    Examples
    --------
    >>> bool(abs(train_expansion(1000, terms=6) / train_loss(1000) - 1) < 1e-9)
    True
    """
    return _evaluate(expansion("train", terms), n)


def _evaluate(coefficients, n):
    n = np.asarray(n, dtype=np.float64)
    if not (n > 0).all():
        raise ValueError("n must be positive: the expansion is one for large n.")
    return sum(float(c) / np.pi**over * n ** -float(power) for power, c, over in coefficients)


def expansion(loss, terms):
    r"""Exact coefficients: a list of (power, c, over), each for a term :math:`c\,\pi^{-over}\, n^{-power}`.

    At step 1 and rho 1, with p = 1 − v and w = p + q − pq, both losses are

    .. math:: \Bigl(\frac{1}{2\pi i}\Bigr)^2 \iint f\; e^{n(\gamma(p) + \gamma(q))}\, dp\, dq, \qquad
              \gamma(p) = \frac{p^2}{2} + \frac{p^3}{3} + \dots,

    with :math:`f = w/\bigl((1-w)(1-(1-w)e^w)\bigr)` for test and :math:`pq/(w(1-w))` for training. Scaling
    :math:`p \to p/\sqrt n` leaves integrals of :math:`p^a q^b (p+q)^{-m} e^{(p^2+q^2)/2}`, which are
    :math:`\int_0^\infty \frac{s^{m-1}}{(m-1)!} \mathrm{He}_a(s) \mathrm{He}_b(s)\, \frac{e^{-s^2}}{2\pi}\, ds`.

    Examples
    --------
    >>> [str(c) for _, c, _ in expansion("test", 2)], [str(c) for _, c, _ in expansion("train", 2)]
    (['1/2', '1/6'], ['1/8', '1/12'])
    """
    arguments.choice(loss, "loss", ("test", "train"))
    return _expansion(loss, arguments.whole(terms, "terms", 1))


@functools.lru_cache(maxsize=16)
def _expansion(loss, terms):
    shift = 0 if loss == "test" else 2  # f starts at degree -1 or, thanks to the factor pq, +1
    outer = _outer_series(loss, terms)
    inner = _exponential_series(terms)
    found = []
    for order in range(terms):  # n^(-1/2 - shift/2 - order/2)
        total = [Fraction(0), Fraction(0)]
        for i in range(order + 1):  # the term w^(i-1) of f
            for j in range(order - i + 1):  # w^(i-1) contains (pq)^j (p+q)^(i-1-j)
                binomial = _binomial(i - 1, j) * (-1) ** j * outer[i]
                for r in range(order - i - j + 1):
                    s = order - i - j - r
                    for (a, x), (b, y) in itertools.product(inner[r].items(), inner[s].items()):
                        extra = j + (shift > 0)
                        for which, value in enumerate(_integral(a + extra, b + extra, 1 + j - i)):
                            total[which] += binomial * x * y * value
        power = Fraction(1 + shift + order, 2)
        found.append((power, total[order % 2], 0.5 if order % 2 == 0 else 1))
        assert total[1 - order % 2] == 0
    return found


def _outer_series(loss, terms):
    """Coefficients of w·f, or of w·f/(pq), in powers of w."""
    if loss == "train":
        return [Fraction(1)] * terms
    bottom = [Fraction(k + 1, math.factorial(k + 2)) for k in range(terms)]
    bottom = [bottom[k] - (bottom[k - 1] if k else 0) for k in range(terms)]
    top = []
    for k in range(terms):
        top.append((Fraction(k == 0) - sum(bottom[k - i] * top[i] for i in range(k))) / bottom[0])
    return top


def _exponential_series(terms):
    """Polynomials e_r(p) = Σ coefficient·p^a with exp(Σ_r x^r p^(r+2)/(r+2)) = Σ_r x^r e_r(p)."""
    found = [{0: Fraction(1)}]
    for r in range(1, terms):
        new = {}
        for i in range(1, r + 1):
            for a, x in found[r - i].items():
                new[a + i + 2] = new.get(a + i + 2, 0) + Fraction(i, (i + 2) * r) * x
        found.append(new)
    return found


def _binomial(top, j):
    """The binomial coefficient for any integer ``top``."""
    value = Fraction(1)
    for i in range(j):
        value = value * (top - i) / (i + 1)
    return value


@functools.cache
def _hermite(a):
    """Coefficients of the monic Hermite polynomial He_a, from the constant up."""
    if a < 2:
        return [0] * a + [1]
    older, old = _hermite(a - 2), _hermite(a - 1)
    new = [0, *old]
    for k, c in enumerate(older):
        new[k] -= (a - 1) * c
    return new


@functools.cache
def _integral(a, b, m):
    """The integral of p^a q^b (p+q)^(-m) e^((p²+q²)/2): a pair, the coefficients of 1/√π and 1/π."""
    if m <= 0:
        pairs = ((math.comb(-m, i), a + i, b - m - i) for i in range(1 - m))
        return Fraction(0), sum(
            (Fraction(c * _hermite(x)[0] * _hermite(y)[0], 2) for c, x, y in pairs), Fraction(0)
        )
    even = odd = Fraction(0)
    for (i, x), (j, y) in itertools.product(enumerate(_hermite(a)), enumerate(_hermite(b))):
        power = i + j + m - 1
        if power % 2:  # ∫ s^power e^(-s²) ds = ((power-1)/2)!/2
            odd += Fraction(x * y * math.factorial(power // 2), 4)
        else:  # = √π (power)!/(power/2)!/2^(power+1)
            even += Fraction(x * y * math.factorial(power), math.factorial(power // 2) * 2 ** (power + 2))
    return even / math.factorial(m - 1), odd / math.factorial(m - 1)
