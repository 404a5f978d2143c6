"""Forecasts of rows with labels: what to do, in the units that a reader types, and how far it was checked."""

import json

import numpy as np
import pytest

from edgelaw_app.forecast import answering, probe
from edgelaw_app.forecast.diagnostic import Compared, judged
from edgelaw_app.forecast.preparation import prepare
from edgelaw_app.forecast.results import FLOOR

HELD = "held-out loss"
FAST = {"orders": ["iid"], "epochs": 4}


@pytest.fixture(scope="module")
def fast(classes):
    return probe(*classes, **FAST)


@pytest.mark.parametrize("factor", [1e-2, 1e2, 1e5])
def test_features_of_another_scale_change_the_learning_rate_and_nothing_else(classes, fast, factor):
    X, y = classes
    other = probe(factor * X, y, **FAST)
    assert other.advice.lr == pytest.approx(fast.advice.lr / factor**2, rel=0.01)  # three digits
    assert np.allclose(other.best.losses[HELD], fast.best.losses[HELD], rtol=0.005)


@pytest.mark.parametrize(("features", "labels"), [(1e-69, 1e69), (1e69, 1e-69), (1.0, 1e-9), (1e-69, 1e-69)])
def test_every_scale_that_is_accepted_gives_the_same_ranking(numbers, features, labels):
    """Labels of 1e-9 have losses of 1e-18, which are not nothing."""
    X, y = numbers
    first, other = probe(X, y, epochs=3), probe(features * X, labels * y, epochs=3)
    assert other.advice.lr * features**2 == pytest.approx(first.advice.lr, rel=0.01)
    assert (other.advice.order, other.advice.verdict) == (first.advice.order, first.advice.verdict)
    assert other.advice.margin == pytest.approx(first.advice.margin, abs=0.01)
    assert "less than" not in other.advice.sentences[1]
    assert "<" not in repr(other)


def test_the_best_learning_rate_is_better_than_its_neighbours(classes, fast):
    for factor in (0.6, 1.6):
        other = probe(*classes, **FAST, lr=factor * fast.advice.lr)
        assert other.asked["iid"].losses[HELD][-1] > fast.best.losses[HELD][-1]
        assert other.advice.lr == fast.advice.lr


def test_a_wrong_learning_rate_costs_what_it_is_said_to_cost(classes, fast):
    smaller = probe(*classes, **FAST, lr=fast.advice.lr / 10)
    assert fast.labels.costs["lr / 10"] == pytest.approx(smaller.asked["iid"].losses[HELD][-1], rel=1e-6)
    assert fast.labels.costs["10 lr"] == np.inf or fast.labels.costs["10 lr"] > fast.best.losses[HELD][-1]


def test_a_learning_rate_counts_outputs(classes, fast):
    scale = prepare(*classes, 0.2, ("center",), np.random.default_rng(0)).scale
    assert fast.best.step == pytest.approx(fast.advice.lr * 2 * scale / 3, rel=0.02)  # another split


def test_recommended_rates_keep_their_distance_per_row_and_in_the_mean(numbers):
    """Rows of norms that differ by twelve: no single update may overshoot."""
    X, y = numbers
    X = np.where(np.arange(300) % 60 == 0, 12.0, 1.0)[:, None] * (X - 5)
    for batch in (1, 4):
        made = probe(X, y[:, 0], 3, held_out=None, batch=batch, operations=1e9)
        longest = ((X - X.mean(axis=0)) ** 2).sum(axis=1).max()
        for order, one in made.orders.items():
            assert 2 * one.lr * longest <= answering.SAFE * 2 * batch * (1 + 1e-9)
            assert one.lr <= answering.SAFE * made.largest_lr[order] * (1 + 1e-9)


