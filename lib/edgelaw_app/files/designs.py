"""A reader's matrix as SGD sees it: the paper's preprocessing, done when rows are asked for, a block at a time."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from edgelaw._common import preprocessing
from edgelaw._common.types import Array, Progress, Rng
from edgelaw_app.files import gram
from edgelaw_app.files.errors import InputError, named_errors, refuse_beyond_memory
from edgelaw_app.files.memory import Memory, as_reader
from edgelaw_app.files.opening import open_matrix
from edgelaw_app.files.source import Source, filled, row_numbers
from edgelaw_app.files.survey import Scales, Survey

FEWEST = 20  # dimensions below which an edge of a spectrum cannot be seen
BLOCK = 2**24  # bytes of a block of the Gram matrix' sum, in float64: few, but enough for a fast product
STANDARDIZED = "Scaled every column to standard deviation 1 (constant columns to zero)."


def design(
    source: Source | npt.ArrayLike | str | os.PathLike[str],
    rows: int | None = None,
    dims: int | None = None,
    center: bool = True,
    normalize: bool = True,
    rng: Rng = 0,
    standardize: bool = False,
    key: str | None = None,
) -> Design:
    """What SGD will see of a file or an array: the paper's preprocessing, done when rows are asked for.

    `rows`, `dims`, `center`, `normalize` and `rng` are those of :func:`edgelaw.data.preprocess`: the same seed chooses
    the same rows and projection, and the numbers agree to rounding (tested).

    Parameters
    ----------
    source : path, Source, or array of shape (rows, columns)
        A path is opened by :func:`open_matrix`. An array may also be a PyTorch tensor (of bfloat16, too) or a sparse
        matrix of SciPy.
    standardize : bool
        Before the projection, scale every column to standard deviation 1, and constant ones to zero.
    key : str, optional
        Which array of a path's file, if it holds several.

    Examples
    --------
    >>> made = design(np.random.default_rng(0).normal(size=(100, 30)), rows=50, rng=1)
    >>> made.shape, round(float(made.gram_eigenvalues().mean()), 12)
    ((50, 30), 1.0)
    """
    if isinstance(source, str | os.PathLike):
        source = open_matrix(source, key)
    elif key is not None:
        raise InputError(f"key names an array in a file, so it must be left out here, not {key!r}.")
    if not isinstance(source, Source):
        source = Source([as_reader(source)], "X")
    with named_errors(source.name):
        plan = preprocessing.plan(*source.shape, rows, dims, rng, center, normalize)
    if plan.shape[1] < FEWEST:
        raise InputError(
            f"{source.name} leaves {plan.shape[1]} dimensions, but at least {FEWEST} are needed "
            "to see the edge of a spectrum."
        )
    return Design(source, plan, bool(standardize))


class Design:
    """Rows as SGD sees them, made when they are asked for; made by :func:`design`."""

    name: str  #: of the source; "X" for an array
    shape: tuple[int, int]
    steps: tuple[str, ...]  #: what is done to the file's rows, one sentence per step
    standardized: bool  #: whether columns are scaled to standard deviation 1
    source: Source

    def __init__(self, source: Source, plan: preprocessing.Plan, standardize: bool = False) -> None:
        self.source, self._plan, self.standardized = source, plan, standardize
        steps = (plan.steps[0], *[STANDARDIZED] * standardize, *plan.steps[1:])
        self.name, self.shape, self.steps = source.name, plan.shape, (*source.notes, *steps)
        self._survey: Survey | None = None
        self._eigenvalues: Array | None = None

    def __repr__(self) -> str:
        return f"Design({self.name!r}, shape={self.shape})"

    def __reduce__(self) -> tuple:
        """What travels to another process: a description, without what can be found again."""
        return Design, (self.source, self._plan, self.standardized)

    @property
    def bytes(self) -> int:
        """What :meth:`matrix` needs."""
        return 8 * self.shape[0] * self.shape[1]

    @property
    def duplicates(self) -> int | None:
        """How many rows repeat an earlier one, bit for bit; None beyond 2^24 rows. Reads the file once."""
        return self._surveyed().duplicates

    @functools.cached_property
    def warnings(self) -> tuple[str, ...]:
        """Sentences on columns that look unlike features (constants, labels, row numbers). Reads the file once."""
        return self._surveyed().sentences(self.source.columns)

    @property
    def scales(self) -> Scales:
        """The scales of the columns before anything is done to them. Reads the file once."""
        with named_errors(self.name):
            return self._surveyed().scales(self.source.columns)

    @property
    def small(self) -> bool:
        """Whether the matrix itself is decomposed, since it is small, or smaller than its Gram matrix."""
        m, d = self.shape
        return m < d or gram.spectra(self.name).resolves_singular_values(m, d)

    def parts(self, count: int) -> list[tuple[int, int]]:
        """About `count` ranges of rows that can be read independently; chosen rows are gathered first by each."""
        return self._stored.parts(count)

    # prepared rows

    def take(self, indices: npt.ArrayLike) -> Array:
        """These rows of the design, prepared in float64, in the order given."""
        numbers = row_numbers(indices, self.shape[0])
        block, rows = self._stored.take(numbers), self._rows()
        with named_errors(self.name):
            return rows(block, numbers if self._plan.chosen is None else self._plan.chosen[numbers])

    def matrix(self) -> Array:
        """All prepared rows in memory, in float64: float32's rounding would exceed the smallest eigenvalues."""
        refuse_beyond_memory(self.name, self.bytes)
        return filled(self.shape, np.float64, self._prepared(self._rows()))

    def _rows(self, survey: Survey | None = None) -> gram.Rows:
        """What prepares rows, by a survey where it takes one."""
        if survey is None and (self._plan.center or self.standardized):
            survey = self._surveyed()
        with named_errors(self.name):
            return gram.Rows(
                survey, self._plan.center, self._plan.normalize, self.standardized, self._projection
            )

    @functools.cached_property
    def _projection(self) -> Array | None:
        return self._plan.projection(self.source.shape[1])

    @functools.cached_property
    def _stored(self) -> Source:
        """The rows as they are stored; those that were chosen are gathered once, in the design's order."""
        if self._plan.chosen is None:
            return self.source
        return Source([Memory(self.source.take(self._plan.chosen), self.name)], self.name)

    def _blocks(self, start: int = 0, stop: int | None = None) -> Iterator[np.ndarray]:
        """Rows as they are stored, in blocks that are worth a matrix product and no burden."""
        rows = BLOCK // (8 * max(self.source.shape[1], self.shape[1]))
        return self._stored.blocks(max(16, min(8192, rows)), start, stop)

    def _prepared(self, rows: gram.Rows, start: int = 0, stop: int | None = None) -> Iterator[Array]:
        """Prepared rows in blocks; one that cannot be scaled is refused by its number in the file."""
        chosen = self._plan.chosen
        for block in self._blocks(start, stop):
            end = start + len(block)
            with named_errors(self.name):
                made = rows(block, range(start, end) if chosen is None else chosen[start:end])
            yield made
            start = end

    # the survey and the spectrum, whole or in parts

    def survey(self, start: int = 0, stop: int | None = None, progress: Progress | None = None) -> Survey:
        """What the rows in [start, stop) tell before anything is done to them: `gram.survey` of them."""
        blocks = gram.read_ahead(self._blocks(start, stop))
        seen = map(Survey.of, gram.told(blocks, progress, self.shape[0], "reading the mean"))
        return functools.reduce(gram.merge, seen)

    def keep(self, survey: Survey) -> None:
        """Remember a complete survey, unless it says that there is nothing but one row."""
        if survey.rows != self.shape[0]:
            raise InputError(f"{self.name} changed while it was read: it has lost or gained rows.")
        if (survey.low == survey.high).all():
            raise InputError(f"{self.name} has {survey.rows} rows that are all equal: there is no spectrum.")
        self._survey = survey

    def _surveyed(self, progress: Progress | None = None) -> Survey:
        """The survey of all rows, made once."""
        if self._survey is None:
            self.keep(self.survey(progress=progress))
        assert self._survey is not None
        return self._survey

    def partial(
        self, start: int, stop: int | None, survey: Survey, progress: Progress | None = None
    ) -> gram.Sums:
        """The sums of the rows in [start, stop), by a survey of all: `gram.partial` of them."""
        refuse_beyond_memory(self.name, 8 * self.shape[1] ** 2)
        rows = self._rows(survey)
        blocks = gram.read_ahead(self._prepared(rows, start, stop))
        return gram.accumulate(
            gram.told(blocks, progress, self.shape[0], "summing the Gram matrix"), rows.norms
        )

    def finish(self, survey: Survey, sums: gram.Sums) -> Array:
        """The eigenvalues from the survey and the sums of all rows; this design remembers both for a forecast."""
        self.keep(survey)
        if sums.rows != self.shape[0]:
            raise InputError(f"{self.name} changed while it was read: it has lost or gained rows.")
        with named_errors(self.name):
            self._eigenvalues = gram.finish(sums)
        return self._eigenvalues.copy()

    def gram_eigenvalues(self, progress: Progress | None = None) -> Array:
        r"""Ascending eigenvalues of :math:`X^\top X/m`, exact zeros as in :func:`edgelaw.spectrum.gram_eigenvalues`.

        A matrix of at most 4096 rows and columns is decomposed whole. A larger one is summed up to its Gram matrix,
        a block at a time while the next is being read; its rows are read twice, first for their survey. `progress` is
        called as ``progress(done, total, what)``.
        """
        if self._eigenvalues is None:
            survey = self._surveyed(progress)
            with named_errors(self.name):
                if self.small:
                    values = gram.nonvanishing(gram.spectra(self.name).gram_eigenvalues(self.matrix()))
                else:
                    values = gram.eigenvalues(self.partial(0, None, survey, progress))
            self._eigenvalues = values
        return self._eigenvalues.copy()
