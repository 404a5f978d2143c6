r"""Labels under single shuffle: both losses and the distance of any targets, on any spectrum, and their floors.

One order for all epochs: with :math:`K = XX^\top/\text{scale}`, M = I/η + the strictly lower triangle of K in the
order of the visits, the residuals obey :math:`\varepsilon \leftarrow (I - KM^{-1})\varepsilon` from minus the targets,
whatever the targets: residuals of least squares are the part of the targets in the null space of K. So the mean over
orders of the training loss is a sum over the eigenvectors of K,

.. math:: \text{train}_n = \frac1m\sum_a q_a\,G_n(\kappa_a), \qquad q_a = (o_a\cdot t)^2 ,

up to terms that vanish in the mean over signs of the :math:`o_a`; the part along the null space is
:math:`\lVert r\rVert^2G_n(0)`. The functions :math:`G_n` of all n together come from one pair of generating functions
(`_shuffle_pairs`), the mean weights from another (`_mean_powers`). The loss on held-out rows is that of the mean
weights plus what a fresh row sees of the variance,

.. math:: \frac1d\Bigl\{[z^nw^n]\,\langle\lambda\tau C_0\rangle_t - \rho\sum_aq_a\beta_n(\kappa_a)^2\Bigr\} .

*Derived* (self-averaging assumed), and checked against exact orders on real embeddings.
"""

from typing import NamedTuple

import numpy as np

from edgelaw._common import arguments, threads
from edgelaw._common.types import Array, ArrayLike
from edgelaw.theory import levy
from edgelaw.theory._any_spectrum import common, shuffle_curve
from edgelaw.theory.noise import _mean_powers, _shuffle_pairs
from edgelaw.theory.noise.curves import LabelCurve
from edgelaw.theory.noise.rows import LabelledRows

_TOLERANCES = 1e-11, 1e-9  # of the two start measures
_BAD_MEASURE = 1e-6
_DIGITS, _AMPLIFIED = (14.5, 12.0), (2.0, 2.3)  # of the two circles
_FINER = 1.0, 1.4, 1.9  # times as many points, until two resolutions agree
_ENOUGH = 1e-6  # of the start
_REFUSED = 0.02  # of a loss, or of 1e-4 of its start
_LONGEST = 4096
_SAFETY, _ROUNDING, _SMALL = 3.0, 1e-9, 1e-4


@threads.one_blas_thread()
def curve(rows: LabelledRows, epochs: ArrayLike, step: ArrayLike = 1.0, batch: int = 1) -> LabelCurve:
    """Losses under single shuffle at a constant step, in the mean over orders.

    Parameters
    ----------
    rows : LabelledRows
        With at least 20 positive eigenvalues.
    epochs : int or array of int
        Up to which epoch, or the epochs wanted, at most 4096; 0 is always among those returned.
    step : float
        Learning rate times `rows.scale`, in (0, 2). An array of equal steps is taken as that step.
    batch : int
        1.

    Returns
    -------
    LabelCurve
        `error` is three times the largest difference between two resolutions, relative to a loss or, where the loss is
        below a ten-thousandth of its start, to that.

    Examples
    --------
    Orthogonal rows: an epoch multiplies every residual by 1 − η.

    >>> rows = LabelledRows.of(np.eye(30), np.ones(30))
    >>> [round(float(x), 6) for x in curve(rows, 2, step=0.5).train]
    [1.0, 0.25, 0.0625]
    """
    n = common.recorded(epochs)
    step = _constant_step(step, n, batch)
    problem = _Problem.of(rows)
    first = _zero_epochs(rows)
    if n[-1] == 0:
        return _label_curve(rows, n, first[:, None], 0.0)
    if n[-1] > _LONGEST:
        raise ValueError(f"epochs must be at most {_LONGEST} for single shuffle, not {n[-1]}.")
    settings = shuffle_curve.of_sample(
        *problem.spectrum, rows.aspect, shuffle_curve.RowByRow(step), int(n[-1]), gaps=False
    )
    fine, coarse = _best(problem, settings, n[1:])
    size = np.maximum(np.abs(fine), _SMALL * first[:, None])
    difference = float(np.nanmax(np.abs(fine - coarse) / size))
    if not difference < _REFUSED:
        raise ArithmeticError(
            f"Two resolutions of single shuffle's losses differ by a relative {difference:.0e}, so they are not "
            "returned: ask for fewer epochs or a step further from 2."
        )
    values = np.concatenate([first[:, None], fine], axis=1)
    return _label_curve(rows, n, values, max(_ROUNDING, _SAFETY * difference))


def _constant_step(step, n, batch):
    """The step as a number; schedules and batches are refused."""
    steps = np.unique(arguments.real_array(step, "step", np.ndim(step)))
    if len(steps) != 1:
        raise ValueError(
            "step must be the same in all epochs of single shuffle: its theory has no schedules, simulate them."
        )
    if batch != 1:
        raise ValueError(
            f"batch must be 1 for labels under single shuffle, not {batch}: simulate larger batches."
        )
    return arguments.step(float(steps[0]))


