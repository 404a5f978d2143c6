"""The four orders, and torch's own shuffle, in PyTorch: a linear probe on CIFAR-10 features.

    python data/build/torch_probe.py data/torch_probe.npz

Every cell is a problem, a loss, an optimiser, a batch size and a step; in each, twelve splits of the features, and on
each split five runs that differ in the order of their rows only. A cell takes up to a minute of one core; an
interrupted run continues.
"""

import functools
import json

import losses
import numpy as np
import torch
from sweep import Sweep
from torch.utils.data import RandomSampler

from edgelaw import embeddings, orders, probe
from edgelaw.spectrum import gram_eigenvalues

DIMS, HELD, SPLITS, RIDGE = 256, 1400, 12, 0.01
ORDERS = (*orders.ORDERS, "shuffle=True")
PROBLEMS = {"taught": (256, 40), "labels": (256, 40), "tall": (1024, 12)}  # rows, epochs
RECORD = {40: (1, 2, 5, 10, 20, 30, 40), 12: (1, 2, 3, 4, 6, 9, 12)}
EXACT = 0.25, 0.5, 1.0, 1.5  # 0.25 is eight over a batch of 32
# problem, loss, optimiser, batch, step (for Adam: its lr)
CELLS = (
    ("taught", "squares", "sgd", 1, 0.5),
    ("taught", "squares", "sgd", 1, 1.0),
    ("taught", "squares", "sgd", 1, 1.5),
    ("taught", "squares", "momentum", 1, 1.0),
    ("taught", "squares", "adam", 1, 3e-4),
    ("taught", "squares", "decay", 1, 1.0),
    ("taught", "squares", "sgd", 32, 8.0),
    ("taught", "squares", "momentum", 32, 8.0),
    ("taught", "squares", "adam", 32, 3e-3),
    ("taught", "squares", "decay", 32, 8.0),
    ("labels", "squares", "sgd", 1, 1.0),
    ("labels", "cross_entropy", "sgd", 1, 1.2),
    ("tall", "squares", "sgd", 1, 0.3),
    ("tall", "squares", "sgd", 1, 1.0),
    ("tall", "squares", "momentum", 1, 0.3),
    ("tall", "squares", "adam", 1, 3e-4),
    ("tall", "squares", "decay", 1, 1.0),
    ("tall", "squares", "sgd", 32, 8.0),
    ("tall", "squares", "momentum", 32, 8.0),
    ("tall", "squares", "adam", 32, 1e-3),
    ("tall", "squares", "decay", 32, 8.0),
    ("tall", "cross_entropy", "sgd", 1, 1.2),
    ("tall", "cross_entropy", "momentum", 1, 1.2),
    ("tall", "cross_entropy", "adam", 1, 3e-4),
    ("tall", "cross_entropy", "decay", 1, 3.0),
    ("tall", "cross_entropy", "sgd", 32, 32.0),
    ("tall", "cross_entropy", "momentum", 32, 32.0),
    ("tall", "cross_entropy", "adam", 32, 3e-3),
    ("tall", "cross_entropy", "decay", 32, 32.0),
)
SWEEP = Sweep(
    "torch_probe",
    title="Linear probes on CIFAR-10 features in PyTorch, by order, optimiser, batch and loss",
    source="computed from data/cifar10_resnet50.npz by torch, float64",
    seed=0,
    keys=(
        "orders: the names, the fifth is DataLoader's own shuffle",
        "cells: JSON, a list of [problem, loss, optimiser, batch, step]",
        "cell NUMBER: (splits, orders, epochs, 3) float32: parameter error, excess training loss, held-out accuracy",
        "exact STEP: (four splits, orders, epochs, 2) float32: predicted from the eigenvalues, problem taught",
        "epochs PROBLEM: the recorded epochs;  best NUMBER: (splits,) held-out accuracy of the minimum",
    ),
    prose="""
# Linear probes in PyTorch

Ten classes, 256 dimensions (a Gaussian projection of the 2048 features), rows of norm 16. A split's seed chooses
training rows, 1400 held-out rows and projection (`edgelaw.probe.split`); the order streams have the split's number as
their seed.

| problem | rows | targets of least squares |
|---|---|---|
| taught | 256 | X Wᵀ for a Gaussian W: no noise, the setting of the theory |
| labels | 256 | the classes, one-hot; the rows can fit them exactly |
| tall | 1024 | the classes, one-hot; they cannot be fitted |

Parameter error is ‖W − W*‖²/‖W*‖² with W* the minimum (least squares: exact; cross-entropy: with a ridge of 0.01, by
L-BFGS), excess training loss is over its value at zero weights. Optimisers and steps are those of
`edgelaw.probe.train`. Accuracy means nothing in the problem "taught", whose targets are not the classes.
""",
)


