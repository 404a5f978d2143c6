"""What a direct solution reaches on the same rows: least squares of smallest norm, and ridge regression."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgelaw._common.types import Array
from edgelaw.exact.labels import LabelledRows

RIDGES = np.geomspace(1e-8, 1e4, 61)  # in units of the mean eigenvalue of XᵀX/m


@dataclass(frozen=True)
class ClosedForm:
    """Losses of direct solutions, in the units of the forecast; None without held-out rows."""

    least_squares_train: float  # of the solution of smallest norm
    least_squares_held_out: float | None
    # The penalty with the smallest held-out loss, chosen on those rows as the learning rate is: ridge/2 times the
    # squared weights, beside half the mean squared error.
    ridge: float | None
    ridge_train: float | None
    ridge_held_out: float | None


def solve(rows: LabelledRows) -> ClosedForm:
    """Least squares, and the ridge that is best on the held-out rows, from the decomposition that `rows` holds.

    A ridge keeps the part λ/(λ + κ) of the least-squares solution along each eigenvector, and both losses are
    quadratic in these parts, so that no ridge needs a solution of its own.
    """
    unit = rows.scale / rows.shape[1]  # eigenvalues of XᵀX/m are λ times this
    energy = unit * rows.eigenvalues * rows.energies

    def train(kept: Array) -> float:
        return rows.residual + float(energy @ (1 - kept) ** 2)

    ones = np.ones(len(rows.eigenvalues))
    if rows.held_out is None:
        return ClosedForm(train(ones), None, None, None, None)
    kept = rows.eigenvalues / (rows.eigenvalues + RIDGES[:, None])
    losses = np.maximum(rows.held_out.of_mean(kept), 0.0)
    best = int(losses.argmin())
    least = max(0.0, float(rows.held_out.of_mean(ones)))
    return ClosedForm(train(ones), least, float(RIDGES[best] * unit), train(kept[best]), float(losses[best]))
