r"""From features and labels to a probe: its learning rate, its order, its epochs, and the losses to expect.

>>> import numpy as np
>>> rng = np.random.default_rng(0)
>>> X = rng.normal(size=(300, 30))
>>> y = X @ rng.normal(size=30) + rng.normal(size=300)
>>> probe = forecast(X, y, epochs=5, orders=["iid", "random_reshuffle"])
>>> probe.order, bool(0.5 < probe.loss[-1] < 2)
('random_reshuffle', True)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from edgelaw._common import arguments, threads
from edgelaw._common.types import Array, ArrayLike, Progress, Rng
from edgelaw.exact.iid import labels as iid
from edgelaw.exact.labels import LabelledRows
from edgelaw.exact.random_reshuffle import labels as random_reshuffle
from edgelaw.orders import ORDERS
from edgelaw_app.labels import accuracy, cautions, closed_form, sentences
from edgelaw_app.labels.curves import Problem, by_simulation, losses, too_few_dimensions, with_floor
from edgelaw_app.labels.preparation import HeldOut, prepare
from edgelaw_app.labels.request import Request
from edgelaw_app.labels.results import Costs, OrderForecast, ProbeForecast
from edgelaw_app.labels.search import SAFE, best, shape

TIE = 0.01  # orders whose losses differ by less are tied; what theory is good for
SIGMAS = 2.0  # so are those that differ by no more of their stated errors
FACTOR = 5.0  # but not if one is so many times as high, however large its error
VANISHED = 1e-12  # of the loss of zero weights: losses below it are equal
WITHIN = 0.01  # of the smallest loss: then more epochs are not worth it
CHECKED = 2e9  # multiply-adds of the runs that are made to compare theory with, unasked
CHECK_RUNS = 4
SEARCH_ORDER = "random_reshuffle"  # what DataLoader(shuffle=True) does


@threads.one_blas_thread()
def forecast(
    X: ArrayLike,
    y: ArrayLike,
    epochs: int = 20,
    orders: Iterable[str] = ORDERS,
    *,
    lr: float | None = None,
    step: float | None = None,
    schedule: str | ArrayLike = "constant",
    batch: int = 1,
    held_out: HeldOut = 0.2,
    center: bool = True,
    normalize: bool = False,
    intercept: bool = True,
    ridge: float = 0.0,
    simulate: bool = False,
    rng: Rng = 0,
    progress: Progress | None = None,
) -> ProbeForecast:
    r"""How to train a linear probe on these features by SGD, and the losses to expect, without training it.

    Parameters
    ----------
    X : array (m, d)
        Features, one row per example, of any scale.
    y : array (m,) or (m, k)
        A vector of integers, booleans or texts is classes, regressed on as one-hot columns; floating point numbers,
        in one column or several, are regressed on as they are.
    epochs : int
        The budget; the learning rate is the best for the loss at its end.
    orders : iterable of str
        Among `edgelaw.orders.ORDERS`, all at the same learning rates.
    lr, step : float, optional
        A learning rate to judge, or the same as a dimensionless step = lr · mean ‖x‖²; by default the best is found.
    schedule : str or array
        "constant", "cosine", "linear", "1/t" (factors of lr by epoch), "best" (every epoch's own), or the learning
        rate of each epoch.
    batch : int
        Rows per update, averaged as PyTorch's mean losses do.
    held_out : float, pair (X, y), or None
        Rows to test on: a fraction drawn at random from X, others, or none; then the training loss decides. The
        learning rate is chosen on them, as by a sweep.
    center : bool
        Whether to subtract the training rows' mean from all features.
    normalize : bool
        Whether to scale every row to norm √d afterwards; off, as in most training loops.
    intercept : bool
        For centred features the mean target is subtracted: it is the least-squares intercept whatever the weights.
        For others a constant column of ones is trained with the rest.
    ridge : float
        ``weight_decay`` of `torch.optim.SGD`. It multiplies all weights by 1 − lr · ridge at every update, which is
        neither d more rows nor a shift of the spectrum: those would add sampling noise to the decay. IID's theory has
        it exactly as it has the rest; for the other orders there is no curve, and losses are simulated.
    simulate : bool
        Whether to run SGD at the chosen settings, too.
    rng : int or numpy.random.Generator
        For the split and for simulations.
    progress : callable, optional
        Called as ``progress(done, total, what)``.

    Returns
    -------
    ProbeForecast

    Notes
    -----
    The learning rate is that of ``torch.optim.SGD`` for half the squared error, summed over outputs and averaged over
    the batch, features prepared as said; ``mse_lr`` is the one for ``nn.MSELoss()``.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(0, 1, (100, 20)), rng.normal(0.5, 1, (100, 20))])
    >>> probe = forecast(X, ["a"] * 100 + ["b"] * 100, epochs=3, orders=["iid"], lr=0.002)
    >>> probe.classes, probe.chance.__round__(1), bool(probe.loss[-1] < probe.chance)
    (('a', 'b'), 0.5, True)
    """
    request = Request.validated(epochs, orders, lr, step, schedule, batch, ridge, simulate)
    generator = arguments.generator(rng)
    tell = progress or (lambda done, total, what: None)
    tell(0, 4, "eigenvalues")
    prepared = prepare(X, y, held_out, center, intercept, normalize, generator)
    arguments.batch(request.batch, len(prepared.X))
    rows = LabelledRows.of(prepared.X, prepared.T, prepared.held)
    seed = np.random.SeedSequence(generator.integers(2**32, size=4).tolist())
    problem = Problem(prepared, rows, request.batch, request.ridge, seed)
    tell(1, 4, "learning rates")
    limit = _limit(rows, request)
    rates = _rates(problem, request, limit)
    tell(2, 4, "orders")
    curves = {order: losses(order, problem, rates.steps) for order in request.orders}
    known = {
        order: with_floor(curve, problem, rates.steps) for order, curve in curves.items() if curve is not None
    }
    if not known:
        raise ValueError(
            f"orders {', '.join(curves)} have no theory here and are too large to simulate; add 'random_reshuffle'."
        )
    order = _choose(known)
    tell(3, 4, "what a wrong choice costs")
    return _assembled(problem, request, limit, rates, known, order, sorted(set(curves) - set(known)))


def _limit(rows: LabelledRows, request: Request) -> float:
    """The largest stable step: under IID sampling, or under reshuffling where that is less."""
    limit = iid.step_limit(rows, request.batch)
    if request.orders == ("iid",) or too_few_dimensions(rows):
        return limit
    return min(limit, random_reshuffle.step_limit(rows, request.batch))


class Rates(NamedTuple):
    """The steps of all epochs, the best constant step and the loss it ends at, and what the schedule saves of it."""

    steps: Array
    best: float
    best_loss: float
    gain: float | None


def _rates(problem: Problem, request: Request, limit: float) -> Rates:
    """The steps to take; given ones are refused beyond the limit."""
    # rates are chosen for the order that DataLoader(shuffle=True) has, unless only IID is asked for
    order = "iid" if request.orders == ("iid",) else SEARCH_ORDER
    given = _given(problem, request)
    if given is not None and given.max() >= limit:
        scale = problem.prepared.scale
        raise ValueError(
            f"a learning rate must be below {limit / scale:.4g} (a step of {limit:.4g}), where SGD on these features "
            f"diverges, not {given.max() / scale:.4g}."
        )
    tuned = best(problem, order, request.epochs, "constant" if given is not None else request.schedule, limit)
    if given is None:
        gain = None if request.schedule == "constant" else 1 - tuned.loss / tuned.constant_loss
        return Rates(tuned.steps, tuned.constant_step, tuned.constant_loss, gain)
    ends = losses(order, problem, given) if request.schedule != "constant" else None
    gain = None if ends is None else 1 - float(ends.loss[-1]) / tuned.constant_loss
    return Rates(given, tuned.constant_step, tuned.constant_loss, gain)


def _given(problem: Problem, request: Request) -> Array | None:
    """The steps that were asked for, by epoch; None where they are to be found."""
    if request.given is not None:
        return request.given * problem.prepared.scale
    height = request.step if request.lr is None else request.lr * problem.prepared.scale
    return None if height is None else height * shape(request.schedule, request.epochs)


def _choose(known: dict[str, OrderForecast]) -> str:
    """The order with the smallest loss at the end; random reshuffle, then IID, then orders with theory, among ties.

    A simulated loss knows no more than its standard error: an order is ahead if it is by more than that.
    """
    ends = {order: max(one.loss[-1], VANISHED * one.loss[0]) for order, one in known.items()}
    lowest = min(ends, key=ends.__getitem__)

    def tied(order: str) -> bool:
        if order == lowest:
            return True
        ratio = ends[order] / ends[lowest]
        error = SIGMAS * ratio * float(np.hypot(known[order].error, known[lowest].error))
        return ratio <= 1 + TIE or (ratio - 1 <= error and ratio <= FACTOR)

    by_theory = (order for order, one in known.items() if one.how == "theory")
    return next(
        order for order in ("random_reshuffle", "iid", *by_theory, lowest) if order in known and tied(order)
    )


def _costs(
    problem: Problem, limit: float, rates: Rates, known: dict[str, OrderForecast], order: str
) -> Costs:
    """What the other orders and other learning rates end at."""
    end = known[order].loss[-1]
    factor = min(10.0, SAFE * limit / rates.steps.max())

    def ratio(scale: float) -> float | None:
        curve = losses(order, problem, scale * rates.steps)
        return None if curve is None or not np.isfinite(curve.loss[-1]) else float(curve.loss[-1] / end)

    others = {name: float(curve.loss[-1] / end) for name, curve in known.items() if name != order}
    larger_lr = factor * float(rates.steps[0]) / problem.prepared.scale
    return Costs(others, ratio(0.1), ratio(factor) if factor > 1 else None, larger_lr, factor)


def _check(problem: Problem, request: Request, rates: Rates, one: OrderForecast) -> OrderForecast | None:
    """Runs of SGD at the chosen settings, where they were asked for or cost little."""
    cheap = problem.operations * request.epochs * CHECK_RUNS <= CHECKED
    if one.how == "simulated" or not (request.simulate or cheap):
        return None
    return by_simulation(one.order, problem, rates.steps, CHECK_RUNS)


def _assembled(
    problem: Problem,
    request: Request,
    limit: float,
    rates: Rates,
    known: dict[str, OrderForecast],
    order: str,
    missing: list[str],
) -> ProbeForecast:
    """Everything in its place."""
    prepared, chosen = problem.prepared, known[order]
    scale, outputs = prepared.scale, prepared.T.shape[1]
    lr = float(rates.steps[0]) / scale
    least = chosen.loss.min()
    enough = int(np.flatnonzero(chosen.loss <= (1 + WITHIN) * least)[0])
    checked = _check(problem, request, rates, chosen)
    direct = closed_form.solve(problem.rows)
    made = ProbeForecast(
        shape=prepared.X.shape,
        held_out_rows=0 if prepared.held is None else len(prepared.held[0]),
        outputs=outputs,
        classes=prepared.classes,
        preparation=prepared.sentences,
        lr=lr,
        mse_lr=lr * outputs / 2,
        best_lr=rates.best / scale,
        largest_lr=limit / scale,
        step=float(rates.steps[0]),
        batch=request.batch,
        order=order,
        epochs=request.epochs,
        enough=enough,
        schedule=request.schedule,
        rates=rates.steps / scale,
        train=chosen.train,
        held_out=chosen.held_out,
        orders=known,
        gain=rates.gain,
        costs=_costs(problem, limit, rates, known, order),
        closed_form=direct,
        chance=float(chosen.loss[0]),
        accuracy=accuracy.expected(problem, order, rates.steps),
        simulated=checked,
        cautions=(),
        sentences={},
        ridge=request.ridge,
        intercept="column" if prepared.constant else "mean" if prepared.target_mean.any() else "none",
        data=prepared,
    )
    warned = cautions.cautions(made, problem.rows, missing)
    return sentences.with_sentences(made, warned, rates.best_loss)
