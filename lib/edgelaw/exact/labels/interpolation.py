r"""Epochs at any step from a dozen of them: what a search over schedules, and a long schedule, are computed by.

An epoch's map of :math:`s_j = \mathbb E(v_j\cdot e)^2` is diagonal, computed at every step, plus a matrix of few
dimensions; that and the kick, over step², are Chebyshev series in a function of the step (`Ruler`).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.special
from numpy.polynomial import chebyshev

from edgelaw._common.types import Array, ArrayLike
from edgelaw.exact.labels.curves import State

BELOW = 0.98  # the largest step of a search, and of epochs for all schedules, over the limit of stability


class Epochs(NamedTuple):
    """Maps at several steps: s becomes square s + left kernel leftᵀ s + kick, a mean error is multiplied by `mean`."""

    left: Array
    square: Array
    mean: Array
    kernel: Array
    kick: Array

    def walk(self, state: State) -> list[State]:
        """The states after each epoch, the given one first."""
        states = [state]
        for k, mean in enumerate(self.mean):
            states.append(State(self.second(k, states[-1].second), states[-1].mean * mean))
        return states

    def second(self, k: int, second: Array) -> Array:
        """The second moments after the k-th epoch."""
        return self.square[k] * second + self.left @ (self.kernel[k] @ (second @ self.left)) + self.kick[k]


class Ruler(NamedTuple):
    """Steps between two as points of [−1, 1], evenly in log(step + shift) + linear · step/high; the low end may be
    zero.

    Below the shift all is smooth in the step; `linear` keeps the largest steps from being too far apart.
    """

    low: float
    high: float
    shift: float
    linear: float = 0.0

    def place(self, steps: Array) -> Array:
        """Where steps are; those outside the range are at its ends."""
        return 2 * self._above_low(np.clip(steps, self.low, self.high)) / self._above_low(self.high) - 1

    def steps(self, count: int) -> Array:
        """The steps at Chebyshev's points, the largest first."""
        first, rate = self.low + self.shift, self.linear / self.high
        grown = first * np.exp((chebyshev.chebpts1(count)[::-1] + 1) / 2 * self._above_low(self.high))
        if rate == 0:
            return grown - self.shift
        # y exp(rate (y − first)) = grown
        return scipy.special.lambertw(rate * grown * np.exp(rate * first)).real / rate - self.shift

    def _above_low(self, steps: ArrayLike) -> Array:
        above = np.asarray(steps, dtype=float) - self.low
        return np.log1p(above / (self.low + self.shift)) + self.linear * above / self.high


class Pieces(NamedTuple):
    """Epochs at given steps; `diagonal` gives the squares and the means at any steps, a row each."""

    left: Array
    diagonal: Callable[[Array], tuple[Array, Array]]
    kernels: Array
    kicks: Array


class Family(NamedTuple):
    """Epochs between two steps: the pieces' kernels and kicks are series, over step², in the ruler's variable."""

    ruler: Ruler
    pieces: Pieces

    def __call__(self, steps: Array) -> Epochs:
        """The epochs at these steps; those at equal steps are made once."""
        left, diagonal, kernels, kicks = self.pieces
        different, which = np.unique(steps, return_inverse=True)
        table = chebyshev.chebvander(self.ruler.place(different), len(kernels) - 1) * different[:, None] ** 2
        made = *diagonal(different), np.tensordot(table, kernels, axes=1), table @ kicks
        return Epochs(left, *(part[which] for part in made))

    def at(self, step: float) -> Callable[[State], State]:
        """The epoch at one step."""
        one = self(np.array([step]))
        return lambda state: one.walk(state)[-1]

    def shorter(self) -> "Family":
        """The same without the last two terms of the series: the difference tells how good the series is."""
        pieces = self.pieces
        return Family(self.ruler, pieces._replace(kernels=pieces.kernels[:-2], kicks=pieces.kicks[:-2]))

    def with_slopes(self, steps: Array) -> tuple[Epochs, Epochs]:
        """The epochs at these steps, and the derivatives of their parts, by differences."""
        change = np.cbrt(np.finfo(float).eps) * steps
        up, down = np.minimum(steps + change, self.ruler.high), steps - change
        parts = [np.split(part, 3) for part in self(np.concatenate([steps, up, down]))[1:]]
        slopes = (((above - below).T / (up - down)).T for _, above, below in parts)
        left = self.pieces.left
        return Epochs(left, *(here for here, _, _ in parts)), Epochs(left, *slopes)


def family(pieces: Pieces, ruler: Ruler) -> Family:
    """The epochs between two steps, from those at the ruler's steps."""
    count = len(pieces.kernels)
    steps = ruler.steps(count)

    def series(values: Array) -> Array:
        flat = values.reshape(count, -1) / steps[:, None] ** 2
        return np.reshape(chebyshev.chebfit(ruler.place(steps), flat, count - 1), values.shape)

    return Family(ruler, pieces._replace(kernels=series(pieces.kernels), kicks=series(pieces.kicks)))
