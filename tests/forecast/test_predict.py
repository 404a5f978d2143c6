"""Forecasts of rows without labels: what to do, targets, checks, progress, JSON, seeds, and what is refused."""

import json
import warnings

import numpy as np
import pytest

import edgelaw_app
from edgelaw import data, exact
from edgelaw_app.cli import answer
from edgelaw_app.forecast import answering, predict, ranking
from edgelaw_app.forecast.exact_curves import exact_curve

TEST = "parameter error"


def test_every_order_is_at_its_own_best_learning_rate(square):
    made, _ = square
    for order, one in made.orders.items():
        assert one.how == "theory"
        assert one.step == pytest.approx(one.lr * 2 * 60)
        least = one.at(made.advice.time, TEST)[0]
        for factor in (0.85, 1.15):
            step = min(one.step * factor, 0.9 * exact.stability(order, made.eigenvalues, 1.0))
            other = exact_curve(order, made.eigenvalues, [int(made.advice.time)], step, 1.0)
            assert least <= 1.01 * other.test[-1]


def test_the_advice_is_the_best_order_at_its_best_step_as_learning_rate_and_says_by_how_much(square):
    made, _ = square
    advice, one = made.advice, made.best
    values = {order: each.at(advice.time, TEST) for order, each in made.orders.items()}
    assert advice.order == min(values, key=values.__getitem__) == "single_shuffle"
    assert (advice.lr, advice.batch, advice.epochs) == (one.lr, 1, 3)
    assert (advice.value, advice.error) == values[advice.order]
    ratio = values[advice.rival][0] / advice.value
    assert (advice.verdict, advice.margin) == ("ahead", pytest.approx(ratio - 1))
    assert advice.margin_error == pytest.approx(ratio * np.hypot(values[advice.rival][1], advice.error))
    assert f"lr = {one.lr:.3g}, batch 1, 3 epochs." in advice.sentences[0]
    margin = f"{100 * advice.margin:.0f} ± {100 * advice.margin_error:.0f} % more"
    assert f"{ranking.NAMES[advice.rival]} leaves {margin}" in advice.sentences[2]
    assert f"lr={one.lr:.3g})" in made.code
    assert "range(3)" in made.code


def test_the_epoch_and_the_loss_of_a_sentence_belong_together(square):
    made, _ = square
    value, error = made.best.at(made.advice.epochs, TEST)
    assert made.advice.sentences[1].startswith(
        f"It leaves {value:.3g} ± {100 * error:.0f} % of the {TEST} after {made.advice.epochs} epochs."
    )


def test_a_target_is_reached_as_soon_as_it_can_be_and_the_epoch_before_is_above_it(square):
    made, _ = square
    assert made.reached[made.advice.order] == made.advice.epochs == min(made.reached.values())
    assert "The target 0.2 is reached by then." in made.advice.sentences[1]
    for order, one in made.orders.items():
        losses, n = one.losses[TEST], int(made.reached[order])
        assert losses[n] <= 0.2 < losses[n - 1]
    never = predict(data.gaussian(60, 60, rng=1), 3, ["iid", "single_shuffle"], target=1e-3)
    assert set(never.reached.values()) == {None}
    assert "The target 0.001 is not reached by then." in never.advice.sentences[1]


def test_small_learning_rates_are_judged_beside_the_best_ones():
    X = data.gaussian(40, 40, rng=2)
    made = predict(X, 3, ["iid", "flip_flop"], lr=1e-4)
    assert {order: asked.lr for order, asked in made.asked.items()} == dict.fromkeys(made.orders, 1e-4)
    for order, one in made.asked.items():
        curve = exact_curve(order, made.eigenvalues, [3], 1e-4 * 80, 1.0)
        assert one.losses[TEST][-1] == pytest.approx(curve.test[-1])
        assert one.losses[TEST][-1] > made.orders[order].losses[TEST][-1]
    assert predict(X, 3, ["iid"]).asked == {}


