"""Files of many formats, each as rows that can be read a block at a time.

A reader knows its ``shape``, the ``dtype`` as stored and the ``keys`` of the arrays in its file; ``read(start, stop,
rows)`` yields raw blocks. ``seeks`` says whether reading from the middle is cheap. Nothing is ever unpickled, and what
cannot be read is refused as one :class:`InputError`. Packages that only some formats need are imported here, late.
"""

import contextlib
import importlib
import zipfile
import zlib
from pathlib import Path

import numpy as np

USUAL_KEYS = ("x_train", "embeddings", "features")  # the paper's two files, then ours
_WHOLE = 2**28  # bytes of a Fortran-ordered array that may be read whole out of a zip


class InputError(ValueError):
    """What is wrong with a reader's file or with what was asked of it, in one sentence."""


class MissingFile(InputError, FileNotFoundError):
    """There is no such file."""


@contextlib.contextmanager
def refusing(path, what):
    """Whatever goes wrong inside is said as one sentence; foreign parsers raise many kinds of errors."""
    try:
        yield
    except InputError:
        raise
    except FileNotFoundError:
        raise MissingFile(f"There is no file {path}.") from None
    except MemoryError:
        raise InputError(f"{path} asks for more memory than there is, or is damaged.") from None
    except Exception as error:
        reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        if len(reason) > 200:
            reason = reason[:200] + "..."
        raise InputError(f"{path} is damaged or not {what}: {reason}.") from None


