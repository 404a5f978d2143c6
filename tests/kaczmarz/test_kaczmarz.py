"""The simulator against its definition, row by row; what it reports, repeats and refuses."""

import os
import subprocess
import sys

import numpy as np
import pytest

from edgelaw import data
from edgelaw.curves import LearningCurve
from edgelaw.kaczmarz import blocks, compiled, engines, epoch_matrix, iterates, simulate
from edgelaw.kaczmarz.problem import Problem
from edgelaw.orders import ORDERS, stream

STEPS = (0.1, 0.5, 1.0, 1.5, 1.9)
D = 160  # with m = 80, 160, 320 an epoch has one block, a whole and a part, and several, of either kind


def design(m, d, seed=0):
    """Gaussian rows of very different lengths."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((m, d)) * rng.uniform(0.1, 10, size=(m, 1))


def row_by_row(X, epochs, W, step, batch=1, y=None, batch_mode="projection", normalised=True):
    """The definition: one update after the other, for epochs given as lists of indices."""
    W = np.array(W, dtype=float)
    y = np.zeros(len(X)) if y is None else y
    for epoch in epochs:
        for k in range(0, len(epoch), batch):
            chosen = epoch[k : k + batch]
            rows, residuals = X[chosen], X[chosen] @ W - y[chosen, None]
            if batch > 1 and batch_mode == "projection":
                W -= (
                    step * np.linalg.pinv(rows, rcond=1e-12) @ residuals
                )  # 1e-15 would take rounding for rank
            else:
                size = (rows**2).sum(axis=1, keepdims=True) if normalised else 1.0
                W -= step / len(rows) * rows.T @ (residuals / size)
    return W


def final(*args, **options):
    *_, (_, W) = iterates(*args, **options)
    return W


def assert_equal_to_twelve_digits(W, reference):
    assert np.abs(W - reference).max() < 1e-12 * np.abs(reference).max()


PATHS = [(1, "projection", "compiled"), (1, "projection", "blocked")]
PATHS += [(7, "projection", "blocked"), (7, "average", "blocked")]


# a third of all combinations, in which every pair of values meets
PAIRWISE = [
    (ORDERS[i], STEPS[j], (D // 2, D, 2 * D)[k], *PATHS[path])
    for i, j, k, path in np.ndindex(len(ORDERS), len(STEPS), 3, len(PATHS))
    if (i + j + k + path) % 3 == 0
]


@pytest.mark.parametrize(("order", "step", "m", "batch", "batch_mode", "method"), PAIRWISE)
def test_every_path_is_the_row_by_row_definition(order, step, m, batch, batch_mode, method):
    X = design(m, D)
    start = np.random.default_rng(1).standard_normal((D, 3))
    visits = stream(order, m, 4).epochs(0, 3)
    if order == "iid":
        assert any(len(set(epoch[:64])) < 64 for epoch in visits)  # repeated rows inside one block
    W = final(X, order, 3, start, step, batch, rng=4, batch_mode=batch_mode, method=method)
    assert_equal_to_twelve_digits(W, row_by_row(X, visits, start, step, batch, None, batch_mode))


@pytest.mark.parametrize(("batch", "batch_mode", "method"), PATHS)
@pytest.mark.parametrize("normalised", [True, False])
@pytest.mark.parametrize("order", ORDERS)
def test_every_path_is_the_definition_with_inconsistent_targets_and_for_plain_sgd(
    order, normalised, batch, batch_mode, method
):
    X = design(240, 100)
    y = np.random.default_rng(2).standard_normal(240)
    start = np.random.default_rng(1).standard_normal((100, 2))
    step = 1.3 if normalised else 1.3 / (X**2).sum(axis=1).max()
    options = {"batch_mode": batch_mode, "normalised": normalised}
    if batch_mode == "projection" and batch > 1:
        step = 1.3 if normalised else step  # a projection does not care for the length of rows
    reference = row_by_row(X, stream(order, 240, 4).epochs(0, 3), start, step, batch, y, **options)
    W = final(X, order, 3, start, step, batch, y, rng=4, method=method, **options)
    assert_equal_to_twelve_digits(W, reference)


def test_flip_flop_with_a_short_last_batch_has_other_batches_on_its_way_back_every_time():
    X, start = design(200, 90), np.random.default_rng(1).standard_normal((90, 2))
    for batch_mode in ("projection", "average"):
        W = final(X, "flip_flop", 6, start, 0.9, 7, rng=4, batch_mode=batch_mode)
        visits = stream("flip_flop", 200, 4).epochs(0, 6)
        assert_equal_to_twelve_digits(W, row_by_row(X, visits, start, 0.9, 7, None, batch_mode))


@pytest.mark.parametrize(("batch", "batch_mode", "method"), PATHS)
@pytest.mark.parametrize("step", STEPS)
def test_identical_rows_in_a_block_are_no_difficulty(step, batch, batch_mode, method):
    X = np.repeat(design(4, 6), 20, axis=0)
    start = np.random.default_rng(1).standard_normal((6, 2))
    for order in ORDERS:
        visits = stream(order, 80, 3).epochs(0, 2)
        W = final(X, order, 2, start, step, batch, rng=3, batch_mode=batch_mode, method=method)
        reference = row_by_row(X, visits, start, step, batch, None, batch_mode)
        assert np.abs(W - reference).max() < 1e-12


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("normalised", "step"), [(True, 5.5), (False, 0.0008)])
def test_averages_take_steps_far_beyond_two_and_are_the_definition(order, normalised, step):
    X, start = design(D, D), np.random.default_rng(1).standard_normal((D, 3))
    visits = stream(order, D, 4).epochs(0, 4)
    options = {"batch_mode": "average", "normalised": normalised}
    W = final(X, order, 4, start, step, 8, rng=4, **options)
    assert_equal_to_twelve_digits(W, row_by_row(X, visits, start, step, 8, None, **options))


@pytest.mark.parametrize("order", ORDERS)
def test_orthogonal_rows_stand_every_step_below_twice_the_batch_and_no_more(order):
    """Four different unit rows average to I − (η/4) P: the eigenvalue 1 − η/4 reaches −1 at η = 8."""
    options = {"batch": 4, "batch_mode": "average", "starts": "all"}
    curve = simulate(np.eye(8), "single_shuffle", 5, 7.9, **options)
    assert curve.test == pytest.approx((1 - 7.9 / 4) ** (2 * curve.epochs), rel=1e-12)
    with pytest.raises(
        ValueError, match=r"averages of 4 unit rows, below 2 · 4\) must be .* between 0 and 8, not 8"
    ):
        simulate(np.eye(8), order, 5, 8, **options)
    with pytest.raises(ValueError, match="strictly between 0 and 2, not 2"):
        simulate(np.eye(8), order, 5, 2, batch=4)  # a projection is what it was
    with pytest.raises(
        ValueError, match=r"4 rows as they are, below 2 · 4 / max ‖x‖²\) .* between 0 and 2, not 2"
    ):
        simulate(2 * np.eye(8), order, 5, 2, normalised=False, **options)
    with pytest.raises(
        ValueError, match="between 0 and 16, not 17"
    ):  # a batch has no more rows than there are
        simulate(np.eye(8), order, 5, 17, batch=100, batch_mode="average")


def test_beyond_twice_the_batch_every_update_increases_the_mean_square_of_a_random_error():
    """tr P² ≥ d + η(η/b − 2) for any b unit rows, with equality for orthogonal ones."""
    rng = np.random.default_rng(3)
    for rows in (np.eye(6)[:3], rng.standard_normal((3, 6)), np.ones((3, 6))):
        U = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        for step in (1.0, 6.0, 7.5):
            P = np.eye(6) - step / 3 * U.T @ U
            assert (P**2).sum() >= 6 + step * (step / 3 - 2) - 1e-12
            assert (P**2).sum() >= 6 - 1e-12 or step < 6


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.filterwarnings("error")
def test_divergence_is_told_in_one_sentence_with_a_step_that_cannot_diverge(order, dtype):
    X = np.ones((6, 3), dtype=dtype) + np.eye(6, 3, dtype=dtype)
    options = {"batch": 2, "batch_mode": "average", "rng": 1}
    with pytest.raises(OverflowError) as caught:
        simulate(X, order, 4000, 3.9, runs=2, **options)
    sentence = str(caught.value)
    assert sentence.startswith("SGD diverges at step 3.9: its weights overflow by epoch ")
    assert sentence.endswith("a step of at most 2 cannot increase the error.")
    with pytest.raises(OverflowError, match="diverges"):
        final(X, order, 4000, np.ones(3), 3.9, **options)


def test_the_step_that_cannot_diverge_comes_from_the_rows_and_the_shortest_batch():
    X = np.random.default_rng(2).standard_normal((24, 24))
    U = X / np.linalg.norm(X, axis=1, keepdims=True)
    largest = np.linalg.norm(U, 2) ** 2
    for rows, batch, safe in ((24, 12, 24 / largest), (24, 24, 48 / largest), (23, 11, 2.0)):
        X_used = X[:rows]
        with pytest.raises(OverflowError, match=f"at most {safe:.4g} cannot"):
            simulate(X_used, "single_shuffle", 4000, 1.9 * batch, batch=batch, batch_mode="average")
        curve = simulate(X_used, "flip_flop", 30, safe, batch=batch, batch_mode="average", starts="all")
        assert (np.diff(curve.test) <= 1e-12).all()
    with pytest.raises(OverflowError, match="at most 2 cannot"):  # rows drawn twice
        simulate(X, "iid", 4000, 23, batch=12, batch_mode="average")


@pytest.mark.parametrize("batch_mode", ["projection", "average"])
@pytest.mark.parametrize("batch", [2, 60, 120, 300])
@pytest.mark.parametrize("order", ["iid", "flip_flop"])
def test_any_size_of_batch_is_the_definition(order, batch, batch_mode):
    X = design(200, 90)  # batches beyond d and beyond m among them
    y = X @ np.random.default_rng(5).standard_normal(90)
    start = np.random.default_rng(1).standard_normal((90, 2))
    W = final(X, order, 2, start, 0.7, batch, y, rng=4, batch_mode=batch_mode)
    visits = stream(order, 200, 4).epochs(0, 2)
    reference = row_by_row(X, visits, start, 0.7, batch, y, batch_mode)
    # A batch of 60 or more of 90 dimensions is ill-conditioned: its projection keeps fewer digits.
    tolerance = 1e-12 if batch == 2 or batch_mode == "average" else 1e-9
    assert np.abs(W - reference).max() < tolerance * np.abs(reference).max()


@pytest.mark.parametrize("method", ["blocked", "compiled"])
@pytest.mark.parametrize("order", ORDERS)
def test_single_precision_agrees_to_single_precision_and_stays_single(order, method):
    X = design(150, 100).astype(np.float32)
    start = np.random.default_rng(1).standard_normal((100, 3)).astype(np.float32)
    W = final(X, order, 3, start, rng=4, method=method)
    reference = row_by_row(X.astype(float), stream(order, 150, 4).epochs(0, 3), start, 1.0)
    assert W.dtype == np.float32
    assert 0 < np.abs(W - reference).max() < 1e-5 * np.abs(reference).max()


def test_two_rows_at_sixty_degrees_can_be_followed_by_hand():
    # From (0, 1): projecting out (1, 0) changes nothing, then (1/2, √3/2) takes (√3/4, 3/4) away.
    X = np.array([[3.0, 0.0], [1.0, np.sqrt(3.0)]])
    seed = next(s for s in range(10) if stream("single_shuffle", 2, s).permutation.tolist() == [0, 1])
    for method in ("blocked", "compiled"):
        w = final(X, "single_shuffle", 1, np.array([0.0, 1.0]), rng=seed, method=method)
        assert np.allclose(w, [-np.sqrt(3) / 4, 1 / 4], rtol=0, atol=1e-15)


@pytest.mark.parametrize(("m", "d", "step"), [(5, 8, 0.1), (5, 8, 1.9), (300, 40, 1.5), (150, 300, 0.5)])
def test_the_epoch_matrix_is_the_product_of_the_updates_and_the_formula_with_M(m, d, step):
    U = np.random.default_rng(0).standard_normal((m, d))
    U /= np.linalg.norm(U, axis=1, keepdims=True)
    A = epoch_matrix(U, step)
    M = np.eye(m) / step + np.tril(U @ U.T, -1)
    assert np.abs(A - (np.eye(d) - U.T @ np.linalg.solve(M, U))).max() < 1e-12
    assert np.abs(A - row_by_row(U, [np.arange(m)], np.eye(d), step)).max() < 1e-12


def test_the_epoch_matrix_of_the_reversed_rows_is_the_transpose():
    U = np.random.default_rng(0).standard_normal((30, 20))
    U /= np.linalg.norm(U, axis=1, keepdims=True)
    assert np.abs(epoch_matrix(U[::-1], 1.2) - epoch_matrix(U, 1.2).T).max() < 1e-13


def test_the_epoch_matrix_takes_rows_of_any_length_with_their_own_step():
    U = design(20, 10)
    step = 1.9 / (U**2).sum(axis=1).max()
    reference = row_by_row(U, [np.arange(20)], np.eye(10), step, normalised=False)
    assert np.abs(epoch_matrix(U, step) - reference).max() < 1e-12
    with pytest.raises(ValueError, match="below 2 / max"):
        epoch_matrix(U, 1.0)


@compiled.compiled
def _inner(x):
    return 2 * x


@compiled.compiled
def _outer(x):
    return _inner(x) + 1


def test_the_compiled_loop_and_its_python_source_do_the_same():
    X = design(9, 5)
    y = np.arange(9.0)
    visits = stream("iid", 9, 1).epochs(0, 2).ravel()
    fast, source = np.ones((2, 5)), np.ones((2, 5))
    step = 0.01
    compiled.sweep(X, y, fast, np.empty(2), visits, step)
    compiled.sweep.function(X, y, source, np.empty(2), visits, step)
    reference = row_by_row(X, [visits], np.ones((5, 2)), step, y=y, normalised=False)
    assert_equal_to_twelve_digits(source.T, reference)
    assert_equal_to_twelve_digits(fast.T, reference)


def test_a_compiled_loop_may_call_another():
    assert _outer(2.0) == 5.0


def test_the_method_is_chosen_by_the_number_of_probes_and_the_batch():
    X = design(2, engines.SMALL_FRESH)
    problem, batched = (Problem(X, None, 1.0, b, "average", True) for b in (1, 2))
    tiny = Problem(X[:, :4], None, 1.0, 1, "average", True)
    for order, few in (("iid", engines.FEW_FRESH), ("single_shuffle", engines.FEW_KEPT)):
        s = stream(order, 2, 0)
        assert isinstance(engines.choose(tiny, s, 64, "auto"), engines.Compiled)
        assert isinstance(engines.choose(problem, s, few, "auto"), engines.Compiled)
        assert isinstance(engines.choose(problem, s, few + 1, "auto"), engines.Blocked)
        assert isinstance(engines.choose(batched, s, 1, "auto"), engines.Blocked)


# What simulate reports


@pytest.mark.parametrize("method", ["blocked", "compiled"])
@pytest.mark.parametrize("order", ORDERS)
def test_the_losses_are_those_of_the_definition(order, method):
    X = design(30, 20)
    curve = simulate(X, order, 3, step=1.2, probes=4, runs=2, rng=9, method=method)
    U = X / np.linalg.norm(X, axis=1, keepdims=True)
    test, train = np.empty((2, 4)), np.empty((2, 4))
    for r, child in enumerate(np.random.default_rng(9).spawn(2)):
        visits = stream(order, 30, child).epochs(0, 3)
        start = child.standard_normal((20, 4))
        start /= np.linalg.norm(start, axis=0)
        for n in range(4):
            W = row_by_row(X, visits[:n], start, 1.2)
            test[r, n] = (W**2).sum(axis=0).mean()
            train[r, n] = ((np.sqrt(20) * U @ W) ** 2).sum(axis=0).mean() / 30
    assert np.allclose(curve.test, test.mean(axis=0), rtol=1e-12, atol=0)
    assert np.allclose(curve.train, train.mean(axis=0), rtol=1e-12, atol=0)
    assert np.allclose(curve.test_se, test.std(axis=0, ddof=1) / np.sqrt(2), rtol=1e-9, atol=1e-15)
    assert np.allclose(curve.train_se, train.std(axis=0, ddof=1) / np.sqrt(2), rtol=1e-9, atol=0)
    assert curve.epochs.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("order", ORDERS)
def test_all_starts_leave_only_the_order_to_chance(order):
    X, n = data.normalize_rows(design(30, 20)), [0, 1, 3]
    curve = simulate(X, order, 3, step=0.8, runs=3, rng=9, record=n, starts="all")
    losses = []
    for child in np.random.default_rng(9).spawn(3):
        walk = [W for _, W in iterates(X, order, 3, np.eye(20), 0.8, rng=child, record=n)]
        losses.append([((W**2).sum() / 20, ((X @ W) ** 2).sum() / (30 * 20)) for W in walk])
    mean, error = np.mean(losses, axis=0), np.std(losses, axis=0, ddof=1) / np.sqrt(3)
    assert np.allclose([curve.test, curve.train], mean.T, rtol=1e-12, atol=0)
    assert np.allclose([curve.test_se, curve.train_se], error.T, rtol=1e-9, atol=1e-14)
    assert curve.train[0] == pytest.approx(1, abs=1e-14)  # for random starts on average only


def test_orthonormal_starts_are_a_part_of_all_starts_and_vary_less_than_random_ones():
    X = data.normalize_rows(design(30, 20))
    options = {"order": "iid", "epochs": 1, "record": [0], "runs": 40, "rng": 2}
    some, random = (simulate(X, probes=15, starts=kind, **options) for kind in ("orthonormal", "random"))
    assert np.abs(some.train[0] - 1) < 4 * some.train_se[0]
    assert 0.2 < some.train_se[0] / random.train_se[0] < 0.8  # √(5/20) for 15 of 20 dimensions
    whole = simulate(X, probes=20, starts="orthonormal", **options)
    assert whole.train[0] == pytest.approx(1, abs=1e-13)


def test_the_training_loss_of_plain_sgd_is_the_mean_squared_residual_of_the_rows_as_they_are():
    X = design(30, 20)
    curve = simulate(X, "iid", 1, step=1e-5, probes=2000, normalised=False, record=[0])
    assert abs(curve.train[0] / (np.trace(X.T @ X) / 30 / 20) - 1) < 0.05


def test_both_losses_start_at_one_and_standard_errors_need_two_runs():
    curve = simulate(design(64, 64), "iid", 2, probes=500)
    assert isinstance(curve, LearningCurve)
    assert abs(curve.test[0] - 1) < 1e-14
    assert abs(curve.train[0] - 1) < 0.05
    assert np.isnan(curve.test_se).all()
    assert np.isnan(curve.train_se).all()
    with pytest.raises(AttributeError):
        curve.test = curve.train


def test_the_mean_decay_of_iid_on_orthogonal_rows_is_the_one_worked_out_by_hand():
    # Orthogonal rows: E|w|² falls by the factor 1 − step (2 − step)/d an update; standard error 0.5 % at most.
    d = 64
    curve = simulate(np.eye(d), "iid", 2, step=0.5, probes=20, runs=1000, rng=1, record=[1, 2])
    expected = (1 - 0.5 * 1.5 / d) ** (d * curve.epochs)
    assert (curve.test_se[1:] < 0.005 * curve.test[1:]).all()
    assert (np.abs(curve.test - expected)[1:] < 3 * curve.test_se[1:]).all()


def test_importance_sampling_draws_the_long_rows():
    # Rows of lengths 1 and 3, p ∝ |x|²: after two draws E|w|² = (0.9² + 0.1²)/2, what neither draw hit.
    X = np.diag([1.0, 3.0])
    curve = simulate(X, "iid", 1, probes=1, runs=2000, rng=3, probabilities=[0.1, 0.9], workers=1)
    expected = (0.9**2 + 0.1**2) / 2
    assert abs(curve.test[1] - expected) < 4 * curve.test_se[1] < 0.05


def test_fewer_rows_than_columns_leave_the_null_space_where_it_was():
    curve = simulate(design(20, 40), "single_shuffle", 400, probes=400, record=[400])
    assert abs(curve.test[-1] - 0.5) < 0.02
    assert curve.train[-1] < 1e-6


@pytest.mark.parametrize("normalised", [True, False])
@pytest.mark.parametrize("method", ["blocked", "compiled"])
def test_consistent_targets_only_shift_the_problem(method, normalised):
    X = design(50, 30)
    y = X @ np.random.default_rng(3).standard_normal(30)
    step = 1.0 if normalised else 1 / (X**2).sum(axis=1).max()
    options = {"step": step, "method": method, "normalised": normalised}
    with_y, without = (simulate(X, "flip_flop", 60, y=v, **options) for v in (y, None))
    assert (with_y.test == without.test).all()
    assert (with_y.train == without.train).all()


def test_consistent_targets_in_single_precision_are_still_consistent():
    X = design(50, 30).astype(np.float32)
    y = X @ np.ones(30, dtype=np.float32)
    with_y, without = (simulate(X, "iid", 5, y=v) for v in (y, None))
    assert (with_y.test == without.test).all()


@pytest.mark.parametrize("kind", ["normalised", "plain", "importance"])
def test_inconsistent_targets_are_measured_from_where_the_mean_update_vanishes(kind):
    X = design(40, 10)
    y = np.random.default_rng(3).standard_normal(40)
    size = (X**2).sum(axis=1)
    weights = {"normalised": 1 / size, "plain": np.ones(40), "importance": np.ones(40)}[kind]
    w = np.linalg.solve(X.T @ (weights[:, None] * X), X.T @ (weights * y))
    options = {"normalised": kind != "plain", "step": 0.5 / size.max() if kind == "plain" else 0.5}
    if kind == "importance":
        options["probabilities"] = size / size.sum()
    curve = simulate(X, "iid", 2, probes=3, y=y, rng=6, **options)
    child = np.random.default_rng(6).spawn(1)[0]
    visits = stream("iid", 40, child, options.pop("probabilities", None)).epochs(0, 2)
    start = child.standard_normal((10, 3))
    W = row_by_row(X, visits, w[:, None] + start / np.linalg.norm(start, axis=0), y=y, **options)
    assert abs(curve.test[-1] / ((W - w[:, None]) ** 2).sum(axis=0).mean() - 1) < 1e-10
    assert curve.test[0] == pytest.approx(1, abs=1e-14)


def test_inconsistent_targets_end_at_a_floor_that_falls_with_the_step():
    X = np.random.default_rng(0).standard_normal((60, 10))
    y = X @ np.ones(10) + np.random.default_rng(1).standard_normal(60)
    floors = [simulate(X, "iid", 400, step=s, probes=4, y=y).test[200:].mean() for s in (0.4, 0.1, 0.025)]
    assert floors[0] > 3 * floors[1] > 9 * floors[2] > 0


def test_only_the_chosen_epochs_are_recorded_and_they_are_the_same_as_if_all_were():
    X = design(30, 20)
    for method, tolerance in (("blocked", 0), ("compiled", 1e-13)):
        whole = simulate(X, "random_reshuffle", 9, rng=2, method=method)
        some = simulate(X, "random_reshuffle", 9, rng=2, method=method, record=[7, 3, 3])
        assert some.epochs.tolist() == [0, 3, 7]
        assert np.allclose(some.test, whole.test[[0, 3, 7]], rtol=tolerance, atol=0)
        assert np.allclose(some.train, whole.train[[0, 3, 7]], rtol=tolerance, atol=0)


def test_a_long_walk_in_pieces_is_the_walk_in_one_piece():
    X = design(3, 400)  # short enough an epoch for pieces of many, long enough a walk for several pieces
    assert 2**20 // 3 < 350_000
    once = simulate(X[:, :4], "iid", 350_000, probes=1, step=1e-5, rng=1, record=[350_000])
    twice = simulate(X[:, :4], "iid", 350_000, probes=1, step=1e-5, rng=1, record=[100_000, 350_000])
    assert once.test[-1] == pytest.approx(twice.test[-1], rel=1e-9)
    assert 0.01 < once.test[-1] < 1


def test_errors_that_vanish_become_zero_without_a_warning():
    for dtype, method in ((np.float64, "blocked"), (np.float32, "compiled")):
        X = np.eye(4, dtype=dtype)
        curve = simulate(X, "single_shuffle", 2000, step=0.5, method=method)
        assert curve.test[-1] == 0
        assert curve.train[-1] == 0
        assert curve.test[50] == pytest.approx(0.25**50, rel=1e-5)


def test_the_weights_that_are_yielded_belong_to_the_reader():
    X, start = design(10, 6), np.ones(6)
    walk = iterates(X, "iid", 3, start)
    n, w = next(walk)
    assert (n, w.shape) == (0, (6,))
    kept = final(X, "iid", 3, start)
    w[:] = 0
    *_, (_, last) = walk
    assert (last == kept).all()
    assert (start == 1).all()


def test_the_data_are_left_as_they_were():
    X = design(30, 20)
    before = X.copy()
    for normalised in (True, False):
        simulate(X, "flip_flop", 2, step=1e-4, normalised=normalised)
    assert (before == X).all()


def test_the_layout_of_the_data_does_not_matter():
    X = design(30, 20)
    for normalised in (True, False):
        for order in ("iid", "flip_flop"):
            options = {"step": 1e-4, "normalised": normalised, "order": order, "epochs": 3}
            assert (simulate(X, **options).test == simulate(np.asfortranarray(X), **options).test).all()


def test_rows_of_extreme_length_have_the_same_directions():
    X = design(30, 20)
    ordinary = simulate(X, "iid", 3).test
    assert np.allclose(simulate(X * 1e-170, "iid", 3).test, ordinary, rtol=1e-12)
    assert np.allclose(simulate(X * 1e170, "iid", 3).test, ordinary, rtol=1e-12)


def test_progress_is_reported_up_to_the_end_and_changes_nothing():
    X = design(30, 20)
    calls = []
    watched = simulate(X, "iid", 5, runs=3, workers=2, progress=lambda *call: calls.append(call))
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)
    assert calls[-1] == (15, 15)
    assert (watched.test == simulate(X, "iid", 5, runs=3).test).all()


@pytest.mark.parametrize("method", ["blocked", "compiled"])
@pytest.mark.parametrize("workers", [1, 2])
def test_what_goes_wrong_in_one_run_ends_them_all_at_once(workers, method):
    def progress(done, total):
        raise InterruptedError("enough")

    with pytest.raises(InterruptedError, match="enough"):  # and not after hours, when the runs are done
        simulate(
            np.eye(3), "iid", 10**9, runs=5, workers=workers, progress=progress, record=[10**9], method=method
        )


@pytest.mark.parametrize("method", ["blocked", "compiled"])
@pytest.mark.parametrize(("m", "d"), [(1, 1), (1, 5), (5, 1)])
def test_the_smallest_problems_are_problems_too(m, d, method):
    X, y = design(m, d), np.arange(1.0, m + 1)
    start = np.ones((d, 2))
    for order in ORDERS:
        W = final(X, order, 3, start, 0.5, y=y, rng=1, method=method)
        assert_equal_to_twelve_digits(W, row_by_row(X, stream(order, m, 1).epochs(0, 3), start, 0.5, y=y))


# Same seed, same digits


@pytest.mark.parametrize("method", ["blocked", "compiled"])
@pytest.mark.parametrize("order", ORDERS)
def test_the_same_seed_gives_the_same_digits_whatever_the_number_of_workers(order, method):
    X = design(100, 70)
    curves = [simulate(X, order, 4, runs=5, rng=3, workers=w, method=method) for w in (1, 2, None)]
    for curve in curves[1:]:
        for name in ("test", "train", "test_se", "train_se"):
            assert (getattr(curve, name) == getattr(curves[0], name)).all()
    assert (simulate(X, order, 4, runs=5, rng=4, method=method).test[1:] != curves[0].test[1:]).any()


def test_the_same_seed_gives_the_same_digits_whatever_the_number_of_blas_threads():
    program = (
        "import numpy as np; from edgelaw.kaczmarz import simulate\n"
        "X = np.random.default_rng(0).standard_normal((500, 300))\n"
        "for order in ('iid', 'flip_flop'):\n"
        "    curve = simulate(X, order, 3, probes=70, runs=2)\n"
        "    print(curve.test.tobytes().hex(), curve.train.tobytes().hex())\n"
    )
    printed = set()
    for count in ("1", "4"):
        limits = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), count)
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | limits,
            capture_output=True,
            text=True,
            check=True,
        )
        printed.add(done.stdout)
    assert len(printed) == 1


def test_a_run_does_not_depend_on_how_many_there_are():
    X = design(20, 20)
    one, two, three = (simulate(X, "iid", 2, runs=r, rng=5).test for r in (1, 2, 3))
    assert (one[1:] != two[1:]).all()
    second, third = 2 * two - one, 3 * three - 2 * two
    assert (np.abs(second - third)[1:] > 1e-6).all()


def test_a_generator_moves_on_from_call_to_call():
    X, rng = design(20, 20), np.random.default_rng(5)
    first, second = simulate(X, "iid", 2, rng=rng), simulate(X, "iid", 2, rng=rng)
    assert (first.test == simulate(X, "iid", 2, rng=5).test).all()
    assert (first.test[1:] != second.test[1:]).all()


# Bad input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"step": 0.0}, "step must be a finite number strictly between 0 and 2, not 0.0"),
        ({"step": 2.0}, "step must be a finite number strictly between 0 and 2, not 2.0"),
        ({"step": -1}, "step must be"),
        ({"step": np.nan}, "step must be"),
        ({"step": "one"}, "step must be"),
        ({"step": 0.4, "normalised": False}, r"below 2 / max ‖x‖²\) must be .* between 0 and 0.4, not 0.4"),
        ({"order": "shuffle"}, "'iid', 'random_reshuffle', 'single_shuffle', 'flip_flop', not 'shuffle'"),
        ({"epochs": 0}, "epochs must be an integer of at least 1, not 0"),
        ({"epochs": 2.5}, "epochs must be"),
        ({"probes": 0}, "probes must be an integer of at least 1, not 0"),
        ({"runs": 0}, "runs must be an integer of at least 1, not 0"),
        ({"batch": 0}, "batch must be an integer of at least 1, not 0"),
        ({"workers": 0}, "workers must be an integer of at least 1, not 0"),
        ({"batch_mode": "mean"}, "batch_mode must be one of 'projection', 'average'"),
        ({"method": "slow"}, "method must be one of 'auto', 'blocked', 'compiled'"),
        ({"method": "compiled", "batch": 2}, "needs batch=1, not 2"),
        ({"y": np.ones(4)}, "y must have one entry for each of the 3 rows of X, not 4"),
        ({"y": np.array([1.0, np.nan, 1.0])}, "y must be finite"),
        ({"record": [11]}, "between 0 and epochs=10"),
        ({"record": []}, "at least one epoch"),
        ({"record": [-1]}, "record must be an integer of at least 0"),
        ({"starts": "some"}, "starts must be one of 'random', 'orthonormal', 'all', not 'some'"),
        ({"starts": "all", "probes": 2}, 'columns for starts="all"; leave it out, not 2'),
        ({"starts": "orthonormal", "probes": 3}, "at most 2 to be orthonormal in 2 dimensions, not 3"),
        ({"rng": None}, "rng must be"),
        ({"rng": -1}, "rng must be"),
        ({"probabilities": [0.5, 0.5]}, "one entry for each of the 3 rows"),
        ({"X": np.array([[1.0, 2.0], [0.0, 0.0], [1.0, 1.0]])}, "no zero row, but row 1 is zero"),
        ({"X": np.array([[1.0, np.nan], [1.0, 1.0]])}, "X must be finite"),
        ({"X": np.ones(3)}, "X must have 2 dimension"),
        ({"X": np.ones((0, 3))}, "at least 1 rows"),
        ({"X": np.ones((2, 2)) * 1j}, "real numbers"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(options, message):
    good = {"X": np.eye(3)[:, :2] + 1, "order": "iid", "epochs": 10}
    simulate(**good)
    with pytest.raises(ValueError, match=message) as caught:
        simulate(**(good | options))
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("start", [np.ones(4), np.ones((3, 0)), np.ones((1, 3, 1)), 1.0, [np.inf, 1, 1]])
def test_a_start_that_does_not_fit_is_refused(start):
    with pytest.raises(ValueError, match="start must"):
        next(iterates(np.eye(3), "iid", 1, start))


def test_a_zero_row_is_no_update_in_plain_sgd():
    X = np.array([[0.0, 0.0], [1.0, 0.0]])
    w = final(X, "single_shuffle", 1, np.ones(2), step=0.5, normalised=False)
    assert w.tolist() == [0.5, 1.0]
    still = final(np.zeros((2, 2)), "iid", 1, np.ones(2), step=0.5, normalised=False)
    assert still.tolist() == [1.0, 1.0]


def test_blocks_keep_small_inverses_only():
    rows = np.random.default_rng(0).standard_normal((512, 300))
    kept = blocks.KeptBlocks(rows, None, 1e-3, 1, "projection")
    W = np.ones((300, 2))
    kept.epoch(W)
    assert kept.rows is rows
    assert sum(T.size for _, T in kept._forwards) == 512 * blocks.KEPT
    assert kept._forwards is kept._blocks(False)  # kept from epoch to epoch
