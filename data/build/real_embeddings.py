"""Build data/real_embeddings.npz: the four orders on real embeddings and on Gaussian rows, for chapter 10.

    python data/build/real_embeddings.py

Three data sets: CIFAR-10 through a ResNet-50 and Wikipedia through a sentence encoder, each put through the paper's
preprocessing to 512 x 512 with seeds 0 to 7 (which choose the rows and draw the projection), and Gaussian rows,
1024 x 1024, with the same seeds. Every run has its own order stream and 32 random unit starts; run r on seed s has the
same starts at every step and in every order, so that ratios between orders are paired. Computed in float32 by
edgelaw.kaczmarz.simulate. Every run is kept, so any standard error can be computed.

Beside the simulations, the exact curves of every order from the eigenvalues of seed 0 of the two real data sets, on a
grid of steps. An interrupted run continues.
"""

import functools

import losses
import numpy as np
from sweep import Sweep

from edgelaw import data, kaczmarz
from edgelaw.orders import ORDERS
from edgelaw.spectrum import gram_eigenvalues

SEEDS = 8
STEPS = (0.5, 1.0, 1.5)
EPOCHS = (1, 2, 3, 4, 5, 6, 8, 10, 14, 20, 28, 40, 50, 70, 100)
PROBES = 32
SCAN = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 1.9)  # steps of the exact curves
REACH = 50  # and their last epoch
# runs on each seed: IID's training loss is the noisiest; seed 0 has more, for the curves of one matrix
IID_RUNS = {"gaussian": 8, "cifar10": 13, "wikipedia": 13}
OTHER_RUNS = {"gaussian": (2, 2), "cifar10": (16, 4), "wikipedia": (16, 4)}  # seed 0, every other seed
SWEEP = Sweep(
    "real_embeddings",
    title="Simulated learning curves of the four orders on real embeddings and on Gaussian rows",
    source="cifar10_resnet50.npz and wikipedia_mpnet.npz beside this file; Gaussian rows by edgelaw.data",
    seed=0,
    keys=(
        "steps, epochs: the steps, and the epochs at which losses were recorded",
        "DATA ORDER STEP: losses (runs, epochs, 2), test then training",
        "DATA ORDER seeds: the preprocessing seed of each run",
        "DATA ORDER exact: exact losses of seed 0, (exact steps, epochs up to 50, 2)",
        "DATA ORDER exact error: an estimate of their relative numerical error",
    ),
    licence="as the project; numbers computed from the arrays named above",
    prose="""
# The four orders on real embeddings

Simulated learning curves for chapter 10, which recomputes a part of them and compares. Key `cifar10 iid 1.0` (data
set, order, step) holds an array (runs, epochs, 2): test loss, that is squared parameter error over its start, and
training loss, one row per run; `cifar10 iid seeds` (data set, order) says which seed of the preprocessing each run
belongs to, and run r of seed s was `edgelaw.kaczmarz.simulate(..., probes=32, rng=1000 * s + r)`. Key
`cifar10 iid exact` holds the exact curve from the eigenvalues of seed 0, (steps, epochs up to 50, 2), on the grid
`exact steps`, and `cifar10 iid exact error` what each curve says of its own numerical accuracy.

Wikipedia's text is by its contributors, CC BY-SA 4.0 (see `wikipedia_mpnet.md`); nothing of it is in this file.
""",
)


def matrix(name, seed):
    """The rows of one data set as the paper prepares them, in float32."""
    if name == "gaussian":
        X = data.gaussian(1024, 1024, rng=seed)
    else:
        X = data.preprocess(data.load(name).features, rows=512, dims=512, rng=seed).X
    return X.astype(np.float32)


def plan(name, order):
    """The (seed, run) pairs of a data set and an order."""
    first, others = (IID_RUNS[name],) * 2 if order == "iid" else OTHER_RUNS[name]
    return [(seed, run) for seed in range(SEEDS) for run in range(others if seed else first)]


def measure(X, order, step, number):
    """Test and training loss of one run at the recorded epochs: (epochs, 2)."""
    curve = kaczmarz.simulate(X, order, EPOCHS, step, PROBES, rng=number)
    return losses.of_curve(curve).T.astype(np.float32)


def simulated(name):
    """All runs on one data set."""
    arrays = {}
    matrices = [matrix(name, seed) for seed in range(SEEDS)]
    for order in ORDERS:
        pairs = plan(name, order)
        arrays[f"{name} {order} seeds"] = np.array([seed for seed, _ in pairs], dtype=np.int8)
        for step in STEPS:
            runs = [measure(matrices[seed], order, step, 1000 * seed + run) for seed, run in pairs]
            arrays[f"{name} {order} {step}"] = np.array(runs)
    return arrays


def exact():
    """The exact curves of the real data sets' seed 0: (steps, epochs, 2) for each order."""
    arrays, epochs = {}, [n for n in EPOCHS if n <= REACH]
    for name in ("cifar10", "wikipedia"):
        eigenvalues = gram_eigenvalues(data.preprocess(data.load(name).features, rows=512, dims=512, rng=0).X)
        for order in ORDERS:
            curves = [exact.curve(order, eigenvalues, epochs, step) for step in SCAN]
            values = [losses.of_curve(curve).T for curve in curves]
            arrays[f"{name} {order} exact"] = np.array(values, dtype=np.float32)
            arrays[f"{name} {order} exact error"] = np.array([curve.error for curve in curves])
    return arrays


def gathered(parts):
    """The arrays that ship."""
    arrays = {"steps": STEPS, "epochs": EPOCHS, "exact steps": SCAN}
    for part in parts.values():
        arrays |= part
    return arrays


def main(argv=None):
    """Run it from the command line."""
    cells = {name: functools.partial(simulated, name) for name in IID_RUNS} | {"exact": exact}
    SWEEP.run(SWEEP.parser(__doc__).parse_args(argv), cells, gathered)


if __name__ == "__main__":
    main()
