"""Sorted files through a shuffle buffer: by norm for plain SGD, and floors under noise for every kind of sorting.

    python data/build/sorted_files.py data/sorted_files.npz

Plain SGD sees the norms of the rows, so there a file sorted by norm is a sorted file. Gaussian rows and the two shipped
embeddings, 256 rows in 256 dimensions for targets that can be fitted, in 128 dimensions for floors; buffers from one
row to all rows. Two minutes on one core; an interrupted run continues.
"""

import functools
import itertools

import loader_orders
import losses
import numpy as np
from sweep import Sweep

from edgelaw import data, kaczmarz
from edgelaw.orders import ShuffleBuffer

SEED, STEP, SEEDS = 15, 0.5, 8
BUFFERS, EPOCHS, SIZE = loader_orders.BUFFERS, loader_orders.EPOCHS, loader_orders.SIZE
SOURCES = ("gaussian", "cifar10", "wikipedia")
FILES = tuple(itertools.product(SOURCES, ("random", "norm")))
UNIT, PLAIN = ("random", "label", "top", "target"), ("random", "norm")
FLOOR_FILES = tuple(
    (source, kind, sorting)
    for source in SOURCES
    for kind, sortings in (("unit", UNIT), ("plain", PLAIN))
    for sorting in sortings
    if (source, sorting) != ("gaussian", "label")
)
SWEEP = Sweep(
    "sorted_files",
    title="Shuffle buffers on files sorted by norm, and floors under noise on sorted files",
    source="cifar10_resnet50.npz and wikipedia_mpnet.npz beside this file; Gaussian rows by edgelaw.data",
    seed=SEED,
    keys=(
        "files: data set and how its file is sorted; buffers and epochs are those of loader_orders.npz",
        "reshuffled: mean logarithm of the last buffer's loss, (files, test or training, epochs), plain SGD",
        "ratios: mean over seeds of log(loss / the last buffer's) and its standard error, "
        "(mean or error, files, buffers, test or training, epochs)",
        "norms: least, largest, standard deviation of the squared norms over their mean, mean over seeds, (files, 3)",
        "floor_files: data set, unit or plain rows, and how the file is sorted",
        "floors: the same for floors under noise, (mean or error, floor files, buffers, test or training)",
    ),
    licence="as the project; numbers computed from the arrays named above",
    prose="""
# Files sorted by norm, and noise on sorted files

Plain rows keep their norms: centred, projected, and all scaled by one number so that the mean squared norm is 1; the
update is that of plain SGD. Unit rows are scaled to one norm each. A file is in random order or sorted: by norm,
ascending; by label; along the top right singular vector of the unit rows; or by target. Losses are from all starts, at
step 0.5 (times the mean squared norm for plain rows). For the floors the targets are independent normal numbers, 256
rows in 128 dimensions, and a floor is the mean over 200 epochs from the 40th on. There are eight seeds; a seed draws
the rows, their projection and the targets, and is one run of the order.

Wikipedia's text is by its contributors, CC BY-SA 4.0 (see `wikipedia_mpnet.md`); nothing of it is in this file.
""",
)


def rows(source, kind, sorting, dims, seed):
    """The rows of one file in its order, unit or plain, and their targets: independent normal numbers."""
    rng = np.random.default_rng([SEED, 2, seed])
    labels = None
    if source == "gaussian":
        X = data.gaussian(SIZE, dims, rng)
    else:
        embeddings = data.load(source)
        prepared = data.preprocess(embeddings.features, rows=SIZE, dims=dims, rng=seed, normalize=False)
        X, labels = prepared.X, embeddings.labels[prepared.rows]
    norms, targets = np.linalg.norm(X, axis=1), rng.standard_normal(SIZE)
    unit = X / norms[:, None]
    keys = {
        "random": rng.permutation(SIZE),
        "norm": norms,
        "target": targets,
        "label": labels,
        "top": unit @ np.linalg.svd(unit)[2][0],
    }
    order = np.argsort(keys[sorting], kind="stable")
    X = unit if kind == "unit" else X / np.sqrt(np.mean(norms**2))
    return X[order], targets[order]


def measure(X, order, seed):
    """Test and training loss of plain SGD from all starts: (2, epochs)."""
    curve = kaczmarz.simulate(
        kaczmarz.Problem(X, normalised=False), order, EPOCHS, STEP, rng=seed, starts="all"
    )
    return losses.of_curve(curve)


def cell(source, sorting, seed):
    """All buffers on one file of plain rows."""
    X, _ = rows(source, "plain", sorting, SIZE, seed)
    squares = (X**2).sum(axis=1)
    return {
        "losses": [measure(X.astype(np.float32), ShuffleBuffer(size), seed) for size in BUFFERS],
        "norms": [squares.min(), squares.max(), squares.std()],
    }


def floor_cell(source, kind, sorting, seed):
    """The floors of all buffers for one draw of rows and targets."""
    X, targets = rows(source, kind, sorting, SIZE // 2, seed)
    return {"floors": [floor(X, targets, ShuffleBuffer(size), seed) for size in BUFFERS]}


def floor(X, targets, order, seed):
    """The floors of plain SGD, which for unit rows is the normalised update."""
    return loader_orders.floor(X, targets, order, STEP, seed, normalised=False)


def gathered(parts):
    """The arrays that ship."""
    arrays = {
        key: [" ".join(file) for file in files]
        for key, files in (("files", FILES), ("floor_files", FLOOR_FILES))
    }
    stacked = {}
    for key, files in (("losses", FILES), ("norms", FILES), ("floors", FLOOR_FILES)):
        array = np.array([part[key] for part in parts.values() if key in part], dtype=float)
        stacked[key] = array.reshape(len(files), SEEDS, *array.shape[1:])
    compared = loader_orders.compared
    arrays["ratios"] = np.array(compared(stacked["losses"], stacked["losses"][:, :, -1:]))
    arrays["reshuffled"] = np.log(stacked["losses"][:, :, -1]).mean(axis=1).astype(np.float16)
    arrays["floors"] = np.array(compared(stacked["floors"], stacked["floors"][:, :, -1:]))
    arrays["norms"] = stacked["norms"].mean(axis=1).astype(np.float16)
    return arrays


def main(argv=None):
    """Run it from the command line."""
    cells = {
        " ".join((*file, str(seed))): functools.partial(cell, *file, seed)
        for file, seed in itertools.product(FILES, range(SEEDS))
    }
    cells |= {
        " ".join(("floor", *file, str(seed))): functools.partial(floor_cell, *file, seed)
        for file, seed in itertools.product(FLOOR_FILES, range(SEEDS))
    }
    SWEEP.run(SWEEP.parser(__doc__).parse_args(argv), cells, gathered)


if __name__ == "__main__":
    main()
