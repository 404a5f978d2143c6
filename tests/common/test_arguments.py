import numpy as np
import pytest

from edgelaw._common import arguments


@pytest.mark.parametrize("bad", [None, -1, 1.5, "0", [1, 2]])
def test_a_seed_that_nobody_could_repeat_is_refused(bad):
    with pytest.raises(ValueError, match=r"rng must be .* seed"):
        arguments.generator(bad)


def test_a_generator_is_used_itself_and_a_seed_makes_the_same_one_twice():
    rng = np.random.default_rng(3)
    assert arguments.generator(rng) is rng
    assert arguments.generator(5).random() == arguments.generator(np.int64(5)).random()
    assert arguments.generator(np.random.SeedSequence(5)).random() == arguments.generator(5).random()


@pytest.mark.parametrize(
    ("bad", "complaint"),
    [
        ([[1.0, np.nan], [0, 1]], "finite"),
        ([[1.0, np.inf], [0, 1]], "finite"),
        ([[1.0, 2.0]], "at least 2 rows"),
        ([[1.0], [2.0]], "at least 2 rows"),
        ([1.0, 2.0], "2 dimension"),
        (np.zeros((2, 2, 2)), "2 dimension"),
        ([[1j, 0], [0, 1]], "real numbers"),
        ([["a", "b"], ["c", "d"]], "real numbers"),
        (np.array([[None, 1], [2, 3]]), "real numbers"),
        ([[1.0, 2.0], [3.0]], "rectangular"),
    ],
)
def test_a_bad_matrix_is_refused_in_one_sentence(bad, complaint):
    with pytest.raises(ValueError, match=complaint) as error:
        arguments.matrix(bad)
    message = str(error.value)
    assert message.startswith("X must")
    assert message.endswith(".")
    assert "\n" not in message


@pytest.mark.parametrize(
    ("given", "kept"), [(np.float32, np.float32), (np.float16, np.float64), (int, np.float64)]
)
def test_float32_is_kept_and_everything_else_becomes_float64(given, kept):
    assert arguments.matrix(np.ones((2, 2), dtype=given)).dtype == kept


@pytest.mark.parametrize("bad", [0, -3, 2.0, True, "2", None])
def test_a_count_must_be_a_true_integer(bad):
    with pytest.raises(ValueError, match="rows must be an integer of at least 1"):
        arguments.whole(bad, "rows", 1)


@pytest.mark.parametrize("bad", [0, 2, -1, np.nan, np.inf, "x", "1", b"1", None, 1j])
def test_a_number_must_lie_strictly_inside_its_interval(bad):
    with pytest.raises(ValueError, match="step must be a finite number strictly between 0 and 2"):
        arguments.number(bad, "step", 0, 2)
    assert arguments.number(1.999, "step", 0, 2) == 1.999


@pytest.mark.parametrize("bad", ["c", "A", "ab", "", None, 1, ["a"]])
def test_a_choice_must_be_one_of_the_words_which_the_refusal_lists(bad):
    assert arguments.choice("a", "letter", ("a", "b")) == "a"
    with pytest.raises(ValueError, match="letter must be one of 'a', 'b', not"):
        arguments.choice(bad, "letter", ("a", "b"))


@pytest.mark.parametrize("bad", [-1, 1.0, True, [1, -2], [[1], [1, 2]], "3", None])
def test_counts_are_non_negative_integers_of_any_shape(bad):
    assert arguments.counts([[0, 2], [3, 10**9]], "n").shape == (2, 2)
    assert arguments.counts(7, "n") == 7
    with pytest.raises(ValueError, match="n must be a non-negative integer or an array of them, not"):
        arguments.counts(bad, "n")


def test_eigenvalues_are_sorted_unless_their_sequence_matters_and_rounding_below_zero_is_zero():
    values = [2.0, -1e-15, 1.0]
    assert arguments.eigenvalues(values).tolist() == [0.0, 1.0, 2.0]
    assert arguments.eigenvalues(values, ascending=False).tolist() == [2.0, 0.0, 1.0]
    assert arguments.eigenvalues(np.float32([1, 3])).dtype == np.float64
    assert arguments.eigenvalues([], fewest=0).tolist() == []


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ([1.0], "at least 2 values, not 1"),
        ([1.0, -1e-9], "non-negative, but the smallest is -1e-09"),
        ([-1.0, -2.0], "non-negative, but the smallest is -2"),
        ([0.0, 0.0], "non-negative, and at least one of them positive"),
        ([1.0, np.inf], "finite"),
    ],
)
def test_bad_eigenvalues_are_refused_by_name(bad, words):
    with pytest.raises(ValueError, match=f"^lambdas must (be|hold) {words}"):
        arguments.eigenvalues(bad, "lambdas", nonzero=True)


def test_a_spectrum_has_different_values_of_mean_one_and_their_shares():
    values, shares = arguments.spectrum([4.0, 0.0, 4.0, -1e-16])
    assert values.tolist() == [0.0, 2.0]
    assert shares.tolist() == [0.5, 0.5]
    values, shares = arguments.spectrum([3.0, 1.0], weights=[1.0, 3.0])  # weights follow their eigenvalues
    assert values == pytest.approx([2 / 3, 2])
    assert shares.tolist() == [0.75, 0.25]


def test_how_small_an_eigenvalue_of_a_spectrum_may_be_is_said():
    assert arguments.spectrum([1e-20, 1.0])[0][0] == 0
    assert arguments.spectrum([1e-20, 1.0], smallest=1e-100)[0][0] > 0
