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
from edgelaw._common.types import Array, ArrayLike, Progress, Rng
from edgelaw.exact.labels import schedules
from edgelaw_app import files
from edgelaw_app.forecast import cautions, ranking, recipe, ridge, runs, tuning
from edgelaw_app.forecast.labelled import ACCURACY, Labelled
from edgelaw_app.forecast.preparation import HeldOut, prepare
from edgelaw_app.forecast.request import OPERATIONS, Budget, ProgressCounter, Request
from edgelaw_app.forecast.results import FLOOR, Advice, Check, Forecast, Labels, OrderForecast
from edgelaw_app.forecast.runs import Losses
from edgelaw_app.forecast.tuning import Question, Runner, Tuned

ORDERS = ("random_reshuffle", "iid", "single_shuffle")  # those that data loaders have
WITHIN = 0.01  # of the smallest loss: then more epochs are not worth it
PROMISED = 0.05  # how far runs may be from theory, beside three of their standard errors
SIGMAS = 3.0
BETTER = 0.01  # relative: what counts as a difference


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
    given = _given(problem, request)
    loss, last = len(problem.losses) - 1, request.epochs
    question = Question(request, loss, last, problem.times(last), Budget(request.operations), seed, tell)
    tell("learning rates")
    found = _Found.of(problem, question, simulate, generator)
    made = found.made()
    if not made:
        raise ValueError(
            f"There is no theory of {', '.join(request.orders)} here, and running SGD takes more operations than there "
            "are; add random_reshuffle, or give fewer rows."
        )
    asked = {} if given is None else _asked(problem, question, given, found, generator)
    advice, code = _advice(problem, question, made)
    extra = _labels(problem, question, found, advice, code)
    missing = [order for order in request.orders if order not in made]
    other = None
    if not standardize:
        other = prepare(X, y, held_out, [*done, "standardize"], np.random.default_rng(seed), classes)
    warned = (
        *cautions.of_scale(prepared, other, request.epochs, request.batch),
        *cautions.with_labels(problem, made, advice, found.check, missing),
    )
    return Forecast(
        shape=problem.shape,
        advice=advice,
        orders=made,
        asked=asked,
        largest_lr={order: tuning.learning_rate(problem, problem.limit(order)) for order in request.orders},
        budget=request.epochs,
        target=None,
        reached={},
        check=found.check,
        cautions=warned,
        assumed=_assumed(problem),
        code=code,
        preparation=(*notes, *prepared.sentences),
        operations=question.budget.spent,
        eigenvalues=problem.rows.spectrum,
        labels=extra,
    )


def _given(problem: Labelled, request: Request) -> Array | None:
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


class _Found:
    """Every order at its best: by theory, or by running SGD where there is none or the check fails."""

    def __init__(self, problem: Labelled, question: Question) -> None:
        self.problem, self.question = problem, question
        self.tuned: dict[str, Tuned] = {}
        self.check = Check("not run", "")
        self.runner: Runner | None = None

    @classmethod
    def of(cls, problem: Labelled, question: Question, simulate: bool, rng: np.random.Generator) -> "_Found":
        """Theory first, then the check, then runs."""
        found, orders = cls(problem, question), question.request.orders
        theory = {
            order: one
            for order, one in tuning.by_theory(problem, question, orders).items()
            if isinstance(one, Tuned)
        }
        found.tuned = dict(theory)
        if theory:
            found._run_beside(rng.spawn(1)[0])
        doubted = found.check.verdict in ("differs", "undecided")
        again = orders if simulate or doubted else [order for order in orders if order not in theory]
        if again:
            found.runner = tuning.runner(problem, question, len(again) * (1 + question.request.judged), rng)
            for order, child in zip(again, rng.spawn(len(again)), strict=True):
                known = theory.get(order) or next(iter(theory.values()), None)
                one = tuning.by_running(problem, question, order, found.runner, known, child)
                if one is not None:
                    found.tuned[order] = one
                question.tell(f"{ranking.NAMES[order]}: runs")
        return found

    def _run_beside(self, rng: np.random.Generator) -> None:
        """SGD at the best setting, compared with theory at a few epochs; a third of the operations may go there."""
        loss = self.question.loss
        ends = {
            o: (float(t.losses.values[loss, -1]) / self.problem.start, float(t.losses.errors[loss, -1]))
            for o, t in self.tuned.items()
        }
        order = ranking.ranked(ends).order
        one = self.tuned[order]
        times = tuning.moments(self.question.times)
        share = self.question.budget.total / 3
        ran = runs.until_precise(self.problem, order, one.steps, times, rng, self.question.budget, share)
        self.question.tell("check")
        if ran is None:
            self.check = Check("not run", "No run was made to compare with, because it would take too long.")
            return
        theory = one.losses.values[:, np.searchsorted(one.losses.epochs, times)]
        self.check, worst = _verdict(ran, theory, order)
        if (
            self.check.verdict == "agrees"
        ):  # then theory is known to be as good as that here, whatever it states itself
            errors = np.minimum(one.losses.errors, max(ACCURACY, worst))
            losses = one.losses._replace(errors=errors, accuracy=ran.accuracy)
            self.tuned[order] = one._replace(losses=losses)

    def made(self) -> dict[str, OrderForecast]:
        """Results by order."""
        return {
            order: tuning.of_order(self.problem, order, self.tuned[order].steps, self.tuned[order].losses)
            for order in self.question.request.orders
            if order in self.tuned
        }


