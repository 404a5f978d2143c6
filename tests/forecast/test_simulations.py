"""Real runs: from all starts or some, on all rows or on a pilot, as time and memory allow."""

import numpy as np
import pytest

from edgelaw import data, exact, kaczmarz
from edgelaw.curves import LearningCurve
from edgelaw_app import files
from edgelaw_app.forecast import measuring, predict, simulations
from edgelaw_app.forecast.exact_curves import exact_curve

N = np.array([0, 1, 3])


def test_a_measured_curve_is_a_simulation_from_all_starts_or_orthonormal_ones_that_begins_at_one():
    X = data.normalize_rows(data.gaussian(30, 24, rng=0))
    for probes, starts in ((24, {"starts": "all"}), (16, {"starts": "orthonormal", "probes": 16})):
        measured = measuring.measured_curve(X, "flip_flop", N, 0.9, np.random.default_rng(2), 3, probes)
        curve = kaczmarz.simulate(X, "flip_flop", N, 0.9, runs=3, rng=2, **starts)
        assert (measured.train[1:] == curve.train[1:]).all()
        assert (measured.train_se[1:] == curve.train_se[1:]).all()
        assert (measured.test[0], measured.train[0], measured.test_se[0], measured.train_se[0]) == (
            1,
            1,
            0,
            0,
        )
    expected = measuring.measured_curve(X, "iid", N, 0.9, np.random.default_rng(2), 3, 24)
    assert np.allclose(expected.test, exact.expected_curve(X, N, 0.9).test, rtol=1e-4)
    assert (expected.test_se == 0).all()


def test_more_operations_buy_more_starts_and_runs_and_too_few_buy_none():
    shape = (64, 64)
    cost = 2 * 64**3 * 10 * 4  # of one run from all starts, for four orders and ten epochs
    assert measuring.affordable(shape, 10, 4, 3.01 * cost) == (3, 64)
    assert measuring.affordable(shape, 10, 4, 100 * cost) == (measuring.MOST_RUNS, 64)
    assert measuring.affordable(shape, 10, 4, 1.51 * cost) == (3, 32)
    assert measuring.affordable(shape, 10, 4, 0.5 * cost) is None


def test_a_pilot_has_the_aspect_of_the_whole_and_the_largest_size_that_is_paid_for():
    assert measuring.pilot_size((4000, 2000), 10, 4, 1e18) == (2048, 1024)
    assert measuring.pilot_size((4000, 2000), 10, 4, 1.0) == (128, 64)
    rows, dims = measuring.pilot_size((4000, 2000), 10, 4, 1e11)
    assert 64 < dims < 1024
    assert rows == 2 * dims
    assert 4 * dims**3 * 10 * 4 * 3 <= 1e11 < 4 * (dims / 0.8 + 1) ** 3 * 10 * 4 * 3


def test_fractions_of_the_first_epoch_are_those_of_the_theory():
    """Six runs from all starts of 900 × 60 rows, with and without replacement: within four errors and 3 %."""
    X = data.normalize_rows(data.gaussian(900, 60, rng=0))
    values = np.linalg.eigvalsh(X.T @ X / 900)
    times = np.array([0, 0.02, 0.1, 0.3, 1])
    for order in ("iid", "random_reshuffle", "flip_flop"):
        measured = measuring.measured_curve(X, order, times, 0.8, np.random.default_rng(3), 6, 60)
        truth = exact_curve(order, values, times, 0.8, 15.0)
        assert measured.epochs.tolist() == times.tolist()
        for loss in ("test", "train"):
            mean, error = getattr(measured, loss)[1:], getattr(measured, loss + "_se")[1:]
            predicted = getattr(truth, loss)[1:]
            assert (np.abs(mean - predicted)[:3] <= 4 * error[:3] + 0.03 * predicted[:3]).all()


def test_epochs_after_nothing_is_left_are_continued_and_not_run():
    design = files.design(data.gaussian(400, 40, rng=0), center=False)
    runs = simulations.Simulations(design, np.arange(50), 6, 1, 1e9)
    curve = runs.run("single_shuffle", 1.0, np.random.default_rng(0), None).curve
    assert (len(curve.epochs), curve.continued) == (50, 6)
    assert curve.train[7] == pytest.approx(curve.train[6] ** 2 / curve.train[5])


