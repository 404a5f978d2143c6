"""What the committed chapters print and say, without running them."""

import functools
import json
import re
from pathlib import Path

CHAPTERS = Path(__file__).resolve().parents[2] / "chapters"
NUMBER = re.compile(r"[-+]?\d[\d,]*\.?\d*(?:[eE][-+]?\d+)?")


@functools.cache
def cells(chapter):
    """The cells of the one chapter whose file name begins like this."""
    (path,) = CHAPTERS.glob(f"{chapter}*.ipynb")
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


@functools.cache
def text(chapter):
    """All that the chapter prints (streams and markdown outputs), in one piece, a blank line after each output."""
    pieces = []
    for cell in cells(chapter):
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            pieces += output.get("text", []), data.get("text/markdown", [])
    return "\n".join("".join(piece) for piece in pieces if piece)


@functools.cache
def prose(chapter):
    """What the chapter's markdown cells say, every run of white space as one space."""
    said = ("".join(cell["source"]) for cell in cells(chapter) if cell["cell_type"] == "markdown")
    return " ".join("\n".join(said).split())


def numbers(chapter, pattern, source=text):
    """The groups of the one match of a pattern in what the chapter prints (or, with `source=prose`, says), as floats.

    White space in the pattern stands for any white space. No match, or a second one, is an error.
    """
    flexible = re.sub(r"[ \n]+", r"\\s+", pattern)
    matches = list(re.finditer(flexible, source(chapter)))
    assert len(matches) == 1, f"{len(matches)} matches of {pattern!r} in {chapter}"
    return [as_float(group) for group in matches[0].groups()]


def table(chapter, header):
    """The rows below the one printed line that holds `header`: for each, its words' numbers, up to an odd line out.

    The table ends where a line has no number or another count of numbers than the first row.
    """
    lines = text(chapter).splitlines()
    (start,) = (index for index, line in enumerate(lines) if header in line)
    rows = []
    for line in lines[start + 1 :]:
        row = [as_float(number) for number in NUMBER.findall(line)]
        if not row or (rows and len(row) != len(rows[0])):
            break
        rows.append(row)
    assert rows, f"nothing below {header!r} in {chapter}"
    return rows


def as_float(number):
    """A number as a chapter prints it: thousands may be parted by commas or blanks, percents stay percents."""
    return float(re.sub(r"[,\s%]", "", number))


@functools.cache
def captions(chapter):
    """What stands below the chapter's figures, every run of white space as one space."""
    figures = (cell["metadata"].get("mystnb", {}).get("figure", {}) for cell in cells(chapter))
    return " ".join(" ".join(figure["caption"] for figure in figures if figure).split())
