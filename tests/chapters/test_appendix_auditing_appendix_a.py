"""The audit of Appendix A: what it prints of the lemma, the regimes and the six sources, against laws and sentences."""

import re

import numpy as np
import pytest
from outputs import numbers, prose, table, text
from scipy.special import gamma, gammaincc

from edgelaw import data, exact, kaczmarz, spectrum
from edgelaw.theory import gradient_descent, regimes

CHAPTER = "appendix_auditing_appendix_a"
GAUSSIAN_EDGE = spectrum.MarchenkoPastur().edge
DESIGNS = (
    "Gaussian",
    "spherical",
    "designed, beta 0.3",
    "designed, beta 0.75",
    "CIFAR-10 embeddings",
    "Wikipedia embeddings",
)


def test_between_two_power_laws_the_loss_has_no_limit():
    """√t times it is the Laplace transform of a complex power, whose phase keeps turning."""
    found = []
    for t in (1000, 8000):
        (printed,) = numbers(CHAPTER, rf"t = {t}: sqrt\(t\) \* loss = (\S+)")
        exact = gamma(1.5) + (0.2 * gamma(1.5 + 1.5j) * np.exp(-1.5j * np.log(t))).imag
        assert printed == pytest.approx(exact, abs=1.5e-3)
        found.append(printed)
    assert found[0] - found[1] > 0.05


def test_bounds_on_the_spectrum_are_bounds_on_the_loss():
    wide = numbers(CHAPTER, r"0\.8 to 1\.2 times sqrt loss / law: (\S+) (\S+) (\S+)")
    pure = numbers(CHAPTER, r"F = sqrt loss / law: (\S+) (\S+) (\S+)")
    assert 0.8 < min(wide) < max(wide) < 1.2
    assert 0.98 < pure[0] < pure[1] < pure[2] <= 1


def test_the_papers_first_two_inequalities_hold_where_the_cut_lies_inside():
    inside, beyond = numbers(
        CHAPTER, r"H3: holds in (\S+)% of the cases with δ <= 1, in (\S+)% of the others"
    )
    assert inside == 100 > beyond
    assert numbers(CHAPTER, r"H4: holds in (\S+)% of the cases\n") == [100]


def test_the_papers_example_of_a_cut_is_one_of_few_that_serve():
    rows = np.array([row[-4:] for row in table(CHAPTER, "R^(b+2)/n      n^b e^-R")])
    n = np.array([1e3, 1e6, 1e9, 1e12])
    wide, slow = n**0.6, np.log(np.log(n))
    good = 1.5 * np.log(n)
    by_hand = wide**2.5 / n, n**0.5 * np.exp(-slow), good**2.5 / n, n**0.5 * np.exp(-good)
    assert rows == pytest.approx(np.transpose(by_hand), rel=0.05)
    assert (np.diff(rows[:, :2], axis=0) > 0).all()
    assert (np.diff(rows[:, 2:], axis=0) < 0).all()


def test_the_variance_is_below_its_bound():
    for n in (100, 10_000):
        variance, bound, scaled = numbers(
            CHAPTER, rf"n = {n}: variance of xi (\S+) <= bound (\S+) = (\S+) \(eta n\)\^-b"
        )
        assert variance < bound
        assert scaled == pytest.approx(bound * (0.8 * n) ** 0.5, abs=0.006)


def test_the_incomplete_gamma_function_is_below_its_polynomial():
    R = np.linspace(0, 60, 500)
    for b in (0.3, 0.5, 1.5, 2.5):
        whole = int(np.ceil(b))
        polynomial = sum(gamma(whole + 1) / gamma(j + 1) * R**j for j in range(whole + 1))
        assert (gamma(b + 1) * gammaincc(b + 1, R) <= np.exp(-R) * (1 + polynomial)).all()


def test_independent_eigenvalues_have_the_mean_the_spread_and_the_smallest_value_of_the_theorem():
    """20,000 samples: standard errors follow from the spread that is printed; beside them 2 % for 100 eigenvalues."""
    for kappa, mean, spread, above, weibull in table(CHAPTER, "mean / law   spread / mean"):
        assert abs(mean - 1) < 4 * spread / np.sqrt(20_000) + 0.02
        assert spread == pytest.approx(np.sqrt(np.sqrt(0.4) * kappa / gamma(1.5)), rel=0.08)
        assert weibull == pytest.approx(np.exp(-1 / kappa), abs=2e-3)
        assert abs(above - weibull) < 4 * np.sqrt(weibull * (1 - weibull) / 20_000) + 1e-3


