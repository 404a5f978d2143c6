"""Rows without labels: both losses of SGD from the eigenvalues, or by running it from random starts.

Targets are an exact linear function of the rows, so that a run is known by its start, the error of zero weights. The
parameter error is the mean square of w − w*, the training loss the mean squared residual, both over their start.
"""

import functools
import os
import threading
from collections.abc import Sequence

import numpy as np

from edgelaw import exact, kaczmarz
from edgelaw._common.types import Array, ArrayLike
from edgelaw.data import normalize_rows
from edgelaw_app import files
from edgelaw_app.forecast.exact_curves import exact_curve
from edgelaw_app.forecast.results import FLOOR
from edgelaw_app.forecast.runs import Losses, Sample

ACCURACY = (0.01, 0.03)  # relative, of theory's losses on real rows; what was measured
# Relative standard error of theory times what a part's runs are over its theory, beside that of the runs: two of them
# held nine of ten pilots on the shipped embeddings (`edgelaw.data.sweep("pilots")`), the worst was off by half.
PILOT = (0.01, 0.03)
LARGEST_BYTES = 2**29  # rows beyond it are not held in memory to be run on
MOST_STARTS = 32  # of one run
OVERHEAD = 3000  # multiply-adds that a visit of a row costs beside those of its products
SMALLEST_PART = 64  # dimensions
ONE_DIRECTION = "All rows of X point in one direction; there is nothing to learn about an order from them."


class Spectral:
    """The question without labels, on a design of rows of norm √d."""

    start, outputs = 1.0, 1  # the loss of zero weights, and columns of weights
    losses = ("parameter error", "training loss")
    promised = (0.02, 0.05)  # how far theory may be off, relatively

    def __init__(self, design: files.Design, batch: int = 1) -> None:
        self.design, self.batch = design, batch
        self.shape = design.shape
        self.scale = float(design.shape[1])  # mean squared norm of a row
        self.unit = 1 / (2 * self.scale)  # the learning rate of step 1 for nn.MSELoss()
        self.rho = design.shape[0] / design.shape[1]
        self.eigenvalues = np.maximum(design.gram_eigenvalues(), 0)
        self.null = float((self.eigenvalues == 0).mean())  # the share of directions that no row has
        if (self.eigenvalues > 1e-12 * self.eigenvalues[-1]).sum() < 2:
            raise ValueError(ONE_DIRECTION)

    @functools.cache  # noqa: B019 a problem lives as long as its forecast
    def limit(self, order: str) -> float:
        """The step from which on an order diverges."""
        return exact.stability(order, self.eigenvalues, self.rho, batch=self.batch)

    highest = limit  # that is tried: no single row can overshoot before, because all have one norm

    def doubtful(self, values: Array) -> bool:
        """Whether theory was found to be wrong where it has such losses."""
        return False

    def theory(self, order: str, steps: Array, times: ArrayLike) -> Losses:
        """Both losses at the times by theory; ArithmeticError where it refuses."""
        curve = exact_curve(order, self.eigenvalues, times, float(steps[0]), self.rho, self.batch)
        values = np.array([curve.test, curve.train])
        why, last = "", curve.continued
        if last is not None and values[:, np.searchsorted(curve.epochs, last)].max() >= FLOOR:
            why = f"Beyond epoch {last} the curve goes on by a law: a loss is next to nothing there."
        spread = np.array([curve.finite_size_test, curve.finite_size_train]).reshape(2, -1)
        run = np.nan_to_num(
            spread / np.maximum(values, 1e-300)
        )  # one run about the curve; of batches not known
        return Losses(curve.epochs, values, np.hypot(_errors(values, ACCURACY), run), "theory", why)

    def expected(self, step: float, times: ArrayLike) -> Losses:
        """The mean of sampling with replacement, however few the eigenvalues: for looking ahead, and for no more."""
        if self.batch > 1:
            curve = exact.curve("iid", self.eigenvalues, times, step, self.rho, batch=self.batch)
        else:
            curve = exact.curve_at(self.eigenvalues, times, step, self.rho)
        values = np.array([curve.test, curve.train])
        return Losses(curve.epochs, values, np.zeros_like(values))

    # runs

    def cost(self, times: Array) -> float:
        """Multiply-adds of one run to the last of the times; none is possible where rows do not fit into memory."""
        if self.design.bytes > LARGEST_BYTES:
            return np.inf
        m, d = self.shape[0], min(self.shape)
        parts = times[times % 1 > 0]
        starts = min(d, MOST_STARTS)
        # Parts of the first epoch are runs of their own.
        epochs = np.floor(times[-1]) + float(parts.max(initial=0.0))
        early = len(parts) * (d * d * starts + 500 * OVERHEAD) + m * 10 if len(parts) else 0.0
        return 2.0 * m * (d * starts + OVERHEAD) * epochs + early

    @functools.cached_property
    def rows(self) -> Array:
        """The rows in memory; fewer rows than dimensions in an orthonormal basis of their span (m, r)."""
        X, (m, d) = self.design.matrix(), self.shape
        if m >= d:
            return X
        values, vectors = np.linalg.eigh(X @ X.T)
        kept = values > 1e-12 * values[-1]
        return vectors[:, kept] * np.sqrt(values[kept])

    def _of_all_directions(self, square: Array | float) -> Array | float:
        """The parameter error from the mean square of errors in the span: nothing moves in other directions."""
        part = self.rows.shape[1] / self.shape[1]
        return 1 - part + part * square

    @functools.cached_property
    def gram(self) -> Array:
        """XᵀX/m."""
        return self.rows.T @ self.rows / self.shape[0]

    def run(self, order: str, steps: Array, times: Array, runs: int, rng: np.random.Generator) -> Sample:
        """Both losses of several runs at the times, 0 among them, each from orthonormal starts."""
        step, part = float(steps[0]), times % 1 > 0
        problem = kaczmarz.Problem(self.rows, batch=self.batch)
        rows, whole = problem.rows(), times[~part].astype(np.int64)

        def one(child: np.random.Generator, halt: threading.Event) -> Array:
            losses, starts = np.empty((2, len(times))), self._starts(child)
            walk = kaczmarz.iterates(problem, order, whole, starts, step, child)
            losses[:, ~part] = np.transpose([problem.losses(rows, W) for _, W in walk])
            losses[0], losses[1, 0] = self._of_all_directions(losses[0]), 1.0
            losses[:, part] = self._within_the_first_epoch(order, times[part], step, starts, child)
            return losses

        return Sample(np.array(kaczmarz.by_run(one, rng, runs)))

    def _starts(self, rng: np.random.Generator) -> Array:
        """Orthonormal columns, all directions if they are few: in the mean both losses begin at 1."""
        d = self.rows.shape[1]
        if d <= MOST_STARTS:
            return np.eye(d)
        return np.linalg.qr(rng.standard_normal((d, MOST_STARTS)))[0]

    def _within_the_first_epoch(
        self, order: str, fractions: Array, step: float, weights: Array, rng: np.random.Generator
    ) -> Array:
        """Both losses after fractions of an epoch, (2, fractions): of pieces, each run as an epoch of its rows."""
        losses, m = np.empty((2, len(fractions))), self.shape[0]
        if not len(fractions):
            return losses
        start = weights.shape[1] * np.trace(self.gram) / len(self.gram)  # in the mean over all starts
        ends = np.round(fractions * m).astype(np.int64)
        rows = np.asarray(rng.integers(m, size=ends[-1])) if order == "iid" else rng.permutation(m)
        for k, (first, end) in enumerate(zip(np.append(0, ends[:-1]), ends, strict=True)):
            piece = self.rows[rows[first:end]]
            *_, (_, weights) = kaczmarz.iterates(piece, "single_shuffle", 1, weights, step, rng=rng)
            losses[0, k] = self._of_all_directions(float(np.vdot(weights, weights)) / weights.shape[1])
            losses[1, k] = np.vdot(weights, self.gram @ weights) / start
        return losses

    def part(self, operations: float, epochs: int, rng: np.random.Generator) -> "Spectral":
        """As many random rows in as many random directions, in the same ratio, as the operations pay for per run."""
        (m, d), rows, dims = self.shape, *self.shape
        while dims > SMALLEST_PART and (
            2.0 * rows * (dims * min(dims, MOST_STARTS) + OVERHEAD) * epochs > operations
            or 8 * rows * dims > LARGEST_BYTES
        ):
            dims = max(SMALLEST_PART, int(0.8 * dims))
            rows = max(20, round(self.rho * dims))
        if dims == d:
            return self
        X = random_part(self.design, min(rows, m), dims, rng)
        return Spectral(files.design(X, center=False, normalize=False), max(1, round(self.batch * dims / d)))


