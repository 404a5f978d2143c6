r"""Within the first epoch: both losses after a part of the rows, for every order that visits each row once.

Until a row comes for the second time, random reshuffle, single shuffle and flip-flop do the same: they apply t = s·d
different rows in a random order. With :math:`\langle\cdot\rangle` the average of :mod:`edgelaw.exact.levy`, and time s
from 0 to ρ = m/d, the test loss is :math:`\langle C\rangle` and the loss on *all* m rows, seen and unseen, is
:math:`\langle D\rangle/\rho`, where with :math:`\gamma(s) = \langle\lambda e^{-\eta\lambda s}\rangle`

.. math::

   C' = -2\eta\lambda C + \eta^2\lambda\langle\lambda C\rangle, \qquad
   D' = -2\eta\lambda D + \eta^2\lambda\langle\lambda D\rangle
        + \lambda\,(\eta^2\gamma^2 - 2\eta\gamma\, e^{-\eta\lambda s}), \qquad C(0) = 1, \quad D(0) = \rho\lambda .

*Derived* here, from the generating function of random reshuffle.
"""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import numpy.typing as npt

from edgelaw._common import arguments, threads
from edgelaw._common.types import Array, ArrayLike
from edgelaw.curves import LearningCurve
from edgelaw.exact import agreement, levy, sources

__all__ = ["curve", "losses"]

_CONTOUR_POLES = np.array([0.5, 0.3])  # of two contours: left of zero, over time and step, or into a gap
_OF_AVERAGES = 1e-11  # error that the averages aim at, and the least that is stated


@threads.one_blas_thread()
def curve(
    eigenvalues: ArrayLike,
    fractions: ArrayLike,
    step: float = 1.0,
    rho: float = 1.0,
    weights: ArrayLike | None = None,
) -> LearningCurve:
    r"""Both losses after fractions of the first epoch, in any order that visits each row once.

    The `fractions`, in [0, 1], are row updates over rows, and the curve's `epochs`; 0 is always among those returned.
    All else is as in :func:`edgelaw.exact.curve`. On isotropic rows the test loss falls by :math:`\eta(2-\eta)/d` per
    row:

    >>> from edgelaw.laws import MarchenkoPastur
    >>> values = MarchenkoPastur(4.0).quantile((np.arange(400) + 0.5) / 400)
    >>> half = curve(values, [0.5], step=1.0, rho=4.0)
    >>> bool(abs(half.test[-1] / np.exp(-2) - 1) < 0.01)
    True
    """
    step, rho = arguments.step(step), arguments.aspect(rho)
    parts = np.union1d(arguments.real_array(np.atleast_1d(fractions), "fractions", 1), 0.0)
    if parts[0] < 0 or parts[-1] > 1:
        raise ValueError("fractions must be in [0, 1]: beyond the first epoch the orders differ.")
    values, shares = sources.sample(eigenvalues, weights)
    return agreement.settled(parts, _attempts(values, shares, rho, step, parts), parts[1:])


def _attempts(
    values: Array, shares: Array, rho: float, step: float, parts: Array
) -> Iterator[Callable[[npt.NDArray], agreement.Attempt]]:
    """Two averages on contours in the gap between zero and the positive eigenvalues if it is wide, else around zero."""
    null, (gram, masses) = float(shares[values == 0].sum()), levy.companion(values, shares, rho)
    away, smallest = _CONTOUR_POLES / (parts[-1] * step), gram[gram > 0][0]

    def attempt(poles: Array, still: float | None, times: npt.NDArray) -> agreement.Attempt:
        averages = [levy.from_gram(gram, masses, rho, pole, _OF_AVERAGES) for pole in poles]
        fine, coarse = (losses(average, rho, step, rho * times, still) for average in averages)
        return agreement.Attempt(fine, coarse, null, _OF_AVERAGES)

    if away[0] < smallest:
        yield partial(attempt, (1 - _CONTOUR_POLES) * smallest, null if rho > 1 else None)
    yield partial(attempt, -away, None)


def losses(average: levy.Average, rho: float, step: float, times: Array, still: float | None = None) -> Array:
    """Both losses at times s from 0 to ρ for one average: what every order's first epoch is.

    `still` is the weight at λ = 0 where it is known better than by the average: for a contour that leaves out zero.
    """
    moving = average.nodes != 0
    if still is None:
        still = average.weights[~moving].sum().real
    nodes, moments = average.nodes[moving], (average.weights * average.nodes)[moving]
    rates, modes = np.linalg.eig(step**2 * np.outer(nodes, moments) - 2 * step * np.diag(nodes))
    inverse, read = np.linalg.inv(modes), average.weights[moving] @ modes
    # the source in D is a sum of products of two exponentials, and so is what it makes
    drive = step**2 * np.outer(inverse @ nodes, moments) - 2 * step * inverse * nodes
    gaps = rates[:, None, None] + step * np.add.outer(nodes, nodes)
    gaps[gaps == 0] = np.finfo(float).tiny

    def driven(time: float) -> npt.NDArray:
        """D in the modes, without its start."""
        single, near = np.exp(-step * time * nodes), np.abs(gaps * time) < 0.5
        pairs = np.outer(single, single) * np.ones_like(gaps)
        grown = np.exp(rates * time)[:, None, None] - pairs
        grown[near] = pairs[near] * np.expm1(gaps[near] * time)
        return np.einsum("ikj,ij,k->i", grown / gaps, drive, moments)

    decay = np.exp(np.multiply.outer(times, rates))
    test = still + decay @ (read * inverse.sum(axis=1))
    train = (rho * decay * (inverse @ nodes) + np.array([driven(time) for time in times])) @ read / rho
    return np.array([test.real, train.real])
