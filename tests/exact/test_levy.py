"""The average over a sample's free cumulants: against cumulants from moments, and laws known in closed form."""

import numpy as np
import pytest

from edgelaw import data
from edgelaw.exact import levy
from edgelaw.spectrum import gram_eigenvalues


def free_cumulants(moments):
    """κ₁ … κ_n by the moment–cumulant recursion M(z) = 1 + Σ κ_k z^k M(z)^k, in exact series arithmetic."""
    n = len(moments)
    series = np.concatenate([[1.0], moments])
    kappa = np.zeros(n + 1)
    for k in range(1, n + 1):
        known = sum(kappa[j] * _power(series, j, n)[k - j] for j in range(1, k))
        kappa[k] = series[k] - known
    return kappa[1:]


def _power(series, times, order):
    product = np.zeros(order + 1)
    product[0] = 1.0
    for _ in range(times):
        product = np.convolve(product, series)[: order + 1]
    return product


def marchenko_pastur(nodes=2000):
    """Midpoint rule for the law in the angle, exact for trigonometric polynomials."""
    theta = (np.arange(nodes) + 0.5) * np.pi / nodes
    return 2 - 2 * np.cos(theta), 1 + np.cos(theta)


def sample(d, covariance, seed=0):
    X = np.random.default_rng(seed).standard_normal((d, d)) * np.sqrt(covariance)
    return gram_eigenvalues(data.normalize_rows(X))


SPECTRA = {
    "uniform": np.linspace(0, 2, 101),
    "a sample": sample(200, np.linspace(0.1, 2, 200)),
    "a few large ones": np.concatenate([np.linspace(0.001, 1, 100), [20.0, 40.0]]),
    "with zeros": np.concatenate([np.zeros(30), np.linspace(0.01, 2, 100)]),
}


@pytest.mark.parametrize("name", SPECTRA)
def test_averages_of_powers_are_free_cumulants(name):
    eigenvalues = SPECTRA[name] / SPECTRA[name].mean()
    kappa = free_cumulants([np.mean(eigenvalues**k) for k in range(1, 7)])
    average = levy.from_sample(SPECTRA[name], tolerance=1e-8, reach=0.05)
    averages = [average(average.nodes**k) for k in range(7)]
    scale = eigenvalues.max() ** np.arange(1, 7)
    assert abs(averages[0] - 1) < 1e-9
    assert (np.abs(averages[1:] - kappa) < 1e-7 * scale).all()


def test_marchenko_pastur_has_one_node():
    average = levy.from_sample(*marchenko_pastur(), reach=0.05)
    heavy = np.abs(average.weights) > 1e-6
    assert heavy.sum() == 1
    assert abs(average.nodes[heavy][0] - 1) < 1e-6
    assert abs(average.weights[heavy][0] - 1) < 1e-6


