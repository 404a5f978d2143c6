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
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from edgelaw._common import arguments, threads
from edgelaw._common.types import Array, ArrayLike
from edgelaw.curves import LearningCurve
from edgelaw.exact import agreement, levy, sources

__all__ = ["curve", "losses"]

_CONTOUR_POLES = np.array(
    [0.5, 0.3]
)  # of two contours: how far left of zero, over the time and the step, or in a gap
_OF_AVERAGES = 1e-11  # of the averages
_TIME_PANELS = np.geomspace(1e-4, 1.0, 41)  # of the whole time; the source is integrated over each
_PANEL_RULE = np.polynomial.legendre.leggauss(12)


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
        Its `epochs` are the fractions, ascending; `error` is three times the largest relative difference between two
        resolutions where a loss is above 1e-12, usually below 1e-8. More than 2 % is refused by an `ArithmeticError`.

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
    values, shares = sources.sample(eigenvalues, weights)
    parts = np.union1d(_fractions(fractions), 0.0)
    gram = levy.companion(values, shares, rho)
    times = rho * parts
    null = float(shares[values == 0].sum())
    best = (np.inf if times[-1] else 0.0), np.ones((2, len(parts)))
    for poles in _poles(gram[0], rho, step, times[-1]):
        averages = [levy.from_gram(*gram, rho, pole, _OF_AVERAGES) for pole in poles]
        still = null if rho > 1 and poles[0] > 0 else None
        fine, coarse = (losses(average, rho, step, times, still) for average in averages)
        best = min(best, (_difference(fine, coarse), fine), key=lambda pair: pair[0])
    difference, (test, train) = best
    if not difference < agreement.LARGEST_ERROR:
        raise ArithmeticError(
            f"Two resolutions of the first epoch differ by a relative {difference:.0e}, so it is not returned."
        )
    return agreement.learning_curve(parts, test, train, 3 * difference)


def _fractions(fractions: ArrayLike) -> Array:
    parts = arguments.real_array(np.atleast_1d(fractions), "fractions", 1)
    if not ((parts >= 0) & (parts <= 1)).all():
        raise ValueError("fractions must be in [0, 1]: beyond the first epoch the orders differ.")
    return parts


def _poles(values: Array, rho: float, step: float, time: float) -> Iterator[Array]:
    """Pairs of poles for the contours of two averages: left of zero, and in the gap below the positive eigenvalues."""
    if time > 0:
        yield -_CONTOUR_POLES * rho / (time * step)
    smallest = values[values > 0][0]
    if time > 0 and _CONTOUR_POLES[0] * rho / (time * step) < smallest:
        yield (1 - _CONTOUR_POLES) * smallest


def _difference(fine: Array, coarse: Array) -> float:
    """The largest relative difference where a loss can be seen."""
    seen = np.maximum(np.abs(fine), np.abs(coarse)) > agreement.VANISHED
    with np.errstate(all="ignore"):
        difference = np.abs(coarse / fine - 1)[seen].max(initial=0.0)
    return float(difference) if np.isfinite(difference) else np.inf


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
    points, masses = _PANEL_RULE
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
