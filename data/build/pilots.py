"""How well a pilot on a part of the rows and dimensions forecasts the losses of the whole.

    python data/build/pilots.py data/pilots.npz

The shipped embeddings at 512 × 512 and 1024 × 512, pilots of a half, a quarter and an eighth of both sides, by random
directions (a Haar projection) or by a subset of the coordinates; step 1, all orders. About four minutes on one core.
"""

import functools
import itertools

import forecasting
import losses
import numpy as np
from sweep import Sweep

from edgelaw import data
from edgelaw.orders import ORDERS
from edgelaw.spectrum import gram_eigenvalues

SEED, DRAWS, STEP = 12, 2, 1.0
EPOCHS = (0, 1, 2, 5, 10, 20)
NAMES, ASPECTS, PARTS, MODES = ("cifar10", "wikipedia"), (1, 2), (2, 4, 8), ("directions", "coordinates")
SWEEP = Sweep(
    "pilots",
    title="Losses forecast by pilots on a part of the rows, and the losses themselves",
    source="cifar10_resnet50.npz and wikipedia_mpnet.npz beside this file",
    seed=SEED,
    keys=(
        "names, aspects, parts, modes, epochs",
        "measured: losses of the whole (names, aspects, orders, test or training, epochs 1 to 20)",
        "exact: from the eigenvalues of the whole",
        "pilot, pilot_exact: losses of the pilots, (names, aspects, parts, modes, draws, orders, 2, epochs), measured "
        "and from the eigenvalues of the pilot; NaN where the library refuses a curve",
    ),
    prose="""
# Pilots

A forecast is either the pilot's measured loss as it is, or the exact loss of the whole times the pilot's measured loss
over its own exact one. Orders as in `edgelaw.orders.ORDERS`.
""",
)


def curves(X, rng, runs):
    """Measured and exact losses, (orders, 2, epochs) each."""
    n, (m, d) = np.array(EPOCHS), X.shape
    eigenvalues = np.maximum(gram_eigenvalues(X), 0)
    measured, exact = np.full((2, len(ORDERS), 2, len(n) - 1), np.nan)
    for j, order in enumerate(ORDERS):
        measured[j], _ = losses.measured(X, order, n, STEP, rng, runs)
        exact[j] = forecasting.exact(order, eigenvalues, n, STEP, m / d)
    return measured, exact


def part(X, rows, dims, mode, rng):
    """A pilot."""
    if mode == "directions":
        return forecasting.pilot(X, rows, dims, rng)
    places, columns = (
        rng.choice(size, count, replace=False) for size, count in zip(X.shape, (rows, dims), strict=True)
    )
    return data.normalize_rows(X[np.ix_(places, columns)])


def cell(i, j):
    """One data set and one aspect, by their numbers: the whole and its pilots."""
    rows = 512 * ASPECTS[j]
    X = data.normalize_rows(data.preprocess(data.load(NAMES[i]).features, rows=rows, dims=512, rng=0).X)
    measured, exact = curves(X, np.random.default_rng([SEED, i, j]), 3)
    pilot, pilot_exact = np.empty((2, len(PARTS), len(MODES), DRAWS, *measured.shape))
    for place in np.ndindex(pilot.shape[:3]):
        rng = np.random.default_rng([SEED, i, j, *place])
        k = PARTS[place[0]]
        Y = part(X, rows // k, 512 // k, MODES[place[1]], rng)
        pilot[place], pilot_exact[place] = curves(Y, rng, 4)
    return {"measured": measured, "exact": exact, "pilot": pilot, "pilot_exact": pilot_exact}


def gathered(parts):
    """The arrays that ship."""
    arrays = {"names": NAMES, "aspects": ASPECTS, "parts": PARTS, "modes": MODES, "epochs": EPOCHS[1:]}
    for key in ("measured", "exact", "pilot", "pilot_exact"):
        values = np.array([part[key] for part in parts.values()], dtype=np.float32)
        arrays[key] = values.reshape(len(NAMES), len(ASPECTS), *values.shape[1:])
    return arrays


def main(argv=None):
    """Run it from the command line."""
    places = itertools.product(range(len(NAMES)), range(len(ASPECTS)))
    cells = {f"{NAMES[i]}, aspect {ASPECTS[j]}": functools.partial(cell, i, j) for i, j in places}
    SWEEP.run(SWEEP.parser(__doc__).parse_args(argv), cells, gathered)


if __name__ == "__main__":
    main()
