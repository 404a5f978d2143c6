"""From a path to a matrix: which files it names, of which format, opened without reading them."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from edgelaw_app.files.columns import Choice, Chosen, Columns
from edgelaw_app.files.errors import InputError, MissingFile
from edgelaw_app.files.numpy_files import Npy, open_npz
from edgelaw_app.files.reader import Reader
from edgelaw_app.files.source import Source
from edgelaw_app.files.tables import Ipc, Parquet
from edgelaw_app.files.tensors import Safetensors, Torch, Zarr
from edgelaw_app.files.text import Text

FORMATS: dict[str, Callable[..., Reader]] = {
    ".npy": Npy,
    ".npz": open_npz,
    ".csv": Text,
    ".tsv": Text,
    ".csv.gz": Text,
    ".tsv.gz": Text,
    ".parquet": Parquet,
    ".feather": Ipc,
    ".arrow": Ipc,
    ".safetensors": Safetensors,
    ".pt": Torch,
    ".pth": Torch,
    ".zarr": Zarr,
}
_TABLES = (Text, Parquet, Ipc)  # whose columns have names, and which read only those that are asked for


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
        (a file or a stream, as Hugging Face's datasets are), .safetensors, .pt, .pth or .zarr file; or many of equal
        width as one, in sorted order: a folder of them, or a pattern such as ``"shards/*.parquet"``.
    key : str, optional
        Which array of a file that holds several. By default the only one, else the one called ``x_train``,
        ``embeddings`` or ``features``, else the only matrix.
    columns, drop : str, int, or several of them, optional
        The columns to read (by default all) and those to leave out, such as labels: by name, by a pattern of names
        such as ``"emb_*"``, by number counted from 0 (-1 is the last), or by a range of numbers such as ``"3-9"`` or
        ``"3-"``; a text may list several, separated by commas. They are read in the file's order. A column that numbers
        the rows, as pandas and R write it without a name, is left out unless `columns` names it; `Source.notes`
        says so.

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
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "table.csv"
    ...     _ = path.write_text(",a,b,label\\n0,1.5,2,cat\\n1,2.5,3,dog\\n")
    ...     source = open_matrix(path, drop="label")
    ...     source.take([0, 1]).tolist(), source.notes[0]
    ([[1.5, 2.0], [2.5, 3.0]], 'Left out the column without a name, which numbers the rows.')
    """
    choice = Choice.of(columns, drop)
    try:
        files = _shards(os.fspath(path))
        readers = [_reader(file, key, choice) for file in files]
    except InputError:
        raise
    except (OSError, ValueError) as error:  # a folder that may not be read, a name with a zero byte
        reason = error.strerror if isinstance(error, OSError) else None
        raise InputError(f"{path!r} cannot be opened: {reason or error}.") from None
    for file, reader in zip(files, readers, strict=True):
        if reader.shape[1] != readers[0].shape[1]:
            raise InputError(
                f"Shards must have equal width, but {files[0]} has {readers[0].shape[1]} columns "
                f"and {file} has {reader.shape[1]}."
            )
        if reader.names and readers[0].names and reader.names != readers[0].names:
            raise InputError(
                f"Shards must have the same columns in the same order, but {files[0]} and {file} differ."
            )
    return Source(readers, str(path))


