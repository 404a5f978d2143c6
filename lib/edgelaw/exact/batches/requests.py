"""The batches that a caller of `curve` or `population_curve` asks for, or a refusal."""

import numpy as np

from edgelaw._common import arguments
from edgelaw._common.types import ArrayLike
from edgelaw.exact.batches.partition import Partition, partition


def single_rows(batch: object) -> bool:
    """Whether a batch is one row, so that the equations of single rows hold."""
    return arguments.whole(batch, "batch", 1) == 1


def requested(
    eigenvalues: ArrayLike,
    batch: object,
    step: object,
    rho: object,
    weights: ArrayLike | None = None,
    null: float = 0.0,
) -> tuple[Partition, float, float]:
    """How m = round(ρd) rows are cut, the step, and m/d with d the number of eigenvalues but the share `null`."""
    if weights is not None:
        raise ValueError(
            "weights are for single rows: with batches the number of eigenvalues is the dimension d."
        )
    d = np.size(eigenvalues) * (1 - null)
    rows = max(1, round(arguments.aspect(rho) * np.size(eigenvalues)))
    size, eta = arguments.batch(batch, rows), arguments.number(step, "step", 0)
    return partition(rows, d, size, eta), eta, rows / d
