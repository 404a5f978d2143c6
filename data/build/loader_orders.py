"""What the orders of data loaders cost: shuffle buffers and block shuffles on files that are sorted or not.

    python data/build/loader_orders.py data/loader_orders.npz

Gaussian rows and the two shipped embeddings, 256 rows in 256 dimensions, as files that are in random order, sorted by
label, or sorted along the rows' top direction; buffers from one row to all rows, blocks and shards of an eighth of
them; losses from all starts. And the floors of the same orders where the targets are noise. About three minutes on one
core; an interrupted run continues.
"""

import functools
import itertools

import losses
import numpy as np
from sweep import Sweep

from edgelaw import data, kaczmarz
from edgelaw.orders import BlockShuffle, ShuffleBuffer

SEED, SIZE, SEEDS = 15, 256, 6
BUFFERS = (1, 4, 8, 16, 32, 64, 128, 256)  # the first is the file's order, the last random reshuffle
EIGHTH = SIZE // 8
BLOCKS = {
    "rows shuffled inside blocks": BlockShuffle(EIGHTH),
    "blocks shuffled, rows not": BlockShuffle(1, shard=EIGHTH),
    "blocks and rows shuffled": BlockShuffle(EIGHTH, shard=EIGHTH),
}
STEPS = (0.5, 1.0, 1.5, 1.9)
EPOCHS = (1, 2, 5, 10, 20, 30)
FILES = (
    ("gaussian", "random"),
    ("gaussian", "top"),
    ("cifar10", "random"),
    ("cifar10", "label"),
    ("cifar10", "top"),
    ("wikipedia", "random"),
    ("wikipedia", "label"),
    ("wikipedia", "top"),
)
# floors: more rows than dimensions, or there would be none
FLOOR_FILES, FLOOR_SHAPE, FLOOR_SEEDS = ("random", "target"), (256, 128), 8
SETTLED, FLOOR_EPOCHS = 40, 240
SWEEP = Sweep(
    "loader_orders",
    title="Shuffle buffers and block shuffles: losses on sorted and unsorted files, and floors under noise",
    source="cifar10_resnet50.npz and wikipedia_mpnet.npz beside this file; Gaussian rows by edgelaw.data",
    seed=SEED,
    keys=(
        "files: data set and how its file is sorted; rows, buffers, blocks, steps, epochs",
        "reshuffled: mean logarithm of the last buffer's loss, (files, steps, test or training, epochs)",
        "ratios, ratio_errors: mean over seeds of log(loss / the last buffer's) and its standard error, "
        "(files, steps, buffers, test or training, epochs)",
        "block_ratios, block_errors: the same for the blocks at step 1, (files, blocks, test or training, epochs)",
        "floor_files, floor_shape",
        "floors, floor_errors: the same for floors under noise, (floor files, steps, buffers, test or training)",
    ),
    licence="as the project; numbers computed from the arrays named above",
    prose="""
# What a shuffle buffer costs

Losses from all starts after the recorded epochs. A seed draws the Gaussian rows, or chooses the embeddings' rows and
draws their projection (`edgelaw.data.preprocess`), and is one run of the order. Files are in random order, sorted by
label, or sorted along the top right singular vector of the unit rows. A buffer of one row is the file's own order, a
buffer of all rows random reshuffle; `edgelaw.orders` defines them. For the floors the targets are independent normal
numbers, and the file is in random order or sorted by target; a floor is the mean over 200 epochs from the 40th on.
There are six seeds, for the floors eight.

Wikipedia's text is by its contributors, CC BY-SA 4.0 (see `wikipedia_mpnet.md`); nothing of it is in this file.
""",
)


def rows(name, sorting, seed):
    """The rows of one file, in its order, in float32."""
    rng = np.random.default_rng([SEED, seed])
    if name == "gaussian":
        X, labels = data.normalize_rows(data.gaussian(SIZE, SIZE, rng)), None
    else:
        embeddings = data.load(name)
        prepared = data.preprocess(embeddings.features, rows=SIZE, dims=SIZE, rng=seed)
        X, labels = prepared.X, embeddings.labels[prepared.rows]
    if sorting == "label":
        X = X[labels.argsort(kind="stable")]
    elif sorting == "top":
        X = X[(X @ np.linalg.svd(X)[2][0]).argsort()]
    else:  # preprocessing may leave the rows in the file's order
        X = X[rng.permutation(SIZE)]
    return X.astype(np.float32)


