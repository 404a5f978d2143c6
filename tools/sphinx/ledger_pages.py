"""Sphinx extension: the ledger in the book. What a page says of claims, results and figures comes from data/.

The role ``{claim}`E12``` cites a claim as true, ``{claim}`!E12``` one that does not hold. ``{claims} 06_flip_flop``
shows a chapter's claims, ``{ledger} table`` (count, errata, additions) the parts of the claims page, ``{certificates}
edge`` a part of the enclosures, computed while the page is built, ``{results} boxes`` what the book states,
how it is known and where it is used, and ``{gallery} paper`` (new) the figures and tables of the paper beside ours, as
committed with the chapters. The build warns, and so fails, where a page and the ledger disagree.
"""

import base64
import functools
import hashlib
import html
import io
import json
import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from docutils import nodes
from docutils.statemachine import StringList
from PIL import Image
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole
from sphinx.util.nodes import make_refnode
from sphinx_proof.proof_type import ObservationDirective

import edgelaw_ledger as claims
from edgelaw_ledger import certificates, errata
from edgelaw_ledger import pages as marked
from sphinx import addnodes

logger = logging.getLogger(__name__)
CLAIMS, RESULTS, GALLERY = "reference/claims", "reference/results", "reference/gallery"
#: They name every statement, which is no use of it.
INDEXES = {CLAIMS, RESULTS, GALLERY, "reference/glossary", "reference/notation"}
SYMBOLS = {"holds": "✓", "fails": "✗", "imprecise": "≈", "open": "?"}
CONSEQUENCES = {
    1: "A result, a constant or a recommendation changes",
    2: "A proof, a condition or a remainder has to be repaired",
    3: "The wording, the notation or a scale",
}
VERDICTS = {
    "holds": "true as printed, under the paper's standing assumptions",
    "fails": "false as printed",
    "imprecise": "true only with a condition, a scale or a constant that is not stated",
    "open": "cannot be settled here",
}
PROVED = {"theorem", "proposition", "lemma", "corollary"}
OTHERS = {"conjecture", "result", "property", "criterion"}
STATUSES = ("proved", "cited", "derived", "fitted", "measured", "conjectured")
CHECKED = {"derived", "fitted", "measured"}  # what stands on numbers needs some
LARGE, SMALL = 1000, 360  # pixels: a counterpart of a figure of the paper, and one of the many small ones


# What is wrong with a page ---------------------------------------------------------------------------------


def stance_problem(text, ledger):
    """What is wrong with citing ``text`` ("E12" as true, "!E12" as not true), or None."""
    name = text.removeprefix("!")
    if name not in ledger:
        return f"the ledger has no claim {name!r}"
    if ledger[name].holds == (name == text):
        return None
    if name != text:
        return f"claim {name} is cited as one that does not hold, but it holds: write {{claim}}`{name}`"
    return f"claim {name} is cited as if it held, but it {ledger[name].verdict}: write {{claim}}`!{name}`"


class Box(NamedTuple):
    """A theorem-like box: its label, kind and title, and its statuses as written (one, if all is well)."""

    label: str
    kind: str
    title: list
    statuses: list


def box_problems(boxes, checks, known):
    """Why boxes do not say how they are known, or say it wrongly; ``checks`` has the ids of entries by label."""
    for label, names in sorted(checks.items()):
        for name in sorted(set(names) - set(known)):
            yield f"the box {label} is to be checked by {name}, which is no entry"
        if label not in {box.label for box in boxes}:
            yield f"there is no box {label}"
    for box in boxes:
        name = f"the {box.kind} {box.label}"
        if box.kind not in PROVED | OTHERS:
            continue
        if len(box.statuses) != 1 or box.statuses[0] not in STATUSES:
            yield f"{name} has no line 'Status: **word**', with one of {', '.join(STATUSES)}"
        elif box.kind in PROVED and box.statuses[0] not in ("proved", "cited"):
            yield f"{name} is {box.statuses[0]}: what is neither proved nor cited is a {{prf:observation}}"
        elif box.statuses[0] in CHECKED and not checks.get(box.label):
            yield f"{name} is {box.statuses[0]}, and no entry of data/additions.toml says what checks it"


