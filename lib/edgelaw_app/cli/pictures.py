"""The pictures of a spectrum and of learning curves, drawn by :mod:`edgelaw.plots`, as files and inside the report.

Inside a page a picture is one SVG element: text as text in the page's own font, colours as variables of the page's
style sheet (so that one picture serves a light and a dark page), a description for those who cannot see it, and the
same bytes every time.
"""

import io
from collections.abc import Iterator
from contextlib import contextmanager
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

WIDTH, HEIGHT = 392, 256  # of the axes with their labels, in points; the legend is added below
LEFT, RIGHT, TOP, BOTTOM, LEGEND_LINE = 72, 8, 8, 42, 17
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
    "figure.constrained_layout.use": False,
    "figure.dpi": 72,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "axes.edgecolor": SOFT,
    "axes.labelcolor": INK,
    "axes.labelsize": 13,
    "text.color": INK,
    "font.size": 12,
    "grid.color": LINE,
    "grid.linewidth": 0.8,
    "legend.fontsize": 12,
    "legend.borderpad": 0,
    "legend.borderaxespad": 0,
    "legend.labelspacing": 0.3,
    "legend.handlelength": 2.8,
    "lines.markersize": 5.5,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelsize": 12,
    "ytick.labelsize": 12,
    "xtick.minor.size": 1.5,
    "ytick.minor.size": 1.5,
}


def spectrum(eigenvalues: Array, law: "EdgeLaw | None") -> Figure:
    """The CDF of the positive eigenvalues, and the fitted edge with the error of its exponent.

    Where there is no power law the line that was tried is drawn thin and dotted, and the legend says what it is.
    """
    positive = np.sort(eigenvalues[eigenvalues > 0])
    fit = None if law is None else law.fit
    with _axes(1 if fit is None else 2) as (figure, ax):
        plots.spectrum_cdf(
            ax, eigenvalues, color=LIGHT["data"], markersize=6, markevery=0.004, label="eigenvalues"
        )
        if law is not None and fit is not None and law.holds:
            name = f"fitted edge: β = {with_error(fit.beta, law.error)}, Q = {digits(fit.Q)}"
            plots.edge_fit(ax, fit, label=name)
        elif law is not None and fit is not None:
            verdict = "no power law is claimed" if law.holds is None else "no power law here"
            name = f"{verdict} (dotted: what was tried)"
            plots.edge_fit(ax, fit, label=name, color=SOFT, linewidth=1, linestyle=(0, (1, 2)))
        ax.set(xlabel="eigenvalue λ", ylabel="F(λ)")
        ax.set(xlim=_span(positive), ylim=_span(np.arange(1, len(positive) + 1)[[0, -1]] / len(eigenvalues)))
        plots.log_ticks(ax)
        _legend(figure)
    return figure


def losses(forecast: "Forecast", loss: str) -> Figure | None:
    """One loss of every order by epoch, each at its best learning rate, and the target; None if all are zero."""
    orders = forecast.orders
    values = np.concatenate([one.losses[loss][1:] for one in orders.values()])
    values = values[(values > 0) & np.isfinite(values)]
    if len(values) == 0:
        return None
    values = values[values >= values.max() * 10.0**-DECADES]
    names = {
        order: plots.ORDER_STYLES[order]["label"] + ("" if one.how == "theory" else f" ({one.how})")
        for order, one in orders.items()
    }
    columns = 1 if max(map(len, names.values())) > 20 else min(2, len(names))
    times = np.concatenate([one.epochs[1:][one.losses[loss][1:] >= values.min()] for one in orders.values()])
    with _axes(-(-len(names) // columns)) as (figure, ax):
        target = forecast.target if loss == forecast.advice.loss else None
        ax.set(xscale="log", yscale="log", xlim=_span(times), xlabel="epoch", ylabel=loss)
        ax.set(ylim=_span(values if target is None else np.append(values, target)))
        for order, one in orders.items():
            look, y, error = plots.ORDER_STYLES[order], one.losses[loss][1:], one.errors[loss][1:]
            ax.plot(one.epochs[1:], y, label=names[order], color=look["color"], linestyle=look["linestyle"])
            if one.how != "theory":
                low, high = y * np.maximum(1 - 2 * error, 1e-3), y * (1 + 2 * error)
                ax.fill_between(one.epochs[1:], low, high, color=look["color"], alpha=0.18, linewidth=0)
        if target is not None:
            _level(ax, target, f"target {target:.6g}")
        plots.log_ticks(ax)
        _legend(figure, columns)
    return figure


@contextmanager
def _axes(legend_lines: int) -> Iterator[tuple[Figure, mpl.axes.Axes]]:
    """A figure with one pair of axes of a fixed size above so many lines of a legend."""
    legend = LEGEND_LINE * legend_lines + 4  # room for the last line's descenders
    height = HEIGHT + legend
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(WIDTH / 72, height / 72))
        across, down = WIDTH - LEFT - RIGHT, HEIGHT - BOTTOM - TOP
        ax = figure.add_axes((LEFT / WIDTH, (BOTTOM + legend) / height, across / WIDTH, down / height))
        ax.yaxis.set_label_coords(-(LEFT - 17) / across, 0.5)
        yield figure, ax


def _legend(figure: Figure, columns: int = 1) -> None:
    bottom = 4 / (72 * figure.get_figheight())
    figure.legend(loc="lower center", bbox_to_anchor=(0.5, bottom), ncols=columns)


def _span(values: Array) -> tuple[float, float]:
    """Limits of a logarithmic axis: both ends, with some air."""
    low, high = np.log10(values.min()), np.log10(values.max())
    air = max(0.03 * (high - low), 0.02)
    return 10.0 ** (low - air), 10.0 ** (high + air)


def _level(ax: mpl.axes.Axes, value: float, name: str) -> None:
    """A horizontal line with its name at the end where falling curves are far."""
    ax.axhline(value, color=INK, linewidth=1, linestyle=(0, (2, 3)))
    low, high = np.log10(ax.get_ylim())
    left = np.log10(value) < (low + high) / 2
    ax.annotate(
        name,
        xy=(0 if left else 1, value),
        xytext=(5 if left else -5, 3),
        xycoords=ax.get_yaxis_transform(),
        textcoords="offset points",
        ha="left" if left else "right",
    )


def file(figure: Figure, kind: str) -> bytes:
    """The content of a .png, .svg or .pdf file, the same bytes every time."""
    content = io.BytesIO()
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    with mpl.rc_context({**STYLE, "svg.hashsalt": "edgelaw"}):
        figure.savefig(content, format=kind, dpi=180, facecolor="white", metadata=metadata)
    return content.getvalue()


def inline(figure: Figure, label: str, name: str) -> str:
    """A figure as an SVG element of a page, its colours variables of the page's style sheet.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    label : str
        What it shows, in a sentence or two.
    name : str
        Different for every picture of a page; identifiers begin with it.
    """
    return svg.element(figure, label, name, STYLE, VARIABLES)
