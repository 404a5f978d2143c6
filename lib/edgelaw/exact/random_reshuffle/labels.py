r"""Labels under random reshuffle: an epoch as a linear map of :math:`s_j = \mathbb E(v_j\cdot e)^2`, plus a kick.

.. math:: s \leftarrow Ts + \frac{m\,\sigma^2}{\text{scale}}\,\nu, \qquad
    \bar e_j \leftarrow \bar a(\lambda_j)\,\bar e_j,

with T the symmetric operator behind :func:`edgelaw.theory.random_reshuffle.curve`, ā its mean epoch, σ² the least
training loss, and ν what residuals amount to: a signal at eigenvalue zero. *Derived*, in the limit of many dimensions,
for rows of equal norm; at a finite d the mean losses are seen to differ by a relative O(1/d).
"""

import dataclasses
import itertools
import weakref
from collections.abc import Iterable

import numpy as np

from edgelaw._common import arguments, threads
from edgelaw._common.types import Array, ArrayLike
from edgelaw.exact import agreement, sources
from edgelaw.exact.batches import partition
from edgelaw.exact.iid import labels as iid
from edgelaw.exact.labels import interpolation
from edgelaw.exact.labels.curves import (
    LabelCurve,
    LabelFloor,
    State,
    label_curve,
    label_floor,
    norms_error,
    requested,
    start,
)
from edgelaw.exact.labels.rows import LabelledRows
from edgelaw.exact.random_reshuffle import contours, engine
from edgelaw.exact.random_reshuffle.batches import Batches, stable_factor
from edgelaw.exact.random_reshuffle.engine import EpochMap
from edgelaw.exact.random_reshuffle.epochs import Epoch
from edgelaw.exact.random_reshuffle.rows import Rows

_POINTS = 18  # of the interpolation between steps
_OPERATORS = 3  # different steps of a schedule that are not interpolated, unless told otherwise
_SHIFT, _LINEAR = 2.0, 3.0  # of its ruler: over the largest eigenvalue, and the part that goes with the step
_BELOW = 0.98  # the largest step of the epochs that all schedules share, over the limit
_SAME = 1 + 1e-9  # between two ways to compute a limit
_OF_NORMS = 0.1  # of it: a numerical error that matters less than what is not known
_TINY = 1e-9  # of the start: what is below it may be less accurate than the stated error
_GOOD = 1e-3  # a stated error for which no other contour is tried


@threads.one_blas_thread()
def curve(
    rows: LabelledRows,
    epochs: ArrayLike,
    step: ArrayLike = 1.0,
    batch: int = 1,
    operators: int = _OPERATORS,
) -> LabelCurve:
    """Losses under random reshuffle, one step for all epochs or one per epoch.

    Parameters
    ----------
    rows : LabelledRows
        Of at least 20 eigenvalues, zeros included.
    epochs : int or array of int
        Up to which epoch, or the epochs wanted; 0 is always among those returned.
    step : float or array
        Learning rate times `rows.scale`, below 2; an array has one step per epoch.
    batch : int
        Rows per averaged update; the last batch of an epoch is shorter if need be.
    operators : int
        Up to so many different steps each has an operator of its own, a fraction of a second. More are interpolated
        between those of `every_step`, which all such schedules of the same rows share.

    Returns
    -------
    LabelCurve
        `error` compares two contours, two averages, two grids and two numbers of polynomials, relative to the loss or
        to 1e-9 of its start. For rows of unequal norm it adds 0.7 · step · `rows.norm_spread`: their effect is not in
        the theory of this order.

    Raises
    ------
    ArithmeticError
        If that error exceeds 2 %, or no contour around the spectrum is usable. With noise this was not met for 0.5 to
        64 rows per dimension and steps 0.1 to 1.5; without noise it is, at 64 rows per dimension and steps from 0.6
        on, for eigenvalues that fall like 1/j: an epoch leaves less than rounding does.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((80, 40))
    >>> rows = LabelledRows.of(X / np.linalg.norm(X, axis=1)[:, None], X[:, 0] + rng.standard_normal(80))
    >>> slow, fast = (curve(rows, 40, step) for step in (0.1, 1.5))
    >>> bool(slow.train[-1] < fast.train[-1]), bool(slow.error < 1e-3)
    (True, True)
    """
    n, steps = requested(epochs, step, 2.0 if batch == 1 else np.inf)
    if batch != 1 and len(steps):
        _refuse_unstable(rows, steps.max(), batch)
    if len(np.unique(steps[steps > 0])) > operators:
        return _interpolated_curve(rows, n, steps, batch)
    best = None
    for maps in all_maps(rows, batch):
        try:
            attempt = _curve(rows, n, steps, maps)
        except (FloatingPointError, np.linalg.LinAlgError):
            continue
        if best is None or attempt.error < best.error:
            best = attempt
        if best.error <= _GOOD:
            break
    if best is None or not best.error <= agreement.LARGEST_ERROR:
        raise _inaccurate(np.inf if best is None else best.error)
    return dataclasses.replace(best, error=best.error + norms_error(rows, steps))


