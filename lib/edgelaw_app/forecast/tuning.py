"""Each order at its best learning rate, and its losses there: by theory, or by running SGD where there is none."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from edgelaw._common import threads
from edgelaw._common.types import Array
from edgelaw.exact.labels import schedules
from edgelaw_app.forecast import ranking, runs, search
from edgelaw_app.forecast.labelled import ANY_SCHEDULE, Labelled
from edgelaw_app.forecast.request import Budget, ProgressCounter, Request
from edgelaw_app.forecast.results import OrderForecast
from edgelaw_app.forecast.runs import Losses
from edgelaw_app.forecast.spectral import Spectral, corrected

SAFE = 0.9  # part of where SGD diverges, or the longest row overshoots, that is tried and recommended
SEARCHED, NEAR = 12, 6  # steps that a search by running pays for, and one near a guess
SEARCH = 0.3  # part of what an order may take that its search may
NOTHING = 1e-9  # part of where SGD diverges: with less nothing is learnt in any number of epochs
MOMENTS = 24  # times at which runs are recorded, at most
Problem = Spectral | Labelled


class Question(NamedTuple):
    """What is asked of every order.

    `loss` is the place of the deciding loss in a problem's, `horizon` the time at which it is to be the smallest,
    `times` are recorded; `seed` gives every step of a search the same runs.
    """

    request: Request
    loss: int
    horizon: float
    times: Array
    budget: Budget
    seed: int
    tell: ProgressCounter

    def steps(self, step: float, shape: Array | None = None) -> Array:
        """A step for every epoch."""
        return step * (np.ones(self.request.epochs) if shape is None else shape)


class Tuned(NamedTuple):
    """Steps by epoch with the least loss at the horizon, the losses there, and what the best constant step leaves."""

    steps: Array
    losses: Losses
    constant: float


def rounded(problem: Problem, step: float) -> float:
    """The largest step below this one whose learning rate has three digits."""
    unit = problem.outputs / (2 * problem.scale)
    lr = step * unit
    digit = 10.0 ** (np.floor(np.log10(lr)) - 2)
    return float(f"{np.floor(lr / digit * (1 + 1e-9)) * digit:.3g}") / unit


def learning_rate(problem: Problem, step: float) -> float:
    """What a step is for ``nn.MSELoss()``, which averages over outputs and has no half."""
    return float(f"{step * problem.outputs / (2 * problem.scale):.12g}")


def refuse_useless(problem: Problem, request: Request, step: float) -> None:
    """Refuse a largest step at which an order that was asked for diverges, or that moves nothing."""
    order = min(request.orders, key=problem.limit)
    limit, unit, name = problem.limit(order), 1.0, "step"
    if request.step is None:
        unit, name = problem.outputs / (2 * problem.scale), "lr"
    if step >= limit:
        raise ValueError(
            f"{name} must be below {limit * unit:.4g}, where {ranking.NAMES[order]} diverges, not "
            f"{step * unit:.4g}."
        )
    if step < NOTHING * limit:
        raise ValueError(
            f"{name} must be at least {NOTHING * limit * unit:.2g}, because less moves nothing, not {step * unit:.4g}."
        )


def by_theory(
    problem: Problem, question: Question, orders: Iterable[str]
) -> dict[str, Tuned | ArithmeticError]:
    """The orders at their best steps by theory, on all cores, each on one of them; or why there is none."""

    def one(order: str, guess: float | None) -> Tuned | ArithmeticError:
        try:
            return _by_theory(problem, question, order, guess)
        except ArithmeticError as refusal:
            return refusal
        finally:
            question.tell(f"{ranking.NAMES[order]}: best learning rate")

    first, *rest = orders
    made = {first: one(first, None)}
    known = made[first]
    guess = float(known.steps[0]) if isinstance(known, Tuned) else None
    with threads.executor(threads.cores()) as pool:
        futures = {order: pool.submit(one, order, guess) for order in rest}
        return {**made, **{order: future.result() for order, future in futures.items()}}


def _by_theory(problem: Problem, question: Question, order: str, guess: float | None) -> Tuned:
    request = question.request
    if not problem.has_theory(order):
        raise ArithmeticError(f"There is no theory of {ranking.NAMES[order]} for this question.")
    limit = problem.limit(order)
    highest = SAFE * min(limit, problem.highest(order))

    def loss_at(step: float) -> float:
        return float(
            problem.theory(order, question.steps(step), [question.horizon]).values[question.loss, -1]
        )

    best = search.best(loss_at, limit, highest, None if guess is None else min(guess, highest))
    steps, constant = question.steps(rounded(problem, best.step)), best.loss
    if request.schedule not in ("constant", "given"):
        if not isinstance(problem, Labelled) or order not in ANY_SCHEDULE or problem.ridge:
            raise ArithmeticError(f"There is no theory of {ranking.NAMES[order]} with a schedule.")
        loss = "train" if question.loss == 0 else "held_out"
        made = schedules.best_schedule(
            order, problem.rows, request.epochs, loss, request.schedule, highest, problem.batch
        )
        steps, constant = made.steps, made.constant_loss
    return Tuned(steps, problem.theory(order, steps, question.times, checked=True), constant)


class Runner(NamedTuple):
    """On which rows SGD is run, and what may be spent on each order."""

    problem: Problem
    share: float


def runner(
    problem: Problem, question: Question, orders: int, rng: np.random.Generator, steps: int = SEARCHED
) -> Runner:
    """All rows, or as large a part of them as can be run twice at each of some steps, in every order."""
    share = question.budget.left / max(orders, 1)
    needed = 2 * steps / SEARCH * problem.cost(np.array([0.0, question.horizon]))
    if isinstance(problem, Spectral) and (needed > share or not problem.can_run()):
        epochs = int(np.ceil(question.horizon))
        part = problem.part(share / (4 * steps / SEARCH), epochs, rng)
        return Runner(problem if part.shape == problem.shape else part, share)
    return Runner(problem, share)


def by_running(
    whole: Problem,
    question: Question,
    order: str,
    run_on: Runner,
    known: Tuned | None,
    rng: np.random.Generator,
) -> Tuned | None:
    """An order at its best step by running SGD, near what is known of it or of another; None if that costs too much."""
    problem, request = run_on.problem, question.request
    scale = problem.batch / whole.batch  # the same step per row
    limit = problem.limit(order)
    highest = SAFE * min(limit, problem.highest(order))
    shape = None
    if request.schedule not in ("constant", "given"):
        shape = schedules.profile(
            {"best": "cosine"}.get(request.schedule, request.schedule), request.epochs, 1.0
        )
    tries = SEARCHED if known is None else NEAR
    each = SEARCH * run_on.share / tries

    def loss_at(step: float) -> float:
        steps = question.steps(step, shape)
        return runs.loss_by_running(
            problem, order, steps, question.horizon, question.loss, question.seed, question.budget, each
        )

    guess = None if known is None else min(float(known.steps[0]) * scale, highest)
    best = guess or highest / 2
    if each >= runs.FEWEST_LOOKED_FOR * problem.cost(np.array([0.0, question.horizon])):
        best = search.best(loss_at, limit, highest, guess, tries).step
    question.tell(f"{ranking.NAMES[order]}: best learning rate")
    allowed = SAFE * min(whole.limit(order), whole.highest(order))  # of a part, scaled, it may be beyond
    steps = question.steps(rounded(whole, min(best / scale, allowed)), shape)
    losses = at_steps(whole, question, order, run_on, steps, rng)
    return None if losses is None else Tuned(steps, losses, float(losses.values[question.loss, -1]))


def at_steps(
    whole: Problem,
    question: Question,
    order: str,
    run_on: Runner,
    steps: Array,
    rng: np.random.Generator,
) -> Losses | None:
    """The losses of an order at given steps by running SGD, on all rows or on a part of them."""
    problem, share = run_on.problem, run_on.share * (1 - SEARCH)
    own = steps * problem.batch / whole.batch
    times = moments(question.times[question.times <= question.horizon])
    made = runs.until_precise(problem, order, own, times, rng, question.budget, share)
    if made is None or problem is whole:
        return made
    (rows, dims), (m, d) = problem.shape, whole.shape
    note = f"{made.why[:-1]}, on {rows:,} of {m:,} rows in {dims:,} of {d:,} random directions"
    try:
        full, part = whole.theory(order, steps, times), problem.theory(order, own, times)
    except ArithmeticError:
        return made._replace(how="part", why=f"{note}, which compare orders; all rows have larger losses.")
    return corrected(full, made, part)._replace(
        how="pilot", why=f"{note}, times theory of all rows over that of the part."
    )


def moments(times: Array) -> Array:
    """A few of the times, 0 and the last included, evenly spaced in their logarithm.

    >>> moments(np.arange(4)).tolist(), len(moments(np.arange(500)))
    ([0, 1, 2, 3], 23)
    """
    after = times[times > 0]
    if len(after) <= MOMENTS:
        return times
    goals = np.geomspace(after[0], after[-1], MOMENTS)
    return np.append(0, np.unique(after[np.abs(np.log(after[:, None] / goals)).argmin(axis=0)]))


def of_order(problem: Problem, order: str, steps: Array, losses: Losses) -> OrderForecast:
    """The result for one order."""
    names, rates = problem.losses, np.array([learning_rate(problem, step) for step in steps])
    return OrderForecast(
        order,
        float(rates[0]),
        rates,
        float(steps[0]),
        losses.epochs,
        dict(zip(names, losses.values, strict=True)),
        dict(zip(names, losses.errors, strict=True)),
        losses.how,
        losses.why,
        losses.runs,
        losses.accuracy,
    )
