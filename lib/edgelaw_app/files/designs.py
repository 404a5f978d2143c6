r"""A reader's matrix as SGD sees it: the paper's preprocessing, done when rows are asked for, a block at a time.

:func:`design` says what is done to the rows of a file or an array and reads no more than it must: the eigenvalues of a
file far larger than the memory take one d × d matrix and one block of rows.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from edgelaw._common import preprocessing
from edgelaw._common.types import Array, Progress, Rng
from edgelaw_app.files import gram
from edgelaw_app.files.errors import InputError, named_errors, refuse_beyond_memory
from edgelaw_app.files.memory import Memory, as_reader
from edgelaw_app.files.oddities import Scales, Watch
from edgelaw_app.files.opening import open_matrix
from edgelaw_app.files.source import Source, row_numbers

FEWEST = 20  # dimensions below which an edge of a spectrum cannot be seen
BLOCK = 2**24  # bytes of a block of the Gram matrix' sum, in float64: few, but enough for a fast product
STANDARDIZED = "Scaled every column to standard deviation 1 (constant columns to zero)."


def design(
    source: Source | Design | npt.ArrayLike | str | os.PathLike[str],
    rows: int | None = None,
    dims: int | None = None,
    center: bool = True,
    normalize: bool = True,
    rng: Rng = 0,
    standardize: bool = False,
    key: str | None = None,
) -> Design:
    """What SGD will see of a file or an array: the paper's preprocessing, done when rows are asked for.

    The steps, the rows and the projection are those of :func:`edgelaw.data.preprocess` for the same seed, and
    the numbers agree to rounding (tested).

    Parameters
    ----------
    source : path, Source, array of shape (rows, columns), or Design
        A path is opened by :func:`open_matrix`. An array may also be a PyTorch tensor (of bfloat16, too) or a sparse
        matrix of SciPy. A design is returned as it is; options for it are refused.
    rows : int or None
        Choose so many rows at random, without replacement; None keeps all.
    dims : int or None
        Project to so many columns by a Gaussian matrix; None keeps the columns.
    center, normalize : bool
        Subtract the mean row; scale every row to norm √d.
    rng : numpy.random.Generator or int
        Chooses the rows, then draws the projection.
    standardize : bool
        Before the projection, scale every column to standard deviation 1, and constant ones to zero.
    key : str, optional
        Which array of a path's file, if it holds several.

    Returns
    -------
    Design

    Examples
    --------
    >>> made = design(np.random.default_rng(0).normal(size=(100, 30)), rows=50, rng=1)
    >>> made.shape, made.null, round(float(made.gram_eigenvalues().mean()), 12)
    ((50, 30), 0, 1.0)
    """
    if isinstance(source, Design):
        if (rows, dims, center, normalize, standardize, key) != (
            None,
            None,
            True,
            True,
            False,
            None,
        ) or rng != 0:
            raise InputError(
                f"{source.name} is already a design; give rows, dims, center, normalize, rng, standardize and key to "
                "the call that made it."
            )
        return source
    source = as_source(source, key)
    with named_errors(source.name):
        plan = preprocessing.plan(*source.shape, rows, dims, rng, center, normalize)
    if plan.shape[1] < FEWEST:
        raise InputError(
            f"{source.name} leaves {plan.shape[1]} dimensions, but at least {FEWEST} are needed "
            "to see the edge of a spectrum."
        )
    return Design(source, plan, bool(standardize))


def as_source(source: Source | npt.ArrayLike | str | os.PathLike[str], key: str | None = None) -> Source:
    """A source of a path, by its key, or of an array."""
    if isinstance(source, str | os.PathLike):
        return open_matrix(source, key)
    if key is not None:
        raise InputError(f"key names an array in a file, so it must be left out here, not {key!r}.")
    return source if isinstance(source, Source) else Source([as_reader(source)], "X")


def column_scales(source: Source | Design | npt.ArrayLike | str | os.PathLike[str]) -> Scales:
    """How far apart the standard deviations of the columns lie that are not constant, and which are the extremes.

    Parameters
    ----------
    source : path, Source, array, or Design
        Of a design its rows before anything is done to them. All rows are read, once.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(1000, 3)) * [1, 100, 0]
    >>> scales = column_scales(X)
    >>> round(scales.ratio, -1), scales.largest, scales.smallest
    (100.0, '1', '0')
    """
    if isinstance(source, Design):
        return source.scales
    source = as_source(source)
    return gram.survey(source.blocks()).scales(source.columns)


class Design:
    """Rows as SGD sees them, made when they are asked for; made by :func:`design`.

    Attributes
    ----------
    name : str
        Of the source; "X" for an array.
    shape : (m, d)
    steps : tuple of str
        What is done to the file's rows, one sentence per step.
    null : int
        How many eigenvalues are zero by construction.
    seed : int or None
    source : Source
    """

    def __init__(self, source: Source, plan: preprocessing.Plan, standardize: bool = False) -> None:
        self.source, self._plan = source, plan
        self._how = gram.Preparation(plan.center, plan.normalize, standardize)
        steps = (plan.steps[0], *[STANDARDIZED] * standardize, *plan.steps[1:])
        self.name, self.shape, self.steps = source.name, plan.shape, (*source.notes, *steps)
        self.null, self.seed = plan.null, plan.seed
        self._warnings: tuple[str, ...] | None = None
        self._survey: Watch | None = None
        self._eigenvalues: Array | None = None
        self._gathered: Source | None = None

    def __repr__(self) -> str:
        return f"Design({self.name!r}, shape={self.shape})"

    def __getstate__(self) -> dict:
        """What travels to another process: a description, without what can be found again."""
        dropped = dict.fromkeys(("_survey", "_eigenvalues", "_gathered"))
        return vars(self) | dropped | {"_how": self._how._replace(projection=None)}

    @property
    def bytes(self) -> int:
        """What :meth:`matrix` needs."""
        return 8 * self.shape[0] * self.shape[1]

    @property
    def duplicates(self) -> int | None:
        """How many rows repeat an earlier one, bit for bit; None beyond 2^24 rows. Reads the file once."""
        return self._surveyed().duplicates

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences on columns that look unlike features (row numbers, classes, constants). Reads the file once."""
        if self._warnings is None:
            self._warnings = self._surveyed().sentences(self.source.columns)
        return self._warnings

    @property
    def scales(self) -> Scales:
        """The scales of the columns before anything is done to them. Reads the file once."""
        with named_errors(self.name):
            return self._surveyed().scales(self.source.columns)

    def inherit(self, other: Design) -> Design:
        """This design with the warnings of another, of which it was made."""
        self._warnings = other.warnings
        return self

    @property
    def standardized(self) -> bool:
        """Whether columns are scaled to standard deviation 1."""
        return self._how.standardize

    @property
    def center(self) -> bool:
        """Whether the mean row is subtracted."""
        return self._plan.center

    @property
    def small(self) -> bool:
        """Whether the matrix itself is decomposed, since it is small, or smaller than its Gram matrix."""
        m, d = self.shape
        return m < d or gram.spectra(self.name).resolves_singular_values(m, d)

    def parts(self, count: int) -> list[tuple[int, int]]:
        """About `count` ranges of rows that can be read independently; chosen rows are gathered first by each."""
        return self._stored().parts(count)

    # prepared rows

    def take(self, indices: npt.ArrayLike) -> Array:
        """These rows of the design, prepared in float64, in the order given."""
        numbers = places = row_numbers(indices, self.shape[0])
        if self._plan.chosen is not None:
            numbers = self._plan.chosen[places]
            places = np.searchsorted(np.sort(self._plan.chosen), numbers)
        block, rows = self._stored().take(places), self._rows()
        with named_errors(self.name):
            return rows(block, numbers)

    def matrix(self) -> Array:
        """All prepared rows in memory, in float64.

        For every type of file: float32's rounding would exceed the smallest eigenvalues, which set the learning curves.
        """
        refuse_beyond_memory(self.name, self.bytes)
        if self._plan.chosen is not None:  # these are gathered in memory anyway
            return self.take(np.arange(self.shape[0]))
        X, rows, first = np.empty(self.shape), self._rows(), 0
        for numbers, block in self._numbered(self._block_rows(), 0, None):
            with named_errors(self.name):
                rows(block, numbers, X[first : first + len(block)])
            first += len(block)
        return X

    def _rows(self) -> gram.Rows:
        """What prepares rows."""
        with named_errors(self.name):
            return gram.Rows.of(self._projected(), self._surveyed() if self._how.surveys else None)

    def _projected(self) -> gram.Preparation:
        """What is done to rows, with the projection drawn."""
        if self._how.projection is None and self._plan.generator is not None:
            self._how = self._how._replace(projection=self._plan.projection(self.source.shape[1]))
        return self._how

    def _block_rows(self, itemsize: int = 8) -> int:
        """Rows of a block that is worth a matrix product and no burden."""
        return max(16, min(8192, BLOCK // (itemsize * max(self.source.shape[1], self.shape[1]))))

    def _stored(self) -> Source:
        """All rows as they are stored, in the file's order; those that were chosen are gathered once."""
        if self._plan.chosen is None:
            return self.source
        if self._gathered is None:
            self._gathered = Source(
                [Memory(self.source.take(np.sort(self._plan.chosen)), self.name)], self.name
            )
        return self._gathered

    def _numbered(self, rows: int, start: int, stop: int | None) -> Iterator[gram.Numbered]:
        """Rows from start to stop of those as they are stored, with their numbers in the file."""
        chosen = None if self._plan.chosen is None else np.sort(self._plan.chosen)
        for block in self._stored().blocks(rows, start, stop):
            end = start + len(block)
            yield range(start, end) if chosen is None else chosen[start:end], block
            start = end

    # the survey and the spectrum, whole or in parts

    def survey(self, start: int = 0, stop: int | None = None, progress: Progress | None = None) -> Watch:
        """What the rows in [start, stop) tell before anything is done to them: `gram.survey` of them."""
        seen = Watch()
        for _, block in gram.read_ahead(
            self._numbered(self._block_rows(self.source.dtype.itemsize), start, stop)
        ):
            seen.add(block)
            if progress:
                progress(seen.count, self.shape[0], "reading the mean")
        return seen

    def keep(self, survey: Watch) -> None:
        """Remember a complete survey, unless it says that there is nothing but one row."""
        if survey.count != self.shape[0]:
            raise InputError(f"{self.name} changed while it was read: it has lost or gained rows.")
        if survey.duplicates == survey.count - 1:
            raise InputError(f"{self.name} has {survey.count} rows that are all equal: there is no spectrum.")
        self._survey = survey

    def _surveyed(self, progress: Progress | None = None) -> Watch:
        """The survey of all rows, made once."""
        if self._survey is None:
            self.keep(self.survey(progress=progress))
        assert self._survey is not None
        return self._survey

    def partial(
        self, start: int, stop: int | None, survey: Watch, progress: Callable[[int], object] | None = None
    ) -> gram.Sums:
        """The sums of the rows in [start, stop), by a survey of all: `gram.partial` of them."""
        d = self.shape[1]
        refuse_beyond_memory(self.name, 8 * d**2)
        with named_errors(self.name):
            rows = self._numbered(self._block_rows(), start, stop)
            return gram.accumulate(rows, d, self._projected(), survey, progress)

    def finish(self, survey: Watch, sums: gram.Sums, keep: bool = True) -> Array:
        """The eigenvalues from the survey and the sums of all rows; this design remembers both for a forecast."""
        self.keep(survey)
        if sums.rows != self.shape[0]:
            raise InputError(f"{self.name} changed while it was read: it has lost or gained rows.")
        with named_errors(self.name):
            self._eigenvalues = gram.finish(sums, keep)
        return self._eigenvalues.copy()

    def gram_eigenvalues(self, progress: Progress | None = None) -> Array:
        r"""Ascending eigenvalues of :math:`X^\top X/m`, exact zeros as in :func:`edgelaw.spectrum.gram_eigenvalues`.

        A matrix of at most 4096 rows and columns is decomposed whole. A larger one is summed up to its Gram matrix,
        a block at a time while the next is being read; its rows are read twice, first for their survey.

        Parameters
        ----------
        progress : callable, optional
            Called as ``progress(done, total, what)``.
        """
        if self._eigenvalues is None:
            survey = self._surveyed(progress)
            if not self.small:
                report = progress and functools.partial(_summing, progress, self.shape[0])
                return self.finish(survey, self.partial(0, None, survey, report), keep=False)
            with named_errors(self.name):
                values = gram.spectra(self.name).gram_eigenvalues(self.matrix())
                self._eigenvalues = gram.nonvanishing(values)
        return self._eigenvalues.copy()


def _summing(progress: Progress, total: int, done: int) -> None:
    progress(done, total, "summing the Gram matrix")
