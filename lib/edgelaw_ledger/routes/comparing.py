"""When numbers agree: up to a relative tolerance, or within so many standard errors."""

import numpy as np
from numpy.typing import ArrayLike


def require(truth: bool | np.bool_, what: str) -> None:
    """Stop a check whose own correction, or whose second route, is not confirmed."""
    if not truth:
        raise ArithmeticError(f"Not confirmed: {what}.")


def close(values: ArrayLike, expected: ArrayLike, tolerance: float) -> bool:
    """Whether every number, real or complex, is within the relative tolerance of its partner."""
    a, b = np.asarray(values, dtype=complex), np.asarray(expected, dtype=complex)
    return bool((np.abs(a - b) <= tolerance * np.abs(b)).all())


def errors_away(mean: ArrayLike, error: ArrayLike, expected: ArrayLike, cap: float = 0.005) -> float:
    """The largest distance of sample means from what is expected, in standard errors.

    A standard error of zero, or above `cap` times the largest expected number, says nothing and stops the check.
    """
    mean, error, expected = (np.atleast_1d(np.asarray(x, dtype=float)) for x in (mean, error, expected))
    sharp = (error > 0) & (error <= cap * np.abs(expected).max())
    require(bool(sharp.all()), f"standard errors {error}, positive and at most {cap:g} of {expected}")
    return float((np.abs(mean - expected) / error).max())


def within(
    mean: ArrayLike, error: ArrayLike, expected: ArrayLike, cap: float = 0.005, sigmas: float = 4
) -> bool:
    """Whether sample means lie within so many standard errors of what is expected; see :func:`errors_away`."""
    return errors_away(mean, error, expected, cap) <= sigmas
