r"""Labels under IID sampling: a linear recursion of :math:`s_j = \mathbb E(v_j\cdot e)^2`, and its spectrum.

For batches of b rows drawn with replacement, with :math:`a_j = \eta\lambda_j/d`, q the `coupling` and N the `kicks` of
:class:`edgelaw.exact.labels.LabelledRows`,

.. math:: s_j \leftarrow \bigl((1-a_j)^2 - \tfrac1ba_j^2\bigr)s_j + \tfrac{\eta^2}bq_j\,(q\cdot s) + \tfrac{\eta^2}bN_j,
    \qquad \bar e_j \leftarrow (1-a_j)\,\bar e_j .

The mean is exact. The second moment is *derived* (res-lp-losses), the mean over signs and rotations of the left
singular vectors, and exact where all rows have the same :math:`(x_i\cdot v_j)^2`; its trace decreases by exactly what
it should.

**Ridge** multiplies the weights by 1 − β at every update, β = lr·γ with γ the ``weight_decay`` of `torch.optim.SGD`.
With :math:`\mu_j = -\bar e_j/c_j`, which starts at 1, :math:`1-a_j` becomes :math:`k_j = 1-\beta-a_j`, and in come
:math:`c_j^2(2\beta k_j\mu_j + \beta^2)` and :math:`\mu_j \leftarrow k_j\mu_j + \beta`. An epoch of T updates is by
powers of the eigenvalues p of the map (:mod:`edgelaw.exact.iid.modes`), and :math:`(p^T-k_j^T)/(p-k_j)`.
"""

import dataclasses
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import chebyshev

from edgelaw._common import arguments
from edgelaw._common.numerics import bracketed_root
from edgelaw._common.types import Array, ArrayLike
from edgelaw.exact.iid.modes import modes
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
        terms += np.array([state.second for state in states]) @ held.squares
        parts.append((moved @ held.squares + np.finfo(float).eps * terms, made.held_out))
    with np.errstate(all="ignore"):  # a loss of zero is exact, or states an infinite relative error
        return float(np.nanmax([part / np.abs(loss) for part, loss in parts], initial=0.0))


def families(rows: LabelledRows, batch: int = 1) -> list[interpolation.Family]:
    """Epochs at any step up to 0.98 of the limit; the list has one resolution.

    An epoch's matrix without its diagonal is projected on polynomials of log(1 + λ).
    """
    place = np.log1p(rows.eigenvalues) - np.log1p(rows.eigenvalues[0])
    degree = min(interpolation.TERMS, len(place)) - 1
    table = chebyshev.chebvander(2 * place / (place[-1] or 1) - 1, degree)
    left = np.linalg.qr(rows.coupling[:, None] * table)[0]

    def diagonal(steps: Array) -> tuple[Array, Array]:
        square, mean = np.ones((2, len(steps), len(rows.eigenvalues)))
        a = np.multiply.outer(steps, rows.eigenvalues / rows.shape[1])
        for size, count in sizes(rows, batch):
            square *= ((1 - a) ** 2 - a**2 / size) ** count
            mean *= (1 - a) ** count
        return square, mean

    high = interpolation.BELOW * step_limit(rows, batch)
    steps = interpolation.nodes(high)
    made = [epoch(rows, step, batch) for step in steps]
    kernels = [
        left.T @ (e.linear(left) - d[:, None] * left) for e, d in zip(made, diagonal(steps)[0], strict=True)
    ]
    return [interpolation.family(high, left, diagonal, kernels, [e.kick() for e in made])]


def floor(rows: LabelledRows, step: float, batch: int = 1) -> LabelFloor:
    r"""Where a constant step ends: the excess is :math:`\frac{\eta}{2-\eta}\sigma^2` for single rows of equal norm."""
    _, steps = requested(1, step, step_limit(rows, batch))
    made = epoch(rows, steps[0], batch)
    identity = np.eye(len(rows.eigenvalues))
    second: Array = np.linalg.solve(identity - made.linear(identity), made.kick()).astype(np.float64)
    return label_floor(rows, second)


