"""The four orders, and torch's own shuffle, in PyTorch: linear probes with every order at its own best step.

    python data/build/torch_probe.py data/torch_probe.npz

A *grid* is a problem, a loss, an optimiser and a batch size. In each, six splits of the data, on each split five runs
that differ in the order of their rows only, and one ladder of steps for all orders, which is extended until the best
step of every order, for parameter error and for training loss, after few epochs and after all, lies inside it. A
*cell* is one step, with more epochs recorded. A grid takes up to a minute and a half of one core; an interrupted run
continues.
"""

import functools
import json

import losses
import numpy as np
import torch
from sweep import Sweep
from torch.utils.data import RandomSampler

from edgelaw import data, orders
from edgelaw.data import normalize_rows
from edgelaw.spectrum import gram_eigenvalues
from edgelaw_app.learning_rate import learning_rate
from edgelaw_app.training import probe

DIMS, HELD, SPLITS, RIDGE = 256, 1400, 6, 0.01
ORDERS = (*orders.ORDERS, "shuffle=True")
PROBLEMS = {  # rows, epochs
    "isotropic": (256, 40),
    "isotropic tall": (1024, 12),
    "isotropic noisy": (1024, 12),
    "wide": (128, 40),
    "taught": (256, 40),
    "taught tall": (1024, 12),
    "labels": (256, 40),
    "tall": (1024, 12),
}
RECORD = {40: (1, 2, 5, 10, 20, 30, 40), 12: (1, 2, 3, 4, 6, 9, 12)}
BUDGETS = {40: (5, 40), 12: (3, 12)}  # few epochs, and all
EXACT = 0.25, 0.5, 1.0, 1.5  # 0.25 is eight over a batch of 32
LARGEST = 1e30  # a loss that has diverged
# problem, loss, optimiser, batch, step (for Adam: its lr)
CELLS = (
    ("taught", "squares", "sgd", 1, 0.5),
    ("taught", "squares", "sgd", 1, 1.0),
    ("taught", "squares", "sgd", 1, 1.5),
    ("taught", "squares", "momentum", 1, 1.0),
    ("taught", "squares", "sgd", 32, 8.0),
    ("labels", "cross_entropy", "sgd", 1, 1.2),
    ("tall", "squares", "sgd", 1, 0.3),
    ("tall", "cross_entropy", "sgd", 1, 1.2),
)
STUDIED = {  # problem and loss: the optimisers
    ("isotropic", "squares"): ("sgd", "momentum", "adam"),
    ("isotropic tall", "squares"): ("sgd",),
    ("isotropic noisy", "squares"): ("sgd",),
    ("wide", "squares"): ("sgd",),
    ("taught", "squares"): ("sgd", "momentum", "adam", "decay"),
    ("taught tall", "squares"): ("sgd",),
    ("labels", "squares"): ("sgd",),
    ("labels", "cross_entropy"): ("sgd",),
    ("tall", "squares"): ("sgd", "momentum", "adam", "decay"),
    ("tall", "cross_entropy"): ("sgd", "momentum", "adam", "decay"),
}
GRIDS = tuple(
    (*studied, optimiser, batch)
    for studied, optimisers in STUDIED.items()
    for optimiser in optimisers
    for batch in (1, 32)
)
NOISY = "isotropic noisy", "tall"
SWEEP = Sweep(
    "torch_probe",
    title="Linear probes in PyTorch, every order at its own best step, by optimiser, batch and loss",
    source="computed from data/cifar10_resnet50.npz and Gaussian rows by torch, float64",
    seed=0,
    keys=(
        "orders: the names, the fifth is DataLoader's own shuffle",
        "grids: JSON, a list of [problem, loss, optimiser, batch];  steps NUMBER: the ladder of a grid",
        "grid NUMBER: (steps, orders, budgets, 3) float32: mean over splits of log parameter error, of log excess"
        " training loss, of held-out accuracy",
        "tuned NUMBER: (splits, orders, budgets, losses, 2) float32: the loss and the accuracy at the step that is best"
        " in the mean for this order, budget and loss (0 parameter error, 1 excess training loss)",
        "budgets PROBLEM: the two numbers of epochs;  epochs PROBLEM: those recorded in its cells",
        "cells: JSON, a list of [problem, loss, optimiser, batch, step]",
        "cell NUMBER: (splits, orders, epochs, 3) float32: parameter error, excess training loss, held-out accuracy",
        "exact STEP: (four splits, orders, epochs, 2) float32: predicted from the eigenvalues, problem taught",
    ),
    prose="""
# Linear probes in PyTorch

Ten outputs, 256 dimensions, rows of norm 16. CIFAR-10 rows: a split's seed chooses training rows, 1400 held-out rows
and a Gaussian projection of the 2048 features (`edgelaw_app.training.probe.split`). Isotropic rows: Gaussian, scaled.
The order streams have the split's number as their seed.

| problem | rows | targets |
|---|---|---|
| isotropic | 256, Gaussian | X Wᵀ for a Gaussian W: no noise |
| isotropic tall | 1024, Gaussian | X Wᵀ: no noise |
| isotropic noisy | 1024, Gaussian | X Wᵀ and Gaussian noise of the same variance: they cannot be fitted |
| wide | 128, CIFAR-10 | X Wᵀ: no noise |
| taught | 256, CIFAR-10 | X Wᵀ: no noise |
| taught tall | 1024, CIFAR-10 | X Wᵀ: no noise |
| labels | 256, CIFAR-10 | the classes, one-hot; the rows can fit them exactly |
| tall | 1024, CIFAR-10 | the classes, one-hot; they cannot be fitted |

Parameter error is ‖W − W*‖²/‖W*‖² with W* the minimum (least squares: exact, of smallest norm; cross-entropy: with a
ridge of 0.01, by L-BFGS), excess training loss is over its value at zero weights. Optimisers:
`torch.optim.SGD` at lr = step/d, the same with momentum 0.9 and lr = 0.1 step/d, `torch.optim.Adam` at lr = step, and
(decay) SGD whose step in epoch n = 0, 1, ... is step/(1 + n/5). Steps are powers of √2; for batches of 1 and least
squares by SGD, 1.25, 1.5, 1.75 and 1.95 stand between 1 and 2. A grid's ladder is the same for all orders and has the
best step of each order, for both losses and both budgets, inside. Losses above 1e30 are kept as 1e30. Accuracy means
nothing where the targets are not the classes.
""",
)


