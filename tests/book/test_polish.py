"""What tools/book.py does to the text of every page once it is written."""

import re

from PIL import Image

import book

FORMULA = r'<span class="math notranslate nohighlight">\(x &lt; 1\)</span>'
CODE = '<code class="docutils literal notranslate"><span class="pre">name</span></code>'


def test_a_picture_says_how_large_it_is_and_a_wide_one_can_be_swiped(tmp_path):
    for name, size in {"a": (40, 30), "b": (900, 300)}.items():
        Image.new("L", size).save(tmp_path / f"{name}.png")
    body = '<img alt="A" src="../_images/{}.png" /><img width="7" src="_images/a.png" />'
    shown = book.polished(body.format("a"), tmp_path)
    assert re.search(r'<img width="40" height="30" alt="A" src="../_images/a.png" ?/><img width="7"', shown)
    assert "figure-scroll" not in shown
    assert "figure-scroll" not in book.polished(body.format("b"), tmp_path)
    wide = book.polished("<figure>" + body.format("b"), tmp_path)
    assert re.match(
        r'<figure><div class="figure-scroll" style="--drawn: 900px"><img width="900".*?/></div>', wide
    )


def test_a_line_does_not_end_between_a_formula_or_code_and_the_marks_about_it(tmp_path):
    for inner in (FORMULA, CODE, f'<a class="reference" href="#x">{CODE}</a>'):
        tied = f'<span class="no-break short">({inner}),</span>'
        text = book.polished(f"<p>so ({inner}), and {inner} is</p>", tmp_path)
        assert text == f"<p>so {tied} and {inner} is</p>"
    block = f"<pre>({CODE})</pre>"
    assert book.polished(block, tmp_path) == block


def test_scripts_that_nobody_needs_are_dropped_and_mathjax_is_theirs_where_ours_was_not_fetched(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(book, "ROOT", tmp_path)
    monkeypatch.setattr(book, "HTML", tmp_path)
    kept = '<script src="_static/doctools.js"></script>'
    unused = '<script>const THEBE_JS_URL = "x"; const y</script>\n'
    unused += '<script async="async" src="../sphinx-thebe.js?v=1"></script>'
    icons = '<script defer src="../_static/scripts/fontawesome.js?digest=1"></script>'
    page = tmp_path / "a.html"
    page.write_text(
        f'{unused}{kept}<script defer src="../_static/mathjax/tex-mml-chtml.js?v=1"></script>{icons}'
    )
    book.finish()
    assert page.read_text() == f'{kept}<script defer src="{book.MATHJAX_URL}"></script>'
    page.write_text(own := '<script src="_static/mathjax/tex-mml-chtml.js"></script>')
    (tmp_path / "assets" / "mathjax").mkdir(parents=True)
    book.finish()
    assert page.read_text() == own
