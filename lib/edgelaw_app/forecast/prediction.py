"""From rows without labels to learning curves and advice: which order, which learning rate, how many epochs."""

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from edgelaw._common import arguments, threads
from edgelaw._common.types import ArrayLike, Progress, Rng
from edgelaw.orders import ORDERS
from edgelaw_app import files
from edgelaw_app.files.designs import STANDARDIZED
from edgelaw_app.forecast import answering, cautions, ranking, recipe
from edgelaw_app.forecast.exact_curves import times_for
from edgelaw_app.forecast.request import ProgressCounter, Question, Training, asked
from edgelaw_app.forecast.results import Advice, Forecast, OrderForecast
from edgelaw_app.forecast.spectral import Spectral, equal_norm_design

LABELS_ONLY = ("schedule", "weight_decay", "held_out", "normalize", "intercept", "classes")  # options
LEFT = 1e-6  # of a loss: where theory has no more left, orders are compared earlier
WORTH = 1e-9  # of a loss: the same of the lowest, where it is only known afterwards
ASSUMED = (
    # result cli-11
    "Assumed: targets are an exact linear function of the rows. With noisy labels a loss ends at a floor that rises "
    "with lr; `edgelaw probe FILE --labels Y` finds the lr for yours."
)


@threads.one_blas_thread()
def predict(
    X: ArrayLike | str | os.PathLike[str] | files.Design,
    epochs: int = 50,
    orders: Iterable[str] = ORDERS,
    *,
    rng: Rng = 0,
    progress: Progress | None = None,
    **options: Any,
) -> Forecast:
    r"""How fast SGD fits a linear model to these rows, in which order it is fastest, and the code to run.

    Parameters
    ----------
    X : array (m, d), path, or edgelaw_app.files.Design
        The rows, at least 2, in at least 20 dimensions. An array or a file is prepared as by the command ``edgelaw
        predict``, by :func:`edgelaw_app.files.design`: the mean row is subtracted, then every row is scaled to norm √d,
        since only directions matter to the normalised update. A design is taken as it was made.
    epochs : int
        The budget.
    orders : iterable of str
        Among `edgelaw.orders.ORDERS`.
    rng : int or numpy.random.Generator
    progress : callable, optional
        Called as ``progress(done, total, what)``.
    **options
        ``lr``, ``batch``, ``target`` and ``operations`` as in `Training`; ``center`` and ``standardize`` of an array
        or file as in `Preparation`.

    Returns
    -------
    Forecast

    Notes
    -----
    **Accuracy** of theory, measured (`edgelaw.data.sweep`: ``embedding_traces``, ``predict_accuracy``): at m = d = 512
    on Gaussian rows, CIFAR-10 and Wikipedia embeddings, steps 0.5, 1 and 1.5, it is within 1 % (parameter error) and
    3 % (training loss) of simulation at every recorded epoch up to 50; 2 % and 5 % are promised. With half or twice as
    many rows as dimensions the parameter error is as good; the training loss of random reshuffle at m = d/2 is off by
    up to 10 % (standard error 4 %) once it is below 1e-3. Errors, and those of margins, also hold how far one run is
    from the mean over orders, by :mod:`edgelaw.exact.finite_size` (not of batches).
    """
    request, wanted = asked(epochs, orders, options, without=LABELS_ONLY)
    generator, tell = arguments.generator(rng), ProgressCounter(progress, 3 + 2 * len(request.orders))
    tell("eigenvalues", 0)
    design = equal_norm_design(X, wanted.center, wanted.standardize)
    arguments.batch(request.batch, design.shape[0])
    problem = Spectral(design, request.batch)
    question = _question(problem, request, tell, generator)
    otherwise = (
        "These rows have no theory and are too large to run SGD on; give fewer rows or more operations."
    )
    made, judged, check = answering.answered(question, generator, otherwise)
    reached = {order: answering.reached(one, question.decides, request.target) for order, one in made.items()}
    advice = _advice(question, made, reached)
    return answering.assembled(
        question,
        made,
        check,
        advice,
        asked=judged,
        reached=reached,
        cautions=tuple(cautions.without_labels(problem, check, request.target)),
        assumed=ASSUMED,
        code=_code(problem, advice, design.steps),
        preparation=design.steps,
    )


def _question(
    problem: Spectral, request: Training, tell: ProgressCounter, rng: np.random.Generator
) -> Question:
    """When losses are compared, and which: at the end, or where `LEFT` is left; on a plateau the training loss."""
    times = times_for(request.epochs, problem.eigenvalues, problem.shape, request.batch)
    step = 0.5 * problem.limit("iid")
    try:
        half = min(step, 0.5 * problem.limit("random_reshuffle"))
        curve = problem.theory("random_reshuffle", np.array([half]), times)
    except ArithmeticError:
        curve = problem.expected(step, times)
    loss = int(problem.null > 0.5 * curve.values[0, -1])
    seen = np.flatnonzero(curve.values[loss] >= LEFT)
    horizon = float(curve.epochs[max(int(seen[-1]), 1)])
    return Question(problem, request, loss, horizon, times, int(rng.integers(2**31)), tell)


def _advice(question: Question, made: dict[str, OrderForecast], reached: dict[str, float | None]) -> Advice:
    """What to do, compared at the last time at which something is left."""
    loss, target = question.decides, question.request.target
    time = _compared(made, loss, question.horizon)
    values, place = answering.compared(question, made, time)
    one, epochs = made[place.order], max(1, int(np.ceil(time)))
    when, goal = f"after {answering.count(epochs)}", ""
    if time < 1:
        when = f"after {round(time * question.problem.shape[0]):,} rows"
    if target is not None:
        by_then = (reached[place.order] or np.inf) <= epochs
        # result cli-6
        goal = f" The target {target:g} is {'reached' if by_then else 'not reached'} by then."
    # result cli-5
    leaves = f"It leaves {ranking.value_in_words(*values[place.order])} of the {loss} {when}.{goal}"
    if one.how == "part":
        leaves = f"How much it leaves is not known: {one.why[0].lower()}{one.why[1:]}"
    return answering.advised(
        question,
        made,
        time,
        epochs,
        leaves,
        "Each at its own best lr",  # result cli-7
    )


def _compared(made: dict[str, OrderForecast], loss: str, horizon: float) -> float:
    """The last time up to the horizon at which the lowest loss is still worth a look."""
    recorded = next(iter(made.values())).epochs
    times = [
        time
        for time in recorded[(recorded > 0) & (recorded <= horizon)]
        if all(time in one.epochs for one in made.values())
    ]
    worth = [time for time in times if min(one.at(time, loss)[0] for one in made.values()) >= WORTH]
    return float(worth[-1] if worth else times[0])


def _code(problem: Spectral, advice: Advice, preparation: tuple[str, ...]) -> str:
    text = " ".join(preparation)
    done = {
        "center": "mean row" in text,
        "normalize": "Scaled every row" in text,
        "standardize": STANDARDIZED in text,
    }
    plan = recipe.Plan(advice.order, advice.epochs * [advice.lr], advice.batch)
    return recipe.without_labels(problem.shape, plan, [name for name, taken in done.items() if taken])
