r"""Epochs at any step from a dozen of them: what a search over schedules, and a long schedule, are computed by.

An epoch's map of :math:`s_j = \mathbb E(v_j\cdot e)^2` is diagonal plus a matrix of few dimensions, and both are smooth
in the logarithm of the step. The diagonal and the mean are computed at every step; the rest, and the kick of
residuals, are polynomials through Chebyshev's points between two steps, after division by the square of the step.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.polynomial import chebyshev

from edgelaw._common.types import Array
from edgelaw.theory.noise import iid, random_reshuffle
from edgelaw.theory.noise.curves import State
from edgelaw.theory.noise.rows import LabelledRows

POINTS = 14  # steps at which epochs are made
_BASIS = 20  # dimensions of IID's smooth part
_DIFFERENCE = 1e-4  # relative change of the step for the derivative of the diagonal


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
    in the logarithm of the step.
    """

    low: float
    high: float
    left: Array = field(repr=False)
    diagonal: object = field(repr=False)
    kernels: Array = field(repr=False)
    kicks: Array = field(repr=False)

    def __call__(self, steps: Array) -> Epochs:
        """The epochs at these steps."""
        return self._at(steps, self.kernels, self.kicks, self.diagonal(steps))

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

    def _at(self, steps, kernels, kicks, diagonal):
        table = chebyshev.chebvander(self._place(steps), len(kernels) - 1)
        squared = (steps**2)[:, None]
        kernel = np.tensordot(table, kernels, axes=1) * squared[:, :, None]
        return Epochs(self.left, *diagonal, kernel, table @ kicks * squared)

    def _place(self, steps):
        """Steps as points of [−1, 1]; below the range everything goes with the square of the step."""
        inside = np.clip(steps, self.low, self.high)
        return 2 * np.log(inside / self.low) / np.log(self.high / self.low) - 1


def family(
    rows: LabelledRows, order: str, low: float, high: float, batch: int = 1, points: int = POINTS
) -> list[Family]:
    """The epochs of an order between two steps; for random reshuffle at two resolutions, for IID the same twice."""
    angle = np.pi * (np.arange(points) + 0.5) / points
    steps = low * np.exp((np.cos(angle) + 1) / 2 * np.log(high / low))
    made = (_of_iid if order == "iid" else _of_reshuffle)(rows, steps, batch)
    # values at Chebyshev's points to coefficients
    transform = 2 / points * np.cos(np.multiply.outer(np.arange(points), angle))
    transform[0] /= 2
    families = []
    for left, diagonal, kernels, kicks in made:
        squared = steps[:, None] ** 2
        series = (
            np.tensordot(transform, kernels / squared[:, :, None], axes=1),
            transform @ (kicks / squared),
        )
        families.append(Family(low, high, left, diagonal, *series))
    return families


def _of_iid(rows, steps, batch):
    """IID: the matrix of an epoch without its diagonal, projected on polynomials of the logarithm of λ."""
    position = np.log1p(rows.eigenvalues)
    span = max(np.ptp(position), 1e-12)
    table = chebyshev.chebvander(2 * (position - position.min()) / span - 1, min(_BASIS, len(position)) - 1)
    left = np.linalg.qr(rows.coupling[:, None] * table)[0]

    def diagonal(steps):
        square, mean = np.ones((2, len(steps), len(rows.eigenvalues)))
        a = np.multiply.outer(steps, rows.eigenvalues / rows.shape[1])
        for size, count in iid.sizes(rows, batch):
            square *= ((1 - a) ** 2 - a**2 / size) ** count
            mean *= (1 - a) ** count
        return square, mean

    kernels, kicks = [], []
    for step, square in zip(steps, diagonal(steps)[0], strict=True):
        epoch = iid.epoch(rows, step, batch)
        moved = np.stack([epoch.linear(column) for column in left.T], axis=1)
        kernels.append(left.T @ (moved - square[:, None] * left))
        kicks.append(epoch(State(np.zeros(len(square)), np.ones(len(square)))).second)
    made = left, diagonal, np.array(kernels), np.array(kicks)
    return [made, made]


def _of_reshuffle(rows, steps, batch):
    """Random reshuffle, on the first contour that serves all steps."""
    maps = random_reshuffle.good_maps(rows, steps, batch)

    def diagonal(steps):
        mean = maps.mean(steps)
        return mean**2, mean

    pairs = [maps(step) for step in steps]
    return [
        (maps.left, diagonal, np.array([e.kernel for e in made]), np.array([e.kick for e in made]))
        for made in zip(*pairs, strict=True)
    ]
