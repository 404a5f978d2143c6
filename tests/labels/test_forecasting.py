"""The forecast of a probe: what it says is what SGD does, in the units that a reader types."""

import json

import numpy as np
import pytest

from edgelaw import exact
from edgelaw.exact.labels import LabelledRows
from edgelaw.exact.random_reshuffle import labels as random_reshuffle
from edgelaw_app import labels
from edgelaw_app.labels import forecasting, simulation
from edgelaw_app.labels.preparation import prepare

FAST = {"orders": ["iid"], "epochs": 4}


@pytest.fixture(scope="module")
def probe(classes):
    return labels.forecast(*classes, **FAST)


def test_losses_by_epoch_are_those_of_runs(classes):
    """64 runs: standard errors below 1 %, agreement within 3 of them and 2 %."""
    probe = labels.forecast(*classes, epochs=4, orders=["iid"], lr=0.002)
    prepared = prepare(*classes, 0.2, True, True, False, np.random.default_rng(0))
    runs = simulation.simulate(prepared, "iid", probe.rates, 1, 0.0, 64, np.random.default_rng(5))
    for ours, theirs in ((probe.train, runs.train), (probe.held_out, runs.held_out)):
        error = theirs.std(axis=0, ddof=1) / 8
        assert (error < 0.01 * theirs.mean(axis=0)).all()
        assert (np.abs(ours - theirs.mean(axis=0)) < 3 * error + 0.02 * ours).all()


@pytest.mark.parametrize(
    ("schedule", "epochs", "most"),
    [("constant", 10, 8), ("best", 10, 18), ("best", 30, 18), ("cosine", 30, 18)],
)
def test_a_forecast_makes_few_operators(classes, monkeypatch, schedule, epochs, most):
    """Each costs a fraction of a second; a search, the chosen schedule, a smaller and a larger one share theirs."""
    made, make = [], random_reshuffle.Maps._make
    monkeypatch.setattr(
        random_reshuffle.Maps, "_make", lambda maps, step: made.append(step) or make(maps, step)
    )
    probe = labels.forecast(*classes, epochs=epochs, orders=["random_reshuffle"], schedule=schedule)
    assert probe.orders["random_reshuffle"].how == "theory"
    assert None not in (probe.costs.smaller, probe.costs.larger)
    assert 0 < len(made) <= most


@pytest.mark.parametrize("factor", [1e-2, 1e2, 1e5])
def test_features_of_another_scale_change_the_learning_rate_and_nothing_else(classes, probe, factor):
    X, y = classes
    other = labels.forecast(factor * X, y, **FAST)
    assert other.lr == pytest.approx(probe.lr / factor**2, rel=1e-6)
    assert other.step == pytest.approx(probe.step, rel=1e-6)
    assert np.allclose(other.held_out, probe.held_out, rtol=1e-6)


def test_the_best_learning_rate_is_better_than_its_neighbours(classes, probe):
    for factor in (0.6, 1.6):
        other = labels.forecast(*classes, **FAST, lr=factor * probe.lr)
        assert other.held_out[-1] > probe.held_out[-1]
        assert other.best_lr == pytest.approx(probe.lr)
        assert "best constant one" in other.sentences["judged"]


def test_a_wrong_learning_rate_costs_what_it_is_said_to_cost(classes, probe):
    smaller = labels.forecast(*classes, **FAST, lr=probe.lr / 10)
    larger = labels.forecast(*classes, **FAST, lr=probe.costs.larger_lr)
    assert probe.costs.smaller == pytest.approx(smaller.loss[-1] / probe.loss[-1])
    assert probe.costs.larger == pytest.approx(larger.loss[-1] / probe.loss[-1])
    assert min(probe.costs.smaller, probe.costs.larger) > 1
    assert probe.costs.larger_lr < probe.largest_lr


def test_a_step_is_a_learning_rate_in_other_units_and_mse_counts_outputs(classes, probe):
    other = labels.forecast(*classes, **FAST, step=probe.step)
    assert other.lr == pytest.approx(probe.lr)
    assert probe.mse_lr == pytest.approx(probe.lr * 3 / 2)