def _interpolated_curve(rows, n, steps, batch):
    """The curve of a schedule of many steps, by epochs at a few: the shared ones, or its own where those are not good.

    Which they are follows from the rows and the steps, not from what was computed before.
    """
    moving, of_norms = steps[steps > 0], norms_error(rows, steps)
    low, high = moving.min() / 1.01, moving.max() * 1.01
    best = _composed(rows, n, steps, covering(rows, low, high, batch))
    if not best.error <= max(_GOOD, _OF_NORMS * of_norms):
        best = min(best, _composed(rows, n, steps, family(rows, low, high, batch)), key=lambda one: one.error)
    if not best.error <= agreement.LARGEST_ERROR:
        raise _inaccurate(best.error)
    return dataclasses.replace(best, error=best.error + of_norms)


def curve_of(rows, n, steps, families):
    """The curve of a schedule by interpolated epochs."""
    made = _composed(rows, n, steps, families)
    return dataclasses.replace(made, error=made.error + norms_error(rows, steps))


def _composed(rows, n, steps, families):
    """The same with the numerical error alone: that of two resolutions, and that of a shorter series."""
    walks = [maps(steps).walk(start(rows)) for maps in (families[0], families[-1], families[0].shorter())]
    made = [label_curve(rows, n, [states[k] for k in n]) for states in walks]
    error = sum(_distance(made[0], other) for other in made[1:])
    return label_curve(rows, n, [walks[0][k] for k in n], error, bounded=True)


def _inaccurate(error):
    """The refusal of a curve that two resolutions do not agree on."""
    return ArithmeticError(
        f"The reshuffle curve of these rows could not be computed: estimated relative error {error:.1e}."
    )


def floor(rows: LabelledRows, step: float, batch: int = 1) -> LabelFloor:
    r"""Where the losses end at a constant step: :math:`s = (I-T)^{-1}` of an epoch's kick.

    As :math:`\eta\lambda_{\max} \to 0`, λ of :math:`\sum_iu_iu_i^\top`, the excess training loss over the least one
    tends to `small_step_excess`; for many rows per dimension it approaches IID's :math:`\eta/(2-\eta)`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((80, 40))
    >>> rows = LabelledRows.of(X / np.linalg.norm(X, axis=1)[:, None], rng.standard_normal(80))
    >>> bool(floor(rows, 0.1).excess < 0.1 * 0.1 / 1.9 * rows.residual)
    True
    """
    _, (eta,) = requested(1, step, 2.0 if batch == 1 else np.inf)
    if batch != 1:
        _refuse_unstable(rows, eta, batch)
    epoch, _ = good_maps(rows, np.array([eta]), batch)(eta)
    return label_floor(rows, epoch.ends())


def small_step_excess(rows: LabelledRows, step: float) -> float:
    r"""The excess training loss at the floor as the step tends to 0.

    It is :math:`\frac{\eta^3}{24}(\kappa_3+\kappa_2-1)\sigma^2`, where :math:`\kappa_k = \frac1m\sum\lambda^k` over the
    eigenvalues of :math:`\sum_iu_iu_i^\top`: of the order η³, where IID has
    η/2. *Derived*, by counting permutations.

    Examples
    --------
    >>> rows = LabelledRows.of(np.ones((2, 1)), [1.0, -1.0])
    >>> small_step_excess(rows, 0.1) == 0.1**3 / 24 * (4 + 2 - 1)
    True
    """
    eta = arguments.step(step)
    values = rows.aspect * rows.eigenvalues
    third, second = ((values**k).sum() / rows.shape[0] for k in (3, 2))
    return float(eta**3 / 24 * (third + second - 1) * rows.residual)


