"""Proofs II: exact identities on small matrices, and slopes, entries and bounds that the page prints."""

import numpy as np
import pytest
from outputs import numbers, prose

from edgelaw import exact
from edgelaw.kaczmarz import epoch_matrix
from edgelaw.theory import random_reshuffle as rr

CHAPTER = "appendix_proofs_haar"


def unit_rows(rows, dims, seed):
    U = np.random.default_rng(seed).standard_normal((rows, dims))
    return U / np.linalg.norm(U, axis=1)[:, None]


def test_the_solver_of_the_page_and_the_library_agree_on_one_epoch():
    ours, library = numbers(CHAPTER, r"b by this solver (\S+) b by the library (\S+)")
    assert ours == pytest.approx(library, abs=2e-10)


def test_one_more_row_changes_the_trace_matrix_as_the_proof_says():
    """A G Aᵀ, with the resolvent G and the epoch A both updated by the row u."""
    eta, rng = 1.3, np.random.default_rng(0)
    small, u = rng.standard_normal((7, 7)), np.array([0.6, 0.8, 0, 0, 0, 0, 0])
    G, A = -np.linalg.inv(small @ small.T + np.eye(7)), np.eye(7) - 0.1 * small
    P, w, nu, X = np.outer(u, u), A @ G @ u, 1 / (1 - u @ G @ u), A @ G @ A.T
    step = np.eye(7) - eta * P
    new = step @ A @ np.linalg.inv(np.linalg.inv(G) - P) @ A.T @ step
    change = nu * np.outer(w, w) - eta * (P @ X + X @ P)
    change -= eta * nu * (u @ w) * (np.outer(u, w) + np.outer(w, u))
    change += eta**2 * (u @ X @ u + nu * (u @ w) ** 2) * P
    assert np.abs(new - X - change).max() < 1e-13


def test_traces_stray_from_their_references_like_one_over_d():
    (error,) = numbers(CHAPTER, r"slope in d, standard error (\S+); d · rms deviation")
    assert error < 0.1
    names = r"\(a\)", r"\(b\)", r"\(c\)", r"\(d\)", r"\(e\) λ", r"\(e\) λf", r"\(f\)", r"\nb"
    for name in names:
        slope, largest = numbers(CHAPTER, rf"{name} (-\d\S+) (\d\S+)\n")
        assert abs(slope + 1) < 4 * error
        assert largest < 3


def test_triangles_of_haar_matrices_stay_bounded():
    norms = [numbers(CHAPTER, rf"m = {m}: norm of the triangle (\S+)")[0] for m in (100, 400, 1600)]
    assert max(norms) < 1.25
    assert max(norms) / min(norms) < 1.02
    (slope,) = numbers(CHAPTER, r"slope of the remainder in N: (\S+)")
    assert -0.6 < slope < -0.4
    rest = numbers(CHAPTER, "remainder times the root of N: " + ", ".join([r"(\d\.\d+)"] * 6))
    assert max(rest) < 2.2


def test_words_of_centred_matrices_vanish_like_one_over_m():
    error, *slopes = numbers(
        CHAPTER, r"slope in m of four words, standard error (\S+): " + ", ".join([r"(-\d\.\d+)"] * 4)
    )
    assert error < 0.1
    assert np.abs(np.array(slopes) + 1).max() < 4 * error


def test_one_order_strays_like_one_over_d_and_two_like_its_root():
    one, two, error = numbers(CHAPTER, r"slopes (\S+) and (\S+), standard error (\S+)")
    assert error < 0.1
    assert one < -1 + 4 * error
    assert abs(two + 0.5) < 4 * error
    for d in (50, 100, 200, 400):
        once, twice = numbers(CHAPTER, rf"d = {d}: spread with one order (\S+)%, with two (\S+)%")
        assert once < twice / 8


def test_independent_orders_give_the_integral_and_one_order_twice_does_not():
    """28 pairs, each with the spread of two per cent that the slopes above show at this size, mostly uncorrelated."""
    pairs, integral, twice = numbers(
        CHAPTER, r"two orders (\S+), integral of \(T1\)² (\S+) one order twice (\S+)"
    )
    curve = exact.curve("random_reshuffle", np.repeat([0.4, 1.6], 20), [1], step=1.2)
    T1 = _at_atoms(curve)
    assert integral == round(float((T1**2).mean()), 4)
    assert abs(pairs / integral - 1) < 4 * 0.004
    assert twice > 1.5 * integral


