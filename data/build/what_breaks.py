"""Rows for which eigenvalues are not enough: theory against matrices, and a Gaussian surrogate of the same spectrum.

    python data/build/what_breaks.py data/what_breaks.npz

For each kind of rows (m = d = 256): exact losses of all orders averaged over shuffles, the exact curves from the
eigenvalues, the same for a surrogate with the same eigenvalues and Haar bases, and two diagnostics. About three minutes
on one core.
"""

import argparse
import os
import time
from pathlib import Path

import card
import numpy as np

from edgelaw import data, kaczmarz
from edgelaw.spectrum import gram_eigenvalues
from edgelaw.theory import flip_flop, iid, random_reshuffle, single_shuffle

SEED, SIZE, SHUFFLES = 9, 256, 6
STEPS = (1.0, 1.5)
EPOCHS = (1, 2, 5, 10, 20, 50)
THEORY = {
    "iid": iid,
    "random_reshuffle": random_reshuffle,
    "single_shuffle": single_shuffle,
    "flip_flop": flip_flop,
}


TITLE = "Rows for which eigenvalues are not enough: measured and predicted losses"
KEYS = [
    "kinds, steps, epochs",
    "measured, error: (kinds, steps, orders, test or training, epochs), mean over shuffles and its standard error",
    "predicted: from the eigenvalues alone",
    "twin, twin_error, twin_predicted: the same for a surrogate with these eigenvalues and Haar bases",
    "kurtosis: of the left singular vectors over its Haar value, rows and surrogate",
]
PROSE = """
# Rows that break the theory, and surrogates that do not

Eight kinds of 256 rows in 256 dimensions. Losses are means over all starts and six shuffles; IID is the exact
expectation over orders, so its error is zero. Orders as in `edgelaw.orders.ORDERS`.
"""


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


def measure(X, step, rng, shuffles=SHUFFLES):
    """Exact losses from all starts (orders, 2, epochs), the mean over shuffles, and its standard error."""
    U = X / np.linalg.norm(X, axis=1)[:, None]
    m, d = U.shape
    curve = iid.expected_curve(U, np.array(EPOCHS), step, tolerance=1e-6)
    runs = []
    for _ in range(shuffles):
        mixed = U[rng.permutation(m)]
        once = []
        A = kaczmarz.epoch_matrix(mixed, step)
        for n in EPOCHS:
            P = np.linalg.matrix_power(A, n)
            once.append([(P**2).sum() / d, ((mixed @ P) ** 2).sum() / m])
        left, values, right = np.linalg.svd(A)
        heights = [((mixed @ side) ** 2).sum(axis=0) for side in (left, right.T)]
        back = [
            [(values ** (2 * n)).sum() / d, np.mean(heights, axis=0) @ values ** (2 * n) / m] for n in EPOCHS
        ]
        walk = kaczmarz.iterates(
            U, "random_reshuffle", EPOCHS[-1], np.eye(d), step=step, rng=rng, record=EPOCHS
        )
        again = [[(W**2).sum() / d, ((U @ W) ** 2).sum() / m] for n, W in walk if n]
        runs.append(
            [np.array([curve.test[1:], curve.train[1:]]), *(np.transpose(x) for x in (again, once, back))]
        )
    return np.mean(runs, axis=0), np.std(runs, axis=0, ddof=1) / np.sqrt(shuffles)


def predict(X, step):
    """The exact curves from the eigenvalues (orders, 2, epochs)."""
    eigenvalues = np.maximum(gram_eigenvalues(X), 0)
    found = [theory.curve(eigenvalues, np.array(EPOCHS), step) for theory in THEORY.values()]
    return np.array([[curve.test[1:], curve.train[1:]] for curve in found])


def surrogate(X, rng):
    """Gaussian-like rows: the same eigenvalues, Haar bases, norms made equal again."""
    return data.normalize_rows(data.with_spectrum(np.maximum(gram_eigenvalues(X), 0), len(X), rng))


def kurtosis(X):
    """Mean fourth moment of the left singular vectors over that of Haar ones: 1 if they are spread out."""
    left = np.linalg.svd(X, full_matrices=False)[0]
    return (left**4).sum(axis=0).mean() * (len(X) + 2) / 3


def main():
    """Run it from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    found = {
        key: []
        for key in ("measured", "error", "predicted", "twin", "twin_error", "twin_predicted", "kurtosis")
    }
    start = time.process_time()
    for number, kind in enumerate(KINDS):
        rng = np.random.default_rng([SEED, number])
        X = rows(kind, rng)
        twin = surrogate(X, rng)
        real, other = ([measure(Y, step, rng) for step in STEPS] for Y in (X, twin))
        found["measured"].append([mean for mean, _ in real])
        found["error"].append([error for _, error in real])
        found["twin"].append([mean for mean, _ in other])
        found["twin_error"].append([error for _, error in other])
        found["predicted"].append([predict(X, step) for step in STEPS])
        found["twin_predicted"].append([predict(twin, step) for step in STEPS])
        found["kurtosis"].append([kurtosis(X), kurtosis(twin)])
        print(f"{kind}: {time.process_time() - start:.0f} s so far", flush=True)
    partial = arguments.output.with_suffix(".tmp.npz")
    np.savez_compressed(
        partial, kinds=KINDS, steps=STEPS, epochs=EPOCHS, **{k: np.array(v) for k, v in found.items()}
    )
    os.replace(partial, arguments.output)
    seconds = time.process_time() - start
    card.write_sweep(
        arguments.output,
        TITLE,
        "computed from random rows; nothing was downloaded",
        SEED,
        seconds,
        KEYS,
        PROSE,
    )


if __name__ == "__main__":
    main()
