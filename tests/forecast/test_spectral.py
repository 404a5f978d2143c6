"""Rows without labels: designs of equal norm, runs beside the simulator and beside theory, parts of the rows."""

import numpy as np
import pytest

from edgelaw import data, exact, kaczmarz
from edgelaw_app import files
from edgelaw_app.files.designs import STANDARDIZED
from edgelaw_app.forecast import predict, spectral
from edgelaw_app.forecast.exact_curves import exact_curve
from edgelaw_app.forecast.runs import Losses
from edgelaw_app.forecast.spectral import Spectral, corrected, equal_norm_design
from edgelaw_app.learning_rate import learning_rate

LOSSES = ("test", "train")


def of_rows(X, batch=1):
    return Spectral(files.design(X, center=False), batch)


def ran(problem, order, step, times, runs=32, seed=1):
    times = np.asarray(times, dtype=float)
    sample = problem.run(
        order, np.full(int(np.ceil(times[-1])), step), times, runs, np.random.default_rng(seed)
    )
    assert sample.losses.shape == (runs, 2, len(times))
    return sample.mean(), sample.errors() * sample.mean()


# designs -----------------------------------------------------------------------------------------------------


def with_a_mean(m, d, seed=0):
    """Rows with a mean far from zero, as embeddings have."""
    return data.gaussian(m, d, rng=seed) + 3.0


@pytest.mark.parametrize("center", [True, False])
def test_an_array_is_prepared_as_the_command_prepares_a_file(center):
    X = with_a_mean(40, 24)
    design = equal_norm_design(X, center, False)
    file = files.design(X, center=center)
    assert design.steps == file.steps
    assert np.array_equal(design.matrix(), file.matrix())


def test_rows_of_any_length_are_scaled():
    X = data.normalize_rows(data.gaussian(30, 24, rng=0))
    uneven = equal_norm_design(X * np.logspace(-300, 90, 30)[:, None], False, False)
    assert uneven.steps[-1] == "Scaled every row to norm sqrt(24)."
    assert np.allclose(uneven.matrix(), X, rtol=1e-12)


def test_a_design_is_taken_as_it_is_unless_its_norms_differ():
    X = data.gaussian(40, 24, rng=3)
    made = files.design(X, rng=0)
    assert equal_norm_design(made, True, False) is made
    uneven = files.design(X, center=False, normalize=False)
    with pytest.raises(ValueError, match="make it with normalize=True"):
        equal_norm_design(uneven, True, False)
    for center, standardize in ((False, False), (True, True)):
        with pytest.raises(ValueError, match="already a design; give center and standardize to the call"):
            equal_norm_design(made, center, standardize)


def test_a_design_gives_the_forecast_of_its_array():
    X = with_a_mean(40, 40, seed=3)
    array, design = predict(X, 3, ["iid"]), predict(files.design(X), 3, ["iid"])
    assert array.to_dict() == design.to_dict()


@pytest.mark.parametrize("center", [True, False])
def test_standardised_columns_have_one_spread_before_rows_are_scaled_and_constant_ones_are_out_of_sight(
    center,
):
    X = with_a_mean(60, 24) * np.geomspace(1, 1e6, 24)
    X[:, 5] = 0.1
    design = equal_norm_design(X, center, True)
    assert STANDARDIZED in design.steps
    Z = (X - X.mean(axis=0) * center) / X.std(axis=0)
    Z[:, 5] = 0
    assert np.allclose(design.matrix(), data.normalize_rows(Z), atol=1e-9)


def test_masked_rows_are_refused():
    X = np.ma.masked_greater(data.gaussian(40, 24, rng=0), 2)
    with pytest.raises(ValueError, match="X has 16 masked entries: fill them"):
        predict(X, 2)


# runs --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batch", [1, 7])
@pytest.mark.parametrize("shape", [(60, 24), (50, 40), (24, 60)], ids=["tall", "many starts", "few rows"])
@pytest.mark.parametrize("order", ["iid", "random_reshuffle", "single_shuffle", "flip_flop"])
def test_runs_have_the_losses_of_the_simulator_in_full_dimension(order, shape, batch):
    """Fewer rows than dimensions are run in their span, many directions from 32 starts: within four errors of both."""
    X = data.normalize_rows(data.gaussian(*shape, rng=2) * np.geomspace(0.6, 1.5, shape[1]))
    mean, error = ran(of_rows(X, batch), order, 0.7 * batch**0.5, np.arange(4))
    problem = kaczmarz.Problem(X, batch=batch)
    curve = kaczmarz.simulate(problem, order, 3, 0.7 * batch**0.5, runs=32, rng=3, starts="all")
    for k, loss in enumerate(LOSSES):
        own = np.hypot(error[k], getattr(curve, loss + "_se"))
        assert (own[1:] < 0.15 * mean[k, 1:]).all()
        assert (np.abs(mean[k] - getattr(curve, loss)) <= 4 * own + 1e-12).all()


def test_the_training_loss_of_runs_from_some_starts_is_not_biased_by_one_long_direction():
    """One of 128 directions has nearly all of the training loss: 200 runs know it to 2 %, the simulator to 1 %."""
    X = data.normalize_rows(np.random.default_rng(0).standard_normal((80, 128)) * np.r_[30, np.ones(127)])
    mean, error = ran(of_rows(X), "random_reshuffle", 0.3, [0, 1, 2], runs=200)
    curve = kaczmarz.simulate(X, "random_reshuffle", 2, 0.3, runs=32, rng=2, starts="all")
    own = np.hypot(error[1], curve.train_se)[1:]
    assert (own < 0.02 * curve.train[1:]).all()
    assert (np.abs(mean[1] - curve.train)[1:] < 3 * own).all()


