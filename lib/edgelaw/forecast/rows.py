"""The rows of a prediction: an array or a design becomes a design whose rows have equal norm."""

import numpy as np

from edgelaw import inputs
from edgelaw._common import arguments
from edgelaw._common.types import Array, ArrayLike
from edgelaw.data import normalize_rows

FEWEST_DIMS = 20
LARGEST_BYTES = 2**31  # a design beyond this is not held in memory
ONE_DIRECTION = "All rows of X point in one direction; there is nothing to learn about an order from them."
SCALED = "Rows scaled to equal norm: the update does not see their lengths."


def equal_norm_design(X: ArrayLike | inputs.Design) -> tuple[inputs.Design, tuple[str, ...]]:
    """A design of at least 2 rows and 20 dimensions, rows of equal norm, and what was done to the rows."""
    if not isinstance(X, inputs.Design):
        array = arguments.unread_matrix(X, minimum=0)
        _refuse_few(array.shape)
        return _scaled(arguments.matrix(array))
    _refuse_few(X.shape)
    some = np.linalg.norm(X.take(np.arange(min(X.shape[0], 256))), axis=1)
    if np.ptp(some) <= 1e-4 * some.max():
        return X, tuple(X.steps)
    if X.bytes > LARGEST_BYTES:
        raise ValueError("The rows of this design are not of equal norm; make it with normalize=True.")
    design, sentences = _scaled(X.matrix())
    return design, (*X.steps, *sentences)


def _scaled(X: Array) -> tuple[inputs.Design, tuple[str, ...]]:
    """The design of the rows at norm √d, and a sentence if their norms differed.

    Rows are scaled before the design is made: at any length, and so that rows of one direction count as repeated.
    """
    X = X.astype(np.float64, copy=False)
    norms = np.linalg.norm(X, axis=1)
    differ = np.ptp(norms) > 1e-6 * norms.max()
    equal = normalize_rows(X)
    if (equal == equal[0]).all():
        raise ValueError(ONE_DIRECTION)
    return inputs.design(equal, center=False, normalize=False), (SCALED,) if differ else ()


def _refuse_few(shape: tuple[int, ...]) -> None:
    if shape[0] < 2 or shape[1] < FEWEST_DIMS:
        raise ValueError(
            f"X must have at least 2 rows and {FEWEST_DIMS} dimensions, not shape {tuple(shape)}: fewer "
            "eigenvalues are no spectrum."
        )
