"""Random reshuffle with averaged batches: against gradient descent, single rows, the symmetry, and matrices."""

import numpy as np
import pytest

from edgelaw import data, exact, spectrum
from edgelaw.exact import agreement, sources
from edgelaw.exact.batches.partition import Partition, partition
from edgelaw.exact.random_reshuffle import batches, contours, engine
from edgelaw.exact.random_reshuffle.contours import Points


def unit_rows(m, d, exponent=0.0, rng=1):
    X = data.gaussian(m, d, rng) * np.arange(1, d + 1) ** (-exponent / 2)
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def simulated(U, epochs, step, batch, runs):
    """The mean losses of all starts over `runs` orders, and their relative standard errors, by the definition."""
    m, d = U.shape
    losses = np.empty((runs, 2, epochs))
    for run in range(runs):
        rng, W = np.random.default_rng([batch, run]), np.eye(d)
        for n in range(epochs):
            order = rng.permutation(m)
            for first in range(0, m, batch):
                V = U[order[first : first + batch]]
                W = W - step / len(V) * (V.T @ (V @ W))
            losses[run, :, n] = (W**2).sum() / d, ((U @ W) ** 2).sum() / m
    mean = losses.mean(axis=0)
    return mean, losses.std(axis=0, ddof=1) / np.sqrt(runs) / mean


AVERAGE = np.array([0.2, 0.9, 4.0]), np.array([0.5, 0.4, 0.1])


def resolvents(rho):
    x = np.array([0.1 + 0.1j, 0.15 - 0.2j, -0.5 + 0.3j])
    return rho / x + (AVERAGE[0] / (1 - x[:, None] * AVERAGE[0])) @ AVERAGE[1], x


@pytest.mark.parametrize("batch", [1, 4, 20, 40])
def test_the_double_transform_is_symmetric_though_it_does_not_look_it(batch):
    z, x = resolvents(0.8)
    b = batches.Batches(partition(40, 50, batch, 0.9 * batch)).pairs(Points(z, x, *AVERAGE, 0.8))
    assert b.asymmetry < 1e-12
    assert np.abs(b.plain[0, 1] - b.plain[0, 2]) > 1e-2 * np.abs(b.plain).max()


def test_a_short_last_batch_makes_the_transform_that_of_the_transposed_epoch():
    z, x = resolvents(0.8)
    cut = partition(40, 50, 15, 6.0)
    b = batches.Batches(cut).pairs(Points(z, x, *AVERAGE, 0.8))
    back = Partition(cut.kappas[::-1], cut.taus[::-1])
    turned = batches.Batches(back).pairs(Points(z, x, *AVERAGE, 0.8))
    assert np.abs(b.plain - turned.plain.T).max() < 1e-12 * np.abs(b.plain).max()
    assert np.abs(b.plain - b.plain.T).max() > 1e-3 * np.abs(b.plain).max()


def test_one_batch_is_gradient_descent_in_the_transform_itself():
    """(z₁−S)⁻¹ and (1−τS)² commute: b is ⟨r₁r₂⟩ less what two partial fractions say, by the resolvent identity."""
    rho, tau = 0.8, 0.3
    z, x = resolvents(rho)
    b = batches.Batches(partition(40, 50, 40, tau * 40)).pairs(Points(z, x, *AVERAGE, rho)).plain
    G = x + (1 - rho) / z  # the Cauchy transform of S
    for i, j in [(0, 1), (1, 2), (0, 2)]:
        # (1−τλ)²/((z₁−λ)(z₂−λ)) = τ² + [(1−τz₁)²/(z₁−λ) − (1−τz₂)²/(z₂−λ)]/(z₂−z₁)
        truth = tau**2 + ((1 - tau * z[i]) ** 2 * G[i] - (1 - tau * z[j]) ** 2 * G[j]) / (z[j] - z[i])
        assert b[i, j] == pytest.approx(truth, rel=1e-11)


