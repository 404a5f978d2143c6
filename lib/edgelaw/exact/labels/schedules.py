r"""The best constant step and the best schedule for a number of epochs, by theory alone.

A schedule is one step per epoch. The loss after n epochs is linear in the maps of ``edgelaw.exact.iid`` or
``edgelaw.exact.random_reshuffle``, so that its gradient by all n steps costs as much as the loss, twice: the
adjoint walks back through the same maps. Shapes, with k = 0, ..., n − 1 and a peak η:

===========  ==========================================
constant     η
cosine       η (1 + cos(πk/n))/2
linear       η (1 − k/n)
1/t          η/(1 + ck), c ≥ 0 chosen too
best         all n steps, from the best of the others on
===========  ==========================================

**Reversal.** Without residuals and averaged over isotropic starts, a schedule and its reverse leave the same mean
distance to the solution, for IID and for random reshuffle: the mean of :math:`M \mapsto AMA^\top` is self-adjoint. So
a decay of the step pays through noise, or through a start that is not isotropic. *Proved*, at every d.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType

import numpy as np
import scipy.optimize

from edgelaw._common import arguments, threads
from edgelaw._common.types import Array
from edgelaw.exact.labels import interpolation
from edgelaw.exact.labels.curves import LabelCurve, State, label_curve, start
from edgelaw.exact.labels.rows import LabelledRows

ORDERS = ("iid", "random_reshuffle")
SHAPES = ("constant", "cosine", "linear", "1/t", "best")
LOSSES = ("train", "held_out", "distance")
_SPAN = 1e-3  # the smallest step of a search over the largest
_PEAKS_TRIED = 25  # from one to the other, before the best is refined
_LITTLE_TO_GAIN = 1e-4  # slope of a loss by the logarithm of a step, over the loss, below which a search ends


@dataclass(frozen=True, eq=False)
class Tuned:
    """A choice of steps and what it leaves.

    Attributes
    ----------
    shape : str
    steps : ndarray
        One per epoch; a learning rate is a step over `rows.scale`.
    loss : float
        The loss that was asked for, after the last epoch.
    constant_step, constant_loss : float
        The best constant step and what it leaves.
    curve : LabelCurve
        All losses along the way.

    Examples
    --------
    >>> rows = LabelledRows.of(np.eye(3), np.ones(3))
    >>> tuned = best_step("iid", rows, 2, loss="train")
    >>> bool(abs(tuned.steps[0] - 1) < 0.01), bool(tuned.gain == 0)
    (True, True)
    """

    shape: str
    steps: Array = field(repr=False)
    loss: float
    constant_step: float
    constant_loss: float
    curve: LabelCurve = field(repr=False)

    @property
    def gain(self) -> float:
        """The part of the best constant step's loss that this choice saves."""
        return 1 - self.loss / self.constant_loss


class Objective:
    """A loss after n epochs as a function of the steps, and its gradient, by interpolated epochs."""

    def __init__(self, rows: LabelledRows, family: interpolation.Family, loss: str) -> None:
        self.rows, self.family, self.loss = rows, family, loss

    def __call__(self, steps: Array) -> float:
        """The loss after the last step."""
        last = self.family(steps).walk(start(self.rows))[-1]
        return self._value(last)

    def gradient(self, steps: Array) -> tuple[float, Array]:
        """The loss and its derivatives by the steps."""
        epochs, slopes = self.family(steps), self.family.slopes(steps)
        left = epochs.left
        states = epochs.walk(start(self.rows))
        last = states[-1]
        back, of_mean = self._adjoint(last)
        slope = np.empty(len(steps))
        after = np.ones_like(last.mean)  # product of the later epochs' means
        for k in range(len(steps) - 1, -1, -1):
            before = states[k]
            moved = slopes.square[k] * before.second + slopes.kick[k]
            moved += left @ (slopes.kernel[k] @ (before.second @ left))
            slope[k] = back @ moved + of_mean @ (before.mean * slopes.mean[k] * after)
            back = epochs.square[k] * back + left @ (epochs.kernel[k].T @ (back @ left))
            after = after * epochs.mean[k]
        return self._value(last), slope

    def _value(self, state: State) -> float:
        curve = label_curve(self.rows, np.zeros(1, dtype=np.int64), [state])
        return float(getattr(curve, self.loss)[0])

    def _adjoint(self, state: State) -> tuple[Array, Array]:
        """The derivatives of the loss by the second moments and by the means."""
        rows = self.rows
        if self.loss == "train":
            return rows.scale / rows.shape[1] * rows.eigenvalues, np.zeros_like(state.mean)
        if self.loss == "distance":
            return np.ones_like(state.second), np.zeros_like(state.mean)
        held, f = rows.held_out, 1 - state.mean
        assert held is not None  # `_bounds` has refused
        return held.squares, 2 * (
            held.linear - held.quadratic @ f - held.squares * state.mean * rows.energies
        )


