"""Does SGD do what theory says? Runs on the rows themselves, compared with the curve they should follow."""

import dataclasses

import numpy as np

from edgelaw_app.forecast import ranking, runs
from edgelaw_app.forecast.diagnostic import NOT_RUN, SMALLEST, USELESS, Compared, diagnose, judged
from edgelaw_app.forecast.labelled import ACCURACY, Labelled
from edgelaw_app.forecast.request import Question
from edgelaw_app.forecast.results import Check, OrderForecast
from edgelaw_app.forecast.spectral import Spectral

SHARE = 1 / 3  # of the operations, that runs beside theory may take
DIAGNOSED = 1 / 2  # of the operations, that running two orders from all starts may take
SIGMAS = 3.0  # of errors that are wider for few runs


def checked(
    question: Question, theory: dict[str, OrderForecast], rng: np.random.Generator
) -> tuple[Check, dict[str, OrderForecast]]:
    """Whether SGD agrees with theory; and theory, with the errors and accuracies that runs beside it have shown."""
    problem, order = question.problem, _best(question, theory)
    one = theory[order]
    if isinstance(problem, Spectral) and problem.batch == 1:
        allowed = question.budget.total * DIAGNOSED
        check, spent = diagnose(problem.design, rng, question.request.epochs, min(one.step, 1.9), allowed)
        question.budget.spent += spent
        return check, theory
    ran = _beside(question, one, rng)
    if ran is None:
        return NOT_RUN, theory
    known = one.values[:, np.searchsorted(one.epochs, ran.epochs)] / one.values[:, :1]
    seen, measured = np.where(known > SMALLEST, known, np.nan), ran.values / one.values[:, :1]
    compared = Compared(
        measured[None],
        (ran.errors * measured)[None],
        seen[None],
        problem.promised,
        SIGMAS,
        [order],
        problem.losses,
        ran.epochs,
    )
    batches = f" in batches of {problem.batch}" if problem.batch > 1 else ""
    check = judged(compared, f"{ran.runs} times{batches} at the best lr")
    if check.verdict == "agrees" and isinstance(problem, Labelled):
        # Then theory is known to be as good as that here, whatever it states of itself.
        worst = float(np.nanmax(np.abs(measured / seen - 1) + 2 * ran.errors))
        errors = {loss: np.minimum(each, max(ACCURACY, worst)) for loss, each in one.errors.items()}
        accuracy = ran.accuracy if ran.epochs[-1] == question.horizon else None
        theory = {**theory, order: dataclasses.replace(one, errors=errors, accuracy=accuracy)}
    return check, theory


def _best(question: Question, theory: dict[str, OrderForecast]) -> str:
    """The order whose theory is compared: the one to take, or the best of the shuffled ones in batches."""
    problem, loss = question.problem, question.decides
    ends = {order: one.at(question.horizon, loss) for order, one in theory.items()}
    if isinstance(problem, Labelled):
        return ranking.ranked(
            {order: (end / problem.start, error) for order, (end, error) in ends.items()}
        ).order
    shuffled = [order for order in ends if order != "iid"] if problem.batch > 1 else list(ends)
    return min(shuffled or ends, key=lambda order: ends[order][0])


def _beside(question: Question, one: OrderForecast, rng: np.random.Generator) -> runs.Losses | None:
    """SGD at the best steps, at a few epochs: as many as a share of the operations pays for; None if for none."""
    problem, share, last = question.problem, question.budget.total * SHARE, question.horizon
    if share < runs.FEWEST * problem.cost(np.array([0.0, last])):
        last = min(last, share // (4 * runs.FEWEST * problem.cost(np.array([0.0, 1.0]))))
    if last < 1:
        return None
    times, precise = runs.moments(question.times, last), USELESS * np.array(problem.promised)[:, None]
    steps = one.rates / problem.unit
    return runs.until_precise(problem, one.order, steps, times, rng, question.budget, share, precise)
