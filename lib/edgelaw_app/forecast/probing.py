r"""From rows and labels to a linear probe: its learning rate, its order, its epochs, and the losses to expect.

>>> import numpy as np
>>> rng = np.random.default_rng(0)
>>> X = rng.normal(size=(300, 30))
>>> y = X @ rng.normal(size=30) + rng.normal(size=300)
>>> found = probe(X, y, epochs=5)
>>> found.advice.order, bool(0.5 < found.advice.value < 2)
('random_reshuffle', True)
"""

import os
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from edgelaw._common import arguments, threads
from edgelaw._common.types import ArrayLike, Progress, Rng
from edgelaw_app import files
from edgelaw_app.forecast import answering, cautions, ranking, recipe, ridge, runs
from edgelaw_app.forecast.labelled import Labelled
from edgelaw_app.forecast.preparation import HeldOut, prepare
from edgelaw_app.forecast.request import OPERATIONS, Budget, ProgressCounter, Request
from edgelaw_app.forecast.results import FLOOR, Advice, Forecast, Labels, OrderForecast
from edgelaw_app.forecast.tuning import Question, Tuned

ORDERS = ("random_reshuffle", "iid", "single_shuffle")  # those that data loaders have
WITHIN = 0.01  # of the smallest loss: then more epochs are not worth it