@functools.cache
def pool():
    """The features that ship."""
    return data.cifar10()


@functools.cache
def problem(name, split):
    """The probe of one split."""
    rows, rng = PROBLEMS[name][0], 1000 + split
    if not name.startswith("isotropic"):
        made = probe.split(pool().features, pool().labels, rows, DIMS, HELD, rng=split)
        return made if name in ("labels", "tall") else made.taught(rng=rng)
    draw = np.random.default_rng(split)
    X = normalize_rows(draw.standard_normal((rows, DIMS)))
    classes = np.zeros(rows, dtype=int)
    made = probe.Probe(X, classes, np.zeros((rows, 10)), X[:1], classes[:1]).taught(rng=rng)
    if name == "isotropic noisy":
        made.targets[:] += draw.standard_normal(made.targets.shape)
    return made


@functools.cache
def optimum(name, split, loss):
    """Its minimum."""
    return probe.optimum(problem(name, split), loss, ridge(loss))


def ridge(loss):
    """Weight decay: cross-entropy needs one for a minimum to exist."""
    return RIDGE if loss == "cross_entropy" else 0.0


def stepper(kind, parameter, step, ridge):
    """The optimiser of this kind, and its schedule by epoch."""
    rate, momentum = learning_rate(step, parameter.shape[-1], loss="half_sum"), 0.9 * (kind == "momentum")
    if kind == "adam":
        optimiser = torch.optim.Adam([parameter], lr=step, weight_decay=ridge, fused=True)
    else:
        optimiser = torch.optim.SGD(
            [parameter], lr=(1 - momentum) * rate, momentum=momentum, weight_decay=ridge, fused=True
        )
    halving = 5 if kind == "decay" else np.inf  # epochs
    return optimiser, torch.optim.lr_scheduler.LambdaLR(optimiser, lambda n: 1 / (1 + n / halving))


