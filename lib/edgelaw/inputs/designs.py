r"""A reader's own file as a design, a block of rows at a time.

:func:`open_matrix` opens a file (or many, as one), :func:`design` says what is done to its rows, and neither reads more
than it must: the eigenvalues of a file far larger than the memory take one d × d matrix and one block of rows. What
cannot be used is refused as one :class:`InputError`, a sentence that says what is wrong and where.
"""

import copy
import glob
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from edgelaw import spectrum
from edgelaw._common import arguments, preprocessing
from edgelaw.inputs import readers, text
from edgelaw.inputs.readers import InputError

__all__ = ["Design", "InputError", "Source", "design", "load_embeddings", "open_matrix"]

FORMATS = {
    ".npy": readers.Npy,
    ".npz": readers.Npz,
    ".csv": text.Text,
    ".tsv": text.Text,
    ".csv.gz": text.Text,
    ".tsv.gz": text.Text,
    ".parquet": readers.Parquet,
    ".safetensors": readers.Safetensors,
    ".pt": readers.Torch,
    ".pth": readers.Torch,
    ".zarr": readers.Zarr,
}
FEWEST = 20  # dimensions below which an edge of a spectrum cannot be seen
BLOCK = 2**24  # bytes of a block of the Gram matrix' sum, in float64: few, but enough for a fast product
PANEL = 256  # columns of the Gram matrix summed at once
REMEMBERED = 2**24  # rows whose fingerprints are kept to find duplicates: 128 MB


# opening -----------------------------------------------------------------------------------------------------


def _format(path):
    """The ending that says a file's format, or None."""
    name = Path(path).name.lower()
    return next((ending for ending in FORMATS if name.endswith(ending)), None)


def _shards(path):
    """The files that a path, a pattern or a folder names, and what to call them together."""
    text = os.fspath(path)
    place = Path(text)
    if place.is_dir() and not _is_store(place):
        if place.suffix and _format(place):
            raise readers.MissingFile(f"There is no file {text}, only a folder of that name.")
        found = sorted(
            str(entry) for entry in place.iterdir() if _format(entry) and entry.name[0] not in "._"
        )
        kinds = sorted({_format(entry) for entry in found})
        if not found:
            raise InputError(f"The folder {text} holds no shards: no file that ends in {_listed()}.")
        if len(kinds) > 1:
            raise InputError(
                f"The folder {text} holds files of several formats ({', '.join(kinds)}); name the shards by a "
                f"pattern such as '{place / ('*' + kinds[0])}'."
            )
        return found
    if not place.exists() and any(sign in text for sign in "*?["):
        found = sorted(glob.glob(text, recursive=True))
        if not found:
            raise readers.MissingFile(f"There is no file that fits the pattern {text}.")
        return found
    return [text]


def _is_store(place):
    """Whether a folder is a zarr store."""
    return any((place / name).exists() for name in ("zarr.json", ".zarray", ".zgroup"))


def _listed():
    return f"{', '.join(list(FORMATS)[:-1])} or {list(FORMATS)[-1]}"


def _reader(path, key):
    """The reader of one file."""
    place = Path(path)
    kind = readers.Zarr if place.is_dir() and _is_store(place) else FORMATS.get(_format(path))
    if kind is None:
        raise InputError(f"{path} must be a {_listed()} file, or a folder or pattern of such files.")
    if not place.exists() or (place.is_dir() and kind is not readers.Zarr):
        raise readers.MissingFile(f"There is no file {path}.")
    try:
        with open(path, "rb") if place.is_file() else _nothing():
            pass
    except OSError as error:
        raise InputError(f"{path} cannot be opened: {error.strerror}.") from None
    return kind(os.fspath(path), key)


class _nothing:
    def __enter__(self): ...
    def __exit__(self, *_): ...