@threads.one_blas_thread()
def probe(
    X: ArrayLike | str | os.PathLike[str],
    y: ArrayLike | str,
    epochs: int = 20,
    orders: Iterable[str] = ORDERS,
    *,
    lr: float | None = None,
    step: float | None = None,
    schedule: str | npt.ArrayLike = "constant",
    batch: int = 1,
    weight_decay: float = 0.0,
    held_out: HeldOut = 0.2,
    center: bool = True,
    standardize: bool = False,
    normalize: bool = False,
    intercept: bool = True,
    classes: bool | None = None,
    simulate: bool = False,
    operations: float = OPERATIONS,
    rng: Rng = 0,
    progress: Progress | None = None,
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
    lr, step : float, optional
        A learning rate to judge beside the best ones: for ``torch.optim.SGD`` and ``nn.MSELoss()``, or in units of the
        theory, half the lr's outputs over the mean squared norm of a row.
    schedule : str or array
        "constant", "cosine", "linear", "1/t" (factors of lr by epoch), "best" (every epoch's own), or the learning
        rate of each epoch.
    batch : int
        Rows per update, averaged as PyTorch's mean losses do.
    weight_decay : float
        Of ``torch.optim.SGD``. IID's theory has it exactly; the other orders are run.
    held_out : float, pair (X, y), or None
        Rows to test on: a fraction drawn at random from X (of classes as much from each), others, or none; then the
        training loss decides. The learning rate is chosen on them, as by a sweep.
    center, standardize, normalize : bool
        Whether to subtract the training rows' mean, to divide columns by their standard deviation, and to scale every
        row to norm √d.
    intercept : bool
        For centred features the mean target is subtracted: it is the least-squares intercept whatever the weights.
        For others a constant column of ones is trained with the rest.
    classes : bool, optional
        Whether labels are classes, where their type does not say it.
    simulate : bool
        Whether to run SGD in every order, and not only where theory has no curve or the check fails.
    operations : float
        Multiply-adds that running SGD may take. Nothing depends on how fast the machine is.
    rng : int or numpy.random.Generator
        For the split and for runs.
    progress : callable, optional
        Called as ``progress(done, total, what)``.

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
    request = Request.validated(
        epochs, orders, batch, operations, lr=lr, step=step, schedule=schedule, weight_decay=weight_decay
    )
    notes: tuple[str, ...] = ()
    if isinstance(X, str | os.PathLike):
        X, y, notes, _ = files.read_pair(os.fspath(X), *files.label_place(str(y), os.fspath(X)))
    generator, tell = arguments.generator(rng), ProgressCounter(progress, 3 + 2 * len(request.orders))
    tell("eigenvalues", 0)
    asked_for = {"center": center, "standardize": standardize, "normalize": normalize, "intercept": intercept}
    done = [name for name, wanted in asked_for.items() if wanted]
    seed = int(generator.integers(2**31))
    prepared = prepare(X, y, held_out, done, np.random.default_rng(seed), classes)
    arguments.batch(request.batch, len(prepared.X))
    problem = Labelled(prepared, request.batch, request.weight_decay)
    given = answering.given(problem, request)
    loss, last = len(problem.losses) - 1, request.epochs
    question = Question(request, loss, last, problem.times(last), Budget(request.operations), seed, tell)
    tell("learning rates")
    found, question = answering.found(problem, question, simulate, generator)
    made = answering.results(problem, question, found.tuned)
    if not made:
        raise ValueError(
            f"There is no theory of {', '.join(request.orders)} here, and running SGD takes more operations than there "
            "are; add random_reshuffle, or give fewer rows."
        )
    asked = answering.asked(problem, question, given, found, generator)
    advice, code = _advice(problem, question, made)
    missing = [order for order in request.orders if order not in made]
    other = None
    if not standardize:
        other = prepare(X, y, held_out, [*done, "standardize"], np.random.default_rng(seed), classes)
    warned = (
        *cautions.of_scale(prepared, other, request.epochs, request.batch),
        *cautions.with_labels(problem, made, advice, found.check, missing),
    )
    return answering.assembled(
        problem,
        question,
        found,
        (made, asked),
        advice=advice,
        reached={},
        cautions=warned,
        assumed=_assumed(problem),
        code=code,
        preparation=(*notes, *prepared.sentences),
        labels=_labels(problem, question, found.tuned[advice.order], advice.order),
    )


def _advice(problem: Labelled, question: Question, made: dict[str, OrderForecast]) -> tuple[Advice, str]:
    """What to do, in words and as code."""
    loss, last = problem.losses[question.loss], question.horizon
    values = {order: one.at(last, loss) for order, one in made.items()}
    place = ranking.ranked({order: (one / problem.start, error) for order, (one, error) in values.items()})
    one = made[place.order]
    shape = "constant" if question.request.schedule == "given" else question.request.schedule
    enough = np.flatnonzero(one.losses[loss] <= (1 + WITHIN) * one.losses[loss].min())
    epochs = int(max(1, one.epochs[enough[0]])) if shape == "constant" else question.request.epochs
    decayed = {"constant": "", "best": ", then by epoch as in the code"}.get(shape, f" with {shape} decay")
    sentences = (
        answering.use(problem, one, epochs, decayed),
        _expected(problem, one, epochs, loss, last),
        # result cli-10
        answering.others(place, values, f"After {last:.0f} epochs, each at its own best lr"),
    )
    decay, done = question.request.weight_decay, problem.prepared.done
    plan = recipe.Plan(place.order, one.rates[:epochs].tolist(), problem.batch, shape, decay)
    code = recipe.with_labels(
        problem.shape, problem.outputs, problem.prepared.classes is not None, plan, done
    )
    return answering.advice(problem, values, place, one, epochs, (loss, last), sentences), code


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


def _labels(problem: Labelled, question: Question, tuned: Tuned, order: str) -> Labels:
    """What is known only with labels."""
    prepared, largest = problem.prepared, None
    if prepared.classes is not None and prepared.held is not None:
        largest = float(np.bincount(problem.held_out_classes).max() / len(problem.held_out_classes))
    ends, compared = tuned.losses.values[question.loss, -1], tuned.losses.how == "theory"
    scheduled = question.request.schedule not in ("constant", "given")
    return Labels(
        held_out_rows=0 if prepared.held is None else len(prepared.held[0]),
        outputs=problem.outputs,
        classes=prepared.classes,
        chance=problem.start,
        largest_class=largest,
        ridge=ridge.solve(problem.rows),
        costs=_costs(problem, question, order, tuned),
        gain=1 - float(ends) / tuned.constant if scheduled and compared else None,
    )


def _costs(problem: Labelled, question: Question, order: str, tuned: Tuned) -> dict[str, float]:
    """The deciding loss at the end with a ten times smaller and a ten times larger learning rate."""
    costs = {}
    for name, factor in (("lr / 10", 0.1), ("10 lr", 10.0)):
        steps = factor * tuned.steps
        if steps.max() >= problem.limit(order):
            costs[name] = float("inf")
            continue
        try:
            costs[name] = float(problem.theory(order, steps, [question.horizon]).values[question.loss, -1])
        except ArithmeticError:
            share = question.budget.total / 10
            costs[name] = runs.loss_by_running(
                problem, order, steps, question.horizon, question.loss, question.seed, question.budget, share
            )
    return {name: value for name, value in costs.items() if not np.isnan(value)}


def _assumed(problem: Labelled) -> str:
    """What the numbers mean."""
    sums = ", summed over the one-hot columns of the classes" if problem.prepared.classes else ""
    return (
        f"Losses are squared errors{sums}; lr is for torch.optim.SGD and nn.MSELoss(), features as prepared. Twice the "
        "scale of the features needs a quarter of the lr."
    )
