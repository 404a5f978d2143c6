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
    made = modes.modes(loss, g)
    values, vectors = np.linalg.eigh(matrix(loss, g))
    assert np.sort(made.rates) == pytest.approx(values, rel=1e-12)
    start = rng.standard_normal(size)
    dense = vectors @ (np.exp(-3 * values) * (vectors.T @ start))
    assert np.allclose(
        made.apply(start, np.exp(-3 * made.rates), np.exp(-3 * loss)), dense, rtol=0, atol=1e-12
    )


def test_poles_that_agree_are_one_group_and_others_are_not():
    loss = np.repeat([0.2, 0.5, 0.9], 4)
    g = np.linspace(0.05, 0.2, 12)
    made = modes.modes(loss, g)
    assert len(made.rates) == 3
    values, vectors = np.linalg.eigh(matrix(loss, g))
    dense = vectors @ np.diag(values**2) @ vectors.T
    assert np.allclose(made.apply(np.eye(12), made.rates**2, loss**2), dense, rtol=0, atol=1e-13)
    separate = 0.2 * (1 + 10 * modes.SAME_POLE * np.arange(12))
    assert len(modes.modes(separate, g).rates) == 12
    assert len(modes.modes(0.2 * (1 + 0.1 * modes.SAME_POLE * np.arange(2)), g[:2]).rates) == 1


def test_rates_keep_their_relative_accuracy_over_a_hundred_orders_of_magnitude():
    loss = 10.0 ** -np.arange(0, 100, 2)
    g = 0.3 * loss
    made = modes.modes(loss, g)
    small = np.sort(made.rates)[:20]
    # far below all others a rate is its loss less g² over what the others leave of 1
    left = 1 - (g**2 / loss).sum()
    assert small == pytest.approx(np.sort(loss)[:20] - np.sort(g)[:20] ** 2 / left, rel=1e-13)
