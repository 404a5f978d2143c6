"""The one policy of accuracy: which attempt is taken, which error is stated, what is continued, what is refused."""

import numpy as np
import pytest

from edgelaw.exact.agreement import Attempt, settled, supporting_epochs

N = np.arange(41)
HALVES = 0.5 ** np.arange(1.0, 41.0)  # a loss of 1e-12 after 40 epochs


def attempt(difference=0.0, losses=HALVES, plateau=0.0, floor=1e-12):
    """An attempt whose two resolutions differ by so much, one number or one per epoch."""
    fine = np.stack([plateau + losses, losses])
    coarse = np.stack([plateau + losses, losses * (1 + difference)])
    return lambda n: Attempt(fine[:, n - 1], coarse[:, n - 1], plateau, floor)


def failing(words):
    """An attempt that fails."""

    def fail(n):
        raise ArithmeticError(words)

    return fail


def test_the_epochs_to_compute_are_all_of_the_first_and_each_later_one_with_its_predecessor():
    assert supporting_epochs(np.array([0, 2, 5])).tolist() == [1, 2, 3, 4, 5]
    late = supporting_epochs(np.array([0, 300, 900]))
    assert late.tolist() == [*range(1, 257), 299, 300, 899, 900]


def test_no_epoch_needs_no_attempt():
    curve = settled(np.array([0]), [])
    assert (curve.test.tolist(), curve.error) == ([1.0], 0.0)


def test_three_times_the_difference_of_two_resolutions_is_stated():
    curve = settled(N, [attempt(1e-6)])
    assert curve.error == pytest.approx(3e-6, rel=1e-6)
    assert curve.test[1:] == pytest.approx(HALVES)
    assert curve.continued is None


def test_no_less_than_its_floor_is_stated():
    assert settled(N, [attempt(0.0, floor=2e-9)]).error == 2e-9


@pytest.mark.parametrize(("difference", "tried"), [(2.9e-6, 1), (3.1e-6, 2)])
def test_another_attempt_is_made_where_two_resolutions_differ_by_more_than_three_millionths(
    difference, tried
):
    """ENOUGH."""
    made = []
    attempts = [lambda n: made.append(1) or attempt(difference)(n), lambda n: made.append(2) or attempt()(n)]
    settled(N, attempts)
    assert len(made) == tried


@pytest.mark.parametrize(("loss", "tried"), [(0.9e-13, 1), (1.1e-13, 2)])
def test_losses_below_1e_13_need_not_agree(loss, tried):
    """VISIBLE."""
    made = []
    losses = np.append(HALVES[:39], loss)
    difference = np.append(np.zeros(39), 1e-3)
    attempts = [
        lambda n: made.append(1) or attempt(difference, losses)(n),
        lambda n: made.append(2) or attempt()(n),
    ]
    settled(N, attempts)
    assert len(made) == tried


def test_an_attempt_that_knows_nothing_is_not_taken():
    empty = attempt(0.0, np.full(40, np.nan))
    assert settled(N, [attempt(1e-3), empty]).error == pytest.approx(3e-3, rel=1e-3)


def test_the_attempt_that_agrees_for_longest_is_taken_and_then_the_more_accurate():
    early = np.where(np.arange(40) < 3, 0.0, 0.5)
    shorter, longer, better = attempt(early), attempt(1e-3), attempt(1e-4)
    assert settled(N, [shorter, longer, better]).error == pytest.approx(3e-4, rel=1e-3)
    assert settled(N, [better, longer, shorter]).error == pytest.approx(3e-4, rel=1e-3)


def test_a_failed_attempt_is_passed_over_and_if_all_fail_the_first_one_says_why():
    assert settled(N, [failing("no room"), attempt()]).error == 1e-12
    with pytest.raises(ArithmeticError, match="no room"):
        settled(N, [failing("no room"), failing("nor here")])
    with pytest.raises(ArithmeticError, match="No contour"):
        settled(N, [])


