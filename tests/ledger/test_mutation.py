"""Proof that the ledger can fail: what counts as a moved number, and that a check which ignores one is caught.

The checks themselves are run with moved numbers in ``test_verdicts``, in the same process as their verdicts.
"""

import pytest
from mutants import ELSEWHERE, mutants, survivors

import edgelaw_ledger as claims


def test_at_least_thirty_claims_that_hold_have_a_number_to_move():
    assert sum(claim.holds and bool(claim.stated()) for claim in claims.load().values()) >= 30


def test_at_least_ten_sentences_of_the_book_have_a_number_to_move():
    assert sum(bool(sentence.stated()) for sentence in claims.load_sentences().values()) >= 10


def test_numbers_that_would_give_another_verdict_belong_to_claims_that_do_not_hold():
    ledger = claims.load()
    for name, cases in ELSEWHERE.items():
        assert not ledger[name].holds
        for stated, verdict in cases:
            assert set(stated) <= set(ledger[name].stated())
            assert verdict != ledger[name].verdict


@pytest.mark.parametrize(
    ("ways", "moved"),
    [
        ("up", [("first", 2.04), ("zero", 0.02)]),
        ("both", [("first", 1.96), ("first", 2.04), ("zero", -0.02), ("zero", 0.02)]),
    ],
)
def test_each_number_is_moved_one_at_a_time_and_in_ci_both_ways(small, pretended, monkeypatch, ways, moved):
    monkeypatch.setenv("EDGELAW_MUTANTS", ways)
    pretended.a1 = lambda *, first=2.0, zero=0.0, size=3: None
    found = [item for _, stated in mutants(small["A1"]) for item in stated.items()]
    assert [name for name, _ in found] == [name for name, _ in moved]
    assert [value for _, value in found] == pytest.approx([value for _, value in moved])


def test_a_check_that_ignores_its_number_is_caught(small, pretended, monkeypatch):
    monkeypatch.setenv("EDGELAW_MUTANTS", "both")
    assert survivors(small["A1"]) == []
    pretended.a1 = lambda *, stated=1.0, other=0.5: claims.number(1.0, stated, 1e-3)
    assert survivors(small["A1"]) == [("other", 0.49), ("other", 0.51)]


def test_refusing_to_compute_with_a_moved_number_counts_as_noticing(small, pretended):
    pretended.a1 = lambda *, stated=1.0: claims.number(1.0, 1.0 if stated == 1 else float("nan"), 1e-3)
    assert survivors(small["A1"]) == []