def test_the_epoch_and_the_loss_of_a_sentence_belong_together(probed):
    value, error = probed.best.at(probed.advice.epochs, HELD)
    count = f"{probed.advice.epochs} epoch{'s' if probed.advice.epochs > 1 else ''}"
    assert f"batch 1, {count}." in probed.advice.sentences[0]
    assert probed.advice.sentences[1].startswith(
        f"Expect a {HELD} of {value:.3g} ± {100 * error:.0f} % after {count}, "
    )
    assert value <= 1.01 * probed.best.losses[HELD].min()
    share, spread = (100 * one for one in probed.best.accuracy)
    accuracy = f"and {share:.1f} ± {spread:.1f} % of held-out rows classified correctly"
    then = "" if probed.advice.epochs == 4 else " after 4 epochs"
    assert probed.advice.sentences[1].endswith(f"{accuracy}{then}.")


def test_chance_is_answering_with_the_frequencies_and_its_share_is_said(probed, classes):
    assert probed.start == probed.labels.chance == pytest.approx(2 / 3, rel=0.02)
    value = probed.best.at(probed.advice.epochs, HELD)[0]
    assert f"{100 * value / probed.start:.3g} % of that of zero weights" in probed.advice.sentences[1]
    assert probed.labels.classes == ("0", "1", "2")
    assert probed.labels.largest_class == pytest.approx(1 / 3)


def test_accuracy_is_that_of_runs_with_its_scatter(classes, fast):
    """Beside 32 other runs at the same rate: their mean within four standard errors, their scatter within 60 %."""
    from edgelaw_app.forecast.labelled import Labelled

    seed = int(np.random.default_rng(0).integers(2**31))
    prepared = prepare(*classes, 0.2, ("center", "intercept"), np.random.default_rng(seed))
    problem = Labelled(prepared)
    steps = np.full(4, fast.best.step)
    runs = problem.run("iid", steps, np.arange(5.0), 32, np.random.default_rng(77)).accuracies
    share, spread = fast.best.accuracy
    assert abs(np.mean(runs) - share) < 4 * np.std(runs, ddof=1) * np.sqrt(1 / 32 + 1 / 64)
    assert 0.4 * spread < np.std(runs, ddof=1) < 1.6 * spread


@pytest.mark.parametrize("schedule", ["cosine", "linear"])
def test_a_schedule_says_what_it_gains_on_the_best_constant_rate(numbers, schedule):
    X, y = numbers
    plain = probe(X, y, 6, ["iid"])
    made = probe(X, y, 6, ["iid"], schedule=schedule)
    gain = 1 - made.best.losses[HELD][-1] / plain.best.losses[HELD][-1]
    assert made.labels.gain == pytest.approx(gain, abs=0.01)
    assert plain.labels.gain is None
    assert probe(X, y, 2, ["flip_flop"], schedule="cosine", operations=1e9).labels.gain is None


def test_orders_without_theory_are_run_and_say_so(classes):
    made = probe(*classes, epochs=2, orders=["iid", "flip_flop"], operations=1e9)
    assert {order: one.how for order, one in made.orders.items()} == {
        "iid": "theory",
        "flip_flop": "simulated",
    }
    decayed = probe(*classes, epochs=2, orders=["iid", "random_reshuffle"], weight_decay=0.5, operations=1e9)
    assert decayed.orders["random_reshuffle"].why.startswith("Means over ")
    assert decayed.orders["iid"].how == "theory"


def test_targets_without_noise_are_run_where_theory_is_rounding():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 24))
    made = probe(X, X @ rng.standard_normal(24), 20, ["random_reshuffle", "iid"], operations=2e9)
    assert made.orders["random_reshuffle"].how == "simulated"
    assert made.best.losses[HELD][-1] < FLOOR * made.start
    assert "less than" in made.advice.sentences[1]
    assert "e-" not in repr(made).replace("1e-12", "").replace("e-11", "").replace("e-10", "")


def test_without_held_out_rows_the_training_loss_decides(classes):
    made = probe(*classes, **FAST, held_out=None)
    assert list(made.best.losses) == ["training loss"]
    assert made.advice.loss == "training loss"
    assert made.best.accuracy is None