def box_checks(path=None):
    """The ids of the entries that check a box, by its label; and of all that may."""
    additions = claims.additions(path)
    checks = {label: list(names) for label, names in claims.load_boxes(path).items()}
    for entry in additions:
        for label in re.findall(r"\{prf:ref\}`([^`]+)`", entry.see):
            checks[label] = [entry.id, *checks.get(label, [])]
    return checks, {*claims.IDS, *(entry.id for entry in additions), *claims.load_sentences(path)}


# Texts, in MyST --------------------------------------------------------------------------------------------


def badge(verdict):
    """A verdict in a word and a colour."""
    return f'<span class="verdict verdict-{verdict}">{SYMBOLS[verdict]} {verdict}</span>'


def plain(text):
    """A text without any markup, in MyST."""
    return re.sub(r"([\\`*_{}\[\]<>$|~#])", r"\\\1", text)


def known(entry, mark="**"):
    """How it is known: the kind, then what the check compares, or why there is none."""
    check = entry.function()
    told = check.__doc__ or "" if check else entry.reason
    return f"{mark}{entry.known}{mark}: " + told.split("\n\n")[0]


def measured(entry, evidence):
    """What was measured and what is stated, as a piece of a cell."""
    names = {"measured": "Measured", "claimed": "Stated", "tolerance": "Tolerance"}
    record = evidence.get(entry.id, {})
    return "claim-measured", plain(" ".join(f"{names[k]}: {v.removesuffix('.')}." for k, v in record.items()))


def said_and_true(claim):
    """What the paper says, then what is true."""
    return [claim.statement, ("claim-true", claim.correction)]


def enclosure(ball):
    """[mid ± radius], or [0 ± radius]."""
    text = ball.str(16).replace("+/-", "±").replace("[±", "[0 ±")
    return text if text.startswith("[") else f"[{text} ± 0]"


def statements(entry):
    """What the paper says of a quantity: a line per value, with the claims that state it."""
    lines = {}
    for paper in entry.papers:
        verdict = entry.verdict(paper)
        value = f"{'at least ' if paper.relation == '≥' else ''}{float(paper.value().mid()):.12g}"
        cited = f"{{claim}}`{'' if verdict == 'contained' else '!'}{paper.claim}`"
        lines.setdefault((verdict, value.replace("-0.", "−0.")), {})[cited] = None
    shown = {"contained": "contains", "excluded": "**excludes**"}
    return [f"{shown[verdict]} {value}: {' '.join(cited)}" for (verdict, value), cited in lines.items()]


def _controls(tally):
    """The search field and the buttons of the claims page, for assets/claims.js."""
    buttons = "".join(
        f'<button type="button" data-verdict="{verdict}" aria-pressed="{str(verdict == "all").lower()}">'
        f"{SYMBOLS.get(verdict, '')} {verdict} <small>{number}</small></button>"
        for verdict, number in tally.items()
    )
    return (
        '<script defer src="../_static/claims.js"></script>'
        '<div class="claims-controls" id="claims-controls" hidden>'
        '<input type="search" id="claims-search" placeholder="Search the claims, e.g. Lambert or D15"'
        f' aria-label="Search the claims"><div role="group" aria-label="Filter by verdict">{buttons}</div>'
        '<p id="claims-shown" aria-live="polite"></p></div>'
    )


# The paper's figures beside ours -----------------------------------------------------------------------------


def floats(root):
    """The paper's figures and tables, in its order, as data/gallery.toml has them."""
    return tomllib.loads((Path(root) / "data" / "gallery.toml").read_text(encoding="utf-8"))["float"]


def anchor(entry):
    """The place of a figure or table on the gallery page, e.g. ``paper-figure-3``."""
    unnumbered = "without" in entry["number"]
    name = f"table {entry['where']}" if unnumbered else entry["number"]
    return f"paper-{re.sub('[ .]', '-', name.lower())}"


def pictures(path):
    """A chapter's figures by name (caption, alternative text, picture) and everything it prints."""
    figures, printed = {}, []
    for cell in json.loads(Path(path).read_text(encoding="utf-8"))["cells"]:
        style = cell["metadata"].get("mystnb", {})
        for output in cell.get("outputs", []):
            if "figure" in style and "image/png" in output.get("data", {}):
                picture = base64.b64decode("".join(output["data"]["image/png"]))
                figure = (style["figure"]["caption"], style["image"]["alt"], picture)
                figures.setdefault(style["figure"]["name"], figure)
        printed.append("".join("".join(output.get("text", "")) for output in cell.get("outputs", [])))
    return figures, printed


