"""The forecast of one order: its curve, how it is known, when it reaches the target."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from edgelaw import inputs
from edgelaw._common.types import Array, Integers
from edgelaw.curves import LearningCurve
from edgelaw.forecast import targets
from edgelaw.forecast.best_steps import BestStep, best_steps
from edgelaw.forecast.diagnostic import diagnose
from edgelaw.forecast.exact_curves import exact_curve, recorded_epochs
from edgelaw.forecast.progress import ProgressCounter
from edgelaw.forecast.request import Request
from edgelaw.forecast.results import Diagnostic, Forecast
from edgelaw.forecast.rows import ONE_DIRECTION
from edgelaw.forecast.simulations import Simulations, discrepancy

SEARCH_UNITS = 9  # units of progress that the search for one order's best steps counts as


@dataclass(frozen=True, eq=False)
class Setting:
    """What the forecasts of all orders share."""

    request: Request
    eigenvalues: Array
    rho: float
    epochs: Integers
    diagnostic: Diagnostic
    simulations: Simulations
    counter: ProgressCounter

    @classmethod
    def of(
        cls, design: inputs.Design, request: Request, rng: np.random.Generator, counter: ProgressCounter
    ) -> "Setting":
        """Decompose the design and look at its first epoch."""
        counter.report("eigenvalues")
        values = np.maximum(design.gram_eigenvalues(), 0)
        if (values > 1e-12 * values[-1]).sum() < 2:
            raise ValueError(ONE_DIRECTION)
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
            f"Beyond epoch {last}, where a loss is below 1e-7, the curve is continued by its last ratio.",
        )


class _Known(NamedTuple):
    """The curve of one order, how it is known and why so, and what was simulated."""

    curve: LearningCurve
    how: str
    why: str
    simulated: LearningCurve | None = None
    discrepancy: dict[str, dict[str, Any]] | None = None


def forecast(
    setting: Setting, order: str, step: float, best: dict[str, BestStep] | None, rng: np.random.Generator
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


def _known(setting: Setting, order: str, step: float, rng: np.random.Generator) -> _Known:
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


def _epochs_to_target(setting: Setting, order: str, step: float, known: _Known) -> dict[str, int | None]:
    """For each loss the first epoch at or below the target, between recorded epochs too where the curve is exact."""
    target, curve = setting.request.target, known.curve
    if target is None or known.how != "exact" or known.why:
        return {loss: targets.first_recorded(curve, loss, target) for loss in targets.LOSSES}
    return {
        loss: targets.first_between(order, setting.eigenvalues, curve, loss, step, setting.rho, target)
        for loss in targets.LOSSES
    }
