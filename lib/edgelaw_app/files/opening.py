"""From a path to a matrix: which files it names, of which format, opened without reading them."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable
from pathlib import Path

from edgelaw_app.files import numpy_files, tensors
from edgelaw_app.files.columns import Columns
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
    """
    with as_input_error(os.fspath(path)):
        files = _shards(os.fspath(path))
    readers = []
    for file in files:
        with as_input_error(file):
            readers.append(pick(opened(file), file, key).choose(columns, drop))
        if readers[-1].used_names() != readers[0].used_names():
            raise InputError(
                f"Shards must have the same columns in the same order, but {files[0]} and {file} differ."
            )
    return Source(readers, str(path))


def ending(path: str | os.PathLike[str]) -> str | None:
    """The ending that says a file's format, or None."""
    name = os.path.basename(path).lower()
    return next((ending for ending in FORMATS if name.endswith(ending)), None)


def opened(path: str) -> Opened:
    """The arrays of one file of a known format, which is there and regular: a pipe or a device could go on for ever."""
    place, kind = Path(path), ending(path)
    if kind is None:
        raise InputError(
            f"{path} must be a file that ends in {', '.join(FORMATS)}, or a folder or pattern of such."
        )
    if not place.exists() or place.is_dir():
        raise MissingFile(f"There is no file {path}{', only a folder of that name' * place.is_dir()}.")
    if not place.is_file():
        raise InputError(f"{path} is not a regular file: pipes, sockets and devices are not read.")
    if place.stat().st_size == 0:
        raise InputError(f"{path} is empty.")
    return FORMATS[kind](path)


def _shards(path: str) -> list[str]:
    """The files that a path, a pattern or a folder names, sorted; those of several must be of one format."""
    place = Path(path)
    if place.is_dir() and ending(path) is None:
        files = [str(one) for one in place.iterdir() if ending(one) and one.name[0] not in "._"]
    elif not place.exists() and any(sign in path for sign in "*?["):
        files = glob.glob(path, recursive=True)
    else:
        return [path]
    if not files:
        raise MissingFile(f"There is no file in or of {path} that ends in {', '.join(FORMATS)}.")
    kinds = sorted({ending(file) or "others" for file in files})
    if len(kinds) > 1:
        raise InputError(f"{path} must name files of one format, not {' and '.join(kinds)}; give a pattern.")
    return sorted(files)
