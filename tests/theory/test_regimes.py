import mpmath
import numpy as np
import pytest
import scipy.integrate
import scipy.special

from edgelaw.spectrum import EdgeFit, MarchenkoPastur
from edgelaw.theory import gradient_descent as gd
from edgelaw.theory import regimes

HALF = EdgeFit(0.5, 2 / np.pi)


def gaussian_eigenvalues(d, draws, seed):
    X = np.random.default_rng(seed).standard_normal((draws, d, d))
    return np.linalg.svd(X, compute_uv=False)[:, ::-1] ** 2 / d


def losses(eigenvalues, n, step):
    return np.exp(2 * n * np.log(np.abs(1 - step * eigenvalues))).mean(axis=1)


# ------------------------------------------------------------------------------------------- expected losses


@pytest.fixture(scope="module")
def small_designs():
    return gaussian_eigenvalues(16, 60000, seed=1)


def test_the_expected_loss_of_gaussian_draws_agrees_with_simulation_in_every_regime(small_designs):
    """Six epochs from the window (t ≪ d²) to far beyond; 3.5 standard errors, and the stated O(1/d²), O(1/d)."""
    for n, bias in [(1, 0.001), (4, 0.001), (16, 0.001), (64, 0.002), (256, 0.005), (2000, 0.02)]:
        sample = losses(small_designs, n, 0.25)
        mean, error = sample.mean(), sample.std(ddof=1) / np.sqrt(len(sample))
        assert error < 0.005 * mean
        assert regimes.expected_loss(n, 16, 0.25) == pytest.approx(mean, abs=3.5 * error + bias * mean)


def test_the_expected_loss_is_not_the_power_law_beyond_the_window(small_designs):
    n = 2000
    sample = losses(small_designs, n, 0.25)
    law = gd.test_constant(0.25) / np.sqrt(n)
    error = sample.std(ddof=1) / np.sqrt(len(sample))
    assert sample.mean() > 1.3 * law + 10 * error
    typical = np.median(losses(small_designs, 10 * n, 0.25))  # one draw in two falls exponentially
    assert typical < 0.01 * law / np.sqrt(10)


@pytest.mark.parametrize("t_over_d2", [3.0, 1e2, 1e4, 1e6])
def test_the_share_of_the_smallest_eigenvalue_agrees_with_edelmans_exact_density(t_over_d2):
    """His finite-d density d/√(2π) Γ((d+1)/2) λ^(−1/2) e^(−λd/2) U((d−1)/2, −1/2, λ/2), by mpmath."""
    d = 40
    n = round(t_over_d2 * d * d / 0.5)
    with mpmath.workdps(20):
        front = d / mpmath.sqrt(2 * mpmath.pi) * mpmath.gamma(mpmath.mpf(d + 1) / 2)

        def integrand(y):  # λ = y² (the eigenvalue of XᵀX), so dλ/√λ = 2 dy
            decay = mpmath.exp(-y * y * (mpmath.mpf(d) / 2 + mpmath.mpf("0.5") * n / d))
            return 2 * front * decay * mpmath.hyperu(mpmath.mpf(d - 1) / 2, -0.5, y * y / 2)

        wide = 12 / mpmath.sqrt(mpmath.mpf(d) / 2 + mpmath.mpf("0.5") * n / d)
        exact = float(mpmath.quad(integrand, [wide * 1e-6, wide / 8, wide / 3, wide])) / d
    assert regimes.expected_smallest(n, d, 0.25) == pytest.approx(exact, rel=0.3 / d)
    if t_over_d2 >= 1e4:
        assert regimes.expected_loss(n, d, 0.25) == pytest.approx(exact, rel=0.3 / d)


