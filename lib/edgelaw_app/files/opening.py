"""From a path to a matrix: which files it names, of which format, opened without reading them."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from edgelaw_app.files import numpy_files, tensors
from edgelaw_app.files.columns import Choice, Columns
from edgelaw_app.files.errors import InputError, MissingFile, as_input_error
from edgelaw_app.files.reader import Opened, pick
from edgelaw_app.files.source import Source
from edgelaw_app.files.tables import Ipc, Parquet, Table
from edgelaw_app.files.text import Text

TABLES: dict[str, type[Table] | type[Text]] = {
    **dict.fromkeys((".csv", ".tsv", ".csv.gz", ".tsv.gz"), Text),
    ".parquet": Parquet,
    **dict.fromkeys((".feather", ".arrow"), Ipc),
}
FORMATS: dict[str, Callable[[str], Opened]] = {
    ".npy": numpy_files.npy,
    ".npz": numpy_files.npz,
    **{ending: table.opened for ending, table in TABLES.items()},
    ".safetensors": tensors.safetensors,
    **dict.fromkeys((".pt", ".pth"), tensors.torch),
}


def open_matrix(
    path: str | os.PathLike[str],
    key: str | None = None,
    columns: Columns | None = None,
    drop: Columns | None = None,
) -> Source:
    """Open a matrix of numbers, one example per row, without reading it.

    Parameters
    ----------
    path : str or path
        A .npy, .npz (one of a sparse matrix of SciPy, too), .csv or .tsv (plain or .gz), .parquet, .feather, .arrow
        (a file or a stream, as Hugging Face's datasets are), .safetensors, .pt or .pth file; or many of equal width as
        one, in sorted order: a folder of them, or a pattern such as ``"shards/*.parquet"``.
    key : str, optional
        Which array of a file that holds several. By default the only one, else the one called ``x_train``,
        ``embeddings`` or ``features``, else the only matrix.
    columns, drop : str, int, or several of them, optional
        The columns to read (by default all) and those to leave out, such as labels: by name, by a pattern of names
        such as ``"emb_*"``, by number counted from 0 (-1 is the last), or by a range of numbers such as ``"3-9"`` or
        ``"3-"``; a text may list several, separated by commas. They are read in the file's order. A column that numbers
        the rows, as pandas and R write it without a name, is left out unless `columns` names it; `Source.notes`
        says so.

    Raises
    ------
    InputError
        When it is missing, damaged, a pickle, not a real matrix, or needs a package that is not installed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "embeddings.npy"
    ...     np.save(path, np.arange(12.0).reshape(4, 3))
    ...     source = open_matrix(path)
    ...     source.shape, source.take([3, 0]).tolist()
    ((4, 3), [[9.0, 10.0, 11.0], [0.0, 1.0, 2.0]])
    """
    several = (columns, drop)
    lists = [one if isinstance(one, str) or not isinstance(one, Iterable) else list(one) for one in several]
    try:
        files = _shards(os.fspath(path))
        readers = [pick(opened(file), file, key).choose(Choice(*lists)) for file in files]
    except (OSError, ValueError) as error:  # a folder that may not be read, a name with a zero byte
        if isinstance(error, InputError):
            raise
        reason = error.strerror if isinstance(error, OSError) else None
        raise InputError(f"{path!r} cannot be opened: {reason or error}.") from None
    for file, reader in zip(files, readers, strict=True):
        if reader.column_names() != readers[0].column_names():
            raise InputError(
                f"Shards must have the same columns in the same order, but {files[0]} and {file} differ "
                f"({len(readers[0].column_names())} and {len(reader.column_names())} columns)."
            )
    return Source(readers, str(path))


def ending(path: str | os.PathLike[str]) -> str | None:
    """The ending that says a file's format, or None."""
    name = os.path.basename(path).lower()
    return next((ending for ending in FORMATS if name.endswith(ending)), None)


def opened(path: str) -> Opened:
    """The arrays of one file of a known format, which is there and regular; anything else is refused."""
    _refuse_other_than_file(path)
    open(path, "rb").close()  # what the system says where it may not be read
    if os.path.getsize(path) == 0:
        raise InputError(f"{path} is empty.")
    with as_input_error(path):
        return FORMATS[str(ending(path))](path)


def _refuse_other_than_file(path: str) -> None:
    """Refuse what is missing or no regular file of a known format: reading a pipe or a device could wait for ever."""
    place = Path(path)
    if ending(path) is None:
        raise InputError(f"{path} must be a {_formats()} file, or a folder or pattern of such files.")
    if not place.exists() or place.is_dir():
        raise MissingFile(f"There is no file {path}{', only a folder of that name' * place.is_dir()}.")
    if not place.is_file():
        raise InputError(f"{path} is not a regular file: pipes, sockets and devices are not read.")


def _formats() -> str:
    """The endings, for a sentence."""
    *most, last = FORMATS
    return f"{', '.join(most)} or {last}"


def _shards(path: str) -> list[str]:
    """The files that a path, a pattern or a folder names, sorted."""
    place = Path(path)
    if place.is_dir() and ending(path) is None:
        return _shards_of_folder(place)
    if not place.exists() and any(sign in path for sign in "*?["):
        files = sorted(glob.glob(path, recursive=True))
        if not files:
            raise MissingFile(f"There is no file that matches the pattern {path}.")
        return files
    return [path]


def _shards_of_folder(place: Path) -> list[str]:
    """The files of one format in a folder, sorted."""
    files = {
        str(entry): kind for entry in place.iterdir() if (kind := ending(entry)) and entry.name[0] not in "._"
    }
    kinds = sorted(set(files.values()))
    if len(kinds) != 1:
        raise InputError(
            f"The folder {place} must hold shards of one format, {_formats()}, but it has "
            f"{', '.join(kinds) or 'none'}; a pattern names some of them, such as '{place / '*.npy'}'."
        )
    return sorted(files)
