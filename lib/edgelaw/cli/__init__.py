"""The command line, ``edgelaw``: one file per command, the HTML report, and Dask."""

from edgelaw.cli.parser import main

__all__ = ["main"]
