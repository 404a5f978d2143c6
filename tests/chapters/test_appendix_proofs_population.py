"""Proofs I: exact updates by one row on small matrices, and slopes and constants that the page prints."""

import numpy as np
import pytest
from outputs import numbers, prose, text

from edgelaw import exact
from edgelaw.kaczmarz import epoch_matrix
from edgelaw.theory import flip_flop, single_shuffle

CHAPTER = "appendix_proofs_population"
STEP, RHO = 1.3, 0.75


@pytest.fixture(scope="module")
def pieces():
    """Three parts of an epoch in twelve dimensions, one more row, and its update."""
    rng = np.random.default_rng(2)
    rows = rng.standard_normal((28, 12))
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    after, before, middle = (epoch_matrix(rows[k : k + 9], STEP) for k in (0, 9, 18))
    return after, before, middle, rows[27], np.eye(12) - STEP * np.outer(rows[27], rows[27])


def test_one_more_row_changes_the_resolvent_as_the_proof_says(pieces):
    after, before, _, u, one_row = pieces
    Z = np.diag(0.3 * np.exp(1j * np.random.default_rng(3).random(12)))
    G, new = (np.linalg.inv(np.eye(12) - A @ Z) for A in (before @ after, one_row @ before @ after))
    delta = 1 + STEP * u @ (G - np.eye(12)) @ u
    update = STEP / delta * np.outer(G @ u, u @ (G - np.eye(12)))
    assert np.abs(new - G + update).max() < 1e-13
    update = STEP / delta * np.outer(G @ u, u @ G @ before)
    assert np.abs(new @ one_row @ before - G @ before + update).max() < 1e-13


def test_a_row_that_is_left_out_comes_back_as_the_proof_says(pieces):
    after, before, _, u, one_row = pieces
    z = 0.35 + 0.2j
    G = np.linalg.inv(np.eye(12) - z * after @ before)
    weight = STEP * z * (u @ G @ after @ u) / (1 + STEP * z * (u @ before @ G @ after @ u))
    whole = np.linalg.inv(np.eye(12) - z * after @ one_row @ before)
    assert np.abs(u @ G - weight * (u @ before @ G) - u @ whole).max() < 1e-13


def test_one_more_row_changes_both_directions_as_the_proof_says(pieces):
    _, _, A, u, one_row = pieces
    q, w = np.diag(1.2 + 0.3 * np.random.default_rng(4).random(12) + 0.1j), 0.3 + 0.1j

    def blocks(A):
        H = np.linalg.inv(q - w * A @ A.T)
        return H, A.T @ H, np.eye(12) + w * A.T @ H @ A

    H, AH, _ = old = blocks(A)
    R, h, P = u @ H @ u, 1 / STEP - 1 + u @ H @ q @ u, u @ (q @ H @ q - q) @ u
    v, x, c = H @ q @ u - u, AH @ u, AH @ q @ u

    def combined(a1, a2, b1, b2):
        cross = np.outer(a1, b2) + np.outer(a2, b1)
        return (P * np.outer(a1, b1) - h * cross + R * np.outer(a2, b2)) / (h**2 - P * R)

    changes = combined(H @ u, v, H @ u, v), combined(x, c, H @ u, v), w * combined(x, c, x, c)
    for before, after, change in zip(old, blocks(one_row @ A), changes, strict=True):
        assert np.abs(after - before - change).max() < 1e-12


def test_deviations_fall_like_one_over_d_unless_the_hypothesis_fails():
    for kind in ("Gaussian", "Rademacher", "Laplace"):
        found = numbers(CHAPTER, rf"\n{kind}" + r" (-\d\.\d\d) \((\d\.\d\d)\)" * 4)
        slopes, errors = np.array(found[::2]), np.array(found[1::2])
        assert errors.max() < 0.1
        assert (np.abs(slopes + 1) < 3.5 * errors).all()  # twelve slopes
    found = numbers(CHAPTER, r"\ntwo blocks" + r" (-\d\.\d\d) \((\d\.\d\d)\)" * 4)
    assert (np.abs(found[::2]) < 3.5 * np.array(found[1::2])).all()


