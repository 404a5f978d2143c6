"""Sphinx extension: pages that ask no other host, raise no JavaScript error and weigh no more than they must."""

import re
from pathlib import Path

LOCAL = "mathjax/tex-mml-chtml.js"
ICON_SCRIPT = re.compile(r'<script defer src="[^"]*scripts/fontawesome\.js[^"]*"></script>\s*')


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


def setup(app):
    """Act once the configuration is read and every extension is loaded, and when the pages are written."""
    app.connect("config-inited", _choose_mathjax)
    app.connect("config-inited", _silence_thebe)
    app.connect("build-finished", _lighten)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
