"""Sphinx extension: the certificates page.

The directive ``{certificates} constants`` (or edge, expansions, sums) shows a part of the enclosures as a table,
``{certificates} count`` says how many there are. They are computed while the page is built, so python-flint must be
installed. Claims are cited by the role of `claims_pages`, contained ones as true and excluded ones as not: the build
fails when the ledger says otherwise.
"""

from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

from edgelaw_ledger import certificates as package

DIGITS = 16
HEADS = ("quantity", "enclosure, and our number", "what the paper says")


def enclosure(ball):
    """[mid ± radius], or [0 ± radius]."""
    text = ball.str(DIGITS).replace("+/-", "±").replace("[±", "[0 ±")
    return text if text.startswith("[") else f"[{text} ± 0]"


def _stated(paper):
    """The paper's value, as far as a double knows it."""
    value = float(paper.value().mid())
    return f"{'at least ' if paper.relation == '≥' else ''}{value:.12g}".replace("-0.", "−0.")


def statements(entry):
    """What the paper says of a quantity: a line per value, with the claims that state it."""
    lines = {}
    for paper in entry.papers:
        verdict = entry.verdict(paper)
        mark = "" if verdict == "contained" else "!"
        claims = lines.setdefault((verdict, _stated(paper)), [])
        if f"{{claim}}`{mark}{paper.claim}`" not in claims:
            claims.append(f"{{claim}}`{mark}{paper.claim}`")
    shown = {"contained": "contains", "excluded": "**excludes**"}
    return [f"{shown[verdict]} {value}: {' '.join(claims)}" for (verdict, value), claims in lines.items()]


def row(entry):
    """The three cells of a certificate, in MyST."""
    ours = "" if entry.ours is None else f"\n\n    ours {entry.ours:.15g}".replace("-0.", "−0.")
    stated = "\n\n    ".join(statements(entry)) or "–"
    return f"* - {entry.quantity}\n  - `{enclosure(entry.ball)}`{ours}\n  - {stated}"


def table(entries):
    """A list-table of certificates."""
    heads = "\n".join(("* - " if i == 0 else "  - ") + head for i, head in enumerate(HEADS))
    options = ":header-rows: 1\n:widths: 28 39 33\n:class: claims certificates"
    return f"````{{list-table}}\n{options}\n\n{heads}\n" + "\n".join(row(e) for e in entries) + "\n````"


class Certificates(SphinxDirective):
    """``{certificates} count|constants|edge|expansions|sums``."""

    required_arguments = 1

    def run(self):
        """The part asked for, parsed as a page's text is."""
        part = self.arguments[0]
        if part not in (*package.PARTS, "count"):
            raise self.error(f"there are no certificates {part!r}, only {', '.join(package.PARTS)} and count")
        for path in [Path(__file__), *Path(package.__file__).parent.glob("*.py")]:
            self.env.note_dependency(str(path))
        try:
            entries = package.certificates()
        except ModuleNotFoundError as problem:
            raise ExtensionError(str(problem)) from problem
        chosen = [entry for entry in entries if entry.part == part]
        text = self.count(entries) if part == "count" else table(chosen)
        node = nodes.Element()
        self.state.nested_parse(StringList(text.splitlines(), __file__), self.content_offset, node)
        return node.children

    def count(self, entries):
        """How many enclosures there are, of how many claims."""
        verdicts = {}
        for entry in entries:
            for paper in entry.papers:
                verdicts.setdefault(entry.verdict(paper), set()).add(paper.claim)
        contained, excluded = (len(verdicts[name]) for name in ("contained", "excluded"))
        return (
            f"The page has {len(entries)} enclosures. The numbers of {contained} claims are contained in theirs; "
            f"those of {excluded} claims are excluded."
        )


def setup(app):
    """Register the directive."""
    app.add_directive("certificates", Certificates)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