@pytest.mark.parametrize("batch", [1, 8])
def test_recommended_rates_keep_their_distance_from_the_limit_of_their_order(batch):
    X = data.gaussian(64, 48, rng=0)
    made = predict(X, 2, batch=batch, operations=1e9)
    for order, one in made.orders.items():
        assert one.lr <= answering.SAFE * made.largest_lr[order] * (1 + 1e-9)
        limit = exact.stability(order, made.eigenvalues, 64 / 48, batch=batch) / (2 * 48)
        assert made.largest_lr[order] == pytest.approx(limit)


def test_where_theory_refuses_sgd_is_run_until_losses_are_known_to_three_per_cent():
    made = predict(data.gaussian(12, 30, rng=0), 2)
    assert made.check == made.check.__class__(
        "not run", "Theory refuses this spectrum, so the losses here come from running SGD."
    )
    assert {one.how for one in made.orders.values()} == {"simulated"}
    for one in made.orders.values():
        assert max(errors[1:].max() for errors in one.errors.values()) <= 0.03
        assert one.why == f"Means over {one.runs:,} runs of SGD."
    few = predict(data.gaussian(12, 30, rng=0), 2, operations=4e6)
    assert few.operations <= 4e6
    assert all("because the operations are spent" in one.why for one in few.orders.values())
    with pytest.raises(ValueError, match="no theory and are too large to run SGD on"):
        predict(data.gaussian(12, 30, rng=0), 2, operations=1e3)


def test_orders_that_are_run_within_the_first_epoch_are_one(mistrusted):
    made = predict(data.gaussian(300, 20, rng=0), 4, operations=6e9)
    assert made.advice.time <= 1
    shuffled = [made.orders[order] for order in ("random_reshuffle", "single_shuffle", "flip_flop")]
    assert {one.how for one in shuffled} == {"simulated"}
    assert len({one.at(made.advice.time, TEST) for one in shuffled}) == 1
    assert {"random_reshuffle", *made.advice.tie} >= {"single_shuffle", "flip_flop"}
    assert made.advice.verdict in ("tied", "undecided")
    assert made.advice.verdict == "tied" or "iid" in made.advice.tie


def test_batches_are_checked_by_runs_in_batches():
    """At 32 dimensions the theory of batches is off by far more than it states, and single rows would not show it."""
    X = data.gaussian(80, 32, rng=0)
    made = predict(X, 3, ["random_reshuffle"], batch=8, operations=3e9)
    assert made.check.verdict == "differs"
    assert "times in batches of 8 at the best lr, differs from theory" in made.check.text
    assert made.best.how == "simulated"
    poor = predict(X, 3, ["random_reshuffle"], batch=8, operations=1e6)
    assert (poor.check.verdict, poor.best.how) == ("not run", "theory")
    assert "not_run" in [one.code for one in poor.cautions]


def test_progress_never_goes_back_and_never_beyond_its_total(square):
    done, total, what = zip(*square[1], strict=True)
    assert list(done) == sorted(done)
    assert done[-1] <= total[-1]
    assert set(total) == {total[0]}
    assert all(isinstance(word, str) for word in what)


def test_it_becomes_json_without_nan_and_without_a_warning(square):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        text = json.dumps(square[0].to_dict(), allow_nan=False)
    again = json.loads(text)
    assert again["shape"] == [60, 60]
    assert again["preparation"] == list(square[0].preparation)
    assert again["advice"]["lr"] == square[0].advice.lr
    assert len(again["orders"]["iid"]["losses"][TEST]) == 13


def test_it_shows_itself_in_ten_lines_and_as_html(square):
    made, _ = square
    lines = repr(made).splitlines()
    assert len(lines) <= 10
    assert lines[0] == f"Forecast(60 × 60): {made.advice.sentences[0]}"
    assert [line.split()[0] for line in lines[1:5]] == list(made.orders)
    assert "<svg" in made._repr_html_()


