"""NumPy's own files: .npy mapped into memory a block at a time, .npz read as a stream out of its zip."""

from __future__ import annotations

import contextlib
import functools
import math
import zipfile
from collections.abc import Iterator
from typing import IO

import numpy as np

from edgelaw_app.files.errors import refuse_large
from edgelaw_app.files.memory import as_reader
from edgelaw_app.files.reader import Opened, Reader, spans

_SPARSE = {"format.npy", "shape.npy", "data.npy"}  # what scipy.sparse.save_npz writes, among others


def npy(path: str) -> Opened:
    """The array of a .npy file."""
    return {None: lambda: Mapped(path, np.lib.format.open_memmap(path, mode="r"))}


class Mapped(Reader):
    """Numbers as they lie in a file; every block is its own map, so that what was read leaves the memory."""

    def __init__(self, path: str, array: np.memmap, bfloat: bool = False) -> None:
        self.path, self.shape, self._offset, self._fortran = path, array.shape, array.offset, array.flags.fnc
        self._stored, self._bfloat = array.dtype, bfloat  # bfloat16 is stored as the halves of float32
        self.dtype = np.dtype(np.float32) if bfloat else array.dtype

    def _mapped(self, start: int, stop: int) -> np.ndarray:
        """These rows; of an array in Fortran order all of them have to be mapped."""
        if self._fortran:
            return np.memmap(self.path, self._stored, "r", self._offset, self.shape, "F")[start:stop]
        place = self._offset + start * math.prod(self.shape[1:]) * self._stored.itemsize
        return np.memmap(self.path, self._stored, "r", place, (stop - start, *self.shape[1:]))

    def _numbers(self, raw: np.ndarray) -> np.ndarray:
        return (raw.astype(np.uint32) << 16).view(np.float32) if self._bfloat else np.asarray(raw)

    def _blocks(self, start: int, stop: int, rows: int) -> Iterator[np.ndarray]:
        return (self._numbers(self._mapped(a, b)) for a, b in spans(start, stop, rows))

    def take(self, numbers: np.ndarray) -> np.ndarray:
        """The rows of these numbers, and no others, as they are stored."""
        return self.only_used(self._numbers(self._mapped(0, self.shape[0])[numbers]))


def npz(path: str) -> Opened:
    """The arrays of a .npz file, or the sparse matrix of one that SciPy wrote."""
    with zipfile.ZipFile(path) as archive:
        members = {info.filename: info.file_size for info in archive.infolist()}
    if members.keys() >= _SPARSE:
        return {None: functools.partial(_sparse, path, sum(members.values()))}
    names = [name.removesuffix(".npy") for name in members if name.endswith(".npy")]
    return {name: functools.partial(Npz, path, name) for name in names}


def _sparse(path: str, size: int) -> Reader:
    """The sparse matrix of a file that SciPy wrote."""
    import scipy.sparse

    refuse_large(path, size)
    return as_reader(scipy.sparse.load_npz(path), path)


class Npz(Reader):
    """One array of a .npz file, a stream out of its zip, whose checksum is compared at its end."""

    seeks = False

    def __init__(self, path: str, key: str) -> None:
        self.path, self._key = path, key
        with self._member() as (member, size):
            self.shape, self._fortran, self.dtype = _header(member)
            announced = member.tell() + math.prod(self.shape) * self.dtype.itemsize
        if size != announced and not self.dtype.hasobject:  # which is refused whatever its size
            raise ValueError(f"its header promises {announced} bytes, but it has {size}")
        if self._fortran:  # column after column
            refuse_large(path, size)

    @contextlib.contextmanager
    def _member(self) -> Iterator[tuple[IO[bytes], int]]:
        """The array's bytes, and how many there are."""
        with zipfile.ZipFile(self.path) as archive:
            info = archive.getinfo(self._key + ".npy")
            with archive.open(info) as member:
                yield member, info.file_size

    def _blocks(self, start: int, stop: int, rows: int) -> Iterator[np.ndarray]:
        width = math.prod(self.shape[1:]) * self.dtype.itemsize
        with self._member() as (member, _):
            _header(member)
            if self._fortran:
                array = np.frombuffer(member.read(), self.dtype).reshape(self.shape, order="F")
                yield from (array[a:b] for a, b in spans(start, stop, rows))
                return
            member.seek(member.tell() + start * width)
            for a, b in spans(start, stop, rows):
                yield np.frombuffer(member.read((b - a) * width), self.dtype).reshape(b - a, *self.shape[1:])


def _header(member: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Shape, Fortran order and dtype from the head of a .npy stream."""
    lib = np.lib.format
    read = lib.read_array_header_1_0 if lib.read_magic(member) == (1, 0) else lib.read_array_header_2_0
    shape, fortran, dtype = read(member)
    return shape, fortran and len(shape) > 1, dtype
