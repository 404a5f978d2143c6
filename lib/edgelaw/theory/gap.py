r"""The shuffling gap on any spectrum: what an order is worth at the left edge, and when its law sets in.

Unit rows U in visiting order, m = d, :math:`K = UU^\top`, L its strictly lower triangle, :math:`N = L - L^\top`,
:math:`a = 1/\eta - 1/2`. A fixed order's epoch A obeys, exactly and for any unit rows,

.. math::

    (I-A)^{-1} = \tfrac12 I + U^{-1}\bigl(a I + \tfrac12 N\bigr)U^{-\top}, \qquad
    (I-A^\top A)^{-1} = \tfrac{1}{2a}\,U^{-1} M M^\top U^{-\top}, \qquad M = aI + \tfrac12 K + \tfrac12 N .

For rows with Haar left singular vectors N vanishes on a slow space of a small share of the dimensions; what is left
is gradient descent with an effective step (``effective_step`` of each order's module). Chapter 8 derives the laws
here; :math:`\kappa_2` is the variance of the sample's eigenvalues at mean 1, to which all eigenvalues are scaled.
"""

import numpy as np
import scipy.special

from edgelaw._common import arguments
from edgelaw._common.types import Array, ArrayLike, FloatOrArray


def laplace(eigenvalues: ArrayLike, time: ArrayLike) -> FloatOrArray:
    r"""The mean of :math:`e^{-2\lambda t}` over a spectrum: gradient descent's test loss at step × epochs = t.

    What every order's law says at large n, with :math:`t = \eta_{\mathrm{eff}}\, n`.

    >>> round(float(laplace([0.5, 1.5], 1.0)), 6), laplace([0.0, 2.0], [0.0, 50.0]).tolist()
    (0.208833, [1.0, 0.5])
    """
    values = _mean_one(eigenvalues)
    times = np.asarray(time, dtype=float)
    return np.exp(-2 * np.multiply.outer(times, values)).mean(axis=-1)[()]


def equivalent_step(loss: ArrayLike, eigenvalues: ArrayLike, n: ArrayLike) -> FloatOrArray:
    r"""The step s at which :math:`\frac1d\sum_j e^{-2 s \lambda_j n}` is a given test loss after n ≥ 1 epochs.

    The effective step is its limit as n grows. Losses and n broadcast; to 1e-12, NaN where no step gives that loss.

    >>> round(float(equivalent_step(np.exp(-3.0), [1.0, 1.0], 2)), 9)
    0.75
    """
    values = _mean_one(eigenvalues)
    loss, n = np.broadcast_arrays(np.asarray(loss, dtype=float), arguments.counts(n, "n"))
    if (n < 1).any():
        raise ValueError("n must be at least 1: after no epoch every step has the same loss.")
    low, high = np.full(loss.shape, -60.0), np.full(loss.shape, 90.0)
    for _ in range(60):
        middle = (low + high) / 2
        above = laplace(values, np.exp(middle)) > loss
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    steps = np.exp((low + high) / 2) / n
    return np.where((low > -60.0) & (high < 90.0), steps, np.nan)[()]


def doubled_losses(epoch: ArrayLike, doublings: int) -> Array:
    r"""Test losses :math:`\lVert A^n\rVert_F^2/d` of a repeated epoch A at n = 1, 2, 4, ..., :math:`2^{doublings}`.

    By repeated squaring of single shuffle's epoch (`edgelaw.kaczmarz.epoch_matrix`); relative error 1e-15 · n.

    >>> doubled_losses(np.diag([1.0, 0.5]), 2).tolist()
    [0.625, 0.53125, 0.501953125]
    """
    A = arguments.matrix(epoch, "epoch", minimum=1)
    doublings = arguments.whole(doublings, "doublings", 0)
    if A.shape[0] != A.shape[1] or doublings > 45:
        raise ValueError("epoch must be a square matrix and doublings at most 45, where rounding takes over.")
    losses = [np.einsum("ij,ij->", A, A) / len(A)]
    for _ in range(doublings):
        A = A @ A
        A[np.abs(A) < 1e-150] = 0.0  # squares of smaller numbers would be subnormal
        losses.append(np.einsum("ij,ij->", A, A) / len(A))
    return np.array(losses)


def skew_correction(beta: float) -> float:
    r"""Single shuffle's test loss is its law times :math:`1 + C(\beta)\,\kappa_2 f_n/(12a^2)` to next order, β < 1.

    :math:`f_n = Q\,\Gamma(\beta+1)(2n/a)^{-\beta}` is the law itself. With divided differences e[·] of
    :math:`e^{-x}`,

    .. math::

        C(\beta) = \frac{4^\beta}{\Gamma(\beta+1)^2}\iint \Bigl\{2x e^{-x}\bigl(e^{-x} - y\,e[x,x,y]\bigr)
        + xy\, e[x,y]^2\Bigr\}\,\beta^2 (xy)^{\beta-1}\,dx\,dy .

    *Derived* here; C(1/2) = 2 is the exact isotropic curve's second term at every step.

    >>> round(skew_correction(0.5), 9), round(skew_correction(1 / 7), 6)
    (2.0, 0.211397)
    """
    beta = arguments.number(beta, "beta", 0, 1)
    nodes, weights = np.polynomial.legendre.leggauss(1200)
    low, high = -36 / beta, 36 / (1 - beta)  # of log x: beyond, less than 1e-15 of either end
    x = np.exp(low + (high - low) / 2 * (nodes + 1))
    mass = (high - low) / 2 * weights * beta * x**beta
    return float(mass @ _skew_kernel(x) @ mass * 4**beta / scipy.special.gamma(beta + 1) ** 2)


