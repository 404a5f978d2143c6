"""Builds that must fail when a page and the ledger disagree. What the pages show is seen in test_built_links.py."""

import re
import sys
from pathlib import Path

import flint
import pytest
import small_books
from flint import arb

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "sphinx"))

import ledger_pages  # noqa: E402
from ledger_pages import Box  # noqa: E402

import edgelaw_ledger as claims  # noqa: E402
from edgelaw_ledger.certificates.entries import Certificate, Paper  # noqa: E402

LEDGER = claims.load()
CONF = """
extensions = ["myst_parser", "ledger_pages"]
myst_enable_extensions = ["dollarmath"]
html_theme = "basic"
exclude_patterns = ["data"]
"""
CHAPTER = """# A chapter

We know {claim}`C2`, but not {claim}`!C17`. By {prf:ref}`thm-small`. It falls. <!-- result small-1 -->

```{claims} 04_free_probability
```
"""
RESULT = """
```{prf:observation} Result (derived): Small
:label: thm-small

Status: **derived**, checked numerically.
```
"""
OWN = """
[[sentence]]
id = "small-1"
status = "fitted"
check = "edgelaw_ledger.checks.beyond:exact_sums"

[[box]]
label = "thm-small"
entry = "small-1"
"""
WRONG = {  # what a chapter says instead, by what the build has to complain of
    "but it holds": ("{claim}`C2`", "{claim}`!C2`"),
    "as if it held": ("{claim}`!C17`", "{claim}`C17`"),
    "no claim 'C99'": ("{claim}`C2`", "{claim}`C99`"),
    "no claim has the chapter": ("{claims} 04_free_probability", "{claims} 04_nowhere"),
    "{ledger} has no part 'nonsense'": ("{claims} 04_free_probability", "{ledger} nonsense"),
    "{results} has no part 'nonsense'": ("{claims} 04_free_probability", "{results} nonsense"),
    "{certificates} has no part 'nonsense'": ("{claims} 04_free_probability", "{certificates} nonsense"),
}


def build(folder, chapters):
    """Build a book of chapters with warnings as errors: exit status and complaints."""
    for name in ("chapters", "data", "reference"):
        (folder / name).mkdir()
    (folder / "conf.py").write_text(CONF)
    names = "\n".join(f"chapters/{name}" for name in chapters)
    (folder / "index.md").write_text(f"# Book\n\n```{{toctree}}\nreference/claims\n{names}\n```\n")
    (folder / "reference" / "claims.md").write_text("# Claims\n\n```{ledger} additions\n```\n")
    for name, text in chapters.items():
        (folder / "chapters" / f"{name}.md").write_text(text)
    entries = re.split(r"^(?=\[\[claim\]\]\n)", (ROOT / "data" / "claims.toml").read_text(), flags=re.M)
    kept = [entry for entry in entries if re.search(r'^id = "(C2|C17)"', entry, flags=re.M)]
    (folder / "data" / "claims.toml").write_text("".join(kept))
    (folder / "data" / "additions.toml").write_text(OWN)
    return small_books.build(folder, "-W", "-n", "--keep-going")


def test_the_build_fails_when_a_page_and_the_ledger_disagree_and_names_the_page(tmp_path):
    chapters = {"04_free_probability": CHAPTER + RESULT}
    for number, (before, after) in enumerate(WRONG.values()):
        assert before in CHAPTER
        chapters[f"wrong_{number}"] = CHAPTER.replace(before, after)
    status, complaints = build(tmp_path, chapters)
    assert status != 0
    lines = [line for line in complaints.splitlines() if re.search(r"\b(WARNING|ERROR)\b", line)]
    assert not [line for line in lines if "04_free_probability.md" in line]
    for number, complaint in enumerate(WRONG):
        assert [complaint in line for line in lines if f"wrong_{number}.md" in line] == [True], complaints


def test_a_book_that_agrees_with_the_ledger_is_built_and_shows_no_marker(tmp_path):
    status, complaints = build(tmp_path, {"04_free_probability": CHAPTER + RESULT})
    assert (status, complaints) == (0, "")
    assert "small-1" not in (tmp_path / "html" / "chapters" / "04_free_probability.html").read_text()


