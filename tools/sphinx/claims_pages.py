"""Sphinx extension: the ledger in the book.

The role ``{claim}`E12``` cites a claim as true, ``{claim}`!E12``` one that does not hold; the build fails when the
ledger says otherwise. The directive ``{claims} 06_flip_flop`` shows a chapter's claims, ``{ledger} table`` (or count,
errata, additions) the parts of the claims page. Every verdict comes from data/claims.toml, every measured value
from data/evidence.json, and the claims page lists the sections that cite each claim.
"""

import html
import json
import re
from pathlib import Path

from docutils import nodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole
from sphinx.util.nodes import make_refnode

import edgelaw_ledger as claims
from edgelaw_ledger import errata
from edgelaw_ledger import pages as marked
from sphinx import addnodes

logger = logging.getLogger(__name__)
PAGE = "reference/claims"
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


def stance_problem(text, ledger):
    """What is wrong with citing ``text`` ("E12" as true, "!E12" as not true), or None."""
    name = text.removeprefix("!")
    if name not in claims.IDS:
        return f"there is no claim {name!r}"
    if name not in ledger:
        return f"claim {name} has no entry in the ledger yet"
    verdict = ledger[name].verdict
    if text.startswith("!") and verdict == "holds":
        return f"claim {name} is cited as one that does not hold, but it holds: write {{claim}}`{name}`"
    if not text.startswith("!") and verdict != "holds":
        return (
            f"claim {name} is cited as if it held, but its verdict is {verdict!r}: write {{claim}}`!{name}`"
        )
    return None


def _ledger(env):
    """The ledger; whatever page asks is built anew when the ledger, a check or this extension changes."""
    folder = Path(env.srcdir) / "data"
    used = [folder / name for name in ("claims.toml", "evidence.json", "additions.toml")]
    used += [Path(__file__), *Path(claims.__file__).parent.rglob("*.py")]
    for path in used:
        env.note_dependency(str(path))
    return claims.load(folder / "claims.toml")


def _evidence(env):
    """What the checks measured when they were last recorded, by id."""
    path = Path(env.srcdir) / "data" / "evidence.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


# Small pieces of a page ------------------------------------------------------------------------------------


def _span(text, *classes):
    return nodes.inline("", text, classes=list(classes))


def _badge(verdict):
    return _span(f"{SYMBOLS[verdict]} {verdict}", "verdict", f"verdict-{verdict}")


def _raw(text):
    return nodes.raw("", text, format="html")


def _claim_link(claim, *content):
    """A link to the claim's row on the claims page, resolved when all pages are read."""
    reference = addnodes.pending_xref(
        "", reftype="claim", refdomain="", reftarget=claim.id, refexplicit=False, refwarn=True
    )
    reference["reftitle"] = f"{claim.id} {claim.verdict}: {re.sub(r'[$`*]', '', claim.where)}"
    reference += list(content)
    return reference


def _chapter_link(env, chapter):
    """A link to a chapter, by its title; plain words while the chapter is not there yet."""
    if f"chapters/{chapter}" not in env.found_docs:
        return _span(f"chapter {chapter}", "pending-chapter")
    reference = addnodes.pending_xref(
        "", reftype="doc", refdomain="std", reftarget=f"/chapters/{chapter}", refexplicit=False, refwarn=True
    )
    reference += nodes.inline("", chapter)
    return reference


def _table(widths, heads, rows, *classes):
    """A table of cells, each a list of nodes; ``rows`` yields (attributes of the row, cells)."""
    group = nodes.tgroup(cols=len(widths))
    group += [nodes.colspec(colwidth=width) for width in widths]
    head = nodes.row()
    head += [nodes.entry("", nodes.paragraph("", text)) for text in heads]
    group += nodes.thead("", head)
    body = nodes.tbody()
    for attributes, cells in rows:
        row = nodes.row("", **attributes)
        row += [nodes.entry("", *cell) for cell in cells]
        body += row
    group += body
    return nodes.table("", group, classes=["colwidths-given", *classes])


