"""``edgelaw spectrum``: the eigenvalues of a reader's own data and their left edge."""

import dataclasses
import io
import os
from dataclasses import dataclass

import numpy as np
from rich.text import Text

from edgelaw import __version__, spectrum
from edgelaw._common import atomic
from edgelaw.cli import textplot
from edgelaw.cli.design import decomposed
from edgelaw.cli.format import digits, uncertain
from edgelaw.cli.show import heading, spectral
from edgelaw.cli.terminal import Bar, ascii_only, console, destination, machine, printable
from edgelaw.forecast.advice import edge

SCHEMA = "edgelaw.spectrum/1"
PLOTS = (".png", ".svg", ".pdf")
COLOURS = ("cyan", "bold red")


@dataclass(frozen=True, eq=False)
class Found:
    """What there is to say of a spectrum."""

    shape: tuple
    steps: tuple
    null: int
    eigenvalues: np.ndarray
    edge: spectrum.EdgeFit | None
    edge_error: float | None
    effective_rank: float
    quantile_ratio: float


def run(arguments):
    """Read, decompose, show; return the exit status."""
    path = arguments.plot and destination(arguments.plot, PLOTS, arguments.file, "--plot")
    with Bar() as bar:
        design = decomposed(arguments, bar)
        values = design.gram_eigenvalues(progress=bar)
    fit, error = edge(values)
    found = Found(
        design.shape,
        design.steps,
        int((values == 0).sum()),
        values,
        fit,
        error,
        spectrum.effective_rank(values),
        spectrum.quantile_ratio(values),
    )
    if path:
        atomic.write(path, drawn(found, os.path.splitext(path)[1][1:].lower()))
    if arguments.json:
        machine({"schema": SCHEMA, "version": __version__, "file": design.name, **dataclasses.asdict(found)})
        return 0
    shown = console()
    heading(shown, design.name, design.shape, design.steps)
    spectral(shown, found)
    _plot(shown, found)
    if path:
        shown.print(Text(f"\nThe plot is in {printable(arguments.plot)}."))
    return 0


def _plot(shown, found):
    """The CDF in characters, with the fitted edge over its window."""
    positive = found.eigenvalues[found.eigenvalues > 0]
    layers = [(positive, np.arange(1, len(positive) + 1) / len(found.eigenvalues))]
    if found.edge is not None:
        line = np.geomspace(*found.edge.window, 300)
        layers.append((line, found.edge.cdf(line)))
    plain = ascii_only(shown)
    width = max(24, min(72, shown.width - 12))
    shown.print(
        Text("F(λ), the fraction of eigenvalues up to λ:" if not plain else "fraction of eigenvalues:")
    )
    for pieces in textplot.loglog(layers, width, 15, plain):
        styled = [(text, COLOURS[layer] if layer is not None else "") for text, layer in pieces]
        shown.print(Text.assemble(*styled), no_wrap=True, overflow="crop")


def drawn(found, kind):
    """The CDF and its fitted edge in the book's style, as the content of a file."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    from edgelaw import plots

    with mpl.rc_context({**plots.STYLE, "savefig.dpi": 160, "svg.hashsalt": "edgelaw"}):
        figure = Figure(figsize=(6.2, 4.0))
        ax = plots.spectrum_cdf(figure.subplots(), found.eigenvalues, label="eigenvalues")
        limits = ax.get_xlim(), ax.get_ylim()
        if found.edge is not None:
            beta, Q = uncertain(found.edge.beta, found.edge_error), digits(found.edge.Q)
            plots.edge_fit(ax, found.edge, label=rf"fitted edge: $\beta$ = {beta}, $Q$ = {Q}")
        ax.set(xlim=limits[0], ylim=limits[1])
        ax.legend(loc="upper left")
        content = io.BytesIO()
        metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
        figure.savefig(content, format=kind, metadata=metadata)
    return content.getvalue()
