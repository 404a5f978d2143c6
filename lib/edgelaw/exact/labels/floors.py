r"""What noisy targets change: floors that a constant step does not pass, and early stopping as a filter.

Unit rows :math:`u_i` have least-squares residuals :math:`r_i`, :math:`\sigma^2 = \frac1m\sum_ir_i^2`. With
:math:`\sigma > 0` no order brings the error to zero at a constant step: under IID it ends in a stationary law, and an
order that repeats itself in one cycle. Chapter 12 shows both; they are exact for one data set, and *proved*
(thm-yd-floor).
"""

from typing import NamedTuple

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import LinearOperator, cg

from edgelaw._common import arguments
from edgelaw._common.types import Array, ArrayLike, Rng
from edgelaw.kaczmarz import Problem, iterates


class Floor(NamedTuple):
    """Where the losses end, as sums over one problem (not divided by a start).

    `test` is the mean of ‖w − w*‖² at the ends of epochs. For rows and targets scaled to row norm √d, `noise` is the
    least training loss, the mean of (x·w* − y)², and `train` what the training loss is above it.
    """

    test: float
    train: float
    noise: float


def iid_floor(X: ArrayLike, y: ArrayLike, step: float = 1.0, tolerance: float = 1e-10) -> Floor:
    r"""The stationary losses of IID sampling with the normalised update, for rows X (m, d) with targets y (m,).

    The equation of the stationary :math:`\mathbb E\,ee^\top` is solved to a relative residual `tolerance`. The
    **training floor** is :math:`\frac{\eta}{2-\eta}\sigma^2` whatever the rows and the residuals; if these are all
    alike, the **test floor** is that times the rank of X. One dimension, targets 1 and −1: w jumps to (1 − η) w ± η.

    >>> iid_floor(np.ones((2, 1)), np.array([1.0, -1.0]), step=0.5)
    Floor(test=0.3333333333333333, train=0.3333333333333333, noise=1.0)
    """
    U, r = _unit(X, y)
    eta, (m, d) = arguments.step(step), U.shape
    A, noise = U.T @ U / m, float(np.mean(r**2))
    if noise == 0:
        return Floor(0.0, 0.0, 0.0)

    def operator(flat: Array) -> Array:
        M = flat.reshape(d, d)
        quadratic = np.einsum("ij,ij->i", U @ M, U)
        change = A @ M
        return (change + change.T - eta * (U.T * (quadratic / m)) @ U).ravel()

    # Where A has no null space the operator is positive definite; in general right and start lie in its range.
    span = scipy.linalg.orth(U.T)
    solved, failed = cg(
        LinearOperator((d * d, d * d), operator),
        (eta * (U.T * (r**2 / m)) @ U).ravel(),
        x0=(eta / (2 - eta) * noise * span @ span.T).ravel(),
        rtol=arguments.number(tolerance, "tolerance", 0),
    )
    if failed:
        raise ValueError(f"the stationary equation was not solved to {tolerance:g}: take a larger tolerance.")
    return Floor(float(np.trace(solved.reshape(d, d))), d * eta / (2 - eta) * noise, d * noise)


def cycle_floor(
    X: ArrayLike, y: ArrayLike, order: str = "single_shuffle", step: float = 1.0, rng: Rng = 0
) -> Floor:
    """Where an order that repeats itself ends, "single_shuffle" or "flip_flop": the fixed point of its epoch.

    The permutation is that of ``edgelaw.orders.stream(order, m, rng)``, and nothing else is random. Flip-flop has a
    backward epoch in between; its floor is the mean of the two ends.

    >>> round(cycle_floor(np.ones((2, 1)), np.array([1.0, -1.0]), step=0.5).test, 12)
    0.111111111111
    """
    arguments.choice(order, "order", ("single_shuffle", "flip_flop"))
    U, r = _unit(X, y)
    eta, d = arguments.step(step), U.shape[1]
    # The affine map e ↦ Ae + b of a cycle, as the columns b, A; the map after each of its epochs is kept.
    problem = Problem(U, np.pad(r[:, None], ((0, 0), (0, d))), normalised=False)
    cycle = iterates(problem, order, 1 if order == "single_shuffle" else 2, np.eye(d, d + 1, 1), eta, rng)
    maps = [affine for _, affine in cycle]
    end = np.linalg.lstsq(np.eye(d) - maps[-1][:, 1:], maps[-1][:, 0], rcond=1e-12)[0]
    ends = [part[:, 0] + part[:, 1:] @ end for part in maps[1:-1]] + [end]
    test = np.mean([e @ e for e in ends])
    train = np.mean([((U @ e) ** 2).mean() for e in ends])
    return Floor(float(test), float(d * train), d * float(np.mean(r**2)))


def _unit(X: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
    """Unit rows, and the residuals of their least-squares solution."""
    y = arguments.real_array(y, "y", 1)
    problem = Problem(arguments.matrix(X, minimum=1).astype(np.float64), y)
    U, t = problem.rows(), y / problem.norms
    r = t - U @ np.linalg.lstsq(U, t, rcond=None)[0]
    if np.linalg.norm(r) <= max(U.shape) * np.finfo(float).eps * np.linalg.norm(t):
        r = np.zeros_like(r)
    return U, r


def filter_factors(
    eigenvalues: ArrayLike, n: ArrayLike, step: float = 1.0, rho: float = 1.0, dims: int | None = None
) -> Array:
    r"""How much of the solution IID's mean iterate has after n epochs from zero, along each eigenvector.

    It is :math:`f_n(\lambda) = 1 - (1-\eta\lambda/d)^{mn} \to 1 - e^{-\eta\rho n\lambda}` for noisy targets too, with
    the eigenvalues, mean 1, of :math:`X^\top X/m`; without `dims`, d, the limit d → ∞. *Proved* (thm-yd-filter). The
    result has the shape of n followed by that of the eigenvalues.

    >>> filter_factors([0.0, 1.0], 1, dims=2).tolist()
    [0.0, 0.75]
    """
    values = arguments.eigenvalues(eigenvalues, fewest=0, ascending=False)
    n, step, rho = arguments.counts(n, "n"), arguments.step(step), arguments.aspect(rho)
    if dims is None:
        return -np.expm1(np.multiply.outer(n, -step * rho * values))
    d = arguments.whole(dims, "dims", 1)
    if values.max(initial=0) > d * (1 + 1e-9):
        raise ValueError(f"eigenvalues of rows of norm √d are at most d = {d}, not {values.max():g}.")
    inside = np.maximum(1 - step * values / d, -1)
    return 1 - np.power(inside, round(rho * d) * n[..., None])


def ridge_factors(eigenvalues: ArrayLike, ridge: float) -> Array:
    r"""The filter of ridge regression, :math:`\lambda/(\lambda + \kappa)`, to set beside :func:`filter_factors`.

    >>> ridge_factors([0.0, 1.0, 3.0], ridge=1.0).tolist()
    [0.0, 0.5, 0.75]
    """
    values = arguments.eigenvalues(eigenvalues, fewest=0, ascending=False)
    return values / (values + arguments.number(ridge, "ridge", 0))


def matching_ridge(n: int, step: float = 1.0, rho: float = 1.0) -> float:
    r"""The ridge with the same slope at λ → 0 as n epochs: :math:`\kappa = 1/(\eta\rho n)`.

    n epochs keep everything that it keeps, and at most 30 % more of any direction (at λ = 1.79 κ). *Proved*
    (thm-yd-filter).

    >>> matching_ridge(10, step=0.5)
    0.2
    """
    n = arguments.whole(n, "n", 1)
    return 1 / (arguments.step(step) * arguments.aspect(rho) * n)
