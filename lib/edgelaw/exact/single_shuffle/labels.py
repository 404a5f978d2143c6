r"""Labels under single shuffle: both losses and the distance of any targets, on any spectrum, and their floors.

One order for all epochs: with :math:`K = XX^\top/\text{scale}`, M = I/η + the strictly lower triangle of K in the
order of the visits, the residuals obey :math:`\varepsilon \leftarrow (I - KM^{-1})\varepsilon` from minus the targets,
whatever the targets: residuals of least squares are the part of the targets in the null space of K. So the mean over
orders of the training loss is a sum over the eigenvectors of K,

.. math:: \text{train}_n = \frac1m\sum_a q_a\,G_n(\kappa_a), \qquad q_a = (o_a\cdot t)^2 ,

up to terms that vanish in the mean over signs of the :math:`o_a`; the part along the null space is
:math:`\lVert r\rVert^2G_n(0)`. The functions :math:`G_n` of all n together come from one pair of generating functions
(`label_pairs`), the mean weights from another (`mean_powers`). The loss on held-out rows is that of the mean
weights plus what a fresh row sees of the variance,

.. math:: \frac1d\Bigl\{[z^nw^n]\,\langle\lambda\tau C_0\rangle_t - \rho\sum_aq_a\beta_n(\kappa_a)^2\Bigr\} .

*Derived* (res-lp-losses, self-averaging assumed), and checked against exact orders on real embeddings.
"""

import dataclasses
import functools

import numpy as np

from edgelaw._common import arguments, threads
from edgelaw._common.types import Array, ArrayLike, Integers
from edgelaw.exact import agreement, graded_circle
from edgelaw.exact.batches.blocks import SampleRows
from edgelaw.exact.labels.curves import LabelCurve, LabelFloor, norms_error
from edgelaw.exact.labels.rows import LabelledRows
from edgelaw.exact.single_shuffle import mean_powers, settings
from edgelaw.exact.single_shuffle.label_pairs import LabelPairs
from edgelaw.exact.single_shuffle.pairs import Pairs
from edgelaw.exact.single_shuffle.targets import Targets


@threads.one_blas_thread()
def curve(rows: LabelledRows, epochs: ArrayLike, step: ArrayLike = 1.0, batch: int = 1) -> LabelCurve:
    r"""Losses under single shuffle at a constant step, in the mean over orders; at least 20 positive eigenvalues.

    Up to 1600 epochs, single rows; an array of equal steps is taken as that step. `error` is three times the largest
    difference between two resolutions, relative to a loss or to a ten-thousandth of its start, and what `norms_error`
    says. It does not count what d → ∞ leaves out: on class labels of CIFAR-10 and Wikipedia the training loss was
    within 2.4 % and the held-out loss within 1.1 % of runs for m ≥ d. With half as many rows the late training loss is
    2 to 8 % too small (once 12 %), a late distance up to a quarter, and the held-out loss within 3 % up to step 1.9.

    Orthogonal rows: an epoch multiplies every residual by 1 − η.

    >>> rows = LabelledRows.of(np.eye(30), np.ones(30))
    >>> [round(float(x), 6) for x in curve(rows, 2, step=0.5).train]
    [1.0, 0.25, 0.0625]
    """
    n, eta, error = arguments.epochs(epochs), _constant_step(step, batch), 0.0
    if n[-1] > graded_circle.MOST:
        raise ValueError(f"epochs must be at most {graded_circle.MOST} for single shuffle, not {n[-1]}.")
    losses = np.tile(_zero_epochs(rows)[:, None], len(n))
    for part, wanted in _parts(rows) if n[-1] > 0 else []:
        difference, (losses[wanted, 1:], least) = _computed(part, wanted, n[1:], eta)
        error = max(error, least, 3 * difference)
    held = None if rows.held_out is None else losses[1]
    return LabelCurve(n, losses[0], held, losses[2], error + norms_error(rows, np.array([eta])))