@pytest.mark.parametrize("sigma", [3e-6, 1e-3, 0.2, 30.0])
def test_the_microscopic_sum_is_the_integral_of_the_bessel_density(sigma):
    """Forrester's one-point density for real matrices at a = 0, integrated by another rule with another ∫J₀."""
    if sigma < 1e-4:  # a slowly convergent oscillation: compare with its expansion instead
        assert regimes._resolved(sigma) == pytest.approx(0.25 - 0.375 * np.sqrt(sigma / np.pi), abs=2 * sigma)
        return

    def integrand(y):
        j0, j1 = scipy.special.j0(y), scipy.special.j1(y)
        odd = 2 * np.arange(int(y / 2) + 40) + 1
        primitive = 2 * scipy.special.jv(odd, y).sum()
        return np.exp(-sigma * y * y) * (y / 2 * (j0**2 + j1**2) + j0 / 2 * (1 - primitive))

    end = 6.5 / np.sqrt(sigma)
    value, _ = scipy.integrate.quad(integrand, 0, end, limit=4000, epsabs=1e-10)
    assert regimes._resolved(sigma) + 1 / np.sqrt(4 * np.pi * sigma) == pytest.approx(value, abs=2e-7)


def test_the_expected_loss_joins_the_two_sides_of_its_expansion_smoothly():
    below, above = regimes._resolved(0.999e-6), regimes._resolved(1.001e-6)
    assert below == pytest.approx(above, abs=2e-6)


def test_at_the_step_one_quarter_the_right_edge_is_forgotten_in_one_epoch():
    assert regimes.expected_loss(0, 30, 0.25) == pytest.approx(1, abs=1e-12)
    near = regimes.expected_loss(np.array([1, 2]), 30, 0.25 + 1e-9)
    assert regimes.expected_loss(np.array([1, 2]), 30, 0.25) == pytest.approx(near, rel=1e-7)


# --------------------------------------------------------------------------------------------- fluctuations


def test_gaussian_designs_stray_from_the_law_by_the_derived_amount():
    """Relative spread √(ηn)/d at t from 8 to d²/20: standard error 1/√(2·draws) = 0.9 %, corrections O(1/t, √t/d)."""
    d, draws = 48, 6000
    values = gaussian_eigenvalues(d, draws, seed=2)
    for n in (16, 60, 200):
        sample = losses(values, n, 0.25)
        spread = sample.std(ddof=1) * d * np.sqrt(np.pi * 0.5 * n) / d  # relative to the law 1/√(πt)
        assert spread == pytest.approx(regimes.gaussian_spread(n, d, 0.25), rel=0.06)


@pytest.mark.parametrize("beta", [0.3, 0.5, 1.5])
def test_independent_eigenvalues_stray_by_the_papers_amount(beta):
    edge, d, n = EdgeFit(beta, 1.0), 400, 4000 if beta < 1 else 12
    values = np.random.default_rng(3).random((4000, d)) ** (1 / beta)
    sample = np.exp(-2 * 0.25 * n * values).mean(axis=1)
    leading = regimes.independent_spread(n, d, edge, 0.25)
    exact = np.sqrt(leading**2 - 1 / d)  # with the square of the mean, which the leading order leaves out
    # the standard error of a standard deviation over 4000 draws is 1.1 %, more for skewed ones
    assert sample.std(ddof=1) / sample.mean() == pytest.approx(exact, rel=0.05)


def test_the_spread_of_rigid_eigenvalues_is_the_square_of_the_independent_one_up_to_a_constant():
    n = np.array([10, 100, 1000])
    ratio = regimes.independent_spread(n, 500, HALF, 0.25) ** 2 / regimes.gaussian_spread(n, 500, 0.25)
    assert ratio == pytest.approx(np.sqrt(np.pi), rel=1e-12)


# --------------------------------------------------------------------------------------- smallest eigenvalue


def test_the_smallest_eigenvalue_of_gaussian_designs_follows_edelman_and_not_weibull():
    d, draws = 32, 8000
    smallest = np.sort(gaussian_eigenvalues(d, draws, seed=5)[:, 0])
    above = 1 - (np.arange(draws) + 0.5) / draws
    edelman = np.abs(regimes.smallest_survival(smallest, d) - above).max()
    weibull = np.abs(regimes.smallest_survival_independent(smallest, d, HALF) - above).max()
    assert edelman < 1.63 / np.sqrt(draws) + 0.25 / d  # the 1 % point of Kolmogorov's distance, and O(1/d)
    assert weibull > 0.1


