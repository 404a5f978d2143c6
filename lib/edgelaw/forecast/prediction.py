r"""From a design to learning curves and advice: how many epochs, in which order, with which step.

Curves come from the eigenvalues by the exact theory of the chapter "Exact curves on any spectrum", for any number of
rows: :func:`edgelaw.theory.levy.from_sample` reads its average off the m × m Gram matrix where m and d differ.
Where it refuses, or where the first epoch says that the rows are not of the kind it assumes, they are simulated; and
where that would take too long, a pilot on a part of the rows is. Every forecast says which.

In five lines:

>>> from edgelaw import data
>>> from edgelaw.predict import predict
>>> prediction = predict(data.gaussian(64, 64, rng=0), epochs=10, target=0.2, search=False)
>>> {order: forecast.epochs_to_target["test"] for order, forecast in prediction.forecasts.items()}
{'iid': 5, 'random_reshuffle': 3, 'single_shuffle': 3, 'flip_flop': 4}
>>> prediction.advice.order, prediction.diagnostic.fits
('single_shuffle', True)
"""

import dataclasses
from collections.abc import Iterable

import numpy as np

from edgelaw import inputs, spectrum
from edgelaw._common import arguments, threads
from edgelaw._common.types import Array, ArrayLike, Progress, Rng
from edgelaw.forecast import advice
from edgelaw.forecast.best_steps import BestStep
from edgelaw.forecast.cautions import Facts, cautions
from edgelaw.forecast.one_order import SEARCH_UNITS, Setting, forecast
from edgelaw.forecast.progress import ProgressCounter
from edgelaw.forecast.request import Request
from edgelaw.forecast.results import Advice, Forecast, Prediction
from edgelaw.forecast.rows import equal_norm_design
from edgelaw.orders import ORDERS


@threads.one_blas_thread()
def predict(
    X: ArrayLike | inputs.Design,
    epochs: int = 50,
    step: float | str = 1.0,
    orders: Iterable[str] = ORDERS,
    target: float | None = None,
    simulate: bool | str = "auto",
    rng: Rng = 0,
    seconds: float = 60.0,
    progress: Progress | None = None,
    *,
    search: bool = True,
) -> Prediction:
    r"""Learning curves of the orders on this design, and what to do.

    Parameters
    ----------
    X : array (m, d) or edgelaw.inputs.Design
        The rows, at least 2, in at least 20 dimensions. Only their directions matter to the normalised update, so an
        array's rows are scaled to equal norm.
    epochs : int
        The budget.
    step : float or "best"
        In (0, 2); or every order at its own best step for the test loss at the end of the budget (1 for an order
        that has no exact curve).
    orders : iterable of str
        Among `edgelaw.orders.ORDERS`.
    target : float, optional
        A loss in (0, 1) to be reached.
    simulate : "auto", True or False
        Whether to run SGD itself beside the theory. By default where the diagnostic says that the rows are not of
        the kind the theory assumes. An order without an exact curve is simulated in any case.
    rng : int or numpy.random.Generator
    seconds : float
        What simulations may take together, as estimated from a few rows; where it is not enough, a pilot is run.
        It also decides how many runs and starts there are, so digits of simulated curves may depend on the machine.
    progress : callable, optional
        Called as ``progress(done, total, what)``.
    search : bool
        Whether to look for the best steps, the most expensive part (about ten curves per order).

    Returns
    -------
    Prediction

    Notes
    -----
    **Accuracy**, measured (`edgelaw.data.sweep`: ``embedding_traces``, ``predict_accuracy``): at m = d = 512 on
    Gaussian rows, CIFAR-10 and Wikipedia embeddings, steps 0.5, 1 and 1.5, exact curves are within 1 % (test) and 3 %
    (training) of simulation at every recorded epoch up to 50; 2 % and 5 % are promised. With half or twice as many
    rows as dimensions the test loss is as good; the training loss of random reshuffle at m = d/2 is off by up to 10 %
    (standard error 4 %) once it is below 1e-3. At a finite d curves differ by O(1/effective rank).

    **Without an exact curve**, and therefore simulated: what two resolutions of the theory disagree on by more than
    2 %, as for a step close to 2 with far fewer rows than dimensions.

    Examples
    --------
    >>> from edgelaw import data
    >>> prediction = predict(data.gaussian(40, 80, rng=0), epochs=4, orders=["iid"], target=0.1, search=False)
    >>> [caution.code for caution in prediction.warnings][0], prediction.forecasts["iid"].epochs_to_target
    ('plateau', {'test': None, 'train': 3})
    """
    request = Request.validated(epochs, step, orders, target, simulate, seconds, search)
    generator = arguments.generator(rng)
    design, preparation = equal_norm_design(X)
    counter = ProgressCounter(progress, 2 + len(request.orders) * (2 + SEARCH_UNITS * request.search))
    setting = Setting.of(design, request, generator, counter)
    best = {order: setting.search(order) for order in request.orders}
    steps = {order: _step(request, best[order]) for order in request.orders}
    children = generator.spawn(len(request.orders))
    forecasts = {
        order: forecast(setting, order, steps[order], best[order], child)
        for order, child in zip(request.orders, children, strict=True)
    }
    values = setting.eigenvalues
    edge, edge_error = spectrum.edge_and_error(values)
    facts = Facts(
        shape=design.shape,
        eigenvalues=values,
        edge=edge,
        edge_error=edge_error,
        diagnostic=setting.diagnostic,
        duplicates=design.duplicates or 0,
        epochs=request.epochs,
        step=min(steps.values()),
        target=request.target,
    )
    prediction = Prediction(
        shape=design.shape,
        preparation=preparation,
        eigenvalues=values,
        edge=edge,
        edge_error=edge_error,
        effective_rank=spectrum.effective_rank(values),
        quantile_ratio=spectrum.quantile_ratio(values),
        step=request.step,
        epochs=request.epochs,
        target=request.target,
        forecasts=forecasts,
        diagnostic=setting.diagnostic,
        warnings=cautions(facts),
        advice=_advice(request, forecasts, steps, best, values),
    )
    counter.finish()
    return prediction


def _step(request: Request, best: dict[str, BestStep] | None) -> float:
    """The step of an order: as asked, or its best for the test loss, or 1 where that is not known."""
    if request.step != "best":
        return float(request.step)
    return best["test"].step if best else 1.0


def _advice(
    request: Request,
    forecasts: dict[str, Forecast],
    steps: dict[str, float],
    best: dict[str, dict[str, BestStep] | None],
    eigenvalues: Array,
) -> Advice:
    """The order to take, by what the forecasts say of the last epoch."""
    # beside a plateau that all orders share, what is left of the test loss says nothing: the training loss decides
    lowest = min(known.curve.test[-1] for known in forecasts.values())
    loss = "train" if (eigenvalues == 0).mean() > 0.5 * lowest else "test"
    ends = {name: float(getattr(known.curve, loss)[-1]) for name, known in forecasts.items()}
    errors = {
        name: _relative_error(getattr(known.curve, loss + "_se")[-1], ends[name])
        for name, known in forecasts.items()
    }
    chosen = advice.advise(ends, errors, steps, request.epochs, loss)
    if request.step == "best":
        return chosen
    return dataclasses.replace(chosen, reason=advice.with_free_step(chosen.reason, best, loss, ends))


def _relative_error(error: float, value: float) -> float:
    """A standard error over its value; 0 for a curve that has none, or has ended."""
    return float(error / value) if np.isfinite(error) and value > 0 else 0.0
