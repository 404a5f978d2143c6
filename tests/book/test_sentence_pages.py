"""The book's sentences and its own ledger: what counts as a sentence, and which books are not built."""

import json
import sys
from pathlib import Path

import pytest
import small_books

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools" / "sphinx"))

import prose  # noqa: E402
import sentence_pages  # noqa: E402

CHECK = "edgelaw_ledger.checks.beyond:exact_sums"  # any check will do: these tests run none


def test_every_sentence_of_the_book_that_states_a_result_is_in_its_ledger():
    assert sentence_pages.problems(ROOT) == []


# what is a sentence ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two!\nThree? 4 is more.", ["One.", "Two!", "Three?", "4 is more."]),
        ("It is 1.5 times, e.g. `a. B` or $x. Y$.", ["It is 1.5 times, e.g. `a. B` or $x. Y$."]),
        ("By Ahle et al. (2026) it is so.", ["By Ahle et al. (2026) it is so."]),
        (
            "**You read.** Every one (of them.) *Do.* Yes",
            ["**You read.**", "Every one (of them.)", "*Do.*", "Yes"],
        ),
        (
            "See {doc}`a. B <c>`. [A. B](c.d) ends. {term}`x` too.",
            ["See {doc}`a. B <c>`.", "[A. B](c.d) ends.", "{term}`x` too."],
        ),
        ("{{ claims }} hold. So.", ["{{ claims }} hold.", "So."]),
        ("[![Badge](a.svg)](b.c) ![It wins. Always.](x.png)", ["Badge", "It wins.", "Always."]),
    ],
)
def test_a_paragraph_is_split_into_its_sentences(text, sentences):
    assert prose.split(text) == sentences


PAGE = """# A title is none

(a-label)=
First. Second
goes on.

```python
code = "No sentence."
```

    indented("No sentence.")

- A bullet. With two.
  - Deeper.

::::{grid} 1
:gutter: 3

:::{grid-item-card} Card title
:link: x
In a card.

```{card-footer}
Footer
```
:::
::::

```{figure} x.png
:name: fig-x
:alt: Spoken. Words.

A caption. Its end.
```

```{ledger} table
Filled by the build.
```

| head | is none |
|---|---|
| a row |  of two. Cells |

$$
x = 1. Y
$$
"""
SENTENCES = (
    "First.|Second goes on.|A bullet.|With two.|Deeper.|In a card.|Footer|Spoken.|Words.|A caption.|Its end."
)


def test_cards_captions_lists_and_rows_are_read_and_code_and_headings_are_not():
    units = prose.units(PAGE)
    assert [unit.text for unit in units if unit.kind == "sentence"] == [
        *SENTENCES.split("|"),
        "$$ x = 1. Y $$",
    ]
    assert [unit.text for unit in units if unit.kind == "row"] == ["a row | of two. Cells"]
    bullets = [unit.text for unit in prose.units(PAGE, whole_bullets=True) if unit.kind == "bullet"]
    assert bullets == ["A bullet. With two. Deeper."]


def test_a_row_is_the_same_with_and_without_its_outer_lines():
    assert prose.folded("| a row |  of two |") == prose.folded("a row | of two") == "a row | of two"


def test_a_section_ends_at_the_next_heading_that_is_not_below_it():
    text = "# T\n\n## Summary\n\none\n\n### Deeper\n\ntwo\n\n## Next\n\nthree"
    assert prose.section(text, "Summary$").split() == ["one", "###", "Deeper", "two"]
    assert prose.section(text, "Absent") is None
    assert prose.section("## Next\n\nthree", "Next") == "\nthree"


def test_the_texts_of_a_program_are_read_without_its_docstrings_and_fields(tmp_path):
    path = tmp_path / "x.py"
    path.write_text(
        '"""A docstring of many words."""\n'
        'def f(x, ax):\n    """Another one of them."""\n'
        '    ax.set(title="two words", label="one is ahead")\n'
        '    return f"{x} is ahead of "\n'
        "        f\"{f('the field is not read'):.2f}.\"\n".replace('of "\n        f', 'of " f')
    )
    assert prose.printed(path) == ["… is ahead of ….", "one is ahead"]


