"""All four orders on Gaussian rows and embeddings, from all starts at once, against curves from eigenvalues.

    python data/build/predict_accuracy.py data/predict_accuracy.npz

Every epoch to 50, m = d = 512 at three steps, and two shapes with m ≠ d. IID is the exact expectation over orders,
the others are means over shuffles. About eight minutes on one core.
"""

import functools

import forecasting
import losses
import numpy as np
from sweep import Sweep

from edgelaw import data
from edgelaw.orders import ORDERS
from edgelaw.spectrum import gram_eigenvalues

SEED, EPOCHS = 11, 50
SHUFFLES = {"gaussian": 6, "cifar10": 12, "wikipedia": 12}  # those of an embedding differ more
CASES = (  # data, rows, dims, step
    *[(name, 512, 512, step) for name in SHUFFLES for step in (0.5, 1.0, 1.5)],
    ("cifar10", 256, 512, 1.0),
    ("wikipedia", 1024, 512, 1.0),
)
SWEEP = Sweep(
    "predict_accuracy",
    title="Losses of all four orders at every epoch, measured from all starts and predicted from eigenvalues",
    source="random rows, and cifar10_resnet50.npz and wikipedia_mpnet.npz beside this file",
    seed=SEED,
    keys=(
        "names, shapes, steps: of each case",
        "measured, error: (cases, orders, test or training, epochs 1 to 50), mean over shuffles, standard error",
        "predicted: from the eigenvalues alone; NaN where the library refuses a curve",
    ),
    prose="""
# Curves from eigenvalues at every epoch

Gaussian rows and embeddings at m = d, and embeddings with half and twice as many rows as dimensions. Orders as in
`edgelaw.orders.ORDERS`.
""",
)


def rows(name, m, d):
    """Rows of norm √d."""
    if name == "gaussian":
        return data.normalize_rows(data.gaussian(m, d, rng=SEED))
    return data.normalize_rows(data.preprocess(data.load(name).features, rows=m, dims=d, rng=0).X)


def cell(number):
    """One case."""
    name, m, d, step = CASES[number]
    X, n = rows(name, m, d), np.arange(EPOCHS + 1)
    eigenvalues = np.maximum(gram_eigenvalues(X), 0)
    measured, error, predicted = np.full((3, len(ORDERS), 2, EPOCHS), np.nan)
    for j, order in enumerate(ORDERS):
        rng = np.random.default_rng([SEED, number, j])
        runs = SHUFFLES[name] if m == d else 3
        measured[j], error[j] = losses.measured(X, order, n, step, rng, runs)
        predicted[j] = forecasting.exact(order, eigenvalues, n, step, m / d)
    return {"measured": measured, "error": error, "predicted": predicted}


def gathered(parts):
    """The arrays that ship."""
    arrays = {
        "names": [case[0] for case in CASES],
        "shapes": [case[1:3] for case in CASES],
        "steps": [case[3] for case in CASES],
    }
    for key in ("measured", "error", "predicted"):
        arrays[key] = np.array([part[key] for part in parts.values()], dtype=np.float32)
    return arrays


def main(argv=None):
    """Run it from the command line."""
    cells = {" ".join(map(str, case)): functools.partial(cell, i) for i, case in enumerate(CASES)}
    SWEEP.run(SWEEP.parser(__doc__).parse_args(argv), cells, gathered)


if __name__ == "__main__":
    main()
