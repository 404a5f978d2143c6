"""What `predict` and `probe` do with a forecast: print it, write its report, refuse a bad path before any work."""

import argparse
from typing import TYPE_CHECKING

from edgelaw import __version__
from edgelaw_app.cli.terminal import attempt, console, destination, machine, printable

if TYPE_CHECKING:
    from edgelaw_app.forecast import Forecast


def report_path(arguments: argparse.Namespace) -> str | None:
    """Where the report goes, known to be writable before anything long is computed."""
    return arguments.report and destination(arguments.report, (".html", ".htm"), arguments.file)


def tell(
    forecast: "Forecast", arguments: argparse.Namespace, schema: str, names: dict[str, str], path: str | None
) -> int:
    """Print the answer, write the report; return the exit status."""
    failure = None
    if path:
        from edgelaw_app.cli import report

        failure = attempt(arguments.report, lambda: report.write(path, forecast, names["file"], __version__))
    if arguments.json:
        machine({"schema": schema, "version": __version__, **names, **forecast.to_dict()})
    else:
        from edgelaw_app.cli import answer
        from edgelaw_app.cli.show import line

        shown = console(80)
        answer.show(shown, forecast, names["file"])
        if path and not failure:
            line(shown, f"\nThe report is in {printable(arguments.report)}.")
    if failure:
        raise failure
    return 0
