"""The paper's preprocessing, step by step, for a matrix in memory and for a file read in blocks alike.

Which rows, which projection, what is said about it and how many eigenvalues are zero by construction: all of it is
decided here, before any number is read. The formulas of centring and scaling are here too.
"""

import copy
from typing import NamedTuple

import numpy as np

from edgelaw._common import arguments

# What rounding leaves of a row that is the mean, relative to the size of rows
NOTHING = 1e-12
LARGEST = 1e100  # squares of larger entries would overflow


class Preprocessed(NamedTuple):
    """What :func:`preprocess` made, and how.

    Attributes
    ----------
    X : ndarray of shape (m, d), float64
        The matrix.
    rows : ndarray of m integers
        Which rows of the input these are, in this order.
    null : int
        How many eigenvalues of ``X.T @ X / m`` are zero by construction, whatever the data: d - m + 1 after
        centring when m <= d (so exactly 1 when m = d), d - m without centring when m < d, else 0.
    steps : tuple of str
        What was done, one sentence a step, in order.
    """

    X: np.ndarray
    rows: np.ndarray
    null: int
    steps: tuple


class Plan(NamedTuple):
    """What will be done to a matrix of a given shape.

    Attributes
    ----------
    shape : (m, d), after rows were chosen and columns projected.
    chosen : which rows, in this order; None for all in theirs.
    generator : the generator as it was before the projection was drawn; None without a projection.
    center, normalize : whether to subtract the mean row, whether to scale rows to norm √d.
    null : how many eigenvalues of XᵀX/m are zero by construction.
    steps : what is done, one sentence a step.
    seed : the seed, or None where a generator was given.
    """

    shape: tuple
    chosen: np.ndarray | None
    generator: np.random.Generator | None
    center: bool
    normalize: bool
    null: int
    steps: tuple
    seed: int | None

    def projection(self, columns):
        """The Gaussian matrix (columns, d) of entry variance 1/d, the same whenever it is asked for; or None."""
        if self.generator is None:
            return None
        d = self.shape[1]
        return copy.deepcopy(self.generator).standard_normal((columns, d)) / np.sqrt(d)


def plan(available, columns, rows, dims, rng, center=True, normalize=True):
    """Choose the rows, fix the projection and say what will be done to an (available, columns) matrix."""
    given = isinstance(rng, np.random.Generator)
    seed = None if given or isinstance(rng, np.random.SeedSequence) else rng
    rng = arguments.generator(rng)
    said = "" if seed is None else f"seed {seed}"
    chosen, before, m, d = None, None, available, columns
    if rows is None:
        steps = [f"Kept all {available} rows in their order."]
    else:
        m = arguments.whole(rows, "rows", 2)
        if m > available:
            raise ValueError(f"rows must be at most the {available} that X has, not {m}.")
        chosen = rng.choice(available, m, replace=False)
        steps = [
            f"Chose {m} of {available} rows at random without replacement{f' ({said})' if said else ''}."
        ]
    if dims is None:
        steps.append(f"Kept all {columns} columns, without a projection.")
    else:
        d = arguments.whole(dims, "dims", 2)
        if d > columns:
            raise ValueError(f"dims must be at most the {columns} columns that X has, not {d}.")
        before = copy.deepcopy(rng)
        if given:
            rng.standard_normal((columns, d))  # the caller's generator moves on
        after = f" ({said}, after the rows)" if said else ""
        steps.append(
            f"Projected {columns} columns to {d} with a Gaussian matrix of entry variance 1/{d}{after}."
        )
    null = max(d - (m - 1 if center else m), 0)
    if center:
        steps.append(f"Subtracted the mean row, which leaves {null} null direction(s).")
    if normalize:
        steps.append(f"Scaled every row to norm sqrt({d}).")
    return Plan((m, d), chosen, before, bool(center), bool(normalize), null, tuple(steps), seed)


def scale_rows(X, norms):
    """Scale rows of the given norms to norm √d, in place."""
    X *= (np.sqrt(X.shape[1]) / norms)[:, None]


class Norms:
    """Refuses a row that cannot be scaled: one whose norm is rounding beside the size of all rows."""

    def __init__(self, mean):
        self._mean = 0.0 if mean is None else float(np.linalg.norm(mean))
        self._reason = "is zero" if mean is None else "equals the mean row"
        self.smallest, self.row, self.largest = np.inf, -1, 0.0

    def add(self, norms, rows):
        """Take the norms of some rows and the numbers of these rows."""
        where = int(norms.argmin())
        if norms[where] < self.smallest:
            self.smallest, self.row = float(norms[where]), int(rows[where])
        self.largest = max(self.largest, float(norms.max()))
        self.check()

    def merge(self, other):
        """Take what another part of the rows had."""
        if other.smallest < self.smallest:
            self.smallest, self.row = other.smallest, other.row
        self.largest = max(self.largest, other.largest)
        self.check()

    def check(self):
        """Refuse the shortest row so far, if it is nothing beside the others and the mean."""
        if self.smallest <= NOTHING * (self._mean + self.largest):
            raise ValueError(
                f"Row {self.row} of X {self._reason}, so it cannot be scaled to norm sqrt(d); leave it out."
            )


