"""The scripts that compare matrices with their eigenvalues: what they measure, and that they measure it again."""

import any_spectrum
import diagnostic_rates
import losses
import numpy as np
import pytest
import what_breaks

from edgelaw import data, kaczmarz
from edgelaw.orders import ORDERS


def test_the_matrix_of_a_case_and_its_losses_come_out_again_from_their_seed():
    sweep = data.sweep("any_spectrum")
    U, X, rng = any_spectrum.matrix("two-point", 400)
    rows = data.normalize_rows(X)
    assert np.allclose(
        np.linalg.eigvalsh(rows.T @ rows / 400), sweep["eigenvalues two-point 400"], atol=1e-10
    )
    shuffles = [any_spectrum.shuffled(U, any_spectrum.STEPS[0], rng) for _ in range(any_spectrum.SHUFFLES)]
    again = [any_spectrum.reshuffled(U, any_spectrum.STEPS[0], rng), *np.mean(shuffles, axis=0)]
    assert np.allclose(again, sweep["measured two-point 400"][0, 1:], rtol=1e-4)


@pytest.mark.parametrize("kind", what_breaks.KINDS)
def test_every_kind_has_rows_of_the_right_norm(kind):
    X = what_breaks.rows(kind, np.random.default_rng(0), 64)
    assert X.shape == (64, 64)
    assert np.allclose(np.linalg.norm(X, axis=1), 8.0)


@pytest.mark.parametrize("kind", diagnostic_rates.KINDS)
def test_every_kind_that_the_diagnostic_is_tried_on_has_rows_of_the_right_norm_at_every_shape(kind):
    for m, d in ((40, 40), (80, 40), (40, 80)):
        X = diagnostic_rates.rows(kind, m, d, np.random.default_rng(0))
        assert X.shape == (m, d)
        assert np.allclose(np.linalg.norm(X, axis=1), np.sqrt(d))


def test_measured_losses_are_those_of_the_simulator():
    """From all starts, against the simulator within 4 of the standard errors of both."""
    X = what_breaks.rows("anisotropic Gaussian", np.random.default_rng(1), 24)
    mean, error = what_breaks.measure(X, 1.0, np.random.default_rng(2), 40)
    for index, order in enumerate(ORDERS):
        run = kaczmarz.simulate(X, order, [1, 2, 5], probes=64, runs=60, rng=3)
        spread = np.hypot(run.test_se[1:], error[index, 0, :3])
        assert (spread < 0.05 * run.test[1:]).all()
        assert (np.abs(run.test[1:] - mean[index, 0, :3]) < 4 * spread).all()


def test_losses_of_a_fixed_order_are_those_of_its_epochs_one_after_the_other():
    U = np.random.default_rng(5).standard_normal((9, 7))
    U /= np.linalg.norm(U, axis=1)[:, None]
    forward, backward = kaczmarz.epoch_matrix(U, 1.3), kaczmarz.epoch_matrix(U[::-1], 1.3)
    single, flipped = losses.fixed_order(U, (1, 2, 3), 1.3)
    assert np.allclose(single[:, 2], losses.of_map(U, forward @ forward @ forward))
    there_and_back = backward @ forward  # two epochs
    assert np.allclose(flipped[0, 1], losses.of_map(U, there_and_back)[0])
    assert np.allclose(flipped[0, 0], single[0, 0])
