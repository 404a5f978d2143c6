"""The pictures of a spectrum and of learning curves, drawn by :mod:`edgelaw.plots`, as files and inside the report.

Inside a page a picture is one SVG element: text as text in the page's own font, colours as variables of the page's
style sheet (so that one picture serves a light and a dark page), a description for those who cannot see it, and the
same bytes every time.
"""

import io
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from edgelaw import plots
from edgelaw._common import svg
from edgelaw._common.types import Array
from edgelaw_app.cli.format import digits, with_error

if TYPE_CHECKING:
    from edgelaw.spectrum import EdgeLaw
    from edgelaw_app.forecast import Forecast

SIZE = (392 / 72, 304 / 72)  # inches, at 72 dots each
DECADES = 12  # what lies further below the largest value than this is not drawn
INK, SOFT, LINE, CARD = "#1d232b", "#5b6673", "#e3e5e8", "#ffffff"
# The variable of the page's style sheet for every colour of a picture.
LIGHT = {
    **{order: style["color"].lower() for order, style in plots.ORDER_STYLES.items()},
    "data": "#2f86bd",
    "theory": plots.THEORY["color"].lower(),
}
VARIABLES = {colour: f"var(--{name})" for name, colour in LIGHT.items()} | {
    INK: "var(--ink)",
    SOFT: "var(--soft)",
    LINE: "var(--line)",
    CARD: "var(--card)",
}
STYLE: dict[Any, Any] = {
    **plots.STYLE,
    **{"figure.figsize": SIZE, "figure.dpi": 72, "font.size": 12},
    **{"figure.facecolor": "none", "axes.facecolor": "none", "grid.color": LINE},
    **dict.fromkeys(("text.color", "axes.labelcolor"), INK),
    **dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color"), SOFT),
}


def _axes() -> tuple[Figure, mpl.axes.Axes]:
    figure = Figure()
    return figure, figure.add_subplot()


@mpl.rc_context(STYLE)
def spectrum(eigenvalues: Array, law: "EdgeLaw | None") -> Figure:
    """The CDF of the positive eigenvalues, and the fitted edge with the error of its exponent.

    Where there is no power law the line that was tried is drawn thin and dotted, and the legend says what it is.
    """
    positive = np.sort(eigenvalues[eigenvalues > 0])
    figure, ax = _axes()
    plots.spectrum_cdf(
        ax, eigenvalues, color=LIGHT["data"], markersize=6, markevery=0.004, label="eigenvalues"
    )
    if law is not None and law.fit is not None:
        label = f"fitted edge: β = {with_error(law.fit.beta, law.error)}, Q = {digits(law.fit.Q)}"
        look: dict[str, Any] = {}
        if not law.holds:
            verdict = "no power law is claimed" if law.holds is None else "no power law here"
            label = f"{verdict} (dotted: what was tried)"
            look = {"color": SOFT, "linewidth": 1, "linestyle": (0, (1, 2))}
        plots.edge_fit(ax, law.fit, label=label, **look)
    ax.set(xlabel="eigenvalue λ", ylabel="F(λ)")
    ax.set(xlim=_span(positive), ylim=_span(np.arange(1, len(positive) + 1)[[0, -1]] / len(eigenvalues)))
    plots.log_ticks(ax)
    figure.legend(loc="outside lower center")
    return figure


@mpl.rc_context(STYLE)
def losses(forecast: "Forecast", loss: str) -> Figure | None:
    """One loss of every order by epoch, each at its best learning rate, and the target; None if all are zero."""
    orders = forecast.orders
    values = np.concatenate([one.losses[loss][1:] for one in orders.values()])
    values = values[(values > 0) & np.isfinite(values)]
    if len(values) == 0:
        return None
    values = values[values >= values.max() * 10.0**-DECADES]
    times = np.concatenate([one.epochs[1:][one.losses[loss][1:] >= values.min()] for one in orders.values()])
    target = forecast.target if loss == forecast.advice.loss else None
    figure, ax = _axes()
    ax.set(xscale="log", yscale="log", xlim=_span(times), xlabel="epoch", ylabel=loss)
    ax.set(ylim=_span(values if target is None else np.append(values, target)))
    for order, one in orders.items():
        look, x, y, error = (
            plots.ORDER_STYLES[order],
            one.epochs[1:],
            one.losses[loss][1:],
            one.errors[loss][1:],
        )
        label = look["label"] + ("" if one.how == "theory" else f" ({one.how})")
        ax.plot(x, y, label=label, color=look["color"], linestyle=look["linestyle"])
        if one.how != "theory":
            low, high = y * np.maximum(1 - 2 * error, 1e-3), y * (1 + 2 * error)
            ax.fill_between(x, low, high, color=look["color"], alpha=0.18, linewidth=0)
    if target is not None:
        label = f"target {target:.6g}"
        ax.axhline(target, color=INK, linewidth=1, linestyle=(0, (2, 3)), label=label)
    plots.log_ticks(ax)
    figure.legend(
        loc="outside lower center", ncols=2 if all(o.how == "theory" for o in orders.values()) else 1
    )
    return figure


def _span(values: Array) -> tuple[float, float]:
    """Limits of a logarithmic axis: both ends, with some air."""
    low, high = np.log10(values.min()), np.log10(values.max())
    air = max(0.03 * (high - low), 0.02)
    return 10.0 ** (low - air), 10.0 ** (high + air)


def file(figure: Figure, kind: str) -> bytes:
    """The content of a .png, .svg or .pdf file, the same bytes every time."""
    content = io.BytesIO()
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    with mpl.rc_context({**STYLE, "svg.hashsalt": "edgelaw"}):
        figure.savefig(content, format=kind, dpi=180, facecolor="white", metadata=metadata)
    return content.getvalue()


def inline(figure: Figure, label: str, name: str) -> str:
    """A figure as an SVG element of a page, its colours variables of the page's style sheet; `label` describes it.

    Identifiers begin with `name`, different for every picture of a page.
    """
    return svg.element(figure, label, name, STYLE, VARIABLES)
