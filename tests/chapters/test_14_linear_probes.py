"""Chapter 14: its tables of losses, floors and rates, against its sentences and the theory called afresh."""

import functools

import numpy as np
import pytest
from outputs import numbers, prose, table

from edgelaw import data, exact
from edgelaw.exact.labels import LabelledRows
from edgelaw_app.forecast.preparation import prepare

CHAPTER = "14_linear_probes"
THEORY = "iid", "random_reshuffle", "single_shuffle"


@functools.cache
def photographs():
    """The chapter's 1024 rows of equal norm in 256 dimensions, all other photographs held out."""
    images, rng = data.cifar10(), np.random.default_rng(0)
    features = images.features.astype(float) @ rng.standard_normal((2048, 256)) / 16
    here, there = np.split(rng.permutation(len(features)), [1024])
    held = features[there], images.labels[there]
    problem = prepare(features[here], images.labels[here], held, ["center", "intercept", "normalize"], rng)
    return LabelledRows.of(problem.X, problem.T, problem.held)


@pytest.fixture(scope="module")
def deviations():
    """Step, then rms, worst and error of the training and of the held-out loss, by data set."""
    rows = table(CHAPTER, "rms   worst   error    rms")
    images = np.array([row[1:] for row in rows if len(row) == 8])
    assert images.shape == (12, 7)
    texts = [numbers(CHAPTER, rf"Wikipedia (0\.3) {order}" + r" (\S+)" * 6) for order in NAMES]
    return images, np.array(texts)


NAMES = "IID", "random reshuffle", "single shuffle"


@pytest.fixture(scope="module")
def floors():
    """Excess training floors over IID's: the twelve steps, and those of each design and order."""
    steps = numbers(CHAPTER, "over IID's step" + r" (\S+)" * 12)
    names = [
        (name, order) for name in ("CIFAR-10", "Wikipedia", "Gaussian") for order in ("reshuffle", "shuffle")
    ]
    return np.array(steps), {
        name: np.array(numbers(CHAPTER, " ".join(name) + r" (\d\.\d\d)" * 12)) for name in names
    }


def test_the_forecast_is_as_near_to_the_runs_as_the_opening_says(deviations):
    (per_cent,) = numbers(CHAPTER, r"within (\S+) per cent of the runs at every epoch", prose)
    images, _ = deviations
    drawn = images[np.isin(images[:, 0], (0.02, 0.3))]
    assert np.abs(drawn[:, [2, 5]]).max() <= per_cent


def test_runs_leave_theory_by_what_the_text_says(deviations):
    small, step_one, error = (
        *numbers(CHAPTER, r"up to 0.3 every mean is within (\S+) per cent", prose),
        *numbers(
            CHAPTER, r"the largest deviation is (\S+) per cent, with a standard error of (\S+)\.", prose
        ),
    )
    rows = np.concatenate(deviations)
    below = rows[:, 0] < 1
    assert np.abs(rows[below][:, [2, 5]]).max() == small
    above = np.abs(rows[~below][:, [2, 3, 5, 6]]).reshape(-1, 2)
    assert above[above[:, 0].argmax()].tolist() == [step_one, error]
    assert numbers(CHAPTER, r"largest rms: (\S+) %") == [rows[:, [1, 4]].max()]


def test_the_learning_rate_matters_more_than_the_order():
    low, high = numbers(
        CHAPTER, r"predicted orders ends (\d+) to (\d+) per cent above that of the best step", prose
    )
    best = dict((row[0], row) for row in table(CHAPTER, "epochs     best step"))[20]
    above = {
        step: [
            100 * (exact.probe_curve(order, photographs(), [20], step).held_out[-1] / best[3] - 1)
            for order in THEORY
        ]
        for step in (0.3, best[1])
    }
    assert round(min(above[0.3])) == low
    assert round(max(above[0.3])) == high
    assert max(above[best[1]]) < 1
    assert min(above[best[1]]) == pytest.approx(0, abs=0.02)


def test_iids_floor_is_the_one_that_is_proved():
    for step in (0.1, 1.0, 1.9):
        excess = exact.probe_floor("iid", photographs(), step).train / photographs().residual - 1
        assert excess == pytest.approx(step / (2 - step), rel=1e-6)