def first_sentence(caption):
    """The beginning of a caption, up to a full stop outside of formulas and roles."""
    return re.match(r"(\$[^$]*\$|`[^`]*`|.)*?(\.(?=\s)|$)", caption, flags=re.S)[0]


def thumbnail(root, picture, width):
    """Write a picture, at most so wide, under _build; its address."""
    name = f"_build/gallery/{hashlib.sha256(picture).hexdigest()[:16]}-{width}.png"
    if not (root / name).exists():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        image = Image.open(io.BytesIO(picture)).convert("RGB")
        image.thumbnail((width, image.height), Image.Resampling.LANCZOS)
        image.quantize(32, dither=Image.Dither.NONE).save(root / name, optimize=True)
    return f"/{name}"


# The directives --------------------------------------------------------------------------------------------


class Part(SphinxDirective):
    """A part of a page, made of cells of MyST; a piece of a cell is a text, or a pair of a class and a text."""

    required_arguments = 1

    def run(self):
        """The part asked for."""
        folder, name = Path(self.env.srcdir) / "data", self.arguments[0]
        self.ledger, self.own = claims.load(folder / "claims.toml"), folder / "additions.toml"
        recorded = folder / "evidence.json"
        self.evidence = json.loads(recorded.read_text(encoding="utf-8")) if recorded.exists() else {}
        if self.name == "claims":
            return self.chapter(name)
        if self.name == "certificates" and name in certificates.PARTS:
            return self.enclosures(name)
        part = getattr(self, f"{self.name}_{name}", None)
        if part is None:
            raise self.error(f"{{{self.name}}} has no part {name!r}")
        return list(part())

    @functools.cached_property
    def drawn(self):
        """What each chapter draws and prints, in the order of the book."""
        root = Path(self.env.srcdir)
        names = re.findall(r"file: chapters/(\S+)", (root / "_toc.yml").read_text())
        return {name: pictures(root / "chapters" / f"{name}.ipynb") for name in names}

    def text(self, text, style=""):
        """MyST as nodes, each with a class."""
        box = nodes.Element()
        self.state.nested_parse(StringList(text.splitlines(), __file__), self.content_offset, box)
        for node in box.children if style else ():
            node["classes"].append(style)
        return box.children

    def cell(self, pieces):
        """A cell of a table."""
        pairs = [("", piece) if isinstance(piece, str) else piece for piece in pieces]
        return nodes.entry("", *[node for style, text in pairs if text for node in self.text(text, style)])

    def table(self, widths, heads, rows, *classes):
        """A table; ``rows`` yields (id of the row, its classes, cells)."""
        group = nodes.tgroup("", *[nodes.colspec(colwidth=width) for width in widths], cols=len(widths))
        head = nodes.row("", *[nodes.entry("", nodes.paragraph("", text)) for text in heads])
        body = [
            nodes.row("", *map(self.cell, cells), ids=[name] if name else [], classes=list(styles))
            for name, styles, cells in rows
        ]
        group += [nodes.thead("", head), nodes.tbody("", *body)]
        return nodes.table("", group, classes=["colwidths-given", "claims", *classes])

    def section(self, title, name, *content):
        """A section with a title that may contain formulas."""
        words = self.text(title)[0].children
        section = nodes.section("", nodes.title("", "", *words), *content, ids=[name], names=[name])
        self.state.document.note_explicit_target(section)
        return section

    def page(self, name):
        """A link to a page of the book; its name where it is none."""
        return f"{{doc}}`/{name}`" if name in self.env.found_docs else f"`{name}`"

    def quoted(self, text):
        """A sentence or a row of a table as it is printed: links to pages and works, other roles as plain words."""

        def words(role):
            if role[1] == "doc" and role[3] in self.env.found_docs:
                return f"{{doc}}`/{role[3]}`"
            known = role[1].startswith("cite:") and "sphinxcontrib.bibtex" in self.env.app.extensions
            return role[0] if known else role[2] or role[3]

        text = re.sub(r"\$[^$]*\$| \| ", lambda match: " – " if match[0] == " | " else match[0], text)
        text = re.sub(r"\{([\w:]+)\}`(?:([^`<]*?)\s*<[^`>]*>|([^`]*))`", words, text)
        return re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)

    def chapter(self, name):
        """A row per claim of a chapter: what the paper says, and what is true."""
        entries = [claim for claim in self.ledger.values() if claim.chapter == name]
        if not entries:
            logger.warning(f"no claim has the chapter {name!r}", location=self.get_location())
        rows = [
            ("", (), [[f"{{claim-row}}`{claim.id}` {badge(claim.verdict)}"], said_and_true(claim)])
            for claim in entries
        ]
        return [
            self.table((14, 86), ("claim", "what the paper says, and what is true"), rows, "chapter-claims")
        ]

    def ledger_count(self):
        """How many claims there are and how they came out."""
        tally, total = claims.counts(self.ledger.values()), len(self.ledger)
        lines = [f"- {badge(name)} {count} of {total}: {VERDICTS[name]}." for name, count in tally.items()]
        return self.text("\n".join(lines), "verdict-counts")

    def ledger_table(self):
        """Search, filter, and a table per group."""
        tally = {"all": len(self.ledger), **claims.counts(self.ledger.values())}
        parts = [nodes.raw("", _controls(tally), format="html")]
        for letter, title in claims.GROUPS.items():
            rows = [self.row(claim) for claim in self.ledger.values() if claim.group == letter]
            if rows:
                heads = ("claim", "what the paper says, what is true, and how we know")
                table = self.table((14, 86), heads, rows, "all-claims")
                parts.append(self.section(f"{letter}. {title}", f"claims-{letter.lower()}", table))
        return parts

    def row(self, claim):
        """A claim's row; its evidence folded, its TeX kept for the search."""
        source = html.escape(" ".join(f"{claim.statement} {claim.correction}".split()))
        place = self.page(f"chapters/{claim.chapter}")
        pieces = [
            ("claim-where", claim.where),
            *said_and_true(claim),
            "<details><summary>evidence</summary>",
            known(claim),
            measured(claim, self.evidence),
            ("claim-check", claim.check and f"Check: `{claim.check}`"),
            ("claim-quote", f"In the paper's words: `` {claim.quote} ``"),
            "</details>",
            f'<div hidden class="claim-source">{source}</div>',
            ("claim-chapter", f"Discussed in {place}{{cited-in}}`{claim.id}`"),
        ]
        first = f'<span class="claim-id">{claim.id}</span> {badge(claim.verdict)}'
        return f"claim-{claim.id.lower()}", ("claim-row", f"row-{claim.verdict}"), [[first], pieces]

    def ledger_errata(self):
        """What the paper's author would change: one row per mistake, the gravest first."""
        path = self.own.with_name("errata.toml")
        entries, parts = errata.load(self.ledger, path if path.exists() else None), []
        for rank, title in CONSEQUENCES.items():
            ranked = [entry for entry in entries if entry.rank(self.ledger) == rank]
            counts = {"mistake": len(ranked), "claim": sum(len(entry.claims) for entry in ranked)}
            number = ", ".join(f"{n} {word}{'s' if n > 1 else ''}" for word, n in counts.items())
            heads = ("where", "what is printed, what to change, how we know")
            table = self.table((24, 76), heads, map(self.erratum, ranked), "errata")
            if ranked:
                parts.append(self.section(f"{title} ({number})", f"errata-{rank}", table))
        return parts

    def erratum(self, entry):
        """One mistake: its claims and places; the paper's words, what to change, how it is known."""
        where, told = [], [self.ledger[name] for name in entry.claims]
        for claim in told:
            where += [f"{{claim-row}}`{claim.id}` {badge(claim.verdict)}", ("claim-where", claim.where)]
        where.append(("claim-data", entry.data))
        what = ["**Printed:**"]
        for passage in entry.printed:
            formula = errata.displayed(passage)
            lines = (f"$$\n{formula}\n$$" if formula else errata.sentence(passage)).splitlines()
            what.append(("claim-printed", "\n".join(f"> {line}" for line in lines)))
        what += [f"**Change:** {entry.correction(self.ledger)}", f"**How we know:** {known(told[0], '*')}"]
        word = {"proved": "Proof", "derived": "Derivation"}.get(told[0].known, "See")
        shown = f"{word}: {entry.proof}. " if entry.proof else ""
        shown += f"Discussed in {self.page(f'chapters/{told[0].chapter}')}{{cited-in}}`{told[0].id}`."
        checked = " ".join(claim.id for claim in told if claim.check)
        shown += f" Run the checks: `python -m edgelaw_ledger {checked}`." if checked else ""
        return "", (), [where, [*what, measured(told[0], self.evidence), ("claim-chapter", shown)]]

    def ledger_additions(self):
        """What the book has and the paper has not; then the book's own sentences as they are printed."""
        rows, heads = [], ("what the paper lacks", "how certain it is")
        for entry in claims.additions(self.own):
            seen = f"{entry.see}, in {self.page(f'chapters/{entry.chapter}')}"
            what = [f"**{entry.title}**", entry.statement, seen]
            rows.append((f"addition-{entry.id}", (), [what, [known(entry), measured(entry, self.evidence)]]))
        return [self.table((55, 45), heads, rows, "additions"), self.sentences()]

    def sentences(self):
        """Each sentence that states a result, with its status, its evidence and its place."""
        entries, rows = claims.load_sentences(self.own), []
        tally = claims.status_counts(entries.values())
        text = self.text(
            "Sentences of the book that state a result, among them every bullet of a chapter's summary and every row "
            "of the table of advice, each with its check: "
            f"{len(entries)} sentences, of which {', '.join(f'{n} {status}' for status, n in tally.items())}. "
            "`python -m edgelaw_ledger 03-1` runs the check of one."
        )
        for entry in entries.values():
            second = [self.quoted(entry.text), known(entry), measured(entry, self.evidence)]
            cells = [[f'<span class="claim-id">{entry.id}</span>']]
            cells.append([*second, ("claim-chapter", f"In {self.page(entry.place)}")])
            rows.append((f"sentence-{entry.id}", (), cells))
        table = self.table((14, 86), ("sentence", "what is printed, and how we know"), rows, "sentences")
        return self.section("Sentence by sentence", "claims-sentences", *text, table)

    def results_boxes(self):
        """What the book states, once all pages are read."""
        return [later("", fill=_results, about="")]

    def certificates_count(self):
        """How many enclosures there are, of how many claims."""
        found = {"contained": set(), "excluded": set()}
        entries = certificates.certificates()
        for entry in entries:
            for paper in entry.papers:
                found[entry.verdict(paper)].add(paper.claim)
        return self.text(
            f"The page has {len(entries)} enclosures. The numbers of {len(found['contained'])} claims are contained "
            f"in theirs; those of {len(found['excluded'])} claims are excluded."
        )

    def enclosures(self, part):
        """A table of certificates: the ball, our number, and what the paper says."""
        rows = []
        for entry in (entry for entry in certificates.certificates() if entry.part == part):
            ours = [] if entry.ours is None else [f"ours {entry.ours:.15g}".replace("-0.", "−0.")]
            cells = [[entry.quantity], [f"`{enclosure(entry.ball)}`", *ours], statements(entry)]
            rows.append(("", (), cells))
        heads = ("quantity", "enclosure, and our number", "what the paper says")
        return [self.table((28, 39, 33), heads, rows, "certificates")]

    def picture(self, stem, name, width):
        """A figure of a chapter, small, linked to the cell that makes it."""
        _, alt, picture = self.drawn[stem][0][name]
        image = nodes.image("", uri=thumbnail(Path(self.env.srcdir), picture, width), alt=alt, loading="lazy")
        link = nodes.reference("", "", image, refuri=f"../chapters/{stem}.html#{name}", internal=True)
        return nodes.paragraph("", "", link)

    def gallery_paper(self):
        """A section per figure or table of the paper."""
        return [
            self.section(f"{e['number']}: {e['title']}", anchor(e), *self.counterpart(e))
            for e in floats(self.env.srcdir)
        ]

    def counterpart(self, entry):
        """What the paper's caption says, what ours shows, and ours."""
        stem = entry["chapter"]
        yield from self.text(f"**The paper, {entry['where']}:** “{entry['caption']}”", "gallery-paper")
        yield from self.text(f"**Here:** {entry['ours'].strip()}")
        for name in entry.get("figures", ()):
            yield nodes.container("", self.picture(stem, name, LARGE), classes=["gallery-figure"])
        for words in entry.get("outputs", ()):
            [printed] = [text for text in self.drawn[stem][1] if words in text]
            yield nodes.literal_block(printed, printed.rstrip(), language="none")
        target, word = (entry["figures"][0], "draws") if "figures" in entry else (entry["table"], "prints")
        link = f'<a class="reference internal" href="../chapters/{stem}.html#{target}">The cell that {word} it</a>'
        yield from self.text(f"{link}, in {self.page(f'chapters/{stem}')}")

    def gallery_new(self):
        """A grid per chapter: its figures that the paper has no counterpart of, small."""
        taken = {name for entry in floats(self.env.srcdir) for name in entry.get("figures", ())}
        for stem, (figures, _) in self.drawn.items():
            items = [
                nodes.list_item("", self.picture(stem, name, SMALL), *self.text(first_sentence(caption)))
                for name, (caption, *_) in figures.items()
                if name not in taken
            ]
            if items:
                yield from self.text(f"**{self.page(f'chapters/{stem}')}**", "gallery-chapter")
                yield nodes.bullet_list("", *items, classes=["gallery-grid"])


