r"""From a design to learning curves and advice: how many epochs, in which order, with which step.

Curves come from the eigenvalues by the exact theory of the chapter "Exact curves on any spectrum", for any number of
rows: :func:`edgelaw.exact.levy.from_sample` reads its average off the m × m Gram matrix where m and d differ.
Where it refuses, or where the diagnostic does not say that the rows are of the kind it assumes, they are simulated; and
where that would take too long, a pilot on a part of the rows is. Every forecast says which.

In five lines:

>>> from edgelaw import data
>>> from edgelaw_app.forecast import predict
>>> prediction = predict(data.gaussian(64, 64, rng=0), epochs=10, target=0.2, search=False)
>>> {order: forecast.epochs_to_target["test"] for order, forecast in prediction.forecasts.items()}
{'iid': 5, 'random_reshuffle': 3, 'single_shuffle': 3, 'flip_flop': 4}
>>> prediction.advice.order, prediction.diagnostic.fits
('single_shuffle', True)
"""

import dataclasses
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Any

import numpy as np

from edgelaw import spectrum
from edgelaw._common import arguments, threads
from edgelaw._common.types import Array, ArrayLike, Progress, Rng
from edgelaw.curves import LearningCurve
from edgelaw.orders import ORDERS
from edgelaw_app import files
from edgelaw_app.forecast import advice
from edgelaw_app.forecast.batching import batching
from edgelaw_app.forecast.cautions import Facts, cautions
from edgelaw_app.forecast.diagnostic import WATCHED, diagnose
from edgelaw_app.forecast.exact_curves import FLOOR
from edgelaw_app.forecast.one_order import (
    SEARCH_UNITS,
    Exact,
    Known,
    Search,
    Setting,
    forecast,
    known_by_simulation,
    known_exactly,
)
from edgelaw_app.forecast.request import ProgressCounter, Request
from edgelaw_app.forecast.results import Advice, Diagnostic, Forecast, Prediction
from edgelaw_app.forecast.rows import ONE_DIRECTION, equal_norm_design
from edgelaw_app.forecast.simulations import PILOT_ERROR

OPERATIONS = 1e11  # multiply-adds for simulations: about half a minute on one core
MISTRUST = {
    "fails": "The diagnostic says that eigenvalues are not enough here.",
    "undecided": "The diagnostic cannot tell whether eigenvalues are enough here.",
}
ACCURACY = {"test": 0.01, "train": 0.03}  # relative, of exact curves on real rows; what was measured