def test_random_reshuffles_floor_is_below_iids_at_small_steps_and_above_at_large_ones(floors):
    steps, excess = floors
    assert "the change comes between the steps 0.9 and 1.1" in prose(CHAPTER)
    for (_, order), ratio in excess.items():
        if order == "reshuffle":
            assert (ratio[steps < 0.85] < 1).all()
            assert (ratio[steps > 1.05] > 1).all()


def test_single_shuffles_floor_is_above_random_reshuffles_at_every_step(floors):
    steps, excess = floors
    for name in ("CIFAR-10", "Wikipedia", "Gaussian"):
        fresh, single = excess[name, "reshuffle"], excess[name, "shuffle"]
        assert (single > fresh).all()
        crossing = steps[np.argmax(single >= 1)]
        assert 0.5 < crossing <= 1


def test_reshuffling_profits_on_gaussian_rows_as_the_text_says(floors):
    _, excess = floors
    (most, photos) = numbers(
        CHAPTER, r"has less than (\S+) of IID's excess on Gaussian rows and (\S+) on the", prose
    )
    assert excess["Gaussian", "reshuffle"][0] <= most
    assert excess["CIFAR-10", "reshuffle"][0] == photos


def test_the_valley_is_as_flat_as_the_text_says():
    rows = np.array(table(CHAPTER, "epochs     best step"))
    epochs, losses = rows[:, 0], rows[:, 3]
    low, high, first, last = numbers(
        CHAPTER,
        r"stays between (\S+) and (\S+), and the loss at its bottom falls by .*?from (\S+) to (\S+)\. Five",
        prose,
    )
    late = epochs >= 10
    assert rows[late][:, 2].min() == low
    assert rows[late][:, 2].max() == high
    assert losses[late][[0, -1]].tolist() == [first, last]
    assert round(100 * (losses[epochs == 5][0] / last - 1), 1) == 0.5
    assert round(100 * (losses[0] / last - 1)) == 5


def test_a_schedule_and_its_reverse_tie_without_noise_only():
    for noise, equal in ((0, True), (1, False)):
        decay, growth = numbers(CHAPTER, rf"noise {noise}: steps 1, 0.2: (\S+) steps 0.2, 1: (\S+)")
        assert (decay == growth) is equal
        assert decay <= growth


def test_decay_gains_what_the_text_says():
    def ends(case, order):
        return numbers(CHAPTER, f"{case} {order}" + r" (\d\.\d{5})" * 5)

    for order, gain in (("IID", 2), ("random reshuffle", 4)):
        constant, cosine, linear, decaying, best = ends("no noise, distance, 10", order)
        assert constant == decaying < min(cosine, linear)
        assert round(100 * (1 - best / constant)) == gain
    constant, cosine, *_, best = ends("CIFAR-10, train, 20", "random reshuffle")
    assert round(constant / cosine) == 14
    assert round(constant / best) == 17
    constant, *_, best = ends("CIFAR-10, train, 20", "IID")
    assert best / constant == pytest.approx(1 / 3, abs=0.03)
    constant, *_, best = ends("CIFAR-10, held-out, 5", "IID")
    assert round(100 * (1 - best / constant), 1) == 0.7
    constant, *_, best = ends("CIFAR-10, held-out, 20", "random reshuffle")
    assert round(100 * (1 - best / constant), 2) == 0.02


def test_the_named_rate_ends_where_the_summary_says_beside_the_sweep():
    stated = numbers(
        CHAPTER, r"names ends at (\S+), (\S+) and (\S+) times the held-out loss of the best of", prose
    )
    names = "CIFAR-10, 1024 x 256", "CIFAR-10, 256 x 256", "Wikipedia, 1500 x 768"
    for name, ratio in zip(names, stated, strict=True):
        _, _, ours, swept = numbers(CHAPTER, name + r" (\S+) (\S+) (\S+) (\S+) \(")
        assert ours / swept == pytest.approx(ratio, abs=6e-4)


