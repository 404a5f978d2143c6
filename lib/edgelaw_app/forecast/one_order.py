"""The forecast of one order: its curve, how it is known, when it reaches the target."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from edgelaw._common.types import Array
from edgelaw.curves import LearningCurve
from edgelaw.exact import curve as any_curve
from edgelaw.exact import stability
from edgelaw_app import files
from edgelaw_app.forecast import targets
from edgelaw_app.forecast.best_steps import BestStep, best_steps
from edgelaw_app.forecast.exact_curves import FLOOR, exact_curve, scatter, times_for
from edgelaw_app.forecast.request import ProgressCounter, Request, Share
from edgelaw_app.forecast.results import Forecast
from edgelaw_app.forecast.simulations import Simulations, discrepancy

SEARCH_UNITS = 6  # units of progress that the search for one order's best steps counts as


@dataclass(frozen=True, eq=False)
class Setting:
    """What the forecasts of all orders share."""

    request: Request
    shape: tuple[int, int]
    eigenvalues: Array
    times: Array
    counter: ProgressCounter
    limits: Mapping[str, float]

    @classmethod
    def of(
        cls, shape: tuple[int, int], eigenvalues: Array, request: Request, counter: ProgressCounter
    ) -> "Setting":
        """With the times to record, and the largest stable step of each order."""
        step = 1.0 if request.step == "best" else float(request.step)
        limits = {
            order: stability(order, eigenvalues, shape[0] / shape[1], batch=request.batch)
            for order in request.orders
        }
        times = times_for(request.epochs, eigenvalues, step, shape, request.batch)
        return cls(request, shape, eigenvalues, times, counter, limits)

    @property
    def rho(self) -> float:
        """Rows per dimension."""
        return self.shape[0] / self.shape[1]

    def simulations(self, design: files.Design) -> Simulations:
        """What runs SGD on the design; where sampling with replacement has come to nothing twice over, no further."""
        step = 0.5 if self.request.step == "best" else float(self.request.step)
        if self.request.batch > 1:  # a step per row that cannot be faster
            step = min(step / self.request.batch, 0.5)
        left = any_curve("iid", self.eigenvalues, self.request.epochs, step, self.rho).train
        gone = np.flatnonzero(left < FLOOR)
        enough = 2 * int(gone[0]) + 1 if len(gone) else self.request.epochs
        return Simulations(
            design, self.times, enough, len(self.request.orders), self.request.operations, self.request.batch
        )

    def exact(self, order: str, step: float) -> "Exact":
        """The exact curve of an order, or why there is none."""
        try:
            curve = exact_curve(order, self.eigenvalues, self.times, step, self.rho, batch=self.request.batch)
            refusal = ""
        except ArithmeticError as error:
            curve, refusal = None, f"No exact curve: {error}"
        self.counter.advance(f"{order}: curve")
        return Exact(curve, step, refusal)

    def search(self, order: str, exact: "Exact") -> "Search | None":
        """The best steps of an order; None where there is no exact curve."""
        share = Share(self.counter, SEARCH_UNITS, f"{order}: best step")
        try:
            if exact.curve is None:
                return None
            seen = np.flatnonzero(exact.curve.train >= FLOOR)
            time = self.times[max(int(seen[-1]), 1)].item()

            def losses_at(step: float) -> Array:
                curve = exact_curve(
                    order, self.eigenvalues, [time], step, self.rho, checked=False, batch=self.request.batch
                )
                share.tick()
                return np.array([curve.test[-1], curve.train[-1]])

            place = np.searchsorted(self.times, time)
            known = {exact.step: np.array([exact.curve.test[place], exact.curve.train[place]])}
            return Search(best_steps(losses_at, known, self.limits[order]), time)
        except ArithmeticError:
            return None
        finally:
            share.close()


class Exact(NamedTuple):
    """The exact curve of an order at a step, or a sentence on why there is none."""

    curve: LearningCurve | None
    step: float
    refusal: str


class Search(NamedTuple):
    """The best steps for each loss, and the time at which it was the smallest, in epochs."""

    best: dict[str, BestStep]
    time: float


class Known(NamedTuple):
    """The curve of one order, how it is known and why so, and what was simulated."""

    curve: LearningCurve
    how: str
    why: str
    simulated: LearningCurve | None = None
    discrepancy: dict[str, dict[str, Any]] | None = None


def known_exactly(exact: Exact) -> Known:
    """An exact curve, with a sentence where it is continued."""
    assert exact.curve is not None
    curve, last = exact.curve, exact.curve.continued
    if last is None or max(_at(curve, "test", last), _at(curve, "train", last)) < FLOOR:
        return Known(curve, "exact", "")
    why = f"Beyond epoch {last} the curve goes on by its last rate: a loss is next to nothing there."
    return Known(curve, "exact", why)


def _at(curve: LearningCurve, loss: str, time: float) -> float:
    return float(getattr(curve, loss)[np.searchsorted(curve.epochs, time)])


def known_by_simulation(
    order: str, exact: Exact, simulations: Simulations, rng: np.random.Generator, instead: str
) -> Known:
    """The curve of an order by simulation: instead of the exact one for a reason, or beside it."""
    run = simulations.run(order, exact.step, rng, exact.curve)
    compared = None if run.predicted is None else discrepancy(run.measured, run.predicted)
    if instead:
        return Known(run.curve, run.how, f"{instead} {run.note}", run.curve, compared)
    known = known_exactly(exact)
    why = f"{known.why} The simulation beside it: {run.note}".lstrip() if run.how == "pilot" else known.why
    return Known(known.curve, "exact", why, run.curve, compared)


def forecast(setting: Setting, order: str, step: float, known: Known, search: Search | None) -> Forecast:
    """The forecast of one order."""
    null = float((setting.eigenvalues == 0).mean())
    epochs = _epochs_to_target(setting, order, step, known)
    m = setting.shape[0]
    return Forecast(
        order=order,
        step=float(step),
        curve=known.curve,
        how=known.how,
        why=known.why,
        simulated=known.simulated,
        discrepancy=known.discrepancy,
        epochs_to_target=epochs,
        rows_to_target={loss: None if n is None else round(n * m) for loss, n in epochs.items()},
        beyond=targets.unreached(known.curve, setting.request.target, null),
        best_step={loss: search.best[loss].step if search else None for loss in targets.LOSSES},
        best_step_time=search.time if search else None,
        scatter=scatter(setting.eigenvalues, float(known.curve.test[known.curve.test >= FLOOR][-1])),
    )


def _epochs_to_target(setting: Setting, order: str, step: float, known: Known) -> dict[str, float | None]:
    """For each loss the first time at or below the target, between recorded times too where the curve is exact."""
    target, curve = setting.request.target, known.curve
    recorded = {loss: targets.first_recorded(curve, loss, target) for loss in targets.LOSSES}
    if target is None or known.how != "exact":
        return recorded
    return {
        loss: time
        if time is None or time > (curve.continued or np.inf)
        else targets.first_between(
            order, setting.eigenvalues, curve, loss, step, setting.shape, target, setting.request.batch
        )
        for loss, time in recorded.items()
    }
