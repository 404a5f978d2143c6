"""Random unit rows, epochs multiplied out, and averages over draws extrapolated to infinite dimension."""

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
from scipy.linalg.blas import dger


def unit_rows(rows: int, dims: int, rng: np.random.Generator) -> np.ndarray:
    """Independent uniform directions, one per row."""
    X = rng.standard_normal((rows, dims))
    return X / np.linalg.norm(X, axis=1)[:, None]


def epoch(U: np.ndarray, step: float = 1.0) -> np.ndarray:
    """The epoch matrix (I − η u_m u_mᵀ) ⋯ (I − η u_1 u_1ᵀ), one row at a time."""
    A = np.eye(U.shape[1], order="F")
    for u in U:
        A = dger(-step, u, u @ A, a=A, overwrite_a=True)  # A − η u (uᵀA), in place
    return A


def epoch_by_solve(U: np.ndarray, step: float) -> np.ndarray:
    """The same by one triangular solve, for many rows."""
    M = np.tril(U @ U.T, -1) + np.eye(len(U)) / step
    return np.eye(U.shape[1]) - U.T @ scipy.linalg.solve_triangular(M, U, lower=True)


def one_row(d: int = 24, t: int = 16, seed: int = 200) -> tuple[np.ndarray, ...]:
    """A product of t rows in dimension d, a further row u, the product after it, and the t rows."""
    U = unit_rows(t + 1, d, np.random.default_rng(seed))
    A = epoch(U[:t])
    u = U[t]
    return A, u, A - np.outer(u, u @ A), U[:t]


@functools.lru_cache(maxsize=32)
def extrapolated(statistic: Callable, d: int, draws: int, seed: int, rho: float = 1.0) -> tuple[Any, Any]:
    """Mean and standard error of 2f(2d) − f(d), numbers or arrays, f the statistic of ρd unit rows in dimension d.

    Results are kept per statistic, so one that a check needs again and again is a function of its module.
    """
    rng = np.random.default_rng(seed)
    means, squares = [], []
    for size in (d, 2 * d):
        values = np.array([statistic(unit_rows(round(rho * size), size, rng)) for _ in range(draws)])
        means.append(values.mean(axis=0))
        squares.append(values.var(axis=0, ddof=1) / draws)
    return 2 * means[1] - means[0], np.sqrt(4 * squares[1] + squares[0])


@functools.lru_cache(maxsize=32)
def drawn(
    step: float,
    n: int,
    sizes: tuple[int, int] = (64, 128),
    designs: tuple[int, int] = (800, 400),
    seed: int = 2024,
) -> dict[tuple[str, str], tuple[float, float]]:
    """Losses of single shuffle and flip-flop on random designs, m = d, extrapolated from two sizes to d = infinity.

    Returns a dictionary from (order, "test" or "train") to (mean, standard error).
    """
    rng = np.random.default_rng([seed, n, round(1000 * step)])
    means, errors = [], []
    for d, count in zip(sizes, designs, strict=True):
        rows = np.empty((count, 4))
        for i in range(count):
            U = unit_rows(d, d, rng)
            A = epoch_by_solve(U, step)
            single = np.linalg.matrix_power(A, n)
            flip = np.linalg.matrix_power(A.T @ A, n // 2)
            if n % 2:
                flip = A @ flip
            rows[i] = [(P**2).sum() / d for P in (single, U @ single, flip, U @ flip)]
        means.append(rows.mean(axis=0))
        errors.append(rows.std(axis=0, ddof=1) / np.sqrt(count))
    growth = sizes[1] / (sizes[1] - sizes[0])  # removes the error of order 1/d
    mean = growth * means[1] - (growth - 1) * means[0]
    error = np.hypot(growth * errors[1], (growth - 1) * errors[0])
    names = itertools.product(("single_shuffle", "flip_flop"), ("test", "train"))
    return {name: (float(a), float(b)) for name, a, b in zip(names, mean, error, strict=True)}
