"""What the checks share: each route against something known; and the modules of checks hold checks only."""

import importlib
import inspect
import math
import pkgutil

import numpy as np
import pytest

import edgelaw_ledger as claims
from edgelaw_ledger import checks, routes

MODULES = [module.name for module in pkgutil.iter_modules(checks.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_a_module_of_checks_has_the_checks_that_the_ledger_names_and_nothing_else_is_public(name):
    module = importlib.import_module(f"edgelaw_ledger.checks.{name}")
    public = {
        name
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
    }
    entries = [*claims.load().values(), *claims.additions()]
    assert public == {
        entry.check.partition(":")[2] for entry in entries if entry.check.startswith(f"{module.__name__}:")
    }
    for check in public:
        parameters = inspect.signature(getattr(module, check)).parameters.values()
        assert all(p.kind is p.KEYWORD_ONLY and isinstance(p.default, int | float) for p in parameters)


def test_what_is_not_confirmed_stops_the_check():
    routes.require(True, "nothing")
    with pytest.raises(ArithmeticError, match="Not confirmed: the sum"):
        routes.require(False, "the sum")


def test_orthogonal_rows_remove_everything_in_one_epoch():
    assert np.abs(routes.epoch(np.eye(3), 1.0)).max() == 0
    np.testing.assert_allclose(routes.epoch(np.eye(3), 0.25), 0.75 * np.eye(3))


def test_the_triangular_solve_is_the_product_of_the_updates():
    U = routes.unit_rows(7, 5, np.random.default_rng(0))
    np.testing.assert_allclose(routes.epoch_by_solve(U, 1.4), routes.epoch(U, 1.4), atol=1e-13)


def test_extrapolation_finds_the_limit_of_a_series_in_inverse_roots():
    def loss(n, step):
        return step / np.sqrt(n) * (1 + 3 / np.sqrt(n) - 2 / n)

    assert routes.constant(loss, 0.5, 0.7) == pytest.approx(0.7, rel=1e-9)


def test_one_epoch_of_single_shuffle_has_its_closed_form():
    for step, rho in ((0.5, 1.0), (1.5, 0.7)):
        assert routes.single_shuffle_loss(1, step, rho) == pytest.approx(
            math.exp(-step * (2 - step) * rho), rel=1e-12
        )


def test_the_first_trace_moments_have_theirs():
    assert float(routes.moment_at_step(1, 0.8, 1.5)) == pytest.approx(math.exp(-1.2), rel=1e-14)
    assert float(routes.moment_at_step(2)) == pytest.approx(2 * math.exp(-2), rel=1e-14)


def test_a_double_coefficient_is_read_off_a_polynomial():
    assert routes.double_coefficient(lambda h, k: 3 * h**2 * k**2 + h * k, 2, 0.5) == pytest.approx(3)
    assert routes.double_coefficient(lambda h, k: 3 * h**2 * k**2 + h * k, 1, 0.5) == pytest.approx(1)


def test_iid_losses_start_at_one_and_obey_the_trace_decrement():
    test, train = routes.gaussian_iid([0, 1 - 1e-4, 1 + 1e-4, 1], 1.3)
    assert (test[0], train[0]) == (pytest.approx(1), pytest.approx(1))
    assert (test[1] - test[2]) / 2e-4 == pytest.approx(1.3 * 0.7 * train[3], rel=1e-6)


def test_the_laplace_route_meets_a_quadrature_of_the_same_spectrum():
    values, weights, Q = routes.power_law_nodes(0.4)
    noise = np.sqrt(weights) * values
    rates, V = np.linalg.eigh(np.diag(2.4 * values) - 1.44 * np.outer(noise, noise))
    decay = np.exp(-50 * rates)
    first = np.sqrt(weights) @ V
    test, train, front = routes.power_law_iid(0.4, 1.2, 50)
    assert front == pytest.approx(Q)
    assert test == pytest.approx(decay @ first**2, rel=1e-8)
    assert train == pytest.approx(decay @ (first * (noise @ V)), rel=1e-7)


def test_random_matrices_of_two_sizes_extrapolate_to_the_first_loss():
    losses = routes.drawn(1.0, 1, 100)
    for order in ("single_shuffle", "flip_flop"):
        mean, error = losses[order, "test"]
        assert error < 0.005
        assert abs(mean - math.exp(-1)) < 4 * error
    assert losses["single_shuffle", "test"][0] == pytest.approx(losses["flip_flop", "test"][0], rel=1e-9)
