"""Chapter 7: what it prints and says of the step, against the library and by hand."""

import re

import numpy as np
import pytest
from outputs import captions, numbers, prose, table, text
from scipy import optimize

from edgelaw import data, exact, kaczmarz, spectrum
from edgelaw.orders import ORDERS
from edgelaw.theory import BY_ORDER, single_shuffle

BUDGETS = (1, 2, 5, 10, 20, 50, 100)
TRIED = (0.1, 0.4, 0.7, 1.0, 1.25, 1.5, 1.7, 1.85)
TWO_ROWS = np.array([[1, 0], [12 / 13, 5 / 13]])


def printed_map():
    """Best step and loss there: (test, training, test on photographs), budgets, orders, 2."""
    lines = re.findall(r"^ *(?:\d+)((?: +\d\.\d\d +\d\.\d\de-\d\d){4})$", text("07"), re.MULTILINE)
    return np.array([line.split() for line in lines], dtype=float).reshape(3, len(BUDGETS), 4, 2)


def two_rows(n, step):
    """The test loss of the two rows after n epochs."""
    return (np.linalg.matrix_power(kaczmarz.epoch_matrix(TWO_ROWS, step), n) ** 2).sum() / 2


@pytest.mark.parametrize(("row", "loss"), [(0, "test_loss"), (1, "train_loss")])
@pytest.mark.parametrize("n", [2, 20, 100])
def test_no_neighbour_of_a_printed_best_step_leaves_less(n, row, loss):
    for order, (step, printed) in zip(ORDERS, printed_map()[row, BUDGETS.index(n)], strict=True):
        at, *beside = (getattr(BY_ORDER[order], loss)(n, step + shift) for shift in (0, -0.03, 0.03))
        assert at == pytest.approx(printed, rel=0.01)
        assert at < min(beside)


@pytest.mark.parametrize("order", ORDERS)
def test_the_printed_best_steps_on_photographs_are_those_of_their_eigenvalues(order):
    rows = data.preprocess(data.load("cifar10").features, 512, 512, rng=0).X
    values, place = spectrum.gram_eigenvalues(rows), BUDGETS.index(20)
    step, printed = printed_map()[2, place, ORDERS.index(order)]
    at, *beside = (exact.curve(order, values, 20, step + shift).test[-1] for shift in (0, -0.03, 0.03))
    assert at == pytest.approx(printed, rel=0.01)
    assert at < min(beside)


def test_on_photographs_reshuffle_leads_and_its_steps_are_the_ones_named():
    steps, losses = np.moveaxis(printed_map()[2], -1, 0)
    assert (losses[1:].argmin(axis=1) == ORDERS.index("random_reshuffle")).all()
    words = r"These steps are ([\d.]+) for 2 epochs, ([\d.]+) for 5, ([\d.]+) for 20 and ([\d.]+) for 100"
    named = [steps[BUDGETS.index(n), ORDERS.index("random_reshuffle")] for n in (2, 5, 20, 100)]
    assert numbers("07", words, prose) == named
    assert (np.abs(steps[1:, ORDERS.index("single_shuffle")] - 1.28) < 0.016).all()


def test_the_result_on_the_map_has_the_printed_steps_of_single_shuffle():
    row = r"\| ([\d.]+) " * len(BUDGETS)
    for number, loss in enumerate(("test", "training")):
        said = numbers("07", rf"\| for the {loss} loss {row}\|", prose)
        assert said == printed_map()[number, :, ORDERS.index("single_shuffle"), 0].tolist()


