"""What the commands on a reader's own data print in a terminal."""

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from edgelaw_app.cli import format, textplot
from edgelaw_app.cli.format import as_typed, digits, with_error
from edgelaw_app.cli.terminal import ascii_only, printable

if TYPE_CHECKING:
    from edgelaw.curves import LearningCurve
    from edgelaw_app.cli.cluster import Run

LOSSES = (("test", "test"), ("train", "train"))  # the attribute of a curve, and its name in print
PLOT_COLOURS = ("cyan", "bold red")


def heading(shown: Console, name: str, shape: tuple[int, int], steps: Sequence[str]) -> None:
    """The file, its shape, and what was done to it."""
    m, d = shape
    shown.print(Text.assemble((printable(name), "bold"), f"  {m:,} × {d:,}"))
    preparation(shown, steps)
    shown.print()


def preparation(shown: Console, steps: Sequence[str]) -> None:
    """What was done to the rows."""
    for number, step in enumerate(steps, start=1):
        paragraph(shown, step, "dim", f"{number}.")


def line(shown: Console, text: str) -> None:
    """One line, as it is, however narrow the terminal: code and paths are copied from there."""
    shown.print(Text(text), soft_wrap=True)


def paragraph(shown: Console, text: str, style: str = "", mark: str = "") -> None:
    """A sentence or two, wrapped by words, with a hanging mark."""
    text = printable(text)
    lines = textwrap.wrap(text, max(20, shown.width - len(mark) - 1), break_on_hyphens=False)
    for index, line in enumerate(lines):
        before = (mark if index == 0 else " " * len(mark)) + (" " if mark else "")
        shown.print(Text(before + line, style=style))


def cautions(shown: Console, sentences: Sequence[str]) -> None:
    """What a reader is warned of."""
    for sentence in sentences:
        shown.print()
        paragraph(shown, sentence, "yellow", "!")


def spectral(shown: Console, measured: Any) -> None:
    """A few words on the spectrum of a prediction, or of the command ``spectrum``."""
    fit, count = measured.edge, len(measured.eigenvalues)
    null = int((measured.eigenvalues == 0).sum())
    parts = [
        "no power law at the left edge"
        if fit is None
        else f"edge β = {with_error(fit.beta, measured.edge_error)}, Q = {digits(fit.Q)}",
        f"effective rank {digits(measured.effective_rank)} of {count:,}",
        f"quantile ratio {digits(measured.quantile_ratio)}",
    ]
    if null:
        parts.append(f"{null:,} of {count:,} eigenvalues {'are' if null > 1 else 'is'} zero")
    paragraph(shown, "; ".join(parts) + ".")
    shown.print()


def spectrum_plot(shown: Console, measured: Any) -> None:
    """The CDF in characters, with the fitted edge over its window."""
    positive = measured.eigenvalues[measured.eigenvalues > 0]
    layers = [(positive, np.arange(1, len(positive) + 1) / len(measured.eigenvalues))]
    if measured.edge_law.fit is not None:  # where it does not hold, a few dots only: what was tried
        low, high = measured.edge_law.fit.window
        line = np.geomspace(low, high, 300 if measured.edge_law.holds else 12)
        layers.append((line, measured.edge_law.fit.cdf(line)))
    plain = ascii_only(shown)
    width = max(24, min(72, shown.width - 12))
    shown.print(
        Text("F(λ), the fraction of eigenvalues up to λ:" if not plain else "fraction of eigenvalues:")
    )
    for pieces in textplot.loglog(layers, width, 15, plain):
        styled = [(text, PLOT_COLOURS[layer] if layer is not None else "") for text, layer in pieces]
        shown.print(Text.assemble(*styled), no_wrap=True, overflow="crop")


def _table() -> Table:
    return Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")


def sweep_table(runs: "Sequence[Run]") -> Table:
    """Means over seeds, with standard errors, at a few epochs; the lowest mean of each column stands out."""
    moments = format.milestones(runs[0].curve.epochs.tolist())
    groups: dict[tuple[str, float], list[LearningCurve]] = {}
    for one in runs:
        groups.setdefault((one.order, one.step), []).append(one.curve)
    columns = [("test", n) for n in moments] + [("train", moments[-1])]
    means = {key: [mean_over_seeds(curves, *column) for column in columns] for key, curves in groups.items()}
    lowest = [min(row[place][0] for row in means.values()) for place in range(len(columns))]
    table = _table()
    table.add_column("order", no_wrap=True)
    table.add_column("step", justify="right", no_wrap=True)
    for loss, n in columns:
        table.add_column(f"{dict(LOSSES)[loss]}, epoch {n:,}", justify="right")
    for (order, step), row in means.items():
        texts = [
            digits(mean) + (f" ± {digits(error, 1)}" if math.isfinite(error) else "") for mean, error in row
        ]
        cells = [
            f"[bold green]{text}[/]" if mean == least and len(means) > 1 else text
            for text, (mean, _), least in zip(texts, row, lowest, strict=True)
        ]
        table.add_row(order, as_typed(step), *cells)
    return table


def mean_over_seeds(curves: "Sequence[LearningCurve]", loss: str, epoch: float) -> tuple[float, float]:
    """Mean over seeds at an epoch, and its standard error (NaN for one seed)."""
    values = np.array([format.value_at(curve, epoch, loss) for curve in curves])
    error = values.std(ddof=1) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return float(values.mean()), float(error)
