"""The simulator against its definition, row by row; what it reports, repeats and refuses."""

import itertools
import os
import subprocess
import sys

import numpy as np
import pytest

from edgelaw import data
from edgelaw._common import threads
from edgelaw.curves import LearningCurve
from edgelaw.kaczmarz import Problem, blocks, compiled, engines, epoch_matrix, iterates, simulate
from edgelaw.kaczmarz.blocks import Blocked
from edgelaw.kaczmarz.compiled import Compiled
from edgelaw.kaczmarz.problem import MODES
from edgelaw.orders import ORDERS, stream

STEPS = (0.1, 0.5, 1.0, 1.5, 1.9)


def design(m, d, seed=0):
    """Gaussian rows of very different lengths."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((m, d)) * rng.uniform(0.1, 10, size=(m, 1))


def by_hand(problem, X, visits, W, steps):
    """The definition: one update after the other, for epochs given as lists of indices, one step each."""
    W, batch = np.array(W, dtype=float), problem.batch
    T = np.zeros((len(X), 1)) if problem.targets is None else problem.targets * problem.norms[:, None]
    T = T if problem.normalised or problem.targets is None else problem.targets
    for epoch, step in zip(visits, steps, strict=True):
        for chosen in (epoch[k : k + batch] for k in range(0, len(epoch), batch)):
            rows, gap = X[chosen], X[chosen] @ W - T[chosen]
            size = (rows**2).sum(axis=1, keepdims=True) if problem.normalised else 1.0
            if batch > 1 and problem.mode == "projection":
                change = np.linalg.pinv(rows, rcond=1e-12) @ gap  # 1e-15 would take rounding for rank
            else:
                change = rows.T @ (gap / size) / len(rows)
            W = (1 - step * problem.ridge) * W - step * change
    return W


def final(*args, **options):
    *_, (_, W) = iterates(*args, **options)
    return W


def assert_equal_to_twelve_digits(W, reference):
    assert np.abs(W - reference).max() < 1e-12 * np.abs(reference).max()


@pytest.fixture(params=[Compiled, Blocked], ids=["compiled", "blocked"])
def way(request, monkeypatch):
    """Each of the two ways through an epoch, for whatever is simulated."""
    monkeypatch.setattr(engines, "choose", lambda problem, stream, probes: request.param(problem, stream))
    return request.param


RULES = {
    "rows": {},
    "averages": {"batch": 8},
    "averages, the last one short": {"batch": 7},
    "plain SGD": {"normalised": False},
    "averages of plain rows": {"batch": 7, "normalised": False},
    "ridge": {"ridge": 0.02},
    "ridge with averages": {"batch": 7, "ridge": 0.3},
    "a ridge that changes signs": {"batch": 7, "ridge": 1.6},
}
PROJECTIONS = {
    "projections": {"batch": 7, "mode": "projection"},
    "projections with a ridge": {"batch": 8, "mode": "projection", "ridge": 0.1},
}
D = 160  # with m = 80, 160, 320 an epoch has one block, a whole and a part, and several, of either kind


@pytest.mark.parametrize("m", [D // 2, D, 2 * D])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_either_way_is_the_definition(way, rule, order, m):
    assert_defined(rule, order, m)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("rule", PROJECTIONS.values(), ids=PROJECTIONS)
def test_projections_are_the_definition(rule, order):
    assert_defined(rule, order, D)


def assert_defined(rule, order, m):
    """Without targets, with targets of one output for all starts, and with targets of three outputs."""
    rng = np.random.default_rng(1)
    X, start, Y = design(m, D), rng.standard_normal((D, 3)), rng.standard_normal((m, 3))
    step = 1.3 if rule.get("normalised", True) else 1.3 / (X**2).sum(axis=1).max()
    visits = stream(order, m, 4).epochs(0, 3)
    for y in (None, Y[:, 0], Y):
        problem = Problem(X, y, **rule)
        W = final(problem, order, 3, start, step, rng=4)
        assert_equal_to_twelve_digits(W, by_hand(problem, X, visits, start, [step] * 3))


@pytest.mark.parametrize("rule", [{}, {"batch": 7}, {"ridge": 0.1, "batch": 7}], ids=str)
@pytest.mark.parametrize("order", ORDERS)
def test_a_schedule_has_its_own_step_in_every_epoch_either_way(way, order, rule):
    X, rng = design(200, 90), np.random.default_rng(1)
    problem, start = Problem(X, rng.standard_normal(200), **rule), rng.standard_normal((90, 2))
    visits, steps = stream(order, 200, 4).epochs(0, 7), [1.5, 1.5, 0.7, 0.0, 0.4, 2.5, 1.5]
    assert_equal_to_twelve_digits(
        final(problem, order, 7, start, steps, rng=4), by_hand(problem, X, visits, start, steps)
    )
    at_once = final(problem, order, [7], start, steps, rng=4)  # no pause but where the step changes
    assert_equal_to_twelve_digits(at_once, by_hand(problem, X, visits, start, steps))


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("order", ORDERS)
def test_either_way_is_the_definition_at_every_step(way, order, step):
    X, start = design(D, D), np.random.default_rng(1).standard_normal((D, 3))
    visits = stream(order, D, 4).epochs(0, 3)
    if order == "iid":
        assert any(len(set(epoch[:64])) < 64 for epoch in visits)  # repeated rows inside one block
    reference = by_hand(Problem(X), X, visits, start, [step] * 3)
    assert_equal_to_twelve_digits(final(X, order, 3, start, step, rng=4), reference)


def test_probable_rows_are_drawn_more_often_either_way(way):
    X, start = design(30, 20), np.ones((20, 2))
    problem = Problem(X, probabilities=np.arange(1.0, 31) / 465)
    visits = stream("iid", 30, 4, problem.probabilities).epochs(0, 3)
    reference = by_hand(problem, X, visits, start, [1.0] * 3)
    assert_equal_to_twelve_digits(final(problem, "iid", 3, start, rng=4), reference)
    assert np.abs(final(X, "iid", 3, start, rng=4) - reference).max() > 1e-3


def test_flip_flop_with_a_short_last_batch_has_other_batches_on_its_way_back_every_time():
    X, start = design(200, 90), np.random.default_rng(1).standard_normal((90, 2))
    visits = stream("flip_flop", 200, 4).epochs(0, 6)
    for mode in MODES:
        problem = Problem(X, batch=7, mode=mode, ridge=0.01)
        W = final(problem, "flip_flop", 6, start, 0.9, rng=4)
        assert_equal_to_twelve_digits(W, by_hand(problem, X, visits, start, [0.9] * 6))


@pytest.mark.parametrize("rule", [{}, {"batch": 7}, {"batch": 7, "mode": "projection"}], ids=str)
@pytest.mark.parametrize("step", STEPS)
def test_identical_rows_in_a_block_are_no_difficulty(step, rule):
    X = np.repeat(design(4, 6), 20, axis=0)
    start, problem = np.random.default_rng(1).standard_normal((6, 2)), Problem(X, **rule)
    for order in ORDERS:
        reference = by_hand(problem, X, stream(order, 80, 3).epochs(0, 2), start, [step] * 2)
        for kind in (Compiled, Blocked)[problem.mode == "projection" :]:
            engine = kind(problem, stream(order, 80, 3))
            *_, W = engines.walk(engine, start, np.array([2]), np.array([step]))
            assert np.abs(W - reference).max() < 1e-12


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("normalised", "step"), [(True, 5.5), (False, 0.0008)])
def test_averages_take_steps_far_beyond_two_and_are_the_definition(way, order, normalised, step):
    X, start = design(D, D), np.random.default_rng(1).standard_normal((D, 3))
    problem = Problem(X, batch=8, normalised=normalised)
    reference = by_hand(problem, X, stream(order, D, 4).epochs(0, 4), start, [step] * 4)
    assert_equal_to_twelve_digits(final(problem, order, 4, start, step, rng=4), reference)


@pytest.mark.parametrize("order", ORDERS)
def test_orthogonal_rows_stand_every_step_below_twice_the_batch_and_no_more(order):
    """Four different unit rows average to I − (η/4) P: the eigenvalue 1 − η/4 reaches −1 at η = 8."""
    fours = Problem(np.eye(8), batch=4)
    curve = simulate(fours, "single_shuffle", 5, 7.9, starts="all")
    assert curve.test == pytest.approx((1 - 7.9 / 4) ** (2 * curve.epochs), rel=1e-12)
    with pytest.raises(
        ValueError, match=r"averages of 4 unit rows, below 4 · 2\) must be .* between 0 and 8, not 8"
    ):
        simulate(fours, order, 5, 8)
    with pytest.raises(ValueError, match="strictly between 0 and 2, not 2"):
        simulate(Problem(np.eye(8), batch=4, mode="projection"), order, 5, 2)
    with pytest.raises(
        ValueError, match=r"4 rows as they are, below 4 · 2 / max ‖x‖²\) .* between 0 and 2, not 2"
    ):
        simulate(Problem(2 * np.eye(8), batch=4, normalised=False), order, 5, 2)
    with pytest.raises(ValueError, match="between 0 and 16, not 17"):  # no batch has more rows than there are
        simulate(Problem(np.eye(8), batch=100), order, 5, 17)


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
def test_divergence_is_told_in_one_sentence_with_a_step_that_cannot_diverge(way, order, dtype):
    pairs = Problem(np.ones((6, 3), dtype=dtype) + np.eye(6, 3, dtype=dtype), batch=2)
    with pytest.raises(OverflowError) as caught:
        simulate(pairs, order, 4000, 3.9, runs=2, rng=1)
    sentence = str(caught.value)
    assert sentence.startswith("SGD diverges at step 3.9: its weights overflow by epoch ")
    assert sentence.endswith("a step of at most 2 cannot increase the error.")
    with pytest.raises(OverflowError, match="diverges"):
        final(pairs, order, 4000, np.ones(3), 3.9, rng=1)


def test_the_step_that_cannot_diverge_is_that_of_the_longest_row():
    X = np.random.default_rng(2).standard_normal((24, 24))
    longest = (X**2).sum(axis=1).max()
    for normalised, safe in ((True, 2.0), (False, 2 / longest)):
        problem = Problem(X, batch=12, normalised=normalised)
        with pytest.raises(OverflowError, match=f"at most {safe:.4g} cannot"):
            simulate(problem, "iid", 4000, 11.9 * safe)
        curve = simulate(problem, "iid", 30, 0.999 * safe, starts="all")
        assert (np.diff(curve.test) <= 1e-12).all()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("batch", [2, 60, 120, 300])
@pytest.mark.parametrize("order", ["iid", "flip_flop"])
def test_any_size_of_batch_is_the_definition(order, batch, mode):
    X = design(200, 90)  # batches beyond d and beyond m among them
    y = X @ np.random.default_rng(5).standard_normal(90)
    start, problem = np.random.default_rng(1).standard_normal((90, 2)), Problem(X, y, batch, mode)
    reference = by_hand(problem, X, stream(order, 200, 4).epochs(0, 2), start, [0.7] * 2)
    # A batch of 60 or more of 90 dimensions is ill-conditioned: its projection keeps fewer digits.
    tolerance = 1e-12 if batch == 2 or mode == "average" else 1e-9
    for kind in (Compiled, Blocked)[mode == "projection" :]:
        engine = kind(problem, stream(order, 200, 4))
        *_, W = engines.walk(engine, start, np.array([2]), np.array([0.7]))
        assert np.abs(W - reference).max() < tolerance * np.abs(reference).max()


@pytest.mark.parametrize("rule", [{}, {"batch": 4, "ridge": 0.01}], ids=str)
@pytest.mark.parametrize("order", ORDERS)
def test_single_precision_agrees_to_single_precision_and_stays_single(way, order, rule):
    X = design(150, 100).astype(np.float32)
    start = np.random.default_rng(1).standard_normal((100, 3)).astype(np.float32)
    problem, wide = (Problem(rows, np.ones(150), **rule) for rows in (X, X.astype(float)))
    W = final(problem, order, 3, start, rng=4)
    reference = by_hand(wide, X.astype(float), stream(order, 150, 4).epochs(0, 3), start, [1.0] * 3)
    assert W.dtype == np.float32
    assert 0 < np.abs(W - reference).max() < 1e-5 * np.abs(reference).max()


def test_two_rows_at_sixty_degrees_can_be_followed_by_hand(way):
    # From (0, 1): projecting out (1, 0) changes nothing, then (1/2, √3/2) takes (√3/4, 3/4) away.
    X = np.array([[3.0, 0.0], [1.0, np.sqrt(3.0)]])
    seed = next(s for s in range(10) if stream("single_shuffle", 2, s).permutation.tolist() == [0, 1])
    w = final(X, "single_shuffle", 1, np.array([0.0, 1.0]), rng=seed)
    assert np.allclose(w, [-np.sqrt(3) / 4, 1 / 4], rtol=0, atol=1e-15)


@pytest.mark.parametrize(("m", "d", "step"), [(5, 8, 0.1), (5, 8, 1.9), (300, 40, 1.5), (150, 300, 0.5)])
def test_the_epoch_matrix_is_the_product_of_the_updates_and_the_formula_with_M(m, d, step):
    U = np.random.default_rng(0).standard_normal((m, d))
    U /= np.linalg.norm(U, axis=1, keepdims=True)
    A = epoch_matrix(U, step)
    M = np.eye(m) / step + np.tril(U @ U.T, -1)
    assert np.abs(A - (np.eye(d) - U.T @ np.linalg.solve(M, U))).max() < 1e-12
    assert np.abs(A - by_hand(Problem(U), U, [np.arange(m)], np.eye(d), [step])).max() < 1e-12


def test_the_epoch_matrix_of_the_reversed_rows_is_the_transpose():
    U = np.random.default_rng(0).standard_normal((30, 20))
    U /= np.linalg.norm(U, axis=1, keepdims=True)
    assert np.abs(epoch_matrix(U[::-1], 1.2) - epoch_matrix(U, 1.2).T).max() < 1e-13


def test_the_epoch_matrix_takes_rows_of_any_length_with_their_own_step():
    U = design(20, 10)
    step = 1.9 / (U**2).sum(axis=1).max()
    reference = by_hand(Problem(U, normalised=False), U, [np.arange(20)], np.eye(10), [step])
    assert np.abs(epoch_matrix(U, step) - reference).max() < 1e-12
    with pytest.raises(ValueError, match="below 2 / max"):
        epoch_matrix(U, 1.0)


@pytest.mark.parametrize("several", [False, True])
def test_the_compiled_loops_and_their_python_sources_do_the_same(several):
    X = design(9, 5)
    Y = np.random.default_rng(2).standard_normal((9, 2 if several else 1))
    visits = stream("iid", 9, 1).epoch(0)
    for batch in (1, 4):
        fast, source = np.ones((2, 5)), np.ones((2, 5))
        for function, W in ((compiled.sweep, fast), (compiled.sweep.function, source)):
            function(X, Y, W, visits, batch, 0.01, 0.9)
        problem = Problem(X, Y, batch, normalised=False, ridge=10.0)
        reference = by_hand(problem, X, [visits], np.ones((5, 2)), [0.01])
        assert_equal_to_twelve_digits(source.T, reference)
        assert_equal_to_twelve_digits(fast.T, reference)


def test_the_way_is_chosen_by_the_number_of_probes_and_by_what_there_is(monkeypatch):
    X = design(2, engines.SMALL_FRESH)
    wide, tiny, long = Problem(X), Problem(X[:, :4]), Problem(X, batch=blocks.FRESH)
    fresh, kept = stream("iid", 2, 0), stream("single_shuffle", 2, 0)
    few_of = (
        (wide, fresh, engines.FEW_FRESH),
        (wide, kept, engines.FEW_KEPT),
        (long, fresh, engines.FEW_KEPT),
    )
    monkeypatch.setattr(engines, "has_numba", lambda: True)
    for problem, visits, few in few_of:
        assert isinstance(engines.choose(problem, visits, few), Compiled)
        assert isinstance(engines.choose(problem, visits, few + 1), Blocked)
    assert isinstance(engines.choose(tiny, kept, 64), Compiled)
    assert isinstance(engines.choose(Problem(X, batch=2, mode="projection"), fresh, 1), Blocked)
    monkeypatch.setattr(engines, "has_numba", lambda: False)
    assert isinstance(engines.choose(tiny, fresh, 1), Blocked)


# What simulate reports


@pytest.mark.parametrize("order", ORDERS)
def test_the_losses_are_those_of_the_definition(way, order):
    X = design(30, 20)
    curve = simulate(X, order, 3, step=1.2, probes=4, runs=2, rng=9)
    U = X / np.linalg.norm(X, axis=1, keepdims=True)
    test, train = np.empty((2, 4)), np.empty((2, 4))
    for r, child in enumerate(np.random.default_rng(9).spawn(2)):
        visits = stream(order, 30, child).epochs(0, 3)
        start = child.standard_normal((20, 4))
        start /= np.linalg.norm(start, axis=0)
        for n in range(4):
            W = by_hand(Problem(X), X, visits[:n], start, [1.2] * n)
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
    curve = simulate(X, order, n, step=0.8, runs=3, rng=9, starts="all")
    losses = []
    for child in np.random.default_rng(9).spawn(3):
        walk = [W for _, W in iterates(X, order, n, np.eye(20), 0.8, rng=child)]
        losses.append([((W**2).sum() / 20, ((X @ W) ** 2).sum() / (30 * 20)) for W in walk])
    mean, error = np.mean(losses, axis=0), np.std(losses, axis=0, ddof=1) / np.sqrt(3)
    assert np.allclose([curve.test, curve.train], mean.T, rtol=1e-12, atol=0)
    assert np.allclose([curve.test_se, curve.train_se], error.T, rtol=1e-9, atol=1e-14)
    assert curve.train[0] == pytest.approx(1, abs=1e-14)  # for random starts on average only


def test_orthonormal_starts_are_a_part_of_all_starts_and_vary_less_than_random_ones():
    X = data.normalize_rows(design(30, 20))
    options = {"order": "iid", "epochs": 0, "runs": 40, "rng": 2}
    some, random = (simulate(X, probes=15, starts=kind, **options) for kind in ("orthonormal", "random"))
    assert np.abs(some.train[0] - 1) < 4 * some.train_se[0]
    assert 0.2 < some.train_se[0] / random.train_se[0] < 0.8  # √(5/20) for 15 of 20 dimensions
    whole = simulate(X, probes=20, starts="orthonormal", **options)
    assert whole.train[0] == pytest.approx(1, abs=1e-13)


def test_the_training_loss_of_plain_sgd_is_the_mean_squared_residual_of_the_rows_as_they_are():
    X = design(30, 20)
    curve = simulate(Problem(X, normalised=False), "iid", 0, step=1e-5, probes=2000)
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
    curve = simulate(np.eye(d), "iid", [1, 2], step=0.5, probes=20, runs=1000, rng=1)
    expected = (1 - 0.5 * 1.5 / d) ** (d * curve.epochs)
    assert (curve.test_se[1:] < 0.005 * curve.test[1:]).all()
    assert (np.abs(curve.test - expected)[1:] < 3 * curve.test_se[1:]).all()


def test_importance_sampling_draws_the_long_rows():
    # Rows of lengths 1 and 3, p ∝ |x|²: after two draws E|w|² = (0.9² + 0.1²)/2, what neither draw hit.
    X = np.diag([1.0, 3.0])
    curve = simulate(Problem(X, probabilities=[0.1, 0.9]), "iid", 1, probes=1, runs=2000, rng=3)
    expected = (0.9**2 + 0.1**2) / 2
    assert abs(curve.test[1] - expected) < 4 * curve.test_se[1] < 0.05


def test_fewer_rows_than_columns_leave_the_null_space_where_it_was():
    curve = simulate(design(20, 40), "single_shuffle", [400], probes=400)
    assert abs(curve.test[-1] - 0.5) < 0.02
    assert curve.train[-1] < 1e-6


@pytest.mark.parametrize("normalised", [True, False])
def test_consistent_targets_only_shift_the_problem(way, normalised):
    X = design(50, 30)
    y = X @ np.random.default_rng(3).standard_normal(30)
    step = 1.0 if normalised else 1 / (X**2).sum(axis=1).max()
    problems = (Problem(X, v, normalised=normalised) for v in (y, None))
    with_y, without = (simulate(problem, "flip_flop", 60, step) for problem in problems)
    assert (with_y.test == without.test).all()
    assert (with_y.train == without.train).all()


def test_consistent_targets_in_single_precision_are_still_consistent():
    X = design(50, 30).astype(np.float32)
    y = X @ np.ones(30, dtype=np.float32)
    with_y, without = (simulate(Problem(X, v), "iid", 5) for v in (y, None))
    assert (with_y.test == without.test).all()


@pytest.mark.parametrize("kind", ["normalised", "plain", "importance"])
def test_inconsistent_targets_are_measured_from_where_the_mean_update_vanishes(kind):
    X = design(40, 10)
    y = np.random.default_rng(3).standard_normal(40)
    size = (X**2).sum(axis=1)
    weights = {"normalised": 1 / size, "plain": np.ones(40), "importance": np.ones(40)}[kind]
    w = np.linalg.solve(X.T @ (weights[:, None] * X), X.T @ (weights * y))
    step, drawn = 0.5 / size.max() if kind == "plain" else 0.5, size / size.sum()
    drawn = drawn if kind == "importance" else None
    problem = Problem(X, y, normalised=kind != "plain", probabilities=drawn)
    curve = simulate(problem, "iid", 2, step, probes=3, rng=6)
    child = np.random.default_rng(6).spawn(1)[0]
    visits = stream("iid", 40, child, drawn).epochs(0, 2)
    start = child.standard_normal((10, 3))
    start = w[:, None] + start / np.linalg.norm(start, axis=0)
    W = by_hand(problem, X, visits, start, [step] * 2)
    assert abs(curve.test[-1] / ((W - w[:, None]) ** 2).sum(axis=0).mean() - 1) < 1e-10
    assert curve.test[0] == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize("consistent", [True, False])
def test_with_a_ridge_the_error_is_measured_from_where_the_mean_update_vanishes(way, consistent):
    X, rng = data.normalize_rows(design(40, 10)), np.random.default_rng(3)
    y = X @ np.ones(10) if consistent else rng.standard_normal(40)
    problem = Problem(X, y, batch=6, ridge=0.1)
    U, t = X / np.sqrt(10), y / np.sqrt(10)
    w = np.linalg.solve(U.T @ U / 40 + 0.1 * np.eye(10), U.T @ t / 40)
    curve = simulate(problem, "iid", [1, 60], 0.02, probes=2, runs=2, rng=6)
    losses = []
    for child in np.random.default_rng(6).spawn(2):
        visits, start = stream("iid", 40, child).epochs(0, 60), child.standard_normal((10, 2))
        start = w[:, None] + start / np.linalg.norm(start, axis=0)
        W = by_hand(problem, X, visits, start, [0.02] * 60)
        losses.append(((W - w[:, None]) ** 2).sum(axis=0).mean())
    assert curve.test[-1] == pytest.approx(np.mean(losses), rel=1e-9)
    assert curve.test[-1] < 0.3 * curve.test[0] == pytest.approx(0.3, abs=1e-14)


def test_inconsistent_targets_end_at_a_floor_that_falls_with_the_step():
    X = np.random.default_rng(0).standard_normal((60, 10))
    y = X @ np.ones(10) + np.random.default_rng(1).standard_normal(60)
    floors = [
        simulate(Problem(X, y), "iid", 400, step=s, probes=4).test[200:].mean() for s in (0.4, 0.1, 0.025)
    ]
    assert floors[0] > 3 * floors[1] > 9 * floors[2] > 0


def test_only_the_chosen_epochs_are_recorded_and_they_are_the_same_as_if_all_were(way):
    X, tolerance = design(30, 20), 0 if way is Blocked else 1e-13
    whole = simulate(X, "random_reshuffle", 9, rng=2)
    some = simulate(X, "random_reshuffle", [7, 3, 3], rng=2)
    assert some.epochs.tolist() == [0, 3, 7]
    assert np.allclose(some.test, whole.test[[0, 3, 7]], rtol=tolerance, atol=0)
    assert np.allclose(some.train, whole.train[[0, 3, 7]], rtol=tolerance, atol=0)


def test_a_long_walk_in_pieces_is_the_walk_in_one_piece():
    X = design(3, 400)  # short enough an epoch for pieces of many, long enough a walk for several pieces
    assert 2**20 // 3 < 350_000
    once = simulate(X[:, :4], "iid", [350_000], probes=1, step=1e-5, rng=1)
    twice = simulate(X[:, :4], "iid", [100_000, 350_000], probes=1, step=1e-5, rng=1)
    assert once.test[-1] == pytest.approx(twice.test[-1], rel=1e-9)
    assert 0.01 < once.test[-1] < 1


def test_errors_that_vanish_become_zero_without_a_warning(way):
    for dtype in (np.float64, np.float32):
        X = np.eye(4, dtype=dtype)
        curve = simulate(X, "single_shuffle", 2000, step=0.5)
        assert curve.test[-1] == 0
        assert curve.train[-1] == 0
        assert curve.test[50] == pytest.approx(0.25**50, rel=1e-5)


def test_a_start_that_vanishes_alone_becomes_zero_too(way):
    """Of two orthogonal rows one forgets by half an epoch, the other by half a per cent."""
    problem = Problem(np.diag([1.0, 0.1]), normalised=False)
    W = final(problem, "single_shuffle", 1000, np.eye(2), 0.5)
    assert W[0, 0] == 0
    assert W[1, 1] == pytest.approx(0.995**1000, rel=1e-10)


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
        simulate(Problem(X, normalised=normalised), "flip_flop", 2, step=1e-4)
    assert (before == X).all()


def test_the_layout_of_the_data_does_not_matter():
    X = design(30, 20)
    for normalised in (True, False):
        for order in ("iid", "flip_flop"):
            problems = (Problem(rows, normalised=normalised) for rows in (X, np.asfortranarray(X)))
            one, other = (simulate(problem, order, 3, step=1e-4) for problem in problems)
            assert (one.test == other.test).all()


def test_rows_of_extreme_length_have_the_same_directions():
    X = design(30, 20)
    ordinary = simulate(X, "iid", 3).test
    assert np.allclose(simulate(X * 1e-170, "iid", 3).test, ordinary, rtol=1e-12)
    assert np.allclose(simulate(X * 1e170, "iid", 3).test, ordinary, rtol=1e-12)


@pytest.mark.parametrize("cores", [1, 2])
def test_what_goes_wrong_in_one_run_ends_them_all_at_once(monkeypatch, cores, way):
    """A run of 10⁹ epochs is told to stop when the run beside it, or before it, fails."""
    monkeypatch.setattr(threads, "cores", lambda: cores)
    advanced, turns = way.advance, itertools.count()

    def advance(engine, *piece):
        if next(turns) == 5:
            raise InterruptedError("enough")
        advanced(engine, *piece)

    monkeypatch.setattr(way, "advance", advance)
    with pytest.raises(InterruptedError, match="enough"):  # and not after hours, when the runs are done
        simulate(np.eye(3), "iid", [10**9], runs=5)


@pytest.mark.parametrize(("m", "d"), [(1, 1), (1, 5), (5, 1)])
def test_the_smallest_problems_are_problems_too(way, m, d):
    X, y = design(m, d), np.arange(1.0, m + 1)
    start = np.ones((d, 2))
    for order in ORDERS:
        problem = Problem(X, y)
        W = final(problem, order, 3, start, 0.5, rng=1)
        visits = stream(order, m, 1).epochs(0, 3)
        assert_equal_to_twelve_digits(W, by_hand(problem, X, visits, start, [0.5] * 3))


# Same seed, same digits


@pytest.mark.parametrize("order", ORDERS)
def test_the_same_seed_gives_the_same_digits_whatever_the_number_of_cores(monkeypatch, way, order):
    X = design(100, 70)
    curves = []
    for cores in (1, 2, 7):
        monkeypatch.setattr(threads, "cores", lambda cores=cores: cores)
        curves.append(simulate(X, order, 4, runs=5, rng=3))
    for curve in curves[1:]:
        for name in ("test", "train", "test_se", "train_se"):
            assert (getattr(curve, name) == getattr(curves[0], name)).all()
    assert (simulate(X, order, 4, runs=5, rng=4).test[1:] != curves[0].test[1:]).any()


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
        (
            {"step": [1.0] * 9},
            "step must be a number, or one for each of the 10 epochs, none of them negative",
        ),
        ({"step": [-1.0] * 10}, "none of them negative"),
        ({"step": [np.nan] * 10}, "step must be finite"),
        ({"order": "shuffle"}, "'iid', 'random_reshuffle', 'single_shuffle', 'flip_flop', not 'shuffle'"),
        ({"epochs": 2.5}, "epochs must be a non-negative integer or an array of them, not 2.5"),
        ({"epochs": [3, -1]}, "epochs must be"),
        ({"probes": 0}, "probes must be an integer of at least 1, not 0"),
        ({"runs": 0}, "runs must be an integer of at least 1, not 0"),
        ({"starts": "some"}, "starts must be one of 'random', 'orthonormal', 'all', not 'some'"),
        ({"starts": "all", "probes": 2}, 'columns for starts="all"; leave it out, not 2'),
        ({"starts": "orthonormal", "probes": 3}, "at most 2 to be orthonormal in 2 dimensions, not 3"),
        ({"rng": None}, "rng must be"),
        ({"rng": -1}, "rng must be"),
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


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"batch": 0}, "batch must be an integer of at least 1, not 0"),
        ({"mode": "mean"}, "mode must be one of 'average', 'projection'"),
        ({"ridge": -1.0}, "ridge must be a finite number, at least 0, not -1.0"),
        ({"ridge": np.nan}, "ridge must be"),
        ({"y": np.ones(4)}, "y must have one entry for each of the 3 rows of X, not 4"),
        ({"y": np.array([1.0, np.nan, 1.0])}, "y must be finite"),
        ({"y": np.ones((3, 2))}, "y must have one output to be simulated from random starts"),
        ({"y": np.ones((3, 0))}, "y must have"),
        ({"probabilities": [0.5, 0.5]}, "one entry for each of the 3 rows"),
        ({"normalised": False}, r"below 2 / max ‖x‖²\) must be .* between 0 and 0.4, not 1"),
    ],
)
def test_a_bad_problem_is_refused_in_one_sentence(rule, message):
    with pytest.raises(ValueError, match=message) as caught:
        simulate(Problem(np.eye(3)[:, :2] + 1, **rule), "iid", 10)
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


def test_a_start_has_a_column_for_each_output():
    problem = Problem(np.eye(3), np.ones((3, 2)))
    with pytest.raises(ValueError, match="start must have a column for each of the 2 outputs, not 3"):
        next(iterates(problem, "iid", 1, np.ones((3, 3))))


@pytest.mark.parametrize("start", [np.ones(4), np.ones((3, 0)), np.ones((1, 3, 1)), 1.0, [np.inf, 1, 1]])
def test_a_start_that_does_not_fit_is_refused(start):
    with pytest.raises(ValueError, match="start must"):
        next(iterates(np.eye(3), "iid", 1, start))


def test_a_zero_row_is_no_update_in_plain_sgd():
    X = np.array([[0.0, 0.0], [1.0, 0.0]])
    w = final(Problem(X, normalised=False), "single_shuffle", 1, np.ones(2), step=0.5)
    assert w.tolist() == [0.5, 1.0]
    still = final(Problem(np.zeros((2, 2)), normalised=False), "iid", 1, np.ones(2), step=0.5)
    assert still.tolist() == [1.0, 1.0]


def test_blocks_keep_small_inverses_only():
    problem = Problem(np.random.default_rng(0).standard_normal((512, 300)), normalised=False)
    engine = Blocked(problem, stream("flip_flop", 512, 0))
    engine.advance(np.ones((300, 2)), 0, 2, 1e-3)
    blocks_kept = engine._kept[False]
    assert all(np.shares_memory(block.rows, engine.rows) for block in blocks_kept)
    assert sum(block.solve.__self__.size for block in blocks_kept) == 512 * blocks.KEPT
    engine.advance(np.ones((300, 2)), 2, 1, 1e-3)
    assert engine._kept[False] is blocks_kept  # from epoch to epoch
    engine.advance(np.ones((300, 2)), 2, 1, 2e-3)
    assert engine._kept[False] is not blocks_kept  # at one step
