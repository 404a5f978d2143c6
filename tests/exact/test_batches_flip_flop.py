"""Flip-flop with averaged batches: against gradient descent, single rows, block spectra, and matrices."""

import numpy as np
import pytest

from edgelaw import data, exact, spectrum
from edgelaw.exact import levy
from edgelaw.exact.batches.blocks import SampleRows
from edgelaw.exact.batches.partition import Partition, partition
from edgelaw.exact.flip_flop import batches
from edgelaw.exact.flip_flop.boundary import Circle
from edgelaw.exact.silverstein import PopulationRows


def unit_rows(m, d, exponent=0.0, rng=1):
    X = data.gaussian(m, d, rng) * np.arange(1, d + 1) ** (-exponent / 2)
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def simulated(U, epochs, step, batch, runs):
    """The mean losses of all starts over `runs` orders, and their relative standard errors, by the definition."""
    m, d = U.shape
    losses = np.empty((runs, 2, epochs))
    for run in range(runs):
        order, W = np.random.default_rng([batch, run]).permutation(m), np.eye(d)
        for n in range(epochs):
            for first in range(0, m, batch):
                V = U[order[first : first + batch]]
                W = W - step / len(V) * (V.T @ (V @ W))
            order = order[::-1]
            losses[run, :, n] = (W**2).sum() / d, ((U @ W) ** 2).sum() / m
    mean = losses.mean(axis=0)
    return mean, losses.std(axis=0, ddof=1) / np.sqrt(runs) / mean


def problem(batch, tau=0.7):
    return batches.Problem(levy.from_covariance([0.2, 0.9, 4.0]), partition(40, 50, batch, tau * batch))


def test_a_solution_satisfies_the_equations_and_its_ratio_the_recursion():
    present, z = problem(10), 0.5 + 0.4j
    X, touched = present.newton(z, present.start())
    alpha, beta = X
    rate, Y = present.rates, [np.ones(3, dtype=complex)]
    for j in range(4):
        moved = (1 - rate * beta[j]) ** 2 * Y[-1] / (1 - rate * z * alpha[3 - j] * Y[-1])
        Y.append(moved + rate * alpha[j])
    assert np.abs(touched * (1 - z * Y[-1]) - 1).max() < 1e-12
    Y, p = np.array(Y[:-1]).T, 1 - np.multiply.outer(rate, beta)
    v = 1 - z * np.multiply.outer(rate, alpha[::-1]) * Y
    N = v * v[:, ::-1] - z * p**2 * Y * Y[:, ::-1]
    r = present.moments @ (Y * v[:, ::-1] / N)
    H = 1 / 0.7 + present.moments @ (z * p * Y * Y[:, ::-1] / N)
    D = H**2 - z * r * r[::-1]
    assert np.abs(alpha - r / D).max() < 1e-10
    assert np.abs(beta - H / D).max() < 1e-10


@pytest.mark.parametrize("rho", [0.5, 1.0, 4.0])
def test_all_rows_in_one_batch_are_gradient_descent(rho):
    d = 100
    U = unit_rows(int(rho * d), d, 0.5)
    eigenvalues = spectrum.gram_eigenvalues(U * np.sqrt(d))
    eigenvalues[eigenvalues < 1e-10] = 0.0
    step = 1.5 * len(U) / np.linalg.norm(U, 2) ** 2
    curve = exact.curve("flip_flop", eigenvalues, 30, step, rho, batch=len(U))
    factors = (1 - step / d * eigenvalues / eigenvalues.mean())[:, None] ** (2 * curve.epochs)
    for ours, truth in (
        (curve.test, factors.mean(axis=0)),
        (curve.train, (eigenvalues @ factors) / eigenvalues.sum()),
    ):
        assert np.abs(ours / truth - 1)[truth > 1e-9].max() < 1e-8


def test_the_recursion_with_one_batch_is_gradient_descent_too():
    covariance = np.repeat([0.5, 1.5], 32)
    ours, other = (
        exact.population_curve(order, covariance, 20, 20.0, batch=64)
        for order in ("flip_flop", "random_reshuffle")
    )
    assert ours.test == pytest.approx(other.test, rel=1e-6)
    assert ours.train == pytest.approx(other.train, rel=1e-6)


