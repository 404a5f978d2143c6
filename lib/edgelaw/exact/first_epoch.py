r"""Within the first epoch: both losses after a part of the rows, for every order that visits each row once.

Until a row comes for the second time, random reshuffle, single shuffle and flip-flop do the same: they apply t = s·d
different rows in a random order. With :math:`\langle\cdot\rangle` the average of :mod:`edgelaw.exact.levy`, and time s
from 0 to ρ = m/d, the test loss is :math:`\langle C\rangle` and the loss on *all* m rows, seen and unseen, is
:math:`\langle D\rangle/\rho`, where

.. math::

   C' = -2\eta\lambda C + \eta^2\lambda\langle\lambda C\rangle, \qquad C(0) = 1,

   D' = -2\eta\lambda D + \eta^2\lambda\langle\lambda D\rangle
        + \lambda\,(\eta^2\gamma^2 - 2\eta\gamma\, e^{-\eta\lambda s}), \qquad D(0) = \rho\lambda,

   \gamma(s) = \langle\lambda e^{-\eta\lambda s}\rangle .

They are the first two terms, for large z, of random reshuffle's equation for :math:`E \operatorname{tr}
(z - S)^{-1} A A^\top`, in which A may be any first part of an epoch. The source in D is due to the rows
already visited: without it D would be ρ times the loss on fresh rows. *Derived*, like the other curves on any spectrum;
at s = ρ it is their first epoch, and for isotropic rows
:math:`C = e^{-\eta(2-\eta)s}` and :math:`D = (\rho - B)\,C + B e^{-2\eta s}` with :math:`B = 2/\eta - 1`.

With many more rows than dimensions nothing else matters: the loss is near zero before the first epoch ends.
"""

import itertools
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
_TIME_PANELS = np.geomspace(
    1e-4, 1.0, 41
)  # of the whole time; the source is integrated over each by 12 points


@threads.one_blas_thread()
def curve(
    eigenvalues: ArrayLike,
    fractions: ArrayLike,
    step: float = 1.0,
    rho: float = 1.0,
    weights: ArrayLike | None = None,
) -> LearningCurve:
    r"""Both losses after fractions of the first epoch, in any order that visits each row once.

    Parameters
    ----------
    eigenvalues, step, rho, weights
        As in :func:`edgelaw.exact.curve`.
    fractions : array_like
        In [0, 1]: row updates over rows. 0 is always among those returned.

    Returns
    -------
    LearningCurve
        Its `epochs` are the fractions, ascending; errors and refusals are those of `curve`, usually below 1e-8.

    Examples
    --------
    On isotropic rows the test loss falls by :math:`\eta(2-\eta)/d` per row:

    >>> from edgelaw.laws import MarchenkoPastur
    >>> values = MarchenkoPastur(4.0).quantile((np.arange(400) + 0.5) / 400)
    >>> half = curve(values, [0.5], step=1.0, rho=4.0)
    >>> bool(abs(half.test[-1] / np.exp(-2) - 1) < 0.01)
    True
    """
    step, rho = arguments.step(step), arguments.aspect(rho)
    parts = np.union1d(_fractions(fractions), 0.0)
    return agreement.settled(
        parts, _attempts(*sources.sample(eigenvalues, weights), rho, step, parts), parts[1:]
    )


def _fractions(fractions: ArrayLike) -> Array:
    parts = arguments.real_array(np.atleast_1d(fractions), "fractions", 1)
    if not ((parts >= 0) & (parts <= 1)).all():
        raise ValueError("fractions must be in [0, 1]: beyond the first epoch the orders differ.")
    return parts


def _attempts(
    values: Array, shares: Array, rho: float, step: float, parts: Array
) -> Iterator[Callable[[npt.NDArray], agreement.Attempt]]:
    """Two averages on contours in the gap between zero and the positive eigenvalues if it is wide, else around zero."""
    null, (gram, masses) = float(shares[values == 0].sum()), levy.companion(values, shares, rho)
    away, smallest = _CONTOUR_POLES / (parts[-1] * step), gram[gram > 0][0]

    def attempt(poles: Array, still: float | None, times: npt.NDArray) -> agreement.Attempt:
        averages = [levy.from_gram(gram, masses, rho, pole, _OF_AVERAGES) for pole in poles]
        fine, coarse = (
            losses(average, rho, step, np.append(0.0, rho * times), still)[:, 1:] for average in averages
        )
        return agreement.Attempt(fine, coarse, null, _OF_AVERAGES)

    if away[0] < smallest:
        yield partial(attempt, (1 - _CONTOUR_POLES) * smallest, null if rho > 1 else None)
    yield partial(attempt, -away, None)


def losses(average: levy.Average, rho: float, step: float, times: Array, still: float | None = None) -> Array:
    """Both losses at ascending times s from 0 on, at most ρ, for one average: what every order's first epoch is.

    `still` is the weight at λ = 0 where it is known without the rounding errors of the average: for a contour that
    leaves out zero, with more rows than dimensions, it is the share of directions that no row has.
    """
    moving = average.nodes != 0
    if still is None:
        still = average.weights[~moving].sum().real
    nodes, weights = average.nodes[moving], average.weights[moving]
    rates, modes = np.linalg.eig(step**2 * np.outer(nodes, weights * nodes) - 2 * step * np.diag(nodes))
    inverse = np.linalg.inv(modes)
    read = weights @ modes
    decay = np.exp(np.multiply.outer(times, rates))
    test = decay @ (read * inverse.sum(axis=1))
    fresh = rho * decay @ (read * (inverse @ nodes))
    ends = np.union1d(times, times[-1] * _TIME_PANELS)
    known = _driven(nodes, weights, step, rates, inverse, ends) @ read
    train = (fresh + known[np.searchsorted(ends, times)]) / rho
    made = np.stack([still + test.real, train.real])
    made[:, 0] = 1.0
    return made


def _driven(
    nodes: npt.NDArray,
    weights: npt.NDArray,
    step: float,
    rates: npt.NDArray,
    inverse: npt.NDArray,
    ends: Array,
) -> npt.NDArray:
    """What the source in D has made by the `ends` of panels of time, in the modes: an array (ends, modes)."""
    points, masses = np.polynomial.legendre.leggauss(12)
    state = np.zeros(len(nodes), dtype=complex)
    states = [state]
    for start, end in itertools.pairwise(ends):
        half = (end - start) / 2
        times = start + half * (1 + points)
        single = np.exp(-step * np.multiply.outer(times, nodes))
        gamma = (single @ (weights * nodes))[:, None]
        source = nodes * (step**2 * gamma**2 - 2 * step * gamma * single)
        arriving = np.exp(np.multiply.outer(end - times, rates)) * (source @ inverse.T)
        state = state * np.exp(rates * (end - start)) + half * masses @ arriving
        states.append(state)
    return np.array(states)