def test_the_smallest_of_independent_eigenvalues_follows_weibull():
    d, draws = 200, 8000
    values = np.sort((np.random.default_rng(6).random((draws, d)) / HALF.Q).min(axis=1) ** 2)
    above = 1 - (np.arange(draws) + 0.5) / draws
    distance = np.abs(regimes.smallest_survival_independent(values, d, HALF) - above).max()
    assert distance < 1.63 / np.sqrt(draws) + 0.5 / d


def test_the_window_ends_where_one_eigenvalue_is_left():
    n = regimes.window_end(100, HALF, 0.25)
    assert 100 * HALF.cdf(1 / (2 * 0.25 * n)) == pytest.approx(1, rel=1e-12)


# ------------------------------------------------------------------------------------------- the shifted edge


def designed(d, edge):
    return edge.lambda_0 + ((np.arange(1, d + 1) - 0.5) / d / edge.Q) ** (1 / edge.beta)


def test_the_paper_predictor_by_hand_for_an_exponential_edge():
    # β = 1: Γ(1, z) = e^(−z) and Γ(2, z) = (1+z)e^(−z)
    test, train = regimes.gap_and_atom(2, EdgeFit(1.0, 0.5, 0.1), smallest=0.3, fraction=0.25, step=0.5)
    front, z = np.exp(-2 * 0.1), 2 * 0.2
    assert test == pytest.approx(front * (0.5 / 2 * np.exp(-z) + 0.25 * np.exp(-z)), rel=1e-13)
    inner = 0.1 * np.exp(-z) / 2 + (1 + z) * np.exp(-z) / 4
    assert train == pytest.approx(front * 0.5 * inner + 0.25 * 0.3 * np.exp(-2 * 0.3), rel=1e-13)


@pytest.mark.parametrize("edge", [EdgeFit(1.5, 0.35, 0.02), EdgeFit(1.5, 0.35, 0.3), EdgeFit(0.75, 0.6, 0.1)])
def test_eight_atoms_and_the_edge_predict_where_one_gap_and_atom_do_not(edge):
    d, step, n = 256, 0.3, np.array([100, 300, 1000])
    values = designed(d, edge)
    exact = gd.curve(values, n, step)
    test, train = regimes.atoms_and_edge(n, edge, values[:8], d, step)
    assert test == pytest.approx(exact.test[1:], rel=0.005)
    assert train == pytest.approx(exact.train[1:], rel=0.006)
    paper, _ = regimes.gap_and_atom(n, edge, values[0], 1 / d, step)
    assert (np.abs(paper / exact.test[1:] - 1) > 0.15).all()


def test_the_papers_exponential_is_off_by_a_growing_factor():
    edge, d, step = EdgeFit(1.5, 0.35, 0.3), 64, 0.3
    values, n = designed(d, edge), np.array([1000, 2000])
    paper, _ = regimes.gap_and_atom(n, edge, values[0], 1 / d, step)
    excess = np.log(paper / gd.curve(values, n, step).test[1:])
    rate = -2 * (np.log1p(-step * values[0]) + step * values[0])
    assert np.diff(excess) / 1000 == pytest.approx(rate, rel=2e-3)


def test_without_atoms_the_predictor_is_the_law_of_the_edge():
    edge, n = EdgeFit(1.5, 0.35, 0.1), np.array([3, 30])
    test, train = regimes.atoms_and_edge(n, edge, [], 100, 0.3)
    assert test == pytest.approx(gd.asymptotic_test(n, edge, 0.3), rel=1e-12)
    assert train == pytest.approx(gd.asymptotic_train(n, edge, 0.3), rel=1e-12)


# ---------------------------------------------------------------------------------------------- aspect ratio