def _parts(rows: LabelledRows) -> list[tuple[LabelledRows, list[int]]]:
    """Rows, and which of training loss, held-out loss and distance to compute from them.

    Centred rows, no more than dimensions, have a lone null eigenvalue, and are one independent row less. The equations
    of an epoch, which visits them all, keep it; but then the covariance has no direction off the rows' span, where
    fresh rows have one: held-out losses would be up to 30 % too large.
    """
    m, d = rows.shape
    if rows.held_out is None or not len(rows.eigenvalues) == m - 1 < d:
        return [(rows, [0, 1, 2])]
    start, scale = (rows.start - rows.residual) * m / (m - 1), rows.scale * m / (m - 1)
    less = dataclasses.replace(rows, shape=(m - 1, d), start=start, residual=0.0, scale=scale)
    return [(dataclasses.replace(rows, held_out=None), [0, 2]), (less, [1])]


def _computed(
    rows: LabelledRows, wanted: list[int], n: Integers, eta: float
) -> tuple[float, tuple[Array, float]]:
    """By how much two resolutions of the wanted losses at positive n differ, the finer ones, and the least to state."""
    targets = Targets(rows)
    places = settings.left_of_zero(rows.aspect, eta, int(n[-1]))

    def attempt(setting: settings.Setting) -> tuple[float, tuple[Array, float]]:
        reach = settings.domain(setting, int(n[-1]))
        fine, coarse = (_losses(targets, setting, which, n, reach)[wanted] for which in (0, 1))
        level = np.maximum(np.abs(fine), agreement.STATED_ABOVE * _zero_epochs(rows)[wanted, None])
        return float(np.nanmax(np.abs(fine - coarse) / level)), (fine, setting.floor)

    made = settings.made(SampleRows(*targets.spectrum, rows.aspect), eta, int(n[-1]), places)
    tried = (functools.partial(attempt, setting) for setting in made)
    return agreement.agreeing("Single shuffle's losses", tried, agreement.ENOUGH)


def _constant_step(step: ArrayLike, batch: int) -> float:
    """The step as a number; schedules and batches are refused."""
    steps = np.unique(arguments.real_array(step, "step", np.ndim(step)))
    if len(steps) != 1:
        raise ValueError(
            "step must be the same in all epochs of single shuffle: schedules can only be simulated."
        )
    if batch != 1:
        raise ValueError(
            f"batch must be 1 for labels under single shuffle, not {batch}: simulate larger batches."
        )
    return arguments.step(float(steps[0]))


def _zero_epochs(rows: LabelledRows) -> Array:
    """Training and held-out loss (NaN without held-out rows) and squared distance of zero weights."""
    held = np.nan if rows.held_out is None else rows.held_out.start
    return np.array([rows.start, held, rows.energies.sum()])


def _losses(
    targets: Targets,
    setting: settings.Setting,
    which: int,
    n: Integers,
    reach: tuple[float, Array],
) -> Array:
    """Training loss, held-out loss and distance at the epochs n, in one of the two resolutions of a setting."""
    rows, contour, pairs = targets.rows, setting.contours[which], setting.pairs[which]
    measures = targets.measures(contour, pairs.rho, 10 ** -settings.RESOLUTIONS[which].average)
    if max(measure.error for measure in measures) > settings.BORNE:
        raise ArithmeticError("The targets' functional has no rational representation on this contour.")
    labels = LabelPairs(pairs, measures, targets.noise)
    circle, log_z, solved = settings.solved_circle(setting, which, n, reach)
    values = labels.values(log_z, solved, circle.first, circle.second)
    train, fresh, distance = (circle.pair_coefficients(row) for row in values)
    held = np.full(len(n), np.nan)
    if rows.held_out is not None:
        gram, parts, q = targets.gram(pairs.rho)
        transform = mean_powers.Transform(contour, gram, parts, pairs.rho)
        mean = mean_powers.on_contour(pairs, transform, n)
        variance = fresh - pairs.rho * transform.left_out(mean) ** 2 @ q
        held = rows.held_out.of_mean(1 - transform.of_functions(mean)[:, 1:])
        held = held + variance * targets.size / rows.shape[1]
    distance = (distance - labels.total) * targets.size / rows.scale + rows.energies.sum()
    return np.stack([train * rows.start, held, distance])


