"""``edgelaw predict FILE --labels Y``: which learning rate, order and number of epochs a linear probe needs.

The options are described here without importing anything heavy; :mod:`edgelaw_app.cli.labels.reading` opens the files,
:mod:`edgelaw_app.cli.labels.answer` prints, :mod:`edgelaw_app.cli.labels.report` draws.
"""

import argparse
import dataclasses
import math
from typing import Any

from edgelaw import __version__
from edgelaw_app.cli.terminal import (
    Bar,
    Refusal,
    attempt,
    between,
    chosen_orders,
    console,
    destination,
    machine,
    printable,
)

SCHEMA = "edgelaw.predict.labels/1"
SCHEDULES = ("constant", "cosine", "linear", "1/t", "best")
EPOCHS = 20
HELD_OUT = "0.2"
ONLY_WITH_LABELS = ("held_out", "lr", "schedule")


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of a probe."""
    group = parser.add_argument_group(
        "a linear probe on these features",
        'The book\'s chapter 14, "Linear probes", derives what is computed.',
    )
    group.add_argument(
        "--labels",
        metavar="Y",
        help="what to predict: a key of FILE, a column of a table, another file, or FILE:KEY; integers and texts are "
        "classes, floating point numbers are numbers",
    )
    group.add_argument(
        "--held-out",
        metavar="H",
        help="rows to test on: a fraction of FILE's, another file with the same names in it, a pair "
        f"FEATURES,LABELS of files or keys, or none (default {HELD_OUT})",
    )
    group.add_argument(
        "--lr",
        type=between(0, math.inf),
        metavar="LR",
        help="judge this learning rate of torch.optim.SGD (default: find the best)",
    )
    group.add_argument(
        "--schedule",
        choices=SCHEDULES,
        metavar="NAME",
        help=f"how the learning rate changes from epoch to epoch: {', '.join(SCHEDULES)} (default constant)",
    )


def refuse_without_labels(arguments: argparse.Namespace) -> None:
    """Refuse the options of a probe where no labels are given."""
    for name in ONLY_WITH_LABELS:
        if getattr(arguments, name) is not None:
            raise Refusal(f"--{name.replace('_', '-')} is an option of linear probes and needs --labels.")


def _refuse_with_labels(arguments: argparse.Namespace) -> None:
    """Refuse options that mean nothing to a probe."""
    if arguments.target is not None:
        raise Refusal("--target counts epochs without noise; with --labels read the loss by epoch instead.")
    if arguments.dask is not None:
        raise Refusal("--dask cannot be used with --labels; leave one of them out.")
    if not arguments.search and arguments.lr is None and arguments.step is None:
        raise Refusal("--no-search leaves no learning rate to judge; give --lr as well.")


def run(arguments: argparse.Namespace) -> int:
    """Read features and labels, forecast, show; return the exit status."""
    _refuse_with_labels(arguments)
    orders = chosen_orders(arguments.order)
    path = arguments.report and destination(arguments.report, (".html", ".htm"), arguments.file)
    from edgelaw_app import labels
    from edgelaw_app.cli.labels import reading

    with Bar() as bar:
        bar(what="reading")
        read = reading.features_and_labels(arguments, arguments.held_out or HELD_OUT)
        step = None if arguments.step == "best" else arguments.step
        forecast = labels.forecast(
            read.X,
            read.y,
            epochs=arguments.epochs or EPOCHS,
            orders=orders,
            lr=arguments.lr,
            step=step,
            schedule=arguments.schedule or "constant",
            batch=arguments.batch,
            held_out=read.held_out,
            center=arguments.center,
            normalize=bool(arguments.normalize),
            simulate=bool(arguments.simulate),
            rng=arguments.seed,
            progress=bar,
        )
    return _show(arguments, _with_file(forecast, read), read, path)


def _with_file(forecast: Any, read: Any) -> Any:
    """The forecast with what is to be said of the file: what was done to it, and columns that are no features."""
    from edgelaw_app.labels import Caution

    odd = tuple(Caution("columns", text) for text in read.warnings)
    return dataclasses.replace(
        forecast, cautions=(*odd, *forecast.cautions), preparation=(*read.notes, *forecast.preparation)
    )


def _show(arguments: argparse.Namespace, forecast: Any, read: Any, path: str | None) -> int:
    """Print the answer, write the report."""
    failure = None
    if path:
        from edgelaw_app.cli.labels import report

        failure = attempt(arguments.report, lambda: report.write(path, forecast, read.name, __version__))
    if arguments.json:
        names = {"file": read.name, "labels": read.labels}
        machine({"schema": SCHEMA, "version": __version__, **names, "probe": forecast.to_dict()})
    else:
        from edgelaw_app.cli import show
        from edgelaw_app.cli.labels import answer

        shown = console(width=80)
        answer.show(shown, forecast, read)
        if path and not failure:
            show.line(shown, f"\nThe report is in {printable(arguments.report)}.")
    if failure:
        raise failure
    return 0
