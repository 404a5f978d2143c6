"""What `predict` and `probe` have in common: options, the answer in a terminal or as JSON, the report."""

import argparse
import dataclasses
from typing import TYPE_CHECKING, Any

from edgelaw import __version__
from edgelaw_app.cli.terminal import (
    add_json,
    add_orders,
    add_preprocessing,
    attempt,
    between,
    command,
    console,
    destination,
    machine,
    printable,
    whole,
)

if TYPE_CHECKING:
    from edgelaw_app.forecast import Forecast


def parser(commands: Any, *described: Any, epochs: int, orders: str) -> argparse.ArgumentParser:
    """A command on a file, with the options that both have; `described` is what `command` takes."""
    made = command(commands, *described)
    add_preprocessing(made)
    made.add_argument(
        "--epochs", type=whole(1, 100_000), default=epochs, metavar="N", help=f"the budget (default {epochs})"
    )
    add_orders(made, orders)
    made.add_argument(
        "--lr",
        type=between(0),
        metavar="LR",
        help="also say what this lr would do, beside the best one of each order",
    )
    made.add_argument(
        "--batch",
        type=whole(1),
        default=1,
        metavar="B",
        help="rows per update, averaged as PyTorch does (default 1)",
    )
    made.add_argument(
        "--operations",
        type=between(0),
        metavar="N",
        help="multiply-adds that running SGD may take (default 2.5e10)",
    )
    made.add_argument("--report", metavar="PATH", help="also write an HTML report, which must end in .html")
    add_json(made)
    return made


def options(arguments: argparse.Namespace, *kinds: Any) -> dict[str, Any]:
    """The options of a forecast that were given, by name: fields of these dataclasses."""
    names = [one.name for kind in kinds for one in dataclasses.fields(kind)]
    return {name: value for name in names if (value := getattr(arguments, name, None)) is not None}


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
