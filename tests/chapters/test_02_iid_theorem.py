"""Chapter 2: what it prints and says, against the library called afresh and against its own formulas."""

import re

import numpy as np
import pytest
from outputs import numbers, prose, table, text

from edgelaw import exact, spectrum
from edgelaw.theory import iid

CHAPTER = "02_iid_theorem"
DESIGNS = (
    "Gaussian",
    "spherical",
    "designed, beta 0.3",
    "designed, beta 0.75",
    "CIFAR-10 embeddings",
    "Wikipedia embeddings",
)


def test_two_rows_shrink_as_the_mean_over_all_draws_says():
    rows = np.array([[2, 1], [2, -1]]) / np.sqrt(5)
    printed = numbers(CHAPTER, r"test loss after 0 to 3 epochs: (\S+), (\S+), (\S+), (\S+)\n")
    assert printed == pytest.approx(exact.expected_curve(rows, 3, 0.5).test, abs=6e-5)
    factors = numbers(CHAPTER, r"factors per update: (\S+) and (\S+)\n")
    said = numbers(CHAPTER, r"with the roots \$([\d.]+)\$ and \$([\d.]+)\$", prose)
    assert factors == said == pytest.approx(np.sort(np.roots([1, -1.17, 0.29]))[::-1], abs=6e-5)


def test_updates_and_flow_differ_by_less_than_the_propositions_bound():
    scaled = []
    for d in (50, 100, 200):
        updates, flow, times_d = numbers(
            CHAPTER, rf"d = {d}: updates (\S+), flow (\S+), d times the difference (\S+)\n"
        )
        values = (np.arange(d) + 0.5) / d * 2
        assert flow == pytest.approx(exact.curve("iid", values, [3]).test[1], abs=6e-5)
        assert times_d == pytest.approx(d * (updates - flow), abs=1e-4 * d + 0.006)
        assert 0 < updates - flow < (3 + 1) * values.max() ** 2 * 3 / d  # (kappa + 1) eta² λmax² n/d
        scaled.append(times_d)
    assert scaled == pytest.approx([scaled[-1]] * 3, abs=0.011)  # of order 1/d


def test_the_simulator_is_within_its_standard_errors_of_the_exact_mean():
    rows = table(CHAPTER, "n   exact test   simulated   in s.e.")
    assert [n for n, *_ in rows] == [1, 2, 5, 10, 20]
    for n, test, simulated, away, train, simulated_train, away_train in rows:
        assert max(abs(away), abs(away_train)) < 3.5, n  # ten numbers
        assert simulated == pytest.approx(test, abs=6e-4 + 3.5 * 0.005 * test)
        assert simulated_train == pytest.approx(train, abs=6e-5 + 3.5 * 0.015 * train)


def moments():
    """By data set: pairs, spread, with bulk, fourth, largest, mixed."""
    six = r" (\S+)" * 6
    return {name: numbers(CHAPTER, rf"\n{name}{six}\n") for name in DESIGNS}


def test_six_data_sets_are_near_wick():
    """Of Haar singular vectors the moments are 1, 3 and 0, each up to O(d^(-1/2)); here twice that, at d = 256."""
    for name, (pairs, spread, bulk, fourth, _, mixed) in moments().items():
        small = 2 / np.sqrt(256)
        assert pairs == pytest.approx(1, abs=small), name
        assert bulk == pytest.approx(1, abs=small), name
        assert fourth == pytest.approx(3, abs=small), name
        assert mixed < small, name
        # given their mean squares, each factor of a pair has the variance kappa_4 - 1 = 2
        assert spread == pytest.approx(np.sqrt(2 * 2 / 256), abs=0.03), name


def test_the_equation_is_as_close_to_the_exact_mean_as_is_said():
    gaps = [numbers(CHAPTER, rf"\n{name} (\S+) % (\S+) % (\S+) % (\S+) %\n") for name in DESIGNS]
    most = numbers(CHAPTER, r"the equation is right within ([\d.]+) % in test loss and ([\d.]+) %", prose)
    largest = np.max(gaps, axis=0)
    assert max(largest[:2]) <= most[0]
    assert max(largest[2:]) <= most[1]
    constants = numbers(CHAPTER, r"with constants ([\d.]+) \(test\) and ([\d.]+) \(training\)", prose)
    for d in (64, 128, 256):
        assert numbers(CHAPTER, rf"d = {d}: (\S+) and (\S+)\n") == pytest.approx(constants, abs=0.011)


