"""Claims in the book: cited by id through the role, never against their verdict, and no verdict copied by hand."""

import re
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "sphinx"))

import claims_pages  # noqa: E402

import edgelaw_ledger as claims  # noqa: E402

CHAPTERS = sorted((ROOT / "chapters").glob("*.ipynb"))
PAGES = [
    ROOT / "intro.md",
    ROOT / "reference" / "notation.md",
    ROOT / "reference" / "claims.md",
    ROOT / "reference" / "certificates.md",
    ROOT / "reference" / "gallery.md",
    ROOT / "reference" / "results.md",
    ROOT / "reference" / "glossary.md",
    ROOT / "reference" / "api.md",
    ROOT / "reference" / "bibliography.md",
]
LEDGER = claims.load()
ROLE = re.compile(r"\{claim\}`([^`]*)`")
ID = r"(?<![\w\\^{.`!-])[A-H]\d{1,2}(?![\w.^`-])"


def prose(path):
    """The markdown of a page, as its readers see it."""
    if path.suffix == ".md":
        return path.read_text()
    cells = nbformat.read(path, as_version=4).cells
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def bare_ids(text):
    """Ids of claims that stand outside formulas, code and the role."""
    text = re.sub(r"```[^\n]*\n.*?^```|\$\$.*?\$\$|\$[^$\n]*\$|`[^`\n]*`", " ", text, flags=re.S | re.M)
    return [name for name in re.findall(ID, text) if name in claims.IDS]


def copied_verdicts(text):
    """Rows of a hand-made table that begin with an id."""
    return re.findall(r"^\| *\*{0,2}([A-H]\d{1,2})\b", text, flags=re.M)


@pytest.mark.parametrize("path", [*CHAPTERS, *PAGES], ids=lambda path: path.stem)
def test_every_citation_exists_and_takes_the_side_of_the_ledger(path):
    text = prose(path)
    assert [claims_pages.stance_problem(name, LEDGER) for name in ROLE.findall(text)] == [None] * len(
        ROLE.findall(text)
    )
    assert bare_ids(text) == []
    assert copied_verdicts(text) == []


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_ids_in_the_code_of_a_chapter_exist(path):
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "code":
            for name in re.findall(r"(?:# |\")([A-H]\d{1,2}): ", cell.source):
                assert name in claims.IDS


def test_every_chapter_that_is_home_to_claims_shows_them():
    for path in CHAPTERS:
        named = re.findall(r"^```\{claims\} (\S+)", prose(path), flags=re.M)
        homes = any(claim.chapter == path.stem for claim in LEDGER.values())
        assert named == ([path.stem] if homes else [])


def test_claims_are_cited_throughout_the_book():
    cited = {name.removeprefix("!") for path in CHAPTERS for name in ROLE.findall(prose(path))}
    assert {name[0] for name in cited} >= set("ABCDEFH")
    assert len(cited) >= 60


def test_the_readme_has_the_counts_of_the_file_and_no_verdict_of_its_own():
    tally = claims.counts(LEDGER.values())
    sentence = (
        f"Of {sum(tally.values())} claims {tally['holds']} hold, {tally['fails']} fail, {tally['imprecise']} are "
        f"imprecise and {tally['open']} are open."
    )
    text = (ROOT / "README.md").read_text()
    assert " ".join(sentence.split()) in " ".join(text.split())
    assert copied_verdicts(text) == []


# ------------------------------------------------------------------------------------------ shown to fail


HOLDS = next(claim.id for claim in LEDGER.values() if claim.holds)
FAILS = next(claim.id for claim in LEDGER.values() if claim.verdict == "fails")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (HOLDS, None),
        (f"!{FAILS}", None),
        (FAILS, "as if it held"),
        (f"!{HOLDS}", "but it holds"),
        ("Z1", "no claim 'Z1'"),
        ("F20", "no claim 'F20'"),
        ("!", "no claim ''"),
    ],
)
def test_a_citation_against_the_ledger_is_caught(text, complaint):
    problem = claims_pages.stance_problem(text, LEDGER)
    assert problem is complaint is None or complaint in problem


def test_a_claim_without_an_entry_cannot_be_cited():
    assert "no entry" in claims_pages.stance_problem("E12", {})


def test_bare_ids_and_copied_verdicts_are_caught():
    assert bare_ids("As E12 says, and (H3).") == ["E12", "H3"]
    assert bare_ids("$H_1 = A1$ and `E12`, {claim}`E12`, and R2-D2") == []
    assert copied_verdicts("| claim |\n|---|\n| E12 | fails |") == ["E12"]
