"""Flip-flop three ways: the counting formula and the paper's closed forms, mpmath in another variable, matrices."""

import mpmath
import numpy as np
import pytest
import scipy.integrate
from scipy import stats

from edgelaw import data, exact, kaczmarz, orders
from edgelaw.theory import flip_flop

STEPS = [0.05, 0.3, 0.7, 1.0, 1.2, 1.7, 1.95]
RHOS = [0.25, 0.7, 0.99, 1.0, 1.01, 1.5, 4.0]


# ------------------------------------------------- mpmath, in the paper's variable h, with alternating series


def _exponential(x, tau, length):
    """Taylor coefficients of exp(−x/(1+τh)), from (1+τh)² f' = xτ f."""
    f = [mpmath.exp(-x), x * tau * mpmath.exp(-x)]
    for k in range(1, length):
        f.append((x * tau * f[k] - 2 * tau * k * f[k] - tau**2 * (k - 1) * f[k - 1]) / (k + 1))
    return f


def by_lagrange_in_h(n, step, rho):
    """(b_n, a_n/ρ) = (1/n) [h^(n−1)] F'(h) (1+h)ⁿ exp(−nτρ/(1+τh)) for F = 1+h and F = G, term by term."""
    with mpmath.workdps(60 + int(1.3 * n)):
        eta, rho = mpmath.mpf(step), mpmath.mpf(rho)
        tau, c, k = eta * (2 - eta), eta**2 * rho, (2 - eta) / eta
        binomials = [mpmath.mpf(1)]
        for j in range(n):
            binomials.append(binomials[-1] * (n - j) / (j + 1))

        def coefficient(polynomial, series):
            return sum(
                p * mpmath.fdot((binomials[j], series[n - 1 - i - j]) for j in range(n - i))
                for i, p in enumerate(polynomial)
                if i < n
            )

        x = n * tau * rho
        plain, damped = _exponential(x, tau, n), _exponential(x + c, tau, n)
        slope = [(j + 1) * damped[j + 1] / (x + c) for j in range(n)]  # τ/(1+τh)² exp(−(x+c)/(1+τh))
        test = coefficient([1], plain) / n
        train = coefficient([rho - k, -2 * k], plain) + k * coefficient([1, 2], damped)
        train = (train + k * c * coefficient([0, 1, 1], slope)) / n
        return test, train / rho


@pytest.mark.parametrize("n", [1, 2, 3, 10, 60])
def test_both_losses_agree_with_the_paper_s_variable_in_high_precision(n):
    for step in STEPS:
        for rho in RHOS:
            test, train = by_lagrange_in_h(n, step, rho)
            assert abs(flip_flop.test_loss(n, step, rho) / test - 1) < 1e-12
            assert abs(flip_flop.train_loss(n, step, rho) / train - 1) < 1e-12


@pytest.mark.parametrize(("step", "rho"), [(0.05, 0.25), (1.95, 4.0), (0.7, 1.0), (1.3, 1.5)])
def test_a_thousand_epochs_keep_their_digits(step, rho):
    test, train = by_lagrange_in_h(1000, step, rho)
    assert min(test, train) > 1e-250
    assert abs(flip_flop.test_loss(1000, step, rho) / test - 1) < 1e-11
    assert abs(flip_flop.train_loss(1000, step, rho) / train - 1) < 1e-11


# ------------------------------------------------------------------------- counting, and the paper at step 1


@pytest.mark.parametrize(("n", "step", "rho"), [(1, 0.4, 2.0), (7, 1.6, 0.5), (40, 0.4, 1.0), (40, 1.3, 1.2)])
def test_the_test_loss_counts_a_binomial_above_a_poisson_variable(n, step, rho):
    tau = step * (2 - step)
    binomial = stats.binom.pmf(np.arange(n + 1), n, tau)
    poisson = stats.poisson.pmf(np.arange(n + 1), n * tau * rho)
    excess = np.maximum(np.subtract.outer(np.arange(n + 1), np.arange(n + 1)), 0)
    assert flip_flop.test_loss(n, step, rho) == pytest.approx(
        binomial @ excess @ poisson / (n * tau), rel=1e-10
    )


def _poisson_cdf(m, x):
    return mpmath.gammainc(m + 1, x, mpmath.inf, regularized=True) if m >= 0 else mpmath.mpf(0)


