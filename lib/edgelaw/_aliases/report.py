"""The public name of ``edgelaw.cli.report``: a prediction as one HTML file."""

from edgelaw.cli.report import html, write

__all__ = ["html", "write"]
