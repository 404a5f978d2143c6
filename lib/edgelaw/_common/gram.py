"""The sum of x xᵀ over rows x, a block at a time: the one place where a Gram matrix is accumulated."""

from __future__ import annotations

import numpy as np

from edgelaw._common import arguments
from edgelaw._common.types import Array

PANEL = 256  # columns summed at once where memory is scarce


class OuterProducts:
    """The sum of the outer products of rows; its lower triangle is complete, what is above may be missing.

    Attributes
    ----------
    total : ndarray of shape (dims, dims), float64
        The sum so far, not divided by the number of rows.
    count : int
        How many rows it holds.
    """

    def __init__(self, dims: int, panel: int = PANEL) -> None:
        self.total: Array = np.zeros((dims, dims))
        self.count = 0
        self._panel = min(panel, dims)
        self._scratch: Array | None = None

    def __getstate__(self) -> dict:
        return {**self.__dict__, "_scratch": None}

    def add(self, block: Array) -> None:
        """Add the rows of a float64 block, panel by panel, so that the scratch memory is one panel."""
        d = len(self.total)
        if self._scratch is None:
            self._scratch = np.empty(d * self._panel)
        for first in range(0, d, self._panel):
            panel = block[:, first : first + self._panel]
            width = panel.shape[1]
            end = first + width
            # numpy calls BLAS' symmetric product for a matrix and its own transpose: half the work
            square = self._scratch[: width * width].reshape(width, width)
            self.total[first:end, first:end] += np.matmul(panel.T, panel, out=square)
            below = self._scratch[: (d - end) * width].reshape(d - end, width)
            self.total[end:, first:end] += np.matmul(block[:, end:].T, panel, out=below)
        self.count += len(block)


def smaller_gram(X: np.ndarray, block: int) -> Array:
    """The smaller of XᵀX and XXᵀ, summed in float64 over blocks of rows (XᵀX) or of columns (XXᵀ).

    A block that is not finite is refused. The panel is the whole width: a matrix in memory leaves room for a second
    Gram matrix.
    """
    if X.shape[0] < X.shape[1]:
        X = X.T
    products = OuterProducts(X.shape[1], panel=X.shape[1])
    for start in range(0, len(X), block):
        piece = arguments.real_array(X[start : start + block], "X", 2)
        products.add(piece.astype(np.float64, copy=False))
    return products.total
