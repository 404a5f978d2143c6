"""One order at given steps: by theory where there is one, else by running SGD, and said to be so."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from edgelaw import exact
from edgelaw._common.types import Array
from edgelaw.exact.labels import LabelledRows
from edgelaw_app.labels import simulation
from edgelaw_app.labels.preparation import Prepared
from edgelaw_app.labels.results import OrderForecast

OPERATIONS = 2e10  # multiply-adds that the runs of one order may take: some ten seconds
RUNS = 8
FEWEST_RUNS = 2
FEWEST_DIMS = 20  # dimensions spanned by the rows, below which theory has no curve for shuffled orders
VANISHED = 1e-9  # of its start: below it reshuffle's theory is rounding, and runs are exact
ANY_SCHEDULE = ("iid", "random_reshuffle")  # orders whose theory takes steps by epoch and batches


class Problem(NamedTuple):
    """What all curves of a forecast share."""

    prepared: Prepared
    rows: LabelledRows
    batch: int
    ridge: float
    rng: np.random.SeedSequence

    @property
    def row_limit(self) -> float:
        """The step below which no update by a single row, however long, increases the error.

        Theory knows the mean of the squared norms and their spread, not the one row that is far longer than all others:
        beyond this step it can grow by every visit, where the mean says that all is well.
        """
        longest = float(np.einsum("ij,ij->i", self.prepared.X, self.prepared.X).max())
        return 2 * self.batch * self.prepared.scale / longest

    @property
    def operations(self) -> float:
        """Multiply-adds of an epoch of SGD."""
        return 2.0 * self.prepared.X.size * self.prepared.T.shape[1]


def too_few_dimensions(rows: LabelledRows) -> bool:
    """Whether the rows span too few dimensions to stand for a spectrum, however many columns they have."""
    return len(rows.eigenvalues) < FEWEST_DIMS


def has_theory(order: str, problem: Problem, steps: Array) -> bool:
    """Whether theory gives both losses of an order at these steps."""
    if order == "flip_flop" or (problem.ridge > 0 and order != "iid"):
        return False
    if order != "iid" and too_few_dimensions(problem.rows):
        return False
    if problem.ridge * steps.max() >= problem.prepared.scale:  # weights change their sign at every update
        return False
    return order in ANY_SCHEDULE or (problem.batch == 1 and bool((steps == steps[0]).all()))


def by_theory(order: str, problem: Problem, steps: Array) -> OrderForecast | None:
    """The losses by epoch, or None where theory has none or does not trust its own numbers."""
    if not has_theory(order, problem, steps):
        return None
    epochs = np.arange(len(steps) + 1)
    constant = bool((steps == steps[0]).all())
    try:
        step = float(steps[0]) if constant else steps
        curve = exact.probe_curve(order, problem.rows, epochs, step, problem.batch, problem.ridge)
    except ArithmeticError:
        return None
    if order == "random_reshuffle" and (curve.train < VANISHED * curve.train[0]).any():
        return None
    return OrderForecast(order, "theory", curve.train, curve.held_out, curve.error)


def with_floor(one: OrderForecast, problem: Problem, steps: Array) -> OrderForecast:
    """The same with the training loss that a constant step ends at, where the order's theory has it."""
    if one.how != "theory" or problem.batch > 1 or problem.ridge > 0 or not (steps == steps[0]).all():
        return one
    try:
        floor = exact.probe_floor(one.order, problem.rows, float(steps[0]))
        return dataclasses.replace(one, floor=float(floor.train))
    except (ArithmeticError, np.linalg.LinAlgError):
        return one


def by_simulation(order: str, problem: Problem, steps: Array, runs: int = RUNS) -> OrderForecast | None:
    """Means over runs of SGD; None where that would take too long."""
    affordable = int(OPERATIONS / (problem.operations * len(steps)))
    if affordable < FEWEST_RUNS:
        return None
    runs = min(runs, affordable)
    rates = steps / problem.prepared.scale
    # the same orders of rows at every step, so that steps can be compared
    rng = np.random.default_rng(problem.rng)
    results = simulation.simulate(problem.prepared, order, rates, problem.batch, problem.ridge, runs, rng)
    deciding = results.train if results.held_out is None else results.held_out
    with np.errstate(over="ignore", invalid="ignore"):
        error = deciding.std(axis=0, ddof=1) / np.sqrt(runs) / deciding.mean(axis=0)
        held = None if results.held_out is None else results.held_out.mean(axis=0)
        return OrderForecast(order, "simulated", results.train.mean(axis=0), held, float(np.max(error)))


def losses(order: str, problem: Problem, steps: Array) -> OrderForecast | None:
    """By theory, else by simulation, else None."""
    return by_theory(order, problem, steps) or by_simulation(order, problem, steps)
