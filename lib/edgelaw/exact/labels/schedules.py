"""The best constant step and the best schedule for a number of epochs, by theory alone.

A schedule is one step per epoch; of a shape with a peak η, with k = 0, ..., n − 1:

===========  ==========================================
constant     η
cosine       η (1 + cos(πk/n))/2
linear       η (1 − k/n)
1/t          η/(1 + ck), c ≥ 0 chosen too
best         all n steps, from the best of the others on
===========  ==========================================

A decay of the step pays through noise, or through a start that is not isotropic (chapter 14).
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from edgelaw._common import arguments, threads
from edgelaw._common.types import Array
from edgelaw.exact.labels import interpolation
from edgelaw.exact.labels.curves import LabelCurve, State, label_curve, room, start
from edgelaw.exact.labels.rows import LabelledRows

ORDERS = ("iid", "random_reshuffle")
SHAPES = ("constant", "cosine", "linear", "1/t", "best")
LOSSES = ("train", "held_out", "distance")


@dataclass(frozen=True, eq=False)
class Tuned:
    """A choice of steps, one per epoch (a learning rate is a step over `rows.scale`), and what it leaves.

    `loss`, the one that was asked for, is that after the last epoch, `constant_loss` what the best constant step
    leaves, and `curve` has all losses along the way.
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
    """A loss after n epochs as a function of the steps, by interpolated epochs; its gradient costs as much, twice."""

    def __init__(self, rows: LabelledRows, family: interpolation.Family, loss: str) -> None:
        self.rows, self.family, self.loss = rows, family, loss

    def __call__(self, steps: Array) -> float:
        """The loss after the last step."""
        return self._value(self.family(steps).walk(start(self.rows))[-1])

    def gradient(self, steps: Array) -> tuple[float, Array]:
        """The loss and its derivatives by the steps."""
        epochs, slopes = self.family.with_slopes(steps)
        adjoint = epochs._replace(kernel=np.swapaxes(epochs.kernel, 1, 2), kick=np.zeros_like(epochs.kick))
        *states, last = epochs.walk(start(self.rows))
        of_second, of_mean = self._adjoint(last)
        slope = np.empty(len(steps))
        for k in reversed(range(len(steps))):
            before = states[k]
            slope[k] = of_second @ slopes.second(k, before.second) + of_mean @ (before.mean * slopes.mean[k])
            of_second, of_mean = adjoint.second(k, of_second), of_mean * epochs.mean[k]
        return self._value(last), slope

    def _value(self, state: State) -> float:
        curve = label_curve(self.rows, np.zeros(1, dtype=np.int64), [state])
        return float(getattr(curve, self.loss)[0])

    def _adjoint(self, state: State) -> tuple[Array, Array]:
        """The derivatives of the loss by the second moments and by the means."""
        rows, held = self.rows, self.rows.held_out
        if held is not None and self.loss == "held_out":
            of_mean = held.linear - held.quadratic @ (1 - state.mean)
            return held.squares, 2 * (of_mean - held.squares * state.mean * rows.energies)
        each = rows.scale / rows.shape[1] * rows.eigenvalues
        return each if self.loss == "train" else np.ones_like(each), np.zeros_like(each)


