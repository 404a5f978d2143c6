"""Sphinx extension: pages that ask no other host, raise no JavaScript error and weigh no more than they must."""

import re
import struct
from pathlib import Path

from docutils import nodes

LOCAL = "mathjax/tex-mml-chtml.js"
ICON_SCRIPT = re.compile(r'<script defer src="[^"]*scripts/fontawesome\.js[^"]*"></script>\s*')
PICTURE = re.compile(r'(<img (?=[^>]*src="([^"]*_images/[^"]+\.png)")(?![^>]*width))([^>]*>)')

# Pixels. The words of a wider picture, mostly one of several panels, would be too small to read on a phone.
WIDE = 770
PNG = b"\x89PNG\r\n\x1a\n"
# What must not be parted by a line's end from the formula behind it, and from the one before it.
OPENING = re.compile(r"[(\[“‘]*$")
CLOSING = re.compile(r"[,.;:!?)\]”’]*")
SHORT = 24  # characters of code that stay on one line together with the mark behind them
PER_CENT = re.compile(r"(?<=\d)[ \n]%")
ERROR = re.compile(r"(?<=[\d%])[ \n]±[ \n](?=\d)")
SECTION = re.compile(r"Attributes\n-+$")
LITERAL = (nodes.literal, nodes.literal_block, nodes.math, nodes.math_block, nodes.raw, nodes.comment)


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


def _with_sizes(text, folder):
    """A page whose pictures say how large they are: a link into a page must not slip while they load."""

    def sized(match):
        width, height = _png_size(folder / match[2])
        return f'{match[1]}width="{width}" height="{height}" {match[3]}' if width else match[0]

    return PICTURE.sub(sized, text)


def _lighten(app, exception):
    """Drop the theme's 1.5 MB script of icons, which its style sheet has as a small font; give pictures their size."""
    if exception or app.builder.format != "html":
        return
    for page in Path(app.outdir).rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        text = _with_sizes(ICON_SCRIPT.sub("", text), page.parent)
        page.write_text(text, encoding="utf-8")
    for file in (Path(app.outdir) / "_static" / "scripts").glob("fontawesome.js*"):
        file.unlink()


def _png_size(path):
    """Width and height of a PNG file in pixels, from its header; zeros for any other file."""
    try:
        head = Path(path).read_bytes()[:24]
    except OSError:
        return 0, 0
    return struct.unpack(">II", head[16:24]) if head.startswith(PNG) else (0, 0)


def _let_wide_figures_scroll(app, doctree, _docname):
    """Put a wide picture into a box of its own, which assets/edgelaw.css lets a reader swipe sideways on a phone."""
    if app.builder.format != "html":
        return
    for figure in list(doctree.findall(nodes.figure)):
        for image in [child for child in figure.children if isinstance(child, nodes.image)]:
            width, _ = _png_size(Path(app.srcdir) / image["uri"])
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
            short = ["short"] if len(node.astext()) <= SHORT else []
            parent[place] = nodes.inline("", "", *tied, classes=["no-break", *short])
            if closing:
                parent[place + 1] = nodes.Text(behind[len(closing) :])
            if opening:
                parent[place - 1] = nodes.Text(before[: -len(opening)])


def _keep_per_cent_with_its_number(app, doctree, _docname):
    """Put no-break spaces before a "%" behind a number or a formula, and about "±"; sources keep ordinary ones."""
    if app.builder.format != "html":
        return
    for text in list(doctree.findall(nodes.Text)):
        parent = text.parent
        if isinstance(parent, LITERAL):
            continue
        tied = PER_CENT.sub("\u00a0%", ERROR.sub("\u00a0±\u00a0", text))
        place = parent.index(text)
        if place and isinstance(parent[place - 1], nodes.math) and tied.startswith(" %"):
            tied = "\u00a0" + tied[1:]
        if tied != text:
            parent.replace(text, nodes.Text(tied))


def _skip_field_aliases(_app, _what, _name, member, skip, _options):
    """Leave out the fields of named tuples, documented as "Alias for field number 0": their class lists them."""
    return True if (getattr(member, "__doc__", None) or "").startswith("Alias for field number") else skip


def _plain_properties(_app, what, _name, _obj, _options, lines):
    """Take the colon out of a property's first sentence: Napoleon would read the words before it as a type."""
    if what == "property" and lines:
        lines[0] = lines[0].replace(": ", " – ", 1)


def _split_attributes(_app, _what, _name, _obj, _options, lines):
    """Give each of several attributes that share a line its own: Napoleon splits such lines among parameters only."""
    start = next((i for i in range(len(lines) - 1) if SECTION.match("\n".join(lines[i : i + 2]))), None)
    if start is None:
        return
    made, place = lines[: start + 2], start + 2
    while place < len(lines):
        end = place + 1
        while end < len(lines) and (lines[end].startswith(" ") or not lines[end].strip()):
            end += 1
        names, colon, kind = lines[place].partition(" : ")
        if not colon or (end < len(lines) and set(lines[end]) == {"-"}):
            break
        for name in names.split(", "):
            made += [f"{name}{colon}{kind}", *lines[place + 1 : end]]
        place = end
    lines[:] = made + lines[place:]


def setup(app):
    """Act once the configuration is read and every extension is loaded, and when the pages are written."""
    app.connect("config-inited", _choose_mathjax)
    app.connect("config-inited", _silence_thebe)
    app.connect("autodoc-skip-member", _skip_field_aliases)
    app.connect("autodoc-process-docstring", _plain_properties, priority=400)  # before Napoleon
    app.connect("autodoc-process-docstring", _split_attributes, priority=400)
    app.connect("doctree-resolved", _let_wide_figures_scroll)
    # After the extensions that write parts of a page only now, such as the lists of results.
    app.connect("doctree-resolved", _keep_per_cent_with_its_number, priority=900)
    app.connect("doctree-resolved", _keep_punctuation_with_formulas, priority=950)
    app.connect("build-finished", _lighten)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
