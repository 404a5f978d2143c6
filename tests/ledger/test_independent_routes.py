"""The routes that the checks of groups C, D and E take beside the library: each against something known."""

import itertools
import math

import mpmath
import numpy as np
import pytest

from edgelaw import kaczmarz
from edgelaw_ledger import routes
from edgelaw_ledger.checks import flip_flop, single_shuffle


@pytest.mark.parametrize("step", [0.5, 1.0, 1.7])
def test_rows_one_at_a_time_make_the_epoch_matrix(step):
    U = routes.unit_rows(7, 5, np.random.default_rng(0))
    assert np.allclose(routes.epoch(U, step), kaczmarz.epoch_matrix(U, step), rtol=0, atol=1e-13)


def test_extrapolation_removes_the_first_correction_in_the_dimension():
    mean, error = routes.extrapolated(lambda U: 3 + 5 / U.shape[1], 10, 4, 0)
    assert mean == pytest.approx(3, abs=1e-12)
    assert error == 0


def test_the_standard_error_of_an_extrapolation_is_that_of_its_two_means():
    mean, error = routes.extrapolated(lambda U: U[0, 0] * math.sqrt(U.shape[1]), 20, 2000, 1)
    assert error == pytest.approx(math.sqrt(5 / 2000), rel=0.1)
    assert abs(mean) < 4 * error


def test_a_sample_without_an_error_or_with_too_large_a_one_is_refused():
    for error in (0.0, 0.1):
        with pytest.raises(ArithmeticError, match="standard errors"):
            routes.within(1.0, error, 1.0)
    assert routes.within(1.0, 0.001, 1.003)
    assert not routes.within(1.0, 0.001, 1.005)


def test_what_is_not_confirmed_is_said():
    with pytest.raises(ArithmeticError, match="Not confirmed: two is three"):
        routes.require(2 == 3, "two is three")


def test_taylor_coefficients_have_thirty_digits():
    coefficients = routes.taylor(lambda z: 1 / (1 - z / 3), 6)
    with mpmath.workdps(40):
        assert all(
            abs(c * mpmath.mpf(3) ** k - 1) < mpmath.mpf(10) ** -30 for k, c in enumerate(coefficients)
        )


@pytest.mark.parametrize("n", [1, 2, 9])
def test_two_sums_for_the_trace_moment_agree_at_step_one(n):
    moment = routes.poisson_moment(n, 1)
    assert float(routes.critical_moment(n)) == pytest.approx(float(moment), rel=1e-14)
    assert float(routes.moment_at_step(n, 1.0)) == pytest.approx(float(moment), rel=1e-14)


def test_the_first_moment_at_any_step_is_an_exponential():
    assert float(routes.moment_at_step(1, 1.6, 0.7)) == pytest.approx(math.exp(-1.6 * 0.7), rel=1e-14)


def test_two_epochs_of_single_shuffle_by_hand():
    assert routes.exact_test(2) == pytest.approx(math.exp(-2) + 2 * math.exp(-3), rel=1e-14)
    assert routes.exact_train(2) == pytest.approx(2 * math.exp(-4), rel=1e-14)


def test_the_double_contour_inverts_a_product_of_two_laplace_transforms():
    # 1/√s is the transform of 1/√(πt): at t = 1 the product is 1/π
    assert single_shuffle._double_contour(lambda a, b: 1 / (a * b)) == pytest.approx(1 / math.pi, rel=1e-10)


def test_limits_are_extrapolated_in_the_right_powers():
    assert routes.limit_in_root(lambda n: 2 + n**-0.5 - 3 / n, 100) == pytest.approx(2, abs=1e-12)
    assert routes.limit_in_n(lambda n: 2 + 1 / n - 3 / n**2, 100) == pytest.approx(2, abs=1e-12)
    assert routes.decay_exponent(lambda n: 7 * n**-2.5) == pytest.approx(-2.5, abs=1e-12)


def test_the_recursion_for_iid_sampling_is_the_mean_over_all_sequences_of_rows():
    U, step = routes.unit_rows(3, 3, np.random.default_rng(2)), 0.7
    losses = []
    for sequence in itertools.product(range(3), repeat=3):
        A = routes.epoch(U[list(sequence)], step)
        losses.append(np.sum(A**2) / 3)
    assert flip_flop._iid_expectation(U, step, 1) == pytest.approx(np.mean(losses), rel=1e-12)


def test_the_laplace_route_for_iid_sampling_starts_at_one_and_falls_at_the_rate_of_the_equations():
    step, small = 0.6, 1e-4
    test, train = flip_flop._iid_losses(small, step)
    assert (1 - test) / small == pytest.approx(step * (2 - step), rel=1e-3)
    # the second moment of Marchenko and Pastur's law at m = d is 2
    assert (1 - train) / small == pytest.approx(4 * step - 2 * step**2, rel=1e-3)
