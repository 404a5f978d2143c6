"""Numbers and names as readers see them, the same in the terminal and in the report."""

import math


def digits(value, count=3):
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


def apart(entry):
    """How far a simulation is from the theory where it is farthest, in per cent with its standard error.

    >>> apart({"worst": 0.0213, "epoch": 7, "error": 0.004}), apart({"worst": -0.3, "error": None}), apart(None)
    ('+2.1 ± 0.4 %', '-30.0 %', '–')
    """
    if not entry or entry.get("worst") is None:
        return "–"
    error = entry.get("error")
    spread = f" ± {100 * error:.1f}" if error is not None and math.isfinite(error) else ""
    return f"{100 * entry['worst']:+.1f}{spread} %"


def needed(forecast, kind, budget):
    """Epochs to the target: a number, more than the budget, or never."""
    epochs = forecast.epochs_to_target.get(kind)
    if epochs is not None:
        return f"{epochs:,}"
    return "never" if str(forecast.beyond.get(kind, "")).startswith("never") else f"> {budget:,}"


def reasons(prediction):
    """Why curves are not exact, each reason once, with the orders it is about."""
    found = {}
    for order, forecast in prediction.forecasts.items():
        if forecast.why:
            found.setdefault(forecast.why, []).append(order)
    return [(orders, why) for why, orders in found.items()]


def plain(value):
    """A number that a reader typed, without digits that nobody asked for; a word stays a word.

    >>> plain(1.0), plain(0.05), plain("best")
    ('1', '0.05', 'best')
    """
    return value if isinstance(value, str) else f"{value:.6g}"


def uncertain(value, error):
    """A value with its standard error, to as many digits as the error allows.

    >>> uncertain(0.4731, 0.0312), uncertain(0.4731, 0.0129), uncertain(0.4731, None)
    ('0.47 ± 0.03', '0.473 ± 0.013', '0.473')
    """
    if error is None or not math.isfinite(error) or error <= 0:
        return digits(value)
    size = math.floor(math.log10(error))
    places = max(1, -size + (error / 10.0**size < 2))
    return f"{value:.{places}f} ± {error:.{places}f}"


def milestones(epochs, most=4):
    """A few recorded epochs at which a curve is told in a table: 1, powers of ten, the last.

    >>> milestones(range(201)), milestones(range(51)), milestones(range(6)), milestones([0, 1])
    ([1, 10, 100, 200], [1, 10, 50], [1, 2, 5], [1])
    """
    epochs = [int(n) for n in epochs if n > 0]
    last = epochs[-1]
    wanted = [1, *(10**k for k in range(1, 9) if 10**k < last)]
    if len(wanted) < 2 < last:
        wanted.append(last // 2)
    wanted = [*wanted[:1], *wanted[1:][-(most - 2) :], last]
    return sorted({min(epochs, key=lambda n: abs(n - one)) for one in wanted})


def at(curve, epoch, kind):
    """The value of a curve at an epoch, or None where that was not recorded."""
    place = [index for index, n in enumerate(curve.epochs) if n == epoch]
    return float(getattr(curve, kind)[place[0]]) if place else None
