"""Rows with labels: training and held-out loss of SGD from zero weights, by theory or by running it.

The update is that of ``torch.optim.SGD`` on half the squared error, summed over outputs and averaged over the batch,
of which the last of an epoch has its own rows only; the rate is a step over the mean squared norm of a row.
"""

import functools
import threading

import numpy as np

from edgelaw import exact, kaczmarz
from edgelaw._common.types import Array, ArrayLike
from edgelaw.exact.iid import labels as iid
from edgelaw.exact.labels import LabelledRows
from edgelaw.exact.random_reshuffle import labels as random_reshuffle
from edgelaw_app.forecast.preparation import Prepared
from edgelaw_app.forecast.runs import Losses, Sample
from edgelaw_app.forecast.spectral import OVERHEAD

ACCURACY = 0.01  # relative, of theory on real rows; what was measured
PROMISED = 0.05  # how far runs may be from theory, beside three of their standard errors
FEWEST_DIMS = 20  # dimensions spanned by the rows, below which theory has no curve for shuffled orders
PER_ROW = 0.8  # part of the step at which the longest row overshoots
VANISHED = 1e-9  # of its start: below it reshuffle's theory is rounding, and runs are exact
LATE = 0.04  # training loss over its start below which fewer rows than dimensions go wrong
ANY_SCHEDULE = ("iid", "random_reshuffle")  # orders whose theory takes steps by epoch and batches