class ClaimRole(SphinxRole):
    """``{claim}`E12``` or ``{claim}`!E12```: a claim with its verdict, linked to its row; ``{claim-row}``: the link."""

    def run(self):
        """The citation, or a warning (which the build treats as an error) where its stance is wrong."""
        ledger = claims.load(Path(self.env.srcdir) / "data" / "claims.toml")
        citing = self.name == "claim"
        if citing and (problem := stance_problem(self.text, ledger)):
            logger.warning(problem, location=self.get_location())
        claim = ledger.get(self.text.removeprefix("!"))
        if claim is None:
            return [nodes.Text(self.text)], []
        link = addnodes.pending_xref(
            "", refdomain="", reftype="claim", reftarget=claim.id, refwarn=True, citing=citing
        )
        link["reftitle"] = f"{claim.id} {claim.verdict}: {re.sub(r'[$`*]', '', claim.where)}"
        link += nodes.inline("", claim.id, classes=["claim-id"])
        if citing:
            style = ["verdict", "verdict-small", f"verdict-{claim.verdict}"]
            link += nodes.inline("", SYMBOLS[claim.verdict], classes=style)
        return [link], []


class Result(ObservationDirective):
    """``{prf:observation} Result (derived): title``, which readers see as "Result 3.1 (derived: title)"."""

    def run(self):
        """The box, under its own name."""
        self.arguments = [re.sub(r"^Result \((\w+)\): *", r"\1: ", text) for text in self.arguments]
        [node] = super().run()
        node["realtype"] = self.env.proof_list[node["label"]]["realtype"] = "result"
        return [node]


