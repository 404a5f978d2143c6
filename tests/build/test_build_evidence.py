"""The record of what checks measured: whole, or brought up to date for a few ids."""

import json

import evidence
import pytest


@pytest.fixture
def record(tmp_path, monkeypatch):
    """A record with one old measurement of C2, one of C3, and one of a claim that the ledger does not have."""
    old = {name: dict.fromkeys(("measured", "claimed", "tolerance"), "old") for name in ("X1", "C3", "C2")}
    path = tmp_path / "evidence.json"
    path.write_text(json.dumps(old))
    monkeypatch.setattr(evidence, "OUTPUT", path)
    return path


def test_a_run_of_one_check_leaves_the_others_and_drops_what_no_ledger_has(record, capsys):
    evidence.main(["C2", "-j", "1"])
    written = json.loads(record.read_text())
    assert list(written) == ["C2", "C3"]  # in the order of the ledgers
    assert written["C3"]["measured"] == "old"
    assert written["C2"]["measured"] != "old"
    assert "evidence of 2 checks; 1 ran" in capsys.readouterr().out


def test_an_unknown_id_and_a_check_that_contradicts_the_ledger_write_nothing(record, monkeypatch):
    before = record.read_text()
    with pytest.raises(SystemExit, match="no entry Z9"):
        evidence.main(["Z9"])
    wrong = evidence.claims.Outcome(evidence.claims.load()["C2"], None, "It breaks.")
    monkeypatch.setattr(evidence.claims, "run", lambda entries, jobs: [wrong])
    with pytest.raises(SystemExit, match=r"Nothing was written.* C2\. python -m edgelaw_ledger C2 says"):
        evidence.main(["C2"])
    assert record.read_text() == before