def test_a_free_poisson_law_of_two_jumps_gives_the_jumps():
    """⟨t/(t − λ)⟩ = ζ/t read backwards: the sample spectrum of a two-point covariance has exactly these nodes."""
    d = 1000
    covariance = np.where(np.arange(d) < d // 2, 0.5, 1.5)
    average = levy.from_sample(sample(d, covariance), reach=0.2, tolerance=1e-5)
    exact = [np.mean(1 / (x + covariance)) for x in (0.3, 1.0, 5.0)]
    resolvents = [average(1 / (x + average.nodes)).real for x in (0.3, 1.0, 5.0)]
    assert np.allclose(resolvents, exact, rtol=1e-2)


def test_equal_eigenvalues_give_value_plus_derivative_at_zero():
    average = levy.from_sample(np.full(25, 3.0))
    t = average.nodes
    assert abs(average(np.exp(-2 * t)) - (1 - 2)) < 1e-6
    assert abs(average(1 / (1 + t)) - (1 - 1)) < 1e-6


@pytest.mark.parametrize("name", SPECTRA)
def test_nodes_are_closed_under_conjugation_and_real_functions_average_to_reals(name):
    average = levy.from_sample(SPECTRA[name])
    order, mirrored = (
        np.lexsort((average.nodes.imag, average.nodes.real)),
        np.lexsort((-average.nodes.imag, average.nodes.real)),
    )
    assert np.allclose(average.nodes[order], average.nodes[mirrored].conj())
    assert abs(average(np.exp(-average.nodes)).imag) < 1e-12


def test_the_error_is_met_and_tells_the_truth_about_resolvents():
    """⟨λ/(λ + x)⟩ at a singularity beyond the reach is known exactly: −(ζ + x)/x with G(ζ) = −1/x."""
    eigenvalues = SPECTRA["a sample"] / SPECTRA["a sample"].mean()
    for tolerance in (1e-5, 1e-8):
        average = levy.from_sample(eigenvalues, reach=0.05, tolerance=tolerance)
        assert average.error <= tolerance
        for zeta in (-0.1, -1.0, -7.0):
            t = 1 / np.mean(1 / (zeta - eigenvalues))
            assert abs(average(t / (t - average.nodes)) - zeta / t) < 10 * tolerance


@pytest.mark.parametrize("reach", [0.1, 0.01, 0.001])
def test_a_covariance_of_many_eigenvalues_needs_few_nodes(reach):
    values = 1 / np.arange(1, 2001.0)
    values /= values.mean()
    average = levy.from_covariance(values, reach=reach)
    assert len(average.nodes) <= 60
    assert (average.nodes >= 0).all()
    assert (average.weights > 0).all()
    for function in (np.sqrt, lambda x: 1 / (x + reach), lambda x: np.exp(-3 * x), lambda x: x / (x + 1)):
        if function is not np.sqrt:
            assert abs(average(function(average.nodes)) / function(values).mean() - 1) < 1e-8


def test_a_covariance_of_few_eigenvalues_is_kept_as_it_is():
    average = levy.from_covariance([1.0, 3.0, 3.0], weights=[2.0, 1.0, 1.0])
    assert average.nodes.tolist() == [0.5, 1.5]
    assert average.weights.tolist() == [0.5, 0.5]
    assert average.error < 1e-14


def test_scale_and_order_of_the_eigenvalues_do_not_matter():
    values = SPECTRA["uniform"]
    one, other = levy.from_sample(values), levy.from_sample(values[::-1] * 1e-7)
    assert abs(one(np.exp(-one.nodes)) - other(np.exp(-other.nodes))) < 1e-9


@pytest.mark.parametrize("make", [levy.from_sample, levy.from_covariance])
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([1.0, np.nan], "finite"),
        ([-0.1, 1.0], "non-negative"),
        ([0.0, 0.0], "at least one of them positive"),
        ([], "at least 1 values"),
        ([[1.0]], "dimension"),
        (["a"], "real numbers"),
        ([1j], "real numbers"),
    ],
)
def test_bad_eigenvalues_are_refused_in_a_sentence(make, bad, message):
    with pytest.raises(ValueError, match=message):
        make(bad)


@pytest.mark.parametrize("keyword", [{"reach": 0}, {"reach": -1}, {"tolerance": 0}, {"weights": [1.0, -1.0]}])
def test_bad_keywords_are_refused(keyword):
    with pytest.raises(ValueError, match=next(iter(keyword))):
        levy.from_sample([1.0, 2.0], **keyword)


def test_rounding_below_zero_is_zero():
    one = levy.from_sample([-1e-17, *np.linspace(0.1, 2, 30)])
    other = levy.from_sample([0.0, *np.linspace(0.1, 2, 30)])
    assert abs(one(np.exp(-one.nodes)) - other(np.exp(-other.nodes))) < 1e-9


def test_an_average_that_cannot_be_had_is_refused():
    with pytest.raises(ArithmeticError, match="larger reach"):
        levy.from_sample(SPECTRA["a few large ones"], reach=1e-4, tolerance=1e-15)
