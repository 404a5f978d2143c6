"""Predictions as a whole: targets, progress, JSON, seeds, and what is refused."""

import dataclasses
import json
import warnings

import numpy as np
import pytest

import edgelaw_app
from edgelaw import data
from edgelaw_app.forecast import one_order, predict, targets
from edgelaw_app.forecast.exact_curves import exact_curve

LOSSES = ("test", "train")


def test_epochs_to_target_are_the_first_at_or_below_it(square):
    for forecast in square[0].forecasts.values():
        for loss in LOSSES:
            n, values = forecast.epochs_to_target[loss], getattr(forecast.curve, loss)
            assert forecast.rows_to_target[loss] == round(60 * n)
            assert values[int(np.ceil(n))] <= 0.2 < values[int(np.ceil(n)) - 1]


def test_a_target_between_recorded_epochs_is_found_to_the_epoch():
    result = predict(data.gaussian(60, 60, rng=1), epochs=900, target=0.0253, orders=["iid"], search=False)
    n = result.forecasts["iid"].epochs_to_target["test"]
    at = exact_curve("iid", result.eigenvalues, [n - 1, n], 1.0, 1.0).test
    assert n > 200
    assert at[2] <= 0.0253 < at[1]


def test_a_target_is_left_at_the_recorded_epoch_where_no_finer_curve_exists(square, monkeypatch):
    values = square[0].eigenvalues
    curve = exact_curve("iid", values, [0, 3, 9], 1.0, 1.0)
    target = float(curve.test[1]) * 0.999
    arguments = ("iid", values, curve, "test", 1.0, (60, 60))
    assert targets.first_between(*arguments, target) in (4, 5, 6)
    assert targets.first_between(*arguments, 1.0) == 0

    def refuse(*_, **__):
        raise ArithmeticError("too long")

    monkeypatch.setattr(targets, "exact_curve", refuse)
    assert targets.first_between(*arguments, target) == 9
    assert targets.unreached(curve, 1e-9, 0.0)["train"].startswith("not within 9 epochs, where it is ")


def test_a_continued_curve_says_from_where_on(monkeypatch):
    def curve(*arguments, **keywords):
        return dataclasses.replace(exact_curve(*arguments, **keywords), continued=2)

    monkeypatch.setattr(one_order, "exact_curve", curve)
    forecast = predict(
        data.gaussian(24, 24, rng=0), 4, orders="iid", target=0.5, simulate=False, search=False
    ).forecasts["iid"]
    assert forecast.how == "exact"
    assert forecast.why.startswith("Beyond epoch 2 the curve goes on by its last rate")


def test_progress_ends_at_its_total_and_never_goes_back(square):
    done, total, what = zip(*square[1], strict=True)
    assert list(done) == sorted(done)
    assert done[-1] == total[-1]
    assert set(total) == {total[0]}
    assert all(isinstance(word, str) for word in what)


def test_it_becomes_json_without_nan_and_without_a_warning(square):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        text = json.dumps(square[0].to_dict(), allow_nan=False)
    again = json.loads(text)
    assert again["shape"] == [60, 60]
    assert again["preparation"] == list(square[0].preparation)
    assert "steps" not in again
    assert again["forecasts"]["iid"]["curve"]["test_se"][3] is None


def test_the_public_names_are_those_of_the_room():
    names = ["Advice", "Caution", "Diagnostic", "Forecast", "Prediction", "diagnose", "predict"]
    assert edgelaw_app.forecast.__all__ == names
    assert all(hasattr(edgelaw_app.forecast, name) for name in names)


def test_the_same_seed_gives_the_same_prediction_and_another_does_not():
    X = data.gaussian(30, 30, rng=2)
    one, two, other = (
        predict(X, epochs=2, orders="single_shuffle", simulate=True, search=False, rng=seed)
        for seed in (9, 9, 8)
    )
    assert one.to_dict() == two.to_dict()
    assert (
        one.forecasts["single_shuffle"].simulated.test[1]
        != other.forecasts["single_shuffle"].simulated.test[1]
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": np.full((30, 30), np.nan)}, "NaN"),
        ({"X": np.ones(30)}, "dimension"),
        ({"X": np.ones((1, 30))}, "at least 2 rows"),
        ({"X": np.ones((0, 30))}, "empty"),
        ({"X": np.ones((30, 19))}, "at least 20"),
        ({"X": np.ones((30, 30))}, "all equal"),
        ({"X": np.ones((30, 30)) * np.append(-np.ones(15), np.ones(15))[:, None]}, "one direction"),
        ({"X": np.eye(30) * np.append(0.0, np.ones(29))[:, None], "center": False}, "zero"),
        ({"X": np.outer(np.arange(1, 31), np.ones(30)), "center": False}, "one direction"),
        ({"X": np.vstack([np.eye(30), -np.eye(30), np.zeros((1, 30))])}, "equals the mean row"),
        ({"X": np.ones((30, 30)) * 1j}, "real"),
        ({"step": 2.0}, "step"),
        ({"step": "fast"}, "step"),
        ({"epochs": 0}, "epochs"),
        ({"target": 1.0}, "target"),
        ({"orders": ["sorted"]}, "orders"),
        ({"orders": []}, "at least one"),
        ({"simulate": "maybe"}, "simulate"),
        ({"operations": 0}, "operations"),
        ({"operations": np.nan}, "operations"),
        ({"rng": None}, "rng"),
    ],
)
def test_hostile_input_is_refused_in_one_sentence(change, message):
    arguments = {"X": np.random.default_rng(0).standard_normal((30, 30)), "search": False} | change
    with pytest.raises(ValueError, match=message) as refusal:
        predict(**arguments)
    assert "\n" not in str(refusal.value)
