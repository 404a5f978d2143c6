"""Means of products near the identity: definitions, leading orders, published bounds where they apply."""

import itertools

import numpy as np
import pytest

from edgelaw.theory.regimes import products, published


def _random(rng, m, d):
    Q = np.linalg.qr(rng.standard_normal((m, d, d)))[0]
    return (Q * rng.random((m, 1, d))) @ Q.swapaxes(1, 2)


def test_the_means_are_those_of_their_definitions():
    B = _random(np.random.default_rng(0), 3, 2)
    epochs = [
        (np.eye(2) - 0.4 * B[k]) @ (np.eye(2) - 0.4 * B[j]) @ (np.eye(2) - 0.4 * B[i])
        for i, j, k in itertools.permutations(range(3))
    ]
    means = products.mean_products(B, 0.4, 2)
    assert means.single_shuffle == pytest.approx(np.mean([P @ P for P in epochs], axis=0))
    assert means.random_reshuffle == pytest.approx(np.mean(epochs, axis=0) @ np.mean(epochs, axis=0))
    assert means.gradient_descent == pytest.approx(
        np.linalg.matrix_power(np.eye(2) - 0.4 * B.mean(axis=0), 6)
    )


@pytest.mark.parametrize(("m", "d"), [(2, 2), (3, 3), (4, 2)])
def test_differences_have_the_stated_leading_terms(m, d):
    B, n, errors = _random(np.random.default_rng(m), m, d), 3, []
    for step in (0.02, 0.01):
        once, fresh, descent = products.mean_products(B, step, n)
        errors.append(
            (
                np.abs((descent - fresh) / (n * step**2) - products.replacement_gap(B)).max(),
                np.abs((fresh - once) / (3 * step**4) - products.shuffle_gap(B)).max(),
            )
        )
    assert np.array(errors[0]) / errors[1] == pytest.approx([2, 2], rel=0.1)  # what is left is of first order


def test_both_leading_terms_are_positive_semidefinite():
    rng = np.random.default_rng(5)
    for m, d in ((2, 3), (4, 3), (5, 2)):
        B = _random(rng, m, d)
        for gap in (products.replacement_gap(B), products.shuffle_gap(B)):
            assert np.linalg.eigvalsh(gap).min() > -1e-14


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: products.mean_products(np.zeros((7, 2, 2)), 0.1, 1), "between 2 and 6"),
        (lambda: products.shuffle_gap([[[0.0, 1.0], [0.0, 0.0]]] * 2), "symmetric"),
        (lambda: published.needell_srebro_ward(1, 1.0, 1.5), "below 1"),
        (lambda: published.needell_srebro_ward(1, 1.5, 0.5), "at most 1"),
        (lambda: published.rate("nobody", 1, 10), "result must be"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_before_the_condition_number_the_rate_is_that_of_drawing_with_replacement():
    for order in ("single shuffle", "random reshuffle"):
        late = published.rate(f"Safran–Shamir 2021, {order}", [10, 10_000], 100, 50.0)
        drawn = published.rate("with replacement", [10, 10_000], 100)
        assert late[0] == drawn[0]
        assert late[1] < 0.01 * drawn[1]
