"""Random reshuffle on any spectrum: against closed forms, hand computations, other orders' equations, and matrices."""

import numpy as np
import pytest

from edgelaw import data, exact, spectrum
from edgelaw._common.numerics import panels
from edgelaw.exact import agreement, first_epoch
from edgelaw.exact.random_reshuffle import engine, rows
from edgelaw.exact.random_reshuffle.contours import Points
from edgelaw.kaczmarz import simulate
from edgelaw.theory import random_reshuffle as rr


def marchenko_pastur(rho=1.0):
    """Nodes and weights of the law of XᵀX/m, graded towards its left edge, and its zeros."""
    theta, width = panels(np.append(0.0, np.pi * 0.5 ** np.arange(rr._PANELS, -1, -1)), rr._ORDER)
    values = rr._eigenvalue(theta, rho)
    weights = 2 * rho / np.pi * np.sin(theta) ** 2 / values * width
    if rho < 1:
        return np.append(0.0, values / rho), np.append(1 - rho, weights)
    return values / rho, weights


def far(values, truth):
    return np.abs(values / truth - 1).max()


# --------------------------------------------------------------------------------------------- known exactly


@pytest.mark.parametrize("step", [0.5, 1.9])
def test_orthogonal_rows_multiply_both_losses_by_the_same_factor_every_epoch(step):
    curve = exact.curve("random_reshuffle", np.full(25, 3.0), epochs=6, step=step)
    truth = (1 - step) ** (2 * np.arange(7))
    assert far(curve.test, truth) < 1e-9
    assert far(curve.train, truth) < 1e-9


def test_orthogonal_rows_at_step_one_are_done_after_an_epoch():
    assert np.abs(exact.curve("random_reshuffle", np.ones(20), epochs=3).test[1:]).max() < 1e-12


def test_the_first_orders_in_the_step_are_traces():
    """tr AᵀA = 1 − 2η + η²(2m₂ − 1) − η³[(m₃ − 3m₂ + 2)/3 + m₃ − m₂] + O(η⁴) for unit rows in any order, exactly."""
    values = np.repeat([0.5, 1.0, 1.5], 10) ** 2
    values /= values.mean()
    m2, m3 = (values**2).mean(), (values**3).mean()
    steps = np.linspace(0.02, 0.3, 7)
    loss = np.array([exact.curve("random_reshuffle", values, [1], step).test[1] for step in steps])
    fit = np.polynomial.Polynomial.fit(steps, (loss - 1) / steps, 6).convert().coef
    assert fit[0] == pytest.approx(-2, abs=1e-6)
    assert fit[1] == pytest.approx(2 * m2 - 1, rel=1e-4)
    assert fit[2] == pytest.approx(-((m3 - 3 * m2 + 2) / 3 + m3 - m2), rel=2e-3)


@pytest.mark.parametrize(("step", "rho"), [(0.4, 2.0), (1.0, 1.0), (1.7, 0.5)])
def test_the_first_epoch_sees_fresh_rows_as_iid_sampling_from_the_covariance_does(step, rho):
    covariance = np.concatenate([np.linspace(0.2, 1, 30), np.full(10, 3.0)])
    fresh = exact.curve("iid", covariance, [1], step, rho).test[1]
    assert exact.population_curve("random_reshuffle", covariance, [1], step, rho).test[1] == pytest.approx(
        fresh, rel=1e-8
    )


def test_the_double_transform_is_the_closed_one_for_isotropic_rows():
    x = np.array([0.1 + 0.2j, 0.3 - 0.4j, -0.5 + 0.3j, -1 + 0.5j])
    for step, rho in [(0.1, 0.5), (1.0, 1.0), (1.9, 2.0)]:
        z = rho / x + 1 / (1 - x)
        b = rows.Rows(step).pairs(Points(z, x, np.ones(1), np.ones(1), rho), 2.0)
        G = 1 - rho / (x * z)
        for i, j in [(0, 1), (1, 2), (2, 3), (3, 0)]:
            assert b.plain[i, j] == pytest.approx(rr.two_resolvents(G[i], G[j], step, rho), rel=1e-10)
            truth = rr.two_resolvents(G[i], G[j].conj(), step, rho)
            assert b.conjugate[i, j] == pytest.approx(truth, rel=1e-10)


def test_the_double_transform_is_symmetric_though_it_does_not_look_it():
    average = np.array([0.2, 0.9, 4.0]), np.array([0.5, 0.4, 0.1])
    x, rho = np.array([0.1 + 0.1j, 0.15 - 0.2j, -0.5 + 0.3j]), 0.7
    z = rho / x + (average[0] / (1 - x[:, None] * average[0])) @ average[1]
    b, turned = (
        rows.Rows(1.3).pairs(Points(z[order], x[order], *average, rho), 2.0)
        for order in (slice(None), slice(None, None, -1))
    )
    assert b.asymmetry < 1e-13
    for one, other in ((b.plain, turned.plain), (b.conjugate, turned.conjugate)):
        assert np.abs(one - other[::-1, ::-1]).max() < 1e-13 * np.abs(one).max()
    assert np.abs(b.plain[0, 1] - b.plain[0, 2]) > 1e-2 * np.abs(b.plain).max()


