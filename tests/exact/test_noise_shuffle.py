"""Labels under single shuffle and flip-flop: exact identities, limits, and orders that were run."""

import functools
import itertools

import numpy as np
import pytest
import scipy.linalg

from edgelaw import exact, shipped
from edgelaw.exact.flip_flop import labels as flip_flop
from edgelaw.exact.labels import LabelledRows


def unit_rows(m, d, seed=0, power=0.5):
    """Gaussian rows of norm 1 with covariance eigenvalues j^(−power)."""
    X = np.random.default_rng(seed).normal(size=(m, d)) * np.arange(1, d + 1) ** (-power / 2)
    return X / np.linalg.norm(X, axis=1)[:, None]


@functools.cache
def embedded(name, m, d, others=400):
    """Shipped rows projected to d dimensions, centred, of norm 1, their one-hot targets, and the same held out."""
    data, rng = shipped.load(name), np.random.default_rng(0)
    X = data.features.astype(float) @ np.linalg.qr(rng.normal(size=(data.features.shape[1], d)))[0]
    chosen = rng.permutation(len(X))[: m + others]
    X, T = X[chosen], np.eye(len(data.classes))[data.labels[chosen]]
    X, T = X - X[:m].mean(axis=0), T - T[:m].mean(axis=0)
    X /= np.linalg.norm(X, axis=1)[:, None]
    return X[:m], T[:m], X[m:], T[m:]


def epoch_matrix(U, step):
    """M of an epoch through the rows U."""
    return np.tril(U @ U.T, -1) + np.eye(len(U)) / step


def runs(X, T, step, epochs, orders, flipped=False, seed=1):
    """Weights after each epoch in random orders, an array (orders, epochs, d, k)."""
    rng, weights = np.random.default_rng(seed), np.zeros((orders, epochs, X.shape[1], T.shape[1]))
    for run in weights:
        order, w = rng.permutation(len(X)), np.zeros(run.shape[1:])
        for n in range(epochs):
            rows = order[::-1] if flipped and n % 2 else order
            gap = scipy.linalg.solve_triangular(
                epoch_matrix(X[rows], step), T[rows] - X[rows] @ w, lower=True
            )
            run[n] = w = w + X[rows].T @ gap
    return weights


def within(theory, samples, most, beyond, errors=3.0):
    """Whether the mean of samples is within so many standard errors, at most `most` each, and a share of the theory."""
    mean, error = samples.mean(axis=0), samples.std(axis=0, ddof=1) / np.sqrt(len(samples))
    assert (error < most * mean).all()
    return (np.abs(theory - mean) < errors * error + beyond * mean).all()


# ------------------------------------------------------------------------------------------------- exact, all orders


@pytest.mark.parametrize(("m", "d"), [(3, 2), (4, 3), (4, 2)])
def test_over_all_orders_and_signs_noise_is_a_signal_at_eigenvalue_zero(m, d):
    rng, step, epochs, tiny = np.random.default_rng(m + d), 0.7, 3, 1e-9
    X = rng.normal(size=(m, d))
    X /= np.linalg.norm(X, axis=1)[:, None]
    o, sizes, _ = np.linalg.svd(X)
    kappa = np.append(sizes**2, np.zeros(m - d))
    t = o @ rng.normal(size=m)
    direct, by_eigenvector = 0.0, 0.0
    for order in itertools.permutations(range(m)):
        for signs in itertools.product([1, -1], repeat=m):
            w = np.zeros(d)
            target = o @ (np.array(signs) * (o.T @ t))
            for i in list(order) * epochs:
                w = w - step * (X[i] @ w - target[i]) * X[i]
            direct += np.sum((X @ w - target) ** 2) / 2**m
        wide = o * np.sqrt(np.maximum(kappa, tiny))  # a direction of eigenvalue `tiny` for each null one
        A = np.eye(m)
        for i in order:
            A = A - step * np.outer(wide[i], wide[i] @ A)
        residuals = wide @ np.linalg.matrix_power(A, epochs) / np.sqrt(np.maximum(kappa, tiny))
        by_eigenvector += (o.T @ t) ** 2 @ (residuals**2).sum(axis=0)
    assert by_eigenvector == pytest.approx(direct, rel=1e-7)  # what `tiny` leaves
    if m == d + 1:
        rows = LabelledRows.of(X, t)
        assert rows.residual * m == pytest.approx((o[:, -1] @ t) ** 2, rel=1e-12)


