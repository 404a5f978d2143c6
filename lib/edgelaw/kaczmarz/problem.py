"""The least-squares problem as the update sees it: rows, targets and update rule, checked."""

import numpy as np

from edgelaw._common import arguments
from edgelaw._common.types import Array, ArrayLike, Integers

BATCH_MODES = ("projection", "average")


class Problem:
    """Rows, targets and update rule, checked, in the units of the update."""

    def __init__(
        self, X: Array, y: ArrayLike | None, step: float, batch: int, batch_mode: str, normalised: bool
    ) -> None:
        self.X = X
        self.batch = arguments.whole(batch, "batch", 1)
        self.batch_mode = arguments.choice(batch_mode, "batch_mode", BATCH_MODES)
        self.norms = _norms(X)
        self.normalised = bool(normalised)
        if self.normalised:
            self.step = arguments.step(step)
            if not self.norms.all():
                raise ValueError(
                    f"X must have no zero row, but row {self.norms.argmin()} is zero; leave it out."
                )
        else:
            limit = 2 / max(self.norms.max(), 1e-150) ** 2
            self.step = arguments.number(step, "step (for rows as they are, below 2 / max ‖x‖²)", 0, limit)
        self.targets: Array | None = None
        self._precision = np.finfo(X.dtype).eps
        if y is not None:
            given = arguments.real_array(y, "y", 1)
            if len(given) != len(X):
                raise ValueError(
                    f"y must have one entry for each of the {len(X)} rows of X, not {len(given)}."
                )
            self._precision = max(self._precision, np.finfo(given.dtype).eps)
            self.targets = given / self.norms if self.normalised else given.astype(np.float64)

    def rows(self, places: Integers | None = None) -> Array:
        """The rows as the update sees them, all or those at `places`: a copy only where it has to be."""
        if places is None and not self.normalised:
            return np.ascontiguousarray(self.X)
        rows = np.array(self.X, order="C") if places is None else np.take(self.X, places, axis=0)
        if self.normalised:
            norms = self.norms if places is None else self.norms[places]
            np.divide(rows, norms[:, None], out=rows, casting="same_kind")
        return rows

    def centre(self, probabilities: ArrayLike | None) -> None:
        """Move the origin to w*, where the mean update vanishes; consistent targets are gone then."""
        if self.targets is None:
            return
        weights = np.ones(len(self.X)) if probabilities is None else len(self.X) * np.asarray(probabilities)
        A = self.rows().astype(np.float64) * np.sqrt(weights)[:, None]
        b = self.targets * np.sqrt(weights)
        solution = np.linalg.lstsq(A, b, rcond=None)[0]
        size = np.linalg.norm(A) * np.linalg.norm(solution) + np.linalg.norm(b)
        if np.linalg.norm(A @ solution - b) <= max(A.shape) * self._precision * size:
            self.targets = None
        else:
            self.targets = self.targets - self.rows() @ solution

    def losses(self, rows: Array, W: Array) -> tuple[float, float]:
        """Test and training loss of the errors W (d, probes), averaged over the probes."""
        scale = W.shape[0] / len(rows) if self.normalised else 1 / len(rows)
        return squares(W).mean(), scale * squares(rows @ W).mean()


def squares(A: Array) -> Array:
    """Squared norms of the columns, summed in float64."""
    return np.einsum("ij,ij->j", A, A, dtype=np.float64)


def _norms(X: Array) -> Array:
    """Row norms, in float64, without overflow or underflow and without a second copy of X."""
    norms = np.empty(len(X))
    for k in range(0, len(X), 256):
        part = X[k : k + 256].astype(np.float64)
        largest = np.maximum(np.abs(part).max(axis=1), np.finfo(np.float64).tiny)
        norms[k : k + 256] = largest * np.linalg.norm(part / largest[:, None], axis=1)
    return norms
