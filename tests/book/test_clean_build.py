"""`make book` builds from nothing: what Sphinx leaves out of a second build is there, what is gone is not."""

import json
import re

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
