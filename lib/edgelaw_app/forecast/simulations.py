"""The simulations of a prediction: on all rows if their number and memory allow, else on a pilot."""

from typing import Any, NamedTuple

import numpy as np

from edgelaw import spectrum
from edgelaw._common.types import Array
from edgelaw.curves import LearningCurve
from edgelaw_app import files
from edgelaw_app.forecast import measuring
from edgelaw_app.forecast.exact_curves import FLOOR, exact_curve
from edgelaw_app.forecast.rows import LARGEST_BYTES

# How far nine of ten pilots were off on the shipped embeddings (`edgelaw.data.sweep("pilots")`; a test compares).
PILOT_ERROR = {"test": 0.02, "train": 0.05}
PILOT_WORST = 0.6  # the worst of them, either loss
RAW = (
    "There is no exact curve to correct, so this is the curve of the pilot itself, which falls much faster than that "
    "of all rows (on the shipped embeddings to a tenth): it compares orders, it does not give levels. "
)


class Simulated(NamedTuple):
    """A measured curve and what is known about it.

    Attributes
    ----------
    curve : LearningCurve
    measured, predicted : LearningCurve or None
        What was run and the exact curve of the same rows, to be compared; predicted is None without an exact curve.
    how : {"simulated", "pilot"}
    note : str
        Sentences.
    """

    curve: LearningCurve
    measured: LearningCurve
    predicted: LearningCurve | None
    how: str
    note: str


class _Setup(NamedTuple):
    """Which rows are run, how often and from how many starts; whether they are a pilot of a larger design."""

    X: Array
    runs: int
    probes: int
    pilot: bool


class Simulations:
    """Runs SGD on a design, order by order; on which rows and how often is settled when the first is asked for.

    Parameters
    ----------
    design : Design
    times : array
        The times to record, in epochs, 0 included.
    enough : int
        Epochs after which nothing can be left of a loss: later ones are not run, but continued.
    orders : int
        How many orders share the operations.
    operations : float
        Multiply-adds, for all of them together.
    batch : int
        Rows per update, averaged; a pilot has proportionally fewer.
    """

    def __init__(
        self,
        design: files.Design,
        times: Array,
        enough: int,
        orders: int,
        operations: float,
        batch: int = 1,
    ) -> None:
        self._batch = batch
        self._design, self._times, self._orders, self._operations = design, times, orders, operations
        self._run = times[times <= max(1, enough)]
        self._setup: _Setup | None = None

    def run(
        self, order: str, step: float, rng: np.random.Generator, exact: LearningCurve | None
    ) -> Simulated:
        """One order at one step; `exact` is its exact curve on all rows, if there is one."""
        if self._setup is None:
            self._setup = self._all_rows() or self._pilot(rng)
        X, runs, probes, pilot = self._setup
        batch = self._batch_on(X)
        step = step * batch / self._batch  # the same step per row
        measured = measuring.measured_curve(X, order, self._run, step, rng, runs, probes, batch)
        measured = continued(measured, self._times)
        if pilot:
            return self._from_pilot(order, step, batch, measured, exact)
        starts = "all starts" if probes == X.shape[1] else f"{probes} starts"
        note = f"Means over {runs} orders, each from {starts}."
        if order == "iid" and probes == X.shape[1] and batch == 1:
            note = "The exact expectation over orders, from the rows."
        return Simulated(measured, measured, exact, "simulated", note)

    def _batch_on(self, X: Array) -> int:
        """Rows per update on these rows: the same part of the dimensions as on the whole design."""
        return max(1, round(self._batch * X.shape[1] / self._design.shape[1]))

    @property
    def _epochs(self) -> int:
        """Epochs to pay for: those run, and one more where fractions of the first are."""
        return int(self._run[-1]) + bool((self._run % 1).any())

    def _all_rows(self) -> _Setup | None:
        """All rows, if they fit into memory and the runs into the operations."""
        if self._design.bytes > LARGEST_BYTES:
            return None
        plan = measuring.affordable(self._design.shape, self._epochs, self._orders, self._operations)
        return None if plan is None else _Setup(self._design.matrix(), *plan, pilot=False)

    def _pilot(self, rng: np.random.Generator) -> _Setup:
        """As many rows and dimensions, in the same ratio, as the operations pay for."""
        m, d = self._design.shape
        rows, dims = measuring.pilot_size((m, d), self._epochs, self._orders, self._operations)
        X = measuring.random_part(self._design, min(rows, m), dims, rng)
        plan = measuring.affordable(X.shape, self._epochs, self._orders, self._operations)
        return _Setup(X, *(plan or (measuring.FEWEST_RUNS, min(dims, 32))), pilot=True)

    def _from_pilot(
        self, order: str, step: float, batch: int, measured: LearningCurve, exact: LearningCurve | None
    ) -> Simulated:
        """What a pilot's measured curve says of all rows."""
        assert self._setup is not None
        X = self._setup.X
        (rows, dims), (m, d) = X.shape, self._design.shape
        values = np.maximum(spectrum.gram_eigenvalues(X), 0)
        late = batch / (2 * step * rows / dims * values[values > 0][0])
        note = (
            f"A pilot: {rows} of {m} rows in {dims} of {d} random directions, and the exact curve of all rows times "
            "what it measures over its own exact curve. On the shipped embeddings nine of ten such forecasts, from a "
            f"half to an eighth of both sides, were within {100 * PILOT_ERROR['test']:.0f} % (test) and "
            f"{100 * PILOT_ERROR['train']:.0f} % (training), the worst off by half. "
            "A pilot does not see rows that repeat each other unless both are in it, nor eigenvalues below its own "
            f"smallest, which matter from about epoch {late:.2g} on."
        )
        try:
            own = exact_curve(order, values, self._times, step, rows / dims, batch=batch)
        except ArithmeticError:
            return Simulated(measured, measured, None, "pilot", RAW + note)
        if exact is None:
            return Simulated(measured, measured, own, "pilot", RAW + note)
        return Simulated(corrected(exact, measured, own), measured, own, "pilot", note)


