"""Sphinx extension: ways through the book, both ways.

The role ``{chapter}`12_your_data``` links to a chapter by its title, and is plain words while it is not there. Every
theorem, proposition, lemma, definition and corollary that is referred to says under its statement where; the directive
``{results} boxes`` lists them all with how they are known and their places of use, ``{results} equations`` the
numbered equations. A box ``{prf:observation}`` is shown as a "Result", and the build fails when a box does not say how
it is known.
"""

import re
from collections import Counter
from pathlib import Path

import boxes
from docutils import nodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole
from sphinx.util.nodes import make_refnode
from sphinx_proof.proof_type import ObservationDirective

import edgelaw_ledger as claims
from sphinx import addnodes

logger = logging.getLogger(__name__)
PAGE = "reference/results"
CLAIMS = "reference/claims"
#: They name everything, which is no use of it.
INDEXES = {PAGE, CLAIMS, "reference/gallery", "reference/glossary", "reference/notation"}


# A chapter that may be missing -----------------------------------------------------------------------------


class ChapterRole(SphinxRole):
    """``{chapter}`12_your_data```."""

    def run(self):
        """A link to the chapter by its title; plain words while it is not there."""
        name = self.text.strip()
        if f"chapters/{name}" not in self.env.found_docs:
            number, _, words = name.partition("_")
            return [nodes.inline("", f"chapter {number.lstrip('0')} ({words.replace('_', ' ')})")], []
        reference = addnodes.pending_xref(
            "", nodes.inline("", name), reftype="doc", refdomain="std", reftarget=f"/chapters/{name}"
        )
        reference["refexplicit"], reference["refwarn"] = False, True
        return [reference], []


# Boxes and how they are known -----------------------------------------------------------------------------


class ResultDirective(ObservationDirective):
    """``{prf:observation} Result (derived): title``, which readers see as "Result 3.1 (derived: title)"."""

    def run(self):
        """The box, under its own name."""
        self.arguments = [re.sub(r"^Result \((\w+)\): *", r"\1: ", text) for text in self.arguments]
        [node] = super().run()
        node["realtype"] = self.env.proof_list[node["label"]]["realtype"] = "result"
        return [node]


def _ledger(env):
    """The book's own ledger, where it has one."""
    path = Path(env.srcdir) / "data" / "additions.toml"
    return path if path.exists() else None


def _known(app, env):
    """Remember how every box is known, and warn of those that do not say it."""
    pages = [(name, Path(env.doc2path(name))) for name in sorted(env.found_docs)]
    read = boxes.read([(name, path) for name, path in pages if path.suffix in (".md", ".ipynb")])
    path = _ledger(env)
    checks = boxes.entries(path) if path else {}
    for place, complaint in boxes.problems(read, checks, boxes.known_entries(path) if path else ()):
        logger.warning("%s: %s", place, complaint)
    env.reading_status = {box.label: box.statuses[0] for box in read if len(box.statuses) == 1}
    env.reading_checks = checks


def _status(app, here, label):
    """How a box is known, in nodes: its status, and the entries that check it."""
    env = app.env
    status = env.reading_status.get(label)
    if not status:
        return []
    parts = [nodes.inline("", status, classes=["box-status", f"status-{status}"])]
    for i, name in enumerate(env.reading_checks.get(label, ())):
        parts.append(nodes.Text(", " if i else ", checked by "))
        kind = "claim" if name in claims.IDS else "sentence" if re.search(r"-\d+$", name) else "addition"
        text = nodes.literal("", name)
        anchor = f"{kind}-{name.lower()}"
        parts.append(
            make_refnode(app.builder, here, CLAIMS, anchor, text) if CLAIMS in env.found_docs else text
        )
    return parts


def _counted(env):
    """How many boxes have each status."""
    tally = Counter(env.reading_status.values())
    shown = ", ".join(f"{tally[status]} {status}" for status in boxes.STATUSES if tally[status])
    return nodes.paragraph("", f"{tally.total()} statements: {shown}.", classes=["box-counts"])


