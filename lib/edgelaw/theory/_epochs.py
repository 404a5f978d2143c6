"""What all orders do alike: one value for every n, 1 at the start, 0.0 below what floats resolve."""

from collections.abc import Callable

import numpy as np

from edgelaw._common import arguments
from edgelaw._common.types import Array, ArrayLike, FloatOrArray, Integers

TINY = 1e-300  # what is smaller comes out as 0.0


def by_epoch(n: ArrayLike, losses: Callable[[Integers], Array]) -> FloatOrArray:
    """A loss in the shape of n, computed once for the different n ≥ 1, in ascending order."""
    counts = arguments.counts(n, "n")
    distinct, places = np.unique(counts, return_inverse=True)
    values, later = np.ones(len(distinct)), distinct > 0
    if later.any():
        values[later] = losses(distinct[later])
    values[values < TINY] = 0.0
    table = values[places].reshape(counts.shape)
    return table if counts.ndim else float(table)
