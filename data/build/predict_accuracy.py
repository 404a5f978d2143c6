"""All four orders on Gaussian rows and embeddings, from all starts at once, against curves from eigenvalues.

    python data/build/predict_accuracy.py data/predict_accuracy.npz

Every epoch to 50, m = d = 512 at three steps, and two shapes with m ≠ d. IID is the exact expectation over orders,
the others are means over shuffles. About eight minutes on one core.
"""

import argparse
import os
import time
from pathlib import Path

import card
import numpy as np

from edgelaw import data, orders
from edgelaw.forecast import engine
from edgelaw.spectrum import gram_eigenvalues

SEED, EPOCHS = 11, 50
SHUFFLES = {"gaussian": 6, "cifar10": 12, "wikipedia": 12}  # those of an embedding differ more
CASES = (  # data, rows, dims, step
    *[(name, 512, 512, step) for name in SHUFFLES for step in (0.5, 1.0, 1.5)],
    ("cifar10", 256, 512, 1.0),
    ("wikipedia", 1024, 512, 1.0),
)
TITLE = "Losses of all four orders at every epoch, measured from all starts and predicted from eigenvalues"
KEYS = [
    "names, shapes, steps: of each case",
    "measured, error: (cases, orders, test or training, epochs 1 to 50), mean over shuffles, standard error",
    "predicted: from the eigenvalues alone; NaN where the library refuses a curve",
]
PROSE = """
# Curves from eigenvalues at every epoch

Gaussian rows and embeddings at m = d, and embeddings with half and twice as many rows as dimensions. Orders as in
`edgelaw.orders.ORDERS`.
"""


def rows(name, m, d):
    """Rows of norm √d."""
    if name == "gaussian":
        return data.normalize_rows(data.gaussian(m, d, rng=SEED))
    return data.normalize_rows(data.preprocess(getattr(data, name)().features, rows=m, dims=d, rng=0).X)


def main():
    """Run it from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    start = time.process_time()
    n = np.arange(EPOCHS + 1)
    measured, error, predicted = np.full((3, len(CASES), len(orders.ORDERS), 2, EPOCHS), np.nan)
    for i, (name, m, d, step) in enumerate(CASES):
        X = rows(name, m, d)
        values = np.maximum(gram_eigenvalues(X), 0)
        for j, order in enumerate(orders.ORDERS):
            rng = np.random.default_rng([SEED, i, j])
            found = engine.measure(X, order, n, step, rng, SHUFFLES[name] if m == d else 3, d)
            measured[i, j] = found.test[1:], found.train[1:]
            error[i, j] = found.test_se[1:], found.train_se[1:]
            try:
                exact, _ = engine.exact(order, values, n, step, m / d)
            except ArithmeticError as refusal:
                print(order, refusal)
                continue
            predicted[i, j] = exact.test[1:], exact.train[1:]
        off = 100 * np.abs(measured[i] / predicted[i] - 1).max(axis=-1)
        print(name, m, d, step, off.round(2).tolist(), f"{time.process_time() - start:.0f} s", flush=True)
    partial = arguments.output.with_suffix(".tmp.npz")
    np.savez_compressed(
        partial,
        names=[case[0] for case in CASES],
        shapes=[case[1:3] for case in CASES],
        steps=[case[3] for case in CASES],
        measured=measured.astype(np.float32),
        error=error.astype(np.float32),
        predicted=predicted.astype(np.float32),
    )
    os.replace(partial, arguments.output)
    source = "random rows, and cifar10_resnet50.npz and wikipedia_mpnet.npz beside this file"
    card.write_sweep(arguments.output, TITLE, source, SEED, time.process_time() - start, KEYS, PROSE)


if __name__ == "__main__":
    main()
