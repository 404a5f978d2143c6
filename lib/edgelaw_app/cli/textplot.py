"""A scatter plot on logarithmic axes in a terminal: dots in braille, or a letter in the place of a point."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from rich.text import Text

from edgelaw._common.types import Array, Integers

# the bit of each dot of a braille cell, by row and column
_DOTS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
_BLANK = 0x2800


class Layer(NamedTuple):
    """Points of positive coordinates."""

    x: Array
    y: Array
    style: str = ""  # a colour
    letter: str = ""  # in the place of dots


def loglog(layers: Sequence[Layer], width: int, height: int) -> list[Text]:
    """The lines of a plot whose area is so many characters wide and high; a later layer hides an earlier one."""
    (left, right), (bottom, top) = (
        _range(np.log10(np.concatenate(values)))
        for values in zip(*(layer[:2] for layer in layers), strict=True)
    )
    codes, owners = np.full((height, width), _BLANK), np.zeros((height, width), dtype=int)
    for number, layer in enumerate(layers):
        column = _pixels(layer.x, left, right, 2 * width)
        row = _pixels(layer.y, top, bottom, 4 * height)
        new = np.zeros((height, width), dtype=int)
        np.bitwise_or.at(new, (row // 4, column // 2), _DOTS[row % 4, column % 2])
        codes = np.where(new > 0, ord(layer.letter) if layer.letter else _BLANK + new, codes)
        owners[new > 0] = number
    labels = {height - 1 - cell: label for cell, label in _ticks(bottom, top, height).items()}
    margin = max(map(len, labels.values()))
    lines = [
        Text(f"{labels.get(row, ''):>{margin}} {'┤' if row in labels else '│'}") for row in range(height)
    ]
    for line, row_codes, row_owners in zip(lines, codes, owners, strict=True):
        for code, owner in zip(row_codes, row_owners, strict=True):
            line.append(" " if code == _BLANK else chr(code), layers[owner].style)
        line.rstrip()
    ticks, below = _ticks(left, right, width), ""
    floor = "".join("┬" if cell in ticks else "─" for cell in range(width))
    for cell, label in ticks.items():
        start = margin + 2 + cell - len(label) // 2
        if len(below) < start:
            below = below.ljust(start) + label
    return [*lines, Text(f"{'':{margin}} └{floor}"), Text(below)]


def _range(logs: Array) -> tuple[float, float]:
    """The smallest and the largest value, with a margin if they are equal."""
    low, high = float(logs.min()), float(logs.max())
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _pixels(values: Array, first: float, last: float, count: int) -> Integers:
    """Which of so many pixels each value is in, from the logarithm of the first one's to that of the last one's."""
    return np.round((np.log10(values) - first) / (last - first) * (count - 1)).astype(int)


def _ticks(low: float, high: float, count: int) -> dict[int, str]:
    """Cells and labels of the powers of ten in a range, at most six; of its ends where there are fewer than two."""
    powers = np.arange(np.ceil(low - 1e-9), np.floor(high + 1e-9) + 1)
    places = powers[:: -(-len(powers) // 6)] if len(powers) > 1 else np.array([low, high])
    cells = np.round((places - low) / (high - low) * (count - 1)).astype(int)
    return {cell: f"{10.0**place:.2g}" for cell, place in zip(cells.tolist(), places, strict=True)}
