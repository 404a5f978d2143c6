import mpmath
import numpy as np
import pytest

from edgelaw import data
from edgelaw.spectrum import EdgeFit, MarchenkoPastur, gram_eigenvalues
from edgelaw.theory import gradient_descent as gd

ASPECTS = [0.4, 0.98, 1.0, 1.02, 3.0]


def largest_step(rho):
    return 2 / (1 + rho**-0.5) ** 2


def by_moments(n, step, rho, power):
    """Exact expansion in the moments of the law, Σ Narayana(k, j) ρ^{1−j}: no quadrature at all."""
    with mpmath.workdps(80):
        rho, step = mpmath.mpf(rho), mpmath.mpf(step)

        def moment(k):
            narayana = (mpmath.binomial(k, j) * mpmath.binomial(k, j - 1) / k for j in range(1, k + 1))
            return mpmath.fsum(c * rho**-j for j, c in enumerate(narayana)) if k else mpmath.mpf(1)

        terms = (mpmath.binomial(2 * n, k) * (-step) ** k * moment(k + power) for k in range(2 * n + 1))
        return float(mpmath.fsum(terms))


def by_quadrature(n, step, rho, power):
    """mpmath's quadrature of the density, scaled so that its absolute tolerance is a relative one."""
    with mpmath.workdps(30):
        step, rho = mpmath.mpf(step), mpmath.mpf(rho)
        r = 1 / mpmath.sqrt(rho)
        low, high = (1 - r) ** 2, (1 + r) ** 2
        slow = max(abs(1 - step * low), abs(1 - step * high))

        def integrand(theta):
            value = low + 4 * r * mpmath.sin(theta / 2) ** 2
            weight = 2 / mpmath.pi * mpmath.sin(theta) ** 2 * value ** (power - 1)
            return weight * ((1 - step * value) / slow) ** (2 * n) * (n + 1) ** 2

        width = 1 / mpmath.sqrt(1 + n)
        cuts = [width * k for k in (1, 2, 4, 8, 16, 32) if width * k < 1.5]
        points = [mpmath.mpf(10) ** -20, *cuts, *[mpmath.pi - cut for cut in cuts[::-1]], mpmath.pi]
        value = mpmath.quad(integrand, points) * slow ** (2 * n) / (n + 1) ** 2
        return float(value + (max(0, 1 - rho) if power == 0 else 0))


def test_the_first_epochs_by_hand_from_the_first_moments():
    # moments 1, 2, 5 of the law at m = d
    assert gd.test_loss(1, 0.3) == pytest.approx(1 - 0.6 + 2 * 0.09, rel=1e-14)
    assert gd.train_loss(1, 0.3) == pytest.approx(1 - 0.6 * 2 + 0.09 * 5, rel=1e-13)
    assert gd.test_loss([0, 0], 0.1).tolist() == pytest.approx([1, 1], rel=1e-14)


@pytest.mark.parametrize("rho", ASPECTS)
@pytest.mark.parametrize("fraction", [0.05, 0.6, 0.97])
def test_losses_agree_with_the_exact_expansion_in_moments(rho, fraction):
    step = fraction * largest_step(rho)
    for n in (0, 1, 2, 7, 16):
        assert gd.test_loss(n, step, rho) == pytest.approx(by_moments(n, step, rho, 0), rel=1e-12)
        assert gd.train_loss(n, step, rho) == pytest.approx(by_moments(n, step, rho, 1), rel=1e-12)


@pytest.mark.parametrize(
    ("rho", "fraction", "n"),
    [(1.0, 0.9, 10**6), (1.0, 0.1, 300), (1.02, 0.999, 10**6), (2.0, 0.999, 10**4), (0.5, 0.5, 10**4)],
)
def test_losses_agree_with_high_precision_quadrature_at_many_epochs(rho, fraction, n):
    step = fraction * largest_step(rho)
    assert gd.test_loss(n, step, rho) == pytest.approx(by_quadrature(n, step, rho, 0), rel=1e-11)
    assert gd.train_loss(n, step, rho) == pytest.approx(by_quadrature(n, step, rho, 1), rel=1e-11)


def test_gradient_descent_on_a_gaussian_design_follows_the_law():
    """Rigid eigenvalues: one draw at d = 1000 strays by √(ηn)/d; where the loss is exponentially small, by more."""
    n = np.array([1, 3, 10])
    for rho in (0.5, 1.0, 2.0):
        values = gram_eigenvalues(data.gaussian(int(1000 * rho), 1000, rng=3))
        curve = gd.curve(values, n, 0.2)
        assert curve.test[1:] == pytest.approx(gd.test_loss(n, 0.2, rho), rel=0.01)
        assert curve.train[1:] == pytest.approx(gd.train_loss(n, 0.2, rho), rel=0.03)


