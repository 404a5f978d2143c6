"""Tensors of other packages: .safetensors, .pt and .pth (torch), .zarr; nothing is ever unpickled."""

from __future__ import annotations

import contextlib
import functools
import math
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from edgelaw_app.files.errors import InputError, as_input_error
from edgelaw_app.files.memory import torch_array
from edgelaw_app.files.reader import OBJECTS, Opened, Reader, package, spans

_CHUNK = 2**30  # bytes of a zarr store that are decoded at once
_SAFETENSORS_TYPES = {"BF16": "f4", "BOOL": "?", "C64": "c8"} | {  # numpy has no bfloat16: torch widens it
    f"{kind}{8 * size}": f"{kind.lower()}{size}"
    for kind in "FIU"
    for size in (1, 2, 4, 8)
    if kind + str(size) != "F1"
}


def safetensors(path: str) -> Opened:
    """The tensors of a .safetensors file."""
    package("safetensors", path)
    with as_input_error(path, "a safetensors file"), _safetensors(path) as file:
        return {name: functools.partial(Safetensors, path, name) for name in sorted(file.keys())}


def _safetensors(path: str, framework: str = "numpy") -> Any:
    from safetensors import safe_open

    return safe_open(path, framework=framework)


class Safetensors(Reader):
    """A tensor of a .safetensors file."""

    def __init__(self, path: str, key: str) -> None:
        self.path, self._key = path, key
        with as_input_error(path, "a safetensors file"), _safetensors(path) as file:
            tensor = file.get_slice(key)
            self.shape, stored = tuple(tensor.get_shape()), str(tensor.get_dtype())
        if stored not in _SAFETENSORS_TYPES:
            raise InputError(f"{path} must hold real numbers, not tensors of type {stored}.")
        self.dtype, self._framework = np.dtype(_SAFETENSORS_TYPES[stored]), "numpy"
        if stored == "BF16":
            package("torch", f"bfloat16 numbers in {path}")
            self._framework = "pt"

    def _blocks(self, start: int, stop: int, rows: int) -> Iterator[np.ndarray]:
        for a, b in spans(
            start, stop, rows
        ):  # opened for each block, so that what was read leaves the memory
            with (
                as_input_error(self.path, "a safetensors file"),
                _safetensors(self.path, self._framework) as file,
            ):
                block = file.get_slice(self._key)[a:b]
                block = block.float().numpy() if self._framework == "pt" else block
            yield block


def torch(path: str) -> Opened:
    """The tensors of a .pt or .pth file."""
    package("torch", path)
    if os.path.getsize(path) == 0:
        raise InputError(f"{path} is empty.")
    return {key: functools.partial(Torch, path, key, tensor) for key, tensor in _weights(path).items()}


def _weights(path: str) -> dict[str | None, Any]:
    """The tensors of a file, mapped where its format allows it, without ever running a pickle's own code."""
    torch: Any = package("torch", path)
    try:
        with as_input_error(path, "a torch file"):
            loaded = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except InputError as error:  # files of the older format cannot be mapped
        loaded = None
        if "not enough memory" in str(error):
            raise
        with contextlib.suppress(Exception):
            loaded = torch.load(path, map_location="cpu", weights_only=True)
        if loaded is None:
            raise InputError(
                f"{path} cannot be read as tensors only, so it is refused: it is damaged, of another "
                "format, or a pickle of other objects, which are never loaded."
            ) from None
    if isinstance(loaded, torch.Tensor):
        return {None: loaded}
    if not isinstance(loaded, dict):
        raise InputError(
            f"{path} must hold a tensor or a dictionary of tensors, not a {type(loaded).__name__}."
        )
    return {str(name): value for name, value in loaded.items() if isinstance(value, torch.Tensor)}


class Torch(Reader):
    """A tensor of a .pt or .pth file."""

    def __init__(self, path: str, key: str | None, tensor: Any) -> None:
        self.path, self._key = path, key
        with as_input_error(path, "a torch file"):
            few = tensor if tensor.layout != package("torch", path).strided else tensor.flatten()[:0]
            self.shape, self.dtype = tuple(tensor.shape), torch_array(few, path).dtype

    def _blocks(self, start: int, stop: int, rows: int) -> Iterator[np.ndarray]:
        tensor = _weights(self.path)[self._key]
        for a, b in spans(start, stop, rows):
            with as_input_error(self.path, "a torch file"):
                block = torch_array(tensor[a:b], self.path)
            yield block


def zarr(path: str) -> Opened:
    """The arrays of a .zarr store."""
    with as_input_error(path, "a zarr store"):
        zarr: Any = package("zarr", path)
        opened = zarr.open(path, mode="r")
        names = [None] if isinstance(opened, zarr.Array) else sorted(name for name, _ in opened.arrays())
        return {name: functools.partial(Zarr, path, name) for name in names}


class Zarr(Reader):
    """An array of a .zarr store."""

    def __init__(self, path: str, key: str | None) -> None:
        self.path, self._key = path, key
        with as_input_error(path, "a zarr store"):
            array = self._open()
            self.shape, self.dtype = tuple(array.shape), np.dtype(array.dtype)
            if "pickle" in str(array.metadata.to_dict()).lower() or self.dtype.hasobject:
                raise InputError(f"{path} {OBJECTS}.")
            size = math.prod(array.chunks) * self.dtype.itemsize
        if size > _CHUNK:
            raise InputError(
                f"{path} is stored in chunks of {size:,} bytes; at most {_CHUNK:,} are read at once."
            )

    def _open(self) -> Any:
        opened: Any = package("zarr", self.path).open(self.path, mode="r")
        return opened if self._key is None else opened[self._key]

    def _blocks(self, start: int, stop: int, rows: int) -> Iterator[np.ndarray]:
        """A chunk is decoded once, however many blocks it makes, where memory allows it."""
        array = self._open()
        most = max(1, _CHUNK // (math.prod(array.shape[1:]) * self.dtype.itemsize))
        tall, rows = min(array.chunks[0], most), min(rows, most)
        row = start
        while row < stop:
            end = min(stop, max(row // tall + 1, (row + rows) // tall) * tall)  # where a chunk ends
            with as_input_error(self.path, "a zarr store"):
                chunks = np.asarray(array[row:end])
            yield from (chunks[a:b] for a, b in spans(0, end - row, rows))
            row = end