def train(probes, visits, loss, optimiser, step, batch, ridge):
    """Many probes at once, each through its own order: the weights (runs, K, d) after every epoch, 0 included.

    `visits` has the orders, (runs, epochs, m). SGD, momentum and Adam act on each number separately, so this is what
    a loop like `edgelaw_app.training.probe.train_one` would do run by run, to rounding, in the time of a few.
    """
    visits, run = torch.tensor(visits), torch.arange(len(probes))[:, None]
    X = torch.tensor(np.stack([one.X for one in probes]))
    aims = "targets" if loss == "squares" else "labels"
    Y = torch.tensor(np.stack([getattr(one, aims) for one in probes]))
    W = torch.zeros(len(probes), probes[0].targets.shape[1], X.shape[2], dtype=torch.float64)
    W.grad = torch.zeros_like(W)
    rule, schedule = stepper(optimiser, W, step, ridge)
    yield W.numpy().copy()
    for n in range(visits.shape[1]):
        for places in visits[:, n].split(batch, dim=1):
            x, y = X[run, places], Y[run, places]
            slope = torch.bmm(x, W.transpose(1, 2))
            if loss == "squares":
                slope -= y
            else:
                slope = slope.softmax(2)
                slope.scatter_add_(2, y[:, :, None], torch.full_like(slope[:, :, :1], -1))
            torch.bmm(slope.transpose(1, 2), x, out=W.grad)
            W.grad /= places.shape[1]
            rule.step()
        schedule.step()
        yield W.numpy().copy()


@functools.cache
def indices(order, rows, epochs, seed):
    """The order of one run, (epochs, rows)."""
    if order == "shuffle=True":
        sampler = RandomSampler(range(rows), generator=torch.Generator().manual_seed(seed))
        return np.array([list(sampler) for _ in range(epochs)])
    return orders.stream(order, rows, seed).epochs(0, epochs)


def cell(name, loss, optimiser, batch, step, splits=range(SPLITS), names=ORDERS, record=None):
    """One step: parameter error, excess training loss and held-out accuracy, (splits, orders, epochs, 3)."""
    rows, epochs = PROBLEMS[name]
    record = RECORD[epochs] if record is None else record
    runs = [(problem(name, split), optimum(name, split, loss)) for split in splits for _ in names]
    visits = np.stack([indices(order, rows, epochs, split) for split in splits for order in names])
    measured = []
    weights = train([one for one, _ in runs], visits, loss, optimiser, step, batch, ridge(loss))
    for n, W in enumerate(weights):
        if n in record:
            W = np.clip(np.nan_to_num(W, nan=LARGEST), -LARGEST, LARGEST)
            values = [
                probe.measure(one, w, loss, best, ridge(loss)) for (one, best), w in zip(runs, W, strict=True)
            ]
            measured.append(np.clip(values, 0, LARGEST))
    return np.array(measured).reshape(len(record), len(splits), len(names), 3).transpose(1, 2, 0, 3)


def rung(k, fine):
    """The k-th step of the ladder: powers of √2; `fine` has four between 1 and 2."""
    if fine and k > 0:
        return (1.25, 1.5, 1.75, 1.95, 2.0)[k - 1] if k < 6 else 2 ** ((k - 3) / 2)
    return 2 ** (k / 2)


def start(name, loss, optimiser, batch):
    """Where the ladder begins: the lowest and the highest rung that are tried in any case."""
    if optimiser == "adam":
        return (-24, -22) if batch == 1 else (-18, -16)
    if loss == "cross_entropy":
        return (0, 2) if batch == 1 else (8, 10)
    if batch > 1:
        return (4, 6)
    return (-6, -4) if name in NOISY else (-1, 5)


