"""``edgelaw sweep``: the simulator's own numbers, every combination once."""

import json
import re

import numpy as np
import pytest
from running import refused, run

from edgelaw import data, kaczmarz
from edgelaw_app.cli.format import digits


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.random.default_rng(0).normal(size=(30, 24)) + 1)
    return path


def test_the_curves_are_those_of_the_simulator(file):
    words = ["--step", "0.5", "--step", "1", "--order", "iid", "--order", "flip-flop", "--seeds", "2"]
    status, out, err = run("sweep", file, "--epochs", "4", "--seed", "3", "--json", *words)
    assert (status, err) == (0, "")
    machine = json.loads(out)
    assert machine["schema"] == "edgelaw.sweep/1"
    asked = [(one["order"], one["step"], one["seed"]) for one in machine["runs"]]
    assert asked == [
        (order, step, seed) for order in ("iid", "flip_flop") for step in (0.5, 1) for seed in (3, 4)
    ]
    X = data.preprocess(np.load(file), None, None, 3).X
    for one in machine["runs"]:
        curve = kaczmarz.simulate(X, one["order"], 4, one["step"], probes=16, rng=one["seed"])
        assert one["test"] == pytest.approx(curve.test, rel=1e-9)
        assert one["train"] == pytest.approx(curve.train, rel=1e-9)


def test_the_table_has_means_and_errors_over_seeds_in_the_columns_of_their_names(file, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    status, out, err = run("sweep", file, "--epochs", "3", "--order", "iid", "--seeds", "4")
    assert (status, err) == (0, "")
    machine = json.loads(run("sweep", file, "--epochs", "3", "--order", "iid", "--seeds", "4", "--json")[1])
    names, cells = (
        re.split(r" {2,}", line.strip()) for line in out.splitlines() if re.match("order|iid", line)
    )
    assert names == ["order", "step", "test, epoch 1", "test, epoch 3", "train, epoch 3"]
    for name, cell in zip(names[2:], cells[2:], strict=True):
        loss, _, epoch = name.replace(",", "").split()
        values = np.array([one[loss][int(epoch)] for one in machine["runs"]])
        assert cell == f"{digits(values.mean())} ± {digits(values.std(ddof=1) / 2, 1)}"
    assert "±" not in run("sweep", file, "--epochs", "3", "--seeds", "1")[1]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--step", "best"], "strictly between 0 and 2"),
        (["--seeds", "0"], "positive"),
        (["--order", "x"], "iid"),
    ],
)
def test_nonsense_is_refused(file, words, sentence):
    assert sentence in refused("sweep", file, *words)
