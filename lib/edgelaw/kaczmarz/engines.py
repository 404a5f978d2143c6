"""The two ways through an epoch, compiled loop and blocks, and the walk from one recorded epoch to the next."""

from collections.abc import Callable, Iterator
from typing import Literal

import numpy as np

from edgelaw._common import arguments
from edgelaw._common.types import Array, Integers
from edgelaw.kaczmarz import blocks
from edgelaw.kaczmarz.problem import Problem, squares
from edgelaw.orders import Stream

METHODS = ("auto", "blocked", "compiled")
# The compiled loop is faster than blocks up to so many probes, or up to so many numbers in W (measured).
FEW_KEPT, SMALL_KEPT = 8, 2**12
FEW_FRESH, SMALL_FRESH = 24, 2**14
DIVERGED = {np.float64: 1e280, np.float32: 1e70}  # a squared norm beyond it: products would overflow next
VANISHED = {np.float64: 1e-300, np.float32: 1e-72}


class Compiled:
    """Epochs by the compiled loop."""

    layout: Literal["C", "F"] = "F"  # each probe contiguous
    overhead = 2**8  # of an epoch, in multiplications

    def __init__(self, problem: Problem, stream: Stream) -> None:
        from edgelaw.kaczmarz.compiled import sweep  # numba is imported when it is needed, not before

        self._sweep, self._stream, self._step = sweep, stream, problem.X.dtype.type(problem.step)
        self.problem, self.repeats = problem, stream.order == "iid"
        self.rows = problem.rows(stream.permutation)
        targets = np.zeros(stream.rows) if problem.targets is None else problem.targets
        self._places = None
        if stream.permutation is not None:
            targets = targets[stream.permutation]
            self._places = stream.permutation.argsort()
        self._targets = targets.astype(self.rows.dtype)

    def advance(self, W: Array, start: int, count: int) -> None:
        """Update W (d, probes), in place, through `count` epochs from number `start` on."""
        visits = self._stream.epochs(start, count).ravel()
        if self._places is not None:
            visits = self._places[visits]
        residuals = np.empty(W.shape[1], dtype=W.dtype)
        self._sweep(self.rows, self._targets, W.T, residuals, visits, self._step)


class Blocked:
    """Epochs by triangular solves and matrix products."""

    layout: Literal["C", "F"] = "C"  # the d × probes matrix as BLAS likes it
    overhead = 2**19

    def __init__(self, problem: Problem, stream: Stream) -> None:
        self._stream = stream
        self.problem, self.repeats = problem, stream.order == "iid"
        self.rows = problem.rows(stream.permutation)
        targets = problem.targets
        if targets is not None:
            targets = targets if stream.permutation is None else targets[stream.permutation]
            targets = targets.astype(self.rows.dtype)
        kind = blocks.FreshBlocks if stream.permutation is None else blocks.KeptBlocks
        self._epochs: blocks.FreshBlocks | blocks.KeptBlocks = kind(
            self.rows, targets, problem.step, problem.batch, problem.batch_mode
        )

    def advance(self, W: Array, start: int, count: int) -> None:
        """Update W (d, probes), in place, through `count` epochs from number `start` on."""
        for n in range(start, start + count):
            if isinstance(self._epochs, blocks.FreshBlocks):
                self._epochs.epoch(W, self._stream.epoch(n))
            else:
                self._epochs.epoch(W, self._stream.backwards(n))


Engine = Compiled | Blocked


def choose(problem: Problem, stream: Stream, probes: int, method: str) -> Engine:
    """The engine asked for, or the faster one."""
    arguments.choice(method, "method", METHODS)
    if method == "compiled" and problem.batch > 1:
        raise ValueError(f"method 'compiled' goes row by row and needs batch=1, not {problem.batch}.")
    few, small = (FEW_FRESH, SMALL_FRESH) if stream.permutation is None else (FEW_KEPT, SMALL_KEPT)
    few = probes <= few or probes * problem.X.shape[1] <= small
    if method == "compiled" or (method == "auto" and problem.batch == 1 and few):
        return Compiled(problem, stream)
    return Blocked(problem, stream)


def walk(
    engine: Engine, starts: Array, recorded: Integers, tick: Callable[[int], object] = lambda count: None
) -> Iterator[Array]:
    """Yield the weights (d, probes) at each recorded epoch; they change when the next is asked for.

    Weights too large for the squares in a loss are refused as divergence.
    """
    m, d = engine.rows.shape
    W = np.array(starts, dtype=engine.rows.dtype, order=engine.layout)
    diverged = DIVERGED[W.dtype.type]
    with np.errstate(over="ignore"):
        watched = squares(W) < diverged  # a start beyond it is nobody's divergence
    # Pieces short enough to report progress, to keep few indices in memory, and to notice what has vanished.
    piece = max(1, min(2**20 // m, 2**28 // (m * d * W.shape[1] + engine.overhead)))
    now = 0
    for n in recorded.tolist():
        while now < n:
            count = min(piece, n - now)
            with np.errstate(over="ignore", invalid="ignore"):
                engine.advance(W, now, count)
                sizes = squares(W)
            now += count
            if not (sizes[watched] < diverged).all():
                raise engine.problem.divergence(now, engine.repeats)
            W[:, sizes < VANISHED[W.dtype.type]] = 0  # subnormal numbers are a hundred times slower
            tick(count)
        yield W
