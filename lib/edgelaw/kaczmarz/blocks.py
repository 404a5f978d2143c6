"""A block of consecutive updates as one triangular solve and two matrix products.

Let U hold the b rows of a block in visiting order, cut into batches (of one row for the plain update).
Batch j moves every weight vector by −U_jᵀ Z_j with Z_j = P_j (U_j W_now − t_j): P_j is step·I for one row,
(step/size)·I for the averaged gradient of a batch, and step·(U_j U_jᵀ)⁺ for the projection onto its span,
where the pseudo-inverse makes repeated rows harmless. Since W_now = W − Σ_{i<j} U_iᵀ Z_i,

    (I + P L) Z = P (U W − t),      L = the blocks of U Uᵀ strictly below the batches' diagonal,

is unit lower triangular, and W ← W − Uᵀ Z. For single unit rows this is M Z = U W − t with M = I/step + L.

A ridge κ shrinks the weights by s = 1 − step·κ with every batch. What batch i adds has shrunk by s^(j−i−1) when batch j
comes, so that these powers multiply L; the start has shrunk by s^j before batch j and by s^n after all n.
"""

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg import blas

from edgelaw._common.types import Array, Integers
from edgelaw.kaczmarz.problem import Problem
from edgelaw.orders import Stream

KEPT = 128  # rows of a block that is kept from epoch to epoch: large, its triangle is free
FRESH = 64  # rows of a block used once: its Gram matrix costs FRESH/4 probes' worth of products


class Coupling:
    """How the updates of one block act on each other: `solve` maps the residuals at its start to Z."""

    def __init__(self, rows: Array, problem: Problem, step: float) -> None:
        starts, number = range(0, len(rows), problem.batch), np.arange(len(rows)) // problem.batch
        self._step, self._lower = step, None
        self._share = (step / np.bincount(number)[number, None]).astype(
            rows.dtype
        )  # of each row in an average
        self._projections: list[npt.NDArray[np.floating]] = []
        if problem.mode == "projection":
            self._projections = [_pseudo_inverse(rows[k : k + problem.batch]) for k in starts]
        if len(starts) > 1:
            gram = rows @ rows.T
            if problem.batch > 1:
                gram *= number[:, None] > number
            if problem.ridge:
                gram *= (1 - step * problem.ridge) ** np.maximum(number[:, None] - number - 1, 0)
            self._lower = self._scaled(gram)

    def solve(self, residuals: Array) -> Array:
        """Z for the residuals U W − t at the start of the block, one column per probe."""
        Z = self._scaled(residuals)
        if self._lower is not None:
            trsm = blas.strsm if Z.dtype == np.float32 else blas.dtrsm
            Z = trsm(1.0, self._lower.T, Z.T, side=1, lower=0, diag=1, overwrite_b=1).T
        return Z

    def _scaled(self, A: Array) -> Array:
        """P A, batch by batch, as a new array."""
        if not self._projections:
            return self._share * A
        batch = len(self._projections[0])
        pairs = enumerate(self._projections)
        return np.concatenate([self._step * (P @ A[j * batch :][: len(P)]) for j, P in pairs])


def _pseudo_inverse(rows: Array) -> npt.NDArray[np.floating]:
    """(U Uᵀ)⁺ of a batch; eigenvalues of U Uᵀ at rounding level belong to repeated or dependent rows."""
    gram = rows @ rows.T
    return np.linalg.pinv(gram, rcond=max(rows.shape) * np.finfo(rows.dtype).eps, hermitian=True)


class Block(NamedTuple):
    """Consecutive updates as one: W ← sⁿ W − Uᵀ solve(U W − t), a ridge's powers of s in their places."""

    rows: Array
    targets: Array | None
    solve: Callable[[Array], Array]
    shrinkage: tuple[Array, Array, float] | None  # before each row's batch, after it, and of the whole block

    def apply(self, W: Array, change: Array) -> None:
        """Update W, in place; `change` is scratch of its shape."""
        residuals = self.rows @ W
        if self.shrinkage:
            residuals *= self.shrinkage[0]
        if self.targets is not None:
            residuals -= self.targets
        Z = self.solve(residuals)
        if self.shrinkage:
            Z *= self.shrinkage[1]
            W *= self.shrinkage[2]
        np.matmul(self.rows.T, Z, out=change)
        W -= change


