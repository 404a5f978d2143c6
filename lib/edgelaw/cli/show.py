"""What the commands on a reader's own data show alike."""

import textwrap

from rich.text import Text

from edgelaw.cli.format import digits, uncertain
from edgelaw.cli.terminal import printable


def heading(shown, name, shape, steps):
    """The file, its shape, and what was done to it."""
    m, d = shape
    shown.print(Text.assemble((printable(name), "bold"), f"  {m:,} × {d:,}"))
    for number, step in enumerate(steps, start=1):
        paragraph(shown, step, "dim", f"{number}.")
    shown.print()


def spectral(shown, found):
    """A few words on the spectrum."""
    fit, count = found.edge, len(found.eigenvalues)
    null = int((found.eigenvalues == 0).sum())
    parts = [
        "no power law fits the left edge"
        if fit is None
        else f"edge β = {uncertain(fit.beta, found.edge_error)}, Q = {digits(fit.Q)}",
        f"effective rank {digits(found.effective_rank)} of {count:,}",
        f"quantile ratio {digits(found.quantile_ratio)}",
    ]
    if null:
        parts.append(f"{null:,} of {count:,} eigenvalues {'are' if null > 1 else 'is'} zero")
    paragraph(shown, "; ".join(parts) + ".")
    shown.print()


def paragraph(shown, text, style="", mark=""):
    """A sentence or two, wrapped by words, with a hanging mark."""
    text = printable(text)
    lines = textwrap.wrap(text, max(20, shown.width - len(mark) - 1), break_on_hyphens=False)
    for index, line in enumerate(lines):
        before = (mark if index == 0 else " " * len(mark)) + (" " if mark else "")
        shown.print(Text(before + line, style=style))