def test_cross_entropy_is_least_at_the_factor_one_of_nine():
    factors = numbers(CHAPTER, r"factor" + r" (\S+)" * 9)
    low, high = numbers(CHAPTER, r"ten times too small or too large costs (\d+) to (\d+) per cent", prose)
    costs, names = [], ("CIFAR-10, 1024 x 256", "CIFAR-10, 256 x 256", "Wikipedia, 1500 x 768")
    for name in names:
        found = numbers(CHAPTER, name + r" (\S+)" * 9 + " error rate" + r" (\S+)" * 9)
        losses, errors = (
            dict(zip(factors, found[:9], strict=True)),
            dict(zip(factors, found[9:], strict=True)),
        )
        assert min(losses, key=losses.get) == 1
        assert errors[1] - min(errors.values()) <= 0.004 + 1e-12
        costs += [100 * (losses[factor] / losses[1] - 1) for factor in (0.1, 10)]
    assert min(costs) == pytest.approx(low, abs=0.6)
    assert max(costs) == pytest.approx(high, abs=0.6)


def test_with_two_classes_the_factor_one_leaves_what_the_text_says():
    said = numbers(
        CHAPTER,
        r"leaves (\d+) per cent too much on cats and dogs and (\d+) per cent on birds and frogs, whose best factors "
        r"are (\d+) and (\d+)",
        prose,
    )
    factors = numbers(CHAPTER, r"factor" + r" (\S+)" * 9)
    for name, excess, best in zip(("cats and dogs", "birds and frogs"), said[:2], said[2:], strict=True):
        losses = dict(zip(factors, numbers(CHAPTER, f"{name}, 375 x 256" + r" (\S+)" * 9), strict=True))
        assert min(losses, key=losses.get) == best
        assert 100 * (losses[1] / losses[best] - 1) == pytest.approx(excess, abs=0.6)


def test_departures_end_where_the_text_says():
    single = numbers(CHAPTER, r"half as many rows as dims 1.5 20 single shuffle \+(\S+) \((\S+)\)")
    said = numbers(
        CHAPTER, r"at step 1.5 is (\d+) per cent above theory, with a standard error of (\d+)", prose
    )
    assert [round(x) for x in single] == said
    for order in ("random reshuffle", "single shuffle"):
        ends = numbers(CHAPTER, rf"unequal norms 1.5 20 {order} \+(\S+) \(\S+\) \+(\S+) \(")
        assert 12 <= min(ends) <= max(ends) < 21
        for step in ("0.3", "1.5"):
            training, error, held, other = numbers(
                CHAPTER, rf"noise on one direction {step} 20 {order} (\S+) \((\S+)\) (\S+) \((\S+)\)"
            )
            assert abs(training) <= error
            assert abs(held) <= other
            assert max(error, other) < 5
        told = r"training loss is (\d+) per cent below theory, with a standard error of (\d+)"
        found = numbers(CHAPTER, rf"labels on one direction 0.1 1 {order} -(\S+) \((\S+)\)")
        assert [round(x) for x in found] == numbers(CHAPTER, told, prose)
        said = numbers(
            CHAPTER, r"right within (\S+) per cent, at twice that step the training loss is (\d+)", prose
        )
        inside = numbers(CHAPTER, rf"one row ten times as long 0.018 1 {order} \+(\S+) \(\S+\) \+(\S+)")
        (beyond,) = numbers(CHAPTER, rf"one row ten times as long 0.044 1 {order} \+(\S+)")
        assert [max(inside), round(beyond)] == said


def test_weight_decay_is_its_own_recursion_and_no_rows():
    theory, runs, error, rows, wrong = numbers(
        CHAPTER,
        r"loss: theory (\S+), 16 runs (\S+) \((\S+)\), weight decay as 256 more rows (\S+), (\S+) per cent",
    )
    assert abs(runs - theory) < 3 * error
    assert 100 * (rows / theory - 1) == pytest.approx(wrong, abs=0.2)
    assert numbers(CHAPTER, r"held-out loss at step 0.3 (\S+) per cent too high", prose) == [wrong]


def test_the_recursion_of_the_exercise_is_the_library_up_to_the_order_of_one_over_m():
    for n in (1, 2, 5):
        mine, library = numbers(CHAPTER, rf"epoch {n}: (\S+), library (\S+)")
        assert library == round(float(exact.probe_curve("iid", photographs(), n, 0.3).train[-1]), 4)
        assert mine == pytest.approx(library, rel=1 / 1024)
