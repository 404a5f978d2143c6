"""What `predict` and `probe` have in common: options, the answer in a terminal or as JSON, the report."""

import argparse
import dataclasses
from typing import TYPE_CHECKING, Any

from edgelaw import __version__
from edgelaw_app.cli.terminal import chosen_orders, console, deliver, destination

if TYPE_CHECKING:
    from rich.console import Console

    from edgelaw_app.forecast import Forecast


def options(arguments: argparse.Namespace, *kinds: Any) -> dict[str, Any]:
    """The options of a forecast that were given, by name: fields of these dataclasses."""
    given = vars(arguments) | {"orders": arguments.order and chosen_orders(arguments.order)}
    names = [one.name for kind in kinds for one in dataclasses.fields(kind)]
    return {name: given[name] for name in names if given.get(name) is not None}


def report_path(arguments: argparse.Namespace) -> str | None:
    """Where the report goes, known to be writable before anything long is computed."""
    return arguments.report and destination(arguments.report, (".html", ".htm"), arguments.file)


def tell(
    forecast: "Forecast", arguments: argparse.Namespace, schema: str, names: dict[str, str], path: str | None
) -> int:
    """Print the answer, write the report; return the exit status."""
    from edgelaw_app.cli import answer

    def show(shown: "Console") -> None:
        answer.show(shown, forecast, names["file"])

    def write() -> None:
        from edgelaw_app.cli import report

        report.write(path or "", forecast, names["file"], __version__)

    record = {"schema": schema, "version": __version__, **names, **forecast.to_dict()}
    return deliver(arguments, record, show, console(80), ("report", arguments.report, write))
