"""Notebook discipline: what every committed chapter must be, found by reading it, before anything is run."""

import copy
import re
from pathlib import Path

import nbformat

import address

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


def folds(notebook):
    """Solutions that a reader sees before looking for them, and folds that do not close."""
    for index, cell in enumerate(notebook.cells):
        blocks = re.findall(r"^`{3,}\{(prf:proof|solution|solution-start)\}.*\n(.*)", cell.source, flags=re.M)
        for name, option in blocks:
            folded = ":class: dropdown" in option
            if (
                folded and name == "prf:proof"
            ):  # it has no title to click on, and all folds after it stay open
                yield f"cell {index} folds a proof: put it into an {{admonition}} with :class: dropdown"
            if not folded and name != "prf:proof":
                yield f"cell {index} has a solution that is not folded"


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
        if re.search(r"^\s*assert\b", cell.source, flags=re.M):
            faults.append(
                f"{where} asserts something: what a chapter's numbers must be stands in tests/chapters"
            )
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
    return [*faults, *folds(notebook)]


def _printing(text):
    return nbformat.v4.new_code_cell(
        "print()", execution_count=1, outputs=[nbformat.v4.new_output("stream", name="stdout", text=text)]
    )


PLANTED = [
    (nbformat.v4.new_code_cell("x = 1\nassert x == 1", execution_count=1), "asserts something"),
    (_printing("saved in /home/me/x.npy"), "a machine path"),
    (_printing("[0.1 0.25 3.5]"), "a raw array"),
    (_printing("array([1, 2])"), "a raw array"),
    (_printing("x.py:3: RuntimeWarning: overflow"), "a warning"),
    (_printing("done in 3.2 s"), "a timing"),
    (_printing("<object at 0x7f3a>"), "an object's address"),
    (nbformat.v4.new_code_cell("1"), "no execution count"),
    (nbformat.v4.new_code_cell("", execution_count=1), "is empty"),
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
    (nbformat.v4.new_markdown_cell("```{prf:proof}\n:class: dropdown\n\nSo.\n```"), "folds a proof"),
    (nbformat.v4.new_markdown_cell("```{solution} ex\n\nSo.\n```"), "a solution that is not folded"),
]


def test_every_chapter_keeps_every_rule():
    complaints = []
    for path in CHAPTERS:
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
        complaints += [f"{path.stem}: {problem}" for problem in problems(notebook, address.stated())]
    assert complaints == []


def test_every_chapter_is_in_the_table_of_contents_and_the_other_way_round():
    listed = re.findall(r"file: chapters/(\S+)", (ROOT / "_toc.yml").read_text())
    assert sorted(listed) == [path.stem for path in CHAPTERS]


def test_a_chapter_that_breaks_a_rule_is_caught():
    good = nbformat.read(CHAPTERS[0], as_version=4)
    for cell, complaint in PLANTED:
        notebook = copy.deepcopy(good)
        notebook.cells.append(cell)
        assert complaint in " ".join(problems(notebook, address.stated()))
    good.cells = [cell for cell in good.cells if "%pip" not in cell.source]
    assert "does not install the package" in " ".join(problems(good, address.stated()))
