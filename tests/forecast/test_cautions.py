"""Every caution is given where it applies, says by how much, and is not given where it does not."""

import re
from pathlib import Path

import numpy as np
import pytest

from edgelaw import data, exact
from edgelaw_app.forecast import cautions, predict, probe
from edgelaw_app.forecast.labelled import Labelled
from edgelaw_app.forecast.preparation import prepare

MEASURED = Path(__file__).parents[2] / "benchmarks" / "LABELS.md"


def codes(made):
    return [one.code for one in made.cautions]


def text_of(made, code):
    return next(one.text for one in made.cautions if one.code == code)


def labelled(m, d, noise=1.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, d))
    return X, X @ rng.standard_normal(d) + noise * rng.standard_normal(m)


def test_rows_of_the_kind_assumed_get_no_caution():
    assert codes(predict(data.gaussian(96, 64, rng=0), 4, ["iid", "single_shuffle"])) == []
    assert codes(probe(*labelled(600, 40), epochs=3)) == []


def test_few_rows_and_repeated_ones_are_said():
    X = data.gaussian(30, 24, rng=0)
    made = predict(np.vstack([X, X[:3]]), 2, ["iid"], operations=1e8)
    assert text_of(made, "few_rows").startswith("33 rows are too few")
    assert text_of(made, "duplicates").startswith("3 rows repeat an earlier one")


def test_a_plateau_is_announced_with_its_height_and_the_training_loss_decides():
    made = predict(data.gaussian(40, 80, rng=0), 5, ["iid", "single_shuffle"], target=0.3)
    text = text_of(made, "plateau")
    assert "41 of 80 directions are in no row: 0.51 of the parameter error stays" in text
    assert "so the target 0.3 is never reached" in text
    assert made.advice.loss == "training loss"
    assert made.reached["single_shuffle"] is not None


def test_scale_says_what_it_costs_and_standardised_columns_have_that_loss():
    X, y = labelled(400, 24, 0.3)
    wide = X * np.geomspace(1, 1000, 24)
    made, remedy = (probe(wide, y, 5, ["iid"], standardize=one) for one in (False, True))
    found = re.search(
        r"by a factor of (\d+), .* after 5 epochs would be about (\S+) instead", text_of(made, "scale")
    )
    spreads = wide.std(axis=0)
    assert float(found[1]) == pytest.approx(spreads.max() / spreads.min(), rel=0.1)
    promised = float(found[2])
    assert promised == pytest.approx(remedy.best.losses["held-out loss"][-1], rel=0.1)
    assert promised < 0.5 * made.best.losses["held-out loss"][-1]
    assert codes(made)[0] == "scale"
    assert "scale" not in codes(remedy)
    assert "scale" not in codes(probe(X * np.geomspace(1, 10, 24), y, 5, ["iid"]))


def test_imbalanced_classes_say_when_only_the_majority_is_predicted():
    rng = np.random.default_rng(0)
    X, rare = rng.standard_normal((600, 20)), np.arange(600) % 50 == 0
    noise = probe(X, rare.astype(int), epochs=3)
    assert "98 % of the held-out rows are of class '0': the probe predicts it only" in text_of(
        noise, "imbalanced"
    )
    seen = probe(X + 4 * rare[:, None], rare.astype(int), epochs=3)
    assert "always answering it is 98.3 % accurate, the probe 100.0 %" in text_of(seen, "imbalanced")
    unknown = probe(X, rare.astype(int), epochs=3, operations=1e4)
    assert "always answering it is 98.3 % accurate; train on" in text_of(unknown, "imbalanced")
    assert "imbalanced" not in codes(probe(X, np.arange(600) % 3, epochs=2))


def test_labels_that_features_do_not_tell_are_said_to_be_so():
    X, _ = labelled(500, 20)
    made = probe(X, np.random.default_rng(9).standard_normal(500), epochs=3, orders=["iid"])
    assert made.advice.sentences[0].startswith("Train no probe on these features as they are")
    assert "solve directly" in text_of(made, "no_gain")
    assert made.advice.lr > 1e-6 * made.largest_lr["iid"]  # not the smallest there is
    assert "no_gain" not in codes(probe(*labelled(500, 20), epochs=3, orders=["iid"]))


