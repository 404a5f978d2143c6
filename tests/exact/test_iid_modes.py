"""A diagonal matrix minus a rank-one one: its spectrum against dense matrices, and where poles agree or nearly do."""

import numpy as np
import pytest

from edgelaw.exact.iid import modes


def matrix(loss, g):
    return np.diag(loss) - np.outer(g, g)


@pytest.mark.parametrize("size", [1, 2, 30, 400])
def test_functions_of_the_matrix_are_those_of_the_dense_one(size):
    rng = np.random.default_rng(size)
    loss, g = rng.uniform(0.1, 1.0, size), rng.uniform(0.2, 1.0, size) / size**0.5 / 4
    rates, vectors = modes.modes(loss, g)
    values, others = np.linalg.eigh(matrix(loss, g))
    assert np.sort(rates) == pytest.approx(values, rel=1e-12)
    start = rng.standard_normal(size)
    made, dense = (v @ (np.exp(-3 * x) * (v.T @ start)) for x, v in ((rates, vectors), (values, others)))
    assert np.allclose(made, dense, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "loss",
    [
        np.repeat([0.2, 0.5, 0.9], 4),
        0.2 * (1 + 1e-12 * np.arange(12)),
        np.full(12, 0.2),
        np.repeat(0.3, 600),
        np.repeat([-0.3, -0.1, 0.2], 4),
    ],
    ids=["groups", "nearly equal", "equal", "many", "negative"],
)
def test_poles_that_agree_are_told_apart_in_their_last_digits(loss):
    g = np.linspace(0.05, 0.2, len(loss)) * (12 / len(loss)) ** 0.5
    rates, vectors = modes.modes(loss, g)
    assert np.allclose(vectors.T @ vectors, np.eye(len(loss)), rtol=0, atol=1e-13)
    values, others = np.linalg.eigh(matrix(loss, g))
    dense = others @ np.diag(values**2) @ others.T
    assert np.allclose((vectors * rates**2) @ vectors.T, dense, rtol=0, atol=1e-13)


def test_rates_keep_their_relative_accuracy_over_a_hundred_orders_of_magnitude():
    loss = 10.0 ** -np.arange(0, 100, 2)
    g = 0.3 * loss
    small = np.sort(modes.modes(loss, g)[0])[:20]
    # far below all others a rate is its loss less g² over what the others leave of 1
    left = 1 - (g**2 / loss).sum()
    assert small == pytest.approx(np.sort(loss)[:20] - np.sort(g)[:20] ** 2 / left, rel=1e-13)
