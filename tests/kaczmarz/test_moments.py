"""Signal and noise apart: against the simulator's order streams, floors and refusals."""

import numpy as np
import pytest

from edgelaw import orders
from edgelaw.kaczmarz.moments import signal_and_noise


@pytest.mark.parametrize("order", orders.ORDERS)
def test_both_parts_are_those_of_updates_row_by_row(order):
    X, step = np.random.default_rng(2).standard_normal((5, 3)), 0.8
    U = X / np.linalg.norm(X, axis=1)[:, None]
    null = np.linalg.svd(U)[0][:, 3:]
    child = np.random.default_rng(7).spawn(1)[0]
    W, N = np.eye(3), np.zeros((3, 2))
    for i in orders.stream(order, 5, child).epochs(0, 3).ravel():
        W -= step * np.outer(U[i], U[i] @ W)
        N -= step * np.outer(U[i], U[i] @ N - null[i])
    parts = signal_and_noise(X, order, [1, 3], step, runs=1, rng=7)
    assert parts.signal.shape == (1, 2)
    assert parts.signal[0, 1] == pytest.approx(((U @ W) ** 2).sum() / 5, rel=1e-10)
    assert parts.noise[0, 1] == pytest.approx(((U @ N) ** 2).sum() / 2, rel=1e-10)
    assert parts.distance_signal[0, 1] == pytest.approx((W**2).sum() / 3, rel=1e-10)
    assert parts.distance_noise[0, 1] == pytest.approx((N**2).sum() * 5 / (2 * 3), rel=1e-10)


@pytest.mark.parametrize(
    ("X", "epochs", "words"),
    [
        (np.eye(3), [1], "more rows than columns"),
        (np.ones((4, 2)), [3, 2], "ascending"),
        ([[1.0], [0.0], [1.0]], [1], "no zero row"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(X, epochs, words):
    with pytest.raises(ValueError, match=words):
        signal_and_noise(X, "iid", epochs)
