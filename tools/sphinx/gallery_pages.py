"""Sphinx extension: the paper's figures and tables beside the book's own.

The directive ``{gallery} paper`` shows every figure and table of the paper, in its order, with a quote of its caption,
our counterpart and what differs, from data/gallery.toml; ``{gallery} new`` shows the figures that have no counterpart
there. Pictures and printed tables are those committed with the chapters. A figure with a counterpart links back.
"""

import base64
import hashlib
import io
import json
import re
import tomllib
from pathlib import Path

from docutils import nodes
from ledger_pages import Part
from PIL import Image
from sphinx.util.nodes import make_refnode

PAGE = "reference/gallery"
WIDE, SMALL = 1000, 360  # pixels: a counterpart, and one of the many small ones


def floats(path):
    """The paper's figures and tables, in its order, as data/gallery.toml has them."""
    return tomllib.loads(Path(path).read_text(encoding="utf-8"))["float"]


def anchor(entry):
    """The place of an entry on the gallery page, e.g. ``paper-figure-3``."""
    unnumbered = "without" in entry["number"]
    name = f"table {entry['where']}" if unnumbered else entry["number"]
    return f"paper-{re.sub('[ .]', '-', name.lower())}"


def chapter(path):
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


class Gallery(Part):
    """``{gallery} paper`` or ``{gallery} new``."""

    def run(self):
        """The part asked for."""
        parts = {"paper": self.paper, "new": self.new}
        if self.arguments[0] not in parts:
            raise self.error(f"the gallery has no part {self.arguments[0]!r}, only {', '.join(parts)}")
        self.root = Path(self.env.srcdir)
        names = re.findall(r"file: chapters/(\S+)", (self.root / "_toc.yml").read_text())
        self.chapters = {name: chapter(self.root / "chapters" / f"{name}.ipynb") for name in names}
        return list(parts[self.arguments[0]](floats(self.root / "data" / "gallery.toml")))

    def picture(self, stem, name, width):
        """A figure of a chapter, small, linked to the cell that makes it."""
        if name not in self.chapters[stem][0]:
            raise self.error(f"the chapter {stem} has no figure {name!r}")
        _, alt, picture = self.chapters[stem][0][name]
        image = nodes.image("", uri=thumbnail(self.root, picture, width), alt=alt, loading="lazy")
        link = nodes.reference("", "", image, refuri=f"../chapters/{stem}.html#{name}", internal=True)
        return nodes.paragraph("", "", link)

    def paper(self, entries):
        """A section per figure or table of the paper."""
        return [
            self.section(f"{e['number']}: {e['title']}", anchor(e), *self.counterpart(e)) for e in entries
        ]

    def counterpart(self, entry):
        """What the paper's caption says, what ours shows, and ours."""
        stem = entry["chapter"]
        yield from self.text(f"**The paper, {entry['where']}:** “{entry['caption']}”", "gallery-paper")
        yield from self.text(f"**Here:** {entry['ours'].strip()}")
        for name in entry.get("figures", ()):
            yield nodes.container("", self.picture(stem, name, WIDE), classes=["gallery-figure"])
        for words in entry.get("outputs", ()):
            matches = [text for text in self.chapters[stem][1] if words in text]
            if len(matches) != 1:
                raise self.error(f"{len(matches)} outputs of the chapter {stem} contain {words!r}, not one")
            yield nodes.literal_block(matches[0], matches[0].rstrip(), language="none")
        target, word = (entry["figures"][0], "draws") if "figures" in entry else (entry["table"], "prints")
        link = f'<a class="reference internal" href="../chapters/{stem}.html#{target}">The cell that {word} it</a>'
        yield from self.text(f"{link}, in {self.page(f'chapters/{stem}')}")

    def new(self, entries):
        """A grid per chapter: its figures that the paper has no counterpart of, small."""
        taken = {name for entry in entries for name in entry.get("figures", ())}
        for stem, (figures, _) in self.chapters.items():
            names = [name for name in figures if name not in taken]
            items = [
                nodes.list_item(
                    "", self.picture(stem, name, SMALL), *self.text(first_sentence(figures[name][0]))
                )
                for name in names
            ]
            if names:
                yield from self.text(f"**{self.page(f'chapters/{stem}')}**", "gallery-chapter")
                yield nodes.bullet_list("", *items, classes=["gallery-grid"])


def _point_back(app, doctree, docname):
    """Under a figure that has a counterpart in the paper: which one, and a link to the gallery."""
    entries = floats(Path(app.srcdir) / "data" / "gallery.toml") if docname.startswith("chapters/") else ()
    for figure in doctree.findall(nodes.figure):
        links = [
            make_refnode(app.builder, docname, PAGE, anchor(entry), nodes.inline("", entry["number"].lower()))
            for entry in entries
            if docname == f"chapters/{entry['chapter']}"
            and set(entry.get("figures", ())) & set(figure["ids"])
        ]
        if links:
            line = nodes.paragraph("", "In the paper: ", links[0], classes=["paper-counterpart"])
            for link in links[1:]:
                line += [nodes.Text(", "), link]
            figure += nodes.legend("", line)


def setup(app):
    """Register the directive and the links back."""
    app.add_directive("gallery", Gallery)
    app.connect("doctree-resolved", _point_back)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