# ------------------------------------------------------------------------------------------- isotropic rows


@pytest.mark.parametrize("step", [0.1, 1.9])
def test_a_marchenko_pastur_sample_has_the_closed_curve_and_an_honest_error(step):
    values, weights = marchenko_pastur()
    curve = exact.curve("random_reshuffle", 7 * values, 100, step, weights=weights)
    test, train = rr.test_loss(curve.epochs, step), rr.train_loss(curve.epochs, step)
    assert far(curve.test, test) < 1e-7
    assert far(curve.train, train) < 1e-5
    assert max(far(curve.test, test), far(curve.train, train)) < curve.error + 1e-9 < 1e-4
    assert np.isnan(curve.test_se).all()


@pytest.mark.parametrize("rho", [1 / 8, 1 / 2, 1.0, 600 / 512, 4.0, 16.0, 64.0])
@pytest.mark.parametrize("step", [0.1, 1.0, 1.9])
def test_no_aspect_is_refused_and_losses_above_1e_12_are_right_to_eight_digits(step, rho):
    values, weights = marchenko_pastur(rho)
    curve = exact.curve("random_reshuffle", values, 200, step, rho, weights=weights)
    assert curve.error < 1e-4
    for ours, truth in ((curve.test, rr.test_loss), (curve.train, rr.train_loss)):
        truth = truth(curve.epochs, step, rho)
        large = truth > 1e-12
        gap = far(ours[large], truth[large])
        assert gap < (1e-8 if step < 1.9 else 1e-6)
        assert gap < curve.error


def test_a_first_epoch_that_leaves_nothing_has_a_relative_accuracy():
    X = data.gaussian(64 * 64, 64, rng=5) * np.arange(1, 65) ** -0.25
    eigenvalues = spectrum.gram_eigenvalues(data.normalize_rows(X))
    for step in (0.25, 1.0):
        curve = exact.curve("random_reshuffle", eigenvalues, 6, step, 64.0)
        first = first_epoch.curve(eigenvalues, 1.0, step, 64.0)
        assert curve.continued == 1
        assert curve.test[1] == pytest.approx(first.test[1], rel=1e-6)
        assert curve.train[1] == pytest.approx(first.train[1], rel=1e-6)
        assert np.diff(np.log(curve.train[1:])) == pytest.approx(np.log(curve.train[1]), rel=1e-12)


def test_losses_that_vanish_go_on_by_their_last_ratio():
    values, weights = marchenko_pastur(64.0)
    curve = exact.curve("random_reshuffle", values, 4, 1.0, 64.0, weights=weights)
    assert curve.continued == 1
    assert np.diff(np.log(curve.test)) == pytest.approx(-64, rel=1e-9)


@pytest.mark.parametrize(("step", "rho"), [(0.1, 1.0), (0.7, 2.0), (1.9, 0.5), (1.9, 1.0)])
def test_the_identity_covariance_has_the_closed_curve(step, rho):
    curve = exact.population_curve("random_reshuffle", np.ones(3), 100, step, rho)
    assert far(curve.test, rr.test_loss(curve.epochs, step, rho)) < 1e-7
    assert far(curve.train, rr.train_loss(curve.epochs, step, rho)) < 1e-5


def test_many_epochs_are_applied_not_extrapolated():
    values, weights = marchenko_pastur()
    n = np.array([50, 4000])
    for curve in (
        exact.curve("random_reshuffle", values, n, 1.2, weights=weights),
        exact.population_curve("random_reshuffle", [1.0], n, 1.2),
    ):
        assert far(curve.test[1:], rr.test_loss(n, 1.2)) < 1e-6
        assert far(curve.train[1:], rr.train_loss(n, 1.2)) < 1e-5


# ----------------------------------------------------------------------------------------- null directions


def test_null_directions_stay_in_the_test_loss():
    values = np.append(np.zeros(30), np.linspace(0.5, 1.5, 90))
    curve = exact.curve("random_reshuffle", values, [5, 400], 1.0)
    assert curve.test[-1] == pytest.approx(0.25, abs=1e-12)
    assert curve.train[-1] < 1e-12
    covariance = np.append(np.zeros(10), np.ones(30))
    curve = exact.population_curve("random_reshuffle", covariance, [5, 20], 1.0, rho=1.5)
    assert far(curve.test, 0.25 + 0.75 * rr.test_loss(curve.epochs, 1.0, 2.0)) < 1e-8
    assert far(curve.train, rr.train_loss(curve.epochs, 1.0, 2.0)) < 1e-6


# ------------------------------------------------------------------------------------------------ matrices


