"""Chapter 1: what it prints and says, against the library called afresh and against its own formulas."""

import numpy as np
import pytest
from outputs import numbers, prose, table

from edgelaw import data, exact, laws, spectrum
from edgelaw.theory import gradient_descent, regimes

CHAPTER = "01_spectral_condition"
GAUSSIAN_EDGE = spectrum.MarchenkoPastur().edge


def test_the_engineer_stops_where_her_spectrum_says_and_the_bound_asks_for_its_own_number():
    words = r"asks for ([\d.]+) million epochs .*? SGD gets there in (\d+)\. \(Gradient descent .*? takes (\d+)\.\)"
    bound, stops, descents = numbers(CHAPTER, words, prose)
    values = spectrum.gram_eigenvalues(data.normalize_rows(data.gaussian(512, 512, rng=5)))
    epochs = np.arange(40, 91)
    there = epochs[np.argmax(exact.curve("iid", values, epochs).test[1:] < 0.05)]
    # her run is a mean of 32 starts; where the loss has the slope -1/2, an error of it moves the epoch by twice as much
    error = 2 * stops * np.sqrt(2 / 32) * regimes.independent_spread(int(stops), 512, GAUSSIAN_EDGE, 1.0)
    assert there == pytest.approx(stops, abs=2 * error)
    assert error < 6
    assert np.log(20) / values[0] / 1e6 == pytest.approx(bound, abs=0.05)
    halved = gradient_descent.curve(values, np.arange(1, 200), step=0.5)
    assert halved.epochs[np.argmax(halved.test < 0.05)] == descents
    assert 2 / values[-1] == pytest.approx(0.5, abs=0.02)  # the largest stable step


def test_two_directions_fall_as_worked_out_by_hand():
    for n, left, bound in table(CHAPTER, "n   error left   textbook bound"):
        assert left == pytest.approx((0.995 ** (2 * n) + 0.5 ** (2 * n)) / 2, abs=5.1e-5)
        assert bound == pytest.approx(0.995 ** (2 * n), abs=5.1e-5)


def test_a_covariance_with_an_edge_of_its_own_has_the_hard_edge_that_is_printed():
    beta, Q, stated = numbers(CHAPTER, r"beta = (\S+), Q = (\S+); a hard edge with Q = (\S+)")
    population = np.linspace(0.2, 3.0, 600)
    edge = laws.square_edge(population)  # of mean eigenvalue 1
    expected = edge.Q / np.sqrt(population.mean())
    assert stated == pytest.approx(expected, abs=0.005)
    # one draw's exponent errs by 0.012 at d = 512 (the chapter's table), and an error of beta by 1 % moves Q by 3 %
    assert beta == pytest.approx(edge.beta, abs=4 * 0.012)
    assert pytest.approx(expected, rel=4 * 0.036) == Q


def test_the_axes_that_uniform_draws_miss_are_within_four_standard_errors_of_one_in_e():
    (missed,) = numbers(CHAPTER, r"rows sqrt\(d\) e_i: (\d+)% zero eigenvalues")
    error = np.sqrt((np.exp(-1) - 2 * np.exp(-2)) / 600)  # of the share of empty boxes
    assert missed / 100 == pytest.approx(np.exp(-1), abs=4 * error + 0.005)


def fits():
    """By spectrum: the rows of the first table of fits, each bias, spread and rms error of one method."""
    kinds = ("Gaussian, 128", "Gaussian, 512", "centred, 256", "independent, 512")
    methods = ("paper's fit", "midpoint", "slope of the loss")
    return {
        kind: [numbers(CHAPTER, rf"{kind} {way} (\S+) (\S+) (\S+)\n") for way in methods] for kind in kinds
    }


def test_the_slope_of_the_loss_has_the_smallest_error_on_every_kind_of_spectrum():
    for rows in fits().values():
        paper, midpoint, slope = (rms for _, _, rms in rows)
        assert slope < min(paper, midpoint)
        for bias, spread, rms in rows:
            assert rms == pytest.approx(np.hypot(bias, spread), abs=1.1e-3)


def test_the_text_says_of_the_fits_what_their_tables_show():
    errors = {kind: [rows[0][2], rows[2][2]] for kind, rows in fits().items()}
    said = numbers(CHAPTER, r"is ([\d.]+) for the paper's procedure and ([\d.]+) for the slope", prose)
    assert said == errors["Gaussian, 512"]
    said = numbers(CHAPTER, r"with 128 eigenvalues it is ([\d.]+) and ([\d.]+)", prose)
    assert said == pytest.approx(errors["Gaussian, 128"], abs=5e-3)
    said = numbers(CHAPTER, r"independent eigenvalues ([\d.]+) and ([\d.]+)\.", prose)
    assert said == pytest.approx(errors["independent, 512"], abs=5e-3)
    rows = np.array(table(CHAPTER, "quantile  skip   paper's fit   slope of the loss"))
    said = numbers(CHAPTER, r"goes from ([\d.]+) to ([\d.]+) with the window alone", prose)
    assert said == pytest.approx([rows[:, 2].min(), rows[:, 2].max()], abs=5.1e-3)
    said = numbers(CHAPTER, r"that of the slope from ([\d.]+) to ([\d.]+)\.", prose)
    assert said == [rows[:, 3].min(), rows[:, 3].max()]


