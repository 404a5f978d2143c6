"""What a check returns: the verdict that follows from a few rows, each of which compares one number.

A check is a function without required arguments. Its keyword-only arguments are the numbers the paper states,
with the paper's values as defaults, so that a test can move each by 2 % and see the verdict fall; sizes and
seeds are integers, which are left alone. It returns ``compared(near(...), most(...), ...)``, an :class:`Evidence`
whose verdict is computed. :func:`number`, :func:`sampled` and :func:`decide` are short for one row.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from edgelaw._common.arguments import choice

VERDICTS = ("holds", "fails", "imprecise", "open")


@dataclass(frozen=True)
class Evidence:
    """What one check measured, and the verdict that follows.

    Attributes
    ----------
    verdict : str
        "holds", "fails", "imprecise" or "open", as computed.
    measured, claimed : str
        What came out and what the paper says, each a short phrase with its number.
    tolerance : str
        The tolerance, or the standard error and how many of them.

    Examples
    --------
    >>> number(0.28209, 0.28209479, 1e-4).verdict
    'holds'
    """

    verdict: str
    measured: str
    claimed: str
    tolerance: str

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


def at_most(measured: float, stated: float) -> bool:
    """Whether a stated upper bound is true and tight: 2 % less would be false, 2 % more would be loose.

    Examples
    --------
    >>> at_most(1.704, 1.71), at_most(1.704, 1.7), at_most(1.704, 1.75)
    (True, False, False)
    """
    return bool(measured <= stated < 1.02 * measured)


def at_least(measured: float, stated: float) -> bool:
    """Whether a stated lower bound is true and tight: 2 % more would be false, 2 % less would be loose.

    Examples
    --------
    >>> at_least(0.8017, 0.8), at_least(0.8017, 0.81), at_least(0.8017, 0.78)
    (True, False, False)
    """
    return bool(measured / 1.02 < stated <= measured)


def _phrase(value, what):
    return f"{what} = {value:.6g}" if what else f"{value:.6g}"


def number(
    measured: float,
    claimed: float,
    tolerance: float,
    *,
    corrected: float | None = None,
    otherwise: str = "fails",
    what: str = "",
) -> Evidence:
    """Compare a computed number with the stated one.

    Parameters
    ----------
    measured, claimed : float
        What came out and what the paper says.
    tolerance : float
        Relative: the claim holds if ``abs(measured - claimed) <= tolerance * abs(claimed)``. It must be below
        1 %, or a statement wrong by 2 % could pass.
    corrected : float, optional
        The value the ledger gives instead. If the claim does not hold, this one must, within the same relative
        tolerance, or :class:`ArithmeticError` is raised.
    otherwise : str
        The verdict if it does not hold, "fails" or "imprecise".
    what : str
        A name for the number, shown before it.

    Returns
    -------
    Evidence

    Examples
    --------
    >>> number(1.4142, 2**0.5, 1e-4, what="ratio")
    Evidence(verdict='holds', measured='ratio = 1.4142', claimed='ratio = 1.41421', tolerance='relative 0.0001')
    >>> number(1.4142, 1.5, 1e-4, corrected=2**0.5).verdict
    'fails'
    """
    choice(otherwise, "otherwise", ("fails", "imprecise"))
    measured, claimed, tolerance = _finite(measured=measured, claimed=claimed, tolerance=tolerance)
    if not 0 <= tolerance < 0.01:
        raise ValueError(f"tolerance must be at least 0 and below 0.01, not {tolerance!r}.")
    if claimed == 0:
        raise ValueError("A stated zero has no relative tolerance: use decide with an absolute one.")
    holds = abs(measured - claimed) <= tolerance * abs(claimed)
    if not holds and corrected is not None:
        (corrected,) = _finite(corrected=corrected)
        if abs(measured - corrected) > tolerance * abs(corrected):
            raise ArithmeticError(
                f"Neither the stated {claimed:.8g} nor the correction {corrected:.8g} is what came out: {measured:.8g}."
            )
    return Evidence(
        "holds" if holds else otherwise,
        _phrase(measured, what),
        _phrase(claimed, what),
        f"relative {tolerance:g}",
    )


def sampled(
    mean: float,
    error: float,
    claimed: float,
    *,
    cap: float,
    sigmas: float = 4,
    corrected: float | None = None,
    otherwise: str = "fails",
    what: str = "",
) -> Evidence:
    """Compare a sample mean with the stated number.

    Parameters
    ----------
    mean, error : float
        The mean and its standard error.
    claimed : float
        What the paper says.
    cap : float
        The largest standard error allowed, relative to `claimed`; beyond it the sample says nothing and
        :class:`ArithmeticError` is raised. ``sigmas * cap`` should stay below 2 %.
    sigmas : float
        The claim holds if the mean is within this many standard errors.
    corrected, otherwise, what
        As in :func:`number`; the correction must lie within `sigmas` standard errors.

    Returns
    -------
    Evidence

    Examples
    --------
    >>> sampled(0.2819, 0.0005, 0.28209, cap=0.004).tolerance
    '4 standard errors of 0.0005'
    """
    choice(otherwise, "otherwise", ("fails", "imprecise"))
    mean, error, claimed = _finite(mean=mean, error=error, claimed=claimed)
    if not 0 < error <= cap * abs(claimed):
        raise ArithmeticError(
            f"The standard error {error:.3g} must be positive and at most {cap:g} of the stated {claimed:.6g}."
        )
    holds = abs(mean - claimed) <= sigmas * error
    if not holds and corrected is not None and abs(mean - float(corrected)) > sigmas * error:
        raise ArithmeticError(
            f"Neither the stated {claimed:.8g} nor the correction {float(corrected):.8g} is within {sigmas:g} "
            f"standard errors ({error:.3g}) of {mean:.8g}."
        )
    return Evidence(
        "holds" if holds else otherwise,
        _phrase(mean, what),
        _phrase(claimed, what),
        f"{sigmas:g} standard errors of {error:.2g}",
    )


def decide(
    as_printed: bool | np.bool_,
    repaired: bool | np.bool_ | None = None,
    *,
    measured: str,
    claimed: str,
    tolerance: str,
) -> Evidence:
    """A verdict from one or two computed answers.

    Parameters
    ----------
    as_printed : bool
        Is the statement true as it stands?
    repaired : bool, optional
        Is it true once the missing condition, scaling or constant is supplied?
    measured, claimed, tolerance : str
        Phrases for :class:`Evidence`.

    Returns
    -------
    Evidence
        "holds" if true as printed, "imprecise" if only the repaired statement is true, else "fails".

    Examples
    --------
    >>> decide(False, True, measured="slope -0.49", claimed="slope -1/2 for every n", tolerance="0.02").verdict
    'imprecise'
    """
    if _truth(as_printed, "as_printed"):
        verdict = "holds"
    elif repaired is not None and _truth(repaired, "repaired"):
        verdict = "imprecise"
    else:
        verdict = "fails"
    return Evidence(verdict, measured, claimed, tolerance)


# Rows ------------------------------------------------------------------------------------------------------


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

    Examples
    --------
    >>> printed("ratio", 0.7618, 0.76).holds, printed("ratio", 0.7618, 0.76, digits=4).holds
    (True, False)
    """
    measured, stated = _finite(measured=measured, stated=stated)
    decimals = len(f"{stated!r}".partition(".")[2].removesuffix("0")) if digits is None else digits
    return _row(what, measured, stated, "as printed", round(measured, decimals) == stated)


