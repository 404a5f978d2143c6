"""NumPy's own files: .npy mapped into memory a block at a time, .npz read as a stream out of its zip."""

from __future__ import annotations

import contextlib
import functools
import math
import zipfile
from collections.abc import Iterator
from typing import IO

import numpy as np

from edgelaw_app.files.errors import InputError, as_input_error
from edgelaw_app.files.memory import Sparse
from edgelaw_app.files.reader import OBJECTS, Opened, Reader, spans

_LARGEST_SPARSE = 2**31  # bytes of a sparse matrix, which is read whole
_WHOLE = 2**28  # bytes of a Fortran-ordered array that may be read whole out of a zip
_SPARSE = {"format.npy", "shape.npy", "data.npy"}  # what scipy.sparse.save_npz writes, among others


def npy(path: str) -> Opened:
    """The array of a .npy file."""
    return {None: functools.partial(Npy, path)}


def npz(path: str) -> Opened:
    """The arrays of a .npz file, or the sparse matrix of one that SciPy wrote."""
    with _opened_zip(path) as archive:
        members = {info.filename: info.file_size for info in archive.infolist()}
    if members.keys() >= _SPARSE:
        return {None: functools.partial(_sparse, path, sum(members.values()))}
    names = [name.removesuffix(".npy") for name in members if name.endswith(".npy")]
    return {name: functools.partial(Npz, path, name) for name in names}


def _sparse(path: str, size: int) -> Reader:
    """The sparse matrix of a file that SciPy wrote."""
    if size > _LARGEST_SPARSE:
        raise InputError(
            f"{path} holds a sparse matrix of {size:,} bytes; at most {_LARGEST_SPARSE:,} are read."
        )
    with as_input_error(path, "a sparse matrix of scipy"):
        import scipy.sparse

        return Sparse(scipy.sparse.load_npz(path), path)


class Npy(Reader):
    """A .npy file; every block is its own map, so that what was read leaves the memory."""

    def __init__(self, path: str) -> None:
        self.path = path
        with as_input_error(path, "a numpy file"), open(path, "rb") as handle:
            self.shape, self._fortran, self.dtype = _header(handle, path)
            self._offset = handle.tell()
            there, promised = handle.seek(0, 2) - self._offset, math.prod(self.shape) * self.dtype.itemsize
        if there < promised:
            raise InputError(
                f"{path} is truncated: its header promises {promised} bytes of numbers, but it has {there}."
            )

    def _mapped(self, start: int, stop: int) -> np.ndarray:
        """These rows; of an array in Fortran order all of them have to be mapped."""
        if self._fortran:
            return np.memmap(self.path, self.dtype, "r", self._offset, self.shape, "F")[start:stop]
        place = self._offset + start * math.prod(self.shape[1:]) * self.dtype.itemsize
        return np.memmap(self.path, self.dtype, "r", place, (stop - start, *self.shape[1:]))

    def _blocks(self, start: int, stop: int, rows: int) -> Iterator[np.ndarray]:
        for a, b in spans(start, stop, rows):
            with as_input_error(self.path, "a numpy file"):
                block = np.asarray(self._mapped(a, b))
            yield block

    def take(self, numbers: np.ndarray) -> np.ndarray:
        """The rows of these numbers, and no others, as they are stored."""
        with as_input_error(self.path, "a numpy file"):
            rows = np.asarray(self._mapped(0, self.shape[0])[numbers])
        return rows if self.used is None else rows[:, self.used]


class Npz(Reader):
    """One array of a .npz file, a stream out of its zip, whose checksum is compared when it first ends."""

    seeks = False

    def __init__(self, path: str, key: str) -> None:
        self.path, self._key, self._verified = path, key, False
        with self._member() as (member, size):
            self.shape, self._fortran, self.dtype = _header(member, path)
            announced = member.tell() + math.prod(self.shape) * self.dtype.itemsize
        if size != announced:
            what = "truncated" if size < announced else "damaged"
            raise InputError(f"{path} is {what}: its header promises {announced} bytes, but it has {size}.")
        if self._fortran and size > _WHOLE:
            raise InputError(
                f"{path} holds its array in Fortran order, column after column, which cannot be read row by row out of "
                "a zip; save numpy.ascontiguousarray of it, or a .npy file."
            )

    @contextlib.contextmanager
    def _member(self) -> Iterator[tuple[IO[bytes], int]]:
        """The array's bytes, and how many there are."""
        name = self._key + ".npy"
        with _opened_zip(self.path) as archive:
            info = archive.getinfo(name)
            if self._verified:
                del info.CRC  # what zipfile does not find it does not compare again
            with archive.open(info) as member:
                yield member, info.file_size

    def _blocks(self, start: int, stop: int, rows: int) -> Iterator[np.ndarray]:
        width = math.prod(self.shape[1:]) * self.dtype.itemsize
        with self._member() as (member, _):
            _header(member, self.path)
            if self._fortran:
                data = self._exactly(member, self.shape[0] * width, last=True)
                array = np.frombuffer(data, self.dtype).reshape(self.shape, order="F")
                yield from (array[a:b] for a, b in spans(start, stop, rows))
                return
            for a, b in spans(0, start * width, 2**24):
                self._exactly(member, b - a, last=False)
            for a, b in spans(start, stop, rows):
                data = self._exactly(member, (b - a) * width, last=b == self.shape[0])
                yield np.frombuffer(data, self.dtype).reshape(b - a, *self.shape[1:])

    def _exactly(self, member: IO[bytes], count: int, last: bool) -> bytes:
        """So many bytes; if they are the last, no others may follow."""
        data = member.read(count)
        if len(data) < count:
            raise InputError(f"{self.path} is truncated: its array ends too early.")
        if last and member.read(1):  # reading past the end is what compares the checksum
            raise InputError(f"{self.path} is damaged: its array is longer than its header says.")
        self._verified = self._verified or last
        return data


@contextlib.contextmanager
def _opened_zip(path: str) -> Iterator[zipfile.ZipFile]:
    """A .npz file; what is wrong with it is said in one sentence."""
    with as_input_error(path, "a numpy .npz file"):
        with open(path, "rb") as handle:
            start = handle.read(6)
        if start[:2] != b"PK":
            raise _not_numpy(path, start, "is not a zip")
        with zipfile.ZipFile(path) as archive:
            yield archive


def _header(handle: IO[bytes], path: str) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Shape, Fortran order and dtype from the head of a .npy stream; objects are refused unread."""
    magic = handle.read(8)
    if magic[:6] != b"\x93NUMPY":
        raise _not_numpy(path, magic, "does not begin like a numpy file")
    if magic[6:] not in (b"\x01\x00", b"\x02\x00"):
        raise InputError(f"{path} is damaged, or a numpy file of a version other than 1 and 2.")
    read = np.lib.format.read_array_header_1_0 if magic[6] == 1 else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read(handle)
    if any(size < 0 for size in shape):
        raise InputError(f"{path} is damaged: its array has shape {shape}.")
    if dtype.hasobject:
        raise InputError(f"{path} {OBJECTS}.")
    return shape, fortran and len(shape) > 1, dtype


def _not_numpy(path: str, start: bytes, otherwise: str) -> InputError:
    """Why a file that begins with these bytes is refused."""
    if start[:1] == b"\x80":
        return InputError(
            f"{path} is a pickle and not a numpy file; pickles are never loaded: save a plain array."
        )
    reason = otherwise if start else "is empty"
    return InputError(f"{path} {reason}, so it is damaged or of another format.")
