"""What tools/sphinx/house_pages.py does to every page."""

import re
import struct
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools" / "sphinx"))

import house_pages

FORMULA = r'<span class="math notranslate nohighlight">\(x &lt; 1\)</span>'
CODE = '<code class="docutils literal notranslate"><span class="pre">name</span></code>'


def png(path, width, height):
    """The head of a PNG file, which says how large it is."""
    path.write_bytes(house_pages.PNG + struct.pack(">I4sII", 13, b"IHDR", width, height))
    return path


def test_a_picture_says_how_large_it_is_and_a_wide_one_can_be_swiped(tmp_path):
    pictures = {"a.png": png(tmp_path / "1.png", 40, 30), "b.png": png(tmp_path / "2.png", 900, 300)}
    body = '<img alt="A" src="../_images/{}.png" /><img width="7" src="_images/a.png" />'
    shown = house_pages.polished(body.format("a"), pictures)
    assert re.search(r'<img width="40" height="30" alt="A" src="../_images/a.png" ?/><img width="7"', shown)
    assert "figure-scroll" not in shown
    assert "figure-scroll" not in house_pages.polished(body.format("b"), pictures)
    wide = house_pages.polished("<figure>" + body.format("b"), pictures)
    assert re.match(
        r'<figure><div class="figure-scroll" style="--drawn: 900px"><img width="900".*?/></div>', wide
    )
    assert house_pages.polished(body.format("c"), pictures) == body.format("c")


def test_a_line_does_not_end_between_a_formula_or_code_and_the_marks_about_it():
    for inner in (FORMULA, CODE, f'<a class="reference" href="#x">{CODE}</a>'):
        tied = f'<span class="no-break short">({inner}),</span>'
        assert (
            house_pages.polished(f"<p>so ({inner}), and {inner} is</p>", {})
            == f"<p>so {tied} and {inner} is</p>"
        )
    block = f"<pre>({CODE})</pre>"
    assert house_pages.polished(block, {}) == block
