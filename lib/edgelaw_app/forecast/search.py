r"""The step with the smallest loss: few values of the loss, a parabola through the lowest three.

In :math:`x = \log(\eta/(L-\eta))`, L the limit of stability, the logarithm of every loss tried has one minimum.
"""

from collections.abc import Callable

import numpy as np

FEWEST, MOST = 4, 18  # steps tried
FAR, BESIDE = 1.2, 0.8  # in x: between two steps of the first look, and beside a guess
WORTH = 0.002  # in the logarithm of the loss: a smaller gain is not looked for
WIDE = 0.65  # in x: a parabola over wider intervals is not believed where it promises nothing
MEET = 0.02  # in x: steps closer than this are not both tried
DIVERGED = 700.0  # stands for the logarithm of an infinite loss


def best(
    loss_at: Callable[[float], float],
    limit: float,
    highest: float,
    guess: float | None = None,
    most: int = MOST,
) -> float:
    """The best step up to the `highest` one that is allowed, below the `limit` from which on the loss is infinite."""
    top, tried = float(np.log(highest / (limit - highest))), dict[float, float]()
    begin, apart = top, FAR
    if guess is not None:
        begin, apart = float(np.log(min(guess, highest) / (limit - min(guess, highest)))), BESIDE

    def step_at(x: float) -> float:
        return highest if x >= top else limit / (1 + float(np.exp(-x)))

    def attempt(x: float) -> None:
        x = min(x, top)
        if all(abs(x - other) > MEET for other in tried):
            loss = loss_at(step_at(x))
            tried[x] = float(np.log(np.clip(loss, 1e-290, 1e290))) if np.isfinite(loss) else DIVERGED

    for k in range(FEWEST) if guess is None else (0, 1, -1):
        attempt(begin - k * apart)
    while (before := len(tried)) < most:
        places = sorted(tried)
        gain, x = _promised(places, [tried[one] for one in places], apart, top)
        if gain >= WORTH:
            attempt(x)
        if len(tried) == before:
            break
    return step_at(min(sorted(tried), key=tried.__getitem__))


def _promised(places: list[float], values: list[float], apart: float, top: float) -> tuple[float, float]:
    """What the next place to try would gain, and where it is: beyond the end, a parabola's vertex, or the middle.

    The middle of the wider interval is tried over wide ones and beside infinite losses, where the minimum may be sharp.
    """
    k, last = int(np.argmin(values)), len(places) - 1
    if k == 0 or (k == last and places[k] < top):
        settled = k == 0 and 0 < values[1] - values[0] < WORTH  # less moves nothing
        return 0.0 if settled else np.inf, places[k] - apart if k == 0 else places[k] + apart
    low, high = places[k - 1], places[min(k + 1, last)]
    middle = (low + places[k]) / 2 if places[k] - low > high - places[k] else (places[k] + high) / 2
    width = max(places[k] - low, high - places[k])
    near = slice(max(min(k - 1, last - 2), 0), max(min(k + 2, last + 1), 3))
    if last < 2 or max(values[near]) > 600:
        return (np.inf if width > 4 * MEET else 0.0), middle
    parabola = np.polynomial.Polynomial.fit(places[near], values[near], 2)
    between = np.linspace(low, high, 201)
    x = float(between[parabola(between).argmin()])
    gain = values[k] - float(parabola(x))
    if width > WIDE and (gain < WORTH or abs(x - places[k]) < MEET):
        return np.inf, middle
    return gain, x