def test_a_doubled_smallest_eigenvalue_doubles_the_loss():
    simple, doubled = numbers(CHAPTER, r"loss / claimed: simple (\S+), doubled (\S+)")
    assert simple == pytest.approx(1, abs=0.1)
    assert doubled == pytest.approx(2, abs=0.2)


def test_five_steps_of_the_proof_have_the_counterexamples_that_are_printed():
    gap, cut, value = numbers(CHAPTER, r"H10: gap (\S+) <= T/n = (\S+), but the eigenvalue is (\S+) >")
    assert gap <= cut < value
    r, middle, again, last, same, right = numbers(
        CHAPTER, r"H11: (\S+) <= (\S+) holds, (\S+) <= (\S+) does not; (\S+) <= (\S+) does\n"
    )
    assert middle == again == same
    assert last < r <= middle <= right
    assert numbers(CHAPTER, r"H12: 2\|1 - 1\.7\| = (\S+), not below 1")[0] > 1
    least = numbers(CHAPTER, r"H13: T must be at least (\S+), (\S+), (\S+) at d")
    assert least == sorted(least)
    true, claimed = numbers(CHAPTER, r"H14: odd n and ηλ > 1: (\S+) is not (\S+)")
    assert claimed > true


def test_the_smallest_eigenvalue_of_matrices_follows_edelman_and_not_weibull():
    edelman, weibull, chance = numbers(
        CHAPTER, r"of the distributions: Edelman (\S+), Weibull (\S+) chance alone: (\S+);"
    )
    assert chance == round(1.36 / np.sqrt(20_000), 3)
    assert edelman < 1.63 / np.sqrt(20_000) + 0.25 / 24  # one per cent of chance, and O(1/d) of the law
    assert weibull > 10 * edelman


def test_the_mean_over_gaussian_draws_leaves_the_power_law_as_theory_says():
    (apart,) = numbers(
        CHAPTER, r"theory and mean differ by at most (\S+)% where the standard error is below 0.5 %"
    )
    assert apart < 0.5
    far, limit = numbers(CHAPTER, r"the mean is (\S+) times the power law; pi/2 = (\S+)")
    assert limit == round(np.pi / 2, 2)
    assert 1.3 < far < limit


@pytest.fixture(scope="module")
def predictors():
    """Three predictors of the Gaussian design over its exact test loss, at epochs below 1000."""
    d, step, n = 256, 0.3, np.unique(np.geomspace(10, 4000, 40).astype(int))
    n = n[n < 1000]
    values = spectrum.gram_eigenvalues(data.gaussian(d, d, rng=1))
    edge = spectrum.EdgeFit(beta=0.5, Q=2 / np.pi)
    exact = gradient_descent.curve(values, n, step)
    paper = regimes.gap_and_atom(n, edge, values[0], 1 / d, step)
    atoms = regimes.atoms_and_edge(n, edge, values[:8], d, step)
    return np.array([edge.laplace(2 * step * n), paper[0], atoms[0]]) / exact.test[1:]


def test_inside_the_window_the_papers_correction_is_worse_than_none(predictors):
    assert "worse on average than no correction inside the window ($n < 1000$)" in prose(CHAPTER)
    law, paper, _ = np.abs(predictors - 1).mean(axis=1)
    assert paper > law


def test_eight_atoms_and_the_edge_stay_within_the_per_cents_of_the_text():
    (within,) = numbers(CHAPTER, r"a mass-conserving edge stay within (\S+) % in all three cases", prose)
    for case in ("Gaussian, m = d", r"lambda_0 = 0\.02, beta = 1\.5", r"lambda_0 = 0\.1, beta = 0\.75"):
        paper, atoms = numbers(CHAPTER, case + r" [^%]*% (\S+)% (\S+)%")
        assert atoms < within
        assert paper > 3 * atoms
    off = numbers(CHAPTER, r"training, Gaussian, m = d (\S+)% (\S+)%")
    assert off == pytest.approx([10, 10], abs=3)  # about a tenth


def test_a_fit_finds_less_than_the_exponent_of_the_soft_edge():
    values = spectrum.MarchenkoPastur(2.0).quantile((np.arange(1000) + 0.5) / 1000)
    for quantile, start, beta in table(CHAPTER, "left fraction   lambda_0    beta"):
        found = spectrum.fit_shifted_edge(values, quantile)
        assert [start, beta] == [round(float(found.lambda_0), 4), round(float(found.beta), 2)]
        assert beta < 1.4


