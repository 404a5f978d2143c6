"""A forecast of a probe as one HTML file: the predicted curves, with the run beside them, and the numbers."""

import os

from edgelaw import plots
from edgelaw_app import atomic
from edgelaw_app.cli import pictures
from edgelaw_app.cli.format import digits
from edgelaw_app.cli.labels.answer import milestones, more
from edgelaw_app.cli.report import Picture, environment
from edgelaw_app.labels import OrderForecast, ProbeForecast

_TITLES = {"held_out": "Held-out loss by epoch", "train": "Training loss by epoch"}


def html(forecast: ProbeForecast, name: str, version: str = "") -> str:
    """The whole report as text.

    Parameters
    ----------
    forecast : edgelaw_app.labels.ProbeForecast
    name : str
        The name of the file that was read; it is escaped by the template.
    version : str
        Version of the library, for the last line.
    """
    losses = [loss for loss in _TITLES if getattr(forecast, loss) is not None]
    times = milestones(forecast.epochs)
    return (
        environment()
        .get_template("probe.html.jinja")
        .render(
            p=forecast,
            name=str(name).encode("utf-8", "replace").decode("utf-8"),
            version=version,
            light=pictures.LIGHT,
            dark=plots.DARK_COLORS,
            pictures=[(_TITLES[loss], _picture(forecast, loss)) for loss in losses],
            times=times,
            losses=losses,
            rows=[
                (order, plots.ORDER_STYLES[order]["label"], _known_by(one), _cells(one, losses, times))
                for order, one in forecast.orders.items()
            ],
            costs=_costs(forecast),
        )
    )


def write(path: str | os.PathLike[str], forecast: ProbeForecast, name: str, version: str = "") -> None:
    """Write the report, whole or not at all."""
    atomic.write(path, html(forecast, name, version))


def _picture(forecast: ProbeForecast, loss: str) -> Picture:
    from markupsafe import Markup

    ends = "; ".join(
        f"{plots.ORDER_STYLES[order]['label']} {digits(float(getattr(one, loss)[-1]))}"
        for order, one in forecast.orders.items()
    )
    label = f"{_TITLES[loss]}. After {forecast.epochs:,} epochs: {ends}."
    return Picture(Markup(pictures.inline(pictures.probe(forecast, loss), label, loss)), label)


def _known_by(one: OrderForecast) -> str:
    """Theory, or runs with the largest of their standard errors."""
    return one.how if one.how == "theory" else f"{one.how}, ±{digits(100 * one.error, 2)}%"


def _cells(one: object, losses: list[str], times: list[int]) -> dict[str, list[str]]:
    return {loss: [digits(float(getattr(one, loss)[n])) for n in times] for loss in losses}


def _costs(forecast: ProbeForecast) -> list[tuple[str, str]]:
    costs = forecast.costs
    lines = [
        (f"{plots.ORDER_STYLES[order]['label']}, same lr", more(ratio))
        for order, ratio in costs.orders.items()
    ]
    if costs.smaller is not None:
        lines.append((f"lr = {digits(forecast.lr / 10)}, ten times smaller", more(costs.smaller)))
    if costs.larger is not None:
        text = f"lr = {digits(costs.larger_lr)}, {digits(costs.larger_factor, 2)} times larger"
        lines.append((text, more(costs.larger)))
    return [*lines, (f"lr from {digits(forecast.largest_lr)} on", "diverges")]
