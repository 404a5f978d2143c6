"""Rows with labels: exact small cases, IID and random reshuffle against real runs, floors, refusals."""

import dataclasses
import itertools

import labels_helpers as helpers
import numpy as np
import pytest
from scipy.linalg import hadamard

from edgelaw import exact
from edgelaw.exact.iid import labels as iid
from edgelaw.exact.labels import LabelledRows
from edgelaw.exact.labels.curves import start
from edgelaw.exact.random_reshuffle import labels as random_reshuffle


@pytest.fixture(scope="module")
def hadamard_problem():
    """Rows whose squares along the axes are all alike: IID's recursion is exact for them."""
    rng = np.random.default_rng(0)
    return hadamard(8)[:, :5] * np.array([0.2, 0.5, 1.0, 2.0, 3.0]), rng.standard_normal(8)


@pytest.fixture(scope="module")
def uneven():
    """Rows of very different norms, and noisy targets."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((30, 6)) * np.arange(1, 7) ** -0.5 * rng.uniform(0.3, 2, (30, 1))
    return X, X @ rng.standard_normal((6, 2)) + rng.standard_normal((30, 2))


# the rows --------------------------------------------------------------------------------------------------


def test_rows_know_their_least_squares_problem(uneven):
    X, T = uneven
    rows = LabelledRows.of(X, T)
    solution, least, *_ = np.linalg.lstsq(X, T, rcond=None)
    assert rows.eigenvalues.sum() == pytest.approx(6, rel=1e-12)
    assert rows.energies.sum() == pytest.approx((solution**2).sum(), rel=1e-12)
    assert rows.residual == pytest.approx(least.sum() / 30, rel=1e-12)
    assert rows.start == pytest.approx((T**2).sum() / 30, rel=1e-12)
    assert rows.scale == pytest.approx((X**2).sum() / 30, rel=1e-12)
    train = rows.residual + rows.scale / 6 * rows.eigenvalues @ rows.energies
    assert train == pytest.approx(rows.start, rel=1e-12)


def test_the_held_out_loss_of_the_training_rows_is_the_training_loss_of_the_mean(uneven):
    X, T = uneven
    rows = LabelledRows.of(X, T, (X, T))
    f = np.linspace(0, 1, 6)
    vectors = np.linalg.eigh(X.T @ X)[1]
    weights = vectors @ (f[:, None] * (vectors.T @ np.linalg.lstsq(X, T, rcond=None)[0]))
    assert rows.held_out.of_mean(f) == pytest.approx(((X @ weights - T) ** 2).sum() / 30, rel=1e-11)
    curve = exact.probe_curve("iid", rows, 5, 0.4)
    assert np.allclose(curve.held_out, curve.train, rtol=1e-11)


def test_only_the_product_of_learning_rate_and_scale_matters(uneven):
    X, T = uneven
    one, other = (exact.probe_curve("iid", LabelledRows.of(factor * X, T), 4, 0.5) for factor in (1.0, 7.0))
    assert np.allclose(one.train, other.train, rtol=1e-12)
    assert np.allclose(one.distance, 49 * other.distance, rtol=1e-12)


def test_fewer_rows_than_dimensions_have_no_residual():
    rng = np.random.default_rng(2)
    rows = LabelledRows.of(rng.standard_normal((6, 10)), rng.standard_normal(6))
    assert rows.residual == 0
    assert len(rows.eigenvalues) == 6
    assert rows.spectrum.shape == (10,)
    assert rows.spectrum.mean() == pytest.approx(1)


# IID, exactly ----------------------------------------------------------------------------------------------


def sizes(rows, batch):
    """Of the batches of an epoch, the last of which may be shorter."""
    return [min(batch, rows - first) for first in range(0, rows, batch)]


def exact_iid(X, t, steps, batch=1):
    """Distance and training loss in the mean, from the full second moments over all draws of a batch."""
    m, d = X.shape
    w = np.linalg.lstsq(X, t, rcond=None)[0]
    scale, residual = (X**2).sum() / m, t - X @ w
    mean, M = -w, np.outer(w, w)
    losses = [(np.trace(M), np.trace(X @ M @ X.T) / m + (residual**2).mean())]
    for step in steps:
        for size in sizes(m, batch):
            moved, centre = np.zeros_like(M), np.zeros_like(mean)
            for draw in itertools.product(range(m), repeat=size):
                chosen = X[list(draw)]
                A = np.eye(d) - step / scale / size * chosen.T @ chosen
                b = step / scale / size * chosen.T @ residual[list(draw)]
                cross = np.outer(A @ mean, b)
                moved += A @ M @ A.T + cross + cross.T + np.outer(b, b)
                centre += A @ mean + b
            M, mean = moved / m**size, centre / m**size
        losses.append((np.trace(M), np.trace(X @ M @ X.T) / m + (residual**2).mean()))
    return np.array(losses).T


@pytest.mark.parametrize(
    ("steps", "batch"), [([0.7] * 3, 1), ([1.5, 0.4, 0.1], 1), ([1.2, 0.3], 2), ([0.9], 3)]
)
def test_iid_is_exact_where_all_rows_have_the_same_squares(hadamard_problem, steps, batch):
    X, t = hadamard_problem
    distance, train = exact_iid(X, t, steps, batch)
    curve = exact.probe_curve("iid", LabelledRows.of(X, t), len(steps), steps, batch)
    assert np.allclose(curve.distance, distance, rtol=1e-12)
    assert np.allclose(curve.train, train, rtol=1e-12)


@pytest.mark.parametrize("batch", [1, 2, 3])
@pytest.mark.parametrize("dims", [2, 3])
def test_weight_decay_under_iid_is_exact_over_all_draws(dims, batch):
    rng = np.random.default_rng(4)
    X, t = hadamard(4)[:, 1 : dims + 1] * np.array([0.5, 1.0, 2.0])[:dims], rng.standard_normal(4)
    steps, ridge, scale = [0.7, 0.7, 0.2], 0.4, (X**2).sum() / 4
    w, mean, M, losses = np.linalg.lstsq(X, t, rcond=None)[0], np.zeros(dims), np.zeros((dims, dims)), []
    for rate in np.array(steps) / scale:
        for size in sizes(4, batch):
            moved, centre = np.zeros_like(M), np.zeros_like(mean)
            for draw in itertools.product(range(4), repeat=size):
                chosen = X[list(draw)]
                A = (1 - rate * ridge) * np.eye(dims) - rate / size * chosen.T @ chosen
                b = rate / size * chosen.T @ t[list(draw)]
                cross = np.outer(A @ mean, b)
                moved += A @ M @ A.T + cross + cross.T + np.outer(b, b)
                centre += A @ mean + b
            M, mean = moved / 4**size, centre / 4**size
        losses.append(
            (
                np.trace(M) - 2 * mean @ w + w @ w,
                np.trace(X @ M @ X.T) / 4 - mean @ X.T @ t / 2 + (t**2).mean(),
            )
        )
    curve = exact.probe_curve("iid", LabelledRows.of(X, t), 3, steps, batch, ridge)
    assert np.allclose([curve.distance[1:], curve.train[1:]], np.array(losses).T, rtol=1e-12)


def test_a_vanishing_ridge_is_no_ridge_and_a_large_one_is_refused(uneven):
    rows = LabelledRows.of(*uneven)
    none, small = exact.probe_curve("iid", rows, 5, 0.6), exact.probe_curve("iid", rows, 5, 0.6, ridge=1e-14)
    assert np.allclose(none.train, small.train, rtol=1e-11)
    with pytest.raises(ValueError, match="ridge times the learning rate must be below 1"):
        exact.probe_curve("iid", rows, 5, 0.6, ridge=2 * rows.scale / 0.6)


@pytest.mark.parametrize(
    ("m", "d", "noise", "decay", "step"),
    [(200, 40, 0.5, 0, 0.5), (400, 40, 0.0, 0.5, 0.5), (60, 60, 0.0, 1.0, 0.7), (40, 80, 0.0, 0, 0.3)],
)
def test_iid_states_an_error_that_is_not_below_the_true_one(m, d, noise, decay, step):
    """Eight units in the last place for every product with the eigenvectors."""
    rng = np.random.default_rng(6)
    X = rng.standard_normal((m, d)) * np.arange(1, d + 1) ** -decay
    rows = LabelledRows.of(X, X @ rng.standard_normal(d) + noise * rng.standard_normal(m))
    curve = exact.probe_curve("iid", rows, 20, step)
    wide = np.longdouble
    values, q, kicks, s = (
        x.astype(wide) for x in (rows.eigenvalues, rows.coupling, rows.kicks, rows.energies)
    )
    a, true = wide(step) * values / d, 0.0
    for n in range(1, 21):
        for _ in range(m):
            s = (1 - 2 * a) * s + wide(step) ** 2 * (q * (q @ s) + kicks)
        train = rows.residual + wide(rows.scale) / d * (values @ s)
        true = max(true, abs(float(curve.train[n] / train - 1)), abs(float(curve.distance[n] / s.sum() - 1)))
    assert true <= curve.error
    assert 1e-12 <= curve.error < 1e-10


def test_one_update_takes_the_right_amount_off_the_distance_whatever_the_norms(uneven):
    X, T = uneven
    t = T[:, 0]
    rows = LabelledRows.of(X, t)
    vectors = np.linalg.eigh(X.T @ X)[1]
    w = np.linalg.lstsq(X, t, rcond=None)[0]
    residual, rate = t - X @ w, 0.6 / rows.scale
    mean = 0.0
    for signs in itertools.product((-1, 1), repeat=6):  # the mean over signs leaves a diagonal second moment
        e = vectors @ (np.array(signs) * (vectors.T @ w))
        moved = e - rate * X * (X @ e)[:, None] + rate * X * residual[:, None]
        mean += (moved**2).sum(axis=1).mean() / 64
    once = iid.updates(rows, 0.6, batch=1, count=1)(start(rows)).second
    assert once.sum() == pytest.approx(mean, rel=1e-12)


@pytest.mark.parametrize("batch", [1, 7])
def test_powers_of_the_matrix_are_the_recursion(uneven, batch):
    rows = LabelledRows.of(*uneven)
    a, s = 0.6 * rows.eigenvalues / 6, rows.energies
    for _ in range(3):
        for size, count in iid.sizes(rows, batch):
            for _ in range(count):
                noise = 0.36 / size * (rows.coupling * (rows.coupling @ s) + rows.kicks)
                s = ((1 - a) ** 2 - a**2 / size) * s + noise
    assert exact.probe_curve("iid", rows, 3, 0.6, batch).distance[-1] == pytest.approx(s.sum(), rel=1e-12)


@pytest.mark.parametrize("batch", [1, 7])
@pytest.mark.parametrize("ridge", [1e-6, 0.03, 1.0])
def test_powers_of_the_matrix_are_the_recursion_with_ridge_too(uneven, batch, ridge):
    rows = LabelledRows.of(*uneven)
    a, s, mean, shrink = 0.6 * rows.eigenvalues / 6, rows.energies, np.ones(6), 0.6 * ridge / rows.scale
    keep = 1 - shrink - a
    for size, count in 3 * iid.sizes(rows, batch):
        for _ in range(count):
            s = (
                (keep**2 - a**2 / size) * s
                + 0.36 / size * (rows.coupling * (rows.coupling @ s) + rows.kicks)
                + rows.energies * (2 * shrink * keep * mean + shrink**2)
            )
            mean = keep * mean + shrink
    curve = exact.probe_curve("iid", rows, 3, 0.6, batch, ridge)
    assert curve.distance[-1] == pytest.approx(s.sum(), rel=1e-12)
    assert curve.error < 1e-10


def test_a_ridge_under_which_the_mean_square_grows_is_followed():
    rows = LabelledRows.of(np.concatenate([np.eye(4), np.eye(4)]), np.arange(8.0))
    a, shrink, s, mean = 3.1 / 4, 3.1 * 0.3 / rows.scale, rows.energies, np.ones(4)
    for _ in range(4):
        noise = 3.1**2 / 2 * (rows.coupling * (rows.coupling @ s) + rows.kicks)
        keep = 1 - shrink - a
        s = (keep**2 - a**2 / 2) * s + noise + rows.energies * (2 * shrink * keep * mean + shrink**2)
        mean = keep * mean + shrink
    curve = exact.probe_curve("iid", rows, 1, 3.1, 2, 0.3)
    assert curve.distance[1] == pytest.approx(s.sum(), rel=1e-12)
    assert s.sum() > rows.energies.sum()


def test_equal_eigenvalues_share_a_mode():
    rows = LabelledRows.of(np.concatenate([np.eye(4), np.eye(4)]), np.arange(8.0))
    a, s = 0.5 / 4, rows.energies
    for _ in range(8):
        s = ((1 - a) ** 2 - a**2) * s + 0.25 * (rows.coupling * (rows.coupling @ s) + rows.kicks)
    assert np.allclose(iid.epoch(rows, 0.5)(start(rows)).second, s, rtol=1e-12)


def test_equal_eigenvalues_share_a_mode_with_ridge_too():
    rows = LabelledRows.of(np.concatenate([np.eye(4), np.eye(4)]), np.arange(8.0))
    a, shrink, s, mean = 0.5 / 4, 0.5 * 0.2 / rows.scale, rows.energies, np.ones(4)
    for _ in range(8):
        noise = 0.25 * (rows.coupling * (rows.coupling @ s) + rows.kicks)
        keep = 1 - shrink - a
        s = (keep**2 - a**2) * s + noise + rows.energies * (2 * shrink * keep * mean + shrink**2)
        mean = keep * mean + shrink
    after = iid.epoch(rows, 0.5, ridge=0.2)(start(rows))
    assert np.allclose(after.second, s, rtol=1e-12)
    assert np.allclose(after.mean, mean, rtol=1e-12)


def test_the_limit_of_stability_is_two_for_equal_norms_and_less_otherwise(hadamard_problem, uneven):
    assert iid.step_limit(LabelledRows.of(*hadamard_problem)) == pytest.approx(2, rel=1e-12)
    rows = LabelledRows.of(*uneven)
    for batch in (1, 3):
        limit = iid.step_limit(rows, batch)
        part = iid.updates(rows, limit, batch, 1)
        largest = np.abs(np.linalg.eigvals(part.linear(np.eye(6)))).max()
        assert largest == pytest.approx(1, abs=1e-9)
    assert iid.step_limit(rows) < 1.9


# random reshuffle, exactly ---------------------------------------------------------------------------------


def epochs_of_all_orders(X, step):
    """I − step XᵀM⁻¹X for every order of the rows."""
    for order in itertools.permutations(range(len(X))):
        A = np.eye(X.shape[1])
        for i in order:
            A -= step * np.outer(X[i], X[i] @ A)
        yield A


@pytest.mark.parametrize(("m", "d"), [(4, 2), (5, 3)])
def test_a_schedule_and_its_reverse_leave_the_same_distance_over_all_orders(m, d):
    X = np.random.default_rng(3).standard_normal((m, d))
    X /= np.linalg.norm(X, axis=1)[:, None]
    first, second = (list(epochs_of_all_orders(X, step)) for step in (1.4, 0.3))
    forth = np.mean([(A @ B * (A @ B)).sum() for A in first for B in second])
    back = np.mean([(B @ A * (B @ A)).sum() for A in first for B in second])
    assert forth == pytest.approx(back, rel=1e-12)
    assert abs(forth - np.mean([(A @ A * (A @ A)).sum() for A in first])) > 1e-3


@pytest.mark.parametrize(("m", "d"), [(4, 2), (5, 3)])
def test_residuals_act_as_a_direction_of_vanishing_eigenvalue(m, d):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((m, d))
    X /= np.linalg.norm(X, axis=1)[:, None]
    r = rng.standard_normal(m)
    r -= X @ np.linalg.lstsq(X, r, rcond=None)[0]
    small = 1e-9
    wide = np.column_stack([X, small * r])
    kick, signal = 0.0, 0.0
    for order in itertools.permutations(range(m)):
        order = list(order)
        kick += helpers.epoch(X, r[:, None], np.zeros((d, 1)), order, 0.8)[:, 0] ** 2
        e = helpers.epoch(wide, np.zeros((m, 1)), np.append(np.zeros(d), -1 / small)[:, None], order, 0.8)
        signal += e[:d, 0] ** 2
    assert np.allclose(kick, signal, rtol=1e-7)


def test_one_batch_per_epoch_is_gradient_descent():
    X, T, *_ = helpers.labelled("cifar10", 32, 64)
    rows = LabelledRows.of(X, T)
    curve = exact.probe_curve("random_reshuffle", rows, 4, 1.1, batch=64)
    assert np.allclose(
        curve.distance, rows.energies @ (1 - 1.1 * rows.eigenvalues / 32)[:, None] ** (2 * curve.epochs)
    )


def test_the_kick_does_not_depend_on_the_contour():
    for ratio, step in ((2, 0.05), (2, 1.0), (20, 0.5)):
        X, R = helpers.gaussian(ratio * 60, 60, np.random.default_rng(5))
        rows = LabelledRows.of(X, R)
        made = [maps(step)[0] for maps in random_reshuffle.all_maps(rows)]
        kicks = [one.left @ one.kick for one in made]
        assert len(kicks) >= 2
        for kick in kicks[1:]:
            assert kick @ rows.eigenvalues == pytest.approx(kicks[0] @ rows.eigenvalues, rel=1e-6)
            assert np.abs(kick - kicks[0]).max() < 1e-4 * kicks[0].max()  # polynomials of other contours


@pytest.mark.parametrize(
    ("ratio", "dims", "step", "orders"), [(2, 128, 1.0, 60), (20, 64, 0.5, 24), (64, 40, 0.3, 20)]
)
def test_the_kick_is_the_mean_square_over_orders(ratio, dims, step, orders):
    rng = np.random.default_rng(6)
    X, R = helpers.gaussian(ratio * dims, dims, rng, outputs=200)
    rows = LabelledRows.of(X, R)
    one = next(random_reshuffle.all_maps(rows))(step)[0]
    kick = one.left @ one.kick
    vectors = np.linalg.eigh(X.T @ X)[1]
    seen = np.empty((orders, dims))
    for k in range(orders):
        seen[k] = (
            (vectors.T @ helpers.epoch(X, R, np.zeros((dims, 200)), rng.permutation(len(X)), step)) ** 2
        ).sum(1)
    for weights in (np.ones(dims), rows.eigenvalues, 1 / rows.eigenvalues):
        totals = seen @ weights
        error = totals.std(ddof=1) / np.sqrt(orders) / totals.mean()
        assert error < 0.005
        assert abs(kick @ weights / totals.mean() - 1) < 3 * error + 0.5 / dims  # a finite d


# floors ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [0.1, 1.0, 1.8])
def test_iids_floor_is_eta_over_two_minus_eta(step):
    X, R = helpers.gaussian(50, 20, np.random.default_rng(7), outputs=2)
    rows = LabelledRows.of(X, R, (X, R))
    floor = exact.probe_floor("iid", rows, step)
    assert floor.excess == pytest.approx(step / (2 - step) * rows.residual, rel=1e-9)
    assert floor.train == pytest.approx(floor.held_out, rel=1e-9)
    assert exact.probe_curve("iid", rows, [4000], step).train[-1] == pytest.approx(floor.train, rel=1e-9)


def test_a_floor_with_batches_is_where_the_curve_ends(uneven):
    rows = LabelledRows.of(*uneven)
    floor, curve = (
        exact.probe_floor("iid", rows, 0.8, batch=7),
        exact.probe_curve("iid", rows, [3000], 0.8, batch=7),
    )
    assert curve.distance[-1] == pytest.approx(floor.distance, rel=1e-9)


def test_reshuffles_floor_is_where_its_curve_ends():
    X, R = helpers.gaussian(200, 100, np.random.default_rng(8))
    rows = LabelledRows.of(X, R)
    floor, curve = (
        exact.probe_floor("random_reshuffle", rows, 0.6),
        exact.probe_curve("random_reshuffle", rows, [400], 0.6),
    )
    assert curve.train[-1] == pytest.approx(floor.train, rel=1e-8)


def test_reshuffles_floor_tends_to_the_law_of_small_steps():
    """It is η³/24 (κ₃ + κ₂ − 1) σ², κ_k = Σλᵏ/m over the eigenvalues of Σuuᵀ (chapter 14)."""
    X, R = helpers.gaussian(200, 100, np.random.default_rng(9))
    rows = LabelledRows.of(X, R)
    second, third = ((rows.aspect * rows.eigenvalues) ** k @ np.ones(100) / 200 for k in (2, 3))
    ratios = [
        exact.probe_floor("random_reshuffle", rows, step).excess
        / (step**3 / 24 * (third + second - 1) * rows.residual)
        for step in (0.04, 0.02, 0.01)
    ]
    assert np.all(np.diff(np.abs(np.array(ratios) - 1)) < 0)
    assert abs(2 * ratios[2] - ratios[1] - 1) < 0.005


def test_many_rows_per_dimension_have_iids_floor():
    X, R = helpers.gaussian(64 * 40, 40, np.random.default_rng(10))
    rows = LabelledRows.of(X, R)
    assert exact.probe_floor("random_reshuffle", rows, 1.0).excess == pytest.approx(rows.residual, rel=1e-3)


# real labels -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["iid", "random_reshuffle"])
@pytest.mark.parametrize(
    ("name", "dims", "rows", "step", "batch", "runs"),
    [
        ("cifar10", 128, 256, 0.3, 1, 96),
        ("wikipedia", 128, 512, 1.0, 1, 96),
        ("cifar10", 128, 512, 4.0, 16, 96),
    ],
)
def test_curves_of_real_labels_are_those_of_real_runs(order, name, dims, rows, step, batch, runs):
    X, T, *held = helpers.labelled(name, dims, rows)
    theory = exact.probe_curve(order, LabelledRows.of(X, T, tuple(held)), 6, step, batch)
    losses = helpers.simulated(X, T, [step] * 6, order, runs, np.random.default_rng(11), held, batch)
    mean, error = losses.mean(axis=0), losses.std(axis=0, ddof=1) / np.sqrt(runs)
    computed = np.stack([theory.train, theory.held_out, theory.distance], axis=1)
    assert (error[1:] < 0.01 * mean[1:]).all()
    # 18 numbers: 3.5 standard errors, and the 1 % by which d = 128 is not infinite
    assert (np.abs(computed - mean) < 3.5 * error + 0.01 * mean).all()
    assert theory.error < 1e-3


@pytest.mark.parametrize(("ratio", "dims", "step", "runs"), [(20, 64, 0.9, 120), (64, 40, 1.2, 100)])
def test_many_rows_per_dimension_are_those_of_real_runs_under_random_reshuffle(ratio, dims, step, runs):
    rng = np.random.default_rng(8)
    X, T = helpers.gaussian(ratio * dims, dims, rng)
    T += X @ rng.standard_normal((dims, 1))
    held = X[::2] + 0, rng.standard_normal((len(X[::2]), 1))
    rows = LabelledRows.of(X, T, held)
    curve = exact.probe_curve("random_reshuffle", rows, 2, step)
    assert curve.error < 1e-3
    losses = helpers.simulated(X, T, [step] * 2, "random_reshuffle", runs, rng, held)[:, 1:]
    mean, error = losses.mean(axis=0), losses.std(axis=0, ddof=1) / np.sqrt(runs)
    for k, (loss, most) in enumerate((("train", 0.015), ("held_out", 0.015))):
        assert (error[:, k] < most * mean[:, k]).all()
        assert (np.abs(getattr(curve, loss)[1:] - mean[:, k]) < 3 * error[:, k]).all()


def test_losses_of_targets_without_noise_are_not_negative():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((480, 24))
    rows = LabelledRows.of(X, X[:, 0], (X[:50] + 1, X[:50, 0] + 1))
    curve = exact.probe_curve("random_reshuffle", rows, 20, 0.9)
    assert min(curve.train.min(), curve.held_out.min(), curve.distance.min()) >= 0


def test_unequal_norms_enter_iids_curve():
    X, T, *_ = helpers.labelled("cifar10", 96, 192)
    X = X * np.random.default_rng(12).uniform(0.4, 1.6, (len(X), 1))
    rows = LabelledRows.of(X, T)
    assert rows.norm_spread > 0.2
    theory = exact.probe_curve("iid", rows, 5, 0.8)
    losses = helpers.simulated(X, T, [0.8] * 5, "iid", 160, np.random.default_rng(13))[..., 0]
    mean, error = losses.mean(axis=0), losses.std(axis=0, ddof=1) / np.sqrt(160)
    assert (error[1:] < 0.012 * mean[1:]).all()
    assert (np.abs(theory.train - mean) < 3.5 * error + 0.01 * mean).all()
    equal = dataclasses.replace(
        rows, coupling=rows.eigenvalues / 96, kicks=rows.residual / rows.scale * rows.eigenvalues / 96
    )
    assert (np.abs(exact.probe_curve("iid", equal, 5, 0.8).train - mean)[1:] > 0.05 * mean[1:]).all()


@pytest.mark.parametrize("step", [0.2, 0.8])
def test_reshuffle_states_what_unequal_norms_may_change(step):
    """_NORMS_ERROR."""
    X, T, *_ = helpers.labelled("cifar10", 96, 192)
    X = X * np.random.default_rng(12).uniform(0.4, 1.6, (len(X), 1))
    theory = exact.probe_curve("random_reshuffle", LabelledRows.of(X, T), 6, step)
    losses = helpers.simulated(X, T, [step] * 6, "random_reshuffle", 64, np.random.default_rng(3))[..., 0]
    mean, error = losses.mean(axis=0), losses.std(axis=0, ddof=1) / 8
    assert (error[1:] < 0.012 * mean[1:]).all()
    assert (np.abs(theory.train - mean) < 3 * error + theory.error * mean).all()
    if step == 0.8:  # here the effect is real, and below the stated one
        assert np.abs(theory.train / mean - 1).max() > 0.1


# refusals --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda X, T: LabelledRows.of(X, T[:-1]), "one row for each"),
        (lambda X, T: LabelledRows.of(X, np.where(T > 0, np.nan, T)), "finite"),
        (lambda X, T: LabelledRows.of(X, T[:, :0]), "at least one column"),
        (lambda X, T: LabelledRows.of(0 * X, T), "not zero"),
        (lambda X, T: LabelledRows.of(X, T, (X[:, :-1], T)), "held-out rows must have 6 columns"),
        (
            lambda X, T: exact.probe_curve("iid", LabelledRows.of(X, T), 3, 5.0),
            "step must be at least 0 and below",
        ),
        (lambda X, T: exact.probe_curve("iid", LabelledRows.of(X, T), 3, -0.1), "step must be at least 0"),
        (lambda X, T: exact.probe_curve("iid", LabelledRows.of(X, T), 3, [0.1, 0.1]), "one per epoch, 3"),
        (lambda X, T: exact.probe_curve("iid", LabelledRows.of(X, T), 3, np.nan), "finite"),
        (lambda X, T: exact.probe_curve("iid", LabelledRows.of(X, T), -1), "epochs must be"),
        (
            lambda X, T: exact.probe_curve("iid", LabelledRows.of(X, T), 3, 0.1, batch=31),
            "batch must be at most 30",
        ),
        (lambda X, T: exact.probe_curve("random_reshuffle", LabelledRows.of(X, T), 3, 2.0), "below 2"),
        (lambda X, T: exact.probe_curve("random_reshuffle", LabelledRows.of(X, T), 3, 0.5), "at least 20"),
    ],
)
def test_bad_input_is_refused(uneven, call, words):
    with pytest.raises(ValueError, match=words):
        call(*uneven)


def test_an_unstable_batch_is_refused_with_its_limit():
    X, T, *_ = helpers.labelled("cifar10", 32, 64)
    with pytest.raises(ValueError, match=r"step must be below .* becomes unstable"):
        exact.probe_curve("random_reshuffle", LabelledRows.of(X, T), 2, 30.0, batch=32)


def test_one_row_and_rows_of_zeros_are_allowed():
    single = LabelledRows.of([[3.0, 4.0]], [10.0])
    assert exact.probe_curve("iid", single, 1, 1.0).train.tolist() == pytest.approx([100.0, 0.0], abs=1e-12)
    X = np.array([[1.0, 0.0], [0.0, 0.0]])
    rows = LabelledRows.of(X, [1.0, 2.0])
    assert rows.residual == pytest.approx(2.0)
    assert exact.probe_curve("iid", rows, 0).train.tolist() == pytest.approx([2.5])


def test_a_step_of_zero_changes_nothing():
    X, T, *_ = helpers.labelled("cifar10", 32, 64)
    rows = LabelledRows.of(X, T)
    for order in ("iid", "random_reshuffle"):
        curve = exact.probe_curve(order, rows, 2, [0.0, 0.5])
        assert curve.train[1] == pytest.approx(curve.train[0], rel=1e-12)
        assert curve.train[2] == pytest.approx(exact.probe_curve(order, rows, 1, 0.5).train[1], rel=1e-12)