def paper_at_step_one(n, rho):
    """(b_n, a_n/ρ) from the paper's form in Poisson distribution functions, by mpmath."""
    Q, x, y = _poisson_cdf, rho * n, rho * (n + 1)
    first = n * (rho - n) * Q(n - 1, x) + (2 * n - rho - 1) * x * Q(n - 2, x) - x**2 * Q(n - 3, x)
    second = n * (n + 1) * Q(n - 1, y) - 2 * n * y * Q(n - 2, y) + y**2 * Q(n - 3, y)
    return Q(n - 1, x) - rho * Q(n - 2, x), (first / n + second / (n + 1)) / rho


@pytest.mark.parametrize(
    ("n", "rho"),
    [(n, rho) for n in (1, 2, 5, 50, 500) for rho in (0.25, 0.9990234375, 1.0, 1.0009765625, 1.75)]
    + [(10**6, rho) for rho in (0.9990234375, 1.0, 1.0009765625)],
)
def test_step_one_is_the_paper_s_poisson_form(n, rho):
    with mpmath.workdps(400 if n < 10**4 else 60):
        test, train = paper_at_step_one(n, mpmath.mpf(rho))
        assert min(test, train) > 1e-250
        assert abs(flip_flop.test_loss(n, 1.0, rho) / test - 1) < 1e-11
        assert abs(flip_flop.train_loss(n, 1.0, rho) / train - 1) < 1e-11


def test_the_first_losses_by_hand():
    # E Tr AᵀA/d = (1 − τ/d)^m → exp(−τρ); at step 1 the last row leaves no residual, so a_1 = exp(−ρ)(ρ−1) + exp(−2ρ).
    assert flip_flop.test_loss(1, 0.5, 2.0) == pytest.approx(np.exp(-1.5), rel=1e-13)
    assert flip_flop.train_loss(1, 1.0, 2.0) == pytest.approx((np.exp(-2) + np.exp(-4)) / 2, rel=1e-13)
    tau, rho = 0.75, 1.7
    assert flip_flop.test_loss(2, 0.5, rho) == pytest.approx(
        (1 + tau**2 * rho) * np.exp(-2 * tau * rho), rel=1e-13
    )
    third = 1 + 3 * tau**2 * rho - tau**3 * rho + 1.5 * tau**4 * rho**2
    assert flip_flop.test_loss(3, 0.5, rho) == pytest.approx(third * np.exp(-3 * tau * rho), rel=1e-13)
    n = np.arange(1, 30)
    assert flip_flop.test_loss(n) == pytest.approx(np.exp(n * np.log(n) - n) / np.cumprod(n * 1.0), rel=1e-12)


def test_the_generating_function_of_the_training_loss_sums_the_losses():
    step, rho, z = 0.6, 1.4, 0.7
    tau = step * (2 - step)
    n = np.arange(300)
    h = (flip_flop.test_loss(n, step, rho) * z**n).sum() - 1
    assert z == pytest.approx(h / (1 + h) * np.exp(tau * rho / (1 + tau * h)), rel=1e-13)
    bracket = rho - (2 - step) / step * h * (1 - np.exp(-(step**2) * rho / (1 + tau * h)))
    assert rho * (flip_flop.train_loss(n, step, rho) * z**n).sum() == pytest.approx(
        (1 + h) * bracket, rel=1e-12
    )


# ------------------------------------------------------------------------------------------ limits and shapes


def _limit(values, ratio):
    """Richardson: remove the terms in 1/n, 1/n², ... from values at n, ratio·n, ratio²·n, ..."""
    for k in range(1, len(values)):
        values = (ratio**k * values[1:] - values[:-1]) / (ratio**k - 1)
    return values[0]


@pytest.mark.parametrize("step", [0.05, 0.5, 1.0, 1.5, 1.95])
def test_the_constants_are_the_extrapolated_limits_of_the_losses(step):
    n = 2000 * 2 ** np.arange(5)
    assert _limit(np.sqrt(n) * flip_flop.test_loss(n, step), 2) == pytest.approx(
        flip_flop.test_constant(step), rel=1e-8
    )
    assert _limit(n**1.5 * flip_flop.train_loss(n, step), 2) == pytest.approx(
        flip_flop.train_constant(step), rel=1e-6
    )


