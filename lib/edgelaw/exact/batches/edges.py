r"""The edge at m = d with averaged batches: quadratic forms of a null vector of the Gram matrix.

With :math:`M = \operatorname{diag}(1/\tau_k) + N`, N the blocks of :math:`K = UU^\top` strictly below those of the
batches, an epoch is :math:`A = I - U^\top M^{-1}U`, and :math:`I - A^\top A = U^\top M^{-\top}EM^{-1}U` with
:math:`E = 2\operatorname{diag}(1/\tau_k) - D`, D the diagonal blocks of K. A slow direction belongs to a unit vector o
with Ko ≈ 0, and only :math:`o^\top Mo`, :math:`\lVert Mo\rVert^2` and :math:`o^\top ME^{-1}M^\top o` count. Chapter 13
has their use.
"""

from typing import NamedTuple

from edgelaw.exact.batches.blocks import Rows
from edgelaw.exact.batches.partition import Partition


class SlowForms(NamedTuple):
    """Two quadratic forms of a null vector o."""

    first: float  # oᵀMo, which is half of oᵀEo
    square: float  # ‖Mo‖²


def slow_forms(cut: Partition, rows: float, second: float = 1.0) -> SlowForms:
    r"""The mean of :math:`o^\top Mo` and of :math:`\lVert Mo\rVert^2` over exchangeable rows, m = d of them.

    With :math:`p_k` the share of batch k and :math:`s_k` that of the rows before it,
    :math:`o^\top Mo = \sum p_k/\tau_k - \frac12(1 - \sum b_k(b_k-1)/(m(m-1)))`, and :math:`\lVert Mo\rVert^2` is its
    square and the variance of :math:`1/\tau_k - s_k` and :math:`\kappa_2\sum p_ks_k(1-s_k)`. `second` is κ₂, the second
    free cumulant of the sample's spectrum: the mean of λ² over a covariance's eigenvalues.
    """
    shares = cut.kappas / cut.kappas.sum()
    before = shares.cumsum() - shares
    pairs = (shares @ shares - 1 / rows) / (1 - 1 / rows) if rows > 1 else 1.0
    first = (shares / cut.taus).sum() - (1 - pairs) / 2
    slopes = 1 / cut.taus - before
    spread = shares @ (slopes - shares @ slopes) ** 2 + second * (shares @ (before * (1 - before)))
    return SlowForms(float(first), float(first**2 + spread))


def flip_flop(cut: Partition, count: float, rows: Rows) -> float:
    r"""Twice :math:`o^\top ME^{-1}M^\top o`, for L equal batches: 1 over the effective step of flip-flop.

    With :math:`Z = (M-M^\top)/2` it is :math:`o^\top Mo + 2(Zo)^\top E^{-1}Zo`, and with s = 2/τ, g the Cauchy
    transform of a batch's Gram matrix and :math:`e = 1 - 1/(s\,g(s))`,

    .. math:: 4\,(Zo)^\top E^{-1}Zo = \frac{(se-1)(L-1)(2L-1)}{3L}
        + \frac{se^2(L^2-1)}{3L^2\,(1-(1-\kappa)e)} .
    """
    first = slow_forms(cut, count).first
    if not cut.equal:
        raise ValueError(
            "batch must divide the number of rows: on its way back flip-flop would have other batches, and no edge is "
            "known for that."
        )
    L, kappa, s = cut.batches, float(cut.kappas[0]), 2 / float(cut.taus[0])
    if L == 1:
        return first
    e = 1 - 1 / (s * rows.cauchy(kappa, s))
    linear = (s * e - 1) * (L - 1) * (2 * L - 1) / (3 * L)
    square = s * e**2 * (L**2 - 1) / (3 * L**2) / (1 - (1 - kappa) * e)
    return first + (linear + square) / 2
