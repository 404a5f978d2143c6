"""Shuffle buffers and block shuffles: their definitions, drawn by hand, enumerated, and compared with the streams."""

import dataclasses
import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from edgelaw.kaczmarz import Problem, iterates, simulate
from edgelaw.orders import BlockShuffle, ShuffleBuffer, concordance, stream

LEVEL = 1e-3  # of every chi-square test; the seeds are fixed, so a sound stream passes every time
LOADERS = [
    ShuffleBuffer(1),
    ShuffleBuffer(5),
    ShuffleBuffer(5, shard=4),
    ShuffleBuffer(5, reshuffle=False),
    ShuffleBuffer(1000),
    BlockShuffle(1),
    BlockShuffle(4),
    BlockShuffle(1, shard=4),
    BlockShuffle(8, shard=3),
    BlockShuffle(4, shard=4, reshuffle=False),
    BlockShuffle(1000),
]


def buffered(uniforms, size):
    """A shuffle buffer as tf.data describes it: a list, a draw, a refill. What is left at the end is ranked."""
    rows = len(uniforms)
    file = iter(range(rows))
    buffer = [next(file) for _ in range(min(size, rows))]
    emitted = []
    for uniform in uniforms[: rows - len(buffer)]:
        slot = int(uniform * len(buffer))
        emitted.append(buffer[slot])
        buffer[slot] = next(file)
    left = np.sort(buffer)[np.argsort(uniforms[len(emitted) :])]
    return emitted + left.tolist()


def enumerated(rows, size):
    """The probability of every order that a shuffle buffer can make, by following all its draws."""
    chances = Counter()

    def follow(buffer, following, emitted, probability):
        if not buffer:
            chances[emitted] += probability
        for row in buffer:
            kept = tuple(other for other in buffer if other != row)
            refill = (following,) if following < rows else ()
            follow(kept + refill, following + 1, (*emitted, row), probability / len(buffer))

    size = min(size, rows)
    follow(tuple(range(size)), size, (), Fraction(1))
    return chances


# every order of a loader ------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", LOADERS, ids=repr)
@pytest.mark.parametrize("rows", [1, 2, 13])
def test_every_epoch_visits_every_row_once(order, rows):
    for epoch in stream(order, rows, 3).epochs(0, 20):
        assert sorted(epoch.tolist()) == list(range(rows))


@pytest.mark.parametrize("order", LOADERS, ids=repr)
def test_any_epoch_can_be_asked_for_alone_and_the_seed_decides(order):
    drawn = stream(order, 13, 21)
    together = drawn.epochs(0, 9)
    assert (drawn.epoch(7) == together[7]).all()
    assert (drawn.epochs(3, 5) == together[3:8]).all()
    assert drawn.epochs(4, 0).shape == (0, 13)
    assert (stream(order, 13, 21).epochs(0, 9) == together).all()


@pytest.mark.parametrize("order", [ShuffleBuffer(5), ShuffleBuffer(1, shard=4), BlockShuffle(4)], ids=repr)
def test_epochs_are_drawn_anew_unless_the_first_is_to_be_repeated(order):
    drawn = stream(order, 40, 2)
    assert drawn.permutation is None
    assert len({tuple(epoch) for epoch in drawn.epochs(0, 20)}) == 20
    kept = stream(dataclasses.replace(order, reshuffle=False), 40, 2)
    assert (kept.epochs(0, 20) == drawn.epoch(0)).all()
    assert (kept.permutation == drawn.epoch(0)).all()


def test_the_name_of_a_stream_says_the_parameters():
    order = ShuffleBuffer(np.int64(64), shard=np.int32(8))
    assert stream(order, 10, 0).order == "ShuffleBuffer(buffer=64, shard=8, reshuffle=True, together=1)"
    assert order == ShuffleBuffer(64, 8)


# the shuffle buffer -----------------------------------------------------------------------------------------