# small books -----------------------------------------------------------------------------------------------

BULLETS = ("Shuffling once wins.", "It holds in all 29 cells.", "The slope is $-0.5$.")
INTRO = "# Book\n\nHello. Shuffling *always*\nwins.\n"
TABLE = "| given | do |\n|---|---|\n| noise | a new shuffle |\n"


def notebook(*cells, displayed=""):
    """A notebook of markdown cells, and one that displays a table."""
    made = [{"cell_type": "markdown", "metadata": {}, "source": [text]} for text in cells]
    output = {"output_type": "display_data", "data": {"text/markdown": [displayed]}, "metadata": {}}
    made.append({"cell_type": "code", "metadata": {}, "source": [], "outputs": [output] if displayed else []})
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def summary(*bullets):
    """A chapter's cell with a Summary."""
    return "## Summary\n\n" + "".join(f"- {text}\n" for text in bullets) + "\n## Exercises\n\nWork. Hard.\n"


def entry(name, text, place, status="measured"):
    """A block of the ledger."""
    return f"[[sentence]]\nid = {name!r}\ntext = {text!r}\nplace = {place!r}\nstatus = {status!r}\ncheck = {CHECK!r}\n"


LEDGER = [
    *(entry(f"01-{i}", text, "chapters/01_first") for i, text in enumerate(BULLETS, 1)),
    *(entry(f"12-{i}", text, "chapters/12_your_data") for i, text in enumerate(BULLETS, 1)),
    entry("advice-1", "| noise | a new shuffle |", "chapters/12_your_data"),
    entry("intro-1", "Shuffling *always* wins.", "intro"),
    "[[no_result]]\nplace = 'intro'\ntext = 'Hello.'\n",
]