def test_the_curve_is_what_iterating_the_matrix_gives():
    X = data.gaussian(12, 9, rng=0)
    H = X.T @ X / 12
    step = 1.5 / np.linalg.eigvalsh(H)[-1]
    power = np.linalg.matrix_power(np.eye(9) - step * H, 7)
    curve = gd.curve(gram_eigenvalues(X), epochs=7, step=step)
    assert curve.epochs.tolist() == list(range(8))
    assert curve.test[7] == pytest.approx(np.trace(power @ power) / 9, rel=1e-11)
    assert curve.train[7] == pytest.approx(np.trace(H @ power @ power) / 9, rel=1e-11)
    assert (curve.test_se == 0).all()


def test_a_direction_with_step_times_eigenvalue_one_is_gone_after_one_epoch():
    curve = gd.curve([0.5, 2.0], epochs=[2], step=0.5)
    assert curve.epochs.tolist() == [0, 2]
    assert curve.test.tolist() == pytest.approx([1.0, 0.5 * 0.75**4], rel=1e-14)


def test_what_is_below_1e_300_is_zero_without_a_warning():
    assert gd.test_loss(10**6, 0.3, rho=3.0) == 0.0
    assert gd.curve([1.0, 1.1], [10**6], 1.7).test[1] == 0.0


@pytest.mark.parametrize("step", [0.05, 0.25, 0.45])
def test_the_constants_are_the_limits_and_the_approach_is_of_order_one_over_n(step):
    n = np.array([10**3, 10**4])
    test = gd.test_loss(n, step) * np.sqrt(n) / gd.test_constant(step) - 1
    train = gd.train_loss(n, step) * n**1.5 / gd.train_constant(step) - 1
    for error in (test, train):
        assert abs(error[1]) < 2e-3
        assert error[1] == pytest.approx(error[0] / 10, rel=0.02)


def _edge_integral(edge, n, step, power):
    """∫ λ^power (1 − step λ)^{2n} d(Q(λ−λ₀)^β) in u = F; geometric cuts resolve its left end."""
    start = (1 - step * edge.lambda_0) ** (2 * n)

    def integrand(u):
        value = edge.lambda_0 + (u / edge.Q) ** (1 / mpmath.mpf(edge.beta))
        return value**power * (1 - step * value) ** (2 * n) / start

    return start * mpmath.quad(integrand, [0, *[mpmath.mpf(10) ** (-k / 2) for k in range(12, -1, -1)]])


@pytest.mark.parametrize("edge", [EdgeFit(0.5, 2 / np.pi), EdgeFit(0.3, 0.8), EdgeFit(1.5, 0.4, 0.1)])
def test_the_asymptotic_law_of_a_general_edge_is_the_limit_of_the_integral(edge):
    """The law Q(λ−λ₀)^β on its own support, integrated by mpmath, at the step 1/(2 λmax)."""
    top = edge.lambda_0 + edge.Q ** (-1 / edge.beta)
    step = 0.5 / top
    errors = []
    for n in (400, 1600):
        with mpmath.workdps(25):
            exact = [float(_edge_integral(edge, n, step, power)) for power in (0, 1)]
        laws = gd.asymptotic_test(n, edge, step), gd.asymptotic_train(n, edge, step)
        errors.append(np.array(laws) / exact - 1)
    assert np.abs(errors[1]).max() < 0.01
    assert errors[1] == pytest.approx(np.array(errors[0]) / 4, rel=0.1)


def test_the_asymptotic_law_at_m_equal_d_has_the_constants():
    edge = MarchenkoPastur(1.0).edge
    n = np.array([1, 4])
    assert gd.asymptotic_test(n, edge, 0.3) == pytest.approx(gd.test_constant(0.3) / np.sqrt(n), rel=1e-14)
    assert gd.asymptotic_train(n, edge, 0.3) == pytest.approx(gd.train_constant(0.3) / n**1.5, rel=1e-14)
    assert gd.asymptotic_test(0, edge, 0.3) == np.inf


def test_the_effective_step_of_gradient_descent_is_its_step():
    assert gd.effective_step(0.3) == 0.3


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: gd.test_loss(1, 0.5), "diverges from 2/λmax on.* strictly between 0 and 0.5"),
        (lambda: gd.train_loss(1, 1.0, rho=4.0), "strictly between 0 and 0.88"),
        (lambda: gd.curve([1.0, 4.0], 3, 0.5), "diverges from 2/λmax on"),
        (lambda: gd.effective_step(0.6), "diverges"),
        (lambda: gd.test_constant(0.5), "diverges"),
        (lambda: gd.asymptotic_test(1, EdgeFit(1.5, 1.0, 2.0), 0.5), "below 1/λ₀"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(call, complaint):
    with pytest.raises(ValueError, match=complaint) as error:
        call()
    assert "\n" not in str(error.value)
    assert str(error.value).endswith(".")
