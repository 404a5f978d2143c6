"""Floors of noisy targets against simulation and by hand; the filter against mean iterates."""

import numpy as np
import pytest

from edgelaw import data, kaczmarz
from edgelaw.exact import labels as noise
from edgelaw.spectrum import gram_eigenvalues


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = data.normalize_rows(rng.standard_normal((60, 20)) * np.arange(1, 21) ** -0.4)
    y = X @ rng.standard_normal(20) + 3 * rng.standard_normal(60) * (1 + 2 * (np.arange(60) < 10))
    return X, y


@pytest.mark.parametrize("step", [0.2, 1.0, 1.7])
def test_the_iid_floor_is_where_simulation_ends(problem, step):
    X, y = problem
    floor = noise.iid_floor(X, y, step)
    record = range(400, 1200, 20)
    curve = kaczmarz.simulate(kaczmarz.Problem(X, y), "iid", record, step, probes=4, runs=64, rng=1)
    for losses, error, exact in (
        (curve.test, curve.test_se, floor.test),
        (curve.train, curve.train_se, floor.train),
    ):
        mean, error = losses[1:].mean(), error[1:].mean() / np.sqrt(40)  # epochs 20 apart: nearly independent
        assert error < 0.015 * exact
        assert abs(mean - exact) < 4 * error


def test_the_training_floor_is_eta_over_two_minus_eta_of_the_noise(problem):
    X, y = problem
    solution = np.linalg.lstsq(X, y, rcond=None)[0]
    least = ((X @ solution - y) ** 2).mean()
    for step in (0.1, 1.0, 1.9):
        floor = noise.iid_floor(X, y, step)
        assert floor.noise == pytest.approx(least, rel=1e-10)
        assert floor.train == pytest.approx(step / (2 - step) * least, rel=1e-10)


def test_equal_residuals_spread_over_all_directions_alike():
    rng = np.random.default_rng(1)
    half = rng.standard_normal((12, 8))
    X, y = np.concatenate([half, half]), np.concatenate([np.ones(12), -np.ones(12)])
    y = y * np.linalg.norm(X, axis=1)  # unit rows have residuals ±1
    floor = noise.iid_floor(X, y, step=1.2)
    assert floor.test == pytest.approx(1.2 / 0.8 * 8, rel=1e-9)


def test_noise_in_one_of_two_orthogonal_directions_stays_there():
    X, y = np.diag([1.0, 1.0, 1.0, 1.0, 1.0, 1.0])[:, :2], np.zeros(6)
    X[2:, 1] = 1  # rows 1 to 5 are the second direction, row 0 the first
    X[5] = X[0]
    y[[0, 5]] = 1, -1
    floor = noise.iid_floor(X, y, step=0.5)  # along the first: noise 1, floor 0.5/1.5; along the second: none
    assert floor.test == pytest.approx(1 / 3, rel=1e-9)
    assert floor.train == pytest.approx(2 * (1 / 3) * (2 / 6), rel=1e-9)


def test_a_narrow_span_has_the_floor_of_its_rank():
    rng = np.random.default_rng(2)
    half = np.concatenate([rng.standard_normal((9, 3)), np.zeros((9, 4))], axis=1)
    X, y = np.concatenate([half, half]), np.concatenate([np.ones(9), -np.ones(9)])
    floor = noise.iid_floor(X, y * np.linalg.norm(X, axis=1), step=0.6)
    assert floor.test == pytest.approx(0.6 / 1.4 * 3, rel=1e-9)


@pytest.mark.parametrize("order", ["single_shuffle", "flip_flop"])
@pytest.mark.parametrize("step", [0.3, 1.4])
def test_a_cycle_ends_where_it_repeats(problem, order, step):
    X, y = problem
    floor = noise.cycle_floor(X, y, order, step, rng=5)
    norms = np.linalg.norm(X, axis=1)
    solution = np.linalg.lstsq(X / norms[:, None], y / norms, rcond=None)[0]
    walk = dict(kaczmarz.iterates(kaczmarz.Problem(X, y), order, [1999, 2000], np.ones(20), step, rng=5))
    errors = [walk[n] - solution for n in (1999, 2000)]
    assert floor.test == pytest.approx(np.mean([e @ e for e in errors]), rel=1e-8)
    assert floor.train == pytest.approx(np.mean([((X @ e) ** 2).mean() for e in errors]), rel=1e-8)


def test_consistent_targets_have_no_floor():
    X = data.gaussian(12, 8, rng=0)
    y = X @ np.ones(8)
    assert noise.iid_floor(X, y) == (0, 0, 0)
    assert noise.cycle_floor(X, y) == (0, 0, 0)


def test_the_mean_iterate_is_the_filtered_solution():
    X = data.normalize_rows(data.power_law(24, 12, beta=0.7, rng=0))
    values = gram_eigenvalues(X)
    V = np.linalg.eigh(X.T @ X)[1]
    solution, runs = V @ np.ones(12), 4000
    ends = np.array(
        [
            list(kaczmarz.iterates(kaczmarz.Problem(X, X @ solution), "iid", 2, np.zeros(12), 0.8, rng=seed))[
                -1
            ][1]
            for seed in range(runs)
        ]
    )
    mean, error = (ends @ V).mean(axis=0), (ends @ V).std(axis=0) / np.sqrt(runs)
    exact = noise.filter_factors(values, 2, step=0.8, rho=2.0, dims=12)
    assert error.max() < 0.02
    assert (np.abs(mean - exact) < 4 * error).all()
    assert np.abs(noise.filter_factors(values, 2, step=0.8, rho=2.0) - exact).max() < 0.1


def test_the_filter_tends_to_its_limit_and_matches_a_ridge():
    values = np.geomspace(1e-4, 1e3, 2000)
    for n, step, rho in ((1, 1.0, 1.0), (20, 0.4, 2.0)):
        limit = noise.filter_factors(values, n, step, rho)
        assert np.allclose(noise.filter_factors(values, n, step, rho, dims=10**8), limit, atol=1e-4)
        ratio = limit / noise.ridge_factors(values, noise.matching_ridge(n, step, rho))
        assert 1 <= ratio.min() + 1e-12
        assert 1.298 < ratio.max() < 1.2985
    several = noise.filter_factors([0.5, 1.0], [1, 2, 3])
    assert several.shape == (3, 2)
    assert (np.diff(several, axis=0) > 0).all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda X, y: noise.iid_floor(X, y[:-1]), "one entry"),
        (lambda X, y: noise.iid_floor(X, y, step=2), "step must be"),
        (lambda X, y: noise.iid_floor(X, y, tolerance=0), "tolerance must be"),
        (lambda X, y: noise.cycle_floor(X, y, "iid"), "order must be"),
        (lambda X, y: noise.cycle_floor(0 * X, y), "no zero row"),
        (lambda X, y: noise.filter_factors([-1.0], 1), "negative"),
        (lambda X, y: noise.filter_factors([3.0], 1, dims=2), "at most d"),
        (lambda X, y: noise.ridge_factors([-1.0], 1), "negative"),
        (lambda X, y: noise.matching_ridge(0), "n must be"),
    ],
)
def test_bad_input_is_refused(problem, call, words):
    with pytest.raises(ValueError, match=words):
        call(*problem)
