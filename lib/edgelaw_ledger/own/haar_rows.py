"""Checks of the proofs for Haar rows: an operator that is not positive, independent orders, norms of triangles."""

import functools

import numpy as np
from scipy.sparse.linalg import svds

from edgelaw import data, exact, kaczmarz
from edgelaw_ledger.evidence import Evidence, at_most, decide

_ATOMS = 0.4, 1.6


@functools.cache
def _applied_to_one(step, epochs):
    """T^n 1 at the two eigenvalues, n = 1, ..., epochs, from the test and training losses of the library."""
    curve = exact.curve("random_reshuffle", np.repeat(_ATOMS, 20), epochs, step)
    mean = np.array([[0.5, 0.5], np.divide(_ATOMS, 2)])
    return np.linalg.solve(mean, [curve.test[1:], curve.train[1:]]).T


def positive_functions_only(*, lowest: float = -0.251, highest: float = 0.818, step: float = 1.9) -> Evidence:
    """Entries and eigenvalues of random reshuffle's operator on two eigenvalues, from the library's losses."""
    (p, q), (p2, _) = _applied_to_one(step, 2)
    side = (p2 - p**2) / (q - p)  # the operator is symmetric, and its rows add up to p and q
    operator = np.array([[p - side, side], [side, q - side]])
    small, large = np.linalg.eigvalsh(operator)
    return decide(
        bool(operator.min() > 0 and abs(small - lowest) < 1e-3 and abs(large - highest) < 1e-3),
        measured=f"smallest entry {operator.min():.3f}, eigenvalues {small:.4f} and {large:.4f}",
        claimed=f"positive entries, eigenvalues {lowest:g} and {highest:g} at step {step:g}",
        tolerance="0.001 on each eigenvalue",
    )


@functools.cache
def _two_orders(dims, designs, orders, step):
    """Means over designs of tr(A'A B'B)/d for pairs of orders and of tr(A'A A'A)/d, and the first one's errors."""
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


def independent_orders(
    *, integral: float = 0.0439, twice: float = 0.0788, step: float = 1.2, dims: int = 400, designs: int = 12
) -> Evidence:
    """Traces of two epochs with independent orders on Haar rows, and with one order, against the operator."""
    truth = float(np.mean(_applied_to_one(step, 2)[0] ** 2))
    pairs, error, squares = _two_orders(dims, designs, 4, step)
    agrees = abs(pairs - truth) < 3 * error and error < 0.005 * truth
    return decide(
        bool(agrees and abs(integral / truth - 1) < 5e-3 and abs(twice / squares - 1) < 5e-3),
        measured=f"integral {truth:.5f}; two orders {pairs:.5f} ± {error:.5f}; one order twice {squares:.5f}",
        claimed=f"integral and two orders {integral:g}, one order twice {twice:g}",
        tolerance="three standard errors, each at most 0.5 %, and a relative 0.005 on the stated numbers",
    )


@functools.cache
def _largest_triangle(draws):
    """The largest norm of the strict lower triangle of twice a Haar projection of half rank, three sizes."""
    rng, largest = np.random.default_rng(13), 0.0
    for size in (100, 400, 800):
        for _ in range(draws):
            Q = data.haar(size, size // 2, rng)
            triangle = np.tril(2 * Q @ Q.T, -1)
            largest = max(largest, float(svds(triangle, k=1, v0=np.ones(size), tol=1e-8)[1][0]))
    return largest


def bounded_triangles(*, bound: float = 1.23, draws: int = 12) -> Evidence:
    """Norms of the strict lower triangles of Haar projections of half rank at three sizes."""
    largest = _largest_triangle(draws)
    return decide(
        at_most(largest, bound),
        measured=f"largest norm {largest:.4f} in {draws} draws of each of three sizes",
        claimed=f"at most {bound:g}",
        tolerance="none; a bound 2 % lower would fail",
    )


@functools.cache
def _decrease(rows, dims, step):
    """tr(I − A'A)/d of one epoch of random unit rows, and tr(U'M⁻ᵀM⁻¹U)/d; the least eigenvalue of the bound's gap."""
    U = np.random.default_rng(14).standard_normal((rows, dims))
    U /= np.linalg.norm(U, axis=1)[:, None]
    A, M = kaczmarz.epoch_matrix(U, step), np.eye(rows) / step + np.tril(U @ U.T, -1)
    inner = np.linalg.solve(M, U)
    loss, form = np.eye(dims) - A.T @ A, inner.T @ inner
    gap = loss - (2 / step - 1) / np.linalg.norm(M, 2) ** 2 * U.T @ U
    return loss, form, float(np.linalg.eigvalsh(gap)[0])


def decrease_per_epoch(*, two: float = 2.0, one: float = 1.0) -> Evidence:
    """What an epoch takes from the error, by the product of its factors and by the triangular matrix."""
    worst, least = 0.0, np.inf
    for rows, dims in ((30, 60), (60, 60), (90, 60)):
        for step in (0.3, 1.0, 1.7):
            loss, form, gap = _decrease(rows, dims, step)
            worst = max(worst, float(np.abs(loss - (two / step - one) * form).max()))
            least = min(least, gap)
    return decide(
        bool(worst < 1e-12 and least > -1e-12),
        measured=f"identity within {max(worst, 1e-14):.0e}, three shapes and three steps; the bound holds",
        claimed=f"I - A'A is {two:g}/step - {one:g} times the squared triangular solve, and at least c S",
        tolerance="1e-12",
    )
