r"""Labels under IID sampling: a linear recursion of :math:`s_j = \mathbb E(v_j\cdot e)^2`, and its spectrum.

An update averages b rows drawn with replacement, at step η. In the notation of
:class:`edgelaw.exact.labels.LabelledRows`, with :math:`a_j = \eta\lambda_j/d`, q the `coupling` and N the `kicks`,

.. math:: s_j \leftarrow \bigl((1-a_j)^2 - \tfrac1ba_j^2\bigr)s_j + \tfrac{\eta^2}bq_j\,(q\cdot s) + \tfrac{\eta^2}bN_j,
    \qquad \bar e_j \leftarrow (1-a_j)\,\bar e_j .

The mean is exact. In the second moment one replacement is made: the exact term
:math:`\frac1m\sum_i(x_i\cdot v_j)^2\,x_i^\top Mx_i` (over scale²) becomes :math:`q_j\,(q\cdot s)`, which has the same
sum over j, so that the trace of M decreases by exactly what it should, whatever the norms. It is the mean over signs
and rotations of the left singular vectors: *derived*, and exact where all rows have the same :math:`(x_i\cdot v_j)^2`.

**Ridge.** The ``weight_decay`` γ of `torch.optim.SGD` multiplies the weights by 1 − β at every update, β = lr·γ. With
:math:`\mu_j = -\bar e_j/c_j`, which starts at 1, nothing new has to be replaced:

.. math:: s_j \leftarrow \bigl((1-\beta-a_j)^2 - \tfrac1ba_j^2\bigr)s_j
    + \tfrac{\eta^2}b\bigl(q_j\,(q\cdot s) + N_j\bigr)
    + c_j^2\bigl(2\beta(1-\beta-a_j)\mu_j + \beta^2\bigr), \qquad \mu_j \leftarrow (1-\beta-a_j)\mu_j + \beta .

It is neither a shift of the spectrum nor d more rows: the decay has no sampling noise.

A diagonal matrix and a rank-one one: eigenvalues by the secular equation, and an epoch of any number of updates by
their powers. With D the diagonal, the mean square is stable if
:math:`\sum_j\frac{\eta^2}b q_j^2/(1-D_j) < 1` and, for batches, :math:`a_j < 2`.
"""

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import chebyshev

from edgelaw._common import arguments
from edgelaw._common.compiled import compiled
from edgelaw._common.types import Array, ArrayLike, Integers
from edgelaw.exact.labels.curves import (
    LabelCurve,
    LabelFloor,
    State,
    label_curve,
    label_floor,
    requested,
    start,
)
from edgelaw.exact.labels.rows import LabelledRows
from edgelaw.exact.random_reshuffle.interpolation import Family, Pieces, Ruler
from edgelaw.exact.random_reshuffle.interpolation import family as interpolated
from edgelaw.exact.iid import curves as unlabelled

_POINTS, _SHIFT = 32, 0.1  # of the interpolation between steps
_BASIS = 20  # dimensions of what is not diagonal of an epoch
_MARGIN = 1 - 1e-12  # of the stability limit
_ROUNDING = 1e-12  # stated at least, as by the curve without labels
_EPS = float(np.finfo(float).eps)
_PER_SUM = (
    8.0  # units in the last place that a product with the eigenvectors may lose, beside sums that cancel
)


def curve(
    rows: LabelledRows, epochs: ArrayLike, step: ArrayLike = 1.0, batch: int = 1, ridge: float = 0.0
) -> LabelCurve:
    """Losses under IID sampling, one step for all epochs or one per epoch.

    Parameters
    ----------
    rows : LabelledRows
    epochs : int or array of int
        Up to which epoch, or the epochs wanted; 0 is always among those returned.
    step : float or array
        Learning rate times `rows.scale`, below `step_limit`; an array has one step per epoch.
    batch : int
        Rows per averaged update, drawn with replacement; the last update of an epoch takes what is left of m.
    ridge : float
        ``weight_decay`` of `torch.optim.SGD`, in the units of the rows; its product with the learning rate, `step` over
        `rows.scale`, must be below 1. The recursion is then followed update by update.

    Returns
    -------
    LabelCurve
        `error` is 1e-12 and a bound of what rounding makes of the sums, relative to the smallest loss.

    Examples
    --------
    Two orthogonal rows: at step 1 a draw learns its row, and half the draws of an epoch learn either.

    >>> rows = LabelledRows.of(np.eye(2), [1.0, 1.0])
    >>> curve(rows, 2).train.round(12).tolist()
    [1.0, 0.25, 0.0625]
    """
    n, steps = requested(epochs, step, step_limit(rows, batch))
    make: Callable = functools.partial(epoch, rows, batch=batch)
    if ridge != 0:
        decay = arguments.number(ridge, "ridge", 0)
        if steps.max(initial=0.0) * decay >= rows.scale:
            raise ValueError(
                f"ridge times the learning rate must be below 1, not {steps.max() * decay / rows.scale:.4g}."
            )
        make = functools.partial(_Shrinking, rows, batch=batch, ridge=decay)
    states = walk(rows, n, steps, make)
    made = label_curve(rows, n, states)
    return dataclasses.replace(made, error=_ROUNDING + _rounding(rows, made, states))