def open_matrix(path, key=None):
    """Open a matrix of numbers, one example a row, without reading it.

    Parameters
    ----------
    path : str or path
        A .npy, .npz, .csv or .tsv (plain or .gz), .parquet, .safetensors, .pt, .pth or .zarr file; or many of equal
        width as one, in sorted order: a folder of them, or a pattern such as ``"shards/*.parquet"``.
    key : str, optional
        Which array of a file that holds several. By default the only one, else the one called ``x_train``,
        ``embeddings`` or ``features``, else the only matrix.

    Returns
    -------
    Source

    Raises
    ------
    InputError
        When it is missing, damaged, a pickle, not a real matrix, or needs a package that is not installed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "embeddings.npy"
    ...     np.save(path, np.arange(12.0).reshape(4, 3))
    ...     source = open_matrix(path)
    ...     source.shape, source.take([3, 0]).tolist()
    ((4, 3), [[9.0, 10.0, 11.0], [0.0, 1.0, 2.0]])
    """
    try:
        files = _shards(path)
        readers = [_reader(file, key) for file in files]
    except InputError:
        raise
    except (OSError, ValueError) as error:  # a name with a zero byte, a folder that may not be read
        raise InputError(f"{path!r} cannot be opened: {getattr(error, 'strerror', None) or error}.") from None
    for file, reader in zip(files, readers, strict=True):
        if reader.shape[1] != readers[0].shape[1]:
            raise InputError(
                f"Shards must have equal width, but {files[0]} has {readers[0].shape[1]} columns "
                f"and {file} has {reader.shape[1]}."
            )
    return Source(readers, str(path))


def _kept(dtype):
    """float32 for numbers that fit into it, else float64."""
    dtype = np.dtype(dtype)
    return np.dtype(np.float32) if dtype in (np.float32, np.float16) else np.dtype(np.float64)


