"""One figure style for the whole book: one colour, marker and line style an order, everywhere.

Colours are from the Okabe–Ito palette (distinguishable by the colour-blind) and differ in lightness, markers and
dashes, so that a figure survives greyscale printing. Only chapters and the command line import this module.
"""

import matplotlib as mpl
import numpy as np

from edgelaw._common import arguments

ORDER_STYLES = {
    "iid": {"color": "#0072B2", "marker": "o", "linestyle": "-", "label": "IID"},
    "random_reshuffle": {"color": "#E69F00", "marker": "s", "linestyle": "--", "label": "random reshuffle"},
    "single_shuffle": {"color": "#009E73", "marker": "^", "linestyle": "-.", "label": "single shuffle"},
    "flip_flop": {
        "color": "#CC79A7",
        "marker": "D",
        "linestyle": (0, (5, 1, 1, 1, 1, 1)),
        "label": "flip-flop",
    },
    "gradient_descent": {"color": "#444444", "marker": "x", "linestyle": ":", "label": "gradient descent"},
}
THEORY = {"color": "#D55E00", "linestyle": "-", "linewidth": 1.8}
ASYMPTOTE = {"color": "#000000", "linestyle": "--", "linewidth": 1.0}
DATA = {"color": "#56B4E9"}

STYLE = {
    "figure.dpi": 110,
    "savefig.dpi": 110,
    "figure.figsize": (7.0, 3.6),
    "figure.constrained_layout.use": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.titlesize": "medium",
    "axes.labelsize": "medium",
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    "legend.frameon": False,
    "legend.fontsize": "small",
    "mathtext.fontset": "cm",
}


def use():
    """Adopt the book's style for every figure that follows; a chapter calls it once, at its top."""
    mpl.rcParams.update(STYLE)


def order_style(order, **changes):
    """Keyword arguments for ``ax.plot`` that draw one order the way every chapter does.

    Examples
    --------
    >>> order_style("single_shuffle")["color"]
    '#009E73'
    """
    if order not in ORDER_STYLES:
        raise ValueError(f"order must be one of {', '.join(ORDER_STYLES)}, not {order!r}.")
    return {**ORDER_STYLES[order], **changes}


def spectrum_cdf(ax, eigenvalues, **style):
    """Draw the empirical CDF of the positive eigenvalues on logarithmic axes, as dots at (λ_i, i/d)."""
    values = np.sort(arguments.real_array(eigenvalues, "eigenvalues", 1))
    positive = values[values > 0]
    if len(positive) == 0:
        raise ValueError("eigenvalues must hold at least one positive value to be drawn on logarithmic axes.")
    style = {"linestyle": "none", "marker": ".", "markersize": 3, **DATA, **style}
    ax.plot(positive, np.arange(1, len(positive) + 1) / len(values), **style)
    ax.set(xscale="log", yscale="log", xlabel=r"eigenvalue $\lambda$", ylabel=r"$F(\lambda)$")
    return ax


def edge_fit(ax, fit, **style):
    """Draw a fitted edge law over its own window and extend it thinly a decade to either side."""
    low, high = fit.window
    if not (0 < low < high < np.inf):
        raise ValueError("The fit must have a finite window of positive eigenvalues to be drawn.")
    style = {**THEORY, **style}
    reach = np.geomspace(low / 10, high * 10, 200)
    ax.plot(reach, fit.cdf(reach), **{**style, "linewidth": 0.7, "label": None})
    inside = np.geomspace(low, high, 50)
    ax.plot(
        inside, fit.cdf(inside), **{"label": rf"fit: $\beta = {fit.beta:.2f}$, $Q = {fit.Q:.2f}$", **style}
    )
    return ax
