"""Measure all four orders on random matrices of four covariances and three sizes, for chapter 9.

    python data/build/any_spectrum.py data/any_spectrum.npz

Every measurement starts from the whole identity, so the only noise is that of the matrix and of the order of its rows;
IID is the exact expectation over orders. The exact curves from each matrix's own eigenvalues are stored beside the
measurements. About 40 minutes on one core; finished cases are kept beside the output while it runs, so that it can be
interrupted and started again.
"""

import argparse
import contextlib
import json
import os
import time
from pathlib import Path

import card
import numpy as np

from edgelaw import data, kaczmarz
from edgelaw.spectrum import gram_eigenvalues
from edgelaw.theory import flip_flop, iid, random_reshuffle, single_shuffle

SEED = 9
SIZES = (400, 800, 1600)
STEPS = (0.5, 1.0, 1.5)
EPOCHS = (1, 2, 3, 5, 8, 13, 21, 34, 50)
THEORY = {
    "iid": iid,
    "random_reshuffle": random_reshuffle,
    "single_shuffle": single_shuffle,
    "flip_flop": flip_flop,
}
ORDERS = tuple(THEORY)
SHUFFLES = 2  # orders of the rows a matrix is run with
MORE, MORE_STREAMS = 3, 2  # further ones at the largest size: fixed orders, and streams of permutations


TITLE = "Losses of all four orders on random matrices, measured and predicted"
KEYS = [
    "steps, epochs, sizes",
    "eigenvalues COVARIANCE SIZE: of the sample",
    "measured COVARIANCE SIZE: losses (steps, orders, test or training, epochs)",
    "predicted COVARIANCE SIZE: the same from the eigenvalues alone, NaN where the library refuses a curve",
]
PROSE = """
# Matrices against their own eigenvalues

Four covariances (two-point, uniform, j^(-1/2), 1/j), three sizes, one matrix each with unit rows. Every loss is the
mean over all starts. Single shuffle and flip-flop: matrix powers, mean of two shuffles. IID: the exact expectation over
orders (`edgelaw.theory.iid.expected_curve`). Random reshuffle: one stream of permutations, in single precision. The
predictions are the library's `curve` functions. Orders as in `edgelaw.orders.ORDERS`.
"""


