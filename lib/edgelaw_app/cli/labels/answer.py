"""The answer about a probe in a terminal: one screen of 80 columns."""

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from edgelaw.plots import ORDER_STYLES
from edgelaw_app.cli import show as common
from edgelaw_app.cli.format import digits, loss_digits
from edgelaw_app.cli.labels.reading import Read
from edgelaw_app.cli.terminal import printable
from edgelaw_app.labels import ProbeForecast

BOOK = 'How this is computed: the book\'s chapter 14, "Linear probes".'


def show(shown: Console, forecast: ProbeForecast, read: Read) -> None:
    """Everything that ``predict --labels`` has to say."""
    m, d = forecast.shape
    what = f"{len(forecast.classes)} classes" if forecast.classes else f"{forecast.outputs} output(s)"
    rows = f"{m:,} × {d:,} to train on, {forecast.held_out_rows:,} rows held out, {what}"
    shown.print(Text(printable(read.name), "bold"))
    shown.print(Text(rows))
    shown.print()
    common.paragraph(shown, forecast.sentences["advice"], "bold green")
    for name in ("judged", "loss", "accuracy", "schedule", "rates"):
        if forecast.sentences[name]:
            common.paragraph(shown, forecast.sentences[name])
    common.paragraph(
        shown,
        "lr is that of torch.optim.SGD for half the squared error, summed over outputs, mean over the batch; "
        f"with nn.MSELoss() it is {digits(forecast.mse_lr)}.",
        "dim",
    )
    shown.print()
    shown.print(losses_table(forecast))
    shown.print()
    shown.print(costs_table(forecast))
    shown.print()
    common.paragraph(shown, forecast.sentences["closed_form"])
    if forecast.sentences["check"]:
        common.paragraph(shown, forecast.sentences["check"])
    if forecast.cautions:
        common.paragraph(shown, "When not to believe it:", "yellow")
    for caution in forecast.cautions:
        common.paragraph(shown, caution.text, "yellow", "!")
    common.paragraph(shown, " ".join((*forecast.preparation, BOOK)), "dim")


def milestones(epochs: int, most: int = 6) -> list[int]:
    """A few epochs for a table: 0, 1, some round ones, the last.

    >>> milestones(20), milestones(1), milestones(100)
    ([0, 1, 2, 5, 10, 20], [0, 1], [0, 1, 10, 20, 50, 100])
    """
    between = [one * 10**k for k in range(5) for one in (1, 2, 5) if 1 < one * 10**k < epochs]
    return sorted({0, 1, epochs, *between[len(between) - min(len(between), most - 3) :]})


def _table() -> Table:
    return Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")


def losses_table(forecast: ProbeForecast) -> Table:
    """Training and held-out loss of the recommended order at a few epochs."""
    times = milestones(forecast.epochs)
    table = _table()
    table.add_column("expected loss", no_wrap=True)
    for n in times:
        table.add_column(f"epoch {n:,}" if n in (0, times[-1]) else f"{n:,}", justify="right", no_wrap=True)
    lines = [("training", forecast.train), ("held-out", forecast.held_out)]
    if forecast.simulated is not None:
        lines += [("training, run", forecast.simulated.train), ("held-out, run", forecast.simulated.held_out)]
    for name, values in lines:
        if values is not None:
            table.add_row(name, *(digits(float(values[n])) for n in times))
    return table


def more(ratio: float | None) -> str:
    """A loss over the forecast's as a difference in percent.

    >>> more(1.234), more(0.98), more(1.001), more(None), more(123.0)
    ('+23 %', '-2 %', 'the same', 'diverges', '123 times')
    """
    if ratio is None or not np.isfinite(ratio):
        return "diverges"
    if abs(ratio - 1) < 0.005:
        return "the same"
    return f"{ratio:.0f} times" if ratio >= 10 else f"{100 * (ratio - 1):+.0f} %"


def costs_table(forecast: ProbeForecast) -> Table:
    """What other orders and learning rates end at."""
    costs, end = forecast.costs, float(forecast.loss[-1])
    name = "training" if forecast.held_out is None else "held-out"
    table = _table()
    table.add_column("if you took instead", no_wrap=True)
    table.add_column(f"{name} loss", justify="right", no_wrap=True)
    table.add_column("that is", justify="right", no_wrap=True)
    for order, ratio in costs.orders.items():
        label = ORDER_STYLES[order]["label"]
        one = forecast.orders[order]
        mark = "" if one.how == "theory" else " (simulated)"
        loss = loss_digits(ratio * end, None if one.how == "theory" else ratio * end * one.error)
        table.add_row(escape(f"{label}, same lr{mark}"), loss, more(ratio))
    if costs.smaller is not None:
        lr = f"a ten times smaller lr, {digits(forecast.lr / 10)}"
        table.add_row(lr, digits(costs.smaller * end), more(costs.smaller))
    if costs.larger is not None:
        times = "ten times" if costs.larger_factor >= 10 else f"{digits(costs.larger_factor, 2)} times"
        lr = f"a {times} larger lr, {digits(costs.larger_lr)}"
        table.add_row(lr, digits(costs.larger * end), more(costs.larger))
    table.add_row(f"lr from {digits(forecast.largest_lr)} on", "", "diverges")
    return table
