"""Matrices that are in memory already: arrays, PyTorch's tensors, and SciPy's sparse matrices, filled up by blocks."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from edgelaw_app.files.errors import InputError
from edgelaw_app.files.reader import Reader, spans

_BLOCK = 2**26  # bytes of a block of a sparse matrix, filled up with its zeros
_ROWS = 2**20  # a sparse matrix of more rows has a number in many of them
_CHECKED = ("csr", "csc", "bsr")  # formats whose indices scipy can validate


class Memory(Reader):
    """A matrix that is in memory already; a sparse one is never filled up with its zeros but a block at a time."""

    in_memory = True

    def __init__(self, array: Any, name: str) -> None:
        self.path, self._array, self.shape, self.dtype = name, array, array.shape, array.dtype
        self._filled = operator.methodcaller("toarray") if hasattr(array, "toarray") else np.asarray

    def _blocks(self, start: int, stop: int, rows: int) -> Iterator[np.ndarray]:
        if not isinstance(self._array, np.ndarray):
            rows = max(1, min(rows, _BLOCK // (8 * self.shape[1])))
        return (self._filled(self._array[a:b]) for a, b in spans(start, stop, rows))

    def take(self, numbers: np.ndarray) -> np.ndarray:
        """The rows of these numbers."""
        return self.only_used(self._filled(self._array[numbers]))


def _csr(matrix: Any, name: str) -> Any:
    """A sparse matrix of SciPy in a format that has rows, with sound indices."""
    if matrix.format not in (*_CHECKED, "coo") or matrix.shape[0] > max(_ROWS, 16 * matrix.nnz):
        raise InputError(
            f"{name} must be a sparse matrix in the format csr, csc, bsr or coo, with a number in many of its rows, "
            f"not one in the format {matrix.format} of {matrix.nnz:,} numbers in {matrix.shape[0]:,} rows."
        )
    if matrix.format in _CHECKED:  # an index beyond the matrix would be written beyond it, too
        matrix.check_format(full_check=True)
    return matrix.tocsr()


def as_reader(values: npt.ArrayLike | Any, name: str = "X") -> Reader:
    """A reader of an array, a PyTorch tensor or a SciPy sparse matrix, not copied; other things are refused."""
    if np.ma.is_masked(values):
        masked = int(np.ma.getmask(values).sum())
        raise InputError(
            f"{name} has {masked:,} masked entries: fill them, as by {name}.filled(0), or leave out their rows."
        )
    packages = {kind.__module__.split(".")[0] for kind in type(values).__mro__}
    try:
        if "scipy" in packages:
            array = _csr(values, name)
        else:
            array = torch_array(values) if "torch" in packages else np.asarray(values)
    except InputError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split()[:40]).rstrip(".")
        raise InputError(f"{name} must be a rectangular array of real numbers: {reason}.") from None
    return Memory(array.astype(np.uint8) if array.dtype.kind == "b" else array, name).choose()


def torch_array(tensor: Any) -> np.ndarray:
    """A tensor as an array; bfloat16, which numpy does not have, as float32."""
    try:
        tensor = tensor.detach().cpu()
        return (tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor).numpy()
    except (TypeError, RuntimeError):
        raise ValueError(
            f"a tensor must be dense, of numbers that numpy has, not {tensor.dtype} of {tensor.layout}: use "
            "to_dense() or float()"
        ) from None
