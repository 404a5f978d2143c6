"""Many more rows than columns, the usual case: one epoch is many times enough, and the command says so."""

import html
import json
import re

import numpy as np
import pytest
from running import run

from edgelaw import data
from edgelaw_app.forecast.prediction import ASSUMED


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    path = tmp_path_factory.mktemp("many") / "rows.npy"
    np.save(path, data.gaussian(6000, 60, rng=0) * np.linspace(0.5, 1.5, 60))
    return path


@pytest.fixture(scope="module")
def answer(many):
    status, out, err = run("predict", many, "--target", "0.1", "--json")
    assert (status, err) == (0, "")
    return json.loads(out)


@pytest.fixture(scope="module")
def printed(many):
    """The same for a reader, without a target."""
    status, out, err = run("predict", many)
    assert (status, err) == (0, "")
    return out


def test_times_to_a_target_are_fractions_of_an_epoch_counted_in_rows(many, answer):
    assert set(answer["reached"]) == set(answer["orders"])
    assert all(0 < time < 0.1 for time in answer["reached"].values())
    status, out, _ = run("predict", many, "--target", "0.1")
    assert status == 0
    text = " ".join(out.split())
    for order, time in answer["reached"].items():
        assert f"{order} at {round(6000 * time)} rows" in text
    assert re.search(r"after \d+ rows\. The target 0\.1 is reached by then", text)
    assert max(map(len, out.splitlines()[1:])) <= 80


def test_nothing_is_ranked_or_printed_below_the_floor(answer, printed):
    assert answer["floor"] == 1e-12
    for one in answer["orders"].values():
        assert 0.1 < one["step"] < 1.9
    advice = answer["advice"]
    assert advice["time"] < 1
    assert advice["epochs"] == 1
    assert advice["margin"] < 10
    assert advice["order"] == "random_reshuffle"
    assert {"single_shuffle", "flip_flop"} <= set(advice["tie"])  # until a row comes again they are one order
    assert " rows" in advice["sentences"][1]
    assert not re.search(r"e-(1[3-9]|[2-9]\d|\d{3})|e\+\d", printed)


def test_what_is_assumed_of_targets_is_said_everywhere(many, answer, printed, tmp_path):
    assert "noisy labels" in ASSUMED
    assert answer["assumed"] == ASSUMED
    assert ASSUMED in " ".join(printed.split())
    run("predict", many, "--epochs", "3", "--order", "iid", "--report", tmp_path / "report.html")
    page = html.unescape((tmp_path / "report.html").read_text())
    assert ASSUMED.replace("`", "") in page.replace("<code>", "").replace("</code>", "")
    assert "without noise" in " ".join(run("predict", "--help")[1].split())
