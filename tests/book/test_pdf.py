"""The printed book: a few of its pages, joined as `make pdf` joins all of them."""

import re
import sys

import pages
import pypdf
import pytest

import book
import pdf

pytestmark = pages.NEEDS_CHROMIUM
CHAPTER = "chapters/appendix_triangular_solve.html"
CHOSEN = [
    ("", "intro.html"),
    ("Appendices", CHAPTER),
    ("Reference", "reference/notation.html"),
    ("Reference", "reference/bibliography.html"),
]


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    assert (pages.HTML / "index.html").exists(), "The book is not built: run make book first."
    target = tmp_path_factory.mktemp("pdf") / "book.pdf"
    count = pdf.make(target, CHOSEN, say=lambda *_, **__: None)
    reader = pypdf.PdfReader(target)
    assert len(reader.pages) == count
    return reader


def test_a_book_that_is_not_built_or_was_changed_is_not_printed(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["pdf.py", "--to", str(tmp_path / "book.pdf")])
    monkeypatch.setattr(book, "ROOT", tmp_path)
    with pytest.raises(SystemExit, match=r"^The book is not built: run make book first\.$"):
        pdf.main()
    (tmp_path / "_build").mkdir()
    (tmp_path / "_build" / "fingerprint").write_text("of another day")
    with pytest.raises(SystemExit, match=r"^The book was changed since it was built: run make book first\.$"):
        pdf.main()
    assert not (tmp_path / "book.pdf").exists()


def test_all_pages_of_the_book_are_printed_in_order():
    assert [path for _, path in pdf.files()] == pages.table_of_contents()


def test_the_cover_and_the_contents_come_first(printed):
    assert "SGD at the Spectral Edge" in printed.pages[0].extract_text()
    contents = printed.pages[1].extract_text()
    assert contents.index("Contents") < contents.index("Notation") < contents.index("Bibliography")


def test_the_contents_name_the_page_on_which_a_chapter_starts(printed):
    words = printed.pages[1].extract_text().split()
    number = int(words[words.index("Bibliography") + 1])
    start = printed.pages[1 + number].extract_text()
    assert "Bibliography" in start
    assert start.split()[-1] == str(number) or start.split()[0] == str(number)


def test_every_page_after_the_contents_has_its_number(printed):
    for number, page in enumerate(printed.pages[2:], 1):
        assert str(number) in page.extract_text().split(), number


def test_the_outline_has_an_entry_per_chapter(printed):
    assert [entry.title for entry in printed.outline] == [
        "SGD at the Spectral Edge",
        "An epoch is a triangular solve",
        "Notation",
        "Bibliography",
    ]


def test_folded_code_is_not_printed_and_visible_code_and_solutions_are(printed):
    text = "".join("".join(page.extract_text().split()) for page in printed.pages)
    screen = re.sub(r"<[^>]+>|\s", "", (pages.HTML / CHAPTER).read_text())
    assert "plots.use()" in screen  # folded: its first cell imports
    assert "plots.use()" not in text
    assert "SolutiontoExercise" in text


def test_links_stay_inside_the_file_and_name_no_path_of_a_machine(printed):
    inside = 0
    for page in printed.pages:
        for reference in page.get("/Annots") or []:
            link = reference.get_object()
            assert not str((link.get("/A") or {}).get("/URI", "")).startswith("file:")
            inside += "/Dest" in link
    assert inside >= 1  # the first page links to the notation
