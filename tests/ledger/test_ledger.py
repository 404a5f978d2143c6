"""The ledger: complete, in order, every rule of its file enforced, every check where it should be."""

import inspect
import re
from pathlib import Path

import pytest
from entries import ENTRY, toml

import edgelaw_ledger as claims

ROOT = Path(__file__).resolve().parents[2]
LEDGER = claims.load()


def test_there_are_197_claims_and_every_one_has_an_entry():
    assert len(claims.IDS) == len(set(claims.IDS)) == 197
    assert tuple(LEDGER) == claims.IDS


def test_a_ledger_that_leaves_a_claim_out_is_refused(monkeypatch):
    monkeypatch.setattr(claims.ledger, "IDS", (*claims.IDS, "H99"))
    with pytest.raises(claims.LedgerError, match="The end stands where H99 should"):
        claims.load()


def test_the_package_offers_its_names_and_no_others():
    assert set(claims.__all__) <= set(dir(claims))
    assert all(getattr(claims, name) is not None for name in claims.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nowhere'"):
        claims.nowhere  # noqa: B018


def test_ids_run_through_the_groups_without_the_three_that_do_not_exist():
    assert claims.IDS[0] == "A1"
    assert not {"F19", "F20", "F21"} & set(claims.IDS)
    assert {name[0] for name in claims.IDS} == set(claims.GROUPS)


def test_few_claims_are_settled_by_reading_alone():
    read = [claim.id for claim in LEDGER.values() if not claim.check]
    assert len(read) <= 8
    assert all(LEDGER[name].known == "read" for name in read)


def test_every_verdict_that_occurs_is_counted_and_none_is_lost():
    tally = claims.counts(LEDGER.values())
    assert sum(tally.values()) == len(LEDGER)
    assert tally["holds"] > 0
    assert tally["fails"] > 0


@pytest.mark.parametrize("claim", LEDGER.values(), ids=LEDGER)
def test_the_entry_is_whole(claim):
    chapters = set(re.findall(r"file: chapters/(\S+)", (ROOT / "_toc.yml").read_text()))
    assert claim.chapter in chapters
    assert not re.search(r"\bline \d", claim.where)  # a reader has the paper, not our copy of its source
    if not claim.holds and claim.verdict != "open":
        assert claim.consequence in (1, 2, 3)


# one formula that the paper states twice, or in two forms
SAME = {"C6": "C13", "C9": "D6", "D4": "D6", "D12": "D9", "E6": "E5", "E18": "E8", "F13": "F5", "F15": "A7"}


@pytest.mark.parametrize("claim", [c for c in LEDGER.values() if c.check], ids=lambda c: c.id)
def test_the_check_can_be_called_as_it_is_and_says_what_it_compares(claim):
    function = claim.function()
    assert len((function.__doc__ or "").split()) >= 5
    for parameter in inspect.signature(function).parameters.values():
        assert parameter.kind is parameter.KEYWORD_ONLY
        assert parameter.default is not parameter.empty


def test_a_check_is_named_after_its_claim_and_shared_only_by_claims_that_hold_alike():
    named = {claim.check: name for name, claim in LEDGER.items() if claim.check.endswith(f":{name.lower()}")}
    shared = {name: named[claim.check] for name, claim in LEDGER.items() if claim.check in named}
    assert [name for name, claim in LEDGER.items() if claim.check and name not in shared] == []
    assert {name: first for name, first in shared.items() if name != first} == SAME
    assert {LEDGER[name].verdict for name in (*SAME, *SAME.values())} == {"holds"}


# ------------------------------------------------------------------------------------- the rules are shown to bite


def written(tmp_path, *entries):
    path = tmp_path / "claims.toml"
    path.write_text(toml(*entries))
    return path


def test_a_good_entry_is_read(tmp_path):
    ledger = claims.load(written(tmp_path, {"id": "A1"} | ENTRY, {"id": "B1"} | ENTRY))
    assert list(ledger) == ["A1", "B1"]
    assert ledger["B1"].group == "B"


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"colour": "red"}, "no key 'colour'"),
        ({"verdict": "true"}, "verdict must be one of"),
        ({"verdict": "fails"}, "needs a correction"),
        ({"verdict": "open", "correction": " "}, "needs a correction"),
        ({"known": "guessed"}, "known must be one of"),
        ({"known": "read"}, "known by reading has no check"),
        ({"check": ""}, "must be a reason"),
        ({"check": "os:system"}, "must look like"),
        ({"statement": " "}, "statement is empty"),
        ({"statement": "$x"}, "without its partner"),
        ({"quote": 3}, "quote must be text"),
        ({"consequence": 1}, "has no consequence"),
        ({"verdict": "fails", "correction": "x", "consequence": 4}, "must be 1, 2 or 3"),
    ],
)
def test_an_entry_that_breaks_a_rule_is_refused_by_name(tmp_path, changes, complaint):
    with pytest.raises(claims.LedgerError, match=complaint) as refusal:
        claims.load(written(tmp_path, {"id": "A1"} | ENTRY | changes))
    assert str(refusal.value).startswith("A1: ")


@pytest.mark.parametrize(
    "key", ["where", "quote", "statement", "verdict", "correction", "known", "check", "chapter"]
)
def test_a_missing_key_is_refused(tmp_path, key):
    entry = {"id": "A1"} | ENTRY
    del entry[key]
    with pytest.raises(claims.LedgerError, match=f"'{key}' is missing"):
        claims.load(written(tmp_path, entry))


def test_strangers_twins_and_disorder_are_refused(tmp_path):
    first, second = {"id": "A1"} | ENTRY, {"id": "A2"} | ENTRY
    for entries, complaint in (
        (
            [{"id": "F19"} | ENTRY],
            "F19 stands where the end should: which claims there are.* is said by _NUMBERS",
        ),
        ([first, first], "A1 stands twice"),
        ([second, first], "order"),
    ):
        with pytest.raises(claims.LedgerError, match=complaint):
            claims.load(written(tmp_path, *entries))


def test_a_file_that_is_missing_or_no_ledger_is_refused(tmp_path):
    with pytest.raises(claims.LedgerError, match="cannot be read"):
        claims.load(tmp_path / "nowhere.toml")
    path = tmp_path / "claims.toml"
    for text, complaint in (
        ("[[claim", "cannot be read"),
        ("x = 1", "no block 'x' in claims.toml, only claim"),
        ("claim = 1", "no block 'claim'"),
    ):
        path.write_text(text)
        with pytest.raises(claims.LedgerError, match=complaint):
            claims.load(path)


def test_a_check_that_does_not_exist_is_named(small):
    for check in ("edgelaw_ledger.checks.nowhere:a1", "edgelaw_ledger.checks.pretended:b7"):
        claim = claims.Claim(**ENTRY | {"id": "A1", "check": check})
        with pytest.raises(claims.LedgerError, match="cannot be found"):
            claim.function()


def test_stated_numbers_are_the_floats_among_the_defaults(small):
    assert small["A1"].stated() == {"stated": 1.0}
    assert small["A5"].stated() == {}
    assert claims.check(small["A5"]) is None


def test_additions_are_checked_like_claims_and_name_chapters_that_exist(tmp_path):
    additions = claims.additions()
    assert len({entry.id for entry in additions}) == len(additions) >= 6
    for entry in additions:
        assert (ROOT / "chapters" / f"{entry.chapter}.ipynb").is_file()
    path = tmp_path / "additions.toml"
    path.write_text((ROOT / "data" / "additions.toml").read_text().replace('"derived"', '"hoped"'))
    with pytest.raises(claims.LedgerError, match="known must be one of"):
        claims.additions(path)
