"""NumPy's own files, .npy and .npz: mapped into memory a block at a time, out of an uncompressed zip too."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from typing import IO

import numpy as np

from edgelaw_app.files.errors import InputError, as_input_error
from edgelaw_app.files.memory import Sparse
from edgelaw_app.files.reader import Reader, pick, real_matrix, refuse_key, spans

_LARGEST_SPARSE = 2**31  # bytes of a sparse matrix, which is read whole
_WHOLE = 2**28  # bytes of a Fortran-ordered array that may be read whole out of a zip


def _header(handle: IO[bytes], path: str) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Shape, Fortran order and dtype from the head of a .npy stream; objects are refused unread."""
    magic = handle.read(8)
    if magic[:6] != b"\x93NUMPY":
        raise _not_numpy(path, magic, "does not begin like a numpy file")
    if magic[6:] == b"\x01\x00":
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(handle)
    elif magic[6:] == b"\x02\x00":
        shape, fortran, dtype = np.lib.format.read_array_header_2_0(handle)
    else:
        raise InputError(f"{path} is damaged, or a numpy file of a version other than 1 and 2.")
    if any(size < 0 for size in shape):
        raise InputError(f"{path} is damaged: its array has shape {shape}.")
    return shape, fortran, dtype


def _not_numpy(path: str, start: bytes, otherwise: str) -> InputError:
    """Why a file that begins with these bytes is refused."""
    if start[:1] == b"\x80":
        return InputError(
            f"{path} is a pickle and not a numpy file; pickles are never loaded: save a plain array."
        )
    reason = otherwise if start else "is empty"
    return InputError(f"{path} {reason}, so it is damaged or of another format.")


class _Mapped(Reader):
    """An array that lies plainly in a file; every block is its own map, so that what was read leaves the memory."""

    fortran: bool

    @property
    def _bytes(self) -> int:
        """The size of the array."""
        return self.shape[0] * self._row_bytes

    @property
    def _row_bytes(self) -> int:
        return self.shape[1] * self.dtype.itemsize

    def _mapped(self, offset: int, start: int, stop: int, rows: int) -> Iterator[np.ndarray]:
        """Blocks of raw rows of the array that begins at byte `offset`."""
        block: np.ndarray
        for a, b in spans(start, stop, rows):
            with as_input_error(self.path, "a numpy file"):
                if self.fortran:
                    block = np.memmap(self.path, self.dtype, "r", offset, self.shape, "F")[a:b]
                else:
                    shape = (b - a, self.shape[1])
                    block = np.memmap(self.path, self.dtype, "r", offset + a * self._row_bytes, shape)
            yield np.asarray(block)


class Npy(_Mapped):
    """A .npy file."""

    def __init__(self, path: str, key: str | None = None) -> None:
        refuse_key(path, key)
        self.path = path
        with as_input_error(path, "a numpy file"), open(path, "rb") as handle:
            shape, self.fortran, dtype = _header(handle, path)
            self._offset = handle.tell()
            self.shape, self.dtype = real_matrix(path, shape, dtype)
            there = handle.seek(0, 2) - self._offset
        if there < self._bytes:
            raise InputError(
                f"{path} is truncated: its header promises {self._bytes} bytes of numbers, but it has {there}."
            )

    def read(self, start: int, stop: int, rows: int) -> Iterator[np.ndarray]:
        """Blocks of raw rows."""
        return self._mapped(self._offset, start, stop, rows)


_SPARSE = {"format.npy", "shape.npy", "data.npy"}  # what scipy.sparse.save_npz writes, among others


def open_npz(path: str, key: str | None = None) -> Reader:
    """One array of a .npz file, or the sparse matrix of one that SciPy wrote."""
    with as_input_error(path, "a numpy .npz file"), _opened_zip(path) as archive:
        members = {info.filename: info.file_size for info in archive.infolist()}
    if not members.keys() >= _SPARSE:
        return Npz(path, key)
    refuse_key(path, key)
    size = sum(members.values())
    if size > _LARGEST_SPARSE:
        raise InputError(
            f"{path} holds a sparse matrix of {size:,} bytes; at most {_LARGEST_SPARSE:,} are read."
        )
    import scipy.sparse

    with as_input_error(path, "a sparse matrix of scipy"):
        return Sparse(scipy.sparse.load_npz(path), path)


def _opened_zip(path: str) -> zipfile.ZipFile:
    with open(path, "rb") as handle:
        start = handle.read(6)
    if start[:2] != b"PK":
        raise _not_numpy(path, start, "is not a zip")
    return zipfile.ZipFile(path)


