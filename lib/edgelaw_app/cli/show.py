"""What the commands on a reader's own data print in a terminal."""

import math
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from edgelaw_app.cli import format, textplot
from edgelaw_app.cli.format import as_typed, digits, with_error
from edgelaw_app.cli.terminal import ascii_only, printable

if TYPE_CHECKING:
    from edgelaw.curves import LearningCurve
    from edgelaw_app.cli.cluster import Run
    from edgelaw_app.forecast import Prediction

LOSSES = (("test", "test"), ("train", "train"))  # the attribute of a curve, and its name in print
HOW = {
    "exact": "Losses by exact theory, from the eigenvalues of these rows.",
    "simulated": "Losses by running SGD on these rows, ± one standard error.",
    "pilot": "Losses by running SGD on a random part of these rows, ± one standard error.",
}
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
    """One line, as it is."""
    shown.print(Text(text))


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


def prediction(shown: Console, predicted: "Prediction", name: str) -> None:
    """Everything that ``predict`` has to say."""
    m, d = predicted.shape
    shown.print(Text.assemble((printable(name), "bold"), f"  {m:,} × {d:,}"))
    shown.print()
    paragraph(shown, predicted.advice.reason, "bold green")
    shown.print()
    shown.print(prediction_table(predicted))
    shown.print()
    paragraph(shown, HOW[next(iter(predicted.forecasts.values())).how], "dim")
    if predicted.batching:
        paragraph(shown, predicted.batching.text)
    paragraph(shown, predicted.assumption, "dim")
    paragraph(shown, format.single_runs(predicted), "dim")
    notes = [f"{', '.join(orders)}: {why}" for orders, why in format.reasons(predicted)]
    passed = [predicted.diagnostic.text] if predicted.diagnostic.fits else []  # else a caution says it
    for text in [*notes, *passed]:
        shown.print()
        paragraph(shown, text, "dim")
    cautions(shown, [caution.text for caution in predicted.warnings])
    shown.print()
    spectral(shown, predicted)
    preparation(shown, predicted.preparation)


def _table() -> Table:
    return Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")


def prediction_table(predicted: "Prediction") -> Table:
    """Two lines per order: test and training loss at a few epochs, and what follows from them."""
    forecasts = predicted.forecasts
    moments = format.milestones(next(iter(forecasts.values())).curve)
    target = predicted.target
    best = any(step for one in forecasts.values() if one.how == "exact" for step in one.best_step.values())
    compared = any(forecast.discrepancy and forecast.how == "exact" for forecast in forecasts.values())
    table = _table()
    for title in ("order", "loss"):
        table.add_column(title, no_wrap=True)
    if predicted.step == "best":
        table.add_column("step", justify="right", no_wrap=True)
    for n in moments:
        table.add_column(format.moment(n, predicted.shape[0]), justify="right", no_wrap=True)
    if target is not None:
        table.add_column(f"epochs\nto {as_typed(target)}", justify="right", no_wrap=True)
    if best:
        table.add_column("best\nstep", justify="right", no_wrap=True)
    if compared:
        table.add_column("simulated − theory", justify="right")
    for order, forecast in forecasts.items():
        for loss, label in LOSSES:
            first = loss == "test"
            cells = [order if first else "", label]
            if predicted.step == "best":
                cells.append(digits(forecast.step) if first else "")
            cells += [format.loss_at(forecast, n, loss) for n in moments]
            if target is not None:
                cells.append(format.epochs_needed(forecast, loss, predicted.epochs))
            if best:
                cells.append(digits((forecast.best_step or {}).get(loss)))
            if compared:
                cells.append(format.discrepancy((forecast.discrepancy or {}).get(loss)))
            table.add_row(*map(escape, cells), style="" if first else "dim")
    return table


def sweep_table(runs: "Sequence[Run]") -> Table:
    """Means over seeds, with standard errors, at a few epochs; the lowest mean of each column stands out."""
    moments = format.milestones(runs[0].curve)
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
