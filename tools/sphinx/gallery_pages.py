"""Sphinx extension: the paper's figures and tables beside the book's own.

The directive ``{gallery} paper`` shows every figure and table of the paper, in its order, with a quote of its
caption, our counterpart and what differs; ``{gallery} new`` shows the figures that have no counterpart there. Both
read data/gallery.toml and take pictures, alternative texts and printed tables from the outputs committed with the
chapters, so nothing is stored twice. A figure with a counterpart in the paper says so under its caption and links back.
"""

import base64
import functools
import hashlib
import io
import json
import re
import tomllib
from pathlib import Path

from docutils import nodes
from PIL import Image
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode

from sphinx import addnodes

PAGE = "reference/gallery"
WIDE, SMALL = 1000, 360  # pixels: a counterpart, and one of the many small ones


# What there is ---------------------------------------------------------------------------------------------


def floats(path):
    """The paper's figures and tables, in its order, as data/gallery.toml has them."""
    return tomllib.loads(Path(path).read_text(encoding="utf-8"))["float"]


def anchor(entry):
    """The place of an entry on the gallery page, e.g. ``paper-figure-3``."""
    if "without" in entry["number"]:
        return f"paper-table-{entry['where'].lower().replace('appendix ', 'appendix-').replace('.', '-')}"
    return f"paper-{entry['number'].lower().replace(' ', '-')}"


def _image(outputs):
    """The first picture among a cell's outputs."""
    for output in outputs:
        if "image/png" in output.get("data", {}):
            return base64.b64decode("".join(output["data"]["image/png"]))
    return b""


def _text(outputs):
    """What a cell printed."""
    return "".join("".join(output["text"]) for output in outputs if output["output_type"] == "stream")


@functools.lru_cache
def _read(path, _changed):
    """A chapter's figures by name (caption, alternative text, picture) and everything it prints."""
    figures, printed = {}, []
    for cell in json.loads(Path(path).read_text(encoding="utf-8"))["cells"]:
        outputs = cell.get("outputs", [])
        style = cell.get("metadata", {}).get("mystnb", {})
        if "figure" in style and _image(outputs):
            caption, alt = style["figure"]["caption"], style["image"]["alt"]
            figures[style["figure"]["name"]] = (caption, alt, _image(outputs))
        if _text(outputs):
            printed.append(_text(outputs))
    return figures, printed


def chapter(path):
    """A chapter's figures and printed outputs, read again when the file has changed."""
    return _read(str(path), Path(path).stat().st_mtime_ns)


def first_sentence(caption):
    """The beginning of a caption, up to a full stop outside of formulas."""
    parts = re.split(r"(\$[^$]*\$|\{[\w:]+\}`[^`]*`)", caption)
    for i in range(0, len(parts), 2):
        stop = re.search(r"\.(?=\s|$)", parts[i])
        if stop:
            return "".join(parts[:i]) + parts[i][: stop.end()]
    return caption


def _thumbnail(env, picture, width):
    """Write a picture, at most so wide, under _build; its address for an image node."""
    name = f"_build/gallery/{hashlib.sha256(picture).hexdigest()[:16]}-{width}.png"
    path = Path(env.srcdir) / name
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        image = Image.open(io.BytesIO(picture)).convert("RGB")
        if image.width > width:
            image = image.resize((width, round(image.height * width / image.width)), Image.Resampling.LANCZOS)
        image.quantize(32, dither=Image.Dither.NONE).save(path, optimize=True)
    return f"/{name}"


# The directive ---------------------------------------------------------------------------------------------


def _link(target, place, *content):
    """A link to a place of a chapter, resolved when all pages are read."""
    reference = addnodes.pending_xref(
        "", reftype="gallery", refdomain="", reftarget=target, refplace=place, refexplicit=True, refwarn=True
    )
    reference += list(content)
    return reference


