"""Refusing bad input where it enters, in one sentence that says what was wrong and what would be right."""

import operator

import numpy as np


def generator(rng):
    """Turn a seed or a ``numpy.random.Generator`` into a generator; ``None`` is refused, since it hides the seed."""
    if isinstance(rng, np.random.Generator):
        return rng
    if isinstance(rng, np.random.SeedSequence):
        return np.random.default_rng(rng)
    try:
        seed = operator.index(rng)
    except TypeError:
        seed = -1
    if seed < 0:
        raise ValueError(f"rng must be a numpy.random.Generator or a non-negative integer seed, not {rng!r}.")
    return np.random.default_rng(seed)


def real_array(values, name, ndim):
    """A finite float array of ``ndim`` dimensions (float32 is kept, everything else becomes float64)."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name} must hold real numbers, not dtype {array.dtype}.")
    if array.ndim != ndim:
        raise ValueError(f"{name} must have {ndim} dimension(s), not {array.ndim} (shape {array.shape}).")
    if array.dtype != np.float32:
        array = array.astype(np.float64, copy=False)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, but it contains NaN or infinity.")
    return array


def matrix(X, name="X", minimum=2):
    """A finite real matrix with at least ``minimum`` rows and columns."""
    X = real_array(X, name, 2)
    if min(X.shape) < minimum:
        raise ValueError(f"{name} must have at least {minimum} rows and {minimum} columns, not shape {X.shape}.")
    return X


def whole(value, name, minimum):
    """An integer no smaller than ``minimum`` (True and 3.0 are not integers)."""
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool | np.bool_) or number < minimum:
        raise ValueError(f"{name} must be an integer of at least {minimum}, not {value!r}.")
    return number


def number(value, name, low, high=np.inf):
    """A real number strictly between ``low`` and ``high``."""
    try:
        x = float(value)
    except (TypeError, ValueError):
        x = np.nan
    if not low < x < high:
        wanted = f"greater than {low:g}" if high == np.inf else f"strictly between {low:g} and {high:g}"
        raise ValueError(f"{name} must be a finite number {wanted}, not {value!r}.")
    return x