def test_a_rate_beside_the_limit_and_few_held_out_rows_are_said():
    X, y = labelled(300, 24, 0.0)
    made = probe(X, y, epochs=3, orders=["iid"])
    limit = float(re.search(r"overshoots from lr = (\S+) on", text_of(made, "long_rows"))[1])
    assert 0.45 * limit < made.advice.lr <= 0.72 * limit  # nine tenths of four fifths
    assert text_of(made, "few_held_out").startswith("Only 60 rows are held out")


def test_unequal_norms_are_said_where_no_run_could_look():
    X, y = labelled(400, 40)
    X *= np.random.default_rng(1).lognormal(0, 0.6, (400, 1))
    assert "unequal_norms" in codes(probe(X, y, epochs=2, operations=1e4))
    assert "unequal_norms" not in codes(probe(X, y, epochs=2, operations=1e9))


def _on_the_first_component(share, rng):
    """Rows of embeddings, and targets of which this share is along their largest eigenvector, the rest elsewhere."""
    X = data.preprocess(data.cifar10().features, rows=512, dims=128, rng=0).X
    X -= X.mean(axis=0)
    U = np.linalg.svd(X, full_matrices=False)[0]
    rest = U[:, 1:] @ rng.standard_normal(U.shape[1] - 1)
    return X, np.sqrt(share) * U[:, 0] + np.sqrt(1 - share) * rest / np.linalg.norm(rest)


def test_labels_on_one_direction_are_said_and_runs_are_below_theory_by_no_more_than_that():
    rng = np.random.default_rng(0)
    (X, alone), (_, most) = (_on_the_first_component(share, rng) for share in (1.0, 0.9))
    text = text_of(probe(X, alone, epochs=2, operations=1e4, held_out=None), "one_direction")
    assert f"about {cautions.BELOW} % below" in text
    assert "one_direction" not in codes(probe(X, most, epochs=2, operations=1e4, held_out=None))
    for targets, low, high in ((alone, -cautions.BELOW, -5), (most, 0, 0)):
        problem = Labelled(prepare(X, targets, None, ("center", "intercept"), rng))
        runs = problem.run("iid", np.full(1, 0.1), np.array([0.0, 1.0]), 256, rng).losses[:, 0, 1]
        off = 100 * (runs / exact.probe_curve("iid", problem.rows, [1], 0.1).train[-1] - 1)
        error = off.std(ddof=1) / 16
        assert error < 2
        assert low - 4 * error < off.mean() < high + 4 * error


def test_an_order_that_cannot_be_run_is_left_out_and_said():
    made = probe(*labelled(300, 24), epochs=2, orders=["iid", "flip_flop"], operations=1e4)
    assert list(made.orders) == ["iid"]
    assert text_of(made, "left_out").startswith("Flip flop is left out")
    with pytest.raises(ValueError, match="no theory of flip_flop here"):
        probe(*labelled(300, 24), epochs=2, orders=["flip_flop"], operations=1e4)


def _runs_over_theory(loss):
    """By how many per cent runs differ from theory, with fewer rows than dimensions; the table has theory over runs."""
    rows = re.findall(rf"^\| \w+ \| (\d+) × (\d+) \| \d+ \| {loss} \|(.*)\|$", MEASURED.read_text(), re.M)
    differences = [re.findall(r", ([-+][\d.]+) \(", cells) for m, d, cells in rows if int(m) < int(d)]
    return np.array([100 / (1 + float(one) / 100) - 100 for cells in differences for one in cells])


def test_fewer_rows_than_dimensions_are_said_to_be_as_far_off_as_was_measured():
    """Not less, and not more than a per cent more; held-out losses differ, too, and to both sides."""
    X, y = labelled(50, 60, 0.0)
    made = probe(X, y, epochs=30, orders=["iid"], held_out=None, operations=1e4)
    above, off = (int(one) for one in re.findall(r"up to (\d+) %", text_of(made, "few_rows")))
    assert (above, off) == (cautions.ABOVE, cautions.OFF)
    train, held_out = _runs_over_theory("training"), _runs_over_theory("held-out")
    assert train.max() <= above <= train.max() + 1
    assert train.max() > -train.min()
    assert np.abs(held_out).max() <= off <= np.abs(held_out).max() + 1
