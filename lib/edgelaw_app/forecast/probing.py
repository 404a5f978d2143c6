"""From rows and labels to a linear probe: its learning rate, its order, its epochs, and the losses to expect."""

import os
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from edgelaw._common import arguments, threads
from edgelaw._common.types import ArrayLike, Progress, Rng
from edgelaw_app import files
from edgelaw_app.forecast import answering, cautions, ranking, recipe, ridge, runs
from edgelaw_app.forecast.labelled import Labelled
from edgelaw_app.forecast.preparation import STEPS, Prepared, prepare
from edgelaw_app.forecast.request import ProgressCounter, Question, asked
from edgelaw_app.forecast.results import FLOOR, Advice, Forecast, Labels, OrderForecast

ORDERS = ("random_reshuffle", "iid", "single_shuffle")  # those that data loaders have
WITHIN = 0.01  # of the smallest loss: then more epochs are not worth it


@threads.one_blas_thread()
def probe(
    X: ArrayLike | str | os.PathLike[str],
    y: ArrayLike | str,
    epochs: int = 20,
    orders: Iterable[str] = ORDERS,
    *,
    rng: Rng = 0,
    progress: Progress | None = None,
    **options: Any,
) -> Forecast:
    r"""How to train a linear probe on these features by SGD, the losses to expect, and the code to run.

    Parameters
    ----------
    X : array (m, d), or path
        Features, one row per example, of any scale.
    y : array (m,) or (m, k), or str
        Of a path, where the labels are, as for ``edgelaw probe``: a key or column of it, or another file. Integers,
        booleans and texts are classes, regressed on as one-hot columns; floating point numbers, in one column or
        several, are regressed on as they are, but for few whole ones.
    epochs : int
        The budget; the learning rate is the best for the loss at its end.
    orders : iterable of str
        Among `edgelaw.orders.ORDERS`, each at its own best learning rate.
    rng : int or numpy.random.Generator
        For the split and for runs.
    progress : callable, optional
        Called as ``progress(done, total, what)``.
    **options
        How SGD trains, all in `Training` but ``target``; and how rows are prepared, all in `Preparation`.

    Returns
    -------
    Forecast
        With `labels`; losses are means over rows of the squared error, summed over outputs.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(0, 1, (100, 20)), rng.normal(0.5, 1, (100, 20))])
    >>> found = probe(X, ["a"] * 100 + ["b"] * 100, epochs=3, orders=["iid"])
    >>> found.labels.classes, bool(found.advice.value < found.labels.chance)
    (('a', 'b'), True)
    """
    request, wanted = asked(epochs, orders, options, without=("target",))
    notes: tuple[str, ...] = ()
    if isinstance(X, str | os.PathLike):
        X, y, notes, _ = files.read_pair(os.fspath(X), *files.label_place(str(y), os.fspath(X)))
    generator, tell = arguments.generator(rng), ProgressCounter(progress, 3 + 2 * len(request.orders))
    tell("eigenvalues", 0)
    seed = int(generator.integers(2**31))

    def prepared_with(*more: str) -> Prepared:
        steps = [name for name in STEPS if getattr(wanted, name)]
        return prepare(X, y, wanted.held_out, [*steps, *more], np.random.default_rng(seed), wanted.classes)

    prepared = prepared_with()
    arguments.batch(request.batch, len(prepared.X))
    problem = Labelled(prepared, request.batch, request.weight_decay)
    loss, last = len(problem.losses) - 1, request.epochs
    question = Question(problem, request, loss, last, np.arange(last + 1.0), seed, tell)
    otherwise = (
        f"There is no theory of {', '.join(request.orders)} here, and running SGD takes more operations than there "
        "are; add random_reshuffle, or give fewer rows."
    )
    made, judged, check = answering.answered(question, generator, otherwise)
    advice, code = _advice(question, problem, made)
    standardized = None if wanted.standardize else prepared_with("standardize")
    warned = (
        *cautions.of_scale(prepared, standardized, request.epochs, request.batch),
        *cautions.with_labels(problem, made, advice, check, request.orders),
    )
    return answering.assembled(
        question,
        made,
        check,
        advice,
        asked=judged,
        reached={},
        cautions=warned,
        assumed=_assumed(problem),
        code=code,
        preparation=(*notes, *prepared.sentences),
        labels=_labels(question, problem, made[advice.order]),
    )