@threads.one_blas_thread()
def predict(
    X: ArrayLike | files.Design,
    epochs: int = 50,
    step: float | str = 1.0,
    orders: Iterable[str] = ORDERS,
    target: float | None = None,
    simulate: bool | str = "auto",
    rng: Rng = 0,
    progress: Progress | None = None,
    *,
    search: bool = True,
    operations: float = OPERATIONS,
    watch: Callable[[str, Any], object] | None = None,
    center: bool = True,
    batch: int = 1,
) -> Prediction:
    r"""Learning curves of the orders on this design, and what to do.

    Parameters
    ----------
    X : array (m, d) or edgelaw_app.files.Design
        The rows, at least 2, in at least 20 dimensions. An array is prepared as the command ``edgelaw predict``
        prepares a file, by :func:`edgelaw_app.files.design`: the mean row is subtracted, then every row is scaled to
        norm √d, since only directions matter to the normalised update. A design is taken as it was made.
    epochs : int
        The budget.
    step : float or "best"
        In (0, 2), with batches up to the largest stable one (:func:`edgelaw.exact.stability`); or every order
        at its own best step for the test loss at the end of the budget (1 for an order that has no exact curve).
    orders : iterable of str
        Among `edgelaw.orders.ORDERS`.
    target : float, optional
        A loss in (0, 1) to be reached.
    simulate : "auto", True or False
        Whether to run SGD itself beside the theory. By default where the diagnostic does not say that the rows
        are of the kind the theory assumes. An order without an exact curve is simulated in any case.
    rng : int or numpy.random.Generator
    progress : callable, optional
        Called as ``progress(done, total, what)``.
    search : bool
        Whether to look for each order's best steps: two to eight more curves per order.
    operations : float
        Multiply-adds that simulations may take together; where that is not enough, a pilot is run on a part of the
        rows. Nothing depends on how fast the machine is, or on its cores.
    watch : callable, optional
        Called as ``watch(what, result)`` with results as they are known: "spectrum" with the eigenvalues, then an
        order's name with its curve, from several threads.
    center : bool
        Whether to subtract an array's mean row, which in embeddings is most of every row and no feature; False is
        the command's ``--no-center``.
    batch : int
        Rows per update, at most m, averaged as PyTorch's losses do; an epoch is m rows whatever the batch.

    Returns
    -------
    Prediction

    Notes
    -----
    **Accuracy**, measured (`edgelaw.data.sweep`: ``embedding_traces``, ``predict_accuracy``): at m = d = 512 on
    Gaussian rows, CIFAR-10 and Wikipedia embeddings, steps 0.5, 1 and 1.5, exact curves are within 1 % (test) and 3 %
    (training) of simulation at every recorded epoch up to 50; 2 % and 5 % are promised. With half or twice as many
    rows as dimensions the test loss is as good; the training loss of random reshuffle at m = d/2 is off by up to 10 %
    (standard error 4 %) once it is below 1e-3. At a finite d curves differ by O(1/effective rank). With fewer rows than
    dimensions that is more for the training loss: on Gaussian rows of the covariance of CIFAR-10 embeddings, m = d/2,
    step 1, the first epoch's is 3.7, 2.3 and 1.1 % below the curve at d = 64, 128 and 256 (± 0.4 to 0.7 %), and after
    16 epochs single shuffle's is 9 to 19 % above it (± 2 to 3 %), with no clear trend in d.

    **Without an exact curve**, and therefore simulated, all orders alike: too few eigenvalues, what two computations
    disagree on, or rows that the diagnostic does not pass.

    Examples
    --------
    >>> from edgelaw import data
    >>> prediction = predict(data.gaussian(40, 80, rng=0), epochs=4, orders=["iid"], target=0.1, search=False)
    >>> [caution.code for caution in prediction.warnings][0], prediction.forecasts["iid"].epochs_to_target
    ('plateau', {'test': None, 'train': 3})
    """
    request = Request.validated(epochs, step, orders, target, simulate, operations, search, batch)
    generator = arguments.generator(rng)
    design, preparation = equal_norm_design(X, center)
    arguments.batch(request.batch, design.shape[0])
    counter = ProgressCounter(progress, _units(request))
    counter.report("eigenvalues")
    values = np.maximum(design.gram_eigenvalues(), 0)
    if (values > 1e-12 * values[-1]).sum() < 2:
        raise ValueError(ONE_DIRECTION)
    seen = watch or (lambda what, result: None)
    seen("spectrum", values)
    counter.advance("exact curves")
    setting = Setting.of(design.shape, values, request, counter)
    diagnostic, exact, searches = _theory(setting, design, generator.spawn(1)[0], seen)
    steps = {order: exact[order].step for order in request.orders}
    known = _known(setting, design, exact, diagnostic, generator)
    forecasts = {
        order: forecast(setting, order, steps[order], known[order], searches[order])
        for order in request.orders
    }
    chosen = _advice(request, design.shape, forecasts, searches, values)
    law = spectrum.edge_law(values)
    facts = Facts(
        shape=design.shape,
        eigenvalues=values,
        edge=law.edge,
        edge_error=law.edge_error,
        edge_reason=law.reason,
        diagnostic=diagnostic,
        duplicates=design.duplicates or 0,
        epochs=request.epochs,
        step=min(steps.values()) / request.batch,
        target=request.target,
        columns=design.warnings,
    )
    prediction = Prediction(
        shape=design.shape,
        preparation=preparation,
        eigenvalues=values,
        edge=law.edge,
        edge_error=law.edge_error,
        edge_law=law,
        effective_rank=spectrum.effective_rank(values),
        quantile_ratio=spectrum.quantile_ratio(values),
        step=request.step,
        epochs=request.epochs,
        target=request.target,
        batch=request.batch,
        forecasts=forecasts,
        diagnostic=diagnostic,
        warnings=cautions(facts),
        advice=chosen,
        batching=batching(setting, chosen, forecasts, searches) if request.batch > 1 else None,
    )
    counter.finish()
    return prediction


def _units(request: Request) -> int:
    """Units of progress: the eigenvalues, the diagnostic, and for each order curve, search, simulation."""
    return 2 + len(request.orders) * (2 + SEARCH_UNITS * request.search + (request.step == "best"))


