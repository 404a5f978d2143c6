r"""Designs to run SGD on: synthetic ones with a known spectrum; the shipped ones and the preprocessing by name.

A design is an m × d matrix whose rows are examples. Synthetic designs are scaled so that the mean eigenvalue of
:math:`X^\top X / m` is 1 (for Gaussian rows, in expectation): a typical row then has norm :math:`\sqrt d`.
"""

from __future__ import annotations

import numpy as np

from edgelaw._common import arguments
from edgelaw._common.preprocessing import Preprocessed, preprocess
from edgelaw._common.types import Array, ArrayLike, Rng
from edgelaw.shipped import SWEEPS, Embeddings, cifar10, load, sweep, wikipedia

__all__ = [
    "SWEEPS",
    "Embeddings",
    "Preprocessed",
    "cifar10",
    "gaussian",
    "haar",
    "load",
    "normalize_rows",
    "power_law",
    "power_law_eigenvalues",
    "preprocess",
    "sweep",
    "wikipedia",
    "with_spectrum",
]


def gaussian(rows: int, dims: int, rng: Rng) -> Array:
    """An m × d design of independent standard normal entries: the paper's isotropic Gaussian rows."""
    rows, dims = arguments.whole(rows, "rows", 2), arguments.whole(dims, "dims", 2)
    return arguments.generator(rng).standard_normal((rows, dims))


def haar(rows: int, columns: int, rng: Rng) -> Array:
    """A rows × columns matrix with orthonormal columns, uniform (Haar) on the Stiefel manifold."""
    rows, columns = arguments.whole(rows, "rows", 1), arguments.whole(columns, "columns", 1)
    if columns > rows:
        raise ValueError(f"columns must not exceed rows, but {columns} > {rows}.")
    Q, R = np.linalg.qr(arguments.generator(rng).standard_normal((rows, columns)))
    return Q * np.sign(np.diag(R))  # only with these signs is it Haar


def power_law_eigenvalues(count: int, beta: float) -> Array:
    r"""Eigenvalues whose CDF is :math:`(\lambda/\lambda_{\max})^\beta`, at its midpoint quantiles, with mean 1.

    As d grows, :math:`\lambda_{\max} \to (1+\beta)/\beta` and :math:`Q \to (\beta/(1+\beta))^\beta`.

    >>> power_law_eigenvalues(2, beta=1.0)
    array([0.5, 1.5])
    """
    count, beta = arguments.whole(count, "count", 2), arguments.number(beta, "beta", 0)
    logs = np.log((np.arange(1, count + 1) - 0.5) / count) / beta
    values = np.exp(logs - logs[-1])
    return values / values.mean()


def with_spectrum(eigenvalues: ArrayLike, rows: int, rng: Rng) -> Array:
    r"""A design :math:`\sqrt m\, U \mathrm{diag}(\sqrt\lambda) V^\top` with Haar U and V and exactly these eigenvalues.

    They are those of :math:`X^\top X / m`, m = ``rows``; at most m of them may be positive.

    >>> X = with_spectrum([0.5, 1.5], rows=4, rng=0)
    >>> bool(np.allclose(np.linalg.eigvalsh(X.T @ X / 4), [0.5, 1.5]))
    True
    """
    values = arguments.eigenvalues(eigenvalues)[::-1]
    rows, generator, d = arguments.whole(rows, "rows", 2), arguments.generator(rng), len(values)
    rank = min(rows, d)
    if (values[rank:] > 0).any():
        raise ValueError(
            f"{rows} rows carry at most {rows} positive eigenvalues, not {int((values > 0).sum())}."
        )
    U, V = haar(rows, rank, generator), haar(d, rank, generator)
    return np.sqrt(rows) * (U * np.sqrt(values[:rank])) @ V.T


def power_law(rows: int, dims: int, beta: float, rng: Rng) -> Array:
    r"""A design with Haar bases whose min(m, d) positive eigenvalues follow :math:`F(\lambda) = Q \lambda^\beta`.

    The mean over all d eigenvalues is 1, so rows have norm about :math:`\sqrt d`.
    """
    rows, dims = arguments.whole(rows, "rows", 2), arguments.whole(dims, "dims", 2)
    rank = min(rows, dims)
    values = np.concatenate([np.zeros(dims - rank), power_law_eigenvalues(rank, beta) * dims / rank])
    return with_spectrum(values, rows, rng)


def normalize_rows(X: ArrayLike) -> np.ndarray:
    r"""Scale every row to norm :math:`\sqrt d`, so that the mean eigenvalue of :math:`X^\top X/m` is exactly 1.

    >>> normalize_rows([[3.0, 4.0], [0.0, 2.0]]).round(3)
    array([[0.849, 1.131],
           [0.   , 1.414]])
    """
    rows = arguments.matrix(X)
    peak = np.abs(rows).max(axis=1)
    if (peak == 0).any():
        raise ValueError(
            f"Row {int(np.argmin(peak))} of X is zero and has no direction; remove it before normalising."
        )
    rows = rows / peak[:, None]  # first to a scale at which squares neither overflow nor vanish
    return rows * (np.sqrt(rows.shape[1]) / np.linalg.norm(rows, axis=1))[:, None]
