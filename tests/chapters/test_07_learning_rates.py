"""Chapter 7: what it prints and says of the step, against the library and by hand."""

import re

import numpy as np
import pytest
from outputs import captions, numbers, prose, table, text
from scipy import interpolate, optimize

from edgelaw import kaczmarz
from edgelaw.orders import ORDERS
from edgelaw.theory import BY_ORDER, free, single_shuffle

BUDGETS = (1, 2, 5, 10, 20, 50, 100)
TWO_ROWS = np.array([[1, 0], [12 / 13, 5 / 13]])


def printed_map():
    """Best step and loss there: (losses, budgets, orders, 2)."""
    lines = re.findall(r"^ *(?:\d+)((?: +\d\.\d\d +\d\.\d\de-\d\d){4})$", text("07"), re.MULTILINE)
    return np.array([line.split() for line in lines], dtype=float).reshape(2, len(BUDGETS), 4, 2)


def two_rows(n, step):
    """The test loss of the two rows after n epochs."""
    return (np.linalg.matrix_power(kaczmarz.epoch_matrix(TWO_ROWS, step), n) ** 2).sum() / 2


@pytest.mark.parametrize("order", ORDERS)
def test_24_steps_are_enough_to_draw_the_losses_to_a_fifth_of_a_per_cent(order):
    epochs, losses = [1, 2, 5, 20], BY_ORDER[order].test_loss
    nodes = 0.99 + 0.96 * np.cos(np.pi * (np.arange(24) + 0.5) / 24)
    through = interpolate.BarycentricInterpolator(nodes, np.log([losses(epochs, s) for s in nodes]))
    for step in (0.07, 1.6):
        np.testing.assert_allclose(np.exp(through(step)), losses(epochs, step), rtol=2e-3)


@pytest.mark.parametrize(("row", "loss"), [(0, "test_loss"), (1, "train_loss")])
@pytest.mark.parametrize("n", [2, 20, 100])
def test_no_neighbour_of_a_printed_best_step_leaves_less(n, row, loss):
    for order, (step, printed) in zip(ORDERS, printed_map()[row, BUDGETS.index(n)], strict=True):
        at, *beside = (getattr(BY_ORDER[order], loss)(n, step + shift) for shift in (0, -0.03, 0.03))
        assert at == pytest.approx(printed, rel=0.01)
        assert at < min(beside)


def test_the_result_on_the_map_has_the_printed_steps_of_single_shuffle():
    row = r"\| ([\d.]+) " * len(BUDGETS)
    for number, loss in enumerate(("test", "training")):
        said = numbers("07", rf"\| for the {loss} loss {row}\|", prose)
        assert said == printed_map()[number, :, ORDERS.index("single_shuffle"), 0].tolist()


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


def test_runs_of_512_rows_agree_with_theory_within_four_standard_errors():
    lines = re.findall(r"^\w+ +((?:[+-][\d.]+% ± +[\d.]+% *){4})$", text("07"), re.MULTILINE)
    found = np.array([re.findall(r"[+-]?[\d.]+", line) for line in lines], dtype=float).reshape(4, 4, 2)
    mean, error = np.moveaxis(found, -1, 0)  # per cent, to a tenth; order, epochs
    assert (np.abs(mean) < 4 * error + 250 / 512 + 0.05).all()
    assert (error[:, :2] <= 0.5).all()
    assert error.max() < 2.5


def test_the_power_law_is_as_far_off_after_20_epochs_as_the_caption_says():
    lines = re.findall(r"^(\w+) +((?:\d\.\d{3} *){7})$", text("07"), re.MULTILINE)
    printed = {order: [float(x) for x in line.split()] for order, line in lines}
    assert tuple(printed) == ORDERS
    steps = (0.1, 0.5, 1.0, 1.5, 1.7, 1.8, 1.9)
    for order in ("iid", "single_shuffle"):
        module = BY_ORDER[order]
        over = [module.test_loss(20, s) * 20**0.5 / module.test_constant(s) for s in steps]
        np.testing.assert_allclose(printed[order], over, atol=5.1e-4)
    words = r"off by (\d+) % at step 1 and by a factor of ([\d.]+) at step 1.8; .* within (\d+) % from step"
    one, late, flat = numbers("07", words, captions)
    single = dict(zip(steps, printed["single_shuffle"], strict=True))
    assert round(100 * (single[1.0] - 1)) == one
    assert round(single[1.8], 1) == late
    assert max(abs(x - 1) for x in printed["flip_flop"]) < flat / 100


def test_the_second_term_of_single_shuffles_loss_is_the_derived_one():
    n = 10**8
    for step in (0.5, 1.0, 1.5, 1.8):
        a = 1 / step - 0.5
        rest = single_shuffle.test_loss(n, step) - np.sqrt(a / (2 * np.pi * n))
        assert rest == pytest.approx(1 / (12 * np.pi * a * n), rel=1e-3)


def test_the_logarithm_of_z_begins_with_the_square_and_the_cube():
    for v in (1e3, 1e4):
        for step in (0.5, 1.3, 1.9):
            a = 1 / step - 0.5
            exact = np.log1p(-1 / v) + step / (1 - step + step * v)
            assert abs(exact + a / v**2 + (1 / 12 + a - a**2) / v**3) < 3 / v**4 + 1e-15


