"""A block of consecutive updates as one triangular solve and two matrix products.

For rows U in visiting order, cut into batches (of one row for the plain update), batch j moves every weight vector by
−U_jᵀ Z_j with Z_j = P_j (U_j W_now − t_j): P_j is step·I for one row, (step/size)·I for an averaged gradient, and
step·(U_j U_jᵀ)⁺ for a projection, where the pseudo-inverse makes repeated rows harmless. All together,

    (I + P L) Z = P (U W − t),      L = the blocks of U Uᵀ strictly below the batches' diagonal,

and W ← W − Uᵀ Z (the book's appendix on triangular solves). A ridge κ shrinks the weights by s = 1 − step·κ with every
batch, so that s^(j−i−1) multiplies L at (j, i), the start has shrunk by s^j before batch j, and by s^n after all n.
"""

from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

import numpy as np
from scipy.linalg import blas

from edgelaw._common.types import Array, Integers
from edgelaw.kaczmarz.problem import Problem
from edgelaw.orders import Stream

KEPT = 128  # rows of a block that is kept from epoch to epoch: large, its triangle is free
FRESH = 64  # rows of a block used once: its Gram matrix costs FRESH/4 probes' worth of products


class Block(NamedTuple):
    """Consecutive updates as one: W ← sⁿ W − Uᵀ solve(U W − t), of which U W has shrunk by s^j where batch j comes."""

    rows: Array
    targets: Array
    solve: Callable[[Array], Array]
    shrunk: Array | None  # s^j for every row; None without a ridge
    whole: float  # sⁿ

    def apply(self, W: Array, change: Array) -> None:
        """Update W, in place; `change` is scratch of its shape."""
        residuals = self.rows @ W
        if self.shrunk is not None:
            residuals *= self.shrunk
            W *= self.whole
        residuals -= self.targets
        np.matmul(self.rows.T, self.solve(residuals), out=change)
        W -= change


def coupled(rows: Array, targets: Array, problem: Problem, step: float) -> Block:
    """The block of some rows in visiting order: its `solve` is a triangular one."""
    number = np.arange(len(rows))[:, None] // problem.batch
    gap, s = number - number.T, 1 - step * problem.ridge
    P = _pulls(rows, number.ravel(), problem, step)
    pull = P.__matmul__ if problem.mode == "projection" else P.__mul__
    lower = rows @ rows.T
    if problem.batch > 1:
        lower *= gap > 0
    if problem.ridge:
        lower *= s ** np.maximum(gap - 1, 0)
    lower, trsm = pull(lower).T, blas.strsm if rows.dtype == np.float32 else blas.dtrsm

    def solve(residuals: Array) -> Array:
        Z = trsm(1.0, lower, pull(residuals).T, side=1, lower=0, diag=1, overwrite_b=1).T
        if problem.ridge:
            Z *= s ** (number[-1] - number)
        return Z

    shrunk = np.asarray(s**number, dtype=np.float64) if problem.ridge else None
    return Block(rows, targets, solve, shrunk, s ** (number[-1, 0] + 1))


def _pulls(rows: Array, number: Integers, problem: Problem, step: float) -> Array:
    """P: a factor for each row, or for projections a matrix with a pseudo-inverse for each batch."""
    if problem.mode == "average":
        return (step / np.bincount(number)[number, None]).astype(rows.dtype)
    P, precision = np.zeros((len(rows), len(rows)), rows.dtype), np.finfo(rows.dtype).eps
    for k in range(0, len(rows), problem.batch):
        U, here = rows[k : k + problem.batch], slice(k, k + problem.batch)
        # Eigenvalues of U Uᵀ at rounding level belong to repeated or dependent rows.
        P[here, here] = np.linalg.pinv(U @ U.T, rcond=max(U.shape) * precision, hermitian=True)
    return step * P


class Blocked:
    """Epochs by triangular solves and matrix products; an order that repeats itself keeps T = (I + P L)⁻¹ P."""

    layout: Literal["C", "F"] = "C"  # the d × probes matrix as BLAS likes it
    overhead = 2**19  # of an epoch, in multiplications

    def __init__(self, problem: Problem, stream: Stream) -> None:
        self.problem, self.stream = problem, stream
        self.rows, self._targets = problem.visited(stream.permutation)
        self._kept: dict[bool, list[Block]] = {}
        self._step = 0.0  # of the blocks that are kept

    @np.errstate(over="ignore", invalid="ignore")
    def advance(self, W: Array, start: int, count: int, step: float) -> None:
        """Update W (d, probes), in place, through `count` epochs from number `start` on."""
        change = np.empty_like(W)
        for n in range(start, start + count):
            for block in self._fresh(n, step) if self.stream.permutation is None else self._repeated(n, step):
                block.apply(W, change)

    def _fresh(self, n: int, step: float) -> Iterable[Block]:
        """The blocks of an epoch that is new: each is gathered, coupled and forgotten."""
        visits = self.stream.epoch(n)
        for piece in self._pieces(FRESH):
            yield coupled(self.rows[visits[piece]], self._targets[visits[piece]], self.problem, step)

    def _repeated(self, n: int, step: float) -> Iterable[Block]:
        """The blocks of an epoch through the permutation, made when they are first visited in this direction."""
        backwards = self.stream.backwards(n)
        if step != self._step:
            self._kept, self._step = {}, step
        if backwards not in self._kept:
            self._kept[backwards] = [self._inverted(piece, backwards, step) for piece in self._pieces(KEPT)]
        return self._kept[backwards]

    def _inverted(self, piece: slice, backwards: bool, step: float) -> Block:
        """The block of some visits with its matrix T, its parts in the order in which the rows lie."""
        there, m = slice(None, None, -1 if backwards else 1), len(self.rows)
        lying = slice(max(m - piece.stop, 0), m - piece.start) if backwards else piece
        rows, targets = self.rows[lying], self._targets[lying]
        block = coupled(np.ascontiguousarray(rows[there]), targets, self.problem, step)
        T = np.ascontiguousarray(block.solve(np.eye(len(rows), dtype=rows.dtype))[there, there])
        shrunk = None if block.shrunk is None else block.shrunk[there]
        return Block(rows, targets, T.__matmul__, shrunk, block.whole)

    def _pieces(self, size: int) -> Iterable[slice]:
        """An epoch in blocks: whole batches, about `size` rows, never less than one batch."""
        size = self.problem.batch * max(1, size // self.problem.batch)
        return (slice(k, k + size) for k in range(0, len(self.rows), size))