def test_independent_eigenvalues_spread_as_many_times_as_far_as_is_said():
    printed = numbers(CHAPTER, r"independent over Gaussian spread: (\S+) to (\S+)\n")
    ratios = [b[1] / a[1] for a, b in zip(fits()["Gaussian, 512"], fits()["independent, 512"], strict=True)]
    assert printed == pytest.approx([min(ratios), max(ratios)], rel=0.06)  # of spreads of three digits
    assert "six and a half to eight times as far" in prose(CHAPTER)
    assert printed == pytest.approx([6.5, 8], abs=0.05)


def test_the_three_routes_of_gradient_descent_agree_within_the_chance_of_one_design_and_of_200_starts():
    rows = table(CHAPTER, "n   integral        sum        run        law")
    d, step = 400, 0.25
    constants = (gradient_descent.test_constant(step), gradient_descent.train_constant(step))
    losses = (gradient_descent.test_loss, gradient_descent.train_loss)
    for index, (epochs, integral, total, run, law) in enumerate(rows):
        n, which = int(epochs), index // 5
        assert integral == pytest.approx(losses[which](n, step), rel=5e-3)
        assert law == pytest.approx(constants[which] / n ** (0.5 + which), rel=5e-3)
        design = regimes.gaussian_spread(n, d, step)
        starts = np.sqrt(2 / 200) * regimes.independent_spread(n, d, GAUSSIAN_EDGE, step)
        # the quarter of an eigenvalue that a square design has more near zero; and the digits that are printed
        assert total == pytest.approx(integral, rel=4 * design + 0.25 / d / rows[index % 5][1] + 5e-3)
        assert run == pytest.approx(total, rel=4 * starts + 5e-3)
    assert len(rows) == 10


def test_exact_losses_and_their_law_are_the_librarys():
    for n, exact_loss, law in table(CHAPTER, "n   exact loss    law"):
        assert exact_loss == pytest.approx(gradient_descent.test_loss(int(n), 0.25), abs=6e-5)
        assert law == pytest.approx(1 / np.sqrt(2 * np.pi * 0.25 * n), abs=6e-5)


def test_the_laws_error_falls_like_one_over_n():
    for n in (1, 10, 100, 1000):
        loss, error = numbers(CHAPTER, rf"n = {n}: (\S+); the law is off by (\S+) %")
        assert loss == pytest.approx(gradient_descent.test_loss(n, 0.25), abs=6e-11)
        assert error / 100 == pytest.approx(
            gradient_descent.test_constant(0.25) / np.sqrt(n) / loss - 1, abs=6e-6
        )
        if n > 1:  # -1/(32 eta n) - 3/(16 n) of the exact loss, as chapter 2 derives
            assert error == pytest.approx(100 * (1 / (32 * 0.25) + 3 / 16) / n, rel=0.02)


def test_the_edge_law_stays_as_close_to_one_designs_sum_as_is_said():
    (deviation,) = numbers(CHAPTER, r"deviation of the edge law for 10 < t < 10\^4: (\S+) %")
    (most,) = numbers(CHAPTER, r"the edge law is within (\d+) % of the sum", prose)
    assert most - 1 < deviation < most


def test_plateaus_and_the_crossover_formula_are_those_of_the_exact_integral():
    assert numbers(CHAPTER, r"plateaus: (\S+), (\S+)\n") == [0.5, 0.1]
    (within,) = numbers(CHAPTER, r"crossover formula within (\S+)% for 0.9 <= rho <= 1.1")
    n = np.unique(np.geomspace(1, 4000, 40).astype(int))  # the epochs of the figure
    n = n[(n > 50) & (n < 2000)]
    worst = max(
        np.abs(regimes.aspect_crossover(n, rho, 0.2) / gradient_descent.test_loss(n, 0.2, rho) - 1).max()
        for rho in (0.9, 1.0, 1.1)
    )
    assert 100 * worst == pytest.approx(within, abs=0.051)