def test_chance_is_answering_with_the_frequencies(classes, probe):
    prepared = prepare(*classes, 0.2, True, True, False, np.random.default_rng(0))
    frequencies = prepared.target_mean
    held = prepared.held[1] + frequencies
    assert probe.chance == pytest.approx(((held - frequencies) ** 2).sum() / len(held))
    assert 0 < probe.relative_to_chance < 1


def test_a_schedule_by_name_is_the_schedule_by_epoch(classes):
    named = labels.forecast(*classes, **FAST, lr=0.004, schedule="linear")
    given = labels.forecast(*classes, **FAST, schedule=0.004 * np.array([1, 0.75, 0.5, 0.25]))
    assert np.allclose(named.rates, given.rates)
    assert np.allclose(named.held_out, given.held_out)
    assert given.schedule == "given"
    assert named.gain < 1


def test_a_ridge_is_weight_decay_by_theory_for_iid_and_simulated_for_others(classes):
    plain = labels.forecast(*classes, **FAST, lr=0.002)
    decayed = labels.forecast(*classes, orders=["iid", "random_reshuffle"], epochs=4, lr=0.002, ridge=5.0)
    assert {order: one.how for order, one in decayed.orders.items()} == {
        "iid": "theory",
        "random_reshuffle": "simulated",
    }
    assert decayed.orders["iid"].train[-1] > plain.train[-1]


def mean_over_all_draws(prepared, step, epochs, ridge):
    """Training and held-out loss by epoch in the mean over all IID draws, exactly: the weights' whole second moment."""
    X, t, (H, u) = prepared.X, prepared.T[:, 0], (prepared.held[0], prepared.held[1][:, 0])
    parts = [(A.T @ A / len(A), A.T @ b / len(A), b @ b / len(A)) for A, b in ((X, t), (H, u))]
    (G, g, _), rate = parts[0], step / prepared.scale
    keep, M, w, losses = 1 - rate * ridge, np.zeros_like(G), np.zeros(len(G)), []
    for _ in range(epochs):
        for _ in range(len(X)):
            squares = np.einsum("ij,ij->i", X @ M, X) - 2 * t * (X @ w) + t**2
            C = M @ G - np.outer(w, g)
            M = keep**2 * M - keep * rate * (C + C.T) + rate**2 * (X.T * squares) @ X / len(X)
            w = keep * w - rate * (G @ w - g)
        losses.append([(A * M).sum() - 2 * w @ b + c for A, b, c in parts])
    return np.array(losses).T


def test_losses_with_a_ridge_are_those_of_all_draws_and_of_runs():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((900, 128)) * np.arange(1, 129) ** -0.25
    y = X @ rng.standard_normal(128) / 8 + rng.standard_normal(900)
    prepared = prepare(X, y, 0.3, True, True, True, rng)
    rows = LabelledRows.of(prepared.X, prepared.T, prepared.held)
    ridge, runs = 20.0, 400
    curve, without = (
        exact.probe_curve("iid", rows, 2, 0.3, ridge=ridge),
        exact.probe_curve("iid", rows, 2, 0.3),
    )
    truth = mean_over_all_draws(prepared, 0.3, 2, ridge)
    assert np.allclose([curve.train[1:], curve.held_out[1:]], truth, rtol=1e-3)
    rates = np.full(2, 0.3 / prepared.scale)
    simulated = simulation.simulate(prepared, "iid", rates, 1, ridge, runs, np.random.default_rng(4))
    for loss, most in (("train", 0.015), ("held_out", 0.005)):
        values = getattr(simulated, loss)[:, 1:]
        mean, error = values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(runs)
        assert (error < most * mean).all()
        assert (np.abs(getattr(curve, loss)[1:] - mean) < 3 * error).all()
        assert (np.abs(getattr(without, loss)[1:] - mean) > 10 * error).all()


