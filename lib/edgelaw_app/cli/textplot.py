"""A scatter plot on logarithmic axes in a terminal: braille dots, or plain characters where there are none."""

from collections.abc import Sequence

import numpy as np

from edgelaw._common.types import Array, ArrayLike

Pieces = list[tuple[str, int | None]]  # a line: texts, each with the layer it shows

# the bit of each dot of a braille cell, by row and column
_DOTS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])


def loglog(
    layers: Sequence[tuple[ArrayLike, ArrayLike]],
    width: int = 64,
    height: int = 14,
    plain: bool = False,
    marks: str = "",
) -> list[Pieces]:
    """Lines of a plot, each a list of (text, layer) where layer is an index into ``layers`` or None.

    Parameters
    ----------
    layers : list of (x, y)
        Points with positive coordinates; a later layer hides an earlier one where they meet. The first one sets the
        range of the axes (with `marks`, all do), and points of the others that lie outside are not shown.
    width, height : int
        Size of the plotting area in characters.
    plain : bool
        ASCII instead of braille.
    marks : str
        A character for each layer that stands for its points; a space for dots.
    """
    ruling = layers if marks else layers[:1]
    box = [
        _range(np.concatenate([np.log10(np.asarray(one[axis], float)) for one in ruling])) for axis in (0, 1)
    ]
    fine = (1, 1) if plain else (2, 4)
    cells = np.full((height, width), -1)
    codes = np.zeros((height, width), dtype=int)
    for index, (x, y) in enumerate(layers):
        column, inside_x = _pixels(x, box[0], width * fine[0])
        row, inside_y = _pixels(y, box[1], height * fine[1])
        keep = inside_x & inside_y
        column, row = column[keep], height * fine[1] - 1 - row[keep]
        new = np.zeros((height, width), dtype=int)
        mark = marks[index] if marks else " "
        if mark != " ":
            new[row // fine[1], column // fine[0]] = ord(mark) - (0 if plain else 0x2800)
        elif plain:
            new[row, column] = ord("." if marks else "o+x*"[index % 4])
        else:
            np.bitwise_or.at(new, (row // fine[1], column // fine[0]), _DOTS[row % 4, column % 2])
        cells[new != 0] = index
        codes = np.where(new != 0, new, codes)
    return _framed(cells, codes if plain else codes + 0x2800, box, plain)


def _range(values: Array) -> tuple[float, float]:
    """The smallest and the largest value, with a margin if they are equal."""
    low, high = float(values.min()), float(values.max())
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _pixels(values: ArrayLike, limits: tuple[float, float], count: int) -> tuple[np.ndarray, np.ndarray]:
    """Pixel of each value, and whether it is inside."""
    with np.errstate(divide="ignore", invalid="ignore"):
        place = (np.log10(np.asarray(values, dtype=float)) - limits[0]) / (limits[1] - limits[0])
    inside = (place >= -1e-9) & (place <= 1 + 1e-9)
    return np.clip(np.round(np.where(inside, place, 0) * (count - 1)), 0, count - 1).astype(int), inside


def _framed(
    cells: np.ndarray, codes: np.ndarray, box: list[tuple[float, float]], plain: bool
) -> list[Pieces]:
    """Draw the axes around the area: a label at each decade, or at both ends where there is no decade."""
    height, width = cells.shape
    corner, bar, mark, floor, tick = "+|+-+" if plain else "└│┤─┬"
    marks = {height - 1 - row: label for row, label in _decades(box[1], height)}
    margin = max([len(label) for label in marks.values()] + [1])
    lines: list[Pieces] = []
    for row in range(height):
        pieces: Pieces = [(marks.get(row, "").rjust(margin) + " " + (mark if row in marks else bar), None)]
        for column in range(width):
            layer = int(cells[row, column]) if cells[row, column] >= 0 else None
            text = " " if layer is None else chr(codes[row, column])
            if pieces[-1][1] == layer:
                pieces[-1] = (pieces[-1][0] + text, layer)
            else:
                pieces.append((text, layer))
        pieces[-1] = (pieces[-1][0].rstrip(), pieces[-1][1])
        lines.append(pieces)
    columns = _decades(box[0], width)
    places = {column for column, _ in columns}
    base = "".join(tick if column in places else floor for column in range(width))
    lines.append([(" " * (margin + 1) + corner + base, None)])
    below, free = [" "] * (width + margin + 12), 0
    for column, label in columns:
        start = margin + 2 + column - len(label) // 2
        if start >= free:
            below[start : start + len(label)] = label
            free = start + len(label) + 1
    lines.append([("".join(below).rstrip(), None)])
    return lines


def _decades(limits: tuple[float, float], count: int) -> list[tuple[int, str]]:
    """Cells and labels of the powers of ten in a range; and of its two ends if there are fewer than two."""
    low, high = limits
    powers: list[float] = list(range(int(np.ceil(low - 1e-9)), int(np.floor(high + 1e-9)) + 1))
    places = powers[:: max(1, -(-len(powers) // 6))]
    cells = [round((place - low) / (high - low) * (count - 1)) for place in places]
    if len(places) < 2:  # the ends, unless a decade is next to them
        for end, cell in ((low, 0), (high, count - 1)):
            if all(abs(cell - other) > 1 for other in cells):
                places.append(end)
                cells.append(cell)
    return sorted((cell, f"{10.0**place:.2g}") for cell, place in zip(cells, places, strict=True))