def most(what: str, measured: float, stated: float) -> Row:
    """An upper bound that is true and tight; see :func:`at_most`."""
    measured, stated = _finite(measured=measured, stated=stated)
    return _row(what, measured, stated, "a true bound that 2 % would loosen", at_most(measured, stated))


def least(what: str, measured: float, stated: float) -> Row:
    """A lower bound that is true and tight; see :func:`at_least`."""
    measured, stated = _finite(measured=measured, stated=stated)
    return _row(what, measured, stated, "a true bound that 2 % would loosen", at_least(measured, stated))


def off(what: str, deviation: float, limit: float) -> Row:
    """A deviation, of either sign, that must stay below a limit which no text states."""
    deviation, limit = _finite(deviation=abs(deviation), limit=limit)
    return Row(f"{what}: off by {deviation:.2g}", what, f"{limit:g}", bool(deviation < limit))


def below(what: str, measured: float, limit: float) -> Row:
    """A number, shown as it is, that must stay below a limit.

    Examples
    --------
    >>> below("growth per update", 0.98, 1).measured
    'growth per update: 0.98'
    """
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
    """The evidence of some rows.

    Parameters
    ----------
    *rows : Row
        What the statement says as it stands.
    repaired : iterable of Row
        What is so once the missing condition, scaling or constant is supplied.

    Returns
    -------
    Evidence
        "holds" if all rows hold, "imprecise" if only the repaired ones do, else "fails".

    Examples
    --------
    >>> compared(near("slope", -0.499, -0.5, 0.01), true("all 40 designs", True)).verdict
    'holds'
    """
    other = tuple(repaired)
    told = (*rows, *other)
    return decide(
        bool(rows) and all(row.holds for row in rows),
        all(row.holds for row in other) if other else None,
        measured="; ".join(dict.fromkeys(row.measured for row in told)),
        claimed="; ".join(dict.fromkeys(row.claimed for row in rows)),
        tolerance="; ".join(dict.fromkeys(row.tolerance for row in told if row.tolerance != "none"))
        or "none",
    )
