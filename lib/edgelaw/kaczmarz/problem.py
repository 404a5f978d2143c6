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
        self.step = self._allowed(step)
        if self.normalised and not self.norms.all():
            raise ValueError(f"X must have no zero row, but row {self.norms.argmin()} is zero; leave it out.")
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

    def _allowed(self, step: object) -> float:
        """The step, checked: up to 2 in units of the longest row's projection, b times as far for averages of b rows.

        P = I − (η/b) U_BᵀU_B of b unit rows has tr P² = d − 2η + (η/b)² tr (U_B U_Bᵀ)² ≥ d + η (η/b − 2): from η = 2b
        on every update increases the mean square of a random error, whatever the rows.
        """
        averaged = min(self.batch, len(self.X)) if self.batch_mode == "average" else 1
        limit, name = 2.0 * averaged, "step"
        if averaged > 1:
            name = f"step (for averages of {averaged} unit rows, below 2 · {averaged})"
        if not self.normalised:
            limit /= max(self.norms.max(), 1e-150) ** 2
            name = "step (for rows as they are, below 2 / max ‖x‖²)"
            if averaged > 1:
                name = f"step (for averages of {averaged} rows as they are, below 2 · {averaged} / max ‖x‖²)"
        return arguments.number(step, name, 0, limit)

    def safe_step(self, repeats: bool) -> float:
        """A step at which no update increases the error: 2, or more if the rows of all batches together allow it.

        A batch without repeated rows has U_B U_Bᵀ ≤ λ_max(U Uᵀ), so that r rows, the shortest batch, take 2r / λ_max.
        """
        safe = 2.0 if self.normalised else 2 / float(self.norms.max()) ** 2
        if self.batch_mode == "projection" or self.batch == 1 or repeats:
            return safe
        rows = self.rows().astype(np.float64)
        gram = rows @ rows.T if len(rows) < rows.shape[1] else rows.T @ rows
        shortest = len(rows) % self.batch or self.batch
        return max(safe, 2 * min(shortest, len(rows)) / float(np.linalg.eigvalsh(gram)[-1]))

    def divergence(self, epoch: int, repeats: bool) -> OverflowError:
        """What to raise when the weights overflow."""
        return OverflowError(
            f"SGD diverges at step {self.step:g}: its weights overflow by epoch {epoch}, and a step of at most "
            f"{self.safe_step(repeats):.4g} cannot increase the error."
        )

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
