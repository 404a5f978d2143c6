"""A forecast for batches: it follows the simulator, says which learning rate to set, and refuses what cannot be."""

import numpy as np
import pytest

from edgelaw import data, kaczmarz
from edgelaw.exact import critical_batch, stability
from edgelaw_app.forecast import predict
from edgelaw_app.training.samplers import learning_rate

X = data.normalize_rows(data.gaussian(96, 96, rng=0))


@pytest.fixture(scope="module")
def batches():
    return predict(X, epochs=8, step="best", batch=12, center=False)


def test_a_forecast_for_batches_follows_runs_of_the_same_batches(batches):
    for order, forecast in batches.forecasts.items():
        run = kaczmarz.simulate(
            kaczmarz.Problem(X, batch=12), order, 8, forecast.step, runs=12, rng=1, starts="all"
        )
        error = run.test_se[1:] / run.test[1:]
        assert error.max() < 0.02
        off = np.abs(forecast.curve.test[1:] / run.test[1:] - 1)
        assert (off < 0.015 + 4 * error).all(), (order, off)


def test_every_order_takes_a_step_below_its_own_limit_and_beyond_that_of_single_rows(batches):
    values = batches.eigenvalues
    for order, forecast in batches.forecasts.items():
        limit = stability(order, values, batch=12)
        assert batches.batching.limits[order] == pytest.approx(limit)
        assert 2 < forecast.step < limit


def test_the_best_step_beats_its_neighbours(batches):
    order = batches.advice.order
    least = batches.forecasts[order].curve.test[-1]
    for factor in (0.8, 1.15):
        step = min(batches.forecasts[order].step * factor, 0.99 * batches.batching.limits[order])
        other = predict(X, epochs=8, step=step, batch=12, orders=[order], search=False, center=False)
        assert other.forecasts[order].curve.test[-1] > 0.99 * least


def test_the_learning_rate_critical_size_and_cost_are_what_they_are_called(batches):
    facts = batches.batching
    assert facts.size == batches.batch == 12
    assert facts.learning_rate == pytest.approx(learning_rate(batches.advice.step, dims=96), rel=1e-12)
    assert facts.critical == pytest.approx(critical_batch(batches.eigenvalues))
    single = predict(X, epochs=8, step="best", center=False)
    alone = single.forecasts[batches.advice.order].curve.test[-1]
    assert facts.single_rows == pytest.approx(alone, rel=0.01)
    own = batches.forecasts[batches.advice.order].curve.test[-1]
    assert facts.cost == pytest.approx(own / facts.single_rows, rel=0.01)
    iid = batches.forecasts["iid"].curve.test[-1]
    assert facts.shuffle == pytest.approx(iid / own, rel=0.01)
    assert f"lr = {facts.learning_rate:.3g}" in facts.text
    assert batches.to_dict()["batching"]["text"] == facts.text


def test_single_rows_have_no_facts_on_batches():
    assert predict(X, epochs=2, search=False, center=False).batching is None


def test_a_pilot_has_proportionally_smaller_batches_and_says_so():
    wide = data.gaussian(256, 256, rng=1)
    pilot = predict(
        wide, epochs=4, step=8.0, batch=32, simulate=True, operations=3e8, orders=["iid"], search=False
    )
    simulated = pilot.forecasts["iid"].simulated
    assert simulated is not None
    exact = pilot.forecasts["iid"].curve
    error = simulated.test_se[1:] / simulated.test[1:]
    assert (np.abs(simulated.test[1:] / exact.test[1:] - 1) < 0.03 + 4 * error).all()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"batch": 0}, "batch must be an integer of at least 1, not 0."),
        ({"batch": 97}, "96"),
        ({"batch": 8, "step": 16.0}, "step must be below"),
        ({"batch": 8, "step": -1.0}, "step"),
    ],
)
def test_a_batch_or_step_that_cannot_be_is_refused_in_one_sentence(arguments, words):
    with pytest.raises(ValueError, match="must be") as refusal:
        predict(X, epochs=2, search=False, center=False, **arguments)
    assert words in str(refusal.value)
    assert str(refusal.value).count(". ") == 0