@pytest.mark.parametrize("rho", [0.5, 1.0, 4.0])
def test_all_rows_in_one_batch_are_gradient_descent(rho):
    d = 100
    U = unit_rows(int(rho * d), d, 0.5)
    eigenvalues = spectrum.gram_eigenvalues(U * np.sqrt(d))
    eigenvalues[eigenvalues < 1e-10] = 0.0
    step = 1.5 * len(U) / np.linalg.norm(U, 2) ** 2
    curve = exact.curve("random_reshuffle", eigenvalues, 30, step, rho, batch=len(U))
    factors = (1 - step / d * eigenvalues / eigenvalues.mean())[:, None] ** (2 * curve.epochs)
    for ours, truth in (
        (curve.test, factors.mean(axis=0)),
        (curve.train, (eigenvalues @ factors) / eigenvalues.sum()),
    ):
        assert np.abs(ours / truth - 1)[truth > 1e-9].max() < 1e-8


def test_many_small_batches_tend_to_single_rows_with_an_error_that_falls_as_the_batch():
    values, n = np.linspace(0.05, 2, 60) ** 2, np.array([1, 5, 20])
    rows = exact.curve("random_reshuffle", values, n, 0.8)
    law = contours.sample(*sources.sample(values))
    off = []
    for count in (1024, 2048, 4096):
        cut = Partition(np.full(count, 1 / count), np.full(count, 0.8))
        made = agreement.settled(rows.epochs, engine.attempts(law, batches.Batches(cut)))
        off.append([made.test / rows.test - 1, made.train / rows.train - 1])
    off = np.array(off)[:, :, 1:]
    extrapolated = (
        off[0] / 3 - 2 * off[1] + 8 / 3 * off[2]
    )  # Richardson's, for an error in powers of the batch
    assert np.abs(off[2]).max() > 1e-5
    assert np.abs(extrapolated).max() < 1e-6


def test_the_first_epoch_sees_fresh_rows_whatever_the_order():
    covariance = np.repeat([0.5, 1.5], 50)
    C, kappa, tau = np.ones(2), 0.1, 0.6
    for _ in range(10):
        C = (1 - kappa * tau * covariance[::50]) ** 2 * C + kappa * tau**2 * covariance[::50] * (
            covariance[::50] @ C / 2
        )
    curve = exact.population_curve("random_reshuffle", covariance, [1], 10 * tau, batch=10)
    assert curve.test[1] == pytest.approx(C.mean(), rel=1e-8)
    assert exact.curve("iid", covariance, [1], tau).test[1] < curve.test[1]


@pytest.mark.parametrize(("batches_per_epoch", "limit"), [(1, 0.5), (2, 1.22258), (8, 1.76976)])
def test_isotropic_steps_are_stable_up_to_the_limit_of_the_operator(batches_per_epoch, limit):
    batch = 64 // batches_per_epoch
    with pytest.raises(ValueError, match="unstable") as refusal:
        exact.population_curve("random_reshuffle", np.ones(64), 2, 1.01 * limit * batch, batch=batch)
    stated = float(str(refusal.value).split("below ")[1].split(",")[0])
    assert stated == pytest.approx(limit * batch, rel=2e-5)
    curve = exact.population_curve("random_reshuffle", np.ones(64), 400, 0.9 * limit * batch, batch=batch)
    assert curve.test[-1] < curve.test[200] < 0.1


@pytest.mark.parametrize(
    ("m", "exponent", "batch", "share"),
    [(128, 0.0, 32, 0.8), (128, 0.5, 64, 0.8), (128, 0.5, 50, 0.4), (64, 0.5, 16, 0.8), (512, 0.0, 128, 0.8)],
)
def test_matrices_follow_the_curve_with_equal_batches_and_a_short_one(m, exponent, batch, share):
    d, runs, epochs = 128, 40, 6
    U = unit_rows(m, d, exponent)
    eigenvalues = np.linalg.eigvalsh(U.T @ U)
    eigenvalues[eigenvalues < 1e-9] = 0.0
    step = share * 2 * batch / np.linalg.norm(U[:batch], 2) ** 2
    (test, train), (test_se, train_se) = simulated(U, epochs, step, batch, runs)
    curve = exact.curve("random_reshuffle", eigenvalues, epochs, step, m / d, batch=batch)
    assert test_se.max() < 0.005
    assert train_se.max() < 0.015
    assert (np.abs(curve.test[1:] / test - 1) < 4 * test_se + 1 / d).all()  # a bias of O(1/d) is expected
    assert (np.abs(curve.train[1:] / train - 1) < 4 * train_se + 2 / d).all()
