"""SGD with labels, run for real: what the tests of `edgelaw.exact.labels` compare its curves with."""

import numpy as np
import scipy.linalg

from edgelaw import data
from edgelaw.exact.labels import LabelledRows
from edgelaw_app.training.probe import split


def labelled(name, dims, rows, held=500, seed=0):
    """A shipped data set with its classes as one-hot targets, centred: rows, targets, held-out rows and targets."""
    shipped = data.load(name)
    probe = split(shipped.features, shipped.labels, rows, dims, held, seed)
    classes = np.eye(int(probe.labels.max()) + 1)
    mean = classes[probe.labels].mean(axis=0)
    return probe.X, classes[probe.labels] - mean, probe.held, classes[probe.held_labels] - mean


def gaussian(rows, dims, rng, outputs=1):
    """Unit Gaussian rows with targets that are noise alone."""
    X = rng.standard_normal((rows, dims))
    X /= np.linalg.norm(X, axis=1)[:, None]
    T = rng.standard_normal((rows, outputs))
    return X, T - X @ np.linalg.lstsq(X, T, rcond=None)[0]


def simulated(X, T, steps, order, runs, rng, held=None, batch=1, block=128):
    """Training loss, held-out loss and distance after each epoch, an array (runs, epochs + 1, 3)."""
    m, d = X.shape
    scale = (X**2).sum() / m
    solution = np.linalg.lstsq(X, T, rcond=None)[0]
    losses = np.full((runs, len(steps) + 1, 3), np.nan)
    for run in range(runs):
        w = np.zeros((d, T.shape[1]))
        for k in range(len(steps) + 1):
            if k:
                visits = rng.permutation(m) if order == "random_reshuffle" else rng.integers(0, m, m)
                w = epoch(X, T, w, visits, steps[k - 1] / scale, batch, block)
            losses[run, k, 0] = ((X @ w - T) ** 2).sum() / m
            if held is not None:
                losses[run, k, 1] = ((held[0] @ w - held[1]) ** 2).sum() / len(held[0])
            losses[run, k, 2] = ((w - solution) ** 2).sum()
    return losses


def epoch(X, T, w, visits, rate, batch=1, block=128):
    """The weights after an epoch through the rows `visits`, a block of single rows by one triangular solve."""
    size = block if batch == 1 else batch
    for first in range(0, len(visits), size):
        chosen = visits[first : first + size]
        rows = X[chosen]
        gap = T[chosen] - rows @ w
        if batch == 1:
            M = np.tril(rows @ rows.T, -1) + np.eye(len(rows)) / rate
            w = w + rows.T @ scipy.linalg.solve_triangular(M, gap, lower=True)
        else:
            w = w + rate / len(rows) * rows.T @ gap
    return w


def rows_of(problem):
    """LabelledRows of what `labelled` returns."""
    X, T, *held = problem
    return LabelledRows.of(X, T, tuple(held) if held else None)