def test_many_small_batches_tend_to_single_rows_with_an_error_that_falls_as_the_batch():
    covariance, n = np.array([0.3, 1.0, 1.7]), np.array([1, 5, 20])
    rows = exact.population_curve("flip_flop", covariance, n, 0.8)
    law = PopulationRows(covariance, np.full(3, 1 / 3), 1.0)
    off = []
    for count in (64, 128, 256):
        cut = Partition(np.full(count, 1 / count), np.full(count, 0.8))
        curve = batches.curve(rows.epochs, law, cut)
        off.append([curve.test[1:] / rows.test[1:] - 1, curve.train[1:] / rows.train[1:] - 1])
    off = np.array(off)
    extrapolated = (
        off[0] / 3 - 2 * off[1] + 8 / 3 * off[2]
    )  # Richardson's, for an error in powers of the batch
    assert np.abs(off[2]).max() > 1e-4
    assert np.abs(extrapolated).max() < 1e-5  # which falls to an eighth with twice the batches


def test_isotropic_batches_contract_up_to_the_edge_of_marchenko_and_pastur():
    for batch in (4, 16, 64):
        limit = 2 * batch / (1 + np.sqrt(batch / 64)) ** 2
        with pytest.raises(ValueError, match="becomes unstable") as refusal:
            exact.population_curve("flip_flop", np.ones(64), 2, 1.001 * limit, batch=batch)
        assert float(str(refusal.value).split("below ")[1].split(",")[0]) == pytest.approx(limit, rel=1e-5)
        assert exact.population_curve("flip_flop", np.ones(64), 40, 0.98 * limit, batch=batch).test[-1] < 0.15


def test_the_edge_of_a_block_of_a_sample_is_that_of_random_blocks():
    U = unit_rows(400, 400, 0.5)
    law = SampleRows(*_sample(U), 1.0)
    rng = np.random.default_rng(3)
    tops = [np.linalg.norm(U[rng.permutation(400)[:100]], 2) ** 2 for _ in range(80)]
    assert np.std(tops) / np.sqrt(80) < 0.01 * np.mean(tops)
    edge = law.edge(0.25)
    assert np.mean(tops) < edge  # the largest eigenvalue is one of 400, and moves from block to block
    assert edge == pytest.approx(max(tops), rel=0.1)
    assert law.edge(1.0) == pytest.approx(np.linalg.norm(U, 2) ** 2, rel=1e-6)


def _sample(U):
    eigenvalues = np.linalg.eigvalsh(U.T @ U)
    return eigenvalues / eigenvalues.mean(), np.full(len(eigenvalues), 1 / len(eigenvalues))


@pytest.mark.parametrize(
    ("m", "exponent", "batch", "share"),
    [
        (128, 0.0, 32, 0.8),
        (128, 0.5, 64, 0.8),
        (128, 0.0, 128, 0.4),
        (64, 0.5, 16, 0.4),
        (512, 0.0, 128, 0.8),
    ],
)
def test_matrices_follow_the_curve(m, exponent, batch, share):
    d, runs, epochs = 128, 40, 6 if m <= 128 else 3  # losses that vanish have large standard errors
    U = unit_rows(m, d, exponent)
    eigenvalues = np.linalg.eigvalsh(U.T @ U)
    eigenvalues[eigenvalues < 1e-9] = 0.0
    step = share * 2 * batch / np.linalg.norm(U[:batch], 2) ** 2
    (test, train), (test_se, train_se) = simulated(U, epochs, step, batch, runs)
    curve = exact.curve("flip_flop", eigenvalues, epochs, step, m / d, batch=batch)
    assert test_se.max() < 0.005
    assert train_se.max() < 0.015
    assert (np.abs(curve.test[1:] / test - 1) < 4 * test_se + 1 / d).all()  # a bias of O(1/d) is expected
    assert (np.abs(curve.train[1:] / train - 1) < 4 * train_se + 2 / d).all()


def test_batches_that_do_not_divide_the_rows_are_refused():
    with pytest.raises(ArithmeticError, match="batch must divide the number of rows"):
        exact.curve("flip_flop", np.linspace(0.1, 2, 60), 3, 2.0, batch=16)


def test_equations_that_newton_s_method_does_not_solve_are_said_to_be_so():
    present = problem(10)
    with pytest.raises(ArithmeticError, match="converge"):
        present.newton(0.7 + 0j, present.start(), steps=1)
    circle = Circle(0.1, 1e-8)
    circle.points = np.array([1e9 + 0j])
    with pytest.raises(ArithmeticError, match="converge"):
        circle.around(present, present.transforms)
