"""What all readers of files share: their base class, which array of a file to read, what is no matrix.

A reader knows its ``shape``, the ``dtype`` as stored and the ``keys`` of the arrays in its file; ``read(start, stop,
rows)`` yields raw blocks. ``seeks`` says whether reading from the middle is cheap. Nothing is ever unpickled, and what
cannot be read is refused as one :class:`InputError`. Packages that only some formats need are imported when such a file
is opened.
"""

from __future__ import annotations

import abc
import copy
import importlib
import os
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType

import numpy as np
import numpy.typing as npt

from edgelaw._common import extras
from edgelaw_app.files.errors import InputError

WIDEST = 2**22  # columns: a few rows of more are gigabytes, and no eigenvalues could be computed of them
USUAL_KEYS = ("x_train", "embeddings", "features")  # the paper's two files, then ours


class Reader(abc.ABC):
    """The rows of one matrix, read a block at a time.

    Attributes
    ----------
    path : str
        The file.
    shape : (rows, columns)
    dtype : numpy.dtype
        As stored.
    keys : tuple of str
        The arrays in the file, if they have names.
    seeks : bool
        Whether reading from the middle is cheap.
    in_memory : bool
        Whether the rows are an array of this process and not a file that others can read too.
    names : tuple of str
        The names of the columns that are read, if they have names.
    numbers : list of int or None
        Which columns of the file these are; None for all.
    notes : tuple of str
        What a reader of the rows should know, such as columns that were left out; sentences.
    """

    path: str
    shape: tuple[int, int]
    dtype: np.dtype
    keys: tuple[str, ...] = ()
    seeks: bool = True
    in_memory: bool = False
    names: tuple[str, ...] = ()
    numbers: list[int] | None = None
    notes: tuple[str, ...] = ()

    @abc.abstractmethod
    def read(self, start: int, stop: int, rows: int) -> Iterator[np.ndarray]:
        """The rows from `start` to `stop` as they are stored, in blocks of at most `rows`."""

    def cuts(self, size: int) -> Sequence[int]:
        """Where parts of about `size` rows begin that can be read independently at no extra cost."""
        return range(0, self.shape[0], size) if self.seeks else [0]

    def portable(self) -> Reader:
        """The same reader for another process, which may stand in another folder."""
        other = copy.copy(self)
        other.path = os.path.abspath(self.path)
        return other


def package(name: str, path: str) -> ModuleType:
    """An optional package, or a sentence that says how to get it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise InputError(f"{path} cannot be read, because {extras.sentence(name.split('.')[0])}") from None


def pick(
    keys: Sequence[str],
    path: str,
    key: str | None,
    matrices: Callable[[], list[str]] | None = None,
) -> str:
    """Which of a file's arrays to read; `matrices` tells, when it matters, which of them are matrices."""
    listed = ", ".join(map(repr, keys)) or "none"
    if key is not None:
        if key not in keys:
            raise InputError(f"{path} has no array {key!r}; its arrays are: {listed}.")
        return key
    if len(keys) == 1:
        return keys[0]
    for usual in USUAL_KEYS:
        if usual in keys:
            return usual
    candidates = matrices() if matrices and keys else []
    if len(candidates) == 1:
        return candidates[0]
    raise InputError(f"{path} needs a key that says which array to read; its arrays are: {listed}.")


def refuse_key(path: str, key: str | None) -> None:
    """Refuse a key for a file whose one array has none."""
    if key is not None:
        raise InputError(f"{path} holds one array without a key, so key must be left out, not {key!r}.")


def spans(start: int, stop: int, rows: int) -> Iterator[tuple[int, int]]:
    """The blocks of `rows` rows between start and stop."""
    return ((k, min(k + rows, stop)) for k in range(start, stop, rows))


def real_matrix(path: str, shape: tuple[int, ...], dtype: npt.DTypeLike) -> tuple[tuple[int, int], np.dtype]:
    """Shape and dtype of a matrix of real numbers with at least two rows and columns; anything else is refused."""
    dtype, shape = np.dtype(dtype), tuple(shape)
    if dtype.kind == "O":
        raise InputError(f"{path} holds pickled objects, which are never loaded: save a plain array.")
    if dtype.kind == "c":
        raise InputError(f"{path} must hold real numbers, not complex ones (dtype {dtype}).")
    if dtype.kind not in "fiu":
        raise InputError(f"{path} must hold real numbers, not dtype {dtype}.")
    if len(shape) != 2:
        raise InputError(
            f"{path} must hold a matrix, one example per row, but its array has {len(shape)} dimension(s): "
            f"its shape must be (rows, columns), not shape {shape}."
        )
    if shape[1] > WIDEST:
        raise InputError(f"{path} must have at most {WIDEST:,} columns, not {shape[1]:,}.")
    if 0 in shape:
        raise InputError(f"{path} holds no numbers: its array is empty, of shape {shape}.")
    if min(shape) < 2:
        what = "row" if shape[0] < 2 else "column"
        raise InputError(
            f"{path} holds one {what} only; at least 2 rows and 2 columns are needed, not shape {shape}."
        )
    return (shape[0], shape[1]), dtype
