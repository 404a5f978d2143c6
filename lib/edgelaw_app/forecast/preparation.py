r"""Features and labels as SGD sees them: centred, with an intercept, split into training and held-out rows.

**The intercept.** For centred features the least-squares intercept is the mean target whatever the weights, because the
constant column is orthogonal to every feature. It is therefore set to that mean and not trained (``bias=False`` in
PyTorch, targets minus their mean), which is exact. Features that are not centred get a constant column of ones, which
SGD trains with the rest (``bias=True``, started at zero).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from edgelaw._common import arguments
from edgelaw._common.types import Array, ArrayLike
from edgelaw_app.files.memory import as_reader
from edgelaw_app.forecast.labels import Targets
from edgelaw_app.forecast.request import HeldOut

FEWEST = 4  # training rows
SMALLEST, LARGEST = 1e-140, 1e140  # mean squared norm of a row: its square and inverse are numbers, too
STEPS = ("center", "intercept", "standardize", "normalize")  # what may be done to rows and targets


@dataclass(frozen=True, eq=False)
class Prepared:
    """Rows and targets in the units of the update :math:`w \\leftarrow w - \\text{lr}\\,(x\\cdot w - t)\\,x`."""

    X: Array = field(repr=False)  # training rows
    T: Array = field(repr=False)  # their targets, (m, k)
    held: tuple[Array, Array] | None = field(repr=False)  # prepared by what was measured on the training rows
    classes: tuple[str, ...] | None
    target_mean: Array = field(repr=False)  # what was subtracted: zeros where nothing was
    done: tuple[str, ...]  # which of `STEPS` were taken
    scale: float  # mean squared norm of the training rows; lr = step/scale
    sentences: tuple[str, ...]  # what was done


def prepare(
    X: ArrayLike,
    y: ArrayLike,
    held_out: HeldOut,
    done: Iterable[str],
    rng: np.random.Generator,
    classes: bool | None = None,
) -> Prepared:
    """Split, centre, scale and set the intercept, by those of `STEPS` in `done`; what cannot be used is refused."""
    steps = tuple(one for one in STEPS if one in set(done))
    rows = arguments.matrix(_dense(X, "X")).astype(np.float64, copy=False)
    targets = Targets.of(y, len(rows), classes=classes)
    T, sentences = targets.values, list(targets.notes)
    held: tuple[Array, Array] | None = None
    if isinstance(held_out, tuple | list):
        held = _given(held_out, targets, rows.shape[1])
        sentences.append(f"Took the {len(held[0]):,} held-out rows as given.")
    elif held_out is not None:
        training, rest = _split(held_out, targets, rng)
        held = (rows[rest], T[rest])
        rows, T = rows[training], T[training]
        how = "drawn at random, in every class" if targets.classes else "drawn at random"
        sentences.append(f"Held out {len(rest):,} of {len(rest) + len(rows):,} rows, {how}.")
        if (T == T[0]).all():
            raise ValueError("y must differ among the training rows; hold out fewer rows.")
    if (rows == rows[0]).all():
        raise ValueError(
            "X must differ among its training rows, which are all equal: that leaves nothing to train on."
        )
    finish = _finisher(rows, steps)
    target_mean = np.zeros(T.shape[1])
    if {"center", "intercept"} <= set(steps):
        target_mean = T.mean(axis=0)
    sentences += _sentences(steps)
    rows, T = finish(rows), T - target_mean
    if held is not None:
        held = (finish(held[0]), held[1] - target_mean)
    after = " after centring" if "center" in steps else ""
    scale = _mean_square(
        rows, f"X must be of another scale: the mean squared norm of its rows{after}", "features"
    )
    after = " after its mean is subtracted" if target_mean.any() else ""
    _mean_square(T, f"y must be of another scale: its mean square{after}", "labels")
    return Prepared(rows, T, held, targets.classes, target_mean, steps, scale, tuple(sentences))


def _sentences(steps: tuple[str, ...]) -> list[str]:
    """What is done, a sentence each."""
    made = {
        "center": "Subtracted the training rows' mean from the features.",
        "standardize": "Divided every feature by its standard deviation on the training rows.",
        "normalize": "Scaled every row to norm √d.",
        "intercept": "Added a constant column of ones, the intercept, trained with the rest.",
    }
    if {"center", "intercept"} <= set(steps):
        why = "is the intercept of centred features"
        if "normalize" in steps:
            why = "stands for the intercept (scaled rows are no longer exactly centred)"
        made["intercept"] = f"Subtracted the mean target, which {why}."
    return [made[one] for one in ("center", "standardize", "normalize", "intercept") if one in steps]


def _finisher(rows: Array, steps: tuple[str, ...]) -> Callable[[Array], Array]:
    """What is done to rows, with what is measured on these, the training rows."""
    mean = rows.mean(axis=0) if "center" in steps else np.zeros(rows.shape[1])
    scale = np.ones(rows.shape[1])
    if "standardize" in steps:
        spread = rows.std(axis=0)
        scale = np.where(spread > 1e-12 * np.abs(rows).max(axis=0), spread, np.inf)

    def finished(rows: Array) -> Array:
        rows = (rows - mean) / scale
        if "normalize" in steps:
            norms = np.linalg.norm(rows, axis=1, keepdims=True)
            rows = np.sqrt(rows.shape[1]) * np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)
        if "intercept" in steps and "center" not in steps:
            return np.column_stack([rows, np.ones(len(rows))])
        return np.ascontiguousarray(rows)

    return finished


def _dense(X: Any, name: str) -> Any:
    """A tensor of PyTorch (bfloat16, too) or a sparse matrix of SciPy as an array; anything else as it is."""
    if np.ma.is_masked(X):
        raise ValueError(f"{name} has masked entries; drop or fill those rows first.")
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


def _given(held_out: Any, targets: Targets, columns: int) -> tuple[Array, Array]:
    """Held-out rows as they were given, checked."""
    if len(held_out) != 2:
        raise ValueError("held_out must be a fraction or a pair of features and labels.")
    name = "held-out features"
    rows = arguments.matrix(_dense(held_out[0], name), name, minimum=1).astype(np.float64, copy=False)
    if rows.shape[1] != columns:
        raise ValueError(f"held-out features must have {columns} columns, as X has, not {rows.shape[1]}.")
    return rows, targets.like(held_out[1], len(rows))


def _split(fraction: Any, targets: Targets, rng: np.random.Generator) -> tuple[Array, Array]:
    """Places of training and held-out rows, both in the file's order; classes keep their shares, and a row each."""
    rows = len(targets.values)
    part = arguments.number(fraction, "held_out (a fraction of the rows)", 0, 1)
    count = max(1, round(part * rows))
    if rows - count < FEWEST:
        raise ValueError(
            f"held_out must leave at least {FEWEST} training rows, but {part:g} of {rows} rows leaves {rows - count}."
        )
    order = rng.permutation(rows)
    if targets.classes:
        kind = targets.values.argmax(axis=1)[order]
        sizes = np.bincount(kind)
        place = np.empty(rows)
        for one, size in enumerate(sizes):
            place[kind == one] = (np.arange(size) + 0.5) / size
            place[np.flatnonzero(kind == one)[-1]] = 2.0  # one row of a class at least is trained on
        order = order[np.argsort(place, kind="stable")]
    return np.sort(order[count:]), np.sort(order[:count])