def test_the_costs_of_a_wrong_step_are_those_that_the_list_names():
    lines = re.findall(r"^    (step 1|best .*?) +((?:\d+\.\d *){6})$", text("07"), re.MULTILINE)
    costs = np.array([line.split() for _, line in lines], dtype=float)
    assert [what for what, _ in lines] == [*["step 1", "best - 0.1", "best + 0.1"] * 4, "best for test"]
    beside = costs[[1, 2, 4, 5, 7, 8, 10, 11]]  # a step 0.1 away, up to 20 epochs
    assert beside[:, :5].max() < 5.5
    assert (costs[[2, 5, 8], 1:] > costs[[1, 4, 7], 1:]).all()  # too large is worse than too small
    words = r"0.1 too large costs (\d+) %, one that is 0.1 too small (\d+) %"
    assert numbers("07", words, prose) == [round(costs[5, 5]), round(costs[4, 5])]
    assert costs[9, 1:].max() < 10
    assert numbers("07", r"costs single shuffle (\d+) % at 20 epochs", prose) == [round(costs[0, 4])]
    assert 100 < costs[12, 4] < 120  # it doubles the training loss
    # The first paragraph: for 20 epochs of reshuffling both data want step 1.7
    assert "step 1 leaves a quarter to a third more error" in prose("07")
    assert [round(printed_map()[k, 4, 1, 0], 1) for k in (0, 2)] == [1.7, 1.7]
    assert 25 <= costs[6, 4] < costs[3, 4] < 36
    share = single_shuffle.test_loss(20, 1.0) / printed_map()[0, 4, 2, 1] - 1
    assert costs[0, 4] == pytest.approx(100 * share, abs=0.3)


def test_one_epoch_of_two_rows_and_its_slow_factor_by_hand():
    c = 12 / 13
    for step in (0.3, 1.0, 13 / 9, 1.7):
        tau = step * (2 - step)
        assert two_rows(1, step) == pytest.approx(1 - tau + c**2 * tau**2 / 2, abs=1e-14)
        root = np.sqrt(complex(c**2 * step**2 - 4 * (step - 1)))
        by_hand = np.abs([(c * step + root) ** 2 / 4, (c * step - root) ** 2 / 4])
        found = np.abs(np.linalg.eigvals(kaczmarz.epoch_matrix(TWO_ROWS, step)))
        np.testing.assert_allclose(np.sort(found), np.sort(by_hand), atol=1e-6)


def test_the_best_steps_of_two_rows_are_those_of_the_caption():
    words = r"dots mark the best step, ([\d.]+), ([\d.]+), ([\d.]+) and ([\d.]+), and the dashed line"
    for n, step in zip((1, 2, 3, 5), numbers("07", words, captions), strict=True):
        best = optimize.minimize_scalar(lambda s, n=n: np.log(two_rows(n, s)), bounds=(0.5, 1.9)).x
        assert best == pytest.approx(step, abs=0.006)
    before, at, beyond = (two_rows(50, 13 / 9 + shift) for shift in (-0.02, 0.005, 0.03))
    assert at < min(before, beyond)


def test_runs_agree_with_the_curves_within_four_standard_errors():
    lines = re.findall(r"^\w+ +((?:[+-][\d.]+% ± +[\d.]+% *){4})$", text("07"), re.MULTILINE)
    found = np.array([re.findall(r"[+-]?[\d.]+", line) for line in lines], dtype=float).reshape(8, 4, 2)
    mean, error = np.moveaxis(found, -1, 0)  # per cent, to a tenth; data and order, epochs
    assert (np.abs(mean) < 4 * error + 0.05).all()
    assert (error[:, 0] <= 0.5).all()
    assert error.max() < 2


def test_the_power_law_is_as_far_off_after_20_epochs_as_the_caption_says():
    lines = re.findall(r"^(\w+) +((?:\d\.\d{3} *){8})$", text("07"), re.MULTILINE)
    printed = {order: [float(x) for x in line.split()] for order, line in lines}
    assert tuple(printed) == ORDERS
    for order in ORDERS:
        module = BY_ORDER[order]
        over = [module.test_loss(20, s) * 20**0.5 / module.test_constant(s) for s in TRIED]
        np.testing.assert_allclose(printed[order], over, atol=1e-3, rtol=1e-3)
    words = r"off by (\d+) % at step 1 and by a factor of ([\d.]+) at step 1.85; .* within (\d+) % from step"
    one, late, flat = numbers("07", words, captions)
    single = dict(zip(TRIED, printed["single_shuffle"], strict=True))
    assert round(100 * (single[1.0] - 1)) == one
    assert single[1.85] == pytest.approx(late, abs=0.05)
    assert max(abs(x - 1) for x in printed["flip_flop"]) < flat / 100