@pytest.mark.parametrize("d", [2, 3])
def test_residuals_of_an_epoch_depend_on_the_gram_matrix_alone_in_every_order(d):
    rng, step = np.random.default_rng(d), 1.3
    X, t = rng.normal(size=(d + 1, d)), rng.normal(size=d + 1)
    X /= np.linalg.norm(X, axis=1)[:, None]
    for order in map(list, itertools.permutations(range(d + 1))):
        w = np.zeros(d)
        for i in order:
            w = w - step * (X[i] @ w - t[i]) * X[i]
        U = X[order]
        residuals = -t[order] + U @ U.T @ np.linalg.solve(epoch_matrix(U, step), t[order])
        assert np.allclose(residuals, U @ w - t[order], rtol=0, atol=1e-12)


# ------------------------------------------------------------------------------------------------------------ limits


@pytest.mark.parametrize(("m", "step"), [(80, 0.8), (40, 0.8), (40, 1.5), (20, 0.8)])
def test_consistent_isotropic_targets_give_the_curve_without_labels(m, step):
    X, n = unit_rows(m, 40), np.array([1, 2, 5, 10])
    rows = LabelledRows.of(X, X)  # one output per coordinate of w*
    labelled, plain = (
        exact.probe_curve("single_shuffle", rows, n, step),
        exact.curve("single_shuffle", rows.spectrum, n, step, m / 40),
    )
    assert np.allclose(labelled.train / rows.start, plain.train, rtol=0, atol=1e-8)
    plateau = max(0.0, 1 - m / 40)
    assert np.allclose(labelled.distance / 40, plain.test - plateau, rtol=0, atol=3e-8 + 2 * plain.error)


def test_residuals_are_a_signal_in_a_direction_of_vanishing_eigenvalue():
    X, rng, n = unit_rows(90, 40), np.random.default_rng(5), np.array([1, 3, 10])
    t = X[:, 0] + rng.normal(size=90)
    r = t - X @ np.linalg.lstsq(X, t, rcond=None)[0]
    noisy = LabelledRows.of(X, t)
    assert noisy.residual > 0.1 * noisy.start

    def consistent(eigenvalue):
        rows = LabelledRows.of(np.column_stack([X, np.sqrt(eigenvalue) * r / np.linalg.norm(r)]), t)
        assert rows.residual < 1e-12
        return exact.probe_curve("single_shuffle", rows, n, 1.1).train

    limit = (10 * consistent(1e-6) - consistent(1e-5)) / 9  # what is left is linear in the eigenvalue
    assert np.allclose(exact.probe_curve("single_shuffle", noisy, n, 1.1).train, limit, rtol=1e-6)


def test_scale_of_rows_and_targets_is_a_matter_of_units():
    X, rng = unit_rows(60, 30), np.random.default_rng(2)
    T, fresh, fresh_T = rng.normal(size=(60, 2)), unit_rows(50, 30, 3), rng.normal(size=(50, 2))
    one = exact.probe_curve("single_shuffle", LabelledRows.of(X, T, (fresh, fresh_T)), 3, 0.9)
    other = exact.probe_curve(
        "single_shuffle", LabelledRows.of(4 * X, 3 * T, (4 * fresh, 3 * fresh_T)), 3, 0.9
    )
    assert np.allclose(other.train, 9 * one.train, rtol=1e-6)
    assert np.allclose(other.held_out, 9 * one.held_out, rtol=1e-6)
    assert np.allclose(other.distance, 9 / 16 * one.distance, rtol=1e-5)


def test_floors_are_the_limits_of_the_curves():
    X, rng = unit_rows(120, 40), np.random.default_rng(4)
    fresh = unit_rows(100, 40, 9)
    rows = LabelledRows.of(X, X[:, 0] + rng.normal(size=120), (fresh, fresh[:, 0] + rng.normal(size=100)))
    floors, late = (
        exact.probe_floor("single_shuffle", rows, 1.0),
        exact.probe_curve("single_shuffle", rows, [150], 1.0),
    )
    assert floors.train == pytest.approx(late.train[-1], rel=1e-8)
    assert floors.held_out == pytest.approx(late.held_out[-1], rel=1e-8)
    assert floors.distance == pytest.approx(late.distance[-1], rel=1e-6)