def test_targets_without_noise_are_simulated_where_theory_is_rounding():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 24))
    probe = labels.forecast(X, X @ rng.standard_normal(24), 20, ["random_reshuffle", "iid"], step=0.9)
    assert probe.orders["random_reshuffle"].how == "simulated"
    assert probe.orders["iid"].how == "theory"
    assert (probe.train > 0).all()
    assert probe.train[2] < 1e-9 * probe.train[0]


@pytest.mark.parametrize(("affordable", "code"), [(2e9, "disagreement"), (0.0, "unequal_norms")])
def test_unequal_norms_at_a_large_step_are_flagged_with_and_without_runs(monkeypatch, affordable, code):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 60)) * rng.uniform(0.6, 1.4, (400, 1))
    y = X[:, 0] + rng.standard_normal(400)
    monkeypatch.setattr(forecasting, "CHECKED", affordable)
    at = {
        step: labels.forecast(X, y, 10, ["random_reshuffle"], step=step, center=False) for step in (0.05, 1.2)
    }
    assert code in [caution.code for caution in at[1.2].cautions]
    assert code not in [caution.code for caution in at[0.05].cautions]


def test_orders_without_theory_are_simulated_and_say_so(classes):
    probe = labels.forecast(*classes, epochs=2, orders=["iid", "flip_flop"], lr=0.002)
    assert probe.orders["flip_flop"].how == "simulated"
    assert set(probe.costs.orders) == {"iid", "flip_flop"} - {probe.order}


def test_without_held_out_rows_the_training_loss_decides(classes):
    probe = labels.forecast(*classes, **FAST, held_out=None)
    assert probe.held_out is None
    assert probe.loss is probe.train
    assert "training loss" in probe.sentences["loss"]


def test_it_is_json_and_html(probe):
    content = json.loads(json.dumps(probe.to_dict(), allow_nan=False))
    assert {"lr", "batch", "order", "epochs", "train", "held_out"} <= content.keys()
    assert len(content["train"]) == len(content["held_out"]) == probe.epochs + 1
    shown = probe._repr_html_()
    assert "<svg" in shown
    assert f"lr = {probe.lr:.3g}"[:8] in shown


def test_features_as_they_are_with_a_trained_intercept(numbers):
    """Uncentred features: the constant column is trained; the forecast is of that loop."""
    X, y = numbers
    probe = labels.forecast(X, y, **FAST, center=False, lr=1e-4)
    assert (probe.intercept, probe.shape[1]) == ("column", 31)
    assert probe.simulated is not None
    assert np.allclose(probe.simulated.held_out, probe.held_out, rtol=0.1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lr": 10.0}, r"must be below 0\.0\d+ .*diverges, not 10"),
        ({"schedule": [10.0, 1e-3, 1e-3, 1e-3]}, "diverges, not 10"),
        ({"schedule": [1e-3]}, "each of the 4 epochs, not 1"),
        ({"schedule": [0.0, 0.0, 0.0, 0.0]}, "at least one of them positive"),
        ({"schedule": "steep"}, "'constant', 'cosine', 'linear', '1/t', 'best'"),
        ({"schedule": "best", "lr": 0.1}, "must be left out"),
        ({"lr": 0.1, "step": 0.1}, "give one of them"),
        ({"lr": -1}, "greater than 0"),
        ({"batch": 289}, "at most 288"),
        ({"epochs": 0}, "at least 1"),
        ({"epochs": 10**6}, "at most 10,000"),
        ({"orders": ["sorted"]}, "must be one of"),
        ({"orders": []}, "at least one of"),
        ({"ridge": -1}, "greater than 0"),
        ({"simulate": 3}, "True or False"),
    ],
)
def test_bad_questions_are_refused_in_one_sentence(classes, options, message):
    with pytest.raises(ValueError, match=message) as refusal:
        labels.forecast(*classes, **{**FAST, **options})
    assert str(refusal.value).endswith(".")


