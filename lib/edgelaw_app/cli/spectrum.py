"""``edgelaw spectrum``: the eigenvalues of a reader's own data and their left edge."""

import argparse
import os
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from edgelaw import __version__
from edgelaw_app.cli.terminal import (
    JSON,
    ROWS,
    Bar,
    cautions,
    command,
    console,
    deliver,
    destination,
    line,
    paragraph,
    printable,
)

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from edgelaw._common.types import Array
    from edgelaw_app.files import Design

SCHEMA = "edgelaw.spectrum/1"
PLOTS = (".png", ".svg", ".pdf")

EXAMPLES = """\
examples:
  edgelaw spectrum x.npy                        centred, rows of one norm
  edgelaw spectrum x.npz --key x_train          one array of several
  edgelaw spectrum x.parquet --columns 'e_*'    the columns to read
  edgelaw spectrum x.csv.gz --plot cdf.png      the plot as a file, too
  edgelaw spectrum x.npy --rows 512 --dims 512  the paper's: a square matrix
  edgelaw spectrum 'shards/*.parquet' --dask    many files, on all cores
  edgelaw spectrum x.npy --json                 for machines: | jq .edge

The edge is F(λ) ≈ Q λ^β, the fraction of eigenvalues of XᵀX/m below λ: the
learning curve falls like n^(-β). Where F is not a power law at zero, as with
more or fewer rows than columns, the reason is printed instead.

JSON has schema "edgelaw.spectrum/1"; edge is null where there is none, and
edge_law has the tests and the reason."""


def add(commands: Any) -> None:
    """Describe the command to the parser."""
    description = "The spectrum of your data and its left edge, which sets how fast SGD learns."
    texts = "the spectrum of your data and its left edge", description, EXAMPLES
    plot = ("--plot", "PATH", str, "write the CDF plot to a .png, .svg or .pdf file")
    command(commands, "spectrum", run, texts, [*ROWS, plot, JSON])


def run(arguments: argparse.Namespace) -> int:
    """Read, decompose, show; return the exit status."""
    path = arguments.plot and destination(arguments.plot, PLOTS, arguments.file, "--plot")
    from edgelaw_app.cli.reading import decomposed

    with Bar() as bar:
        design = decomposed(arguments, bar)
        bar(what="eigenvalues")
        measured = _measured(design, design.gram_eigenvalues(progress=bar))
    record = {"schema": SCHEMA, "version": __version__, "file": design.name, **vars(measured)}
    file = ("plot", arguments.plot, lambda: _write(path, measured))
    return deliver(arguments, record, lambda shown: _show(shown, design.name, measured), console(), file)


def _measured(design: "Design", values: "Array") -> SimpleNamespace:
    """What there is to say of a spectrum; the fields are those of the JSON."""
    from edgelaw import spectrum

    law = spectrum.edge_law(values)
    return SimpleNamespace(
        shape=design.shape,
        steps=design.steps,
        null=int((values == 0).sum()),
        eigenvalues=values,
        edge=law.edge,
        edge_error=law.edge_error,
        effective_rank=spectrum.effective_rank(values),
        quantile_ratio=spectrum.quantile_ratio(values),
        edge_law=law,
        warnings=design.warnings,
    )


def _show(shown: "Console", name: str, measured: SimpleNamespace) -> None:
    """What was read and done, a few words on the spectrum, its plot, and cautions."""
    from edgelaw._common import notebook
    from edgelaw_app.cli.format import digits

    (m, d), count, edge = measured.shape, len(measured.eigenvalues), measured.edge
    line(shown, f"{printable(name)}  {m:,} × {d:,}")
    for number, step in enumerate(measured.steps, start=1):
        paragraph(shown, step, "dim", f"{number}.")
    shown.print()
    parts = [
        "no power law at the left edge"
        if edge is None
        else f"edge β = {notebook.number(edge.beta, 2, measured.edge_error)}, Q = {digits(edge.Q)}",
        f"effective rank {digits(measured.effective_rank)} of {count:,}",
        f"quantile ratio {digits(measured.quantile_ratio)}",
    ]
    if measured.null:
        parts.append(
            f"{measured.null:,} of {count:,} eigenvalues {'are' if measured.null > 1 else 'is'} zero"
        )
    paragraph(shown, "; ".join(parts) + ".")
    shown.print()
    if measured.edge_law.reason:
        paragraph(shown, measured.edge_law.reason, "yellow", "!")
        shown.print()
    shown.print("F(λ), the fraction of eigenvalues up to λ:")
    for dots in _plot(measured, max(24, min(72, shown.width - 12))):
        shown.print(dots, no_wrap=True, overflow="crop")
    cautions(shown, measured.warnings)


def _plot(measured: SimpleNamespace, width: int) -> "list[Text]":
    """The CDF in characters, with the fitted edge over its window; where it does not hold, a few dots only."""
    import numpy as np

    from edgelaw_app.cli.textplot import Layer, loglog

    fractions = np.arange(1, len(measured.eigenvalues) + 1) / len(measured.eigenvalues)
    positive = measured.eigenvalues > 0
    layers = [Layer(measured.eigenvalues[positive], fractions[: positive.sum()], "cyan")]
    law = measured.edge_law
    if law.fit is not None:
        low, high = law.fit.window
        line = np.geomspace(low, high, 300 if law.holds else 12)
        layers.append(Layer(line, law.fit.cdf(line), "bold red"))
    return loglog(layers, width, 15)


def _write(path: str, measured: SimpleNamespace) -> None:
    """Write the plot of the spectrum to a file."""
    from edgelaw._common import notebook
    from edgelaw_app import atomic

    kind = os.path.splitext(path)[1][1:].lower()
    atomic.write(path, notebook.file(measured.edge_law.lines(), "eigenvalue λ", "F(λ)", kind))
