"""Flip-flop on any spectrum: against closed forms, exact traces of matrices, real embeddings, and itself."""

import numpy as np
import pytest

from edgelaw import data, exact, kaczmarz
from edgelaw.curves import VANISHED
from edgelaw.exact import levy
from edgelaw.exact.batches.blocks import SampleRows
from edgelaw.exact.flip_flop import boundary
from edgelaw.exact.flip_flop.boundary import FINE, Circle
from edgelaw.exact.flip_flop.collocation import Problem, Unsolved
from edgelaw.theory import flip_flop

EPOCHS = np.array([1, 2, 3, 5, 8, 14, 25, 45, 70, 100])


def unit_rows(covariance, rows, rng):
    """Gaussian directions with the given covariance eigenvalues."""
    return data.normalize_rows(rng.standard_normal((rows, len(covariance))) * np.sqrt(covariance))


def exact_losses(rows, step, epochs):
    """Both losses averaged over starts, without probes; the training loss over a pass and its reverse."""
    U = rows / np.linalg.norm(rows, axis=1)[:, None]
    left, sigma, right = np.linalg.svd(kaczmarz.epoch_matrix(U, step))
    weight = ((U @ left) ** 2 + (U @ right.T) ** 2).sum(axis=0) / 2
    powers = sigma[:, None] ** (2 * epochs)
    return np.stack([powers.mean(axis=0), weight @ powers / len(U)])


def losses(curve, epochs):
    places = np.searchsorted(curve.epochs, epochs)
    return np.stack([curve.test[places], curve.train[places]])


# ------------------------------------------------------------------------------------------- isotropic closed forms


@pytest.mark.parametrize(
    ("step", "rho"), [(0.1, 1.0), (0.5, 2.0), (1.0, 0.5), (1.5, 1.0), (1.9, 2.0), (1.9, 0.5)]
)
def test_equal_covariance_eigenvalues_give_the_closed_forms(step, rho):
    curve = exact.population_curve("flip_flop", [3.0, 3.0], EPOCHS, step, rho)
    for ours, truth in ((curve.test, flip_flop.test_loss), (curve.train, flip_flop.train_loss)):
        truth = truth(curve.epochs, step, rho)
        np.testing.assert_allclose(ours[truth > 1e-8], truth[truth > 1e-8], rtol=1e-5)
        np.testing.assert_allclose(ours[truth > 1e-4], truth[truth > 1e-4], rtol=1e-7)
        seen = truth > VANISHED
        assert np.abs(ours[seen] / truth[seen] - 1).max() <= curve.error
    assert np.isnan(curve.test_se).all()
    assert np.isnan(curve.train_se).all()


def marchenko_pastur(rho, size=400):
    """Eigenvalues of XᵀX/m and their shares, for m = ρd isotropic rows."""
    x, weights = np.polynomial.legendre.leggauss(size)
    angle = np.pi * (x + 1) / 2
    if rho == 1:
        return 4 * np.sin(angle / 2) ** 2, weights * np.cos(angle / 2) ** 2
    low, high = (1 - rho**-0.5) ** 2, (1 + rho**-0.5) ** 2
    values = (low + high) / 2 - (high - low) / 2 * np.cos(angle)
    weights = weights * np.sin(angle) ** 2 / values
    weights *= min(rho, 1) / weights.sum()
    return (np.append(0, values), np.append(1 - rho, weights)) if rho < 1 else (values, weights)


@pytest.mark.parametrize("rho", [1 / 8, 1 / 2, 1, 600 / 512, 4, 16, 64])
@pytest.mark.parametrize("step", [0.1, 0.5, 1.0, 1.5, 1.9])
def test_the_marchenko_pastur_spectrum_gives_the_closed_forms(step, rho):
    values, weights = marchenko_pastur(rho)
    for epochs in (50, 200):
        curve = exact.curve("flip_flop", values, epochs, step, rho, weights=weights)
        for ours, truth in ((curve.test, flip_flop.test_loss), (curve.train, flip_flop.train_loss)):
            truth = truth(curve.epochs, step, rho)
            gap, seen = np.abs(ours - truth), truth > VANISHED  # computed or continued
            assert (gap[seen] <= curve.error * truth[seen]).all()
            assert (gap[truth > 1e-7] < 1e-3 * truth[truth > 1e-7]).all()


@pytest.mark.parametrize("step", [0.3, 1.0, 1.6])
def test_orthogonal_rows_are_multiplied_by_one_minus_the_step(step):
    curve = exact.curve("flip_flop", np.full(25, 7.0), 20, step)
    np.testing.assert_allclose(curve.test, (1 - step) ** (2.0 * np.arange(21)), rtol=1e-12)
    np.testing.assert_array_equal(curve.test, curve.train)


