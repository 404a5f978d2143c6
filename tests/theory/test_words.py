"""Traces of words as exact polynomials in free cumulants: counts, small cases by hand, formulas, matrices."""

import itertools
from fractions import Fraction
from math import comb, factorial

import numpy as np
import pytest

from edgelaw import exact
from edgelaw.theory.free import words

GENERIC = [Fraction(x) for x in (1, 3, -2, 5, 7, -11, 13, 2, -3, 4, 5, -6, 7, 8, 9, 1)]


def crossing(partition):
    """Whether two blocks cross, by the definition."""
    for one, other in itertools.permutations(partition, 2):
        for a, c in itertools.combinations(one, 2):
            if any(a < b < c < d for b, d in itertools.combinations(other, 2)):
                return True
    return False


def all_partitions(size):
    """All partitions of 0, …, size − 1, crossing ones too."""
    if size == 0:
        return [()]
    smaller = all_partitions(size - 1)
    joined = [(*part[:i], (*part[i], size - 1), *part[i + 1 :]) for part in smaller for i in range(len(part))]
    return joined + [(*part, (size - 1,)) for part in smaller]


@pytest.mark.parametrize("size", range(1, 8))
def test_noncrossing_partitions_are_those_of_the_definition_and_catalan_many(size):
    by_definition = {tuple(sorted(p)) for p in all_partitions(size) if not crossing(p)}
    assert {tuple(sorted(p)) for p in words.noncrossing(size)} == by_definition
    assert len(words.noncrossing(size)) == comb(2 * size, size) // (size + 1)


@pytest.mark.parametrize("size", range(1, 7))
def test_the_kreweras_complement_is_the_coarsest_that_crosses_nothing(size):
    for partition in words.noncrossing(size):
        even = [tuple(2 * x for x in block) for block in partition]
        fits = [
            other
            for other in words.noncrossing(size)
            if not crossing([*even, *(tuple(2 * x + 1 for x in block) for block in other)])
        ]
        coarsest = min(fits, key=len)
        assert sorted(words.kreweras(partition)) == sorted(coarsest)
        assert len(partition) + len(coarsest) == size + 1


def test_free_cumulants_of_known_laws():
    semicircle = [Fraction(x) for x in (0, 1, 0, 2, 0, 5)]
    assert words.free_cumulants(semicircle) == [0, 1, 0, 0, 0, 0]
    atoms = [(Fraction(2, 5) ** k + Fraction(8, 5) ** k) / 2 for k in range(1, 5)]
    assert words.free_cumulants(atoms) == [1, Fraction(9, 25), 0, -(Fraction(9, 25) ** 2)]


@pytest.mark.parametrize("length", range(1, 7))
def test_a_descending_walk_has_one_order_of_all(length):
    assert words.trace("L" * length + "K") == {(length + 1,): Fraction(1, factorial(length + 1))}


@pytest.mark.parametrize("word", ["K", "KK", "KLK", "TKLK", "KKKK", "LKTK"])
def test_a_gram_matrix_is_its_two_triangles_and_its_unit_diagonal(word):
    """Replace one K by L + T + 1: the trace stays, exactly."""
    place = word.index("K")
    replaced = [word[:place] + middle + word[place + 1 :] for middle in ("L", "T", "")]
    total = sum(words.evaluate(words.trace(w), GENERIC) if w else 1 for w in replaced)
    assert words.evaluate(words.trace(word), GENERIC) == total


@pytest.mark.parametrize("rho", [Fraction(1, 2), Fraction(1), Fraction(2)])
@pytest.mark.parametrize("n", [1, 2])
def test_the_formulas_have_the_coefficients_of_the_words(n, rho):
    for order, factors in (("single_shuffle", "A" * n + "B" * n), ("flip_flop", "BA" * n)):
        test, train = words.formulas(order, n, 5, GENERIC, rho)
        assert test[0] == train[0] == 1
        for k in range(1, 6):
            assert test[k] == rho * words.evaluate(words.losses(factors, k), GENERIC)
            assert train[k] == words.evaluate(words.losses("S" + factors, k), GENERIC)


def test_another_average_would_be_noticed():
    """With κ_i in the place of ρ^(1−i) κ_i the coefficients differ from the second power on."""
    rho = Fraction(2)
    scaled = [rho ** (i - 1) * x for i, x in enumerate(GENERIC, start=1)]
    test, _ = words.formulas("single_shuffle", 1, 3, scaled, rho)
    right = [rho * words.evaluate(words.losses("AB", k), GENERIC) for k in (1, 2, 3)]
    assert test[1] == right[0]
    assert test[2] != right[1]
    assert test[3] != right[2]


