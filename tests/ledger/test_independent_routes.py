"""The routes that the checks of groups C, D and E take beside the library: each against something known."""

import math

import mpmath
import numpy as np
import pytest

from edgelaw import kaczmarz
from edgelaw_ledger import routes
from edgelaw_ledger.checks import single_shuffle
from edgelaw_ledger.routes import constants, matrices


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
def test_the_trace_moment_at_step_one_is_a_poisson_sum(n):
    assert float(routes.critical_moment(n)) == pytest.approx(float(routes.moment_at_step(n)), rel=1e-14)
    chances = [math.exp(-0.7 * n) * (0.7 * n) ** k / math.factorial(k) * (1 - k / n) for k in range(n)]
    assert float(routes.moment_at_step(n, 1.0, 0.7)) == pytest.approx(sum(chances), rel=1e-13)


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


def test_traces_of_an_epoch_are_of_the_products_that_their_names_say():
    U, step = routes.unit_rows(7, 5, np.random.default_rng(3)), 0.8
    A, S = routes.epoch(U, step), U.T @ U
    R, L = np.linalg.inv(A - routes.X * np.eye(5)), np.linalg.inv(A.T - routes.Y * np.eye(5))
    traces = matrices._traces(U, step)
    assert traces["psi"] == pytest.approx(np.trace(S @ R @ L) / 5, rel=1e-10)
    assert traces["beta"] == pytest.approx(np.trace(A @ np.linalg.inv(A.T @ A - routes.X * np.eye(5))) / 5)
    assert traces["b_3"] == pytest.approx((np.linalg.svd(A, compute_uv=False) ** 6).mean(), rel=1e-10)
    assert traces["train"] == pytest.approx(((U @ A) ** 2).sum() / 5, rel=1e-10)
    assert traces["c_2"] == pytest.approx(((A @ A) ** 2).sum() / 5, rel=1e-10)
    assert traces["a_2"] == pytest.approx(((U @ A.T @ A) ** 2).sum() / 5, rel=1e-10)


def test_traces_that_are_not_as_expected_make_rows_that_do_not_hold(monkeypatch):
    monkeypatch.setattr(matrices, "_traced", lambda step, rho: {"m_2": (1.0, 0.001)})
    good, bad = routes.on_matrices({"m_2": 1.003}) + routes.on_matrices({"m_2": 1.005})
    assert good.holds
    assert not bad.holds


def test_a_constant_whose_loss_another_route_contradicts_is_refused(monkeypatch):
    wrong = 0.5, lambda n, step: 1 / np.sqrt(n), lambda n, step: 1.0
    monkeypatch.setitem(constants._LOSSES, "trace", wrong)
    with pytest.raises(ArithmeticError, match="Not confirmed: trace"):
        routes.limit("trace", 0.77)  # a step that nothing has measured


def test_what_exceeds_four_standard_errors_is_relative():
    assert routes.beyond([1.0, 2.2], [0.1, 0.025], [1.2, 2.0]) == pytest.approx(0.05)
    assert routes.beyond(1.0, 0.1, 1.2) == 0