def _zero_epochs(rows):
    """Training and held-out loss (NaN without held-out rows) and squared distance of zero weights."""
    held = np.nan if rows.held_out is None else rows.held_out.start
    return np.array([rows.start, held, rows.energies.sum()])


def _label_curve(rows, n, values, error):
    held = None if rows.held_out is None else values[1]
    return LabelCurve(n, values[0], held, values[2], error)


class _Problem:
    """Rows and targets on the scale of the theory: unit rows on average, targets of unit length in total."""

    def __init__(self, rows, squares, noise):
        self.rows, self.squares, self.noise = rows, squares, noise
        self.size = rows.shape[0] * rows.start

    @classmethod
    def of(cls, rows):
        """From rows with at least 20 eigenvalues and targets that are not all zero."""
        m, d = rows.shape
        if len(rows.eigenvalues) < common.FEWEST:
            raise ValueError(
                f"rows must span at least {common.FEWEST} dimensions to stand for a spectrum, not {len(rows.eigenvalues)}."
            )
        if rows.start == 0:
            raise ValueError("targets must not all be zero.")
        size = m * rows.start
        return cls(rows, rows.eigenvalues * rows.energies * (m * rows.scale / d) / size, rows.residual / rows.start)

    @property
    def spectrum(self):
        """Eigenvalues of XᵀX, mean 1, zeros included, and their shares."""
        d, r = self.rows.shape[1], len(self.rows.eigenvalues)
        zeros = [0.0] if d > r else []
        return np.append(zeros, self.rows.eigenvalues), np.append([1 - r / d] * len(zeros), np.full(r, 1 / d))

    def gram(self, rho):
        """The spectrum of the Gram matrix of m = ρd rows, and the targets' squares on it, 0 first and always there."""
        gram, parts = levy.companion(*self.spectrum, rho)
        if gram[0] > 0:
            gram, parts = np.append(0.0, gram), np.append(0.0, parts)
        return gram, parts, np.append(self.noise, self.squares)

    def losses(self, setting, which, n, gaps, more):
        """Training loss, held-out loss and distance at the epochs n, in one of the two resolutions of a setting."""
        gram, parts, q = self.gram(setting.rho)
        contour, pairs = setting.contours[which], setting.pairs[which]
        measures = [
            _shuffle_pairs.start_measure(contour, gram, parts, squares, setting.rho, _TOLERANCES[which])
            for squares in (q, np.append(1.0, np.zeros(len(self.squares))))[: 1 + (self.noise > 0)]
        ]
        if max(measure.error for measure in measures) > _BAD_MEASURE:
            raise ArithmeticError("The targets' measure is not a rational function on this contour.")
        labels = _shuffle_pairs.LabelPairs(pairs, *measures, noise=self.noise)
        circle, c = shuffle_curve.solved_circle(
            pairs, setting, n, 0.0, gaps, more, _DIGITS[which], _AMPLIFIED[which]
        )
        same, mixed = labels.matrices(circle.points, c)
        train, fresh, distance = (circle.pair_coefficients(*both) for both in zip(same, mixed, strict=True))
        transform = _mean_powers.Transform(contour, gram, parts, setting.rho, gram)
        mean = _mean_powers.on_contour(pairs, transform, n, setting.least)
        held = np.full(len(n), np.nan)
        if self.rows.held_out is not None:
            variance = fresh - setting.rho * transform.left_out(mean) ** 2 @ q
            held = self.rows.held_out.of_mean(1 - transform.of_functions(mean)[:, 1:])
            held = held + variance * self.size / self.rows.shape[1]
        distance = (distance - labels.total) * self.size / self.rows.scale + self.rows.energies.sum()
        return np.stack([train * self.rows.start, held, distance])


def _best(problem, settings, n):
    """The losses at two resolutions, in the first setting in which they agree or else that in which they agree best."""
    best, refusal = (np.inf, None), None
    for _, setting in zip(range(7), settings, strict=False):
        try:
            difference, both = _at_two_resolutions(problem, setting, n)
        except ArithmeticError as error:
            refusal = refusal or error
            continue
        best = min(best, (difference, both), key=lambda result: result[0])
        if difference < _ENOUGH:
            break
    if best[1] is None:
        raise refusal or ArithmeticError("No contour keeps clear of the poles of single shuffle's resolvent.")
    return best[1]


def _at_two_resolutions(problem, setting, n):
    """The largest difference of the two, relative to the start, and both."""
    _, gaps = shuffle_curve.domain(setting, setting.pairs[1], int(n[-1]))
    start = _zero_epochs(problem.rows)[:, None]
    for more in _FINER:
        both = [problem.losses(setting, which, n, gaps, more) for which in (0, 1)]
        difference = float(np.nanmax(np.abs(both[0] - both[1]) / start))
        if difference < _ENOUGH:
            break
    return difference, both