def best_step(
    order: str,
    rows: LabelledRows,
    epochs: int,
    loss: str = "held_out",
    upper: float | None = None,
    batch: int = 1,
) -> Tuned:
    """The constant step with the least loss after so many epochs.

    Parameters
    ----------
    order : {"iid", "random_reshuffle"}
    rows : LabelledRows
    epochs : int
        At least 1.
    loss : {"held_out", "train", "distance"}
    upper : float, optional
        The largest step tried; 0.98 of the limit of stability if not given. The smallest is a thousandth of it.
    batch : int

    Returns
    -------
    Tuned

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 30))
    >>> rows = LabelledRows.of(X, X[:, 0] + rng.standard_normal(60))
    >>> few, many = (best_step("iid", rows, n, loss="train").steps[0] for n in (1, 16))
    >>> bool(many < few)
    True
    """
    return best_schedule(order, rows, epochs, loss, "constant", upper, batch)


@threads.one_blas_thread()
def best_schedule(
    order: str,
    rows: LabelledRows,
    epochs: int,
    loss: str = "held_out",
    shape: str = "best",
    upper: float | None = None,
    batch: int = 1,
) -> Tuned:
    """The schedule of a shape with the least loss after so many epochs, and what it gains on the best constant step.

    The parameters are those of `best_step`; `shape` is one of `SHAPES`. Under random reshuffle a search makes 18
    operators, whatever the number of epochs and of shapes tried: they are kept with the rows, and shared with the
    curves of long schedules.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 30))
    >>> rows = LabelledRows.of(X, X[:, 0] + rng.standard_normal(60))
    >>> tuned = best_schedule("iid", rows, 8, loss="train", shape="linear")
    >>> bool(tuned.gain > 0), len(tuned.steps)
    (True, 8)
    """
    arguments.choice(shape, "shape", SHAPES)
    n = arguments.whole(epochs, "epochs", 1)
    low, high = _bounds(order, rows, loss, upper, batch)
    room = _room(order)
    objective = Objective(rows, room.covering(rows, low, high, batch)[0], loss)
    search = Search(objective, low, high)
    constant = search.peak(np.ones(n))
    steps = constant
    if shape in ("cosine", "linear"):
        steps = search.peak(profile(shape, n))
    elif shape == "1/t":
        steps = search.inverse(constant)
    elif shape == "best":
        steps = search.free([constant, *(search.peak(profile(name, n)) for name in ("cosine", "linear"))])
    all_epochs = np.arange(n + 1)
    curve = room.curve(rows, all_epochs, steps, batch)
    return Tuned(shape, steps, objective(steps), float(constant[0]), objective(constant), curve)


def profile(shape: str, epochs: int, decay: float = 0.0) -> Array:
    """A shape with peak 1; `decay` is the c of "1/t".

    Examples
    --------
    >>> profile("linear", 4).tolist(), profile("1/t", 3, decay=1.0).tolist()[:2]
    ([1.0, 0.75, 0.5, 0.25], [1.0, 0.5])
    """
    arguments.choice(shape, "shape", SHAPES[:-1])
    k = np.arange(arguments.whole(epochs, "epochs", 1))
    return {
        "constant": np.ones(len(k)),
        "cosine": (1 + np.cos(np.pi * k / len(k))) / 2,
        "linear": 1 - k / len(k),
        "1/t": 1 / (1 + decay * k),
    }[shape]


