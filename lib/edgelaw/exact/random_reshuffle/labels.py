r"""Labels under random reshuffle: an epoch as a linear map of :math:`s_j = \mathbb E(v_j\cdot e)^2`, plus a kick.

.. math:: s \leftarrow Ts + \frac{m\,\sigma^2}{\text{scale}}\,\nu, \qquad
    \bar e_j \leftarrow \bar a(\lambda_j)\,\bar e_j,

with T, ā and ν of :mod:`.engine` and σ² the least training loss. *Derived* (res-lp-losses), in the limit of many
dimensions, for rows of equal norm. At a finite size losses differ, the more the smaller they and the effective rank
are, as those of rows without labels do (:mod:`edgelaw.exact.finite_size`).
"""

import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from edgelaw._common import arguments, threads
from edgelaw._common.types import Array, ArrayLike, Integers
from edgelaw.exact import agreement, sources
from edgelaw.exact.batches import limits, requests
from edgelaw.exact.batches.partition import partition
from edgelaw.exact.labels import curves, interpolation
from edgelaw.exact.labels.curves import LabelCurve, LabelFloor, State
from edgelaw.exact.labels.rows import LabelledRows
from edgelaw.exact.random_reshuffle import contours, engine
from edgelaw.exact.random_reshuffle.batches import Batches
from edgelaw.exact.random_reshuffle.epochs import Epoch
from edgelaw.exact.random_reshuffle.rows import Rows

_VANISHED = 1e-9  # of the start: what is below it may be less accurate than the stated error

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
    """The curve by the epochs that long schedules share, and by operators of its own."""
    if len(np.unique(steps[steps > 0])) > interpolation.TERMS / 8:
        fine, coarse = families(rows, batch)
        if steps.max() <= fine.high:
            moves = [one.at for one in (fine, coarse, fine.shorter())]
            yield functools.partial(_compared, rows, n, steps, moves)
    for maps in all_maps(rows, batch):
        moves = [functools.partial(maps.move, which) for which in (0, 1)]
        yield functools.partial(_compared, rows, n, steps, moves)


def _compared(rows: LabelledRows, n: Integers, steps: Array, moves: Iterable[Moves]) -> Compared:
    """The curve by the first of several resolutions, and its distance from the others."""
    walks = [curves.walk(rows, n, steps, epoch_at) for epoch_at in moves]
    fine, *others = (curves.label_curve(rows, n, states) for states in walks)
    error = sum(_distance(fine, other) for other in others)
    return error, curves.label_curve(rows, n, walks[0], error, bounded=True)


def _distance(fine: Any, rough: Any) -> float:
    """The largest difference of the losses of two curves, or of two floors, relative to a loss that is seen."""
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


def step_limit(rows: LabelledRows, batch: int = 1) -> float:
    """The steps that are accepted: below 2 for single rows, and with batches below the limit of stability."""
    return limits.stability("random_reshuffle", rows.spectrum, rows.aspect, batch)


class Maps(NamedTuple):
    """Epochs at any step on one contour, at two resolutions; `noise` is the square of all residuals over the scale."""

    frames: engine.Frames
    shape: tuple[int, int]
    batch: int
    noise: float

    def epoch(self, step: float) -> Epoch:
        """The epoch as the engine knows it."""
        return Rows(float(step)) if self.batch == 1 else Batches(partition(*self.shape, self.batch, step))

    def diagonal(self, steps: Array) -> tuple[Array, Array]:
        """ā² and ā, a row per step."""
        mean = self.frames[0].mean([self.epoch(step) for step in steps])
        return mean**2, mean

    def __call__(self, step: float) -> tuple[engine.EpochMap, engine.EpochMap]:
        """The epoch at two resolutions."""
        return _made(self, float(step))

    def move(self, which: int, step: float) -> Callable[[State], State]:
        """The epoch that a step makes, at one resolution."""
        if step == 0:
            return lambda state: state
        one = self(step)[which]
        return lambda state: State(one(state.second), state.mean * one.mean)


@functools.lru_cache(maxsize=4 * interpolation.TERMS)
def _made(maps: Maps, step: float) -> tuple[engine.EpochMap, engine.EpochMap]:
    return engine.maps(maps.frames, maps.epoch(step), maps.noise)


def all_maps(rows: LabelledRows, batch: int = 1) -> Iterator[Maps]:
    """Maps on one contour after another, the most promising first; every eigenvalue is one by itself."""
    (m, d), batch = rows.shape, arguments.batch(batch, rows.shape[0])
    sources.sample(rows.spectrum)  # refuses too few
    law = contours.sample(rows.spectrum, np.full(d, 1 / d), rows.aspect)
    noise = m * rows.residual / rows.scale / np.sqrt(d)
    return (Maps(frames, rows.shape, batch, noise) for frames in engine.frames(law))


@functools.lru_cache(maxsize=2)
def families(rows: LabelledRows, batch: int = 1) -> list[interpolation.Family]:
    """Epochs at any step up to 0.98 of the limit, at two resolutions, the same for all searches and schedules."""
    high, maps = interpolation.BELOW * step_limit(rows, batch), next(all_maps(rows, batch))
    left, families = maps.frames[0].left, []
    for made in zip(*(maps(step) for step in interpolation.nodes(high)), strict=True):
        kernels, kicks = [one.kernel for one in made], [one.left @ one.kick for one in made]
        families.append(interpolation.family(high, left, maps.diagonal, kernels, kicks))
    return families
