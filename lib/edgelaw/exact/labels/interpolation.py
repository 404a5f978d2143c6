r"""Epochs at any step from a dozen of them: what a search over schedules, and a long schedule, are computed by.

An epoch's map of :math:`s_j = \mathbb E(v_j\cdot e)^2` is diagonal plus a matrix of few dimensions, and both are smooth
in the logarithm of the step plus a shift, to which a multiple of the step may be added (`Ruler`). The diagonal and the
mean are computed at every step; the rest, and the kick of residuals, are Chebyshev series in it, after division by the
square of the step.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import scipy.special
from numpy.polynomial import chebyshev

from edgelaw._common.types import Array, ArrayLike
from edgelaw.exact.labels.curves import State

BELOW = 0.98  # the largest step of a search, and of epochs for all schedules, over the limit of stability
_STEP_DIFFERENCE = 1e-4  # relative change of the step for the derivatives of what is diagonal


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
        for square, mean, kernel, kick in zip(*self[1:], strict=True):
            second = states[-1].second
            moved = square * second + self.left @ (kernel @ (second @ self.left)) + kick
            states.append(State(moved, states[-1].mean * mean))
        return states


class Ruler(NamedTuple):
    """Steps between two as points of [−1, 1], evenly in log(step + shift) + linear · step/high.

    Where steps are below the shift all is smooth in the step, above it in its logarithm; the `linear` part keeps the
    largest steps from being too far apart. Both ends are included, and the low one may be zero.
    """

    low: float
    high: float
    shift: float
    linear: float = 0.0

    def place(self, steps: Array) -> Array:
        """Where steps are; those outside the range are at its ends.

        Examples
        --------
        >>> Ruler(0.0, 3.0, 1.0).place(np.array([0.0, 1.0, 3.0, 9.0])).tolist()
        [-1.0, 0.0, 1.0, 1.0]
        """
        inside = np.clip(steps, self.low, self.high)
        return 2 * self._above_low(inside) / self._above_low(self.high) - 1

    def slope(self, steps: Array) -> Array:
        """The derivative of `place` by the step; zero outside the range."""
        inside = (steps >= self.low) & (steps <= self.high)
        return inside * 2 * (1 / (steps + self.shift) + self.linear / self.high) / self._above_low(self.high)

    def steps(self, count: int) -> Array:
        """The steps at Chebyshev's points, the largest first.

        Examples
        --------
        >>> ruler = Ruler(0.0, 2.0, 0.02, 3.0)
        >>> np.allclose(ruler.place(ruler.steps(3)), np.cos(np.pi * np.array([1, 3, 5]) / 6))
        True
        """
        share = (np.cos(np.pi * (np.arange(count) + 0.5) / count) + 1) / 2
        first, rate = self.low + self.shift, self.linear / self.high
        grown = first * np.exp(share * self._above_low(self.high))
        if rate == 0:
            return grown - self.shift
        # y exp(rate (y − first)) = grown
        return scipy.special.lambertw(rate * grown * np.exp(rate * first)).real / rate - self.shift

    def _above_low(self, steps: ArrayLike) -> Array:
        above = np.asarray(steps, dtype=float) - self.low
        return np.log1p(above / (self.low + self.shift)) + self.linear * above / self.high


@dataclass(frozen=True, eq=False)
class Family:
    """Epochs of one order between two steps.

    `diagonal(steps)` gives the square and the mean, a row per step; kernels and kicks over step² are Chebyshev series
    in the ruler's variable.
    """

    ruler: Ruler
    left: Array = field(repr=False)
    diagonal: Callable[[Array], tuple[Array, Array]] = field(repr=False)
    kernels: Array = field(repr=False)
    kicks: Array = field(repr=False)

    def __call__(self, steps: Array) -> Epochs:
        """The epochs at these steps; those at equal steps are made once."""
        different, which = np.unique(steps, return_inverse=True)
        table = chebyshev.chebvander(self.ruler.place(different), len(self.kernels) - 1)
        kernel, kick = self._series(table * (different**2)[:, None])
        square, mean = self.diagonal(different)
        return Epochs(self.left, square[which], mean[which], kernel[which], kick[which])

    def at(self, step: float) -> Callable[[State], State]:
        """The epoch at one step."""
        one = self(np.array([step]))
        return lambda state: one.walk(state)[-1]

    def shorter(self) -> "Family":
        """The same without the last two terms of the series: the difference tells how good the series is."""
        return dataclasses.replace(self, kernels=self.kernels[:-2], kicks=self.kicks[:-2])

    def slopes(self, steps: Array) -> Epochs:
        """The derivatives of the epochs' parts by the step, one epoch each: of the series, and by differences else.

        Below the range everything that is not diagonal goes with the square of the step.
        """
        place, count = self.ruler.place(steps), len(self.kernels)
        table = chebyshev.chebvander(place, count - 1)
        # T_k′ for every k at once: the derivative of the identity's series
        along = chebyshev.chebval(place, chebyshev.chebder(np.eye(count))).T
        along = along * (self.ruler.slope(steps) * steps**2)[:, None] + table * (2 * steps)[:, None]
        up, down = steps * (1 + _STEP_DIFFERENCE), steps * (1 - _STEP_DIFFERENCE)
        width = (up - down)[:, None]
        square, mean = ((a - b) / width for a, b in zip(self.diagonal(up), self.diagonal(down), strict=True))
        return Epochs(self.left, square, mean, *self._series(along))

    def _series(self, table: Array) -> tuple[Array, Array]:
        """Sums of the kernels' and kicks' coefficients, a row of the table each."""
        return np.tensordot(table, self.kernels, axes=1), table @ self.kicks


class Pieces(NamedTuple):
    """Epochs at given steps: `diagonal` as in `Family`, the others with a first axis for the step."""

    left: Array
    diagonal: Callable[[Array], tuple[Array, Array]]
    kernels: Array
    kicks: Array


def family(pieces: Pieces, ruler: Ruler) -> Family:
    """The epochs between two steps, from those at the ruler's steps."""
    count = len(pieces.kernels)
    # values at Chebyshev's points to coefficients
    transform = (
        2 / count * np.cos(np.pi / count * np.multiply.outer(np.arange(count), np.arange(count) + 0.5))
    )
    transform[0] /= 2
    squared = ruler.steps(count)[:, None] ** 2
    kernels = np.tensordot(transform, pieces.kernels / squared[:, :, None], axes=1)
    return Family(ruler, pieces.left, pieces.diagonal, kernels, transform @ (pieces.kicks / squared))
