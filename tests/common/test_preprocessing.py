"""Preprocessing does what the paper says in the paper's order, and refuses what it must."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgelaw.data import preprocess


def sentence(excinfo):
    """The message of an exception, checked to be one sentence."""
    message = str(excinfo.value)
    assert message
    assert "\n" not in message
    return message


@pytest.fixture(scope="module")
def features():
    """200 anisotropic rows of 60 columns with a large mean, as embeddings have."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(200, 60)) * np.arange(1, 61) ** -0.7 + 3.0


def test_the_steps_are_subsample_project_centre_normalise_in_that_order(features):
    made = preprocess(features, 32, 24, rng=5)
    rng = np.random.default_rng(5)
    rows = rng.choice(200, 32, replace=False)
    by_hand = features[rows] @ rng.standard_normal((60, 24)) / np.sqrt(24)
    by_hand = by_hand - by_hand.mean(axis=0)
    by_hand = by_hand / np.linalg.norm(by_hand, axis=1, keepdims=True) * np.sqrt(24)
    np.testing.assert_allclose(made.X, by_hand, rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(made.rows, rows)
    assert [step.split()[0] for step in made.steps] == ["Chose", "Projected", "Subtracted", "Scaled"]


def test_a_case_done_by_hand():
    made = preprocess([[1, 0], [3, 0], [2, 3]], None, None, rng=0)
    root = np.sqrt(2)
    expected = [[-1 / root, -1 / root], [1 / root, -1 / root], [0, 1]] * np.full((3, 1), root)
    np.testing.assert_allclose(made.X, expected, atol=1e-15)  # mean row (2, 1); the rest is two unit vectors
    assert made.null == 0
    assert made.rows.tolist() == [0, 1, 2]
    assert made.steps[0] == "Kept all 3 rows in their order."


def test_rows_have_norm_root_d_and_the_mean_eigenvalue_is_one(features):
    X = preprocess(features, 40, 30, rng=1).X
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), np.sqrt(30), rtol=1e-13)
    assert np.trace(X.T @ X / 40) == pytest.approx(30, rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_centring_with_m_equal_d_leaves_exactly_one_null_eigenvalue_after_row_scaling(features, seed):
    made = preprocess(features, 50, 50, rng=seed)
    eigenvalues = np.linalg.eigvalsh(made.X.T @ made.X / 50)
    assert made.null == 1
    assert abs(eigenvalues[0]) < 1e-13
    assert eigenvalues[1] > 1e-8
    assert np.linalg.matrix_rank(made.X) == 49


def test_row_scaling_destroys_the_zero_mean_but_not_the_dependence_of_the_rows(features):
    centred = preprocess(features, 50, 50, rng=0, normalize=False).X
    scaled = preprocess(features, 50, 50, rng=0).X
    scale = np.linalg.norm(scaled, axis=1) / np.linalg.norm(centred, axis=1)
    assert np.abs(centred.sum(axis=0)).max() < 1e-12
    assert np.abs(scaled.sum(axis=0)).max() > 0.1
    assert np.abs((1 / scale) @ scaled).max() < 1e-11


def test_without_centring_there_is_no_null_direction(features):
    made = preprocess(features, 50, 50, rng=0, center=False)
    assert made.null == 0
    assert np.linalg.eigvalsh(made.X.T @ made.X / 50)[0] > 1e-8
    assert not any("mean" in step for step in made.steps)


@settings(max_examples=40, deadline=None)
@given(m=st.integers(2, 30), d=st.integers(2, 30), center=st.booleans(), seed=st.integers(0, 10**6))
def test_null_counts_the_zero_eigenvalues_for_any_shape(m, d, center, seed):
    X = np.random.default_rng(seed).normal(size=(40, 35)) + 1.0
    made = preprocess(X, m, d, rng=seed, center=center, normalize=False)
    assert made.null == d - np.linalg.matrix_rank(made.X)


def test_without_normalisation_the_rows_keep_their_own_lengths(features):
    made = preprocess(features, 50, None, rng=0, normalize=False)
    np.testing.assert_allclose(made.X, features[made.rows] - features[made.rows].mean(axis=0))
    assert made.steps[1] == "Kept all 60 columns, without a projection."


def test_the_projection_preserves_squared_norms_on_average():
    X = np.random.default_rng(0).normal(size=(2, 50))
    ratios = [
        (preprocess(X, None, 40, rng=seed, center=False, normalize=False).X ** 2).sum() / (X**2).sum()
        for seed in range(400)
    ]
    error = np.std(ratios) / np.sqrt(len(ratios))
    assert error < 0.01
    assert abs(np.mean(ratios) - 1) < 3 * error


def test_rows_are_distinct_and_every_row_can_be_chosen(features):
    made = preprocess(features, 200, 10, rng=0)
    assert sorted(made.rows) == list(range(200))
    assert list(made.rows) != list(range(200))


def test_the_same_seed_gives_the_same_matrix_and_another_seed_another(features):
    first, again, other = (preprocess(features, 20, 20, rng=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.X, again.X)
    assert not np.array_equal(first.X, other.X)
    assert first.steps[0].endswith("(seed 3).")


def test_a_generator_is_used_and_advanced_and_no_seed_is_claimed(features):
    rng = np.random.default_rng(3)
    first, second = preprocess(features, 20, 20, rng), preprocess(features, 20, 20, rng)
    np.testing.assert_array_equal(first.X, preprocess(features, 20, 20, rng=3).X)
    assert not np.array_equal(first.X, second.X)
    assert "seed" not in "".join(first.steps)


def test_the_input_is_not_changed_and_float16_is_computed_in_float64(features):
    X = features.astype(np.float16)
    before = X.copy()
    made = preprocess(X, 30, 20, rng=0)
    np.testing.assert_array_equal(X, before)
    assert made.X.dtype == np.float64
    np.testing.assert_array_equal(made.X, preprocess(before.astype(np.float64), 30, 20, rng=0).X)
    whole = np.array(before, dtype=np.float64)
    preprocess(whole, None, None, rng=0)
    np.testing.assert_array_equal(whole, before.astype(np.float64))


GOOD = np.random.default_rng(0).normal(size=(10, 6))


@pytest.mark.parametrize(
    ("X", "rows", "dims", "rng", "words"),
    [
        (np.where(np.eye(10, 6) > 0, np.nan, GOOD), 4, 4, 0, "NaN"),
        (np.where(np.eye(10, 6) > 0, np.inf, GOOD), 4, 4, 0, "infinity"),
        (GOOD * 1e120, 4, 4, 0, "below 1e+100"),
        (GOOD.astype(complex), 4, 4, 0, "real numbers"),
        (GOOD[0], 4, 4, 0, r"(shape (6,))"),
        (GOOD[:1], 4, 4, 0, "not shape (1, 6)"),
        (GOOD, 11, 4, 0, "at most the 10"),
        (GOOD, 1, 4, 0, "rows must be an integer of at least 2"),
        (GOOD, 4.0, 4, 0, "rows must be an integer"),
        (GOOD, True, 4, 0, "rows must be an integer"),
        (GOOD, 4, 7, 0, "at most the 6 columns"),
        (GOOD, 4, 1, 0, "dims must be an integer of at least 2"),
        (GOOD, 4, 4, None, "rng must be"),
        (GOOD, 4, 4, -1, "rng must be"),
        (np.ones((10, 6)), 4, 4, 0, "equals the mean row"),
        ([[0, 0], [2, 2], [1, 1]], None, None, 0, "Row 2 of X equals the mean row"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(X, rows, dims, rng, words):
    with pytest.raises(ValueError, match=re.escape(words)) as excinfo:
        preprocess(X, rows, dims, rng)
    sentence(excinfo)


def test_what_rounding_leaves_of_equal_rows_is_not_blown_up_to_norm_root_d():
    X = np.tile([0.1, 0.7, 0.3], (10, 1))
    left = preprocess(X, None, None, rng=0, normalize=False).X
    assert 0 < np.abs(left).max() < 1e-15  # not exactly zero
    with pytest.raises(ValueError, match="equals the mean row"):
        preprocess(X, None, None, rng=0)


def test_a_zero_row_is_refused_only_where_rows_are_normalised():
    X = np.vstack([np.zeros(6), GOOD])
    with pytest.raises(ValueError, match="Row 0 of X is zero") as excinfo:
        preprocess(X, None, None, rng=0, center=False)
    sentence(excinfo)
    assert preprocess(X, None, None, rng=0, center=False, normalize=False).X.shape == (11, 6)


@pytest.mark.parametrize("size", [1e-90, 1e-160, 1e-200, 1e-300])
@pytest.mark.parametrize("center", [True, False])
def test_numbers_of_any_small_size_are_scaled_without_vanishing(features, size, center):
    made = preprocess(features * size, None, None, rng=0, center=center)
    np.testing.assert_allclose(
        made.X, preprocess(features, None, None, rng=0, center=center).X, rtol=1e-9, atol=1e-10
    )


def test_a_short_row_is_not_called_zero_unless_it_is():
    rows = np.eye(4) * [[1e-30], [1.0], [1e-250], [1e-310]]
    made = preprocess(rows, None, None, rng=0, center=False)
    np.testing.assert_allclose(made.X, 2 * np.eye(4), rtol=1e-12)
    with pytest.raises(ValueError, match="Row 2 of X equals the mean row"):
        preprocess(1e-200 * np.array([[1.0, 2.0], [3.0, 0.0], [2.0, 1.0]]), None, None, rng=0)


@pytest.mark.parametrize(
    ("shape", "sentence"),
    [
        ((30, 20), "Subtracted the mean row."),
        ((20, 20), "Subtracted the mean row, which leaves 1 null direction."),
        ((20, 25), "Subtracted the mean row, which leaves 6 null directions."),
    ],
)
def test_null_directions_are_counted_in_words_that_fit_their_number(shape, sentence):
    steps = preprocess(np.random.default_rng(0).normal(size=shape), *shape, rng=0).steps
    assert sentence in steps
