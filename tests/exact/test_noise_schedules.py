"""Schedules: reversal, gradients, interpolation between steps, and the search for the best."""

import dataclasses

import labels_helpers as helpers
import numpy as np
import pytest

from edgelaw import exact
from edgelaw.exact.iid import labels as iid
from edgelaw.exact.labels import LabelledRows, interpolation, schedules
from edgelaw.exact.random_reshuffle import engine
from edgelaw.exact.random_reshuffle import labels as random_reshuffle

FAMILIES = {"iid": iid.families, "random_reshuffle": random_reshuffle.families}


@pytest.fixture(scope="module")
def rows():
    return helpers.rows_of(helpers.labelled("cifar10", 64, 192))


def noiseless(rows):
    """The same rows without residuals, from an isotropic start."""
    flat = np.ones_like(rows.energies)
    return dataclasses.replace(rows, residual=0.0, energies=flat, kicks=0 * flat)


@pytest.mark.parametrize("order", ["iid", "random_reshuffle"])
def test_without_noise_a_schedule_and_its_reverse_leave_the_same_distance(rows, order):
    steps = np.array([1.6, 0.9, 0.4, 0.1])
    forth, back = (exact.probe_curve(order, noiseless(rows), 4, s).distance for s in (steps, steps[::-1]))
    assert forth[-1] == pytest.approx(back[-1], rel=1e-10)
    assert abs(forth[1] / back[1] - 1) > 0.1
    noisy = [exact.probe_curve(order, rows, 4, s).train[-1] for s in (steps, steps[::-1])]
    assert noisy[0] < 0.8 * noisy[1]


@pytest.mark.parametrize("order", ["iid", "random_reshuffle"])
@pytest.mark.parametrize("loss", ["train", "held_out", "distance"])
def test_the_adjoint_gives_the_gradient(rows, order, loss):
    family = FAMILIES[order](rows)[0]
    objective, steps = schedules.Objective(rows, family, loss), np.array([1.2, 0.7, 0.4, 0.05])
    value, slope = objective.gradient(steps)
    assert value == pytest.approx(objective(steps), rel=1e-12)
    for k in range(4):
        h = np.zeros(4)
        h[k] = 1e-4 * steps[k]
        quotient = (objective(steps + h) - objective(steps - h)) / (2 * h[k])
        assert slope[k] == pytest.approx(quotient, rel=1e-5)


@pytest.mark.parametrize(("order", "accuracy"), [("iid", 1e-5), ("random_reshuffle", 3e-3)])
def test_interpolated_epochs_are_those_of_their_step(rows, order, accuracy):
    family = FAMILIES[order](rows)[0]
    for step in (0.004, 0.05, 0.3, 1.0, 1.7):
        truth = exact.probe_curve(order, rows, 6, step).train[-1] - rows.residual
        assert schedules.Objective(rows, family, "train")(np.full(6, step)) - rows.residual == pytest.approx(
            truth, rel=accuracy
        )


def test_a_long_schedule_is_the_composition_of_its_epochs(rows):
    steps = np.linspace(1.2, 0.05, 20)
    truth = exact.probe_curve("random_reshuffle", rows, 10, steps[:10])
    long = exact.probe_curve("random_reshuffle", rows, 20, steps)
    assert np.allclose(long.train[:11], truth.train, rtol=1e-3)
    assert long.error < 0.01
    assert np.abs(long.train[:11] / truth.train - 1).max() < long.error + 1e-6


@pytest.fixture
def operators(monkeypatch):
    """The epochs of random reshuffle of which operators were made."""
    random_reshuffle.families.cache_clear()
    random_reshuffle._made.cache_clear()
    made, make = [], engine.maps

    def counted(frames, epoch, noise=0.0):
        made.append(epoch)
        return make(frames, epoch, noise)

    monkeypatch.setattr(engine, "maps", counted)
    return made


def test_nodes_are_chebyshevs_in_the_root_of_the_step():
    places = interpolation._place(interpolation.nodes(2.0), 2.0)
    count = interpolation.TERMS
    assert np.allclose(places, np.cos(np.pi * (np.arange(count) + 0.5) / count), atol=1e-14)
    ends = interpolation._place(np.array([0.0, 2 * interpolation.LOWEST, 2.0, 7.0]), 2.0)
    assert np.allclose(ends, [-1, -1, 1, 1])


def test_searches_and_long_schedules_share_their_operators(rows, operators):
    fresh = dataclasses.replace(rows)
    tuned = schedules.best_schedule("random_reshuffle", fresh, 30, "held_out", upper=1.8)
    for factor in (0.1, 1.0, min(10.0, 1.9 / tuned.steps.max())):
        exact.probe_curve("random_reshuffle", fresh, 30, factor * np.linspace(1, 0.5, 30) * tuned.steps)
    schedules.best_schedule("random_reshuffle", fresh, 30, "train", "1/t")
    assert len(operators) == interpolation.TERMS == 24


def test_a_curve_does_not_depend_on_what_was_computed_before(rows):
    steps = np.geomspace(0.3, 0.01, 30)
    one, other = (dataclasses.replace(rows) for _ in range(2))
    schedules.best_schedule("random_reshuffle", other, 4, "train", upper=1.1)
    exact.probe_curve("random_reshuffle", other, 30, 5 * steps)
    before, after = (exact.probe_curve("random_reshuffle", which, 30, steps) for which in (one, other))
    assert np.array_equal(before.train, after.train)
    assert before.error == after.error