class _Ledger(SphinxDirective):
    """What the two directives share."""

    def inline(self, text):
        """MyST inline markup as nodes."""
        parsed, _messages = self.state.inline_text(" ".join(text.split()), self.lineno)
        return parsed

    def paragraph(self, *parts, classes=()):
        """A paragraph of texts (parsed) and nodes."""
        paragraph = nodes.paragraph("", classes=list(classes))
        for part in parts:
            paragraph += self.inline(part) if type(part) is str else part  # a Text node is a str too
        return paragraph

    def section(self, title, name):
        """A section with a title that may contain formulas."""
        section = nodes.section("", nodes.title("", "", *self.inline(title)), ids=[name], names=[name])
        self.state.document.note_explicit_target(section)
        return section

    def said_and_true(self, claim):
        """What the paper says, then what is true: in one cell, because formulas do not wrap."""
        paragraphs = [self.paragraph(claim.statement)]
        if claim.correction:
            paragraphs.append(self.paragraph(claim.correction, classes=["claim-true"]))
        return paragraphs

    def known(self, claim, style=nodes.strong):
        """How it is known: the kind, then what the check compares, or why there is none."""
        if not claim.check:
            return [style("", claim.known), nodes.Text(": "), *self.inline(claim.reason)]
        doc = " ".join((claim.function().__doc__ or "").split("\n\n")[0].split())
        return [style("", claim.known), nodes.Text(": "), *self.inline(doc)]

    def measured(self, claim, evidence):
        """What was measured and what is stated, as plain phrases."""
        record = evidence.get(claim.id)
        if not record:
            return []
        parts = [("Measured", "measured"), ("Stated", "claimed"), ("Tolerance", "tolerance")]
        text = " ".join(f"{word}: {str(record[key]).removesuffix('.')}." for word, key in parts)
        return [nodes.paragraph("", text, classes=["claim-measured"])]


# The directives --------------------------------------------------------------------------------------------


class ChapterClaims(_Ledger):
    """``{claims} 06_flip_flop``: the table of a chapter's claims."""

    required_arguments = 1

    def run(self):
        """A row a claim: id, what the paper says, verdict, what is true."""
        chapter = self.arguments[0]
        entries = [claim for claim in _ledger(self.env).values() if claim.chapter == chapter]
        if not entries:
            logger.warning(f"no claim has the chapter {chapter!r}", location=self.get_location())
        rows = []
        for claim in entries:
            link = _claim_link(claim, _span(claim.id, "claim-id"))
            first = [self.paragraph(link, nodes.Text(" "), _badge(claim.verdict))]
            rows.append(({}, [first, self.said_and_true(claim)]))
        heads = ("claim", "what the paper says, and what is true")
        return [_table((14, 86), heads, rows, "claims", "chapter-claims")]


