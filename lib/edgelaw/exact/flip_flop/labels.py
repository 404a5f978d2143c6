r"""Labels under flip-flop: the distance to least squares, on any spectrum.

Forward and backward epochs alternate. n epochs multiply the error by :math:`P_n`, :math:`(A^\top A)^{n/2}` for even n
and :math:`A(A^\top A)^{(n-1)/2}` for odd n, so that :math:`P_n^\top P_n = (A^\top A)^n` either way. The residuals r of
least squares act like a start in one more direction, of vanishing eigenvalue :math:`\lambda_0` and energy
:math:`\lVert r\rVert^2/\lambda_0`, whose own coordinate the distance does not count. With :math:`g_n(S)` the mean of
:math:`(A^\top A)^n` over orders and :math:`p_n(S)` that of :math:`P_n`,

.. math:: \mathbb E\lVert w_n - w_*\rVert^2 = \sum_jc_j^2\,g_n(\lambda_j)
    + \lVert r\rVert^2\bigl(g_n'(0) - 2p_n'(0)\bigr) .

As functions of Σ they are :math:`[z^n]\,1/(1-zY_\rho)` (:mod:`.boundary`), and :math:`[z^{n/2}]` of
the same or :math:`[z^{(n-1)/2}]\,E_\rho/(1-zY_\rho)`. *Derived*, but for the last, which was identified at z = 0, where
both sides are :math:`e^{-\eta\rho\lambda}`, and confirmed on random matrices. Training and held-out loss would need two
resolvents of :math:`A^\top A` at once; they have no theory yet.
"""

from typing import NamedTuple

import numpy as np

from edgelaw._common import arguments, threads
from edgelaw._common.types import Array, ArrayLike, Integers
from edgelaw.exact import agreement, graded_circle, sources
from edgelaw.exact.flip_flop import boundary, walk
from edgelaw.exact.flip_flop.collocation import Complex, Unsolved
from edgelaw.exact.flip_flop.spectra import FINE, FINER, Resolution, SampleSpectrum
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
    n, step, targets = sources.recorded(epochs), arguments.step(step), Targets(rows)
    start = rows.energies.sum()
    if n[-1] == 0:
        return Distance(n, np.array([start]), 0.0)
    fine, coarse = (_distances(targets, n[1:], step, way) for way in (FINER, FINE))
    difference = float(
        (np.abs(fine - coarse) / np.maximum(np.abs(fine), agreement.STATED_ABOVE * start)).max()
    )
    if not difference < agreement.LARGEST_ERROR:
        raise Unsolved("Two resolutions of flip-flop's distance do not agree: ask for fewer epochs.")
    return Distance(n, np.append(start, fine), 3 * difference + graded_circle.LEAST)


def _distances(targets: Targets, n: Integers, step: float, way: Resolution) -> Array:
    """The distances at the epochs n, ascending and positive, at one resolution."""
    rows, last = targets.rows, int(n[-1])
    values, shares = targets.spectrum
    spectrum = SampleSpectrum(values, shares, rows.aspect)
    time = last / (1 / step - 0.5)
    measures = targets.measures(spectrum.contour(time, way), spectrum.rho, way.tolerance)
    probes = np.concatenate([measure.nodes for measure in measures])
    average = spectrum.average(False, time, way)
    problem = boundary.single_rows(spectrum.rho, step, average, False, way.points, probes)
    split = len(measures[0].nodes)

    def transforms(z: complex, X: Complex, touched: Complex) -> Complex:
        """Sums of the powers of AᵀA, and for residuals also of A times them: as functions of Σ at the probes."""
        values = [touched[:split] @ measures[0].weights]
        if targets.noise:
            seen = slice(split, len(probes))
            halves = problem.decayed(z, X)[seen] * touched[seen]
            values += [part @ measures[1].weights for part in (touched[seen], halves)]
        return np.array(values)

    circle = boundary.Circle.of(0.0, way.margin / last, 10 * way.tolerance)
    seen = walk.around(problem, circle.z, circle.size // 2, transforms)
    powers = np.unique(np.concatenate([n, n // 2]))
    powers = powers[powers > 0]
    series = circle.coefficients(seen, powers)
    series -= np.array([[measure.weights.sum().real] for measure in (*measures, *measures[1:])])
    values = series[0, np.searchsorted(powers, n)]
    if targets.noise:
        first = measures[1].weights @ np.expm1(-step * spectrum.rho * measures[1].nodes)
        even, odd = np.append(0.0, series[1]), np.append(first.real, series[2])  # from z⁰ on
        half = np.searchsorted(powers, n // 2, side="right")
        values = values - 2 * targets.noise * np.where(n % 2 == 0, even[half], odd[half])
    return rows.energies.sum() + values * targets.size / rows.scale