class Source:
    """A matrix that is read a block at a time; made by :func:`open_matrix`.

    Attributes
    ----------
    name : str
        The path as it was given.
    shape : (rows, columns)
    dtype : numpy.dtype
        Of what is read: float32 if stored as float32 or float16 (or bfloat16), else float64.
    keys : list of str
        The arrays in the (first) file, if they have names.
    """

    def __init__(self, readers, name):
        self.name, self._readers = name, readers
        self._ends = np.cumsum([0, *(reader.shape[0] for reader in readers)])
        self.shape = (int(self._ends[-1]), int(readers[0].shape[1]))
        self.dtype = np.result_type(*(_kept(reader.dtype) for reader in readers))
        self.keys = list(readers[0].keys)

    def __repr__(self):
        return f"Source({self.name!r}, shape={self.shape}, dtype={self.dtype})"

    def __getstate__(self):
        readers = [copy.copy(reader) for reader in self._readers]
        for reader in readers:  # another process may stand in another folder
            if hasattr(reader, "path"):
                reader.path = os.path.abspath(reader.path)
        return {**self.__dict__, "_readers": readers}

    def blocks(self, rows=4096, start=0, stop=None):
        """All rows, or those from `start` to `stop`, as arrays of at most `rows` rows.

        Raises
        ------
        InputError
            At the first block that is not finite, after the rest has been counted.
        """
        rows = arguments.whole(rows, "rows", 1)
        stop = self.shape[0] if stop is None else min(stop, self.shape[0])
        pieces = self._raw(rows, start, stop)
        for first, raw in pieces:
            yield self._floats(raw, range(first, first + len(raw)), pieces)

    def _raw(self, rows, start, stop):
        """Pairs of (number of the first row, rows as they are stored)."""
        for reader, begin, end in zip(self._readers, self._ends, self._ends[1:], strict=False):
            a, b = max(start, int(begin)), min(stop, int(end))
            if a < b:
                for raw in reader.read(a - int(begin), b - int(begin), rows):
                    yield a, raw
                    a += len(raw)

    def _floats(self, raw, numbers, rest=()):
        """Raw rows as finite floats, or a sentence about what is wrong and how much of it is in the rest."""
        if raw.dtype.kind in "iu":
            if raw.dtype.itemsize == 8 and (raw.max(initial=0) > 2**53 or raw.min(initial=0) < -(2**53)):
                i, j = np.argwhere((raw > 2**53) | (raw < -(2**53)))[0]
                raise InputError(
                    f"{self.name} holds integers beyond 2^53, which floating point numbers cannot tell apart; "
                    f"the first is in row {numbers[i]}, column {j} (counted from 0)."
                )
            return raw.astype(self.dtype)
        block = raw.astype(self.dtype, copy=False)
        with np.errstate(over="ignore", invalid="ignore"):
            quick = np.isfinite(block.sum())
        if not quick and not np.isfinite(block).all():
            self._refuse(block, numbers, rest)
        if block.dtype.itemsize > 4 and max(block.max(), -block.min()) > preprocessing.LARGEST:
            i, j = np.argwhere(np.abs(block) > preprocessing.LARGEST)[0]
            raise InputError(
                f"{self.name} must hold numbers below {preprocessing.LARGEST:g} in size, so that their "
                f"squares are finite; there is a larger one in row {numbers[i]}, column {j} (counted from 0)."
            )
        return block

    def _refuse(self, block, numbers, rest):
        i, j = np.argwhere(~np.isfinite(block))[0]
        nans, infinite = int(np.isnan(block).sum()), int(np.isinf(block).sum())
        for _, raw in rest:
            if raw.dtype.kind == "f":
                nans, infinite = nans + int(np.isnan(raw).sum()), infinite + int(np.isinf(raw).sum())
        what = " and ".join(f"{n} {said}" for n, said in ((nans, "NaN"), (infinite, "infinite")) if n)
        raise InputError(
            f"{self.name} must hold finite numbers, but it contains {what}; the first is {block[i, j]} in "
            f"row {numbers[i]}, column {j} (counted from 0)."
        )

    def take(self, indices):
        """These rows, in the order given; only what is needed of the file is read, where its format allows it."""
        indices = _indices(indices, self.shape[0])
        result = np.empty((len(indices), self.shape[1]), self.dtype)
        wanted, places = np.unique(indices, return_inverse=True)
        found = np.empty((len(wanted), self.shape[1]), self.dtype) if len(wanted) < len(indices) else result
        order = places if found is result else np.arange(len(wanted))
        back = np.argsort(order, kind="stable") if found is result else order
        for k, rows in self._rows(wanted):
            found[back[k : k + len(rows)]] = rows
        return found if found is result else found[places]

    def _rows(self, wanted):
        """Pairs of (k, the rows wanted[k], wanted[k+1], ...) for ascending row numbers."""
        for reader, begin, end in zip(self._readers, self._ends, self._ends[1:], strict=False):
            low, high = np.searchsorted(wanted, [begin, end])
            mine = wanted[low:high] - begin
            if not len(mine):
                continue
            # a format that seeks is read in runs of near rows, another from its beginning to the last row wanted
            cuts = np.flatnonzero(np.diff(mine) > 16) + 1 if reader.seeks else np.array([], int)
            for run in np.split(np.arange(len(mine)), cuts):
                at = int(mine[run[0]]) if reader.seeks else 0
                for raw in reader.read(at, int(mine[run[-1]]) + 1, 4096):
                    a, b = np.searchsorted(mine, [at, at + len(raw)])
                    if a < b:
                        rows = raw[mine[a:b] - at]
                        yield int(low) + int(a), self._floats(rows, wanted[low + a : low + b])
                    at += len(raw)

    def parts(self, count):
        """About `count` ranges of rows (start, stop) that can be read independently at no extra cost."""
        size = max(1, -(-self.shape[0] // max(count, 1)))
        ranges = []
        for reader, begin, end in zip(self._readers, self._ends, self._ends[1:], strict=False):
            rows = int(end - begin)
            cuts = getattr(reader, "cuts", range(0, rows, size)) if reader.seeks else [0]
            for a, b in zip(cuts, [*cuts[1:], rows], strict=True):
                a, b = a + int(begin), b + int(begin)
                if ranges and b - ranges[-1][0] <= size:
                    ranges[-1] = (ranges[-1][0], b)
                else:
                    ranges.append((a, b))
        return ranges


def _indices(indices, available):
    """Row numbers, checked."""
    indices = np.asarray(indices)
    if indices.size == 0:
        return np.empty(0, dtype=np.int64)
    if indices.ndim != 1 or indices.dtype.kind not in "iu":
        raise ValueError("indices must be a list of row numbers.")
    if indices.min() < 0 or indices.max() >= available:
        raise ValueError(
            f"indices must be from 0 to {available - 1}, not {indices.min()} to {indices.max()}."
        )
    return indices.astype(np.int64)


def load_embeddings(path, key=None):
    """Read a matrix of embeddings, one a row, whole into memory.

    Reads the paper's own files as they are: ``cifar10_resnet50_embeddings.npz`` (key ``x_train``) and
    ``wiki_embeddings.npz`` (key ``embeddings``). Nothing is ever unpickled; a file that would need it is
    refused.

    Parameters
    ----------
    path : path to a file
        Of any format that :func:`edgelaw.inputs.open_matrix` reads.
    key : str, optional
        Which array of a file holding several. By default the only one there is, else the one called
        ``x_train``, ``embeddings`` or ``features``, else the only matrix.

    Returns
    -------
    ndarray of shape (rows, columns)
        float32 or float64 as stored; float16 becomes float32, integers become float64.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from edgelaw import inputs
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "wiki_embeddings.npz"
    ...     np.savez(path, embeddings=np.eye(4, 3))
    ...     inputs.load_embeddings(path).shape
    (4, 3)
    """
    source = open_matrix(path, key)
    X = np.empty(source.shape, source.dtype)
    first = 0
    for block in source.blocks():
        X[first : first + len(block)] = block
        first += len(block)
    return X


# preparing ---------------------------------------------------------------------------------------------------


def design(source_or_array, rows=None, dims=None, center=True, normalize=True, rng=0):
    """What SGD will see of a file or an array: the paper's preprocessing, done when rows are asked for.

    The steps, the rows and the projection are those of :func:`edgelaw.data.preprocess` for the same seed, and
    the numbers agree to rounding (tested).

    Parameters
    ----------
    source_or_array : Source or array of shape (rows, columns)
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
    source = source_or_array
    if not isinstance(source, Source):
        try:
            array = np.asanyarray(source)
        except ValueError:
            raise InputError("X must be a rectangular array of real numbers.") from None
        source = Source([readers.Memory(array, "X")], "X")
    try:
        plan = preprocessing.plan(*source.shape, rows, dims, rng, center, normalize)
    except ValueError as error:
        raise InputError(str(error).replace("X has", f"{source.name} has")) from None
    if plan.shape[1] < FEWEST:
        raise InputError(
            f"{source.name} leaves {plan.shape[1]} dimensions, but at least {FEWEST} are needed "
            "to see the edge of a spectrum."
        )
    return Design(source, plan)


def ahead(items):
    """The same items, each made by another thread while the one before is in use."""
    items = iter(items)
    end = object()
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, items, end)
        try:
            while (item := coming.result()) is not end:
                coming = thread.submit(next, items, end)
                yield item
        finally:
            coming.cancel()


class Survey:
    """What one pass over the rows tells: how many, their mean, and fingerprints to find equal ones."""

    def __init__(self, columns, remember=True):
        self.count, self.total = 0, np.zeros(columns)
        self.prints = [] if remember else None

    def add(self, block):
        """Take some rows, as they are in the file."""
        self.count += len(block)
        self.total += block.sum(axis=0, dtype=np.float64)
        if self.prints is not None:
            self.prints.append(fingerprints(block))

    def merge(self, other):
        """Take what another part of the rows told."""
        self.count, self.total = self.count + other.count, self.total + other.total
        if self.prints is not None:
            self.prints += other.prints
        return self

    def without_prints(self):
        """What is needed to centre rows, and no more."""
        mean = Survey(len(self.total), remember=False)
        mean.count, mean.total = self.count, self.total
        return mean

    @property
    def mean(self):
        """The mean row."""
        return self.total / self.count

    @property
    def duplicates(self):
        """How many rows repeat an earlier one; None if there were too many rows to remember."""
        if self.prints is None:
            return None
        return self.count - len(np.unique(np.concatenate(self.prints)))


def fingerprints(block):
    """64 bits a row, equal for rows that are equal bit by bit, and for others by chance once in 2^64 pairs."""
    words = np.ascontiguousarray(block).view(np.uint32)
    if words.shape[1] % 2:
        words = np.pad(words, ((0, 0), (0, 1)))
    words = words.view(np.uint64)
    weights = np.random.default_rng(2**61 - 1).integers(0, 2**63, words.shape[1], np.uint64) * np.uint64(
        2
    ) + np.uint64(1)
    found = np.empty(len(words), np.uint64)
    step = max(1, 2**15 // words.shape[1])
    for k in range(0, len(words), step):
        # A weighted sum alone would confuse rows that differ in signs only: mix the bits of each word first.
        mixed = words[k : k + step] >> np.uint64(31)
        mixed ^= words[k : k + step]
        mixed *= np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
        mixed *= weights
        mixed.sum(axis=1, out=found[k : k + step])
    return found


class Gram:
    """The sum of x xᵀ over prepared rows (its lower triangle), the sum of the rows, their norms before scaling."""

    def __init__(self, dims, mean):
        self.total, self.sums, self.count = np.zeros((dims, dims)), np.zeros(dims), 0
        self.norms = preprocessing.Norms(mean)
        self._scratch = None

    def __getstate__(self):
        return {**self.__dict__, "_scratch": None}

    def add(self, block):
        """Take some prepared rows: panels of the lower triangle, so that the scratch is small too."""
        d = len(self.total)
        if self._scratch is None:
            self._scratch = np.empty(d * min(PANEL, d))
        for k in range(0, d, PANEL):
            panel = block[:, k : k + PANEL]
            end, width = k + panel.shape[1], panel.shape[1]
            # numpy calls BLAS' symmetric product for a matrix and its own transpose: half the work
            square = self._scratch[: width * width].reshape(width, width)
            self.total[k:end, k:end] += np.matmul(panel.T, panel, out=square)
            below = self._scratch[: (d - end) * width].reshape(d - end, width)
            self.total[end:, k:end] += np.matmul(block[:, end:].T, panel, out=below)
        self.count += len(block)

    def merge(self, other):
        """Take the sums of another part of the rows."""
        self.total += other.total
        self.sums += other.sums
        self.count += other.count
        self.norms.merge(other.norms)
        return self


class Design:
    """Rows as SGD sees them, made when they are asked for; made by :func:`design`.

    Attributes
    ----------
    name : str
        Of the source.
    shape : (m, d)
    steps : tuple of str
        What is done to the file's rows, one sentence a step.
    null : int
        How many eigenvalues are zero by construction.
    seed : int or None
    source : Source
    """

    def __init__(self, source, plan):
        self.source, self._plan = source, plan
        self.name, self.shape, self.steps = source.name, plan.shape, plan.steps
        self.null, self.seed = plan.null, plan.seed
        self._survey = self._drawn = self._gathered = self._values = None

    def __repr__(self):
        return f"Design({self.name!r}, shape={self.shape})"

    def __getstate__(self):
        made_again = dict.fromkeys(("_drawn", "_gathered", "_survey", "_values"))
        return {**self.__dict__, **made_again}

    @property
    def bytes(self):
        """What :meth:`matrix` needs."""
        return 8 * self.shape[0] * self.shape[1]

    @property
    def duplicates(self):
        """How many rows repeat an earlier one, bit for bit; None beyond 2^24 rows. Reads the file once."""
        return self._surveyed().duplicates

    # the rows as they are in the file

    def _chosen(self, rows, start=0, stop=None):
        """Pairs of (row numbers, rows) in the file's order, of those rows of [start, stop) that were chosen."""
        chosen = self._plan.chosen
        stop = self.source.shape[0] if stop is None else stop
        if chosen is None:
            for block in self.source.blocks(rows, start, stop):
                yield range(start, start + len(block)), block
                start += len(block)
            return
        wanted = np.sort(chosen)
        wanted = wanted[(wanted >= start) & (wanted < stop)]
        for k in range(0, len(wanted), rows if self._seeks else max(len(wanted), 1)):
            part = wanted[k : k + rows] if self._seeks else wanted
            for at, block in self.source._rows(part):
                yield part[at : at + len(block)], block

    @property
    def _seeks(self):
        return all(reader.seeks for reader in self.source._readers)

    @property
    def _projection(self):
        if self._drawn is None and self._plan.generator is not None:
            self._drawn = self._plan.projection(self.source.shape[1])
        return self._drawn

    def _new_survey(self):
        return Survey(self.source.shape[1], remember=self.shape[0] <= REMEMBERED)

    def _surveyed(self, progress=None):
        """The survey of all rows, made once."""
        if self._survey is None:
            self.keep(self.survey(progress=progress))
        return self._survey

    def survey(self, start=0, stop=None, progress=None):
        """What the rows in [start, stop) of the file tell, before anything is done to them."""
        survey = self._new_survey()
        for _, block in ahead(self._chosen(self._size(self.source.dtype.itemsize), start, stop)):
            survey.add(block)
            if progress:
                progress(survey.count, self.shape[0], "reading the mean")
        return survey

    def parts(self, count):
        """About `count` ranges of the file's rows that can be read independently at no extra cost."""
        return self.source.parts(count)

    @property
    def in_memory(self):
        """Whether the rows are an array of this process and not a file that others can read too."""
        return any(isinstance(reader, readers.Memory) for reader in self.source._readers)

    def keep(self, survey):
        """Remember a complete survey, unless it says that there is nothing but one row."""
        if survey.duplicates == survey.count - 1:
            raise InputError(f"{self.name} has {survey.count} rows that are all equal: there is no spectrum.")
        self._survey = survey

    def _size(self, itemsize=8):
        """Rows of a block that is worth a matrix product and no burden."""
        return max(16, min(8192, BLOCK // (itemsize * max(self.source.shape[1], self.shape[1]))))

    # prepared rows

    def _mean(self, survey=None):
        """The row to subtract, in the projected space; None without centring."""
        if not self._plan.center:
            return None
        mean = (survey or self._surveyed()).mean
        return mean if self._projection is None else mean @ self._projection

    def _prepare(self, block, numbers, mean, norms, out=None):
        """Project, centre and scale some rows, in float64; a row that is nothing is refused."""
        if self._projection is not None:
            out = np.matmul(block.astype(np.float64, copy=False), self._projection, out=out)
            block = out
        elif out is None:
            out = np.empty(block.shape)
        step = max(1, 2**16 // out.shape[1])  # a part that stays in the cache through all steps
        for k in range(0, len(out), step):
            part, rows = out[k : k + step], block[k : k + step]
            if mean is not None:
                np.subtract(rows, mean, out=part)
            elif part is not rows:
                part[...] = rows
            if self._plan.normalize:
                lengths = np.sqrt(np.einsum("ij,ij->i", part, part))
                with refused(self.name):
                    norms.add(lengths, numbers[k : k + step])
                preprocessing.scale_rows(part, lengths)
        return out

    def blocks(self, rows=4096):
        """All prepared rows, in the design's order, as float64 arrays of at most `rows` rows.

        Float64 whatever the file holds: the smallest eigenvalues, which set the learning curves, would drown in
        float32's rounding. With chosen rows, these are gathered first, as they are stored; without, one block is
        in memory at a time.
        """
        rows = arguments.whole(rows, "rows", 1)
        mean, first = self._mean(), 0
        norms = preprocessing.Norms(mean)
        for block in self._ordered(rows):
            numbers = (
                range(first, first + len(block)) if self._plan.chosen is None else self._plan.chosen[first:]
            )
            yield self._prepare(block, numbers, mean, norms)
            first += len(block)

    def _ordered(self, rows):
        """Raw rows in the design's order."""
        if self._plan.chosen is None:
            return self.source.blocks(rows)
        if self._gathered is None:
            self._gathered = self.source.take(self._plan.chosen)
        return (self._gathered[k : k + rows] for k in range(0, self.shape[0], rows))

    def take(self, indices):
        """These rows of the design, prepared, in the order given."""
        indices = _indices(indices, self.shape[0])
        mean = self._mean()
        numbers = indices if self._plan.chosen is None else self._plan.chosen[indices]
        block = self._gathered[indices] if self._gathered is not None else self.source.take(numbers)
        return self._prepare(block, numbers, mean, preprocessing.Norms(mean))

    def matrix(self):
        """All prepared rows in memory."""
        X = np.empty(self.shape)
        first = 0
        for block in self.blocks(self._size()):
            X[first : first + len(block)] = block
            first += len(block)
        return X

    # the spectrum

    def gram_eigenvalues(self, progress=None):
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
        if self._values is None:
            if self.small:
                self._values = spectrum.gram_eigenvalues(self.matrix())
            else:
                if self.twice:
                    self._surveyed(progress)
                gram, survey = self.accumulate(progress=progress)
                self.finish(gram, survey)
        return self._values.copy()

    @property
    def small(self):
        """Whether the matrix itself is decomposed: it is small, or smaller than its Gram matrix."""
        m, d = self.shape
        return m < d or spectrum.resolves_singular_values(m, d)

    @property
    def center(self):
        """Whether the mean row is subtracted."""
        return self._plan.center

    @property
    def twice(self):
        """Whether rows have to be read twice: what each is divided by depends on the mean of all."""
        return self._plan.center and self._plan.normalize

    def finish(self, gram, survey=None):
        """Eigenvalues from the complete sum of the rows' outer products; they are remembered."""
        if survey is not None:
            self.keep(survey)
        if gram.count != self.shape[0]:
            raise InputError(f"{self.name} changed while it was read: it has lost or won rows.")
        if self._plan.center and not self._plan.normalize:
            gram.total -= np.outer(gram.sums, gram.sums / gram.count)
        self._values = spectrum.of_gram(gram.total, self.shape)
        return self._values.copy()

    def accumulate(self, start=0, stop=None, survey=None, progress=None):
        """The Gram sums of the rows in [start, stop) of the file, and a survey of them if none was there yet.

        `survey` gives the mean when it was found elsewhere.
        """
        known = survey or self._survey
        fresh = None if known else self._new_survey()
        mean = self._mean(known) if known and self._plan.center else None
        rows = self._size()
        buffers = [np.empty((rows, self.shape[1])) for _ in range(2)]
        gram = None

        def prepared():
            nonlocal mean, gram
            for k, (numbers, block) in enumerate(self._chosen(rows, start, stop)):
                if fresh is not None:
                    fresh.add(block)
                    if k == 0 and self._plan.center:
                        mean = self._mean(fresh)
                if gram is None:
                    gram = Gram(self.shape[1], mean)
                out = buffers[k % 2][: len(block)]
                self._prepare(block, numbers, mean, gram.norms, out)
                if self._plan.center and not self._plan.normalize:
                    gram.sums += out.sum(axis=0)
                yield out

        for block in ahead(prepared()):
            gram.add(block)
            if progress:
                progress(gram.count, self.shape[0], "summing the Gram matrix")
        return gram or Gram(self.shape[1], mean), fresh


class refused:
    """Say what a shared formula refuses as an error of this input."""

    def __init__(self, name):
        self._name = name

    def __enter__(self): ...

    def __exit__(self, kind, error, trace):
        if kind is ValueError:
            raise InputError(str(error).replace(" of X ", f" of {self._name} ", 1)) from None
