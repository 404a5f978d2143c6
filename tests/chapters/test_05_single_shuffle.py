"""Chapter 5: what it prints and says, against the library called afresh and against its own formulas."""

import itertools
import math
import re

import numpy as np
import pytest
from outputs import captions, numbers, prose, table, text

from edgelaw.theory import single_shuffle

CHAPTER = "05_single_shuffle"


def test_the_sums_are_the_librarys_losses_and_runs_agree_within_four_standard_errors():
    found = r"^ *(\d+) epochs, exact: +(\S+), SGD (\S+)% ± (\S+)% +(\S+), SGD (\S+)% ± (\S+)%$"
    lines = re.findall(found, text(CHAPTER), re.MULTILINE)
    assert len(lines) == 4
    for n, test, off, error, train, off_train, error_train in (map(float, line) for line in lines):
        assert test == pytest.approx(single_shuffle.test_loss(int(n)), abs=6e-6)
        assert train == pytest.approx(single_shuffle.train_loss(int(n)), abs=6e-6)
        assert abs(off) < 4 * error + 0.05  # per cent, printed to a tenth
        assert abs(off_train) < 4 * error_train + 0.05
        assert max(error, error_train) < 4
    left, more = numbers(CHAPTER, r"photographs, 60 epochs: test loss (\S+), (\S+) times as much\n")
    assert more == pytest.approx(left / single_shuffle.test_loss(60), abs=0.06)
    assert "about three times as much error after 60 epochs" in prose(CHAPTER)
    assert more == pytest.approx(3, abs=0.5)


def test_the_asymptote_of_the_training_loss_is_as_low_at_twenty_epochs_as_the_caption_says():
    (low,) = numbers(CHAPTER, r"still (\d+) % low at", captions)
    over = single_shuffle.train_constant() * 20**-1.5 / single_shuffle.train_loss(20)
    assert round(100 * (1 - over)) == low


def test_the_power_of_one_matrix_is_near_the_limit():
    lines = re.findall(r"^ *(\d+) epochs: test loss (\S+), training loss (\S+)$", text(CHAPTER), re.MULTILINE)
    assert [int(n) for n, *_ in lines] == [1, 5, 20, 60]
    for n, test, train in lines:
        assert float(test) == pytest.approx(single_shuffle.test_loss(int(n)), rel=0.05)
        assert float(train) == pytest.approx(single_shuffle.train_loss(int(n)), rel=0.1, abs=2e-5)


def test_runs_at_other_steps_agree_with_the_exact_losses():
    number = r"(\d\.\d+)"
    found = rf"^step {number} +{number} +{number} ± {number} +{number} +{number} ± {number}$"
    lines = re.findall(found, text(CHAPTER), re.MULTILINE)
    assert len(lines) == 4
    for line in lines:
        step, test, seen, error, train, seen_train, error_train = map(float, line)
        assert test == pytest.approx(single_shuffle.test_loss(10, step), abs=6e-6)
        assert train == pytest.approx(single_shuffle.train_loss(10, step), abs=6e-6)
        assert abs(seen - test) < 4 * error
        assert abs(seen_train - train) < 4 * error_train


def test_two_rows_in_the_plane_have_the_losses_by_hand():
    c, root = math.cos(0.7), math.sin(0.7)
    U = np.array([[1, 0], [c, root]])
    for n in (1, 2, 3):
        power = np.linalg.matrix_power(np.eye(2) - U.T @ np.linalg.inv([[1, 0], [c, 1]]) @ U, n)
        assert (power**2).sum() / 2 == pytest.approx(c ** (4 * n - 2) / 2, abs=1e-14)
        assert ((U @ power) ** 2).sum() / 2 == pytest.approx(root**2 * c ** (4 * n - 2) / 2, abs=1e-14)


def test_the_mean_over_all_angles_is_a_power_law_and_the_training_loss_a_share_of_it():
    angles = (np.arange(4000) + 0.5) * 2 * np.pi / 4000
    for n, mean in ((1, 1 / 4), (2, 5 / 32), (60, math.comb(238, 119) / 2 / 4**119)):
        test = np.cos(angles) ** (4 * n - 2) / 2
        assert test.mean() == pytest.approx(mean, rel=1e-12)
        assert (np.sin(angles) ** 2 * test).mean() == pytest.approx(mean / (4 * n), rel=1e-12)
    assert mean * math.sqrt(8 * math.pi * 60) == pytest.approx(1, abs=0.01)


