"""What a forecast of a probe shows of itself in a notebook: its advice, a small plot, a small table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgelaw import plots
from edgelaw._common import notebook

if TYPE_CHECKING:
    from edgelaw_app.labels.results import ProbeForecast


def card(forecast: ProbeForecast) -> str:
    """The HTML of a forecast, in the page's own colours and font."""
    times = np.arange(forecast.epochs + 1)
    name = "training loss" if forecast.held_out is None else "held-out loss"
    lines = []
    for order, one in forecast.orders.items():
        look = plots.ORDER_STYLES[order]
        label = look["label"] if one.how == "theory" else f"{look['label']} (simulated)"
        lines.append(notebook.Line(times, one.loss, label, look["color"], look["linestyle"]))
    if forecast.simulated is not None:
        look = plots.ORDER_STYLES[forecast.order]
        places = notebook.moments(times, 7)
        points = times[places], forecast.simulated.loss[places]
        lines.append(notebook.Line(*points, "a run", look["color"], "none", look["marker"]))
    advice = forecast.sentences["advice"]
    label = f"{name.capitalize()} by epoch in each order. {advice}"
    places = notebook.moments(times, 3)
    rows = [
        [plots.ORDER_STYLES[order]["label"], *(notebook.number(one.loss[place]) for place in places)]
        for order, one in forecast.orders.items()
    ]
    header = [name, *(f"epoch {times[place]}" for place in places)]
    note = [
        forecast.sentences["accuracy"],
        forecast.sentences["rates"],
        forecast.sentences["closed_form"],
        *(caution.text for caution in forecast.cautions),
    ]
    picture = notebook.plot(lines, "epoch", name, label)
    return notebook.card(f"{advice} {forecast.sentences['loss']}", picture, header, rows, " ".join(note))
