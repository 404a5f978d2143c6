"""Claims in the book: cited by id through the role, never against their verdict, and no verdict copied by hand."""

import re
import sys
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "sphinx"))

import ledger_pages  # noqa: E402

import edgelaw_ledger as claims  # noqa: E402

TOC = re.findall(r"(?:root|file): (\S+)", (ROOT / "_toc.yml").read_text())
CHAPTERS = sorted((ROOT / "chapters").glob("*.ipynb"))
PAGES = [ROOT / f"{name}.md" for name in TOC if (ROOT / f"{name}.md").exists()]
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


def test_every_page_takes_the_side_of_the_ledger_and_copies_no_verdict():
    complaints = []
    for path in [*CHAPTERS, *PAGES]:
        text = prose(path)
        found = [ledger_pages.stance_problem(name, LEDGER) for name in ROLE.findall(text)]
        found += [f"{name} stands outside the role" for name in bare_ids(text)]
        found += [f"{name} begins a row of a table made by hand" for name in copied_verdicts(text)]
        complaints += [f"{path.stem}: {problem}" for problem in found if problem]
    assert complaints == []


def test_ids_in_the_code_of_a_chapter_exist():
    for path in CHAPTERS:
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.cell_type == "code":
                named = re.findall(r"(?:# |\")([A-H]\d{1,2}): ", cell.source)
                assert set(named) <= set(claims.IDS), path.stem


def test_every_chapter_that_is_home_to_claims_shows_them():
    for path in CHAPTERS:
        named = re.findall(r"^```\{claims\} (\S+)", prose(path), flags=re.M)
        homes = any(claim.chapter == path.stem for claim in LEDGER.values())
        assert named == ([path.stem] if homes else [])


def test_the_readme_has_the_counts_of_the_file_and_no_verdict_of_its_own():
    tally = claims.counts(LEDGER.values())
    sentence = (
        f"Of {sum(tally.values())} claims {tally['holds']} hold, {tally['fails']} fail, {tally['imprecise']} are "
        f"imprecise and {tally['open']} are open."
    )
    text = (ROOT / "README.md").read_text()
    assert " ".join(sentence.split()) in " ".join(text.split()), f"README.md has to say: {sentence}"
    assert copied_verdicts(text) == []


# ------------------------------------------------------------------------------------------ shown to fail


def test_bare_ids_and_copied_verdicts_are_caught():
    assert bare_ids("As E12 says, and (H3).") == ["E12", "H3"]
    assert bare_ids("$H_1 = A1$ and `E12`, {claim}`E12`, and R2-D2") == []
    assert copied_verdicts("| claim |\n|---|\n| E12 | fails |") == ["E12"]