def problem(name, split, pool):
    """The probe of one split."""
    rows = PROBLEMS[name][0]
    made = probe.split(pool.features, pool.labels, rows, DIMS, HELD, rng=split)
    return made.taught(rng=1000 + split) if name == "taught" else made


def indices(order, rows, epochs, seed):
    """The order of one run, (epochs, rows)."""
    if order == "shuffle=True":
        sampler = RandomSampler(range(rows), generator=torch.Generator().manual_seed(seed))
        return np.array([list(sampler) for _ in range(epochs)])
    return orders.stream(order, rows, seed).epochs(0, epochs)


def cell(name, loss, optimiser, batch, step, splits=range(SPLITS), names=ORDERS, pool=None):
    """One cell: measurements (splits, orders, epochs, 3) and the minimum's accuracy on each split."""
    pool = embeddings.cifar10() if pool is None else pool
    (rows, epochs), ridge = PROBLEMS[name], RIDGE if loss == "cross_entropy" else 0.0
    probes = [problem(name, split, pool) for split in splits]
    best = [probe.optimum(one, loss, ridge) for one in probes]
    runs = [one for one in probes for _ in names]
    visits = np.stack([indices(order, rows, epochs, split) for split in splits for order in names])
    measured = []
    for n, W in enumerate(probe.train(runs, visits, loss, optimiser, step, batch, ridge)):
        if n in RECORD[epochs]:
            measured.append(
                [
                    probe.measure(one, w, loss, best[k // len(names)], ridge)
                    for k, (one, w) in enumerate(zip(runs, W, strict=True))
                ]
            )
    shape = len(RECORD[epochs]), len(probes), len(names), 3
    accuracy = [probe.measure(p, b, loss, b, ridge)[2] for p, b in zip(probes, best, strict=True)]
    return np.array(measured).reshape(shape).transpose(1, 2, 0, 3), np.array(accuracy)


def exact(step, splits=range(SPLITS // 3), pool=None):
    """What the eigenvalues of each split say of "taught": (splits, orders, epochs, 2), without the null direction."""
    pool = embeddings.cifar10() if pool is None else pool
    predicted = []
    for split in splits:
        values = gram_eigenvalues(problem("taught", split, pool).X, method="gram")
        null = (values == 0).mean()
        curves = losses.predicted(values, RECORD[40], step)
        curves[:, 0] = (curves[:, 0] - null) / (1 - null)
        predicted.append(curves)
    return np.array(predicted).transpose(0, 1, 3, 2)


def recorded(number):
    """One cell, as it is kept."""
    measured, accuracy = cell(*CELLS[number])
    return {"measured": measured.astype(np.float32), "accuracy": accuracy}


def gathered(parts):
    """The arrays that ship."""
    arrays = {"orders": ORDERS, "cells": json.dumps(CELLS)}
    arrays |= {f"epochs {name}": RECORD[epochs] for name, (_, epochs) in PROBLEMS.items()}
    for number in range(len(CELLS)):
        part = parts[f"cell {number}"]
        arrays[f"cell {number}"], arrays[f"best {number}"] = part["measured"], part["accuracy"]
    return arrays | {f"exact {step}": parts[f"exact {step}"]["losses"].astype(np.float32) for step in EXACT}


def main(argv=None):
    """Run it from the command line."""
    torch.set_num_threads(1)
    cells = {f"cell {number}": functools.partial(recorded, number) for number in range(len(CELLS))}
    cells |= {f"exact {step}": lambda step=step: {"losses": exact(step)} for step in EXACT}
    SWEEP.run(SWEEP.parser(__doc__).parse_args(argv), cells, gathered)


if __name__ == "__main__":
    main()
