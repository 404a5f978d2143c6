"""The appendix on triangular solves: two rows by hand, and what the page prints against what it proves."""

import numpy as np
import pytest
from outputs import numbers, prose, text

from edgelaw import kaczmarz
from edgelaw.orders import stream

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
