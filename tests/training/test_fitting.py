"""A probe trained as its forecast says: the same losses as the compiled loop, and a model for raw features."""

import numpy as np
import pytest

from edgelaw.orders import ORDERS
from edgelaw_app import labels
from edgelaw_app.training import probe
from edgelaw_app.training.samplers import OrderSampler

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 24)) + 3
    return X, X @ rng.normal(size=(24, 2)) + rng.normal(size=(160, 2))


@pytest.mark.parametrize("order", ORDERS)
def test_the_run_is_plain_sgd_in_the_samplers_order(numbers, order):
    forecast = labels.forecast(*numbers, epochs=2, orders=[order], batch=3, lr=0.004, schedule="linear")
    fitted = probe.fit(forecast, seed=7)
    data, W = forecast.data, np.zeros((24, 2))
    sampler = OrderSampler(order, len(data.X), 7)
    for rate in forecast.rates:
        visits = list(sampler)
        for first in range(0, len(visits), 3):
            rows = visits[first : first + 3]
            X, T = data.X[rows], data.T[rows]
            W -= rate / len(rows) * X.T @ (X @ W - T)
    assert fitted.train[-1] == pytest.approx(((data.X @ W - data.T) ** 2).sum() / len(data.X), rel=1e-9)
    assert len(fitted.held_out) == 3


@pytest.mark.parametrize("center", [True, False])
def test_the_model_takes_features_as_they_are(numbers, center):
    X, y = numbers
    options = {"held_out": (X[120:], y[120:]), "epochs": 3, "orders": ["iid"], "center": center, "lr": 0.001}
    fitted = probe.fit(labels.forecast(X[:120], y[:120], **options))
    with torch.no_grad():
        scores = fitted.model(torch.tensor(X[120:])).numpy()
    assert ((scores - y[120:]) ** 2).sum() / 40 == pytest.approx(fitted.held_out[-1], rel=1e-9)


def test_the_run_is_near_its_forecast_and_shows_both(numbers):
    fitted = probe.fit(labels.forecast(*numbers, epochs=4, orders=["random_reshuffle"]))
    assert abs(fitted.gap) < 0.15  # a single run, d = 24
    shown = fitted._repr_html_()
    assert "<svg" in shown
    assert "forecast" in shown