def _room(order: str) -> ModuleType:
    """Where an order has its epochs, loaded when it is asked for."""
    return import_module(f"edgelaw.exact.{arguments.choice(order, 'order', ORDERS)}.labels")


def _bounds(
    order: str, rows: LabelledRows, loss: str, upper: float | None, batch: int
) -> tuple[float, float]:
    """The least and the largest step of a search; an order, a loss or a step that cannot be searched is refused."""
    arguments.choice(loss, "loss", LOSSES)
    if loss == "held_out" and rows.held_out is None:
        raise ValueError('loss "held_out" needs rows made with held-out rows; ask for "train" or give them.')
    limit = _room(order).step_limit(rows, batch)
    high = interpolation.BELOW * limit
    if upper is not None:
        high = min(high, arguments.number(upper, "upper", 0, limit))
    return _SPAN * high, high


class Search:
    """The steps of a shape with the least loss, between two: a height by bisection, more by gradients."""

    def __init__(self, objective: Objective, low: float, high: float) -> None:
        self.objective, self.ends = objective, (np.log(low), np.log(high))

    def peak(self, shape: Array) -> Array:
        """A shape at the best height."""
        heights = np.linspace(*self.ends, _PEAKS_TRIED)
        losses = [self.objective(np.exp(height) * shape) for height in heights]
        best = int(np.argmin(losses))
        refined = scipy.optimize.minimize_scalar(
            lambda height: self.objective(np.exp(height) * shape),
            bounds=(heights[max(best - 1, 0)], heights[min(best + 1, _PEAKS_TRIED - 1)]),
            method="bounded",
            options={"xatol": 1e-4},
        )
        height = refined.x if refined.fun < losses[best] else heights[best]
        return np.exp(height) * shape

    def inverse(self, constant: Array) -> Array:
        """η/(1 + ck) at the best height and c; c = 0 is the constant step."""
        k = np.arange(len(constant))

        def steps(logs: Array) -> tuple[Array, Array]:
            height, decay = np.exp(logs)
            slopes = np.stack([np.ones(len(k)), -decay * k / (1 + decay * k)], axis=1)
            return height / (1 + decay * k), slopes

        starts = [np.log([constant[0], decay]) for decay in (0.03, 0.3, 3.0)]
        bounds = [self.ends, (np.log(1e-3), np.log(1e3))]
        return min([constant, *(self._refined(at, bounds, steps) for at in starts)], key=self.objective)

    def free(self, starts: list[Array]) -> Array:
        """All steps, from the best of some."""
        first = np.clip(np.log(min(starts, key=self.objective)), *self.ends)
        each = np.eye(len(first))
        freed = self._refined(first, [self.ends] * len(first), lambda p: (np.exp(p), each))
        return min([freed, *starts], key=self.objective)

    def _refined(
        self,
        first: Array,
        bounds: list[tuple[float, float]],
        steps: Callable[[Array], tuple[Array, Array]],
    ) -> Array:
        """The steps of the best parameters near the first ones; `steps` has their logarithms' derivatives too.

        The loss is measured from its start in units of its steepest slope, or of 1e-4 of itself where it is flatter:
        what is gained after that is less than theory knows, and a search in units of the loss would take hundreds of
        steps.
        """

        def value(parameters: Array) -> tuple[float, Array]:
            made, slopes = steps(parameters)
            loss, slope = self.objective.gradient(made)
            return loss, (slope * made) @ slopes

        at_first, slope = value(first)
        unit = max(np.abs(slope).max(), _LITTLE_TO_GAIN * at_first)

        def scaled(parameters: Array) -> tuple[float, Array]:
            loss, slope = value(parameters)
            return (loss - at_first) / unit, slope / unit

        options = {"maxiter": 300, "ftol": 1e-6, "gtol": 1e-4}
        refined = scipy.optimize.minimize(
            scaled, first, jac=True, method="L-BFGS-B", bounds=bounds, options=options
        )
        return steps(refined.x if refined.fun < 0 else first)[0]