def test_five_rates_solve_the_secular_equation_and_give_the_curve():
    values = np.array([0.2, 0.5, 0.9, 1.3, 2.1])
    rates, vectors = np.linalg.eigh(np.diag(values) - np.outer(values, values) / 10)
    assert np.mean(values**2 / (rates[:, None] - values), axis=1) == pytest.approx(-2, abs=1e-9)
    assert numbers(CHAPTER, r"rates: (\S+), (\S+), (\S+), (\S+), (\S+)\n") == pytest.approx(rates, abs=6e-4)
    by_rates, by_curve = numbers(CHAPTER, r"test loss at n = 3: (\S+) from the rates, (\S+) from curve\n")
    assert (
        by_rates
        == by_curve
        == pytest.approx(exact.curve("iid", values, [3], weights=np.ones(5)).test[1], abs=6e-6)
    )
    assert vectors.sum(axis=0) ** 2 / 5 @ np.exp(-6 * rates) == pytest.approx(by_rates, abs=6e-6)
    assert np.argmax(rates / values) == 0  # the smallest one has moved least
    assert rates[0] > 0.95 * values[0]


@pytest.mark.parametrize("step", [0.5, 1.0, 1.5, 1.9])
def test_noise_leaves_the_density_at_the_edge_alone(step):
    x = np.array([1e-4, 1e-5])
    ratio = iid.rate_density(x, step) / spectrum.MarchenkoPastur().pdf(x)
    assert ratio == pytest.approx(1 + 2 * step / (2 - step) * x, abs=1e-4)  # 1 + (2b/a) x + O(x²)


def test_the_theorems_laws_are_met_at_a_thousand_epochs_better_than_at_thirty():
    rows = re.findall(r"beta [\d.]+ +step [\d.]+ +(\S+) +(\S+) +(\S+) +(\S+)\n", text(CHAPTER))
    ratios = np.array(rows, dtype=float)
    assert ratios.shape == (10, 4)
    for early, late in ratios.T.reshape(
        2, 2, 10
    ):  # the error falls at least as fast as 1/n, but for the digits
        assert (np.abs(late - 1) < 0.03 * (early - 1) * 1.05 + 1e-4).all()


def test_one_term_explains_the_distance_from_the_power_law():
    for step in (0.25, 0.5, 1.0, 1.5, 1.9):
        test, c, train, three_c = numbers(
            CHAPTER, rf"step +{step}: test (\S+)% \(c/n = (\S+)%\), train (\S+)% \(3c/n = (\S+)%\)\n"
        )
        exact_c = 100 * (2 * step / (2 - step) - 1 / 8) / (4 * step) / 100
        assert [c, three_c] == pytest.approx([exact_c, 3 * exact_c], abs=0.006)
        edge = iid.edge_law(100, spectrum.MarchenkoPastur().edge, step)
        losses = iid.test_loss(100, step), iid.train_loss(100, step)
        for shown, loss, law in zip((test, train), losses, edge, strict=True):
            assert shown == pytest.approx(100 * (loss / law - 1), abs=0.006)


def test_the_text_on_the_dots_of_the_first_figure_says_what_is_printed():
    printed = numbers(CHAPTER, r"([\d.]+) % from the large-d curve, ([\d.]+) % from the curves of their own")
    said = numbers(
        CHAPTER, r"from the large-\$d\$ curves by up to ([\d.]+) %.*? they deviate by up to ([\d.]+) %", prose
    )
    assert printed == said
    # a mean over 16 designs and starts: the larger share is chance in the starts
    assert printed[1] < printed[0] < 5


def test_slopes_and_excesses_at_few_epochs_are_those_of_the_exact_curves():
    n = np.arange(1, 9)
    curves = {step: iid.test_loss(n, step) for step in (0.25, 0.5, 1.0, 1.5, 1.9)}
    slopes = [np.log(curve[7] / curve[0]) / np.log(8) for curve in curves.values()]
    assert numbers(CHAPTER, r"slope from n = 1 to 8: (\S+), (\S+), (\S+), (\S+), (\S+)\n") == pytest.approx(
        slopes, abs=0.006
    )
    said = numbers(
        CHAPTER, r"is \$(-[\d.]+)\$ at \$\\eta = 0.5\$, \$(-[\d.]+)\$ at 1 and \$(-[\d.]+)\$ at 1.5", prose
    )
    assert said == pytest.approx(slopes[1:4], abs=0.006)
    excess, low, high = numbers(
        CHAPTER, r"at n = 3: (\d+)% above its power law; step 1.9 up to n = 8: (\S+) to (\S+) times\n"
    )
    assert excess == pytest.approx(100 * (curves[1.5][2] * np.sqrt(3) / iid.test_constant(1.5) - 1), abs=0.51)
    over = curves[1.9] * np.sqrt(n) / iid.test_constant(1.9)
    assert [low, high] == pytest.approx([over.min(), over.max()], abs=0.051)
    assert f"still {excess:.0f} % above its power law at $n = 3$" in prose(CHAPTER)
    assert f"the loss is {low} to {high} times its power law" in prose(CHAPTER)


def test_iid_and_gradient_descent_differ_by_half_over_n_at_the_step_of_the_table():
    rows = table(CHAPTER, "n   IID        gradient descent   difference times n, relative")
    for n, noisy, plain, scaled in rows:
        assert noisy == pytest.approx(iid.test_loss(int(n), 0.4), abs=6e-6)
        assert scaled == pytest.approx(n * (noisy / plain - 1), abs=0.02)
    assert rows[-1][3] == pytest.approx(1 / (2 * (2 - 0.4)) + 3 / 16, abs=0.01)