def test_what_is_too_large_to_simulate_is_forecast_by_a_pilot(embeddings):
    X = embeddings("cifar10", 256, 256)
    prediction = predict(X, epochs=3, orders=["single_shuffle"], simulate=True, operations=1e6, search=False)
    forecast = prediction.forecasts["single_shuffle"]
    assert forecast.how == "exact"
    assert forecast.why.startswith("The simulation beside it: A pilot: ")
    assert np.allclose(forecast.simulated.test, forecast.curve.test, rtol=0.1)
    assert forecast.discrepancy["test"]["worst"] is not None


def test_a_pilot_without_an_exact_curve_of_all_rows_says_that_it_gives_no_levels(monkeypatch):
    design = files.design(data.gaussian(96, 96, rng=0), center=False)
    monkeypatch.setattr(simulations, "LARGEST_BYTES", 1)
    runs = simulations.Simulations(design, N, 3, 1, 1.0)
    raw = runs.run("iid", 1.0, np.random.default_rng(0), None)
    assert raw.how == "pilot"
    assert raw.note.startswith(simulations.RAW + "A pilot: 64 of 96 rows in 64 of 96 random directions")
    assert raw.curve is raw.measured
    assert np.allclose(raw.measured.test, raw.predicted.test, rtol=0.2)
    truth = exact_curve("iid", np.maximum(design.gram_eigenvalues(), 0), N, 1.0, 1.0)
    assert runs.run("iid", 1.0, np.random.default_rng(0), truth).note == raw.note.removeprefix(
        simulations.RAW
    )

    def refuse(*_, **__):
        raise ArithmeticError("no curve")

    monkeypatch.setattr(simulations, "exact_curve", refuse)
    alone = runs.run("iid", 1.0, np.random.default_rng(0), truth)
    assert alone.predicted is None
    assert alone.note.startswith(simulations.RAW)


def test_an_order_without_an_exact_curve_is_simulated():
    prediction = predict(data.gaussian(12, 30, rng=0), epochs=2, orders=["iid"], search=True)
    forecast = prediction.forecasts["iid"]
    assert forecast.how == "simulated"
    assert forecast.why.startswith("No exact curve: 11 positive eigenvalues are too few for a spectrum.")
    assert forecast.discrepancy is None
    assert forecast.best_step == {"test": None, "train": None}
    best = predict(data.gaussian(12, 30, rng=0), epochs=2, orders=["iid"], step="best")
    assert best.forecasts["iid"].step == 1.0


def test_a_curve_that_flip_flop_s_solver_refuses_is_simulated():
    """Two exact levels: as a sample's spectrum, which random rows do not have."""
    rng = np.random.default_rng(0)
    left, right = (np.linalg.qr(rng.standard_normal((rows, 64)))[0] for rows in (89, 64))
    X = left * np.sqrt(np.repeat([1.0, 0.66], 32)) @ right
    refused = predict(X, epochs=12, orders=["flip_flop"], step=1.18, center=False).forecasts["flip_flop"]
    assert refused.how == "simulated"
    assert refused.why.startswith("No exact curve: Two resolutions differ")
    assert 0 < refused.curve.test[-1] < 1e-6


def curve(test):
    test = np.array(test)
    return LearningCurve(np.arange(len(test)), test, test**2, 0.01 * test, 0.02 * test)


def test_the_discrepancy_is_the_worst_relative_difference_where_something_is_left():
    worst = simulations.discrepancy(curve([1.0, 0.55, 0.2, 1e-12]), curve([1.0, 0.5, 0.2, 1e-10]))
    assert worst["test"] == {"worst": pytest.approx(0.1), "epoch": 1, "error": pytest.approx(0.011)}
    vanished = simulations.discrepancy(curve([1.0, 1e-12]), curve([1.0, 1e-12]))
    assert vanished["train"] == {"worst": None, "epoch": None, "error": None}


def test_a_pilot_corrects_the_exact_curve_by_what_it_measures_over_its_own():
    made = simulations.corrected(curve([1.0, 0.8]), curve([1.0, 0.3]), curve([1.0, 0.6]))
    assert made.test.tolist() == pytest.approx([1.0, 0.4])
    assert made.test_se[1] == pytest.approx(0.003 * 0.8 / 0.6)
