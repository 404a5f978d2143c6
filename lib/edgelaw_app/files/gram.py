r"""The Gram matrix of rows in parts, on one machine or on many: partial sums, merged in any order, then eigenvalues.

Every part of the rows is read by whoever can, twice at most:

1. :func:`survey`, of a part's rows as they are: their mean, the spread of their columns, equal rows. Rows that are
   centred, or whose columns are standardised, need that of all rows. :func:`merge` joins the surveys of all parts.
2. :func:`partial`, of the same rows with that survey: the sum of :math:`xx^\top` over prepared rows :math:`x`.

Surveys and sums can be pickled and merged in any order and grouping (the same up to rounding); no function changes what
it is given. :func:`finish` makes the eigenvalues from the complete sums.
"""

from __future__ import annotations

import copy
import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence
from types import ModuleType
from typing import NamedTuple, TypeVar

import numpy as np

from edgelaw._common import arguments, preprocessing, threads
from edgelaw._common.gram import OuterProducts
from edgelaw._common.types import Array, Progress
from edgelaw_app.files.errors import refuse_memory
from edgelaw_app.files.survey import Survey

Item = TypeVar("Item")
Part = TypeVar("Part", "Sums", Survey)


def survey(rows: np.ndarray | Iterable[np.ndarray]) -> Survey:
    """What some rows, an array or blocks of it, tell before anything is done to them."""
    return functools.reduce(merge, map(Survey.of, _checked(rows)))


def partial(
    rows: np.ndarray | Iterable[np.ndarray],
    survey: Survey | None = None,
    center: bool = True,
    normalize: bool = True,
    standardize: bool = False,
    first: int = 0,
) -> Sums:
    """The sums of one part of the rows, an array or blocks of it, prepared as a design does by the same options.

    The survey of all rows, by :func:`survey` and :func:`merge`, is needed where rows are centred or columns
    standardised. `first` is the number of the part's first row, for sentences about rows that cannot be scaled.
    """
    if survey is None and (center or standardize):
        raise ValueError(
            "X must be surveyed before its rows are centred or standardised: give the survey of all rows, as "
            "gram.survey and gram.merge make it."
        )
    prepare = Rows(survey, center, normalize, standardize)

    def prepared(number: int) -> Iterator[Array]:
        for block in _checked(rows):
            yield prepare(block, range(number, number + len(block)))
            number += len(block)

    return accumulate(read_ahead(prepared(first)), prepare.norms)


def merge(one: Part, other: Part) -> Part:
    """The sums of two parts of the rows, or their surveys; neither is changed."""
    return one.merge(other)


def finish(sums: Sums) -> Array:
    r"""Ascending eigenvalues of :math:`X^\top X/m` for the prepared rows, from the sums of all of them."""
    return eigenvalues(sums._replace(total=sums.total.copy()))


def eigenvalues(sums: Sums) -> Array:
    """The same, in the memory of the sums, which are then lost."""
    return nonvanishing(spectra().of_gram(sums.total, (sums.rows, len(sums.total))))


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
    """Sums over some prepared rows."""

    rows: int
    total: Array  # of xxᵀ: its lower triangle
    norms: preprocessing.Norms

    def merge(self, other: Sums) -> Sums:
        """Those of these rows and others."""
        norms = copy.copy(self.norms)
        norms.merge(other.norms)
        return Sums(self.rows + other.rows, self.total + other.total, norms)


class Rows:
    """Prepares rows: columns standardised, projected, the mean subtracted, rows scaled, by a survey of all of them."""

    def __init__(
        self,
        survey: Survey | None,
        center: bool,
        normalize: bool,
        standardize: bool = False,
        projection: Array | None = None,
    ) -> None:
        self._mean = survey.mean if survey and center else None
        self._normalize, self._projection, self._factors = normalize, projection, None
        if survey and standardize:
            deviations = survey.deviations
            self._factors = np.divide(1, deviations, out=np.zeros_like(deviations), where=deviations > 0)
        self.norms = preprocessing.Norms(None if self._mean is None else self._linear(self._mean[None])[0])

    def _linear(self, block: np.ndarray) -> np.ndarray:
        """Standardise the columns and project them."""
        if self._factors is not None:
            block = block * self._factors
        return preprocessing.project(block, self._projection)

    def __call__(self, block: np.ndarray, numbers: Sequence[int] | np.ndarray) -> Array:
        """Some rows, prepared, in float64; one that cannot be scaled is refused by its number."""
        mean = self._mean
        if mean is not None and (self._factors is not None or self._projection is not None):
            block, mean = block - mean, None
        made = self._linear(block)
        out = np.empty(made.shape) if made is block else made
        preprocessing.standardize(made, mean, self.norms if self._normalize else None, numbers, out)
        return out


def accumulate(blocks: Iterator[Array], norms: preprocessing.Norms) -> Sums:
    """The sums of prepared rows; `norms` has seen them."""
    products: OuterProducts | None = None
    for block in blocks:
        products = products or OuterProducts(block.shape[1])
        products.add(block)
    assert products is not None
    return Sums(products.count, products.total, norms)


def _checked(rows: np.ndarray | Iterable[np.ndarray]) -> Iterator[np.ndarray]:
    """An array, or blocks of one, as finite blocks; none at all are refused."""
    blocks = [rows] if isinstance(rows, np.ndarray) else rows
    checked = (arguments.real_array(block, "X", 2) for block in blocks if len(block))
    first = next(checked, None)
    if first is None:
        raise ValueError("X must have rows in every part; leave out a part without any.")
    return itertools.chain([first], checked)


def told(blocks: Iterable[Array], progress: Progress | None, total: int, what: str) -> Iterator[Array]:
    """The same blocks; how many rows are done is told when the next is asked for."""
    done = 0
    for block in blocks:
        yield block
        done += len(block)
        if progress:
            progress(done, total, what)


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
