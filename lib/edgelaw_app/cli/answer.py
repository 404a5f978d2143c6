"""The answer of a forecast, in a terminal: what to do, code to paste, a small table, what was assumed, cautions."""

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from edgelaw_app.cli.format import digits
from edgelaw_app.cli.terminal import cautions, line, paragraph, printable
from edgelaw_app.forecast.results import Forecast, OrderForecast, with_error

if TYPE_CHECKING:
    from rich.console import Console

BETTER = 0.01  # relative: what counts as a difference


def show(shown: "Console", forecast: Forecast, name: str) -> None:
    """Everything that ``predict`` and ``probe`` have to say, in at most 80 columns."""
    from rich.text import Text

    shown.width = min(shown.width, 80)
    shown.print(Text.assemble((printable(name), "bold"), f"  {about(forecast)}"))
    shown.print()
    first, *rest = forecast.advice.sentences
    paragraph(shown, first, "bold green")
    paragraph(shown, " ".join(rest))
    shown.print()
    for text in forecast.code.splitlines():
        line(shown, f"  {text}")
    shown.print()
    shown.print(table(forecast))
    shown.print()
    for text in facts(forecast):
        paragraph(shown, text)
    paragraph(shown, forecast.assumed, "dim")
    if forecast.check.verdict == "agrees":
        paragraph(shown, forecast.check.text, "dim")
    cautions(shown, [caution.text for caution in forecast.cautions])
    shown.print()
    paragraph(shown, " ".join(forecast.preparation), "dim")


def about(forecast: Forecast) -> str:
    """What was read, in a few words."""
    m, d = forecast.shape
    if forecast.labels is None:
        return f"{m:,} rows × {d:,} columns"
    known = forecast.labels
    outputs = f"{known.outputs} output{'s' if known.outputs > 1 else ''}"
    kind = f"{len(known.classes)} classes" if known.classes else outputs
    return f"{m:,} rows × {d:,} columns to train on, {known.held_out_rows:,} rows held out, {kind}"


def columns(forecast: Forecast) -> list[float]:
    """The epochs of the table: those that the advice names, and an earlier one."""
    times = {float(forecast.advice.epochs), forecast.advice.time}
    if len(times) == 1 and forecast.advice.time > 1:
        times.add(float(max(1, round(forecast.advice.time / 5))))
    known = next(iter(forecast.orders.values())).epochs
    return sorted({float(known[np.abs(known - time).argmin()]) for time in times})


def moment(time: float, rows: int) -> str:
    """A time over a column."""
    return f"{round(time * rows):,} rows" if time < 1 else f"epoch {time:,.0f}"


def cell(one: OrderForecast, time: float, loss: str, start: float = 1.0, unit: float = 1.0) -> str:
    """A loss that began at `start`, with its error where it was run; over `unit`, where its level is not known."""
    if not np.isclose(one.epochs, time).any():
        return "–"
    value, error = one.at(time, loss)
    if one.how == "part" and np.isfinite(value):
        return f"{digits(value / unit)} ×"
    error = 0.0 if one.how == "theory" else error
    return with_error(value, error, start, digits).replace(" ± ", " ±").replace(" %", "%")


def cells(forecast: Forecast, one: OrderForecast, times: Sequence[float]) -> dict[str, list[str]]:
    """Each loss of an order at some times; where its level is not known, over that of the order to take."""
    return {
        loss: [cell(one, time, loss, forecast.start, forecast.best.at(time, loss)[0]) for time in times]
        for loss in one.losses
    }


def rows(forecast: Forecast, times: Sequence[float]) -> list[list[str]]:
    """A row per order at its own best learning rate, and at the one that was asked for."""
    return [
        [order, digits(one.lr), *itertools.chain(*cells(forecast, one, times).values())]
        for group in (forecast.orders, forecast.asked)
        for order, one in group.items()
    ]


def table(forecast: Forecast) -> Any:
    """Every order at its own best learning rate and at the one asked for: both losses at the epochs of the advice."""
    from rich.markup import escape
    from rich.table import Table

    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    times, losses = columns(forecast), list(next(iter(forecast.orders.values())).losses)
    made.add_column("\norder", no_wrap=True)
    made.add_column("\nlr", justify="right", no_wrap=True)
    for loss in losses:
        heads = loss.split() if len(times) > 1 else [loss]
        for k, time in enumerate(times):
            made.add_column(f"{heads[k]}\n{moment(time, forecast.shape[0])}", justify="right", no_wrap=True)
    for k, texts in enumerate(rows(forecast, times)):
        if k == len(forecast.orders):
            made.add_row("at your lr:")
        made.add_row(*map(escape, texts))
    return made


def facts(forecast: Forecast) -> list[str]:
    """Sentences on the target, on what other learning rates cost, on direct solutions."""
    made, advice = [], forecast.advice
    if forecast.target is not None:
        made.append(_target(forecast))
    diverges = f"SGD diverges from lr = {digits(forecast.largest_lr[advice.order])} on."
    if forecast.labels is None:
        return [*made, f"{diverges} lr is for torch.optim.SGD and nn.MSELoss()."]
    words, gain = {"lr / 10": "a tenth of this lr", "10 lr": "ten times this lr"}, forecast.labels.gain
    parts = [
        f"{words[name]} {f'ends at {digits(value)}' if np.isfinite(value) else 'diverges'}"
        for name, value in forecast.labels.costs.items()
    ]
    ends = "; ".join([*parts, diverges])
    made.append(ends[0].upper() + ends[1:])
    if gain is not None:
        how = f"{100 * abs(gain):.2g} % {'below' if gain > 0 else 'above'}"
        made.append(f"The schedule ends {how if abs(gain) >= 0.001 else 'as low as'} the best constant lr.")
    return [*made, _ridge(forecast)]


def _target(forecast: Forecast) -> str:
    """When each order reaches the target at its best learning rate."""
    m, parts = forecast.shape[0], []
    for order, one in forecast.orders.items():
        time, last = forecast.reached[order], moment(one.epochs[-1], m)
        parts.append(f"{order} {f'not by {last}' if time is None else f'at {moment(time, m)}'}")
    return f"{forecast.advice.loss.capitalize()} of {forecast.target:g}: {', '.join(parts)}."


def _ridge(forecast: Forecast) -> str:
    """What a direct solution reaches, which costs less."""
    assert forecast.labels is not None
    direct, end = forecast.labels.ridge, float(forecast.best.losses[forecast.advice.loss].min())
    if direct.ridge_held_out is None or direct.ridge is None:
        return f"Least squares in closed form has training loss {digits(direct.least_squares_train)}."
    loss = direct.ridge_held_out
    found = (
        f"Ridge regression in closed form (penalty {digits(direct.ridge)}) has held-out loss {digits(loss)}"
    )
    if loss > (1 + BETTER) * end:
        return f"{found}: SGD, stopped early, is {100 * (1 - end / loss):.0f} % better than every ridge."
    less = f"{100 * (1 - loss / end):.0f} % less" if loss < (1 - BETTER) * end else "as good"
    return f"{found}, {less}, and needs no learning rate: prefer it unless you need SGD."