@pytest.mark.parametrize("peak", [0.003, 0.05, 0.4, 1.5])
def test_shared_epochs_state_an_error_that_is_not_less_than_the_true_one(rows, peak, monkeypatch):
    steps = peak * schedules.profile("cosine", 30)
    shared = random_reshuffle.curve(rows, 30, steps)
    monkeypatch.setattr(interpolation, "TERMS", 240)  # so many steps have operators of their own
    truth = random_reshuffle.curve(rows, 30, steps)
    true = max(
        np.abs(getattr(shared, name) / getattr(truth, name) - 1).max()
        for name in ("train", "held_out", "distance")
    )
    assert true <= shared.error + truth.error
    assert shared.error < 2e-3 + 0.7 * peak * rows.norm_spread


def test_a_schedule_beyond_the_shared_steps_has_epochs_of_its_own(rows):
    """BELOW: they end at 0.98 of the limit, which is 2."""
    assert random_reshuffle.families(rows)[0].high == pytest.approx(1.96)
    steps = np.linspace(1.98, 0.05, 30)
    made = exact.probe_curve("random_reshuffle", rows, 30, steps)
    by_itself = exact.probe_curve("random_reshuffle", rows, 3, steps[:3])
    assert np.array_equal(made.train[:4], by_itself.train)
    assert schedules.best_step("random_reshuffle", rows, 2, "train", upper=1.99).constant_step < 1.96


def test_the_deeper_of_two_valleys_is_found_down_to_a_thousandth_of_the_largest_step():
    """LOWEST: with a tenth as many peaks, or down to a hundredth only, the wide valley at a half is all there is."""

    def valleys(steps):
        wide, narrow = np.log(steps[0] / [0.5, 0.003]) / [1.0, 0.25]
        return -0.5 * np.exp(-(wide**2)) - np.exp(-(narrow**2))

    assert schedules.Search(valleys, 1.0).peak(np.ones(1))[0] == pytest.approx(0.003, rel=1e-3)


@pytest.mark.parametrize("order", ["iid", "random_reshuffle"])
def test_slopes_of_interpolated_epochs_are_derivatives_up_to_the_largest_step(rows, order):
    family = FAMILIES[order](rows)[0]
    for step in (0.01, 0.5, family.high):
        three = family(step * np.array([1 - 2e-4, 1 - 1e-4, 1]))  # the end has no step above
        for name in ("square", "mean", "kernel", "kick"):
            before, middle, here = getattr(three, name)
            quotient = (before - 4 * middle + 3 * here) / (2e-4 * step)
            slope = getattr(family.with_slopes(np.array([step]))[1], name)[0]
            assert np.abs(slope - quotient).max() < 1e-4 * np.abs(slope).max()


@pytest.mark.parametrize("order", ["iid", "random_reshuffle"])
def test_the_best_schedule_is_at_least_as_good_as_every_shape(rows, order):
    tuned = {shape: schedules.best_schedule(order, rows, 6, "train", shape) for shape in schedules.SHAPES}
    best = tuned["best"]
    assert best.loss == min(result.loss for result in tuned.values())
    assert tuned["constant"].gain == 0
    assert all(result.gain > 0 for shape, result in tuned.items() if shape != "constant")
    excess = {shape: result.loss - rows.residual for shape, result in tuned.items()}
    assert excess["best"] < 0.9 * excess["constant"]
    assert best.curve.train[-1] == pytest.approx(best.loss, rel=1e-6)
    slope = schedules.Objective(rows, FAMILIES[order](rows)[0], "train").gradient(best.steps)[1]
    assert np.abs(slope * best.steps).max() < 1e-3 * excess["best"]


def test_the_best_constant_step_beats_its_neighbours(rows):
    tuned = schedules.best_step("random_reshuffle", rows, 5, "held_out")
    step = tuned.constant_step
    losses = [
        exact.probe_curve("random_reshuffle", rows, 5, factor * step).held_out[-1]
        for factor in (0.8, 1.0, 1.25)
    ]
    assert losses[1] == min(losses)
    assert tuned.loss == pytest.approx(losses[1], rel=1e-3)


def test_one_epoch_has_one_step(rows):
    constant, best = (
        schedules.best_schedule("iid", rows, 1, "train", shape) for shape in ("constant", "best")
    )
    assert best.loss == pytest.approx(constant.loss, rel=1e-6)


def test_the_schedule_found_by_theory_pays_in_real_runs():
    X, T, *held = helpers.labelled("cifar10", 96, 384)
    rows = LabelledRows.of(X, T, tuple(held))
    tuned = schedules.best_schedule("random_reshuffle", rows, 5, "train")
    excess = []
    for steps in (np.full(5, tuned.constant_step), tuned.steps):
        losses = helpers.simulated(X, T, steps, "random_reshuffle", 40, np.random.default_rng(1))[:, -1, 0]
        excess.append((losses.mean() - rows.residual, losses.std(ddof=1) / np.sqrt(40)))
    (constant, error), (best, other) = excess
    assert error < 0.03 * constant
    assert other < 0.03 * best
    assert best + 3 * other < constant - 3 * error
    assert best == pytest.approx(tuned.loss - rows.residual, abs=3 * other + 0.06 * best)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("flip_flop", 5), "order must be one of"),
        (("iid", 0), "epochs must be"),
        (("iid", 5, "accuracy"), "loss must be one of"),
        (("iid", 5, "train", "steep"), "shape must be one of"),
        (("iid", 5, "train", "best", 3.0), "upper must be"),
    ],
)
def test_bad_requests_are_refused(rows, arguments, words):
    order, epochs, *rest = arguments
    with pytest.raises(ValueError, match=words):
        schedules.best_schedule(order, rows, epochs, *rest)


def test_a_held_out_loss_needs_held_out_rows():
    plain = LabelledRows.of(np.eye(3), np.ones(3))
    with pytest.raises(ValueError, match="needs rows made with held-out rows"):
        schedules.best_step("iid", plain, 2)