class Ledger(_Ledger):
    """``{ledger} count|table|errata|additions``: the parts of the claims page."""

    required_arguments = 1

    def run(self):
        """The part asked for."""
        parts = {
            "count": self.count,
            "table": self.table,
            "errata": self.errata,
            "additions": self.additions,
        }
        if self.arguments[0] not in parts:
            raise self.error(f"the ledger has no part {self.arguments[0]!r}, only {', '.join(parts)}")
        return parts[self.arguments[0]]()

    def count(self):
        """How many claims there are and how they came out; what is missing is said, not left out."""
        ledger = _ledger(self.env)
        tally = claims.counts(ledger.values())
        items = nodes.bullet_list(classes=["verdict-counts"])
        for verdict, number in tally.items():
            text = f" {number} of {len(ledger)}: {VERDICTS[verdict]}."
            items += nodes.list_item("", self.paragraph(_badge(verdict), nodes.Text(text)))
        absent = claims.missing(ledger)
        if not absent:
            return [items]
        text = f"No entry yet: {', '.join(absent)}."
        return [items, nodes.warning("", nodes.paragraph("", text))]

    def table(self):
        """Search, filter, and a table a group."""
        ledger, evidence = _ledger(self.env), _evidence(self.env)
        tally = {"all": len(ledger), **claims.counts(ledger.values())}
        buttons = "".join(
            f'<button type="button" data-verdict="{verdict}" aria-pressed="{str(verdict == "all").lower()}">'
            f"{SYMBOLS.get(verdict, '')} {verdict} <small>{number}</small></button>"
            for verdict, number in tally.items()
        )
        controls = (
            '<div class="claims-controls" id="claims-controls" hidden>'
            '<input type="search" id="claims-search" placeholder="Search the claims, e.g. Lambert or D15"'
            ' aria-label="Search the claims">'
            f'<div role="group" aria-label="Filter by verdict">{buttons}</div>'
            '<p id="claims-shown" aria-live="polite"></p></div>'
        )
        parts = [_raw(controls)]
        for letter, title in claims.GROUPS.items():
            rows = [self.row(claim, evidence) for claim in ledger.values() if claim.group == letter]
            if rows:
                section = self.section(f"{letter}. {title}", f"claims-{letter.lower()}")
                heads = ("claim", "what the paper says, what is true, and how we know")
                section += _table((14, 86), heads, rows, "claims", "all-claims")
                parts.append(section)
        return parts

    def row(self, claim, evidence):
        """A claim's row; its evidence folded, its TeX kept for the search."""
        first = [self.paragraph(_span(claim.id, "claim-id"), nodes.Text(" "), _badge(claim.verdict))]
        second = [self.paragraph(claim.where, classes=["claim-where"]), *self.said_and_true(claim)]
        second.append(_raw("<details><summary>evidence</summary>"))
        second += [self.paragraph(*self.known(claim)), *self.measured(claim, evidence)]
        if claim.check:
            second.append(
                nodes.paragraph("", "Check: ", nodes.literal("", claim.check), classes=["claim-check"])
            )
        words = nodes.literal("", claim.quote)
        second.append(nodes.paragraph("", "In the paper's words: ", words, classes=["claim-quote"]))
        source = html.escape(f"{claim.statement} {claim.correction}")
        second.append(_raw(f'</details><span hidden class="claim-source">{source}</span>'))
        cited = nodes.paragraph("", classes=["claim-chapter"])
        cited += [nodes.Text("Discussed in "), _chapter_link(self.env, claim.chapter)]
        cited += cited_in("", claim=claim.id)
        second.append(cited)
        attributes = {
            "ids": [f"claim-{claim.id.lower()}"],
            "classes": ["claim-row", f"row-{claim.verdict}"],
        }
        return attributes, [first, second]

    def errata(self):
        """What the paper's author would change: one row per mistake, the gravest first."""
        ledger, evidence = _ledger(self.env), _evidence(self.env)
        path = Path(self.env.srcdir) / "data" / "errata.toml"
        self.env.note_dependency(str(path))
        entries = errata.load(ledger, path if path.exists() else None)
        parts = []
        for rank, title in CONSEQUENCES.items():
            ranked = [entry for entry in entries if entry.rank(ledger) == rank]
            if not ranked:
                continue
            count = sum(len(entry.claims) for entry in ranked)
            number = f"{len(ranked)} mistake{'s' if len(ranked) > 1 else ''}, {count} claim{'s' if count > 1 else ''}"
            section = self.section(f"{title} ({number})", f"errata-{rank}")
            rows = [({}, self.erratum(entry, ledger, evidence)) for entry in ranked]
            heads = ("where", "what is printed, what to change, how we know")
            section += _table((24, 76), heads, rows, "claims", "errata")
            parts.append(section)
        return parts

    def erratum(self, entry, ledger, evidence):
        """The two cells of one mistake: its claims and places; the paper's words, what to change, how it is known."""
        where = []
        for name in entry.claims:
            link = _claim_link(ledger[name], _span(name, "claim-id"))
            where.append(self.paragraph(link, nodes.Text(" "), _badge(ledger[name].verdict)))
            where.append(self.paragraph(ledger[name].where, classes=["claim-where"]))
        if entry.data:
            where.append(nodes.paragraph("", entry.data, classes=["claim-data"]))
        first = ledger[entry.claims[0]]
        what = [self.paragraph(nodes.strong("", "Printed:")), *self.printed(entry)]
        what.append(self.paragraph(nodes.strong("", "Change: "), entry.correction(ledger)))
        what.append(self.paragraph(nodes.strong("", "How we know: "), *self.known(first, nodes.emphasis)))
        what += self.measured(first, evidence)
        what.append(self.shown(entry, ledger))
        return [where, what]

    def printed(self, entry):
        """The paper's own words, a quotation per passage."""
        quotes = []
        for passage in entry.printed:
            formula = errata.displayed(passage)
            if formula is None:
                inside = self.paragraph(errata.sentence(passage))
            else:
                inside = nodes.math_block("", formula, nowrap=False, number=None, label=None)
            quotes.append(nodes.block_quote("", inside, classes=["claim-printed"]))
        return quotes

    def shown(self, entry, ledger):
        """Links to the proof or derivation, to the chapter and its sections, and the command that runs the checks."""
        first, parts = ledger[entry.claims[0]], []
        if entry.proof and "sphinx_proof" in self.env.app.extensions:
            word = {"proved": "Proof", "derived": "Derivation"}.get(first.known, "See")
            parts += [f"{word}: {entry.proof}.", nodes.Text(" ")]
        parts += [nodes.Text("Discussed in "), _chapter_link(self.env, first.chapter)]
        parts.append(cited_in("", claim=first.id))
        names = [name for name in entry.claims if ledger[name].check]
        if names:
            command = nodes.literal("", f"python -m edgelaw_ledger {' '.join(names)}")
            parts += [nodes.Text(". Run the checks: "), command]
        return self.paragraph(*parts, nodes.Text("."), classes=["claim-chapter"])

    def additions(self):
        """What the book has and the paper has not, each with its evidence and how certain it is."""
        _ledger(self.env)
        evidence, rows = _evidence(self.env), []
        for entry in claims.additions(Path(self.env.srcdir) / "data" / "additions.toml"):
            what = [self.paragraph(nodes.strong("", entry.title)), self.paragraph(entry.statement)]
            seen = self.paragraph(entry.see, nodes.Text(", in "), _chapter_link(self.env, entry.chapter))
            how = [self.paragraph(*self.known(entry)), *self.measured(entry, evidence)]
            rows.append(({"ids": [f"addition-{entry.id}"]}, [[*what, seen], how]))
        heads = ("what the paper lacks", "how certain it is")
        return [_table((55, 45), heads, rows, "claims", "additions"), self.sentences(evidence)]

    def sentences(self, evidence):
        """The book's own sentences as they are printed, each with its status, its evidence and its place."""
        root = Path(self.env.srcdir)
        for path in marked.sources(root):
            self.env.note_dependency(str(path))
        entries = claims.load_sentences(root / "data" / "additions.toml")
        section = self.section("Sentence by sentence", "claims-sentences")
        tally = claims.status_counts(entries.values())
        counted = ", ".join(f"{number} {status}" for status, number in tally.items())
        section += self.paragraph(
            "Sentences of the book that state a result, among them every bullet of a chapter's summary and every row "
            "of the table of advice, each with its check: "
            f"{len(entries)} sentences, of which {counted}. `python -m edgelaw_ledger 03-1` runs the check of one."
        )
        rows = []
        for entry in entries.values():
            first = [self.paragraph(_span(entry.id, "claim-id"))]
            words = nodes.paragraph("", "", *self.quoted(entry.text))
            second = [words, self.paragraph(*self.known(entry)), *self.measured(entry, evidence)]
            second.append(self.paragraph(nodes.Text("In "), self.place(entry), classes=["claim-chapter"]))
            rows.append(({"ids": [f"sentence-{entry.id}"]}, [first, second]))
        heads = ("sentence", "what is printed, and how we know")
        section += _table((14, 86), heads, rows, "claims", "sentences")
        return section

    def quoted(self, text):
        """A sentence or a row of a table as it is printed: links to pages, other roles as plain words."""

        def words(role):
            """The words of a role; the role itself where they are the name of a page, which becomes a link."""
            is_page = role[1] == "doc" and role[3] in self.env.found_docs
            is_work = role[1].startswith("cite:") and "sphinxcontrib.bibtex" in self.env.app.extensions
            if is_page:
                return f"{{doc}}`/{role[3]}`"
            return role[0] if is_work else role[2] or role[3]

        text = re.sub(r"\$[^$]*\$| \| ", lambda match: " – " if match[0] == " | " else match[0], text)
        plain = re.sub(r"\{([\w:]+)\}`(?:([^`<]*?)\s*<[^`>]*>|([^`]*))`", words, text)
        plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", plain)
        return self.inline(plain)

    def place(self, entry):
        """A link to the page of a sentence; its name where it is no page of the book."""
        if entry.place not in self.env.found_docs:
            return nodes.literal("", entry.place)
        reference = addnodes.pending_xref(
            "", reftype="doc", refdomain="std", reftarget=f"/{entry.place}", refexplicit=False, refwarn=True
        )
        reference += nodes.inline("", entry.place)
        return reference


