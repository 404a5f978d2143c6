"""The certificates page: tables computed while it is built, and a build that fails when the ledger disagrees."""

import re
import sys
from pathlib import Path

import flint
import pytest
import small_books
from flint import arb

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "sphinx"))

import certificates_page  # noqa: E402

from edgelaw_ledger.certificates.entries import Certificate, Paper  # noqa: E402

CONF = """
extensions = ["myst_parser", "claims_pages", "certificates_page"]
myst_enable_extensions = ["dollarmath"]
html_theme = "basic"
exclude_patterns = ["data"]
"""
PAGE = """# Certified constants

```{certificates} count
```

## Second-order coefficients

```{certificates} expansions
```
"""


def build(folder, change=("", ""), page=PAGE):
    """A book of this page and a claims page, with the ledger changed: exit status and complaints."""
    (folder / "data").mkdir()
    (folder / "reference").mkdir()
    (folder / "conf.py").write_text(CONF)
    (folder / "index.md").write_text(
        "# Book\n\n```{toctree}\nreference/claims\nreference/certificates\n```\n"
    )
    (folder / "reference" / "claims.md").write_text("# Claims\n")
    (folder / "reference" / "certificates.md").write_text(page)
    ledger = (ROOT / "data" / "claims.toml").read_text()
    assert change[0] in ledger
    (folder / "data" / "claims.toml").write_text(ledger.replace(*change))
    return small_books.build(folder, "-W")


@pytest.fixture
def extension(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools" / "sphinx"))


@pytest.mark.usefixtures("extension")
def test_the_table_shows_the_ball_our_number_and_the_papers_with_its_claim(tmp_path):
    status, complaints = build(tmp_path)
    assert (status, complaints) == (0, "")
    text = (tmp_path / "html" / "reference" / "certificates.html").read_text()
    (row,) = re.findall(
        r"<tr[^>]*>(?:(?!</tr>).)*claims\.html#claim-d15(?:(?!</tr>).)*</tr>", text, flags=re.S
    )
    assert re.search(r"\[0\.0530516476972984\d* ± \d\.\d+e-1[78]\]", re.sub(r"<[^>]+>", "", row))
    assert "ours 0.0530516476972984" in row
    assert re.search(r"<strong>excludes</strong> −0\.0530516476973", row)
    assert re.search(r"\d+ claims are contained", text)


@pytest.mark.usefixtures("extension")
def test_a_ledger_that_says_otherwise_fails_the_build(tmp_path):
    text = (ROOT / "data" / "claims.toml").read_text()
    entry = re.search(r"id = .E12.\n.*?\n\[\[claim\]\]", text, flags=re.S)[0]
    turned = re.sub(r"\nconsequence = \d", "", entry.replace("fails", "holds", 1))
    status, complaints = build(tmp_path, (entry, turned))
    assert status != 0
    assert "E12" in complaints
    assert "but it holds" in complaints


@pytest.mark.usefixtures("extension")
def test_a_part_that_does_not_exist_fails_the_build(tmp_path):
    status, complaints = build(tmp_path, page=PAGE.replace("expansions", "nonsense"))
    assert status != 0
    assert "there are no certificates 'nonsense'" in complaints


def test_a_ball_is_shown_as_mid_and_radius():
    with flint.ctx.workprec(100):
        assert certificates_page.enclosure(arb(1) / 3) == "[0.3333333333333333 ± 3.34e-17]"
    assert certificates_page.enclosure(arb(3) / 2) == "[1.500000000000000 ± 0]"
    assert certificates_page.enclosure(arb(0, 0.25)) == "[0 ± 0.251]"


def test_claims_that_state_one_value_share_a_line():
    papers = [Paper(claim, lambda p: arb(1)) for claim in ("A7", "A8", "A7")] + [
        Paper("C17", lambda p: arb(2))
    ]
    lines = certificates_page.statements(Certificate("edge", "x", arb(1), papers=tuple(papers)))
    assert lines == ["contains 1: {claim}`A7` {claim}`A8`", "**excludes** 2: {claim}`!C17`"]


def test_the_page_shows_every_part_once_and_is_in_the_table_of_contents():
    page = (ROOT / "reference" / "certificates.md").read_text()
    parts = re.findall(r"^```\{certificates\} (\w+)$", page, flags=re.M)
    assert parts == ["count", *certificates_page.package.PARTS]
    assert "- file: reference/certificates\n" in (ROOT / "_toc.yml").read_text()
