"""Ways through the book: what a chapter needs, what comes next, and where a symbol is."""

import re
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parents[2]
TOC = re.findall(r"(?:root|file): (\S+)", (ROOT / "_toc.yml").read_text())
CHAPTERS = [name for name in TOC if name.startswith("chapters/")]
NUMBERED = [name for name in CHAPTERS if re.match(r"chapters/\d", name)]

BOX = re.compile(r"^:::\{container\} reading-order\n(.*?)\n:::$", flags=re.S | re.M)
ROLE = re.compile(r"\{(prf:ref|eq|numref|ref|doc|term)\}`([^`]+)`")


def source(name):
    return ROOT / f"{name}.ipynb" if name.startswith("chapters/") else ROOT / f"{name}.md"


def cells(name):
    """The markdown of a page in pieces: a notebook's cells (with the captions of its figures), or a page's sections."""
    path = source(name)
    if path.suffix == ".md":
        return [path.read_text()]
    pieces = []
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            pieces.append(cell.source)
        elif "figure" in cell.metadata.get("mystnb", {}):
            figure = cell.metadata["mystnb"]["figure"]
            pieces.append(f"({figure['name']})=\n{figure['caption']}")
    return pieces


def target(text):
    """What a role points at: `label`, or the label of `words <label>`."""
    named = re.fullmatch(r".*<([^<>]+)>", text, flags=re.S)
    return " ".join((named[1] if named else text).split())


# --------------------------------------------------------------------------------- what it needs, what is next


def missing(name, pieces, following=None):
    """What a chapter does not say about its place in the book, in words."""
    faults = []
    opening = next((piece for piece in pieces[:5] if "What you will learn" in piece), pieces[0])
    top, last = BOX.search(opening), BOX.search(pieces[-1])
    if not top:
        faults.append("no box ':::{container} reading-order' follows 'What you will learn' in its cell")
    else:
        if not re.match(r"\*\*Needs:\*\* \S", top[1]):
            faults.append("the box after 'What you will learn' does not begin with '**Needs:** ...'")
        if "What you will learn" not in opening[: top.start()]:
            faults.append("the box does not come after 'What you will learn'")
        if not re.search(r"^\*\*Next:\*\* \S", top[1], flags=re.M):
            faults.append("the box after 'What you will learn' has no line '**Next:** ...'")
    if not last or not re.match(r"\*\*Next:\*\* \S", last[1]):
        faults.append(
            "the last cell is not a box ':::{container} reading-order' that begins with '**Next:** ...'"
        )
    for place, box in (("opening", top), ("last", last)):
        after = box[1].split("**Next:**")[-1] if box else ""
        links = {target(text).split("/")[-1] for role, text in ROLE.findall(after) if role == "doc"}
        if box and not links:
            faults.append(f"'Next' in the {place} cell links to no chapter, by {{doc}}")
        if box and following and following.split("/")[-1] not in links:
            faults.append(f"'Next' in the {place} cell does not name the chapter that follows, {following}")
    return [f"{name}: {fault}" for fault in faults]


def test_every_chapter_says_what_it_needs_and_what_comes_next():
    complaints = []
    for name in CHAPTERS:
        after = NUMBERED[NUMBERED.index(name) + 1] if name in NUMBERED[:-1] else None
        complaints += missing(name, cells(name), after)
    assert complaints == []


GOOD = [
    "# T\n\n**What you will learn**\n\n:::{container} reading-order\n**Needs:** nothing.\n\n**Next:** {doc}`b`.\n:::",
    ":::{container} reading-order\n**Next:** {doc}`b`.\n:::",
]


def test_a_chapter_that_does_not_say_it_is_caught():
    assert missing("a", GOOD, "chapters/b") == []
    for before, after, complaint in (
        (":::{container} reading-order\n**Needs", ":::{container} other\n**Needs", "no box ':::{container}"),
        ("**Needs:** nothing.\n", "Nothing.\n", "does not begin with '**Needs:**"),
        ("**What you will learn**", "", "does not come after"),
        ("nothing.\n\n**Next:** {doc}`b`.", "nothing.", "no line '**Next:**"),
        ("{doc}`b`", "b", "links to no chapter"),
        ("{doc}`b`", "{doc}`c`", "does not name the chapter that follows, chapters/b"),
    ):
        assert complaint in " ".join(
            missing("a", [piece.replace(before, after) for piece in GOOD], "chapters/b")
        )


# -------------------------------------------------------------------------------------------------- symbols


def labels(text):
    """Every label that a piece of text defines."""
    names = re.findall(r"^:label: (\S+)", text, flags=re.M)
    names += re.findall(r"^\(([\w-]+)\)=", text, flags=re.M) + re.findall(r"^:name: (\S+)", text, flags=re.M)
    return names + re.findall(r"^\$\$ \(([\w-]+)\)", text, flags=re.M)


def symbols():
    """Rows of the index of symbols: the symbol, and the label of its first use."""
    rows = []
    for line in (ROOT / "reference" / "notation.md").read_text().splitlines():
        parts = [part.strip() for part in line.strip().strip("|").split("|")]
        if line.startswith("| $"):
            assert len(parts) == 5, line
            first = re.match(r"\$(\\?[A-Za-z]+(?:_(?:\{[^}]*\}|\w))?)", parts[0])[1]
            _, text = ROLE.findall(parts[4])[-1]
            rows.append((first, target(text), parts[4]))
    return rows


def test_every_symbol_is_to_be_seen_where_its_link_leads():
    defined = {label: (name, piece) for name in TOC for piece in cells(name) for label in labels(piece)}
    rows, complaints = symbols(), []
    assert len(rows) >= 30
    for symbol, label, cell in rows:
        name, piece = defined[label]
        number = re.match(r"ch\. (\d+)", cell)
        chapter = f"chapters/{int(number[1]):02d}_" if number else "chapters/appendix"
        if symbol not in piece or not name.startswith(chapter):
            complaints.append(
                f"{symbol} is not in the piece of {name} that defines {label}, said to be in {cell}"
            )
    assert complaints == []
