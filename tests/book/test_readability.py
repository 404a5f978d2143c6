"""Chapters that can be read: idea and picture first, short visible code, machinery folded, disputes at the end."""

import re
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

import readability

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = sorted((ROOT / "chapters").glob("*.ipynb"))
AUDITS = {"appendix_auditing_appendix_a"}  # they are about claims, so they cite them throughout


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_the_chapter_can_be_read(path):
    notebook = nbformat.read(path, as_version=4)
    assert readability.faults(notebook, audit=path.stem in AUDITS) == []


# ------------------------------------------------------------------------------- the rules are shown to bite

PICTURE = new_output("display_data", data={"image/png": "aGk="})
PART_WAYS = f"## {readability.PART_WAYS}\n\nThe constant is another one ({{claim}}`!A1`)."


def _code(text, tags=(), picture=False):
    outputs = [PICTURE] if picture else []
    return new_code_cell(text, metadata={"tags": list(tags)}, outputs=outputs, execution_count=1)


def _good():
    """A chapter without a fault."""
    return [
        new_markdown_cell("# Why\n\nBecause."),
        _code("import numpy as np"),
        _code("plot(np)", ["hide-input"], picture=True),
        new_markdown_cell("**What you will learn**"),
        _code("a = 1\nb = 2\nprint(a + b)"),
        new_markdown_cell("## Summary\n\n- It is so."),
        new_markdown_cell("## Exercises\n\n```{solution-start} ex-one\n:class: dropdown\n```"),
        _code("x = 1\n" * 30),
        new_markdown_cell("```{solution-end}\n```"),
        new_markdown_cell(PART_WAYS),
    ]


def _faults(cells, audit=False):
    return readability.faults(new_notebook(cells=cells), audit=audit)


def test_a_chapter_without_a_fault_passes():
    assert _faults(_good()) == []
    counted = readability.numbers(readability.cells(new_notebook(cells=_good())))
    assert (counted.cells, counted.code, counted.longest, counted.marks) == (8, 4, 3, 1)


@pytest.mark.parametrize(
    ("place", "cell", "complaint"),
    [
        (2, _code("x = 1"), "visible code stands before the first picture"),
        (1, new_markdown_cell("**What you will learn**"), "a list of contents stands before"),
        (5, _code("x = 1\n" * 13), "13 lines in the longest visible cell, at most 12"),
        (5, new_markdown_cell("It is {claim}`A1`."), "a claim mark interrupts"),
        (5, new_markdown_cell("```{prf:proof}\n:class: dropdown\n\nSo.\n```"), "a proof is folded"),
        (9, _code("x = 1"), "stands outside its fold"),
        (9, new_markdown_cell("```{solution} ex-two\n\nSo.\n```"), "a solution is not folded"),
    ],
)
def test_a_fault_is_found(place, cell, complaint):
    (fault,) = _faults([*_good()[:place], cell, *_good()[place:]])
    assert complaint in fault


def test_length_the_median_cell_and_missing_parts_are_found():
    good = _good()
    assert "cells, at most 45" in " ".join(
        _faults([*good[:4], *[_code("x = 1") for _ in range(45)], *good[5:]])
    )
    assert "median" in " ".join(_faults([*good[:4], *[_code("x = 1\n" * 9) for _ in range(3)], *good[5:]]))
    assert "no picture" in " ".join(_faults([*good[:2], *good[3:]]))
    assert "no Summary" in " ".join(_faults([*good[:5], *good[6:]]))
    assert "in this order" in " ".join(_faults([*good[:5], good[9], *good[5:9]]))


def test_an_audit_may_cite_claims_throughout():
    cited = [*_good()[:5], new_markdown_cell("It is {claim}`A1`."), *_good()[5:]]
    assert _faults(cited) != []
    assert _faults(cited, audit=True) == []


def test_the_limits_are_those_that_contributors_are_told():
    guide = (ROOT / "CONTRIBUTING.md").read_text()
    limits = re.search(r"at most (\d+) cells.*?(\d+) lines.*?median.*?(\d+)", guide, flags=re.S)
    assert limits
    assert [int(number) for number in limits.groups()] == [
        readability.CELLS,
        readability.LONGEST,
        readability.MEDIAN,
    ]