def measure(X, order, step, seed):
    """Test and training loss from all starts: (2, epochs)."""
    curve = kaczmarz.simulate(X, order, EPOCHS, step, rng=seed, starts="all")
    return losses.of_curve(curve).astype(np.float32)


def cell(name, sorting, seed):
    """All orders on one file."""
    X = rows(name, sorting, seed)
    buffers = [[measure(X, ShuffleBuffer(size), step, seed) for size in BUFFERS] for step in STEPS]
    return {"losses": buffers, "block_losses": [measure(X, order, 1.0, seed) for order in BLOCKS.values()]}


def floor(U, targets, order, step, seed, normalised=True):
    """Mean squared distance from the least-squares solution and mean excess, at the ends of epochs, over the noise."""
    best = np.linalg.lstsq(U, targets, rcond=None)[0]
    record = range(SETTLED, FLOOR_EPOCHS)
    problem = kaczmarz.Problem(U, targets, normalised=normalised)
    walk = kaczmarz.iterates(problem, order, record, best, step, rng=seed)
    away = np.array([w - best for n, w in walk if n])
    noise = np.mean((U @ best - targets) ** 2)
    return (away**2).sum(axis=1).mean() / noise, ((away @ U.T) ** 2).mean() / noise


def floor_cell(sorting, seed):
    """The floors of all buffers for one draw of rows and targets."""
    rng = np.random.default_rng([SEED, 1, seed])
    U, targets = data.gaussian(*FLOOR_SHAPE, rng), rng.standard_normal(FLOOR_SHAPE[0])
    U /= np.linalg.norm(U, axis=1)[:, None]
    if sorting == "target":
        order = targets.argsort()
        U, targets = U[order], targets[order]
    return {
        "floors": [[floor(U, targets, ShuffleBuffer(size), step, seed) for size in BUFFERS] for step in STEPS]
    }


def compared(values, reference):
    """The mean over seeds (the second axis) of log(values / reference), and its standard error."""
    logs = np.log(np.asarray(values, dtype=float) / reference)
    return logs.mean(axis=1).astype(np.float16), (logs.std(axis=1, ddof=1) / np.sqrt(logs.shape[1])).astype(
        np.float16
    )


def gathered(parts):
    """The arrays that ship."""
    arrays = {"files": [" ".join(file) for file in FILES], "rows": SIZE, "buffers": BUFFERS}
    arrays |= {"blocks": list(BLOCKS), "steps": STEPS, "epochs": EPOCHS}
    arrays |= {"floor_files": FLOOR_FILES, "floor_shape": FLOOR_SHAPE}
    stacked = {}
    for key, shape in (
        ("losses", (len(FILES), SEEDS)),
        ("block_losses", (len(FILES), SEEDS)),
        ("floors", (len(FLOOR_FILES), FLOOR_SEEDS)),
    ):
        array = np.array([part[key] for part in parts.values() if key in part], dtype=float)
        stacked[key] = array.reshape(*shape, *array.shape[1:])
    last = stacked["losses"][:, :, :, -1:]
    arrays["reshuffled"] = np.log(last[:, :, :, 0]).mean(axis=1).astype(np.float32)
    arrays["ratios"], arrays["ratio_errors"] = compared(stacked["losses"], last)
    arrays["block_ratios"], arrays["block_errors"] = compared(
        stacked["block_losses"], last[:, :, STEPS.index(1.0)]
    )
    arrays["floors"], arrays["floor_errors"] = compared(stacked["floors"], stacked["floors"][:, :, :, -1:])
    return arrays


def main(argv=None):
    """Run it from the command line."""
    cells = {
        f"{name} {sorting} {seed}": functools.partial(cell, name, sorting, seed)
        for (name, sorting), seed in itertools.product(FILES, range(SEEDS))
    }
    cells |= {
        f"floor {sorting} {seed}": functools.partial(floor_cell, sorting, seed)
        for sorting, seed in itertools.product(FLOOR_FILES, range(FLOOR_SEEDS))
    }
    SWEEP.run(SWEEP.parser(__doc__).parse_args(argv), cells, gathered)


if __name__ == "__main__":
    main()