def test_rows_scaled_to_unit_trace_are_stable_up_to_almost_two_at_the_figures_size():
    values = ((np.arange(200) + 0.5) / 200) ** 2
    values /= values.sum()
    largest = {}
    for step in (1.9, 2.0):
        recursion = np.diag(1 - 2 * step * values + 2 * step**2 * values**2)
        largest[step] = np.linalg.eigvalsh(recursion + step**2 * np.outer(values, values))[-1]
    assert "(1.9 is, 2.0 is not, at the $d = 200$" in prose(CHAPTER)
    assert largest[1.9] < 1 < largest[2.0]


def test_importance_sampling_alone_leaves_the_curve_of_its_spectrum():
    rules = {
        name: numbers(CHAPTER, rf"\n{name}" + r" +([+-]\d+)" * 7 + r"\n")
        for name in ("normalised", "importance sampling", "plain SGD")
    }
    gaps = rules["importance sampling"]
    assert min(gaps) > 5  # the error bars of the figure are below one per cent
    assert f"most at $n = {2 ** np.argmax(gaps)}$, by {max(gaps):.0f} %" in prose(CHAPTER)
    assert max(np.abs(rules["normalised"] + rules["plain SGD"])) <= 2


def test_noisy_targets_level_off_higher_for_the_larger_step_and_met_ones_keep_falling():
    floors = []
    for step in ("0.2", "1.0"):
        clean, later, noisy, floor = numbers(CHAPTER, rf"\n {step} +(\S+) +(\S+) +(\S+) +(\S+)\n")
        assert later < 0.2 * clean
        assert floor > 0.5 * noisy
        floors.append(floor)
    assert floors[1] > 5 * floors[0]


def test_the_best_steps_are_where_the_exact_losses_are_smallest():
    training, testing = numbers(CHAPTER, r"as n grows (\S+), for the test loss at 10 (\S+)\n")
    assert training == pytest.approx(6 / 5, abs=0.006)
    assert all(iid.test_loss(10, testing) < iid.test_loss(10, testing + off) for off in (-0.02, 0.02))


def test_beyond_the_critical_step_a_larger_step_is_slower_in_the_end():
    steps = ("1.000", "1.200", "1.333", "1.400", "1.500", "1.700")
    rows = [numbers(CHAPTER, rf"step {step}: decay per epoch (\S+), edge alone (\S+)\n") for step in steps]
    for step, (decay, alone) in zip(steps, rows, strict=True):
        assert alone == pytest.approx(2 * float(step), abs=1.1e-3)  # 2 eta rho λ₋, at rho = 4
        assert (decay < alone) == (float(step) > 4 / 3)
    decays = [decay for decay, _ in rows]
    assert max(decays) == decays[3]
    assert decays[3:] == sorted(decays[3:], reverse=True)


def test_the_volterra_route_agrees_at_all_three_steps():
    assert text(CHAPTER).count("the two routes agree to 1e-8 at n = 0, ..., 8: True\n") == 3


def test_rows_that_are_not_near_wick_have_twice_the_closure_and_still_the_power_law():
    pair, fourth, ratio = numbers(CHAPTER, r"pair moment (\S+), fourth (\S+), closure over truth (\S+)\n")
    assert pair == pytest.approx(2, abs=0.1)
    assert fourth == pytest.approx(6, abs=0.3)
    assert ratio == pytest.approx(2, abs=0.1)
    off = {n: numbers(CHAPTER, rf"n = +{n}: test (\S+) %, train (\S+) %\n") for n in (1, 10, 100)}
    said = numbers(CHAPTER, r"by ([\d.]+) % in test loss and ([\d.]+) % in training loss\. Then", prose)
    assert said == [-x for x in off[1]]
    assert max(map(abs, off[100])) < 0.5


def test_a_curve_can_be_predicted_before_the_rows_are_drawn():
    before, after = numbers(CHAPTER, r"before the draw (\S+), after (\S+)\n")
    variances = np.repeat([4.0, 1.0], 200)
    assert before == pytest.approx(exact.population_curve("iid", variances, [30]).test[-1], abs=6e-4)
    assert after == pytest.approx(before, rel=0.02)


def test_the_generating_function_has_our_signs():
    found, ours, theirs = numbers(CHAPTER, r"function (\S+): our signs (\S+), the paper's (\S+)\n")
    assert found == ours
    assert abs(found - theirs) > 1


def test_the_predictor_beyond_a_gap_falls_behind_more_at_larger_steps():
    ratios = [numbers(CHAPTER, rf"\nstep {step}: (\S+), (\S+), (\S+)\n") for step in (0.5, 1.0, 1.5)]
    last = [row[-1] for row in ratios]
    assert last == sorted(last, reverse=True)
    assert last[0] < 0.95
    assert last[-1] < 0.2