def step_limit(rows: LabelledRows, batch: int = 1) -> float:
    r"""The step at which the mean squared error is no longer stable: 2 for single rows of equal norm.

    There :math:`\sum_j\frac{\eta^2}b q_j^2/(2a_j-(1-\frac1b)a_j^2) = 1`, noise that sustains itself, or some
    :math:`a_j = 2`.

    >>> round(step_limit(LabelledRows.of(np.eye(3), np.ones(3))), 12)
    2.0
    """
    batch = arguments.batch(batch, rows.shape[0])
    rates = rows.eigenvalues / rows.shape[1]

    def excess(eta: float) -> float:
        noise = eta / batch * rows.coupling**2 / (rates * (2 - (1 - 1 / batch) * eta * rates))
        return float(noise.sum()) - 1

    high = float(2 / rates.max())
    return bracketed_root(excess, 0.0, high, np.finfo(float).eps) if excess(high) > 0 else high


def sizes(rows: LabelledRows, batch: int) -> list[tuple[int, int]]:
    """The sizes of the batches of an epoch, and how many there are of each."""
    whole, rest = divmod(rows.shape[0], arguments.batch(batch, rows.shape[0]))
    return [(batch, whole)] + [(rest, 1)] * (rest > 0)


@dataclass(frozen=True, eq=False)
class Epoch:
    """An epoch at one step: updates of one or of two sizes."""

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
    """So many updates: eigenvectors of the map, its powers, and what kicks and ridge bring in, in their coordinates.

    The means end at `still`, with the share `keep` of their distance from it left.
    """

    vectors: Array
    decay: Array
    source: Array
    ridge: Array | float
    still: Array
    keep: Array

    def __call__(self, state: State) -> State:
        """The state after the updates."""
        from_end = state.mean - self.still
        second = self._moved(state.second, from_end)
        sizes = self._sizes._moved(np.abs(state.second), np.abs(from_end))
        before = np.abs(self.linear(state.rounding + np.zeros_like(second)))
        # a product with the eigenvectors may lose as much, beside sums that cancel
        return State(second, self.still + self.keep * from_end, before + 8 * np.finfo(float).eps * sizes)

    def linear(self, second: Array) -> Array:
        """The second moments alone, without what comes in; columns alike."""
        return self.vectors @ (self.decay * (second.T @ self.vectors)).T

    def _moved(self, second: Array, from_end: Array) -> Array:
        """The second moments after the updates."""
        return self.linear(second) + self.vectors @ (self.source + np.dot(self.ridge, from_end))

    @property
    def _sizes(self) -> "Updates":
        """The same with all terms positive, so that none cancel."""
        vectors, decay, source, ridge = map(np.abs, (self.vectors, self.decay, self.source, self.ridge))
        return Updates(vectors, decay, source, ridge, self.still, self.keep)


def updates(rows: LabelledRows, step: float, batch: int, count: int, shrink: float = 0.0) -> Updates:
    """`count` updates of `batch` rows, with weights multiplied by 1 − shrink at each."""
    a = step * rows.eigenvalues / rows.shape[1]
    gone = a + shrink
    keep, loss = 1 - gone, gone * (2 - gone) + a**2 / batch  # 1 − D
    rates, vectors = modes(loss, step / batch**0.5 * rows.coupling)
    still = shrink / gone if shrink else np.zeros_like(a)
    constant = step**2 / batch * rows.kicks + rows.energies * shrink * (2 * keep * still + shrink)
    source = _sum_of_powers(rates, 0.0, count) * (vectors.T @ constant)
    ridge: Array | float = 0.0
    if shrink:
        ridge = _sum_of_powers(rates[:, None], gone, count) * vectors.T
        ridge *= 2 * shrink * keep * rows.energies
    return Updates(vectors, _power(rates, count), source, ridge, still, _power(gone, count))


def _power(lost: Array, count: int) -> Array:
    """(1 − lost)^count: by logarithms, so that small losses keep their digits."""
    return np.exp(count * np.log1p(-lost)) if (lost < 1).all() else (1 - lost) ** count


def _sum_of_powers(x: Array, y: ArrayLike, count: int) -> Array:
    """Σ_{k<count} p^k q^(count−1−k) = (p^count − q^count)/(p − q) of p = 1 − x and q = 1 − y, which may be alike."""
    x, y = np.broadcast_arrays(x, y)
    difference, q = y - x, 1 - y
    alike = np.abs(difference) * count < 0.5 * np.abs(q)
    with np.errstate(all="ignore"):
        near = q**count * np.expm1(count * np.log1p(difference / q)) / difference
        near = np.where(difference == 0, count * q ** (count - 1.0), near)
        return np.where(alike, near, ((1 - x) ** count - q**count) / difference)
