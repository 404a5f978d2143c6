"""A least-squares problem with the update that is to solve it, checked."""

import copy
import functools

import numpy as np

from edgelaw._common import arguments
from edgelaw._common.types import Array, ArrayLike, Integers

MODES = ("average", "projection")


class Problem:
    """Rows, targets and what an update does with them; `simulate` and `iterates` take it in the place of plain rows.

    Parameters
    ----------
    X : array (m, d)
        The rows; float32 is computed in float32, everything else in float64.
    y : array (m,) or (m, k), optional
        Targets, zero if absent; several columns are outputs, with a weight vector each.
    batch : int
        Rows per update; a shorter last batch averages over its own rows.
    mode : {"average", "projection"}
        How `batch` > 1 rows act: by the average of their single updates, or by w ← w − step · X_B⁺ (X_B w − y_B), the
        (relaxed) projection onto the solutions of the batch, repeated or dependent rows included.
    normalised : bool
        The normalised update, or plain SGD.
    ridge : float
        κ of (κ/2)‖w‖²: every update also multiplies w by 1 − step · κ. PyTorch's ``weight_decay``.
    probabilities : array (m,), optional
        How probable each row is, for the order ``iid``.

    Two rows, one batch: the projection goes twice as far as the average update.

    >>> from edgelaw.kaczmarz import iterates
    >>> pair = Problem(np.eye(2), y=[2.0, 4.0], batch=2, mode="projection")
    >>> dict(iterates(pair, "single_shuffle", 1, start=np.zeros(2)))[1].tolist()
    [2.0, 4.0]
    """

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        batch: int = 1,
        mode: str = "average",
        normalised: bool = True,
        ridge: float = 0.0,
        probabilities: ArrayLike | None = None,
    ) -> None:
        self.X = arguments.matrix(X, minimum=1)
        self.batch, mode = arguments.whole(batch, "batch", 1), arguments.choice(mode, "mode", MODES)
        self.mode = mode if self.batch > 1 else "average"  # a single row acts as it is, normalised or not
        if not 0 <= ridge < np.inf:
            raise ValueError(f"ridge must be a finite number, at least 0, not {ridge!r}.")
        self.normalised, self.ridge = bool(normalised), float(ridge)
        self.probabilities = probabilities
        if self.normalised and not self.norms.all():
            raise ValueError(f"X must have no zero row, but row {self.norms.argmin()} is zero; leave it out.")
        self._precision = np.finfo(self.X.dtype).eps
        self.targets = None if y is None else self._targets(y)

    def _targets(self, y: ArrayLike) -> Array:
        """Targets (m, outputs), in the units of the update."""
        given = arguments.real_array(y, "y", 2 if np.ndim(y) == 2 else 1)
        if len(given) != len(self.X) or given.size == 0:
            raise ValueError(
                f"y must have one entry for each of the {len(self.X)} rows of X, not {len(given)}."
            )
        self._precision = max(self._precision, np.finfo(given.dtype).eps)
        columns = given.reshape(len(given), -1)
        return columns / self.norms[:, None] if self.normalised else columns.astype(np.float64)

    @functools.cached_property
    def norms(self) -> Array:
        """Row norms, in float64, without overflow or underflow and without a second copy of X."""
        squared = np.einsum("ij,ij->i", self.X, self.X, dtype=np.float64)
        if ((squared > 1e-280) & (squared < np.inf)).all():
            return np.sqrt(squared)
        largest = np.maximum(self.X.max(axis=1), -self.X.min(axis=1)).astype(np.float64)
        scale = 1 / np.maximum(largest, np.finfo(np.float64).tiny)
        return np.sqrt(np.einsum("ij,i,ij,i->i", self.X, scale, self.X, scale, dtype=np.float64)) / scale

    def steps(self, step: ArrayLike, epochs: int) -> Array:
        """The step, checked: one, within its limit, or that of every epoch, which is taken as it is.

        Up to 2 in units of the longest row's projection, b times as much for averages of b: from η = 2b on any average
        of b unit rows increases the mean square of a random error, since tr P² ≥ d + η (η/b − 2) for its matrix P.
        """
        if np.ndim(step) == 0:
            averaged = min(self.batch, len(self.X)) if self.mode == "average" else 1
            what, bound = ("unit rows", "2") if self.normalised else ("rows as they are", "2 / max ‖x‖²")
            if averaged > 1:
                what, bound = f"averages of {averaged} {what}", f"{averaged} · {bound}"
            name = "step" if bound == "2" else f"step (for {what}, below {bound})"
            return np.array([arguments.number(step, name, 0, averaged * self._safe_step)])
        schedule = arguments.real_array(step, "step", 1).astype(np.float64)
        if len(schedule) != epochs or schedule.min(initial=0) < 0:
            raise ValueError(
                f"step must be a number, or one for each of the {epochs} epochs, none of them negative."
            )
        return schedule

    @property
    def _safe_step(self) -> float:
        """A step at which no update increases the error, whatever the rows of a batch."""
        return 2.0 if self.normalised else 2 / max(float(self.norms.max()), 1e-150) ** 2

    def divergence(self, step: float, epoch: int) -> OverflowError:
        """What to raise when the weights overflow."""
        return OverflowError(
            f"SGD diverges at step {step:g}: its weights overflow by epoch {epoch}, and a step of at most "
            f"{self._safe_step:.4g} cannot increase the error."
        )

    def rows(self, places: Integers | slice = slice(None)) -> Array:
        """The rows as the update sees them, all or those at `places`: a copy only where it has to be."""
        rows = np.ascontiguousarray(self.X[places])
        if not self.normalised:
            return rows
        out = np.empty_like(rows) if np.may_share_memory(rows, self.X) else rows
        return np.divide(rows, self.norms[places, None], out=out, casting="same_kind")

    def visited(self, places: Integers | None) -> tuple[Array, Array]:
        """Rows and targets as the update sees them, in their own order or in that of `places`, in one precision."""
        chosen = slice(None) if places is None else places
        targets = np.zeros((len(self.X), 1)) if self.targets is None else self.targets[chosen]
        return self.rows(chosen), np.ascontiguousarray(targets, dtype=self.X.dtype)

    def centred(self) -> tuple["Problem", Array]:
        """The same problem with its origin at w*, unless a ridge pulls to another one, and where w* is then (d, 1)."""
        origin = np.zeros((self.X.shape[1], 1), self.X.dtype)
        if self.targets is None:
            return self, origin
        m, d = self.X.shape
        weights = np.ones(m) if self.probabilities is None else m * np.asarray(self.probabilities)
        A = self.rows().astype(np.float64) * np.sqrt(weights)[:, None]
        b = self.targets * np.sqrt(weights)[:, None]
        if self.ridge:
            return self, np.linalg.solve(A.T @ A + m * self.ridge * np.eye(d), A.T @ b).astype(self.X.dtype)
        solution = np.linalg.lstsq(A, b, rcond=None)[0]
        moved = copy.copy(self)
        size = np.linalg.norm(A) * np.linalg.norm(solution) + np.linalg.norm(b)
        consistent = np.linalg.norm(A @ solution - b) <= max(A.shape) * self._precision * size
        moved.targets = None if consistent else self.targets - self.rows() @ solution
        return moved, origin

    def losses(self, rows: Array, W: Array) -> tuple[float, float]:
        """Test and training loss of the errors W (d, probes), averaged over the probes."""
        scale = W.shape[0] / len(rows) if self.normalised else 1 / len(rows)
        return squares(W).mean(), scale * squares(rows @ W).mean()


def squares(A: Array) -> Array:
    """Squared norms of the columns, summed in float64."""
    return np.einsum("ij,ij->j", A, A, dtype=np.float64)
