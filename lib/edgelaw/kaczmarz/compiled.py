"""The row-by-row update as a compiled loop, for one or few probes: no block pays for itself there."""

from edgelaw._common.compiled import compiled
from edgelaw._common.types import Array, Integers


@compiled
def sweep(
    rows: Array, targets: Array, weights: Array, residuals: Array, visits: Integers, step: float
) -> None:
    """Update each row of `weights` (probes, d), in place, through the rows of `rows` listed in `visits`.

    One visit is w ← w − step (⟨u, w⟩ − t) u. The update by one row and the inner product with the next
    share one pass over w, which halves the traffic; `residuals` (probes,) is scratch for those products.
    """
    for q in range(weights.shape[0]):
        w, v = weights[q], rows[visits[0]]
        s = -targets[visits[0]]
        for j in range(w.size):
            s += v[j] * w[j]
        residuals[q] = s
    for k in range(visits.size):
        following = visits[min(k + 1, visits.size - 1)]
        u, v = rows[visits[k]], rows[following]
        for q in range(weights.shape[0]):
            w = weights[q]
            c = step * residuals[q]
            s = -targets[following]
            for j in range(w.size):
                x = w[j] - c * u[j]
                w[j] = x
                s += v[j] * x
            residuals[q] = s
