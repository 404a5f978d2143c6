"""Running checks: agreement, contradiction and breakdown, in one process or several."""

import os

import pytest
from entries import die

import edgelaw_ledger as claims
from edgelaw_ledger import runner


def test_agreement_contradiction_breakdown_and_reading_are_told_apart(small):
    seen = []
    outcomes = claims.run(small.values(), done=seen.append)
    assert [outcome.confirmed for outcome in outcomes] == [True, False, False, False, True]
    assert outcomes[1].evidence.verdict == "fails"
    assert outcomes[1].error == ""
    assert outcomes[2].error == "ZeroDivisionError: division by zero"
    assert "must return Evidence, not bool" in outcomes[3].error
    assert outcomes[4].evidence is None
    assert seen == outcomes


def test_a_numerical_warning_is_a_breakdown(small, pretended):
    import numpy as np

    pretended.a1 = lambda: claims.number(1.0 if np.log(np.zeros(1)) else 0.0, 1.0, 1e-3)
    assert claims.examine(small["A1"]).error.startswith("RuntimeWarning")


def test_a_verdict_may_be_contradicted_in_either_direction(small, pretended):
    wrong = claims.Claim(**vars(small["A1"]) | {"verdict": "fails", "correction": "2"})
    assert not claims.examine(wrong).confirmed


def test_processes_give_what_one_process_gives_in_the_order_asked_for():
    ledger = claims.load()
    chosen = [ledger[name] for name in ("D24", "C5", "C2")]
    before = dict(os.environ)
    alone, together = claims.run(chosen), claims.run(chosen, jobs=2)
    assert [outcome.claim.id for outcome in together] == [claim.id for claim in chosen]
    assert [outcome.evidence for outcome in together] == [outcome.evidence for outcome in alone]
    assert dict(os.environ) == before


def test_a_process_that_dies_is_reported_and_not_raised(monkeypatch):
    monkeypatch.setattr(runner, "examine", die)
    outcomes = claims.run(claims.additions()[:2], jobs=2)
    assert not any(outcome.confirmed for outcome in outcomes)
    assert {outcome.error for outcome in outcomes} == {"The process that ran the checks died."}


@pytest.mark.parametrize("jobs", [0, -1, 1.5, True])
def test_a_number_of_processes_that_makes_no_sense_is_refused(small, jobs):
    with pytest.raises(ValueError, match="jobs must be an integer"):
        claims.run(small.values(), jobs=jobs)