def load_embeddings(
    path: str | os.PathLike[str],
    key: str | None = None,
    columns: Columns | None = None,
    drop: Columns | None = None,
) -> np.ndarray:
    """Read a matrix of embeddings, one per row, whole into memory.

    Reads the paper's own files as they are: ``cifar10_resnet50_embeddings.npz`` (key ``x_train``) and
    ``wiki_embeddings.npz`` (key ``embeddings``). Nothing is ever unpickled; a file that would need it is
    refused.

    Parameters
    ----------
    path : path to a file
        Of any format that :func:`edgelaw_app.files.open_matrix` reads.
    key : str, optional
        Which array of a file holding several. By default the only one there is, else the one called
        ``x_train``, ``embeddings`` or ``features``, else the only matrix.
    columns, drop : str, int, or several of them, optional
        Which columns to read and which to leave out, as in :func:`edgelaw_app.files.open_matrix`.

    Returns
    -------
    ndarray of shape (rows, columns)
        float32 or float64 as stored; float16 becomes float32, integers become float64.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from edgelaw_app import files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "wiki_embeddings.npz"
    ...     np.savez(path, embeddings=np.eye(4, 3))
    ...     files.load_embeddings(path).shape
    (4, 3)
    """
    source = open_matrix(path, key, columns, drop)
    X = np.empty(source.shape, source.dtype)
    first = 0
    for block in source.blocks():
        X[first : first + len(block)] = block
        first += len(block)
    return X


def _format(path: str | Path) -> str | None:
    """The ending that says a file's format, or None."""
    name = Path(path).name.lower()
    return next((ending for ending in FORMATS if name.endswith(ending)), None)


def _listed() -> str:
    """The endings, for a sentence."""
    *most, last = FORMATS
    return f"{', '.join(most)} or {last}"


def _is_store(place: Path) -> bool:
    """Whether a folder is a zarr store."""
    return any((place / name).exists() for name in ("zarr.json", ".zarray", ".zgroup"))


def _shards(path: str) -> list[str]:
    """The files that a path, a pattern or a folder names, sorted."""
    place = Path(path)
    if place.is_dir() and not _is_store(place):
        return _shards_of_folder(place, path)
    if not place.exists() and any(sign in path for sign in "*?["):
        files = sorted(glob.glob(path, recursive=True))
        if not files:
            raise MissingFile(f"There is no file that matches the pattern {path}.")
        return files
    return [path]


def _shards_of_folder(place: Path, path: str) -> list[str]:
    """The files of one format in a folder, sorted."""
    if place.suffix and _format(place):
        raise MissingFile(f"There is no file {path}, only a folder of that name.")
    endings = {
        str(entry): ending
        for entry in place.iterdir()
        if (ending := _format(entry)) and entry.name[0] not in "._"
    }
    kinds = sorted(set(endings.values()))
    if not kinds:
        raise InputError(f"The folder {path} holds no shards: no file that ends in {_listed()}.")
    if len(kinds) > 1:
        raise InputError(
            f"The folder {path} holds files of several formats ({', '.join(kinds)}); name the shards by a "
            f"pattern such as '{place / ('*' + kinds[0])}'."
        )
    return sorted(endings)


def _reader(path: str, key: str | None, choice: Choice) -> Reader:
    """The reader of one file."""
    place, ending = Path(path), _format(path)
    store = place.is_dir() and _is_store(place)
    if ending is None and not store:
        raise InputError(f"{path} must be a {_listed()} file, or a folder or pattern of such files.")
    kind = Zarr if store or ending is None else FORMATS[ending]
    if not place.exists() or (place.is_dir() and kind is not Zarr):
        raise MissingFile(f"There is no file {path}.")
    refuse_irregular(place, path)
    if place.is_file():
        try:
            open(path, "rb").close()
        except OSError as error:
            raise InputError(f"{path} cannot be opened: {error.strerror}.") from None
    if kind in _TABLES:
        return kind(path, key, choice)
    reader = kind(path, key)
    return reader if choice.everything else Chosen(reader, choice)


def refuse_irregular(place: Path, path: str) -> None:
    """Refuse pipes, sockets and devices, and stores that hold any: reading one could wait, or go on, for ever."""
    if not place.is_dir():
        irregular = [] if place.is_file() else [path]
    else:
        irregular = [
            entry.path
            for folder, _, _ in os.walk(place)
            for entry in os.scandir(folder)
            if not (entry.is_dir() or entry.is_file())
        ]
    if irregular:
        raise InputError(f"{irregular[0]} is not a regular file: pipes, sockets and devices are not read.")
