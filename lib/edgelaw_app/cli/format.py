"""Numbers and names as readers see them, the same in the terminal and in the report."""

import math
from typing import TYPE_CHECKING

FLOOR = 1e-12  # `edgelaw_app.forecast.exact_curves.FLOOR`, without its imports; a test compares
EARLY_LEVELS = 0.3, 1e-3, 1e-9  # of the training loss, whose times stand in a table of the first epoch

if TYPE_CHECKING:
    from edgelaw.curves import LearningCurve
    from edgelaw_app.forecast import Forecast, Prediction


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


def loss_digits(value: float | None, error: float | None = None) -> str:
    """A loss, with its relative standard error if it was simulated; below 1e-12 it counts as zero.

    >>> loss_digits(0.01234), loss_digits(0.01234, 0.0005), loss_digits(3e-17)
    ('0.0123', '0.0123 ±4%', '< 1e-12')
    """
    if value is not None and value < FLOOR:
        return f"< {FLOOR:.0e}"
    if value is None or error is None or not math.isfinite(error) or error <= 0:
        return digits(value)
    per_cent = 100 * error / value
    return f"{digits(value)} ±{per_cent:.{0 if per_cent >= 1 else 1}f}%"


def discrepancy(entry: dict | None) -> str:
    """The largest distance of a simulation from the theory, in per cent with its standard error.

    >>> discrepancy({"worst": 0.0213, "epoch": 7, "error": 0.004})
    '+2.1 ± 0.4 %'
    >>> discrepancy({"worst": -0.3, "error": None}), discrepancy(None)
    ('-30.0 %', '–')
    """
    if not entry or entry.get("worst") is None:
        return "–"
    error = entry.get("error")
    spread = f" ± {100 * error:.1f}" if error is not None and math.isfinite(error) else ""
    return f"{100 * entry['worst']:+.1f}{spread} %"


def epochs_needed(forecast: "Forecast", loss: str, budget: int) -> str:
    """Epochs to the target: a number, within the first epoch with the number of rows, more than the budget, never."""
    epochs, rows = forecast.epochs_to_target.get(loss), forecast.rows_to_target.get(loss)
    if epochs is not None and 0 < epochs < 1:
        return f"{epochs:.2g}\n({rows:,} rows)"
    if epochs is not None:
        return f"{epochs:,.0f}"
    return "never" if str(forecast.beyond.get(loss, "")).startswith("never") else f"> {budget:,}"


def reasons(prediction: "Prediction") -> list[tuple[list[str], str]]:
    """Why curves are not exact: every reason once, with the orders it applies to."""
    orders: dict[str, list[str]] = {}
    for order, forecast in prediction.forecasts.items():
        if forecast.why:
            orders.setdefault(forecast.why, []).append(order)
    return [(names, why) for why, names in orders.items()]


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


def milestones(curve: "LearningCurve", most: int = 4) -> list[float]:
    """A few recorded times for a table: 1, powers of ten, the last; or of the first epoch where it is what matters.

    >>> import numpy as np
    >>> from edgelaw.curves import LearningCurve
    >>> made = lambda times: LearningCurve(np.array(times), *np.ones((4, len(times))))
    >>> milestones(made(range(201))), milestones(made(range(51))), milestones(made([0, 1]))
    ([1, 10, 100, 200], [1, 10, 50], [1])
    """
    times = [n.item() for n in curve.epochs if n > 0]
    if times[0] < 1:
        pairs = [
            (n.item(), x) for n, x in zip(curve.epochs, curve.train, strict=True) if n > 0 and x >= FLOOR
        ]
        firsts = [next((n for n, x in pairs if x <= level), None) for level in EARLY_LEVELS]
        return sorted({n for n in firsts if n is not None}) or times[:1]
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


def loss_at(forecast: "Forecast", time: float, loss: str) -> str:
    """A loss of a forecast at a time as readers see it, with its standard error where it was simulated."""
    error = value_at(forecast.curve, time, loss + "_se") if forecast.how != "exact" else None
    return loss_digits(value_at(forecast.curve, time, loss), error)


def moment(time: float, rows: int) -> str:
    """A time over a column: epochs, or row updates within the first one.

    >>> moment(10, 500), moment(0.25, 500)
    ('epoch 10', '125\\nrows')
    """
    return f"{round(time * rows):,}\nrows" if time < 1 else f"epoch {time:,.0f}"


def single_runs(prediction: "Prediction") -> str:
    """A sentence on how much a single run scatters."""
    each = [100 * forecast.scatter for forecast in prediction.forecasts.values()]
    low, high = f"{min(each):.0f}", f"{max(each):.0f}"
    span = low if low == high else f"{low} to {high}"
    return f"Losses are means; the test loss of a single run scatters around its mean by about {span} %."
