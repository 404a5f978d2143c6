import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from edgelaw import data
from edgelaw.spectrum import gram_eigenvalues


def test_the_same_seed_gives_the_same_design_and_another_seed_another():
    assert np.array_equal(data.gaussian(4, 3, rng=1), data.gaussian(4, 3, rng=1))
    assert not np.array_equal(data.gaussian(4, 3, rng=1), data.gaussian(4, 3, rng=2))
    assert np.array_equal(data.power_law(4, 3, 0.5, rng=1), data.power_law(4, 3, 0.5, rng=1))


def test_gaussian_entries_have_mean_zero_and_variance_one_within_four_standard_errors():
    X = data.gaussian(300, 400, rng=0)
    assert abs(X.mean()) < 4 / np.sqrt(X.size)
    assert abs((X**2).mean() - 1) < 4 * np.sqrt(2 / X.size)


def test_haar_bases_are_orthonormal_and_their_signs_are_not_biased():
    draws = np.array([data.haar(4, 2, rng=seed) for seed in range(800)])
    assert np.allclose(np.einsum("kij,kil->kjl", draws, draws), np.eye(2))
    # Without the sign correction LAPACK's Householder convention makes the first entry always negative.
    positive = (draws[:, 0, 0] > 0).mean()
    assert abs(positive - 0.5) < 4 * 0.5 / np.sqrt(800)
    # Each entry has mean square 1/4; the variance of the square is 2(n-1)/(n²(n+2)) = 1/16 for n = 4.
    assert np.abs((draws**2).mean(axis=0) - 0.25).max() < 4.5 * np.sqrt(1 / 16 / 800)


@pytest.mark.parametrize("beta", [0.2, 0.5, 1.0, 1.5])
def test_power_law_eigenvalues_have_mean_one_and_the_stated_cdf(beta):
    values = data.power_law_eigenvalues(5000, beta)
    assert values.mean() == pytest.approx(1, rel=1e-12)
    Q = (beta / (1 + beta)) ** beta
    assert np.abs(Q * values**beta - (np.arange(5000) + 0.5) / 5000).max() < 2e-3


def test_two_power_law_eigenvalues_by_hand():
    # midpoints 1/4 and 3/4, to the power 1/β = 2: 1/16 and 9/16, scaled to mean 1
    assert data.power_law_eigenvalues(2, 0.5) == pytest.approx([0.2, 1.8], rel=1e-14)


@pytest.mark.parametrize(("rows", "dims"), [(8, 8), (20, 8), (5, 8)])
def test_a_power_law_design_has_exactly_its_eigenvalues(rows, dims):
    values = gram_eigenvalues(data.power_law(rows, dims, beta=0.7, rng=3))
    rank = min(rows, dims)
    expected = np.concatenate([np.zeros(dims - rank), data.power_law_eigenvalues(rank, 0.7) * dims / rank])
    assert values == pytest.approx(expected, rel=1e-10, abs=1e-14)
    assert values.mean() == pytest.approx(1, rel=1e-12)


def test_rows_and_directions_of_a_designed_spectrum_are_rotated_uniformly():
    # One positive eigenvalue, so X = √m σ u vᵀ: the first entry of v squared has mean 1/d.
    squares = []
    for seed in range(1000):
        X = data.with_spectrum([3.0, 0.0, 0.0], rows=4, rng=seed)
        squares.append(X[:, 0] @ X[:, 0] / (X**2).sum())
    error = np.std(squares) / np.sqrt(len(squares))
    assert error < 0.01
    assert abs(np.mean(squares) - 1 / 3) < 4 * error


@given(
    hnp.arrays(
        np.float64,
        hnp.array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=6),
        elements=st.floats(-1e150, 1e150, allow_subnormal=False),
    )
)
def test_normalised_rows_have_norm_root_d_and_keep_their_direction_or_the_zero_row_is_named(X):
    zero = np.flatnonzero(np.abs(X).max(axis=1) == 0)
    if len(zero):
        with pytest.raises(ValueError, match=f"Row {zero[0]} of X is zero"):
            data.normalize_rows(X)
        return
    unit = data.normalize_rows(X)
    assert np.linalg.norm(unit, axis=1) == pytest.approx(np.sqrt(X.shape[1]), rel=1e-12)
    assert (np.sign(unit) * np.sign(X) >= 0).all()
    scaled = X / np.abs(X).max(axis=1)[:, None]
    cosine = (scaled * unit).sum(axis=1) / np.linalg.norm(scaled, axis=1) / np.sqrt(X.shape[1])
    assert cosine == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: data.gaussian(1, 5, rng=0), "rows must be an integer of at least 2"),
        (lambda: data.gaussian(5, 0, rng=0), "dims must be an integer of at least 2"),
        (lambda: data.gaussian(5, 5, rng=None), "rng must be"),
        (lambda: data.haar(2, 3, rng=0), "columns must not exceed rows"),
        (lambda: data.power_law(5, 5, beta=0.0, rng=0), "beta must be a finite number greater than 0"),
        (lambda: data.power_law(5, 5, beta=-1, rng=0), "beta must be a finite number greater than 0"),
        (lambda: data.power_law(5, 5, beta=np.nan, rng=0), "beta must be a finite number greater than 0"),
        (lambda: data.with_spectrum([1.0, -1.0], 4, rng=0), "eigenvalues must be non-negative"),
        (lambda: data.with_spectrum([1.0], 4, rng=0), "at least 2 values"),
        (lambda: data.with_spectrum([1.0, 1.0, 1.0], 2, rng=0), "at most 2 positive eigenvalues, not 3"),
        (lambda: data.with_spectrum([1.0, np.inf], 4, rng=0), "finite"),
        (lambda: data.normalize_rows([[1.0, 2.0], [0.0, 0.0]]), "Row 1 of X is zero"),
        (lambda: data.normalize_rows([[1.0, np.nan], [1.0, 0.0]]), "finite"),
        (lambda: data.normalize_rows([[1.0 + 1j, 2.0], [1.0, 0.0]]), "real numbers"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(call, complaint):
    with pytest.raises(ValueError, match=complaint) as error:
        call()
    assert str(error.value).count("\n") == 0
    assert str(error.value).endswith(".")
