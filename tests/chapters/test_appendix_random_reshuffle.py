"""The appendix on random reshuffle: two rows by hand, the mean epoch of matrices, and the tables it prints."""

import re

import numpy as np
import pytest
from outputs import cells, numbers, prose, table
from scipy.integrate import quad

from edgelaw import data
from edgelaw.kaczmarz import epoch_matrix
from edgelaw.theory import random_reshuffle as rr

CHAPTER = "appendix_random_reshuffle"
STEPS = (0.5, 1.0, 1.5)


def caption(name):
    (found,) = (
        figure["caption"]
        for cell in cells(CHAPTER)
        if (figure := cell["metadata"].get("mystnb", {}).get("figure", {})).get("name") == name
    )
    return found


def unit_rows(dims, rng):
    """Rows of norm 1, and eigenvalues and eigenvectors of S."""
    U = data.normalize_rows(data.gaussian(dims, dims, rng)) / np.sqrt(dims)
    return U, *np.linalg.eigh(U.T @ U)


@pytest.mark.parametrize(("gamma", "step"), [(0.6, 1.0), (0.3, 0.5), (-0.8, 1.7)])
def test_two_rows_have_the_mean_and_the_noise_of_the_page(gamma, step):
    U = np.array([[1.0, 0.0], [gamma, np.sqrt(1 - gamma**2)]])
    values, V = np.linalg.eigh(U.T @ U)
    epochs = [V.T @ epoch_matrix(rows, step) @ V for rows in (U, U[::-1])]
    mean = 1 - step * (1 + step / 2) * values + step**2 / 2 * values**2
    assert np.abs(sum(epochs) / 2 - np.diag(mean)).max() < 1e-14
    T = np.diag(mean**2) + step**4 * gamma**2 / 4 * values.prod() * (1 - np.eye(2))
    assert np.abs(sum(E**2 for E in epochs) / 2 - T).max() < 1e-14
    moved = sum(E.T @ np.diag([0.3, 1.1]) @ E for E in epochs) / 2  # a function of S stays one
    assert np.abs(moved - np.diag(T @ [0.3, 1.1])).max() < 1e-14


def test_the_losses_of_two_rows_fall_by_the_factor_of_the_coin():
    rows = np.array([numbers(CHAPTER, rf"epoch {n}: (\S+) and (\S+), test loss (\S+)") for n in (1, 2, 3)])
    assert rows[0].tolist() == [0.288, 0.072, 0.18]
    assert rows[1:, 2] / rows[:-1, 2] == pytest.approx((0.36 + 0.36**2) / 2, abs=1e-4)


def test_rows_reflected_along_an_eigenvector_change_the_signs_of_one_row_and_one_column():
    U, _, V = unit_rows(6, np.random.default_rng(0))
    signs = np.array([1, 1, -1, 1, 1, 1])
    reflected = U - 2 * np.outer(U @ V[:, 2], V[:, 2])
    B, C = (V.T @ epoch_matrix(rows, 1.3) @ V for rows in (U, reflected))
    assert np.abs(reflected.T @ reflected - U.T @ U).max() < 1e-13
    assert np.abs(C - signs * B * signs[:, None]).max() < 1e-13


def test_the_mean_epoch_falls_with_the_effective_step():
    slopes = numbers(CHAPTER, r"from the series (\S+) slope from the closed form (\S+) effective step (\S+)")
    assert slopes == [1.5, 1.5, rr.effective_step(1.0)]


def test_the_mean_epoch_of_matrices_is_as_near_to_its_law_as_the_caption_says():
    mean, spread = re.search(
        r"mean difference from the lines below (\S+), root mean square below (\S+)\.",
        caption("fig-rr-mean-epoch"),
    ).groups()
    rng = np.random.default_rng(1)
    U, values, V = unit_rows(400, rng)
    for step in STEPS:
        A = sum(epoch_matrix(U[rng.permutation(400)], step) for _ in range(24)) / 24
        error = (np.einsum("ij,ik,kj->j", V, A, V) - rr.mean_epoch(np.minimum(values, 4), step))[values < 4]
        assert abs(error.mean()) < float(mean)
        assert np.sqrt((error**2).mean()) < float(spread)


def test_the_second_condition_holds_and_the_limit_is_the_formula():
    for step, c, limit, formula in table(CHAPTER, "step      c       limit     formula"):
        assert c > 0
        assert limit == formula == round(float(rr.test_constant(step)), 5)


@pytest.mark.parametrize("step", STEPS)
def test_the_four_equations_integrate_to_the_closed_form(step):
    """The fourth of them by quadrature, with the first three inserted."""
    pair = complex(0.1, 0.2), complex(-0.15, 0.1)
    closed = rr.two_resolvents(*pair, step)
    for x, y in (pair, pair[::-1]):
        assert abs(_integrated(x, y, step) - closed) < 1e-13


