"""Sphinx extension: pages that ask no other host, raise no JavaScript error and weigh no more than they must."""

import re
import struct
from pathlib import Path

LOCAL = "mathjax/tex-mml-chtml.js"
ICON_SCRIPT = re.compile(r'<script defer src="[^"]*scripts/fontawesome\.js[^"]*"></script>\s*')
PICTURE = re.compile(
    r'(<figure[^>]*>\s*)?<img (?![^>]*width=)([^>]*src="[^"]*_images/([^"/]+\.png)"[^>]*)/?>'
)
# Pixels: the words of a wider picture, mostly one of several panels, would be too small on a phone.
WIDE = 770
PNG = b"\x89PNG\r\n\x1a\n"
# A formula or a name of code, with the marks before and behind it: a line must not end between them.
FORMULA = r'<span class="math[^"]*">[^<]*</span>'
CODE = r'(?:<a [^>]*>)?<code class="[^"]*literal[^>]*>(?:<span[^>]*>[^<]*</span>| )*</code>(?:</a>)?'
TIED = re.compile(rf"([(\[“‘]*)({FORMULA}|{CODE})([,.;:!?)\]”’]*)")
SHORT = 24  # characters of code that stay on one line together with the mark behind them


def _prepare(app, config):
    """Use the MathJax under assets/ where the build fetched it, MathJax's public address where not; silence Thebe.

    Jupyter Book always loads sphinx-thebe, which declares one constant twice a page: an error in every console.
    """
    if (Path(app.srcdir) / "assets" / LOCAL).exists():
        config.mathjax_path = LOCAL
    for event, listeners in app.events.listeners.items():
        app.events.listeners[event] = [
            one for one in listeners if getattr(one.handler, "__name__", "") != "init_thebe_core"
        ]


def png_size(path):
    """Width and height of a PNG file in pixels, from its header; zeros for any other file."""
    head = Path(path).read_bytes()[:24] if Path(path).is_file() else b""
    return struct.unpack(">II", head[16:24]) if head.startswith(PNG) else (0, 0)


def polished(body, pictures):
    """A page whose pictures have sizes and may be swiped sideways, and whose lines end where they may."""

    def sized(match):
        width, height = png_size(pictures.get(match[3], ""))
        if not width:
            return match[0]
        image = f'<img width="{width}" height="{height}" {match[2].rstrip(" /")} />'
        if match[1] and width > WIDE:
            image = f'<div class="figure-scroll" style="--drawn: {width}px">{image}</div>'
        return (match[1] or "") + image

    def tied(match):
        if not match[1] + match[3]:
            return match[0]
        short = " short" if len(re.sub("<[^>]*>", "", match[2])) <= SHORT else ""
        return f'<span class="no-break{short}">{match[0]}</span>'

    parts = re.split(r"(<pre.*?</pre>)", PICTURE.sub(sized, body), flags=re.S)
    for i in range(0, len(parts), 2):
        parts[i] = TIED.sub(tied, parts[i])
    return "".join(parts)


def _polish(app, _pagename, _templatename, context, doctree):
    """Polish a page when it is written."""
    if doctree is not None:
        pictures = {name: Path(app.srcdir) / path for path, name in app.builder.images.items()}
        context["body"] = polished(context["body"], pictures)


def _lighten(app, exception):
    """Drop the theme's 1.5 MB script of icons, which its style sheet has as a small font."""
    if exception or app.builder.format != "html":
        return
    for page in Path(app.outdir).rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        if ICON_SCRIPT.search(text):
            page.write_text(ICON_SCRIPT.sub("", text), encoding="utf-8")
    for file in (Path(app.outdir) / "_static" / "scripts").glob("fontawesome.js*"):
        file.unlink()


def _skip_field_aliases(_app, _what, _name, member, skip, _options):
    """Leave out the fields of named tuples, documented as "Alias for field number 0": their class lists them."""
    return True if (getattr(member, "__doc__", None) or "").startswith("Alias for field number") else skip


def setup(app):
    """Act once the configuration is read and every extension is loaded, and when the pages are written."""
    app.connect("config-inited", _prepare)
    app.connect("autodoc-skip-member", _skip_field_aliases)
    app.connect("html-page-context", _polish)
    app.connect("build-finished", _lighten)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
