"""Lines, paragraphs and cautions in a terminal."""

import textwrap
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from edgelaw_app.cli.terminal import printable


def line(shown: Console, text: str) -> None:
    """One line, as it is, however narrow the terminal: code and paths are copied from there."""
    shown.print(Text(text), soft_wrap=True)


def paragraph(shown: Console, text: str, style: str = "", mark: str = "") -> None:
    """A sentence or two, wrapped by words, with a hanging mark."""
    mark, width = (f"{mark} ", shown.width) if mark else ("", shown.width - 1)
    wrapper = textwrap.TextWrapper(max(20, width), mark, " " * len(mark), break_on_hyphens=False)
    for wrapped in wrapper.wrap(printable(text)):
        shown.print(Text(wrapped, style=style))


def cautions(shown: Console, sentences: Sequence[str]) -> None:
    """What a reader is warned of."""
    for sentence in sentences:
        shown.print()
        paragraph(shown, sentence, "yellow", "!")