class Blocked:
    """Epochs by triangular solves and matrix products.

    An order that repeats itself keeps the small inverses T = (I + P L)⁻¹ P from epoch to epoch (b numbers per row),
    never T U, which would be a second copy of the data.
    """

    layout: Literal["C", "F"] = "C"  # the d × probes matrix as BLAS likes it
    overhead = 2**19  # of an epoch, in multiplications

    def __init__(self, problem: Problem, stream: Stream) -> None:
        self.problem, self.stream = problem, stream
        self.rows, self._targets = problem.visited(stream.permutation)
        self._kept: dict[bool, list[Block]] = {}
        self._step = 0.0  # of the blocks that are kept

    def advance(self, W: Array, start: int, count: int, step: float) -> None:
        """Update W (d, probes), in place, through `count` epochs from number `start` on."""
        change = np.empty_like(W)
        for n in range(start, start + count):
            for block in self._fresh(n, step) if self.stream.permutation is None else self._repeated(n, step):
                block.apply(W, change)

    def _fresh(self, n: int, step: float) -> Iterator[Block]:
        """The blocks of an epoch that is new: each is gathered, coupled and forgotten."""
        visits, size = self.stream.epoch(n), self._size(FRESH)
        for k in range(0, len(visits), size):
            chosen = visits[k : k + size]
            rows = self.rows[chosen]
            yield self._block(rows, chosen, Coupling(rows, self.problem, step).solve, step)

    def _repeated(self, n: int, step: float) -> list[Block]:
        """The blocks of an epoch through the permutation, made when they are first visited in this direction."""
        backwards = self.stream.backwards(n)
        if step != self._step:
            self._kept, self._step = {}, step
        if backwards not in self._kept:
            m, size = len(self.rows), self._size(KEPT)
            if backwards:  # a short last batch is at the other end
                pieces = [slice(max(k - size, 0), k) for k in range(m, 0, -size)]
            else:
                pieces = [slice(k, min(k + size, m)) for k in range(0, m, size)]
            self._kept[backwards] = [self._inverted(piece, backwards, step) for piece in pieces]
        return self._kept[backwards]

    def _inverted(self, piece: slice, backwards: bool, step: float) -> Block:
        """The block of some rows with its matrix T, its parts in the order in which the rows lie."""
        there = slice(None, None, -1 if backwards else 1)
        rows = np.ascontiguousarray(self.rows[piece][there])
        T = Coupling(rows, self.problem, step).solve(np.eye(len(rows), dtype=rows.dtype))[there, there]
        block = self._block(self.rows[piece], piece, np.ascontiguousarray(T).__matmul__, step)
        if block.shrinkage is None or not backwards:
            return block
        before, after, whole = block.shrinkage
        return block._replace(shrinkage=(before[::-1], after[::-1], whole))

    def _block(
        self, rows: Array, chosen: slice | Integers, solve: Callable[[Array], Array], step: float
    ) -> Block:
        targets = None if self._targets is None else self._targets[chosen]
        return Block(rows, targets, solve, self._shrinkage(len(rows), step))

    def _shrinkage(self, size: int, step: float) -> tuple[Array, Array, float] | None:
        """The powers of s for the batches of a block."""
        if not self.problem.ridge:
            return None
        number = np.arange(size)[:, None] // self.problem.batch
        powers = (1 - step * self.problem.ridge) ** np.arange(number[-1, 0] + 2)
        return powers[number], powers[number[-1] - number], powers[-1]

    def _size(self, target: int) -> int:
        """Rows of a block: whole batches, about `target` rows, never less than one batch."""
        return self.problem.batch * max(1, target // self.problem.batch)