# Who refers to what, known when all pages are read ---------------------------------------------------------


class later(nodes.Inline, nodes.Element):
    """Stands for what ``fill(app, docname, about)`` makes once all pages are read."""


class Page(NamedTuple):
    """The boxes of a page, and what its sections refer to, as (claim or label, place, title of the section)."""

    boxes: list
    references: list


def _pages(env):
    """What was collected so far, in the order of the table of contents."""
    if not hasattr(env, "ledger_pages"):
        env.ledger_pages = {}
    listed = [env.config.root_doc]
    for name in listed:
        listed += [child for child in env.toctree_includes.get(name, []) if child not in listed]
    return {name: env.ledger_pages[name] for name in listed if name in env.ledger_pages}


def _pieces(title):
    """A title as pairs (whether it is a formula, its text), which can be compared and kept."""
    return tuple((isinstance(child, nodes.math), child.astext()) for child in title.children)


def _above(node):
    """The section and the label of the box that a node stands in."""
    label, node = "", node.parent
    while node is not None:
        if node.get("realtype") and not label:
            label = node.get("label", "")
        if isinstance(node, nodes.section) and len(node) and isinstance(node[0], nodes.title):
            return node["ids"][0], _pieces(node[0]), label
        node = node.parent
    return "", (), label


def _boxes(doctree):
    """The theorem-like boxes of a page."""
    for node in doctree.findall(nodes.Element):
        if node.get("realtype") and node.get("label"):
            statuses = [
                strong.astext()
                for strong in node.findall(nodes.strong)
                if re.search(r"(^|\n)Status: $", strong.parent.astext().split(strong.astext())[0])
            ]
            title = [child.deepcopy() for child in node[0].children]
            yield Box(node["label"], node["realtype"], title, statuses)


