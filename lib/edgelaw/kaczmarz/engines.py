"""Which of the two ways goes through an epoch, and the walk from one recorded epoch to the next."""

import concurrent.futures
import threading
from collections.abc import Iterator

import numpy as np

from edgelaw._common.compiled import has_numba
from edgelaw._common.types import Array, Integers
from edgelaw.kaczmarz.blocks import FRESH, Blocked
from edgelaw.kaczmarz.compiled import Compiled
from edgelaw.kaczmarz.problem import Problem, squares
from edgelaw.orders import Stream

# Up to so many probes, or up to so many numbers in W, the compiled loop is faster than blocks: whose Gram matrices are
# kept from epoch to epoch, or not needed, or fresh (measured: batches of 1 to 128, 64 to 1024 dimensions).
FEW_KEPT, SMALL_KEPT = 8, 2**12
FEW_FRESH, SMALL_FRESH = 24, 2**14
DIVERGED = {np.float64: 1e280, np.float32: 1e70}  # a squared norm beyond it: products would overflow next
VANISHED = {np.float64: 1e-300, np.float32: 1e-72}

Engine = Compiled | Blocked


def choose(problem: Problem, stream: Stream, probes: int) -> Engine:
    """The faster way; blocks where nothing is compiled, and for projections, which are no loop over rows."""
    if not has_numba() or problem.mode == "projection":
        return Blocked(problem, stream)
    fresh = stream.permutation is None and problem.batch < FRESH
    few, small = (FEW_FRESH, SMALL_FRESH) if fresh else (FEW_KEPT, SMALL_KEPT)
    if probes <= few or probes * problem.X.shape[1] <= small:
        return Compiled(problem, stream)
    return Blocked(problem, stream)


def walk(
    engine: Engine, starts: Array, recorded: Integers, steps: Array, halt: threading.Event | None = None
) -> Iterator[Array]:
    """Yield the weights (d, probes) at each recorded epoch; they change when the next is asked for.

    `steps` has one step, or that of every epoch. Weights too large for the squares in a loss are refused as divergence;
    another thread ends the walk by `halt`.
    """
    m, d = engine.rows.shape
    W = np.array(starts, dtype=engine.rows.dtype, order=engine.layout)
    flat, diverged, vanished = W.ravel(order="K"), DIVERGED[W.dtype.type], VANISHED[W.dtype.type]
    watched = squares(W) < diverged  # a start beyond it is nobody's divergence
    # Pieces short enough to stop when told, to keep few indices in memory, and to notice what has vanished.
    piece = max(1, min(2**20 // m, 2**28 // (m * d * W.shape[1] + engine.overhead)))
    now, looked, ends = 0, 0, np.union1d(recorded, np.flatnonzero(np.diff(steps)) + 1)
    for end, yielded in zip(ends.tolist(), np.isin(ends, recorded).tolist(), strict=True):
        step = float(steps[min(now, len(steps) - 1)])
        while now < end:
            if halt is not None and halt.is_set():
                raise concurrent.futures.CancelledError
            count = min(piece, end - now)
            engine.advance(W, now, count, step)
            now += count
            if (
                now - looked < min(piece, 2**8)
                and W.shape[1] * vanished < float(np.vdot(flat, flat)) < diverged
            ):
                continue  # to look at every start takes as long as a small epoch
            looked, sizes = now, squares(W)
            if not (sizes[watched] < diverged).all():
                raise engine.problem.divergence(step, now)
            W[:, sizes < vanished] = 0  # subnormal numbers are a hundred times slower
        if yielded:
            yield W
