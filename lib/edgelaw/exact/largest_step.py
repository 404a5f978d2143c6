r"""Averaged batches: the largest stable step of each order, and the batch size beyond which it stops growing.

An update is the mean of the single updates of b rows at a step η, which moves the weights by τ = η/b per row. That is
what ``kaczmarz.Problem(X, batch=b)`` and PyTorch's mean losses do. With κ = b/d, a batch that is
small beside d is as stable at a step τ per row as single rows are, so that η may grow like b (linear scaling). Beyond
:math:`b^* = d/\lambda_{\max}` the largest eigenvalue of a batch's Gram matrix is no longer that of one row, but
:math:`\kappa\lambda_{\max}`; τ has to fall like :math:`2/(\kappa\lambda_{\max})`, and η stays where it is.
"""

import numpy as np

from edgelaw import orders
from edgelaw._common import arguments, threads
from edgelaw._common.types import ArrayLike
from edgelaw.exact import sources
from edgelaw.exact.batches import limits, requests
from edgelaw.exact.batches.blocks import SampleRows

__all__ = ["critical_batch", "stability"]


@threads.one_blas_thread()
def stability(order: str, eigenvalues: ArrayLike, rho: float = 1.0, batch: int = 1) -> float:
    r"""The largest stable step η of an order with averaged batches, for rows of a given sample spectrum.

    Below it both losses decay, from any start and on average over the orders of the rows; above it they grow without
    bound. It is 2 for single rows, in every order and on every spectrum; for batches, with τ = η/b and κ = b/d:

    - flip-flop: :math:`\tau < 2/\text{edge}(\kappa)`, the right edge of the spectrum of a batch's own Gram matrix;
      isotropic and m = d, :math:`2/(1+\sqrt\kappa)^2`. It is where some update begins to expand, which at m ≤ d is
      the limit of the order; at m > d flip-flop may bear more;
    - IID: :math:`\tau\langle\lambda/(2-\tau\kappa\lambda)\rangle < 1`, the mean over the eigenvalues given (mean 1);
      isotropic and m = d, :math:`2/(1+\kappa)^2`;
    - single shuffle: the eigenvalues of its epoch fill a cloud that reaches the unit circle; isotropic and m = d it
      does so at −1, and with L = 1/κ and :math:`y = \theta^L`
      :math:`\tau = \theta(1+\theta)(1+y)/(\theta+y)` where :math:`L(1-\theta)(1-y) = (1+\theta)(1+y)`;
    - random reshuffle: the spectral radius of its operator is 1.

    If b does not divide m, the last batch of an epoch averages over its own r rows and moves by η/r per row. It then
    sets the limit for single shuffle and flip-flop, which is near 2 if it is a single row: leave it out.

    Parameters
    ----------
    order : str
        One of `edgelaw.orders.ORDERS`.
    eigenvalues : array_like
        Of a sample's XᵀX/m, zeros included, on any scale, as `curve` takes them; their number is d.
    rho : float
        m/d; m is rounded.
    batch : int
        Rows per update, b, at most m.

    Returns
    -------
    float
        In units of the averaged update: η. For flip-flop, IID and random reshuffle to about 1e-6, for single shuffle to
        about one percent of the large-d equations.

    Notes
    -----
    How it is known: **proved** for batch = 1; flip-flop at m ≤ d **proved** given the edge; the rest *derived*, and
    compared with the spectral radius of epochs of random matrices: isotropic rows of 256 dimensions within 3 %. Where
    few eigenvalues stand apart, the largest ones of single batches fluctuate by a relative :math:`b^{-1/2}`, and the
    equations, which smooth them into a continuous edge, put the limit lower than it is, by up to 15 % there.

    Examples
    --------
    >>> from edgelaw.laws import MarchenkoPastur
    >>> eigenvalues = MarchenkoPastur().quantile((np.arange(512) + 0.5) / 512)
    >>> stability("iid", eigenvalues)
    2.0
    >>> round(stability("flip_flop", eigenvalues, batch=128) / 128, 2)  # 2/(1 + √κ)²
    0.89
    """
    arguments.choice(order, "order", orders.ORDERS)
    values, shares = sources.sample(eigenvalues)
    cut, step, rho = requests.requested(eigenvalues, batch, 1.0, rho)
    if requests.single_rows(batch):
        return 2.0
    return step * limits.factor(order, SampleRows(values, shares, rho), cut, np.size(eigenvalues))


def critical_batch(eigenvalues: ArrayLike) -> float:
    r"""The batch size b* = d/λ_max up to which linear scaling holds: number of eigenvalues over the largest, mean 1.

    A batch's Gram matrix has eigenvalues near 1, from the norms of its rows, and one near
    :math:`\kappa\lambda_{\max}`, κ = b/d, from the direction that they share. The first allow a step of about
    2 per row, the second one of :math:`2/(\kappa\lambda_{\max})`, and they meet at b = b*. So up to b* the largest
    stable step η grows like 2b and an epoch of batches does as much as one of single rows; far beyond it η stays near
    :math:`2d/\lambda_{\max} = 2b^*`, gradient descent's limit, and an epoch does b/b* times less. It is the effective
    number of dimensions :math:`\operatorname{tr}H/\lVert H\rVert`: d/4 for isotropic Gaussian rows at m = d, and ten or
    twenty for embeddings of which a few directions carry much of the variance. A scale, not a threshold.

    Parameters
    ----------
    eigenvalues : array_like
        Of XᵀX/m or of a covariance, zeros included, on any scale.

    Returns
    -------
    float

    Examples
    --------
    >>> critical_batch([1.0, 1.0, 1.0, 5.0])
    1.6
    """
    values = arguments.eigenvalues(eigenvalues, fewest=1, nonzero=True)
    return float(values.sum() / values[-1])
