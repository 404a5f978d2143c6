"""One figure style for the whole book: one colour, marker and line style per order, everywhere.

Colours are from the Okabe–Ito palette (distinguishable by the colour-blind) and differ in lightness, markers and
dashes, so that a figure survives greyscale printing. Only chapters and the command line import this module.
"""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from edgelaw._common import arguments, extras, notebook
from edgelaw._common.types import ArrayLike
from edgelaw.curves import LearningCurve

with extras.named():
    import matplotlib as mpl
    import matplotlib.ticker

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ORDER_STYLES: dict[str, dict[str, Any]] = {
    order: dict(zip(("color", "marker", "linestyle", "label"), look, strict=True))
    for order, *look in (
        ("iid", "#0072B2", "o", "-", "IID"),
        ("random_reshuffle", "#E69F00", "s", "--", "random reshuffle"),
        ("single_shuffle", "#009E73", "^", "-.", "single shuffle"),
        ("flip_flop", "#CC79A7", "D", (0, (5, 1, 1, 1, 1, 1)), "flip-flop"),
        ("gradient_descent", "#444444", "x", ":", "gradient descent"),
    )
}
THEORY: dict[str, Any] = {"color": "#D55E00", "linestyle": "-", "linewidth": 1.8}
ASYMPTOTE: dict[str, Any] = {"color": "#000000", "linestyle": "--", "linewidth": 1.0}
DATA: dict[str, Any] = {"color": "#56B4E9"}
# Lighter colours of the same hue, for a dark page.
DARK_COLORS = {
    "iid": "#56b4e9",
    "random_reshuffle": "#f2b632",
    "single_shuffle": "#2fc79b",
    "flip_flop": "#e79bc8",
    "data": "#7cc5ef",
    "theory": "#ff8a4c",
}

STYLE: dict[Any, Any] = {
    **dict.fromkeys(("figure.dpi", "savefig.dpi"), 110),
    **{"figure.figsize": (7.0, 3.6), "figure.constrained_layout.use": True},
    **dict.fromkeys(("axes.spines.top", "axes.spines.right", "legend.frameon"), False),
    **{"axes.grid": True, "axes.axisbelow": True, "grid.color": "#e4e4e4", "grid.linewidth": 0.6},
    **dict.fromkeys(("axes.titlesize", "axes.labelsize"), "medium"),
    **{"lines.linewidth": 1.6, "lines.markersize": 4.5, "legend.fontsize": "small", "mathtext.fontset": "cm"},
}


def use() -> None:
    """Adopt the book's style for every figure that follows; a chapter calls it once, at its top."""
    mpl.rcParams.update(STYLE)


def order_style(order: str, **changes: Any) -> dict[str, Any]:
    """Keyword arguments for ``ax.plot`` that draw one order the way every chapter does.

    >>> order_style("single_shuffle")["color"]
    '#009E73'
    """
    return ORDER_STYLES[arguments.choice(order, "order", ORDER_STYLES)] | changes


def spectrum_cdf(ax: "Axes", eigenvalues: ArrayLike, **style: Any) -> "Axes":
    """Draw the empirical CDF of the positive eigenvalues on logarithmic axes, as dots at (λ_i, i/d)."""
    values = np.sort(arguments.real_array(eigenvalues, "eigenvalues", 1))
    positive = values[values > 0]
    if len(positive) == 0:
        raise ValueError("eigenvalues must hold at least one positive value to be drawn on logarithmic axes.")
    style = {"linestyle": "none", "marker": ".", "markersize": 3, **DATA, **style}
    ax.plot(positive, np.arange(1, len(positive) + 1) / len(values), **style)
    ax.set(xscale="log", yscale="log", xlabel=r"eigenvalue $\lambda$", ylabel=r"$F(\lambda)$")
    return ax


def edge_fit(ax: "Axes", fit: Any, **style: Any) -> "Axes":
    """Draw a fitted edge law over its own window and extend it thinly a decade to either side."""
    low, high = fit.window
    if not (0 < low < high < np.inf):
        raise ValueError("The fit must have a finite window of positive eigenvalues to be drawn.")
    style = THEORY | {"label": rf"fit: $\beta = {fit.beta:.2f}$, $Q = {fit.Q:.2f}$"} | style
    reach, inside = np.geomspace(low / 10, high * 10, 200), np.geomspace(low, high, 50)
    ax.plot(reach, fit.cdf(reach), **style | {"linewidth": 0.7, "label": None})
    ax.plot(inside, fit.cdf(inside), **style)
    return ax


