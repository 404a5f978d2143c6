"""Random unit rows, epochs multiplied out, and averages over draws extrapolated to infinite dimension."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
from scipy.linalg.blas import dger

from edgelaw_ledger.evidence import Row
from edgelaw_ledger.routes.comparing import samples

X, Y = 1.5, 1.8  # where resolvents are taken


def unit_rows(rows: int, dims: int, rng: np.random.Generator) -> np.ndarray:
    """Independent uniform directions, one per row."""
    X = rng.standard_normal((rows, dims))
    return X / np.linalg.norm(X, axis=1)[:, None]


def gaussian_spectra(draws: int, dims: int, rng: np.random.Generator) -> np.ndarray:
    """Eigenvalues of square Gaussian samples, one row per draw, the smallest first."""
    return np.linalg.svd(rng.standard_normal((draws, dims, dims)), compute_uv=False)[:, ::-1] ** 2 / dims


def mean_update(U: np.ndarray, step: float) -> np.ndarray:
    """The mean over rows of M ↦ (I − η uuᵀ) M (I − η uuᵀ), as a matrix that acts on vec M."""
    maps = (np.eye(U.shape[1]) - step * np.outer(u, u) for u in U)
    return np.mean([np.kron(P, P) for P in maps], axis=0)


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


@functools.cache
def drawn(step: float, n: int, draws: int = 400) -> dict[tuple[str, str], tuple[float, float]]:
    """Mean and error by (order, loss): single shuffle and flip-flop on random matrices, m = d, extrapolated in d."""

    def losses(U):
        A = epoch_by_solve(U, step)
        powers = np.linalg.matrix_power(A, n), np.linalg.matrix_power(A.T @ A, n // 2)
        products = powers[0], A @ powers[1] if n % 2 else powers[1]
        return [[(P**2).sum() / len(A), ((U @ P) ** 2).sum() / len(A)] for P in products]

    mean, error = extrapolated(losses, 64, draws, 2024)
    return {
        (order, loss): (float(mean[i, j]), float(error[i, j]))
        for i, order in enumerate(("single_shuffle", "flip_flop"))
        for j, loss in enumerate(("test", "train"))
    }


def _traces(U, step):
    """Traces per dimension of one epoch A, with S = UᵀU, B = AᵀA and resolvents R of A, L of Aᵀ and Q of B, by name."""
    A, S, eye = epoch_by_solve(U, step), U.T @ U, np.eye(U.shape[1])
    B = A.T @ A
    R, L, Q = (np.linalg.inv(M - z * eye) for M, z in ((A, X), (A.T, Y), (B, X)))
    products = {
        "resolvent of A": (R, eye), "the same with S": (S, R), "phi": (R, L), "psi": (S @ R, L),
        "alpha": (Q, eye), "beta": (A, Q), "gamma": (S, Q),
        "m_2": (A, A), "b_1": (A, A.T), "m_3": (A @ A, A), "b_2": (B, B), "b_3": (B @ B, B), "b_4": (B @ B, B @ B),
        "a_1": (S, B), "a_2": (S, B @ B), "a_3": (S @ B, B @ B),
        "train": (S, A @ A.T), "c_2": (A @ A, (A @ A).T),
    }  # fmt: skip
    return {name: np.vdot(first, second.T) / len(A) for name, (first, second) in products.items()}


@functools.cache
def _traced(step, rho):
    """Their means and errors over 400 draws at d = 50 and 100, extrapolated."""
    names = list(_traces(np.eye(2), step))
    mean, error = extrapolated(lambda U: list(_traces(U, step).values()), 50, 400, 11, rho)
    return dict(zip(names, zip(mean, error, strict=True), strict=True))


def on_matrices(expected: dict[str, float], step: float = 1.0, rho: float = 1.0) -> list[Row]:
    """Rows that compare traces of one epoch on random matrices, by name, with what is expected."""
    rows = []
    for name, truth in expected.items():
        mean, error = _traced(step, rho)[name]
        rows += samples(f"{name} on matrices, step {step:g}, rho = {rho:g}", mean, error, truth, cap=0.006)
    return rows
