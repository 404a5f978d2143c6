"""Chapter 1: what it prints and says, against the library called afresh and against its own formulas."""

import numpy as np
import pytest
from outputs import numbers, prose, table

from edgelaw import data, exact, laws, spectrum
from edgelaw.theory import gradient_descent, regimes

CHAPTER = "01_spectral_condition"
GAUSSIAN_EDGE = spectrum.MarchenkoPastur().edge


@pytest.fixture(scope="module")
def scene():
    """The Gaussian rows of the first figure, and their eigenvalues."""
    rows = data.normalize_rows(data.gaussian(512, 512, rng=5))
    return rows, spectrum.gram_eigenvalues(rows)


def test_sgd_stops_where_the_mean_over_all_runs_does_and_the_bound_asks_for_its_own_number(scene):
    rows, values = scene
    words = r"after ([\d.]+) million epochs\. SGD gets there in about (\d+)\. Gradient descent at step ½ takes (\d+)"
    bound, stops, descents = numbers(CHAPTER, words, prose)
    (asked,) = numbers(CHAPTER, r"textbook bound for SGD: (\S+) epochs\n")
    assert asked == pytest.approx(np.log(20) / values[0], abs=1)
    assert bound == pytest.approx(asked / 1e6, abs=0.05)
    mean, expected = numbers(CHAPTER, r"mean of 16 runs: (\d+) epochs, expected over all runs: (\d+)\n")
    epochs = np.arange(40, 91)
    assert expected == stops == epochs[np.argmax(exact.expected_curve(rows, epochs, 1.0).test[1:] < 0.05)]
    # where the loss has the slope -1/2, an error of the loss moves the epoch by twice as much
    error = 2 * stops * np.sqrt(2 / 16) * regimes.independent_spread(int(stops), 512, GAUSSIAN_EDGE, 1.0)
    assert mean == pytest.approx(stops, abs=3 * error)
    assert error < 12
    halved = gradient_descent.curve(values, np.arange(1, 200), step=0.5)
    assert numbers(CHAPTER, r"gradient descent, step 1/2: (\d+) epochs\n") == [descents]
    assert halved.epochs[np.argmax(halved.test < 0.05)] == descents
    assert 2 / values[-1] == pytest.approx(0.5, abs=0.02)  # the largest stable step


@pytest.fixture(scope="module")
def photographs():
    """The rows that the book keeps coming back to, and their eigenvalues."""
    X = data.preprocess(data.load("cifar10").features, 512, 512, rng=0).X
    return X, spectrum.gram_eigenvalues(X)


def test_the_visible_loop_has_the_exact_mean_of_its_runs_on_photographs(photographs):
    X, values = photographs
    shown = [numbers(CHAPTER, rf"\b{n} epochs: error (\S+)\n")[0] for n in (1, 10, 100, 200)]
    exact_means = exact.expected_curve(X, [1, 10, 100, 200], 1.0).test[1:]
    for n, found, mean in zip((1, 10, 100, 200), shown, exact_means, strict=True):
        one = np.exp(-2 * n * values)
        error = np.sqrt(2 * (one**2).sum() / 8) / one.sum()  # of eight random starts
        assert found == pytest.approx(mean, rel=4 * error, abs=5.1e-4), n


def test_the_sum_and_the_count_of_eigenvalues_are_as_close_to_sgd_as_is_said(photographs):
    _, values = photographs
    rows = table(CHAPTER, "n     SGD     sum   eigenvalues below 1/t")
    assert [int(row[0]) for row in rows] == [1, 10, 100, 200]
    for n, sgd, total, below in rows:
        assert total == pytest.approx(np.exp(-2 * n * values).mean(), abs=5.1e-4)
        assert below == pytest.approx(np.mean(values < 1 / (2 * n)), abs=5.1e-4)
        assert total == pytest.approx(sgd, rel=0.10)
        assert 1.09 < below / sgd < 1.25
    words = r"sum is within (\d+) % of SGD, .*? count is (\d+) to (\d+) % too high"
    assert numbers(CHAPTER, words, prose) == [10, 10, 25]