def continued(curve: LearningCurve, times: Array) -> LearningCurve:
    """The curve at all times, beyond its own last one by its last ratio, and said to be so."""
    if len(times) == len(curve.epochs):
        return curve
    last = curve.epochs[-1]
    beyond = times > last
    columns = []
    for loss in ("test", "train"):
        values, errors = getattr(curve, loss), getattr(curve, loss + "_se")
        ratio = min(values[-1] / values[-2], 1.0) if values[-2] > 0 else 0.0
        power = ratio ** ((times[beyond] - last) / (last - curve.epochs[-2]))
        columns.append((np.append(values, values[-1] * power), np.append(errors, errors[-1] * power)))
    (test, test_se), (train, train_se) = columns
    return LearningCurve(times, test, train, test_se, train_se, error=curve.error, continued=int(last))


def corrected(exact: LearningCurve, measured: LearningCurve, predicted: LearningCurve) -> LearningCurve:
    """The full curve times what the pilot's measurement was over its own prediction."""
    factors = [
        np.divide(a, b, out=np.ones_like(a), where=b > FLOOR)
        for a, b in ((measured.test, predicted.test), (measured.train, predicted.train))
    ]
    scale = [
        np.divide(a, b, out=np.zeros_like(a), where=b > FLOOR)
        for a, b in ((exact.test, predicted.test), (exact.train, predicted.train))
    ]
    return LearningCurve(
        exact.epochs,
        exact.test * factors[0],
        exact.train * factors[1],
        measured.test_se * scale[0],
        measured.train_se * scale[1],
    )


def discrepancy(measured: LearningCurve, predicted: LearningCurve) -> dict[str, dict[str, Any]]:
    """For each loss the largest relative difference, its epoch and standard error, where the loss exceeds 1e-9."""
    return {loss: _largest_difference(measured, predicted, loss) for loss in ("test", "train")}


def _largest_difference(measured: LearningCurve, predicted: LearningCurve, loss: str) -> dict[str, Any]:
    a, b, error = (
        getattr(measured, loss)[1:],
        getattr(predicted, loss)[1:],
        getattr(measured, loss + "_se")[1:],
    )
    seen = np.flatnonzero((a > 1e-9) & (b > 1e-9))
    if not len(seen):
        return {"worst": None, "epoch": None, "error": None}
    ratio = a[seen] / b[seen] - 1
    k = int(np.abs(ratio).argmax())
    return {
        "worst": float(ratio[k]),
        "epoch": int(measured.epochs[1:][seen[k]]),
        "error": float(error[seen[k]] / b[seen[k]]),
    }