def _theory(
    setting: Setting, design: files.Design, rng: np.random.Generator, seen: Callable[[str, Any], object]
) -> tuple[Diagnostic, dict[str, Exact], dict[str, Search | None]]:
    """The diagnostic, the exact curve of each order and its best steps, on all cores, each on one of them."""
    request = setting.request
    first = 1.0 if request.step == "best" else float(request.step)
    curves: dict[str, Future] = {order: Future() for order in request.orders}

    def one(order: str) -> tuple[Exact, Search | None]:
        try:
            exact = setting.exact(order, first)
        except BaseException as failure:
            curves[order].set_exception(failure)
            raise
        curves[order].set_result(exact.curve)
        if request.step != "best":
            seen(order, exact.curve)
        search = setting.search(order, exact) if request.search else None
        if request.step == "best":
            exact = setting.exact(order, search.best["test"].step if search else 1.0)
            seen(order, exact.curve)
        return exact, search

    def curve_of(order: str) -> LearningCurve | None:
        return curves[order].result()

    single = request.batch == 1  # the diagnostic visits rows one by one
    known = curve_of if set(WATCHED) <= set(curves) and single else None
    with threads.executor(threads.cores()) as pool:
        parts = {order: pool.submit(one, order) for order in request.orders}
        # after the orders in the queue, so that the curves it waits for are being computed
        looked_at = pool.submit(
            diagnose, design, rng, request.epochs, first if single else 1.0, curve_of=known
        )
        results = {order: part.result() for order, part in parts.items()}
        diagnostic = looked_at.result()
    setting.counter.advance("diagnostic")
    exact = {order: pair[0] for order, pair in results.items()}
    return diagnostic, exact, {order: pair[1] for order, pair in results.items()}


def _known(
    setting: Setting,
    design: files.Design,
    exact: dict[str, Exact],
    diagnostic: Diagnostic,
    generator: np.random.Generator,
) -> dict[str, Known]:
    """The curves of all orders: all exact, or all simulated, so that what is compared is of one kind."""
    request = setting.request
    missing = next((curve.refusal for curve in exact.values() if curve.curve is None), "")
    instead = missing
    if not missing and request.simulate == "auto" and not diagnostic.fits:
        instead = MISTRUST[diagnostic.verdict]
    if not instead and request.simulate is not True:
        return {order: known_exactly(curve) for order, curve in exact.items()}
    simulations = setting.simulations(design)
    known = {}
    for order, child in zip(exact, generator.spawn(len(exact)), strict=True):
        one = exact[order]._replace(curve=None) if missing else exact[order]
        known[order] = known_by_simulation(order, one, simulations, child, instead)
        setting.counter.advance(f"{order}: simulation")
    return known


def _advice(
    request: Request,
    shape: tuple[int, int],
    forecasts: dict[str, Forecast],
    searches: dict[str, Search | None],
    eigenvalues: Array,
) -> Advice:
    """The order to take, by what the forecasts say of the end of the budget, or of the last loss above 1e-12."""
    # beside a plateau that all orders share, what is left of the test loss says nothing: the training loss decides
    lowest = min(known.curve.test[-1] for known in forecasts.values())
    loss = "train" if (eigenvalues == 0).mean() > 0.5 * lowest else "test"
    losses = np.array([getattr(known.curve, loss) for known in forecasts.values()])
    place = int(np.flatnonzero((losses >= FLOOR).all(axis=0))[-1])
    if place == 0:
        place = 1
    time = next(iter(forecasts.values())).curve.epochs[place].item()
    ends = {name: max(float(row[place]), FLOOR) for name, row in zip(forecasts, losses, strict=True)}
    errors = {name: _relative_error(known, loss, place) for name, known in forecasts.items()}
    moment = advice.Moment(time, shape[0], time < request.epochs)
    steps = {name: known.step for name, known in forecasts.items()}
    chosen = advice.advise(ends, errors, steps, moment, loss)
    if request.step == "best" or any(search and search.time != time for search in searches.values()):
        return chosen
    best = {name: search.best if search else None for name, search in searches.items()}
    reason = advice.with_free_step(chosen.reason, best, loss, ends, ACCURACY[loss])
    return dataclasses.replace(chosen, reason=reason)


def _relative_error(known: Forecast, loss: str, place: int) -> float:
    """The relative standard error of a loss: of a simulation, or the accuracy of exact curves.

    That was measured where losses had fallen by up to a factor of 1000; beyond, it is taken to grow with the
    logarithm of the loss, as an error in a rate does.
    """
    value, error = getattr(known.curve, loss)[place], getattr(known.curve, loss + "_se")[place]
    if known.how == "exact":
        return float(ACCURACY[loss] * max(1.0, np.log(max(value, FLOOR)) / np.log(1e-3)))
    own = float(error / value) if np.isfinite(error) and value > 0 else 0.0
    return own if known.how == "simulated" else float(np.hypot(own, PILOT_ERROR[loss]))