def test_the_second_term_of_single_shuffles_loss_is_the_derived_one():
    n = 10**8
    for step in (0.5, 1.0, 1.5, 1.8):
        a = 1 / step - 0.5
        rest = single_shuffle.test_loss(n, step) - np.sqrt(a / (2 * np.pi * n))
        assert rest == pytest.approx(1 / (12 * np.pi * a * n), rel=1e-3)


def test_the_tuned_steps_and_losses_are_the_librarys_and_those_of_the_result():
    for n, step, _, scaled, gain in table("07", "best step   (2 - step) n^(1/3)"):
        least = single_shuffle.test_loss(int(n), step)
        assert least * n ** (2 / 3) == pytest.approx(scaled, rel=4e-3)
        assert single_shuffle.test_loss(int(n)) / least == pytest.approx(gain, rel=4e-3)
        assert least < min(single_shuffle.test_loss(int(n), step + shift) for shift in (-0.03, 0.03))


def test_at_other_aspects_the_best_steps_are_those_of_the_solution():
    four = r"(\S+), (\S+), (\S+) and (\S+)"
    words = rf"half as many rows the best steps are {four}, with four times as many {four}\. "
    said = np.reshape(numbers("07", words, prose), (2, 4))
    for rho, steps in zip((0.5, 4.0), said, strict=True):
        for order, step in zip(ORDERS, steps, strict=True):
            losses = [BY_ORDER[order].test_loss(10, step + shift, rho) for shift in (-0.04, 0, 0.04)]
            assert losses[1] == min(losses), (rho, order)
    assert said[:, ORDERS.index("flip_flop")].tolist() == [1, 1]


@pytest.mark.parametrize(("order", "first"), [("iid", 1), ("random_reshuffle", 2), ("single_shuffle", 2)])
def test_the_best_step_exceeds_one_from_the_first_or_second_epoch_on(order, first):
    n, losses = np.array([1, 2, 3, 5, 10]), BY_ORDER[order].test_loss
    for rho in (0.5, 1.0, 2.0, 4.0):
        gains = np.log(losses(n, 0.999, rho) / losses(n, 1.001, rho)) > 1e-6
        assert gains.tolist() == (n >= first).tolist()


@pytest.mark.parametrize("order", ["iid", "flip_flop"])
@pytest.mark.parametrize("loss", ["test_loss", "train_loss"])
def test_losses_fall_with_the_step_and_then_rise_once_at_every_aspect(order, loss):
    steps, n = np.arange(0.04, 1.99, 0.05), np.array([1, 2, 5, 10, 20, 50])
    for rho in (0.5, 1.0, 2.0):
        values = np.array([getattr(BY_ORDER[order], loss)(n, float(s), rho) for s in steps])
        rising = np.diff(values, axis=0) > 0
        assert not rising[0].any()
        assert (np.diff(rising, axis=0).sum(axis=0) == 1).all()


def test_two_epochs_of_single_shuffle_gain_from_a_larger_step_as_by_hand():
    slope = np.diff([single_shuffle.test_loss(2, 1 + shift) for shift in (-1e-5, 1e-5)])[0] / 2e-5
    assert slope == pytest.approx(-2 * np.exp(-3), rel=1e-6)
    slope_there = r"The second is (\S+) at step 1, its .* is \$-2e\^\{-3\} = (\S+)\$, "
    words = slope_there + r"and its minimum, (\S+), is at step (\S+)\. "
    one, printed, least, best = numbers("07", words, prose)
    assert single_shuffle.test_loss(2, 1.0) == pytest.approx(one, abs=5e-5)
    assert slope == pytest.approx(printed, abs=5e-3)
    assert single_shuffle.test_loss(2, best) == pytest.approx(least, abs=5e-5)
    assert min(single_shuffle.test_loss(2, best + shift) for shift in (-0.01, 0.01)) > least


def test_near_step_two_the_generating_function_has_the_form_of_one_scale():
    for size in (1e-2, 1e-3):
        s, t, a = size, 2 * size, 0.7 * size
        step = 1 / (a + 0.5)
        ends = [step * (1 / x - 1) / (1 + step * (1 / x - 1)) for x in (s, t)]  # h = 1/x - 1
        *_, test, _ = single_shuffle.generating_functions(*ends, step)
        ratio = test.real * s * t * (a * (s + t) + (s**2 - s * t + t**2) / 12)
        assert abs(ratio - 1) < 6 * size
