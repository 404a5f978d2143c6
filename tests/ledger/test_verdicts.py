"""The one run of every check: it confirms the recorded verdict, measures what the book shows, and can fail.

All that a check is asked happens in one test, so that its routes, which are cached, are computed once.
"""

import json
import re
from pathlib import Path

import pytest
from mutants import ELSEWHERE, survivors

import edgelaw_ledger as claims

ROOT = Path(__file__).resolve().parents[2]
RECORDED = (*claims.load().values(), *claims.additions(), *claims.load_sentences().values())
ENTRIES = [entry for entry in RECORDED if entry.function()]
SHOWN = json.loads((ROOT / "data" / "evidence.json").read_text())
NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?", flags=re.I)


def same(shown, fresh):
    """The same words, and numbers within 1 %; what is rounding error in both may be any rounding error."""
    if NUMBER.sub("#", shown) != NUMBER.sub("#", fresh):
        return False
    pairs = zip(NUMBER.findall(shown), NUMBER.findall(fresh), strict=True)
    return all(abs(float(a) - float(b)) <= max(0.01 * abs(float(a)), 1e-9) for a, b in pairs)


@pytest.mark.parametrize("claim", ENTRIES, ids=lambda claim: claim.id)
def test_the_check_confirms_ledger_and_book_and_notices_a_number_that_is_two_per_cent_off(claim):
    outcome = claims.examine(claim)
    assert outcome.error == ""
    assert outcome.evidence.verdict == claim.verdict
    if claim.verdict == "holds":
        assert survivors(claim) == []
    for stated, verdict in ELSEWHERE.get(claim.id, ()):
        assert claims.check(claim, **stated).verdict == verdict
    remedy = f"make evidence ONLY={claim.id} records it"
    assert claim.id in SHOWN, f"the book does not show this evidence yet: {remedy}"
    for what in ("measured", "claimed", "tolerance"):
        fresh = getattr(outcome.evidence, what)
        assert same(SHOWN[claim.id][what], fresh), f"{what} is now {fresh!r}: {remedy}"


def test_the_book_shows_evidence_of_exactly_the_checks_there_are():
    assert set(SHOWN) == {entry.id for entry in ENTRIES}


@pytest.mark.parametrize(
    ("first", "second", "equal"),
    [
        ("ratio 1.414", "ratio 1.415", True),
        ("ratio 1.414", "ratio 1.44", False),
        ("off by 1.2e-14", "off by 8e-15", True),
        ("off by 1.2e-4", "off by 1.3e-4", False),
        ("1 of 2", "1 in 2", False),
        ("1 of 2", "1 of 2 and 3", False),
    ],
)
def test_what_counts_as_the_same_evidence(first, second, equal):
    assert same(first, second) == equal
