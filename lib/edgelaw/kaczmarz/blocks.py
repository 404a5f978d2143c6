"""A block of consecutive updates as one triangular solve and two matrix products.

Let U hold the b rows of a block in visiting order, cut into batches (of one row for the plain update).
Batch j moves every weight vector by −U_jᵀ Z_j with Z_j = P_j (U_j W_now − t_j): P_j is step·I for one row,
(step/size)·I for the averaged gradient of a batch, and step·(U_j U_jᵀ)⁺ for the projection onto its span,
where the pseudo-inverse makes repeated rows harmless. Since W_now = W − Σ_{i<j} U_iᵀ Z_i,

    (I + P L) Z = P (U W − t),      L = the blocks of U Uᵀ strictly below the batches' diagonal,

is unit lower triangular, and W ← W − Uᵀ Z. For single unit rows this is M Z = U W − t with M = I/step + L.
Visited backwards, the same block has the transposed matrix: if T = (I + P L)⁻¹ P, then (I + P Lᵀ)⁻¹ P = Tᵀ.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.linalg import blas

from edgelaw._common.types import Array, Integers

KEPT = 128  # rows of a block that is kept from epoch to epoch: large, its triangle is free
FRESH = 64  # rows of a block used once: its Gram matrix costs FRESH/4 probes' worth of products


class Coupling:
    """How the updates of one block act on each other: `solve` maps the residuals at its start to Z."""

    def __init__(self, rows: Array, step: float, batch: int, mode: str) -> None:
        self._step, self._batch, self._mode = step, batch, mode
        self._projections: list[npt.NDArray[np.floating]] = []
        self._lower: Array | None = None
        starts = range(0, len(rows), batch)
        if mode == "projection" and batch > 1:
            self._projections = [_pseudo_inverse(rows[k : k + batch]) for k in starts]
        if len(starts) > 1:
            gram = rows @ rows.T
            if batch > 1:
                number = np.arange(len(rows)) // batch
                gram *= number[:, None] > number
            self._lower = self._scaled(gram)

    def solve(self, residuals: Array) -> Array:
        """Z for the residuals U W − t at the start of the block, one column per probe."""
        Z = self._scaled(residuals)
        if self._lower is not None:
            trsm = blas.strsm if Z.dtype == np.float32 else blas.dtrsm
            Z = trsm(1.0, self._lower.T, Z.T, side=1, lower=0, diag=1, overwrite_b=1).T
        return Z

    def matrix(self, size: int, dtype: npt.DTypeLike) -> Array:
        """T, for which Z = T (U W − t)."""
        return np.ascontiguousarray(self.solve(np.eye(size, dtype=dtype)))

    def _scaled(self, A: Array) -> Array:
        """P A, batch by batch, as a new array."""
        if self._batch == 1:
            return self._step * A
        if self._mode == "average":
            size = np.full((len(A), 1), self._batch, dtype=A.dtype)
            size[len(A) - len(A) % self._batch :] = len(A) % self._batch
            return self._step / size * A
        pairs = enumerate(self._projections)
        return np.concatenate([self._step * (P @ A[j * self._batch :][: len(P)]) for j, P in pairs])


def _pseudo_inverse(rows: Array) -> npt.NDArray[np.floating]:
    """(U Uᵀ)⁺ of a batch; eigenvalues of U Uᵀ at rounding level belong to repeated or dependent rows."""
    gram = rows @ rows.T
    return np.linalg.pinv(gram, rcond=max(rows.shape) * np.finfo(rows.dtype).eps, hermitian=True)


def _size(batch: int, target: int) -> int:
    """Rows of a block: whole batches, about `target` of them, never less than one batch."""
    return batch * max(1, target // batch)


def _apply(
    rows: Array, targets: Array | None, solve: Callable[[Array], Array], W: Array, change: Array
) -> None:
    """W ← W − Uᵀ solve(U W − t), in place; `change` is scratch of W's shape."""
    residuals = rows @ W
    if targets is not None:
        residuals -= targets[:, None]
    np.matmul(rows.T, solve(residuals), out=change)
    W -= change


class FreshBlocks:
    """Epochs through `rows` in an order that is always new: each block is gathered, coupled and forgotten."""

    def __init__(self, rows: Array, targets: Array | None, step: float, batch: int, mode: str) -> None:
        self.rows, self._targets = rows, targets
        self._update = (step, batch, mode)
        self._size = _size(batch, FRESH)

    def epoch(self, W: Array, visits: Integers) -> None:
        """Update W (d, probes), in place, by the rows listed in `visits`."""
        change = np.empty_like(W)
        for k in range(0, len(visits), self._size):
            chosen = visits[k : k + self._size]
            block = self.rows[chosen]
            targets = None if self._targets is None else self._targets[chosen]
            _apply(block, targets, Coupling(block, *self._update).solve, W, change)


class KeptBlocks:
    """Epochs through `rows` in their own order, forwards or backwards, with the triangles kept.

    Only the small inverses T are kept (b numbers per row), never T U, which would be a second copy of the
    data.
    """

    def __init__(self, rows: Array, targets: Array | None, step: float, batch: int, mode: str) -> None:
        self.rows, self._targets = rows, targets
        self._update = (step, batch, mode)
        self._size = _size(batch, KEPT)
        self._forwards: list[tuple[slice, Array]] | None = None
        self._backwards: list[tuple[slice, Array]] | None = None

    def epoch(self, W: Array, backwards: bool = False) -> None:
        """Update W (d, probes), in place, by one pass."""
        change = np.empty_like(W)
        for chosen, T in self._blocks(backwards):
            targets = None if self._targets is None else self._targets[chosen]
            _apply(self.rows[chosen], targets, T.__matmul__, W, change)

    def _blocks(self, backwards: bool) -> list[tuple[slice, Array]]:
        """Slices and matrices T of the blocks in visiting order."""
        m, batch = len(self.rows), self._update[1]
        if not backwards or m % batch == 0:
            if self._forwards is None:
                starts = range(0, m, self._size)
                self._forwards = [self._block(slice(k, min(k + self._size, m)), 1) for k in starts]
            return [(s, T.T) for s, T in reversed(self._forwards)] if backwards else self._forwards
        if self._backwards is None:  # the short batch is now at the other end: other batches, other blocks
            ends = range(m, 0, -self._size)
            self._backwards = [self._block(slice(max(k - self._size, 0), k), -1) for k in ends]
        return self._backwards

    def _block(self, chosen: slice, direction: int) -> tuple[slice, Array]:
        rows = self.rows[chosen][::direction]
        T = Coupling(rows, *self._update).matrix(len(rows), rows.dtype)
        return chosen, T[::direction, ::direction]
