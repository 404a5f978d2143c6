"""The largest stable step of each order with averaged batches, and the refusal of a larger one.

If τ times the largest eigenvalue of every batch's Gram matrix is below 2, all orders that visit each row once are
stable: for flip-flop at m ≤ d this is the limit. The others have limits in their rooms. One batch per epoch is
gradient descent.
"""

import numpy as np

from edgelaw import orders
from edgelaw._common import arguments, threads
from edgelaw._common.types import ArrayLike
from edgelaw.exact import sources
from edgelaw.exact.batches.blocks import Asked, Rows, SampleRows
from edgelaw.exact.batches.partition import Partition, requested
from edgelaw.exact.iid import batches as iid
from edgelaw.exact.random_reshuffle import contours, engine
from edgelaw.exact.random_reshuffle.batches import Batches
from edgelaw.exact.single_shuffle import batches as single_shuffle


@threads.one_blas_thread()
def stability(order: str, eigenvalues: ArrayLike, rho: float = 1.0, batch: int = 1) -> float:
    r"""The largest stable step η of an order with averaged batches, for rows of a given sample spectrum.

    Below it both losses decay, from any start and on average over the orders of the rows; above it they grow without
    bound. It is 2 for single rows, in every order and on every spectrum; for batches, with τ = η/b and κ = b/d:

    - flip-flop: :math:`\tau < 2/\text{edge}(\kappa)`, the right edge of the spectrum of a batch's own Gram matrix;
      isotropic and m = d, :math:`2/(1+\sqrt\kappa)^2`. At m > d flip-flop may bear more;
    - IID: :math:`\tau\langle\lambda/(2-\tau\kappa\lambda)\rangle < 1`, the mean over the eigenvalues given (mean 1);
    - single shuffle: the eigenvalues of its epoch fill a cloud that reaches the unit circle, isotropic and m = d at −1;
    - random reshuffle: the spectral radius of its operator is 1.

    A shorter last batch of r rows moves by η/r per row and then sets the limit for single shuffle and flip-flop. The
    result is known to about 1e-6, for single shuffle to two percent; **proved** (ts-3) for batch = 1, *derived* here
    for the rest. Where few eigenvalues stand apart the limit may be higher by up to 15 %.

    >>> from edgelaw.laws import MarchenkoPastur
    >>> eigenvalues = MarchenkoPastur().quantile((np.arange(512) + 0.5) / 512)
    >>> round(stability("flip_flop", eigenvalues, batch=128) / 128, 2)  # 2/(1 + √κ)²
    0.89
    """
    arguments.choice(order, "order", orders.ORDERS)
    values, shares = sources.sample(eigenvalues)
    cut, step, rho = requested(eigenvalues, batch, 1.0, rho)
    if batch == 1:
        return 2.0
    return step * _factor(order, SampleRows(values, shares, rho), cut)


def critical_batch(eigenvalues: ArrayLike) -> float:
    """The batch size b* = d/λ_max up to which linear scaling holds: number of eigenvalues over the largest, mean 1.

    Up to b* the largest stable step η grows like 2b; far beyond it η stays near 2b*, gradient descent's limit, and an
    epoch does b/b* times less (chapter 13). A scale, not a threshold. The eigenvalues are those of XᵀX/m or of a
    covariance, zeros included, on any scale.

    >>> critical_batch([1.0, 1.0, 1.0, 5.0])
    1.6
    """
    values = arguments.eigenvalues(eigenvalues, fewest=1, nonzero=True)
    return float(values.sum() / values[-1])


def stable(order: str, asked: Asked) -> Asked:
    """What is asked for with batches, if its step is not beyond the order's limit."""
    rows, cut = asked.rows, asked.cut
    if (
        cut is None
        or _bears(order, rows, cut)
        or asked.step < (limit := asked.step * _factor(order, rows, cut))
    ):
        return asked
    name = {"iid": "IID", "flip_flop": "flip-flop"}.get(order, order.replace("_", " "))
    raise ValueError(
        f"step must be below {limit:.6g}, where {name} with this batch becomes unstable, not {asked.step:g}."
    )


def _bears(order: str, rows: Rows, cut: Partition) -> bool:
    """Whether an order is seen to be stable without a search for its limit."""
    if order == "iid":
        return iid.stable(*iid.of_rows(rows), cut)
    if contraction(rows, cut) > 1:
        return True
    if order == "random_reshuffle":
        return engine.amplification(contours.of_rows(rows, reach=0.01), Batches(cut)) < 1
    return order == "single_shuffle" and cut.batches > 1 and single_shuffle.stable(rows, cut)


def contraction(rows: Rows, cut: Partition) -> float:
    """The largest factor of the steps at which no update increases the error."""
    sizes, places = np.unique(cut.kappas, return_index=True)
    return min(float(2 / (cut.taus[k] * rows.edge(kappa))) for kappa, k in zip(sizes, places, strict=True))


def _factor(order: str, rows: Rows, cut: Partition) -> float:
    """By what the steps may be multiplied before an order becomes unstable."""
    if order == "iid":
        return iid.limit(*iid.of_rows(rows), cut)
    contracting = contraction(rows, cut)
    if order == "flip_flop" or cut.batches == 1:
        return contracting
    if order == "random_reshuffle":
        return contracting * engine.stable_factor(contours.of_rows(rows, reach=0.01), cut.scaled(contracting))
    return max(contracting, single_shuffle.stable_factor(rows, cut))
