"""``edgelaw spectrum``: the eigenvalues of a reader's own data and their left edge."""

import argparse
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from edgelaw import __version__
from edgelaw_app.cli.terminal import (
    Bar,
    add_json,
    add_preprocessing,
    attempt,
    command,
    console,
    destination,
    machine,
    printable,
)

if TYPE_CHECKING:
    from edgelaw._common.types import Array
    from edgelaw.spectrum import EdgeFit, EdgeLaw
    from edgelaw_app.files import Design

SCHEMA = "edgelaw.spectrum/1"
PLOTS = (".png", ".svg", ".pdf")

EXAMPLES = """\
examples:
  edgelaw spectrum x.npy                        centred, rows of one norm
  edgelaw spectrum x.npz --key x_train          one array of several
  edgelaw spectrum x.csv --drop label,id        features only
  edgelaw spectrum x.parquet --columns 'e_*'    the columns to read
  edgelaw spectrum x.csv.gz --plot cdf.png      the plot as a file, too
  edgelaw spectrum x.npy --rows 512 --dims 512  the paper's: a square matrix
  edgelaw spectrum 'shards/*.parquet' --dask    many files, on all cores
  edgelaw spectrum x.npy --json                 for machines: | jq .edge

The edge is F(λ) ≈ Q λ^β, the fraction of eigenvalues of XᵀX/m below λ: its
exponent β is the slope of the learning curve. Where F is not a power law at
zero, as with more or fewer rows than columns, the reason is printed instead.

JSON has schema "edgelaw.spectrum/1" with file, shape, steps, null, edge (null
where there is none; edge_law has the tests and the reason), effective_rank,
quantile_ratio, eigenvalues, and warnings of columns that do not look like
features."""


@dataclass(frozen=True, eq=False)
class Spectrum:
    """What there is to say of a spectrum; the fields are those of the JSON."""

    shape: tuple[int, int]
    steps: tuple[str, ...]
    null: int
    eigenvalues: "Array"
    edge: "EdgeFit | None"
    edge_error: float | None
    effective_rank: float
    quantile_ratio: float
    edge_law: "EdgeLaw"
    warnings: tuple[str, ...]


def add(commands: Any) -> None:
    """Describe the command to the parser."""
    parser = command(
        commands,
        "spectrum",
        run,
        "the spectrum of your data and its left edge",
        "The spectrum of your data and its left edge, which sets how fast SGD learns.",
        EXAMPLES,
    )
    add_preprocessing(parser)
    parser.add_argument("--plot", metavar="PATH", help="write the CDF plot to a .png, .svg or .pdf file")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Read, decompose, show; return the exit status."""
    path = arguments.plot and destination(arguments.plot, PLOTS, arguments.file, "--plot")
    from edgelaw_app.cli.design import decomposed

    with Bar() as bar:
        design = decomposed(arguments, bar)
        bar(what="eigenvalues")
        measured = _measured(design, design.gram_eigenvalues(progress=bar))
    failure = attempt(arguments.plot, lambda: _plot(path, measured)) if path else None
    if arguments.json:
        machine({"schema": SCHEMA, "version": __version__, "file": design.name, **vars(measured)})
    else:
        from edgelaw_app.cli import show

        shown = console()
        show.heading(shown, design.name, design.shape, design.steps)
        show.spectral(shown, measured)
        if measured.edge_law.reason:
            show.paragraph(shown, measured.edge_law.reason, "yellow", "!")
            show.line(shown, "")
        show.spectrum_plot(shown, measured)
        show.cautions(shown, measured.warnings)
        if path and not failure:
            show.line(shown, f"\nThe plot is in {printable(arguments.plot)}.")
    if failure:
        raise failure
    return 0


def _plot(path: str, measured: Spectrum) -> None:
    """Write the plot of the spectrum to a file."""
    from edgelaw_app import atomic
    from edgelaw_app.cli import pictures

    figure = pictures.spectrum(measured.eigenvalues, measured.edge_law)
    atomic.write(path, pictures.file(figure, os.path.splitext(path)[1][1:].lower()))


def _measured(design: "Design", values: "Array") -> Spectrum:
    from edgelaw import spectrum

    law = spectrum.edge_law(values)
    return Spectrum(
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
