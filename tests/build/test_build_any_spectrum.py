"""The sweeps of the chapter on any spectrum: they meet the chapter's bars, and their scripts still compute them."""

import any_spectrum
import embedding_traces
import numpy as np
import order_map
import pytest
import what_breaks

from edgelaw import data, kaczmarz


def off(measured, predicted):
    """Largest relative deviation of test and of training loss."""
    return np.abs(measured / predicted - 1).max(
        axis=tuple(k for k in range(measured.ndim) if k != measured.ndim - 2)
    )


def test_real_embeddings_follow_their_eigenvalues_at_every_order_step_and_seed():
    """Test within 1.5 %, training within 4 %, standard errors below a third of that; only eigenvalues went in."""
    sweep = data.sweep("embedding_traces")
    measured, error, predicted = (sweep[key] for key in ("measured", "error", "predicted"))
    assert measured.shape == (2, 3, 3, 4, 2, 6)
    assert (error / measured).max(axis=(0, 1, 2, 3, 5))[0] < 0.015 / 3
    assert (error / measured).max(axis=(0, 1, 2, 3, 5))[1] < 0.04 / 3
    test, train = off(measured, predicted)
    assert test < 0.015
    assert train < 0.04


@pytest.mark.parametrize("name", ["two-point", "uniform", "j^(-1/2)"])
def test_matrices_of_size_1600_follow_their_eigenvalues(name):
    sweep = data.sweep("any_spectrum")
    test, train = off(sweep[f"measured {name} 1600"], sweep[f"predicted {name} 1600"])
    assert test < 0.003
    assert train < 0.01


def test_deviations_shrink_with_the_size():
    sweep = data.sweep("any_spectrum")
    for name in any_spectrum.NAMES:
        sizes = [d for d in any_spectrum.SIZES if f"measured {name} {d}" in sweep]
        worst = [off(sweep[f"measured {name} {d}"], sweep[f"predicted {name} {d}"])[0] for d in sizes]
        assert worst[-1] < worst[0]


def test_a_stored_prediction_is_what_the_library_says_today():
    sweep = data.sweep("any_spectrum")
    name, d, step = "uniform", 400, 1
    eigenvalues = sweep[f"eigenvalues {name} {d}"]
    for index, theory in enumerate(any_spectrum.THEORY.values()):
        curve = theory.curve(
            np.maximum(eigenvalues, 0), np.array(any_spectrum.EPOCHS), any_spectrum.STEPS[step]
        )
        stored = sweep[f"predicted {name} {d}"][step, index]
        assert np.allclose([curve.test[1:], curve.train[1:]], stored, rtol=1e-3)


def test_the_matrix_of_a_case_is_drawn_again_the_same():
    eigenvalues = data.sweep("any_spectrum")["eigenvalues two-point 400"]
    rng = np.random.default_rng([any_spectrum.SEED, 0, 400])
    X = rng.standard_normal((400, 400)) * np.sqrt(any_spectrum.covariance("two-point", 400))
    again = np.linalg.eigvalsh(data.normalize_rows(X).T @ data.normalize_rows(X) / 400)
    assert np.allclose(again, eigenvalues, atol=1e-10)


def test_powers_are_powers():
    A = np.array([[0.9, 0.1], [0.0, 0.8]])
    for n, P in zip(any_spectrum.EPOCHS, any_spectrum.powers(A), strict=True):
        assert np.allclose(P, np.linalg.matrix_power(A, n))


@pytest.mark.parametrize("kind", what_breaks.KINDS)
def test_every_kind_has_rows_of_the_right_norm(kind):
    X = what_breaks.rows(kind, np.random.default_rng(0), 64)
    assert X.shape == (64, 64)
    assert np.allclose(np.linalg.norm(X, axis=1), 8.0)


def test_measured_losses_are_those_of_the_simulator():
    """From all starts and six shuffles, against the simulator within 4 of its standard errors."""
    X = what_breaks.rows("anisotropic Gaussian", np.random.default_rng(1), 40)
    mean, error = what_breaks.measure(X, 1.0, np.random.default_rng(2), 40)
    for index, order in enumerate(what_breaks.THEORY):
        run = kaczmarz.simulate(X, order, 5, probes=64, runs=60, rng=3, record=[1, 2, 5])
        spread = np.hypot(run.test_se[1:], error[index, 0, :3])
        assert (spread < 0.05 * run.test[1:]).all()
        assert (np.abs(run.test[1:] - mean[index, 0, :3]) < 4 * spread).all()


def test_kurtosis_is_one_for_haar_vectors_and_large_for_localised_ones():
    rng = np.random.default_rng(0)
    assert abs(what_breaks.kurtosis(rng.standard_normal((200, 200))) - 1) < 0.05
    assert what_breaks.kurtosis(np.diag(np.arange(1.0, 51))) > 10


def test_the_map_holds_what_its_script_computes():
    table = data.sweep("order_map")
    assert table["names"].tolist() == [*map(str, order_map.EXPONENTS), "cifar10", "wikipedia"]
    assert np.isfinite(table["losses"]).all()
    assert (np.diff(table["losses"][..., 0, :], axis=-1) < 0).all()


def test_embeddings_are_preprocessed_with_one_null_direction():
    X = embedding_traces.rows("wikipedia", 1)
    values = np.linalg.eigvalsh(X.T @ X / len(X))
    assert X.shape == (512, 512)
    assert (values < 1e-10).sum() == 1
