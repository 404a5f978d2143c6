"""What `edgelaw.predict` computes with: exact curves of all orders, measured ones, and what measuring costs."""

import concurrent.futures
import time

import numpy as np

from edgelaw import kaczmarz, orders
from edgelaw.curves import LearningCurve
from edgelaw.theory import flip_flop, iid, random_reshuffle, single_shuffle
from edgelaw.theory._curves import FEWEST

THEORY = {
    "iid": iid,
    "random_reshuffle": random_reshuffle,
    "single_shuffle": single_shuffle,
    "flip_flop": flip_flop,
}
assert tuple(THEORY) == orders.ORDERS


def recorded(epochs):
    """The epochs to look at: all up to 200, then about a hundred a decade, the last one included."""
    if epochs <= 200:
        return np.arange(epochs + 1)
    late = np.geomspace(200, epochs, 2 + int(100 * np.log10(epochs / 200)))
    return np.union1d(np.arange(201), np.round(late).astype(np.int64))


def exact(order, eigenvalues, epochs, step, shape):
    """The exact curve from the eigenvalues of XᵀX/m; ArithmeticError where there is none."""
    m, d = shape
    if order == "iid":
        return iid.curve(eigenvalues, epochs, step, rho=m / d)
    if min(m, d) < FEWEST:
        raise ArithmeticError(f"{min(m, d)} eigenvalues are too few to stand for a spectrum.")
    if m != d:
        raise ArithmeticError("The exact theory of this order needs as many rows as dimensions.")
    return THEORY[order].curve(eigenvalues, epochs, step)


def measure(X, order, epochs, step, rng, runs, probes, tick=lambda: None):
    """The losses of real runs: means over `runs` orders, each from `probes` orthonormal starts (all of them if d)."""
    d = X.shape[1]
    if order == "iid" and probes == d:
        return iid.expected_curve(X, epochs, step, tolerance=1e-5)
    scale = np.sqrt(d) / np.linalg.norm(X, axis=1)

    def run(child):
        starts = np.eye(d) if probes == d else np.linalg.qr(child.standard_normal((d, probes)))[0]
        losses = []
        for _, W in kaczmarz.iterates(
            X, order, int(epochs[-1]), starts, step=step, rng=child, record=epochs.tolist()
        ):
            residuals = (X @ W) * scale[:, None]
            losses.append([(W**2).sum() / probes, (residuals**2).sum() / (len(X) * probes)])
            tick()
        return losses

    with concurrent.futures.ThreadPoolExecutor(min(runs, kaczmarz._cores())) as pool:
        losses = np.array(list(pool.map(run, rng.spawn(runs))))
    mean, error = losses.mean(axis=0), losses.std(axis=0, ddof=1) / np.sqrt(runs)
    return LearningCurve(epochs, *mean.T, *error.T)


def seconds_per_epoch(X, probes):
    """How long an epoch of one run takes, from a few hundred rows of it."""
    part = X[: min(len(X), 512)]
    starts = np.eye(X.shape[1])[:, :probes]
    for _ in range(2):  # the first warms up
        before = time.perf_counter()
        for _ in kaczmarz.iterates(part, "random_reshuffle", 1, starts, rng=0):
            pass
        spent = time.perf_counter() - before
    return spent * len(X) / len(part)
