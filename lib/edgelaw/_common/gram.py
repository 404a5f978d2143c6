"""The sum of x xᵀ over rows x, a block at a time: the one place where a Gram matrix is accumulated."""

import numpy as np

from edgelaw._common import arguments
from edgelaw._common.types import Array

PANEL = 256  # columns summed at once where memory is scarce


class OuterProducts:
    """The sum `total` of the outer products of `count` rows, in float64; only its lower triangle is complete."""

    def __init__(self, dims: int, panel: int = PANEL) -> None:
        self.total: Array = np.zeros((dims, dims))
        self.count = 0
        self._panel = min(panel, dims)

    def add(self, block: Array) -> None:
        """Add the rows of a float64 block, panel by panel, so that the scratch memory is one panel."""
        for first in range(0, len(self.total), self._panel):
            panel, end = block[:, first : first + self._panel], first + self._panel
            # numpy calls BLAS' symmetric product for a matrix and its own transpose: half the work
            self.total[first:end, first:end] += panel.T @ panel
            if end < len(self.total):
                self.total[end:, first:end] += block[:, end:].T @ panel
        self.count += len(block)


def smaller_gram(X: np.ndarray, block: int = 4096) -> Array:
    """The smaller of XᵀX and XXᵀ, summed in float64 over finite blocks of rows (XᵀX) or of columns (XXᵀ)."""
    if X.shape[0] < X.shape[1]:
        X = X.T
    products = OuterProducts(X.shape[1], panel=X.shape[1])
    for start in range(0, len(X), block):
        piece = arguments.real_array(X[start : start + block], "X", 2)
        products.add(piece.astype(np.float64, copy=False))
    return products.total