def _collect(app, doctree):
    """Remember a page's boxes, and in which sections it refers to which claims and boxes."""
    references = {}
    for link in doctree.findall(addnodes.pending_xref):
        kind, (place, title, box) = (link.get("refdomain"), link.get("reftype")), _above(link)
        if link.get("citing") or (kind == ("prf", "ref") and box != link["reftarget"]):
            references[link["reftarget"], place, title] = None
    _pages(app.env)
    app.env.ledger_pages[app.env.docname] = Page(list(_boxes(doctree)), list(references))


def _judge(app, env):
    """Warn where a box does not say how it is known; remember which entries check it."""
    path = Path(env.srcdir) / "data" / "additions.toml"
    env.ledger_checks, entries = box_checks(path) if path.exists() else ({}, ())
    boxes = [box for page in _pages(env).values() for box in page.boxes]
    for complaint in box_problems(boxes, env.ledger_checks, entries):
        logger.warning("%s", complaint)


def _links(app, here, target):
    """Where a claim or a label is referred to, in the order of the book, as links with semicolons between them."""
    parts, pages = [], _pages(app.env)
    skipped = {CLAIMS} if target in claims.IDS else INDEXES
    uses = [(name, *use) for name in pages if name not in skipped for use in pages[name].references]
    for name, _, place, title in (use for use in uses if use[1] == target):
        shown = [nodes.math("", text) if formula else nodes.Text(text) for formula, text in title]
        number, top = re.match(r"chapters/(\d+)_", name), app.env.titles[name]
        if name != here and (number or title != _pieces(top)):  # not before the first section of another page
            words = f"chapter {int(number[1])}" if number else re.split("[:,]", top.astext())[0]
            shown.insert(0, nodes.Text(f"{words}, "))
        link = make_refnode(app.builder, here, name, place, nodes.inline("", "", *shown))
        parts += [nodes.Text("; "), link] if parts else [link]
    return parts