def _at_atoms(curve):
    """T1 at the eigenvalues 0.4 and 1.6, from both losses after one epoch."""
    return np.linalg.solve([[0.5, 0.5], [0.2, 0.8]], [curve.test[1], curve.train[1]])


def test_an_epoch_between_two_functions_is_the_expression_of_the_page():
    step, U = 1.4, unit_rows(90, 60, 5)
    S, K = U.T @ U, U @ U.T
    A, V = epoch_matrix(U, step), np.linalg.inv(np.eye(90) / step + np.tril(K, -1))
    g_K, g_hat = 2 * np.eye(90) - 3 * K + K @ K, K - 3 * np.eye(90)  # g = 2 - 3x + x²
    B = g_hat - V.T @ g_K - g_K @ V + V.T @ K @ g_K @ V
    first = A.T @ (2 * np.eye(60) - 3 * S + S @ S) @ A - 2 * np.eye(60) - U.T @ B @ U
    second = np.eye(60) - A.T @ A - (2 / step - 1) * (U.T @ V.T) @ (V @ U)
    assert np.abs(first).max() < 1e-12
    assert np.abs(second).max() < 1e-13


def test_the_operator_has_positive_entries_and_a_negative_eigenvalue():
    theory = np.reshape(numbers(CHAPTER, "entries, theory:" + r" (\S+)" * 4), (2, 2))
    assert (theory > 0).all()
    printed = numbers(CHAPTER, "entries, theory:" + r" \S+" * 4 + r" eigenvalues: (\S+) (\S+)")
    assert printed == pytest.approx(np.linalg.eigvalsh(theory), abs=1.5e-3)
    assert printed[0] < -0.25
    measured = np.reshape(numbers(CHAPTER, "entries, measured:" + r" (\S+)" * 4), (2, 2))
    assert np.abs(measured - theory).max() <= 3 / 300  # d = 300


def test_the_mean_epoch_of_isotropic_rows_is_the_series_in_free_cumulants():
    for value, aspect in ((0.3, 1.0), (2.0, 1.0), (1.0, 0.5), (4.0, 2.0)):
        series = _mean_epoch(value, aspect ** np.arange(40.0), 1.3)
        assert series == pytest.approx(rr.mean_epoch(value, 1.3, aspect), abs=1e-12)


def test_one_matrix_has_the_mean_epoch_of_its_spectrum_up_to_order_one_over_d():
    for aspect in (0.5, 1.0, 2.0):
        pattern = ", ".join([r"(-?\d\.\d+)"] * 3)
        found = numbers(CHAPTER, rf"m/d = {aspect}: matrix {pattern}; theory {pattern}\n")
        assert found[:3] == pytest.approx(found[3:], abs=4 / 600)


def _mean_epoch(value, cumulants, eta):
    """Σ (−η)ʲ/j! [wʲ] 1/(1 − λ/K) with 1/K = w / (1 + Σ κᵢ wⁱ)."""
    size = len(cumulants) + 1
    below, inverse = np.concatenate([[1.0], np.array(cumulants, dtype=float)]), np.eye(size)[0]
    for n in range(1, size):
        inverse[n] = -below[1 : n + 1] @ inverse[:n][::-1]
    ratio = value * np.concatenate([[0.0], inverse[:-1]])
    term, total = np.eye(size)[0], np.zeros(size)
    for _ in range(size):
        total, term = total + term, np.convolve(term, ratio)[:size]
    factors = np.cumprod(np.concatenate([[1.0], -eta / np.arange(1.0, size)]))
    return float(factors @ total)


def test_losses_along_one_realisation_agree_within_their_standard_errors():
    for aspect in (0.5, 1.0, 2.0):
        *ratios, error = numbers(CHAPTER, rf"m/d = {aspect}: " + r"(\S+), (\S+), (\S+) " * 2 + r"± (\S+)")
        assert error < 0.03
        assert np.abs(np.array(ratios) - 1).max() < 4 * error + 4 / 300


def test_the_contraction_is_at_least_its_bound():
    assert "smallest value of $(1-T1)/\\lambda$" in prose(CHAPTER)
    for step in (0.5, 1.0, 1.5, 1.9):
        rate, bound = numbers(CHAPTER, rf"step {step}: smallest \(1 - T1\)/λ (\S+), bound (\S+)")
        curve = exact.curve("random_reshuffle", np.repeat([0.4, 1.6], 20), [1], step)
        assert rate == round(float(np.min((1 - _at_atoms(curve)) / [0.4, 1.6])), 3)
        assert rate > bound > 0