# Who refers to what ----------------------------------------------------------------------------------------


def _kept(env):
    """What was collected so far: for every page its boxes, its equations and its references."""
    if not hasattr(env, "reading_places"):
        env.reading_places = {}
    return env.reading_places


def _pieces(title):
    """A title as pairs (whether it is a formula, its text), which can be compared and kept."""
    return tuple((isinstance(child, nodes.math), child.astext()) for child in title.children)


def _section(node):
    """The section of the text that a node stands in: its place and the pieces of its title."""
    node = node.parent
    while node is not None:
        if isinstance(node, nodes.section) and len(node) and isinstance(node[0], nodes.title):
            return node["ids"][0], _pieces(node[0])
        node = node.parent
    return "", ()


def _box(node):
    """The label of the box that a node stands in, if any."""
    while node is not None:
        if isinstance(node, nodes.Element) and node.get("realtype") and node.get("label"):
            return node["label"]
        node = node.parent
    return ""


def _collect(app, doctree):
    """Remember a page's boxes, equations and references to them, in the order of the text."""
    boxes = [
        (node["label"], node["realtype"], [child.deepcopy() for child in node[0].children])
        for node in doctree.findall(nodes.Element)
        if node.get("realtype") and node.get("label") and not re.fullmatch(r"\w+-\d+", node["label"])
    ]
    equations = [node["label"] for node in doctree.findall(nodes.math_block) if node.get("label")]
    references = []
    for link in doctree.findall(addnodes.pending_xref):
        kind = (link.get("refdomain"), link.get("reftype"))
        if kind not in {("prf", "ref"), ("math", "eq")} or _box(link) == link["reftarget"]:
            continue
        entry = (link["reftarget"], *_section(link))
        if entry not in references:
            references.append(entry)
    _kept(app.env)[app.env.docname] = {"boxes": boxes, "equations": equations, "references": references}


def _purge(app, env, docname):
    _kept(env).pop(docname, None)


def _merge(app, env, docnames, other):
    for docname in docnames:
        _kept(env)[docname] = _kept(other).get(docname, {"boxes": [], "equations": [], "references": []})


def _uses(env, label):
    """Every (page, place, title of the section) that refers to a label, in the order of the book."""
    uses = []
    for docname in _ordered(env):
        if docname in INDEXES:
            continue
        uses += [(docname, *entry[1:]) for entry in _kept(env)[docname]["references"] if entry[0] == label]
    return uses


def _ordered(env):
    """Pages in the order of the table of contents; those outside of it last."""
    listed = [env.config.root_doc]
    for name in listed:
        listed += [child for child in env.toctree_includes.get(name, []) if child not in listed]
    return [n for n in listed if n in _kept(env)] + sorted(set(_kept(env)) - set(listed))


def _where(env, docname):
    """The page of a place of use, in the words before the title of the section."""
    number = re.match(r"chapters/(\d+)_", docname)
    if number:
        return f"chapter {int(number[1])}, "
    return f"{re.split('[:,]', env.titles[docname].astext())[0]}, "


def _named(env, docname, title, here):
    """The name of a place of use in nodes: the page, unless it is ``here``, and the section with its formulas."""
    shown = [nodes.math("", text) if formula else nodes.Text(text) for formula, text in title]
    numbered = re.match(r"chapters/\d+_", docname)
    at_top = title == _pieces(env.titles[docname])  # before the first section of the page
    if docname == here or (at_top and not numbered):
        return shown
    return [nodes.Text(_where(env, docname)), *shown]


def _links(app, here, label):
    """The places of use as links with semicolons between them."""
    parts = []
    for docname, place, title in _uses(app.env, label):
        text = nodes.inline("", "", *_named(app.env, docname, title, here))
        link = make_refnode(app.builder, here, docname, place, text)
        parts += [nodes.Text("; "), link] if parts else [link]
    return parts


# Pages -----------------------------------------------------------------------------------------------------


