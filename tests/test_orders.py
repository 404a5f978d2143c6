import itertools
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from edgelaw.orders import ORDERS, stream

LEVEL = 1e-3  # of every chi-square test; the seeds are fixed, so a sound stream passes every time


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("rows", [1, 2, 5, 64])
def test_an_epoch_is_as_many_valid_row_indices_as_there_are_rows(order, rows):
    for epoch in itertools.islice(stream(order, rows, 3), 4):
        assert epoch.shape == (rows,)
        assert epoch.dtype.kind == "i"
        assert 0 <= epoch.min() <= epoch.max() < rows


@pytest.mark.parametrize("order", ["random_reshuffle", "single_shuffle", "flip_flop"])
def test_every_epoch_of_a_shuffling_order_is_a_permutation(order):
    for epoch in stream(order, 50, 1).epochs(0, 20):
        assert sorted(epoch) == list(range(50))


def test_single_shuffle_repeats_its_permutation():
    epochs = stream("single_shuffle", 40, 2).epochs(0, 9)
    assert (epochs == epochs[0]).all()
    assert not (epochs[0] == np.arange(40)).all()


def test_the_even_epochs_of_flip_flop_are_the_reverse_of_the_odd_ones():
    epochs = stream("flip_flop", 40, 2).epochs(0, 9)
    assert (epochs[0::2] == epochs[0]).all()
    assert (epochs[1::2] == epochs[0][::-1]).all()
    assert not (epochs[0] == epochs[1]).all()


@pytest.mark.parametrize("order", ["single_shuffle", "flip_flop"])
def test_an_order_that_repeats_says_which_permutation_and_which_direction(order):
    s = stream(order, 30, 5)
    for n, epoch in enumerate(s.epochs(0, 6)):
        assert (epoch == (s.permutation[::-1] if s.backwards(n) else s.permutation)).all()


@pytest.mark.parametrize("order", ["iid", "random_reshuffle"])
def test_an_order_that_draws_anew_has_no_permutation_and_is_never_backwards(order):
    s = stream(order, 30, 5)
    assert s.permutation is None
    assert not any(s.backwards(n) for n in range(4))


def test_the_kept_permutation_cannot_be_changed_by_accident():
    with pytest.raises(ValueError, match="read-only"):
        stream("single_shuffle", 5, 0).permutation[0] = 1


def test_the_epochs_of_random_reshuffle_are_pairwise_different():
    epochs = stream("random_reshuffle", 20, 4).epochs(0, 200)
    assert len({tuple(epoch) for epoch in epochs}) == 200


@pytest.mark.parametrize("order", ["random_reshuffle", "single_shuffle"])
def test_permutations_are_uniform_over_all_of_them(order):
    # All 24 permutations of 4 rows, 2 400 draws: chi-square with 23 degrees of freedom at level 0.001.
    if order == "random_reshuffle":
        drawn = stream(order, 4, 7).epochs(0, 2_400)
    else:
        rng = np.random.default_rng(7)
        drawn = [stream(order, 4, rng).permutation for _ in range(2_400)]
    counts = Counter(map(tuple, drawn))
    assert len(counts) == 24
    assert stats.chisquare(list(counts.values())).pvalue > LEVEL


def test_flip_flop_draws_the_permutation_of_single_shuffle():
    # so that the test of uniformity above holds for both
    for seed in range(5):
        permutations = [stream(order, 20, seed).permutation for order in ("single_shuffle", "flip_flop")]
        assert (permutations[0] == permutations[1]).all()


def test_every_row_of_a_long_reshuffle_is_equally_likely_at_every_place():
    # 50 rows at 50 places: the 50 x 50 table of counts has 49² degrees of freedom.
    epochs = stream("random_reshuffle", 50, 11).epochs(0, 5_000)
    table = np.array([np.bincount(epochs[:, place], minlength=50) for place in range(50)])
    statistic = ((table - 100.0) ** 2 / 100).sum()
    assert stats.chi2.sf(statistic, 49**2) > LEVEL


def test_consecutive_reshuffles_are_independent():
    # The first rows of consecutive epochs: all 36 pairs of 6 rows equally often.
    first = stream("random_reshuffle", 6, 12).epochs(0, 36_001)[:, 0]
    pairs = np.bincount(first[:-1:2] * 6 + first[1::2], minlength=36)
    assert stats.chisquare(pairs).pvalue > LEVEL


