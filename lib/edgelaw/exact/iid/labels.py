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

A diagonal matrix and a rank-one one: eigenvalues p by the secular equation (:mod:`edgelaw.exact.iid.modes`), and an
epoch of any number T of updates by their powers. Under ridge :math:`\mu_j` tends to :math:`\mu^*_j = \beta/(\beta+a_j)`
like powers of :math:`k_j = 1-\beta-a_j`, which adds :math:`(p^T-k_j^T)/(p-k_j)` times what a mode sees of j. With D the
diagonal, the mean square is stable if :math:`\sum_j\frac{\eta^2}b q_j^2/(1-D_j) < 1` and, for batches,
:math:`a_j < 2`.
"""

import dataclasses
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import chebyshev

from edgelaw._common import arguments
from edgelaw._common.types import Array, ArrayLike
from edgelaw.exact.iid.modes import Modes, modes
from edgelaw.exact.labels import interpolation
from edgelaw.exact.labels.curves import (
    ROUNDING,
    LabelCurve,
    LabelFloor,
    State,
    label_curve,
    label_floor,
    requested,
    walk,
)
from edgelaw.exact.labels.rows import LabelledRows

_SERIES_TERMS = 32  # of the series in the step
_SERIES_BASIS = 20  # dimensions of what an epoch is beside its diagonal
_RULER_SHIFT = 0.1  # steps below are evenly spaced, above in their logarithm
_PER_SUM = 8 * float(
    np.finfo(float).eps
)  # what a product with the eigenvectors may lose, beside sums that cancel


def curve(
    rows: LabelledRows, epochs: ArrayLike, step: ArrayLike = 1.0, batch: int = 1, ridge: float = 0.0
) -> LabelCurve:
    """Losses by epoch; `error` is 2e-12 and a bound of what rounding makes of the sums, over the smallest loss."""
    n, steps = requested(epochs, step, step_limit(rows, batch))
    decay = arguments.number(ridge, "ridge", 0) if ridge else 0.0
    if steps.max(initial=0.0) * decay >= rows.scale:
        raise ValueError(
            f"ridge times the learning rate must be below 1, not {steps.max() * decay / rows.scale:.4g}."
        )
    states = walk(rows, n, steps, lambda eta: epoch(rows, eta, batch, decay))
    made = label_curve(rows, n, states)
    return dataclasses.replace(made, error=ROUNDING + _rounding(rows, made, states))


def _rounding(rows: LabelledRows, made: LabelCurve, states: list[State]) -> float:
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
        eps = np.finfo(float).eps
        parts.append(((moved + eps * second) @ held.squares + eps * terms, made.held_out))
    # a loss of zero is exact, or states an infinite relative error
    return float(
        max(np.divide(a, np.abs(b), out=np.where(a > 0, np.inf, 0.0), where=b != 0).max() for a, b in parts)
    )


def mean_error(rows: LabelledRows, steps: Array, batch: int = 1) -> Array:
    """The mean error along each eigenvector after epochs at these steps, over its start. *Proved.*

    Examples
    --------
    >>> mean_error(LabelledRows.of(np.eye(2), [1.0, 1.0]), np.array([1.0, 1.0])).tolist()
    [0.0625, 0.0625]
    """
    updates = sum(count for _, count in sizes(rows, batch))
    moved = np.multiply.outer(steps, rows.eigenvalues / rows.shape[1])
    return np.prod((1 - moved) ** updates, axis=0)


def covering(rows: LabelledRows, low: float, high: float, batch: int = 1) -> list[interpolation.Family]:
    """Epochs at any step between two, for searches; the list has one resolution.

    The matrix of an epoch without its diagonal is projected on polynomials of the logarithm of 1 + λ.
    """
    position = np.log1p(rows.eigenvalues)
    width = np.ptp(position)
    place = 2 * (position - position.min()) / width - 1 if width > 0 else np.zeros(len(position))
    table = chebyshev.chebvander(place, min(_SERIES_BASIS, len(place)) - 1)
    left = np.linalg.qr(rows.coupling[:, None] * table)[0]
    cut = sizes(rows, batch)

    def diagonal(steps: Array) -> tuple[Array, Array]:
        square, mean = np.ones((2, len(steps), len(rows.eigenvalues)))
        a = np.multiply.outer(steps, rows.eigenvalues / rows.shape[1])
        for size, count in cut:
            square *= ((1 - a) ** 2 - a**2 / size) ** count
            mean *= (1 - a) ** count
        return square, mean

    ruler = interpolation.Ruler(low, high, _RULER_SHIFT)
    steps = ruler.steps(_SERIES_TERMS)
    kernels, kicks = [], []
    for step, square in zip(steps, diagonal(steps)[0], strict=True):
        made = epoch(rows, step, batch)
        kernels.append(left.T @ (made.linear(left) - square[:, None] * left))
        kicks.append(made.kick())
    pieces = interpolation.Pieces(left, diagonal, np.array(kernels), np.array(kicks))
    return [interpolation.family(pieces, ruler)]


def floor(rows: LabelledRows, step: float, batch: int = 1) -> LabelFloor:
    r"""Where a constant step ends: the excess is :math:`\frac{\eta}{2-\eta}\sigma^2` for single rows of equal norm."""
    _, steps = requested(1, step, step_limit(rows, batch))
    made = epoch(rows, steps[0], batch)
    identity = np.eye(len(rows.eigenvalues))
    second: Array = np.linalg.solve(identity - made.linear(identity), made.kick()).astype(np.float64)
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

    def stable(eta: float) -> bool:
        a = eta * rates
        return float((eta**2 / batch * rows.coupling**2 / (2 * a - (1 - 1 / batch) * a**2)).sum()) < 1

    low, high = 0.0, 2 / float(rates.max())
    while low < (middle := (low + high) / 2) < high:  # to the last digit
        low, high = (middle, high) if stable(middle) else (low, middle)
    return low


def sizes(rows: LabelledRows, batch: int) -> list[tuple[int, int]]:
    """The sizes of the batches of an epoch, and how many there are of each."""
    whole, rest = divmod(rows.shape[0], arguments.batch(batch, rows.shape[0]))
    return [(batch, whole)] + [(rest, 1)] * (rest > 0)


@dataclass(frozen=True, eq=False)
class Epoch:
    """An epoch at one step: what it makes of a state, by updates of one or of two sizes."""

    parts: tuple["Updates", ...]

    def __call__(self, state: State) -> State:
        """The state after the epoch."""
        for part in self.parts:
            state = part(state)
        return state

    def linear(self, second: Array) -> Array:
        """The second moments after the epoch, without kicks and ridge; columns alike."""
        for part in self.parts:
            second = part.linear(second)
        return second

    def kick(self) -> Array:
        """The second moments after the epoch from none before: what residuals, and ridge, bring in."""
        none = np.zeros(len(self.parts[0].still))
        return self(State(none, self.parts[0].still)).second


def epoch(rows: LabelledRows, step: float, batch: int = 1, ridge: float = 0.0) -> Epoch:
    """The epoch at one step."""
    shrink = step / rows.scale * ridge
    return Epoch(tuple(updates(rows, step, size, count, shrink) for size, count in sizes(rows, batch)))


@dataclass(frozen=True, eq=False)
class Updates:
    """So many updates: powers of the map's modes, the sum of the kicks, and what the means bring in under ridge.

    `still` is where the means would end, `keep` what is left of their distance from it. `decay` and `rest` are powers,
    of the modes and of the diagonal; `source` what comes in with the means at their end, and `lost` its rounding.
    """

    modes: Modes
    decay: Array
    rest: Array
    source: Array
    lost: Array
    still: Array
    keep: Array
    ridge: "Ridge | None"

    def __call__(self, state: State) -> State:
        """The state after the updates."""
        second = self.linear(state.second) + self.source
        new = self.modes.apply(np.abs(state.second), self.decay, self.rest, sizes=True)
        from_end = state.mean - self.still
        if self.ridge is not None:
            second = second + self.ridge.brought(self.modes, from_end)
            new = new + self.ridge.brought(self.modes, np.abs(from_end), sizes=True)
        before = np.broadcast_to(state.rounding, second.shape)
        rounding = np.abs(self.linear(before)) + _PER_SUM * new + self.lost
        return State(second, self.still + self.keep * from_end, rounding)

    def linear(self, second: Array) -> Array:
        """The second moments alone, without what comes in; columns alike."""
        return self.modes.apply(second, self.decay, self.rest)


@dataclass(frozen=True, eq=False)
class Ridge:
    """What means that are not at their end add to the second moments: modes (groups, r), and the diagonal alone."""

    seen: Array
    alone: Array

    def brought(self, modes: Modes, from_end: Array, sizes: bool = False) -> Array:
        """The second moments that come in for means so far from their end; with `sizes`, of terms that add up."""
        vectors, seen = (np.abs(x) if sizes else x for x in (modes.vectors, self.seen))
        left = (np.abs(self.alone) if sizes else self.alone) * from_end
        if not sizes:
            left = left - modes.back(modes.within(left[:, None]))[:, 0]
        return modes.back((vectors @ (seen @ from_end))[:, None])[:, 0] + left


def updates(rows: LabelledRows, step: float, batch: int, count: int, shrink: float = 0.0) -> Updates:
    """`count` updates of `batch` rows, with weights multiplied by 1 − shrink at each."""
    a = step * rows.eigenvalues / rows.shape[1]
    gone = a + shrink
    loss = gone * (2 - gone) + a**2 / batch  # 1 − D
    made = modes(loss, step / batch**0.5 * rows.coupling)
    decay, rest = (_power(1 - x, count, x) for x in (made.rates, loss))
    # Σ_{k<count} P^k of a constant source, mode by mode
    of_rates, of_loss = (_geometric(x, y, count) for x, y in ((made.rates, decay), (loss, rest)))
    still = shrink / gone if shrink else np.zeros_like(a)
    keep = 1 - gone
    constant = step**2 / batch * rows.kicks + rows.energies * shrink * (2 * keep * still + shrink)
    source = made.apply(constant, of_rates, of_loss)
    lost = _PER_SUM * made.apply(np.abs(constant), of_rates, of_loss, sizes=True)
    ridge = _ridge(made, keep, 2 * shrink * keep * rows.energies, count) if shrink else None
    return Updates(made, decay, rest, source, lost, still, _power(keep, count, gone), ridge)


def _ridge(made: Modes, keep: Array, strength: Array, count: int) -> Ridge:
    """Σ_{k<count} P^k diag(strength · keep^(count−1−k)), mode by mode."""
    across = made.vectors.T[:, made.members] * made.direction
    seen = across * _divided_difference((1 - made.rates)[:, None], keep, count) * strength
    return Ridge(seen, _divided_difference(1 - made.loss, keep, count) * strength)


def _geometric(lost: Array, power: Array, count: int) -> Array:
    """Σ_{k<count} (1 − lost)^k, from the power (1 − lost)^count."""
    return np.where(lost > 0, (1 - power) / np.where(lost > 0, lost, 1), count)


def _power(kept: Array, count: int, lost: Array) -> Array:
    """kept^count with kept = 1 − lost: by logarithms of what is lost, so that small losses keep their digits."""
    return np.exp(count * np.log1p(-lost)) if (lost < 1).all() else kept**count


def _divided_difference(p: Array, q: Array, count: int) -> Array:
    """(p^count − q^count)/(p − q), also where p and q nearly agree."""
    p, q = np.broadcast_arrays(p, q)
    difference = p - q
    alike = np.abs(difference) * count < 0.5 * np.abs(q)
    with np.errstate(all="ignore"):
        near = q**count * np.expm1(count * np.log1p(difference / q)) / difference
        near = np.where(difference == 0, count * q ** (count - 1.0), near)
        return np.where(alike, near, (p**count - q**count) / np.where(difference == 0, 1.0, difference))
