"""What a check returns: the verdict that follows from a few rows, each of which compares one number.

A check is a function without required arguments. Its keyword-only arguments are the numbers the paper states,
with the paper's values as defaults, so that a test can move each by 2 % and see the verdict fall; sizes and
seeds are integers, which are left alone. It returns ``compared(near(...), most(...), ...)``, an :class:`Evidence`
whose verdict is computed; :func:`number` is short for one row.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from edgelaw._common.arguments import choice

VERDICTS = ("holds", "fails", "imprecise", "open")
_TIGHT = "a true bound that 2 % would loosen"


@dataclass(frozen=True)
class Evidence:
    """What one check measured and what the paper says, short phrases with numbers, and the verdict that follows.

    >>> number(0.28209, 0.28209479, 1e-4).verdict
    'holds'
    """

    verdict: str
    measured: str
    claimed: str
    tolerance: str  # or the standard error and how many of them

    def __post_init__(self) -> None:
        choice(self.verdict, "verdict", VERDICTS)
        for name in ("measured", "claimed", "tolerance"):
            value = getattr(self, name)
            if not isinstance(value, str) or not value.strip():
                raise ValueError(f"{name} must be a phrase that says something, not {value!r}.")


def _finite(**values):
    """Real finite numbers, in the order given."""
    numbers = []
    for name, value in values.items():
        x = float(value)
        if not math.isfinite(x):
            raise ArithmeticError(f"{name} came out as {x}, which is evidence of nothing.")
        numbers.append(x)
    return numbers


def _truth(value, name):
    """A computed yes or no; numpy's count, numbers and arrays do not."""
    if type(value).__name__ not in ("bool", "bool_"):
        raise TypeError(f"{name} must be True or False, not {value!r}.")
    return bool(value)


def _phrase(value, what):
    return f"{what} = {value:.6g}" if what else f"{value:.6g}"


class Row(NamedTuple):
    """One comparison: what came out, what is stated, how far apart they may be, and whether they agree."""

    measured: str
    claimed: str
    tolerance: str
    holds: bool


def _row(what, measured, stated, tolerance, holds):
    return Row(_phrase(measured, what), _phrase(stated, what), tolerance, bool(holds))


def near(what: str, measured: float, stated: float, tolerance: float) -> Row:
    """A number that is the stated one up to a relative tolerance below 1.1 %, or 2 % could pass."""
    measured, stated, tolerance = _finite(measured=measured, stated=stated, tolerance=tolerance)
    if not 0 <= tolerance < 0.011:
        raise ValueError(f"tolerance must be at least 0 and below 0.011, not {tolerance!r}.")
    return _row(
        what, measured, stated, f"relative {tolerance:g}", abs(measured - stated) <= tolerance * abs(stated)
    )


def printed(what: str, measured: float, stated: float, digits: int | None = None) -> Row:
    """A number that is the stated one when it is rounded to the decimals that are printed.

    >>> printed("ratio", 0.7618, 0.76).holds, printed("ratio", 0.7618, 0.76, digits=4).holds
    (True, False)
    """
    measured, stated = _finite(measured=measured, stated=stated)
    decimals = len(f"{stated!r}".partition(".")[2].removesuffix("0")) if digits is None else digits
    return _row(what, measured, stated, "as printed", round(measured, decimals) == stated)


def most(what: str, measured: float, stated: float) -> Row:
    """An upper bound that is true and tight: 2 % less would be false, 2 % more would be loose."""
    measured, stated = _finite(measured=measured, stated=stated)
    return _row(what, measured, stated, _TIGHT, measured <= stated < 1.02 * measured)


def least(what: str, measured: float, stated: float) -> Row:
    """A lower bound that is true and tight: 2 % more would be false, 2 % less would be loose."""
    measured, stated = _finite(measured=measured, stated=stated)
    return _row(what, measured, stated, _TIGHT, measured / 1.02 < stated <= measured)


def off(what: str, deviation: float, limit: float) -> Row:
    """A deviation, of either sign, that must stay below a limit which no text states."""
    deviation, limit = _finite(deviation=abs(deviation), limit=limit)
    return Row(f"{what}: off by {deviation:.2g}", what, f"{limit:g}", bool(deviation < limit))


def below(what: str, measured: float, limit: float) -> Row:
    """A number, shown as it is, that must stay below a limit."""
    measured, limit = _finite(measured=measured, limit=limit)
    return Row(f"{what}: {measured:.4g}", f"{what}: below {limit:g}", "none", bool(measured < limit))


def drawn(what: str, mean: float, error: float, stated: float, sigmas: float = 4) -> Row:
    """A mean over draws that is the stated number within some of its standard errors."""
    mean, error, stated = _finite(mean=mean, error=error, stated=stated)
    tolerance = f"{sigmas:g} standard errors of {error:.2g}"
    return _row(what, mean, stated, tolerance, 0 < error and abs(mean - stated) <= sigmas * error)


def true(what: str, answer: bool | np.bool_) -> Row:
    """A computed yes or no."""
    return Row(what if _truth(answer, what) else f"not: {what}", what, "none", bool(answer))


def compared(*rows: Row, repaired: Iterable[Row] = ()) -> Evidence:
    """The evidence of some rows: all hold, or else all that are so once what is missing is supplied.

    >>> compared(near("slope", -0.499, -0.5, 0.01), true("all 40 designs", True)).verdict
    'holds'
    """
    other = tuple(repaired)
    told = (*rows, *other)
    if rows and all(row.holds for row in rows):
        verdict = "holds"
    else:
        verdict = "imprecise" if other and all(row.holds for row in other) else "fails"
    return Evidence(
        verdict,
        measured="; ".join(dict.fromkeys(row.measured for row in told)),
        claimed="; ".join(dict.fromkeys(row.claimed for row in rows)),
        tolerance="; ".join(dict.fromkeys(row.tolerance for row in told if row.tolerance != "none"))
        or "none",
    )


def number(
    measured: float, claimed: float, tolerance: float, *, corrected: float | None = None, what: str = ""
) -> Evidence:
    """The evidence of one number; where it is not the stated one, the ledger's `corrected` one must have come out.

    >>> number(1.4142, 2**0.5, 1e-4, what="ratio")
    Evidence(verdict='holds', measured='ratio = 1.4142', claimed='ratio = 1.41421', tolerance='relative 0.0001')
    >>> number(1.4142, 1.5, 1e-4, corrected=2**0.5).verdict
    'fails'
    """
    row = near(what, measured, claimed, tolerance)
    if not row.holds and corrected is not None and not near(what, measured, corrected, tolerance).holds:
        raise ArithmeticError(
            f"Neither the stated {claimed:.8g} nor the correction {corrected:.8g} is what came out: {measured:.8g}."
        )
    return compared(row)