def learning_curve(
    ax: "Axes",
    curve: LearningCurve,
    order: str,
    loss: str = "test",
    *,
    band: bool = False,
    hollow: bool = False,
    **style: Any,
) -> "Axes":
    """Draw one loss of a curve on logarithmic axes in the style of its order, with a few markers along the line.

    `band` shades two standard errors to either side, of a computed curve two standard deviations of a run of its finite
    size; `hollow` markers have no line, as a simulation beside the theory.
    """
    loss = arguments.choice(loss, "loss", ("test", "train"))
    x, y = np.asarray(curve.epochs, dtype=float), np.asarray(getattr(curve, loss), dtype=float)
    drawn = (x > 0) & (y > 0) & np.isfinite(y)
    look = order_style(order, markevery=notebook.moments(x[drawn], 8))
    if hollow:
        look |= {"linestyle": "none", "markerfacecolor": "white", "label": None}
    look |= style
    if band:
        error = np.asarray(getattr(curve, f"{loss}_se"), dtype=float)
        error = np.where(np.isnan(error), getattr(curve, f"finite_size_{loss}"), error)
        known = drawn & np.isfinite(error)
        low = np.maximum(y - 2 * error, np.finfo(float).tiny)[known]
        shade = {"color": look["color"], "alpha": 0.16, "linewidth": 0}
        ax.fill_between(x[known], low, (y + 2 * error)[known], **shade)
    ax.plot(x[drawn], y[drawn], **look)
    name = "test loss" if loss == "test" else "training loss"
    ax.set(xscale="log", yscale="log", xlabel="epoch", ylabel=name)
    return ax


def ratios_by_share(
    ax: "Axes", shares: ArrayLike, ratios: ArrayLike, errors: ArrayLike | None = None, **style: Any
) -> "Axes":
    """Draw ratios of losses against a share of the rows, such as a buffer's, with error bars and a line at 1."""
    x, y = np.asarray(shares, dtype=float), np.asarray(ratios, dtype=float)
    ax.axhline(1, color="#000000", linewidth=0.8)
    ax.errorbar(x, y, errors, **{"marker": "o", "capsize": 2, **style})
    ax.set(xscale="log", yscale="log", xlabel="share of the rows in the buffer")
    least = math.floor(math.log2(ax.get_xlim()[0])) + 1
    powers = range(0, least - 1, -1 if least > -7 else -2)[::-1]
    ax.set_xticks([2.0**k for k in powers], [f"1/{2**-k}" if k else "1" for k in powers])
    for set_formatter in (ax.yaxis.set_major_formatter, ax.yaxis.set_minor_formatter):
        set_formatter(mpl.ticker.FormatStrFormatter("%g"))
    ax.xaxis.set_minor_locator(mpl.ticker.NullLocator())
    return ax


def from_zero(figure: "Figure", spot: Any, ticks: ArrayLike) -> tuple["Axes", "Axes"]:
    """Two axes with one vertical scale: a narrow one for 0, a break, and a logarithmic one with these ticks.

    `spot` is a cell of a grid, as in ``figure.add_gridspec(1, 2)[0]``.
    """
    values = np.asarray(ticks)
    parts = spot.subgridspec(1, 2, width_ratios=(1, 8), wspace=0.03)
    zero = figure.add_subplot(parts[0])
    rest = figure.add_subplot(parts[1], sharey=zero)
    zero.set(xlim=(-1, 1), xticks=[0])
    rest.spines["left"].set_visible(False)
    rest.tick_params(axis="y", which="both", left=False, labelleft=False)
    slash = dict[str, Any](marker=[(-1, -2), (1, 2)], markersize=9, color="#444444", clip_on=False)
    zero.plot([1], [0], transform=zero.transAxes, **slash)
    rest.plot([0], [0], transform=rest.transAxes, **slash)
    rest.set(xscale="log", xlim=(values[0] / 1.15, values[-1] * 1.15))
    rest.set_xticks(values, [f"{value:g}" for value in values])
    rest.minorticks_off()
    return zero, rest


def log_ticks(ax: "Axes", most: int = 7) -> "Axes":
    """Label both logarithmic axes, whose limits must be set, with plain numbers: 0.01, 2, 10,000, 10⁻⁵.

    The labels are text, not mathematics, so that an SVG file can hold them as text, too.
    """
    for axis, (low, high) in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
        labelled, minor = _log_ticks(math.log10(low), math.log10(high), most)
        axis.set_ticks([10.0**place for place, _ in labelled], [label for _, label in labelled])
        axis.set_ticks([10.0**place for place in minor], minor=True)
        axis.set_minor_formatter(mpl.ticker.NullFormatter())
    return ax


def _log_ticks(low: float, high: float, most: int = 7) -> tuple[list[tuple[float, str]], list[float]]:
    """Labelled and unlabelled places of an axis from 10^low to 10^high, as logarithms."""
    fewest, ones = 3 if high - low < 3 else 2, np.arange(1, 10)
    decades = range(math.floor(low), math.ceil(high) + 1)
    for mantissas in ([1], [1, 3], [1, 2, 5], ones, np.arange(10, 100) / 10, np.arange(100, 1000) / 100):
        places = [(float(m), e, math.log10(m) + e) for e in decades for m in mantissas]
        places = [place for place in places if low - 1e-9 <= place[2] <= high + 1e-9]
        if len(places) >= fewest:
            break
    labelled = [(at, _power(m, e)) for m, e, at in places[:: max(1, -(-len(places) // most))]]
    minor = [e + math.log10(m) for e in decades for m in ones if low <= math.log10(m) + e <= high]
    return labelled, minor if high - low < 5 else []


_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _power(mantissa: float, exponent: int) -> str:
    """A number as an axis shows it."""
    value = float(mantissa) * 10.0**exponent
    if -3 <= exponent <= 4:
        return f"{value:,.5g}" if value >= 1e4 else f"{value:.5g}"
    power = f"10{str(exponent).translate(_SUPERSCRIPT)}"
    return power if mantissa == 1 else f"{mantissa:g}·{power}"