def _rounding(rows, made, states):
    """The largest part of a loss that rounding may have made: of second moments, and of the held-out loss's terms."""
    moved = np.array([np.broadcast_to(state.rounding, state.second.shape) for state in states])
    parts = [
        (rows.scale / rows.shape[1] * moved @ rows.eigenvalues, made.train),
        (moved.sum(axis=1), made.distance),
    ]
    if rows.held_out is not None and made.held_out is not None:
        held, f = rows.held_out, np.abs(1 - np.array([state.mean for state in states]))
        terms = held.start + 2 * f @ np.abs(held.linear) + ((f @ np.abs(held.quadratic)) * f).sum(axis=1)
        second = np.array([state.second for state in states])
        parts.append(((moved + _EPS * second) @ held.squares + _EPS * terms, made.held_out))
    # a loss of zero is exact, or states an infinite relative error
    return float(
        max(np.divide(a, np.abs(b), out=np.where(a > 0, np.inf, 0.0), where=b != 0).max() for a, b in parts)
    )


def walk(rows, n, steps, epoch_of):
    """The states at the epochs n, by the maps that `epoch_of` gives for a step; each is made once."""
    maps: dict = {}
    now, states = start(rows), [start(rows)]
    for k, step in enumerate(steps, start=1):
        if step not in maps:
            maps[step] = epoch_of(step)
        now = maps[step](now)
        if k in n:
            states.append(now)
    return states


def mean_error(rows: LabelledRows, steps: Array, batch: int = 1) -> Array:
    """The mean error along each eigenvector after epochs at these steps, over its start. *Proved.*

    Examples
    --------
    >>> mean_error(LabelledRows.of(np.eye(2), [1.0, 1.0]), np.array([1.0, 1.0])).tolist()
    [0.0625, 0.0625]
    """
    moved = np.multiply.outer(steps, rows.eigenvalues / rows.shape[1])
    left: Array = np.ones(len(rows.eigenvalues))
    for _, count in sizes(rows, batch):
        left = left * np.prod((1 - moved) ** count, axis=0)
    return left


def family(rows: LabelledRows, low: float, high: float, batch: int = 1) -> list[Family]:
    """Epochs at any step between two, for searches; the list has one resolution.

    The matrix of an epoch without its diagonal is projected on polynomials of the logarithm of 1 + λ.
    """
    position = np.log1p(rows.eigenvalues)
    place = 2 * (position - position.min()) / max(np.ptp(position), 1e-12) - 1
    table = chebyshev.chebvander(place, min(_BASIS, len(place)) - 1)
    left = np.linalg.qr(rows.coupling[:, None] * table)[0]
    cut = sizes(rows, batch)

    def diagonal(steps):
        square, mean = np.ones((2, len(steps), len(rows.eigenvalues)))
        a = np.multiply.outer(steps, rows.eigenvalues / rows.shape[1])
        for size, count in cut:
            square *= ((1 - a) ** 2 - a**2 / size) ** count
            mean *= (1 - a) ** count
        return square, mean

    ruler = Ruler(low, high, _SHIFT)
    steps = ruler.steps(_POINTS)
    kernels, kicks = [], []
    for step, square in zip(steps, diagonal(steps)[0], strict=True):
        made = epoch(rows, step, batch)
        kernels.append(left.T @ (made.linear(left) - square[:, None] * left))
        kicks.append(made(State(np.zeros(len(square)), np.ones(len(square)))).second)
    return [interpolated(Pieces(left, diagonal, np.array(kernels), np.array(kicks)), ruler)]


