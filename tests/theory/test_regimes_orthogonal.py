"""Repeated orthogonal rows with noise: closed forms against all permutations, and small steps against expansions."""

import itertools

import numpy as np
import pytest

from edgelaw.theory.regimes import orthogonal


def _ends(targets, visits, step, start):
    """The error after an epoch per list of visits, one after the other."""
    e = start
    for order in visits:
        for i in order:
            e += step * (targets[i] - e)
    return e


def _by_hand(order, n, step, start):
    """Mean square of the error of four rows with targets ±1, over all permutations and both signs of the start."""
    targets, squares = np.array([1.0, 1.0, -1.0, -1.0]), []
    single = list(itertools.permutations(range(4)))
    streams = {
        "single_shuffle": [n * [p] for p in single],
        "flip_flop": [[p if k % 2 == 0 else p[::-1] for k in range(n)] for p in single],
        "random_reshuffle": [list(ps) for ps in itertools.product(single, repeat=n)],
        "sorted": [n * [(0, 1, 2, 3)]],
    }[order]
    for visits in streams:
        squares += [_ends(targets, visits, step, sign * start) ** 2 for sign in (1, -1)]
    return np.mean(squares)


@pytest.mark.parametrize("order", orthogonal.ALL_ORDERS[1:])
@pytest.mark.parametrize("step", [0.1, 0.7, 1.3])
def test_four_rows_agree_with_all_their_permutations(order, step):
    exact = orthogonal.curve([4], 2, step, order, start=0.36)[0]
    assert exact == pytest.approx(_by_hand(order, 2, step, 0.6), rel=1e-12)


def test_iid_agrees_with_its_recursion_on_two_axes():
    square, share = np.array([2.0, 2.0]), np.array([0.75, 0.25])
    for _ in range(3 * 8):
        square = (1 - share) * square + share * (0.25 * square + 0.25 * 3.0)
    assert orthogonal.curve([6, 2], 3, 0.5, "iid", start=2.0, noise=3.0) == pytest.approx(square, rel=1e-12)


@pytest.mark.parametrize("order", orthogonal.ALL_ORDERS)
def test_a_curve_ends_at_its_floor(order):
    assert orthogonal.curve([10], 4000, 0.03, order)[0] == pytest.approx(
        orthogonal.floor(10, 0.03, order), rel=1e-9
    )


LEADING = {  # of the floor at a small step η and m rows
    "iid": lambda eta, m: eta / 2,
    "random_reshuffle": lambda eta, m: eta**3 * m * (m + 1) / 24,
    "single_shuffle": lambda eta, m: eta**2 * (m + 1) / 12,
    "flip_flop": lambda eta, m: eta**4 * m**3 / 45,
    "sorted": lambda eta, m: eta**2 * m**2 / 16,
}


@pytest.mark.parametrize("order", orthogonal.ALL_ORDERS)
def test_small_steps_have_the_stated_power_and_constant(order):
    assert orthogonal.floor(400, 1e-6, order) == pytest.approx(LEADING[order](1e-6, 400), rel=0.005)
    assert orthogonal.floor(400, 2e-6, order) == pytest.approx(LEADING[order](2e-6, 400), rel=0.005)


def test_constant_steps_are_a_schedule():
    for order in ("iid", "random_reshuffle", "single_shuffle"):
        exact = orthogonal.curve([6], 5, 0.2, order, start=0.0)[0]
        assert orthogonal.scheduled(6, [0.2] * 5, order) == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("order", ["iid", "random_reshuffle", "single_shuffle"])
def test_the_mean_of_the_last_ends_is_that_of_all_sequences_of_draws(order):
    targets, steps = (1.0, -1.0), (0.6, 0.3, 0.2)
    epochs = list(itertools.product(targets, repeat=2) if order == "iid" else itertools.permutations(targets))
    runs = [[e] * 3 for e in epochs] if order == "single_shuffle" else itertools.product(epochs, repeat=3)
    squares = []
    for run in runs:
        w, ends = 0.0, []
        for step, epoch in zip(steps, run, strict=True):
            for target in epoch:
                w += step * (target - w)
            ends.append(w)
        squares.append(np.mean(ends[-2:]) ** 2)
    assert orthogonal.scheduled(2, steps, order, last=2) == pytest.approx(np.mean(squares), rel=1e-12)


def test_the_best_step_is_not_improved_by_its_neighbours():
    step, loss = orthogonal.best_step([50], 20, "single_shuffle")
    for factor in (0.9, 0.99, 1.01, 1.1):
        assert orthogonal.curve([50], 20, factor * step, "single_shuffle")[0] > loss * (1 - 1e-9)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: orthogonal.curve([3], 1), "even and at least 2"),
        (lambda: orthogonal.curve([4], 3, order="flip_flop"), "must be even"),
        (lambda: orthogonal.curve([4], 1, order="best"), "order must be"),
        (lambda: orthogonal.floor(5), "must be even"),
        (lambda: orthogonal.floor(4, 2.5), "step"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(call, words):
    with pytest.raises(ValueError, match=words):
        call()
