r"""Features and labels as SGD sees them: centred, with an intercept, split into training and held-out rows.

**The intercept.** For centred features the least-squares intercept is the mean target whatever the weights, because the
constant column is orthogonal to every feature. It is therefore set to that mean and not trained (``bias=False`` in
PyTorch, targets minus their mean), which is exact. Features that are not centred get a constant column of ones, which
SGD trains with the rest (``bias=True``, started at zero).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from edgelaw._common import arguments
from edgelaw._common.types import Array, ArrayLike
from edgelaw_app.files.memory import as_reader
from edgelaw_app.labels.targets import Targets

FEWEST = 4  # training rows
SMALLEST, LARGEST = 1e-140, 1e140  # mean squared norm of a row: its square and inverse are numbers, too
HeldOut = float | tuple[ArrayLike, ArrayLike] | None


@dataclass(frozen=True, eq=False)
class Prepared:
    """Rows and targets in the units of the update :math:`w \\leftarrow w - \\text{lr}\\,(x\\cdot w - t)\\,x`.

    Attributes
    ----------
    X, T : array (m, d), array (m, k)
        Training rows and their targets.
    held : pair of such arrays, or None
        Held-out rows, prepared by what was measured on the training rows.
    classes : tuple of str, or None
    feature_mean, target_mean : array
        What was subtracted: zeros where nothing was.
    constant : bool
        Whether the last column is a constant one, the trained intercept.
    normalized : bool
        Whether rows were scaled to norm √d.
    scale : float
        Mean squared norm of the training rows; lr = step/scale.
    sentences : tuple of str
        What was done.
    """

    X: Array = field(repr=False)
    T: Array = field(repr=False)
    held: tuple[Array, Array] | None = field(repr=False)
    classes: tuple[str, ...] | None
    feature_mean: Array = field(repr=False)
    target_mean: Array = field(repr=False)
    constant: bool
    scale: float
    normalized: bool
    sentences: tuple[str, ...]


def prepare(
    X: ArrayLike,
    y: ArrayLike,
    held_out: HeldOut,
    center: bool,
    intercept: bool,
    normalize: bool,
    rng: np.random.Generator,
) -> Prepared:
    """Split, centre, and set the intercept; what cannot be used is refused in one sentence."""
    rows = arguments.matrix(_dense(X, "X")).astype(np.float64, copy=False)
    targets = Targets.of(y, len(rows))
    T, sentences = targets.values, []
    held: tuple[Array, Array] | None = None
    if isinstance(held_out, tuple | list):
        held = _given(held_out, targets, rows.shape[1])
        sentences.append(f"Took the {len(held[0]):,} held-out rows as given.")
    elif held_out is not None:
        training, rest = _split(held_out, len(rows), rng)
        held = (rows[rest], T[rest])
        rows, T = rows[training], T[training]
        sentences.append(f"Held out {len(rest):,} of {len(rest) + len(rows):,} rows, drawn at random.")
        if (T == T[0]).all():
            raise ValueError("y must differ among the training rows; hold out fewer rows.")
    if (rows == rows[0]).all():
        raise ValueError(
            "X must differ among its training rows, which are all equal: that leaves nothing to train on."
        )
    feature_mean, target_mean = np.zeros(rows.shape[1]), np.zeros(T.shape[1])
    constant = bool(intercept and not center)
    if center:
        feature_mean = rows.mean(axis=0)
        sentences.append("Subtracted the training rows' mean from the features.")
    if normalize:
        sentences.append("Scaled every row to norm √d.")
    if intercept and center:
        target_mean = T.mean(axis=0)
        why = "is the intercept of centred features"
        if normalize:
            why = "stands for the intercept (scaled rows are no longer exactly centred)"
        sentences.append(f"Subtracted the mean target, which {why}.")
    if constant:
        sentences.append("Added a constant column of ones, the intercept, trained with the rest.")
    rows = _finished(rows, feature_mean, normalize, constant)
    if held is not None:
        held = (_finished(held[0], feature_mean, normalize, constant), held[1] - target_mean)
    T = T - target_mean
    after = " after centring" if center else ""
    scale = _mean_square(
        rows, f"X must be of another scale: the mean squared norm of its rows{after}", "features"
    )
    after = " after its mean is subtracted" if intercept and center else ""
    _mean_square(T, f"y must be of another scale: its mean square{after}", "labels")
    return Prepared(
        rows,
        T,
        held,
        targets.classes,
        feature_mean,
        target_mean,
        constant,
        scale,
        bool(normalize),
        tuple(sentences),
    )


def _dense(X: Any, name: str) -> Any:
    """A tensor of PyTorch (bfloat16, too) or a sparse matrix of SciPy as an array; anything else as it is."""
    if not (hasattr(X, "detach") or hasattr(X, "tocsr")):
        return X
    reader = as_reader(X, name)
    return np.concatenate(list(reader.read(0, reader.shape[0], reader.shape[0])))


def _mean_square(values: Array, what: str, name: str) -> float:
    """The mean over rows of their squared norm, which must leave room for products."""
    with np.errstate(over="ignore", under="ignore"):
        mean = float(np.einsum("ij,ij->", values, values) / len(values))
    if not SMALLEST < mean < LARGEST:
        raise ValueError(
            f"{what} must be between {SMALLEST:g} and {LARGEST:g}, not {mean:g}; multiply the {name} by a constant."
        )
    return mean


def _finished(rows: Array, mean: Array, normalize: bool, constant: bool) -> Array:
    """Rows minus the mean, of norm √d if asked, with a constant column where that is the intercept."""
    rows = rows - mean
    if normalize:
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        rows = np.sqrt(rows.shape[1]) * np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)
    return np.column_stack([rows, np.ones(len(rows))]) if constant else np.ascontiguousarray(rows)


def _given(held_out: Any, targets: Targets, columns: int) -> tuple[Array, Array]:
    """Held-out rows as they were given, checked."""
    if len(held_out) != 2:
        raise ValueError("held_out must be a fraction or a pair of features and labels.")
    name = "held-out features"
    rows = arguments.matrix(_dense(held_out[0], name), name, minimum=1).astype(np.float64, copy=False)
    if rows.shape[1] != columns:
        raise ValueError(f"held-out features must have {columns} columns, as X has, not {rows.shape[1]}.")
    return rows, targets.like(held_out[1], len(rows))


def _split(fraction: Any, rows: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Places of the training and of the held-out rows, both in the file's order."""
    part = arguments.number(fraction, "held_out (a fraction of the rows)", 0, 1)
    count = max(1, round(part * rows))
    if rows - count < FEWEST:
        raise ValueError(
            f"held_out must leave at least {FEWEST} training rows, but {part:g} of {rows} rows leaves {rows - count}."
        )
    shuffled = rng.permutation(rows)
    return np.sort(shuffled[count:]), np.sort(shuffled[:count])