def _status(app, here, box):
    """How a box is known, in nodes: its status, and the entries that check it."""
    if len(box.statuses) != 1:
        return []
    status, parts = box.statuses[0], [nodes.Text(": ")]
    parts.append(nodes.inline("", status, classes=["box-status", f"status-{status}"]))
    for i, name in enumerate(app.env.ledger_checks.get(box.label, ())):
        parts.append(nodes.Text(", " if i else ", checked by "))
        kind = "claim" if name in claims.IDS else "sentence" if re.search(r"-\d+$", name) else "addition"
        anchor = f"{kind}-{name.lower()}"
        parts.append(make_refnode(app.builder, here, CLAIMS, anchor, nodes.literal("", name)))
    return parts


def _entries(app, here, page):
    """The lines of a page in the list of results: link, how it is known, places of use."""
    for box in page.boxes:
        if re.fullmatch(r"\w+-\d+", box.label):  # a box that nothing can refer to
            continue
        node = addnodes.pending_xref("", refdomain="prf", refexplicit=False, reftarget=box.label)
        link = app.env.get_domain("prf").resolve_xref(
            app.env, here, app.builder, "ref", box.label, node, nodes.inline("", box.label)
        )
        title = [child.deepcopy() for child in box.title]
        line = nodes.paragraph("", "", link, nodes.Text(" "), *title, *_status(app, here, box))
        line += nodes.Text(".")
        if used := _links(app, here, box.label):
            line += nodes.inline("", "", nodes.Text(" Used in "), *used, classes=["used-in"])
        yield nodes.list_item("", line)


