"""Proof that the ledger can fail: a stated number moved by 2 % must turn its claim red.

Every claim that holds and has a number in its check (a float among the keyword defaults) is tried, each number both
ways, one at a time. Seeds and sizes are integers and stay.
"""

import pytest

import edgelaw_ledger as claims

LEDGER = [claim for claim in claims.load().values() if claim.holds and claim.stated()]


def mutants(claim):
    """The same check with one number moved: (name of the number, what to pass)."""
    for name, value in claim.stated().items():
        for factor in (0.98, 1.02):
            # A stated zero cannot be moved by a factor; 2 % of one is moved instead.
            yield name, {name: factor * value if value else factor - 1}


def survivors(claim):
    """Which moved numbers the check does not notice; refusing to compute with them counts as noticing."""
    found = []
    for name, stated in mutants(claim):
        try:
            verdict = claims.check(claim, **stated).verdict
        except ArithmeticError as refusal:
            verdict = f"refused: {refusal}"
        if verdict == "holds":
            found.append((name, stated[name]))
    return found


def test_at_least_thirty_claims_that_hold_have_a_number_to_move():
    assert len(LEDGER) >= 30


@pytest.mark.parametrize("claim", LEDGER, ids=lambda claim: claim.id)
def test_a_stated_number_that_is_two_per_cent_off_is_noticed(claim):
    assert survivors(claim) == []


def test_a_check_that_ignores_its_number_is_caught(small, pretended):
    assert survivors(small["A1"]) == []
    pretended.a1 = lambda *, stated=1.0, other=0.5: claims.number(1.0, stated, 1e-3)
    assert survivors(small["A1"]) == [("other", 0.49), ("other", 0.51)]
    pretended.a1.__kwdefaults__["stated"] = 0.0
    assert next(stated for _, stated in mutants(small["A1"])) == {"stated": pytest.approx(-0.02)}