def floor(rows: LabelledRows, step: float, batch: int = 1) -> LabelFloor:
    r"""Where the losses end at a constant step: the excess training loss is :math:`\frac{\eta}{2-\eta}\sigma^2` for
    single rows of equal norm.

    Examples
    --------
    >>> rows = LabelledRows.of(np.array([[1.0], [1.0]]), [1.0, -1.0])
    >>> round(floor(rows, 0.5).excess, 12)
    0.333333333333
    """
    _, steps = requested(1, step, step_limit(rows, batch))
    made = epoch(rows, steps[0], batch)
    identity = np.eye(len(rows.eigenvalues))
    kick = made(State(np.zeros(len(identity)), np.ones(len(identity)))).second
    second: Array = np.linalg.solve(identity - made.linear(identity), kick).astype(np.float64)
    return label_floor(rows, second)


def step_limit(rows: LabelledRows, batch: int = 1) -> float:
    """The step at which the mean squared error is no longer stable: 2 for single rows of equal norm.

    Examples
    --------
    >>> step_limit(LabelledRows.of(np.eye(3), np.ones(3)))
    2.0
    """
    batch = arguments.batch(batch, rows.shape[0])
    rates = rows.eigenvalues / rows.shape[1]
    if batch == 1:  # Σ η q²/(2 λ/d) = 1
        return float(2 / (rows.coupling**2 / rates).sum())

    def excess(eta):
        a = eta * rates
        return (eta**2 / batch * rows.coupling**2 / (2 * a - (1 - 1 / batch) * a**2)).sum() - 1

    low, high = 0.0, 2 / rates.max() * _MARGIN
    if excess(high) < 0:
        return float(high)
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) < 0 else (low, middle)
    return float(low)


@dataclass(frozen=True, eq=False)
class Epoch:
    """An epoch at one step: what it makes of a state, by updates of one or of two sizes."""

    parts: tuple
    mean: Array

    def __call__(self, state: State) -> State:
        """The state after the epoch."""
        second, rounding = state.second, state.rounding
        for part in self.parts:
            rounding = part.rounded(second, rounding)
            second = part(second)
        return State(second, state.mean * self.mean, rounding)

    def linear(self, second: Array) -> Array:
        """The second moments after the epoch, without kicks."""
        for part in self.parts:
            second = part.linear(second)
        return second


def sizes(rows: LabelledRows, batch: int) -> list[tuple[int, int]]:
    """The sizes of the batches of an epoch, and how many there are of each."""
    whole, rest = divmod(rows.shape[0], arguments.batch(batch, rows.shape[0]))
    return [(batch, whole)] + [(rest, 1)] * (rest > 0)


def epoch(rows: LabelledRows, step: float, batch: int = 1) -> Epoch:
    """The epoch at one step."""
    a = step * rows.eigenvalues / rows.shape[1]
    cut = sizes(rows, batch)
    parts = [updates(rows, step, size, count) for size, count in cut]
    return Epoch(tuple(parts), (1 - a) ** sum(count for _, count in cut))


@dataclass(frozen=True, eq=False)
class Updates:
    """So many updates: powers of the eigenvalues of a diagonal plus a rank-one matrix, and the sum of the kicks.

    Directions that decay alike are one for the rank-one part: `grouped` (g, r) maps onto them, and what it leaves out
    decays by the diagonal alone.
    """

    members: Integers
    direction: Array
    count: int
    vectors: Array
    decay: Array
    rest: Array
    kick: Array
    lost: Array

    def __call__(self, second: Array) -> Array:
        """The second moments after the updates."""
        return self.linear(second) + self.kick

    def linear(self, second: Array) -> Array:
        """The same without kicks."""
        return _apply(self, second, self.decay, self.rest)

    def rounded(self, second: Array, rounding: Array | float) -> Array:
        """How far rounding may be from the second moments after the updates, from how far it was before."""
        new = _EPS * _PER_SUM * _apply(self, np.abs(second), self.decay, self.rest, sizes=True)
        return np.abs(self.linear(np.broadcast_to(rounding, second.shape))) + new + self.lost


