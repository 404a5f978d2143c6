r"""The best constant step and the best schedule for a number of epochs, by theory alone.

A schedule is one step per epoch. The loss after n epochs is linear in the maps of :mod:`edgelaw.exact.iid` or
:mod:`edgelaw.exact.random_reshuffle`, so that its gradient by all n steps costs as much as the loss, twice: the
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
_STEPS_TRIED = 1e-3, 0.98  # the smallest step over the largest, and that over the limit of stability
_PEAKS_TRIED = 25  # peaks tried before the best is refined
_LITTLE_TO_GAIN = (
    1e-4  # relative slope of a loss by the logarithm of a step, below which there is little to gain
)


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
    """A loss after n epochs as a function of the steps, and its gradient; `bounds` are the steps of a search."""

    def __init__(
        self,
        rows: LabelledRows,
        family: interpolation.Family,
        loss: str,
        bounds: tuple[float, float] | None = None,
    ) -> None:
        self.rows, self.family, self.loss = rows, family, loss
        self.bounds = family.ruler[:2] if bounds is None else bounds

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
    families = room.covering(rows, low, high, batch)
    objective = Objective(rows, families[0], loss, (low, high))
    constant = _peak(objective, np.ones(n))
    steps = constant
    if shape in ("cosine", "linear"):
        steps = _peak(objective, profile(shape, n))
    elif shape == "1/t":
        steps = _inverse(objective, n)
    elif shape == "best":
        starts = [constant, *(_peak(objective, profile(name, n)) for name in ("cosine", "linear"))]
        steps = _free(objective, min(starts, key=objective))
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
    high = _STEPS_TRIED[1] * limit if upper is None else arguments.number(upper, "upper", 0, limit)
    return _STEPS_TRIED[0] * high, high


def _peak(objective: Objective, shape: Array) -> Array:
    """The steps of a shape whose peak leaves the least loss: a grid, then a parabola within its best cell."""
    low, high = np.log(objective.bounds)
    grid = np.linspace(low, high, _PEAKS_TRIED)
    losses = [objective(np.exp(peak) * shape) for peak in grid]
    best = int(np.argmin(losses))
    ends = grid[max(best - 1, 0)], grid[min(best + 1, _PEAKS_TRIED - 1)]
    refined = scipy.optimize.minimize_scalar(
        lambda peak: objective(np.exp(peak) * shape), bounds=ends, method="bounded", options={"xatol": 1e-4}
    )
    peak = refined.x if refined.fun < losses[best] else grid[best]
    return np.exp(peak) * shape


def _inverse(objective: Objective, n: int) -> Array:
    """The steps η/(1 + ck) with the least loss; c = 0 is the constant step."""
    decays = np.concatenate([[0.0], np.geomspace(0.03, 10, 8)])
    tried = [_peak(objective, profile("1/t", n, decay)) for decay in decays]
    steps = min(tried, key=objective)
    if n < 2:
        return steps
    first = np.log([steps[0], max(steps[0] / steps[1] - 1, 1e-3)])

    def loss(parameters: Array) -> float:
        peak, decay = np.exp(parameters)
        return objective(np.clip(peak, *objective.bounds) * profile("1/t", n, decay))

    refined = scipy.optimize.minimize(
        loss, first, method="Nelder-Mead", options={"maxiter": 60, "xatol": 1e-3}
    )
    if refined.fun < objective(steps):
        peak, decay = np.exp(refined.x)
        steps = np.clip(peak, *objective.bounds) * profile("1/t", n, decay)
    return steps


def _free(objective: Objective, steps: Array) -> Array:
    """All steps by gradients, in their logarithms.

    The loss is measured from its start in units of its steepest slope, or of 1e-4 of itself where it is flatter: what
    is gained after that is less than theory knows, and a search in units of the loss would take hundreds of steps.
    """
    first = np.log(np.clip(steps, *objective.bounds))
    at_first, slope = objective.gradient(np.exp(first))
    unit = max(np.abs(slope * np.exp(first)).max(), _LITTLE_TO_GAIN * at_first)

    def value(logs: Array) -> tuple[float, Array]:
        at = np.exp(logs)
        loss, slope = objective.gradient(at)
        return (loss - at_first) / unit, slope * at / unit

    refined = scipy.optimize.minimize(
        value,
        first,
        jac=True,
        method="L-BFGS-B",
        bounds=[tuple(np.log(objective.bounds))] * len(steps),
        options={"maxiter": 300, "ftol": 1e-6, "gtol": 1e-4},
    )
    better = np.exp(refined.x)
    return better if objective(better) < objective(steps) else steps