def test_step_one_has_the_paper_s_constants_and_not_its_second_coefficient():
    assert flip_flop.test_constant() == pytest.approx(1 / np.sqrt(2 * np.pi), rel=1e-14)
    assert flip_flop.train_constant() == pytest.approx(np.sqrt(2 / np.pi) / 3, rel=1e-14)
    n = 1000 * 2 ** np.arange(5)
    second = _limit(n * (n**1.5 * flip_flop.train_loss(n) / flip_flop.train_constant() - 1), 2)
    assert second == pytest.approx(-14 / 15, rel=1e-7)
    assert abs(second - 203 / 120) > 2.6


def test_no_seam_up_to_a_million_epochs():
    n = np.unique(np.geomspace(1000, 10**6, 400).astype(int))
    for step in (0.05, 1.0, 1.95):
        for loss, power in [(flip_flop.test_loss, 0.5), (flip_flop.train_loss, 1.5)]:
            t = np.log(n / 1000) / np.log(1000) * 2 - 1
            scaled = n**power * loss(n, step)
            smooth = np.polynomial.Chebyshev.fit(t, scaled, 30)
            assert np.abs(smooth(t) / scaled - 1).max() < 3e-11


def test_the_test_loss_is_the_same_at_two_steps_that_add_to_two_and_the_training_loss_is_not():
    n = np.array([1, 4, 30])
    assert flip_flop.test_loss(n, 0.4) == pytest.approx(flip_flop.test_loss(n, 1.6), rel=1e-13)
    assert (flip_flop.train_loss(n, 1.6) > 1.5 * flip_flop.train_loss(n, 0.4)).all()


def test_untouched_directions_stay_and_the_rest_decays():
    assert flip_flop.test_loss(3000, 0.8, 0.6) == pytest.approx(0.4, rel=1e-14)
    assert flip_flop.train_loss(300, 0.8, 0.6) < 1e-6
    assert flip_flop.test_loss(1000, 1.0, 4.0) == 0.0
    assert flip_flop.train_loss(1000, 1.0, 4.0) == 0.0


# ------------------------------------------------------------------------------------------ the effective step


def test_gradient_descent_at_the_effective_step_has_the_same_asymptote():
    # On the Marchenko–Pastur law at rho = 1 gradient descent tends to 1/√(2πηn).
    for step in (0.2, 1.0, 1.6):
        gd = 1 / np.sqrt(2 * np.pi * flip_flop.effective_step(step))
        assert gd == pytest.approx(flip_flop.test_constant(step), rel=1e-13)


def test_the_effective_step_sees_a_spectrum_through_its_variance_only_and_in_any_scale():
    wide = np.array([0.1, 0.1, 0.1, 3.7])
    assert exact.effective_step("flip_flop", 1.2, wide) == pytest.approx(
        exact.effective_step("flip_flop", 1.2, 50 * wide)
    )
    assert exact.effective_step("flip_flop", 1.2, [0.0, 2.0]) == pytest.approx(flip_flop.effective_step(1.2))
    assert exact.effective_step("flip_flop", 1.2, wide) < flip_flop.effective_step(1.2)


def _anisotropic_sum(z, step, population, weights, guess):
    """Σ zⁿ b_n for rows of a covariance with a few eigenvalues: a two-point boundary problem in s ∈ [0, 1]."""
    count, column = len(population), population[:, None]

    def slopes(_, y):
        difference = y[:count] - y[count:]
        mean = weights * population
        P, R = mean @ (y[:count] * y[count:] / difference), mean @ (1 / difference)
        H = 1 / step + mean @ (y[count:] / difference)
        return -np.vstack([column, column]) / (H**2 - P * R) * (2 * H * y - P - R * y**2)

    solution = scipy.integrate.solve_bvp(
        slopes,
        lambda a, b: np.append(b[:count] - 1, a[count:] - z),
        guess[0],
        guess[1],
        tol=1e-7,
        max_nodes=4000,
    )
    return weights @ (1 / (1 - solution.y[count:, -1])), (solution.x, solution.y)