def _verdict(ran: Losses, theory: Array, order: str) -> tuple[Check, float]:
    """Whether runs and theory agree, by the errors of the runs, and how far they may be apart.

    The worst place decides, among those where something is left.
    """
    with np.errstate(all="ignore"):
        gaps = np.where(theory > 1e-9 * theory[:, :1], ran.values / theory - 1, 0.0)
    if not np.isfinite(gaps).all():
        text = "SGD, run at the learning rate of theory, diverges, so the losses here come from runs at smaller ones."
        return Check("differs", text), np.inf
    allowed = PROMISED + SIGMAS * ran.errors
    place = np.unravel_index(int((np.abs(gaps) / allowed).argmax()), gaps.shape)
    gap, error, worst = gaps[place], ran.errors[place], float((np.abs(gaps) + 2 * ran.errors).max())
    when = f"after {ran.epochs[place[1]]:.0f} epoch{'s' if ran.epochs[place[1]] != 1 else ''}"
    what = f"{100 * gap:+.1f} ± {100 * error:.1f} % {when}"
    instead = "so the losses here come from running SGD"
    ran_text = f"SGD, run {ran.runs} times ({ranking.NAMES[order]} at its best lr),"
    if abs(gap) > allowed[place]:
        return Check("differs", f"{ran_text} differs from theory by {what}, {instead}."), worst
    unknown = np.where(theory > 1e-9 * theory[:, :1], ran.errors, 0.0)
    if max(abs(gap), unknown.max()) > PROMISED:
        if abs(gap) <= PROMISED:
            place = np.unravel_index(int(unknown.argmax()), gaps.shape)
            what = f"{100 * gaps[place]:+.1f} ± {100 * unknown[place]:.1f} % after {ran.epochs[place[1]]:.0f} epochs"
        text = f"{ran_text} neither confirms theory nor contradicts it: it is off by {what}, {instead}."
        return Check("undecided", text), worst
    return Check("agrees", f"{ran_text} agrees with theory: the largest gap is {what}."), worst


def _asked(
    problem: Labelled, question: Question, steps: Array, found: _Found, rng: np.random.Generator
) -> dict[str, OrderForecast]:
    """Every order at the learning rates that were asked for."""
    made = {}
    for order in question.request.orders:
        try:
            if found.check.verdict in ("differs", "undecided"):
                raise ArithmeticError
            losses: Losses | None = problem.theory(order, steps, question.times)
        except ArithmeticError:
            runner = found.runner or tuning.runner(problem, question, len(question.request.orders), rng)
            losses = tuning.at_steps(problem, question, order, runner, steps, rng.spawn(1)[0])
        if losses is not None:
            made[order] = tuning.of_order(problem, order, steps, losses)
    return made


def _advice(problem: Labelled, question: Question, made: dict[str, OrderForecast]) -> tuple[Advice, str]:
    """What to do, in words and as code."""
    loss, last = problem.losses[question.loss], question.horizon
    values = {order: one.at(last, loss) for order, one in made.items()}
    found = ranking.ranked({order: (one / problem.start, error) for order, (one, error) in values.items()})
    one, rival = made[found.order], found.rival
    shape = "constant" if question.request.schedule == "given" else question.request.schedule
    enough = np.flatnonzero(one.losses[loss] <= (1 + WITHIN) * one.losses[loss].min())
    epochs = int(max(1, one.epochs[enough[0]])) if shape == "constant" else question.request.epochs
    value, error = one.at(epochs, loss)
    margin = found.margins[rival] if rival else ranking.Margin(0.0, 0.0)
    decay = {"constant": "", "best": ", then by epoch as in the code"}
    decayed = decay.get(shape, f" with {shape} decay")
    count = f"{epochs} epoch{'s' if epochs > 1 else ''}"
    use = (
        # result cli-8
        f"Use {ranking.NAMES[found.order]} ({ranking.DOES[found.order]}) with lr = {one.lr:.3g}{decayed}, "
        f"batch {problem.batch}, {count}."
    )
    # result cli-9
    expect = f"Expect a {loss} of {ranking.value_in_words(value, error, problem.start)} after {count}"
    if value > FLOOR * problem.start:
        expect += f", {100 * value / problem.start:.3g} % of that of zero weights"
    if one.accuracy is not None:
        share, spread = (100 * part for part in one.accuracy)
        then = f" after {last:.0f} epochs" if epochs < last else ""
        known = f"{share:.1f} ± {spread:.1f}" if spread >= 0.05 else f"{share:.1f}"
        expect += f", and {known} % of held-out rows classified correctly{then}"
    rest = ranking.in_words(found, values)
    # result cli-10
    rest = f"After {last:.0f} epochs, each at its own best lr: {rest[0].lower()}{rest[1:]}" if rest else ""
    advice = Advice(
        found.order,
        one.lr,
        problem.batch,
        epochs,
        loss,
        last,
        *values[found.order],
        found.verdict,
        rival,
        margin.size,
        margin.error,
        found.open,
        tuple(text for text in (use, f"{expect}.", rest) if text),
    )
    prepared = problem.prepared
    code = recipe.with_labels(
        problem.shape,
        problem.outputs,
        prepared.classes is not None,
        found.order,
        one.rates[:epochs].tolist(),
        problem.batch,
        question.request.weight_decay,
        shape,
        prepared.done,
    )
    return advice, code


def _labels(problem: Labelled, question: Question, found: _Found, advice: Advice, code: str) -> Labels:
    """What is known only with labels."""
    prepared, tuned = problem.prepared, found.tuned[advice.order]
    largest = None
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
        costs=_costs(problem, question, advice.order, tuned),
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
