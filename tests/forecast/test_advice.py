"""Which order is advised, what makes a tie, and what a free choice of the step would gain."""

import numpy as np
import pytest

from edgelaw import data, spectrum
from edgelaw_app.forecast import advice, best_steps, predict
from edgelaw_app.forecast.best_steps import BestStep
from edgelaw_app.forecast.exact_curves import exact_curve

LOSSES = ("test", "train")


def test_gaussian_rows_are_told_to_shuffle_once(square):
    assert square[0].advice.order == "single_shuffle"
    assert "%" in square[0].advice.reason


def test_small_steps_leave_a_tie():
    prediction = predict(
        data.gaussian(40, 40, rng=2), epochs=3, step=0.02, orders=["iid", "flip_flop"], search=False
    )
    assert {prediction.advice.order, *prediction.advice.tie} == {"iid", "flip_flop"}
    assert "are tied" in prediction.advice.reason


END = advice.Moment(5, 100, False)


def test_noise_makes_a_tie_and_a_margin_does_not():
    losses, steps = {"iid": 0.2, "flip_flop": 0.23}, {"iid": 1.0, "flip_flop": 0.5}
    clear = advice.advise(losses, {"iid": 0.01, "flip_flop": 0.01}, steps, END)
    assert (clear.order, clear.step, clear.tie, clear.time) == ("iid", 1.0, (), 5)
    assert clear.margin == pytest.approx(0.15)
    assert clear.margin_error == pytest.approx(1.15 * 0.01 * np.sqrt(2))
    assert "15 ± 2 % higher" in clear.reason
    noisy = advice.advise(losses, {"iid": 0.05, "flip_flop": 0.07}, steps, END)
    assert (noisy.order, noisy.tie) == ("flip_flop", ("iid",))
    assert noisy.reason.startswith("Flip-flop and sampling with replacement are tied. ")
    assert "within 15.0 ± 9.9 %" in noisy.reason
    far = advice.advise(
        {"iid": 1e-9, "single_shuffle": 1e-8}, {"iid": 0.1, "single_shuffle": 0.0}, {"iid": 1.0}, END
    )
    assert "10 times as high (± 10 %)" in far.reason


@pytest.mark.parametrize("error", [0.45, 0.57, 3.0])
def test_an_error_as_large_as_the_loss_does_not_tie_it_with_one_that_is_a_millionth_of_it(error):
    """Two standard errors below such a loss there is zero, which is below every other loss."""
    losses = {"iid": 1e-9, "random_reshuffle": 1e-3}
    recommended = advice.advise(
        losses, {"iid": 0.01, "random_reshuffle": error}, dict.fromkeys(losses, 1.0), END
    )
    assert (recommended.order, recommended.tie) == ("iid", ())
    assert f"1e+06 times as high (± {100 * np.hypot(0.01, error):.0f} %)" in recommended.reason
    losses["random_reshuffle"] = 2e-9
    near = advice.advise(losses, {"iid": 0.01, "random_reshuffle": error}, dict.fromkeys(losses, 1.0), END)
    assert near.tie == ("iid",)


def test_nothing_is_called_zero_per_cent_higher():
    """A difference of a fortieth of a per cent may be certain, and is a tie nevertheless."""
    steps = dict.fromkeys(("iid", "random_reshuffle", "flip_flop"), 1.0)
    recommended = advice.advise(
        {"iid": 0.70781, "random_reshuffle": 0.70764, "flip_flop": 0.7115},
        dict.fromkeys(steps, 1e-5),
        steps,
        END,
    )
    assert (recommended.order, recommended.tie) == ("random_reshuffle", ("iid",))
    assert "equal to it; that of flip-flop is 1 ± 1 % higher." in recommended.reason


def test_of_three_orders_the_one_behind_a_tie_and_the_last_are_named():
    steps = dict.fromkeys(("iid", "single_shuffle", "flip_flop"), 1.0)
    errors = dict.fromkeys(steps, 0.01)
    tie = advice.advise({"iid": 0.2, "single_shuffle": 0.201, "flip_flop": 0.3}, errors, steps, END)
    assert (tie.order, tie.tie) == ("single_shuffle", ("iid",))
    assert tie.reason.endswith("within 0.5 ± 1.4 %; that of flip-flop is 50 ± 2 % higher.")
    assert tie.margin == pytest.approx(0.5)
    clear = advice.advise({"iid": 0.2, "single_shuffle": 0.22, "flip_flop": 0.3}, errors, steps, END)
    assert clear.reason.endswith("that of single shuffle is 10 ± 2 % higher, of flip-flop 50 ± 2 % higher.")
    equal = advice.advise({"iid": 0.2, "flip_flop": 0.2}, errors, steps, END)
    assert equal.reason.endswith("After 5 epochs the test loss is 0.2, the others equal to it.")


def test_a_moment_is_in_epochs_or_in_rows():
    assert str(advice.Moment(1, 100, False)) == "after 1 epoch"
    assert str(advice.Moment(0.04, 50_000, True)).startswith(
        "after 0.04 epochs (2,000 rows), the last moment"
    )


