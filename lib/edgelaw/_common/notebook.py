"""What objects show of themselves in notebooks, reports and files: a sentence, a small plot and a small table."""

import contextlib
import hashlib
import html
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from edgelaw._common import extras, svg
from edgelaw._common.types import Array, ArrayLike

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK = "#123456"  # stands for the page's own colour of text
DECADES = 12  # what lies further below the largest value than this is not drawn
MOST_POINTS = 120  # of a line
WIDTH, HEIGHT = 330, 210  # in points, without the legend
STYLE: dict[Any, Any] = {
    **dict.fromkeys(("figure.facecolor", "axes.facecolor"), "none"),
    **dict.fromkeys(("axes.edgecolor", "axes.labelcolor", "text.color", "grid.color"), INK),
    **dict.fromkeys(("xtick.color", "ytick.color"), INK),
    **dict.fromkeys(("axes.spines.top", "axes.spines.right", "legend.frameon"), False),
    **dict.fromkeys(("axes.labelsize", "font.size", "legend.fontsize"), 11),
    **{"figure.dpi": 72, "axes.grid": True, "grid.alpha": 0.15},
    **{"legend.handlelength": 2.6, "lines.linewidth": 1.8},
}


@dataclass(frozen=True)
class Line:
    """A line or, without a line style, markers of a plot; points that logarithmic axes do not have are left out."""

    x: ArrayLike
    y: ArrayLike
    name: str = ""
    color: str = INK
    style: Any = "-"
    marker: str = ""
    error: ArrayLike = 0.0  # relative, of y: two of it are shaded to either side

    def points(self) -> tuple[Array, Array, Array]:
        """Positive and finite points with their errors, at most `MOST_POINTS`, denser on the left as the axes are."""
        x, y = np.asarray(self.x, dtype=float), np.asarray(self.y, dtype=float)
        error = np.broadcast_to(np.asarray(self.error, dtype=float), y.shape)
        with np.errstate(invalid="ignore"):
            good = (x > 0) & (y > 0) & np.isfinite(x) & np.isfinite(y)
        x, y, error = x[good], y[good], error[good]
        if len(x) > MOST_POINTS:
            goals = np.geomspace(x[0], x[-1], MOST_POINTS) if x[-1] > x[0] else x[:1]
            chosen = np.unique(np.clip(np.searchsorted(x, goals), 0, len(x) - 1))
            x, y, error = x[chosen], y[chosen], error[chosen]
        return x, y, error


@contextlib.contextmanager
def _settings() -> Iterator[None]:
    """The settings of a small plot, whatever the notebook has set."""
    import matplotlib as mpl

    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE | {"svg.hashsalt": "edgelaw"})
        yield


