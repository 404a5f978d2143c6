"""The audit of Appendix A: what it prints of the lemma, the regimes and the six sources, against laws and sentences."""

import numpy as np
import pytest
from outputs import numbers, prose, table
from scipy.special import gamma, gammaincc

from edgelaw import data, kaczmarz, spectrum
from edgelaw.theory import gradient_descent, regimes

CHAPTER = "appendix_auditing_appendix_a"


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
