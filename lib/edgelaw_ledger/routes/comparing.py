"""When numbers agree: up to a relative tolerance, or within so many standard errors."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from edgelaw_ledger.evidence import Row, drawn


def require(truth: bool | np.bool_, what: str) -> None:
    """Stop a check whose own correction, or whose second route, is not confirmed."""
    if not truth:
        raise ArithmeticError(f"Not confirmed: {what}.")


def close(values: ArrayLike, expected: ArrayLike, tolerance: float) -> bool:
    """Whether every number, real or complex, is within the relative tolerance of its partner."""
    a, b = np.asarray(values, dtype=complex), np.asarray(expected, dtype=complex)
    return bool((np.abs(a - b) <= tolerance * np.abs(b)).all())


def _sharp(mean, error, expected, cap):
    """The three as arrays of one shape; a standard error of zero, or above `cap` times the largest, stops the check."""
    mean, error, expected = np.broadcast_arrays(
        *(np.atleast_1d(x).astype(float) for x in (mean, error, expected))
    )
    sharp = (error > 0) & (error <= cap * np.abs(expected).max())
    require(bool(sharp.all()), f"standard errors {error}, positive and at most {cap:g} of {expected}")
    return mean, error, expected


def errors_away(mean: ArrayLike, error: ArrayLike, expected: ArrayLike, cap: float = 0.005) -> float:
    """The largest distance of sample means from what is expected, in standard errors, which must be sharp."""
    means, errors, numbers = _sharp(mean, error, expected, cap)
    return float((np.abs(means - numbers) / errors).max())


def averaged(draws: ArrayLike) -> tuple[Any, Any]:
    """Mean and standard error over draws, the first axis."""
    values = np.asarray(draws, dtype=float)
    return values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))


def beyond(mean: ArrayLike, error: ArrayLike, expected: ArrayLike) -> float:
    """How far, relatively, sample means are from what is expected beyond 4 standard errors, at most; 0 if within."""
    apart = np.abs(np.asarray(mean) - expected) - 4 * np.asarray(error)
    return float(np.maximum(apart / np.abs(expected), 0).max())


def within(
    mean: ArrayLike, error: ArrayLike, expected: ArrayLike, cap: float = 0.005, sigmas: float = 4
) -> bool:
    """Whether sample means lie within so many standard errors of what is expected; see :func:`errors_away`."""
    return errors_away(mean, error, expected, cap) <= sigmas


def samples(
    what: str | Sequence[str], mean: ArrayLike, error: ArrayLike, expected: ArrayLike, cap: float = 0.005
) -> list[Row]:
    """A row for each sample mean, within 4 sharp standard errors of what is expected; named together or each."""
    sample = _sharp(mean, error, expected, cap)
    names = [what] * sample[0].size if isinstance(what, str) else what
    return [drawn(*row) for row in zip(names, *sample, strict=True)]
