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

import gallery_pages  # noqa: E402


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


@pytest.mark.parametrize("name", TOC)
def test_every_link_of_the_page_leads_to_a_place_that_exists(name):
    assert broken(HTML / f"{name}.html") == []


def test_a_link_to_nowhere_is_caught(tmp_path):
    (tmp_path / "a.html").write_text('<a href="b.html">b</a><a href="#here">h</a><a href="a.html#x">x</a>')
    assert broken(tmp_path / "a.html") == [
        "#here: no such place",
        "a.html#x: no such place",
        "b.html: no such page",
    ]


def test_the_gallery_shows_every_figure_of_the_book_and_links_to_its_cell():
    gallery = page(HTML / "reference" / "gallery.html")
    for entry in gallery_pages.floats(ROOT / "data" / "gallery.toml"):
        assert gallery_pages.anchor(entry) in gallery.ids
        names = entry.get("figures") or [entry["table"]]
        assert all(f"../chapters/{entry['chapter']}.html#{name}" in gallery.links for name in names)
    for name in TOC:
        if name.startswith("chapters/"):
            for figure in gallery_pages.chapter(ROOT / f"{name}.ipynb")[0]:
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
    for entry in gallery_pages.floats(ROOT / "data" / "gallery.toml"):
        if entry["kind"] == "figure":
            links = page(HTML / "chapters" / f"{entry['chapter']}.html").links
            assert f"../reference/gallery.html#{gallery_pages.anchor(entry)}" in links


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
