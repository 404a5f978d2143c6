"""The paper's preprocessing, step by step, for a matrix in memory and for a file read in blocks alike.

:func:`plan` decides what is done before any number is read; :func:`project` and :func:`standardize` do it to a block of
rows: :func:`preprocess` to an array as one block, :class:`edgelaw_app.files.Design` to a file block by block.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from edgelaw._common import arguments
from edgelaw._common.types import Array, ArrayLike, Rng

NEGLIGIBLE = 1e-12  # what rounding leaves of a row that is the mean, relative to the size of rows
LARGEST = 1e100  # squares of larger entries would overflow
SMALLEST = 1e-140  # squares of the entries of a shorter row vanish, or lose their digits
CACHED = 2**16  # entries of a part of a block that stays in the processor's cache through all steps


class Preprocessed(NamedTuple):
    """What :func:`preprocess` made, and how."""

    X: Array  #: The matrix (m, d), float64.
    rows: np.ndarray  #: Which rows of the input these are, in this order.
    #: How many eigenvalues of ``X.T @ X / m`` are zero by construction, whatever the data: d - m + 1 after
    #: centring when m <= d (so exactly 1 when m = d), d - m without centring when m < d, else 0.
    null: int
    steps: tuple[str, ...]  #: What was done, one sentence per step, in order.


class Plan(NamedTuple):
    """What will be done to a matrix of a given shape."""

    shape: tuple[int, int]  # (m, d), after rows were chosen and columns projected
    chosen: np.ndarray | None  # which rows, in this order; None for all in theirs
    generator: np.random.Generator | None  # before the projection was drawn; None without one
    center: bool
    normalize: bool
    null: int  # how many eigenvalues of XᵀX/m are zero by construction
    steps: tuple[str, ...]  # what is done, one sentence per step

    def projection(self, columns: int) -> Array | None:
        """The Gaussian matrix (columns, d) of entry variance 1/d, the same whenever it is asked for; or None."""
        if self.generator is None:
            return None
        d = self.shape[1]
        return copy.deepcopy(self.generator).standard_normal((columns, d)) / np.sqrt(d)


def plan(
    available: int,
    columns: int,
    rows: int | None,
    dims: int | None,
    rng: Rng,
    center: bool = True,
    normalize: bool = True,
) -> Plan:
    """Choose the rows, fix the projection and describe what will be done to an (available, columns) matrix."""
    seed = None if isinstance(rng, np.random.Generator | np.random.SeedSequence) else rng
    seed_note = "" if seed is None else f" (seed {seed})"
    generator, before = arguments.generator(rng), None
    m, d, chosen = available, columns, None
    steps = [f"Kept all {available} rows in their order."]
    if rows is not None:
        m = arguments.whole(rows, "rows", 2)
        if m > available:
            raise ValueError(f"rows must be at most the {available} that X has, not {m}.")
        chosen = generator.choice(available, m, replace=False)
        steps = [f"Chose {m} of {available} rows at random without replacement{seed_note}."]
    if dims is None:
        steps.append(f"Kept all {columns} columns, without a projection.")
    else:
        d = arguments.whole(dims, "dims", 2)
        if d > columns:
            raise ValueError(f"dims must be at most the {columns} columns that X has, not {d}.")
        before = copy.deepcopy(generator)
        if generator is rng:
            generator.standard_normal((columns, d))  # the caller's generator moves on
        seed_note = seed_note.replace(")", ", after the rows)")
        steps.append(
            f"Projected {columns} columns to {d} with a Gaussian matrix of entry variance 1/{d}{seed_note}."
        )
    null = max(d - (m - 1 if center else m), 0)
    if center:
        left = f", which leaves {null} null direction{'s' if null > 1 else ''}" if null else ""
        steps.append(f"Subtracted the mean row{left}.")
    if normalize:
        steps.append(f"Scaled every row to norm sqrt({d}).")
    return Plan((m, d), chosen, before, bool(center), bool(normalize), null, tuple(steps))


class Norms:
    """Refuses a row that cannot be scaled: zero, or, after centring, rounding beside the size of all rows."""

    def __init__(self, mean: Array | None) -> None:
        self._mean = 0.0 if mean is None else float(_lengths(mean[None].copy())[1][0])
        self._negligible = 0.0 if mean is None else NEGLIGIBLE
        self._reason = "is zero" if mean is None else "equals the mean row"
        self.smallest, self.row, self.largest = np.inf, -1, 0.0

    def add(self, norms: Array, rows: Sequence[int] | np.ndarray) -> None:
        """Take the norms of some rows and the numbers of these rows."""
        where = int(norms.argmin())
        self._take(float(norms[where]), int(rows[where]), float(norms.max()))

    def merge(self, other: Norms) -> None:
        """Take the extremes of another part of the rows."""
        self._take(other.smallest, other.row, other.largest)

    def _take(self, smallest: float, row: int, largest: float) -> None:
        """Refuse the shortest row so far, if it is negligible beside the others and the mean."""
        if smallest < self.smallest:
            self.smallest, self.row = smallest, row
        self.largest = max(self.largest, largest)
        if self.smallest <= self._negligible * (self._mean + self.largest):
            raise ValueError(
                f"Row {self.row} of X {self._reason}, so it cannot be scaled to norm sqrt(d); leave it out."
            )


def project(block: np.ndarray, projection: Array | None, out: Array | None = None) -> np.ndarray:
    """Multiply rows by the projection, in float64; without a projection they are returned as they are."""
    if projection is None:
        return block
    return np.matmul(block.astype(np.float64, copy=False), projection, out=out)


def standardize(
    block: np.ndarray,
    mean: Array | None,
    norms: Norms | None,
    numbers: Sequence[int] | np.ndarray,
    out: Array,
) -> None:
    """Subtract the mean from rows (None: no centring) and scale them to norm √d (`norms` None: no scaling).

    `numbers` are the rows' numbers; `out`, which may be `block` itself, receives the result in float64.
    """
    tall = max(1, CACHED // out.shape[1])
    for first in range(0, len(out), tall):
        part, rows = out[first : first + tall], block[first : first + tall]
        if mean is not None:
            np.subtract(rows, mean, out=part)
        elif out is not block:
            part[...] = rows
        if norms is not None:
            lengths, before = _lengths(part)
            norms.add(before, numbers[first : first + tall])
            part *= (np.sqrt(part.shape[1]) / lengths)[:, None]


def _lengths(rows: Array) -> tuple[Array, Array]:
    """Norms of rows, and what they were before very short ones were enlarged in place, lest their squares vanish."""
    lengths = np.linalg.norm(rows, axis=1)
    short = lengths < SMALLEST
    if not short.any():
        return lengths, lengths
    peaks = np.where(short, np.abs(rows).max(axis=1), 1.0)
    peaks[peaks == 0] = 1.0
    rows /= peaks[:, None]
    lengths = np.linalg.norm(rows, axis=1)
    return lengths, peaks * lengths


def preprocess(
    X: ArrayLike,
    rows: int | None,
    dims: int | None,
    rng: Rng,
    center: bool = True,
    normalize: bool = True,
) -> Preprocessed:
    r"""Subsample, project, centre and normalise embeddings, in the order of the paper's Section 6.

    1. Choose `rows` of the rows at random, without replacement (None keeps all, in their order).
    2. Multiply by a Gaussian matrix with entries of variance 1/`dims`, to `dims` columns (None: no projection). With as
       many as there are it is applied, too, because it changes the spectrum; more would depend on each other: refused.
    3. Subtract the mean of the rows (`center`).
    4. Scale every row to norm :math:`\sqrt d` (`normalize`), so that :math:`H = X^\top X/m` has mean eigenvalue 1.

    **The null direction.** Centring makes the rows dependent, also after scaling, :math:`(D^{-1}\mathbf 1)^\top D X =
    0`, and with m = d exactly one eigenvalue of H is zero, by construction and not because of the data. SGD never moves
    along it, so that ‖w‖² levels off at `null`/d of its start. To have none, pass ``center=False`` or ``rows > dims``.

    Examples
    --------
    >>> import numpy as np
    >>> made = preprocess(np.random.default_rng(0).normal(size=(100, 40)), rows=16, dims=16, rng=1)
    >>> print(*made.steps, sep="\n")
    Chose 16 of 100 rows at random without replacement (seed 1).
    Projected 40 columns to 16 with a Gaussian matrix of entry variance 1/16 (seed 1, after the rows).
    Subtracted the mean row, which leaves 1 null direction.
    Scaled every row to norm sqrt(16).
    """
    features = _finite(X)
    available, columns = features.shape
    made = plan(available, columns, rows, dims, rng, center, normalize)
    chosen = np.arange(available) if made.chosen is None else made.chosen
    selected = features[chosen].astype(np.float64, copy=False)  # by numbers, so a copy already
    projected = project(selected, made.projection(columns))
    mean = projected.mean(axis=0) if center else None
    standardize(projected, mean, Norms(mean) if normalize else None, chosen, out=projected)
    return Preprocessed(projected, chosen, made.null, made.steps)


def _finite(values: ArrayLike) -> np.ndarray:
    """A real, finite matrix in its own dtype: a large float16 array is not copied before it is subsampled."""
    X = arguments.unread_matrix(values)
    if not all(np.isfinite(X[i : i + 4096]).all() for i in range(0, len(X), 4096)):
        raise ValueError("X must be finite, but it contains NaN or infinity.")
    if X.dtype.kind == "f" and X.dtype.itemsize > 4 and max(X.max(), -X.min()) > LARGEST:
        raise ValueError(f"X must have entries below {LARGEST:g} in size, so that their squares are finite.")
    return X
