"""Numbers and names as readers see them, the same in the terminal and in the report."""

import math


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
