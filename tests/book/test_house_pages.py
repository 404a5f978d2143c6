"""What tools/sphinx/house_pages.py does to every page, seen on books of one page."""

import re
import struct
import sys
import zlib
from pathlib import Path

import pytest
import small_books

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "sphinx"))

import house_pages

from edgelaw_ledger.pages import folded

CONFIGURATION = """
import sys
sys.path.insert(0, {tools!r})
extensions = ["myst_parser", "sphinx.ext.autodoc", "house_pages"]
myst_enable_extensions = ["dollarmath"]
html_theme = "basic"
"""
PAGE = """# A page

The loss is 5 % higher, or 7 % lower, and $x$ % of it; `5 % of code` stays.

```text
5 % of a block
```

Call `name`: it has 12 ± 3 % and a picture.

![a picture](picture.png)
"""


def png(width, height):
    """A white picture as the bytes of a PNG file."""

    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    rows = (b"\x00" + b"\xff" * width) * height
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return house_pages.PNG + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The page above, built."""
    folder = tmp_path_factory.mktemp("book")
    (folder / "conf.py").write_text(CONFIGURATION.format(tools=str(Path(house_pages.__file__).parent)))
    (folder / "index.md").write_text(PAGE)
    (folder / "picture.png").write_bytes(png(40, 30))
    status, complaints = small_books.build(folder)
    assert status == 0, complaints
    return (folder / "html" / "index.html").read_text(encoding="utf-8")


def test_a_line_cannot_end_between_a_number_and_its_per_cent_sign(page):
    assert len(re.findall("\\d\u00a0%", page)) == 3
    assert "</span>\u00a0% of it" in page
    assert "12\u00a0±\u00a03\u00a0%" in page


def test_code_keeps_its_blanks(page):
    assert "5 % of a block" in page
    assert re.search(r">5</span>\s*<span[^>]*>%", page)


def test_a_picture_says_how_large_it_is(page):
    assert re.search(r'<img width="40" height="30" [^>]*src="_images/picture.png"', page)


def test_a_picture_that_has_a_size_or_is_elsewhere_stays_as_it_is(tmp_path):
    sized = '<img width="7" src="_images/a.png">'
    missing = '<img src="_images/missing.png">'
    assert house_pages._with_sizes(sized + missing, tmp_path) == sized + missing


def test_the_colon_behind_a_name_of_code_is_tied_to_it(page):
    assert re.search(r'<span class="no-break short"><code[^>]*>.*?</code>:</span>', page)


def test_a_no_break_space_is_white_space_where_sentences_are_compared():
    assert folded("5\u00a0% and 6\u202f%") == "5 % and 6 %"


def test_the_words_before_a_propertys_colon_are_no_type():
    lines = ["Whether rows are read twice: their norms depend on `mean`."]
    house_pages._plain_properties(None, "function", "name", None, None, lines)
    assert ": " in lines[0]
    house_pages._plain_properties(None, "property", "name", None, None, lines)
    assert lines == ["Whether rows are read twice – their norms depend on `mean`."]


def test_attributes_on_one_line_are_documented_one_by_one():
    lines = [
        "Losses.",
        "",
        "Attributes",
        "----------",
        "a, b : float",
        "    Both.",
        "c : int",
        "    One.",
        "",
    ]
    lines += ["Examples", "--------", ">>> 1, 2 : 3"]
    house_pages._split_attributes(None, "class", "name", None, None, lines)
    assert lines[4:10] == ["a : float", "    Both.", "b : float", "    Both.", "c : int", "    One."]
    assert lines[-3:] == ["Examples", "--------", ">>> 1, 2 : 3"]
