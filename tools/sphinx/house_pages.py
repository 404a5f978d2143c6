"""Sphinx extension: pages that ask no other host, raise no JavaScript error and weigh no more than they must."""

import re
import struct
from pathlib import Path

from docutils import nodes

LOCAL = "mathjax/tex-mml-chtml.js"
ICON_SCRIPT = re.compile(r'<script defer src="[^"]*scripts/fontawesome\.js[^"]*"></script>\s*')

# Pixels. The words of a wider picture, mostly one of several panels, would be too small to read on a phone.
WIDE = 770
PNG = b"\x89PNG\r\n\x1a\n"
# What must not be parted by a line's end from the formula behind it, and from the one before it.
OPENING = re.compile(r"[(\[“‘]*$")
CLOSING = re.compile(r"[,.;:!?)\]”’]*")


def _choose_mathjax(app, config):
    """Use the MathJax under assets/ where the build fetched it, MathJax's public address where not."""
    if (Path(app.srcdir) / "assets" / LOCAL).exists():
        config.mathjax_path = LOCAL


def _silence_thebe(app, _config):
    """Jupyter Book always loads sphinx-thebe, which declares one constant twice a page: an error in every console."""
    for event, listeners in app.events.listeners.items():
        kept = [
            listener
            for listener in listeners
            if getattr(listener.handler, "__name__", "") != "init_thebe_core"
        ]
        app.events.listeners[event] = kept


def _lighten(app, exception):
    """Drop the theme's 1.5 MB script of icons: its style sheet has the same icons as a font of a tenth of that."""
    if exception or app.builder.format != "html":
        return
    for page in Path(app.outdir).rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        page.write_text(ICON_SCRIPT.sub("", text), encoding="utf-8")
    for file in (Path(app.outdir) / "_static" / "scripts").glob("fontawesome.js*"):
        file.unlink()


def _png_width(path):
    """The width of a PNG file in pixels, from its header; 0 for any other file."""
    try:
        head = Path(path).read_bytes()[:24]
    except OSError:
        return 0
    return struct.unpack(">I", head[16:20])[0] if head.startswith(PNG) else 0


def _let_wide_figures_scroll(app, doctree, _docname):
    """Put a wide picture into a box of its own, which assets/edgelaw.css lets a reader swipe sideways on a phone."""
    if app.builder.format != "html":
        return
    for figure in list(doctree.findall(nodes.figure)):
        for image in [child for child in figure.children if isinstance(child, nodes.image)]:
            width = _png_width(Path(app.srcdir) / image["uri"])
            if width > WIDE:
                box = f'<div class="figure-scroll" style="--drawn: {width}px">'
                place = figure.index(image)
                figure.insert(place + 1, nodes.raw("", "</div>", format="html"))
                figure.insert(place, nodes.raw("", box, format="html"))
                figure["classes"].append("wide-figure")


def _keep_punctuation_with_formulas(app, doctree, _docname):
    """Tie marks such as "(" and "," to a formula or a name of code: a browser may break the line between the two."""
    if app.builder.format != "html":
        return
    for node in [*doctree.findall(nodes.math), *doctree.findall(nodes.literal)]:
        node = node.parent if isinstance(node.parent, nodes.reference) and len(node.parent) == 1 else node
        parent, place = node.parent, node.parent.index(node)
        before, behind = (
            str(parent[i]) if 0 <= i < len(parent) and isinstance(parent[i], nodes.Text) else ""
            for i in (place - 1, place + 1)
        )
        opening, closing = OPENING.search(before)[0], CLOSING.match(behind)[0]
        if opening or closing:
            tied = [nodes.Text(opening), node.deepcopy(), nodes.Text(closing)]
            parent[place] = nodes.inline("", "", *tied, classes=["no-break"])
            if closing:
                parent[place + 1] = nodes.Text(behind[len(closing) :])
            if opening:
                parent[place - 1] = nodes.Text(before[: -len(opening)])


def _skip_field_aliases(_app, _what, _name, member, skip, _options):
    """Leave out the fields of named tuples, documented as "Alias for field number 0": their class lists them."""
    return True if (getattr(member, "__doc__", None) or "").startswith("Alias for field number") else skip


def setup(app):
    """Act once the configuration is read and every extension is loaded, and when the pages are written."""
    app.connect("config-inited", _choose_mathjax)
    app.connect("config-inited", _silence_thebe)
    app.connect("autodoc-skip-member", _skip_field_aliases)
    app.connect("doctree-resolved", _let_wide_figures_scroll)
    app.connect("doctree-resolved", _keep_punctuation_with_formulas)
    app.connect("build-finished", _lighten)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
