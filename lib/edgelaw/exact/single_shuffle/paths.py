"""Solutions of an equation that depends on log z, followed along a path in it."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from edgelaw._common.types import Array

SOLVED = 9.0  # decimal digits of Newton's next change, or a solution does not count as one
_FIRST = -5.0  # log |z| where a path begins: there the solution is nearly that of z = 0, and no pole of α is near
_BENT = 0.3  # share of a step along the tangent that Newton's method may mend: with more it might change the branch

Changes = Callable[[complex, npt.NDArray], tuple[npt.NDArray, npt.NDArray]]


def around(logarithm: float, angles: Array) -> npt.NDArray:
    """A path in log z on which the points of a circle with these angles lie, descending: from near z = 0."""
    return np.append(_FIRST + 1j * np.pi, logarithm + 1j * angles)


def follow(path: npt.NDArray, start: npt.NDArray, changes: Changes, small: float) -> tuple[npt.NDArray, float]:
    """The solution x at the points of a path from a guess at the first, and the largest relative change left.

    `changes(at, x)` are Newton's change and the slope of the solution along the path. Steps go along the tangent, and
    are halved where Newton's method would have to mend much of them; where they become tiny the change is infinite.
    Changes are relative to |x| + `small`.
    """
    values = np.full((len(path), len(start)), np.nan + 0j)
    at, reach, left = path[0], np.inf, 20 * len(path) + 400
    x, slope, worst = _corrected(at, start, changes, small)
    for place, point in enumerate(path):
        while at != point:
            way = point - at
            step = way * min(1.0, reach / abs(way))
            guess = x + slope * step
            there = point if reach >= abs(way) else at + step
            found, turned, size = _corrected(there, guess, changes, small)
            bent = np.abs(found - guess) > _BENT * np.abs(guess - x) + 1e-3 * (np.abs(x) + small)
            left -= 1
            if size < 1e-10 and not bent.any():
                x, slope, at, reach, worst = found, turned, there, 2 * abs(step), max(worst, size)
            elif abs(step) > 1e-6 and left > 0:
                reach = abs(step) / 2
            else:
                return values, np.inf
        values[place] = x
    return values, worst


def _corrected(
    at: complex, x: npt.NDArray, changes: Changes, small: float
) -> tuple[npt.NDArray, npt.NDArray, float]:
    """The solution near a guess, its slope, and the next relative change."""
    with np.errstate(all="ignore"):
        for _ in range(8):
            change, slope = changes(at, x)
            x = x - change
            size = float((np.abs(change) / (np.abs(x) + small)).max()) ** 2
            if not size > 1e-15:  # of the next change, which is of the order of this one's square
                break
    return x, slope, size
