"""Which order is advised, what makes a tie, and what a free choice of the step would gain."""

import numpy as np
import pytest

from edgelaw import data
from edgelaw.curves import LearningCurve
from edgelaw.forecast import advice, best_steps
from edgelaw.forecast.best_steps import BestStep
from edgelaw.forecast.exact_curves import exact_curve
from edgelaw.predict import predict

LOSSES = ("test", "train")


def test_gaussian_rows_are_told_to_shuffle_once(square):
    assert square[0].advice.order == "single_shuffle"
    assert "%" in square[0].advice.reason


def test_small_steps_leave_orders_that_cannot_be_told_apart():
    prediction = predict(
        data.gaussian(40, 40, rng=2), epochs=3, step=0.02, orders=["iid", "flip_flop"], search=False
    )
    assert {prediction.advice.order, *prediction.advice.tie} == {"iid", "flip_flop"}
    assert "cannot be told apart" in prediction.advice.reason


def test_noise_makes_a_tie_and_a_margin_does_not():
    losses, steps = {"iid": 0.2, "flip_flop": 0.23}, {"iid": 1.0, "flip_flop": 0.5}
    clear = advice.advise(losses, {"iid": 0.0, "flip_flop": 0.0}, steps, 5)
    assert (clear.order, clear.step, clear.tie) == ("iid", 1.0, ())
    assert clear.margin == pytest.approx(0.15)
    assert "15 %" in clear.reason
    noisy = advice.advise(losses, {"iid": 0.05, "flip_flop": 0.07}, steps, 5)
    assert noisy.tie == ("flip_flop",)
    assert "within the noise" in noisy.reason
    far = advice.advise(
        {"iid": 1e-9, "single_shuffle": 1e-8}, {"iid": 0.0, "single_shuffle": 0.0}, {"iid": 1.0}, 5
    )
    assert "times as high" in far.reason


def test_of_three_orders_the_one_behind_a_tie_and_the_last_are_named():
    steps = dict.fromkeys(("iid", "single_shuffle", "flip_flop"), 1.0)
    errors = dict.fromkeys(steps, 0.0)
    tie = advice.advise({"iid": 0.2, "single_shuffle": 0.201, "flip_flop": 0.3}, errors, steps, 5)
    assert tie.tie == ("single_shuffle",)
    assert tie.reason.endswith("within 0.5 %; flip-flop's is 50 % higher.")
    clear = advice.advise({"iid": 0.2, "single_shuffle": 0.22, "flip_flop": 0.3}, errors, steps, 5)
    assert clear.reason.endswith("that of single shuffle is 10 % higher, of flip-flop 50 % higher.")
    ended = advice.advise({"iid": 0.0, "flip_flop": 0.0}, errors, steps, 5)
    assert ended.margin == 0


def test_advice_says_what_a_free_choice_of_the_step_would_gain_and_only_then():
    losses, reason = {"iid": 0.10, "flip_flop": 0.12}, "IID at step 1: so it is."
    best = {"iid": {"test": BestStep(1.7, 0.08)}, "flip_flop": {"test": BestStep(0.9, 0.081)}}
    assert advice.with_free_step(reason, best, "test", losses) == (
        "IID at step 1: so it is; free to choose the step, sampling with replacement at 1.7 "
        "leaves 0.08 "
        "(flip-flop within 3 % at the best step of that order)."
    )
    best["iid"] = {"test": BestStep(1.02, 0.099)}
    best["flip_flop"] = {"test": BestStep(0.9, 0.119)}
    assert advice.with_free_step(reason, best, "test", losses) == reason  # a per cent is no gain
    assert advice.with_free_step(reason, {"iid": None, "flip_flop": None}, "test", losses) == reason


def test_best_steps_are_taken_if_asked_for_and_are_better_than_their_neighbours():
    prediction = predict(data.gaussian(32, 32, rng=2), epochs=4, step="best", orders=["iid", "flip_flop"])
    for order, forecast in prediction.forecasts.items():
        assert forecast.step == forecast.best_step["test"] != 1.0
        for loss in LOSSES:
            best = forecast.best_step[loss]
            at = [
                getattr(exact_curve(order, prediction.eigenvalues, [4], step, 1.0)[0], loss)[-1]
                for step in (0.85 * best, best, min(1.15 * best, 1.95))
            ]
            assert at[1] <= 1.002 * min(at)


@pytest.mark.parametrize(("power", "step"), [(0.5, 1.9), (1.5, 1.75)])
def test_a_loss_that_falls_with_the_step_is_followed_beyond_the_grid_where_it_is_convex(
    monkeypatch, power, step
):
    def curve(order, eigenvalues, epochs, step, rho):
        loss = np.exp([0.0, -(step**power)])
        return LearningCurve(np.array([0, 1]), loss, loss, 0 * loss, 0 * loss), None

    monkeypatch.setattr(best_steps, "exact_curve", curve)
    best = best_steps.best_steps("iid", np.ones(30), 1, 1.0)
    assert best["test"] == best["train"] == (step, pytest.approx(np.exp(-(step**power))))
