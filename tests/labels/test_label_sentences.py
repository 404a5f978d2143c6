"""The sentences of a forecast: each is true of the numbers beside it, and reads as a sentence."""

import numpy as np
import pytest

from edgelaw_app import labels
from edgelaw_app.labels import sentences

FAST = {"orders": ["iid"], "epochs": 4}


@pytest.mark.parametrize("schedule", ["constant", "cosine", "linear", "1/t", "best", [0.001] * 4])
def test_the_advice_separates_its_parts_by_one_comma(classes, schedule):
    advice = labels.forecast(*classes, **FAST, schedule=schedule).sentences["advice"]
    assert " batch 1, " in advice
    assert ",," not in advice


def test_zero_weights_are_called_best_only_where_they_are(classes):
    """A learning rate of 1e-9 takes the loss down by far less than a per cent, but down."""
    slow = labels.forecast(*classes, **FAST, lr=1e-9)
    assert slow.loss[-1] < slow.loss[0]
    assert "zero weights have the smallest loss" not in slow.sentences["advice"]
    assert "hardly learns" in slow.sentences["advice"]
    wild = labels.forecast(*classes, **FAST, lr=0.9 * slow.largest_lr)
    assert wild.loss[1:].min() > wild.loss[0]
    assert "zero weights have the smallest loss" in wild.sentences["advice"]


def test_a_learning_rate_that_is_judged_to_be_bad_is_not_recommended(classes):
    best = labels.forecast(*classes, **FAST)
    assert best.sentences["advice"].startswith("For your probe use lr = ")
    for schedule in ("constant", "cosine"):
        bad = labels.forecast(*classes, **FAST, lr=best.lr / 10, schedule=schedule)
        assert bad.loss[-1] > 1.1 * best.loss[-1]
        assert bad.sentences["advice"].startswith(f"At lr = {sentences.rounded(bad.lr)}, ")
    good = labels.forecast(*classes, **FAST, lr=1.01 * best.lr)
    assert good.sentences["advice"].startswith("For your probe use lr = ")
    assert "as good as" in good.sentences["judged"]


def test_runs_that_scatter_too_widely_are_not_said_to_agree(classes):
    """Beside the largest stable learning rate four runs have an error that hides any difference."""
    limit = labels.forecast(*classes, **FAST).largest_lr
    seen = set()
    for part in (0.1, 0.75, 0.85, 0.93):
        made = labels.forecast(*classes, **FAST, lr=part * limit, simulate=True)
        gap = np.abs(made.simulated.loss / made.loss - 1).max()
        contradicted = any(caution.code == "disagreement" for caution in made.cautions)
        check = made.sentences["check"]
        seen.add((bool(gap > 0.05), contradicted))
        assert ("agree with the forecast" in check) == (gap <= 0.05)
        assert ("neither confirm nor contradict" in check) == (gap > 0.05 and not contradicted)
        assert contradicted or f"{100 * made.simulated.error:.2g} %" in check
    assert {(False, False), (True, False)} <= seen


def test_losses_that_were_simulated_say_their_standard_error(classes):
    made = labels.forecast(*classes, epochs=4, orders=["flip_flop"])
    assert f"standard error up to {100 * made.orders['flip_flop'].error:.2g} %" in made.sentences["check"]


def test_many_learning_rates_are_listed_as_far_as_they_fit(classes):
    made = labels.forecast(*classes, epochs=40, orders=["iid"], schedule="cosine")
    assert made.sentences["rates"].count(", ") == sentences.LISTED
    assert made.sentences["rates"].endswith("all 40).")
    assert made.sentences["rates"] in made._repr_html_()
