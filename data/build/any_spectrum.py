"""Measure all four orders on random matrices of four covariances and three sizes, for chapter 9.

    python data/build/any_spectrum.py data/any_spectrum.npz

Every measurement starts from the whole identity, so the only noise is that of the matrix and of the order of its rows;
IID is the exact expectation over orders. The exact curves from each matrix's own eigenvalues are stored beside the
measurements. About 40 minutes on one core; an interrupted run continues.
"""

import contextlib
import functools

import losses
import numpy as np
from sweep import Sweep

from edgelaw import data, exact
from edgelaw.spectrum import gram_eigenvalues
from edgelaw.theory import BY_ORDER

SEED = 9
SIZES = (400, 800, 1600)
STEPS = (0.5, 1.0, 1.5)
EPOCHS = (1, 2, 3, 5, 8, 13, 21, 34, 50)
NAMES = ("two-point", "uniform", "j^(-1/2)", "1/j")
SHUFFLES = 2  # orders of the rows that each matrix is run with
MORE, MORE_STREAMS = 3, 2  # further ones at the largest size: fixed orders, and streams of permutations

SWEEP = Sweep(
    "any_spectrum",
    title="Losses of all four orders on random matrices, measured and predicted",
    source="random matrices; nothing was downloaded",
    seed=SEED,
    keys=(
        "steps, epochs, sizes",
        "eigenvalues COVARIANCE SIZE: of the sample",
        "measured COVARIANCE SIZE: losses (steps, orders, test or training, epochs)",
        "predicted COVARIANCE SIZE: the same from the eigenvalues alone, NaN where the library refuses a curve",
    ),
    prose="""
# Matrices against their own eigenvalues

Four covariances (two-point, uniform, j^(-1/2), 1/j), three sizes, one matrix each with unit rows. Every loss is the
mean over all starts. Single shuffle and flip-flop: matrix powers, mean of two shuffles. IID: the exact expectation over
orders (`edgelaw.exact.expected_curve`). Random reshuffle: one stream of permutations, in single precision. The
predictions are the library's `curve` functions. Orders as in `edgelaw.orders.ORDERS`.
""",
)


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


def shuffled(U, step, rng):
    """Single shuffle and flip-flop for one order of the rows: two arrays (2, epochs)."""
    return losses.fixed_order(U[rng.permutation(len(U))], EPOCHS, step)


def reshuffled(U, step, rng):
    """Random reshuffle for one stream of permutations, in single precision: (2, epochs)."""
    return losses.fresh_orders(U.astype(np.float32), "random_reshuffle", EPOCHS, step, rng)


def measure(U, step, rng):
    """Losses (orders, 2, epochs), the mean over shuffles."""
    curve = exact.expected_curve(U, np.array(EPOCHS), step, tolerance=1e-4)
    single, flipped = np.mean([shuffled(U, step, rng) for _ in range(SHUFFLES)], axis=0)
    return np.array([losses.of_curve(curve), reshuffled(U, step, rng), single, flipped])


def more(name, d, number):
    """The k-th further order of the rows for every step, from a generator of its own: (steps, orders, 2, epochs)."""
    U = matrix(name, d)[0]
    rng = np.random.default_rng([SEED, NAMES.index(name), d, number])
    measured = np.full((len(STEPS), len(BY_ORDER), 2, len(EPOCHS)), np.nan)
    for k, step in enumerate(STEPS):
        measured[k, 2:] = shuffled(U, step, rng)
        if number <= MORE_STREAMS:
            measured[k, 1] = reshuffled(U, step, rng)
    return measured


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
    predicted = np.full((len(STEPS), len(BY_ORDER), 2, len(EPOCHS)), np.nan)
    for k, step in enumerate(STEPS):
        for j, order in enumerate(BY_ORDER):
            with contextlib.suppress(ArithmeticError):
                curve = exact.curve(order, np.maximum(eigenvalues, 0), np.array(EPOCHS), step)
                predicted[k, j] = losses.of_curve(curve)
    return predicted


def cell(name, d):
    """Everything about one covariance and one size."""
    eigenvalues, measured = case(name, d)
    return {"eigenvalues": eigenvalues, "measured": measured, "predicted": predict(eigenvalues)}


def gathered(parts, sizes):
    """The arrays that ship: losses in single precision."""
    arrays = {"steps": STEPS, "epochs": EPOCHS, "sizes": sizes}
    for name, part in parts.items():
        arrays[f"eigenvalues {name}"] = part["eigenvalues"]
        arrays |= {f"{key} {name}": part[key].astype(np.float32) for key in ("measured", "predicted")}
    return arrays


def main(argv=None):
    """Run it from the command line."""
    parser = SWEEP.parser(__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    options = parser.parse_args(argv)
    cells = {f"{name} {d}": functools.partial(cell, name, d) for d in options.sizes for name in NAMES}
    SWEEP.run(options, cells, functools.partial(gathered, sizes=options.sizes))


if __name__ == "__main__":
    main()