@pytest.mark.parametrize("rho", [0.7, 0.9, 0.98, 1.0, 1.02, 1.1, 1.3])
def test_the_crossover_formula_joins_plateau_power_law_and_exponential(rho):
    n = np.array([100, 400, 1600])
    n = n[0.2**2 * MarchenkoPastur(rho).support[0] ** 2 * n < 0.01]
    assert len(n) >= 2 or rho in (0.7, 1.3)
    exact = gd.test_loss(n, 0.2, rho)
    assert regimes.aspect_crossover(n, rho, 0.2) == pytest.approx(exact, rel=0.02)


def test_the_crossover_has_the_three_limits():
    assert regimes.aspect_crossover(10**9, 0.9, 0.2) == pytest.approx(0.1, rel=1e-3)
    assert regimes.aspect_crossover(400, 1.0, 0.25) == pytest.approx(1 / np.sqrt(np.pi * 200), rel=1e-12)
    t = 2 * 0.2 * 4 * 10**4
    z2 = MarchenkoPastur(1.1).support[0] * t
    tail = 1.1**0.75 * np.exp(-z2) / (2 * np.sqrt(np.pi) * z2 * np.sqrt(t))
    assert regimes.aspect_crossover(4 * 10**4, 1.1, 0.2) == pytest.approx(tail, rel=0.05)


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: regimes.window_end(0, HALF, 0.1), "dims must be an integer of at least 1"),
        (lambda: regimes.window_end(9, HALF, 0), "step must be"),
        (lambda: regimes.gaussian_spread(1.5, 10, 0.1), "n must be a non-negative integer"),
        (lambda: regimes.independent_spread(1, 10.0, HALF, 0.1), "dims must be"),
        (lambda: regimes.smallest_survival(-1.0, 10), "x must hold finite numbers"),
        (lambda: regimes.smallest_survival(np.nan, 10), "x must hold finite numbers"),
        (lambda: regimes.expected_loss(1, 1, 0.2), "dims must be an integer of at least 2"),
        (lambda: regimes.expected_loss(1, 10, 0.5), "diverges"),
        (lambda: regimes.gap_and_atom(1, EdgeFit(1, 1, 0.2), 0.1, 0.1, 0.1), "must not lie below the edge"),
        (lambda: regimes.gap_and_atom(1, HALF, 0.1, 0.0, 0.1), "fraction must be"),
        (lambda: regimes.atoms_and_edge(1, HALF, [1.0, 2.0, 3.0], 2, 0.1), "at most dims = 2"),
        (lambda: regimes.atoms_and_edge(1, HALF, 1.0, 2, 0.1), "a list of at most"),
        (lambda: regimes.atoms_and_edge(1, HALF, [20.0], 2, 0.1), "below 1/λ"),
        (lambda: regimes.aspect_crossover(1, -1.0, 0.1), "rho must be"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(call, complaint):
    with pytest.raises(ValueError, match=complaint) as error:
        call()
    assert "\n" not in str(error.value)
    assert str(error.value).endswith(".")


# ------------------------------------------------------------------------------------ where the window starts


@pytest.mark.parametrize("beta", [0.5, 1.0, 1.7])
@pytest.mark.parametrize("beyond", [0.02, 0.3])
def test_from_its_start_on_the_window_holds_all_but_the_given_share_of_the_integral(beta, beyond):
    edge = EdgeFit(beta, 3.0, 0.2, window=(0.21, 0.7))
    n = regimes.window_start(edge, 0.3, beyond)

    def integral(low):
        return mpmath.quad(lambda x: x ** (beta - 1) * mpmath.exp(-0.6 * n * x), [low, 1, 5, mpmath.inf])

    assert float(integral(0.5) / integral(0)) == pytest.approx(beyond, rel=1e-6)
    assert regimes.window_start(edge, 0.6, beyond) == pytest.approx(n / 2)


def test_a_law_without_a_window_has_no_start():
    for window in ((0.0, np.inf), (0.0, 0.1)):
        with pytest.raises(ValueError, match="fitted over a window"):
            regimes.window_start(EdgeFit(0.5, 1.0, 0.2, window=window), 0.1)
