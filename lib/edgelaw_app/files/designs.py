r"""A reader's matrix as SGD sees it: the paper's preprocessing, done when rows are asked for, a block at a time.

:func:`design` says what is done to the rows of a file or an array and reads no more than it must: the eigenvalues of a
file far larger than the memory take one d × d matrix and one block of rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from edgelaw._common import arguments, preprocessing
from edgelaw._common.types import Array, Progress, Rng
from edgelaw_app.files.errors import InputError, named_errors, refuse_beyond_memory
from edgelaw_app.files.gram import Gram, Survey, read_ahead
from edgelaw_app.files.memory import as_reader
from edgelaw_app.files.source import Source, row_numbers

FEWEST = 20  # dimensions below which an edge of a spectrum cannot be seen
BLOCK = 2**24  # bytes of a block of the Gram matrix' sum, in float64: few, but enough for a fast product
REMEMBERED = 2**24  # rows whose fingerprints are kept to find duplicates: 128 MB


def design(
    source_or_array: Source | Design | npt.ArrayLike,
    rows: int | None = None,
    dims: int | None = None,
    center: bool = True,
    normalize: bool = True,
    rng: Rng = 0,
) -> Design:
    """What SGD will see of a file or an array: the paper's preprocessing, done when rows are asked for.

    The steps, the rows and the projection are those of :func:`edgelaw.data.preprocess` for the same seed, and
    the numbers agree to rounding (tested).

    Parameters
    ----------
    source_or_array : Source, array of shape (rows, columns), or Design
        An array may also be a PyTorch tensor (of bfloat16, too) or a sparse matrix of SciPy. A design is returned
        as it is; options for it are refused.
    rows : int or None
        Choose so many rows at random, without replacement; None keeps all.
    dims : int or None
        Project to so many columns by a Gaussian matrix; None keeps the columns.
    center, normalize : bool
        Subtract the mean row; scale every row to norm √d.
    rng : numpy.random.Generator or int
        Chooses the rows, then draws the projection.

    Returns
    -------
    Design

    Examples
    --------
    >>> made = design(np.random.default_rng(0).normal(size=(100, 30)), rows=50, rng=1)
    >>> made.shape, made.null, round(float(made.gram_eigenvalues().mean()), 12)
    ((50, 30), 0, 1.0)
    """
    if isinstance(source_or_array, Design):
        if (rows, dims, center, normalize) != (None, None, True, True) or rng != 0:
            raise InputError(
                f"{source_or_array.name} is already a design; give rows, dims, center, normalize and rng to the "
                "call that made it."
            )
        return source_or_array
    source = (
        source_or_array if isinstance(source_or_array, Source) else Source([as_reader(source_or_array)], "X")
    )
    with named_errors(source.name):
        plan = preprocessing.plan(*source.shape, rows, dims, rng, center, normalize)
    if plan.shape[1] < FEWEST:
        raise InputError(
            f"{source.name} leaves {plan.shape[1]} dimensions, but at least {FEWEST} are needed "
            "to see the edge of a spectrum."
        )
    return Design(source, plan)


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

    def __init__(self, source: Source, plan: preprocessing.Plan) -> None:
        self.source, self._plan = source, plan
        self.name, self.shape, self.steps = source.name, plan.shape, (*source.notes, *plan.steps)
        self.null, self.seed = plan.null, plan.seed
        self._survey: Survey | None = None
        self._warnings: tuple[str, ...] | None = None
        self._drawn: Array | None = None
        self._gathered: np.ndarray | None = None
        self._eigenvalues: Array | None = None

    def __repr__(self) -> str:
        return f"Design({self.name!r}, shape={self.shape})"

    def __getstate__(self) -> dict:
        made_again = dict.fromkeys(("_drawn", "_gathered", "_survey", "_eigenvalues"))
        return {**self.__dict__, **made_again}

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
            self._warnings = self._surveyed().columns.sentences(self.source.columns)
        return self._warnings

    def inherit(self, other: Design) -> Design:
        """This design with the warnings of another, of which it was made."""
        self._warnings = other.warnings
        return self

    @property
    def center(self) -> bool:
        """Whether the mean row is subtracted."""
        return self._plan.center

    @property
    def in_memory(self) -> bool:
        """Whether the rows are an array of this process and not a file that others can read too."""
        return self.source.in_memory

    @property
    def small(self) -> bool:
        """Whether the matrix itself is decomposed: it is small, or smaller than its Gram matrix."""
        from edgelaw import spectrum  # loads scipy, which opening and refusing a file does not need

        m, d = self.shape
        return m < d or spectrum.resolves_singular_values(m, d)

    @property
    def twice(self) -> bool:
        """Whether rows have to be read twice: the norm of each depends on the mean of all."""
        return self._plan.center and self._plan.normalize

    def parts(self, count: int) -> list[tuple[int, int]]:
        """About `count` ranges of the file's rows that can be read independently at no extra cost."""
        return self.source.parts(count)

    # prepared rows

    def blocks(self, rows: int = 4096) -> Iterator[Array]:
        """All prepared rows, in the design's order, as float64 arrays of at most `rows` rows.

        Float64 for every type of file: float32's rounding would exceed the smallest eigenvalues, which set the
        learning curves. With chosen rows, these are gathered first, as they are stored; without, one block is
        in memory at a time.
        """
        rows = arguments.whole(rows, "rows", 1)
        mean = self._mean()
        norms = preprocessing.Norms(mean)
        for numbers, block in self._ordered(rows):
            yield self._prepare(block, numbers, mean, norms)

    def take(self, indices: npt.ArrayLike) -> Array:
        """These rows of the design, prepared, in the order given."""
        places = row_numbers(indices, self.shape[0])
        mean = self._mean()
        numbers = places if self._plan.chosen is None else self._plan.chosen[places]
        block = self.source.take(numbers) if self._gathered is None else self._gathered[places]
        return self._prepare(block, numbers, mean, preprocessing.Norms(mean))

    def matrix(self) -> Array:
        """All prepared rows in memory."""
        refuse_beyond_memory(self.name, self.bytes)
        X = np.empty(self.shape)
        mean, first = self._mean(), 0
        norms = preprocessing.Norms(mean)
        for numbers, block in self._ordered(self._block_rows()):
            self._prepare(block, numbers, mean, norms, out=X[first : first + len(block)])
            first += len(block)
        return X

    def _prepare(
        self,
        block: np.ndarray,
        numbers: Sequence[int] | np.ndarray,
        mean: Array | None,
        norms: preprocessing.Norms,
        out: Array | None = None,
    ) -> Array:
        """Project, centre and scale some rows, in float64; a row that cannot be scaled is refused."""
        projected = preprocessing.project(block, self._projection, out)
        if out is None:
            out = np.empty(block.shape) if projected is block else projected
        with named_errors(self.name):
            preprocessing.standardize(projected, mean, norms if self._plan.normalize else None, numbers, out)
        return out

    def _mean(self, survey: Survey | None = None) -> Array | None:
        """The row to subtract, in the projected space; None without centring."""
        if not self._plan.center:
            return None
        mean = (survey or self._surveyed()).mean
        return mean if self._projection is None else mean @ self._projection

    @property
    def _projection(self) -> Array | None:
        if self._drawn is None and self._plan.generator is not None:
            self._drawn = self._plan.projection(self.source.shape[1])
        return self._drawn

    def _block_rows(self, itemsize: int = 8) -> int:
        """Rows of a block that is worth a matrix product and no burden."""
        return max(16, min(8192, BLOCK // (itemsize * max(self.source.shape[1], self.shape[1]))))

    # the rows as they are in the file

    def _ordered(self, rows: int) -> Iterator[tuple[Sequence[int] | np.ndarray, np.ndarray]]:
        """Pairs of (row numbers, raw rows) in the design's order."""
        chosen = self._plan.chosen
        if chosen is None:
            yield from self._numbered(rows, 0, self.shape[0])
            return
        if self._gathered is None:
            self._gathered = self.source.take(chosen)
        for first in range(0, self.shape[0], rows):
            yield chosen[first : first + rows], self._gathered[first : first + rows]

    def _numbered(self, rows: int, start: int, stop: int) -> Iterator[tuple[range, np.ndarray]]:
        """Pairs of (row numbers, raw rows) of all rows from `start` to `stop`."""
        for block in self.source.blocks(rows, start, stop):
            yield range(start, start + len(block)), block
            start += len(block)

    def _chosen(
        self, rows: int, start: int = 0, stop: int | None = None
    ) -> Iterator[tuple[Sequence[int] | np.ndarray, np.ndarray]]:
        """Pairs of (row numbers, raw rows) in the file's order, of those rows of [start, stop) that were chosen."""
        stop = self.source.shape[0] if stop is None else stop
        if self._plan.chosen is None:
            yield from self._numbered(rows, start, stop)
            return
        numbers = np.sort(self._plan.chosen)
        numbers = numbers[(numbers >= start) & (numbers < stop)]
        at_once = rows if self.source.seeks else max(len(numbers), 1)  # a stream is read once
        for first in range(0, len(numbers), at_once):
            part = numbers[first : first + at_once]
            for k, block in self.source.ascending(part):
                yield part[k : k + len(block)], block

    # the mean and equal rows

    def survey(self, start: int = 0, stop: int | None = None, progress: Progress | None = None) -> Survey:
        """The mean and the fingerprints of the rows in [start, stop) of the file, before anything is done to them."""
        survey = self._new_survey()
        rows = self._block_rows(self.source.dtype.itemsize)
        for _, block in read_ahead(self._chosen(rows, start, stop)):
            survey.add(block)
            if progress:
                progress(survey.count, self.shape[0], "reading the mean")
        return survey

    def keep(self, survey: Survey) -> None:
        """Remember a complete survey, unless it says that there is nothing but one row."""
        if survey.duplicates == survey.count - 1:
            raise InputError(f"{self.name} has {survey.count} rows that are all equal: there is no spectrum.")
        self._survey = survey

    def _new_survey(self) -> Survey:
        return Survey(self.source.shape[1], remember=self.shape[0] <= REMEMBERED)

    def _surveyed(self, progress: Progress | None = None) -> Survey:
        """The survey of all rows, made once."""
        if self._survey is None:
            self.keep(self.survey(progress=progress))
        assert self._survey is not None
        return self._survey

    # the spectrum

    def gram_eigenvalues(self, progress: Progress | None = None) -> Array:
        r"""Ascending eigenvalues of :math:`X^\top X/m`, exact zeros as in :func:`edgelaw.spectrum.gram_eigenvalues`.

        A matrix of at most 4096 rows and columns is decomposed whole. A larger one is summed up to its Gram matrix,
        a block at a time while the next is being read; rows to be centred *and* scaled are read twice, first for
        their mean. Otherwise once: rows are then centred by the mean of the first block, and the rest is a
        correction of rank one.

        Parameters
        ----------
        progress : callable, optional
            Called as ``progress(done, total, what)``.
        """
        if self._eigenvalues is None:
            if self.small:
                from edgelaw import spectrum

                self._surveyed()
                self._eigenvalues = self._positive(spectrum.gram_eigenvalues(self.matrix()))
            else:
                if self.twice:
                    self._surveyed(progress)
                return self.finish(*self.accumulate(progress=progress))
        return self._eigenvalues.copy()

    def accumulate(
        self,
        start: int = 0,
        stop: int | None = None,
        survey: Survey | None = None,
        progress: Progress | None = None,
    ) -> tuple[Gram, Survey | None]:
        """The Gram sums of the rows in [start, stop) of the file, and a survey of them if none was there yet.

        `survey` gives the mean when it was found elsewhere.
        """
        refuse_beyond_memory(self.name, 8 * self.shape[1] ** 2)
        known = survey or self._survey
        fresh = None if known else self._new_survey()
        gram = Gram(self.shape[1], self._mean(known) if known else None)
        for block in read_ahead(self._prepared(gram, start, stop, known, fresh)):
            gram.add(block)
            if progress:
                progress(gram.count, self.shape[0], "summing the Gram matrix")
        return gram, fresh

    def _prepared(
        self, gram: Gram, start: int, stop: int | None, known: Survey | None, fresh: Survey | None
    ) -> Iterator[Array]:
        """Prepared blocks in two buffers by turns; their norms and sums go to `gram`, the raw rows to `fresh`.

        Without a known survey rows are centred by the mean of the first block; :meth:`finish` corrects for it.
        """
        rows = self._block_rows()
        buffers = [np.empty((rows, self.shape[1])) for _ in range(2)]
        mean = self._mean(known) if known else None
        for k, (numbers, block) in enumerate(self._chosen(rows, start, stop)):
            if fresh is not None:
                fresh.add(block)
                if k == 0 and self._plan.center:
                    mean = self._mean(fresh)
                    gram.norms = preprocessing.Norms(mean)
            out = buffers[k % 2][: len(block)]
            self._prepare(block, numbers, mean, gram.norms, out)
            if self._plan.center and not self._plan.normalize:
                gram.sums += out.sum(axis=0)
            yield out

    def finish(self, gram: Gram, survey: Survey | None = None) -> Array:
        """Eigenvalues from the complete sum of the rows' outer products; they are remembered."""
        from edgelaw import spectrum

        if survey is not None:
            self.keep(survey)
        if gram.count != self.shape[0]:
            raise InputError(f"{self.name} changed while it was read: it has lost or gained rows.")
        if self._plan.center and not self._plan.normalize:
            gram.total -= np.outer(gram.sums, gram.sums / gram.count)
        self._eigenvalues = self._positive(spectrum.of_gram(gram.total, self.shape))
        return self._eigenvalues.copy()

    def _positive(self, eigenvalues: Array) -> Array:
        """The same eigenvalues, refused where rows that differ have squares that vanish."""
        if eigenvalues[-1] < preprocessing.SMALLEST**2:
            raise InputError(
                f"{self.name} holds numbers so small that their squares vanish: scale its rows (normalize), or "
                "multiply it by a number first."
            )
        return eigenvalues
