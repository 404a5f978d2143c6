"""What the commands on a reader's own data print in a terminal."""

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

from edgelaw_app.cli import textplot
from edgelaw_app.cli.format import digits, with_error
from edgelaw_app.cli.terminal import ascii_only, printable

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