def _refuse_unstable(rows, step, batch):
    """Refuse a step at which T's spectral radius is 1 or more; the limit is sought only then."""
    maps = next(all_maps(rows, batch))
    epoch, _ = maps(step)
    if (epoch.mean**2).max() < 1 and epoch.radius() < 1:
        return
    requested(1, step, step_limit(rows, batch))


def mean_error(rows: LabelledRows, steps: Array, batch: int = 1) -> Array:
    """The mean error along each eigenvector after epochs at these steps, over its start: the product of their ā.

    Examples
    --------
    Many small steps are gradient flow.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((80, 40))
    >>> rows = LabelledRows.of(X / np.linalg.norm(X, axis=1)[:, None], X[:, 0] + rng.standard_normal(80))
    >>> left = mean_error(rows, np.full(3, 1e-3))
    >>> bool(np.allclose(left, np.exp(-3e-3 * 2 * rows.eigenvalues), atol=1e-4))
    True
    """
    different, counts = np.unique(steps, return_counts=True)
    means = next(all_maps(rows, batch)).mean(different)
    product: Array = np.prod(means ** counts[:, None], axis=0)
    return product


def step_limit(rows: LabelledRows, batch: int = 1) -> float:
    """The steps that are accepted: below 2 for single rows, and with batches below the limit of stability."""
    batch = arguments.batch(batch, rows.shape[0])
    if batch == 1:
        return 2.0

    def limit():
        return float(stable_factor(_law(rows), partition.partition(*rows.shape, batch, 1.0)))

    return _kept(rows, ("limit", batch), limit)


def _curve(rows, n, steps, maps):
    """The curve by one family of maps; the error is the distance of its two resolutions."""
    walks = []
    for which in (0, 1):
        now, states = start(rows), [start(rows)]
        for k, step in enumerate(steps, start=1):
            one = maps(step)[which]
            now = State(one(now.second), now.mean * one.mean)
            if k in n:
                states.append(now)
        walks.append(states)
    error = _distance(*(label_curve(rows, n, states) for states in walks))
    return label_curve(rows, n, walks[0], error, bounded=True)


def _distance(fine, rough):
    """The largest relative difference of two curves."""
    pairs = [(fine.train, rough.train), (fine.distance, rough.distance)]
    if fine.held_out is not None:
        pairs.append((fine.held_out, rough.held_out))
    sizes = [np.maximum(np.abs(a), _TINY * abs(a[0])) for a, _ in pairs]
    return float(
        max(
            np.abs((a - b) / np.where(size > 0, size, 1.0)).max()
            for (a, b), size in zip(pairs, sizes, strict=True)
        )
    )


class Maps:
    """Epochs at any step on one contour, each made once, at two resolutions."""

    def __init__(self, rows: LabelledRows, frames: engine.Frames, batch: int):
        self.frames, self.batch, self.shape, self.noisy = frames, batch, rows.shape, rows.residual > 0
        self.made: dict[float, list[EpochMap]] = {}
        nodes = frames.fine.nodes
        # equal eigenvalues are one node
        self.places = np.searchsorted((nodes[1:] + nodes[:-1]) / 2, rows.eigenvalues * rows.aspect)
        left = nodes[:, None] * frames.fine.inside
        self.left = left[self.places] / np.sqrt(rows.shape[1])
        self.noise = rows.shape[0] * rows.residual / rows.scale / np.sqrt(rows.shape[1])

    def epoch(self, step: float) -> Epoch:
        """The epoch as the engine knows it."""
        if self.batch == 1:
            return Rows(float(step))
        return Batches(partition.partition(*self.shape, self.batch, float(step)))

    def mean(self, steps: Iterable[float]) -> Array:
        """ā, a row per step."""
        return self.frames.fine.mean([self.epoch(step) for step in steps])[:, self.places]

    def __call__(self, step: float) -> list[EpochMap]:
        """The epoch at two resolutions."""
        if step not in self.made:
            self.made[step] = self._made(step)
        return self.made[step]

    def _made(self, step: float) -> list[EpochMap]:
        if step == 0:
            here, few = len(self.left), self.left.shape[1]
            return 2 * [EpochMap(np.ones(here), self.left, np.zeros((few, few)), np.zeros(here))]
        (mean,) = self.mean([step])
        return [
            EpochMap(mean, self.left, part.kernel, self.noise * (self.left @ part.kick))
            for part in self.frames.both(self.epoch(step), self.noisy)
        ]