def package(name, extra, path):
    """An optional package, or a sentence that says how to get it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise InputError(
            f"Reading {path} needs the package {name.split('.')[0]}: pip install 'edgelaw[{extra}]'."
        ) from None


def pick(keys, path, key, matrices=None):
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


def only(path, key):
    """Refuse a key for a file that has none."""
    if key is not None:
        raise InputError(f"{path} holds one array without a key, so key must be left out, not {key!r}.")


def spans(start, stop, rows):
    """The blocks of `rows` rows between start and stop."""
    return ((k, min(k + rows, stop)) for k in range(start, stop, rows))


def real_matrix(path, shape, dtype):
    """Refuse what is not a matrix of real numbers with at least two rows and columns."""
    dtype = np.dtype(dtype)
    if dtype.kind == "O":
        raise InputError(f"{path} holds pickled objects, which are never loaded: save a plain array.")
    if dtype.kind == "c":
        raise InputError(f"{path} must hold real numbers, not complex ones (dtype {dtype}).")
    if dtype.kind not in "fiu":
        raise InputError(f"{path} must hold real numbers, not dtype {dtype}.")
    if len(shape) != 2:
        raise InputError(
            f"{path} must hold a matrix, one row an example, but its array has {len(shape)} dimension(s), "
            f"not shape {tuple(shape)} but (rows, columns) is wanted."
        )
    if 0 in shape:
        raise InputError(f"{path} holds no numbers: its array is empty, of shape {tuple(shape)}.")
    if min(shape) < 2:
        what = "row" if shape[0] < 2 else "column"
        raise InputError(
            f"{path} holds one {what} only; at least 2 rows and 2 columns are needed, not shape {tuple(shape)}."
        )


class Memory:
    """A matrix that is in memory already."""

    seeks, keys = True, ()

    def __init__(self, array, name):
        self.array, self.shape, self.dtype = array, array.shape, array.dtype
        real_matrix(name, self.shape, self.dtype)

    def read(self, start, stop, rows):
        """Blocks of raw rows."""
        return (self.array[a:b] for a, b in spans(start, stop, rows))


# numpy's own files ----------------------------------------------------------------------------------------


def header(handle, path):
    """Shape, Fortran order and dtype from the head of a .npy stream; objects are refused unread."""
    magic = handle.read(8)
    if magic[:6] != b"\x93NUMPY":
        if magic[:1] == b"\x80":
            raise InputError(
                f"{path} is a pickle and not a numpy file; pickles are never loaded: save a plain array."
            )
        said = "is empty" if not magic else "does not begin like a numpy file"
        raise InputError(f"{path} {said}, so it is damaged or of another format.")
    if magic[6:] == b"\x01\x00":
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(handle)
    elif magic[6:] == b"\x02\x00":
        shape, fortran, dtype = np.lib.format.read_array_header_2_0(handle)
    else:
        raise InputError(f"{path} is a numpy file of another version than 1 or 2, or damaged.")
    if any(size < 0 for size in shape):
        raise InputError(f"{path} is damaged: its array has shape {shape}.")
    return shape, fortran, dtype


class Npy:
    """A .npy file; every block is a memory map of its own, so that what was read leaves the memory."""

    seeks, keys = True, ()

    def __init__(self, path, key=None):
        only(path, key)
        self.path = path
        with refusing(path, "a numpy file"), open(path, "rb") as handle:
            self.shape, self.fortran, self.dtype = header(handle, path)
            self._offset = handle.tell()
            real_matrix(path, self.shape, self.dtype)
            wanted = self.shape[0] * self.shape[1] * self.dtype.itemsize
            there = handle.seek(0, 2) - self._offset
        if there < wanted:
            raise InputError(
                f"{path} is truncated: {wanted} bytes of numbers were announced, {there} are there."
            )

    def read(self, start, stop, rows):
        """Blocks of raw rows."""
        return mapped(self, self._offset, start, stop, rows)


def mapped(reader, offset, start, stop, rows):
    """Blocks of raw rows of an array that lies plainly in a file, each a memory map of its own."""
    row = reader.shape[1] * reader.dtype.itemsize
    for a, b in spans(start, stop, rows):
        with refusing(reader.path, "a numpy file"):
            if reader.fortran:
                block = np.memmap(reader.path, reader.dtype, "r", offset, reader.shape, "F")[a:b]
            else:
                shape = (b - a, reader.shape[1])
                block = np.memmap(reader.path, reader.dtype, "r", offset + a * row, shape)
        yield np.asarray(block)


class Npz:
    """One array of a .npz file, never held whole: a stream out of its zip, or a map of it if it is not compressed.

    The zip's checksum is compared by the first reading from beginning to end, before its last block is given out
    (not for an uncompressed array in Fortran order, whose bytes are not met in their order).
    """

    def __init__(self, path, key=None):
        self.path = path
        with refusing(path, "a numpy .npz file"), self._zip() as archive:
            names = [name for name in archive.namelist() if name.endswith(".npy")]
            self.keys = tuple(name.removesuffix(".npy") for name in names)

            def matrices():
                return [k for k in self.keys if self._is_matrix(archive, k)]

            self._member = pick(list(self.keys), path, key, matrices) + ".npy"
            with archive.open(self._member) as member:
                self.shape, self.fortran, self.dtype = header(member, path)
                real_matrix(path, self.shape, self.dtype)
                wanted = member.tell() + self.shape[0] * self.shape[1] * self.dtype.itemsize
                head = member.tell()
            info = archive.getinfo(self._member)
            if info.file_size != wanted:
                said = "truncated" if info.file_size < wanted else "damaged"
                raise InputError(
                    f"{path} is {said}: {wanted} bytes were announced, {info.file_size} are there."
                )
            self.seeks = info.compress_type == zipfile.ZIP_STORED
            self._checksum, self._verified, self._head = info.CRC, False, head
            if self.seeks:
                self._begin = self._data(info)
            elif self.fortran and wanted > _WHOLE:
                raise InputError(
                    f"{path} holds its array in Fortran order, column after column, which cannot be read row by "
                    "row out of a zip; save numpy.ascontiguousarray of it, or a .npy file."
                )

    def _zip(self):
        with open(self.path, "rb") as handle:
            start = handle.read(6)
        if start[:2] != b"PK":
            if start[:1] == b"\x80":
                raise InputError(
                    f"{self.path} is a pickle and not a numpy file; pickles are never loaded: save a plain array."
                )
            said = "is empty" if not start else "is not a zip"
            raise InputError(f"{self.path} {said}, so it is damaged or of another format.")
        return zipfile.ZipFile(self.path)

    def _data(self, info):
        """Where in the file an uncompressed member begins, after its own header."""
        with open(self.path, "rb") as handle:
            handle.seek(info.header_offset + 26)
            name, extra = np.frombuffer(handle.read(4), "<u2").tolist()
            begin = info.header_offset + 30 + name + extra
            if handle.seek(0, 2) < begin + info.file_size:
                raise InputError(f"{self.path} is truncated: its array ends too early.")
        return begin

    def _plain(self, start, stop, rows):
        """Blocks of an uncompressed member."""
        complete = (start, stop) == (0, self.shape[0]) and not self._verified and not self.fortran
        with refusing(self.path, "a numpy .npz file"), open(self.path, "rb") as handle:
            handle.seek(self._begin)
            crc = zlib.crc32(handle.read(self._head))
        at = start
        for block in mapped(self, self._begin + self._head, start, stop, rows):
            at += len(block)
            if complete:
                crc = zlib.crc32(block, crc)
                if at == stop:
                    self._compare(crc)
            yield block

    def _compare(self, crc):
        if crc != self._checksum:
            raise InputError(
                f"{self.path} is damaged: its array does not have the checksum that its zip tells."
            )
        self._verified = True

    def _is_matrix(self, archive, key):
        with archive.open(key + ".npy") as member:
            try:
                shape, _, dtype = header(member, self.path)
            except ValueError:
                return False
        return len(shape) == 2 and dtype.kind in "fiu"

    def read(self, start, stop, rows):
        """Blocks of raw rows; of a compressed array those before `start` are read and dropped."""
        return self._plain(start, stop, rows) if self.seeks else self._stream(start, stop, rows)

    def _stream(self, start, stop, rows):
        columns, row = self.shape[1], self.shape[1] * self.dtype.itemsize
        with (
            refusing(self.path, "a numpy .npz file"),
            self._zip() as archive,
            archive.open(self._member) as member,
        ):
            header(member, self.path)
            if self.fortran:
                data = self._exactly(member, self.shape[0] * row)
                self._end(member)
                array = np.frombuffer(data, self.dtype).reshape(self.shape, order="F")
                yield from (array[a:b] for a, b in spans(start, stop, rows))
                return
            for a, b in spans(0, start, max(1, 2**22 // row)):
                self._exactly(member, (b - a) * row)
            for a, b in spans(start, stop, rows):
                data = self._exactly(member, (b - a) * row)
                if b == self.shape[0]:
                    self._end(member)
                yield np.frombuffer(data, self.dtype).reshape(b - a, columns)

    def _exactly(self, member, count):
        data = member.read(count)
        if len(data) < count:
            raise InputError(f"{self.path} is truncated: its array ends too early.")
        return data

    def _end(self, member):
        if member.read(1):  # reading past the end is what compares the checksum
            raise InputError(f"{self.path} is damaged: its array is longer than announced.")


# formats of other packages ---------------------------------------------------------------------------------


_SAFE = {
    "F16": "f2",
    "BF16": "f4",
    "F32": "f4",
    "F64": "f8",
    "I8": "i1",
    "I16": "i2",
    "I32": "i4",
    "I64": "i8",
}
_SAFE |= {"U8": "u1", "U16": "u2", "U32": "u4", "U64": "u8", "BOOL": "?", "C64": "c8"}


class Safetensors:
    """A tensor of a .safetensors file."""

    seeks = True

    def __init__(self, path, key=None):
        package("safetensors", "safetensors", path)
        self.path = path
        with refusing(path, "a safetensors file"), self._open() as file:
            self.keys = tuple(file.keys())
            shapes = {name: tuple(file.get_slice(name).get_shape()) for name in self.keys}
            self._key = pick(
                list(self.keys), path, key, lambda: [k for k in self.keys if len(shapes[k]) == 2]
            )
            self.shape = shapes[self._key]
            stored = str(file.get_slice(self._key).get_dtype())
        if stored not in _SAFE:
            raise InputError(f"{path} must hold real numbers, not tensors of type {stored}.")
        self.dtype = np.dtype(_SAFE[stored])
        self._brain = stored == "BF16"
        real_matrix(path, self.shape, self.dtype)
        if self._brain:
            package("torch", "torch", f"bfloat16 numbers in {path}")

    def _open(self):
        from safetensors import safe_open

        return safe_open(self.path, framework="pt" if getattr(self, "_brain", False) else "numpy")

    def read(self, start, stop, rows):
        """Blocks of raw rows; the file is opened for each, so that what was read leaves the memory."""
        for a, b in spans(start, stop, rows):
            with refusing(self.path, "a safetensors file"), self._open() as file:
                block = file.get_slice(self._key)[a:b]
                block = block.float().numpy() if self._brain else block
            yield block


class Torch:
    """A tensor of a .pt or .pth file, read as weights only and memory-mapped."""

    seeks = True

    def __init__(self, path, key=None):
        self._torch = package("torch", "torch", path)
        self.path, self._wanted, self.keys = path, key, ()
        if Path(path).stat().st_size == 0:
            raise InputError(f"{path} is empty.")
        tensor = self._load()
        self.shape, self.dtype = tuple(tensor.shape), self._raw(tensor[:0]).dtype

    def _load(self):
        torch, path, loaded = self._torch, self.path, None
        try:
            with refusing(path, "a torch file"):
                loaded = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
        except InputError:  # files of the older format cannot be mapped
            with contextlib.suppress(Exception):
                loaded = torch.load(path, map_location="cpu", weights_only=True)
            if loaded is None:
                raise InputError(
                    f"{path} cannot be read as tensors only, so it is refused: it is damaged, of another format, "
                    "or a pickle of other objects, which are never loaded."
                ) from None
        if isinstance(loaded, dict):
            tensors = {str(name): value for name, value in loaded.items() if isinstance(value, torch.Tensor)}
            self.keys = tuple(tensors)
            loaded = tensors[
                pick(list(tensors), path, self._wanted, lambda: [k for k in tensors if tensors[k].ndim == 2])
            ]
        elif isinstance(loaded, torch.Tensor):
            only(path, self._wanted)
        else:
            raise InputError(
                f"{path} must hold a tensor or a dictionary of tensors, not a {type(loaded).__name__}."
            )
        with refusing(path, "a torch file"):
            if loaded.layout != torch.strided or loaded.is_quantized or loaded.device.type != "cpu":
                raise InputError(f"{path} must hold a dense tensor of plain numbers, not {loaded.layout}.")
            dtype = (
                np.dtype("f4") if loaded.dtype == torch.bfloat16 else self._raw(loaded.flatten()[:0]).dtype
            )
            real_matrix(path, tuple(loaded.shape), dtype)
        return loaded.detach()

    def _raw(self, tensor):
        tensor = tensor.detach()
        return (tensor.float() if tensor.dtype == self._torch.bfloat16 else tensor).numpy()

    def read(self, start, stop, rows):
        """Blocks of raw rows."""
        tensor = self._load()
        for a, b in spans(start, stop, rows):
            with refusing(self.path, "a torch file"):
                block = self._raw(tensor[a:b])
            yield block

    def __getstate__(self):
        return {**self.__dict__, "_torch": None}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._torch = package("torch", "torch", self.path)


class Zarr:
    """An array of a .zarr store."""

    seeks = True

    def __init__(self, path, key=None):
        package("zarr", "zarr", path)
        self.path, self._wanted, self.keys = path, key, ()
        array = self._open()
        self.shape, self.dtype = tuple(array.shape), np.dtype(array.dtype)

    def _open(self):
        import zarr

        with refusing(self.path, "a zarr store"):
            opened = zarr.open(str(self.path), mode="r")
            if isinstance(opened, zarr.Array):
                only(self.path, self._wanted)
            else:
                arrays = dict(opened.arrays())
                self.keys = tuple(sorted(arrays))
                matrices = [name for name in self.keys if arrays[name].ndim == 2]
                opened = arrays[pick(list(self.keys), self.path, self._wanted, lambda: matrices)]
            described = str(opened.metadata.to_dict()).lower()
            if "pickle" in described or opened.dtype.kind == "O":
                raise InputError(
                    f"{self.path} holds pickled objects, which are never loaded: save a plain array."
                )
            real_matrix(self.path, opened.shape, opened.dtype)
        return opened

    def read(self, start, stop, rows):
        """Blocks of raw rows; a chunk is decoded once, however many blocks it makes."""
        array = self._open()
        tall = array.chunks[0]
        at = start
        while at < stop:
            end = min(stop, max(at // tall + 1, (at + rows) // tall) * tall)  # where a chunk ends
            with refusing(self.path, "a zarr store"):
                chunks = np.asarray(array[at:end])
            yield from (chunks[a:b] for a, b in spans(0, end - at, rows))
            at = end


class Parquet:
    """The numeric columns of a .parquet file, or its one column of lists."""

    seeks = True

    def __init__(self, path, key=None):
        package("pyarrow.parquet", "parquet", path)
        self.path = path
        with refusing(path, "a parquet file"), self._open() as file:
            schema, rows = file.schema_arrow, file.metadata.num_rows
            lists = [field.name for field in schema if self._inner(field.type) is not None]
            self.keys = tuple(lists)
            self._groups = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
            if min(self._groups, default=0) < 0 or sum(self._groups) != rows:
                raise InputError(f"{path} is damaged: its row groups do not add up to its {rows} rows.")
            self.cuts = [sum(self._groups[:i]) for i in range(len(self._groups))]
            if key is not None or lists:
                self._columns = [pick(lists, path, key)]
                inner = self._inner(schema.field(self._columns[0]).type)
                self._kind, kinds = "list", [inner.to_pandas_dtype()]
                first = next(file.iter_batches(1, columns=self._columns), None) if rows else None
                width = 0 if first is None else len(first.column(0)[0] if first.column(0)[0].is_valid else [])
            else:
                self._kind, self._columns = "columns", list(schema.names)
                kinds = [self._number(field) for field in schema]
                width = len(kinds)
            self.shape, self.dtype = (rows, width), np.result_type(*kinds) if kinds else np.dtype("f8")
            real_matrix(path, self.shape, self.dtype)

    def _open(self):
        import pyarrow.parquet

        # small buffers: a column of a row group is otherwise read whole
        return pyarrow.parquet.ParquetFile(self.path, buffer_size=2**16, pre_buffer=False)

    @staticmethod
    def _inner(kind):
        """What a list holds, if it holds numbers."""
        from pyarrow import types

        if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
            inner = kind.value_type
            return inner if types.is_floating(inner) or types.is_integer(inner) else None
        return None

    def _number(self, field):
        from pyarrow import types

        if not (types.is_floating(field.type) or types.is_integer(field.type)):
            raise InputError(
                f"{self.path} must hold numbers only, but its column {field.name!r} holds {field.type}."
            )
        return field.type.to_pandas_dtype()

    def read(self, start, stop, rows):
        """Blocks of raw rows, from the row groups that have them."""
        ends = np.cumsum([0, *self._groups])
        groups = [i for i in range(len(self._groups)) if ends[i] < stop and ends[i + 1] > start]
        with refusing(self.path, "a parquet file"), self._open() as file:
            now = int(ends[groups[0]]) if groups else start
            for batch in file.iter_batches(rows, row_groups=groups, columns=self._columns, use_threads=False):
                a, b = max(start - now, 0), min(stop - now, len(batch))
                if a < b:
                    yield self._block(batch.slice(a, b - a), now + a)
                now += len(batch)
        if now < stop:
            raise InputError(f"{self.path} is truncated: it ends after row {now} of {self.shape[0]}.")

    def _block(self, batch, first):
        if self._kind == "columns":
            return np.stack(
                [column.to_numpy(zero_copy_only=False).astype(self.dtype, copy=False)
                 if not column.null_count else column.to_numpy(zero_copy_only=False).astype("f8")
                 for column in batch.columns], axis=1)  # fmt: skip
        column, width = batch.column(0), self.shape[1]
        import pyarrow.compute

        lengths = pyarrow.compute.list_value_length(column).to_numpy(zero_copy_only=False)
        wrong = np.flatnonzero(lengths != width)  # a missing list has length NaN
        if len(wrong):
            raise InputError(
                f"{self.path} must have lists of equal length, but the one in row {first + wrong[0]} is not "
                f"of length {width} (rows counted from 0)."
            )
        return column.flatten().to_numpy(zero_copy_only=False).reshape(len(batch), width)