def test_three_rows_in_a_buffer_of_two_by_hand():
    # Row 2 enters after the first draw, so it cannot come first; every draw is a fair coin until one row is left.
    quarter = Fraction(1, 4)
    by_hand = {(0, 1, 2): quarter, (0, 2, 1): quarter, (1, 0, 2): quarter, (1, 2, 0): quarter}
    assert enumerated(3, 2) == by_hand


@pytest.mark.parametrize(("rows", "size"), [(3, 2), (4, 2), (4, 3), (5, 2), (5, 4)])
def test_orders_come_as_often_as_the_enumeration_of_all_draws_says(rows, size):
    expected = enumerated(rows, size)
    assert sum(expected.values()) == 1
    draws = 200 * max(value.denominator for value in expected.values())
    counts = Counter(map(tuple, stream(ShuffleBuffer(size), rows, 7).epochs(0, draws).tolist()))
    assert set(counts) == set(expected)
    pairs = [(counts[order], float(draws * value)) for order, value in expected.items()]
    assert stats.chisquare(*zip(*pairs, strict=True)).pvalue > LEVEL


def test_the_enumeration_of_a_full_buffer_is_uniform():
    assert set(enumerated(4, 4).values()) == {Fraction(1, 24)}
    assert len(enumerated(4, 4)) == 24


@pytest.mark.parametrize("size", [1, 2, 7, 29, 30, 99])
def test_the_stream_is_the_list_with_draws_and_refills(size):
    uniforms = np.random.default_rng(0).random((50, 30))
    expected = [buffered(row, size) for row in uniforms]
    assert ShuffleBuffer(size).arrange(uniforms, 30).tolist() == expected


@pytest.mark.parametrize(
    "order", [ShuffleBuffer(1), ShuffleBuffer(1, reshuffle=False), BlockShuffle(1)], ids=repr
)
def test_a_buffer_or_a_block_of_one_row_keeps_the_files_order(order):
    assert (stream(order, 20, 1).epochs(0, 3) == np.arange(20)).all()


@pytest.mark.parametrize("order", [ShuffleBuffer(20), ShuffleBuffer(50), BlockShuffle(20)], ids=repr)
def test_a_buffer_or_a_block_of_all_rows_is_random_reshuffle(order):
    expected = stream("random_reshuffle", 20, 1).epochs(0, 5)
    assert (stream(order, 20, 1).epochs(0, 5) == expected).all()


def test_a_row_waits_a_geometric_number_of_draws():
    # Row 100 enters a buffer of 10 after draw 90 and leaves at each of the next draws with probability 1/10.
    size, row, epochs = 10, 100, 20_000
    places = (stream(ShuffleBuffer(size), 400, 5).epochs(0, epochs) == row).argmax(axis=1)
    waits = places - (row - size)
    assert waits.min() == 1
    error = waits.std(ddof=1) / np.sqrt(epochs)
    assert error < 0.075
    assert abs(waits.mean() - size) < 3 * error
    counts = np.bincount(np.minimum(waits, 31))[1:]
    expected = epochs * (1 - 1 / size) ** np.arange(31) * np.r_[np.full(30, 1 / size), 1]
    assert stats.chisquare(counts, expected).pvalue > LEVEL


# blocks and shards ------------------------------------------------------------------------------------------


def test_rows_stay_in_their_block_and_are_uniform_in_it():
    epochs = stream(BlockShuffle(3), 6, 4).epochs(0, 7_200)
    assert (np.sort(epochs[:, :3]) == [0, 1, 2]).all()
    counts = Counter(map(tuple, epochs.tolist()))
    assert len(counts) == 36  # 3! in either block, independently
    assert stats.chisquare(list(counts.values())).pvalue > LEVEL


