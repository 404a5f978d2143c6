"""The errata on the claims page: a row per mistake with the paper's words, in a book of one page and three claims."""

import re
from pathlib import Path

import pytest
import small_books

ROOT = Path(__file__).resolve().parents[2]
CONF = """
extensions = ["myst_parser", "claims_pages"]
myst_enable_extensions = ["dollarmath"]
html_theme = "basic"
exclude_patterns = ["data"]
"""
IDS = ("C15", "C16", "C17", "D8")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("errata")
    (folder / "data").mkdir()
    (folder / "reference").mkdir()
    (folder / "conf.py").write_text(CONF)
    # the rows that a claim's id links to stand in the table, so that it is there too
    (folder / "index.md").write_text("# Book\n\n```{toctree}\nreference/claims\n```\n")
    (folder / "reference" / "claims.md").write_text(
        "# Claims\n\n```{ledger} table\n```\n\n## Errata\n\n```{ledger} errata\n```\n"
    )
    text = (ROOT / "data" / "claims.toml").read_text()
    entries = re.findall(r"^\[\[claim\]\]\n.*?(?=^\[\[claim\]\]|\Z)", text, flags=re.S | re.M)
    kept = [entry for entry in entries if re.search(rf'^id = "({"|".join(IDS)})"', entry, flags=re.M)]
    assert len(kept) == len(IDS)
    (folder / "data" / "claims.toml").write_text("".join(kept))
    status, complaints = small_books.build(folder, "-W", "-n", "--keep-going")
    assert status == 0, complaints
    html = (folder / "html" / "reference" / "claims.html").read_text()
    return html[html.index('id="errata"') :]


def test_claims_that_are_one_mistake_share_a_row_and_the_graver_one_comes_first(page):
    rows = re.findall(r"<tr.*?</tr>", page, flags=re.S)
    named = [re.findall(r'#claim-(\w+)"', row) for row in rows if "#claim-" in row]
    assert named == [["d8"], ["c15", "c16", "c17"]]
    assert "(1 mistakes, 1 claims)" not in page


def test_the_row_quotes_the_paper_and_says_what_to_change_and_how_to_run_the_checks(page):
    words = " ".join(re.sub(r"<[^>]*>", "", page).split())
    assert (
        "For \\(\\rho &gt; 1\\): \\(m_n(\\rho) \\sim (\\rho e^{1-\\rho})^n/\\sqrt{2\\pi n}\\) (exponential decay)"
        in words
    )
    assert "matching Theorem (shuffle-once)." in words
    assert "Change: A factor" in words
    assert "Run the checks: python -m edgelaw_ledger C15 C16 C17" in words