def test_the_public_names_are_those_of_the_room():
    names = ["Advice", "Caution", "Check", "Forecast", "Labels", "OrderForecast", "Preparation", "Training"]
    assert edgelaw_app.forecast.__all__ == [*names, "predict", "probe"]
    assert all(hasattr(edgelaw_app.forecast, name) for name in names)


def test_the_same_seed_gives_the_same_forecast_and_another_does_not(mistrusted):
    X = data.gaussian(30, 30, rng=2)
    one, two, other = (predict(X, 2, "single_shuffle", rng=seed, operations=1e8) for seed in (9, 9, 8))
    assert one.to_dict() == two.to_dict()
    assert one.best.losses[TEST][1] != other.best.losses[TEST][1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": np.full((30, 30), np.nan)}, "there is nan"),
        ({"X": np.ones(30)}, r"shape \(30,\)"),
        ({"X": np.ones((1, 30))}, "at least 2 rows"),
        ({"X": np.ones((0, 30))}, r"shape \(0, 30\)"),
        ({"X": np.ones((30, 19))}, "at least 20"),
        ({"X": np.ones((30, 30))}, "all equal"),
        ({"X": np.ones((30, 30)) * np.append(-np.ones(15), np.ones(15))[:, None]}, "one direction"),
        ({"X": np.eye(30) * np.append(0.0, np.ones(29))[:, None], "center": False}, "zero"),
        ({"X": np.outer(np.arange(1, 31), np.ones(30)), "center": False}, "one direction"),
        ({"X": np.vstack([np.eye(30), -np.eye(30), np.zeros((1, 30))])}, "equals the mean row"),
        ({"X": np.ones((30, 30)) * 1j}, "real"),
        ({"lr": 1.0}, "lr must be below .*diverges, not 1"),
        ({"lr": "fast"}, "lr"),
        ({"epochs": 0}, "epochs"),
        ({"target": 1.0}, "target"),
        ({"target": 0}, "target"),
        ({"lr": []}, "lr"),
        ({"orders": ["sorted"]}, "orders"),
        ({"orders": []}, "at least one"),
        ({"operations": 0}, "operations"),
        ({"operations": np.nan}, "operations"),
        ({"batch": 0}, "batch"),
        ({"batch": 31}, "30"),
        ({"rng": None}, "rng"),
    ],
)
def test_hostile_input_is_refused_in_one_sentence(change, message):
    arguments = {"X": np.random.default_rng(0).standard_normal((30, 30))} | change
    with pytest.raises(ValueError, match=message) as refusal:
        predict(**arguments)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("name", ["step", "simulate", "schedule", "held_out"])
def test_an_option_that_is_not_known_is_refused_with_those_that_are(name):
    known = "lr, batch, target, operations, center, standardize"
    with pytest.raises(TypeError, match=f"There is no option '{name}': the options are {known}."):
        predict(np.eye(30), **{name: 1})


def test_a_part_of_rows_without_theory_compares_orders_and_states_no_level():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6000, 15)) @ rng.standard_normal((15, 400))
    made = predict(X, epochs=2, orders=["iid", "random_reshuffle"], operations=2e9)
    assert {one.how for one in made.orders.values()} == {"part"}
    assert made.advice.sentences[1].startswith("How much it leaves is not known: means over ")
    assert "(part)" in repr(made)
    rows = answer.rows(made, [made.advice.time])
    best = next(row for row in rows if row[0] == made.advice.order)
    assert best[2:] == ["1.00 ×", "1.00 ×"]
    assert all(cell.endswith(" ×") for row in rows for cell in row[2:])


def test_a_target_shortens_the_advice_where_theory_refuses_too():
    X = np.random.default_rng(1).standard_normal((60, 12)) @ np.eye(12, 24)
    made = predict(X, epochs=12, orders=["random_reshuffle"], target=0.6, center=False)
    assert made.best.how == "simulated"
    first = made.reached["random_reshuffle"]
    assert made.advice.epochs == first < 12
    assert "The target 0.6 is reached by then." in made.advice.sentences[1]