def test_the_left_edges_of_the_six_sources_are_those_of_the_text():
    betas = [
        numbers(CHAPTER, rf"{name} (?:none|\S+) \S+ (\d\.\d\d)\n")[0]
        for name in (
            "1. rows scaled by SGD iterates",
            "Cauchy entries",
            "1/f noise",
            r"differenced noise, f\^3",
        )
    ]
    assert betas[:2] == numbers(CHAPTER, r"\(fitted: (\S+) and (\S+)\)", prose)
    assert betas[:3] == pytest.approx([0.5] * 3, abs=0.06)
    assert betas[3] == pytest.approx(1 / 3, abs=0.01)


def test_neural_tangent_kernels_have_their_power_laws_at_the_right_and_d_minus_one_at_the_left():
    for dim in (2, 3):
        decay, law, beta, left, paper = numbers(CHAPTER, rf"R\^{dim}" + r" (\S+)" * 5)
        assert [law, left, paper] == [round(dim / (dim - 1), 2), dim - 1, round(1 / (dim + 1), 2)]
        assert decay == pytest.approx(law, abs=0.25)
        assert beta == pytest.approx(left, abs=0.35)
        assert abs(beta - left) < abs(beta - paper) / 3


def test_the_exponents_of_a_soft_edge_and_of_a_cusp_are_those_of_the_integral():
    soft, cusp = numbers(CHAPTER, r"exponent of F at a soft edge (\S+), at a cusp (\S+)")
    assert [soft, cusp] == [1.5, round(4 / 3, 3)]


def test_flip_flops_loss_is_the_trace_that_the_exercise_asks_for():
    U = data.normalize_rows(data.gaussian(30, 30, rng=0)) / np.sqrt(30)
    A = kaczmarz.epoch_matrix(U, 0.7)
    for n in (2, 3, 4, 5):
        loss, trace = numbers(CHAPTER, rf"n = {n}: loss (\S+), trace (\S+)")
        assert loss == trace == pytest.approx(np.trace(np.linalg.matrix_power(A.T @ A, n)) / 30, abs=1e-6)


def test_the_distance_of_matrices_from_their_law_is_two_to_three_over_d():
    assert "The distance is two to three times $1/d$ at these sizes" in prose(CHAPTER)
    found = [
        numbers(CHAPTER, rf"d = {d}: d times the largest distance is (\S+)\n")[0] for d in (64, 256, 1024)
    ]
    assert 2 <= found[0] < found[1] < found[2] <= 3


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


def test_beyond_the_window_one_more_row_or_complex_entries_change_the_power():
    powers = [
        numbers(CHAPTER, rf"{kind} expected loss beyond the window ~ t\^(\S+)\n")[0]
        for kind in ("real, m = d", r"real, m = d\+1", "complex, m = d")
    ]
    assert powers == [-0.5, -1.0, -1.0]


def prose_of_chapter_2(_):
    """Where the constants of the gap are said again, in an exercise."""
    return prose("02_iid_theorem")


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
    constants = numbers(
        CHAPTER, r"with constants ([\d.]+) \(test\) and ([\d.]+) \(training\)", prose_of_chapter_2
    )
    for d in (64, 128, 256):
        assert numbers(CHAPTER, rf"d = {d}: (\S+) and (\S+)\n") == pytest.approx(constants, abs=0.011)


def test_the_theorems_laws_are_met_at_a_thousand_epochs_better_than_at_thirty():
    rows = re.findall(r"beta [\d.]+ +step [\d.]+ +(\S+) +(\S+) +(\S+) +(\S+)\n", text(CHAPTER))
    ratios = np.array(rows, dtype=float)
    assert ratios.shape == (10, 4)
    for early, late in ratios.T.reshape(
        2, 2, 10
    ):  # the error falls at least as fast as 1/n, but for the digits
        assert (np.abs(late - 1) < 0.03 * (early - 1) * 1.05 + 1e-4).all()


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
    for _, clean, later, noisy, floor in table(CHAPTER, "step   consistent, n = 20"):
        assert later < 0.2 * clean
        assert floor > 0.5 * noisy
        floors.append(floor)
    assert floors[1] > 5 * floors[0]


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