def test_the_build_fails_when_a_result_is_only_said_to_be_derived(tmp_path):
    text = RESULT.replace("thm-small", "thm-other")
    status, complaints = build(tmp_path, {"04_free_probability": CHAPTER + RESULT + text})
    assert status != 0
    assert "the result thm-other is derived, and no entry of data/additions.toml says what" in complaints


def test_the_build_fails_when_a_marker_has_no_entry(tmp_path):
    page = CHAPTER + RESULT + "\nIt is new. <!-- result small-9 -->\n"
    status, complaints = build(tmp_path, {"04_free_probability": page})
    assert status != 0
    assert "small-9 is marked in chapters/04_free_probability, but data/additions.toml has no" in complaints


def test_a_box_that_does_not_say_how_it_is_known_is_found():
    def problems(kind, statuses, checks):
        return list(ledger_pages.box_problems([Box("thm-a", kind, [], statuses)], checks, {"C2"}))

    for kind in ledger_pages.PROVED:
        assert problems(kind, ["proved"], {}) == problems(kind, ["cited"], {}) == []
        for statuses in ([], ["hoped"], ["proved", "derived"]):
            assert "has no line 'Status" in problems(kind, statuses, {})[0]
        for status in ("derived", "conjectured"):
            assert f"the {kind} thm-a is {status}: what is neither" in problems(kind, [status], {})[0]
    assert "no entry of data/additions.toml says" in problems("result", ["derived"], {})[0]
    assert problems("result", ["derived"], {"thm-a": ["C2"]}) == problems("result", ["conjectured"], {}) == []
    assert problems("definition", [], {}) == []
    assert problems("definition", [], {"thm-gone": ["nowhere"]}) == [
        "the box thm-gone is to be checked by nowhere, which is no entry",
        "there is no box thm-gone",
    ]


def test_checks_of_boxes_come_from_additions_and_blocks():
    checks, known = ledger_pages.box_checks()
    assert checks["thm-four-constants"] == ["effective_steps"]
    assert {"E12", "exact_sums", *claims.load_sentences()} <= known


def test_a_citation_against_the_ledger_is_caught():
    holds = next(claim.id for claim in LEDGER.values() if claim.holds)
    fails = next(claim.id for claim in LEDGER.values() if claim.verdict == "fails")
    for text in (holds, f"!{fails}"):
        assert ledger_pages.stance_problem(text, LEDGER) is None
    for text, complaint in {
        fails: "as if it held",
        f"!{holds}": "but it holds",
        "Z1": "no claim 'Z1'",
        "!": "no claim ''",
    }.items():
        assert complaint in ledger_pages.stance_problem(text, LEDGER)


def test_a_ball_is_shown_as_mid_and_radius_and_claims_that_state_one_value_share_a_line():
    with flint.ctx.workprec(100):
        assert ledger_pages.enclosure(arb(1) / 3) == "[0.3333333333333333 ± 3.34e-17]"
        assert ledger_pages.enclosure(arb(3) / 2) == "[1.500000000000000 ± 0]"
        assert ledger_pages.enclosure(arb(0, 0.25)) == "[0 ± 0.251]"
    papers = [Paper(claim, "1") for claim in ("A7", "A8", "A7")]
    papers.append(Paper("C17", "2"))
    lines = ledger_pages.statements(Certificate("edge", "x", arb(1), papers=tuple(papers)))
    assert lines == ["contains 1: {claim}`A7` {claim}`A8`", "**excludes** 2: {claim}`!C17`"]


def test_what_was_measured_is_shown_as_it_is():
    assert ledger_pages.plain("a_b <c> $1 * `x` |A^n|") == r"a\_b \<c\> \$1 \* \`x\` \|A^n\|"


@pytest.mark.parametrize("name", ["claims", "certificates", "results"])
def test_the_page_shows_every_part_once(name):
    page = (ROOT / "reference" / f"{name}.md").read_text()
    parts = re.findall(r"^```\{(?:ledger|certificates|results)\} (\w+)$", page, flags=re.M)
    whole = {
        "claims": ["count", "table", "errata", "additions"],
        "certificates": ["count", *ledger_pages.certificates.PARTS],
        "results": ["boxes"],
    }
    assert parts == whole[name]
