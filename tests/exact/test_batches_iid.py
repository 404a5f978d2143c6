"""IID with averaged batches: against the exact mean square of one data set, simulation, limits, and refusals."""

import numpy as np
import pytest

from edgelaw import data, exact, kaczmarz
from edgelaw.exact import silverstein, sources
from edgelaw.exact.batches.partition import partition
from edgelaw.exact.iid import batches as engine
from edgelaw.spectrum import gram_eigenvalues
from edgelaw.theory import gradient_descent


def exact_curve(rows, epochs, step, batch):
    """The mean losses of one data set over draws with replacement, from the recursion of E wwᵀ: no noise, no limit."""
    rows = data.normalize_rows(rows) / np.sqrt(rows.shape[1])
    m, d = rows.shape
    mean = rows.T @ rows / m
    second, losses = np.eye(d), [(1.0, 1.0)]
    for _ in range(epochs):
        for first in range(0, m, batch):
            b = min(batch, m - first)
            tau = step / b
            drift = mean @ second
            quadratic = np.einsum("ij,ij->i", rows @ second, rows)
            second = second - tau * b * (drift + drift.T) + tau**2 * b * (b - 1) * drift @ mean
            second += tau**2 * b / m * (rows.T * quadratic) @ rows
        losses.append((np.trace(second) / d, np.trace(mean @ second)))
    return np.array(losses).T


@pytest.mark.parametrize(
    ("shape", "batch", "step"),
    [((160, 160), 20, 14.0), ((160, 160), 50, 12.0), ((80, 160), 20, 10.0), ((320, 80), 40, 20.0)],
)
def test_one_data_set_agrees_to_one_over_d(shape, batch, step):
    rows = data.gaussian(*shape, rng=3)
    test, train = exact_curve(rows, 8, step, batch)
    eigenvalues = gram_eigenvalues(data.normalize_rows(rows))
    curve = exact.curve("iid", eigenvalues, 8, step, rho=shape[0] / shape[1], batch=batch)
    assert np.abs(curve.test / test - 1).max() < 1.6 / shape[1]
    assert np.abs(curve.train / train - 1).max() < 4.0 / shape[1]


def test_the_simulator_draws_what_the_recursion_averages():
    rows = data.gaussian(40, 40, rng=5)
    simulated = kaczmarz.simulate(
        kaczmarz.Problem(rows, batch=4), "iid", 4, step=1.9, runs=100, rng=1, starts="all"
    )
    test, train = exact_curve(rows, 4, 1.9, 4)
    assert (simulated.test_se <= 0.005 * simulated.test).all()
    assert (simulated.train_se <= 0.015 * simulated.train).all()
    assert (np.abs(simulated.test - test) <= 3.5 * simulated.test_se + 1e-12).all()
    assert (np.abs(simulated.train - train) <= 3.5 * simulated.train_se + 1e-12).all()


def test_rows_of_a_covariance_tend_to_the_sample_of_many():
    covariance = np.arange(1, 601) ** -0.5
    rows = data.gaussian(600, 600, rng=2) * np.sqrt(covariance)
    sample = exact.curve("iid", gram_eigenvalues(data.normalize_rows(rows)), 10, 40.0, batch=150)
    population = exact.population_curve("iid", covariance, 10, 40.0, batch=150)
    assert np.abs(population.test / sample.test - 1).max() < 0.01
    assert np.abs(population.train / sample.train - 1).max() < 0.02
    assert population.error < 1e-8


@pytest.mark.parametrize("rho", [0.5, 1.0, 4.0])
def test_small_batches_tend_to_single_rows_at_the_step_per_row(rho):
    single = exact.population_curve("iid", np.ones(2), 10, 0.9, rho)
    law = silverstein.PopulationRows(np.ones(1), np.ones(1), rho)
    losses = []
    for batch in (1, 2):
        cut = partition(rho * 6e3, 6e3, batch, 0.9 * batch)
        losses.append(engine.attempt(law, cut, np.arange(1, 11)).fine)
    limit = np.stack([single.test, single.train])[:, 1:]
    assert np.abs((2 * losses[0] - losses[1]) / limit - 1).max() < 1e-6


def test_without_its_noise_one_batch_per_epoch_is_gradient_descent():
    """Drawing m rows with replacement leaves the noise τ²κλ⟨λs⟩; with a million times as many rows it is 1e-6 of it."""
    rule = engine.Rule(np.linspace(0.2, 1.8, 50), np.full(50, 0.02), 0.0)
    few, many = (partition(size, 50, size, 0.4 * 50) for size in (50, 50_000_000))
    truth = gradient_descent.curve(np.linspace(0.2, 1.8, 50), 20, 0.4)
    losses = engine.losses(rule, many, np.arange(21))
    assert np.abs(losses[0] / truth.test - 1).max() < 1e-6
    assert np.abs(losses[1] / truth.train - 1).max() < 1e-6
    assert engine.losses(rule, few, np.arange(21))[1, -1] > 1.1 * truth.train[-1]


@pytest.mark.parametrize("batch", [4, 32, 256])
def test_isotropic_rows_are_refused_from_two_over_the_square_of_one_plus_kappa(batch):
    limit = 2 * batch / (1 + batch / 256) ** 2
    exact.population_curve("iid", np.ones(256), 2, 0.97 * limit, batch=batch)
    with pytest.raises(ValueError, match="step must be below") as refusal:
        exact.population_curve("iid", np.ones(256), 2, 1.03 * limit, batch=batch)
    named = float(str(refusal.value).split()[4].rstrip(","))
    assert abs(named / limit - 1) < 2e-3


def test_the_limit_with_a_short_batch_is_where_the_mean_square_stops_decaying():
    eigenvalues = gram_eigenvalues(data.gaussian(60, 60, rng=4))
    values, shares = eigenvalues / eigenvalues.mean(), np.full(60, 1 / 60)
    rule, cut = engine.Rule(*sources.positive(values, shares)), partition(60, 60, 25, 1.0)
    limit = engine.limit(rule, values.max(), cut)
    assert limit > 1.1 * engine.limit(rule, values.max(), partition(10, 60, 10, 1.0))
    below, above = (
        engine.losses(rule, cut.scaled(factor * limit), np.array([100, 200])) for factor in (0.995, 1.005)
    )
    assert below[1, 1] < below[1, 0]
    assert above[1, 1] > above[1, 0]
