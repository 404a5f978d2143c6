"""The rows of a prediction: an array or a design becomes a design whose rows have equal norm."""

import numpy as np

from edgelaw._common.types import Array, ArrayLike
from edgelaw.data import normalize_rows
from edgelaw_app import files

LARGEST_BYTES = 2**31  # a design beyond this is not held in memory
ONE_DIRECTION = "All rows of X point in one direction; there is nothing to learn about an order from them."
SCALED = "Rows scaled to equal norm: the update does not see their lengths."


def equal_norm_design(
    X: ArrayLike | files.Design, center: bool = True
) -> tuple[files.Design, tuple[str, ...]]:
    """A design of rows of equal norm, and what was done to the rows.

    An array becomes a design as a file does for the command line: centred (unless ``center=False``) and scaled.
    """
    if not isinstance(X, files.Design):
        X = files.design(X, center=center)
    elif not center:
        raise ValueError("X is already a design; give center to the call that made it.")
    some = np.linalg.norm(X.take(np.arange(min(X.shape[0], 256))), axis=1)
    if np.ptp(some) <= 1e-4 * some.max():
        return X, tuple(X.steps)
    if X.bytes > LARGEST_BYTES:
        raise ValueError("The rows of this design are not of equal norm; make it with normalize=True.")
    design, sentences = _scaled(X.matrix())
    return design.inherit(X), (*X.steps, *sentences)


def _scaled(X: Array) -> tuple[files.Design, tuple[str, ...]]:
    """The design of the rows at norm √d, and a sentence if their norms differed."""
    X = X.astype(np.float64, copy=False)
    norms = np.linalg.norm(X, axis=1)
    differ = np.ptp(norms) > 1e-6 * norms.max()
    equal = normalize_rows(X)
    if (equal == equal[0]).all():
        raise ValueError(ONE_DIRECTION)
    return files.design(equal, center=False, normalize=False), (SCALED,) if differ else ()
