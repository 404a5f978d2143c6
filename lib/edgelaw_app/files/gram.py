r"""The Gram matrix of rows in parts, on one machine or on many: partial sums, merged in any order, then eigenvalues.

Every part of the rows is read by whoever can, twice at most:

1. :func:`survey`, of a part's rows as they are: their mean, the spread of their columns, equal rows. Rows that are
   centred *and* scaled to one norm need it, because the norm that a row is divided by depends on the mean of all rows;
   so do standardised columns. :func:`merge` joins the surveys of all parts.
2. :func:`partial`, of the same rows with that survey: the sum of :math:`xx^\top` over prepared rows :math:`x`. Rows
   that are only centred, only scaled, or neither, need no survey: for the first the sums are raw moments about the
   part's own first mean, and :func:`merge` and :func:`finish` move them to the common one, which is exact.

Surveys and sums can be pickled and merged in any order and grouping (the same up to rounding); neither function changes
what it is given. :func:`finish` makes the eigenvalues from the complete sums.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import ModuleType
from typing import NamedTuple, TypeVar

import numpy as np

from edgelaw._common import arguments, preprocessing, threads
from edgelaw._common.gram import OuterProducts
from edgelaw._common.types import Array
from edgelaw_app.files.errors import refuse_memory
from edgelaw_app.files.oddities import Watch

Item = TypeVar("Item")
Part = TypeVar("Part", "Sums", Watch)
Numbered = tuple[Sequence[int] | np.ndarray, np.ndarray]  # rows with their numbers


def survey(rows: np.ndarray | Iterable[np.ndarray]) -> Watch:
    """What some rows, an array or blocks of it, tell before anything is done to them."""
    seen = Watch()
    for block in _checked(rows):
        seen.add(block)
    return seen


def partial(
    rows: np.ndarray | Iterable[np.ndarray],
    survey: Watch | None = None,
    center: bool = True,
    normalize: bool = True,
    standardize: bool = False,
    first: int = 0,
) -> Sums:
    """The sums of one part of the rows, prepared as :func:`edgelaw_app.files.design` does by the same options.

    Parameters
    ----------
    rows : array of shape (rows, columns), or an iterable of such arrays
        One part of the rows, whole or in blocks.
    survey : Watch, optional
        Of all rows, by :func:`survey` and :func:`merge`. Without it rows may be centred or scaled, but not both, and
        not standardised.
    center, normalize, standardize : bool
        Subtract the mean row; scale every row to norm √d; scale every column to standard deviation 1.
    first : int
        The number of the part's first row, for sentences about rows that cannot be scaled.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(90, 4))
    >>> seen = merge(survey(X[:40]), survey(X[40:]))
    >>> sums = merge(partial(X[:40], seen), partial(X[40:], seen))
    >>> round(float(finish(sums).mean()), 12)
    1.0
    """
    how = Preparation(center, normalize, standardize)
    if survey is None and (standardize or (center and normalize)):
        raise ValueError(
            "X must be surveyed before its rows are centred and scaled, or standardised: give the survey of all rows, "
            "as gram.survey and gram.merge make it."
        )
    blocks = _checked(rows)
    begin = next(blocks, None)
    if begin is None:
        raise ValueError("X must have rows in every part; leave out a part without any.")
    numbered = _numbered(itertools.chain([begin], blocks), first)
    return accumulate(numbered, begin.shape[1], how, survey)


def merge(one: Part, other: Part) -> Part:
    """The sums of two parts of the rows, or their surveys; neither is changed."""
    return one.merge(other)


def finish(sums: Sums, keep: bool = True) -> Array:
    r"""Ascending eigenvalues of :math:`X^\top X/m` for the prepared rows, from the sums of all of them.

    With ``keep=False`` the memory of the sums is used, which are then lost.
    """
    total = sums.total.copy() if keep else sums.total
    if sums.origin is not None:
        total -= np.outer(sums.moments, sums.moments / sums.rows)
    return nonvanishing(spectra().of_gram(total, (sums.rows, len(total))))


def spectra(name: str = "X") -> ModuleType:
    """The module of spectra, which loads scipy: opening and refusing a file does not need it."""
    try:
        from edgelaw import spectrum
    except ImportError as error:
        refuse_memory(error, name)
        raise
    return spectrum


def nonvanishing(eigenvalues: Array) -> Array:
    """The same eigenvalues, refused where rows that differ have squares that vanish."""
    if eigenvalues[-1] < preprocessing.SMALLEST**2:
        raise ValueError(
            "X holds numbers so small that their squares vanish: scale its rows (normalize), or multiply it by a "
            "number first."
        )
    return eigenvalues


class Sums(NamedTuple):
    """Sums over some prepared rows, without the last centring where `origin` says that it is still to be done."""

    rows: int
    total: Array  # of (x - origin)(x - origin)ᵀ: its lower triangle
    moments: Array  # of x - origin; zeros where there is no origin
    origin: Array | None
    norms: preprocessing.Norms

    def merge(self, other: Sums) -> Sums:
        """Those of these rows and others."""
        norms, total = copy.copy(self.norms), self.total + other.total
        norms.merge(other.norms)
        moments = other.moments
        if self.origin is not None and other.origin is not None:
            shift = other.origin - self.origin
            crossed = np.outer(shift, other.moments + other.rows / 2 * shift)
            total += crossed
            total += crossed.T
            moments = other.moments + other.rows * shift
        return Sums(self.rows + other.rows, total, self.moments + moments, self.origin, norms)


class Preparation(NamedTuple):
    """What is done to rows, in this order: columns standardised, projected, the mean subtracted, rows scaled."""

    center: bool = True
    normalize: bool = True
    standardize: bool = False
    projection: Array | None = None

    @property
    def surveys(self) -> bool:
        """Whether rows can be prepared only when all were seen."""
        return self.center or self.standardize


class Rows:
    """Prepares rows, by what a survey of all of them found."""

    def __init__(self, how: Preparation, mean: Array | None, deviations: Array | None) -> None:
        self._how, self._mean, self._factors = how, mean, None
        if how.standardize and deviations is not None:
            self._factors = np.divide(1, deviations, out=np.zeros_like(deviations), where=deviations > 0)
        self.norms = preprocessing.Norms(None if mean is None else self._linear(mean[None])[0])

    @classmethod
    def of(cls, how: Preparation, survey: Watch | None) -> Rows:
        """Those of a survey; without one the mean is not subtracted."""
        if survey is None:
            return cls(how, None, None)
        return cls(how, survey.mean if how.center else None, survey.deviations if how.standardize else None)

    def _linear(self, block: np.ndarray, out: Array | None = None) -> np.ndarray:
        """Standardise the columns and project them."""
        if self._factors is not None:
            block = block * self._factors
        return preprocessing.project(block, self._how.projection, out)

    def __call__(
        self, block: np.ndarray, numbers: Sequence[int] | np.ndarray, out: Array | None = None
    ) -> Array:
        """Some rows, prepared, in float64; one that cannot be scaled is refused by its number."""
        mean = self._mean
        if mean is not None and (self._factors is not None or self._how.projection is not None):
            block, mean = block - mean, None
        made = self._linear(block, out)
        if out is None:
            out = np.empty(made.shape) if made is block else made
        preprocessing.standardize(made, mean, self.norms if self._how.normalize else None, numbers, out)
        return out


def accumulate(
    pairs: Iterable[Numbered],
    dims: int,
    how: Preparation,
    survey: Watch | None,
    progress: Callable[[int], object] | None = None,
) -> Sums:
    """The sums of numbered rows, prepared by another thread while those before are summed."""
    rows, origin = Rows.of(how, survey), None
    products, moments = OuterProducts(dims), np.zeros(dims)

    def prepared() -> Iterator[Array]:
        nonlocal rows, origin
        for numbers, block in pairs:
            if survey is None and how.center and origin is None:
                origin = block.mean(axis=0, dtype=np.float64)
                rows = Rows(how, origin, None)
            yield rows(block, numbers)

    for block in read_ahead(prepared()):
        products.add(block)
        if origin is not None:
            moments += block.sum(axis=0)
        if progress:
            progress(products.count)
    return Sums(products.count, products.total, moments, origin, rows.norms)


def _checked(rows: np.ndarray | Iterable[np.ndarray]) -> Iterator[np.ndarray]:
    """An array, or blocks of one, as finite blocks."""
    for block in [rows] if isinstance(rows, np.ndarray) else rows:
        yield arguments.real_array(block, "X", 2)


def _numbered(blocks: Iterable[np.ndarray], first: int) -> Iterator[Numbered]:
    """Blocks with the numbers of their rows."""
    for block in blocks:
        yield range(first, first + len(block)), block
        first += len(block)


def read_ahead(items: Iterable[Item]) -> Iterator[Item]:
    """The same items, each made by another thread while the one before is in use."""
    iterator = iter(items)
    end = object()
    with threads.executor(1) as thread:
        coming = thread.submit(next, iterator, end)
        try:
            while (item := coming.result()) is not end:
                coming = thread.submit(next, iterator, end)
                yield item  # type: ignore[misc]
        finally:
            coming.cancel()
