"""Rows for which eigenvalues are not enough: theory against matrices, and a Gaussian surrogate of the same spectrum.

    python data/build/what_breaks.py data/what_breaks.npz

For each kind of rows (m = d = 256), drawn several times: exact losses of all orders averaged over shuffles, the exact
curves from the eigenvalues, the same for a surrogate with the same eigenvalues and Haar bases, and two diagnostics.
About four minutes on one core; an interrupted run continues.
"""

import functools
import itertools

import losses
import numpy as np
from sweep import Sweep

from edgelaw import data, exact
from edgelaw.spectrum import effective_rank, gram_eigenvalues

SEED, SIZE, SHUFFLES, DRAWS = 9, 256, 6, 8
STEP = 1.0
EPOCHS = (1, 2, 5, 10, 20, 50)
KINDS = (
    "anisotropic Gaussian",
    "norms vary by e^1.5",
    "ten classes",
    "Student t, 3 degrees",
    "Student t, 1.5 degrees",
    "sparse, 2 % nonzero",
    "tenth repeated",
    "every row twice, nearly",
)
SWEEP = Sweep(
    "what_breaks",
    title="Rows for which eigenvalues are not enough: measured and predicted losses",
    source="computed from random rows; nothing was downloaded",
    seed=SEED,
    keys=(
        "kinds, epochs",
        "off: (kinds, draws, orders, test or training, epochs), mean over shuffles over the exact curve, less 1",
        "twin_off: the same for a surrogate with these eigenvalues and Haar bases",
        "kurtosis: of the left singular vectors over its Haar value, (kinds, draws, rows or surrogate)",
        "effective_rank: (kinds, draws, rows or surrogate)",
    ),
    prose="""
# Rows that break the theory, and surrogates that do not

Eight kinds of 256 rows in 256 dimensions, eight draws of each, step 1. Losses are means over all starts and six
shuffles; IID is the exact expectation over orders. Orders as in `edgelaw.orders.ORDERS`.
""",
)


def rows(kind, rng, d=SIZE):
    """d rows of a kind, of norm √d."""
    noise = rng.standard_normal((d, d))
    if kind == "anisotropic Gaussian":
        X = noise * np.arange(1, d + 1) ** -0.25
    elif kind == "norms vary by e^1.5":
        X = noise * np.exp(1.5 * rng.standard_normal((d, 1)))
    elif kind == "Student t, 3 degrees":
        X = rng.standard_t(3, (d, d))
    elif kind == "Student t, 1.5 degrees":
        X = rng.standard_t(1.5, (d, d))
    elif kind == "sparse, 2 % nonzero":
        X = noise * (rng.random((d, d)) < 0.02) + 1e-3 * noise
    elif kind == "ten classes":
        X = rng.standard_normal((10, d))[rng.integers(0, 10, d)] + 0.5 * noise
    elif kind == "tenth repeated":
        X = noise
        X[-(d // 10) :] = X[: d // 10]
    else:  # every row twice, nearly
        X = noise
        X[d // 2 :] = X[: d // 2] + 0.02 * rng.standard_normal((d // 2, d))
    return data.normalize_rows(X)


def measure(X, step, rng, shuffles=SHUFFLES):
    """Exact losses from all starts (orders, 2, epochs), the mean over shuffles, and its standard error."""
    U = X / np.linalg.norm(X, axis=1)[:, None]
    expected = losses.of_curve(exact.expected_curve(U, np.array(EPOCHS), step, tolerance=1e-6))
    runs = []
    for _ in range(shuffles):
        single, flipped = losses.fixed_order(U[rng.permutation(len(U))], EPOCHS, step)
        again = losses.fresh_orders(U, "random_reshuffle", EPOCHS, step, rng)
        runs.append([expected, again, single, flipped])
    return np.mean(runs, axis=0), np.std(runs, axis=0, ddof=1) / np.sqrt(shuffles)


def predict(X, step):
    """The exact curves from the eigenvalues (orders, 2, epochs)."""
    return losses.predicted(gram_eigenvalues(X), EPOCHS, step)


def surrogate(X, rng):
    """Gaussian-like rows: the same eigenvalues, Haar bases, norms made equal again."""
    return data.normalize_rows(data.with_spectrum(np.maximum(gram_eigenvalues(X), 0), len(X), rng))


def kurtosis(X):
    """Mean fourth moment of the left singular vectors over that of Haar ones: 1 if they are spread out."""
    left = np.linalg.svd(X, full_matrices=False)[0]
    return (left**4).sum(axis=0).mean() * (len(X) + 2) / 3


def cell(number, draw):
    """One draw of a kind of rows and its surrogate."""
    rng = np.random.default_rng([SEED, number, draw])
    X = rows(KINDS[number], rng)
    twin = surrogate(X, rng)
    off, twin_off = (measure(Y, STEP, rng)[0] / predict(Y, STEP) - 1 for Y in (X, twin))
    return {
        "off": off,
        "twin_off": twin_off,
        "kurtosis": [kurtosis(X), kurtosis(twin)],
        "effective_rank": [effective_rank(gram_eigenvalues(Y)) for Y in (X, twin)],
    }


def gathered(parts):
    """The arrays that ship."""
    keys = next(iter(parts.values()))
    arrays = {key: np.array([part[key] for part in parts.values()], dtype=np.float16) for key in keys}
    arrays = {key: array.reshape(len(KINDS), DRAWS, *array.shape[1:]) for key, array in arrays.items()}
    return {"kinds": KINDS, "epochs": EPOCHS, **arrays}


def main(argv=None):
    """Run it from the command line."""
    cells = {
        f"{kind} {draw}": functools.partial(cell, number, draw)
        for (number, kind), draw in itertools.product(enumerate(KINDS), range(DRAWS))
    }
    SWEEP.run(SWEEP.parser(__doc__).parse_args(argv), cells, gathered)


if __name__ == "__main__":
    main()
