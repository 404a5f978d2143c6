"""Linear probes: optima are optima, held-out rows stay out."""

import numpy as np
import pytest

from edgelaw_app.training import probe


def test_rows_have_norm_sqrt_d_and_a_square_system_has_a_solution(two):
    rng = np.random.default_rng(0)
    square = probe.split(rng.standard_normal((60, 40)), np.arange(60) % 4, 20, 20, 30, rng=2)
    for rows in (square.X, square.held, two[0].X):
        assert np.allclose(np.linalg.norm(rows, axis=1), np.sqrt(rows.shape[1]))
    assert np.linalg.matrix_rank(square.X) == 19  # centred
    best = probe.optimum(square, "squares")
    assert np.abs(square.X @ best.T - square.targets).max() < 1e-8
    assert np.allclose(probe.measure(square, best, "squares", best)[:2], 0)
    taught = square.taught(rng=1)
    again = taught.X @ probe.optimum(taught, "squares").T
    assert np.abs(again - taught.targets).max() < 1e-8


def test_held_out_rows_do_not_change_the_training_rows():
    rng = np.random.default_rng(0)
    features, labels = rng.standard_normal((60, 40)), np.arange(60) % 4
    made = probe.split(features, labels, 20, 20, 30, rng=2)
    chosen = np.random.default_rng(2).permutation(60)
    features[chosen[20:]] += 5
    again = probe.split(features, labels, 20, 20, 30, rng=2)
    assert (made.X == again.X).all()
    assert not np.allclose(made.held, again.held)


@pytest.mark.parametrize("loss", probe.LOSSES)
def test_the_optimum_is_where_no_direction_descends(two, loss):
    best = probe.optimum(two[0], loss, ridge=0.05)
    rng, zero = np.random.default_rng(1), np.zeros_like(best)
    base = probe.measure(two[0], best, loss, best, 0.05)
    assert np.allclose(base[:2], 0)
    assert np.allclose(probe.measure(two[0], zero, loss, best, 0.05)[:2], 1)
    for _ in range(10):
        nudge = 1e-3 * rng.standard_normal(best.shape)
        up, down = (probe.measure(two[0], best + s * nudge, loss, best, 0.05)[1] for s in (1, -1))
        assert up > 0 < down
        assert abs(up - down) < 0.05 * up  # flat to first order


def test_perfect_scores_are_counted_as_such(two):
    labels = two[0].held_labels
    W = np.linalg.lstsq(two[0].held[:16], np.eye(3)[labels[:16]], rcond=None)[0].T
    part = probe.Probe(two[0].X, two[0].labels, two[0].targets, two[0].held[:16], labels[:16])
    assert probe.measure(part, W, "squares", W + 1)[2] == 1.0


def test_bad_input_is_refused_in_one_sentence(two):
    features, labels = np.ones((10, 4)), np.zeros(10, dtype=int)
    for arguments in (
        (features, labels[:9], 4, 3, 2, 0),
        (features, labels, 9, 3, 2, 0),
        (features, labels, 4, 5, 2, 0),
        (features, labels - 1, 4, 3, 2, 0),
    ):
        with pytest.raises(ValueError, match=r"must .*\.$"):
            probe.split(*arguments)
    with pytest.raises(ValueError, match="ridge must be"):
        probe.optimum(two[0], "cross_entropy")
    with pytest.raises(ValueError, match="may be too small"):
        probe.optimum(two[0], "cross_entropy", ridge=1e-14)
    with pytest.raises(ValueError, match="loss must be"):
        next(probe.train_one(two[0], None, "hinge"))
