"""SGD itself on features and labels, for what theory does not give and to set beside what it does.

The update is that of ``torch.optim.SGD`` on half the squared error, summed over outputs and averaged over the batch:
:math:`w \\leftarrow (1 - \\text{lr}\\,\\kappa)\\,w - \\frac{\\text{lr}}{b}\\sum_{i\\in B}(x_i\\cdot w - t_i)\\,x_i`,
the ridge κ as its ``weight_decay``. The last batch of an epoch averages over its own rows.
"""

from __future__ import annotations

import threading
from typing import NamedTuple

import numpy as np

from edgelaw import kaczmarz
from edgelaw._common.types import Array
from edgelaw_app.labels.preparation import Prepared


class Runs(NamedTuple):
    """Losses of several runs by epoch, from 0: arrays (runs, epochs + 1), `held_out` None without held-out rows."""

    train: Array
    held_out: Array | None
    weights: Array  # of the last run after its last epoch, (d, k)


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
    sets = [(prepared.X, prepared.T)] + ([] if prepared.held is None else [prepared.held])
    problem = kaczmarz.Problem(prepared.X, prepared.T, batch, normalised=False, ridge=ridge)

    @np.errstate(over="ignore")
    def one(child: np.random.Generator, halt: threading.Event) -> tuple[Array, Array]:
        losses = np.full((len(sets), len(rates) + 1), np.inf)  # what diverges stays there
        W = start = np.zeros((prepared.X.shape[1], prepared.T.shape[1]))
        try:
            for n, W in kaczmarz.iterates(problem, order, len(rates), start, rates, child):
                losses[:, n] = [loss(*part, W) for part in sets]
        except OverflowError:
            W = np.full_like(W, np.inf)
        return losses, W

    results = kaczmarz.by_run(one, rng, runs)
    losses = np.array([result[0] for result in results])
    return Runs(losses[:, 0], losses[:, 1] if len(sets) > 1 else None, results[-1][1])


def loss(rows: Array, targets: Array, weights: Array) -> float:
    """Mean over rows of the squared error, summed over outputs."""
    gaps = rows @ weights - targets
    return float(np.vdot(gaps, gaps)) / len(rows)
