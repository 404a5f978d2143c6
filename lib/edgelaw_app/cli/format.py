"""Numbers and names as readers see them, the same in the terminal and in the report."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from edgelaw.curves import LearningCurve


def digits(value: float | None, count: int = 3) -> str:
    """A number to a few significant digits; a dash for what is not known.

    >>> digits(0.012345), digits(12345.6), digits(1.2345e-7), digits(None)
    ('0.0123', '12,346', '1.23e-07', '–')
    """
    if value is None or not math.isfinite(value):
        return "–" if value is None or math.isnan(value) else ("∞" if value > 0 else "−∞")
    if value != 0 and not 1e-4 <= abs(value) < 1e6:
        return f"{value:.{count - 1}e}"
    if abs(value) >= 10 ** (count - 1):
        return f"{value:,.0f}"
    places = count - 1 - (math.floor(math.log10(abs(value))) if value else 0)
    return f"{value:.{max(places, 0)}f}"


def as_typed(value: float | str) -> str:
    """A number that a reader typed, without digits that nobody asked for; a word stays a word.

    >>> as_typed(1.0), as_typed(0.05), as_typed("best")
    ('1', '0.05', 'best')
    """
    return value if isinstance(value, str) else f"{value:.6g}"


def with_error(value: float, error: float | None) -> str:
    """A value with its standard error, to as many digits as the error allows.

    >>> with_error(0.4731, 0.0312), with_error(0.4731, 0.0129), with_error(0.4731, None)
    ('0.47 ± 0.03', '0.473 ± 0.013', '0.473')
    """
    if error is None or not math.isfinite(error) or error <= 0:
        return digits(value)
    size = math.floor(math.log10(error))
    places = max(1, -size + (error / 10.0**size < 2))
    return f"{value:.{places}f} ± {error:.{places}f}"


def milestones(epochs: Sequence[int], most: int = 4) -> list[int]:
    """A few recorded epochs for a table: 1, powers of ten, the last.

    >>> milestones(range(201)), milestones(range(51)), milestones([0, 1])
    ([1, 10, 100, 200], [1, 10, 50], [1])
    """
    times = [n for n in epochs if n > 0]
    last = times[-1]
    round_ones = [1, *(10**k for k in range(1, 9) if 10**k < last)]
    if len(round_ones) < 2 < last:
        round_ones.append(last // 2)
    goals = [*round_ones[:1], *round_ones[1:][-(most - 2) :], last]
    return sorted({min(times, key=lambda n: abs(n - goal)) for goal in goals})


def value_at(curve: "LearningCurve", time: float, loss: str) -> float | None:
    """The value of a curve at a time, or None where that was not recorded."""
    place = [index for index, n in enumerate(curve.epochs) if n == time]
    return float(getattr(curve, loss)[place[0]]) if place else None