def book(folder, files=(), ledger=LEDGER):
    """A book of a first page and two chapters that agrees with its ledger, but for the files given."""
    (folder / "chapters").mkdir()
    (folder / "data").mkdir()
    advice = notebook(summary(*BULLETS), "## What to do: a table\n\nRead.", displayed=TABLE)
    texts = {
        "intro.md": INTRO,
        "chapters/01_first.ipynb": notebook("# First", summary(*BULLETS)),
        "chapters/12_your_data.ipynb": advice,
        "chapters/appendix_x.ipynb": notebook("# Needs no summary"),
        "data/additions.toml": "\n".join(ledger),
        **dict(files),
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    return sentence_pages.problems(folder, front=["intro"])


def test_a_book_that_agrees_with_its_ledger_is_let_pass(tmp_path):
    assert book(tmp_path) == []


FIRST = "chapters/01_first.ipynb"
CHANGED = ("Shuffling once won.", *BULLETS[1:])
PLANTED = {  # what is changed, and what has to be complained of, where
    "a chapter without a Summary": (
        {FIRST: notebook("# First")},
        "chapters/01_first",
        "one section '## Summary', not 0",
    ),
    "two Summaries": ({FIRST: notebook(summary(*BULLETS), summary(*BULLETS))}, "chapters/01_first", "not 2"),
    "two bullets": (
        {FIRST: notebook(summary(*BULLETS[:2]))},
        "chapters/01_first",
        "3 to 5 bullets in the cell of its heading, not 2",
    ),
    "a changed word": (
        {FIRST: notebook(summary(*CHANGED))},
        "chapters/01_first",
        "no entry with its words: 'Shuffling once won.'",
    ),
    "an entry left behind": (
        {FIRST: notebook(summary(*CHANGED))},
        "chapters/01_first",
        "01-1 does not stand on this page",
    ),
    "a new bullet": (
        {FIRST: notebook(summary(*BULLETS, "It is new."))},
        "chapters/01_first",
        "no entry with its words: 'It is new.'",
    ),
    "two sentences in a bullet": (
        {FIRST: notebook(summary(*BULLETS, "One. Two."))},
        "chapters/01_first",
        "one sentence: 'One. Two.'",
    ),
    "a sentence between": (
        {FIRST: notebook(summary(*BULLETS).replace("\n\n- ", "\n\nMore.\n\n- ", 1))},
        "chapters/01_first",
        "this sentence of the Summary has no entry with its words: 'More.'",
    ),
    "a wrong summary of an appendix": (
        {"chapters/appendix_x.ipynb": notebook(summary("One."))},
        "chapters/appendix_x",
        "3 to 5 bullets",
    ),
    "a changed row of advice": (
        {
            "chapters/12_your_data.ipynb": notebook(
                summary(*BULLETS), "## What to do\n\n" + TABLE.replace("a new", "any")
            )
        },
        "chapters/12_your_data",
        "row of advice has no entry with its words: 'noise | any shuffle'",
    ),
    "no table of advice": (
        {"chapters/12_your_data.ipynb": notebook(summary(*BULLETS))},
        "chapters/12_your_data",
        "no table under the heading",
    ),
    "a new sentence on the first page": (
        {"intro.md": INTRO + "\nIt is fast.\n"},
        "intro",
        "listed as stating no result: 'It is fast.'",
    ),
    "a caption changed": (
        {"intro.md": INTRO + "\n```{figure} x.png\n:alt: Hello.\n\nTo a per cent.\n```\n"},
        "intro",
        "'To a per cent.'",
    ),
    "no such page": (
        {"data/additions.toml": "\n".join([*LEDGER, entry("09-1", "x", "chapters/09_gone")])},
        "data/additions.toml",
        "09-1: there is no page 'chapters/09_gone'",
    ),
    "a result and none": (
        {"data/additions.toml": "\n".join([*LEDGER, entry("intro-2", "Hello.", "intro")])},
        "intro",
        "'Hello.' is both a result and none",
    ),
    "a stale sentence without a result": (
        {"data/additions.toml": "\n".join([*LEDGER, "[[no_result]]\nplace = 'intro'\ntext = 'Bye.'"])},
        "intro",
        "stating no result does not stand on this page",
    ),
    "an entry that breaks a rule": (
        {"data/additions.toml": LEDGER[0].replace("measured", "hoped")},
        "data/additions.toml",
        "01-1: the status must be one of",
    ),
    "a missing entry": (
        {"data/additions.toml": "\n".join(LEDGER[1:])},
        "chapters/01_first",
        "no entry with its words: 'Shuffling once wins.'",
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_disagreement_is_complained_of_where_it_stands(tmp_path, name):
    files, place, complaint = PLANTED[name]
    problems = book(tmp_path, files)
    assert any(where == place and complaint in text for where, text in problems), problems


def test_a_front_page_that_is_missing_is_said(tmp_path):
    book(tmp_path)
    assert ("README", "there is no page 'README'") in sentence_pages.problems(tmp_path, front=["README"])


def test_the_build_fails_of_a_disagreement_even_where_no_page_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(sentence_pages, "FRONT", ["intro"])
    monkeypatch.setattr(sentence_pages.problems, "__defaults__", (["intro"], sentence_pages.ADVICE))
    book(tmp_path)
    (tmp_path / "conf.py").write_text(
        'extensions = ["myst_parser", "sentence_pages"]\nroot_doc = "intro"\nexclude_patterns = ["chapters", "html"]\n'
    )
    assert small_books.build(tmp_path, "-W") == (0, "")
    (tmp_path / FIRST).write_text(notebook("# First", summary(*CHANGED)))
    status, complaints = small_books.build(tmp_path, "-W", "--keep-going")
    assert status != 0
    assert "WARNING: chapters/01_first: 01-1 does not stand on this page word for word" in complaints
    assert "this bullet of the Summary has no entry with its words: 'Shuffling once won.'" in complaints
