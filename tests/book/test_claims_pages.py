"""The ledger's Sphinx extension, on a book of two pages: links both ways, tables, and builds that must fail."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import edgelaw_ledger as claims

ROOT = Path(__file__).resolve().parents[2]
CONF = """
extensions = ["myst_parser", "claims_pages"]
myst_enable_extensions = ["dollarmath"]
html_theme = "basic"
exclude_patterns = ["data"]
"""
PAGE = (ROOT / "claims.md").read_text()
CHAPTER = """# A chapter

## A section with $x$

We know {claim}`C2`, but not {claim}`!C17`.

## Where they part ways

```{claims} 04_free_probability
```
"""


def build(folder, chapter=CHAPTER, page=PAGE, ledger=None):
    """Build the book of two pages with warnings as errors; the finished process and the folder of pages."""
    (folder / "data").mkdir()
    (folder / "chapters").mkdir()
    (folder / "conf.py").write_text(CONF)
    (folder / "index.md").write_text("# Book\n\n```{toctree}\nclaims\nchapters/04_free_probability\n```\n")
    (folder / "claims.md").write_text(page)
    (folder / "chapters" / "04_free_probability.md").write_text(chapter)
    ids = ["C2", "C17"]
    text = (ROOT / "data" / "claims.toml").read_text()
    entries = re.findall(r"^\[\[claim\]\]\n.*?(?=^\[\[claim\]\]|\Z)", text, flags=re.S | re.M)
    kept = [entry for entry in entries if re.search(rf'^id = "({"|".join(ids)})"', entry, flags=re.M)]
    (folder / "data" / "claims.toml").write_text(ledger or "".join(kept))
    evidence = {"C17": {"measured": "what <came> out", "claimed": "x", "tolerance": "1 %"}}
    (folder / "data" / "evidence.json").write_text(json.dumps(evidence))
    additions = (ROOT / "data" / "additions.toml").read_text()
    additions = re.sub(r"\{(prf:ref|numref)\}`[^`]*`", "a theorem", additions)
    (folder / "data" / "additions.toml").write_text(additions)
    path = os.pathsep.join([str(ROOT / "tools" / "sphinx"), str(ROOT / "lib")])
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "-n",
        "--keep-going",
        "-b",
        "html",
        folder,
        folder / "html",
    ]
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True)
    return done, folder / "html"


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    done, folder = build(tmp_path_factory.mktemp("book"))
    assert done.returncode == 0, done.stderr
    chapter = (folder / "chapters" / "04_free_probability.html").read_text()
    return (folder / "claims.html").read_text(), chapter


def test_a_citation_shows_the_verdict_and_leads_to_its_row(book):
    page, chapter = book
    for name, verdict in (("C2", "holds"), ("C17", "fails")):
        link = re.search(
            rf'<a class="claim[^"]*" href="\.\./claims\.html#claim-{name.lower()}"[^>]*>.*?</a>', chapter
        )
        assert link
        assert f'title="{name} {verdict}: ' in link[0]
        assert f"verdict-{verdict}" in link[0]
        assert f'id="claim-{name.lower()}"' in page


def test_a_row_leads_back_to_the_chapter_and_the_section_that_cites_it(book):
    page, _ = book
    row = re.search(r'<tr class="claim-row row-fails[^"]*" id="claim-c17">.*?</tr>', page, flags=re.S)[0]
    assert 'href="chapters/04_free_probability.html">' in row
    assert 'href="chapters/04_free_probability.html#a-section-with-x">' in row
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


@pytest.mark.parametrize(
    ("before", "after", "complaint"),
    [
        ("{claim}`C2`", "{claim}`!C2`", "but it holds"),
        ("{claim}`!C17`", "{claim}`C17`", "as if it held"),
        ("{claim}`C2`", "{claim}`C99`", "no claim 'C99'"),
        ("{claim}`C2`", "{claim}`E12`", "no entry in the ledger yet"),
        ("{claims} 04_free_probability", "{claims} 04_nowhere", "no claim has the chapter"),
        ("{claims} 04_free_probability", "{ledger} nonsense", "no part 'nonsense'"),
    ],
)
def test_the_build_fails_when_a_page_and_the_ledger_disagree(tmp_path, before, after, complaint):
    assert before in CHAPTER
    done, _ = build(tmp_path, chapter=CHAPTER.replace(before, after))
    assert done.returncode != 0
    assert complaint in done.stderr