def test_iid_is_uniform_with_replacement_and_independent():
    drawn = stream("iid", 10, 8).epochs(0, 10_000)
    assert stats.chisquare(np.bincount(drawn.ravel(), minlength=10)).pvalue > LEVEL
    pairs = np.bincount(drawn.ravel()[0::2] * 10 + drawn.ravel()[1::2], minlength=100)
    assert stats.chisquare(pairs).pvalue > LEVEL


def test_an_iid_epoch_misses_the_fraction_that_the_coupon_collector_says():
    # Mean fraction of rows missed (1 − 1/m)^m; 4 standard errors of 4 000 epochs.
    m = 40
    missed = np.array([m - len(set(epoch)) for epoch in stream("iid", m, 9).epochs(0, 4_000)]) / m
    error = missed.std(ddof=1) / np.sqrt(missed.size)
    assert error < 0.002
    assert abs(missed.mean() - (1 - 1 / m) ** m) < 4 * error


def test_iid_follows_given_probabilities():
    weights = np.array([1.0, 2.0, 3.0, 4.0])
    drawn = stream("iid", 4, 10, probabilities=weights / 10).epochs(0, 10_000)
    assert stats.chisquare(np.bincount(drawn.ravel()), 40_000 * weights / 10).pvalue > LEVEL


def test_a_row_of_probability_zero_is_never_drawn_and_one_of_probability_one_always():
    # Small enough to do by hand: the cumulative probabilities are 0, 1, 1.
    assert stream("iid", 3, 0, probabilities=[0, 1, 0]).epochs(0, 5).tolist() == [[1, 1, 1]] * 5


def test_one_row_leaves_nothing_to_choose():
    assert all(stream(order, 1, 0).epochs(0, 3).tolist() == [[0], [0], [0]] for order in ORDERS)


@pytest.mark.parametrize("order", ORDERS)
def test_any_epoch_can_be_asked_for_alone_and_in_any_sequence(order):
    s = stream(order, 13, 21)
    together = s.epochs(0, 12)
    assert (s.epoch(7) == together[7]).all()
    assert (s.epochs(3, 5) == together[3:8]).all()
    assert (s.epoch(0) == together[0]).all()
    assert s.epochs(4, 0).shape == (0, 13)
    assert all((a == b).all() for a, b in zip(s, together, strict=False))


@pytest.mark.parametrize("order", ORDERS)
def test_the_seed_decides_the_stream(order):
    assert (stream(order, 30, 5).epochs(0, 3) == stream(order, 30, 5).epochs(0, 3)).all()
    assert (
        stream(order, 30, 5).epochs(0, 3) == stream(order, 30, np.random.default_rng(5)).epochs(0, 3)
    ).all()
    assert (stream(order, 30, 5).epochs(0, 3) != stream(order, 30, 6).epochs(0, 3)).any()


def test_two_streams_from_one_generator_differ():
    rng = np.random.default_rng(0)
    assert (stream("single_shuffle", 30, rng).epoch(0) != stream("single_shuffle", 30, rng).epoch(0)).any()


@pytest.mark.parametrize("order", ["shuffle", "IID", None, ["iid"]])
def test_an_unknown_order_is_refused_with_the_four_listed(order):
    with pytest.raises(ValueError, match="'iid', 'random_reshuffle', 'single_shuffle', 'flip_flop'"):
        stream(order, 5, 0)


@pytest.mark.parametrize("rows", [0, -3, 2.0, True])
def test_a_number_of_rows_that_is_none_is_refused(rows):
    with pytest.raises(ValueError, match="rows must be an integer of at least 1"):
        stream("iid", rows, 0)


@pytest.mark.parametrize(
    ("order", "probabilities", "message"),
    [
        ("single_shuffle", [0.5, 0.5], "apply to the order 'iid' only"),
        ("iid", [0.5, 0.25, 0.25], "one entry for each of the 2 rows"),
        ("iid", [0.5, 0.4], "sum to 1"),
        ("iid", [1.5, -0.5], "non-negative"),
        ("iid", [0.5, np.nan], "finite"),
    ],
)
def test_probabilities_that_are_none_are_refused(order, probabilities, message):
    with pytest.raises(ValueError, match=message):
        stream(order, 2, 0, probabilities)


def test_epochs_are_counted_from_zero():
    with pytest.raises(ValueError, match="start must be an integer of at least 0"):
        stream("iid", 3, 0).epoch(-1)
