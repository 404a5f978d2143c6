r"""Epochs at any step from a dozen of them: what a search over schedules, and a long schedule, are computed by.

An epoch's map of :math:`s_j = \mathbb E(v_j\cdot e)^2` is diagonal plus a matrix of few dimensions, and both are smooth
in the logarithm of the step plus a shift. The diagonal and the mean are computed at every step; the rest, and the kick
of residuals, are Chebyshev series in it, after division by the square of the step.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.polynomial import chebyshev

from edgelaw._common.types import Array
from edgelaw.theory.noise._curves import State

_DIFFERENCE = 1e-4  # relative change of the step for derivatives


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


@dataclass(frozen=True, eq=False)
class Family:
    """Epochs of one order between two steps.

    `diagonal(steps)` gives the square and the mean, a row per step; kernels and kicks over step² are Chebyshev series
    in the logarithm of step + shift.
    """

    low: float
    high: float
    shift: float
    left: Array = field(repr=False)
    diagonal: Callable[[Array], tuple[Array, Array]] = field(repr=False)
    kernels: Array = field(repr=False)
    kicks: Array = field(repr=False)

    def __call__(self, steps: Array) -> Epochs:
        """The epochs at these steps."""
        table = chebyshev.chebvander(self._place(steps), len(self.kernels) - 1)
        squared = (steps**2)[:, None]
        kernel = np.tensordot(table, self.kernels, axes=1) * squared[:, :, None]
        return Epochs(self.left, *self.diagonal(steps), kernel, table @ self.kicks * squared)

    def shorter(self) -> "Family":
        """The same without the last two terms of the series: the difference tells how good the series is."""
        return dataclasses.replace(self, kernels=self.kernels[:-2], kicks=self.kicks[:-2])

    def slopes(self, steps: Array) -> Epochs:
        """The derivatives of the epochs' parts by the step, one epoch each."""
        up, down = steps * (1 + _DIFFERENCE), steps * (1 - _DIFFERENCE)
        above, below = self(up), self(down)
        width = (up - down)[:, None]
        parts = [
            (a - b) / (width[:, :, None] if a.ndim == 3 else width)
            for a, b in zip(above[1:], below[1:], strict=True)
        ]
        return Epochs(self.left, *parts)

    def _place(self, steps):
        """Steps as points of [−1, 1]; below the range everything goes with the square of the step."""
        inside = np.clip(steps, self.low, self.high)
        width = np.log((self.high + self.shift) / (self.low + self.shift))
        return 2 * np.log((inside + self.shift) / (self.low + self.shift)) / width - 1


class Pieces(NamedTuple):
    """Epochs at given steps: `diagonal` as in `Family`, the others with a first axis for the step."""

    left: Array
    diagonal: Callable[[Array], tuple[Array, Array]]
    kernels: Array
    kicks: Array


def points(low: float, high: float, count: int, shift: float) -> Array:
    """Chebyshev's points between two steps, in the logarithm of step + shift."""
    place = (np.cos(np.pi * (np.arange(count) + 0.5) / count) + 1) / 2
    return (low + shift) * np.exp(place * np.log((high + shift) / (low + shift))) - shift


def family(pieces: Pieces, low: float, high: float, shift: float) -> Family:
    """The epochs between two steps, from those at `points`."""
    count = len(pieces.kernels)
    steps = points(low, high, count, shift)
    # values at Chebyshev's points to coefficients
    transform = (
        2 / count * np.cos(np.pi / count * np.multiply.outer(np.arange(count), np.arange(count) + 0.5))
    )
    transform[0] /= 2
    squared = steps[:, None] ** 2
    kernels = np.tensordot(transform, pieces.kernels / squared[:, :, None], axes=1)
    return Family(
        low, high, shift, pieces.left, pieces.diagonal, kernels, transform @ (pieces.kicks / squared)
    )
