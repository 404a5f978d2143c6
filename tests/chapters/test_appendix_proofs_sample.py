"""Proofs III: partitions and free cumulants counted, and the powers of d and the percents that the page prints."""

from fractions import Fraction

import numpy as np
import pytest
from outputs import numbers, prose, table, text

from edgelaw.theory import flip_flop, single_shuffle
from edgelaw.theory.free import words

CHAPTER = "appendix_proofs_sample"
ATOMS = {"1": ("0.4", "1.6"), "2": ("0", "0", "1.6", "2.4")}  # by aspect ratio


@pytest.mark.parametrize("size", range(1, 8))
def test_a_partition_and_its_complement_have_one_block_more_than_letters(size):
    partitions = words.noncrossing(size)
    assert all(len(one) + len(words.kreweras(one)) == size + 1 for one in partitions)
    assert len(partitions) == numbers(CHAPTER, "non-crossing partitions:" + r" (\d+)" * 7)[size - 1]


@pytest.mark.parametrize("rho", ATOMS)
def test_two_atoms_come_from_no_covariance(rho):
    atoms = [Fraction(atom) for atom in ATOMS[rho]]
    cumulants = words.free_cumulants([sum(atom**k for atom in atoms) / len(atoms) for k in range(1, 9)])
    average = [Fraction(1), *(Fraction(rho) ** (1 - i) * kappa for i, kappa in enumerate(cumulants, 1))]
    hankel = average[1] * average[3] - average[2] ** 2
    line = (
        f"ρ = {rho}: <λ²>, <λ³>, <λ⁴> = {average[2]} {average[3]} {average[4]} ; <λ><λ³> − <λ²>² = {hankel}\n"
    )
    assert line in text(CHAPTER)
    assert hankel < 0  # a covariance would have none below zero, by Cauchy and Schwarz
    assert all(abs(kappa) <= (6 * max(atoms)) ** i for i, kappa in enumerate(cumulants, 1))


def test_words_in_matrices_have_the_mean_of_their_polynomial():
    """Forty matrices of 240 rows; the page prints three digits, and the polynomial is the limit."""
    moments = [np.mean(np.array([0.4, 1.6]) ** k) for k in range(1, 7)]
    cumulants = words.free_cumulants(moments)
    for word in ("LTLT", "LLTK", "LTTLK"):
        polynomial, mean = numbers(
            CHAPTER, rf"{word} polynomial (\S+), mean of 40 matrices of 240 rows (\S+)"
        )
        assert polynomial == round(float(words.evaluate(words.trace(word), cumulants)), 3)
        assert abs(mean - polynomial) <= 3 / 240


def test_all_coefficients_of_the_page_are_equal_as_fractions():
    assert "216 of 216 coefficients are equal as fractions" in text(CHAPTER)
    assert "random reshuffle's transform: 40 of 40 coefficients are equal as fractions" in text(CHAPTER)


@pytest.mark.parametrize("rho", [Fraction(1, 2), Fraction(2)])
def test_at_a_small_step_the_coefficients_add_up_to_the_closed_forms_of_isotropic_rows(rho):
    cumulants, step = [rho ** (i - 1) for i in range(1, 12)], 0.003
    for theory, order in ((single_shuffle, "single_shuffle"), (flip_flop, "flip_flop")):
        test, train = (
            sum(float(c) * step**k for k, c in enumerate(series))
            for series in words.formulas(order, 2, 6, cumulants, rho)
        )
        assert test == pytest.approx(theory.test_loss(2, step, float(rho)), abs=1e-10)
        assert train == pytest.approx(theory.train_loss(2, step, float(rho)), abs=1e-10)


def test_deviations_fall_like_one_over_d():
    """The next term, of order 1/d², is seen too, as the text says: 0.2 beside the standard error."""
    for rho in ("0.5", "1", "2"):
        for loss in ("single shuffle, test", "single shuffle, training", "flip-flop, training"):
            slope, error = numbers(CHAPTER, rf"ρ = {rho}, {loss} (\S+) ± (\S+)")
            assert error < 0.2
            assert abs(slope + 1) < 3 * error + 0.2


def test_iids_deviation_is_of_order_one_over_d():
    rows = np.array(table(CHAPTER, "test: d = 20, 40, 80, 160"))
    assert rows[:, 0].tolist() == [0.5, 1, 2]
    scaled = rows[:, 1:].reshape(3, 2, 4)
    assert np.ptp(scaled, axis=-1).max() <= 0.01 + 1e-9  # the last digit that is printed
    assert (scaled < 0).all()


def test_matrices_tend_to_the_formula_where_no_mass_escapes_and_come_nearer_where_it_does():
    for kind in ("Pareto tail: converges", "1/j: measured only"):
        for loss in ("test", "training"):
            gaps = np.abs(numbers(CHAPTER, rf"{kind} {loss} (\S+), (\S+), (\S+)\n"))
            assert (np.diff(gaps) < 0).all()
            assert gaps.max() < 20
            if "Pareto" in kind:
                assert gaps[-1] < 1


def test_the_formulas_converge_as_the_cut_of_the_pareto_law_rises():
    found = np.array(
        numbers(CHAPTER, r"10: (\S+) and (\S+), 30: (\S+) and (\S+), 100: (\S+) and (\S+)\n")
    ).reshape(3, 2)
    first, second = np.diff(found, axis=0)
    assert (np.abs(second) <= np.abs(first)).all()
    assert "these formulas are a Cauchy sequence" in prose(CHAPTER)


def test_deviations_from_the_formulas_at_own_eigenvalues_fall():
    for kind, share in (("signs", 0.5), ("signs, some basis vectors", 0.8), ("no limit, reshuffled", 0.8)):
        rms = numbers(CHAPTER, rf"\n{kind} +(\d\S+) +(\S+) +(\S+)\n")
        assert rms[2] < share * rms[0]
        assert max(rms) < 5  # thousandths
