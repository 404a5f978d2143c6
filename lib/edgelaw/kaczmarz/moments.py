"""Signal and noise of one design: how much of the start is left, and how much of the targets' noise came in."""

import threading
from typing import NamedTuple

import numpy as np

from edgelaw._common import arguments
from edgelaw._common.types import Array, ArrayLike, Rng
from edgelaw.kaczmarz.problem import Problem, squares
from edgelaw.kaczmarz.simulation import by_run, iterates


class SignalAndNoise(NamedTuple):
    r"""The two parts of the excess training loss and of the distance at the recorded epochs, arrays (runs, epochs).

    With unit rows U, targets :math:`Uw_* + r` and :math:`U^\top r = 0`, an order's error is :math:`e_n = A_ne_0 +
    B_nr`. `signal` is the mean of (1/m) ‖X A_n e‖² over unit vectors e, rows of X scaled to norm √d: 1 at the start.
    `noise` is that of (1/m) ‖X B_n r‖² over residuals with mean square 1/d per unit row, so that ``signal + s * noise``
    is the excess when the targets' noise is s times the loss at the start. The other two are the same parts of the
    squared distance to the least-squares solution, over its start.
    """

    signal: Array
    noise: Array
    distance_signal: Array
    distance_noise: Array


def signal_and_noise(
    X: ArrayLike, order: str, epochs: ArrayLike, step: float = 1.0, runs: int = 16, rng: Rng = 0
) -> SignalAndNoise:
    """Both parts of the excess training loss and of the distance of one design, means over all starts and residuals.

    X has more rows than columns, and only the directions of its rows matter; the epochs to record are ascending and at
    least 1; the rest is as in `simulate`. Each of the runs, which are independent orders, holds a d × (d + m) matrix.

    Four equal rows: an IID run ends where noise comes in as fast as it is forgotten, at η/(2 − η).

    >>> parts = signal_and_noise(np.ones((4, 1)), "iid", [40], step=0.5, runs=400)
    >>> bool(parts.signal.max() < 1e-20), bool(abs(parts.noise.mean() - 1 / 3) < 0.05)
    (True, True)
    """
    problem = Problem(arguments.matrix(X, minimum=1).astype(np.float64))
    (m, d), n = problem.X.shape, arguments.counts(epochs, "epochs")
    if m <= d:
        raise ValueError(f"X must have more rows than columns, or no residual is left, not {m} and {d}.")
    if n.ndim != 1 or not len(n) or n[0] < 1 or (np.diff(n) <= 0).any():
        raise ValueError("epochs must be ascending whole numbers of at least 1.")
    U, step = problem.rows(), arguments.step(step)
    basis, values, _ = np.linalg.svd(U)
    residual = basis[:, (values > 1e-12 * values[0]).sum() :]
    start = np.eye(d, d + residual.shape[1])  # becomes A_n, and B_n on the residuals' basis
    affine = Problem(U, np.hstack([np.zeros((m, d)), residual]), normalised=False)

    def run(child: np.random.Generator, _: threading.Event) -> list[list[float]]:
        return [_losses(U, W) for epoch, W in iterates(affine, order, n, start, step, child) if epoch]

    return SignalAndNoise(*np.moveaxis(np.array(by_run(run, rng, arguments.whole(runs, "runs", 1))), -1, 0))


def _losses(U: Array, affine: Array) -> list[float]:
    """Both parts of both losses for the map of the start and of the residuals."""
    (m, d), train, test = U.shape, squares(U @ affine), squares(affine)
    return [train[:d].sum() / m, train[d:].mean(), test[:d].sum() / d, test[d:].mean() * m / d]
