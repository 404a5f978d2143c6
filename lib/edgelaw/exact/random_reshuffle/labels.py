r"""Labels under random reshuffle: an epoch as a linear map of :math:`s_j = \mathbb E(v_j\cdot e)^2`, plus a kick.

.. math:: s \leftarrow Ts + \frac{m\,\sigma^2}{\text{scale}}\,\nu, \qquad
    \bar e_j \leftarrow \bar a(\lambda_j)\,\bar e_j,

with T, ā and ν of :mod:`.engine` and σ² the least training loss. *Derived*, in the limit of many dimensions, for rows
of equal norm; at a finite d the mean losses are seen to differ by a relative O(1/d).
"""

import contextlib
import dataclasses
import functools
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from edgelaw._common import arguments, threads
from edgelaw._common.types import Array, ArrayLike, Integers
from edgelaw.exact import agreement, sources
from edgelaw.exact.batches import limits, requests
from edgelaw.exact.batches.partition import partition
from edgelaw.exact.labels import curves, interpolation
from edgelaw.exact.labels.curves import LabelCurve, LabelFloor, State
from edgelaw.exact.labels.interpolation import Family, Ruler
from edgelaw.exact.labels.rows import LabelledRows
from edgelaw.exact.random_reshuffle import contours, engine
from edgelaw.exact.random_reshuffle.batches import Batches
from edgelaw.exact.random_reshuffle.engine import EpochMap
from edgelaw.exact.random_reshuffle.epochs import Epoch
from edgelaw.exact.random_reshuffle.rows import Rows

_VANISHED = 1e-9  # of the start: what is below it may be less accurate than the stated error
_OWN_OPERATORS = 3  # different steps of a schedule up to which each has an operator of its own
_OPERATORS = 18  # that all other schedules share
_LINEAR = 3.0  # the part of their ruler that goes with the step

Moves = Callable[[float], Callable[[State], State]]  # from a step to its epoch
Compared = tuple[float, LabelCurve]  # how far two resolutions are apart, and the finer one


@threads.one_blas_thread()
def curve(rows: LabelledRows, epochs: ArrayLike, step: ArrayLike = 1.0, batch: int = 1) -> LabelCurve:
    """Losses under random reshuffle, one step for all epochs or one per epoch; at least 20 eigenvalues, with zeros.

    The error compares two resolutions, and adds what `norms_error` says. Above 2 % it is refused: without noise at 64
    rows per dimension and steps from 0.6 on, for eigenvalues that fall like 1/j, as an epoch leaves only rounding.
    """
    n, steps = _requested(rows, epochs, step, batch)
    of_norms = curves.norms_error(rows, steps)
    made = _best("curve of these rows", _attempts(rows, n, steps, batch), of_norms / 10)
    return dataclasses.replace(made, error=made.error + of_norms)


def _requested(rows: LabelledRows, epochs: ArrayLike, step: ArrayLike, batch: int) -> tuple[Integers, Array]:
    """The epochs to return and the steps of all epochs; steps beyond stability are refused."""
    n, steps = curves.requested(epochs, step, 2.0 if batch == 1 else np.inf)
    if batch != 1 and steps.any():
        requests.of_sample("random_reshuffle", rows.spectrum, steps.max(), batch, rows.aspect, fewest=1)
    return n, steps


def _best(what: str, attempts: Iterable[Callable[[], tuple[float, Any]]], enough: float = 0.0) -> Any:
    """The best attempt; a thousandth is `enough`, or more where norms add more: targets and a finite d do too."""
    return agreement.agreeing(f"The reshuffle {what}", attempts, max(agreement.LARGEST_ERROR / 20, enough))[1]


def _attempts(rows: LabelledRows, n: Integers, steps: Array, batch: int) -> Iterator[Callable[[], Compared]]:
    """The curve by shared epochs, if its steps are many, and by operators of its own."""
    if len(np.unique(steps[steps > 0])) > _OWN_OPERATORS:
        with contextlib.suppress(ArithmeticError):
            fine, coarse = covering(rows, 0.0, steps.max(), batch)
            moves = [family.at for family in (fine, coarse, fine.shorter())]
            yield functools.partial(_compared, rows, n, steps, moves)
    for maps in all_maps(rows, batch):
        yield functools.partial(_compared, rows, n, steps, maps.moves())


def _compared(rows: LabelledRows, n: Integers, steps: Array, moves: Iterable[Moves]) -> Compared:
    """The curve by the first of several resolutions, and its distance from the others."""
    walks = [curves.walk(rows, n, steps, epoch_at) for epoch_at in moves]
    fine, *others = (curves.label_curve(rows, n, states) for states in walks)
    error = sum(_distance(fine, other) for other in others)
    return error, curves.label_curve(rows, n, walks[0], error, bounded=True)


def _distance(fine: Any, rough: Any) -> float:
    """The largest relative difference of the losses of two curves, or of two floors."""
    worst = 0.0
    for name in ("train", "distance", "held_out"):
        if getattr(fine, name) is not None:
            a, b = (np.atleast_1d(getattr(one, name)) for one in (fine, rough))
            size = np.maximum(np.abs(a), _VANISHED * abs(a[0]))
            gap = np.abs((a - b) / np.where(size > 0, size, 1.0)).max()
            worst = max(worst, gap if np.isfinite(gap) else np.inf)
    return worst


def floor(rows: LabelledRows, step: float, batch: int = 1) -> LabelFloor:
    """Where the losses end at a constant step: (1 − T)⁻¹ of an epoch's kick. Its limits are in chapter 14."""
    _, steps = _requested(rows, 1, step, batch)

    def attempt(maps: Maps) -> tuple[float, LabelFloor]:
        fine, coarse = (curves.label_floor(rows, one.solved(one.left @ one.kick)) for one in maps(steps[0]))
        return _distance(fine, coarse), fine

    attempts = (functools.partial(attempt, maps) for maps in all_maps(rows, batch))
    return _best("floor of these rows", attempts)


