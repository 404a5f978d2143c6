"""A forecast as one HTML file: what to do, code, a plot of each loss and the numbers, by day and night, on a phone.

The file needs nothing else: no network, no script, no font, no picture beside it, and its own content policy forbids
to load any. Everything that comes from a reader's file, its name above all, is escaped by the template.
"""

import os
import re
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from edgelaw import plots
from edgelaw_app import atomic
from edgelaw_app.cli import answer
from edgelaw_app.cli.format import digits
from edgelaw_app.forecast import Forecast, OrderForecast

if TYPE_CHECKING:
    from jinja2 import Environment

COLOURS = {order: style["color"].lower() for order, style in plots.ORDER_STYLES.items()}
MEANS = {
    "parameter error": "Mean square of w − w*, relative to its start: not a loss on held-out rows.",
    "training loss": "Mean squared residual on the rows themselves{}.",
    "held-out loss": "Mean squared error on the held-out rows{}.",
}


class Picture(NamedTuple):
    """A picture as an SVG element, empty where there is nothing to draw, and what it shows, in words."""

    svg: Any
    label: str
    meaning: str


def html(forecast: Forecast, name: str, version: str = "") -> str:
    """The whole report as text: `name` is that of the file, `version` the library's, for the last line."""
    times, losses = _times(forecast), list(forecast.best.losses)
    template = environment().get_template("report.html.jinja")
    groups = [
        (title, [_row(forecast, one, times) for one in group.values()])
        for title, group in (
            ("each order at its best lr", forecast.orders),
            ("at the lr asked for", forecast.asked),
        )
        if group
    ]
    return template.render(
        f=forecast,
        name=str(name).encode("utf-8", "replace").decode("utf-8"),
        version=version,
        about=answer.about(forecast),
        facts=answer.facts(forecast),
        limit=forecast.largest_lr[forecast.advice.order],
        light=COLOURS,
        dark=plots.DARK_COLORS,
        pictures=drawn(forecast),
        losses=losses,
        moments=[answer.moment(time, forecast.shape[0]) for time in times],
        groups=groups,
        known=_known([row for _, rows in groups for row in rows]),
    )


def write(path: str | os.PathLike[str], forecast: Forecast, name: str, version: str = "") -> None:
    """Write the report, whole or not at all; a report that was there before stays until then."""
    atomic.write(path, html(forecast, name, version))


@cache
def environment() -> "Environment":
    """Where templates are made into pages: everything that comes from a reader's file is escaped."""
    import jinja2

    made = jinja2.Environment(
        loader=jinja2.PackageLoader("edgelaw_app.cli"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.globals |= {"digits": digits, "marked": _marked}
    return made


def _marked(text: str) -> Any:
    """A sentence, escaped, with what stands between backticks as code."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"`([^`]*)`", r"<code>\1</code>", str(escape(text))))


def drawn(forecast: Forecast) -> dict[str, Picture]:
    """The pictures, by the name of the loss that they show."""
    from markupsafe import Markup

    relative = ", summed over outputs" if forecast.labels else ", relative to the squared starting error"
    made = {}
    for loss in forecast.best.losses:
        ends = "; ".join(
            f"{plots.ORDER_STYLES[order]['label']} {answer.cell(one, one.epochs[-1], loss, forecast.start)}"
            for order, one in forecast.orders.items()
        )
        label = f"{loss.capitalize()} by epoch, each order at its best learning rate. At the end: {ends}."
        svg = forecast.picture(loss, label, {colour: f"var(--{name})" for name, colour in COLOURS.items()})
        made[loss] = Picture(Markup(svg), label, MEANS[loss].format(relative))
    return made


def _times(forecast: Forecast) -> list[float]:
    """About eight of the recorded times, among them those of the advice."""
    recorded = forecast.best.epochs[1:]
    spread = np.geomspace(recorded[0], recorded[-1], min(len(recorded), 6))
    chosen = {recorded[np.abs(np.log(recorded / n)).argmin()].item() for n in spread}
    return sorted(chosen | set(answer.columns(forecast)))


def _known(rows: list[dict[str, Any]]) -> dict[str, list[str]]:
    """How losses are known that are not theory's: each sentence with the orders that it is true of."""
    made: dict[str, dict[str, None]] = {}
    for row in rows:
        if row["why"]:
            made.setdefault(row["why"], {})[row["label"]] = None
    return {why: list(labels) for why, labels in made.items()}


def _row(forecast: Forecast, one: OrderForecast, times: list[float]) -> dict[str, Any]:
    """A line of the table of numbers per loss."""
    return {
        "name": one.order,
        "label": plots.ORDER_STYLES[one.order]["label"],
        "lr": digits(one.lr),
        "why": one.why,
        "cells": answer.cells(forecast, one, times),
    }