class ClaimRole(SphinxRole):
    """``{claim}`E12``` or ``{claim}`!E12```: a claim's id with its verdict, linked to its row."""

    def run(self):
        """The citation, or a warning (which the build treats as an error) where its stance is wrong."""
        ledger = _ledger(self.env)
        problem = stance_problem(self.text, ledger)
        if problem:
            logger.warning(problem, location=self.get_location())
        claim = ledger.get(self.text.removeprefix("!"))
        if claim is None:
            return [nodes.Text(self.text)], []
        badge = _span(SYMBOLS[claim.verdict], "verdict", "verdict-small", f"verdict-{claim.verdict}")
        link = _claim_link(claim, _span(claim.id, "claim-id"), badge)
        link["citing"] = True
        return [link], []


# Both ways: who cites what ---------------------------------------------------------------------------------


class cited_in(nodes.Inline, nodes.Element):
    """Stands for the list of sections that cite a claim, until all pages are read."""


def _citations(env):
    if not hasattr(env, "claim_citations"):
        env.claim_citations = {}
    return env.claim_citations


def _titled(node):
    """Whether this is a section of the text; theorems and exercises are sections without a title."""
    return isinstance(node, nodes.section) and len(node) and isinstance(node[0], nodes.title)


def _collect(app, doctree):
    """Remember in which sections a page cites which claims."""
    citations = []
    for link in doctree.findall(addnodes.pending_xref):
        if not link.get("citing"):
            continue
        section = link.parent
        while section is not None and not _titled(section):
            section = section.parent
        entry = (link["reftarget"], "", "")
        if section is not None:
            entry = (link["reftarget"], section["ids"][0], section[0].astext())
        if entry not in citations:
            citations.append(entry)
    _citations(app.env)[app.env.docname] = citations


