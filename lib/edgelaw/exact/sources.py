"""What goes into every exact curve: the eigenvalues of a sample or of a covariance."""

import numpy as np
import scipy.linalg

from edgelaw._common import arguments
from edgelaw._common.types import Array, ArrayLike

ROUNDED_AWAY = 1e-13  # of the largest eigenvalue: what is below is zero
FEWEST = 20  # eigenvalues of a sample that can stand for a spectrum


def sample(
    eigenvalues: ArrayLike,
    weights: ArrayLike | None = None,
    smallest: float = ROUNDED_AWAY,
    fewest: int = FEWEST,
) -> tuple[Array, Array]:
    """The different eigenvalues of a sample over their mean, and their shares; too few are refused."""
    values, shares = arguments.spectrum(eigenvalues, weights, smallest=smallest)
    if weights is None and np.size(eigenvalues) < fewest:
        raise ValueError(
            f"eigenvalues must be at least {FEWEST} to stand for a spectrum, not {np.size(eigenvalues)}; a "
            "quadrature of a continuous law comes with weights."
        )
    return values, shares


def positive(values: Array, shares: Array) -> tuple[Array, Array, float]:
    """The positive eigenvalues of a spectrum, their shares, and the share of zeros."""
    moving = values > 0
    return values[moving], shares[moving], float(shares[~moving].sum())


def covariance(eigenvalues: ArrayLike, smallest: float = ROUNDED_AWAY) -> tuple[Array, Array, float]:
    """The positive eigenvalues of a covariance, mean 1, their shares, and the share of zeros: what no row has."""
    spectrum = arguments.spectrum(eigenvalues, name="covariance_eigenvalues", smallest=smallest)
    values, shares, null = positive(*spectrum)
    return values * (1 - null), shares / (1 - null), null


def gauss_rule(positions: Array, masses: Array, size: int) -> tuple[Array, Array]:
    """Nodes and weights of the Gauss rule of a discrete measure, by Lanczos with full orthogonalisation."""
    basis = np.empty((size, len(positions)))
    diagonal, off = np.empty(size), np.empty(size)
    image = np.sqrt(masses)
    for k in range(size):
        off[k] = np.linalg.norm(image)
        basis[k] = image / off[k]
        image = positions * basis[k]
        diagonal[k] = basis[k] @ image
        for _ in range(2):
            image -= basis[: k + 1].T @ (basis[: k + 1] @ image)
    roots, vectors = scipy.linalg.eigh_tridiagonal(diagonal, off[1:])
    return roots, vectors[0] ** 2 * masses.sum()
