r"""Labels under flip-flop: the distance to least squares, on any spectrum.

Forward and backward epochs alternate. n epochs multiply the error by :math:`P_n`, :math:`(A^\top A)^{n/2}` for even n
and :math:`A(A^\top A)^{(n-1)/2}` for odd n, so that :math:`P_n^\top P_n = (A^\top A)^n` either way. The residuals r of
least squares act like a start in one more direction, of vanishing eigenvalue :math:`\lambda_0` and energy
:math:`\lVert r\rVert^2/\lambda_0`, whose own coordinate the distance does not count. With :math:`g_n(S)` the mean of
:math:`(A^\top A)^n` over orders and :math:`p_n(S)` that of :math:`P_n`,

.. math:: \mathbb E\lVert w_n - w_*\rVert^2 = \sum_jc_j^2\,g_n(\lambda_j)
    + \lVert r\rVert^2\bigl(g_n'(0) - 2p_n'(0)\bigr) .

As functions of Σ they are :math:`[z^n]\,1/(1-zY_\rho)` (:mod:`.boundary`), and :math:`[z^{n/2}]` of
the same or :math:`[z^{(n-1)/2}]\,E_\rho/(1-zY_\rho)`. *Derived* here, but for the last, which was identified at z =
0, where both sides are :math:`e^{-\eta\rho\lambda}`, and confirmed on random matrices. Training and held-out loss
would need two resolvents of :math:`A^\top A` at once; they have no theory yet.
"""

import functools
from typing import NamedTuple

import numpy as np

from edgelaw._common import arguments, threads
from edgelaw._common.types import Array, ArrayLike, Integers
from edgelaw.exact import agreement, graded_circle, levy
from edgelaw.exact.batches.blocks import SampleRows
from edgelaw.exact.flip_flop import boundary
from edgelaw.exact.flip_flop.collocation import Complex, Problem, Unsolved
from edgelaw.exact.labels.rows import LabelledRows
from edgelaw.exact.single_shuffle.targets import Targets


class Distance(NamedTuple):
    """‖w − w*‖² at the recorded epochs, 0 included, summed over outputs, and its relative numerical error."""

    epochs: Integers
    distance: Array
    error: float


@threads.one_blas_thread()
def distance(rows: LabelledRows, epochs: ArrayLike, step: float = 1.0) -> Distance:
    """The squared distance to the least-squares solution under flip-flop at a constant step, in the mean over orders.

    For rows with at least 20 positive eigenvalues. The error is three times the largest difference between two
    resolutions, relative to the distance or, where that is below a ten-thousandth of its start, to that.
    """
    n, step, targets = arguments.epochs(epochs), arguments.step(step), Targets(rows)
    start = rows.energies.sum()
    if n[-1] == 0:
        return Distance(n, np.array([start]), 0.0)
    fine, coarse = (_distances(targets, n[1:], step, way) for way in (boundary.FINER, boundary.FINE))
    difference = float(
        (np.abs(fine - coarse) / np.maximum(np.abs(fine), agreement.STATED_ABOVE * start)).max()
    )
    if not difference < agreement.LARGEST_ERROR:
        raise Unsolved("Two resolutions of flip-flop's distance do not agree: ask for fewer epochs.")
    return Distance(n, np.append(start, fine), 3 * difference + graded_circle.LEAST)


def _distances(targets: Targets, n: Integers, step: float, way: boundary.Resolution) -> Array:
    """The distances at the epochs n, ascending and positive, at one resolution."""
    spectrum, time = SampleRows(*targets.spectrum, targets.rows.aspect), n[-1] / (1 / step - 0.5)
    contour = functools.partial(levy.ellipse, spectrum.gram, -way.left / time)
    ends, *still = targets.measures(contour, spectrum.rho, 0.1**way.digits)
    probes, split = np.concatenate([x.nodes for x in (ends, *still)]), len(ends.nodes)
    problem = Problem(way.average(spectrum, time), spectrum.rho, step, way.points, probes)

    def transforms(z: complex, X: Complex, touched: Complex) -> Complex:
        """Sums of the powers of AᵀA, and for residuals also of A times them: as functions of Σ at the probes."""
        values = [touched[:split] @ ends.weights]
        for unit in still:
            seen = slice(split, len(probes))
            halves = problem.decayed(z, X)[1][seen] * touched[seen]
            values += [part @ unit.weights for part in (touched[seen], halves)]
        return np.array(values)

    circle = way.circle(int(n[-1]))
    powers = np.unique(np.concatenate([n, n // 2]))
    powers = powers[powers > 0]
    series = circle.coefficients(circle.around(problem, transforms), powers)
    series -= np.array([[x.weights.sum().real] for x in (ends, *still, *still)])
    values = series[0, np.searchsorted(powers, n)]
    for unit in still:
        first = unit.weights @ np.expm1(-step * spectrum.rho * unit.nodes)
        even, odd = np.append(0.0, series[1]), np.append(first.real, series[2])  # from z⁰ on
        half = np.searchsorted(powers, n // 2, side="right")
        values = values - 2 * targets.noise * np.where(n % 2 == 0, even[half], odd[half])
    return targets.rows.energies.sum() + values * targets.size / targets.rows.scale