def _purge(app, env, docname):
    _citations(env).pop(docname, None)


def _merge(app, env, docnames, other):
    for docname in docnames:
        _citations(env)[docname] = _citations(other).get(docname, [])


def _rewrite(app, env):
    """The claims page shows who cites what, so it is written whenever anything was read."""
    return [PAGE] if PAGE in env.found_docs else []


def _resolve_claim(app, env, node, content):
    """A citation becomes a link to the claim's row."""
    if node.get("reftype") != "claim":
        return None
    link = make_refnode(
        app.builder,
        node["refdoc"],
        PAGE,
        f"claim-{node['reftarget'].lower()}",
        [child.deepcopy() for child in node.children],
        node["reftitle"],
    )
    link["classes"].append("claim")
    return link


def _resolve_cited(app, doctree, docname):
    """The list of sections that cite a claim."""
    for place in list(doctree.findall(cited_in)):
        links = []
        for source, entries in sorted(_citations(app.env).items()):
            for name, anchor, title in entries:
                if name == place["claim"] and source != PAGE:
                    text = nodes.inline("", title or app.env.titles[source].astext())
                    links.append(make_refnode(app.builder, docname, source, anchor, text))
        parts = [nodes.Text("; cited in ")] if links else []
        for i, link in enumerate(links):
            parts += [nodes.Text(", "), link] if i else [link]
        place.replace_self(parts)


def _scripts(app, pagename, templatename, context, doctree):
    if pagename == PAGE:
        app.add_js_file("claims.js", loading_method="defer")


def _say_counts(_app, config):
    """Let every page say how many claims there are, and how many of each verdict, without writing the number."""
    ledger = claims.load()
    counts = {"total": len(ledger), **claims.counts(ledger.values())}
    config.myst_substitutions |= {f"claims_{name}": number for name, number in counts.items()}


def _unmarked(_app, _docname, source):
    """The text of a page without the markers of its results, which are no readers' business."""
    source[0] = marked.MARKER.sub("", source[0])


def setup(app):
    """Register the role, the directives, and what has to happen once all pages are read."""
    app.add_role("claim", ClaimRole())
    app.connect("config-inited", _say_counts)
    app.connect("source-read", _unmarked)
    app.add_directive("claims", ChapterClaims)
    app.add_directive("ledger", Ledger)
    app.add_node(cited_in)
    app.connect("doctree-read", _collect)
    app.connect("env-purge-doc", _purge)
    app.connect("env-merge-info", _merge)
    app.connect("env-updated", _rewrite)
    app.connect("missing-reference", _resolve_claim)
    app.connect("doctree-resolved", _resolve_cited)
    app.connect("html-page-context", _scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "env_version": 1}
