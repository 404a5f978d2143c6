"""Every order at its best learning rate: by theory that runs confirm, or by running SGD where they do not."""

import dataclasses
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from edgelaw._common import threads
from edgelaw._common.types import Array
from edgelaw_app.forecast import checking, ranking, runs, search
from edgelaw_app.forecast.request import Question
from edgelaw_app.forecast.results import Advice, Check, Forecast, OrderForecast
from edgelaw_app.forecast.runs import Losses
from edgelaw_app.forecast.spectral import Spectral, corrected

if TYPE_CHECKING:
    from edgelaw_app.forecast.runs import Problem

SAFE = 0.9  # part of where SGD diverges, or the longest row overshoots, that is tried and recommended
SEARCHED, NEAR = 12, 6  # steps that a search by running pays for, and one near a guess
SEARCH = 0.3  # part of what an order may take that its search may
NOTHING = 1e-9  # part of where SGD diverges: with less nothing is learnt in any number of epochs
INSTEAD = "so the losses here come from running SGD"
GUIDE = "and running SGD in every order would take too long, so theory is a guide only"
Orders = dict[str, OrderForecast]


def learning_rate(problem: "Problem", step: float) -> float:
    """What a step is for PyTorch."""
    return float(f"{step * problem.unit:.12g}")


def rounded(problem: "Problem", step: float) -> float:
    """The largest step below this one whose learning rate has three digits."""
    lr = step * problem.unit
    digit = 10.0 ** (np.floor(np.log10(lr)) - 2)
    return float(f"{np.floor(lr / digit * (1 + 1e-9)) * digit:.3g}") / problem.unit


def of_order(problem: "Problem", order: str, steps: Array, losses: Losses) -> OrderForecast:
    """The result for one order at some steps, one for each epoch."""
    rates = np.array([learning_rate(problem, step) for step in steps])
    values, errors = (dict(zip(problem.losses, each, strict=True)) for each in (losses.values, losses.errors))
    how = losses.how, losses.why, losses.runs, losses.accuracy
    return OrderForecast(order, float(rates[0]), rates, float(steps[0]), losses.epochs, values, errors, *how)


def answered(question: Question, rng: np.random.Generator, otherwise: str) -> tuple[Orders, Orders, Check]:
    """Every order at its best, and at the learning rate that was asked for; a ValueError where nothing is known."""
    steps = _given(question)
    question.tell("learning rates")
    best, check = _found(question, rng)
    if not best:
        raise ValueError(otherwise)
    return best, _asked(question, steps, best, rng), check


def _given(question: Question) -> Array | None:
    """The step of every epoch that was asked for, or None; one at which SGD diverges or learns nothing is refused."""
    problem, lr = question.problem, question.request.lr
    if lr is None:
        return None
    order = min(question.request.orders, key=problem.limit)
    limit = problem.limit(order) * problem.unit
    if lr >= limit:
        raise ValueError(
            f"lr must be below {limit:.4g}, where {ranking.NAMES[order]} diverges, not {lr:.4g}."
        )
    if lr < NOTHING * limit:
        raise ValueError(
            f"lr must be at least {NOTHING * limit:.2g}, because less moves nothing, not {lr:.4g}."
        )
    return question.steps(lr / problem.unit)


def _found(question: Question, rng: np.random.Generator) -> tuple[Orders, Check]:
    """Every order at its best; the question's horizon becomes earlier if a target is reached before."""
    best = theory = _by_theory_until_target(question)
    check = Check("not run", "Theory refuses this spectrum, so the losses here come from running SGD.")
    if theory:
        check, best = checking.checked(question, theory, rng.spawn(1)[0])
    question.tell("check")
    problem, doubted = question.problem, check.verdict in ("differs", "undecided")
    orders = [
        order
        for order in question.request.orders
        if doubted or order not in theory or problem.doubtful(theory[order].values)
    ]
    if orders:
        ran = _by_running(question, best, orders, rng)
        if doubted:
            text = f"{check.text[:-1]}, {INSTEAD if len(ran) == len(orders) else GUIDE}."
            check = dataclasses.replace(check, text=text)
        best = {
            order: {**best, **ran}[order] for order in question.request.orders if order in {**best, **ran}
        }
        question.horizon = min(_first(question, best), question.horizon)
    return best, check


