"""Exact curves of all four orders on a family of spectra, from flat to steep, for the map of chapter 9.

    python data/build/order_map.py data/order_map.npz

Covariances with eigenvalues proportional to j^(-s), and the eigenvalues of the shipped embeddings, at m = d = 512; no
simulation. Half a minute on one core.
"""

import functools

import losses
import numpy as np
from sweep import Sweep

from edgelaw import data
from edgelaw.spectrum import effective_rank, gram_eigenvalues

SEED = 9
SIZE = 512
STEPS = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 1.8, 1.85, 1.9, 1.95)
EXPONENTS = (0.0, 0.25, 0.5, 0.75, 1.0)
EPOCHS = (1, 2, 3, 5, 8, 13, 21, 34, 50)
NAMES = (*EXPONENTS, "cifar10", "wikipedia")
SWEEP = Sweep(
    "order_map",
    title="Exact losses of all four orders from flat to steep spectra",
    source="computed from random matrices and the two shipped embedding sets; nothing was downloaded",
    seed=SEED,
    keys=(
        "names: the exponent s of a covariance j^(-s), or a data set",
        "effective_rank: of the sample",
        "steps, epochs",
        "losses: (names, steps, orders, test or training, epochs)",
    ),
    prose="""
# Which order wins where

Exact curves (`edgelaw.exact.curve`) from the eigenvalues of one sample each of 512 rows in 512 dimensions; nothing
was simulated. Orders as in `edgelaw.orders.ORDERS`.
""",
)


def sample(name):
    """Eigenvalues of 512 normalised rows: Gaussian with covariance j^(-s), or embeddings after the preprocessing."""
    if isinstance(name, float):
        X = np.random.default_rng(SEED).standard_normal((SIZE, SIZE)) * np.arange(1, SIZE + 1) ** (-name / 2)
    else:
        X = data.preprocess(data.load(name).features, rows=SIZE, dims=SIZE, rng=SEED).X
    return np.maximum(gram_eigenvalues(data.normalize_rows(X)), 0)


def cell(name):
    """One spectrum."""
    eigenvalues = sample(name)
    curves = [losses.predicted(eigenvalues, EPOCHS, step) for step in STEPS]
    return {"effective_rank": effective_rank(eigenvalues), "losses": curves}


def gathered(parts):
    """The arrays that ship."""
    return {
        "names": list(parts),
        "steps": STEPS,
        "epochs": EPOCHS,
        "effective_rank": [float(part["effective_rank"]) for part in parts.values()],
        "losses": np.array([part["losses"] for part in parts.values()], dtype=np.float32),
    }


def main(argv=None):
    """Run it from the command line."""
    cells = {str(name): functools.partial(cell, name) for name in NAMES}
    SWEEP.run(SWEEP.parser(__doc__).parse_args(argv), cells, gathered)


if __name__ == "__main__":
    main()
