"""Many more rows than columns, the usual case: one epoch is many times enough, and the command says so."""

import json
import re

import numpy as np
import pytest
from running import run

from edgelaw import data
from edgelaw_app.forecast.assumption import ASSUMPTION, NOISY_SINGLE_SHUFFLE


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    path = tmp_path_factory.mktemp("many") / "rows.npy"
    np.save(path, data.gaussian(6000, 60, rng=0) * np.linspace(0.5, 1.5, 60))
    return path


@pytest.fixture(scope="module")
def answer(many):
    status, out, err = run("predict", many, "--target", "0.1", "--no-simulate", "--json")
    assert (status, err) == (0, "")
    return json.loads(out)


def test_times_to_a_target_are_fractions_of_an_epoch_with_rows(many, answer, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for forecast in answer["forecasts"].values():
        for loss in ("test", "train"):
            epochs, rows = forecast["epochs_to_target"][loss], forecast["rows_to_target"][loss]
            assert 0 < epochs < 0.1
            assert rows == round(6000 * epochs)
    status, out, _ = run("predict", many, "--target", "0.1", "--no-simulate")
    assert status == 0
    assert re.search(r"0\.0\d+ .*\n.*\(\d+ rows\)", out)
    assert max(map(len, out.splitlines()[3:])) <= 80


def test_nothing_is_ranked_or_printed_below_the_floor(many, answer):
    assert answer["floor"] == 1e-12
    for forecast in answer["forecasts"].values():
        losses = [x for loss in ("test", "train") for x in forecast["curve"][loss] if x is not None]
        assert min(losses) >= 1e-12
        assert 0.1 < forecast["best_step"]["test"] < 1.9
        assert forecast["best_step_time"] < 1
    advice = answer["advice"]
    assert advice["time"] < 1
    assert advice["margin"] < 10
    assert {"random_reshuffle", "single_shuffle", "flip_flop"} == {advice["order"], *advice["tie"]}
    assert "rows)" in advice["reason"]
    _, out, _ = run("predict", many, "--no-simulate")
    assert not re.search(r"e-(1[3-9]|[2-9]\d|\d{3})|e\+\d", out)
    assert "their noise decides" in " ".join(out.split())


def test_what_is_assumed_of_targets_is_said_everywhere(many, answer, tmp_path):
    assert "without noise" in ASSUMPTION
    assert answer["assumption"] == ASSUMPTION
    _, out, _ = run("predict", many, "--no-simulate", "--epochs", "3", "--report", tmp_path / "report.html")
    assert ASSUMPTION in " ".join(out.split())
    assert ASSUMPTION in (tmp_path / "report.html").read_text()
    assert NOISY_SINGLE_SHUFFLE not in out  # another order is recommended
    _, out, _ = run("predict", "--help")
    assert "without noise" in " ".join(out.split())


def test_who_is_told_to_shuffle_once_is_told_what_noise_changes(tmp_path):
    np.save(tmp_path / "square.npy", data.gaussian(64, 64, rng=0))
    _, out, _ = run("predict", tmp_path / "square.npy", "--no-center", "--epochs", "40", "--no-search")
    text = " ".join(out.split())
    assert "Single shuffle at step" in text
    assert NOISY_SINGLE_SHUFFLE in text