def by_theory(question: Question, orders: Iterable[str]) -> Orders:
    """Those orders that have theory at their best steps by it, on all cores, each on one of them."""

    def one(order: str, guess: float | None) -> OrderForecast | None:
        try:
            return _by_theory(question, order, guess)
        except ArithmeticError:
            return None
        finally:
            question.tell(f"{ranking.NAMES[order]}: best learning rate")

    first, *rest = orders
    made = {first: one(first, None)}
    known = made[first]
    guess = None if known is None else known.step
    with threads.executor(threads.cores()) as pool:
        futures = {order: pool.submit(one, order, guess) for order in rest}
        made |= {order: future.result() for order, future in futures.items()}
    return {order: result for order, result in made.items() if result is not None}


def _by_theory(question: Question, order: str, guess: float | None) -> OrderForecast:
    problem = question.problem
    highest = SAFE * problem.highest(order)

    def loss_at(step: float) -> float:
        losses = problem.theory(order, question.steps(step), [question.horizon])
        return float(losses.values[question.loss, -1])

    best = search.best(loss_at, problem.limit(order), highest, None if guess is None else min(guess, highest))
    steps = question.steps(rounded(problem, best))
    return of_order(problem, order, steps, problem.theory(order, steps, question.times))


def _by_theory_until_target(question: Question) -> Orders:
    """The orders at their best steps for the horizon, or for reaching the target as soon as one of them can."""
    while True:
        theory = by_theory(question, question.request.orders)
        first = _first(question, theory)
        if first >= question.horizon:
            return theory
        question.horizon = first  # other steps may reach it still sooner


def _first(question: Question, orders: Orders) -> float:
    """When the first of the orders reaches the target; infinite if none does, or there is none."""
    times = [reached(one, question.decides, question.request.target) for one in orders.values()]
    return min((time for time in times if time is not None), default=np.inf)


def reached(one: OrderForecast, loss: str, target: float | None) -> float | None:
    """The first recorded time at which a loss is at or below the target."""
    below = np.flatnonzero(one.losses[loss] <= (-1.0 if target is None else target))
    return float(one.epochs[below[0]]) if len(below) else None


def _by_running(question: Question, known: Orders, orders: list[str], rng: np.random.Generator) -> Orders:
    """Some orders at their best steps by running SGD, as far as the operations go."""
    near = next(iter(known.values()), None)  # where an order has no theory, another's best step is a guess
    shared = len(orders) * (1 + (question.request.lr is not None))
    _choose_rows(question, shared, SEARCHED if near is None else NEAR, rng)
    made: dict[str, OrderForecast | None] = {}
    for order, child in zip(orders, rng.spawn(len(orders)), strict=True):
        same = made.get(next((other for other in made if "iid" not in (order, other)), ""))
        if question.horizon <= 1 and same:  # until a row comes again, shuffled orders are one
            made[order] = dataclasses.replace(same, order=order)
        else:
            made[order] = _order_by_running(question, order, known.get(order, near), child)
        question.tell(f"{ranking.NAMES[order]}: runs")
    return {order: one for order, one in made.items() if one is not None}


def _choose_rows(question: Question, orders: int, tries: int, rng: np.random.Generator) -> None:
    """All rows, or as large a part of them as can be run twice at each of so many steps, in every order."""
    problem, share = question.problem, question.budget.left / max(orders, 1)
    affordable = share * SEARCH / (2 * tries)
    if isinstance(problem, Spectral) and problem.cost(np.array([0.0, question.horizon])) > affordable:
        problem = problem.part(affordable / 2, int(np.ceil(question.horizon)), rng)
    question.runs_on = problem, share


def _order_by_running(
    question: Question, order: str, near: OrderForecast | None, rng: np.random.Generator
) -> OrderForecast | None:
    """An order at its best step by running SGD, near what is known of it or of another; None if that costs too much."""
    assert question.runs_on is not None
    whole, (problem, share) = question.problem, question.runs_on
    scale = problem.batch / whole.batch  # the same step per row
    highest, place = SAFE * problem.highest(order), (question.loss, question.horizon)
    tries = SEARCHED if near is None else NEAR
    each = SEARCH * share / tries

    def loss_at(step: float) -> float:
        return runs.loss_by_running(
            problem, order, question.steps(step), place, question.seed, question.budget, each
        )

    guess = None if near is None else min(near.step * scale, highest)
    best = guess or highest / 2
    if each >= runs.FEWEST_LOOKED_FOR * problem.cost(np.array([0.0, question.horizon])):
        best = search.best(loss_at, problem.limit(order), highest, guess, tries)
    question.tell(f"{ranking.NAMES[order]}: best learning rate")
    allowed = SAFE * whole.highest(order)  # of a part, scaled, it may be beyond
    return _at_steps(question, order, question.steps(rounded(whole, min(best / scale, allowed))), rng)


