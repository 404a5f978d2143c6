"""Cautions of a forecast: what they say was measured."""

import re
from pathlib import Path

import numpy as np

from edgelaw_app import labels
from edgelaw_app.labels import cautions

MEASURED = Path(__file__).parents[2] / "benchmarks" / "LABELS.md"


def _runs_over_theory(loss):
    """By how many per cent runs differ from theory, with fewer rows than dimensions; the table has theory over runs."""
    rows = re.findall(rf"^\| \w+ \| (\d+) × (\d+) \| \d+ \| {loss} \|(.*)\|$", MEASURED.read_text(), re.M)
    differences = [re.findall(r", ([-+][\d.]+) \(", cells) for m, d, cells in rows if int(m) < int(d)]
    return np.array([100 / (1 + float(one) / 100) - 100 for cells in differences for one in cells])


def test_fewer_rows_than_dimensions_are_said_to_be_as_far_off_as_was_measured():
    """Not less, and not more than a per cent more; held-out losses differ, too, and to both sides."""
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(50, 60)), rng.normal(size=60)
    made = labels.forecast(X, X @ w, epochs=30, orders=["iid"], step=1.0, held_out=None)
    text = next(one.text for one in made.cautions if one.code == "few_rows")
    above, off = (int(number) for number in re.findall(r"up to (\d+) % above", text))
    assert (above, off) == (cautions.ABOVE, cautions.OFF)
    train, held_out = _runs_over_theory("training"), _runs_over_theory("held-out")
    assert train.max() <= above <= train.max() + 1
    assert train.max() > -train.min()
    assert np.abs(held_out).max() <= off <= np.abs(held_out).max() + 1