def verdict_of(gap, error):
    predicted = np.array([[[1.0, 0.5]]])
    measured = predicted * [1, 1 + gap]
    compared = Compared(measured, predicted * [0.0, error], predicted, [0.05], 3.0, ["iid"], [HELD], [0, 1])
    return judged(compared, "64 times")


@pytest.mark.parametrize(
    ("gap", "error", "verdict"),
    [
        (0.0, 0.01, "agrees"),
        (0.04, 0.01, "agrees"),
        (0.52, 0.02, "differs"),
        (-0.52, 0.1, "differs"),
        (0.09, 0.01, "differs"),
        (0.2, 0.06, "undecided"),
        (0.0, 0.3, "undecided"),
    ],
)
def test_the_verdict_follows_from_the_errors_of_the_runs(gap, error, verdict):
    found = verdict_of(gap, error)
    assert found.verdict == verdict
    assert verdict == "agrees" or f"{100 * gap:+.1f} ± {100 * error:.1f} %" in found.text


def test_runs_that_diverge_differ():
    assert verdict_of(np.inf, 0.1).verdict == "differs"


def test_orders_that_theory_gets_wrong_are_run():
    """Long rows at a large rate: shuffled orders' theory assumes equal norms."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 60)) * rng.lognormal(0, 0.6, (300, 1))
    made = probe(X, X @ rng.standard_normal(60), 6, ["random_reshuffle"], operations=3e9, center=False)
    assert made.check.verdict == "differs"
    assert made.best.how == "simulated"
    assert made.cautions[0].code == "differs" or "differs" in [one.code for one in made.cautions]


def test_it_is_json_and_html_and_ten_lines(probed):
    content = json.loads(json.dumps(probed.to_dict(), allow_nan=False))
    assert content["advice"]["lr"] == probed.advice.lr
    assert set(content["orders"]) == {"random_reshuffle", "iid", "single_shuffle"}
    assert "<svg" in probed._repr_html_()
    assert len(repr(probed).splitlines()) <= 10


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lr": 10.0}, r"must be below 0\.\d+, .*diverges, not 10"),
        ({"schedule": "steep"}, "constant.*cosine.*linear"),
        ({"schedule": [1e-3] * 4}, "constant.*cosine.*linear"),
        ({"lr": -1}, "strictly between 0 and"),
        ({"batch": 289}, "288"),
        ({"epochs": 0}, "at least 1"),
        ({"orders": ["sorted"]}, "must be one of"),
        ({"orders": []}, "at least one order"),
        ({"weight_decay": -1}, "greater than 0"),
    ],
)
def test_bad_questions_are_refused_in_one_sentence(classes, options, message):
    with pytest.raises(ValueError, match=message) as refusal:
        probe(*classes, **{**FAST, **options})
    assert str(refusal.value).endswith(".")
    assert "\n" not in str(refusal.value)


def test_an_option_that_is_not_known_is_refused_with_those_that_are(classes):
    with pytest.raises(
        TypeError, match=r"no option 'target': the options are lr, batch, schedule, .*, classes"
    ):
        probe(*classes, target=0.1)


def test_late_losses_of_few_rows_are_run_because_theory_is_wrong_there():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 60))
    made = probe(X, X @ rng.standard_normal(60), 30, ["iid"], held_out=None)
    assert made.best.how == "simulated"
    assert "few_rows" not in [one.code for one in made.cautions]


@pytest.mark.parametrize("lr", [1e-200, 1e-12])
def test_a_rate_that_moves_nothing_is_refused_with_the_least_that_does(classes, lr):
    with pytest.raises(ValueError, match=r"lr must be at least .*, because less moves nothing") as refused:
        probe(*classes, **FAST, lr=lr)
    least = float(str(refused.value).split("at least ")[1].split(",")[0])
    assert probe(*classes, **FAST, lr=1.1 * least).asked


def test_a_rate_that_diverges_is_refused_with_the_least_that_does(classes):
    with pytest.raises(ValueError, match=r"lr must be below .*, where .* diverges, not 9"):
        probe(*classes, **FAST, lr=9.0)