def best_step(
    order: str,
    rows: LabelledRows,
    epochs: int,
    loss: str = "held_out",
    upper: float | None = None,
    batch: int = 1,
) -> Tuned:
    """The constant step with the least loss after so many epochs: held-out or training loss, or distance.

    The largest step tried is `upper`, or 0.98 of the limit of stability; the smallest is a thousandth of it.
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

    `order` is one of `ORDERS`, `loss` of `LOSSES`, `shape` of `SHAPES`; the rest is as for `best_step`. The
    operators that random reshuffle makes for all searches are kept, and shared with the curves of long schedules.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((60, 30))
    >>> rows = LabelledRows.of(X, X[:, 0] + rng.standard_normal(60))
    >>> tuned = best_schedule("iid", rows, 8, loss="train", shape="linear")
    >>> bool(tuned.gain > 0), len(tuned.steps)
    (True, 8)
    """
    arguments.choice(shape, "shape", SHAPES)
    n = arguments.whole(epochs, "epochs", 1)
    arguments.choice(loss, "loss", LOSSES)
    if loss == "held_out" and rows.held_out is None:
        raise ValueError('loss "held_out" needs rows made with held-out rows; ask for "train" or give them.')
    theory = room(order, ORDERS)
    family = theory.families(rows, batch)[0]
    limit = family.high / interpolation.BELOW
    high = limit if upper is None else arguments.number(upper, "upper", 0, limit)
    objective = Objective(rows, family, loss)
    search = Search(objective, min(high, family.high))
    constant = steps = search.peak(np.ones(n))
    if shape in ("cosine", "linear"):
        steps = search.peak(profile(shape, n))
    elif shape == "1/t":
        steps = search.inverse(constant)
    elif shape == "best":
        steps = search.free([constant, *(search.peak(profile(name, n)) for name in ("cosine", "linear"))])
    curve = theory.curve(rows, np.arange(n + 1), steps, batch)
    return Tuned(shape, steps, objective(steps), float(constant[0]), objective(constant), curve)


def profile(shape: str, epochs: int, decay: float = 0.0) -> Array:
    """A shape with peak 1; `decay` is the c of "1/t".

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


class Search:
    """The steps of a shape with the least loss, none above a largest: a height by bisection, more by gradients."""

    def __init__(self, objective: Objective, high: float) -> None:
        self.objective, self.heights = objective, np.log(high * np.geomspace(interpolation.LOWEST, 1, 25))

    def peak(self, shape: Array) -> Array:
        """A shape at the best height."""

        def loss(height: float) -> float:
            return self.objective(np.exp(height) * shape)

        losses = [loss(height) for height in self.heights]
        best = int(np.argmin(losses))
        bounds = self.heights[max(best - 1, 0)], self.heights[min(best + 1, len(losses) - 1)]
        refined = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-4})
        return np.exp(refined.x if refined.fun < losses[best] else self.heights[best]) * shape

    def inverse(self, constant: Array) -> Array:
        """η/(1 + ck) at the best height and c; c = 0 is the constant step."""
        k, bounds = np.arange(len(constant)), [self.heights[[0, -1]], np.log([1e-3, 1e3])]

        def steps(logs: Array) -> Array:
            return np.exp(logs[..., :1]) / (1 + np.exp(logs[..., 1:]) * k)

        starts = [np.log([constant[0], decay]) for decay in (0.03, 0.3, 3.0)]
        return min([constant, *(self._refined(at, bounds, steps) for at in starts)], key=self.objective)

    def free(self, starts: list[Array]) -> Array:
        """All steps, from the best of some."""
        ends = self.heights[[0, -1]]
        first = np.clip(np.log(min(starts, key=self.objective)), *ends)
        return min([self._refined(first, [ends] * len(first), np.exp), *starts], key=self.objective)

    def _refined(self, first: Array, bounds: list[Array], steps: Callable[[Array], Array]) -> Array:
        """The steps of the best parameters near the first ones, the loss in units of its steepest slope there.

        What is gained after that is less than theory knows; a search in units of the loss would take hundreds of steps.
        """
        small = np.finfo(float).eps ** 0.5
        each = small * np.eye(len(first))

        def gained(parameters: Array, before: float = 0.0, unit: float = 1.0) -> tuple[float, Array]:
            made = steps(parameters)
            loss, slope = self.objective.gradient(made)
            return (loss - before) / unit, (steps(parameters + each) - made) @ slope / (small * unit)

        before, slope = gained(first)
        unit = max(np.abs(slope).max(), small * before)
        options = {"maxiter": 300, "ftol": 1e-6, "gtol": 1e-4}
        refined = minimize(
            gained, first, (before, unit), "L-BFGS-B", jac=True, bounds=bounds, options=options
        )
        return steps(refined.x if refined.fun < 0 else first)