def test_fewer_rows_than_dimensions_is_a_caution_where_training_has_gone_far():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 80))
    probe = labels.forecast(X, X @ rng.normal(size=80), epochs=12, orders=["iid"], step=1.0, held_out=0.2)
    assert probe.train[-1] < 0.04 * probe.train[0]
    assert "few_rows" in [caution.code for caution in probe.cautions]


def test_one_row_far_longer_than_all_others_limits_the_learning_rate(classes):
    """Theory sees the spread of the norms, not the one row that overshoots at every visit."""
    X, y = classes
    X = X.copy()
    X[::60] *= 12
    probe = labels.forecast(X, y, epochs=6, orders=["random_reshuffle"])
    longest = (probe.data.X**2).sum(axis=1).max()
    assert probe.lr * longest < 2
    beyond = labels.forecast(X, y, epochs=2, orders=["iid"], lr=min(2.2 / longest, 0.9 * probe.largest_lr))
    assert "long_rows" in [caution.code for caution in beyond.cautions]


@pytest.mark.parametrize(
    ("features", "targets"), [(1e-69, 1e69), (1e69, 1e-69), (1e69, 1e69), (1e-69, 1e-69)]
)
def test_every_scale_that_is_accepted_gives_the_same_forecast(numbers, features, targets):
    X, y = numbers
    first = labels.forecast(X, y, epochs=3)
    other = labels.forecast(features * X, targets * y, epochs=3)
    assert other.lr * features**2 == pytest.approx(first.lr, rel=1e-6)
    assert other.relative_to_chance == pytest.approx(first.relative_to_chance, rel=1e-6)
    with pytest.raises(ValueError, match="must be of another scale"):
        labels.forecast(features**1.5 * X, y, epochs=3)


@pytest.mark.parametrize("rank", [2, 5, 19])
def test_features_of_low_rank_in_many_columns_are_run_where_theory_has_no_spectrum(rank):
    rng = np.random.default_rng(0)
    B = rng.standard_normal((120, rank))
    probe = labels.forecast(
        B @ rng.standard_normal((rank, 30)), B[:, 0] + 0.1 * rng.standard_normal(120), epochs=3
    )
    assert {order: one.how for order, one in probe.orders.items() if order != "iid"} == dict.fromkeys(
        ("random_reshuffle", "single_shuffle", "flip_flop"), "simulated"
    )
    assert probe.orders["iid"].how == "theory"


def _ended(order, how, loss, error):
    """An order whose loss goes from 1 to an end."""
    ends = np.array([1.0, loss])
    return forecasting.OrderForecast(order, how, ends, ends, error)


@pytest.mark.parametrize(
    ("flip_flop", "error", "chosen"),
    [
        (0.97, 0.05, "random_reshuffle"),  # within two standard errors of its runs
        (0.90, 0.02, "flip_flop"),  # ahead by five
        (0.10, 0.90, "flip_flop"),  # ten times as low is no tie, whatever the error
        (0.995, 1e-9, "random_reshuffle"),  # less than theory knows
    ],
)
def test_a_simulated_order_is_recommended_only_if_it_is_ahead_by_more_than_its_error(
    flip_flop, error, chosen
):
    known = {
        "random_reshuffle": _ended("random_reshuffle", "theory", 0.5, 1e-3),
        "flip_flop": _ended("flip_flop", "simulated", 0.5 * flip_flop, error),
    }
    assert forecasting._choose(known) == chosen


def test_losses_that_have_vanished_are_not_ranked():
    known = {
        "random_reshuffle": _ended("random_reshuffle", "simulated", 8e-33, 1e-3),
        "single_shuffle": _ended("single_shuffle", "simulated", 5e-33, 1e-3),
    }
    assert forecasting._choose(known) == "random_reshuffle"


def test_an_order_alone_is_chosen_even_if_it_diverges():
    assert forecasting._choose({"flip_flop": _ended("flip_flop", "simulated", np.nan, np.nan)}) == "flip_flop"
