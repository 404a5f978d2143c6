"""What a caller asks for: a spectrum, and the update of single rows or of batches on it; or a refusal."""

import numpy as np

from edgelaw._common import arguments
from edgelaw._common.types import ArrayLike
from edgelaw.exact import sources
from edgelaw.exact.batches import limits
from edgelaw.exact.batches.blocks import Asked, SampleRows
from edgelaw.exact.batches.partition import requested
from edgelaw.exact.silverstein import PopulationRows

# Of the largest eigenvalue, under IID, which is exact at any n: laws of small exponents have much of their mass below.
_NEVER_MOVES = 1e-100


def single_rows(batch: object) -> bool:
    """Whether a batch is one row, so that the equations of single rows hold."""
    return arguments.whole(batch, "batch", 1) == 1


def of_sample(
    order: str,
    eigenvalues: ArrayLike | None,
    step: object,
    batch: object = 1,
    rho: object = 1.0,
    weights: ArrayLike | None = None,
    fewest: int = sources.FEWEST,
) -> Asked:
    """An update on a sample's eigenvalues; a step beyond stability is refused."""
    if eigenvalues is None:
        raise ValueError(
            "eigenvalues must be given for a batch of more than one row: their number is the dimension d."
        )
    spectrum = sources.sample(eigenvalues, weights, _smallest(order), fewest)
    if single_rows(batch):
        return Asked(SampleRows(*spectrum, arguments.aspect(rho)), arguments.step(step))
    if weights is not None:
        raise ValueError(
            "weights are for single rows: with batches the number of eigenvalues is the dimension d."
        )
    cut, eta, aspect = requested(eigenvalues, batch, step, rho)
    total = round(aspect * np.size(eigenvalues))
    return limits.stable(order, Asked(SampleRows(*spectrum, aspect), eta, cut, total))


def of_covariance(
    order: str, eigenvalues: ArrayLike, step: object, batch: object = 1, rho: object = 1.0
) -> Asked:
    """The same on a covariance's eigenvalues; zeros, which no row has, are left out."""
    values, shares, null = sources.covariance(eigenvalues, _smallest(order))
    if single_rows(batch):
        rows = PopulationRows(values, shares, arguments.aspect(rho) / (1 - null))
        return Asked(rows, arguments.step(step), null=null)
    cut, eta, aspect = requested(eigenvalues, batch, step, rho, null)
    return limits.stable(order, Asked(PopulationRows(values, shares, aspect), eta, cut, null=null))


def _smallest(order: str) -> float:
    """The part of the largest eigenvalue below which others are zeros."""
    return _NEVER_MOVES if order == "iid" else sources.ROUNDED_AWAY