class Gallery(SphinxDirective):
    """``{gallery} paper`` or ``{gallery} new``."""

    required_arguments = 1

    def run(self):
        """The part asked for."""
        parts = {"paper": self.paper, "new": self.new}
        if self.arguments[0] not in parts:
            raise self.error(f"the gallery has no part {self.arguments[0]!r}, only {', '.join(parts)}")
        source = Path(self.env.srcdir) / "data" / "gallery.toml"
        for path in (source, Path(__file__), *self.chapters()):
            self.env.note_dependency(str(path))
        return parts[self.arguments[0]](floats(source))

    def chapters(self):
        """The chapters of the book, in the order of the table of contents where there is one."""
        folder = Path(self.env.srcdir)
        contents = folder / "_toc.yml"
        listed = re.findall(r"file: (chapters/\S+)", contents.read_text()) if contents.exists() else []
        paths = [folder / f"{name}.ipynb" for name in listed]
        return [path for path in paths if path.exists()] or sorted(folder.glob("chapters/*.ipynb"))

    def inline(self, text):
        """MyST inline markup as nodes."""
        return self.state.inline_text(" ".join(text.split()), self.lineno)[0]

    def paragraph(self, *parts, classes=()):
        """A paragraph of texts (parsed) and nodes."""
        paragraph = nodes.paragraph("", classes=list(classes))
        for part in parts:
            paragraph += self.inline(part) if type(part) is str else part
        return paragraph

    def picture(self, name, stem, width):
        """A figure of a chapter, small, linked to the cell that makes it."""
        figures, _ = chapter(Path(self.env.srcdir) / "chapters" / f"{stem}.ipynb")
        if name not in figures:
            raise self.error(f"the chapter {stem} has no figure {name!r}")
        caption, alt, picture = figures[name]
        image = nodes.image("", uri=_thumbnail(self.env, picture, width), alt=alt, loading="lazy")
        return caption, _link(f"chapters/{stem}", name, image)

    def section(self, title, name):
        """A section with its place in the page."""
        section = nodes.section("", nodes.title("", "", *self.inline(title)), ids=[name], names=[name])
        self.state.document.note_explicit_target(section)
        return section

    def paper(self, entries):
        """A section a figure or table of the paper."""
        return [self.counterpart(entry) for entry in entries]

    def counterpart(self, entry):
        """What the paper's caption says, what ours shows, and ours."""
        stem = entry["chapter"]
        section = self.section(f"{entry['number']}: {entry['title']}", anchor(entry))
        place = f"The paper, {entry['where']}: "
        quote = nodes.inline("", "", nodes.Text("“"), *self.inline(entry["caption"]), nodes.Text("”"))
        section += self.paragraph(nodes.strong("", place), quote, classes=["gallery-paper"])
        section += self.paragraph(nodes.strong("", "Here: "), entry["ours"], classes=["gallery-ours"])
        for name in entry.get("figures", ()):
            _, linked = self.picture(name, stem, WIDE)
            section += nodes.container("", nodes.paragraph("", "", linked), classes=["gallery-figure"])
        for words in entry.get("outputs", ()):
            _, printed = chapter(Path(self.env.srcdir) / "chapters" / f"{stem}.ipynb")
            matches = [text for text in printed if words in text]
            if len(matches) != 1:
                raise self.error(f"{len(matches)} outputs of the chapter {stem} contain {words!r}, not one")
            section += nodes.literal_block(matches[0], matches[0].rstrip(), language="none")
        target = entry["figures"][0] if "figures" in entry else entry["table"]
        what = "The cell that draws it" if "figures" in entry else "The cell that prints it"
        link = _link(f"chapters/{stem}", target, nodes.inline("", what))
        title = addnodes.pending_xref(
            "", nodes.inline("", stem), reftype="doc", refdomain="std", reftarget=f"/chapters/{stem}"
        )
        title["refexplicit"], title["refwarn"] = False, True
        section += self.paragraph(link, nodes.Text(", in "), title, classes=["gallery-link"])
        return section

    def new(self, entries):
        """A section a chapter: its figures that the paper has no counterpart of, small."""
        taken = {name for entry in entries for name in entry.get("figures", ())}
        parts = []
        for path in self.chapters():
            names = [name for name in chapter(path)[0] if name not in taken]
            if not names:
                continue
            reference = addnodes.pending_xref(
                "",
                nodes.inline("", path.stem),
                reftype="doc",
                refdomain="std",
                reftarget=f"/chapters/{path.stem}",
            )
            reference["refexplicit"], reference["refwarn"] = False, True
            title = nodes.paragraph("", "", nodes.strong("", "", reference), classes=["gallery-chapter"])
            items = nodes.bullet_list(classes=["gallery-grid"])
            for name in names:
                caption, linked = self.picture(name, path.stem, SMALL)
                item = nodes.list_item("", nodes.paragraph("", "", linked))
                item += self.paragraph(first_sentence(caption))
                items += item
            parts += [title, items]
        return parts


# Links both ways -------------------------------------------------------------------------------------------


def _resolve(app, env, node, content):
    """A link of the gallery becomes one to the cell's place in its chapter."""
    if node.get("reftype") != "gallery":
        return None
    children = [child.deepcopy() for child in node.children]
    return make_refnode(app.builder, node["refdoc"], node["reftarget"], node["refplace"], children)


def _point_back(app, doctree, docname):
    """Under a figure that has a counterpart in the paper: which one, and a link to the gallery."""
    source = Path(app.srcdir) / "data" / "gallery.toml"
    if PAGE not in app.env.found_docs or not source.exists():
        return
    entries = [entry for entry in floats(source) if docname == f"chapters/{entry['chapter']}"]
    for figure in doctree.findall(nodes.figure):
        mine = [e for e in entries if set(e.get("figures", ())) & set(figure["ids"])]
        if not mine:
            continue
        line = nodes.paragraph("", "In the paper: ", classes=["paper-counterpart"])
        for i, entry in enumerate(mine):
            link = make_refnode(
                app.builder, docname, PAGE, anchor(entry), nodes.inline("", entry["number"].lower())
            )
            line += [nodes.Text(", "), link] if i else [link]
        figure += nodes.legend("", line)


def setup(app):
    """Register the directive and both directions of its links."""
    app.add_directive("gallery", Gallery)
    app.connect("missing-reference", _resolve)
    app.connect("doctree-resolved", _point_back)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "env_version": 1}
