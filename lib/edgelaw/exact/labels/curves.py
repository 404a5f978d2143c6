"""The shape in which a curve with labels travels, and how second moments of the weights become losses."""

import functools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType

import numpy as np

from edgelaw import orders
from edgelaw._common import arguments
from edgelaw._common.types import Array, ArrayLike, Integers
from edgelaw.exact.labels.rows import LabelledRows

ROUNDING = 2e-12  # stated at least of curves by rates that are exact to some 1e-16, of which n makes more


def room(order: str, allowed: Iterable[str] = orders.ORDERS) -> ModuleType:
    """Where an order has its theory of labels, loaded when it is asked for."""
    return import_module(f"edgelaw.exact.{arguments.choice(order, 'order', allowed)}.labels")


@dataclass(frozen=True, eq=False)
class LabelCurve:
    """Losses at the recorded epochs, 0 included, from zero weights, in units of squared targets, summed over outputs.

    `train` and `held_out` (or None) are means over rows of the squared error, `distance` is ‖w − w*‖² with the
    least-squares solution w* of least norm. `error` is the relative numerical error that the computation states of
    itself, not that of the theory at a finite d; under random reshuffle it is relative to the loss or to 1e-9 of its
    start, whichever is larger.
    """

    epochs: Integers
    train: Array = field(repr=False)
    held_out: Array | None = field(repr=False)
    distance: Array = field(repr=False)
    error: float = 0.0


@dataclass(frozen=True)
class LabelFloor:
    """Where a constant step ends: the training loss, its `excess` over the least one, held-out loss and ‖w − w*‖²."""

    train: float
    excess: float
    held_out: float | None
    distance: float


@dataclass(frozen=True, eq=False)
class State:
    """E(v_j·e)² summed over outputs, the mean error along v_j over its start, and how far rounding may have moved the
    first.
    """

    second: Array
    mean: Array
    rounding: Array | float = 0.0


def start(rows: LabelledRows) -> State:
    """Zero weights: the error is −w*."""
    return State(rows.energies.copy(), np.ones(len(rows.energies)))


def walk(
    rows: LabelledRows, n: Integers, steps: Array, epoch_at: Callable[[float], Callable[[State], State]]
) -> list[State]:
    """The states at the epochs n, by the maps that `epoch_at` gives for a step; each is made once."""
    epoch, now = functools.cache(epoch_at), start(rows)
    states = [now]
    for k, step in enumerate(steps.tolist(), start=1):
        now = epoch(step)(now)
        if k in n:
            states.append(now)
    return states


def label_curve(
    rows: LabelledRows, epochs: Integers, states: list[State], error: float = 0.0, bounded: bool = False
) -> LabelCurve:
    """The losses of the states, one per epoch.

    Only the variance around the mean weights is taken to be diagonal in the eigenbasis. It cannot be negative:
    `bounded`, it is zero where rounding makes it so.
    """
    second, mean = (np.array([getattr(state, name) for state in states]) for name in ("second", "mean"))
    if bounded:
        second = np.maximum(second, mean**2 * rows.energies)
    excess, held, distance = _losses(rows, second, mean)
    return LabelCurve(epochs, rows.residual + excess, held, distance, float(error))


def label_floor(rows: LabelledRows, second: Array) -> LabelFloor:
    """The losses of stationary second moments, whose mean is the solution."""
    excess, held, distance = _losses(rows, second, np.zeros_like(second))
    out = None if held is None else float(held)
    return LabelFloor(rows.residual + float(excess), float(excess), out, float(distance))


def _losses(rows: LabelledRows, second: Array, mean: Array) -> tuple[Array, Array | None, Array]:
    """The excess training loss, the held-out loss and the distance of states, (..., r)."""
    excess = rows.scale / rows.shape[1] * second @ rows.eigenvalues
    held = None
    if rows.held_out is not None:
        least = np.maximum(rows.held_out.of_mean(1 - mean), np.finfo(float).eps ** 2 * rows.held_out.start)
        held = least + (second - mean**2 * rows.energies) @ rows.held_out.squares
    return excess, held, second.sum(axis=-1)


def requested(epochs: ArrayLike, step: ArrayLike, limit: float) -> tuple[Integers, Array]:
    """The epochs to return and the step of each epoch up to the last of them; steps from the limit on are refused."""
    n = arguments.epochs(epochs)
    steps = arguments.real_array(step, "step", np.ndim(step)).astype(np.float64)
    last = int(n[-1])
    if steps.ndim == 0:
        steps = np.full(last, float(steps))
    elif steps.ndim != 1 or len(steps) < last:
        raise ValueError(
            f"step must be one number or one per epoch, {last} of them, not an array of shape {steps.shape}."
        )
    steps = steps[:last]
    wrong = steps[(steps < 0) | (steps >= limit)]
    if len(wrong):
        raise ValueError(
            f"step must be at least 0 and below {limit:.6g}, where the error grows without bound, not {wrong[0]:g}."
        )
    return n, steps


def norms_error(rows: LabelledRows, steps: Array) -> float:
    """What rows of unequal norm may add to the relative error of an order whose theory takes them as equal.

    Seen under random reshuffle; single shuffle on raw CIFAR-10 at step 1.1 was 4 to 7 % off, and this is 6 to 8 %.
    """
    return 0.7 * float(steps.max(initial=0.0)) * rows.norm_spread
