"""The least-squares problem of a linear head on frozen features, and gradient descent on it."""

from dataclasses import dataclass

import numpy as np

from edgelaw._common import arguments
from edgelaw._common.types import Array, ArrayLike
from edgelaw.theory import gradient_descent


@dataclass(frozen=True, eq=False)
class HeadProblem:
    r"""Everything that training a linear head by least squares needs to know of the features and targets.

    Attributes
    ----------
    covariance : ndarray of shape (d, d)
        :math:`H = \frac1N\sum_i\phi_i\phi_i^\top`, not centred.
    moment : ndarray of shape (classes, d)
        :math:`C = \frac1N\sum_i e_{y_i}\phi_i^\top`.
    eigenvalues : ndarray
        Of H, ascending.
    eigenvectors : ndarray
        Of H, in columns.
    solution : ndarray of shape (classes, d)
        :math:`W_* = C H^{-1}`.
    floor : float
        The mean squared error at the solution, :math:`1 - \mathrm{tr}(W_* C^\top)`.
    """

    covariance: Array
    moment: Array
    eigenvalues: Array
    eigenvectors: Array
    solution: Array
    floor: float

    def mse(self, W: Array) -> float:
        r"""Mean squared error of a head: :math:`1 - 2\,\mathrm{tr}(WC^\top) + \mathrm{tr}(WHW^\top)`."""
        return float(1 - 2 * np.vdot(W, self.moment) + np.vdot(W @ self.covariance, W))

    def weights(self, start: Array) -> Array:
        r"""How a start's error is spread over the eigenvectors: :math:`\lvert(W_0-W_*)v_j\rvert^2` over its sum."""
        along = (((start - self.solution) @ self.eigenvectors) ** 2).sum(axis=0)
        return along / along.sum()

    def descend(self, start: Array, steps: ArrayLike, step: float) -> tuple[Array, Array]:
        r"""Gradient descent on the head, :math:`W \leftarrow W - \eta(WH - C)`, iterated, not diagonalised.

        Parameters
        ----------
        start : ndarray of shape (classes, d)
        steps : array of int
            When to record, ascending.
        step : float
            :math:`\eta`, below :math:`2/\lambda_{\max}`.

        Returns
        -------
        error, residual : ndarray
            :math:`\lvert E\rvert^2/\lvert E_0\rvert^2` and :math:`\mathrm{tr}(EHE^\top)/\lvert E_0\rvert^2` with
            :math:`E = W - W_*`: the parameter error, and the mean squared error above its minimum in the same units.
        """
        recorded = arguments.counts(steps, "steps")
        if recorded.ndim != 1 or len(recorded) == 0 or (np.diff(recorded) < 0).any():
            raise ValueError("steps must be an ascending list of non-negative integers.")
        step = gradient_descent.stable_step(step, self.eigenvalues[-1])
        W, done, unit = np.array(start, dtype=float), 0, ((start - self.solution) ** 2).sum()
        error, residual = np.empty(len(recorded)), np.empty(len(recorded))
        for k, n in enumerate(recorded.tolist()):
            for _ in range(n - done):
                W -= step * (W @ self.covariance - self.moment)
            done, E = n, W - self.solution
            error[k], residual[k] = (E * E).sum() / unit, np.vdot(E @ self.covariance, E) / unit
        return error, residual

    def curve(self, weights: Array, steps: ArrayLike, step: float) -> tuple[Array, Array]:
        r"""Parameter error and residual as exact sums over the spectrum (**proved**).

        They are :math:`\sum_j a_j(1-\eta\lambda_j)^{2n}` and the same with :math:`a_j\lambda_j`. With equal weights
        :math:`a_j = 1/d`, the mean over random starts, these are the book's test and training loss,
        :func:`edgelaw.theory.gradient_descent.curve`; with :meth:`weights` of a start they are that start's own.
        """
        n = arguments.counts(steps, "steps")
        return gradient_descent.weighted_losses(n, self.eigenvalues, weights, step)


def head_problem(X: ArrayLike, labels: ArrayLike, classes: int) -> HeadProblem:
    """The least-squares problem of a linear head on features X with one-hot targets.

    Parameters
    ----------
    X : array of shape (N, d)
        Features; H must be invertible, so N ≥ d and no feature a combination of others.
    labels : array of N int
    classes : int
        Number of classes; labels lie below it.

    Returns
    -------
    HeadProblem

    Examples
    --------
    >>> problem = head_problem([[1.0, 1.0], [1.0, -1.0]], [0, 1], classes=2)
    >>> problem.eigenvalues.tolist(), problem.solution.tolist(), round(problem.floor, 12)
    ([1.0, 1.0], [[0.5, 0.5], [0.5, -0.5]], 0.0)
    """
    rows = np.asarray(arguments.matrix(X, minimum=1), dtype=float)
    targets, classes = arguments.counts(labels, "labels"), arguments.whole(classes, "classes", 1)
    if targets.shape != (len(rows),) or targets.max() >= classes:
        raise ValueError(
            f"labels must be {len(rows)} integers below classes = {classes}, one for each row of X."
        )
    H = rows.T @ rows / len(rows)
    C = np.stack([rows[targets == label].sum(axis=0) for label in range(classes)]) / len(rows)
    values, vectors = np.linalg.eigh(H)
    if values[0] <= 1e-12 * values[-1]:
        raise ValueError("The covariance of the features is singular, so the best head is not unique.")
    solution = (C @ vectors / values) @ vectors.T
    return HeadProblem(H, C, values, vectors, solution, float(1 - np.vdot(solution, C)))
