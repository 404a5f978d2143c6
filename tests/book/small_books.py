"""Books of two or three pages, built by Sphinx to see what our extensions make of them."""

import contextlib
import io
import warnings

from sphinx.cmd.build import main


def build(folder, *options):
    """Build a folder as `python -m sphinx -q` does, in this process: its exit status and what it complains of."""
    complaints = io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stderr(complaints):
        warnings.simplefilter("ignore")  # what Sphinx and its themes deprecate is not our concern
        status = main(["-q", *options, "-b", "html", str(folder), str(folder / "html")])
    return status, complaints.getvalue()