class Labelled:
    """The question with labels; `rows` is what theory needs of them."""

    def __init__(self, prepared: Prepared, batch: int = 1, weight_decay: float = 0.0) -> None:
        self.prepared, self.batch, self.weight_decay = prepared, batch, weight_decay
        self.rows = LabelledRows.of(prepared.X, prepared.T, prepared.held)
        self.shape, self.scale, self.outputs = prepared.X.shape, prepared.scale, prepared.T.shape[1]
        self.losses = ("training loss", "held-out loss")[: 1 + (prepared.held is not None)]
        self.unit = self.outputs / (2 * self.scale)  # the learning rate of step 1 for nn.MSELoss()
        self.ridge = weight_decay * self.outputs / 2  # of half the squared error, summed over outputs
        self.promised = (PROMISED,) * len(self.losses)
        self.eigenvalues = self.rows.spectrum
        self.start = self.rows.start if self.rows.held_out is None else self.rows.held_out.start

    @property
    def few_dimensions(self) -> bool:
        """Whether the rows span too few dimensions to stand for a spectrum, however many columns they have."""
        return len(self.rows.eigenvalues) < FEWEST_DIMS

    @property
    def on_one_direction(self) -> float:
        """The share of the squared targets along the eigenvector that has most of them."""
        rows = self.rows
        along = rows.eigenvalues * rows.energies * rows.scale / self.shape[1]
        return float(along.max() / rows.start) if rows.start > 0 else 0.0

    @functools.cached_property
    def row_limit(self) -> float:
        """The step below which no update by a single row, however long, increases the error; theory sees only means."""
        longest = float(np.einsum("ij,ij->i", self.prepared.X, self.prepared.X).max())
        return 2 * self.batch * self.scale / longest

    @functools.cache  # noqa: B019 a problem lives as long as its forecast
    def limit(self, order: str) -> float:
        """The step from which on an order diverges: under IID sampling, or under reshuffling where that is less."""
        limit = iid.step_limit(self.rows, self.batch)
        if order == "iid" or self.few_dimensions:
            return limit
        return min(limit, random_reshuffle.step_limit(self.rows, self.batch))

    def highest(self, order: str) -> float:
        """The same, or well below where the longest row overshoots, since theory does not see single rows."""
        return min(self.limit(order), PER_ROW * self.row_limit)

    def has_theory(self, order: str, steps: Array | None = None) -> bool:
        """Whether theory gives both losses of an order, at these steps if they are given."""
        if order == "flip_flop" or (order != "iid" and (self.ridge > 0 or self.few_dimensions)):
            return False
        constant = steps is None or bool((steps == steps[0]).all())
        return order in ANY_SCHEDULE or (self.batch == 1 and constant)

    def theory(self, order: str, steps: Array, times: ArrayLike) -> Losses:
        """The losses at the epochs by theory; ArithmeticError where it has none or does not trust its own numbers."""
        if not self.has_theory(order, steps):
            raise ArithmeticError(f"There is no theory of {order.replace('_', ' ')} for this question.")
        if self.ridge * steps.max() >= self.scale:
            raise ArithmeticError("Weight decay changes the sign of the weights at every update.")
        epochs = np.union1d(times, 0).astype(np.int64)
        step = float(steps[0]) if (steps == steps[0]).all() else steps[: epochs[-1]]
        curve = exact.probe_curve(order, self.rows, epochs, step, self.batch, self.ridge)
        if order == "random_reshuffle" and (curve.train < VANISHED * curve.train[0]).any():
            raise ArithmeticError("So small a loss is rounding in the theory of random reshuffle.")
        values = np.array([curve.train] if curve.held_out is None else [curve.train, curve.held_out])
        return Losses(epochs.astype(np.float64), values, np.full_like(values, max(ACCURACY, curve.error)))

    def doubtful(self, values: Array) -> bool:
        """Fewer rows than dimensions, of whose training loss next to nothing is left."""
        return self.shape[0] < self.shape[1] and bool(values[0, -1] < LATE * values[0, 0])

    def cost(self, times: Array) -> float:
        """Multiply-adds of one run to the last of the times."""
        (m, d), held = self.shape, self.prepared.held
        scored = m + (0 if held is None else len(held[0]))
        return (2.0 * m * (d * self.outputs + OVERHEAD) + scored * d * self.outputs) * float(
            np.ceil(times[-1])
        )

    def run(self, order: str, steps: Array, times: Array, runs: int, rng: np.random.Generator) -> Sample:
        """Losses of several runs from zero weights at the epochs, and accuracies after the last."""
        prepared, last = self.prepared, int(times[-1])
        problem = kaczmarz.Problem(prepared.X, prepared.T, self.batch, normalised=False, ridge=self.ridge)
        sets = [(prepared.X, prepared.T)] + ([] if prepared.held is None else [prepared.held])
        recorded, rates = times.astype(np.int64), steps[:last] / self.scale

        @np.errstate(over="ignore", invalid="ignore")
        def one(child: np.random.Generator, halt: threading.Event) -> tuple[Array, float]:
            losses = np.full((len(sets), len(recorded)), np.inf)  # what diverges stays there
            W = start = np.zeros((self.shape[1], self.outputs))
            try:
                walk = kaczmarz.iterates(problem, order, recorded, start, rates, child)
                for place, (_, W) in enumerate(walk):
                    losses[:, place] = [mean_square(rows @ W - targets) for rows, targets in sets]
            except OverflowError:
                return losses, 0.0
            return losses, self._accuracy(W)

        results = kaczmarz.by_run(one, rng, runs)
        losses = np.array([result[0] for result in results])
        scored = prepared.classes is not None and prepared.held is not None
        return Sample(losses, tuple(result[1] for result in results) if scored else ())

    def _accuracy(self, W: Array) -> float:
        """The share of held-out rows that the weights classify correctly; 0 without classes or held-out rows."""
        prepared = self.prepared
        if prepared.classes is None or prepared.held is None:
            return 0.0
        scores = prepared.held[0] @ W + prepared.target_mean
        return float((scores.argmax(axis=1) == self.held_out_classes).mean())

    @functools.cached_property
    def held_out_classes(self) -> Array:
        """The class of every held-out row, by its place."""
        assert self.prepared.held is not None
        return (self.prepared.held[1] + self.prepared.target_mean).argmax(axis=1)

    @functools.cached_property
    def largest_class(self) -> tuple[str, float | None]:
        """The name of the largest class among the held-out rows, and its share of them; None without either."""
        if self.prepared.classes is None or self.prepared.held is None:
            return "", None
        counts = np.bincount(self.held_out_classes)
        return self.prepared.classes[int(counts.argmax())], float(counts.max() / counts.sum())


def mean_square(gaps: Array) -> float:
    """Mean over rows of the squared error, summed over outputs."""
    return float(np.vdot(gaps, gaps)) / len(gaps)