def mean_error(rows: LabelledRows, steps: Array, batch: int = 1) -> Array:
    """The mean error along each eigenvector after epochs at these steps, over its start."""
    different, counts = np.unique(steps, return_counts=True)
    return np.prod(next(all_maps(rows, batch)).diagonal(different)[1] ** counts[:, None], axis=0)


def _with_rows(make: Callable) -> Callable:
    """What is made once and kept as long as the rows live; it must not refer to them."""
    known: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()

    @functools.wraps(make)
    def kept(rows: LabelledRows, *rest: Any) -> Any:
        made = known.setdefault(rows, {})
        if rest not in made:
            made[rest] = make(rows, *rest)
        return made[rest]

    return kept


@_with_rows
def step_limit(rows: LabelledRows, batch: int = 1) -> float:
    """The steps that are accepted: below 2 for single rows, and with batches below the limit of stability."""
    return limits.stability("random_reshuffle", rows.spectrum, rows.aspect, batch)


class Maps:
    """Epochs at any step on one contour, each made once, at two resolutions."""

    def __init__(self, frames: engine.Frames, rows: LabelledRows, batch: int):
        self.frames, self.shape, self.batch = frames, rows.shape, batch
        self._noise = rows.shape[0] * rows.residual / rows.scale / np.sqrt(rows.shape[1])
        self._made: dict[float, tuple[EpochMap, EpochMap]] = {}

    def epoch(self, step: float) -> Epoch:
        """The epoch as the engine knows it."""
        return Rows(float(step)) if self.batch == 1 else Batches(partition(*self.shape, self.batch, step))

    def diagonal(self, steps: Array) -> tuple[Array, Array]:
        """ā² and ā, a row per step."""
        mean = self.frames[0].mean([self.epoch(step) for step in steps])
        return mean**2, mean

    def __call__(self, step: float) -> tuple[EpochMap, EpochMap]:
        """The epoch at two resolutions."""
        if step not in self._made:
            self._made[step] = self._make(step)
        return self._made[step]

    def _make(self, step: float) -> tuple[EpochMap, EpochMap]:
        return engine.maps(self.frames, self.epoch(step), self._noise)

    def moves(self) -> list[Moves]:
        """The epoch that a step makes, at either resolution."""
        return [functools.partial(self._move, which) for which in (0, 1)]

    def _move(self, which: int, step: float) -> Callable[[State], State]:
        if step == 0:
            return lambda state: state
        one = self(step)[which]
        return lambda state: State(one(state.second), state.mean * one.mean)


def all_maps(rows: LabelledRows, batch: int = 1) -> Iterator[Maps]:
    """Maps on one contour after another, the most promising first; those made before are used again."""
    batch = arguments.batch(batch, rows.shape[0])
    return (maps for place in (0, 1) if (maps := _maps(rows, batch, place)) is not None)


@_with_rows
def _maps(rows: LabelledRows, batch: int, place: int) -> Maps | None:
    """Maps on the contour that comes at this place, if there are so many; every eigenvalue is one by itself."""
    sources.sample(rows.spectrum)  # refuses too few
    law = contours.sample(rows.spectrum, np.full(rows.shape[1], 1 / rows.shape[1]), rows.aspect)
    frames = engine.frames_at(law, place)
    return frames and Maps(frames, rows, batch)


def covering(rows: LabelledRows, low: float, high: float, batch: int = 1) -> list[Family]:
    """Epochs at any step up to 0.98 of the limit, at two resolutions, the same for all searches and schedules."""
    shared: list[Family] = _families(rows, arguments.batch(batch, rows.shape[0]))
    # their end is one way to compute 0.98 of a limit, there are others
    if not shared or not (high <= shared[0].ruler.high or np.isclose(high, shared[0].ruler.high)):
        raise ArithmeticError(
            "Random reshuffle could not be computed at all steps of a search over these rows."
        )
    return shared


@_with_rows
def _families(rows: LabelledRows, batch: int) -> list[Family]:
    """Interpolated epochs at two resolutions; none where no contour has operators good enough at every step."""
    high = interpolation.BELOW * step_limit(rows, batch)
    smooth = 2 / (rows.aspect * rows.eigenvalues[-1])  # gradient descent's limit
    ruler = Ruler(0.0, high, smooth, _LINEAR)
    attempts = (functools.partial(_family, rows, ruler, maps) for maps in all_maps(rows, batch))
    try:
        return list(_best("family", attempts))
    except ArithmeticError:
        return []


def _family(rows: LabelledRows, ruler: Ruler, maps: Maps) -> tuple[float, list[Family]]:
    """Epochs by a contour's operators at the ruler's steps, and how far two resolutions are apart after one of them."""
    steps, worst = ruler.steps(_OPERATORS), 0.0
    for step in steps:
        worst = max(worst, _compared(rows, np.array([0, 1]), np.array([step]), maps.moves())[0])
        if worst > agreement.LARGEST_ERROR:
            raise ArithmeticError(f"Two resolutions of an epoch differ by {worst:.0e}.")

    families = []
    for made in zip(*map(maps, steps), strict=True):
        kernels = np.array([one.kernel for one in made])
        kicks = np.array([one.left @ one.kick for one in made])
        pieces = interpolation.Pieces(maps.frames[0].left, maps.diagonal, kernels, kicks)
        families.append(interpolation.family(pieces, ruler))
    return worst, families
