"""The appendix on triangular solves: two rows by hand, and what the page prints against what it proves."""

import re

import numpy as np
import pytest
from outputs import numbers, prose, text
from scipy.special import roots_genlaguerre

from edgelaw import kaczmarz
from edgelaw.orders import stream
from edgelaw.theory import single_shuffle

CHAPTER = "appendix_triangular_solve"
PAIR = np.array([[1.0, 0.0], [0.6, 0.8]])
BY_HAND = np.array([[0.0, -12.0], [0.0, 9.0]]) / 25


def test_two_rows_in_the_plane_are_what_the_page_finds_by_hand():
    w = np.array([1.0, 2.0])
    assert np.abs(kaczmarz.epoch_matrix(PAIR, step=1.0) - BY_HAND).max() < 1e-15
    assert np.abs(kaczmarz.epoch_matrix(PAIR[::-1], step=1.0) - BY_HAND.T).max() < 1e-15
    assert numbers(CHAPTER, r"w after = (\S+), (\S+)") == pytest.approx(BY_HAND @ w, abs=1e-12)
    assert r"\bigl(-\frac{24}{25}, \frac{18}{25}\bigr)" in prose(CHAPTER)
    assert BY_HAND.T @ w == pytest.approx([0, 0.24], abs=1e-15)  # the caption's end of the other order


def test_the_iid_epoch_of_the_picture_visits_fifteen_rows():
    assert len(set(stream("iid", 24, rng=1).epoch(0))) == 15


def test_the_formula_gives_the_epoch_of_the_definition_on_the_page():
    assert "largest difference below 1e-12: True" in text(CHAPTER)
    assert "backwards is the transpose: True" in text(CHAPTER)
    assert "A is the square of one update: True" in text(CHAPTER)


def test_inverses_of_the_triangle_stay_below_their_bound():
    lines = [
        numbers(CHAPTER, rf"step ({step}): norm of the inverse (\S+), bound (\S+)")
        for step in (0.5, 1.0, 1.5, 1.9)
    ]
    for step, norm, bound in lines:
        assert norm <= bound
        assert bound == pytest.approx(2 * step / (2 - step), abs=0.005)


def test_an_epoch_loses_what_the_exercise_says():
    for step in (0.5, 1.3, 1.9):
        lost, formula = numbers(
            CHAPTER, rf"step {step}: lost in one epoch (\S+), \(2/step - 1\) \|z\|\^2 (\S+)"
        )
        assert lost == formula > 0


def test_the_best_order_for_one_epoch_is_not_the_best_for_ten():
    six = np.random.default_rng(0).standard_normal((6, 6))
    six /= np.linalg.norm(six, axis=1, keepdims=True)
    ends = {}
    for n in (1, 10):
        least, most, *best = numbers(
            CHAPTER, rf"n = +{n}: loss (\S+) to (\S+), best order \[" + ", ".join([r"(\d)"] * 6) + r"\]"
        )
        A = kaczmarz.epoch_matrix(six[[int(row) for row in best]], step=1.0)
        ends[n] = best
        assert (np.linalg.matrix_power(A, n) ** 2).sum() / 6 == pytest.approx(least, abs=5e-5)
        assert least < most
    assert ends[1] != ends[10]


def test_the_logarithm_of_z_begins_with_the_square_and_the_cube():
    for v in (1e3, 1e4):
        for step in (0.5, 1.3, 1.9):
            a = 1 / step - 0.5
            exact = np.log1p(-1 / v) + step / (1 - step + step * v)
            assert abs(exact + a / v**2 + (1 / 12 + a - a**2) / v**3) < 3 / v**4 + 1e-15


def test_sixteen_designs_agree_with_both_characteristics_and_the_formula():
    lines = re.findall(r"^step [\d.]+, rho [\d.]+, F = [\d.]+: +(.*)$", text(CHAPTER), re.MULTILINE)
    found = np.array([re.findall(r"[+-]?[\d.]+", line) for line in lines], dtype=float).reshape(4, 3, 2)
    mean, error = np.moveaxis(found, -1, 0)  # per cent, to a hundredth
    assert (np.abs(mean) < 4 * error + 250 / 500 + 0.005).all()
    assert error.max() < 1


def test_exact_losses_after_a_million_epochs_have_the_forms_of_the_table():
    lines = re.findall(r"^[\w -]+?((?: +\d\.\d{4}, \d\.\d{4}){3})$", text(CHAPTER), re.MULTILINE)
    pairs = np.array([re.findall(r"\d\.\d{4}", line) for line in lines], dtype=float).reshape(5, 3, 2)
    np.testing.assert_allclose(pairs[..., 0], pairs[..., 1], rtol=1e-3)
    step = np.array([0.5, 1.0, 1.5])
    np.testing.assert_allclose(pairs[0, :, 1], np.sqrt((1 / step - 0.5) / np.pi), atol=5.1e-5)


def test_single_shuffles_coefficient_is_the_library_s_as_mended_and_not_as_printed():
    rows = re.findall(r"^(0\.5|1\.0|1\.5)   (\d) +(\S+) +(\S+) +(\S+) +\S+$", text(CHAPTER), re.MULTILINE)
    assert len(rows) == 9
    for step, n, loss, mended, printed in (map(float, row) for row in rows):
        assert loss == mended == pytest.approx(single_shuffle.test_loss(int(n), step), abs=6e-7)
        assert printed > 2 * loss


def test_trace_moments_fall_where_the_theorem_says():
    lines = re.findall(r"^ *(\d+)   (0\.\d{4})    (\w+), (\w+), (\w+)$", text(CHAPTER), re.MULTILINE)
    assert [line[2:] for line in lines] == [("no", "yes", "yes")] * 6
    for n, rho, *_ in lines:
        largest = roots_genlaguerre(int(n) - 1, 1)[0].max()
        assert float(rho) == pytest.approx(largest / (4 * int(n)), abs=6e-5)