class Npz(_Mapped):
    """One array of a .npz file, never held whole: a stream out of its zip, or a map of it if it is not compressed.

    The zip's checksum is compared by the first reading from beginning to end, before its last block is given out
    (not for an uncompressed array in Fortran order, whose bytes are not met in their order).
    """

    def __init__(self, path: str, key: str | None = None) -> None:
        self.path, self._verified = path, False
        with as_input_error(path, "a numpy .npz file"), _opened_zip(self.path) as archive:
            names = [name for name in archive.namelist() if name.endswith(".npy")]
            self.keys = tuple(name.removesuffix(".npy") for name in names)

            def matrices() -> list[str]:
                return [name for name in self.keys if self._is_matrix(archive, name)]

            self._member = pick(self.keys, path, key, matrices) + ".npy"
            with archive.open(self._member) as member:
                shape, self.fortran, dtype = _header(member, path)
                self.shape, self.dtype = real_matrix(path, shape, dtype)
                self._head = member.tell()
            info = archive.getinfo(self._member)
            announced = self._head + self._bytes
            if info.file_size != announced:
                what = "truncated" if info.file_size < announced else "damaged"
                raise InputError(
                    f"{path} is {what}: its header promises {announced} bytes, but it has {info.file_size}."
                )
            self.seeks, self._checksum = info.compress_type == zipfile.ZIP_STORED, info.CRC
            if self.seeks:
                self._begin = self._data_offset(info)
            elif self.fortran and announced > _WHOLE:
                raise InputError(
                    f"{path} holds its array in Fortran order, column after column, which cannot be read row by "
                    "row out of a zip; save numpy.ascontiguousarray of it, or a .npy file."
                )

    def _is_matrix(self, archive: zipfile.ZipFile, key: str) -> bool:
        with archive.open(key + ".npy") as member:
            try:
                shape, _, dtype = _header(member, self.path)
            except ValueError:
                return False
        return len(shape) == 2 and dtype.kind in "fiu"

    def _data_offset(self, info: zipfile.ZipInfo) -> int:
        """Where in the file an uncompressed member begins, after its own header."""
        with open(self.path, "rb") as handle:
            handle.seek(info.header_offset + 26)
            name, extra = np.frombuffer(handle.read(4), "<u2").tolist()
            begin = info.header_offset + 30 + name + extra
            if handle.seek(0, 2) < begin + info.file_size:
                raise InputError(f"{self.path} is truncated: its array ends too early.")
        return begin

    def read(self, start: int, stop: int, rows: int) -> Iterator[np.ndarray]:
        """Blocks of raw rows; of a compressed array those before `start` are read and dropped."""
        return self._stored(start, stop, rows) if self.seeks else self._compressed(start, stop, rows)

    def _stored(self, start: int, stop: int, rows: int) -> Iterator[np.ndarray]:
        """Blocks of an uncompressed member."""
        complete = (start, stop) == (0, self.shape[0]) and not self._verified and not self.fortran
        with as_input_error(self.path, "a numpy .npz file"), open(self.path, "rb") as handle:
            handle.seek(self._begin)
            crc = zlib.crc32(handle.read(self._head))
        row = start
        for block in self._mapped(self._begin + self._head, start, stop, rows):
            row += len(block)
            if complete:
                crc = zlib.crc32(block.data, crc)
                if row == stop:
                    self._verify(crc)
            yield block

    def _verify(self, crc: int) -> None:
        if crc != self._checksum:
            raise InputError(f"{self.path} is damaged: its array does not match the checksum in its zip.")
        self._verified = True

    def _compressed(self, start: int, stop: int, rows: int) -> Iterator[np.ndarray]:
        """Blocks of a compressed member, which can only be read from its beginning."""
        with (
            as_input_error(self.path, "a numpy .npz file"),
            _opened_zip(self.path) as archive,
            archive.open(self._member) as member,
        ):
            _header(member, self.path)
            if self.fortran:
                data = self._exactly(member, self._bytes)
                self._at_end(member)
                array = np.frombuffer(data, self.dtype).reshape(self.shape, order="F")
                yield from (array[a:b] for a, b in spans(start, stop, rows))
                return
            for a, b in spans(0, start, max(1, 2**22 // self._row_bytes)):
                self._exactly(member, (b - a) * self._row_bytes)
            for a, b in spans(start, stop, rows):
                data = self._exactly(member, (b - a) * self._row_bytes)
                if b == self.shape[0]:
                    self._at_end(member)
                yield np.frombuffer(data, self.dtype).reshape(b - a, self.shape[1])

    def _exactly(self, member: IO[bytes], count: int) -> bytes:
        data = member.read(count)
        if len(data) < count:
            raise InputError(f"{self.path} is truncated: its array ends too early.")
        return data

    def _at_end(self, member: IO[bytes]) -> None:
        if member.read(1):  # reading past the end is what compares the checksum
            raise InputError(f"{self.path} is damaged: its array is longer than its header says.")