def preprocess(X, rows, dims, rng, center=True, normalize=True):
    r"""Subsample, project, centre and normalise embeddings, in the order of the paper's Section 6.

    1. Choose `rows` of the rows at random, without replacement.
    2. Multiply by a Gaussian matrix with entries of variance 1/`dims`, to `dims` columns.
    3. Subtract the mean of the rows (`center`).
    4. Scale every row to norm :math:`\sqrt d` (`normalize`), so that :math:`H = X^\top X/m` has trace d and
       mean eigenvalue 1.

    **The null direction.** Centring makes the rows sum to zero, :math:`\mathbf 1^\top X = 0`. Scaling the
    rows afterwards, :math:`X \mapsto DX`, destroys the zero mean but not the dependence:
    :math:`(D^{-1}\mathbf 1)^\top D X = 0`. So the rank is at most m - 1, and with m = d exactly one
    eigenvalue of H is zero, by construction and not because of the data. It is left in, as in the paper:
    the matrix is the paper's, and SGD never moves along that direction, so that ‖w‖² levels off at `null`/d
    of its start. It is counted in the result's `null`. An eigensolver returns it near :math:`\pm10^{-16}`, of
    either sign; :func:`edgelaw.spectrum.gram_eigenvalues` returns exactly 0.0, and
    :func:`edgelaw.spectrum.fit_edge` never takes its logarithm (by default it is one of the skipped, as in the
    paper). To have none, pass ``center=False`` or ``rows > dims``.

    Parameters
    ----------
    X : array of shape (available rows, available columns)
        Embeddings, one a row; any real dtype. Computations are in float64.
    rows : int or None
        m, at least 2 and at most what is available; None keeps all rows in their order.
    dims : int or None
        d, at least 2 and at most the available columns (more would give columns that depend on each other:
        refused); None keeps the columns, without a projection. With `dims` equal to the number of columns a
        square Gaussian matrix is still applied, because it changes the spectrum.
    rng : numpy.random.Generator or int
        Chooses the rows, then draws the projection.
    center, normalize : bool
        Whether to do steps 3 and 4.

    Returns
    -------
    Preprocessed
        ``X``, ``rows``, ``null`` and ``steps``: the matrix, which rows it was made of, how many eigenvalues
        are zero by construction, and what was done.

    Examples
    --------
    >>> import numpy as np
    >>> from edgelaw.data import preprocess
    >>> made = preprocess(np.random.default_rng(0).normal(size=(100, 40)), rows=16, dims=16, rng=1)
    >>> made.X.shape, made.null
    ((16, 16), 1)
    >>> print(*made.steps, sep="\n")
    Chose 16 of 100 rows at random without replacement (seed 1).
    Projected 40 columns to 16 with a Gaussian matrix of entry variance 1/16 (seed 1, after the rows).
    Subtracted the mean row, which leaves 1 null direction(s).
    Scaled every row to norm sqrt(16).
    >>> np.allclose(np.linalg.norm(made.X, axis=1), 4)
    True
    """
    X = _finite(X)
    made = plan(*X.shape, rows, dims, rng, center, normalize)
    chosen = np.arange(len(X)) if made.chosen is None else made.chosen
    projection = made.projection(X.shape[1])
    X = X[chosen].astype(np.float64)
    if projection is not None:
        X = X @ projection
    mean = X.mean(axis=0) if center else None
    if center:
        X -= mean
    if normalize:
        norms = np.linalg.norm(X, axis=1)
        Norms(mean).add(norms, chosen)
        scale_rows(X, norms)
    return Preprocessed(X, chosen, made.null, made.steps)


def _finite(X):
    """A real, finite matrix in its own dtype: a large float16 array is not copied before it is subsampled."""
    X = arguments.unread_matrix(X)
    if not all(np.isfinite(X[i : i + 4096]).all() for i in range(0, len(X), 4096)):
        raise ValueError("X must be finite, but it contains NaN or infinity.")
    if X.dtype.kind == "f" and X.dtype.itemsize > 4 and max(X.max(), -X.min()) > LARGEST:
        raise ValueError(f"X must have entries below {LARGEST:g} in size, so that their squares are finite.")
    return X
