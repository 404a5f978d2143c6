"""Plots on logarithmic axes as inline SVG: real text, colours from the page's style sheet, a description for those
who cannot see it.
"""

import math
from dataclasses import dataclass
from html import escape

import numpy as np

WIDTH, HEIGHT = 480, 320
LEFT, RIGHT, TOP, BOTTOM = 66, 14, 12, 46
DECADES = 12  # what lies further below the largest value than this is not drawn

_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
# matplotlib's dashes, in units of the line's width, so that a plot in a report looks like one in the book
_DASHES = {"-": (), "--": (3.7, 1.6), "-.": (6.4, 1.6, 1, 1.6), ":": (1, 1.65)}
_MARKERS = {
    "o": "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z",
    "s": "M-3.5 -3.5h7v7h-7z",
    "^": "M0 -4.6l4.4 7.8h-8.8z",
    "D": "M0 -4.8l4.8 4.8l-4.8 4.8l-4.8 -4.8z",
}


@dataclass(frozen=True, eq=False)
class Series:
    """One set of points.

    Attributes
    ----------
    name : str
        What the legend says.
    style : str
        Class name, which has its colour in the style sheet.
    x, y : array_like
        Points; those that are not positive and finite are left out.
    error : array_like, optional
        Standard errors of y: a band of two of them to either side.
    linestyle, marker : optional
        As in matplotlib; no line or no marker where it is None.
    hollow : bool
        Markers with a hole, for what was measured beside what was computed.
    thin : bool
        A thin line.
    dots : bool
        All points as dots.
    title : str
        What a mark says when pointed at, if not the name.

    A series without a name has no entry in the legend.
    """

    name: str
    style: str
    x: np.ndarray
    y: np.ndarray
    error: np.ndarray | None = None
    linestyle: object = None
    marker: str | None = None
    hollow: bool = False
    thin: bool = False
    dots: bool = False
    title: str = ""


def loglog(label, series, x_name, y_name, levels=()):
    """One plot.

    Parameters
    ----------
    label : str
        What the plot shows, in a sentence or two, for readers who cannot see it.
    series : list of Series
        The first ones are drawn first; thin ones do not widen the axes.
    x_name, y_name : str
        Names of the axes.
    levels : list of (float, str)
        Horizontal lines with a name.
    """
    kept = [(one, _kept(one)) for one in series]
    wide = [keep for one, keep in kept if not one.thin and keep.any()]
    if not wide:
        return f'<p class="none">{escape(label)} There is nothing to draw.</p>'
    xs = np.concatenate([np.asarray(one.x, float)[keep] for one, keep in kept if not one.thin])
    ys = np.concatenate([np.asarray(one.y, float)[keep] for one, keep in kept if not one.thin])
    ys = np.concatenate([ys[ys >= ys.max() * 10.0**-DECADES], [value for value, _ in levels if value > 0]])
    axes = _Axes(_span(xs), _span(ys))
    parts = [axes.frame(x_name, y_name)]
    for value, name in levels:
        parts.append(axes.level(value, name))
    for one, keep in kept:
        parts.append(axes.draw(one, keep))
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label, quote=True)}" '
        'preserveAspectRatio="xMidYMid meet">' + "".join(parts) + "</svg>"
    )


def legend(series):
    """The names beside a sample of their lines, as a list that wraps on a narrow screen."""
    entries = []
    for one in series:
        if not one.name:
            continue
        sample = ""
        if one.linestyle is not None:
            sample += f'<path class="line"{_dash(one.linestyle)} d="M1 7H33"/>'
        if one.dots:
            sample += '<path class="dots" d="M5 7h0M17 7h0M29 7h0"/>'
        if one.marker:
            kind = "hollow" if one.hollow else "mark"
            sample += f'<path class="{kind}" transform="translate(17 7)" d="{_MARKERS[one.marker]}"/>'
        entries.append(
            f'<li><svg class="key {one.style}" width="34" height="14" viewBox="0 0 34 14" aria-hidden="true">'
            f"{sample}</svg>{escape(one.name)}</li>"
        )
    return f'<ul class="legend">{"".join(entries)}</ul>'


