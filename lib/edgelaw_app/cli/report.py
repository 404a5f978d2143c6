"""A prediction as one HTML file: three plots and the numbers, readable by day and night, on paper and on a phone.

The file needs nothing else: no network, no script, no font, no picture beside it, and its own content policy forbids
to load any. Everything that comes from a reader's file, its name above all, is escaped by the template.
"""

import os
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from edgelaw import plots
from edgelaw_app import atomic
from edgelaw_app.cli import format, pictures
from edgelaw_app.cli.format import as_typed, digits, with_error
from edgelaw_app.forecast import Prediction

if TYPE_CHECKING:
    from jinja2 import Environment, Template

_HOW = {
    "exact": "exact theory on the measured eigenvalues",
    "simulated": "simulated on these rows",
    "pilot": "simulated on a random subset of the same shape",
}
_LOSSES = (
    (
        "test",
        "Test loss by epoch",
        "Squared parameter error, relative to its start: not a loss on held-out rows.",
    ),
    (
        "train",
        "Training loss by epoch",
        "Mean squared residual on the rows themselves, relative to the squared starting error.",
    ),
)


class Picture(NamedTuple):
    """A picture as an SVG element, None where there is nothing to draw, and what it shows, in words."""

    svg: str | None
    label: str


def html(prediction: Prediction, name: str, version: str = "") -> str:
    """The whole report as text.

    Parameters
    ----------
    prediction : edgelaw_app.forecast.Prediction
        What to report.
    name : str
        The name of the file that was read, as the reader knows it; it is escaped here.
    version : str
        Version of the library, for the last line.

    Returns
    -------
    str
        A complete HTML page.
    """
    forecasts = prediction.forecasts
    return _template().render(
        p=prediction,
        name=str(name).encode("utf-8", "replace").decode("utf-8"),
        version=version,
        light=pictures.LIGHT,
        dark=plots.DARK_COLORS,
        pictures=drawn(prediction),
        losses=_LOSSES,
        exponent=_exponent(prediction),
        zeros=int((np.asarray(prediction.eigenvalues) <= 0).sum()),
        measured=any(forecast.how != "exact" for forecast in forecasts.values()),
        compared=any(one.simulated is not None and one.how == "exact" for one in forecasts.values()),
        orders=_orders(prediction),
        notes=[([_label(order) for order in names], why) for names, why in format.reasons(prediction)],
        epochs=_epochs(prediction),
        single_runs=format.single_runs(prediction),
    )


def write(path: str | os.PathLike[str], prediction: Prediction, name: str, version: str = "") -> None:
    """Write the report, whole or not at all; a report that was there before stays until then."""
    atomic.write(path, html(prediction, name, version))


def _template() -> "Template":
    return environment().get_template("report.html.jinja")


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
    made.globals |= {"digits": digits, "with_error": with_error, "as_typed": as_typed}
    return made


def drawn(prediction: Prediction) -> dict[str, Picture]:
    """The three pictures, by the name of what they show: the spectrum, the test loss, the training loss."""
    return {
        "spectrum": _spectrum_picture(prediction),
        **{loss: _loss_picture(prediction, loss, title) for loss, title, _ in _LOSSES},
    }


def _picture(figure: Any, label: str, name: str) -> Picture:
    from markupsafe import Markup

    return Picture(None if figure is None else Markup(pictures.inline(figure, label, name)), label)


def _spectrum_picture(prediction: Prediction) -> Picture:
    values, fit, law = prediction.eigenvalues, prediction.edge, prediction.edge_law
    label = f"Fraction of the {len(values):,} eigenvalues below each value, on logarithmic axes."
    if fit is not None:
        label += f" The fitted edge has exponent {digits(fit.beta, 2)} and constant {digits(fit.Q, 2)}."
    elif law is not None:
        label += f" {law.reason}"
    return _picture(pictures.spectrum(values, law), label, "spectrum")


def _loss_picture(prediction: Prediction, loss: str, title: str) -> Picture:
    ends = "; ".join(
        f"{_label(order)} {format.loss_at(forecast, forecast.curve.epochs[-1], loss)}"
        for order, forecast in prediction.forecasts.items()
    )
    label = f"{title} on logarithmic axes. After {prediction.epochs:,} epochs: {ends}."
    return _picture(pictures.losses(prediction, loss), label, loss)


def _label(order: str) -> str:
    return plots.ORDER_STYLES[order]["label"]


def _exponent(prediction: Prediction) -> dict[str, str]:
    """The exponent of the edge and its error."""
    if prediction.edge is None:
        return {"value": "none", "error": ""}
    value, _, error = with_error(prediction.edge.beta, prediction.edge_error).partition(" ± ")
    return {"value": value, "error": error}


def _orders(prediction: Prediction) -> dict[str, list]:
    """The table of orders, a line per loss: titles of its columns in two words, and its rows."""
    forecasts, target = prediction.forecasts, prediction.target
    moments = format.milestones(next(iter(forecasts.values())).curve)
    m = prediction.shape[0]
    best = any(step for forecast in forecasts.values() for step in (forecast.best_step or {}).values())
    compared = any(forecast.discrepancy for forecast in forecasts.values())
    columns = [("epoch", f"{n:,.0f}") if n >= 1 else (f"{round(n * m):,}", "rows") for n in moments]
    columns += [] if target is None else [("epochs", f"to {as_typed(target)}")]
    columns += [("best", "step")] * best + [("simulated", "− theory")] * compared

    def cells(forecast: Any, loss: str) -> list[str]:
        texts = [format.loss_at(forecast, n, loss) for n in moments]
        texts += (
            []
            if target is None
            else [format.epochs_needed(forecast, loss, prediction.epochs).replace("\n", " ")]
        )
        texts += [digits((forecast.best_step or {}).get(loss))] * best
        return texts + [format.discrepancy((forecast.discrepancy or {}).get(loss))] * compared

    rows = [
        {
            "name": order,
            "label": _label(order),
            "how": forecast.how,
            "how_long": _HOW[forecast.how],
            "step": digits(forecast.step),
            "cells": {loss: cells(forecast, loss) for loss in ("test", "train")},
        }
        for order, forecast in forecasts.items()
    ]
    return {"columns": columns, "rows": rows}


def _epochs(prediction: Prediction) -> list[tuple[str, list[str]]]:
    """Both losses of every order at about a dozen times."""
    forecasts = list(prediction.forecasts.values())
    recorded = forecasts[0].curve.epochs[1:]
    spread = np.geomspace(recorded[0], recorded[-1], min(len(recorded), 13))
    chosen = sorted({recorded[np.abs(np.log(recorded / n)).argmin()].item() for n in spread})
    m = prediction.shape[0]
    return [
        (
            f"{n:,}" if n >= 1 else f"{n:.2g} ({round(n * m):,} rows)",
            [format.loss_at(forecast, n, loss) for forecast in forecasts for loss in ("test", "train")],
        )
        for n in chosen
    ]
