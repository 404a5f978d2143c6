"""The theorem-like boxes of the book and how each is known, read from its pages.

The last line of a box says it: ``Status: **proved**.`` A theorem, proposition, lemma or corollary is proved here or
cited; what is not is a result (``{prf:observation}``, which readers see as "Result") or a conjecture. A result has an
entry of a ledger that checks it: an addition to the paper whose ``see`` names the box, or a ``[[box]]`` of
data/additions.toml.
"""

import re
from typing import NamedTuple

from markdown_it import MarkdownIt
from mdit_py_plugins.colon_fence import colon_fence_plugin

import edgelaw_ledger as claims
from edgelaw_ledger import pages as marked

PARSER = MarkdownIt("commonmark").use(colon_fence_plugin)
OPTION = re.compile(r":([\w-]+):[ \t]*(.*)")
PROVED = {"theorem", "proposition", "lemma", "corollary"}
OTHERS = {"conjecture", "observation", "property", "criterion"}
CHECKED = {"derived", "fitted", "measured"}  # what stands on numbers needs some
STATUSES = ("proved", "cited", "derived", "fitted", "measured", "conjectured")
STATUS = re.compile(r"^Status: \*\*([^*]+)\*\*", flags=re.M)


class Box(NamedTuple):
    """A box: its label, its kind, its statuses as written (one, if all is well), its page."""

    label: str
    kind: str
    statuses: tuple
    place: str


def _directive(token):
    """The name of the directive that a fence is, its options and its content; the name is empty for code."""
    name = re.match(r"\{([\w:-]+)\}", token.info.strip())
    if not name:
        return "", {}, ""
    lines = token.content.split("\n")
    count = next((i for i, line in enumerate(lines) if not OPTION.fullmatch(line)), len(lines))
    return name[1], dict(OPTION.fullmatch(line).groups() for line in lines[:count]), "\n".join(lines[count:])


def _in_text(text, place):
    """The boxes of a MyST text, those inside other directives too."""
    for token in PARSER.parse(text):
        if token.type in ("fence", "colon_fence"):
            name, options, content = _directive(token)
            kind = name.removeprefix("prf:")
            if name.startswith("prf:") and kind in PROVED | OTHERS:
                yield Box(options.get("label", ""), kind, tuple(STATUS.findall(content)), place)
            elif name:
                yield from _in_text(content, place)


def read(pages):
    """The boxes of some pages, given as pairs of (place, path)."""
    return [box for place, path in pages for text in marked.pieces(path) for box in _in_text(text, place)]


def entries(path=None):
    """The ids of the ledgers' entries that check a box, by its label."""
    checks = {}
    for addition in claims.additions(path):
        for label in re.findall(r"\{prf:ref\}`([^`]+)`", addition.see):
            checks.setdefault(label, []).append(addition.id)
    for label, names in claims.load_boxes(path).items():
        checks.setdefault(label, []).extend(names)
    return checks


def known_entries(path=None):
    """The ids of all entries that may check a box."""
    return {*claims.IDS, *(entry.id for entry in claims.additions(path)), *claims.load_sentences(path)}


def problems(boxes, checks, known):
    """Boxes that do not say how they are known, or say it wrongly, as pairs of (place, complaint)."""
    complaints = [
        ("data/additions.toml", f"the box {label} is to be checked by {name}, which is no entry")
        for label, names in sorted(checks.items())
        for name in names
        if name not in known
    ]
    for box in boxes:
        name = f"the {box.kind} {box.label or 'without a label'}"
        if len(box.statuses) != 1 or box.statuses[0] not in STATUSES:
            text = f"{name} has no line 'Status: **word**', with one of {', '.join(STATUSES)}"
        elif box.kind in PROVED and box.statuses[0] not in ("proved", "cited"):
            text = f"{name} is {box.statuses[0]}: what is neither proved nor cited is a {{prf:observation}}"
        elif box.statuses[0] in CHECKED and not checks.get(box.label):
            text = f"{name} is {box.statuses[0]}, and no entry of data/additions.toml says what checks it"
        else:
            continue
        complaints.append((box.place, text))
    for label in sorted(set(checks) - {box.label for box in boxes}):
        complaints.append(("data/additions.toml", f"there is no box {label}"))
    return complaints
