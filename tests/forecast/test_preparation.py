"""Features and labels as SGD sees them: centring, the intercept, the split, the scale."""

import numpy as np
import pytest

from edgelaw_app.forecast.preparation import prepare


def prepared(X, y, held_out=None, center=True, intercept=True, normalize=False, standardize=False, seed=0):
    asked = {"center": center, "intercept": intercept, "standardize": standardize, "normalize": normalize}
    done = [name for name, wanted in asked.items() if wanted]
    return prepare(X, y, held_out, done, np.random.default_rng(seed))


def test_with_centred_features_the_mean_target_is_the_least_squares_intercept(numbers):
    X, y = numbers
    made = prepared(X, y)
    weights = np.linalg.lstsq(made.X, made.T, rcond=None)[0]
    with_column = np.linalg.lstsq(np.column_stack([X, np.ones(len(X))]), y, rcond=None)[0]
    assert np.allclose(weights, with_column[:-1], atol=1e-10)
    residual = y - made.target_mean - (X - X.mean(axis=0)) @ weights
    assert np.allclose(residual, y - X @ with_column[:-1] - with_column[-1], atol=1e-10)


def test_without_centring_the_intercept_is_a_constant_column(numbers):
    X, y = numbers
    made = prepared(X, y, center=False)
    assert (made.X[:, -1] == 1).all()
    assert np.array_equal(made.T, y)
    assert prepared(X, y, center=False, intercept=False).X.shape[1] == X.shape[1]


def test_held_out_rows_are_prepared_by_the_training_rows_means(numbers):
    X, y = numbers
    made = prepared(X[:200], y[:200], held_out=(X[200:], y[200:]))
    assert np.allclose(made.held[0], X[200:] - X[:200].mean(axis=0))
    assert np.allclose(made.held[1], y[200:] - y[:200].mean(axis=0))


def test_a_fraction_splits_every_row_once_and_the_seed_decides_which(numbers):
    X, y = numbers
    made = prepared(X, y, held_out=0.25)
    assert (len(made.X), len(made.held[0])) == (225, 75)
    together = np.sort(np.vstack([made.X, made.held[0]])[:, 0])
    assert np.allclose(together - together[0], np.sort(X[:, 0]) - X[:, 0].min())
    assert np.array_equal(made.held[0], prepared(X, y, held_out=0.25).held[0])
    assert not np.array_equal(made.held[0], prepared(X, y, held_out=0.25, seed=1).held[0])


def test_scale_is_the_mean_squared_norm_and_normalised_rows_have_norm_root_d(numbers):
    X, y = numbers
    assert prepared(X, y).scale == pytest.approx(((X - X.mean(axis=0)) ** 2).sum(axis=1).mean())
    assert prepared(X, y, normalize=True).scale == pytest.approx(30)


@pytest.mark.parametrize(
    ("X", "y", "held_out", "message"),
    [
        (np.ones((6, 3)), [0, 1] * 3, None, "nothing to train on"),
        (np.eye(6), [0, 1] * 3, 0.9, "at least 4 training rows"),
        (np.eye(6), [0, 1] * 3, 1.5, "strictly between 0 and 1"),
        (np.eye(6), [0, 1] * 3, (np.eye(5), [0] * 5), "6 columns, as X has, not 5"),
        (np.eye(6), [0, 1] * 3, (np.eye(6), [0, 1]), "each of the 6 rows, not 2"),
        (np.eye(6), [0, 1] * 3, (np.eye(6),), "a pair"),
        (np.full((6, 3), np.nan), [0, 1] * 3, None, "finite"),
    ],
)
def test_what_cannot_be_used_is_refused(X, y, held_out, message):
    with pytest.raises(ValueError, match=message):
        prepared(X, y, held_out)


