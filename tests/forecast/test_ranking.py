"""Which order is ahead, tied or undecided: one rule, by hand examples."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgelaw_app.forecast import ranking
from edgelaw_app.forecast.ranking import Margin, in_words, ranked


def test_a_margin_beyond_two_standard_errors_is_ahead_and_its_error_is_that_of_a_ratio():
    found = ranked({"iid": (0.2, 0.01), "flip_flop": (0.23, 0.01)})
    assert (found.order, found.verdict, found.rival, found.open) == ("iid", "ahead", "flip_flop", ())
    margin = found.margins["flip_flop"]
    assert (margin.size, margin.error) == pytest.approx((0.15, 1.15 * 0.01 * np.sqrt(2)))
    assert str(margin) == "15 ± 2 % more"


def test_a_tie_is_for_the_order_that_is_simplest_to_run():
    found = ranked({"iid": (0.2, 0.05), "random_reshuffle": (0.21, 0.05), "flip_flop": (0.22, 0.05)})
    assert (found.order, found.verdict) == ("random_reshuffle", "tied")
    assert found.open == ("flip_flop", "iid")
    assert found.margins["iid"].size == pytest.approx(0.2 / 0.21 - 1)


@pytest.mark.parametrize("error", [0.3, 0.5, 3.0])
@pytest.mark.parametrize("excess", [0.0, 0.001, 0.1])
def test_beyond_twenty_per_cent_nothing_is_tied_and_the_lowest_is_taken(error, excess):
    """Whichever of the two is known so badly, and however near they happen to be."""
    for one, other in ((0.01, error), (error, 0.01)):
        found = ranked({"iid": (1.0, one), "random_reshuffle": (1.0 + excess, other)})
        assert found.verdict == "undecided"
        assert found.order == "iid" or excess == 0
        assert "undecided (the margin is known to ±" in in_words(found, {})


def test_a_difference_of_half_a_per_cent_is_a_tie_however_certain_it_is():
    errors = 1e-5
    found = ranked(
        {"iid": (0.70781, errors), "random_reshuffle": (0.70764, errors), "flip_flop": (0.7115, errors)}
    )
    assert (found.order, found.open, found.rival) == ("random_reshuffle", ("iid",), "flip_flop")


def test_an_error_as_large_as_a_loss_does_not_tie_it_with_a_millionth_of_it():
    """By the logarithm of the ratio: two standard errors below such a loss there is not zero."""
    found = ranked({"iid": (1e-9, 0.01), "random_reshuffle": (1e-3, 3.0)})
    assert (found.order, found.verdict) == ("iid", "ahead")
    assert str(found.margins["random_reshuffle"]).startswith("1,000,000 times as much")


def test_losses_below_the_floor_are_tied_whatever_their_runs_say():
    found = ranked({"iid": (8e-33, 0.9), "random_reshuffle": (5e-31, 2.0), "flip_flop": (1e-3, 0.01)})
    assert (found.order, found.verdict, found.open) == ("random_reshuffle", "tied", ("iid",))


def test_orders_that_share_their_runs_are_tied_however_little_those_say():
    """Until a row comes again all shuffled orders are one, and are run once."""
    found = ranked({"random_reshuffle": (0.1, 0.4), "single_shuffle": (0.1, 0.4), "iid": (0.9, 0.1)})
    assert (found.order, found.verdict, found.open) == ("random_reshuffle", "tied", ("single_shuffle",))


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_an_order_that_diverges_is_last_and_said_to_diverge(value):
    losses = {"random_reshuffle": (value, 0.0), "iid": (0.5, 0.01)}
    found = ranked(losses)
    assert (found.order, found.verdict) == ("iid", "ahead")
    assert in_words(found, losses) == "random reshuffle diverges."
    assert ranked({"iid": (value, 0.0)}).verdict == "alone"


def test_a_tied_order_is_not_taken_before_one_that_is_certainly_below_it():
    found = ranked({"iid": (1.0, 0.1), "random_reshuffle": (1.1, 0.001), "flip_flop": (1.05, 0.001)})
    assert found.order == "flip_flop"
    assert not found.margins["random_reshuffle"].open


def test_words_say_of_every_other_order_how_it_stands_to_the_one_to_take():
    losses = {
        "iid": (0.4, 0.01),
        "random_reshuffle": (0.2, 0.01),
        "single_shuffle": (0.201, 0.01),
        "flip_flop": (0.19, 0.4),
    }
    found = ranked({name: losses[name] for name in ("iid", "random_reshuffle", "single_shuffle")})
    assert in_words(found, losses) == (
        "single shuffle is tied with it; sampling with replacement leaves 2 times as much (± 1 %)."
    )
    unsure = ranked(losses)
    assert (unsure.order, unsure.verdict) == ("flip_flop", "undecided")
    assert in_words(unsure, losses).startswith("against random reshuffle, single shuffle and ")
    assert in_words(ranked({"iid": (1.0, 0.1)}), losses) == ""


@given(
    st.dictionaries(
        st.sampled_from(ranking.PREFERRED),
        st.tuples(st.floats(1e-14, 10), st.floats(0, 2)),
        min_size=1,
    )
)
def test_whatever_the_losses_the_order_to_take_is_not_behind_any_other(losses):
    found = ranked(losses)
    value, error = losses[found.order]
    for name, (other, its_error) in losses.items():
        over = Margin(
            max(value, 1e-12) / max(other, 1e-12) - 1, value / other * float(np.hypot(error, its_error))
        )
        assert over.size <= 0 or over.open or max(value, other) <= 1e-12
        assert found.margins[name].size <= 1e-9 or found.margins[name].error >= 0
    assert (found.verdict == "alone") == (len(losses) == 1)
    assert (found.rival == "") == (len(losses) == 1)
    if found.verdict == "tied":
        assert all(found.margins[name].error <= ranking.UNDECIDED for name in found.open)