@pytest.mark.parametrize("m", [80, 200])
def test_floor_of_small_steps_is_a_square_of_the_step(m):
    X, rng = unit_rows(m, 40), np.random.default_rng(4)
    rows = LabelledRows.of(X, rng.normal(size=m))
    second = ((X @ X.T) ** 2).sum() / m

    def ratio(step):
        law = step**2 / 12 * (second + (second - 1) * 40 / m) * rows.residual
        return exact.probe_floor("single_shuffle", rows, step).excess / law

    assert 1.005 < ratio(0.01) < 1.02  # the next order, one percent per 0.01
    assert 2 * ratio(0.005) - ratio(0.01) == pytest.approx(1, abs=5e-4)


def test_floor_agrees_with_fixed_points_of_epochs():
    X, rng, step = unit_rows(120, 60, 3, power=0.3), np.random.default_rng(7), 0.5
    y = X[:, 0] + 0.5 * rng.normal(size=120)
    floors, w = (
        exact.probe_floor("single_shuffle", LabelledRows.of(X, y), step),
        np.linalg.lstsq(X, y, rcond=None)[0],
    )
    losses = []
    for _ in range(200):
        order = rng.permutation(120)
        U = X[order]
        B = U.T @ np.linalg.inv(epoch_matrix(U, step))
        e = np.linalg.solve(B @ U, B @ (y[order] - U @ w))
        losses.append([np.mean((X @ (w + e) - y) ** 2), e @ e])
    assert within(np.array([floors.train, floors.distance]), np.array(losses), most=0.02, beyond=1 / 60)


def test_centred_rows_have_the_same_early_losses_whatever_is_asked_for_besides():
    """Half as many rows as dimensions: none is left out where a contour has little room beside the null eigenvalue."""
    pool, rng = shipped.load("cifar10"), np.random.default_rng(0)
    features = pool.features.astype(float) @ rng.standard_normal((2048, 256))
    chosen = rng.permutation(len(features))[:128]
    X, T = features[chosen], np.eye(10)[pool.labels[chosen]]
    X, T = X - X.mean(axis=0), T - T.mean(axis=0)
    rows = LabelledRows.of(X / np.linalg.norm(X, axis=1)[:, None], T)
    early, late = (exact.probe_curve("single_shuffle", rows, n, 1.5) for n in ([10], [10, 30]))
    assert late.train[1] == pytest.approx(early.train[1], rel=1e-4)


# ------------------------------------------------------------------------------------------------- orders that were run


@pytest.mark.parametrize("name", ["cifar10", "wikipedia"])
@pytest.mark.parametrize(("m", "step"), [(96, 0.3), (96, 1.0), (48, 0.3), (192, 1.0)])
def test_real_labels_under_single_shuffle(name, m, step):
    X, T, fresh, fresh_T = embedded(name, m, 48)
    curve = exact.probe_curve("single_shuffle", LabelledRows.of(X, T, (fresh, fresh_T)), 8, step)
    w = runs(X, T, step, 8, 150)
    train = ((X @ w - T) ** 2).sum(axis=-1).mean(axis=-1)
    held = ((fresh @ w - fresh_T) ** 2).sum(axis=-1).mean(axis=-1)
    distance = ((w - np.linalg.lstsq(X, T, rcond=1e-10)[0]) ** 2).sum(axis=(-1, -2))
    assert within(curve.train[1:], train, most=0.01, beyond=0.5 / 48)
    assert within(curve.held_out[1:], held, most=0.01, beyond=0.5 / 48)
    assert within(curve.distance[1:], distance, most=0.015, beyond=0.5 / 48)