def _integrated(x, y, step):
    a, b = 1 / (1 - x), 1 / (1 - y)
    tau, omega = step * (2 - step), x * y * a * b

    def force(t):
        p_1 = y * np.exp(-step * b * t)
        p_2 = x * y * (x * np.exp(-step * a * t) - p_1) / ((x - y) * (1 - omega * t))
        inner = (np.exp(-2 * step * b * t) - np.exp(-tau * t)) / (tau - 2 * step * b)
        p_3 = y * np.exp(-tau * t) - tau * b * y**2 * inner
        noise = step**2 * (x * a * p_3 - b * p_1**2)
        pull = a * b * (p_2 - step * p_1) ** 2
        return np.exp(-2 * step * a * (1 - t)) * (noise + pull)

    return np.exp(-2 * step * a) * x * y + quad(force, 0, 1, complex_func=True, epsabs=1e-15, epsrel=1e-14)[0]


def test_overlaps_of_matrices_follow_the_kernel_cell_by_cell():
    assert numbers(CHAPTER, r"all overlaps together: measured / theory = (\S+)") == [1]
    (per_cent,) = re.search(r"All 64 cells are within (\d+) % of 1", caption("fig-rr-overlaps")).groups()
    low, high = numbers(CHAPTER, r"the 64 cells one by one: (\S+) to (\S+)")
    assert 100 * max(1 - low, high - 1) < float(per_cent)


def test_designs_follow_the_operator_on_their_own_eigenvalues_within_four_parts_in_a_thousand():
    assert "agrees within four parts in a thousand" in prose(CHAPTER)
    for step in STEPS:
        ratios = numbers(CHAPTER, rf"\n{step}" + r" (\d\.\d{3})" * 6 + r"\n")
        assert round(max(abs(ratio - 1) for ratio in ratios), 6) <= 0.004


def test_simulated_losses_stray_no_further_than_eight_designs_must():
    """Student's t with 7 degrees of freedom, one per cent shared by 16 numbers: 5.9."""
    for _, points, furthest in table(CHAPTER, "points   largest deviation in standard errors"):
        assert points >= 8
        assert furthest < 5.9


def test_the_training_constant_is_the_limit_of_the_training_loss():
    for step, test, train, start in table(CHAPTER, "step   test constant   training constant"):
        near, far = (rr.train_loss(n, step) * n**1.5 for n in (20_000, 40_000))
        assert 2 * far - near == pytest.approx(train, rel=6e-6)
        assert test == round(float(rr.test_constant(step)), 6)
        assert 2 * train / test == pytest.approx(start, abs=6e-5)


def test_the_smallest_training_constant_is_the_one_of_the_summary():
    least, step = numbers(CHAPTER, r"smallest training constant (\S+) at step (\S+)")
    assert [step, least] == numbers(CHAPTER, r"is smallest at step (\d\.\d+), where it is (\d\.\d+)", prose)
    assert min(rr.train_constant(step - 0.02), rr.train_constant(step + 0.02)) > rr.train_constant(step)


def test_an_isolated_eigenvalue_shows_at_the_largest_step_only():
    for rho, step, edge, rate in table(CHAPTER, "rate of the left edge   rate of the loss"):
        assert rate > 0.98 * edge
        assert (rate > 1.5 * edge) == (step == 1.9)
        assert edge == round(float(rr.mean_epoch((1 - np.sqrt(rho)) ** 2, step, rho) ** 2), 3)


def test_four_orders_of_two_rows_fall_as_the_exercise_finds_by_hand():
    x = 0.36
    by_hand = {
        "single shuffle": x**2,
        "random reshuffle": (x + x**2) / 2,
        "flip-flop, two epochs": x**2,
        "IID": (1 + x) ** 2 / 4,
    }
    for name, value in by_hand.items():
        assert numbers(CHAPTER, rf"{name} (\S+), by hand (\S+)") == [round(value, 4)] * 2


def test_quadratic_forms_in_the_gram_matrix_concentrate_at_two():
    assert numbers(CHAPTER, r"mean form (\S+), E3 within 5 % of its limit: True")[0] == pytest.approx(
        2, abs=0.02
    )


def test_both_losses_after_one_epoch_are_the_closed_ones():
    for step in (0.4, 1.0, 1.8):
        for rho in (0.5, 1.0, 3.0):
            *by_hand, test, train = numbers(
                CHAPTER, rf"step {step}, rho {rho}: (\S+) and (\S+); library (\S+) and (\S+)"
            )
            assert by_hand == [test, train]
            assert test == round(float(np.exp(-step * (2 - step) * rho)), 4)
