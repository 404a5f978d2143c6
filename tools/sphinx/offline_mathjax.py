"""Sphinx extension: use the MathJax under assets/ where the build fetched it, MathJax's public address where not."""

from pathlib import Path

LOCAL = "mathjax/tex-mml-chtml.js"


def _choose(app, config):
    if (Path(app.srcdir) / "assets" / LOCAL).exists():
        config.mathjax_path = LOCAL


def setup(app):
    """Choose once the configuration is read."""
    app.connect("config-inited", _choose)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
