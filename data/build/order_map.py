"""Exact curves of all four orders on a family of spectra, from flat to steep, for the map of chapter 9.

    python data/build/order_map.py data/order_map.npz

Covariances with eigenvalues proportional to j^(-s), and the eigenvalues of the shipped embeddings, at m = d = 512; no
simulation. About six minutes on one core.
"""

import argparse
import os
import time
from pathlib import Path

import card
import numpy as np

from edgelaw import data
from edgelaw.spectrum import effective_rank, gram_eigenvalues
from edgelaw.theory import flip_flop, iid, random_reshuffle, single_shuffle

SEED = 9
SIZE = 512
STEPS = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75)
EXPONENTS = (0.0, 0.25, 0.5, 0.75, 1.0)
EPOCHS = (1, 2, 3, 5, 8, 13, 21, 34, 50)
ORDERS = {
    "iid": iid,
    "random_reshuffle": random_reshuffle,
    "single_shuffle": single_shuffle,
    "flip_flop": flip_flop,
}


TITLE = "Exact losses of all four orders from flat to steep spectra"
KEYS = [
    "names: the exponent s of a covariance j^(-s), or a data set",
    "effective_rank: of the sample",
    "steps, epochs",
    "losses: (names, steps, orders, test or training, epochs)",
]
PROSE = """
# Which order wins where

Exact curves (`edgelaw.theory.*.curve`) from the eigenvalues of one sample each of 512 rows in 512 dimensions; nothing
was simulated. Orders as in `edgelaw.orders.ORDERS`.
"""


def sample(name):
    """Eigenvalues of 512 normalised rows: Gaussian with covariance j^(-s), or embeddings after the preprocessing."""
    if isinstance(name, float):
        X = np.random.default_rng(SEED).standard_normal((SIZE, SIZE)) * np.arange(1, SIZE + 1) ** (-name / 2)
    else:
        X = data.preprocess(getattr(data, name)().features, rows=SIZE, dims=SIZE, rng=SEED).X
    return np.maximum(gram_eigenvalues(data.normalize_rows(X)), 0)


def curves(eigenvalues, step):
    """(orders, 2, epochs)."""
    found = [theory.curve(eigenvalues, np.array(EPOCHS), step) for theory in ORDERS.values()]
    return np.array([[curve.test[1:], curve.train[1:]] for curve in found])


def main():
    """Run it from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    names = [*EXPONENTS, "cifar10", "wikipedia"]
    losses, ranks, start = [], [], time.process_time()
    for name in names:
        eigenvalues = sample(name)
        ranks.append(effective_rank(eigenvalues))
        losses.append([curves(eigenvalues, step) for step in STEPS])
        print(
            f"{name}: effective rank {ranks[-1]:.0f}, {time.process_time() - start:.0f} s so far", flush=True
        )
    partial = arguments.output.with_suffix(".tmp.npz")
    np.savez_compressed(
        partial,
        names=[str(name) for name in names],
        steps=STEPS,
        epochs=EPOCHS,
        effective_rank=ranks,
        losses=np.array(losses, dtype=np.float32),
    )
    os.replace(partial, arguments.output)
    seconds = time.process_time() - start
    card.write_sweep(
        arguments.output,
        TITLE,
        "computed from random matrices and the two shipped embedding sets; nothing was downloaded",
        SEED,
        seconds,
        KEYS,
        PROSE,
    )


if __name__ == "__main__":
    main()
