"""All four orders on the shipped embeddings, from all starts at once, against curves from their eigenvalues.

    python data/build/embedding_traces.py data/embedding_traces.npz

m = d = 512, the paper's preprocessing, three seeds of it, three steps. IID is the exact expectation over orders,
the others are means over six shuffles. About six minutes on one core.
"""

import argparse
import os
import time
from pathlib import Path

import card
import numpy as np
from what_breaks import EPOCHS, measure, predict

from edgelaw import data

SEED, SIZE, SHUFFLES = 10, 512, 6
STEPS = (0.5, 1.0, 1.5)
SEEDS = (0, 1, 2)
NAMES = ("cifar10", "wikipedia")
TITLE = "Losses of all four orders on real embeddings, measured from all starts and predicted"
KEYS = [
    "names, seeds, steps, epochs",
    "measured, error: (names, seeds, steps, orders, test or training, epochs), mean over shuffles, standard error",
    "predicted: from the eigenvalues alone",
]
PROSE = """
# Real embeddings against their own eigenvalues

512 embeddings in 512 dimensions after the paper's preprocessing (`edgelaw.data.preprocess`, which centres, so that one
eigenvalue is zero). Losses are means over all starts. Orders as in `edgelaw.orders.ORDERS`.
"""


def rows(name, seed):
    """Preprocessed embeddings, rows of norm √d."""
    features = getattr(data, name)().features
    return data.normalize_rows(data.preprocess(features, rows=SIZE, dims=SIZE, rng=seed).X)


def main():
    """Run it from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    start = time.process_time()
    shape = (len(NAMES), len(SEEDS), len(STEPS), 4, 2, len(EPOCHS))
    measured, error, predicted = np.empty((3, *shape))
    for place in np.ndindex(shape[:3]):
        name, seed, step = NAMES[place[0]], SEEDS[place[1]], STEPS[place[2]]
        X = rows(name, seed)
        measured[place], error[place] = measure(X, step, np.random.default_rng([SEED, *place]), SHUFFLES)
        predicted[place] = predict(X, step)
        print(f"{name}, seed {seed}, step {step}: {time.process_time() - start:.0f} s so far", flush=True)
    partial = arguments.output.with_suffix(".tmp.npz")
    np.savez_compressed(
        partial,
        names=NAMES,
        seeds=SEEDS,
        steps=STEPS,
        epochs=EPOCHS,
        measured=measured,
        error=error,
        predicted=predicted,
    )
    os.replace(partial, arguments.output)
    source = "cifar10_resnet50.npz and wikipedia_mpnet.npz beside this file"
    card.write_sweep(arguments.output, TITLE, source, SEED, time.process_time() - start, KEYS, PROSE)


if __name__ == "__main__":
    main()