def _kept(one):
    """Which points can be drawn on logarithmic axes."""
    x, y = np.asarray(one.x, float), np.asarray(one.y, float)
    return np.isfinite(x) & np.isfinite(y) & (x > 0) & (y > 0)


def _span(values):
    """Logarithms of both ends, with a little air."""
    low, high = math.log10(values.min()), math.log10(values.max())
    air = max(0.03 * (high - low), 0.02)
    return low - air, high + air


def _ticks(low, high, most=7):
    """Labelled and unlabelled places of an axis from 10^low to 10^high."""
    fewest = 3 if high - low < 3 else 2
    tenths, hundredths = np.arange(10, 100) / 10, np.arange(100, 1000) / 100
    for mantissas in ([1], [1, 3], [1, 2, 5], range(1, 10), tenths, hundredths):
        places = [
            (m, e)
            for e in range(math.floor(low), math.ceil(high) + 1)
            for m in mantissas
            if low - 1e-9 <= math.log10(m) + e <= high + 1e-9
        ]
        if len(places) >= fewest:
            break
    labelled = places[:: max(1, -(-len(places) // most))]
    minor = [
        e + math.log10(m)
        for e in range(math.floor(low), math.ceil(high) + 1)
        for m in range(1, 10)
        if low <= math.log10(m) + e <= high
    ]
    return [(math.log10(m) + e, _power(m, e)) for m, e in labelled], minor if high - low < 5 else []


def _power(mantissa, exponent):
    """A number as an axis shows it."""
    value = float(mantissa) * 10.0**exponent
    if -3 <= exponent <= 4:
        return f"{value:,.5g}" if value >= 1e4 else f"{value:.5g}"
    power = f"10{str(exponent).translate(_SUPERSCRIPT)}"
    return power if mantissa == 1 else f"{mantissa:g}·{power}"


def _dash(linestyle):
    pattern = linestyle[1] if isinstance(linestyle, tuple) else _DASHES[linestyle]
    return f' stroke-dasharray="{" ".join(f"{2 * length:.3g}" for length in pattern)}"' if pattern else ""


class _Axes:
    """Where a value is on the plot, and what is drawn there."""

    def __init__(self, x, y):
        self.x, self.y = x, y

    def across(self, logarithm):
        return LEFT + (np.asarray(logarithm) - self.x[0]) / (self.x[1] - self.x[0]) * (WIDTH - LEFT - RIGHT)

    def down(self, logarithm):
        return (
            HEIGHT
            - BOTTOM
            - (np.asarray(logarithm) - self.y[0]) / (self.y[1] - self.y[0]) * (HEIGHT - TOP - BOTTOM)
        )

    def frame(self, x_name, y_name):
        """Grid, axes, labels."""
        labelled_x, minor_x = _ticks(*self.x)
        labelled_y, minor_y = _ticks(*self.y, most=6)
        floor, right = HEIGHT - BOTTOM, WIDTH - RIGHT
        fine = "".join(f"M{self.across(x):.1f} {TOP}V{floor}" for x in minor_x)
        fine += "".join(f"M{LEFT} {self.down(y):.1f}H{right}" for y in minor_y)
        grid = "".join(f"M{self.across(x):.1f} {TOP}V{floor}" for x, _ in labelled_x)
        grid += "".join(f"M{LEFT} {self.down(y):.1f}H{right}" for y, _ in labelled_y)
        words = [
            f'<text x="{self.across(x):.1f}" y="{floor + 17}" text-anchor="middle">{label}</text>'
            for x, label in labelled_x
        ]
        words += [
            f'<text x="{LEFT - 7}" y="{self.down(y) + 4.5:.1f}" text-anchor="end">{label}</text>'
            for y, label in labelled_y
        ]
        middle = (LEFT + right) / 2
        words.append(
            f'<text class="axis" x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">{escape(x_name)}</text>'
        )
        height = (TOP + floor) / 2
        words.append(
            f'<text class="axis" transform="translate(14 {height}) rotate(-90)" text-anchor="middle">'
            f"{escape(y_name)}</text>"
        )
        return (
            f'<g aria-hidden="true"><path class="fine" d="{fine}"/><path class="grid" d="{grid}"/>'
            f'<path class="frame" d="M{LEFT} {TOP}V{floor}H{right}"/>{"".join(words)}</g>'
        )

    def level(self, value, name):
        """A horizontal line with its name at the end where falling curves are far."""
        y = float(self.down(math.log10(value)))
        low = y > (TOP + HEIGHT - BOTTOM) / 2
        x, anchor = (LEFT + 6, "start") if low else (WIDTH - RIGHT - 6, "end")
        return (
            f'<g class="level"><path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>'
            f'<text x="{x}" y="{y - 5:.1f}" text-anchor="{anchor}">{escape(name)}</text></g>'
        )

    def draw(self, one, keep):
        """A series: its band, its line, its points."""
        if not keep.any():
            return ""
        x = np.asarray(one.x, float)[keep]
        y = np.asarray(one.y, float)[keep]
        low, high = 10.0 ** self.y[0], 10.0 ** self.y[1]
        clipped = (y >= low * (1 - 1e-9)) & (y <= high * (1 + 1e-9))
        across, down = self.across(np.log10(x)), self.down(np.log10(np.clip(y, low, high)))
        parts = []
        if one.error is not None:
            parts.append(self._band(across, y, np.asarray(one.error, float)[keep], low, high))
        if one.linestyle is not None:
            seen = _run(clipped)  # one point beyond, so that a curve leaves the frame instead of ending in it
            line = "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(across[seen], down[seen], strict=True))
            kind = "thin" if one.thin else "line"
            parts.append(f'<path class="{kind}"{_dash(one.linestyle)} d="{line}"/>')
        if one.dots:
            some = _thinned(across, down) & clipped
            dots = "".join(f"M{a:.1f} {b:.1f}h0" for a, b in zip(across[some], down[some], strict=True))
            parts.append(f'<path class="dots" d="{dots}"/>')
        if one.marker:
            kind = "hollow" if one.hollow else "mark"
            for index in _few(across):
                if clipped[index]:
                    said = f"{one.title or one.name}, {x[index]:.6g}: {y[index]:.3g}"
                    parts.append(
                        f'<path class="{kind}" transform="translate({across[index]:.1f} {down[index]:.1f})" '
                        f'd="{_MARKERS[one.marker]}"><title>{escape(said)}</title></path>'
                    )
        return f'<g class="{one.style}">{"".join(parts)}</g>'

    def _band(self, across, y, error, low, high):
        """Two standard errors to either side, where there are any."""
        known = np.isfinite(error)
        if known.sum() < 2:
            return ""
        top = self.down(np.log10(np.clip(y + 2 * error, low, high)))[known]
        bottom = self.down(np.log10(np.clip(y - 2 * error, low, high)))[known]
        there = [f"{a:.1f} {b:.1f}" for a, b in zip(across[known], top, strict=True)]
        back = [f"{a:.1f} {b:.1f}" for a, b in zip(across[known], bottom, strict=True)][::-1]
        return f'<path class="band" d="M{"L".join(there + back)}Z"/>'


def _run(inside):
    """The points inside, and the neighbours of these."""
    grown = inside.copy()
    grown[1:] |= inside[:-1]
    grown[:-1] |= inside[1:]
    return grown


def _few(across, gap=44):
    """Indices of points that are some way apart, the last one among them."""
    chosen, last = [len(across) - 1], across[-1]
    for index in range(len(across) - 2, -1, -1):
        if abs(last - across[index]) >= gap:
            chosen.append(index)
            last = across[index]
    return chosen[::-1]


def _thinned(across, down):
    """One of several points that would be drawn in the same place."""
    keep = np.ones(len(across), dtype=bool)
    place = np.round(np.column_stack([across, down]) / 0.8)
    keep[1:] = (place[1:] != place[:-1]).any(axis=1)
    return keep
