"""Coefficient extraction against series that are known."""

import mpmath
import numpy as np
import pytest

from edgelaw.theory import series


def test_taylor_coefficients_of_the_geometric_series_are_powers():
    computed = series.coefficients(lambda z: 1 / (1 - 0.7 * z), 60, radius=1.0)
    assert np.allclose(computed, 0.7 ** np.arange(60), rtol=0, atol=1e-14)


def test_taylor_coefficients_see_the_singularity_when_the_radius_is_too_large():
    computed = series.coefficients(lambda z: 1 / (1 - z), 5, radius=2.0)
    assert not np.allclose(computed, 1, atol=0.1)


@pytest.mark.parametrize("n", [0, 1, 2, 7])
def test_the_diagonal_of_a_binomial_series_is_the_central_binomial(n):
    # 1/(1 - z - w) = Σ C(i+j, i) z^i w^j
    nodes = 64
    angle = (np.arange(nodes) + 0.5) * np.pi / nodes
    log_z = np.log(0.3) + 1j * np.concatenate([angle, -angle])
    z = np.exp(log_z)
    values, sizes = series.diagonal(
        np.array([n]), log_z, np.full(2 * nodes, 0.5 / nodes), lambda rows: 1 / (1 - z[rows, None] - z)
    )
    assert values[0] == pytest.approx(float(mpmath.binomial(2 * n, n)), rel=1e-9)
    assert sizes[0] >= values[0]


@pytest.mark.parametrize("mean", [0.3, 14.0, 300.0, 1e4, 1e8])
def test_poisson_probabilities_agree_with_mpmath_to_thirteen_digits(mean):
    spread = int(6 * np.sqrt(mean)) + 3
    k = np.unique(np.clip(int(mean) + np.linspace(-spread, spread, 41).astype(int), 0, None))
    with mpmath.workdps(40):
        mu = mpmath.mpf(mean)
        exact = np.array(
            [float(mpmath.exp(int(j) * mpmath.log(mu) - mu - mpmath.loggamma(int(j) + 1))) for j in k]
        )
    assert np.abs(series.poisson(k, mean) / exact - 1).max() < 2e-13 * max(1, np.sqrt(mean) / 100)


def test_poisson_probabilities_of_negative_numbers_are_zero_and_all_of_them_sum_to_one():
    p = series.poisson(np.arange(-5, 200), 20.0)
    assert (p[:5] == 0).all()
    assert p.sum() == pytest.approx(1, abs=1e-13)


@pytest.mark.parametrize(("count", "radius"), [(0, 0.5), (2.5, 0.5), (3, 0.0), (3, -1.0)])
def test_bad_arguments_are_refused(count, radius):
    with pytest.raises(ValueError, match=r"^(count|radius) must be"):
        series.coefficients(np.exp, count, radius)
