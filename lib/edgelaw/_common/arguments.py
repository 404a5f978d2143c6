"""Refusing bad input where it enters, in one sentence that says what was wrong and what would be right."""

import operator
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from edgelaw._common.types import Array, ArrayLike, Integers


def generator(rng: object) -> np.random.Generator:
    """A generator from a generator or a seed; ``None`` is refused, since nobody could repeat it."""
    if isinstance(rng, np.random.Generator | np.random.SeedSequence):
        return np.random.default_rng(rng)  # a generator itself
    try:
        return np.random.default_rng(operator.index(rng))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise ValueError(
            f"rng must be a numpy.random.Generator or a non-negative integer seed, not {rng!r}."
        ) from None


def _array(values: ArrayLike, name: str, ndim: int) -> npt.NDArray:
    """An array of real numbers with ``ndim`` dimensions, whatever its values; a memmap is not read."""
    try:
        array = np.asanyarray(values)
    except ValueError:  # rows of different lengths
        raise ValueError(f"{name} must be a rectangular array of real numbers.") from None
    if np.ma.is_masked(array):
        masked = int(np.ma.getmask(array).sum())
        raise ValueError(
            f"{name} has {masked:,} masked entries: fill them, as by {name}.filled(0), or leave out their rows."
        )
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} must hold real numbers, not dtype {array.dtype}.")
    if array.ndim != ndim:
        raise ValueError(f"{name} must have {ndim} dimension(s), not {array.ndim} (shape {array.shape}).")
    return array


def real_array(values: ArrayLike, name: str, ndim: int) -> Array:
    """A finite float array of ``ndim`` dimensions (float32 is kept, everything else becomes float64)."""
    array = np.asarray(_array(values, name, ndim))
    if array.dtype != np.float32:
        array = array.astype(np.float64, copy=False)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, but it contains NaN or infinity.")
    return array


def unread_matrix(X: ArrayLike, name: str = "X", minimum: int = 2) -> npt.NDArray:
    """A real matrix of at least ``minimum`` rows and columns, its values not yet looked at."""
    X = _array(X, name, 2)
    if min(X.shape) < minimum:
        raise ValueError(
            f"{name} must have at least {minimum} rows and {minimum} columns, not shape {X.shape}."
        )
    return X


def matrix(X: ArrayLike, name: str = "X", minimum: int = 2) -> Array:
    """A finite real matrix with at least ``minimum`` rows and columns."""
    return real_array(unread_matrix(X, name, minimum), name, 2)


def whole(value: object, name: str, minimum: int) -> int:
    """An integer no smaller than ``minimum`` (True and 3.0 are not integers)."""
    try:
        count = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        count = None
    if count is None or isinstance(value, bool | np.bool_) or count < minimum:
        raise ValueError(f"{name} must be an integer of at least {minimum}, not {value!r}.")
    return count


def counts(values: ArrayLike, name: str) -> Integers:
    """Non-negative integers, a scalar or an array of them, as int64 (3.0 is not an integer, nor is True)."""
    try:
        array = np.asarray(values)
    except ValueError:  # rows of different lengths
        array = np.empty(0, dtype=object)
    if array.dtype.kind not in "iu" or (array.size and array.min() < 0):
        raise ValueError(f"{name} must be a non-negative integer or an array of them, not {values!r}.")
    return array.astype(np.int64)


def epochs(values: ArrayLike) -> Integers:
    """The epochs to return: all up to a given one, or the given ones; 0 included."""
    numbers = counts(values, "epochs")
    return np.arange(int(numbers) + 1) if numbers.ndim == 0 else np.union1d(numbers, 0)


def number(value: object, name: str, low: float, high: float = np.inf) -> float:
    """A real number strictly between ``low`` and ``high``; the text "1" is no number."""
    try:
        x = np.nan if isinstance(value, str | bytes) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        x = np.nan
    if not low < x < high:
        allowed = f"greater than {low:g}" if high == np.inf else f"strictly between {low:g} and {high:g}"
        raise ValueError(f"{name} must be a finite number {allowed}, not {value!r}.")
    return x


def choice(value: object, name: str, allowed: Iterable[str]) -> str:
    """One of a few allowed words."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, not {value!r}.")
    return value


def step(value: object, name: str = "step") -> float:
    """A step of the row-by-row update, strictly between 0 and 2: beyond it SGD diverges on every design."""
    return number(value, name, 0, 2)


def aspect(value: object, name: str = "rho") -> float:
    """An aspect ratio m/d of rows to dimensions."""
    return number(value, name, 0)


def batch(value: object, rows: int, name: str = "batch") -> int:
    """A number of rows per update, from 1 to all the `rows` of an epoch."""
    count = whole(value, name, 1)
    if count > rows:
        raise ValueError(f"{name} must be at most {rows}, the number of rows, not {count}.")
    return count


def eigenvalues(
    values: ArrayLike,
    name: str = "eigenvalues",
    fewest: int = 2,
    nonzero: bool = False,
    ascending: bool = True,
) -> Array:
    """Eigenvalues of a Gram matrix or a covariance, at least ``fewest``, none of them negative; sorted if ascending.

    An eigensolver returns zeros as numbers of either sign: what is negative by at most 1e-10 of the largest becomes
    exactly 0.0. With ``nonzero``, zeros alone are refused.
    """
    array = real_array(values, name, 1).astype(np.float64, copy=False)
    if len(array) < fewest:
        raise ValueError(f"{name} must hold at least {fewest} values, not {len(array)}.")
    if array.min(initial=0.0) < -1e-10 * array.max(initial=0.0):
        raise ValueError(f"{name} must be non-negative, but the smallest is {array.min():g}.")
    if nonzero and array.max(initial=0.0) <= 0:
        raise ValueError(f"{name} must be non-negative, and at least one of them positive.")
    array = np.maximum(array, 0.0)
    return np.sort(array) if ascending else array


def spectrum(
    values: ArrayLike,
    weights: ArrayLike | None = None,
    name: str = "eigenvalues",
    smallest: float = 1e-13,
) -> tuple[Array, Array]:
    """The different eigenvalues over their mean, ascending, and the share of the spectrum at each.

    ``weights`` are positive, one per eigenvalue. Eigenvalues below ``smallest`` times the largest count as zeros.
    """
    array = eigenvalues(values, name, fewest=1, nonzero=True, ascending=False)
    shares = np.ones(len(array)) if weights is None else real_array(weights, "weights", 1)
    if len(shares) != len(array) or shares.min() <= 0:
        raise ValueError(f"weights must be positive, one for each of the {len(array)} eigenvalues.")
    array = array / array.max()
    distinct, places = np.unique(np.where(array < smallest, 0.0, array), return_inverse=True)
    shares = np.asarray(np.bincount(places, shares / shares.sum()), dtype=np.float64)
    return distinct / (distinct @ shares), shares