def best_steps(means):
    """The rung with the least mean log loss, (orders, budgets, losses), of an array (steps, orders, budgets, 3)."""
    return means[..., :2].argmin(axis=0)


def tuned(name, loss, optimiser, batch, splits=range(SPLITS), names=ORDERS, budgets=None):
    """One grid: its steps, the means (steps, orders, budgets, 3) and the runs (splits, orders, budgets, losses, 2)."""
    fine = loss == "squares" and batch == 1 and optimiser != "adam"
    budgets = BUDGETS[PROBLEMS[name][1]] if budgets is None else budgets
    (low, high), by_rung = start(name, loss, optimiser, batch), {}
    while True:
        for k in range(low, high + 1):
            if k not in by_rung:
                by_rung[k] = cell(name, loss, optimiser, batch, rung(k, fine), splits, names, budgets)
        runs = np.stack([by_rung[k] for k in range(low, high + 1)])
        means = np.concatenate([np.log(runs[..., :2]), runs[..., 2:]], axis=-1).mean(axis=1)
        best = best_steps(means)
        low, high = low - (best.min() == 0), high + (best.max() == len(means) - 1)
        if high - low + 1 == len(means):
            break
        if len(means) > 30:
            raise RuntimeError("No best step within 30 rungs.")
    steps = [rung(k, fine) for k in range(low, high + 1)]
    return np.array(steps), means, at_best(runs, best)


def at_best(runs, best):
    """Each order's loss and accuracy at its best step, (splits, orders, budgets, losses, 2)."""
    orders_, budgets, kinds = np.indices(best.shape)
    own = runs[best, :, orders_, budgets, kinds]  # (orders, budgets, losses, splits)
    accuracy = runs[best, :, orders_, budgets, 2]
    return np.moveaxis(np.stack([own, accuracy], axis=-1), 3, 0)


def exact(step, splits=range(4)):
    """What the eigenvalues of each split say of "taught": (splits, orders, epochs, 2), without the null direction."""
    predicted = []
    for split in splits:
        values = gram_eigenvalues(problem("taught", split).X, method="gram")
        null = (values == 0).mean()
        curves = losses.predicted(values, RECORD[40], step)
        curves[:, 0] = (curves[:, 0] - null) / (1 - null)
        predicted.append(curves)
    return np.array(predicted).transpose(0, 1, 3, 2)


def recorded(number):
    """One grid, as it is kept."""
    steps, means, runs = tuned(*GRIDS[number])
    return {"steps": steps, "means": means.astype(np.float32), "runs": runs.astype(np.float32)}


def gathered(parts):
    """The arrays that ship."""
    arrays = {"orders": ORDERS, "cells": json.dumps(CELLS), "grids": json.dumps(GRIDS)}
    for name, (_, epochs) in PROBLEMS.items():
        arrays |= {f"epochs {name}": RECORD[epochs], f"budgets {name}": BUDGETS[epochs]}
    for number in range(len(GRIDS)):
        part = parts[f"grid {number}"]
        arrays |= {f"steps {number}": part["steps"], f"grid {number}": part["means"]}
        arrays[f"tuned {number}"] = part["runs"]
    for number in range(len(CELLS)):
        arrays[f"cell {number}"] = parts[f"cell {number}"]["measured"].astype(np.float32)
    return arrays | {f"exact {step}": parts[f"exact {step}"]["losses"].astype(np.float32) for step in EXACT}


def main(argv=None):
    """Run it from the command line."""
    torch.set_num_threads(1)
    work = {f"cell {k}": lambda one=one: {"measured": cell(*one)} for k, one in enumerate(CELLS)}
    work |= {f"exact {step}": lambda step=step: {"losses": exact(step)} for step in EXACT}
    work |= {f"grid {number}": functools.partial(recorded, number) for number in range(len(GRIDS))}
    SWEEP.run(SWEEP.parser(__doc__).parse_args(argv), work, gathered)


if __name__ == "__main__":
    main()