@pytest.mark.parametrize("order", ["iid", "random_reshuffle"])
def test_a_tuned_step_brings_two_orders_down_to_their_constant_at_step_two(order):
    ends = numbers("07", rf"\n{order} +(0\.\d+)  (0\.\d+)  (0\.\d+)   (0\.\d+)\n")
    assert ends == sorted(ends, reverse=True)
    assert ends[-1] == pytest.approx(BY_ORDER[order].test_constant(2 - 1e-9), abs=5e-5)


def test_at_other_aspects_no_neighbour_of_a_best_step_is_better():
    for rho, *steps in table("07", "rho    iid")[:2]:
        for order, step in zip(ORDERS, steps, strict=True):
            losses = [BY_ORDER[order].test_loss(10, step + shift, rho) for shift in (-0.04, 0, 0.04)]
            assert losses[1] == min(losses), (rho, order)
            assert step == 1 if order == "flip_flop" else step > 1.1


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
    slope = np.log(single_shuffle.test_loss(2, 1 + 1e-5) / single_shuffle.test_loss(2, 1 - 1e-5)) / 2e-5
    by_hand = -2 * np.exp(-3) / single_shuffle.test_loss(2, 1.0)
    assert slope == pytest.approx(by_hand, rel=1e-6)
    assert numbers("07", r"slope of log c_n at step 1: (\S+) at n = 2,") == [round(by_hand, 2)]
    best, least, one = numbers("07", r"best step (1\.\d+): c_2 = (0\.\d+); step 1: (0\.\d+)")
    assert single_shuffle.test_loss(2, best) == pytest.approx(least, abs=5e-5)
    assert single_shuffle.test_loss(2, 1.0) == pytest.approx(one, abs=5e-5)
    assert min(single_shuffle.test_loss(2, best + shift) for shift in (-0.01, 0.01)) > least


@pytest.mark.parametrize(("order", "best"), [("single_shuffle", 3 - 3**0.5), ("iid", 6 / 5)])
def test_training_constants_are_least_at_the_steps_found_by_hand(order, best):
    step, least, one = numbers("07", rf"{order} +best step (\S+): (\S+); step 1: (\S+)")
    constant = BY_ORDER[order].train_constant
    assert step == pytest.approx(best, abs=5e-5)
    assert min(constant(best + shift) for shift in (-1e-4, 1e-4)) > constant(best)
    assert constant(best) == pytest.approx(least, abs=5e-6)
    assert constant(1.0) == pytest.approx(one, abs=5e-6)


def test_few_rows_have_the_trace_moments_of_orthogonal_ones_and_rise_at_even_n():
    for n, step in ((2, 1.5), (3, 1.5), (8, 1.9)):
        first_order = 1 - 1e-5 * (1 - (1 - step) ** n)
        assert free.trace_moment(n, step, 1e-5) == pytest.approx(first_order, abs=1e-8)
    for n in (2, 4, 8):
        assert free.trace_moment(n, 1.9, 0.01) > free.trace_moment(n, 1.3, 0.01)


def test_near_step_two_the_generating_function_has_the_form_of_one_scale():
    for size in (1e-2, 1e-3):
        s, t, a = size, 2 * size, 0.7 * size
        step = 1 / (a + 0.5)
        ends = [step * (1 / x - 1) / (1 + step * (1 / x - 1)) for x in (s, t)]  # h = 1/x - 1
        *_, test, _ = single_shuffle.generating_functions(*ends, step)
        ratio = test.real * s * t * (a * (s + t) + (s**2 - s * t + t**2) / 12)
        assert abs(ratio - 1) < 6 * size
        assert numbers("07", rf"size {size:g}: F / its form near step 2 = (\S+)") == [round(float(ratio), 4)]


def test_sixteen_designs_agree_with_both_characteristics_and_the_formula():
    lines = re.findall(r"^step [\d.]+, rho [\d.]+, F = [\d.]+: +(.*)$", text("07"), re.MULTILINE)
    found = np.array([re.findall(r"[+-]?[\d.]+", line) for line in lines], dtype=float).reshape(4, 3, 2)
    mean, error = np.moveaxis(found, -1, 0)  # per cent, to a hundredth
    assert (np.abs(mean) < 4 * error + 250 / 500 + 0.005).all()
    assert error.max() < 1


def test_the_remainder_of_the_power_law_settles_at_its_coefficient():
    for step, *scaled in table("07", "(loss / asymptote - 1) sqrt(n)"):
        coefficient = (1 / step - 0.5) ** -1.5 / (6 * np.sqrt(2 * np.pi))
        gaps = np.abs(np.array(scaled) - coefficient)
        assert gaps[-1] < 2e-3 * coefficient
        assert gaps[-1] < gaps[0]


def test_exact_losses_after_a_million_epochs_have_the_forms_of_the_table():
    lines = re.findall(r"^[\w -]+?((?: +\d\.\d{4}, \d\.\d{4}){3})$", text("07"), re.MULTILINE)
    pairs = np.array([re.findall(r"\d\.\d{4}", line) for line in lines], dtype=float).reshape(5, 3, 2)
    np.testing.assert_allclose(pairs[..., 0], pairs[..., 1], rtol=1e-3)
    step = np.array([0.5, 1.0, 1.5])
    np.testing.assert_allclose(pairs[0, :, 1], np.sqrt((1 / step - 0.5) / np.pi), atol=5.1e-5)
