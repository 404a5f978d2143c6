"""The built pages without a browser: every link inside the book leads to a page and a place that exist."""

import functools
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pages
import pytest

import book

ROOT = Path(__file__).resolve().parents[2]
HTML = ROOT / "_build" / "html"
TOC = re.findall(r"(?:root|file): (\S+)", (ROOT / "_toc.yml").read_text())
sys.path.insert(0, str(ROOT / "tools" / "sphinx"))

import ledger_pages  # noqa: E402

import edgelaw_ledger as claims  # noqa: E402
from edgelaw_ledger import errata  # noqa: E402

pytestmark = pytest.mark.usefixtures("built")


class _Page(HTMLParser):
    """The ids of a page and the addresses it links to inside its text."""

    def __init__(self):
        super().__init__()
        self.ids, self.links, self.images = set(), [], []

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if values.get("id"):
            self.ids.add(values["id"])
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        if tag == "img":
            self.images.append(values)


@functools.cache
def page(path):
    assert path.exists(), f"{path.name} is not built: run make book first"
    parser = _Page()
    parser.feed(path.read_text(encoding="utf-8"))
    return parser


def broken(path):
    """Links of a page to pages or places that are not there."""
    faults = []
    for link in page(path).links:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc or parts.fragment.startswith("view="):  # a state of the explorer
            continue
        there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        if not there.exists():
            faults.append(f"{link}: no such page")
        elif parts.fragment and there.suffix == ".html" and unquote(parts.fragment) not in page(there).ids:
            faults.append(f"{link}: no such place")
    return sorted(set(faults))


def test_every_link_of_the_book_leads_to_a_place_that_exists():
    found = {name: broken(HTML / f"{name}.html") for name in TOC}
    assert {name: links for name, links in found.items() if links} == {}


def test_a_link_to_nowhere_is_caught(tmp_path):
    (tmp_path / "a.html").write_text('<a href="b.html">b</a><a href="#here">h</a><a href="a.html#x">x</a>')
    assert broken(tmp_path / "a.html") == [
        "#here: no such place",
        "a.html#x: no such place",
        "b.html: no such page",
    ]


def test_the_gallery_shows_every_figure_of_the_book_and_links_to_its_cell():
    gallery = page(HTML / "reference" / "gallery.html")
    for entry in ledger_pages.floats(ROOT):
        assert ledger_pages.anchor(entry) in gallery.ids
        names = entry.get("figures") or [entry["table"]]
        assert all(f"../chapters/{entry['chapter']}.html#{name}" in gallery.links for name in names)
    for name in TOC:
        if name.startswith("chapters/"):
            for figure in ledger_pages.pictures(ROOT / f"{name}.ipynb")[0]:
                assert f"../{name}.html#{figure}" in gallery.links
                assert figure in page(HTML / f"{name}.html").ids
    assert all(len(image.get("alt", "")) >= 20 for image in gallery.images if "_images" in image["src"])
    weight = sum(
        (HTML / "reference" / image["src"]).stat().st_size
        for image in gallery.images
        if "_images" in image["src"]
    )
    assert weight < 1.7e6


def test_a_figure_with_a_counterpart_in_the_paper_leads_to_the_gallery():
    for entry in ledger_pages.floats(ROOT):
        if entry["kind"] == "figure":
            links = page(HTML / "chapters" / f"{entry['chapter']}.html").links
            assert f"../reference/gallery.html#{ledger_pages.anchor(entry)}" in links


def test_a_theorem_and_the_place_that_uses_it_lead_to_each_other():
    uses = [
        link
        for link in page(HTML / "chapters" / "04_free_probability.html").links
        if "thm-marchenko-pastur" in link
    ]
    assert uses
    text = (HTML / "chapters" / "01_spectral_condition.html").read_text(encoding="utf-8")
    box = text[text.index('id="thm-marchenko-pastur"') :]
    box = box[box.index("Used in: ") :][:2000]
    assert 'href="04_free_probability.html#exercises"' in box


# ------------------------------------------------------------------------------------------ what the ledger shows


def text(name):
    """A built page."""
    return (HTML / f"{name}.html").read_text(encoding="utf-8")


def row(name, words):
    """The row of a table in which these words stand, and its words without markup."""
    (found,) = [part for part in re.findall(r"<tr.*?</tr>", text(name), flags=re.S) if words in part]
    return found, " ".join(re.sub(r"<[^>]*>", "", found).split())