def test_shards_come_in_every_order_and_keep_their_rows_in_the_files():
    # Shards 012, 345 and 6, the last one shorter, in 3! orders.
    file = ((0, 1, 2), (3, 4, 5), (6,))
    counts = Counter(map(tuple, stream(BlockShuffle(1, shard=3), 7, 4).epochs(0, 1_200).tolist()))
    orders = [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
    assert set(counts) == {sum((file[k] for k in order), ()) for order in orders}
    assert stats.chisquare(list(counts.values())).pvalue > LEVEL


def test_a_buffer_after_shards_is_the_buffer_of_the_shuffled_file():
    # Two shards of two rows and a buffer of two: the enumeration over both orders of the shards.
    expected = Counter()
    for file in ((0, 1, 2, 3), (2, 3, 0, 1)):
        for places, probability in enumerated(4, 2).items():
            expected[tuple(file[place] for place in places)] += probability / 2
    counts = Counter(map(tuple, stream(ShuffleBuffer(2, shard=2), 4, 8).epochs(0, 3_200).tolist()))
    assert set(counts) == set(expected)
    pairs = [(counts[order], float(3_200 * value)) for order, value in expected.items()]
    assert stats.chisquare(*zip(*pairs, strict=True)).pvalue > LEVEL


def test_blocks_are_counted_after_the_shards_were_shuffled():
    # py1b: four shards of two rows, blocks of four: every block holds two whole shards, in any order.
    epochs = stream(BlockShuffle(4, shard=2), 8, 2).epochs(0, 500)
    halves = {frozenset((epoch[:4] // 2).tolist()) for epoch in epochs}
    assert len(halves) == 6
    assert all(len(half) == 2 for half in halves)
    assert len({tuple(epoch[:4]) for epoch in epochs if set(epoch[:4]) == {0, 1, 2, 3}}) > 8


# how alike two epochs are -----------------------------------------------------------------------------------


def agreement(chances, rows):
    """Kendall's τ of two independent draws from a distribution over orders, exactly."""
    pairs = list(itertools.combinations(range(rows), 2))
    leads = [
        sum(p if order.index(i) < order.index(j) else -p for order, p in chances.items()) for i, j in pairs
    ]
    return float(sum(lead**2 for lead in leads) / len(pairs))


@pytest.mark.parametrize(("rows", "size"), [(2, 1), (3, 2), (4, 2), (5, 2), (5, 3), (6, 4), (5, 5)])
def test_the_concordance_of_a_buffer_is_that_of_all_its_draws(rows, size):
    assert concordance(ShuffleBuffer(size), rows) == pytest.approx(
        agreement(enumerated(rows, size), rows), abs=1e-14
    )


def test_three_rows_in_a_buffer_of_two_agree_by_hand():
    # Rows 0 and 1 are a coin; either of them leads row 2 by 3/4 to 1/4: (0 + 1/4 + 1/4) / 3.
    assert concordance(ShuffleBuffer(2), 3) == pytest.approx(1 / 6, abs=1e-15)


@pytest.mark.parametrize("share", [1 / 64, 1 / 16, 1 / 4])
def test_the_concordance_of_a_long_file_is_the_limit(share):
    rows = 2**16
    limit = 1 - 3 * share + 2.5 * share**2
    assert concordance(ShuffleBuffer(int(share * rows)), rows) == pytest.approx(limit, abs=3e-3 * share)


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("single_shuffle", 1),
        ("random_reshuffle", 0),
        (ShuffleBuffer(1), 1),
        (ShuffleBuffer(99), 0),
        (ShuffleBuffer(3, shard=2, reshuffle=False), 1),
        (BlockShuffle(1), 1),
        (BlockShuffle(3), 1 - 7 / 28),  # blocks of 3, 3 and 2 of 8 rows: 3 + 3 + 1 pairs of 28
        (BlockShuffle(1, shard=3), 7 / 28),
        (BlockShuffle(4, shard=2), 0),
        (BlockShuffle(99), 0),
    ],
    ids=repr,
)
def test_the_concordance_of_other_orders_by_hand_and_drawn(order, expected):
    assert concordance(order, 8) == pytest.approx(expected, abs=1e-14)
    places = stream(order, 8, 1).epochs(0, 16_000).argsort(axis=1)
    first, second = places[::2], places[1::2]
    agreed = np.sign(first[:, :, None] - first[:, None]) * np.sign(second[:, :, None] - second[:, None])
    drawn = agreed.sum(axis=(1, 2)) / (8 * 7)
    error = drawn.std(ddof=1) / np.sqrt(len(drawn))
    assert error < 0.007
    assert abs(drawn.mean() - expected) <= 3 * error


def test_one_row_agrees_with_itself():
    assert concordance(ShuffleBuffer(1), 1) == 1


@pytest.mark.parametrize(
    "order", ["iid", "flip_flop", ShuffleBuffer(4, shard=2), BlockShuffle(3, shard=2)], ids=repr
)
def test_a_concordance_that_is_not_known_is_refused(order):
    with pytest.raises(ValueError, match="concordance is known for single shuffle, random reshuffle"):
        concordance(order, 8)


# in the simulator -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "order", [ShuffleBuffer(6), ShuffleBuffer(6, reshuffle=False), BlockShuffle(4, 2)], ids=repr
)
def test_the_simulator_updates_by_the_rows_of_the_stream(order):
    rng = np.random.default_rng(3)
    X, y, w = rng.standard_normal((20, 8)), rng.standard_normal(20), np.zeros(8)
    for row in stream(order, 20, 5).epochs(0, 3).ravel():
        w -= 0.7 * (X[row] @ w - y[row]) * X[row] / (X[row] @ X[row])
    *_, (_, last) = iterates(Problem(X, y), order, 3, np.zeros(8), 0.7, rng=5)
    assert np.abs(last - w).max() < 1e-12
    assert np.abs(w).max() > 0.1


def test_a_full_buffer_has_the_curve_of_random_reshuffle_and_a_small_one_has_not():
    X = np.random.default_rng(0).standard_normal((24, 24))
    expected = simulate(X, "random_reshuffle", 5, runs=2, rng=4)
    full, small = (simulate(X, ShuffleBuffer(size), 5, runs=2, rng=4) for size in (24, 2))
    assert (full.test == expected.test).all()
    assert abs(small.test[-1] / expected.test[-1] - 1) > 1e-3


# bad input --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, -1, 2.0, True, "4"])
def test_sizes_that_are_none_are_refused(size):
    with pytest.raises(ValueError, match="buffer must be an integer of at least 1"):
        ShuffleBuffer(size)
    with pytest.raises(ValueError, match="block must be an integer of at least 1"):
        BlockShuffle(size)
    with pytest.raises(ValueError, match="shard must be an integer of at least 1"):
        BlockShuffle(4, shard=size)


def test_probabilities_are_refused():
    with pytest.raises(ValueError, match="apply to the order 'iid' only"):
        stream(ShuffleBuffer(2), 2, 0, [0.5, 0.5])


def test_shards_read_together_take_turns():
    file = stream(ShuffleBuffer(1, shard=3, together=2), 12, rng=4).epoch(0)
    for group in file.reshape(2, 6):
        first, second = group[::2], group[1::2]
        assert (np.diff(first) == 1).all()
        assert (np.diff(second) == 1).all()
        assert first[0] % 3 == second[0] % 3 == 0
    assert sorted(file) == list(range(12))


def test_a_short_last_shard_ends_before_the_others_of_its_group():
    file = stream(ShuffleBuffer(1, shard=4, together=3), 10, rng=0).epoch(0)
    assert sorted(file) == list(range(10))
    where = np.argsort(file)
    for first, end in ((0, 4), (4, 8), (8, 10)):
        assert (np.diff(where[first:end]) > 0).all()  # each shard from its beginning
    assert max(where[8:]) < max(where[:8])


def test_more_shards_at_once_mix_neighbours_further_apart():
    apart = []
    for together in (1, 4):
        order = ShuffleBuffer(8, shard=64, together=together)
        places = stream(order, 512, rng=0).epochs(0, 32).argsort(axis=1)
        apart.append(np.abs(np.diff(places, axis=1)).mean(axis=1))
    gap = apart[1].mean() - apart[0].mean()
    assert gap > 3 * np.hypot(*(values.std(ddof=1) / np.sqrt(32) for values in apart))


def test_shards_at_once_need_shards():
    with pytest.raises(ValueError, match="give shard"):
        ShuffleBuffer(8, together=2)
