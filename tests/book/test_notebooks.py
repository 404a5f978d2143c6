"""Notebook discipline: what every committed chapter must be, found by reading it, before anything is run."""

import copy
import re
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = sorted((ROOT / "chapters").glob("*.ipynb"))

FIRST_CELL = """try:
    import edgelaw  # noqa: F401
except ImportError:
    %pip install -q git+{address}"""

FORBIDDEN = {
    "a machine path": re.compile(
        r"(?<![\w.])/(work|root|tmp|home|Users|usr|opt|var|mnt|content)/|[A-Z]:\\\\"
    ),
    "a raw array": re.compile(
        r"\barray\(|\btensor\(|\[\s*-?\d+\.?\d*(e[+-]?\d+)?(\s+-?\d+\.?\d*(e[+-]?\d+)?){2,}\s*\]"
    ),
    "a warning": re.compile(r"\b\w*Warning\b"),
    "a timing": re.compile(
        r"\bWall time\b|\bCPU times\b|\bper loop\b|\b\d+(\.\d+)? ?(ms|µs|seconds|sec)\b|\b\d+\.\d+ ?s\b"
    ),
    "an object's address": re.compile(r"\bat 0x[0-9a-f]+"),
}


def texts(output):
    """Everything in an output that a reader sees as text."""
    if output.output_type == "stream":
        yield output.text
    for kind, value in output.get("data", {}).items():
        if kind.startswith("text/") and not value.startswith("<Figure size"):
            yield value


def problems(notebook, address):
    """Everything that is wrong with a chapter, in words."""
    faults = []
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    if not code or code[0].source != FIRST_CELL.format(address=address):
        faults.append("the first code cell does not install the package where it is missing")
    elif "remove-cell" not in code[0].metadata.get("tags", []):
        faults.append("the first code cell is not tagged remove-cell")
    for index, cell in enumerate(notebook.cells):
        where = f"cell {index}"
        if cell.cell_type != "code":
            continue
        if not cell.source.strip():
            faults.append(f"{where} is empty")
        if cell.execution_count is None:
            faults.append(f"{where} has no execution count, so nbval would not check it")
        if len(cell.source.splitlines()) > 40:
            faults.append(f"{where} is longer than a screen")
        if "nbval-skip" in cell.metadata.get("tags", []) or "NBVAL_SKIP" in cell.source:
            faults.append(f"{where} hides from nbval")
        for output in cell.outputs:
            if output.output_type == "error":
                faults.append(f"{where} ends in an error")
            if output.output_type == "stream" and output.name == "stderr":
                faults.append(f"{where} writes to stderr")
            for text in texts(output):
                faults += [
                    f"{where} prints {what}" for what, pattern in FORBIDDEN.items() if pattern.search(text)
                ]
            if "image/png" in output.get("data", {}):
                style = cell.metadata.get("mystnb", {})
                if not style.get("figure", {}).get("caption") or not style.get("figure", {}).get("name"):
                    faults.append(f"{where} draws a figure without caption or name")
                if len(style.get("image", {}).get("alt", "")) < 20:
                    faults.append(f"{where} draws a figure without alt text")
    prose = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    for phrase in ("What you will learn", "{exercise}", "{solution}"):
        if phrase not in prose:
            faults.append(f"there is no {phrase!r}")
    return faults


@pytest.fixture(scope="module")
def address():
    import address

    return address.stated()


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_the_chapter_keeps_every_rule(path, address):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert problems(notebook, address) == []


def test_every_chapter_is_in_the_table_of_contents_and_the_other_way_round():
    listed = re.findall(r"file: chapters/(\S+)", (ROOT / "_toc.yml").read_text())
    assert sorted(listed) == [path.stem for path in CHAPTERS]


def test_figure_names_are_unique_in_the_whole_book():
    names = [
        cell.metadata["mystnb"]["figure"]["name"]
        for path in CHAPTERS
        for cell in nbformat.read(path, as_version=4).cells
        if "figure" in cell.metadata.get("mystnb", {})
    ]
    assert names
    assert len(names) == len(set(names))


# ------------------------------------------------------------------------------- the rules are shown to bite


def _printing(text):
    return nbformat.v4.new_code_cell(
        "print()", execution_count=1, outputs=[nbformat.v4.new_output("stream", name="stdout", text=text)]
    )


@pytest.mark.parametrize(
    ("cell", "complaint"),
    [
        (_printing("saved in /home/me/x.npy"), "a machine path"),
        (_printing("[0.1 0.25 3.5]"), "a raw array"),
        (_printing("array([1, 2])"), "a raw array"),
        (_printing("x.py:3: RuntimeWarning: overflow"), "a warning"),
        (_printing("done in 3.2 s"), "a timing"),
        (_printing("<object at 0x7f3a>"), "an object's address"),
        (nbformat.v4.new_code_cell("1"), "no execution count"),
        (nbformat.v4.new_code_cell("", execution_count=1), "is empty"),
        (nbformat.v4.new_code_cell("x = 1\n" * 41, execution_count=1), "longer than a screen"),
        (nbformat.v4.new_code_cell("# NBVAL_SKIP", execution_count=1), "hides from nbval"),
        (
            nbformat.v4.new_code_cell(
                "1/0", execution_count=1, outputs=[nbformat.v4.new_output("error", ename="E")]
            ),
            "ends in an error",
        ),
        (
            nbformat.v4.new_code_cell(
                "plot()",
                execution_count=1,
                outputs=[nbformat.v4.new_output("display_data", data={"image/png": "aGk="})],
            ),
            "without caption",
        ),
    ],
)
def test_a_chapter_that_breaks_a_rule_is_caught(cell, complaint, address):
    notebook = copy.deepcopy(nbformat.read(CHAPTERS[0], as_version=4))
    assert problems(notebook, address) == []
    notebook.cells.append(cell)
    assert complaint in " ".join(problems(notebook, address))


def test_a_chapter_without_its_first_cell_is_caught(address):
    notebook = nbformat.read(CHAPTERS[0], as_version=4)
    notebook.cells = [cell for cell in notebook.cells if "%pip" not in cell.source]
    assert "does not install the package" in " ".join(problems(notebook, address))