def _errors(values: Array, accuracy: Sequence[float]) -> Array:
    """What theory of means over orders is good for: as measured down to a thousandth, then growing with log(loss)."""
    growth = np.log(np.clip(values, FLOOR, 1.0)) / np.log(1e-3)
    return np.array(accuracy)[:, None] * np.maximum(1.0, growth)


def random_part(design: files.Design, rows: int, dims: int, rng: np.random.Generator) -> Array:
    """So many random rows, in so many random directions (a Haar projection), scaled to equal norm again."""
    m, d = design.shape
    places = np.sort(rng.choice(m, rows, replace=False)) if rows < m else np.arange(m)
    part = design.take(places)
    if dims < d:
        part = part @ np.linalg.qr(rng.standard_normal((d, dims)))[0]
    return normalize_rows(part)


def corrected(theory: Losses, part: Losses, own: Losses) -> Losses:
    """Theory of all rows times what the runs of a part are over the part's own theory, and what that is good for."""
    ratio = np.divide(part.values, own.values, out=np.ones_like(own.values), where=own.values > FLOOR)
    beside = np.where(part.epochs > 0, np.array(PILOT)[:, None], 0.0)
    return part._replace(values=theory.values * ratio, errors=np.hypot(part.errors, beside))


def equal_norm_design(
    X: ArrayLike | str | os.PathLike[str] | files.Design, center: bool, standardize: bool
) -> files.Design:
    """A design of rows of equal norm: an array or a file as for the command line, a design as it is."""
    if not isinstance(X, files.Design):
        return files.design(X, center=center, standardize=standardize)
    if not center or standardize:
        raise ValueError("X is already a design; give center and standardize to the call that made it.")
    some = np.linalg.norm(X.take(np.arange(min(X.shape[0], 256))), axis=1)
    if np.ptp(some) > 1e-4 * some.max():
        raise ValueError("The rows of this design are not of equal norm; make it with normalize=True.")
    return X
