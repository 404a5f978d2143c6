"""The map of the rooms and a tour of five files, written into CONTRIBUTING.md.

python tools/house.py            rewrite the map from the tree and from the layers declared in pyproject.toml
python tools/house.py --compare  fail if the map in CONTRIBUTING.md is not what would be written
"""

import argparse
import ast
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "lib"
PAGE = ROOT / "CONTRIBUTING.md"
START, END = "<!-- map of the rooms: written by `make map` -->", "<!-- end of the map -->"
TOUR = {  # from the row update to a learning curve
    "lib/edgelaw/kaczmarz/compiled.py": "the row update, w ← w − η (u·w − t) u, as a loop over the rows of an epoch",
    "lib/edgelaw/orders.py": "in which order the rows come: IID, reshuffled, shuffled once, forwards and backwards",
    "lib/edgelaw/kaczmarz/simulation.py": "`simulate`: many starts and runs of that loop, and the means of losses",
    "lib/edgelaw/curves.py": "`LearningCurve`: two losses by epoch with their errors, simulated or computed",
    "lib/edgelaw/theory/iid.py": "what must come out as d grows: the same losses as an integral over decay rates",
}


def layers():
    """The layers of library and application as declared for import-linter, the lowest first; each a list of names."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    return [
        [f"{contract['containers'][0]}/{name}" for name in layer.split(" | ")]
        for contract in settings["contracts"]
        if contract["type"] == "layers" and "containers" in contract
        for layer in reversed(contract["layers"])
    ]


def place(name):
    """The folder or file of a room."""
    folder = LIBRARY / name
    return folder if folder.is_dir() else LIBRARY / f"{name}.py"


def first_line(path):
    """The first sentence of a module's or a package's docstring."""
    file = path / "__init__.py" if path.is_dir() else path
    docstring = ast.get_docstring(ast.parse(file.read_text())) or ""
    line = " ".join(docstring.split("\n\n")[0].split())
    return re.sub(r":\w+:`([^`]*)`|``([^`]*)``", lambda match: f"`{match[1] or match[2]}`", line)


def shown(path):
    """A path as the map shows it, from the root, a folder with a slash."""
    return f"`{path.relative_to(ROOT).as_posix()}{'/' if path.is_dir() else ''}`"


def table():
    """The rows of the map, the lowest layer first."""
    lines = ["| layer | room | what lives there |", "|---:|---|---|"]
    for level, names in enumerate(layers()):
        for name in names:
            lines.append(f"| {level} | {shown(place(name))} | {first_line(place(name))} |")
    ledger = LIBRARY / "edgelaw_ledger"
    lines.append(f"| {len(layers())} | {shown(ledger)} | {first_line(ledger)} |")
    return lines


def tour():
    """The files that a new reader takes first, with their lengths, rounded up so that small changes do not show."""
    lines = [
        "From the row update to a learning curve in five files:",
        "",
        "| file | lines, about | what it says |",
        "|---|---:|---|",
    ]
    for path, purpose in TOUR.items():
        count = len((ROOT / path).read_text().splitlines())
        lines.append(f"| `{path}` | {-50 * (-count // 50)} | {purpose} |")
    return [
        *lines,
        "",
        "One door further, `lib/edgelaw/exact/__init__.py` has the curves of every other spectrum.",
    ]


def page():
    """CONTRIBUTING.md with the map as it should be."""
    text = PAGE.read_text()
    if text.count(START) != 1 or text.count(END) != 1:
        sys.exit(f"CONTRIBUTING.md must hold the lines {START!r} and {END!r} once each.")
    before, rest = text.split(START)
    return "\n".join([before + START, "", *table(), "", *tour(), "", END]) + rest.split(END)[1]


def longest_function(path):
    """Lines of the longest function body of a module, docstring not counted, and its name."""
    longest = (0, "")
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            if body:
                longest = max(longest, (body[-1].end_lineno - body[0].lineno + 1, node.name))
    return longest


def sizes(lib):
    """A line per folder of a library: modules, lines, the longest function."""
    lines = [f"{'folder':<36} {'modules':>7} {'lines':>7}  longest function"]
    folders = sorted({path.parent for path in lib.rglob("*.py")})
    for folder in folders:
        modules = sorted(folder.glob("*.py"))
        count = sum(len(path.read_text().splitlines()) for path in modules)
        length, name = max(longest_function(path) for path in modules)
        lines.append(
            f"{folder.relative_to(lib).as_posix():<36} {len(modules):>7} {count:>7}  {length} ({name})"
        )
    return lines


def main():
    """Write the map, or compare it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--compare", action="store_true", help="write nothing; fail if the map is stale")
    parser.add_argument("--sizes", action="store_true", help="print modules, lines and longest functions")
    parser.add_argument("--lib", type=Path, default=ROOT / "lib", help="whose sizes (this checkout's lib)")
    arguments = parser.parse_args()
    if arguments.sizes:
        print("\n".join(sizes(arguments.lib)))
    elif arguments.compare:
        sys.exit("The map in CONTRIBUTING.md is stale: run make map." if page() != PAGE.read_text() else 0)
    else:
        PAGE.write_text(page())


if __name__ == "__main__":
    main()
