"""Along the points of a circle: guesses extrapolated from the last solutions, and shorter strides where they fail."""

from collections.abc import Callable
from typing import Any

import numpy as np

from edgelaw.exact.flip_flop.collocation import Complex, Equations, Unsolved

_SHORTEST_STRIDE = 0.06  # from point to point, that is still tried
_GUESSES_FROM = 8  # solutions that a guess is extrapolated from

History = list[tuple[float, Complex]]  # of places and the unknown there


def around(
    equations: Equations, z_of: Callable[[Any], Any], count: int, seen: Callable[..., Complex]
) -> Complex:
    """What is `seen` of the solutions at places 0, 1, ... (last axis): of z, X and 1/(1 − zY) at the end of Y.

    `z_of` gives z at a place, which may be a fraction; at 0 it is negative.
    """
    # from z = 0 first, on a straight line, which crosses no cut if its end is not positive
    X, touched = _advanced(equations, lambda share: share * z_of(0), [(0.0, equations.start())], 1.0)
    values, history = [seen(z_of(0), X, touched)], [(0.0, X)]
    for place in range(1, count):
        values.append(seen(z_of(place), *_advanced(equations, z_of, history, place)))
    return np.array(values).T


def _advanced(
    equations: Equations, z_of: Callable[[Any], Any], history: History, place: float
) -> tuple[Complex, Complex]:
    """The solution at a place, by halves of the way where Newton's method fails; all go into the history."""
    ahead = place
    while True:
        try:
            X, touched = equations.newton(z_of(ahead), _extrapolated(equations, history, ahead))
        except Unsolved:
            ahead = (history[-1][0] + ahead) / 2
            if ahead - history[-1][0] < _SHORTEST_STRIDE:
                raise
            continue
        history.append((ahead, X))
        if ahead == place:
            return X, touched
        ahead = place


def _extrapolated(equations: Equations, history: History, place: float) -> Complex:
    """The unknown at a place by the polynomial through the last few, in the charts that suit the last."""
    del history[:-_GUESSES_FROM]
    history[:] = zip((at for at, _ in history), equations.charted([X for _, X in history]), strict=True)
    places = np.array([at for at, _ in history])
    gaps, ahead = places[:, None] - places, np.tile(place - places, (len(places), 1))
    np.fill_diagonal(gaps, 1.0)
    np.fill_diagonal(ahead, 1.0)
    weights = (ahead / gaps).prod(axis=1)  # Lagrange's
    return sum(weight * X for weight, (_, X) in zip(weights, history, strict=True))
