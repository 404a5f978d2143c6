"""The compiled loop is SGD as PyTorch does it."""

import numpy as np
import pytest

from edgelaw import orders
from edgelaw_app.labels import simulation
from edgelaw_app.labels.preparation import prepare


def by_hand(made, visits, lr, batch, ridge):
    """One epoch in plain NumPy."""
    W = np.zeros((made.X.shape[1], made.T.shape[1]))
    for first in range(0, len(visits), batch):
        rows = visits[first : first + batch]
        X, T = made.X[rows], made.T[rows]
        W = W - lr * (X.T @ (X @ W - T) / len(rows) + ridge * W)
    return W


@pytest.mark.parametrize(("batch", "ridge"), [(1, 0.0), (7, 0.0), (7, 0.3), (300, 0.1)])
@pytest.mark.parametrize("order", orders.ORDERS)
def test_an_epoch_is_the_plain_loop(numbers, order, batch, ridge):
    X, y = numbers
    made = prepare(X, y, 0.1, True, True, False, np.random.default_rng(0))
    batch = min(batch, len(made.X))
    rng = np.random.default_rng(3)
    runs = simulation.simulate(made, order, np.array([0.01]), batch, ridge, 1, rng)
    child = np.random.default_rng(3).spawn(1)[0]
    W = by_hand(made, orders.stream(order, len(made.X), child).epoch(0), 0.01, batch, ridge)
    assert np.allclose(runs.weights, W, rtol=1e-10, atol=1e-12)
    assert runs.train[0, 1] == pytest.approx(((made.X @ W - made.T) ** 2).sum() / len(made.X))
    assert runs.held_out[0, 1] == pytest.approx(
        ((made.held[0] @ W - made.held[1]) ** 2).sum() / len(made.held[0])
    )


def test_a_rate_of_zero_leaves_the_weights_alone(numbers):
    made = prepare(*numbers, None, True, True, False, np.random.default_rng(0))
    runs = simulation.simulate(made, "iid", np.zeros(2), 1, 0.0, 2, np.random.default_rng(0))
    assert (runs.train == runs.train[0, 0]).all()
    assert runs.held_out is None