def test_reversing_the_order_changes_no_training_loss_of_flip_flop():
    for n, k in itertools.product((1, 3), range(1, 5)):
        assert words.losses("S" + "BA" * n, k) == words.losses("S" + "AB" * n, k)


@pytest.mark.parametrize("rho", [Fraction(1, 2), Fraction(2)])
def test_one_reshuffled_epoch_has_the_coefficients_of_the_words(rho):
    table = words.reshuffled(3, 1, GENERIC, rho)
    for i, j, k in itertools.product(range(2), range(2), range(4)):
        word = words.losses("S" * i + "A" + "S" * j + "B", k)
        assert table[i][j][k] == rho * words.evaluate(word, GENERIC) + (i == j == k == 0)


def test_words_are_those_of_haar_matrices():
    """Mean over 40 draws within 4 standard errors and 3/m, at m = 200; the standard error is at most 0.002."""
    rng, size = np.random.default_rng(0), 200
    values = np.repeat([0.4, 1.6], size // 2)
    cumulants = words.free_cumulants([np.mean(values**k) for k in range(1, 7)])
    chosen, seen = ("LTLT", "LLTK", "LTTLK"), []
    for _ in range(40):
        basis, triangle = np.linalg.qr(rng.standard_normal((size, size)))
        basis *= np.sign(np.diag(triangle))
        K = (basis * values) @ basis.T
        K /= np.sqrt(np.outer(np.diag(K), np.diag(K)))
        L = np.tril(K, -1)
        letters = {"K": K, "L": L, "T": L.T}
        seen.append([np.trace(np.linalg.multi_dot([letters[x] for x in w])) / size for w in chosen])
    mean, error = np.mean(seen, axis=0), np.std(seen, axis=0, ddof=1) / np.sqrt(40)
    truth = [float(words.evaluate(words.trace(w), cumulants)) for w in chosen]
    assert error.max() < 0.002
    assert (np.abs(mean - truth) < 4 * error + 3 / size).all()


def fourth_power():
    """|(I + 2L)² o|² as a polynomial."""
    terms = {(): Fraction(1)}
    for i, j in itertools.product(range(3), range(3)):
        if i + j:
            for key, value in words.at_zero("T" * i + "L" * j).items():
                terms[key] = terms.get(key, 0) + (1, 4, 4)[i] * (1, 4, 4)[j] * value
    return terms


def test_the_rational_numbers_of_flip_flops_training_constant_are_volumes():
    expected = {(): (7, 15), (2,): (44, 15), (3,): (8, 5), (2, 2): (32, 15), (4,): (8, 15)}
    assert fourth_power() == {key: Fraction(*value) for key, value in expected.items()}
    sigma, step = np.array([0.3, 0.9, 1.8]), 0.8
    sigma /= sigma.mean()
    a = 1 / step - 0.5
    cumulants = [np.mean(sigma**k) for k in range(1, 5)]
    square = sum(float(v) * np.prod([cumulants[s - 1] for s in key]) for key, v in fourth_power().items())
    skew = (1 + 2 * cumulants[1]) / 3  # |(I + 2L) o|²
    length, B = a**4 + a**2 * skew / 2 + square / 16, a**2 + skew / 4
    test, train = exact.constants("flip_flop", sigma, step)
    assert train / test == pytest.approx(length / (2 * a * B) / 2, rel=1e-12)


def test_a_vector_of_the_slow_space_sees_the_sum_of_the_triangles_as_minus_one():
    assert words.at_zero("L") == words.at_zero("T") == {(): Fraction(-1, 2)}
    twice = {}  # (L + T)² o = o
    for pair in ("LL", "LT", "TL", "TT"):
        for key, value in words.at_zero(pair).items():
            twice[key] = twice.get(key, 0) + value
    assert {key: value for key, value in twice.items() if value} == {(): 1}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: words.noncrossing(13), "between 0 and 12"),
        (lambda: words.trace("LX"), "letters K, L and T"),
        (lambda: words.trace(""), "1 to 11 letters"),
        (lambda: words.at_zero("LK"), "letters L and T"),
        (lambda: words.losses("AC", 2), "letters A, B and S"),
        (lambda: words.losses("A", 12), "order must be between 0 and 11"),
        (lambda: words.evaluate({(3,): Fraction(1)}, [1, 2]), "at least 3 entries"),
        (lambda: words.formulas("iid", 1, 2, GENERIC, Fraction(1)), "'single_shuffle' or 'flip_flop'"),
        (lambda: words.formulas("flip_flop", 1, 5, GENERIC[:3], Fraction(1)), r"most \+ 1 in number"),
        (lambda: words.reshuffled(3, 1, GENERIC[:4], Fraction(1)), "entries"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()
