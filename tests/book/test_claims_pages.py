"""The ledger's Sphinx extension, on a book of two pages: links both ways, tables, and builds that must fail."""

import json
import re
from pathlib import Path

import pytest
import small_books

import edgelaw_ledger as claims

ROOT = Path(__file__).resolve().parents[2]
CONF = """
extensions = ["myst_parser", "claims_pages"]
myst_enable_extensions = ["dollarmath"]
html_theme = "basic"
exclude_patterns = ["data", "README.md"]
"""
# The claims page without its links to pages that this book does not have.
PAGE = re.sub(r"\{doc\}`(?!claims)([^`]*)`", r"the page \1", (ROOT / "reference" / "claims.md").read_text())
CHAPTER = """# A chapter

## A section with $x$

We know {claim}`C2`, but not {claim}`!C17`.

## Where they part ways

```{claims} 04_free_probability
```
"""
MARKED = "\nIt rises. It falls like $n$, see {doc}`the chapter <04_free_probability>`. <!-- result small-1 --> So.\n"
ROW = "| given | do |\n|---|---|\n| noise | a new shuffle <!-- result small-2 --> |\n"

SENTENCE = """
[[sentence]]
id = "small-1"
status = "fitted"
check = "edgelaw_ledger.checks.beyond:exact_sums"

[[sentence]]
id = "small-2"
status = "measured"
check = "edgelaw_ledger.checks.beyond:exact_sums"
"""
IDS = ("C2", "C17")  # all that the ledger of this book has
WRONG = {  # what the chapter says instead, by what the build has to complain of
    "but it holds": ("{claim}`C2`", "{claim}`!C2`"),
    "as if it held": ("{claim}`!C17`", "{claim}`C17`"),
    "no claim 'C99'": ("{claim}`C2`", "{claim}`C99`"),
    "no entry in the ledger yet": ("{claim}`C2`", "{claim}`E12`"),
    "no claim has the chapter": ("{claims} 04_free_probability", "{claims} 04_nowhere"),
    "no part 'nonsense'": ("{claims} 04_free_probability", "{ledger} nonsense"),
}


def build(folder, chapters):
    """Build a book of the claims page and chapters with warnings as errors: exit status and complaints."""
    (folder / "data").mkdir()
    (folder / "chapters").mkdir()
    (folder / "reference").mkdir()
    (folder / "conf.py").write_text(CONF)
    names = "\n".join(f"chapters/{name}" for name in chapters)
    (folder / "index.md").write_text(f"# Book\n\n```{{toctree}}\nreference/claims\n{names}\n```\n")
    (folder / "reference" / "claims.md").write_text(PAGE)
    for name, text in chapters.items():
        (folder / "chapters" / f"{name}.md").write_text(text)
    text = (ROOT / "data" / "claims.toml").read_text()
    entries = re.findall(r"^\[\[claim\]\]\n.*?(?=^\[\[claim\]\]|\Z)", text, flags=re.S | re.M)
    kept = [entry for entry in entries if re.search(rf'^id = "({"|".join(IDS)})"', entry, flags=re.M)]
    (folder / "data" / "claims.toml").write_text("".join(kept))
    evidence = {"C17": {"measured": "what <came> out", "claimed": "x", "tolerance": "1 %"}}
    evidence["small-1"] = {"measured": "slope 1.00", "claimed": "1", "tolerance": "none"}
    (folder / "data" / "evidence.json").write_text(json.dumps(evidence))
    additions = (ROOT / "data" / "additions.toml").read_text()
    additions = re.sub(r"\{(prf:ref|numref)\}`[^`]*`", "a theorem", additions)
    (folder / "data" / "additions.toml").write_text(additions.split("[[sentence]]")[0] + SENTENCE)
    (folder / "README.md").write_text(ROW)
    return small_books.build(folder, "-W", "-n", "--keep-going")


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    folder = tmp_path_factory.mktemp("book")
    status, complaints = build(folder, {"04_free_probability": CHAPTER + MARKED})
    assert status == 0, complaints
    chapter = (folder / "html" / "chapters" / "04_free_probability.html").read_text()
    return (folder / "html" / "reference" / "claims.html").read_text(), chapter


