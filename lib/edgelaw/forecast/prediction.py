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
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from edgelaw import inputs, spectrum
from edgelaw._common import arguments
from edgelaw._common.types import Array, ArrayLike, Integers, Progress, Rng
from edgelaw.curves import LearningCurve
from edgelaw.forecast import advice, targets
from edgelaw.forecast.best_steps import BestStep, best_steps
from edgelaw.forecast.cautions import Facts, cautions
from edgelaw.forecast.diagnostic import diagnose
from edgelaw.forecast.exact_curves import exact_curve, recorded_epochs
from edgelaw.forecast.request import Request
from edgelaw.forecast.results import Advice, Diagnostic, Forecast, Prediction
from edgelaw.forecast.rows import equal_norm_design
from edgelaw.forecast.simulations import Simulations, discrepancy
from edgelaw.orders import ORDERS

SEARCH_UNITS = 9  # units of progress that the search for one order's best steps counts as


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

    **Without an exact curve**, and therefore simulated: single shuffle at m ≠ d beyond about 30 epochs on a broad
    spectrum (its contours take too long), flip-flop at m ≠ d where the losses have fallen far.

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
    counter = _ProgressCounter(progress, 2 + len(request.orders) * (2 + SEARCH_UNITS * request.search))
    setting = _Setting.of(design, request, generator, counter)
    best = {order: setting.search(order) for order in request.orders}
    steps = {order: _step(request, best[order]) for order in request.orders}
    children = generator.spawn(len(request.orders))
    forecasts = {
        order: _forecast(setting, order, steps[order], best[order], child)
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
        shape=tuple(design.shape),
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


class _ProgressCounter:
    """Progress in units that are not all of one length."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self.total, self.done = progress, total, 0

    def report(self, what: str) -> None:
        """Say what is being done now."""
        if self._progress is not None:
            self._progress(self.done, self.total, what)

    def advance(self, what: str, most: int | None = None) -> None:
        """One unit is done, but never more than `most`."""
        self.done = min(self.done + 1, self.total if most is None else most)
        self.report(what)

    def jump(self, done: int) -> None:
        """So many units are done, whatever was counted."""
        self.done = max(self.done, min(done, self.total))

    def finish(self) -> None:
        """All is done."""
        self.done = self.total
        self.report("done")


@dataclass(frozen=True, eq=False)
class _Setting:
    """What the forecasts of all orders share."""

    request: Request
    eigenvalues: Array
    rho: float
    epochs: Integers
    diagnostic: Diagnostic
    simulations: Simulations
    counter: _ProgressCounter

    @classmethod
    def of(
        cls, design: inputs.Design, request: Request, rng: np.random.Generator, counter: _ProgressCounter
    ) -> "_Setting":
        """Decompose the design and look at its first epoch."""
        counter.report("eigenvalues")
        values = np.maximum(design.gram_eigenvalues(), 0)
        if (values > 1e-12 * values[-1]).sum() < 2:
            raise ValueError(
                "All rows of X point in one direction; there is nothing to learn about an order from them."
            )
        counter.advance("first epoch")
        diagnostic = diagnose(design, rng.spawn(1)[0])
        counter.advance("exact curves")
        n = recorded_epochs(request.epochs)
        simulations = Simulations(design, n, len(request.orders), request.seconds)
        rho = design.shape[0] / design.shape[1]
        return cls(request, values, rho, n, diagnostic, simulations, counter)

    def search(self, order: str) -> dict[str, BestStep] | None:
        """The best steps of an order; None where they were not asked for or there is no exact curve."""
        if not self.request.search:
            return None
        done = self.counter.done + SEARCH_UNITS

        def tick() -> None:
            self.counter.advance(f"{order}: best step", done)

        try:
            return best_steps(order, self.eigenvalues, self.request.epochs, self.rho, tick)
        except ArithmeticError:
            return None
        finally:
            self.counter.jump(done)

    def exact(self, order: str, step: float) -> tuple[LearningCurve | None, str]:
        """The exact curve of an order, if there is one, and a sentence where there is more to say."""
        try:
            curve, last = exact_curve(order, self.eigenvalues, self.epochs, step, self.rho)
        except ArithmeticError as refusal:
            return None, f"No exact curve: {refusal}"
        if last is None:
            return curve, ""
        return (
            curve,
            f"Beyond epoch {last}, where both losses are below 1e-9, the curve is continued by its last ratio.",
        )


def _step(request: Request, best: dict[str, BestStep] | None) -> float:
    """The step of an order: as asked, or its best for the test loss, or 1 where that is not known."""
    if request.step != "best":
        return float(request.step)
    return best["test"].step if best else 1.0


class _Known(NamedTuple):
    """The curve of one order, how it is known and why so, and what was simulated."""

    curve: LearningCurve
    how: str
    why: str
    simulated: LearningCurve | None = None
    discrepancy: dict[str, dict[str, Any]] | None = None


def _forecast(
    setting: _Setting, order: str, step: float, best: dict[str, BestStep] | None, rng: np.random.Generator
) -> Forecast:
    """The forecast of one order."""
    known = _known(setting, order, step, rng)
    null = float((setting.eigenvalues == 0).mean())
    return Forecast(
        order=order,
        step=float(step),
        curve=known.curve,
        how=known.how,
        why=known.why,
        simulated=known.simulated,
        discrepancy=known.discrepancy,
        epochs_to_target=_epochs_to_target(setting, order, step, known),
        beyond=targets.unreached(known.curve, setting.request.target, null),
        best_step={loss: best[loss].step if best else None for loss in targets.LOSSES},
    )


def _known(setting: _Setting, order: str, step: float, rng: np.random.Generator) -> _Known:
    """The curve of an order: exact, beside a simulation if asked for, or simulated."""
    exact, why = setting.exact(order, step)
    setting.counter.advance(f"{order}: curve")
    mistrusted = setting.request.simulate == "auto" and not setting.diagnostic.fits
    if exact is not None and not mistrusted and setting.request.simulate is not True:
        setting.counter.advance(f"{order}: done")
        return _Known(exact, "exact", why)
    run = setting.simulations.run(order, step, rng, exact)
    setting.counter.advance(f"{order}: simulation")
    compared = None if run.predicted is None else discrepancy(run.measured, run.predicted)
    if exact is None or mistrusted:
        why = f"{why or 'The first epoch says that eigenvalues are not enough here.'} {run.note}"
        return _Known(run.curve, run.how, why, run.curve, compared)
    if run.how == "pilot":
        why = f"{why} The simulation beside it: {run.note}".lstrip()
    return _Known(exact, "exact", why, run.curve, compared)


def _epochs_to_target(setting: _Setting, order: str, step: float, known: _Known) -> dict[str, int | None]:
    """For each loss the first epoch at or below the target, between recorded epochs too where the curve is exact."""
    target, curve = setting.request.target, known.curve
    if target is None or known.how != "exact" or known.why:
        return {loss: targets.first_recorded(curve, loss, target) for loss in targets.LOSSES}
    return {
        loss: targets.first_between(order, setting.eigenvalues, curve, loss, step, setting.rho, target)
        for loss in targets.LOSSES
    }


def _advice(
    request: Request,
    forecasts: dict[str, Forecast],
    steps: dict[str, float],
    best: dict[str, dict[str, BestStep] | None],
    eigenvalues: Array,
) -> Advice:
    """The order to take, by what the forecasts say of the last epoch."""
    # beside a plateau that all orders share, what is left of the test loss says nothing: the training loss decides
    lowest = min(forecast.curve.test[-1] for forecast in forecasts.values())
    loss = "train" if (eigenvalues == 0).mean() > 0.5 * lowest else "test"
    ends = {name: float(getattr(forecast.curve, loss)[-1]) for name, forecast in forecasts.items()}
    errors = {
        name: _relative_error(getattr(forecast.curve, loss + "_se")[-1], ends[name])
        for name, forecast in forecasts.items()
    }
    chosen = advice.advise(ends, errors, steps, request.epochs, loss)
    if request.step == "best":
        return chosen
    return dataclasses.replace(chosen, reason=advice.with_free_step(chosen.reason, best, loss, ends))


def _relative_error(error: float, value: float) -> float:
    """A standard error over its value; 0 for a curve that has none, or has ended."""
    return float(error / value) if np.isfinite(error) and value > 0 else 0.0