def covariance(name, d):
    """Eigenvalues of the four covariances, mean 1."""
    j = np.arange(1, d + 1)
    values = {
        "two-point": np.where(j <= d // 2, 0.2, 1.8),
        "uniform": 2 * (j - 0.5) / d,
        "j^(-1/2)": j**-0.5,
        "1/j": 1.0 / j,
    }[name]
    return values / values.mean()


NAMES = ("two-point", "uniform", "j^(-1/2)", "1/j")


def powers(A):
    """A to each of the epochs, by additions of epochs already there."""
    made = {1: A}
    for n in EPOCHS[1:]:
        parts = {50: (34, 13, 3)}.get(n) or next((n - k, k) for k in made if n - k in made)
        made[n] = (
            np.linalg.multi_dot([made[k] for k in parts])
            if len(parts) > 2
            else made[parts[0]] @ made[parts[1]]
        )
    return [made[n] for n in EPOCHS]


def losses(U, M):
    """Test and training loss of the map M, from all starts at once."""
    return (M.astype(float) ** 2).sum() / U.shape[1], ((U @ M).astype(float) ** 2).sum() / len(U)


def shuffled(U, step, rng):
    """Single shuffle and flip-flop for one order of the rows: two arrays (2, epochs)."""
    d = U.shape[1]
    mixed = U[rng.permutation(len(U))]
    A = kaczmarz.epoch_matrix(mixed, step)
    once = np.transpose([losses(mixed, P) for P in powers(A)])
    forward, backward = powers(A.T @ A), powers(A @ A.T)
    test = [np.trace(P) / d for P in forward]
    train = [
        (np.einsum("ij,ij->", mixed @ P, mixed) + np.einsum("ij,ij->", mixed @ Q, mixed)) / (2 * len(U))
        for P, Q in zip(forward, backward, strict=True)
    ]
    return once, np.array([test, train])


def reshuffled(U, step, rng):
    """Random reshuffle for one stream of permutations, in single precision: (2, epochs)."""
    rows = U.astype(np.float32)
    start = np.eye(U.shape[1], dtype=np.float32)
    walk = kaczmarz.iterates(rows, "random_reshuffle", EPOCHS[-1], start, step=step, rng=rng, record=EPOCHS)
    return np.transpose([losses(rows, W) for n, W in walk if n])


def measure(U, step, rng):
    """Losses (orders, 2, epochs), the mean over shuffles."""
    curve = iid.expected_curve(U, np.array(EPOCHS), step, tolerance=1e-4)
    runs = np.array([shuffled(U, step, rng) for _ in range(SHUFFLES)])
    once, back = runs.mean(axis=0)
    return np.array([(curve.test[1:], curve.train[1:]), reshuffled(U, step, rng), once, back])


def more(name, d, number):
    """The k-th further order of the rows for every step, from a generator of its own: (steps, orders, 2, epochs)."""
    U = matrix(name, d)[0]
    rng = np.random.default_rng([SEED, NAMES.index(name), d, number])
    found = np.full((len(STEPS), len(ORDERS), 2, len(EPOCHS)), np.nan)
    for k, step in enumerate(STEPS):
        found[k, 2:] = shuffled(U, step, rng)
        if number <= MORE_STREAMS:
            found[k, 1] = reshuffled(U, step, rng)
    return found


def matrix(name, d):
    """Unit rows, the rows of norm √d, and the generator that drew them."""
    rng = np.random.default_rng([SEED, NAMES.index(name), d])
    X = rng.standard_normal((d, d)) * np.sqrt(covariance(name, d))
    return X / np.linalg.norm(X, axis=1)[:, None], X, rng


def case(name, d):
    """The sample's eigenvalues and the losses at every step: (steps, orders, 2, epochs)."""
    U, X, rng = matrix(name, d)
    eigenvalues = gram_eigenvalues(data.normalize_rows(X))
    measured = np.array([measure(U, step, rng) for step in STEPS])
    if d == max(SIZES) and name != "1/j":
        measured = combine(measured, [more(name, d, number) for number in range(1, MORE + 1)])
    return eigenvalues, measured


def combine(measured, further):
    """The mean over all shuffles, those of the first pass and the further ones."""
    weights = np.array([np.inf, 1, SHUFFLES, SHUFFLES])[:, None, None]
    extra = np.array(further)
    count = np.isfinite(extra).sum(axis=0)
    total = np.nansum(extra, axis=0)
    with np.errstate(invalid="ignore"):
        mean = (weights * measured + total) / (weights + count)
    return np.where(np.isinf(weights), measured, mean)


def predict(eigenvalues):
    """The exact curves from the eigenvalues alone, (steps, orders, 2, epochs); NaN where one is refused."""
    found = np.full((len(STEPS), len(ORDERS), 2, len(EPOCHS)), np.nan)
    for k, step in enumerate(STEPS):
        for j, theory in enumerate(THEORY.values()):
            with contextlib.suppress(ArithmeticError):
                curve = theory.curve(np.maximum(eigenvalues, 0), np.array(EPOCHS), step)
                found[k, j] = curve.test[1:], curve.train[1:]
    return found


def main():
    """Run it from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("output", type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    arguments = parser.parse_args()
    total, arrays = 0.0, {"steps": STEPS, "epochs": EPOCHS, "sizes": arguments.sizes}
    for d in arguments.sizes:
        for name in NAMES:
            kept = arguments.output.with_suffix(f".{d}.{NAMES.index(name)}.part.npz")
            start = time.process_time()
            if not kept.exists():
                eigenvalues, measured = case(name, d)
                np.savez(kept, eigenvalues=eigenvalues, measured=measured, predicted=predict(eigenvalues))
            with np.load(kept) as part:
                arrays |= {f"{key} {name} {d}": part[key].astype(np.float64) for key in part}
            print(
                json.dumps({"d": d, "covariance": name, "seconds": round(time.process_time() - start, 1)}),
                flush=True,
            )
    finish(arguments.output, arrays, total)
    for d in arguments.sizes:
        for name in NAMES:
            arguments.output.with_suffix(f".{d}.{NAMES.index(name)}.part.npz").unlink()


def finish(output, arrays, seconds):
    """Write the arrays and their card, each whole or not at all."""
    partial = output.with_suffix(".tmp.npz")
    np.savez_compressed(partial, **arrays)
    os.replace(partial, output)
    card.write_sweep(output, TITLE, "random matrices; nothing was downloaded", SEED, seconds, KEYS, PROSE)


if __name__ == "__main__":
    main()
