"""Checks of the proofs for Haar rows: an operator that is not positive, independent orders, norms of triangles."""

import functools

import numpy as np
from scipy.sparse.linalg import svds

from edgelaw import data, exact, kaczmarz
from edgelaw_ledger.evidence import Evidence, compared, off, true
from edgelaw_ledger.routes import unit_rows

_ATOMS = 0.4, 1.6


@functools.cache
def applied_to_one(step, epochs):
    """T^n 1 at the two eigenvalues, n = 1, ..., epochs, from the test and training losses of the library."""
    curve = exact.curve("random_reshuffle", np.repeat(_ATOMS, 20), epochs, step)
    mean = np.array([[0.5, 0.5], np.divide(_ATOMS, 2)])
    return np.linalg.solve(mean, [curve.test[1:], curve.train[1:]]).T


def operator(step):
    """Random reshuffle's operator on two eigenvalues, from the library's losses."""
    (p, q), (p2, _) = applied_to_one(step, 2)
    side = (p2 - p**2) / (q - p)  # the operator is symmetric, and its rows add up to p and q
    return np.array([[p - side, side], [side, q - side]])


@functools.cache
def two_orders(dims, designs, orders, step):
    """Means over designs of tr(A'A B'B)/d for pairs of orders and of tr(A'A A'A)/d, and the first one's error."""
    rng, pairs, squares = np.random.default_rng(12), [], []
    for _ in range(designs):
        left = data.haar(dims, dims, rng) * np.sqrt(np.resize(_ATOMS, dims))
        rows = left / np.linalg.norm(left, axis=1)[:, None]
        maps = [kaczmarz.epoch_matrix(rows[rng.permutation(dims)], step) for _ in range(orders)]
        maps = [A.T @ A for A in maps]
        squares.append(np.mean([(A**2).sum() / dims for A in maps]))
        cross = (sum(maps) ** 2).sum() / dims - orders * squares[-1]
        pairs.append(cross / (orders * (orders - 1)))
    return np.mean(pairs), np.std(pairs, ddof=1) / np.sqrt(designs), np.mean(squares)


@functools.cache
def largest_triangle(draws):
    """The largest norm of the strict lower triangle of twice a Haar projection of half rank, three sizes."""
    rng, largest = np.random.default_rng(13), 0.0
    for size in (100, 400, 800):
        for _ in range(draws):
            Q = data.haar(size, size // 2, rng)
            triangle = np.tril(2 * Q @ Q.T, -1)
            largest = max(largest, float(svds(triangle, k=1, v0=np.ones(size), tol=1e-8)[1][0]))
    return largest


def decrease_per_epoch(*, two: float = 2.0, one: float = 1.0) -> Evidence:
    """I − A'A of an epoch by the product of its factors and by the triangular matrix, and the bound's least gap."""
    rng, worst, least = np.random.default_rng(14), 0.0, np.inf
    for rows, dims in ((30, 60), (60, 60), (90, 60)):
        U = unit_rows(rows, dims, rng)
        for step in (0.05, 0.3, 1.0, 1.7, 1.98):
            A, M = kaczmarz.epoch_matrix(U, step), np.eye(rows) / step + np.tril(U @ U.T, -1)
            inner, loss = np.linalg.solve(M, U), np.eye(dims) - A.T @ A
            worst = max(worst, float(np.abs(loss - (two / step - one) * inner.T @ inner).max()))
            gap = loss - (2 / step - 1) / np.linalg.norm(M, 2) ** 2 * U.T @ U
            least = min(least, float(np.linalg.eigvalsh(gap)[0]))
    return compared(
        off(f"I - A'A is {two:g}/step - {one:g} times the squared solve", worst, 1e-12),
        true("it is at least c U'U with the bound's c", least > -1e-12),
    )
