"""Signal and noise apart, in theory: what is left of an isotropic start, and what has come in from the residuals.

For isotropic solutions and residuals a loss is its signal plus s times its noise, s the least training loss over the
excess training loss at the start. :func:`edgelaw.kaczmarz.signal_and_noise` runs the same.
"""

from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline

from edgelaw import orders, shipped
from edgelaw._common import arguments
from edgelaw._common.types import Array, ArrayLike, Integers
from edgelaw.exact import agreement
from edgelaw.exact.labels.curves import room
from edgelaw.exact.labels.rows import LabelledRows


class Parts(NamedTuple):
    """Squared distance to the solution and excess training loss (first axis) at the epochs (second), 1 at the start.

    The loss at the noise s is ``signal + s * noise``, NaN where the order has no theory; the errors are the numerical
    ones that the curves state, in the same units.
    """

    signal: Array
    noise: Array
    signal_error: Array
    noise_error: Array

    def at(self, noise: ArrayLike) -> tuple[Array, Array]:
        """The losses at these levels of noise, as the last axis, and their numerical errors."""
        level = arguments.real_array(noise, "noise", np.ndim(noise))
        return (
            np.add.outer(self.signal, 0 * level) + np.multiply.outer(self.noise, level),
            np.add.outer(self.signal_error, 0 * level) + np.multiply.outer(self.noise_error, level),
        )


def signal_and_noise(
    eigenvalues: ArrayLike, rows: int, epochs: ArrayLike, step: float = 1.0, order: str = "random_reshuffle"
) -> Parts:
    """Both parts of both losses of one order at a constant step, at epochs from 1 on.

    The eigenvalues are those of XᵀX, positive and fewer than the rows. Flip-flop's training loss is NaN.

    >>> parts = signal_and_noise(np.linspace(0.5, 1.5, 30), 60, [40], step=0.5, order="iid")
    >>> [round(float(value), 6) for value in parts.noise[:, 0]]  # η/(2 − η)
    [0.333333, 0.333333]
    """
    theory = room(order)
    curve = theory.distance if order == "flip_flop" else theory.curve
    losses, errors = [], []
    for level in (0.0, 1.0):
        design = LabelledRows.isotropic(eigenvalues, rows, level)
        made = curve(design, epochs, step)
        train = getattr(made, "train", np.full(len(made.epochs), np.nan))
        losses.append(np.stack([made.distance / design.energies.sum(), train - level])[:, 1:])
        stated = np.maximum(np.abs(losses[-1] + [[0.0], [level]]), agreement.STATED_ABOVE * (1 + level))
        errors.append(made.error * stated)
    return Parts(losses[0], losses[1] - losses[0], errors[0], errors[0] + errors[1])


def best_steps(steps: ArrayLike, parts: Parts, noise: ArrayLike) -> tuple[Array, Array]:
    """The best constant step and its loss at each level of noise, from parts at a grid of steps (their last axis).

    Between the steps the logarithms of both parts are cubic splines of that of the step. Signals below their numerical
    error count as that error. Both results are (..., levels), NaN where the order has no theory. exp(−10η) + s η² is
    least at η = 0.3 if s is exp(−3)/0.06:

    >>> steps = np.geomspace(0.1, 1, 12)
    >>> exact = Parts(np.exp(-10 * steps), steps**2, 0 * steps, 0 * steps)
    >>> [round(float(x[0]), 3) for x in best_steps(steps, exact, [np.exp(-3) / 0.06])]
    [0.3, 0.124]
    """
    grid = np.log(arguments.real_array(steps, "steps", 1))
    fine = np.linspace(grid[0], grid[-1], 40 * (len(grid) - 1) + 1)

    def between(values: Array) -> Array:
        logs = np.log(np.maximum(np.nan_to_num(values), np.finfo(float).tiny))
        return np.exp(CubicSpline(grid, logs, axis=-1)(fine))[..., None, :]

    level = arguments.real_array(noise, "noise", 1)[:, None]
    losses = between(np.maximum(parts.signal, parts.signal_error)) + level * between(parts.noise)
    known = np.where(np.isnan(parts.signal).any(axis=-1, keepdims=True), np.nan, 1.0)
    return known * np.exp(fine)[losses.argmin(axis=-1)], known * losses.min(axis=-1)


def leader(losses: ArrayLike, errors: ArrayLike = 0.0, margin: float = 0.01) -> tuple[Integers, Array]:
    """Which of the orders on the first axis has the least loss, and how many times that is the next one.

    Orders that are NaN do not take part. A lead by less than the share `margin`, or by no more than both numerical
    errors, is a tie, -1; the next loss over the least one is NaN where the least is not positive.

    >>> who, lead = leader([[1.0, 2.0], [3.0, 2.01], [np.nan, np.nan]])
    >>> who.tolist(), lead.tolist()
    ([0, -1], [3.0, 1.005])
    """
    values = np.asarray(losses, dtype=np.float64)
    ranks = np.argsort(values, axis=0)[:2]
    least, following = np.take_along_axis(values, ranks, axis=0)
    known = np.take_along_axis(np.broadcast_to(errors, values.shape), ranks, axis=0).sum(axis=0)
    tie = following - least <= np.maximum(margin * np.abs(least), known)
    lead = np.divide(following, least, out=np.full_like(least, np.nan), where=least > 0)
    return np.where(tie, -1, ranks[0]), lead


def recorded_parts(design: str, loss: str = "distance", epochs: int = 4) -> tuple[Array, Parts]:
    """The 25 steps, and both parts of one loss on one design of the sweep "noise_map", arrays (orders, steps).

    They are from :func:`signal_and_noise` and known to 0.2 %. Designs are named by their rows, and rows per dimension:
    "gaussian 2", "gaussian 4", "power law 4", "cifar10 4" and "wikipedia 4"; the loss is "distance" or "train", after 4
    or 20 epochs.
    """
    sweep = shipped.sweep("noise_map")
    designs, budgets, losses = sweep["designs"].tolist(), sweep["epochs"].tolist(), ("distance", "train")
    where = losses.index(arguments.choice(loss, "loss", losses))
    if epochs not in budgets:
        raise ValueError(f"epochs must be one of {budgets}, not {epochs!r}.")
    at = designs.index(arguments.choice(design, "design", designs)), slice(None), where, budgets.index(epochs)
    logs = np.cumsum(sweep["log2"][(slice(None), *at)], axis=-1, dtype=np.int64) / 250  # in the sweep's units
    values = 2.0**logs
    if loss == "train":
        values[:, orders.ORDERS.index("flip_flop")] = np.nan
    return sweep["steps"].astype(np.float64), Parts(*values, *10.0 ** sweep["error10"][(slice(None), *at)])