def second_order_loss(eigenvalues: ArrayLike, n: int, step: float = 1.0) -> float:
    r"""Single shuffle's test loss on a sample spectrum to second order in the skew part of its slow space.

    *Derived* here.

    :math:`\frac1d\sum_j e^{-2n\lambda_j/a} + \frac{\kappa_2}{12a^2}\,\frac1{d^2}\sum_{ij}\{\dots\}`, the bracket of
    :func:`skew_correction` at :math:`x_j = n\lambda_j/a`.
    """
    values, a = _mean_one(eigenvalues), _symmetric(step)
    n = arguments.whole(n, "n", 1)
    x = n * values / a
    correction = values.var() / (12 * a**2) * _skew_kernel(x).mean()
    return float(laplace(values, n / a) + correction)


def _skew_kernel(x):
    """The bracket of `skew_correction` at all pairs; divided differences by series where they would cancel."""
    X, Y = x[:, None], x[None, :]
    gap = Y - X
    near = np.abs(gap) <= 1e-3 * np.minimum(1.0, X + Y)
    safe = np.where(near, 1.0, gap)
    eX, eY = np.exp(-X), np.exp(-Y)
    with np.errstate(over="ignore", under="ignore"):
        distant = eX * (Y / safe - X) / safe - Y / safe * (eY / safe)
        first = np.where(near, eX * (1 - Y * (0.5 - gap / 6 + gap**2 / 24)), distant)
        second = np.where(near, np.exp(-(X + Y) / 2) * (1 + gap**2 / 24), (eX - eY) / safe)
        return 2 * (eX * X) * first + (np.sqrt(X) * second * np.sqrt(Y)) ** 2


def train_law(eigenvalues: ArrayLike, n: int, step: float = 1.0) -> float:
    r"""What the left edge says of single shuffle's training loss after many epochs, m = d.

    *Proved* (thm-gap-train) as the law of n → ∞ after d → ∞.

    .. math:: \text{train}_n \approx \frac{B}{a^2}\,\frac1d\sum_j \lambda_j e^{-2n\lambda_j/a}, \qquad
              B = a^2 + \tfrac1{12} + \tfrac{\kappa_2}{6}.
    """
    values, a = _mean_one(eigenvalues), _symmetric(step)
    n, norm = arguments.whole(n, "n", 1), a**2 + 1 / 12 + values.var() / 6
    return float(norm / a**2 * (values * np.exp(-2 * n * values / a)).mean())


def batch_step(step: float, share: float = 0.0) -> float:
    r"""Single shuffle by projections of batches of b = share · d rows: :math:`1/\bigl(a(1 - b/d)\bigr)`.

    *Derived* here.

    >>> batch_step(1.0), batch_step(1.0, 0.5)
    (2.0, 4.0)
    """
    share = float(share)
    if not 0 <= share < 1:
        raise ValueError(f"share must be in [0, 1), the batch's part of all rows, not {share!r}.")
    return 1 / (_symmetric(step) * (1 - share))


def concordant_step(step: float, concordance: float) -> float:
    r"""The effective step of an order whose epochs are alike but not the same, on square Gaussian designs.

    With τ the :func:`concordance <edgelaw.orders.concordance>` of two epochs, 0 for random reshuffle and 1 for
    single, its inverse is :math:`\tau\,(\frac1\eta - \frac12) + (1-\tau)/(\eta + \frac{\eta^2}2)`. *Derived*
    (thm-buffer-step) to second order in the step, and at τ = 0 and 1; between them at larger steps it is an
    interpolation, at step 1 up to 2.2 % above the step of the mean epoch for what was tried.

    >>> concordant_step(1.0, 1.0), concordant_step(1.0, 0.0), round(concordant_step(1.0, 0.5), 4)
    (2.0, 1.5, 1.7143)
    """
    eta, tau = arguments.step(step), _share(concordance)
    return 1 / (tau * (1 / eta - 0.5) + (1 - tau) / (eta + eta**2 / 2))