def test_the_edge_law_stays_as_close_to_the_sum_as_is_said(scene):
    _, values = scene
    printed = numbers(CHAPTER, r"law over sum for 10 < t < 10\^4: (\S+) to (\S+)\n")
    t = np.geomspace(0.1, 3e6, 200)
    t = t[(t > 10) & (t < 1e4)]
    over = 1 / np.sqrt(np.pi * t) / np.exp(-np.outer(t, values)).mean(axis=1)
    assert printed == pytest.approx([over.min(), over.max()], abs=5.1e-3)
    (most,) = numbers(CHAPTER, r"the law is within (\d+) % of the sum", prose)
    assert np.abs(over - 1).max() < most / 100


def test_the_constant_is_as_close_as_is_said_at_a_hundred_epochs():
    (off,) = numbers(CHAPTER, r"the law is ([\d.]+) % off at the step ¼ and \$n = 100\$", prose)
    law = gradient_descent.test_constant(0.25) / 10
    assert 100 * (law / gradient_descent.test_loss(100, 0.25) - 1) == pytest.approx(off, abs=0.05)


def test_half_of_the_rows_leave_half_of_the_error_once_or_twice():
    for name in ("once", "twice"):
        (left,) = numbers(CHAPTER, rf"256 rows, each {name}: error (\S+) after 30 epochs")
        # four starts, each with a share of 1/2 ± sqrt(2 · 256)/512 in the rows' complement
        assert left == pytest.approx(0.5, abs=4 * np.sqrt(2 * 256) / 512 / 2)


def test_reshuffling_and_shuffling_once_are_ahead_on_photographs_by_what_is_computed(photographs):
    _, values = photographs
    one = np.exp(-200 * values)
    error = (
        np.sqrt(2 * (one**2).sum() / 8) / one.sum()
    )  # of eight starts; the ratio's is less, they are the same
    iid = exact.curve("iid", values, [100]).test[-1]
    for name, order in (("reshuffle", "random_reshuffle"), ("shuffle once", "single_shuffle")):
        (ratio,) = numbers(CHAPTER, rf"{name}: (\S+) times the error of IID\n")
        assert ratio == pytest.approx(exact.curve(order, values, [100]).test[-1] / iid, rel=3 * error)


def test_two_directions_fall_as_worked_out_by_hand():
    for n, left, bound in table(CHAPTER, "n   error left   textbook bound"):
        assert left == pytest.approx((0.995 ** (2 * n) + 0.5 ** (2 * n)) / 2, abs=5.1e-5)
        assert bound == pytest.approx(0.995 ** (2 * n), abs=5.1e-5)


def test_a_covariance_with_an_edge_of_its_own_has_the_hard_edge_that_is_printed():
    beta, Q, stated = numbers(CHAPTER, r"beta = (\S+), Q = (\S+); a hard edge with Q = (\S+)")
    population = np.linspace(0.2, 3.0, 600)
    edge = laws.square_edge(population)  # of mean eigenvalue 1
    expected = edge.Q / np.sqrt(population.mean())
    assert stated == pytest.approx(expected, abs=0.005)
    # one draw's exponent errs by 0.012 at d = 512 (a table in the audit of Appendix A); 1 % of beta moves Q by 3 %
    assert beta == pytest.approx(edge.beta, abs=4 * 0.012)
    assert pytest.approx(expected, rel=4 * 0.036) == Q


def test_the_axes_that_uniform_draws_miss_are_within_four_standard_errors_of_one_in_e():
    (missed,) = numbers(CHAPTER, r"rows sqrt\(d\) e_i: (\d+)% zero eigenvalues")
    error = np.sqrt((np.exp(-1) - 2 * np.exp(-2)) / 600)  # of the share of empty boxes
    assert missed / 100 == pytest.approx(np.exp(-1), abs=4 * error + 0.005)


def test_the_window_and_both_spreads_are_the_librarys():
    (end,) = numbers(CHAPTER, r"window ends at about (\d+) epochs\n")
    assert end == pytest.approx(regimes.window_end(512, GAUSSIAN_EDGE, 1.0), abs=1)
    printed = numbers(CHAPTER, r"strays by (\S+)%\n.*one run strays by (\S+)%")
    one = np.sqrt(2) * regimes.independent_spread(65, 512, GAUSSIAN_EDGE, 1.0)
    assert printed == pytest.approx([100 * regimes.gaussian_spread(65, 512, 1.0), 100 * one], abs=0.5)
