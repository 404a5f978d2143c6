"""Does SGD do what theory says? Runs on the rows themselves, compared with the curve they should follow."""

from collections.abc import Mapping

import numpy as np

from edgelaw._common.types import Array
from edgelaw_app.forecast import ranking, runs, tuning
from edgelaw_app.forecast.diagnostic import diagnose
from edgelaw_app.forecast.labelled import Labelled
from edgelaw_app.forecast.results import Check
from edgelaw_app.forecast.runs import Losses
from edgelaw_app.forecast.spectral import Spectral
from edgelaw_app.forecast.tuning import Problem, Question, Tuned

SHARE = 1 / 3  # of the operations, that runs beside theory may take
DIAGNOSED = 1 / 2  # of the operations, that running two orders from all starts may take
SIGMAS = 3.0  # standard errors beyond what is promised
SMALLEST = 1e-7  # of its start: a smaller loss is not compared
DIVERGES = (
    "SGD, run at the learning rate of theory, diverges, so the losses here come from runs at smaller ones."
)
NAMES = {"passes": "agrees", "fails": "differs", "undecided": "undecided"}


def checked(
    problem: Problem, question: Question, theory: Mapping[str, Tuned], rng: np.random.Generator
) -> tuple[Check, dict[str, Tuned]]:
    """Whether SGD agrees with theory; and theory, with the errors and accuracies that runs beside it have shown."""
    tuned, order = dict(theory), _best(problem, question, theory)
    if isinstance(problem, Spectral) and problem.batch == 1:
        step = min(float(theory[order].steps[0]), 1.9)
        verdict = diagnose(
            problem.design, rng, question.request.epochs, step, question.budget.total * DIAGNOSED
        )
        question.budget.spend(verdict.operations)
        return Check(NAMES.get(verdict.verdict, verdict.verdict), verdict.text), tuned
    one = tuned[order]
    ran = _beside(problem, question, order, one, rng)
    if ran is None:
        return Check("not run", "No run was made to compare with, because it would take too long."), tuned
    known = one.losses.values[:, np.searchsorted(one.losses.epochs, ran.epochs)]
    check, worst = judged(problem, ran, known, order)
    if check.verdict == "agrees" and isinstance(problem, Labelled):
        # Then theory is known to be as good as that here, whatever it states of itself.
        errors = np.minimum(one.losses.errors, max(problem.accuracy, worst))
        accuracy = ran.accuracy if ran.epochs[-1] == question.horizon else None
        tuned[order] = one._replace(losses=one.losses._replace(errors=errors, accuracy=accuracy))
    return check, tuned


def _best(problem: Problem, question: Question, theory: Mapping[str, Tuned]) -> str:
    """The order whose theory is compared: the one to take, or the best of the shuffled ones in batches."""
    ends = {}
    for order, one in theory.items():
        place = int(np.argmin(np.abs(one.losses.epochs - question.horizon)))
        value, error = one.losses.values[question.loss, place], one.losses.errors[question.loss, place]
        ends[order] = float(value) / problem.start, float(error)
    if isinstance(problem, Labelled):
        return ranking.ranked(ends).order
    shuffled = [order for order in ends if order != "iid"] if problem.batch > 1 else list(ends)
    return min(shuffled or ends, key=lambda order: ends[order][0])


def _beside(
    problem: Problem, question: Question, order: str, one: Tuned, rng: np.random.Generator
) -> Losses | None:
    """SGD at the best steps, at a few epochs: as many as a share of the operations pays for; None if for none."""
    share, last = question.budget.total * SHARE, question.horizon
    if share < runs.FEWEST * problem.cost(np.array([0.0, last])):
        last = min(last, share // (4 * runs.FEWEST * problem.cost(np.array([0.0, 1.0]))))
    if last < 1 or not problem.can_run():
        return None
    times = tuning.moments(question.times[question.times <= last])
    return runs.until_precise(problem, order, one.steps, times, rng, question.budget, share)


def judged(problem: Problem, ran: Losses, theory: Array, order: str) -> tuple[Check, float]:
    """Whether runs and theory agree, by the errors of the runs, and how far they may be apart.

    The worst place decides, among those where something is left.
    """
    promised = np.array(problem.promised)[:, None]
    with np.errstate(all="ignore"):
        seen = theory > SMALLEST * theory[:, :1]
        gaps, errors = np.where(seen, ran.values / theory - 1, 0.0), np.where(seen, ran.errors, 0.0)
    if not np.isfinite(gaps).all():
        return Check("differs", DIVERGES), np.inf
    worst = float((np.abs(gaps) + 2 * errors).max())
    part, doubt = np.abs(gaps) / (promised + SIGMAS * errors), np.maximum(np.abs(gaps), errors)
    verdict, place = "agrees", part.argmax()
    if part.max() > 1:
        verdict = "differs"
    elif doubt.max() > promised.max():
        verdict, place = "undecided", doubt.argmax()
    row, column = np.unravel_index(int(place), gaps.shape)
    epoch = ran.epochs[column]
    where = f"the {problem.losses[row]} after {epoch:.0f} epoch{'s' if epoch != 1 else ''}"
    off = f"{100 * gaps[row, column]:+.1f} ± {100 * errors[row, column]:.1f} %"
    batches = f" in batches of {problem.batch}" if problem.batch > 1 else ""
    text = f"SGD, run {ran.runs} times{batches} ({ranking.NAMES[order]} at its best lr),"
    said = {
        "agrees": f"agrees with theory: the largest gap is {off}, {where}.",
        "differs": f"differs from theory: {where} is {off} off.",
        "undecided": f"neither confirms theory nor contradicts it: {where} is {off} off.",
    }
    return Check(verdict, f"{text} {said[verdict]}"), worst
