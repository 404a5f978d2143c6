r"""From rows without labels to learning curves and advice: which order, which learning rate, how many epochs.

>>> from edgelaw import data
>>> found = predict(data.gaussian(64, 64, rng=0), epochs=10)
>>> found.advice.order, found.check.verdict, found.advice.epochs
('single_shuffle', 'agrees', 10)
"""

import os
from collections.abc import Iterable

import numpy as np

from edgelaw._common import arguments, threads
from edgelaw._common.types import ArrayLike, Progress, Rng
from edgelaw.orders import ORDERS
from edgelaw_app import files
from edgelaw_app.files.designs import STANDARDIZED
from edgelaw_app.forecast import cautions, ranking, recipe, runs, tuning
from edgelaw_app.forecast.diagnostic import PROMISED, diagnose
from edgelaw_app.forecast.request import OPERATIONS, Budget, ProgressCounter, Request
from edgelaw_app.forecast.results import Advice, Check, Forecast, OrderForecast
from edgelaw_app.forecast.runs import Losses
from edgelaw_app.forecast.spectral import SCALED, Spectral, equal_norm_design
from edgelaw_app.forecast.tuning import Question, Runner, Tuned

LEFT = 1e-6  # of a loss: where theory has no more left, orders are compared earlier
SMALLEST, SIGMAS = 1e-7, 3.0  # runs in batches: losses compared, standard errors beyond what is promised
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
    lr: float | None = None,
    step: float | None = None,
    target: float | None = None,
    batch: int = 1,
    simulate: bool = False,
    center: bool = True,
    standardize: bool = False,
    operations: float = OPERATIONS,
    rng: Rng = 0,
    progress: Progress | None = None,
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
    lr, step : float, optional
        A learning rate to judge beside the best ones: for ``torch.optim.SGD`` and ``nn.MSELoss()``, or dimensionless.
    target : float, optional
        A loss in (0, 1) to be reached as soon as possible.
    batch : int
        Rows per update, at most m, averaged as PyTorch's losses do; an epoch is m rows whatever the batch.
    simulate : bool
        Whether to run SGD in any case, and not only where theory refuses or the check fails.
    center, standardize : bool
        Whether to subtract an array's mean row, which in embeddings is most of every row and no feature, and to scale
        its columns to standard deviation 1.
    operations : float
        Multiply-adds that running SGD may take. Nothing depends on how fast the machine is, or on its cores.
    rng : int or numpy.random.Generator
    progress : callable, optional
        Called as ``progress(done, total, what)``.

    Returns
    -------
    Forecast

    Notes
    -----
    **Accuracy** of theory, measured (`edgelaw.data.sweep`: ``embedding_traces``, ``predict_accuracy``): at m = d = 512
    on Gaussian rows, CIFAR-10 and Wikipedia embeddings, steps 0.5, 1 and 1.5, it is within 1 % (parameter error) and
    3 % (training loss) of simulation at every recorded epoch up to 50; 2 % and 5 % are promised. With half or twice as
    many rows as dimensions the parameter error is as good; the training loss of random reshuffle at m = d/2 is off by
    up to 10 % (standard error 4 %) once it is below 1e-3.
    """
    request = Request.validated(epochs, orders, batch, operations, lr=lr, step=step, target=target)
    generator, tell = arguments.generator(rng), ProgressCounter(progress, 3 + 2 * len(request.orders))
    tell("eigenvalues", 0)
    design, preparation = equal_norm_design(X, center, standardize)
    arguments.batch(request.batch, design.shape[0])
    problem = Spectral(design, request.batch)
    given = _given(problem, request)
    tell("learning rates")
    question = _question(problem, request, tell, generator)
    found, question = _tuned(problem, question)
    check, simulated, run_on = _checked(problem, question, found, simulate, generator)
    known = {**{o: t for o, t in found.items() if isinstance(t, Tuned)}, **simulated}
    asked = _asked(problem, question, given, run_on, generator)
    made = {order: tuning.of_order(problem, order, one.steps, one.losses) for order, one in known.items()}
    made = {order: made[order] for order in request.orders if order in made}
    if not made:
        raise ValueError(
            "These rows have no theory and are too large to run SGD on; give fewer rows or more operations."
        )
    reached = {
        order: _reached(one, problem.losses[question.loss], request.target) for order, one in made.items()
    }
    advice = _advice(problem, question, made, reached)
    return Forecast(
        shape=problem.shape,
        advice=advice,
        orders=made,
        asked=asked,
        largest_lr={order: tuning.learning_rate(problem, problem.limit(order)) for order in request.orders},
        budget=request.epochs,
        target=request.target,
        reached=reached,
        check=check,
        cautions=cautions.without_labels(problem, check, advice, request.target),
        assumed=ASSUMED,
        code=_code(problem, advice, preparation),
        preparation=preparation,
        operations=question.budget.spent,
        eigenvalues=problem.eigenvalues,
    )


def _given(problem: Spectral, request: Request) -> float | None:
    """The step that was asked for, or None; a useless one is refused."""
    step = request.step if request.lr is None else request.lr * 2 * problem.scale / problem.outputs
    if step is None:
        return None
    tuning.refuse_useless(problem, request, step)
    return step


def _question(
    problem: Spectral, request: Request, tell: ProgressCounter, rng: np.random.Generator
) -> Question:
    """When losses are compared, and which: at the end of the budget, or where so much as `LEFT` is left of them.

    The training loss decides where most of the parameter error is in directions that no row has.
    """
    times, steps = problem.times(request.epochs), np.full(request.epochs, 0.5 * problem.limit("iid"))
    try:
        curve = problem.theory(
            "random_reshuffle", np.minimum(steps, 0.5 * problem.limit("random_reshuffle")), times
        )
    except ArithmeticError:
        curve = problem.expected(steps, times)
    loss = int(problem.null > 0.5 * curve.values[0, -1])
    seen = np.flatnonzero(curve.values[loss] >= LEFT)
    horizon = float(curve.epochs[max(int(seen[-1]), 1)])
    return Question(request, loss, horizon, times, Budget(request.operations), int(rng.integers(2**31)), tell)


def _tuned(problem: Spectral, question: Question) -> tuple[dict[str, Tuned | ArithmeticError], Question]:
    """The orders at their best steps for the horizon, or for reaching the target as soon as one of them can."""
    loss, target = problem.losses[question.loss], question.request.target
    while True:
        found = tuning.by_theory(problem, question, question.request.orders)
        known = {order: one for order, one in found.items() if isinstance(one, Tuned)}
        times = [
            _reached(tuning.of_order(problem, order, one.steps, one.losses), loss, target)
            for order, one in known.items()
        ]
        first = min((time for time in times if time is not None), default=question.horizon)
        if first >= question.horizon:
            return found, question
        question = question._replace(horizon=first)  # other steps may reach it still sooner


def _reached(one: OrderForecast, loss: str, target: float | None) -> float | None:
    """The first recorded time at which a loss is at or below the target."""
    below = np.flatnonzero(one.losses[loss] <= (-1.0 if target is None else target))
    return float(one.epochs[below[0]]) if len(below) else None


def _checked(
    problem: Spectral,
    question: Question,
    found: dict[str, Tuned | ArithmeticError],
    simulate: bool,
    rng: np.random.Generator,
) -> tuple[Check, dict[str, Tuned], Runner | None]:
    """Whether real runs agree with theory; and the orders that are simulated instead, with what they ran on."""
    theory = {order: one for order, one in found.items() if isinstance(one, Tuned)}
    check = Check("not run", "Theory refuses this spectrum, so the losses here come from running SGD.")
    if theory:
        best = min(
            theory,
            key=lambda order: theory[order].losses.values[
                question.loss, _place(theory[order].losses, question)
            ],
        )
        if problem.batch > 1:
            check = _batches_beside(problem, question, theory, rng.spawn(1)[0])
        else:
            step = min(float(theory[best].steps[0]), 1.9)
            verdict = diagnose(problem.design, rng.spawn(1)[0], question.request.epochs, step)
            names = {"passes": "agrees", "fails": "differs", "undecided": "undecided"}
            check = Check(names[verdict.verdict], verdict.text)
    question.tell("check")
    wanted = question.request.orders if simulate or check.verdict in ("differs", "undecided") else ()
    orders = [order for order in question.request.orders if order in wanted or order not in theory]
    if not orders:
        return check, {}, None
    near = next(iter(theory.values()), None)  # where an order has no theory, another's best step is a guess
    steps = tuning.SEARCHED if near is None else tuning.NEAR
    shared = len(orders) * (1 + question.request.judged)
    run_on = tuning.runner(problem, question, shared, rng, steps)
    made: dict[str, Tuned | None] = {}
    for order, child in zip(orders, rng.spawn(len(orders)), strict=True):
        same = next((other for other in made if "iid" not in (order, other)), None)
        if question.horizon <= 1 and same is not None:  # until a row comes again, shuffled orders are one
            made[order] = made[same]
        else:
            known = theory.get(order, near)
            made[order] = tuning.by_running(problem, question, order, run_on, known, child)
        question.tell(f"{ranking.NAMES[order]}: runs")
    ran = {order: one for order, one in made.items() if one is not None}
    if check.verdict in ("differs", "undecided"):
        instead = "so the losses here come from running SGD"
        if len(ran) < len(orders):
            instead = "and running SGD in every order would take too long, so theory is a guide only"
        check = Check(check.verdict, f"{check.text[:-1]}, {instead}.")
    return check, ran, run_on


def _batches_beside(
    problem: Spectral, question: Question, theory: dict[str, Tuned], rng: np.random.Generator
) -> Check:
    """SGD in batches against their theory, which is good for large dimensions only: in the best of the shuffled orders.

    As many epochs as a third of the operations pay for.
    """
    orders = [order for order in theory if order != "iid"] or list(theory)
    ends = {o: theory[o].losses.values[question.loss, _place(theory[o].losses, question)] for o in orders}
    order = min(ends, key=ends.__getitem__)
    one, share = theory[order], question.budget.total / 3
    last = min(question.horizon, share // (4 * runs.FEWEST * problem.cost(np.array([0.0, 1.0]))))
    ran = None
    if last >= 1 and problem.can_run():
        times = tuning.moments(question.times[question.times <= last])
        ran = runs.until_precise(problem, order, one.steps, times, rng, question.budget, share)
    if ran is None:
        return Check("not run", "No run in batches was made beside theory, because it would take too long.")
    promised = np.array([PROMISED["test"], PROMISED["train"]])[:, None]
    known = one.losses.values[:, np.searchsorted(one.losses.epochs, ran.epochs)]
    gaps = np.where(known > SMALLEST, ran.values / np.maximum(known, SMALLEST) - 1, 0.0)
    part = np.abs(gaps) / (promised + SIGMAS * ran.errors)
    place = np.unravel_index(int(part.argmax()), gaps.shape)
    gap, error, epoch = gaps[place], ran.errors[place], ran.epochs[place[1]]
    where = f"the {problem.losses[place[0]]} after {epoch:.0f} epoch{'s' if epoch > 1 else ''}"
    off = f"{100 * gap:+.1f} ± {100 * error:.1f} %"
    text = f"SGD, run {ran.runs} times in batches of {problem.batch} ({ranking.NAMES[order]} at its best lr),"
    if part[place] > 1:
        return Check("differs", f"{text} differs from theory: {where} is {off} off.")
    if (unknown := np.where(known > SMALLEST, ran.errors, 0.0).max()) > PROMISED["train"]:
        why = f"a loss is known to ± {100 * unknown:.0f} % only"
        return Check("undecided", f"{text} neither confirms theory nor contradicts it: {why}.")
    return Check("agrees", f"{text} agrees with theory: the largest gap is {off}, {where}.")


def _place(losses: Losses, question: Question) -> int:
    return int(np.argmin(np.abs(losses.epochs - question.horizon)))


def _asked(
    problem: Spectral, question: Question, step: float | None, run_on: Runner | None, rng: np.random.Generator
) -> dict[str, OrderForecast]:
    """Every order at the learning rate that was asked for: by theory, or as the others are known."""
    made: dict[str, OrderForecast] = {}
    if step is None:
        return made
    steps = question.steps(step)
    for order in question.request.orders:
        try:
            if run_on is not None:
                raise ArithmeticError
            losses: Losses | None = problem.theory(order, steps, question.times, checked=True)
        except ArithmeticError:
            runner = run_on or tuning.runner(problem, question, len(question.request.orders), rng)
            losses = tuning.at_steps(problem, question, order, runner, steps, rng.spawn(1)[0])
        if losses is not None:
            made[order] = tuning.of_order(problem, order, steps, losses)
    return made


def _advice(
    problem: Spectral, question: Question, made: dict[str, OrderForecast], reached: dict[str, float | None]
) -> Advice:
    loss = problem.losses[question.loss]
    time = _compared(made, loss, question.horizon)
    values = {order: one.at(time, loss) for order, one in made.items()}
    found = ranking.ranked(values)
    one, epochs = made[found.order], max(1, int(np.ceil(time)))
    (value, error), rival = values[found.order], found.rival
    margin = found.margins[rival] if rival else ranking.Margin(0.0, 0.0)
    count = f"{epochs} epoch{'s' if epochs > 1 else ''}"
    how = f"{ranking.NAMES[found.order]} ({ranking.DOES[found.order]})"
    # result cli-4
    use = f"Use {how} with lr = {one.lr:.3g}, batch {problem.batch}, {count}."
    when = f"after {count}" if time >= 1 else f"after {round(time * problem.shape[0]):,} rows"
    target = question.request.target
    goal = ""
    if target is not None:
        first = reached[found.order]
        by_then = first is not None and first <= epochs
        # result cli-6
        goal = f" The target {target:g} is {'reached' if by_then else 'not reached'} by then."
    # result cli-5
    leaves = f"It leaves {ranking.value_in_words(value, error)} of the {loss} {when}.{goal}"
    rest = ranking.in_words(found, values)
    # result cli-7
    rest = f"Each at its own best lr: {rest[0].lower()}{rest[1:]}" if rest else ""
    sentences = tuple(text for text in (use, leaves, rest) if text)
    return Advice(
        found.order,
        one.lr,
        problem.batch,
        epochs,
        loss,
        time,
        value,
        error,
        found.verdict,
        rival,
        margin.size,
        margin.error,
        found.open,
        sentences,
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
    return recipe.without_labels(
        problem.shape,
        advice.order,
        advice.lr,
        advice.batch,
        advice.epochs,
        "mean row" in text,
        "Scaled every row" in text or SCALED in text,
        STANDARDIZED in text,
    )
