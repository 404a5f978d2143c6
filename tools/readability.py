"""Measure how a chapter reads: cells, words, visible code, where the first picture stands, how solutions are folded.

`faults` says in words what exceeds the limits; run as a script it prints one row per chapter.
"""

import argparse
import re
import statistics
from pathlib import Path
from typing import NamedTuple

import nbformat

ROOT = Path(__file__).resolve().parent.parent
CELLS, LONGEST, MEDIAN = 45, 12, 8
FOLDED = {"hide-input", "hide-cell", "remove-cell", "remove-input"}
PART_WAYS = "Where the paper and the numbers part ways"
START, END = re.compile(r"^`{3,}\{solution-start\}", re.M), re.compile(r"^`{3,}\{solution-end\}", re.M)
IMPORT = re.compile(r"\s*(import |from |plots\.use\(\)|#|$|\)|[\w ,]+,?$)")


class Cell(NamedTuple):
    """A cell as a reader meets it: its kind, its text, whether it is folded, in a solution, and shows a picture."""

    kind: str
    text: str
    folded: bool
    solution: bool
    picture: bool


class Numbers(NamedTuple):
    """What is counted of a chapter, without what stands inside solutions."""

    cells: int
    words: int
    code: int
    median: float
    longest: int
    marks: int


def cells(notebook):
    """The cells of a notebook, each marked with whether a solution's fold holds it."""
    pieces, inside = [], False
    for cell in notebook.cells:
        text, code = cell.source, cell.cell_type == "code"
        opens, closes = (not code and bool(rule.search(text)) for rule in (START, END))
        picture = (
            any("image/png" in output.get("data", {}) for output in cell.outputs)
            if code
            else bool(re.search(r"^(`{3,}|:{3,})\{(figure|explorer)\}", text, re.M))
        )
        folded = bool(FOLDED & set(cell.metadata.get("tags", [])))
        pieces.append(Cell(cell.cell_type, text, folded, inside, picture))
        inside = (inside or opens) and not (closes and not opens)
    return pieces


def numbers(read):
    """Count cells, words, visible lines of code and claim marks."""
    shown = [cell for cell in read if not cell.solution]
    lines = [len(cell.text.splitlines()) for cell in shown if cell.kind == "code" and not cell.folded]
    prose = [cell.text for cell in shown if cell.kind == "markdown"]
    return Numbers(
        len(shown),
        sum(len(text.split()) for text in prose),
        sum(lines),
        statistics.median(lines or [0]),
        max(lines, default=0),
        sum(text.count("{claim}") for text in prose),
    )


def _heading(text, words):
    return re.search(rf"^#+ .*{re.escape(words)}", text, flags=re.M)


def _imports(text):
    """Whether a cell only imports."""
    return all(IMPORT.match(line) for line in text.splitlines())


def _place(read, words):
    """The number of the cell with this heading, or None."""
    return next(
        (k for k, cell in enumerate(read) if cell.kind == "markdown" and _heading(cell.text, words)), None
    )


def _opening(read):
    """What stands before the first picture and should not."""
    first = next((k for k, cell in enumerate(read) if cell.picture), len(read))
    before = read[:first]
    if first == len(read):
        yield "there is no picture"
    if any(cell.kind == "code" and not cell.folded and not _imports(cell.text) for cell in before):
        yield "visible code stands before the first picture"
    if any(cell.kind == "markdown" and "What you will learn" in cell.text for cell in before):
        yield "a list of contents stands before the first picture"


def _marks(read):
    """Claim marks outside the closing section."""
    for cell in read[: _place(read, PART_WAYS)]:
        text = re.split(rf"^#+ .*{PART_WAYS}", cell.text, flags=re.M)[0]
        if cell.kind == "markdown" and "{claim}" in text:
            yield f"a claim mark interrupts the lesson: {re.search('.{0,40}{claim}.{0,10}', text)[0]!r}"


def _closing(read):
    """The order of the last sections, and solutions that are not folded with their code."""
    places = [_place(read, words) for words in ("Summary", "Exercises", PART_WAYS)]
    if None in places[:2]:
        yield "there is no Summary, or no Exercises"
        return
    present = [place for place in places if place is not None]
    if present != sorted(present):
        yield "Summary, Exercises and the paper's slips do not come in this order"
    end = present[-1] if len(present) == 3 else len(read)
    for cell in read[places[1] : end]:
        if cell.kind == "code" and not cell.solution and not cell.folded:
            yield f"a solution's code stands outside its fold: {cell.text.splitlines()[0]!r}"
        for block in re.findall(r"^`{3,}\{solution(?:-start)?\}.*\n(.*)", cell.text, flags=re.M):
            if ":class: dropdown" not in block:
                yield "a solution is not folded"


def _folds(read):
    """Folds that the page's script cannot close: a proof has no title to click on, and all folds after it stay open."""
    if any(re.search(r"^`{3,}\{prf:proof\}.*\n:class: dropdown", cell.text, flags=re.M) for cell in read):
        yield "a proof is folded by :class: dropdown; put it into an {admonition} with that class"


def faults(notebook, audit=False):
    """What keeps a chapter from being read with pleasure, in words; an audit may cite claims wherever it likes."""
    read = cells(notebook)
    counted = numbers(read)
    exceeded = [
        f"{value} {what}, at most {limit}"
        for what, value, limit in (
            ("cells", counted.cells, CELLS),
            ("lines in the longest visible cell", counted.longest, LONGEST),
            ("lines in the median visible cell", counted.median, MEDIAN),
        )
        if value > limit
    ]
    return [*exceeded, *_opening(read), *([] if audit else _marks(read)), *_folds(read), *_closing(read)]


def main():
    """Print one row per chapter."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=ROOT, help="another checkout of the book, to compare")
    print(
        "| chapter | cells | words | visible code | median | longest | claim marks |",
        "|---|---:|---:|---:|---:|---:|---:|",
        sep="\n",
    )
    for path in sorted((parser.parse_args().root / "chapters").glob("*.ipynb")):
        counted = numbers(cells(nbformat.read(path, as_version=4)))
        print("| " + " | ".join([path.stem, *(f"{value:g}" for value in counted)]) + " |")


if __name__ == "__main__":
    main()