@pytest.mark.parametrize("step", [0.6, 1.0, 1.5])
def test_an_anisotropic_covariance_enters_the_effective_step_through_its_variance(step):
    population, weights = np.array([0.4, 2.2]), np.array([2 / 3, 1 / 3])
    variance = weights @ population**2 - 1
    s = np.linspace(0, 1, 21)
    guess, roots, values = (
        (s, np.vstack([np.ones((2, 21)), 0.3 * np.exp(-0.2 * s) * np.ones((2, 21))])),
        [],
        [],
    )
    for z in (0.3, 0.6, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995):
        total, guess = _anisotropic_sum(z, step, population, weights, guess)
        roots.append(np.sqrt(1 - z))
        values.append(total * np.sqrt(1 - z))
    limit = np.polyfit(roots[-5:], values[-5:], 2)[-1]  # √(ℓ a), with ℓ the mean of 1/λ
    measured = limit**2 / (weights @ (1 / population))
    # Any sample of relative variance 1 + v will do: a share p of ones among zeros has (1 − p)/p.
    sample = np.zeros(1000)
    sample[: round(1000 / (2 + variance))] = 1
    assert 1 / (2 * measured) == pytest.approx(exact.effective_step("flip_flop", step, sample), rel=3e-3)
    isotropic = 1 / (step * (2 - step)) - 0.5
    assert abs(measured / isotropic - 1) > 0.03  # the term is seen, and not only allowed


# ----------------------------------------------------------------------------------------------------- matrices


def _traces(d, rho, step, epochs, rng):
    """Tr (AᵀA)ⁿ/d, and the exact training losses Tr Sⁿ-weighted, of one design, odd and even n as they come."""
    rows = round(rho * d)
    U = data.gaussian(rows, d, rng)
    U /= np.linalg.norm(U, axis=1)[:, None]
    A = kaczmarz.epoch_matrix(U, step)
    left, values, right = np.linalg.svd(A)
    weights = {
        1: (U @ left) ** 2,
        0: (U @ right.T) ** 2,
    }  # odd n ends on the left, even n on the right vectors
    test = np.array([(values ** (2 * n)).mean() for n in epochs])
    train = np.array([(weights[n % 2] @ values ** (2 * n)).sum() / rows for n in epochs])
    return test, train


def _extrapolated(d, draws, step, rho, epochs, rng):
    """2 f(2d) − f(d), free of the O(1/d) correction, and its standard error."""
    small = np.array([_traces(d, rho, step, epochs, rng) for _ in range(2 * draws)])
    large = np.array([_traces(2 * d, rho, step, epochs, rng) for _ in range(draws)])
    error = np.sqrt(4 * large.var(axis=0, ddof=1) / len(large) + small.var(axis=0, ddof=1) / len(small))
    return 2 * large.mean(axis=0) - small.mean(axis=0), error


@pytest.mark.parametrize(
    ("d", "draws", "step", "rho"),
    [
        (120, 60, 1.0, 1.0),
        (120, 60, 0.4, 1.1),
        (120, 60, 1.2, 0.75),
    ],
)
def test_matrices_agree_within_their_standard_error_at_odd_and_even_n(d, draws, step, rho):
    epochs = np.array([1, 2, 3, 4, 7, 10])
    mean, error = _extrapolated(d, draws, step, rho, epochs, np.random.default_rng(d))
    truth = np.array([flip_flop.test_loss(epochs, step, rho), flip_flop.train_loss(epochs, step, rho)])
    assert (error[0] < 0.005 * truth[0]).all()
    assert (error[1] < 0.015 * truth[1]).all()
    # 36 comparisons in all, strongly correlated: 4 standard errors allow for that many.
    assert (np.abs(mean - truth) < 4 * error).all()


def test_the_traces_are_what_the_simulator_measures():
    X = data.gaussian(60, 60, rng=5)
    permutation = orders.stream("flip_flop", 60, np.random.default_rng(0).spawn(1)[0]).permutation
    curve = kaczmarz.simulate(X, "flip_flop", 3, step=0.7, probes=40000, rng=0)
    U = X / np.linalg.norm(X, axis=1)[:, None]
    A = kaczmarz.epoch_matrix(U[permutation], 0.7)
    maps = [A, A.T @ A, A @ A.T @ A]
    assert curve.test[1:] == pytest.approx([(M**2).sum() / 60 for M in maps], rel=0.01)
    assert curve.train[1:] == pytest.approx([((U @ M) ** 2).sum() / 60 for M in maps], rel=0.02)