@pytest.mark.parametrize("difference", [0.0199, 0.0201])
def test_a_curve_is_refused_where_two_resolutions_differ_by_more_than_two_percent(difference):
    """LARGEST_ERROR."""
    if difference < 0.02:
        assert settled(N, [attempt(difference)]).error == pytest.approx(3 * difference)
    else:
        with pytest.raises(ArithmeticError, match="Two resolutions differ by a relative 2e-02 at epoch 1,"):
            settled(N, [attempt(difference)])


def test_a_curve_below_its_plateau_is_refused():
    with pytest.raises(ArithmeticError, match="does not come out above its plateau"):
        settled(N, [attempt(losses=HALVES - 1e-3, plateau=0.5)])


@pytest.mark.parametrize("agreed", [22, 25])
def test_losses_go_on_by_their_last_rate_once_they_are_below_1e_7(agreed):
    """_UNSURE: half to the power of 22 is 2.4e-7, half to the power of 25 is 3e-8."""
    difference = np.where(np.arange(1, 41) <= agreed, 1e-9, 1.0)
    if agreed == 22:
        with pytest.raises(ArithmeticError, match="at epoch 23"):
            settled(N, [attempt(difference)])
    else:
        curve = settled(N, [attempt(difference)])
        assert curve.continued == 25
        assert curve.train[1:] == pytest.approx(HALVES)
        assert curve.error < 1e-8


@pytest.mark.parametrize("gap", [0.0, 0.05])
def test_losses_go_on_by_a_power_law_at_an_edge_and_faster_at_a_gap(gap):
    n = np.arange(1.0, 41)
    losses = 1e-8 * (1 + n) ** -1.5 * np.exp(-gap * n)
    curve = settled(N, [attempt(np.where(n <= 12, 1e-9, 1.0), losses)])
    assert curve.continued == 12
    assert curve.train[1:] == pytest.approx(losses, rel=1e-9)
    assert curve.error < 1e-7


@pytest.mark.parametrize(("changes", "stated"), [(0.0, None), (1e-4, 5e-3), (2e-2, np.inf)])
def test_how_much_a_law_has_changed_is_stated_and_too_much_is_refused(changes, stated):
    """Losses are computed up to epoch 24; those above 1e-12 count, and none below."""
    n = np.arange(1.0, 41)
    losses = 1e-8 * np.exp(-0.1 * n - changes * n**1.5)
    tried = [attempt(np.where(n <= 24, 1e-9, 1.0), losses)]
    if stated is None:
        assert settled(N, tried).error < 1e-7
    elif np.isinf(stated):
        with pytest.raises(ArithmeticError, match="after epoch 24 are too small"):
            settled(N, tried)
    else:
        curve = settled(N, tried)
        assert np.abs(curve.train[1:] / losses - 1).max() <= curve.error < stated
    vanishing = 1e-8 * 0.01**n**1.5
    assert settled(N, [attempt(np.where(n <= 2, 1e-9, 1.0), vanishing)]).error < 1e-7


@pytest.mark.parametrize(("doubtful", "last"), [(0.27e-4, 30), (0.33e-4, 25)])
def test_small_losses_that_differ_by_more_than_1e_4_are_continued_too_where_others_are(doubtful, last):
    """_DISTRUSTED."""
    n = np.arange(1, 41)
    difference = np.where(n <= 25, 1e-9, np.where(n <= 30, doubtful, 1.0))
    assert settled(N, [attempt(difference)]).continued == last


def test_a_loss_that_vanishes_at_once_is_continued_from_the_first_epoch():
    losses = 1e-13 * 0.1 ** np.arange(40.0)
    curve = settled(N, [attempt(np.full(40, 1.0), losses)])
    assert curve.continued == 1
    assert curve.train[1] == pytest.approx(1e-13)
    assert curve.train[2] == pytest.approx(1e-26)


@pytest.mark.parametrize("nothing", [-np.inf, np.nan])
def test_losses_that_an_engine_gives_up_as_too_small_go_on_by_their_rate_but_not_what_failed(nothing):
    losses = np.where(HALVES > 1e-3, HALVES, nothing)
    if np.isnan(nothing):
        with pytest.raises(ArithmeticError):
            settled(N, [attempt(losses=losses)])
    else:
        curve = settled(N, [attempt(losses=losses)])
        assert curve.continued == 9
        assert curve.test[40] == pytest.approx(2.0**-40)