def test_advice_says_what_a_free_choice_of_the_step_would_gain_and_only_then():
    losses, reason = {"iid": 0.10, "flip_flop": 0.12}, "IID at step 1: so it is."
    best = {"iid": {"test": BestStep(1.7, 0.08)}, "flip_flop": {"test": BestStep(0.9, 0.081)}}
    assert advice.with_free_step(reason, best, "test", losses, 0.01) == (
        "IID at step 1: so it is; free to choose the step, sampling with replacement at 1.7 leaves 0.08 "
        "(flip-flop as low within the error, at the best step of that order)."
    )
    best["iid"] = {"test": BestStep(1.02, 0.099)}
    best["flip_flop"] = {"test": BestStep(0.9, 0.119)}
    assert advice.with_free_step(reason, best, "test", losses, 0.01) == reason  # a per cent is no gain
    assert advice.with_free_step(reason, {"iid": None, "flip_flop": None}, "test", losses, 0.01) == reason


def test_best_steps_are_taken_if_asked_for_and_are_better_than_their_neighbours():
    prediction = predict(data.gaussian(32, 32, rng=2), epochs=4, step="best", orders=["iid", "flip_flop"])
    for order, forecast in prediction.forecasts.items():
        assert forecast.step == forecast.best_step["test"]
        for loss in LOSSES:
            best = forecast.best_step[loss]
            at = [
                getattr(exact_curve(order, prediction.eigenvalues, [4], step, 1.0), loss)[-1]
                for step in (0.85 * best, best, min(1.15 * best, 1.95))
            ]
            assert at[1] <= 1.01 * min(at)


@pytest.mark.parametrize(("power", "step"), [(0.5, 1.9), (1.5, 1.9)])
def test_a_loss_that_falls_with_the_step_is_followed_to_the_largest(power, step):
    best = best_steps.best_steps(lambda step: np.exp(-(np.full(2, step) ** power)), {})
    assert best["test"] == best["train"] == (step, pytest.approx(np.exp(-(step**power))))


@pytest.mark.parametrize("seed", range(2))
def test_best_steps_on_other_spectra_are_within_two_per_cent_of_a_dense_grid(seed):
    rng = np.random.default_rng([11, seed])
    rows, dims, n = int(rng.integers(40, 200)), int(rng.integers(40, 100)), int(rng.integers(3, 60))
    X = data.gaussian(rows, dims, rng=rng) * np.exp(rng.uniform(0.2, 0.8) * rng.standard_normal(dims))
    values = np.maximum(spectrum.gram_eigenvalues(data.normalize_rows(X)), 0)
    for order in ("iid", "single_shuffle"):

        def losses_at(step, order=order):
            curve = exact_curve(order, values, [n], step, rows / dims, checked=False)
            return np.array([curve.test[-1], curve.train[-1]])

        best = best_steps.best_steps(losses_at, {1.0: losses_at(1.0)})
        grid = 2 / (1 + np.exp(-np.linspace(-4.5, 2.9, 60 if order == "iid" else 9)))
        dense = np.array([losses_at(step) for step in grid]).min(axis=0)
        for k, loss in enumerate(LOSSES):
            assert best[loss].loss <= 1.02 * dense[k]


def test_a_sharp_minimum_beside_a_tried_step_is_found():
    def losses_at(step):  # of flip-flop on a spiked spectrum, 42 epochs: logarithms through computed points
        steps = [0.02, 0.1, 0.2, 0.3, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7, 0.8, 1.0, 1.2, 1.7, 1.9]
        train = [
            -2.2,
            -4.07,
            -5.26,
            -6.02,
            -6.47,
            -6.59,
            -6.63,
            -6.6,
            -6.53,
            -6.27,
            -5.96,
            -5.3,
            -4.69,
            -3.18,
            -2.4,
        ]
        test = [
            -0.4,
            -0.75,
            -0.88,
            -0.93,
            -0.957,
            -0.965,
            -0.97,
            -0.975,
            -0.977,
            -0.98,
            -0.979,
            -0.972,
            -0.956,
            -0.853,
            -0.7,
        ]
        return np.exp([np.interp(step, steps, values) for values in (test, train)])

    best = best_steps.best_steps(losses_at, {1.0: losses_at(1.0)})
    assert best["train"].loss <= 1.02 * np.exp(-6.63)


@pytest.mark.parametrize("order", ["random_reshuffle", "single_shuffle", "flip_flop"])
@pytest.mark.parametrize(("shape", "n"), [((80, 80), 20), ((60, 120), 10), ((240, 60), 3)])
def test_few_curves_find_the_best_step_of_a_fine_grid_within_a_per_cent(order, shape, n):
    X = data.normalize_rows(data.gaussian(*shape, rng=1) * np.linspace(0.3, 1.7, shape[1]))
    values, rho, calls = spectrum.gram_eigenvalues(X), shape[0] / shape[1], []

    def losses_at(step):
        calls.append(step)
        curve = exact_curve(order, values, [n], step, rho, checked=False)
        return np.array([curve.test[-1], curve.train[-1]])

    best = best_steps.best_steps(losses_at, {1.0: losses_at(1.0)})
    assert len(calls) <= best_steps.MOST
    for k, loss in enumerate(LOSSES):
        around = [losses_at(best[loss].step * factor)[k] for factor in (0.85, 0.95, 1.05, 1.15)]
        assert best[loss].loss <= 1.01 * min(around)
