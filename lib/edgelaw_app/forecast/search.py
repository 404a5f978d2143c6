r"""The step with the smallest loss: few values of the loss, a parabola through the lowest three.

In :math:`x = \log(\eta/(L-\eta))`, L the limit of stability, the logarithm of a loss is a smooth function with one
minimum on every spectrum and all labels that were tried. A first look goes down from the largest allowed step by
factors of three until the loss has risen twice, or to both sides of a guess; then the vertex of a parabola through the
lowest point and its neighbours is tried, until that would gain less than 0.2 %.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

FACTOR = 3.0  # between two steps of the first look
BESIDE = 1.8  # between a guess and the steps on both sides of it
FEWEST, MOST = 4, 18  # steps tried
WORTH = 0.002  # in the logarithm of the loss: a smaller gain is not looked for
WIDE = 1.3  # in x: a parabola over wider intervals is not believed where it promises nothing
MEET = 0.02  # in x: steps closer than this are not both tried


class Best(NamedTuple):
    """A step, and the loss that it leaves."""

    step: float
    loss: float


def best(
    loss_at: Callable[[float], float],
    limit: float,
    highest: float,
    guess: float | None = None,
    most: int = MOST,
) -> Best:
    """The best step below the `highest` one that is allowed, near a guess if there is one.

    Parameters
    ----------
    loss_at : callable
        The loss at a step; infinite where SGD diverges.
    limit : float
        Where SGD diverges.
    highest : float
        The largest step to try, below the limit.
    guess : float, optional
    most : int
        Steps to try at most.

    Examples
    --------
    >>> found = best(lambda step: np.exp((np.log(step) - np.log(0.3)) ** 2), limit=2.0, highest=1.8)
    >>> round(found.loss, 2), abs(found.step / 0.3 - 1) < 0.1
    (1.0, True)
    """
    tried: dict[float, float] = {}  # the logarithm of the loss by place
    steps: dict[float, float] = {}

    def attempt(step: float) -> None:
        step = min(float(f"{step:.4g}"), highest)
        place = float(np.log(step / (limit - step)))
        if all(abs(place - other) > MEET for other in tried):
            steps[place], tried[place] = step, _logarithm(loss_at(step))

    if guess is None:
        _downwards(attempt, tried, highest)
    else:
        for step in (guess, guess / BESIDE, guess * BESIDE):
            attempt(step)
    while len(tried) < most:
        places = sorted(tried)
        k = places.index(min(tried, key=tried.__getitem__))
        if k == 0 or (k == len(places) - 1 and steps[places[k]] < highest):
            beside = BESIDE if guess is not None else FACTOR
            attempt(steps[places[k]] * (1 / beside if k == 0 else beside))
            if len(tried) == len(places):
                break
            continue
        gain, place = _promised(places, [tried[one] for one in places], k)
        if gain < WORTH:
            break
        attempt(limit / (1 + float(np.exp(-place))))
        if len(tried) == len(places):
            break
    place = min(tried, key=tried.__getitem__)
    return Best(steps[place], float(np.exp(tried[place])))


def _downwards(attempt: Callable[[float], None], tried: dict[float, float], highest: float) -> None:
    """From the highest step down until the loss has risen twice in a row."""
    step = highest
    values: list[float] = []
    while len(values) < FEWEST or not (values[-1] > values[-2] > values[-3]):
        before = len(tried)
        attempt(step)
        if len(tried) == before or len(tried) >= MOST:
            break
        values.append(next(reversed(tried.values())))
        step /= FACTOR


def _promised(places: list[float], values: list[float], k: int) -> tuple[float, float]:
    """What the vertex of a parabola through the lowest point and its neighbours would gain, and where it is.

    At the highest step it is the parabola through the last three. Over wide intervals, and with infinite neighbours,
    the middle of the wider one is tried, because the minimum may be sharp.
    """
    low, high = places[max(k - 1, 0)], places[min(k + 1, len(places) - 1)]
    first = max(min(k - 1, len(places) - 3), 0)
    near = slice(first, first + 3)
    wider = (low + places[k]) / 2 if places[k] - low > high - places[k] else (places[k] + high) / 2
    width = max(places[k] - low, high - places[k])
    if len(places) < 3 or max(values[near]) > 600:
        return (np.inf if width > MEET * 4 else 0.0), wider
    parabola = np.polynomial.Polynomial.fit(places[near], values[near], 2)
    between = np.linspace(low, high, 201)
    lowest = int(parabola(between).argmin())
    gain, place = float(values[k] - parabola(between[lowest])), float(between[lowest])
    if width > WIDE and (gain < WORTH or abs(place - places[k]) < MEET):
        return np.inf, wider
    return gain, place


def _logarithm(loss: float) -> float:
    return float(np.log(min(max(loss, 1e-290), 1e290))) if np.isfinite(loss) else 700.0
