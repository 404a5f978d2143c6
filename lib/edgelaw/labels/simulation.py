"""SGD itself on features and labels, for what theory does not give and to set beside what it does.

The update is that of ``torch.optim.SGD`` on half the squared error, summed over outputs and averaged over the batch:
:math:`w \\leftarrow (1 - \\text{lr}\\,\\kappa)\\,w - \\frac{\\text{lr}}{b}\\sum_{i\\in B}(x_i\\cdot w - t_i)\\,x_i`,
the ridge κ as its ``weight_decay``. The last batch of an epoch averages over its own rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edgelaw import orders
from edgelaw._common import threads
from edgelaw._common.compiled import compiled
from edgelaw._common.types import Array, Integers
from edgelaw.labels.preparation import Prepared


class Runs(NamedTuple):
    """Losses of several runs by epoch, from 0: arrays (runs, epochs + 1), `held_out` None without held-out rows."""

    train: Array
    held_out: Array | None
    weights: Array  # of the last run after its last epoch, (d, k)


@compiled
def sweep(
    rows: Array,
    targets: Array,
    weights: Array,
    residuals: Array,
    visits: Integers,
    batch: int,
    rate: float,
    ridge: float,
) -> None:
    """Update `weights` (k, d), in place, through `visits` in batches; `residuals` (batch, k) is scratch."""
    outputs, dims = weights.shape
    shrink = 1.0 - rate * ridge
    for first in range(0, visits.size, batch):
        last = min(first + batch, visits.size)
        for a in range(first, last):
            u = rows[visits[a]]
            for q in range(outputs):
                w = weights[q]
                s = 0.0
                for j in range(dims):
                    s += u[j] * w[j]
                residuals[a - first, q] = s - targets[visits[a], q]
        part = rate / (last - first)
        for q in range(outputs):
            w = weights[q]
            if ridge != 0.0:
                for j in range(dims):
                    w[j] *= shrink
            for a in range(first, last):
                u = rows[visits[a]]
                c = part * residuals[a - first, q]
                for j in range(dims):
                    w[j] -= c * u[j]


def simulate(
    prepared: Prepared,
    order: str,
    rates: Array,
    batch: int,
    ridge: float,
    runs: int,
    rng: np.random.Generator,
) -> Runs:
    """Run SGD from zero weights, `runs` times in as many orders.

    Parameters
    ----------
    prepared : Prepared
    order : str
    rates : array
        The learning rate of each epoch.
    batch, ridge, runs
        Rows per update, weight decay, independent runs.
    rng : numpy.random.Generator
    """

    def one(child: np.random.Generator) -> tuple[list[float], list[float], Array]:
        stream = orders.stream(order, len(prepared.X), child)
        W = np.zeros((prepared.T.shape[1], prepared.X.shape[1]))
        scratch = np.empty((batch, len(W)))
        train, held = [loss(prepared.X, prepared.T, W)], _held(prepared, W)
        for n, rate in enumerate(rates):
            visits = np.ascontiguousarray(stream.epoch(n), dtype=np.int64)
            sweep(prepared.X, prepared.T, W, scratch, visits, batch, float(rate), float(ridge))
            train.append(loss(prepared.X, prepared.T, W))
            held += _held(prepared, W)
        return train, held, W.T

    children = rng.spawn(runs)
    with threads.one_blas_thread(), np.errstate(over="ignore", invalid="ignore"):
        results = [one(children[0])]  # alone, so that one thread compiles
        with threads.executor(threads.cores()) as pool:
            results += list(pool.map(one, children[1:]))
    train = np.array([result[0] for result in results])
    held_out = None if prepared.held is None else np.array([result[1] for result in results])
    return Runs(train, held_out, results[-1][2])


def loss(rows: Array, targets: Array, weights: Array) -> float:
    """Mean over rows of the squared error, summed over outputs; `weights` is (k, d)."""
    with np.errstate(over="ignore", invalid="ignore"):
        return float(((rows @ weights.T - targets) ** 2).sum() / len(rows))


def _held(prepared: Prepared, weights: Array) -> list[float]:
    return [] if prepared.held is None else [loss(*prepared.held, weights)]
