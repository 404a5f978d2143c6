"""The one policy of accuracy: compute twice, compare, state the error, go on by a law, or refuse.

An engine offers *attempts*, the most promising first. Each computes both losses at two resolutions, or raises
`ArithmeticError` where its contour, circle or Newton iteration fails. `settled` takes the first on which the two
resolutions agree, or the best there is, and `vouched` makes a learning curve of it.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterable
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from edgelaw._common.types import Array, Integers
from edgelaw.curves import VANISHED, LearningCurve

ENOUGH = 3e-6  # where two resolutions differ by more, another attempt is made
VISIBLE = 1e-13  # losses that the two must agree on for that
LARGEST_ERROR = 0.02  # a curve whose two resolutions differ by more is not returned
STATED_ABOVE = 1e-4  # of the start: the relative error of a labelled loss is stated of what is larger
AT_ONCE = 1e-7  # losses below it after one epoch are rounding after two, and go on by their rate
_UNSURE, _DISTRUSTED = 1e-7, 3e-5  # losses below are continued where two resolutions differ by so much


@dataclasses.dataclass(frozen=True, eq=False)
class Attempt:
    """Both losses at two resolutions, arrays (2, epochs): test and training loss, −∞ where too little is left.

    `plateau` is what null directions keep of the test loss, `floor` the least error that the method may state.
    """

    fine: Array
    coarse: Array
    plateau: float
    floor: float

    def difference(self) -> float:
        """The largest relative difference of the two resolutions where a loss is seen; infinite if none is known."""
        if np.isnan(self.fine[:, 0]).any():
            return np.inf
        gap = _difference(self.fine, self.coarse)[np.abs(self.fine) > VISIBLE].max(initial=0.0)
        return float(gap) if np.isfinite(gap) else np.inf

    def agreed(self) -> int:
        """For how many epochs the two agree well enough to be returned, and no loss is below its plateau."""
        level = np.array([[self.plateau], [0.0]])
        alike = (_difference(self.fine, self.coarse) < LARGEST_ERROR) & (self.fine > level)
        alike |= (np.abs(self.fine - level) < VISIBLE) | np.isnan(self.fine)  # so late that nothing is left
        return _leading(alike.all(axis=0))


def _difference(fine: Array, coarse: Array) -> Array:
    """The relative difference of two resolutions."""
    with np.errstate(all="ignore"):
        return np.abs(coarse / fine - 1)


def _leading(good: npt.ArrayLike) -> int:
    """How many come before the first that is not."""
    return int(np.append(good, False).argmin())


Rank = TypeVar("Rank", float, tuple[float, float])
Result = TypeVar("Result")


def vanished(fine: Array, coarse: Array, plateau: float, floor: float, n: Integers) -> Attempt:
    """Losses below `AT_ONCE` after one epoch: the first, at two resolutions and without the plateau, and no other."""
    both = np.full((2, 2, len(n)), np.nan)
    both[..., 0] = np.maximum([fine, coarse], np.finfo(float).tiny)  # what rounding makes negative
    both[:, 0] += plateau
    return Attempt(both[0], both[1], plateau, floor)


def settled(
    n: npt.NDArray, attempts: Iterable[Callable[[Integers], Attempt]], times: npt.NDArray | None = None
) -> LearningCurve:
    """The learning curve at n of the first attempt that is good enough, or of the best; the last word on refusals.

    An attempt is called with the epochs to compute (`supporting_epochs`, if no `times` are given). If all of them fail,
    the first one's error is raised.
    """
    if len(n) == 1:
        return learning_curve(n, np.ones(1), np.ones(1), 0.0)
    computed = supporting_epochs(n) if times is None else times

    def ranked(attempt: Callable[[Integers], Attempt]) -> tuple[tuple[float, float], Attempt]:
        result = attempt(computed)
        return (-result.agreed(), result.difference()), result

    return vouched(n, computed, chosen(functools.partial(ranked, attempt) for attempt in attempts)[1])


def chosen(
    attempts: Iterable[Callable[[], tuple[Rank, Result]]], enough: float = ENOUGH
) -> tuple[Rank, Result]:
    """The first result whose two resolutions differ by less than `enough`, or the best.

    An attempt gives a rank, at last by how much they differ, and a result, or raises `ArithmeticError`. If all of them
    fail, the first one's error is raised.
    """
    best, refusal = None, None
    for attempt in attempts:
        try:
            made = attempt()
        except (ArithmeticError, np.linalg.LinAlgError) as failure:
            refusal = refusal or failure
            continue
        if best is None or made[0] < best[0]:
            best = made
        if np.ravel(made[0])[-1] <= enough:
            break
    if best is None:
        if isinstance(refusal, ArithmeticError):
            raise refusal
        raise ArithmeticError(
            "No contour around this spectrum is usable, so its curve is not returned: ask for fewer epochs."
        ) from refusal
    return best


def agreeing(
    what: str, attempts: Iterable[Callable[[], tuple[float, Result]]], enough: float
) -> tuple[float, Result]:
    """The best attempt and by how much its two resolutions differ, at most `LARGEST_ERROR`."""
    difference, result = chosen(attempts, enough)
    if not difference <= LARGEST_ERROR:
        raise ArithmeticError(
            f"{what} could not be computed: two resolutions differ by a relative {difference:.0e}."
        )
    return difference, result


def supporting_epochs(n: Integers) -> Integers:
    """The positive epochs to compute for those to return: all up to 256, then each and the one before."""
    last = int(n[-1])
    return np.unique(np.concatenate([np.arange(1, min(last, 256) + 1), n[n > 1] - 1, n[n > 0]]))


def vouched(n: npt.NDArray, computed: npt.NDArray, attempt: Attempt) -> LearningCurve:
    """The learning curve at n of an attempt at the `computed` epochs.

    The error is three times the largest relative difference of the two, or the `floor`. From where they differ by
    more than 2 % the curve goes on by its law, provided that a loss without its plateau is below 1e-7 there or −∞ from
    there on; otherwise it is refused. So it is if the law is not settled, whose doubt is part of the error.
    """
    fine, coarse, level = attempt.fine, attempt.coarse, np.array([[attempt.plateau], [0.0]])
    difference, above = _difference(fine, coarse), fine - level
    good = (difference < LARGEST_ERROR) & (above > 0)
    good |= (np.abs(above) < 1e-280) | (np.abs(above) < 1e-14 * level)
    gone = np.maximum(np.abs(fine[:, 0]), np.abs(coarse[:, 0])) < VANISHED  # after one epoch
    good[gone, 0], difference[gone, 0] = True, 0.0
    ends = []
    for row, gaps, last in zip(above, difference, map(_leading, good), strict=True):
        if last < len(row) and not (last > 0 and (row[last - 1] < _UNSURE or np.isneginf(row[last]))):
            worst = difference[:, last].max()
            what = f"Two resolutions differ by a relative {worst:.0e}"
            if worst < LARGEST_ERROR:
                what = "A loss does not come out above its plateau"
            raise ArithmeticError(
                f"{what} at epoch {computed[last]}, so this curve is not returned: ask for fewer epochs or a step "
                "further from 2."
            )
        tried = {last, _trusted(row, gaps, last)}
        ends.append(
            min((_ended(computed, row, gaps, count, n) for count in tried), key=lambda end: end.error)
        )
    error, continued = max(end.error for end in ends), min(end.kept for end in ends)
    if not error < 3 * LARGEST_ERROR:
        raise ArithmeticError(
            f"Losses after epoch {computed[continued - 1]} are too small to be computed, and their rate still changes, "
            "so this curve is not returned: ask for fewer epochs."
        )
    curve = learning_curve(n, attempt.plateau + ends[0].losses, ends[1].losses, max(attempt.floor, error))
    if continued == len(computed) or computed[continued] > n[-1]:
        return curve
    return dataclasses.replace(curve, continued=computed[continued - 1].item())


def _trusted(losses: Array, difference: Array, count: int) -> int:
    """How many of the first `count` losses to keep where the others are not vouched for: not the small and doubtful."""
    if count == len(losses) or count == 0:
        return count
    vanished = losses[count - 1] < VANISHED
    fewer = min(count, _leading((losses >= (VANISHED if vanished else _UNSURE)) | (difference < _DISTRUSTED)))
    if vanished:  # the last one kept is the first that has
        return max(fewer, int(np.argmax(losses < VANISHED)) + 1)
    return fewer if fewer > 0 and losses[fewer - 1] < _UNSURE else count


class _End(NamedTuple):
    """A loss at n of which so many are computed, and its relative error."""

    losses: Array
    error: float
    kept: int


def _ended(computed: npt.NDArray, losses: Array, difference: Array, count: int, n: npt.NDArray) -> _End:
    """The first `count` losses at n, 1 at n = 0, and beyond them by their law.

    Above `VANISHED`, if anything computed still is, the law's error is its difference from the law at two thirds of
    the way.
    """
    error = 3 * difference[:count][losses[:count] > 1e-250].max(initial=0.0)
    gone = np.abs(losses[count:]).max(initial=0.0) < VANISHED
    at, losses = np.append(0, computed[:count]), np.append(1.0, losses[:count])
    values = losses[np.minimum(np.searchsorted(at, n), count)]
    values[n > at[-1]] = ahead = _by_law(at, losses, late := n[n > at[-1]])
    early, seen = at <= 2 / 3 * at[-1], (ahead > VANISHED) & ~gone
    doubt = np.abs(_by_law(at[early], losses[early], late[seen]) / ahead[seen] - 1).max(initial=0.0)
    return _End(values, float(max(error, doubt)), count)


def _by_law(at: npt.NDArray, losses: Array, n: npt.NDArray) -> Array:
    """Losses at n beyond the last, by the law (1 + n)^(−γ) e^(−κn), γ, κ ≥ 0, through it and two earlier ones.

    Of a spectrum with an edge κ is 0; with a gap γ is that of its end.
    """
    places = [at[-1]]
    for _ in range(2):
        places.append(at[at <= 2 / 3 * places[-1]][-1])
    falls = -np.log(np.maximum(losses[np.searchsorted(at, places)], np.finfo(float).tiny))
    (fall, before), (time, earlier), (stretch, wider) = (
        -np.diff(x) for x in (falls, places, np.log1p(places))
    )
    if not time > 0:
        return np.full(len(n), losses[-1])
    bent = time * wider - earlier * stretch
    gamma = np.clip((before * time - fall * earlier) / bent, 0, max(fall, 0) / stretch) if bent > 0 else 0.0
    kappa = max(fall - gamma * stretch, 0) / time
    return losses[-1] * np.exp(-kappa * (n - at[-1])) * ((1 + n) / (1 + at[-1])) ** -gamma


def learning_curve(n: npt.NDArray, test: Array, train: Array, error: float) -> LearningCurve:
    """A computed curve: it starts at 1, what is below 1e-300 is 0, and there are no standard errors."""
    test[0] = train[0] = 1.0
    test[np.abs(test) < 1e-300] = train[np.abs(train) < 1e-300] = 0.0
    nothing_drawn = np.full(len(n), np.nan)
    return LearningCurve(n, test, train, nothing_drawn, nothing_drawn.copy(), error=float(error))
