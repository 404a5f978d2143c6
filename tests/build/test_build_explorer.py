"""The script of the explorer's tables on a small job: it stops when told to, continues, and says what it measured."""

import card
import explorer
import numpy as np
import pytest

from edgelaw import exact
from edgelaw.theory import iid


@pytest.fixture
def small(monkeypatch, tmp_path):
    """One aspect, one spectrum, the quickest theory in the place of all four."""
    monkeypatch.setattr(explorer, "RHO", (1.0,))
    monkeypatch.setattr(explorer, "SPECTRA", ("beta 0.5", "cifar10"))
    monkeypatch.setattr(explorer, "STEPS", dict.fromkeys(explorer.STEPS, np.array([0.3, 0.7, 1.2])))
    monkeypatch.setattr(explorer, "HELD_OUT", 4)
    monkeypatch.setattr(explorer, "BY_ORDER", dict.fromkeys(explorer.BY_ORDER, iid))
    quickest = {name: getattr(exact, name) for name in ("curve", "effective_step")}
    for name, function in quickest.items():
        monkeypatch.setattr(exact, name, lambda _, *args, call=function, **kept: call("iid", *args, **kept))
    return tmp_path / "explorer.npz"


def test_a_run_that_is_stopped_is_continued_and_its_error_is_that_of_curves_off_the_table(small):
    with pytest.raises(SystemExit, match="start it again"):
        explorer.main([str(small), "--seconds", "0"])
    assert not small.exists()
    explorer.main([str(small)])
    with np.load(small) as arrays:
        tables = explorer.tables(arrays)
    assert not small.with_suffix(".parts").exists()
    facts, _ = card.split(small.with_suffix(".md").read_text(encoding="utf-8"))
    assert facts["bytes"] == small.stat().st_size
    n = np.arange(1, 51)
    worst = 0.0
    for k, step in tables["held out spectra"]:
        values, weights = explorer.sample(explorer.SPECTRA[int(k)])
        curve = exact.curve("iid", values, n, step, weights=weights)
        shown = explorer.read("spectra", tables["table spectra"], int(k), step, n)[0]
        truth = np.array([curve.test[1:], curve.train[1:]])
        worst = max(worst, np.abs(shown / truth - 1).max())
    assert float(tables["error spectra"]) == pytest.approx(worst, rel=1e-3)
    assert worst < 0.005


def test_a_table_with_a_wrong_entry_has_a_large_error(small):
    n = np.arange(1, 51)
    places = [(0, 0.7)]
    full = [explorer.spectra(places[0], n)]
    table = np.array(
        [
            [
                explorer.encoded(explorer.spectra((0, step), explorer.EPOCHS["spectra"]))
                for step in explorer.STEPS["spectra"]
            ]
        ]
    )
    assert explorer.largest_error("spectra", table, places, full) < 0.005
    table[0, 1, 2, 1, 9] += 40  # two per cent
    assert explorer.largest_error("spectra", table, places, full) > 0.005