def test_rows_of_two_blocks_are_two_problems():
    stated = numbers(CHAPTER, r"loss after two epochs tends to (\S+), not to the formula's (\S+)\.", prose)
    for theory, name in ((single_shuffle, "single shuffle"), (flip_flop, "flip-flop")):
        formula, two, matrices = numbers(
            CHAPTER, rf"{name} formula (\S+) two problems (\S+) matrices of d = 800: (\S+)"
        )
        true = 0.25 * theory.test_loss(2, STEP, 2 * RHO) + 0.75 * theory.test_loss(2, STEP, 2 * RHO / 3)
        assert two == round(float(true), 3)
        assert abs(matrices - two) <= 0.01 < abs(formula - two)
        order = name.replace(" ", "_").replace("-", "_")
        law = exact.population_curve(order, [2, 2 / 3, 2 / 3, 2 / 3], [2], STEP, RHO).test[-1]
        assert formula == round(float(law), 3)
        if name == "single shuffle":
            assert [two, formula] == stated


def test_quadratic_forms_vary_like_one_over_d_unless_the_hypothesis_fails():
    (bound,) = numbers(CHAPTER, r"bound for d E h² of Gaussian rows: (\S+)")
    for kind in ("Gaussian", "Rademacher", "Laplace"):
        found = np.array(numbers(CHAPTER, rf"\n{kind}" + r" (\d+\.\d\d)" * 6)).reshape(3, 2)
        assert found[:, 0].max() < bound
        assert (found.max(axis=0) < 1.3 * found.min(axis=0)).all()
    blocks = np.array(numbers(CHAPTER, r"\ntwo blocks" + r" (\d+\.\d\d)" * 6)).reshape(3, 2)
    assert blocks[1:] / blocks[:-1] == pytest.approx(np.full((2, 2), 4), rel=0.01)


def test_dividing_by_the_norm_shifts_the_covariance_by_order_one_over_d():
    found = np.array(
        [numbers(CHAPTER, rf"d = {d} d‖Σ − Σ₀‖ = (\S+) rms of ‖S‖ = (\S+)") for d in (100, 200, 400, 800)]
    )
    assert np.ptp(found[:, 0]) < 0.1
    assert found.max() < 8


def test_references_formulas_and_conservation_laws_hold_where_the_page_prints_so():
    for line in (
        "largest residual of the seven reference equations below 1e-8: True",
        "closed form and the library's curve, to 1e-6: True",
        "D constant and y(t) = z f(rho - t), to 1e-12: True",
        "both generating functions against the library's curve, to 1e-6: True",
    ):
        assert line in text(CHAPTER)


@pytest.mark.parametrize(
    "names", [[f"S{k}" for k in range(1, 8)], ["FF1", "FF2", "FF3"]], ids=["single", "back"]
)
def test_traces_stray_from_their_references_like_one_over_d_in_both_tables(names):
    count = len(names)
    *slopes, error = numbers(
        CHAPTER,
        " ".join(names)
        + (r" d = \d+" + r" \S+" * count) * 4
        + " slope"
        + r" (\S+)" * count
        + r" standard error (\S+)",
    )
    assert error < 0.12
    assert np.abs(np.array(slopes) + 1).max() < 3.5 * error


def test_the_standard_deviation_of_the_losses_is_of_order_one_over_d():
    spreads = np.array(
        [numbers(CHAPTER, rf"d = {d}" + r" (0\.\d\d)" * 4 + r"\n") for d in (100, 200, 400, 800)]
    )
    assert spreads.max() < 1
    assert (spreads.max(axis=0) < 2 * spreads.min(axis=0)).all()


def test_flip_flops_training_loss_strays_alike_in_both_directions():
    for d in (96, 192, 384):
        forth, error, back, other = numbers(
            CHAPTER, rf"d = {d} ?as they are, reversed: (\S+) ± (\S+) (\S+) ± (\S+)".replace(" ?as", r"\s*as")
        )
        assert max(abs(forth), abs(back)) < 1
        assert abs(forth - back) < 4 * np.hypot(error, other)


def test_the_start_value_of_the_boundary_problem_vanishes_near_the_spectrum():
    """f₀(λ) of isotropic rows at step 1.5, ρ = 2, z = 0: ⟨λf⟩ is exp(−η(2−η)s) in reversed time."""
    real, imaginary = numbers(CHAPTER, r"f\(0\) vanishes at lambda = (\S+) \+ (\S+) i")
    eta, rho, s = 1.5, 2.0, np.linspace(0, 2, 4001)

    def start(value):
        inner = np.exp(-2 * eta * value * (rho - s) - eta * (2 - eta) * s)
        return np.exp(-2 * eta * value * rho) + eta**2 * value * np.trapezoid(inner, s)

    here = complex(real, imaginary)
    slope = (start(here + 1e-5) - start(here - 1e-5)) / 2e-5
    assert abs(start(here) / slope) < 0.0075  # a zero within the rounding of two digits