def test_the_first_losses_by_hand_are_the_librarys():
    for n, test, library, train, library_train in table(CHAPTER, "n   test: sum above   library"):
        assert (test, train) == (library, library_train)
        assert test == pytest.approx(single_shuffle.test_loss(int(n)), abs=6e-9)
        assert train == pytest.approx(single_shuffle.train_loss(int(n)), abs=6e-9)
    e = math.e
    H, G = single_shuffle.queue_weights(4)
    assert pytest.approx([1, e - 1, e**2 - 2 * e, e**3 - 3 * e**2 + 1.5 * e], rel=1e-12) == H
    assert pytest.approx(1, rel=1e-12) == G
    one, two = numbers(CHAPTER, r"\nby hand: (\S+) and (\S+)\n")
    assert [one, two] == pytest.approx([single_shuffle.test_loss(n) for n in (1, 2)], abs=6e-9)


def test_a_row_changes_the_trace_as_the_identity_says():
    _, after = numbers(CHAPTER, r"\ntrace before the row (\S+), after it (\S+)\n")
    assert numbers(CHAPTER, r"the formula for the trace after it (\S+)\n") == [after]


def test_traces_of_one_matrix_are_carried_along():
    rows = [
        numbers(CHAPTER, rf"rho {rho}, z = (\S+): 1 \+ h = ({first}\S+), theory (\S+)\n")
        for rho in (0.5, 1.0, 2.0)
        for first in ("1", "0")
    ]
    for (z, found, theory), (rho, v) in zip(rows, itertools.product((0.5, 1, 2), (0.1, -0.05)), strict=True):
        on_curve = single_shuffle.generating_functions(v, 0.0, 1.4, rho)[0].real
        assert z == pytest.approx(on_curve, abs=6e-5)
        assert theory == pytest.approx(1 + v / (1.4 * (1 - v)), abs=6e-5)
        assert found == pytest.approx(theory, abs=1 / 600)  # a trace errs by 1/d


def test_at_step_1_9_the_asymptote_is_as_late_as_the_summary_says():
    printed = numbers(CHAPTER, r"step 1.9: exact over asymptote (\S+) at n = 100, (\S+) at n = 10\^5\n")
    n = np.array([10**2, 10**5])
    exact = single_shuffle.test_loss(n, 1.9) * np.sqrt(n) / single_shuffle.test_constant(1.9)
    assert printed == pytest.approx(exact, abs=6e-3)
    said = numbers(CHAPTER, r"is ([\d.]+) times the asymptote at \$n = 100\$ and ([\d.]+) times", prose)
    assert said == pytest.approx(exact, abs=6e-3)


def test_the_direct_training_loss_after_one_epoch_is_the_librarys():
    for step, rho in ((1.0, 1.0), (0.4, 0.7), (1.7, 2.0)):
        square = step**2 * rho
        direct = np.exp(square) - step * (2 - step) * np.expm1(square) / square
        one = single_shuffle.train_loss(1, step, rho)
        assert direct * np.exp(-2 * step * rho) == pytest.approx(one, rel=1e-9)


def test_losses_with_fewer_and_more_rows_are_those_of_the_solution():
    few = r"is (\S+) after 10 epochs and (\S+) after 50\. With 640 rows"
    many = r", to (\S+) after 10 epochs and (\S+) after 50\. "
    for words, rho, near in ((few, 0.75, 6e-4), (many, 1.25, 4e-4)):
        said = numbers(CHAPTER, words, prose)
        assert said == pytest.approx([single_shuffle.test_loss(n, 1.0, rho) for n in (10, 50)], abs=near)
    lines = re.findall(r"^512 rows, +(\d+) epochs: SGD (\S+), exact (\S+)$", text(CHAPTER), re.MULTILINE)
    for n, seen, exact in (map(float, line) for line in lines):
        assert exact == pytest.approx(single_shuffle.test_loss(int(n)), abs=6e-4)
        assert seen == pytest.approx(exact, rel=0.35)  # one run from 32 starts
    assert len(lines) == 3
