"""All four orders on embeddings of three shapes, m/d = 1/2, 1 and 4, against curves from their eigenvalues.

    python data/build/aspect_accuracy.py data/aspect_accuracy.npz

Epochs up to 50 at three steps, from all starts at once. IID is the exact expectation over orders, the others are
means over shuffles. About twenty minutes on one core.
"""

import functools

import forecasting
import losses
import numpy as np
from sweep import Sweep

from edgelaw import data, exact
from edgelaw.orders import ORDERS
from edgelaw.spectrum import gram_eigenvalues

SEED, EPOCHS = 23, 50
RECORDED = np.array(
    [1, 2, 3, 4, 6, 8, 10, 13, 16, 20, 25, 30, 35, 40, 45, 50]
)  # so that the file stays small
SHAPES = ((256, 512), (512, 512), (1920, 480))  # four rows per dimension need fewer dimensions: rows are 2000
SHUFFLES = {
    256: (48, 32),
    512: (16, 8),
    1920: (16, 8),
}  # kept ones and fresh ones, more where late losses vary more
CASES = [
    (name, m, d, step) for name in ("cifar10", "wikipedia") for m, d in SHAPES for step in (0.5, 1.0, 1.5)
]
SWEEP = Sweep(
    "aspect_accuracy",
    title="Losses of all four orders on embeddings at m/d = 1/2, 1 and 4, measured and predicted from eigenvalues",
    source="cifar10_resnet50.npz and wikipedia_mpnet.npz beside this file",
    seed=SEED,
    keys=(
        "names, shapes, steps: of each case; epochs",
        "shuffles: of each case, of single shuffle and flip-flop, and of random reshuffle; IID is expected, not drawn",
        "measured, error: (cases, orders, test or training, epochs), mean over shuffles, standard error",
        "predicted: from the eigenvalues alone; NaN where the library refuses a curve",
        "stated: (cases, orders), the relative numerical error that the library states for its prediction",
    ),
    prose="""
# Curves from eigenvalues at three aspects

Embeddings in so many random directions, centred, rows of equal norm. Orders as in `edgelaw.orders.ORDERS`.
""",
)


def rows(name, m, d):
    """Rows of norm √d."""
    return data.normalize_rows(data.preprocess(data.load(name).features, rows=m, dims=d, rng=0).X)


def over_shuffles(X, n, step, number):
    """Mean and standard error over shuffles, (orders, 2, epochs) each, IID's as expected without error."""
    U = X / np.linalg.norm(X, axis=1)[:, None]
    rng, (count, fresh) = np.random.default_rng([SEED, number]), SHUFFLES[len(U)]
    kept = np.array([losses.fixed_order(U[rng.permutation(len(U))], n[1:], step) for _ in range(count)])
    single, flipped = (
        (draws.mean(axis=0), draws.std(axis=0, ddof=1) / count**0.5) for draws in kept.swapaxes(0, 1)
    )
    by_order = {
        "iid": losses.measured(X, "iid", n, step, rng, 0),
        "random_reshuffle": losses.measured(X, "random_reshuffle", n, step, rng, fresh),
        "single_shuffle": single,
        "flip_flop": flipped,
    }
    return np.array([by_order[order] for order in ORDERS]).swapaxes(0, 1)


def cell(number):
    """One case."""
    name, m, d, step = CASES[number]
    X, n = rows(name, m, d), np.arange(EPOCHS + 1)
    measured, error = over_shuffles(X, n, step, number)
    values = np.maximum(gram_eigenvalues(X), 0)
    predicted, stated = np.full((len(ORDERS), 2, EPOCHS), np.nan), np.full(len(ORDERS), np.nan)
    for j, order in enumerate(ORDERS):
        predicted[j] = forecasting.exact(order, values, n, step, m / d)
        if np.isfinite(predicted[j]).all():
            stated[j] = exact.curve(order, values, n, step, m / d).error
    return {"measured": measured, "error": error, "predicted": predicted, "stated": stated}


def gathered(parts):
    """The arrays that ship."""
    arrays = {
        "names": [case[0] for case in CASES],
        "shapes": [case[1:3] for case in CASES],
        "steps": [case[3] for case in CASES],
        "epochs": RECORDED,
        "shuffles": [SHUFFLES[case[1]] for case in CASES],
    }
    for key in ("measured", "error", "predicted"):
        arrays[key] = np.array([part[key][..., RECORDED - 1] for part in parts.values()], dtype=np.float32)
    return arrays | {"stated": np.array([part["stated"] for part in parts.values()], dtype=np.float32)}


def main(argv=None):
    """Run it from the command line."""
    cells = {" ".join(map(str, case)): functools.partial(cell, i) for i, case in enumerate(CASES)}
    SWEEP.run(SWEEP.parser(__doc__).parse_args(argv), cells, gathered)


if __name__ == "__main__":
    main()
