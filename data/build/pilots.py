"""How well a pilot on a part of the rows and dimensions forecasts the losses of the whole.

    python data/build/pilots.py data/pilots.npz

The shipped embeddings at 512 × 512 and 1024 × 512, pilots of a half, a quarter and an eighth of both sides, by random
directions (a Haar projection) or by a subset of the coordinates; step 1, all orders. About four minutes on one core.
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

SEED, DRAWS, STEP = 12, 2, 1.0
EPOCHS = (0, 1, 2, 5, 10, 20)
NAMES, ASPECTS, PARTS, MODES = ("cifar10", "wikipedia"), (1, 2), (2, 4, 8), ("directions", "coordinates")
TITLE = "Losses forecast by pilots on a part of the rows, and the losses themselves"
KEYS = [
    "names, aspects, parts, modes, epochs",
    "measured: losses of the whole (names, aspects, orders, test or training, epochs 1 to 20)",
    "exact: from the eigenvalues of the whole",
    "pilot, pilot_exact: losses of the pilots, (names, aspects, parts, modes, draws, orders, 2, epochs), measured and "
    "from the eigenvalues of the pilot; NaN where the library refuses a curve",
]
PROSE = """
# Pilots

A forecast is either the pilot's measured loss as it is, or the exact loss of the whole times the pilot's measured loss
over its own exact one. Orders as in `edgelaw.orders.ORDERS`.
"""


def curves(X, rng, runs):
    """Measured and exact losses, (orders, 2, epochs) each."""
    n, (m, d) = np.array(EPOCHS), X.shape
    values = np.maximum(gram_eigenvalues(X), 0)
    measured, exact = np.full((2, len(orders.ORDERS), 2, len(n) - 1), np.nan)
    for j, order in enumerate(orders.ORDERS):
        found = engine.measure(X, order, n, STEP, rng, runs, d)
        measured[j] = found.test[1:], found.train[1:]
        try:
            found, _ = engine.exact(order, values, n, STEP, m / d)
        except ArithmeticError as refusal:
            print(X.shape, order, refusal)
            continue
        exact[j] = found.test[1:], found.train[1:]
    return measured, exact


def part(X, rows, dims, mode, rng):
    """A pilot."""
    if mode == "directions":
        return engine.subset(engine.Array(X), rows, dims, rng)
    places, columns = (
        rng.choice(size, count, replace=False) for size, count in zip(X.shape, (rows, dims), strict=True)
    )
    return data.normalize_rows(X[np.ix_(places, columns)])


def main():
    """Run it from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    start = time.process_time()
    last = (len(orders.ORDERS), 2, len(EPOCHS) - 1)
    measured, exact = np.empty((2, len(NAMES), len(ASPECTS), *last))
    pilot, pilot_exact = np.empty((2, len(NAMES), len(ASPECTS), len(PARTS), len(MODES), DRAWS, *last))
    for i, j in np.ndindex(len(NAMES), len(ASPECTS)):
        features = getattr(data, NAMES[i])().features
        X = data.normalize_rows(data.preprocess(features, rows=512 * ASPECTS[j], dims=512, rng=0).X)
        measured[i, j], exact[i, j] = curves(X, np.random.default_rng([SEED, i, j]), 3)
        for place in np.ndindex(len(PARTS), len(MODES), DRAWS):
            rng = np.random.default_rng([SEED, i, j, *place])
            k = PARTS[place[0]]
            Y = part(X, len(X) // k, 512 // k, MODES[place[1]], rng)
            pilot[i, j, *place], pilot_exact[i, j, *place] = curves(Y, rng, 4)
        print(NAMES[i], ASPECTS[j], f"{time.process_time() - start:.0f} s", flush=True)
    partial = arguments.output.with_suffix(".tmp.npz")
    np.savez_compressed(
        partial,
        names=NAMES,
        aspects=ASPECTS,
        parts=PARTS,
        modes=MODES,
        epochs=EPOCHS[1:],
        measured=measured.astype(np.float32),
        exact=exact.astype(np.float32),
        pilot=pilot.astype(np.float32),
        pilot_exact=pilot_exact.astype(np.float32),
    )
    os.replace(partial, arguments.output)
    source = "cifar10_resnet50.npz and wikipedia_mpnet.npz beside this file"
    card.write_sweep(arguments.output, TITLE, source, SEED, time.process_time() - start, KEYS, PROSE)


if __name__ == "__main__":
    main()