def test_fractions_of_the_first_epoch_are_those_of_the_theory():
    """Sixteen runs from all starts of 900 × 30 rows, with and without replacement: within four errors and 3 %."""
    X = data.normalize_rows(data.gaussian(900, 30, rng=0))
    problem, times = of_rows(X), np.array([0, 0.02, 0.1, 0.2, 1])
    for order in ("iid", "random_reshuffle"):
        mean, error = ran(problem, order, 0.8, times, runs=16)
        truth = exact_curve(order, problem.eigenvalues, times, 0.8, 30.0)
        for k, loss in enumerate(LOSSES):
            predicted = getattr(truth, loss)[:4]
            assert (np.abs(mean[k, :4] - predicted) <= 4 * error[k, :4] + 0.03 * predicted).all()


def test_errors_of_theory_are_those_measured_and_grow_below_a_thousandth():
    errors = spectral._errors(np.array([[1.0, 0.5, 1e-3, 1e-6]]), [0.01])
    assert errors[0].tolist() == pytest.approx([0.01, 0.01, 0.01, 0.02])


def test_errors_of_theory_hold_how_far_one_run_is_from_its_curve():
    """Broad rows, m = d/2, late: of two losses below a hundredth both are known worse than on average over orders."""
    X = data.normalize_rows(data.gaussian(60, 120, rng=0) / np.sqrt(np.arange(1, 121)))
    problem, times = of_rows(X), np.array([0.0, 4.0, 32.0])
    made = problem.theory("single_shuffle", np.ones(1), times)
    curve = exact_curve("single_shuffle", problem.eigenvalues, times, 1.0, 0.5)
    known = spectral._errors(made.values, spectral.ACCURACY)
    run = np.array([curve.finite_size_test, curve.finite_size_train]) / made.values
    assert made.errors == pytest.approx(np.hypot(known, run))
    assert made.errors[:, 0] == pytest.approx(spectral.ACCURACY)
    assert made.errors[1, 2] > 0.2 > 3 * known[1, 2]
    few = of_rows(X, 4).theory("random_reshuffle", np.ones(1), times)  # not known of batches
    assert few.errors == pytest.approx(spectral._errors(few.values, spectral.ACCURACY))


def test_a_margin_from_theory_has_the_errors_of_both_runs():
    X = data.normalize_rows(data.gaussian(120, 120, rng=0) / np.sqrt(np.arange(1, 121)))
    made = predict(X, 20, ["random_reshuffle", "iid"], lr=learning_rate(1.0, 120), center=False)
    assert {one.how for one in made.orders.values()} == {"theory"}
    (least, error), (most, other) = sorted(
        one.at(made.advice.time, made.advice.loss) for one in made.orders.values()
    )
    assert made.advice.margin_error == pytest.approx(most / least * np.hypot(error, other))
    assert min(error, other) > 0.01


# parts -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("operations", [1e6, 1e7, 3e8])
def test_a_part_has_the_shape_of_the_whole_and_costs_what_may_be_spent(operations):
    problem = of_rows(data.gaussian(400, 200, rng=0), batch=20)
    part = problem.part(operations, 5, np.random.default_rng(0))
    rows, dims = part.shape
    assert rows == 2 * dims
    assert part.batch == max(1, round(20 * dims / 200))
    assert part.cost(np.array([0.0, 5.0])) <= operations or dims == spectral.SMALLEST_PART
    assert (part.shape == problem.shape) == (operations == 3e8)


def test_a_pilot_corrects_theory_by_what_it_measures_over_its_own_and_adds_what_that_is_good_for():
    def losses(values, error):
        values = np.array([values, values])
        return Losses(np.array([0.0, 1.0]), values, np.full_like(values, error))

    made = corrected(losses([1.0, 0.8], 0.0), losses([1.0, 0.3], 0.04), losses([1.0, 0.6], 0.0))
    assert made.values[:, 1] == pytest.approx([0.4, 0.4])
    assert made.errors[:, 1] == pytest.approx(np.hypot(0.04, spectral.PILOT))
    assert made.errors[:, 0].tolist() == [0.04, 0.04]


def test_a_tiny_budget_is_spent_on_a_pilot_that_meets_the_theory_of_all_rows(mistrusted, embeddings):
    X = embeddings("cifar10", 256, 256)
    made = predict(X, 3, ["single_shuffle"], operations=2e8, center=False)
    one = made.best
    assert one.how == "pilot"
    assert "of 256 rows in " in one.why
    assert made.operations <= 2e8
    truth = exact_curve("single_shuffle", made.eigenvalues, one.epochs, one.step, 1.0)
    for loss, values in zip(one.losses, (truth.test, truth.train), strict=True):
        assert one.errors[loss][1:].max() < 0.15
        assert (np.abs(one.losses[loss] / values - 1) < 3 * one.errors[loss] + 0.02).all()


def test_the_limit_is_that_of_the_order():
    problem = of_rows(data.gaussian(60, 40, rng=0), batch=6)
    for order in ("iid", "single_shuffle"):
        expected = exact.stability(order, problem.eigenvalues, 1.5, batch=6)
        assert problem.limit(order) == problem.highest(order) == pytest.approx(expected)