class results_list(nodes.General, nodes.Element):
    """Stands for the list of results until all pages are read."""


class Results(SphinxDirective):
    """``{results} boxes`` or ``{results} equations``."""

    required_arguments = 1

    def run(self):
        """A place that is filled when all pages are read."""
        if self.arguments[0] not in {"boxes", "equations"}:
            raise self.error(f"there is no list of {self.arguments[0]!r}, only of boxes and equations")
        return [results_list("", kind=self.arguments[0])]


def _name(app, here, docname, kind, entry):
    """The link to a result: number and title of a box, number of an equation; and its label."""
    if kind == "equations":
        math, node = app.env.get_domain("math"), addnodes.pending_xref("", reftarget=entry)
        number = math.resolve_xref(app.env, here, app.builder, "eq", entry, node, nodes.inline())
        return [nodes.Text("Equation "), number], entry
    label, _realtype, title = entry
    node = addnodes.pending_xref("", refdomain="prf", refexplicit=False, reftarget=label)
    domain = app.env.get_domain("prf")
    link = domain.resolve_xref(app.env, here, app.builder, "ref", label, node, nodes.inline("", label))
    return [link, nodes.Text(" "), *[child.deepcopy() for child in title]], label


def _fill(app, doctree, docname):
    """Write the lists, and under every box where it is used."""
    for place in list(doctree.findall(results_list)):
        blocks = [_counted(app.env)] if place["kind"] == "boxes" else []
        for source in _ordered(app.env):
            entries = _kept(app.env)[source][place["kind"]]
            if not entries:
                continue
            number = re.match(r"chapters/(\d+)_", source)
            words = f"{int(number[1])}. " if number else ""
            text = nodes.inline("", words + app.env.titles[source].astext())
            title = make_refnode(app.builder, docname, source, "", text)
            blocks.append(nodes.paragraph("", "", nodes.strong("", "", title), classes=["gallery-chapter"]))
            items = nodes.bullet_list(classes=["results"])
            for entry in entries:
                parts, label = _name(app, docname, source, place["kind"], entry)
                used = _links(app, docname, label)
                line = nodes.paragraph("", "", *parts)
                known = _status(app, docname, label) if place["kind"] == "boxes" else []
                line += [nodes.Text(": "), *known, nodes.Text(".")] if known else [nodes.Text(".")]
                if used:
                    line += nodes.inline("", "", nodes.Text(" Used in "), *used, classes=["used-in"])
                items += nodes.list_item("", line)
            blocks.append(items)
        place.replace_self(blocks)
    for node in list(doctree.findall(nodes.Element)):
        if node.get("realtype") and node.get("label") and isinstance(node[-1], nodes.section):
            used = _links(app, docname, node["label"])
            if used:
                node[-1] += nodes.paragraph("", "", nodes.Text("Used in: "), *used, classes=["used-in"])


def _rewrite(app, env):
    """Pages whose places of use have changed since they were written, and the list itself."""
    now = {}
    for docname, kept in _kept(env).items():
        labels = [box[0] for box in kept["boxes"]]
        now[docname] = [(label, _uses(env, label)) for label in labels]
    before = getattr(env, "reading_written", {})
    env.reading_written = now
    changed = [docname for docname in now if docname in before and now[docname] != before[docname]]
    return changed + ([PAGE] if PAGE in env.found_docs else [])


def setup(app):
    """Register the role, the directive, and what has to happen once all pages are read."""
    app.setup_extension("sphinx_proof")
    app.add_directive_to_domain("prf", "observation", ResultDirective, override=True)
    app.add_role("chapter", ChapterRole())
    app.add_directive("results", Results)
    app.add_node(results_list)
    app.connect("doctree-read", _collect)
    app.connect("env-purge-doc", _purge)
    app.connect("env-merge-info", _merge)
    app.connect("env-updated", _known)
    app.connect("env-updated", _rewrite)
    app.connect("doctree-resolved", _fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "env_version": 3}