def concordant_loss(
    single: ArrayLike, reshuffled: ArrayLike, concordance: float, beta: float = 0.5
) -> FloatOrArray:
    r"""The test loss of an order of concordance τ: :math:`(\tau\,L_{SS}^{1/\beta} + (1-\tau)\,L_{RR}^{1/\beta})^\beta`.

    It has the step of :func:`concordant_step`. *Measured* on shuffle buffers and Gaussian rows, m = d = 256, up to 30
    epochs: within 0.2 % at step 0.5, within 0.6 % from ten epochs on at step 1; up to 5.3 % off at step 1.5, and a
    third at step 1.9. Not for training losses.

    >>> float(concordant_loss(0.1, 0.2, 1.0)), round(float(concordant_loss(0.1, 0.2, 0.5)), 4)
    (0.1, 0.1581)
    """
    power, tau = 1 / arguments.number(beta, "beta", 0), _share(concordance)
    single, reshuffled = np.asarray(single, dtype=float), np.asarray(reshuffled, dtype=float)
    return ((tau * single**power + (1 - tau) * reshuffled**power) ** (1 / power))[()]


def _share(concordance: float) -> float:
    """A concordance between 0 and 1."""
    tau = arguments.number(concordance, "concordance", -np.inf)
    if not 0 <= tau <= 1:
        raise ValueError(f"concordance must lie between 0 and 1, not {concordance!r}.")
    return tau


def cluster_rows(size: int, spread: float) -> Array:
    r"""Unit rows around one direction: :math:`(1, \varepsilon g_i)/\sqrt{1+\varepsilon^2}`, g the corners of a simplex.

    As many rows as dimensions, all pairs at the same angle, so that their order does not matter.

    >>> U = cluster_rows(3, 0.1)
    >>> np.round(U @ U.T, 6).tolist()
    [[1.0, 0.985149, 0.985149], [0.985149, 1.0, 0.985149], [0.985149, 0.985149, 1.0]]
    """
    size, spread = arguments.whole(size, "size", 2), arguments.number(spread, "spread", 0)
    Q, _ = np.linalg.qr(np.column_stack([np.ones(size), np.eye(size)[:, : size - 1]]))
    corners = Q[:, 1:] * np.sqrt(size / (size - 1))
    return np.column_stack([np.ones(size), spread * corners]) / np.sqrt(1 + spread**2)


def cluster_gain(size: int, step: float = 1.0, beta: float = 0.5) -> float:
    r"""IID's test constant over single shuffle's for clusters of near-parallel rows; below 1 the conjecture fails.

    For mutually orthogonal clusters of k = ``size`` rows (:func:`cluster_rows`), whose squared spreads have a
    power-law edge of exponent β at zero. **Proved** (thm-gap-clusters): as n → ∞ it is

    .. math:: \eta^{-\beta}\Big/\;\frac{1}{k-1}\sum_{j=1}^{k-1}
        \Bigl(\frac{a^2 + \frac14\cot^2(\pi j/k)}{a}\Bigr)^{\beta}.

    >>> round(cluster_gain(2), 6), round(cluster_gain(6), 3), round(cluster_gain(100), 3)
    (1.414214, 0.967, 0.465)
    """
    k, a = arguments.whole(size, "size", 2), _symmetric(step)
    beta = arguments.number(beta, "beta", 0)
    cotangent = 1 / np.tan(np.pi * np.arange(1, k) / k)
    return float(step**-beta / np.mean(((a**2 + cotangent**2 / 4) / a) ** beta))


def cluster_ratio(size: int, step: float = 1.0, beta: float = 0.5, n: int = 10**4) -> float:
    r"""IID's test loss over single shuffle's after n epochs on such clusters: no limit, no formula, no random numbers.

    Squared spreads up to 1/4 with exponent β are integrated over twelve e-foldings of their share, and tighter
    clusters count as not moved: the share still slow, about :math:`(4/n)^\beta`, must be well above :math:`e^{-12}`.
    """
    k, step = arguments.whole(size, "size", 2), arguments.step(step)
    beta, n = arguments.number(beta, "beta", 0), arguments.whole(n, "n", 1)
    share = np.exp(np.linspace(-12, 0, 121))
    losses = []
    for spread in 0.5 * share ** (1 / (2 * beta)):
        maps = [np.eye(k) - step * np.outer(u, u) for u in cluster_rows(k, float(spread))]
        epoch = np.linalg.multi_dot(maps[::-1])
        rates, vectors = np.linalg.eigh(sum(np.kron(P, P) for P in maps) - k * np.eye(k**2))
        weights = (vectors.T @ np.eye(k).ravel()) ** 2 / k
        once = (np.linalg.matrix_power(epoch, n) ** 2).sum() / k
        losses.append([once, weights @ np.exp(n * np.minimum(rates, 0))])
    once, drawn = np.trapezoid(np.array(losses) * share[:, None], np.log(share), axis=0)
    floor = share[0] * (k - 1) / k
    return float((drawn + floor) / (once + floor))


def _symmetric(step):
    """a = 1/η − 1/2, the symmetric part of M on the slow space."""
    return 1 / arguments.step(step) - 0.5


def _mean_one(eigenvalues: ArrayLike) -> Array:
    """Eigenvalues scaled to mean 1."""
    values = arguments.eigenvalues(eigenvalues, fewest=1, nonzero=True, ascending=False)
    return values / values.mean()