@threads.one_blas_thread()
def floor(rows: LabelledRows, step: float, batch: int = 1) -> LabelFloor:
    r"""The losses of single shuffle after many epochs at a constant step, in the mean over orders.

    They are the double poles at z = w = 1 of the generating functions. With c and α at z = 1, ω = rank/d,
    :math:`\kappa = 2/\eta - 1`, :math:`\sigma^2` the least training loss and averages over a contour that leaves out 0,

    .. math::

       \text{train} &= \sigma^2 + \frac{\sigma^2}{\rho-\omega}\Bigl\{
          \frac1\kappa\bigl(\rho + 2\rho\langle\lambda\alpha\rangle + 2\langle\lambda D\rangle\bigr) - \omega\Bigr\}, \\
       \text{held-out} &= \text{held-out}(w_*)
          + \frac{\rho\sigma^2}{\rho-\omega}\Bigl\{\frac{2\rho}{\kappa c} - \frac\rho{\rho-\omega}\Bigr\}, \\
       \text{distance} &= \frac{m\sigma^2}{\rho-\omega}\Bigl\{\frac{\omega + 2\langle\alpha\rangle}\kappa
          - \frac{\langle1/\lambda\rangle}{\rho-\omega}\Bigr\}\Big/\text{scale} .

    *Derived* here; at small steps the excess is that of res-lp-floors,
    :math:`\frac{\eta^2}{12}\bigl(\kappa_2 + \frac rm(\kappa_2-1)\bigr)\sigma^2`, :math:`\kappa_2` being the mean square
    of the Gram matrix's eigenvalues and r its rank. If no contour separates 0 from the spectrum it is an
    `ArithmeticError`. Targets that can be fitted leave nothing:

    >>> floor(LabelledRows.of(np.eye(30), np.ones(30)), step=0.5)
    LabelFloor(train=0.0, excess=0.0, held_out=None, distance=0.0)
    """
    eta, targets = _constant_step(step, batch), Targets(rows)
    held = None if rows.held_out is None else float(rows.held_out.of_mean(np.ones(len(rows.eigenvalues))))
    if targets.noise == 0:
        return LabelFloor(rows.residual, 0.0, held, 0.0)
    for setting in settings.in_the_gap(SampleRows(*targets.spectrum, rows.aspect), eta):
        fine, coarse = (
            _floor_factors(pairs, len(rows.eigenvalues) / rows.shape[1]) for pairs in setting.pairs
        )
        if np.abs(fine - coarse).max() < agreement.LARGEST_ERROR * np.abs(fine).max():
            break
    else:
        raise ArithmeticError(
            "The floor of single shuffle is not known for these rows: no contour separates 0 from their eigenvalues."
        )
    excess, fresh, distance = (float(x) for x in rows.residual * fine)
    if held is not None:
        held += rows.aspect * fresh
    return LabelFloor(rows.residual + excess, excess, held, rows.shape[0] * distance / rows.scale)


def _floor_factors(pairs: Pairs, omega: float) -> Array:
    """What the least training loss is multiplied by in the three floors, but for dimensions."""
    rho, kappa, at_one = pairs.rho, 2 / pairs.tau - 1, np.zeros(1, dtype=complex)
    solved = pairs.around(at_one)
    alpha, D, _ = (x[0] for x in pairs.resolvents(at_one, solved))
    more, pairwise = rho - omega, pairs.heavy @ D
    excess = -omega + (rho + 2 * rho * (pairs.heavy @ alpha) + 2 * pairwise) / kappa
    fresh = 2 / (kappa * solved[0, 0]) - rho / more
    inverse = pairs.weights @ (1 / pairs.nodes)
    distance = (omega + 2 * pairs.weights @ alpha) / kappa - inverse / more
    return np.array([excess, fresh, distance]).real / more