def ratios(eigenvalues, step, recorded, designs, rng):
    """Simulated over computed losses, for designs of Haar left and right vectors with this spectrum."""
    draws = []
    for _ in range(designs):
        X = data.normalize_rows(data.with_spectrum(eigenvalues, len(eigenvalues), rng))
        curve = exact.curve("random_reshuffle", spectrum.gram_eigenvalues(X), recorded, step)
        run = simulate(X, "random_reshuffle", recorded, step=step, probes=128, runs=8, rng=rng)
        draws.append([run.test[1:] / curve.test[1:], run.train[1:] / curve.train[1:]])
    draws = np.array(draws)
    return draws.mean(axis=0), draws.std(axis=0, ddof=1) / np.sqrt(designs)


@pytest.mark.parametrize(
    ("eigenvalues", "step"),
    [
        (np.repeat([0.3, 1.7], 150), 1.5),  # a gap at zero, two values
        (np.append(np.zeros(60), np.linspace(0.4, 1.8, 240)), 0.7),  # null directions
    ],
)
def test_matrices_of_a_given_spectrum_follow_the_curve(eigenvalues, step):
    mean, error = ratios(eigenvalues, step, [1, 2, 4], 6, np.random.default_rng(11))
    assert (error[0] < 0.005).all()
    assert (error[1] < 0.015).all()
    # Six numbers from six designs: Student's t with 5 degrees of freedom, 1 % shared by six, is 7; finite d: O(1/d).
    assert (np.abs(mean - 1) < 7 * error + 2 / len(eigenvalues)).all()
    assert (np.abs(mean[0] - 1) < 0.02).all()
    assert (np.abs(mean[1] - 1) < 0.05).all()


def test_a_sample_agrees_with_its_covariance():
    d, step = 1200, 1.2
    covariance = np.arange(1, d + 1) ** -0.5
    X = data.gaussian(d, d, rng=3) * np.sqrt(covariance)
    drawn = exact.curve("random_reshuffle", np.linalg.eigvalsh(X.T @ X), [1, 5, 20], step)
    limit = exact.population_curve("random_reshuffle", covariance, [1, 5, 20], step)
    assert far(drawn.test, limit.test) < 0.02
    assert far(drawn.train, limit.train) < 0.05


def test_real_embeddings_follow_the_curve_of_their_eigenvalues():
    step = 1.5
    made = data.preprocess(data.load("cifar10").features, 512, 512, rng=2)
    recorded = [1, 4, 16]
    curve = exact.curve("random_reshuffle", spectrum.gram_eigenvalues(made.X), recorded, step)
    run = simulate(made.X, "random_reshuffle", recorded, step=step, probes=256, runs=20, rng=5)
    assert curve.error < 1e-4
    assert (run.test_se[1:] < 0.005 * run.test[1:]).all()
    assert (run.train_se[1:] < 0.0134 * run.train[1:]).all()
    assert far(run.test[1:], curve.test[1:]) < 0.015
    assert far(run.train[1:], curve.train[1:]) < 0.04


# ------------------------------------------------------------------------------------------ shapes and refusals


def test_the_test_loss_never_rises():
    for values in (np.linspace(0, 1, 50) ** 4, np.append(np.ones(60), 30.0)):
        assert (np.diff(exact.curve("random_reshuffle", values, 40, 1.9).test) <= 1e-12).all()


def test_a_curve_whose_first_epoch_is_wrong_is_refused(monkeypatch):
    monkeypatch.setattr(engine, "_losses", lambda frame, one, n: np.tile(1.1**n, (2, 1)))
    with pytest.raises(ArithmeticError, match="its first epoch is off"):
        exact.curve("random_reshuffle", np.linspace(0.1, 2, 40), 5)


def test_a_curve_that_two_resolutions_do_not_share_is_refused(monkeypatch):
    losses = engine._losses
    monkeypatch.setattr(
        engine,
        "_losses",
        lambda frame, *rest: losses(frame, *rest) * (1 if frame.resolution == engine.FINE else 1.1),
    )
    with pytest.raises(ArithmeticError, match="Two resolutions differ"):
        exact.curve("random_reshuffle", np.linspace(0.1, 2, 40), 5)


def test_long_ways_by_squares_of_the_matrix_are_those_of_single_epochs():
    far_apart, all_of_them = (
        exact.curve("random_reshuffle", np.linspace(0.01, 2, 40), n, 0.3) for n in ([300, 411], 411)
    )
    assert far(far_apart.test, all_of_them.test[[0, 300, 411]]) < 1e-9


def test_a_few_eigenvalues_on_many_scales_are_refused():
    with pytest.raises(ArithmeticError, match="not returned"):
        exact.curve("random_reshuffle", [1e-4, 1e-2, 1.0, 1e2, 1e4], 5, weights=np.ones(5))


def test_edge_constants_that_two_contours_do_not_share_are_refused(monkeypatch):
    monkeypatch.setattr(agreement, "LARGEST_ERROR", 1e-16)
    with pytest.raises(ArithmeticError, match="edge constants"):
        exact.constants("random_reshuffle", [0.5, 1.5])
