"""The errata: every claim that does not hold stands in one of them, in order of consequence, and the rules bite."""

from pathlib import Path

import pytest
from entries import ENTRY

import edgelaw_ledger as claims
from edgelaw_ledger import errata

ROOT = Path(__file__).resolve().parents[2]
LEDGER = claims.load()
ERRATA = errata.load(LEDGER)
WRONG = ENTRY | {"verdict": "fails", "correction": "It is 2."}


def ledger(**consequences):
    """A ledger of claims that fail, with these consequences."""
    return {
        name: claims.Claim(**WRONG | {"id": name, "consequence": rank}) for name, rank in consequences.items()
    }


def written(tmp_path, *entries):
    path = tmp_path / "errata.toml"
    lines = []
    for entry in entries:
        lines += ["[[erratum]]", *(f"{key} = {value!r}" for key, value in entry.items())]
    path.write_text("\n".join(lines))
    return path


def test_every_claim_that_does_not_hold_stands_in_exactly_one_erratum():
    listed = [name for entry in ERRATA for name in entry.claims]
    assert sorted(listed) == sorted(claim.id for claim in LEDGER.values() if not claim.holds)


def test_two_wrong_theorem_statements_come_first_and_what_is_one_mistake_is_one_entry():
    assert [entry.claims for entry in ERRATA[:2]] == [("D15", "D16", "D17", "D18"), ("E12", "E13")]
    together = {entry.claims for entry in ERRATA}
    assert {("C15", "C16", "C17"), ("B9", "H20", "H21"), ("G12", "G21")} <= together


@pytest.mark.parametrize("entry", ERRATA, ids=lambda entry: entry.claims[0])
def test_the_entry_quotes_whole_formulas_and_says_what_to_change(entry):
    for passage in entry.printed:
        shown = errata.displayed(passage) or errata.sentence(passage)
        assert shown.count("$") % 2 == 0
        assert shown.count("{") == shown.count("}")
        assert not any(macro in shown for macro in (r"\Tr", r"\E\|", r"\ref", r"\emph", r"\cite"))
    assert entry.correction(LEDGER).strip()
    assert (
        not set(entry.claims) & {"G6", "G11", "G12", "G13", "G16", "G20", "G21"}
        or entry.data == "stand-in data"
    )


def test_a_displayed_formula_and_a_sentence_are_told_apart():
    assert errata.displayed(r"\[ \E\Tr(H) \]") == r"\mathbb{E}\operatorname{tr}(H)"
    assert errata.displayed(r"where $\Tr H = d$") is None
    assert (
        errata.sentence(r"``so'' $\E x$, \emph{i.e.}\ Theorem~\ref{thm:x}")
        == r"“so” $\mathbb{E} x$, *i.e.* Theorem (x)"
    )


ONE = {"claims": ["A1"], "printed": ["x is 1"]}


def test_good_errata_are_read_and_claims_of_another_ledger_left_out(tmp_path):
    path = written(
        tmp_path, ONE, {"claims": ["A2", "H9"], "printed": ["y"], "change": "z"}, ONE | {"claims": ["B1"]}
    )
    read = errata.load(ledger(A1=1, A2=3), path)
    assert [entry.claims for entry in read] == [("A1",), ("A2",)]
    assert [entry.correction(ledger(A1=1, A2=3)) for entry in read] == ["It is 2.", "z"]


@pytest.mark.parametrize(
    ("entries", "complaint"),
    [
        ([ONE, ONE, ONE | {"claims": ["A2"]}], "A1 stand in two"),
        ([ONE], "A2 have no erratum"),
        ([ONE, ONE | {"claims": ["A2"]}, ONE | {"claims": ["A3"]}], "A3 are not claims that fail"),
        ([ONE | {"claims": ["A2"]}, ONE], "order of consequence"),
        ([{"claims": ["A1", "A2"], "printed": ["x"]}], "says what to change"),
        ([{"claims": ["A1"], "printed": []}], "has claims, printed"),
        ([ONE | {"colour": "red"}], "has claims, printed"),
    ],
)
def test_errata_that_break_a_rule_are_refused(tmp_path, entries, complaint):
    good = {"A3": claims.Claim(**ENTRY | {"id": "A3"})}
    with pytest.raises(claims.LedgerError, match=complaint):
        errata.load(ledger(A1=1, A2=3) | good, written(tmp_path, *entries))


def test_what_is_known_by_a_proof_names_it(tmp_path):
    proved = {"A1": claims.Claim(**WRONG | {"id": "A1", "consequence": 1, "known": "proved"})}
    with pytest.raises(claims.LedgerError, match="no proof is named"):
        errata.load(proved, written(tmp_path, ONE))
    assert errata.load(proved, written(tmp_path, ONE | {"proof": "by hand"}))[0].proof == "by hand"


def test_the_front_pages_count_distinct_mistakes():
    fail = [entry for entry in ERRATA if any(LEDGER[name].verdict == "fails" for name in entry.claims)]
    change = [entry for entry in fail if min(LEDGER[name].consequence or 3 for name in entry.claims) == 1]
    words = f"{len(fail)} distinct mistakes, of which {len(change)} change a result"
    for page in ("README.md", "intro.md"):
        assert words in (ROOT / page).read_text(encoding="utf-8")
