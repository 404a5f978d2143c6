"""Where `edgelaw.predict` runs the real thing: on all rows if time and memory allow, else on a pilot."""

import numpy as np

from edgelaw import spectrum
from edgelaw.curves import LearningCurve
from edgelaw.forecast import engine

# How far nine of ten pilots were off on the shipped embeddings (`edgelaw.data.sweep("pilots")`; a test compares).
PILOT_ERROR = {"test": 0.02, "train": 0.05}
PILOT_WORST = 0.6  # the worst of them, either loss
RAW = (
    "There is no exact curve to correct, so this is the curve of the pilot itself, which falls much faster than that "
    "of all rows (on the shipped embeddings to a tenth): it compares orders, it does not give levels. "
)


class Bench:
    """Where simulations are run: on all rows if time and memory allow, else on a pilot."""

    def __init__(self, design, n, orders, seconds):
        self._design, self._n, self._orders, self._seconds = design, n, orders, seconds
        self._X = self._plan = None

    def _prepare(self, rng):
        if self._X is not None:
            return
        m, d = self._design.shape
        epochs = int(self._n[-1])
        if self._design.bytes <= engine.LARGEST_BYTES:
            self._X = self._design.matrix()
            self._plan = engine.plan(self._X, epochs, self._orders, self._seconds)
        self.pilot = self._plan is None
        if self.pilot:
            some = self._design.take(np.arange(min(m, 256)))
            rate = engine.seconds_per_epoch(some, min(d, 256)) / (len(some) * d * min(d, 256))
            size = engine.pilot_size((m, d), epochs, self._orders, self._seconds, rate)
            self._X = engine.subset(self._design, min(size[0], m), size[1], rng)
            self._plan = engine.plan(self._X, epochs, self._orders, self._seconds) or (3, min(size[1], 32))

    def measure(self, name, step, rng, exact):
        """The measured curve; (measured, predicted) on the same rows or None; how; a sentence."""
        self._prepare(rng)
        runs, probes = self._plan
        found = engine.measure(self._X, name, self._n, step, rng, runs, probes)
        rows, dims = self._X.shape
        if not self.pilot:
            starts = "all starts" if probes == dims else f"{probes} starts"
            note = f"Means over {runs} orders, each from {starts}."
            if name == "iid" and probes == dims:
                note = "The exact expectation over orders, from the rows."
            return found, None if exact is None else (found, exact), "simulated", note
        m, d = self._design.shape
        note = (
            f"A pilot: {rows} of {m} rows in {dims} of {d} random directions, and the exact curve of all rows times "
            "what it measures over its own exact curve. On the shipped embeddings nine of ten such forecasts, from a "
            f"half to an eighth of both sides, were within {100 * PILOT_ERROR['test']:.0f} % (test) and "
            f"{100 * PILOT_ERROR['train']:.0f} % (training), the worst off by half. "
            "A pilot does not see rows that repeat each other unless "
            "both are in it, nor "
        )
        values = np.maximum(spectrum.gram_eigenvalues(self._X), 0)
        late = 1 / (2 * step * rows / dims * values[values > 0][0])
        note += f"eigenvalues below its own smallest, which matter from about epoch {late:.2g} on."
        try:
            small, _ = engine.exact(name, values, self._n, step, rows / dims)
        except ArithmeticError:
            return found, None, "pilot", RAW + note
        if exact is None:
            return found, (found, small), "pilot", RAW + note
        return corrected(exact, found, small), (found, small), "pilot", note


def corrected(exact, measured, predicted):
    """The full curve times what the pilot's measurement was over its own prediction."""
    factors = [
        np.divide(a, b, out=np.ones_like(a), where=b > 1e-12)
        for a, b in ((measured.test, predicted.test), (measured.train, predicted.train))
    ]
    scale = [
        np.divide(a, b, out=np.zeros_like(a), where=b > 1e-12)
        for a, b in ((exact.test, predicted.test), (exact.train, predicted.train))
    ]
    return LearningCurve(
        exact.epochs,
        exact.test * factors[0],
        exact.train * factors[1],
        measured.test_se * scale[0],
        measured.train_se * scale[1],
    )


def discrepancy(measured, predicted):
    """For each loss the largest relative difference, its epoch and standard error, where the loss exceeds 1e-9."""
    found = {}
    for loss in ("test", "train"):
        a, b, error = (
            getattr(measured, loss)[1:],
            getattr(predicted, loss)[1:],
            getattr(measured, loss + "_se")[1:],
        )
        seen = np.flatnonzero((a > 1e-9) & (b > 1e-9))
        if not len(seen):
            found[loss] = {"worst": None, "epoch": None, "error": None}
            continue
        ratio = a[seen] / b[seen] - 1
        k = int(np.abs(ratio).argmax())
        found[loss] = {
            "worst": float(ratio[k]),
            "epoch": int(measured.epochs[1:][seen[k]]),
            "error": float(error[seen[k]] / b[seen[k]]),
        }
    return found