@pytest.mark.parametrize("step", [0.1, 0.5, 1.5])
def test_the_boundary_problem_itself_handles_orthogonal_rows(step):
    n, rows = np.arange(41), SampleRows(np.ones(1), np.ones(1), 1.0)
    curve = boundary.curve(n, rows, step, lambda average, points: Problem(average, 1.0, step, points))
    truth = np.tile((1 - step) ** (2.0 * n), (2, 1))
    shown = truth > 1e-7
    assert np.abs([curve.test, curve.train] / truth - 1)[shown].max() < 5e-3


@pytest.mark.parametrize(("step", "rho"), [(0.6, 1.0), (1.4, 0.7), (1.0, 1.8)])
def test_the_first_epoch_is_that_of_single_shuffle(step, rho):
    covariance = [0.3, 1.0, 2.5]
    ours = exact.population_curve("flip_flop", covariance, 1, step, rho)
    other = exact.population_curve("single_shuffle", covariance, 1, step, rho)
    np.testing.assert_allclose([ours.test[1], ours.train[1]], [other.test[1], other.train[1]], rtol=1e-6)


# --------------------------------------------------------------------------------------------------------- matrices


def covariances(d):
    return {
        "two-point": np.repeat([0.2, 1.8], d // 2),
        "uniform": (np.arange(d) + 0.5) / d,
        "power": np.arange(1.0, d + 1) ** -0.5,
    }


@pytest.mark.parametrize(
    ("name", "step"), [("two-point", 0.5), ("uniform", 1.5), ("power", 0.5), ("power", 1.5)]
)
def test_matrices_of_a_given_covariance_deviate_by_order_one_over_d(name, step):
    d, runs, n = 300, 8, np.array([1, 2, 5, 10, 20, 50])
    covariance = covariances(d)[name]
    rng = np.random.default_rng(11)
    draws = np.stack([exact_losses(unit_rows(covariance, d, rng), step, n) for _ in range(runs)])
    mean, error = draws.mean(axis=0), draws.std(axis=0, ddof=1) / runs**0.5
    theory = losses(exact.population_curve("flip_flop", covariance, 50, step), n)
    assert (error[0] < 0.01 * mean[0]).all()
    assert (error[1] < 0.02 * mean[1]).all()
    assert (np.abs(mean / theory - 1) < 4 * error / mean + 4 / d).all()


@pytest.mark.parametrize(("step", "rho"), [(1.0, 0.5), (0.7, 2.0)])
def test_matrices_with_more_or_fewer_rows_than_columns(step, rho):
    d, runs, n = 240, 16, np.array([1, 2, 5, 10])
    rng = np.random.default_rng(5)
    covariance = np.repeat([0.5, 1.0, 2.5], d // 3)
    draws = np.stack([exact_losses(unit_rows(covariance, int(rho * d), rng), step, n) for _ in range(runs)])
    mean, error = draws.mean(axis=0), draws.std(axis=0, ddof=1) / runs**0.5
    theory = losses(exact.population_curve("flip_flop", covariance, 10, step, rho), n)
    assert (error < 0.02 * mean).all()
    assert (np.abs(mean / theory - 1) < 4 * error / mean + 4 / d).all()


def test_a_sample_s_own_eigenvalues_predict_its_curve():
    step, d, runs, n = 1.5, 400, 8, np.array([1, 2, 5, 10, 20, 50])
    rng = np.random.default_rng(3)
    U = unit_rows(1 / np.arange(1.0, d + 1) ** 0.8, d, rng)
    curve = exact.curve("flip_flop", np.linalg.eigvalsh(U.T @ U), n, step)
    draws = np.stack([exact_losses(U[rng.permutation(d)], step, n) for _ in range(runs)])
    mean, error = draws.mean(axis=0), draws.std(axis=0, ddof=1) / runs**0.5
    assert (error[0] < 0.003 * mean[0]).all()
    assert (error[1] < 0.0133 * mean[1]).all()
    assert (np.abs(mean[0] / losses(curve, n)[0] - 1) < 0.01).all()
    assert (np.abs(mean[1] / losses(curve, n)[1] - 1) < 0.04).all()


@pytest.mark.parametrize("step", [0.5, 1.5])
def test_a_spectrum_with_a_gap_decays_exponentially(step):
    d, n = 300, np.array([1, 3, 6, 10])
    eigenvalues = np.linspace(0.6, 1.4, d)
    rng = np.random.default_rng(8)
    draws = []
    for _ in range(6):
        left, right = data.haar(d, d, rng), data.haar(d, d, rng)
        draws.append(exact_losses(left * np.sqrt(eigenvalues) @ right.T, step, n))
    mean, error = np.mean(draws, axis=0), np.std(draws, axis=0, ddof=1) / 6**0.5
    curve = exact.curve("flip_flop", eigenvalues, 40, step)
    assert (np.abs(mean / losses(curve, n) - 1) < 4 * error / mean + 0.5 * n / d).all()
    assert curve.test[40] < 1e-8
    ratio = (curve.test[2:] / curve.test[1:-1])[curve.test[2:] > 1e-9]
    assert (np.diff(ratio) > -1e-5).all()  # moments of a positive measure
    assert ratio[-1] < 0.7


# -------------------------------------------------------------------------------------------------------- real data


def test_real_embeddings_follow_the_curve_of_their_eigenvalues():
    step = 0.5
    n = np.array([1, 2, 5, 10, 20, 50])
    X = data.preprocess(data.load("wikipedia").features, 512, 512, 0).X
    curve = exact.curve("flip_flop", np.linalg.eigvalsh(X.T @ X), 50, step)
    assert curve.error < 1e-3
    rng = np.random.default_rng(4)
    draws = np.stack([exact_losses(X[rng.permutation(512)], step, n) for _ in range(6)])
    mean, error = draws.mean(axis=0), draws.std(axis=0, ddof=1) / 6**0.5
    assert (error[0] < 0.005 * mean[0]).all()
    assert (error[1] < 0.0133 * mean[1]).all()
    assert (np.abs(mean[0] / losses(curve, n)[0] - 1) < 0.015).all()
    assert (np.abs(mean[1] / losses(curve, n)[1] - 1) < 0.04).all()


# ------------------------------------------------------------------------------------------------------ consistency


def test_null_directions_of_a_covariance_keep_their_share():
    full = exact.population_curve("flip_flop", [0.5, 1.5], [1, 10, 60], 1.2, 1.5)
    half = exact.population_curve("flip_flop", [0, 0.5, 1.5, 0], [1, 10, 60], 1.2, 0.75)
    np.testing.assert_allclose(half.test, 0.5 + 0.5 * full.test, rtol=1e-6)
    np.testing.assert_allclose(half.train, full.train, rtol=1e-5)


def test_null_directions_of_a_sample_keep_their_share():
    d, n = 300, np.array([1, 2, 3, 4])
    rng = np.random.default_rng(2)
    eigenvalues = np.concatenate([np.zeros(d // 4), np.linspace(0.5, 2, d - d // 4)])
    eigenvalues /= eigenvalues.mean()
    draws = [
        exact_losses(data.haar(d, d, rng) * np.sqrt(eigenvalues) @ data.haar(d, d, rng).T, 1.0, n)
        for _ in range(6)
    ]
    mean, error = np.mean(draws, axis=0), np.std(draws, axis=0, ddof=1) / 6**0.5
    curve = exact.curve("flip_flop", eigenvalues, 4)
    assert (np.abs(mean / losses(curve, n) - 1) < 4 * error / mean + 6 / d).all()
    assert 0.25 < curve.test[4] < 0.252


def test_later_epochs_continue_the_same_curve():
    covariance = [0.3, 1.0, 2.0]
    near = exact.population_curve("flip_flop", covariance, [90, 100], 0.8)
    far = exact.population_curve("flip_flop", covariance, [90, 100, 3000], 0.8)
    np.testing.assert_allclose(far.test[:3], near.test, rtol=1e-6)
    np.testing.assert_allclose(far.train[:3], near.train, rtol=1e-6)


@pytest.mark.parametrize(
    ("covariance", "step"), [([0.4, 1.6], 1.5), ([1.0, 2.0, 6.0], 0.5), ([0.5, 0.6, 0.7, 4.0], 1.0)]
)
def test_the_edge_constants_are_the_limits_of_the_curve(covariance, step):
    n = np.array([2000, 4000, 8000])
    curve = exact.population_curve("flip_flop", covariance, n, step)
    test, train = exact.constants("flip_flop", covariance, step)
    test, train = curve.test[1:] * n**0.5 / test, curve.train[1:] * n**1.5 / train
    without = np.array([1, -6, 8]) / 3  # the terms in 1/n and 1/n²
    assert abs(without @ test - 1) < 1e-6
    assert abs(without @ train - 1) < 2e-5
    v = np.var(covariance) / np.mean(covariance) ** 2
    inverse = np.mean(covariance) * np.mean(1 / np.array(covariance))
    law = edge_coefficient(step, v)
    expected = np.sqrt(inverse * law / np.pi)
    assert abs(exact.constants("flip_flop", covariance, step)[0] / expected - 1) < 1e-12


def edge_coefficient(step, v):
    """a of `effective_step` for a covariance of variance v, from its docstring."""
    return 1 / (step * (2 - step)) - 0.5 + step * v / (6 * (2 - step))


def test_the_effective_step_counts_the_sample_s_variance():
    rng = np.random.default_rng(0)
    U = unit_rows(np.repeat([0.5, 1.5], 600), 1200, rng)
    effective = exact.effective_step("flip_flop", 1.5, np.linalg.eigvalsh(U.T @ U))
    assert abs(effective * 2 * edge_coefficient(1.5, 0.25) - 1) < 0.01


# ---------------------------------------------------------------------------------------------------- many epochs


def test_all_epochs_agree_with_some_of_them():
    some = exact.population_curve("flip_flop", [0.5, 1.5], [1, 300, 777, 1000], 0.7)
    every = exact.population_curve("flip_flop", [0.5, 1.5], 1000, 0.7)
    np.testing.assert_allclose(losses(every, some.epochs), [some.test, some.train], rtol=1e-8)


def test_losses_that_have_vanished_are_continued():
    values, weights = marchenko_pastur(4)
    curve = exact.curve("flip_flop", values, 200, 1.0, 4.0, weights=weights)
    assert min(curve.test[curve.continued], curve.train[curve.continued]) < 1e-6
    assert curve.train.min() >= 0
    assert 0 <= curve.test[-1] < 1e-60


@pytest.mark.parametrize("step", [0.15, 0.2, 1.0])
def test_losses_that_vanish_at_once_are_continued_from_the_first_epoch(step):
    values, weights = marchenko_pastur(64)
    curve = exact.curve("flip_flop", values, 3, step, 64.0, weights=weights)
    assert curve.continued == 1
    assert curve.test[2:].max() < 1e-12
    truth = flip_flop.test_loss(1, step, 64.0), flip_flop.train_loss(1, step, 64.0)
    gap = np.abs(np.array([curve.test[1], curve.train[1]]) - truth)
    assert (gap <= curve.error * np.array(truth) + 1e-15).all()


def test_a_circle_gives_the_coefficients_of_a_cut():
    circle = Circle(4 / 100, 1e-10)
    n = np.arange(1, 101)
    computed = circle.coefficients(np.stack([(1 - circle.points) ** -0.5]), n)[0]
    truth = np.cumprod((n - 0.5) / n)
    np.testing.assert_allclose(computed, truth, rtol=1e-9)


# -------------------------------------------------------------------------------------------------------- refusals


def test_a_curve_that_two_resolutions_do_not_share_is_refused(monkeypatch):
    monkeypatch.setattr(
        boundary, "losses", lambda equations, null, n, way: np.full((2, len(n)), 0.1 ** (way.digits - 10))
    )
    with pytest.raises(ArithmeticError, match="resolutions"):
        exact.population_curve("flip_flop", [0.5, 1.5], 5)


def test_newton_s_method_says_when_it_fails():
    problem = Problem(levy.from_covariance([0.5, 1.5]), 1.0, 1.0, 6)
    with pytest.raises(ArithmeticError, match="converge"):
        problem.newton(0.7 + 0j, problem.start(), steps=1)
    circle = Circle(0.1, 1e-8)
    circle.points = np.array([1e9 + 0j])
    with pytest.raises(ArithmeticError, match="converge"):
        circle.around(problem, problem.transforms)


def test_an_equation_that_is_not_solved_is_refused(monkeypatch):
    tried = []

    def unsolved(equations, null, n, way):
        tried.append(way)
        raise Unsolved("Newton's method did not converge.")

    monkeypatch.setattr(boundary, "losses", unsolved)
    with pytest.raises(ArithmeticError, match="did not converge"):
        exact.curve("flip_flop", np.linspace(0, 2, 40), 5)
    assert tried == [FINE]


def test_a_first_loss_that_is_not_that_of_the_first_epoch_is_noticed(monkeypatch):
    """As from a pole on the wrong side of the contour: the other losses of that circle are not used."""
    monkeypatch.setattr(Problem, "first_epoch", lambda self: np.array([0.5, 0.4]))
    with pytest.raises(ArithmeticError, match="wrong side"):
        exact.population_curve("flip_flop", [0.5, 1.5], 5)


def test_a_guess_that_leads_nowhere_is_replaced_by_the_last_solution():
    covariance = levy.from_covariance([0.5, 1.5])

    class Hesitant(Problem):
        last = None

        def newton(self, z, X, steps=8):
            if self.last is not None and X is not self.last:
                raise Unsolved("Too far.")
            self.last, touched = super().newton(z, X, steps)
            return self.last, touched

    circle, problems = Circle(0.1, 1e-8), [kind(covariance, 1.0, 1.0, 7) for kind in (Hesitant, Problem)]
    slow, fast = (circle.around(each, each.transforms) for each in problems)
    np.testing.assert_allclose(slow, fast, rtol=1e-6)