@pytest.fixture(scope="module")
def wrong_book(tmp_path_factory):
    """A book with a chapter for every way to be wrong, and one that is right: exit status and complaints."""
    chapters = {f"wrong_{i}": CHAPTER.replace(*change) for i, change in enumerate(WRONG.values())}
    return build(tmp_path_factory.mktemp("wrong"), {"04_free_probability": CHAPTER + MARKED, **chapters})


def test_a_citation_shows_the_verdict_and_leads_to_its_row(book):
    page, chapter = book
    for name, verdict in (("C2", "holds"), ("C17", "fails")):
        link = re.search(
            rf'<a class="claim[^"]*" href="\.\./reference/claims\.html#claim-{name.lower()}"[^>]*>.*?</a>',
            chapter,
        )
        assert link
        assert f'title="{name} {verdict}: ' in link[0]
        assert f"verdict-{verdict}" in link[0]
        assert f'id="claim-{name.lower()}"' in page


def test_a_row_leads_back_to_the_chapter_and_the_section_that_cites_it(book):
    page, _ = book
    row = re.search(r'<tr class="claim-row row-fails[^"]*" id="claim-c17">.*?</tr>', page, flags=re.S)[0]
    assert 'href="../chapters/04_free_probability.html">' in row
    assert 'href="../chapters/04_free_probability.html#a-section-with-x">' in row
    assert "what &lt;came&gt; out" in row


def test_the_chapters_table_has_the_ledgers_words(book):
    _, chapter = book
    table = chapter[chapter.index("chapter-claims") :]
    assert table.count("<tr") == 3
    assert "✗ fails" in table
    assert "✓ holds" in table


def test_the_page_counts_says_what_is_missing_and_lists_errata_and_additions(book):
    page, _ = book
    assert "1 of 2: true as printed" in page
    assert "No entry yet: A1, A2," in page
    errata = page[page.index('id="errata-') : page.index('id="what-the-book-adds"')]
    assert "C17" in errata
    assert "#claim-c2" not in errata
    assert all(entry.title.split("'")[0] in page for entry in claims.additions())
    assert "claims.js" in page


def test_the_books_own_sentences_are_shown_with_status_evidence_and_place(book):
    page, _ = book
    section = page[page.index('id="claims-sentences"') :]
    assert "2 sentences, of which" in section
    assert len(re.findall(r'<tr[^>]* id="sentence-[\w-]+"', section)) == 2
    row = re.search(r'<tr[^>]* id="sentence-small-1">.*?</tr>', section, flags=re.S)[0]
    assert 'href="../chapters/04_free_probability.html">' in row
    assert "see the chapter." in row
    assert "<strong>fitted</strong>: The sums over" in row
    assert "Measured: slope 1.00." in row
    row = re.search(r'<tr[^>]* id="sentence-small-2">.*?</tr>', section, flags=re.S)[0]
    assert "README</span>" in row
    assert "noise – a new shuffle" in row


def test_readers_do_not_see_the_markers_of_results(book):
    _, chapter = book
    assert "It falls like" in chapter
    assert "small-1" not in chapter


def test_the_build_fails_when_a_marker_has_no_entry(tmp_path):
    page = CHAPTER + MARKED + "\nIt is new. <!-- result small-9 -->\n"
    status, complaints = build(tmp_path, {"04_free_probability": page})
    assert status != 0
    assert "small-9 is marked in chapters/04_free_probability, but data/additions.toml has no" in complaints


@pytest.mark.parametrize("complaint", WRONG)
def test_the_build_fails_when_a_page_and_the_ledger_disagree(wrong_book, complaint):
    before, _ = WRONG[complaint]
    assert before in CHAPTER
    status, complaints = wrong_book
    assert status != 0
    page = f"wrong_{list(WRONG).index(complaint)}.md"
    lines = [line for line in complaints.splitlines() if re.search(r"\b(WARNING|ERROR)\b", line)]
    assert [complaint in line for line in lines if page in line] == [True], complaints


def test_the_build_complains_of_no_page_that_agrees_with_the_ledger(wrong_book):
    assert "04_free_probability.md" not in wrong_book[1]
