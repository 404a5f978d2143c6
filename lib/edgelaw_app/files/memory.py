"""Matrices that are in memory already: arrays, PyTorch's tensors, and SciPy's sparse matrices, filled up by blocks."""

from __future__ import annotations

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
    """A matrix that is in memory already."""

    in_memory = True

    def __init__(self, array: np.ndarray, name: str) -> None:
        self.path, self._array, self.shape, self.dtype = name, array, array.shape, array.dtype

    def _blocks(self, start: int, stop: int, rows: int) -> Iterator[np.ndarray]:
        return (self._array[a:b] for a, b in spans(start, stop, rows))


class Sparse(Reader):
    """A sparse matrix of SciPy: never filled up with its zeros but a block at a time."""

    in_memory = True

    def __init__(self, matrix: Any, name: str) -> None:
        self.path, self.shape, self.dtype = name, matrix.shape, matrix.dtype
        self.choose()
        if matrix.format not in (*_CHECKED, "coo") or self.shape[0] > max(_ROWS, 16 * matrix.nnz):
            raise InputError(
                f"{name} must be a sparse matrix in the format csr, csc, bsr or coo, with a number in many of its "
                f"rows, not one in the format {matrix.format} of {matrix.nnz:,} numbers in {self.shape[0]:,} rows."
            )
        if matrix.format in _CHECKED:  # an index beyond the matrix would be written beyond it, too
            matrix.check_format(full_check=True)
        self._matrix = matrix.tocsr()

    def _blocks(self, start: int, stop: int, rows: int) -> Iterator[np.ndarray]:
        rows = max(1, min(rows, _BLOCK // (self._matrix.shape[1] * max(8, self.dtype.itemsize))))
        return (self._matrix[a:b].toarray() for a, b in spans(start, stop, rows))

    def take(self, numbers: np.ndarray) -> np.ndarray:
        """The rows of these numbers, filled up."""
        return self.only_used(self._matrix[numbers].toarray())


def as_reader(values: npt.ArrayLike | Any, name: str = "X") -> Reader:
    """A reader of an array, a PyTorch tensor or a SciPy sparse matrix, of this name and not copied.

    What is no matrix of real numbers is refused, and so are masked entries.

    >>> as_reader(np.eye(3)).shape
    (3, 3)
    """
    if np.ma.is_masked(values):
        masked = int(np.ma.getmask(values).sum())
        raise InputError(
            f"{name} has {masked:,} masked entries: fill them, as by {name}.filled(0), or leave out their rows."
        )
    packages = {kind.__module__.split(".")[0] for kind in type(values).__mro__}
    try:
        if "scipy" in packages and hasattr(values, "tocsr"):
            return Sparse(values, name)
        array = torch_array(values) if "torch" in packages else np.asarray(values)
    except InputError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split()[:40]).rstrip(".")
        raise InputError(f"{name} must be a rectangular array of real numbers: {reason}.") from None
    return Memory(array.view(np.uint8) if array.dtype.kind == "b" else array, name).choose()


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