def _figure(lines: Sequence[Line], xlabel: str, ylabel: str) -> "Figure | None":
    """A small plot on logarithmic axes; None if there is no point to draw."""
    drawn = [(line, *line.points()) for line in lines]
    drawn = [each for each in drawn if len(each[1])]
    if not drawn:
        return None
    from matplotlib.figure import Figure

    names = [line.name for line, *_ in drawn if line.name]
    columns = 1 if max(map(len, names), default=0) > 22 else 2
    below = 18 * -(-len(names) // columns) + 6
    height = HEIGHT + below
    figure = Figure(figsize=(WIDTH / 72, height / 72))
    left, across = 72, WIDTH - 82
    ax = figure.add_axes((left / WIDTH, (below + 42) / height, across / WIDTH, 1 - (below + 50) / height))
    ax.yaxis.set_label_coords(
        (14 - left) / across, 0.5
    )  # inside the picture however wide the ticks' labels are
    ax.set(xscale="log", yscale="log", xlabel=xlabel, ylabel=ylabel)
    top = max(y.max() for _, _, y, _ in drawn)
    for line, x, y, _ in drawn:
        high = y >= top * 10.0**-DECADES
        look = {"color": line.color, "linestyle": line.style, "marker": line.marker, "markersize": 5}
        ax.plot(x[high], y[high], label=line.name or None, markerfacecolor="none", **look)
    ax.set(xlim=ax.get_xlim(), ylim=ax.get_ylim())  # lines decide, not what is shaded
    for line, x, y, error in drawn:
        if error.any():
            low = np.maximum(1 - 2 * error, 1e-3)
            ax.fill_between(x, y * low, y * (1 + 2 * error), color=line.color, alpha=0.18, linewidth=0)
    for axis, (begin, end) in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
        ticks = _ticks(begin, end)
        axis.set_ticks(ticks, [number(tick, 6) for tick in ticks])
        axis.set_ticks([], minor=True)
    if names:
        figure.legend(loc="lower center", bbox_to_anchor=(0.5, 0), ncols=columns)
    return figure


def plot(
    lines: Sequence[Line], xlabel: str, ylabel: str, label: str, colours: Mapping[str, str] | None = None
) -> str:
    """A small plot on logarithmic axes as an SVG element, described by `label`; empty if there is no point to draw.

    `colours` has what stands in the page for a colour of a line.
    """
    if not extras.installed("matplotlib"):
        return ""
    with _settings():
        figure = _figure(lines, xlabel, ylabel)
        if figure is None:
            return ""
        points = [(line.name, *line.points()[:2]) for line in lines]
        shown = [(name, x.tolist(), y.tolist()) for name, x, y in points if len(x)]
        digest = hashlib.sha256(repr(shown).encode())
        size = {"style": f"width:100%;max-width:{WIDTH * 4 // 3}px;height:auto;background:none"}
        name = f"edgelaw-{digest.hexdigest()[:10]}"
        return svg.element(figure, label, name, STYLE, {**(colours or {}), INK: "currentColor"}, size)


def file(lines: Sequence[Line], xlabel: str, ylabel: str, kind: str) -> bytes:
    """The same plot as the content of a .png, .svg or .pdf file, the same bytes every time."""
    content, dates = io.BytesIO(), {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with _settings():
        if figure := _figure(lines, xlabel, ylabel):
            figure.savefig(content, format=kind, dpi=180, facecolor="white", metadata=dates.get(kind))
    return content.getvalue()


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers between two ends, three to six of them where there are.

    >>> _ticks(0.8, 60), _ticks(0.51, 0.73)
    ([1.0, 3.0, 10.0, 30.0], [0.55, 0.6, 0.65, 0.7])
    """
    decades = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    for digits in ((1,), (1, 3), (1, 2, 5), (1, 2, 3, 5, 7), (1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9)):
        ticks = [float(f"{digit}e{power}") for power in decades for digit in digits]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if len(ticks) >= 3:
            return ticks[:: -(-len(ticks) // 6)]
    from matplotlib.ticker import MaxNLocator

    even = MaxNLocator(5, steps=[1, 2, 5, 10]).tick_values(low, high)
    return [round(float(tick), 12) for tick in even if low <= tick <= high]


def number(value: Any, digits: int = 3, error: float | None = None) -> str:
    """A number as a cell of a table shows it, with its standard error if it has one; a dash for what is not known.

    >>> number(0.012345), number(1e-7), number(float("nan")), number(12345.0, error=20)
    ('0.0123', '1e-7', '–', '12,345 ± 2e1')
    """
    if error is not None and np.isfinite(error) and error > 0:
        return f"{number(value, digits)} ± {number(error, 1)}"
    if value is None or not np.isfinite(value):
        return "–"
    if 1000 <= abs(value) < 1e6:
        return f"{value:,.0f}"
    mantissa, _, power = f"{value:.{digits}g}".partition("e")
    return f"{mantissa}e{int(power)}" if power else mantissa


def moments(times: ArrayLike, most: int = 4) -> list[int]:
    """Places of a few recorded times after the start, evenly spaced in their logarithm, the first and last included.

    >>> moments([0, 1, 2, 3, 4, 10])
    [1, 2, 4, 5]
    """
    times = np.asarray(times, dtype=float)
    after = np.flatnonzero(times > 0)
    if len(after) == 0:
        return [0] if len(times) else []
    goals = np.geomspace(times[after[0]], times[after[-1]], most)
    return sorted({int(after[np.abs(np.log(times[after] / goal)).argmin()]) for goal in goals})


def card(
    sentence: str, picture: str, header: Sequence[str], rows: Sequence[Sequence[str]], note: str = ""
) -> str:
    """The HTML of one object: a sentence, a picture of `plot`, a table and a note; all text is escaped.

    >>> card("a < b", "", [], [])
    '<div style="max-width:46em"><p>a &lt; b</p></div>'
    """

    def line(texts: Sequence[str], tag: str) -> str:
        start = f'<{tag} style="padding:0 1em 0 0;text-align:left">'
        return f"<tr>{''.join(f'{start}{html.escape(text)}</{tag}>' for text in texts)}</tr>"

    body = "".join(line(row, "td") for row in rows)
    table = f"<table><thead>{line(header, 'th')}</thead><tbody>{body}</tbody></table>"
    table = f'<div style="overflow-x:auto">{table}</div>' if rows else ""
    small = f'<p style="font-size:85%;opacity:0.8">{html.escape(note)}</p>' if note else ""
    return f'<div style="max-width:46em"><p>{html.escape(sentence)}</p>{picture}{table}{small}</div>'
