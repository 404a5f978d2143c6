"""The update as a compiled loop, for one or few weight vectors: no block pays for itself there."""

import copy
from typing import Literal

import numpy as np

from edgelaw._common.compiled import compiled
from edgelaw._common.types import Array, Integers
from edgelaw.kaczmarz.problem import Problem
from edgelaw.orders import Stream


@compiled
def sweep(
    rows: Array, targets: Array, weights: Array, visits: Integers, batch: int, step: float, shrink: float
) -> None:
    """Update each row w of `weights` (probes, d), in place, by one batch of visited rows u after the other:

        w ← shrink · w − step · mean (⟨u, w⟩ − t) u.

    The last batch may be shorter. `targets` has one column for all probes, or one for each.
    """
    own = min(1, targets.shape[1] - 1)
    residuals = np.empty((batch, weights.shape[0]), weights.dtype)
    for first in range(0, visits.size, batch):
        chosen = visits[first : first + batch]
        for a in range(chosen.size):
            u = rows[chosen[a]]
            for q in range(weights.shape[0]):
                w = weights[q]
                s = -targets[chosen[a], own * q]
                for j in range(w.size):
                    s += u[j] * w[j]
                residuals[a, q] = s
        part = step / chosen.size
        for q in range(weights.shape[0]):
            w = weights[q]
            if shrink != 1.0:
                for j in range(w.size):
                    w[j] *= shrink
            for a in range(chosen.size):
                u = rows[chosen[a]]
                c = part * residuals[a, q]
                for j in range(w.size):
                    w[j] -= c * u[j]


class Compiled:
    """Epochs by the compiled loop."""

    layout: Literal["C", "F"] = "F"  # each probe contiguous
    overhead = 2**8  # of an epoch, in multiplications

    def __init__(self, problem: Problem, stream: Stream) -> None:
        self.problem, self.stream = problem, copy.copy(stream)
        self.rows, self._targets = problem.visited(stream.permutation)
        if stream.permutation is not None:  # the rows lie in its order
            self.stream.permutation = np.arange(len(self.rows))

    def advance(self, W: Array, start: int, count: int, step: float) -> None:
        """Update W (d, probes), in place, through `count` epochs from number `start` on."""
        visits, batch = self.stream.epochs(start, count), self.problem.batch
        kind = self.rows.dtype.type
        rates = kind(step), kind(1 - step * self.problem.ridge)
        for epoch in visits:
            sweep(self.rows, self._targets, W.T, epoch, batch, *rates)
