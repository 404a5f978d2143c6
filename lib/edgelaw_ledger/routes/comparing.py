"""When numbers agree: up to a relative tolerance, or within so many standard errors."""

from collections.abc import Sequence

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


def within(
    mean: ArrayLike, error: ArrayLike, expected: ArrayLike, cap: float = 0.005, sigmas: float = 4
) -> bool:
    """Whether sample means lie within so many standard errors of what is expected; see :func:`samples`."""
    return all(row.holds for row in samples("sample", mean, error, expected, cap, sigmas))


def samples(
    what: str | Sequence[str],
    mean: ArrayLike,
    error: ArrayLike,
    expected: ArrayLike,
    cap: float = 0.005,
    sigmas: float = 4,
) -> list[Row]:
    """A row for each sample mean with its standard error, and the number that is expected; named together or each.

    A standard error of zero, or above `cap` times the largest expected number, says nothing and stops the check.
    """
    mean, error, expected = np.broadcast_arrays(
        *(np.atleast_1d(x).astype(float) for x in (mean, error, expected))
    )
    sharp = (error > 0) & (error <= cap * np.abs(expected).max())
    require(bool(sharp.all()), f"standard errors {error}, positive and at most {cap:g} of {expected}")
    names = [what] * mean.size if isinstance(what, str) else what
    return [drawn(*sample, sigmas) for sample in zip(names, mean, error, expected, strict=True)]
