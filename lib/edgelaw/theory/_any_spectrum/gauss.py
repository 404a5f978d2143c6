"""The Gauss rule of a discrete measure."""

import numpy as np
import scipy.linalg


def rule(positions, masses, size):
    """Nodes and weights of the Gauss rule of a discrete measure, by Lanczos with full orthogonalisation."""
    basis = np.empty((size, len(positions)))
    diagonal, off = np.empty(size), np.empty(size - 1)
    basis[0] = np.sqrt(masses / masses.sum())
    for k in range(size):
        image = positions * basis[k]
        diagonal[k] = basis[k] @ image
        for _ in range(2):
            image -= basis[: k + 1].T @ (basis[: k + 1] @ image)
        if k < size - 1:
            off[k] = np.linalg.norm(image)
            basis[k + 1] = image / off[k]
    roots, vectors = scipy.linalg.eigh_tridiagonal(diagonal, off)
    return roots, vectors[0] ** 2 * masses.sum()