def _results(app, here, _about):
    """The list of results: how many are known in which way, then page by page."""
    pages = _pages(app.env)
    tally = Counter(s for page in pages.values() for box in page.boxes for s in box.statuses)
    shown = ", ".join(f"{tally[status]} {status}" for status in STATUSES if tally[status])
    blocks = [nodes.paragraph("", f"{tally.total()} statements: {shown}.")]
    for name, page in pages.items():
        if items := list(_entries(app, here, page)):
            number = re.match(r"chapters/(\d+)_", name)
            words = (f"{int(number[1])}. " if number else "") + app.env.titles[name].astext()
            link = make_refnode(app.builder, here, name, "", nodes.inline("", words))
            blocks.append(nodes.paragraph("", "", nodes.strong("", "", link), classes=["gallery-chapter"]))
            blocks.append(nodes.bullet_list("", *items, classes=["results"]))
    return blocks


def _cited_in(app, here, claim):
    """Who cites a claim, for the end of a sentence."""
    links = _links(app, here, claim)
    return [nodes.Text("; cited in "), *links] if links else []


def _fill(app, doctree, docname):
    """Write the lists, who cites a claim, and under every box where it is used."""
    for place in list(doctree.findall(later)):
        place.replace_self(place["fill"](app, docname, place["about"]))
    for node in list(doctree.findall(nodes.Element)):
        stated = node.get("realtype") and node.get("label") and isinstance(node[-1], nodes.section)
        if stated and (used := _links(app, docname, node["label"])):
            node[-1] += nodes.paragraph("", "", nodes.Text("Used in: "), *used, classes=["used-in"])


def _point_back(app, doctree, docname):
    """Under a figure that has a counterpart in the paper: which one, and a link to the gallery."""
    figures = list(doctree.findall(nodes.figure)) if docname.startswith("chapters/") else ()
    for figure in figures:
        links = [
            make_refnode(
                app.builder, docname, GALLERY, anchor(entry), nodes.inline("", entry["number"].lower())
            )
            for entry in floats(app.srcdir)
            if docname == f"chapters/{entry['chapter']}"
            and set(entry.get("figures", ())) & set(figure["ids"])
        ]
        if links:
            line = nodes.paragraph("", "In the paper: ", links[0], classes=["paper-counterpart"])
            for link in links[1:]:
                line += [nodes.Text(", "), link]
            figure += nodes.legend("", line)


def _resolve(app, env, node, content):
    """A citation becomes a link to the claim's row."""
    if node.get("reftype") != "claim":
        return None
    row, shown = f"claim-{node['reftarget'].lower()}", [child.deepcopy() for child in node.children]
    link = make_refnode(app.builder, node["refdoc"], CLAIMS, row, shown, node["reftitle"])
    link["classes"].append("claim")
    return link


def _say_counts(_app, config):
    """Let every page say how many claims there are, and how many of each verdict, without writing the number."""
    ledger = claims.load()
    counts = {"total": len(ledger), **claims.counts(ledger.values())}
    config.myst_substitutions |= {f"claims_{name}": number for name, number in counts.items()}


def _no_aliases(_app, _what, _name, member, skip, _options):
    """Leave out the fields of named tuples, documented as "Alias for field number 0": their class lists them."""
    return True if (getattr(member, "__doc__", None) or "").startswith("Alias for field number") else skip


def _unmarked(_app, _docname, source):
    """The text of a page without the markers of its results, which are no readers' business."""
    source[0] = marked.MARKER.sub("", source[0])


def setup(app):
    """Register the roles, the directives, and what has to happen once all pages are read."""
    app.setup_extension("sphinx_proof")
    app.setup_extension("sphinx.ext.autodoc")
    app.add_directive_to_domain("prf", "observation", Result, override=True)
    for name in ("claims", "ledger", "certificates", "results", "gallery"):
        app.add_directive(name, Part)
    app.add_role("claim", ClaimRole())
    app.add_role("claim-row", ClaimRole())
    app.add_role("cited-in", lambda _role, _raw, text, *_: ([later("", fill=_cited_in, about=text)], []))
    app.add_node(later)
    app.connect("config-inited", _say_counts)
    app.connect("source-read", _unmarked)
    app.connect("doctree-read", _collect)
    app.connect("env-updated", _judge)
    app.connect("missing-reference", _resolve)
    app.connect("doctree-resolved", _fill)
    app.connect("doctree-resolved", _point_back)
    app.connect("autodoc-skip-member", _no_aliases)
    return {"parallel_read_safe": False}
