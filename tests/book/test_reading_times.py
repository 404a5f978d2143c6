"""The minutes that the landing page promises: 200 words per minute, half a minute per formula display and figure."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDED = re.compile(
    r"^(`{3,}|:{3,})\{[^}\n]+\}[^\n]*\n(?::[^\n]*\n)*?:class: dropdown\n.*?^\1\s*$", flags=re.M | re.S
)
SOLUTION = re.compile(r"\{solution-start\}.*?\{solution-end\}", flags=re.S)
ROW = re.compile(r"^\|[^|\n]*\| *([^|\n]*chapters/[^|\n]*)\| *(\d+) *\|$", flags=re.M)
CHAPTERS = sorted(path.stem for path in (ROOT / "chapters").glob("[01]*.ipynb"))


def minutes(name):
    """How long a chapter takes to read, up to its exercises and without what is folded."""
    cells = json.loads((ROOT / "chapters" / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    text = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    text = SOLUTION.sub("", FOLDED.sub("", text)).split("\n## Exercises")[0]
    displays = len(re.findall(r"^\$\$.*?^\$\$", text, flags=re.M | re.S))
    figures = sum("figure" in cell["metadata"].get("mystnb", {}) for cell in cells)
    words = len(re.sub(r"\$[^$]*\$", "x", re.sub(r"^\$\$.*?^\$\$", "", text, flags=re.M | re.S)).split())
    return words / 200 + (displays + figures) / 2


def promised():
    """The rows of the landing page's table: the chapters of each, and its minutes."""
    for read, number in ROW.findall((ROOT / "intro.md").read_text(encoding="utf-8")):
        ends = re.findall(r"chapters/(\w+)", read)
        first, last = CHAPTERS.index(ends[0]), CHAPTERS.index(ends[-1])
        yield CHAPTERS[first : last + 1], int(number)


def test_the_landing_page_promises_honest_minutes():
    rows = list(promised())
    assert len(rows) >= 5
    assert len(rows[-1][0]) == len(CHAPTERS)
    for chapters, number in rows:
        assert sum(map(minutes, chapters)) == pytest.approx(number, rel=0.15, abs=3), chapters


def test_what_is_folded_takes_no_time():
    folded = "```{solution} ex-a\n:class: dropdown\n\nlong\n```\n"
    assert SOLUTION.sub("", FOLDED.sub("", f"a\n\n{folded}\nb")).split() == ["a", "b"]
