"""All four orders on the shipped embeddings, from all starts at once, against curves from their eigenvalues.

    python data/build/embedding_traces.py data/embedding_traces.npz

m = d = 512, the paper's preprocessing, three seeds of it, three steps. IID is the exact expectation over orders,
the others are means over six shuffles. About six minutes on one core.
"""

import functools
import itertools

import numpy as np
from sweep import Sweep
from what_breaks import EPOCHS, measure, predict

from edgelaw import data

SEED, SIZE, SHUFFLES = 10, 512, 6
STEPS = (0.5, 1.0, 1.5)
SEEDS = (0, 1, 2)
NAMES = ("cifar10", "wikipedia")
SWEEP = Sweep(
    "embedding_traces",
    title="Losses of all four orders on real embeddings, measured from all starts and predicted",
    source="cifar10_resnet50.npz and wikipedia_mpnet.npz beside this file",
    seed=SEED,
    keys=(
        "names, seeds, steps, epochs",
        "measured, error: (names, seeds, steps, orders, test or training, epochs), mean over shuffles, standard error",
        "predicted: from the eigenvalues alone",
    ),
    prose="""
# Real embeddings against their own eigenvalues

512 embeddings in 512 dimensions after the paper's preprocessing (`edgelaw.data.preprocess`, which centres, so that one
eigenvalue is zero). Losses are means over all starts. Orders as in `edgelaw.orders.ORDERS`.
""",
)


def rows(name, seed):
    """Preprocessed embeddings, rows of norm √d."""
    features = data.load(name).features
    return data.normalize_rows(data.preprocess(features, rows=SIZE, dims=SIZE, rng=seed).X)


def cell(i, j, k):
    """One data set, one seed of its preprocessing and one step, by their numbers."""
    X = rows(NAMES[i], SEEDS[j])
    measured, error = measure(X, STEPS[k], np.random.default_rng([SEED, i, j, k]), SHUFFLES)
    return {"measured": measured, "error": error, "predicted": predict(X, STEPS[k])}


def gathered(parts):
    """The arrays that ship."""
    arrays = {"names": NAMES, "seeds": SEEDS, "steps": STEPS, "epochs": EPOCHS}
    for key in ("measured", "error", "predicted"):
        values = np.array([part[key] for part in parts.values()])
        arrays[key] = values.reshape(len(NAMES), len(SEEDS), len(STEPS), *values.shape[1:])
    return arrays


def main(argv=None):
    """Run it from the command line."""
    places = itertools.product(range(len(NAMES)), range(len(SEEDS)), range(len(STEPS)))
    cells = {
        f"{NAMES[i]}, seed {SEEDS[j]}, step {STEPS[k]}": functools.partial(cell, i, j, k)
        for i, j, k in places
    }
    SWEEP.run(SWEEP.parser(__doc__).parse_args(argv), cells, gathered)


if __name__ == "__main__":
    main()