@pytest.mark.parametrize(("name", "step", "epochs"), [("cifar10", 1.5, 30), ("wikipedia", 1.9, 10)])
def test_held_out_losses_of_centred_rows_see_directions_off_their_span(name, step, epochs):
    """Half as many rows as dimensions: with their lone null eigenvalue held-out losses were 6 and 30 % too large."""
    X, T, fresh, fresh_T = embedded(name, 64, 128)
    rows = LabelledRows.of(X, T, (fresh, fresh_T))
    assert len(rows.eigenvalues) == 63
    curve = exact.probe_curve("single_shuffle", rows, [3, epochs], step)
    w = runs(X, T, step, epochs, 64)[:, [2, -1]]
    held = ((fresh @ w - fresh_T) ** 2).sum(axis=-1).mean(axis=-1)
    train = ((X @ w - T) ** 2).sum(axis=-1).mean(axis=-1)
    assert within(curve.held_out[1:], held, most=0.006, beyond=0.02)
    assert within(curve.train[1:], train, most=0.04, beyond=0.03)


def test_flip_flop_distance_of_isotropic_targets_is_the_curve_without_labels():
    rows = LabelledRows.of(X := unit_rows(80, 40), X)
    labelled = flip_flop.distance(rows, 6, 1.0)
    plain = exact.curve("flip_flop", rows.spectrum, 6, 1.0, 2.0)
    assert np.allclose(labelled.distance / 40, plain.test, rtol=0, atol=1e-7 + plain.error + labelled.error)


@pytest.mark.parametrize("step", [0.3, 1.0])
def test_flip_flop_distance_of_real_labels_at_even_and_odd_epochs(step):
    X, T, *_ = embedded("cifar10", 96, 48)
    curve = flip_flop.distance(LabelledRows.of(X, T), 7, step)
    w = runs(X, T, step, 7, 200, flipped=True)
    distance = ((w - np.linalg.lstsq(X, T, rcond=None)[0]) ** 2).sum(axis=(-1, -2))
    assert within(curve.distance[1:], distance, most=0.01, beyond=0.5 / 48)


# ---------------------------------------------------------------------------------------------------------- refusals


def test_what_theory_does_not_have_is_refused_in_one_sentence():
    rows = LabelledRows.of(unit_rows(60, 30), np.ones(60))
    with pytest.raises(ValueError, match="step must be the same in all epochs"):
        exact.probe_curve("single_shuffle", rows, 2, [0.5, 0.4])
    with pytest.raises(ValueError, match="batch must be 1"):
        exact.probe_curve("single_shuffle", rows, 2, 0.5, batch=4)
    with pytest.raises(ValueError, match="at most 1600"):
        exact.probe_curve("single_shuffle", rows, 5000, 0.5)
    with pytest.raises(ValueError, match="step must be"):
        exact.probe_curve("single_shuffle", rows, 2, 2.0)
    with pytest.raises(ValueError, match="at least 20 dimensions"):
        exact.probe_curve("single_shuffle", LabelledRows.of(np.eye(5), np.ones(5)), 2, 0.5)
    with pytest.raises(ValueError, match="targets must not all be zero"):
        exact.probe_floor("single_shuffle", LabelledRows.of(np.eye(25), np.zeros(25)), 0.5)
    with pytest.raises(ValueError, match="has no theory of labels; simulate it"):
        exact.probe_curve("flip_flop", rows, 2, 0.5)


def test_equal_steps_are_a_constant_step_and_zero_epochs_are_the_start():
    rows = LabelledRows.of(unit_rows(60, 30), np.ones(60))
    assert np.array_equal(
        exact.probe_curve("single_shuffle", rows, 2, [0.5, 0.5]).train,
        exact.probe_curve("single_shuffle", rows, 2, 0.5).train,
    )
    assert exact.probe_curve("single_shuffle", rows, 0).train.tolist() == [rows.start]
    assert flip_flop.distance(rows, 0).distance.tolist() == [rows.energies.sum()]


def test_rows_of_unequal_norm_enlarge_the_stated_error_as_under_random_reshuffle():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 40)) * rng.uniform(0.5, 1.5, (90, 1))
    rows = LabelledRows.of(X, X[:, 0] + rng.standard_normal(90))
    equal = LabelledRows.of(X / np.linalg.norm(X, axis=1)[:, None], X[:, 0] + rng.standard_normal(90))
    assert rows.norm_spread > 0.2
    assert exact.probe_curve("single_shuffle", rows, 3, 0.8).error > 0.7 * 0.8 * rows.norm_spread
    assert exact.probe_curve("single_shuffle", equal, 3, 0.8).error < 1e-3