@pytest.mark.parametrize("factor", [1e-200, 1e-150, 1e145])
def test_features_too_small_or_too_large_for_their_squares_are_told_so(numbers, factor):
    """They do differ among their rows, and a constant factor is the remedy."""
    X, y = numbers
    with pytest.raises(
        ValueError, match=r"between 1e-140 and 1e\+140, not .*; multiply the features by a constant"
    ):
        prepared(X * factor, y)
    prepared(X * 1e-65, y)


@pytest.mark.parametrize("value", [0.0, 0.1, 3.0])
def test_equal_rows_are_refused_whatever_rounding_leaves_of_them_after_centring(numbers, value):
    with pytest.raises(ValueError, match="differ among its training rows, which are all equal"):
        prepared(np.full((300, 30), value), numbers[1])


def test_tensors_and_sparse_matrices_are_prepared_as_arrays_are(numbers):
    """bfloat16, which numpy does not have, keeps eight bits; a parameter carries a gradient."""
    torch, sparse = pytest.importorskip("torch"), pytest.importorskip("scipy.sparse")
    X, y = numbers
    kept = np.where(X > 5, X, 0.0)
    expected = prepared(kept, y, held_out=(kept[:9], y[:9]))
    for rows, tolerance in (
        (sparse.csr_matrix(kept), 0),
        (sparse.coo_array(kept), 0),
        (torch.tensor(kept, requires_grad=True), 0),
        (torch.tensor(kept).bfloat16(), 0.05),
    ):
        made = prepared(
            rows, torch.tensor(y, requires_grad=True), held_out=(rows[:9] if tolerance else kept[:9], y[:9])
        )
        assert np.allclose(made.X, expected.X, rtol=0, atol=tolerance)
        assert np.allclose(made.held[0], expected.held[0], rtol=0, atol=tolerance)
        assert np.array_equal(made.T, expected.T)
    with pytest.raises(ValueError, match="to_dense"):
        prepared(torch.tensor(kept).to_sparse(), y)
    with pytest.raises(ValueError, match="one label per row"):
        prepared(X, torch.tensor(y[:, 0]).bfloat16())


@pytest.mark.parametrize("factor", [1e-200, 1e150, 1e200])
def test_labels_too_small_or_too_large_for_their_squares_are_told_so(numbers, factor):
    X, y = numbers
    with pytest.raises(
        ValueError, match=r"y must be of another scale: .*, not .*; multiply the labels by a constant"
    ):
        prepared(X, y * factor)
    prepared(X, y * 1e-65)


def test_every_class_is_trained_on_and_held_out_in_its_share():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2, 3], [800, 150, 49, 1])
    for seed in range(16):
        made = prepared(rng.standard_normal((1000, 5)), y, held_out=0.2, seed=seed)
        held = (made.held[1] + made.target_mean).argmax(axis=1)
        assert np.abs(np.bincount(held, minlength=4) - [160, 30, 10, 0]).max() <= 1
        trained = (made.T + made.target_mean).argmax(axis=1)
        assert set(trained.tolist()) == {0, 1, 2, 3}


def test_standardised_columns_have_the_spread_of_the_training_rows_and_constant_ones_are_zero(numbers):
    X, y = numbers
    X = X.copy()
    X[:, 4] = 0.1
    made = prepared(X[:200], y[:200], held_out=(X[200:], y[200:]), standardize=True)
    spread = np.delete(X[:200].std(axis=0), 4)
    assert np.allclose(np.delete(made.X.std(axis=0), 4), 1)
    assert np.allclose(
        np.delete(made.held[0], 4, axis=1), np.delete(X[200:] - X[:200].mean(axis=0), 4, axis=1) / spread
    )
    assert not made.X[:, 4].any()
    assert "Divided every feature by its standard deviation on the training rows." in made.sentences


def test_masked_features_are_refused_wherever_they_are(numbers):
    X, y = numbers
    masked = np.ma.masked_greater(X, 6)
    for rows, held in ((masked, None), (X, (masked, y))):
        with pytest.raises(ValueError, match="has masked entries; drop or fill those rows first"):
            prepared(rows, y, held_out=held)
