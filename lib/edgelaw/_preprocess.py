"""The paper's preprocessing, step by step, for a matrix in memory and for a file read in blocks alike.

Which rows, which projection, what is said about it and how many eigenvalues are zero by construction: all of it is
decided here, before any number is read. The formulas of centring and scaling are here too.
"""

import copy
from typing import NamedTuple

import numpy as np

from edgelaw import _checks

# What rounding leaves of a row that is the mean, relative to the size of rows
NOTHING = 1e-12


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
    rng = _checks.generator(rng)
    said = "" if seed is None else f"seed {seed}"
    chosen, before, m, d = None, None, available, columns
    if rows is None:
        steps = [f"Kept all {available} rows in their order."]
    else:
        m = _checks.whole(rows, "rows", 2)
        if m > available:
            raise ValueError(f"rows must be at most the {available} that X has, not {m}.")
        chosen = rng.choice(available, m, replace=False)
        steps = [
            f"Chose {m} of {available} rows at random without replacement{f' ({said})' if said else ''}."
        ]
    if dims is None:
        steps.append(f"Kept all {columns} columns, without a projection.")
    else:
        d = _checks.whole(dims, "dims", 2)
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
