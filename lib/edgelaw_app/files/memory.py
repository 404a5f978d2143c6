"""Matrices that are in memory already: arrays, PyTorch's tensors, and SciPy's sparse matrices, filled up by blocks."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from edgelaw_app.files.columns import Choice
from edgelaw_app.files.errors import InputError, as_input_error
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
        if matrix.format not in (*_CHECKED, "coo"):
            raise InputError(
                f"{name} is a sparse matrix in the format {matrix.format}; convert it by its method tocsr()."
            )
        if self.shape[0] > max(_ROWS, 16 * matrix.nnz):
            raise InputError(
                f"{name} has {self.shape[0]:,} rows, but only {matrix.nnz:,} numbers to fill them."
            )
        self.choose(Choice())
        try:
            if matrix.format in _CHECKED:  # an index beyond the matrix would be written beyond it, too
                matrix.check_format(full_check=True)
            self._matrix = matrix.tocsr()
        except ValueError as error:
            raise InputError(f"{name} is a damaged sparse matrix: {str(error).rstrip('.')}.") from None

    def _blocks(self, start: int, stop: int, rows: int) -> Iterator[np.ndarray]:
        rows = max(1, min(rows, _BLOCK // (self._matrix.shape[1] * max(8, self.dtype.itemsize))))
        for a, b in spans(start, stop, rows):
            with as_input_error(self.path, "a sparse matrix"):
                block = self._matrix[a:b].toarray()
            yield block

    def take(self, numbers: np.ndarray) -> np.ndarray:
        """The rows of these numbers, filled up."""
        rows = self._matrix[numbers].toarray()
        return rows if self.used is None else rows[:, self.used]


def as_reader(values: npt.ArrayLike | Any, name: str = "X") -> Reader:
    """A reader of an array, a PyTorch tensor or a SciPy sparse matrix, of this name and not copied.

    Raises
    ------
    InputError
        When it is no matrix of real numbers, or some of its entries are masked.

    Examples
    --------
    >>> as_reader(np.eye(3)).shape
    (3, 3)
    """
    packages = {kind.__module__.split(".")[0] for kind in type(values).__mro__}
    if "scipy" in packages and hasattr(values, "tocsr"):
        return Sparse(values, name)
    if "torch" in packages and hasattr(values, "detach"):
        values = torch_array(values, name)
    if np.ma.is_masked(values):
        masked = int(np.ma.getmask(values).sum())
        raise InputError(
            f"{name} has {masked:,} masked entries: fill them, as by {name}.filled(0), or leave out their rows."
        )
    try:
        array = np.asarray(values)
    except ValueError:
        raise InputError(f"{name} must be a rectangular array of real numbers.") from None
    except Exception as error:
        reason = " ".join(itertools.islice(str(error).split(), 40)).rstrip(".")
        raise InputError(f"{name} must be an array of real numbers: {reason}.") from None
    if array.dtype.kind == "O":
        raise InputError(f"{name} must hold real numbers, not objects of Python (dtype object).")
    return Memory(array.view(np.uint8) if array.dtype.kind == "b" else array, name).choose(Choice())


def torch_array(tensor: Any, name: str) -> np.ndarray:
    """A tensor as an array; bfloat16, which numpy does not have, as float32."""
    tensor = tensor.detach()
    if str(tensor.layout) != "torch.strided" or tensor.is_quantized:
        raise InputError(
            f"{name} must be a dense tensor of plain numbers, not {tensor.layout}: use to_dense()."
        )
    try:
        tensor = tensor.cpu()
        return (tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor).numpy()
    except (TypeError, RuntimeError):
        raise InputError(
            f"{name} must hold real numbers that numpy knows, not {tensor.dtype}: use its method float()."
        ) from None
