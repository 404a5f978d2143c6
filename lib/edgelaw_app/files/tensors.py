"""Tensors of other packages: .safetensors, .pt and .pth (torch), .zarr; nothing is ever unpickled."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from edgelaw_app.files.errors import InputError, as_input_error
from edgelaw_app.files.reader import Reader, package, pick, real_matrix, refuse_key, spans

_CHUNK = 2**30  # bytes of a zarr store that are decoded at once
_SAFETENSORS_TYPES = {
    "F16": "f2",
    "BF16": "f4",  # numpy has no bfloat16: torch widens it
    "F32": "f4",
    "F64": "f8",
    "I8": "i1",
    "I16": "i2",
    "I32": "i4",
    "I64": "i8",
    "U8": "u1",
    "U16": "u2",
    "U32": "u4",
    "U64": "u8",
    "BOOL": "?",
    "C64": "c8",
}


class Safetensors(Reader):
    """A tensor of a .safetensors file."""

    def __init__(self, path: str, key: str | None = None) -> None:
        package("safetensors", path)
        self.path, self._bfloat16 = path, False
        with as_input_error(path, "a safetensors file"), self._open() as file:
            self.keys = tuple(file.keys())
            shapes = {name: tuple(file.get_slice(name).get_shape()) for name in self.keys}
            matrices = [name for name in self.keys if len(shapes[name]) == 2]
            self._key = pick(self.keys, path, key, lambda: matrices)
            stored = str(file.get_slice(self._key).get_dtype())
        if stored not in _SAFETENSORS_TYPES:
            raise InputError(f"{path} must hold real numbers, not tensors of type {stored}.")
        self.shape, self.dtype = real_matrix(path, shapes[self._key], _SAFETENSORS_TYPES[stored])
        self._bfloat16 = stored == "BF16"
        if self._bfloat16:
            package("torch", f"bfloat16 numbers in {path}")

    def _open(self) -> Any:
        from safetensors import safe_open

        return safe_open(self.path, framework="pt" if self._bfloat16 else "numpy")

    def read(self, start: int, stop: int, rows: int) -> Iterator[np.ndarray]:
        """Blocks of raw rows; the file is opened for each, so that what was read leaves the memory."""
        for a, b in spans(start, stop, rows):
            with as_input_error(self.path, "a safetensors file"), self._open() as file:
                block = file.get_slice(self._key)[a:b]
                block = block.float().numpy() if self._bfloat16 else block
            yield block


class Torch(Reader):
    """A tensor of a .pt or .pth file, read as weights only and memory-mapped."""

    def __init__(self, path: str, key: str | None = None) -> None:
        package("torch", path)
        self.path, self._key = path, key
        if Path(path).stat().st_size == 0:
            raise InputError(f"{path} is empty.")
        tensor = self._load()
        self.shape, self.dtype = real_matrix(path, tuple(tensor.shape), self._raw(tensor[:0]).dtype)

    def _load(self) -> Any:
        """The tensor, refused unless it is a dense matrix of real numbers."""
        torch = package("torch", self.path)
        loaded = self._weights_only(torch)
        if isinstance(loaded, dict):
            tensors = {str(name): value for name, value in loaded.items() if isinstance(value, torch.Tensor)}
            self.keys = tuple(tensors)
            matrices = [name for name, tensor in tensors.items() if tensor.ndim == 2]
            loaded = tensors[pick(self.keys, self.path, self._key, lambda: matrices)]
        elif isinstance(loaded, torch.Tensor):
            refuse_key(self.path, self._key)
        else:
            raise InputError(
                f"{self.path} must hold a tensor or a dictionary of tensors, not a {type(loaded).__name__}."
            )
        with as_input_error(self.path, "a torch file"):
            if loaded.layout != torch.strided or loaded.is_quantized or loaded.device.type != "cpu":
                raise InputError(
                    f"{self.path} must hold a dense tensor of plain numbers, not {loaded.layout}."
                )
            if str(loaded.dtype).startswith("torch.float8"):
                raise InputError(f"{self.path} must hold numbers of 16 bits or more, not {loaded.dtype}.")
            real_matrix(self.path, tuple(loaded.shape), self._raw(loaded.flatten()[:0]).dtype)
        return loaded.detach()

    def _weights_only(self, torch: Any) -> Any:
        """What is in the file, without ever running a pickle's own code."""
        loaded = None
        try:
            with as_input_error(self.path, "a torch file"):
                loaded = torch.load(self.path, map_location="cpu", weights_only=True, mmap=True)
        except InputError:  # files of the older format cannot be mapped
            with contextlib.suppress(Exception):
                loaded = torch.load(self.path, map_location="cpu", weights_only=True)
            if loaded is None:
                raise InputError(
                    f"{self.path} cannot be read as tensors only, so it is refused: it is damaged, of another "
                    "format, or a pickle of other objects, which are never loaded."
                ) from None
        return loaded

    @staticmethod
    def _raw(tensor: Any) -> np.ndarray:
        """A tensor as an array; bfloat16, which numpy does not have, as float32."""
        tensor = tensor.detach()
        return (tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor).numpy()

    def read(self, start: int, stop: int, rows: int) -> Iterator[np.ndarray]:
        """Blocks of raw rows."""
        tensor = self._load()
        for a, b in spans(start, stop, rows):
            with as_input_error(self.path, "a torch file"):
                block = self._raw(tensor[a:b])
            yield block


class Zarr(Reader):
    """An array of a .zarr store."""

    def __init__(self, path: str, key: str | None = None) -> None:
        package("zarr", path)
        self.path, self._key = path, key
        array = self._open()
        self.shape, self.dtype = real_matrix(path, array.shape, array.dtype)
        size = math.prod(array.chunks) * self.dtype.itemsize
        if size > _CHUNK:
            raise InputError(
                f"{path} is stored in chunks of {size:,} bytes; at most {_CHUNK:,} are read at once."
            )

    def _open(self) -> Any:
        import zarr

        with as_input_error(self.path, "a zarr store"):
            opened: Any = zarr.open(self.path, mode="r")
            if isinstance(opened, zarr.Array):
                refuse_key(self.path, self._key)
            else:
                arrays = dict(opened.arrays())
                self.keys = tuple(sorted(arrays))
                matrices = [name for name in self.keys if arrays[name].ndim == 2]
                opened = arrays[pick(self.keys, self.path, self._key, lambda: matrices)]
            described = str(opened.metadata.to_dict()).lower()
            if "pickle" in described or opened.dtype.kind == "O":
                raise InputError(
                    f"{self.path} holds pickled objects, which are never loaded: save a plain array."
                )
            real_matrix(self.path, opened.shape, opened.dtype)
        return opened

    def read(self, start: int, stop: int, rows: int) -> Iterator[np.ndarray]:
        """Blocks of raw rows; a chunk is decoded once, however many blocks it makes, where memory allows it."""
        array = self._open()
        most = max(1, _CHUNK // (self.shape[1] * self.dtype.itemsize))
        tall, rows = min(array.chunks[0], most), min(rows, most)
        row = start
        while row < stop:
            end = min(stop, max(row // tall + 1, (row + rows) // tall) * tall)  # where a chunk ends
            with as_input_error(self.path, "a zarr store"):
                chunks = np.asarray(array[row:end])
            yield from (chunks[a:b] for a, b in spans(0, end - row, rows))
            row = end