def test_a_claim_and_the_sections_that_cite_it_lead_to_each_other():
    found, words = row("reference/claims", 'id="claim-c17"')
    assert 'class="claim-row row-fails' in found
    assert "C17 ✗ fails Appendix C.5, last sentence" in words
    assert "evidence proved: The limits of the exact moment and of the theorem’s loss" in words
    assert "Measured: sqrt(n) m_n = 0.39894" in words
    section = "chapters/04_free_probability.html#where-the-paper-and-the-numbers-part-ways"
    assert f'href="../{section}"' in found
    link = r'<a class="claim[^"]*" href="../reference/claims.html#claim-c17" title="C17 fails: '
    assert re.search(link, text("chapters/04_free_probability"))
    assert len(re.findall('<tr class="claim-row ', text("reference/claims"))) == len(claims.load())


def test_an_erratum_quotes_the_paper_and_says_what_to_change_and_how_to_run_the_checks():
    page = text("reference/claims")
    page = page[page.index('id="errata-1"') : page.index('id="what-the-book-adds"')]
    rows = [part for part in re.findall(r"<tr.*?</tr>", page, flags=re.S) if "#claim-" in part]
    named = [re.findall(r'#claim-(\w+)"', part) for part in rows]
    ledger = claims.load()
    assert named == [[name.lower() for name in entry.claims] for entry in errata.load(ledger)]
    (mine,) = [part for part, names in zip(rows, named, strict=True) if names == ["c15", "c16", "c17"]]
    words = " ".join(re.sub(r"<[^>]*>", "", mine).split())
    assert r"this gives \(\phi(A^n) \sim \frac{1}{\sqrt{\pi n}}\), matching Theorem (shuffle-once)." in words
    assert "Change: A factor" in words
    assert "Run the checks: python -m edgelaw_ledger C15 C16 C17" in words


def test_a_certificate_shows_the_ball_our_number_and_the_papers_with_its_claim():
    found, words = row("reference/certificates", "claims.html#claim-d15")
    assert re.search(r"\[0\.0530516476972984\d* ± \d\.\d+e-1[78]\]", words)
    assert "ours 0.0530516476972984" in words
    assert "<strong>excludes</strong> −0.0530516476973" in found


def test_every_sentence_and_every_addition_is_shown_with_its_status_and_evidence():
    page = text("reference/claims")
    for kind, entries in ("sentence", claims.load_sentences().values()), ("addition", claims.additions()):
        assert re.findall(rf'<tr[^>]* id="{kind}-([\w-]+)"', page) == [entry.id for entry in entries]
    _, words = row("reference/claims", 'id="sentence-03-1"')
    assert re.search(
        r"(proved|derived|fitted|measured): \S.*Measured: .* In Four orders, four constants", words
    )


def test_the_list_of_results_says_how_each_is_known_what_checks_it_and_where_it_is_used():
    page = text("reference/results")
    counted = re.search(r"(\d+) statements: (\d+) proved, (\d+) cited, (\d+) derived", page)
    assert int(counted[1]) > 40
    (line,) = [
        part for part in re.findall(r"<li>.*?</li>", page, flags=re.S) if "#thm-four-constants" in part
    ][:1]
    assert 'status-proved">proved</span>' in line
    assert "claims.html#addition-effective_steps" in line
    assert "Used in" in line
    assert 'href="../chapters/03_shuffling_constants.html#thm-four-constants"' in line


def test_every_page_that_moved_is_led_to_from_its_old_address():
    assert {f"reference/{name}.html" for name in book.MOVED} <= {f"{name}.html" for name in TOC}
    for name in book.MOVED:
        assert (HTML / "reference" / f"{name}.html").exists(), "run make book first"
        text = (HTML / f"{name}.html").read_text()
        assert f'<a href="reference/{name}.html">' in text
        assert f'rel="canonical" href="https://edgelaw.github.io/edgelaw/reference/{name}.html"' in text


@pages.NEEDS_CHROMIUM
def test_an_old_address_keeps_its_query_and_its_place(chromium, address):
    page = chromium.new_page()
    try:
        page.goto(f"{address}/claims.html?q=Lambert#claim-e12")
        page.wait_for_url("**/reference/claims.html?q=Lambert#claim-e12")
        page.locator("#claim-e12").wait_for(state="visible")
    finally:
        page.close()
    plain = chromium.new_context(java_script_enabled=False).new_page()
    try:
        plain.goto(f"{address}/notation.html")
        plain.wait_for_url("**/reference/notation.html")
        plain.locator("article h1").wait_for(state="visible")
    finally:
        plain.context.close()
