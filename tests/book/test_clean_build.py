"""What `make book` makes: everything from nothing each time, and the old addresses of pages that have moved."""

import json
import re

import pages
import pytest

import book

CONFIG = """title: Small
execute: {execute_notebooks: "off"}
only_build_toc_files: true
sphinx: {config: {html_baseurl: "https://example.org/small/"}}
"""
TOC = "format: jb-book\nroot: intro\nchapters: [{file: reference/glossary}, {file: reference/other}]\n"
GLOSSARY = "# Words\n\n```{glossary}\nedge\n  The left end.\n\nstep\n  What is chosen.\n```\n"


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A book of three pages in the place of ours."""
    monkeypatch.setattr(book, "ROOT", tmp_path)
    monkeypatch.setattr(book, "HTML", tmp_path / "_build" / "html")
    monkeypatch.setattr(book, "MOVED", ("glossary",))
    monkeypatch.setattr(book.mathjax, "fetch", lambda: None)
    (tmp_path / "reference").mkdir()
    (tmp_path / "_config.yml").write_text(CONFIG)
    (tmp_path / "_toc.yml").write_text(TOC)
    (tmp_path / "intro.md").write_text("# First\n\nA {term}`step`.\n")
    (tmp_path / "reference" / "glossary.md").write_text(GLOSSARY)
    (tmp_path / "reference" / "other.md").write_text("# Other\n")
    return tmp_path


def indexed(folder):
    """The entries of the search index."""
    text = (folder / "_build" / "html" / "searchindex.js").read_text()
    return set(json.loads(re.fullmatch(r"Search\.setIndex\((.*)\)", text, flags=re.S)[1])["indexentries"])


def test_a_second_build_loses_no_entry_of_the_search_and_keeps_no_page_that_is_gone(small, capfd):
    book.main()
    assert indexed(small) == {"edge", "step"}
    assert book.problem() == ""
    (small / "_toc.yml").write_text(TOC.replace(", {file: reference/other}", ""))
    (small / "reference" / "other.md").unlink()
    assert "was changed" in book.problem()
    (small / "intro.md").write_text("# First\n\nAnother {term}`step`.\n")
    book.main()
    assert indexed(small) == {"edge", "step"}
    assert not (small / "_build" / "html" / "reference" / "other.html").exists()
    assert (small / "_build" / "html" / "glossary.html").exists()
    capfd.readouterr()
    book.main()  # with nothing changed
    assert re.fullmatch(r"The book is at .*\n", capfd.readouterr().out)


def test_every_page_that_moved_is_led_to_from_its_old_address(root):
    assert {f"reference/{name}.html" for name in book.MOVED} <= set(pages.table_of_contents())
    for name in book.MOVED:
        assert (pages.HTML / "reference" / f"{name}.html").exists(), "run make book first"
        text = (pages.HTML / f"{name}.html").read_text()
        assert f'<a href="reference/{name}.html">' in text
        assert f'rel="canonical" href="https://edgelaw.github.io/edgelaw/reference/{name}.html"' in text


@pages.NEEDS_CHROMIUM
def test_an_old_address_keeps_its_query_and_its_place(chromium, address):
    page = chromium.new_page()
    try:
        page.goto(f"{address}/claims.html?q=Lambert#claim-e12")
        page.wait_for_url("**/reference/claims.html?q=Lambert#claim-e12")
        assert page.locator("#claim-e12").is_visible()
    finally:
        page.close()
    plain = chromium.new_context(java_script_enabled=False).new_page()
    try:
        plain.goto(f"{address}/notation.html")
        plain.wait_for_url("**/reference/notation.html")
        assert plain.locator("h1").first.is_visible()
    finally:
        plain.context.close()