def _advice(question: Question, problem: Labelled, made: dict[str, OrderForecast]) -> tuple[Advice, str]:
    """What to do, in words and as code."""
    request, loss, last = question.request, question.decides, question.horizon
    _, place = answering.compared(question, made, last)
    one, epochs = made[place.order], request.epochs
    if request.schedule == "constant":
        enough = np.flatnonzero(one.losses[loss] <= (1 + WITHIN) * one.losses[loss].min())
        epochs = int(max(1, one.epochs[enough[0]]))
    expected = _expected(problem, one, epochs, loss, last)
    # result cli-10
    begin = f"After {last:.0f} epochs, each at its own best lr"
    advice = answering.advised(question, made, last, epochs, expected, begin)
    if cautions.no_gain(problem, one, loss):
        use = f"Train no probe on these features as they are: no lr takes the {loss} more than "
        use += f"{100 * cautions.GAIN:.0f} % below that of zero weights."
        advice = replace(advice, sentences=(use, *advice.sentences[1:]))
    rates = one.rates[:epochs].tolist()
    plan = recipe.Plan(place.order, rates, problem.batch, request.schedule, request.weight_decay)
    classes, done = problem.prepared.classes is not None, problem.prepared.done
    return advice, recipe.with_labels(problem.shape, problem.outputs, classes, plan, done)


def _expected(problem: Labelled, one: OrderForecast, epochs: int, loss: str, last: float) -> str:
    """The sentence on the loss and the accuracy to expect."""
    value, error = one.at(epochs, loss)
    # result cli-9
    text = f"Expect a {loss} of {ranking.value_in_words(value, error, problem.start)} after {answering.count(epochs)}"
    if value > FLOOR * problem.start:
        text += f", {100 * value / problem.start:.3g} % of that of zero weights"
    if one.accuracy is not None:
        share, spread = (100 * part for part in one.accuracy)
        then = f" after {last:.0f} epochs" if epochs < last else ""
        known = f"{share:.1f} ± {spread:.1f}" if spread >= 0.05 else f"{share:.1f}"
        text += f", and {known} % of held-out rows classified correctly{then}"
    return f"{text}."


def _labels(question: Question, problem: Labelled, one: OrderForecast) -> Labels:
    """What is known only with labels, and what the best constant learning rate would have left."""
    prepared, gain = problem.prepared, None
    if question.request.schedule != "constant" and one.how == "theory":
        constant = replace(question, request=replace(question.request, schedule="constant"))
        if best := answering.by_theory(constant, [one.order]).get(one.order):
            gain = 1 - float(one.values[question.loss, -1] / best.values[question.loss, -1])
    return Labels(
        held_out_rows=0 if prepared.held is None else len(prepared.held[0]),
        outputs=problem.outputs,
        classes=prepared.classes,
        chance=problem.start,
        largest_class=problem.largest_class[1],
        ridge=ridge.solve(problem.rows),
        costs=_costs(question, one),
        gain=gain,
    )


def _costs(question: Question, one: OrderForecast) -> dict[str, float]:
    """The deciding loss at the end with a ten times smaller and a ten times larger learning rate."""
    costs, problem, place = {}, question.problem, (question.loss, question.horizon)
    for name, factor in (("lr / 10", 0.1), ("10 lr", 10.0)):
        steps = factor * one.rates / problem.unit
        if steps.max() >= problem.limit(one.order):
            costs[name] = np.inf
            continue
        try:
            costs[name] = float(problem.theory(one.order, steps, [place[1]]).values[place[0], -1])
        except ArithmeticError:
            budget = question.budget
            costs[name] = runs.loss_by_running(
                problem, one.order, steps, place, question.seed, budget, budget.total / 10
            )
    return {name: value for name, value in costs.items() if not np.isnan(value)}


def _assumed(problem: Labelled) -> str:
    """What the numbers mean."""
    sums = ", summed over the one-hot columns of the classes" if problem.prepared.classes else ""
    return (
        f"Losses are squared errors{sums}; lr is for torch.optim.SGD and nn.MSELoss(), features as prepared. Twice the "
        "scale of the features needs a quarter of the lr."
    )