def test_just_above_two_thirds_the_shifted_law_is_wrong_by_a_growing_factor():
    law = spectrum.MarchenkoPastur(2.0)
    slow, stable = numbers(CHAPTER, r"left edge slow below step (\S+), stable below (\S+)\n")
    assert slow == pytest.approx(2 / sum(law.support), abs=6e-4)
    assert stable == pytest.approx(2 / law.support[1], abs=6e-4)
    for step in (0.60, 0.65, 0.67):
        printed = numbers(CHAPTER, rf"step {step:.2f}: (\S+), (\S+)\n")
        losses = gradient_descent.test_loss([100, 1000], step, 2.0)
        laws = gradient_descent.asymptotic_test(np.array([100, 1000]), law.edge, step)
        assert printed == pytest.approx(losses / laws, rel=0.03)
        assert (printed[1] > 1e7) == (step > slow)


def test_one_run_strays_from_one_start_as_the_formula_says():
    found, formula = numbers(CHAPTER, r"one start, d = 512, n = 30: (\S+), formula (\S+)\n")
    assert formula == pytest.approx(
        np.sqrt(2) * regimes.independent_spread(30, 512, GAUSSIAN_EDGE, 0.25), abs=6e-4
    )
    assert found == pytest.approx(formula, rel=0.02)


def test_the_engineers_window_and_her_two_spreads_are_the_librarys():
    (end,) = numbers(CHAPTER, r"window ends at about (\d+) epochs\n")
    assert end == pytest.approx(regimes.window_end(512, GAUSSIAN_EDGE, 1.0), abs=1)
    printed = numbers(CHAPTER, r"strays by (\S+)%\n.*one run strays by (\S+)%")
    one = np.sqrt(2) * regimes.independent_spread(65, 512, GAUSSIAN_EDGE, 1.0)
    assert printed == pytest.approx([100 * regimes.gaussian_spread(65, 512, 1.0), 100 * one], abs=0.5)


def test_the_long_run_ends_as_far_below_the_power_law_as_its_spectrum_says():
    scaled, chance = numbers(CHAPTER, r"d\^2 lambda_1 = (\S+); (\d+) % of the draws have a larger one")
    epochs, below = numbers(CHAPTER, r"after (\d+) epochs the loss is (\d+) times below the power law")
    values = spectrum.gram_eigenvalues(data.normalize_rows(data.gaussian(128, 128, rng=4)))
    assert scaled == pytest.approx(128**2 * values[0], abs=0.006)
    assert chance / 100 == pytest.approx(regimes.smallest_survival(values[0], 128), abs=0.006)
    expected = 1 / (exact.curve("iid", values, [int(epochs)]).test[-1] * np.sqrt(2 * np.pi * epochs))
    # one direction is left, and 16 squared components of random starts average to 1 ± 0.35
    assert expected / below == pytest.approx(1, abs=3 * np.sqrt(2 / 16))


def test_ten_draws_end_at_times_that_differ_by_more_than_two_orders_of_magnitude():
    first, last = numbers(CHAPTER, r"between n = (\S+) and (\S+)\n")
    assert "differ by more than two orders of magnitude" in prose(CHAPTER)
    assert last > 100 * first


def test_the_exercise_on_ranks_has_the_exponents_that_its_solution_states():
    paper, midpoint = numbers(CHAPTER, r"paper's convention (\S+), midpoint convention (\S+)\n")
    points = spectrum.MarchenkoPastur().quantile((np.arange(1, 513) - 0.5) / 512)
    assert paper == pytest.approx(spectrum.fit_edge(points).beta, abs=6e-5)
    said = numbers(CHAPTER, r"half a rank and gives ([\d.]+); the midpoint convention gives ([\d.]+) ", prose)
    assert said == pytest.approx([paper, midpoint], abs=5e-4)


def test_the_median_draw_and_both_tenths_need_the_epochs_of_edelmans_law():
    for name, above in (("lucky tenth", 0.1), ("median", 0.5), ("unlucky tenth", 0.9)):
        scaled, epochs = numbers(CHAPTER, rf"\b{name} d\^2 lambda_1 = (\S+), about (\S+) epochs\n")
        z = (np.sqrt(1 - 2 * np.log(above)) - 1) ** 2
        assert scaled == pytest.approx(z, abs=6e-4)
        t = 2 * epochs / 256**2
        below = np.exp(-z * t) * np.sqrt(
            np.pi * t
        )  # the last direction over the power law, a tenth at the end
        assert np.log(10 * below) == pytest.approx(0, abs=0.06 * z * t)  # epochs of two digits


def test_the_soft_edge_has_the_power_minus_three_halves():
    (slope,) = numbers(CHAPTER, r"slope of the loss without its exponential: (\S+)\n")
    assert slope == pytest.approx(-1.5, abs=0.03)


def test_beyond_the_window_one_more_row_or_complex_entries_change_the_power():
    powers = [
        numbers(CHAPTER, rf"{kind} expected loss beyond the window ~ t\^(\S+)\n")[0]
        for kind in ("real, m = d", r"real, m = d\+1", "complex, m = d")
    ]
    assert powers == [-0.5, -1.0, -1.0]
