"""The command line, ``edgelaw``: one file per command, the HTML report, and Dask."""

from edgelaw_app.cli.parser import main

__all__ = ["main"]