def _at_steps(question: Question, order: str, steps: Array, rng: np.random.Generator) -> OrderForecast | None:
    """An order at given steps by running SGD, on all rows or on a part of them."""
    assert question.runs_on is not None
    whole, (problem, share) = question.problem, question.runs_on
    own, times = steps * problem.batch / whole.batch, runs.moments(question.times, question.horizon)
    made = runs.until_precise(problem, order, own, times, rng, question.budget, (1 - SEARCH) * share)
    if made is None:
        return None
    if problem is not whole:
        (rows, dims), (m, d) = problem.shape, whole.shape
        note = f"{made.why[:-1]}, on {rows:,} of {m:,} rows in {dims:,} of {d:,} random directions"
        try:
            full, part = whole.theory(order, steps, times), problem.theory(order, own, times)
            why = f"{note}, times theory of all rows over that of the part."
            made = corrected(full, made, part)._replace(how="pilot", why=why)
        except ArithmeticError:
            why = f"{note}, which compare orders; all rows have larger losses."
            made = made._replace(how="part", why=why)
    return of_order(whole, order, steps, made)


def _asked(question: Question, steps: Array | None, best: Orders, rng: np.random.Generator) -> Orders:
    """Every order at the steps that were asked for: by theory where its best steps are, else by running SGD."""
    made: dict[str, OrderForecast | None] = {}
    for order in [] if steps is None else question.request.orders:
        assert steps is not None
        try:
            if order not in best or best[order].how != "theory":
                raise ArithmeticError
            losses = question.problem.theory(order, steps, question.times)
            made[order] = of_order(question.problem, order, steps, losses)
        except ArithmeticError:
            if question.runs_on is None:
                _choose_rows(question, len(question.request.orders), SEARCHED, rng)
            made[order] = _at_steps(question, order, steps, rng.spawn(1)[0])
    return {order: one for order, one in made.items() if one is not None}


def count(epochs: int) -> str:
    """A number of epochs in words."""
    return f"{epochs} epoch{'s' if epochs > 1 else ''}"


def compared(
    question: Question, orders: Orders, time: float
) -> tuple[dict[str, tuple[float, float]], ranking.Ranking]:
    """The deciding loss of every order at a time with its error, and what follows for which to take."""
    values = {order: one.at(time, question.decides) for order, one in orders.items()}
    start = question.problem.start
    return values, ranking.ranked({order: (one / start, error) for order, (one, error) in values.items()})


def advised(question: Question, orders: Orders, time: float, epochs: int, leaves: str, begin: str) -> Advice:
    """What to do: the order to take for so many epochs, compared at a time; what it leaves, and how others stand."""
    values, place = compared(question, orders, time)
    one, problem, shape = orders[place.order], question.problem, question.request.schedule
    how = f"{ranking.NAMES[one.order]} ({ranking.DOES[one.order]})"
    decay = "" if shape == "constant" else f" with {shape} decay"
    # result cli-4
    use = f"Use {how} with lr = {one.lr:.3g}{decay}, batch {problem.batch}, {count(epochs)}."
    others = ranking.in_words(place, values)
    margin = place.margins[place.rival] if place.rival else ranking.Margin(0.0, 0.0)
    return Advice(
        order=place.order,
        lr=one.lr,
        batch=problem.batch,
        epochs=epochs,
        loss=question.decides,
        time=time,
        value=values[place.order][0],
        error=values[place.order][1],
        verdict=place.verdict,
        rival=place.rival,
        margin=margin.size,
        margin_error=margin.error,
        tie=place.open,
        sentences=(use, leaves, *([f"{begin}: {others}"] if others else [])),
    )


def assembled(question: Question, orders: Orders, check: Check, advice: Advice, **rest: Any) -> Forecast:
    """The answer: what both forecasts have, and the rest."""
    problem, request = question.problem, question.request
    return Forecast(
        shape=problem.shape,
        advice=advice,
        orders=orders,
        largest_lr={order: learning_rate(problem, problem.limit(order)) for order in request.orders},
        budget=request.epochs,
        target=request.target,
        check=check,
        operations=question.budget.spent,
        eigenvalues=problem.eigenvalues,
        **rest,
    )