def good_maps(rows: LabelledRows, steps: Array, batch: int = 1) -> Maps:
    """The maps of the first contour on which an epoch's two resolutions agree at all these steps, or of the best."""
    best, least = None, np.inf
    for maps in all_maps(rows, batch):
        error = 0.0
        for step in steps:
            error = max(error, _curve(rows, np.array([0, 1]), np.array([step]), maps).error)
            if not error < least:  # another contour is better, whatever the other steps say
                break
        if error < least:
            best, least = maps, error
        if least <= _GOOD:
            break
    if best is None or least > agreement.LARGEST_ERROR:
        raise ArithmeticError(
            f"Random reshuffle could not be computed for these rows: estimated relative error {least:.1e}."
        )
    return best


def family(rows: LabelledRows, low: float, high: float, batch: int = 1) -> list[interpolation.Family]:
    """Epochs at any step between two, for searches and long schedules, at two resolutions."""
    ruler = interpolation.Ruler(low, high, _SHIFT / (rows.aspect * rows.eigenvalues[-1]), _LINEAR)
    steps = ruler.steps(_POINTS)
    maps = good_maps(rows, steps, batch)

    def diagonal(steps):
        mean = maps.mean(steps)
        return mean**2, mean

    return [
        interpolation.family(
            interpolation.Pieces(
                maps.left, diagonal, np.array([e.kernel for e in made]), np.array([e.kick for e in made])
            ),
            ruler,
        )
        for made in zip(*(maps(step) for step in steps), strict=True)
    ]


def every_step(rows: LabelledRows, batch: int = 1) -> list[interpolation.Family]:
    """Epochs at any step up to 0.98 of the limit, of IID's stability too: 18 operators for all searches and schedules.

    They are made once for the rows and a batch, at steps that depend on nothing else.
    """
    batch = arguments.batch(batch, rows.shape[0])

    def make():
        high = _BELOW * min(iid.step_limit(rows, batch), step_limit(rows, batch))
        return family(rows, 0.0, high, batch)

    return _kept(rows, ("every step", batch), make)


def covering(rows: LabelledRows, low: float, high: float, batch: int = 1) -> list[interpolation.Family]:
    """Epochs at any step between two: those of `every_step`, or others where these end below or cannot be had."""
    try:
        known = every_step(rows, batch)
    except ArithmeticError:
        return family(rows, low, high, batch)
    return known if high <= _SAME * known[0].ruler.high else family(rows, low, high, batch)


_made_once: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def _kept(rows, name, make):
    """What was made for these rows under a name, as long as they live; `make` must not refer to them afterwards."""
    known = _made_once.setdefault(rows, {})
    if name not in known:
        known[name] = make()
    return known[name]


def all_maps(rows: LabelledRows, batch: int = 1):
    """Maps on one contour after another, the most promising first; those made before are used again."""
    batch = arguments.batch(batch, rows.shape[0])
    made, left = _kept(rows, ("maps", batch), lambda: ([], itertools.islice(engine.frames(_law(rows)), 4)))
    place = 0
    while True:
        if place == len(made):
            setting = next(left, None)
            if setting is None:
                return
            made.append(Maps(rows, setting, batch))
        yield made[place]
        place += 1


def _law(rows):
    """The law of the rows' spectrum, as the operator needs it."""
    values, shares = sources.sample(rows.spectrum, smallest=1e-13)
    return contours.sample(values, shares, rows.aspect)
