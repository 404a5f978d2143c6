"""Single shuffle's sums and expansions at step 1: by hand, against mpmath, and against the contour integrals."""

import functools
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from edgelaw.theory import single_shuffle
from edgelaw.theory import single_shuffle_sums as sums


def test_the_sums_are_those_done_by_hand_at_step_one():
    e = np.exp(1.0)
    assert sums.test_sum(0) == sums.train_sum(0) == 1
    assert sums.test_sum(2) == pytest.approx(e**-2 + 2 * e**-3, rel=1e-13)
    assert sums.train_sum(1) == pytest.approx(e**-2, rel=1e-13)
    assert sums.train_sum(3) == pytest.approx(e**-6 * (4.5**2 / 9 + 4 * 9 / 9 + 1), rel=1e-13)


@pytest.mark.parametrize("rho", [0.25, 0.9, 1 - 1e-6, 1.0, 1 + 1e-6, 1.5, 3.0])
@pytest.mark.parametrize("n", [1, 2, 3, 10, 60, 300])
def test_at_step_one_the_integrals_equal_the_sums(n, rho):
    test, train = sums.test_sum(n, rho), sums.train_sum(n, rho)
    assert single_shuffle.test_loss(n, 1.0, rho) == pytest.approx(test, rel=3e-12)
    assert single_shuffle.train_loss(n, 1.0, rho) == pytest.approx(train, rel=3e-12)


def test_at_step_one_and_rho_one_every_n_to_ten_thousand_is_right_to_ten_digits():
    n = np.arange(10_001)
    test, train = single_shuffle.test_loss(n), single_shuffle.train_loss(n)
    some = np.unique(np.geomspace(1, 10_000, 60).astype(int))
    assert test[0] == train[0] == 1
    assert np.abs(test[some] / [sums.test_sum(k) for k in some.tolist()] - 1).max() < 1e-12
    assert np.abs(train[some] / [sums.train_sum(k) for k in some.tolist()] - 1).max() < 1e-12
    # the others by the expansion, which is an independent route too
    late = n >= 1000
    assert np.abs(test[late] / sums.test_expansion(n[late], 8) - 1).max() < 1e-10
    assert np.abs(train[late] / sums.train_expansion(n[late], 8) - 1).max() < 1e-10


@pytest.mark.parametrize("n", [10**5, 10**6, 10**8])
def test_a_hundred_million_epochs_at_step_one_agree_with_the_expansion(n):
    assert single_shuffle.test_loss(n) == pytest.approx(sums.test_expansion(n, 6), rel=1e-10)
    assert single_shuffle.train_loss(n) == pytest.approx(sums.train_expansion(n, 6), rel=1e-10)


def test_the_weights_below_one_are_the_probabilities_of_a_queue():
    rho = 0.7
    H, G = sums.queue_weights(200, rho)
    probabilities = (1 - rho) * H
    assert (probabilities >= 0).all()
    assert probabilities.sum() == pytest.approx(1, abs=1e-12)
    assert np.allclose(G, 1 - np.cumsum(probabilities), atol=1e-12)
    # M/D/1: the next count is max(count − 1, 0) plus Poisson(rho) arrivals
    arrivals = np.array([float(mpmath.exp(-rho) * rho**j / mpmath.factorial(j)) for j in range(200)])
    after = np.append(probabilities[0] + probabilities[1], probabilities[2:])
    assert np.allclose(np.convolve(after, arrivals)[:150], probabilities[:150], atol=1e-13)


def test_the_weights_agree_with_mpmath_on_both_sides_of_one():
    for rho in (0.4, 1.0, 2.5):
        with mpmath.workdps(60):
            taylor = mpmath.taylor(lambda u, r=rho: 1 / (1 - u * mpmath.exp(mpmath.mpf(r) * (1 - u))), 0, 25)
            h = np.array([float(x) for x in taylor])
            exact = np.array([float(a - b) for a, b in zip(taylor, [0, *taylor[:-1]], strict=True)])
        H, G = sums.queue_weights(26, rho)
        assert np.allclose(H, exact, rtol=1e-11)
        assert np.allclose(G, 1 - (1 - rho) * h, rtol=1e-9, atol=1e-13)


def test_the_first_six_coefficients_are_these_rationals():
    test = [c for _, c, _ in sums.expansion("test", 6)]
    train = [c for _, c, _ in sums.expansion("train", 6)]
    F = Fraction
    assert test == [F(1, 2), F(1, 6), F(1, 32), F(13, 540), F(9, 1024), F(-1399, 45360)]
    assert train == [F(1, 8), F(1, 12), F(3, 128), F(7, 270), F(45, 4096), F(607, 30240)]


@pytest.mark.parametrize("loss", ["test", "train"])
@pytest.mark.parametrize("terms", [1, 2, 3, 4, 5])
def test_the_error_of_the_expansion_is_its_next_term(loss, terms):
    n = 4000
    coefficients = sums.expansion(loss, terms + 1)
    power, c, over = coefficients[-1]
    following = float(c) / np.pi**over * n ** -float(power)
    truth = mpmath_sum(loss, n)
    partial = sum(mpmath.mpf(c.numerator) / c.denominator / mpmath.pi**o / mpmath.mpf(n) ** mpmath.mpf(float(p))
                  for p, c, o in coefficients[:-1])  # fmt: skip
    assert float(truth - partial) == pytest.approx(following, rel=0.1)


@functools.cache
def mpmath_sum(loss, n):
    """The sum at step 1 and rho 1 with 40 digits; H by its own recurrence."""
    mpmath.mp.dps = 40
    p, probabilities = mpmath.exp(n * mpmath.log(n) - n - mpmath.loggamma(n + 1)), []
    for k in range(n):
        probabilities.append(p)
        p = p * (n - k) / n
        if p < mpmath.mpf(10) ** -60:
            break
    if loss == "train":
        return mpmath.fsum((mpmath.mpf(k) / n * p) ** 2 for k, p in enumerate(probabilities))
    taylor = mpmath.taylor(lambda u: 1 / (1 - u * mpmath.exp(1 - u)), 0, 30)
    H = [a - b for a, b in zip(taylor, [0, *taylor[:-1]], strict=True)]
    return mpmath.fsum((H[k] if k < 30 else 2) * p**2 for k, p in enumerate(probabilities))


def test_the_expansion_refuses_no_epochs_and_unknown_losses():
    with pytest.raises(ValueError, match="n must be positive"):
        sums.test_expansion(0)
    with pytest.raises(ValueError, match="loss must be one of"):
        sums.expansion("validation", 3)


@pytest.mark.parametrize("mean", [0.3, 14.0, 300.0, 1e4, 1e8])
def test_poisson_probabilities_agree_with_mpmath_to_thirteen_digits(mean):
    spread = int(6 * np.sqrt(mean)) + 3
    k = np.unique(np.clip(int(mean) + np.linspace(-spread, spread, 41).astype(int), 0, None))
    with mpmath.workdps(40):
        mu = mpmath.mpf(mean)
        exact = np.array(
            [float(mpmath.exp(int(j) * mpmath.log(mu) - mu - mpmath.loggamma(int(j) + 1))) for j in k]
        )
    assert np.abs(sums.poisson(k, mean) / exact - 1).max() < 2e-13 * max(1, np.sqrt(mean) / 100)


def test_poisson_probabilities_of_negative_numbers_are_zero_and_all_of_them_sum_to_one():
    p = sums.poisson(np.arange(-5, 200), 20.0)
    assert (p[:5] == 0).all()
    assert p.sum() == pytest.approx(1, abs=1e-13)
