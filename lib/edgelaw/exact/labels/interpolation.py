r"""Epochs at any step from two dozen of them: what a search over schedules, and a long schedule, are computed by.

An epoch's map of :math:`s_j = \mathbb E(v_j\cdot e)^2` is diagonal, computed at every step, plus a matrix of few
dimensions; that and the kick, over step², are Chebyshev series in the root of the step.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.polynomial import chebyshev

from edgelaw._common.types import Array
from edgelaw.exact.labels.curves import State

BELOW = 0.98  # the largest step of a search, and of epochs for all schedules, over the limit of stability
LOWEST = 1e-3  # over that: the least peak of a search; below it epochs are quadratic in the step
TERMS = 24  # of the series, and polynomials of what an epoch under IID is beside its diagonal


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


def nodes(high: float) -> Array:
    """The steps at which epochs are made for all up to `high`, the largest first."""
    least = np.sqrt(LOWEST)
    return high * (least + (1 - least) * (1 + chebyshev.chebpts1(TERMS)[::-1]) / 2) ** 2


def _place(steps: Array, high: float) -> Array:
    """Where steps are in [−1, 1]."""
    least = np.sqrt(LOWEST)
    return 2 * (np.sqrt(np.clip(steps / high, LOWEST, 1.0)) - least) / (1 - least) - 1


class Family(NamedTuple):
    """Epochs at any step up to a highest: series of kernels and of kicks; `diagonal` gives squares and means."""

    high: float
    left: Array
    diagonal: Callable[[Array], tuple[Array, Array]]
    kernels: Array
    kicks: Array

    def __call__(self, steps: Array) -> Epochs:
        """The epochs at these steps; those at equal steps are made once."""
        different, which = np.unique(steps, return_inverse=True)
        table = (
            chebyshev.chebvander(_place(different, self.high), len(self.kernels) - 1)
            * different[:, None] ** 2
        )
        made = *self.diagonal(different), np.tensordot(table, self.kernels, axes=1), table @ self.kicks
        return Epochs(self.left, *(part[which] for part in made))

    def at(self, step: float) -> Callable[[State], State]:
        """The epoch at one step."""
        one = self(np.array([step]))
        return lambda state: one.walk(state)[-1]

    def shorter(self) -> "Family":
        """The same without the last two terms of the series: the difference tells how good the series is."""
        return self._replace(kernels=self.kernels[:-2], kicks=self.kicks[:-2])

    def with_slopes(self, steps: Array) -> tuple[Epochs, Epochs]:
        """The epochs at these steps, and the derivatives of their parts, by differences."""
        change = np.cbrt(np.finfo(float).eps) * steps
        up, down = np.minimum(steps + change, self.high), steps - change
        parts = [np.split(part, 3) for part in self(np.concatenate([steps, up, down]))[1:]]
        slopes = (((above - below).T / (up - down)).T for _, above, below in parts)
        return Epochs(self.left, *(here for here, _, _ in parts)), Epochs(self.left, *slopes)


def family(
    high: float,
    left: Array,
    diagonal: Callable[[Array], tuple[Array, Array]],
    kernels: list[Array],
    kicks: list[Array],
) -> Family:
    """The epochs up to a highest step, from those at the nodes."""
    steps = nodes(high)
    place = _place(steps, high)

    def series(values: list[Array]) -> Array:
        flat = np.reshape(values, (TERMS, -1)) / steps[:, None] ** 2
        return np.reshape(chebyshev.chebfit(place, flat, TERMS - 1), (TERMS, *values[0].shape))

    return Family(high, left, diagonal, series(kernels), series(kicks))