def _apply(self, values, decay, rest, sizes=False):
    """Functions of the matrix: `decay` on its eigenvectors, `rest` on what the groups leave out; columns alike.

    With `sizes` no terms cancel: the sum of their sizes.
    """
    columns = values.reshape(len(rest), -1)
    direction = self.direction[:, None]
    vectors = np.abs(self.vectors) if sizes else self.vectors
    inside = np.zeros((len(decay), columns.shape[1]))
    np.add.at(inside, self.members, direction * columns)
    left = columns if sizes else columns - direction * inside[self.members]
    moved = vectors @ (decay[:, None] * (vectors.T @ inside))
    return (direction * moved[self.members] + rest[:, None] * left).reshape(values.shape)


def updates(rows: LabelledRows, step: float, batch: int, count: int) -> Updates:
    """`count` updates of `batch` rows."""
    a = step * rows.eigenvalues / rows.shape[1]
    loss = a * (2 - (1 - 1 / batch) * a)  # 1 − D
    weights = step**2 / batch * rows.coupling**2
    order = np.argsort(-loss, kind="stable")
    members = np.empty(len(loss), dtype=np.int64)
    descending = loss[order]
    # Poles that agree to thirteen digits are one: no root can be told between them.
    members[order] = np.cumsum(np.append(False, descending[1:] < descending[:-1] * (1 - 1e-13)))
    heads = np.bincount(members, weights)
    size = np.bincount(members)
    direction = np.sqrt(
        np.divide(weights, heads[members], out=1 / size[members] ** 0.5, where=heads[members] > 0)
    )
    poles = np.zeros(len(heads))
    poles[members] = -loss
    rates, vectors = _modes(poles, heads)
    decay, rest = (np.exp(count * _log(x)) if (x < 1).all() else (1 - x) ** count for x in (rates, loss))
    made = Updates(members, direction, count, vectors, decay, rest, *np.zeros((2, len(loss))))
    # Σ_{k<count} P^k applied to the kick, mode by mode
    sums = [
        np.where(x > 0, (1 - y) / np.where(x > 0, x, 1), count) for x, y in ((rates, decay), (loss, rest))
    ]
    kick = _apply(made, step**2 / batch * rows.kicks, *sums)
    lost = _EPS * _PER_SUM * _apply(made, step**2 / batch * rows.kicks, sums[0], sums[1], sizes=True)
    return Updates(members, direction, count, vectors, decay, rest, kick, lost)


@dataclass(frozen=True, eq=False)
class _Shrinking:
    """An epoch with weight decay at one step, update by update."""

    rows: LabelledRows
    step: float
    batch: int
    ridge: float

    def __call__(self, state: State) -> State:
        """The state after the epoch."""
        rows = self.rows
        second, mean, shrink = state.second.copy(), state.mean.copy(), self.step / rows.scale * self.ridge
        for size, count in sizes(rows, self.batch):
            a, noise = self.step * rows.eigenvalues / rows.shape[1], self.step**2 / size
            _shrinking(second, mean, rows.energies, a, rows.coupling, rows.kicks, noise, size, shrink, count)
        # all terms but the second's own are sums of positive ones
        return State(second, mean, state.rounding + _EPS * _PER_SUM * np.sqrt(rows.shape[0]) * np.abs(second))


@compiled
def _shrinking(second, mean, energies, a, coupling, kicks, noise, size, shrink, count):
    """`count` updates of the second moments and means, in place."""
    for _ in range(count):
        total = 0.0
        for j in range(second.size):
            total += coupling[j] * second[j]
        for j in range(second.size):
            keep = 1.0 - shrink - a[j]
            second[j] = (
                (keep * keep - a[j] * a[j] / size) * second[j]
                + noise * (coupling[j] * total + kicks[j])
                + energies[j] * (2 * shrink * keep * mean[j] + shrink * shrink)
            )
            mean[j] = keep * mean[j] + shrink


def _log(x):
    return np.log1p(-x)


def _modes(poles, weights):
    """1 − the eigenvalues of diag(1 + poles) + √w√wᵀ and its eigenvectors, poles ascending and different."""
    if not weights.any():
        return -poles, np.eye(len(poles))
    roots, _, near, offsets = unlabelled.secular(poles, weights)
    gaps = (poles[near] - poles[:, None]) + offsets  # root k − pole j, without cancellation
    vectors = np.sqrt(weights)[:, None] / gaps
    return -roots, vectors / np.linalg.norm(vectors, axis=0)
