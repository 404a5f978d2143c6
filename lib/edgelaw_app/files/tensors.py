"""Tensors of other packages: .safetensors, read as they lie, .pt and .pth by torch; nothing is ever unpickled."""

from __future__ import annotations

import functools
import json
import math
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from edgelaw_app.files.memory import torch_array
from edgelaw_app.files.numpy_files import Mapped
from edgelaw_app.files.reader import Opened, Reader, package, spans

_HEADER = 2**24  # bytes of a header of safetensors: tens of thousands of tensors
_SAFETENSORS_TYPES = {"BOOL": "?", "C64": "<c8", "BF16": "<u2"} | {
    f"{kind}{8 * size}": f"<{kind.lower()}{size}"
    for kind, sizes in (("F", (2, 4, 8)), ("I", (1, 2, 4, 8)), ("U", (1, 2, 4, 8)))
    for size in sizes
}


def safetensors(path: str) -> Opened:
    """The tensors of a .safetensors file: the length of a header, the header in JSON, the numbers as they lie."""
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length)) if length <= _HEADER else None
    if not isinstance(header, dict):
        raise ValueError("it has no header of safetensors")
    header.pop("__metadata__", None)
    return {name: functools.partial(_tensor, path, 8 + length, header[name]) for name in sorted(header)}


def _tensor(path: str, begin: int, entry: dict) -> Reader:
    """One of them, as the header describes it."""
    kind, shape, (first, last) = entry["dtype"], tuple(entry["shape"]), entry["data_offsets"]
    if kind not in _SAFETENSORS_TYPES:
        raise ValueError(f"numpy has no numbers of type {kind}")
    dtype = np.dtype(_SAFETENSORS_TYPES[kind])
    if first < 0 or last - first != math.prod(shape) * dtype.itemsize:
        raise ValueError("a tensor is not as long as its header says")
    return Mapped(path, np.memmap(path, dtype, "r", begin + first, shape), bfloat=kind == "BF16")


def torch(path: str) -> Opened:
    """The tensors of a .pt or .pth file."""
    return {key: functools.partial(Torch, path, key, tensor) for key, tensor in _weights(path).items()}


def _weights(path: str) -> dict[str | None, Any]:
    """The tensors of a file, mapped where its format allows it, without ever running a pickle's own code."""
    torch: Any = package("torch", path)
    loaded = torch.load(path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path))
    if isinstance(loaded, torch.Tensor):
        return {None: loaded}
    several = loaded.items() if isinstance(loaded, dict) else ()
    return {str(name): value for name, value in several if isinstance(value, torch.Tensor)}


class Torch(Reader):
    """A tensor of a .pt or .pth file."""

    def __init__(self, path: str, key: str | None, tensor: Any) -> None:
        self.path, self._key, self.shape = path, key, tuple(tensor.shape)
        self.dtype = torch_array(tensor.new_empty(0)).dtype

    def _blocks(self, start: int, stop: int, rows: int) -> Iterator[np.ndarray]:
        tensor = _weights(self.path)[self._key]
        yield from (torch_array(tensor[a:b]) for a, b in spans(start, stop, rows))
