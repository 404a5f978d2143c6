"""Losses as arrays, measured from all starts at once and predicted from eigenvalues: what the sweeps have in common.

A loss that is averaged over all starts (the identity matrix for a start) leaves only the order of the rows to chance.
"""

import numpy as np

from edgelaw import exact, kaczmarz
from edgelaw.orders import ORDERS


def of_curve(curve):
    """Test and training loss of a curve from its first epoch on: (2, epochs)."""
    return np.array([curve.test[1:], curve.train[1:]])


def predicted(eigenvalues, epochs, step):
    """The exact curves of all orders from the eigenvalues alone: (orders, 2, epochs)."""
    values = np.maximum(eigenvalues, 0)
    return np.array([of_curve(exact.curve(order, values, np.array(epochs), step)) for order in ORDERS])


def measured(X, order, epochs, step, rng, runs):
    """The curve over all starts, mean over `runs` orders with its standard error; IID's is its exact expectation."""
    if order == "iid":
        curve = exact.expected_curve(X, epochs, step, tolerance=1e-5)
        return of_curve(curve), np.zeros((2, len(curve.epochs) - 1))
    curve = kaczmarz.simulate(X, order, epochs, step, runs=runs, rng=rng, starts="all")
    return of_curve(curve), np.array([curve.test_se[1:], curve.train_se[1:]])


def of_map(U, M):
    """Test and training loss that the map M of one or more epochs leaves, from all starts, for unit rows U."""
    return (M.astype(float) ** 2).sum() / U.shape[1], ((U @ M).astype(float) ** 2).sum() / len(U)


def fixed_order(U, epochs, step):
    """Single shuffle and flip-flop on unit rows in visiting order, from all starts: two arrays (2, epochs).

    Single shuffle by powers of the epoch matrix; flip-flop by its singular values, where the training loss is the
    mean of ending forwards and ending backwards.
    """
    m, d = U.shape
    A = kaczmarz.epoch_matrix(U, step)
    single = [of_map(U, power) for power in powers(A, epochs)]
    left, values, right = np.linalg.svd(A)
    heights = np.mean([((U @ side) ** 2).sum(axis=0) for side in (left, right.T)], axis=0)
    shares = values ** (2 * np.array(epochs)[:, None])
    return np.transpose(single), np.array([shares.sum(axis=1) / d, shares @ heights / m])


def fresh_orders(U, order, epochs, step, rng, batch=1):
    """An order that draws every epoch anew (one stream, seeded by `rng`), on unit rows from all starts: (2, epochs).

    The precision is that of the rows. `rng` itself seeds the stream, not a child of it as in `kaczmarz.simulate`,
    because the recorded sweeps were drawn this way.
    """
    start = np.eye(U.shape[1], dtype=U.dtype)
    walk = kaczmarz.iterates(
        kaczmarz.Problem(U, batch=batch, mode="projection"), order, epochs, start, step, rng=rng
    )
    return np.transpose([of_map(U, W) for n, W in walk if n])


def powers(A, epochs):
    """A to each of the epochs, each a product of powers that are already known."""
    known = {1: A}

    def power(n):
        if n not in known:
            largest = max(k for k in known if k < n)
            known[n] = power(n - largest) @ known[largest]
        return known[n]

    return [power(n) for n in epochs]
