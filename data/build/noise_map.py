"""Exact curves with noise for the map of chapter 15: which order wins at which noise, step and spectrum.

    python data/build/noise_map.py data/noise_map.npz

Five designs in 128 dimensions, the signal and the noise part of both losses for every order and 25 steps; no
simulation. A minute and a half on one core; an interrupted run continues.
"""

import functools
import itertools

import numpy as np
from sweep import Sweep

from edgelaw import data
from edgelaw.exact import labels as noise
from edgelaw.orders import ORDERS

SEED, DIMS = 15, 128
EPOCHS = (4, 20)  # even: flip-flop goes there and back
STEPS = tuple(float(f"{step:.4g}") for step in np.geomspace(0.01, 1.9, 31))[6:]
SCALE, LEAST = 250, 2.0**-64  # of the logarithms; smaller parts count as this
DESIGNS = {"gaussian 2": 2, "gaussian 4": 4, "power law 4": 4, "cifar10 4": 4, "wikipedia 4": 4}  # and m/d
SWEEP = Sweep(
    "noise_map",
    title="Exact signal and noise of all four orders on five designs",
    source="computed from random matrices and the two shipped embedding sets; nothing was downloaded",
    seed=SEED,
    keys=(
        "designs: what the rows are, and rows per dimension; steps, epochs",
        "log2: 250 times the binary logarithm of signal and noise, as differences from step to step, (signal or noise, "
        "designs, orders, distance or training loss, epochs, steps); the loss is signal + s noise",
        "error10: the numerical errors of both that the curves state, as powers of ten, rounded up",
    ),
    prose="""
# Which order wins at which noise

Exact curves (`edgelaw.exact.labels.signal_and_noise`) from the eigenvalues of one design each in 128 dimensions;
nothing was simulated. Losses are 1 at the start; s is the least training loss over the excess at the start. The power
law has covariance eigenvalues proportional to 1/j.

Flip-flop's training loss has no theory with noise: its numbers mean nothing. Orders are as in `edgelaw.orders.ORDERS`;
`edgelaw.exact.labels.recorded_parts` reads the file.
""",
)


def rows(design):
    """The unit rows of a design: Gaussian, with flat or power-law covariance, or embeddings after the preprocessing."""
    name, count = design.rsplit(" ", 1)[0], DESIGNS[design] * DIMS
    if name in ("gaussian", "power law"):
        X = np.random.default_rng(SEED).standard_normal((count, DIMS))
        X = X if name == "gaussian" else X / np.sqrt(np.arange(1, DIMS + 1))
    else:
        X = data.preprocess(data.load(name).features, rows=count, dims=DIMS, rng=SEED).X
    return X / np.linalg.norm(X, axis=1)[:, None]


def cell(design, step):
    """One design at one step."""
    X = rows(design)
    eigenvalues = np.linalg.eigvalsh(X.T @ X)
    parts = [noise.signal_and_noise(eigenvalues, len(X), EPOCHS, step, order) for order in ORDERS]
    return {key: np.array([getattr(part, key) for part in parts]) for key in noise.Parts._fields}


def gathered(parts):
    """The arrays that ship; `edgelaw.exact.labels.recorded_parts` reads them."""
    arrays = {"designs": list(DESIGNS), "steps": np.array(STEPS, dtype=np.float32), "epochs": EPOCHS}

    def stacked(*keys):
        table = np.array([[part[key] for part in parts.values()] for key in keys])
        table = table.reshape(len(keys), len(DESIGNS), len(STEPS), *table.shape[2:])
        return np.moveaxis(table, 2, -1)

    values, errors = stacked("signal", "noise"), stacked("signal_error", "noise_error")
    logs = np.round(SCALE * np.log2(np.maximum(np.nan_to_num(values), LEAST))).astype(np.int16)
    arrays["log2"] = np.diff(logs, axis=-1, prepend=np.int16(0))
    arrays["error10"] = np.ceil(np.log10(np.maximum(np.nan_to_num(errors), 1e-20))).astype(np.int8)
    return arrays


def main(argv=None):
    """Run it from the command line."""
    cells = {
        f"{design} {step}": functools.partial(cell, design, step)
        for design, step in itertools.product(DESIGNS, STEPS)
    }
    SWEEP.run(SWEEP.parser(__doc__).parse_args(argv), cells, gathered)


if __name__ == "__main__":
    main()
