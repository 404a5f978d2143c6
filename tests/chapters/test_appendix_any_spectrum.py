"""The appendix on the other orders: its tables of limits and vectors, its grid of orders, and orthogonal rows."""

import numpy as np
import pytest
from outputs import cells, numbers, prose, text

from edgelaw import data, exact
from edgelaw.kaczmarz import epoch_matrix
from edgelaw.theory import flip_flop

CHAPTER = "appendix_any_spectrum"


def test_every_order_follows_its_curve_as_closely_as_the_figure_says():
    (figure,) = (
        cell["metadata"]["mystnb"]
        for cell in cells(CHAPTER)
        if cell["metadata"].get("mystnb", {}).get("figure", {}).get("name") == "fig-as-grid"
    )
    assert (
        "0.2 per cent of zero for the test loss and 0.5 per cent for the training" in figure["image"]["alt"]
    )
    sweep = data.sweep("any_spectrum")
    for name in ("two-point", "j^(-1/2)"):
        off = np.abs(sweep[f"measured {name} 1600"] / sweep[f"predicted {name} 1600"] - 1)
        assert off.shape[1:3] == (4, 2)  # orders, losses
        assert 100 * off[:, :, 0].max() < 0.25
        assert 100 * off[:, :, 1].max() < 0.75


def test_two_rows_have_the_losses_of_the_table():
    u = np.array([[1.0, 0.0], [np.cos(0.7), np.sin(0.7)]])
    A, c = epoch_matrix(u, 1.0), np.cos(0.7) ** 2
    assert (np.linalg.matrix_power(A, 3) ** 2).sum() / 2 == pytest.approx(c**5 / 2, rel=1e-12)
    assert ((A @ A.T @ A) ** 2).sum() / 2 == pytest.approx(c**3 / 2, rel=1e-12)
    fresh, by_hand = numbers(CHAPTER, r"all 8 orders of 3 epochs: (\S+) by hand: (\S+)")
    assert fresh == by_hand == round(c / 2 * ((c + c**2) / 2) ** 2, 6)


def test_one_matrix_is_on_the_curves_of_its_eigenvalues():
    flip = numbers(CHAPTER, "matrix over theory: " + ", ".join([r"(\d\.\d+)"] * 4))
    fresh = numbers(CHAPTER, "test SGD over theory: " + ", ".join([r"(\d\.\d+)"] * 4))
    assert np.abs(np.array([flip, fresh]) - 1).max() <= 0.01  # the printed digits, and O(1/d) at d = 200


def test_late_training_losses_tend_to_their_constants():
    for covariance in (r"\(1\.0, 1\.0\)", r"\(0\.4, 1\.6\)"):
        for step in (0.5, 1.0, 1.4):
            found = numbers(
                CHAPTER, rf"covariance {covariance}, step {step}: " + ", ".join([r"(\d\.\d+)"] * 3)
            )
            assert found == pytest.approx([1, 1, 1], abs=2e-3)


def test_all_late_training_losses_but_one_agree_with_their_laws_as_the_text_says():
    assert (
        "flip-flop's loss at $\\beta = 0.3$ and step 1, which after 64 epochs is still 15 % below"
        in prose(CHAPTER)
    )
    for beta in (0.3, 0.5, 1.0):
        for step in (0.5, 1.0):
            found = numbers(CHAPTER, rf"β = {beta}, step {step}:" + r" (\S+) ± (\S+)" * 4)
            *others, last = found[::2]
            assert np.abs(np.array(others) - 1).max() < 0.05
            if (beta, step) == (0.3, 1.0):
                assert round(100 * (1 - last)) == 15
            else:
                assert last == pytest.approx(1, abs=0.03)


def test_samples_of_any_shape_have_the_average_of_their_covariance():
    found = numbers(CHAPTER, "average from samples over covariance " + ", ".join([r"(\d\.\d+)"] * 3))
    pattern = r"mean of 64 samples, is within (\S+) % of the average .*?, with standard errors up to (\S+) %"
    per_cent, error = numbers(CHAPTER, pattern, prose)
    eight = error * np.sqrt(64 / 8)  # the page prints the means of eight samples
    assert 100 * np.abs(np.array(found) - 1).max() < per_cent + 2 * eight


def test_few_nodes_and_small_errors_are_what_the_page_prints():
    assert "four free cumulants from fewer than 60 nodes, to 1e-5: True" in text(CHAPTER)
    assert numbers(CHAPTER, r"Marchenko-Pastur: node (\S+), weight (\S+)") == [1, 1]
    for order in ("iid", "random_reshuffle", "single_shuffle", "flip_flop"):
        assert f"{order:<17} below 1e-4: True" in text(CHAPTER)


@pytest.mark.parametrize("order", ["random_reshuffle", "single_shuffle", "flip_flop"])
def test_on_orthogonal_rows_every_order_that_uses_each_row_once_is_gradient_descent(order):
    printed = numbers(CHAPTER, "orthogonal rows, step 1/2: " + ", ".join([r"(\d\.\d+)"] * 4))
    assert printed == [0.25**n for n in range(4)]
    assert exact.curve(order, np.ones(30), 3, step=0.5).test == pytest.approx(printed, rel=1e-6)


def test_the_boundary_problem_of_the_exercise_has_the_losses_of_flip_flop():
    D, solved, losses = numbers(CHAPTER, r"D = (\S+); boundary problem (\S+), losses (\S+)")
    assert D == solved == losses == round(sum(0.5**n * flip_flop.test_loss(n) for n in range(60)), 6)
