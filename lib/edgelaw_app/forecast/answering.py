"""From a question to every order at its best: by theory that runs confirm, or by running SGD where they do not."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from edgelaw._common.types import Array
from edgelaw.exact.labels import schedules
from edgelaw_app.forecast import checking, ranking, tuning
from edgelaw_app.forecast.request import Request
from edgelaw_app.forecast.results import Advice, Check, Forecast, OrderForecast
from edgelaw_app.forecast.tuning import Problem, Question, Runner, Tuned

INSTEAD = "so the losses here come from running SGD"
GUIDE = "and running SGD in every order would take too long, so theory is a guide only"


@dataclass(frozen=True)
class Found:
    """Every order at its best steps, whether runs confirm theory, and what SGD ran on where it stands in for theory."""

    tuned: dict[str, Tuned]
    check: Check
    runner: Runner | None


def given(problem: Problem, request: Request) -> Array | None:
    """The step of every epoch that was asked for, or None; a useless one is refused."""
    unit = 2 * problem.scale / problem.outputs
    if request.rates is not None:
        steps = request.rates * unit
    elif request.lr is not None or request.step is not None:
        height = request.lr * unit if request.lr is not None else request.step or 0.0
        shape = "cosine" if request.schedule == "best" else request.schedule
        steps = height * schedules.profile(shape, request.epochs, 1.0)
    else:
        return None
    tuning.refuse_useless(problem, request, float(steps.max()))
    return steps


def found(
    problem: Problem, question: Question, simulate: bool, rng: np.random.Generator
) -> tuple[Found, Question]:
    """Every order at its best; and the question, with an earlier horizon if a target is reached before."""
    theory, question = _by_theory(problem, question)
    check = Check("not run", "Theory refuses this spectrum, so the losses here come from running SGD.")
    tuned = theory
    if theory:
        check, tuned = checking.checked(problem, question, theory, rng.spawn(1)[0])
    question.tell("check")
    doubted = check.verdict in ("differs", "undecided")
    orders = [order for order in question.request.orders if simulate or doubted or order not in theory]
    if not orders:
        return Found(tuned, check, None), question
    ran, runner = _by_running(problem, question, theory, orders, rng)
    if doubted:
        check = Check(check.verdict, f"{check.text[:-1]}, {INSTEAD if len(ran) == len(orders) else GUIDE}.")
    found = Found({**tuned, **ran}, check, runner)
    first = _first(problem, question, found.tuned)
    return found, question._replace(horizon=min(first, question.horizon))


def _by_theory(problem: Problem, question: Question) -> tuple[dict[str, Tuned], Question]:
    """The orders at their best steps for the horizon, or for reaching the target as soon as one of them can."""
    while True:
        known = tuning.by_theory(problem, question, question.request.orders)
        theory = {order: one for order, one in known.items() if isinstance(one, Tuned)}
        first = _first(problem, question, theory)
        if first >= question.horizon:
            return theory, question
        question = question._replace(horizon=first)  # other steps may reach it still sooner


def _first(problem: Problem, question: Question, tuned: dict[str, Tuned]) -> float:
    """When the first of the orders reaches the target; infinite if none does, or there is none."""
    loss, target = problem.losses[question.loss], question.request.target
    times = [reached(one, loss, target) for one in results(problem, question, tuned).values()]
    return min((time for time in times if time is not None), default=np.inf)


def _by_running(
    problem: Problem,
    question: Question,
    theory: dict[str, Tuned],
    orders: list[str],
    rng: np.random.Generator,
) -> tuple[dict[str, Tuned], Runner]:
    """Some orders at their best steps by running SGD, and on what it ran."""
    near = next(iter(theory.values()), None)  # where an order has no theory, another's best step is a guess
    shared = len(orders) * (1 + question.request.judged)
    steps = tuning.SEARCHED if near is None else tuning.NEAR
    runner = tuning.runner(problem, question, shared, rng, steps)
    made: dict[str, Tuned | None] = {}
    for order, child in zip(orders, rng.spawn(len(orders)), strict=True):
        same = next((other for other in made if "iid" not in (order, other)), None)
        if question.horizon <= 1 and same is not None:  # until a row comes again, shuffled orders are one
            made[order] = made[same]
        else:
            made[order] = tuning.by_running(problem, question, order, runner, theory.get(order, near), child)
        question.tell(f"{ranking.NAMES[order]}: runs")
    return {order: one for order, one in made.items() if one is not None}, runner


def reached(one: OrderForecast, loss: str, target: float | None) -> float | None:
    """The first recorded time at which a loss is at or below the target."""
    below = np.flatnonzero(one.losses[loss] <= (-1.0 if target is None else target))
    return float(one.epochs[below[0]]) if len(below) else None


def results(problem: Problem, question: Question, tuned: dict[str, Tuned]) -> dict[str, OrderForecast]:
    """Results by order, in the order in which they were asked for."""
    return {
        order: tuning.of_order(problem, order, tuned[order].steps, tuned[order].losses)
        for order in question.request.orders
        if order in tuned
    }


def asked(
    problem: Problem, question: Question, steps: Array | None, known: Found, rng: np.random.Generator
) -> dict[str, OrderForecast]:
    """Every order at the steps that were asked for: by theory where its best steps are, else by running SGD."""
    made: dict[str, OrderForecast] = {}
    for order in question.request.orders if steps is not None else ():
        assert steps is not None
        try:
            if order not in known.tuned or known.tuned[order].losses.how != "theory":
                raise ArithmeticError
            losses = problem.theory(order, steps, question.times, checked=True)
        except ArithmeticError:
            runner = known.runner or tuning.runner(problem, question, len(question.request.orders), rng)
            ran = tuning.at_steps(problem, question, order, runner, steps, rng.spawn(1)[0])
            if ran is None:
                continue
            losses = ran
        made[order] = tuning.of_order(problem, order, steps, losses)
    return made


def advice(
    problem: Problem,
    losses: dict[str, tuple[float, float]],
    place: ranking.Ranking,
    one: OrderForecast,
    epochs: int,
    when: tuple[str, float],
    sentences: tuple[str, ...],
) -> Advice:
    """What to do, from the ranking of every order's loss and its error; `when` is that loss's name, and the time."""
    margin = place.margins[place.rival] if place.rival else ranking.Margin(0.0, 0.0)
    return Advice(
        place.order,
        one.lr,
        problem.batch,
        epochs,
        *when,
        *losses[place.order],
        place.verdict,
        place.rival,
        margin.size,
        margin.error,
        place.open,
        tuple(text for text in sentences if text),
    )


def use(problem: Problem, one: OrderForecast, epochs: int, decayed: str = "") -> str:
    """The first sentence of an answer."""
    how = f"{ranking.NAMES[one.order]} ({ranking.DOES[one.order]})"
    # result cli-4
    return f"Use {how} with lr = {one.lr:.3g}{decayed}, batch {problem.batch}, {count(epochs)}."


def count(epochs: int) -> str:
    """A number of epochs in words."""
    return f"{epochs} epoch{'s' if epochs > 1 else ''}"


def others(place: ranking.Ranking, losses: dict[str, tuple[float, float]], begin: str) -> str:
    """The sentence on the other orders, each at its own best learning rate; empty if there are none."""
    rest = ranking.in_words(place, losses)
    return f"{begin}: {rest[0].lower()}{rest[1:]}" if rest else ""


def assembled(
    problem: Problem,
    question: Question,
    known: Found,
    orders: tuple[dict[str, OrderForecast], dict[str, OrderForecast]],
    **rest: Any,
) -> Forecast:
    """The answer: what both forecasts have, and the rest; `orders` at their best, and as they were asked for."""
    request, (best, judged) = question.request, orders
    return Forecast(
        shape=problem.shape,
        orders=best,
        asked=judged,
        largest_lr={order: tuning.learning_rate(problem, problem.limit(order)) for order in request.orders},
        budget=request.epochs,
        target=request.target,
        check=known.check,
        operations=question.budget.spent,
        eigenvalues=problem.eigenvalues,
        **rest,
    )
