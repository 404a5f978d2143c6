"""What pages mark as results: which words a marker takes, and where the book must have one."""

import json
import re
from pathlib import Path

import pytest

from edgelaw_ledger import pages

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = sorted((ROOT / "chapters").glob("*.ipynb"))
MARKED = re.compile(r"<!-- result [a-z\d]+-\d+ -->(\s*\|)?\s*\Z")


def section(text, title):
    """The part of a page's text under a heading of the second rank, or nothing."""
    found = re.search(rf"^## {title}.*?\n(.*?)(?=^## |\Z)", text, flags=re.M | re.S)
    return found[1] if found else ""


def bullets(text):
    """The bullets of a list, each up to the next or to an empty line."""
    return re.findall(r"^- .*?(?=^- |^\s*$|\Z)", text, flags=re.M | re.S)


def test_every_bullet_of_a_summary_is_marked():
    counted = 0
    for path in CHAPTERS:
        found = bullets(section("\n\n".join(pages.pieces(path)), "Summary"))
        assert found or path.stem.startswith("appendix"), f"{path.stem} has no summary"
        assert [bullet for bullet in found if not MARKED.search(bullet)] == []
        counted += len(found)
    assert counted > 75


def test_every_row_of_the_table_of_advice_is_marked():
    text = section("\n\n".join(pages.pieces(ROOT / "chapters" / "12_your_data.ipynb")), "What to do")
    rows = re.findall(r"^\|.*", text, flags=re.M)[2:]  # without the head and its rule
    assert len(rows) > 10
    assert [row for row in rows if not MARKED.search(row)] == []


PAGE = """# No words
(a-label)=
First. By Ahle et al. (2026) it is
1.5, e.g. `a. B`. <!-- result a-1 --> **Three is $x. Y$.** <!-- result a-2 --> Four.

- A bullet. With
  two. <!-- result a-3 -->
- Another. <!-- result a-4 -->

```{figure} x.png
:name: fig-x
:alt: Spoken. Words. <!-- result a-5 --> More.

A caption. <!-- result a-6 -->
```

:::{card} Title
:link: x
{{ claims }} hold. <!-- result a-7 -->
:::

| head | is none |
|---|---|
| a row |  of $\\|x\\|$. Cells <!-- result a-8 --> |

![Pictures. Speak.](x.png) <!-- result a-9 -->
[A. B](c.d) ends. <!-- result a-10 -->
"""
WORDS = {
    "a-1": "By Ahle et al. (2026) it is 1.5, e.g. `a. B`.",
    "a-2": "**Three is $x. Y$.**",
    "a-3": "A bullet. With two.",
    "a-4": "Another.",
    "a-5": "Words.",
    "a-6": "A caption.",
    "a-7": "{{ claims }} hold.",
    "a-8": "a row | of $\\|x\\|$. Cells",
    "a-9": "Speak.",
    "a-10": "[A. B](c.d) ends.",
}


def test_a_marker_takes_the_sentence_the_bullet_or_the_row_that_it_ends():
    assert dict(pages.in_text(PAGE)) == WORDS


CODE = '''def f(x, ax):
    """A docstring is not taken."""
    ax.set(title="one", label=f"{x} is longer")  # result a-1
    return (
        # result a-2
        f"{x} is ahead of "
        f"{', '.join('the fields are not read')}."
    )
'''


def test_a_marker_in_a_program_takes_the_string_it_stands_at():
    assert list(pages.in_code(CODE)) == [("a-1", "… is longer"), ("a-2", "… is ahead of ….")]
    assert list(pages.in_code("x = 1  # result a-3\n")) == [("a-3", "")]


def test_a_notebooks_markdown_tables_and_captions_are_read(tmp_path):
    mark = "{} <!-- result {} -->".format
    shown = {"data": {"text/markdown": [mark("| a | b", "x-2"), " |"]}}
    figure = {"mystnb": {"figure": {"caption": mark("A caption.", "x-3")}}}
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": ["Some ", mark("text.", "x-1")]},
        {"cell_type": "code", "metadata": figure, "source": [mark("#", "x-4")], "outputs": [shown, {}]},
    ]
    (tmp_path / "chapters").mkdir()
    (tmp_path / "chapters" / "01_x.ipynb").write_text(json.dumps({"cells": cells}))
    (tmp_path / "CONTRIBUTING.md").write_text(mark("An example.", "x-5"))
    place = "chapters/01_x"
    assert list(pages.results(tmp_path)) == [
        ("x-1", "Some text.", place),
        ("x-2", "a | b", place),
        ("x-3", "A caption.", place),
    ]


@pytest.mark.parametrize("text", ["All. <!-- result a-1 --> So.", "| a | b <!-- result a-1 --> |"])
def test_a_text_without_its_markers_is_as_if_there_had_been_none(text):
    assert pages.MARKER.sub("", text) == text.replace(" <!-- result a-1 -->", "")
