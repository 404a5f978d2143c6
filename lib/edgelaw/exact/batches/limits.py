r"""The largest stable step of each order with averaged batches, and the refusal of a larger one.

If no batch expands, that is if τ times the largest eigenvalue of every batch's Gram matrix is below 2, all orders are
stable. For flip-flop at m ≤ d this is the limit: :math:`I - A^\top A = U^\top M^{-\top}EM^{-1}U` is positive only if E
is. The other orders bear more: IID until its noise sustains itself (`iid.limit`), single shuffle until the cloud of its
epoch's eigenvalues reaches the unit circle (`single_shuffle.limit`, to about one percent), random reshuffle until the
spectral radius of its operator is 1 (`random_reshuffle.stable_factor`). One batch per epoch is gradient descent.
"""

import functools

import numpy as np

from edgelaw.exact import levy, silverstein
from edgelaw.exact.batches.blocks import Rows, SampleRows
from edgelaw.exact.batches.partition import Partition
from edgelaw.exact.iid import batches as iid
from edgelaw.exact.random_reshuffle import batches as random_reshuffle
from edgelaw.exact.random_reshuffle import contours, engine
from edgelaw.exact.single_shuffle import batches as single_shuffle

_STRIDES = 200  # of the way to the limit of a short batch, which the solution of its equation follows


def contraction(rows: Rows, cut: Partition) -> float:
    """The largest factor of the steps at which no update increases the error."""
    sizes, places = np.unique(cut.kappas, return_index=True)
    return min(float(2 / (cut.taus[k] * rows.edge(kappa))) for kappa, k in zip(sizes, places, strict=True))


def factor(order: str, rows: Rows, cut: Partition, dims: float) -> float:
    """By what the steps may be multiplied before an order in `dims` dimensions becomes unstable."""
    if order == "iid":
        rule, largest = _iid_rule(rows)
        return iid.limit(rule, largest, cut)
    contracting = contraction(rows, cut)
    if order == "flip_flop" or cut.batches == 1:
        return contracting
    if order == "random_reshuffle":
        return contracting * random_reshuffle.stable_factor(_reshuffle_law(rows), cut.scaled(contracting))
    batch = round(cut.kappas[0] * dims)
    step = float(cut.taus[0] * batch)
    update = single_shuffle.Batches(step, batch, dims)
    settings_of = functools.partial(single_shuffle.makers, rows)
    cloud = max(contracting, single_shuffle.limit(settings_of, update, _largest(rows)) / step)
    return cloud if cut.equal else _short_batch(rows, cut, contracting, cloud)


def _short_batch(rows: Rows, cut: Partition, low: float, high: float) -> float:
    r"""Single shuffle's limit between two others if a few rows in the last batch may leave the cloud.

    Their response at z = −1, :math:`1/\tau_r - \langle\lambda\Theta/(1+\Theta)\rangle`, vanishes there, with
    :math:`\Theta = \theta^L` of the L whole batches, :math:`\theta = 1-\kappa a\lambda`,
    :math:`1/a = 1/\tau - \langle\lambda\Theta/(\theta(1+\Theta))\rangle`. As Θ < 1 it takes more than 2 per row.
    """
    if isinstance(rows, SampleRows):
        average = levy.from_gram(rows.gram, rows.parts, rows.rho, -0.3)  # any pole left of zero will do
    else:
        average = levy.from_covariance(rows.values, rows.shares)
    nodes, weights, whole = average.nodes, average.weights, cut.batches - 1

    def terms(a: float) -> tuple[float, float]:
        theta = 1 - cut.kappas[0] * a * nodes
        product = theta**whole
        return (weights @ (nodes * product / (theta * (1 + product)))).real, (
            weights @ (nodes * product / (1 + product))
        ).real

    a = low * cut.taus[0]
    for factor in np.geomspace(low, high, _STRIDES):
        for _ in range(2):
            a = (a + 1 / (1 / (factor * cut.taus[0]) - terms(a)[0])) / 2
        if factor * cut.taus[-1] * terms(a)[1] >= 1:
            return float(factor)
    return high


def refuse_unstable(order: str, rows: Rows, cut: Partition, dims: float, step: float) -> None:
    """Refuse a step beyond the limit of an order, which is searched for only where batches may expand."""
    if order == "iid":
        stable = iid.stable(*_iid_rule(rows), cut)
    else:
        stable = contraction(rows, cut) > 1
    if order == "random_reshuffle" and cut.batches > 1 and not stable:
        epoch = random_reshuffle.Batches(cut)
        stable = engine.amplification(_reshuffle_law(rows), epoch) < 1
    if stable:
        return
    limit = step * factor(order, rows, cut, dims)
    if step >= limit:
        name = {"iid": "IID", "flip_flop": "flip-flop"}.get(order, order.replace("_", " "))
        raise ValueError(
            f"step must be below {limit:.6g}, where {name} with this batch becomes unstable, not {step:g}."
        )


def _iid_rule(rows: Rows) -> tuple[iid.Rule, float]:
    if isinstance(rows, SampleRows):
        return iid.of_sample(rows.values, rows.shares), float(rows.values[-1])
    return iid.narrow(iid.sample_law(rows.values, rows.shares, rows.rho))


def _reshuffle_law(rows: Rows) -> contours.Law:
    if isinstance(rows, SampleRows):
        return contours.sample(rows.values, rows.shares, rows.rho)
    return contours.population(rows.values, rows.shares, rows.rho, reach=0.01)


def _largest(rows: Rows) -> float:
    """The right end of the sample's spectrum."""
    if isinstance(rows, SampleRows):
        return float(rows.values[-1])
    return float(silverstein.Sample(rows.values, rows.shares, rows.rho).rightmost())
