"""``edgelaw predict``: what SGD will do on a reader's own data, and what to do about it."""

from rich.markup import escape
from rich.table import Table
from rich.text import Text

from edgelaw import __version__
from edgelaw.cli import format
from edgelaw.cli.design import decomposed
from edgelaw.cli.format import digits, plain
from edgelaw.cli.show import heading, paragraph, spectral
from edgelaw.cli.terminal import Bar, Refusal, console, destination, machine, printable, shortened
from edgelaw.orders import ORDERS
from edgelaw.predict import predict

SCHEMA = "edgelaw.predict/1"


def run(arguments):
    """Read, predict, show; return the exit status."""
    orders = chosen_orders(arguments.order)
    path = arguments.report and destination(arguments.report, (".html", ".htm"), arguments.file)
    simulate = "auto" if arguments.simulate is None else arguments.simulate
    with Bar() as bar:
        design = decomposed(arguments, bar)
        prediction = predict(
            design,
            epochs=arguments.epochs,
            step=arguments.step,
            orders=orders,
            target=arguments.target,
            simulate=simulate,
            rng=arguments.seed,
            seconds=arguments.seconds,
            progress=bar,
            search=arguments.search or arguments.step == "best",
        )
    if path:
        from edgelaw.cli import report

        report.write(path, prediction, design.name, __version__)
    if arguments.json:
        machine({"schema": SCHEMA, "version": __version__, "file": design.name, **prediction.to_dict()})
    else:
        shown = console()
        show(shown, prediction, design.name)
        if path:
            shown.print(Text(f"\nThe report is in {printable(arguments.report)}."))
    return 0


def chosen_orders(names):
    """The orders asked for, each once; all of them if none was named."""
    chosen = []
    for name in names or ORDERS:
        order = name.lower().replace("-", "_")
        if order not in ORDERS:
            raise Refusal(f"There is no order {shortened(name)}: the orders are {', '.join(ORDERS)}.")
        chosen += [order] if order not in chosen else []
    return chosen


# the terminal ----------------------------------------------------------------------------------------------


def show(shown, prediction, name):
    """Print a prediction."""
    heading(shown, name, prediction.shape, prediction.steps)
    spectral(shown, prediction)
    shown.print(table(prediction))
    told = [f"{', '.join(orders)}: {why}" for orders, why in format.reasons(prediction)]
    for text in [*told, prediction.diagnostic.text]:
        shown.print()
        paragraph(shown, text, "dim")
    for caution in prediction.warnings:
        shown.print()
        paragraph(shown, caution.text, "yellow", "!")
    shown.print()
    paragraph(shown, prediction.advice.reason, "bold green")


def table(prediction):
    """Two lines an order: test and training loss at a few epochs, and what follows from them."""
    forecasts = prediction.forecasts
    moments = format.milestones(next(iter(forecasts.values())).curve.epochs)
    targeted = prediction.target is not None
    best = any(step for forecast in forecasts.values() for step in (forecast.best_step or {}).values())
    compared = any(forecast.discrepancy for forecast in forecasts.values())
    found = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for title in ("order", "known by", "loss"):
        found.add_column(title, no_wrap=True)
    if prediction.step == "best":
        found.add_column("step", justify="right", no_wrap=True)
    for index, n in enumerate(moments):
        found.add_column(f"{'epoch ' if index == 0 else ''}{n:,}", justify="right", no_wrap=True)
    if targeted:
        found.add_column(f"epochs to {plain(prediction.target)}", justify="right")
    if best:
        found.add_column("best step", justify="right")
    if compared:
        found.add_column("simulated − theory", justify="right")
    for order, forecast in forecasts.items():
        for kind, label in (("test", "test"), ("train", "training")):
            first = kind == "test"
            cells = [order, forecast.how, label] if first else ["", "", label]
            if prediction.step == "best":
                cells.append(digits(forecast.step, 3) if first else "")
            cells += [digits(format.at(forecast.curve, n, kind)) for n in moments]
            if targeted:
                cells.append(format.needed(forecast, kind, prediction.epochs))
            if best:
                cells.append(digits((forecast.best_step or {}).get(kind)))
            if compared:
                cells.append(format.apart((forecast.discrepancy or {}).get(kind)))
            found.add_row(*map(escape, cells), style="" if first else "dim")
    return found
