"""Sphinx extension: pages that ask no other host and raise no JavaScript error."""

from pathlib import Path

LOCAL = "mathjax/tex-mml-chtml.js"


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


def setup(app):
    """Act once the configuration is read and every extension is loaded."""
    app.connect("config-inited", _choose_mathjax)
    app.connect("config-inited", _silence_thebe)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
