"""What a probe aims at: a vector of numbers, several columns of them, or classes as one-hot columns."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from edgelaw._common.types import Array, ArrayLike

FEW = 20  # different whole numbers, each several times: floats that are classes
MOST_CLASSES = 1000  # more different labels than this are no classes for a linear probe


@dataclass(frozen=True, eq=False)
class Targets:
    """Targets in the columns that the loss sums over."""

    values: Array = field(repr=False)  # (m, k): for classes 1 in the column of the row's own and 0 elsewhere
    classes: tuple[str, ...] | None  # in sorted order; None for numbers
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, y: ArrayLike, rows: int, name: str = "y", classes: bool | None = None) -> Targets:
        """Targets from labels: a vector of integers, booleans or texts has classes; anything else has numbers.

        But for floating point numbers that are few and whole, which are classes with a note, unless `classes` says it.
        """
        array = as_labels(y, rows, name)
        notes: tuple[str, ...] = ()
        if classes is None and _looks_like_classes(array):
            classes = True
            notes = (
                f"Took the {len(np.unique(array))} different whole numbers of {name} as classes; with classes=False "
                "(--no-classes) they are numbers.",
            )
        if classes is None:
            classes = array.ndim == 1 and array.dtype.kind != "f"
        if not classes:
            values = _numbers(array, f"{name} holds texts, which can only be classes.")
            if (values == values[0]).all():
                raise ValueError(
                    f"{name} must not be the same number in every row: there is nothing to learn."
                )
            return cls(values, None)
        different, places = np.unique(_whole(array), return_inverse=True)
        _refuse_bad_classes(different, array, name)
        return cls(np.eye(len(different))[places], tuple(str(one) for one in different.tolist()), notes)

    def like(self, y: ArrayLike, rows: int, name: str = "held-out labels") -> Array:
        """The targets (rows, k) of other rows in the same columns; a class that is not among these is refused."""
        array = as_labels(y, rows, name)
        if self.classes is None:
            values = _numbers(array, f"{name} must be numbers, as the training labels are, not texts.")
            if values.shape[1] != self.values.shape[1]:
                raise ValueError(
                    f"{name} must have {self.values.shape[1]} column(s), as the training labels have, "
                    f"not {values.shape[1]}."
                )
            return values
        texts = [str(one) for one in _whole(array).tolist()]
        unknown = sorted(set(texts) - set(self.classes))
        if array.ndim != 1 or unknown:
            shown = repr(unknown[0]) if array.ndim == 1 else f"{array.shape[1]} columns"
            raise ValueError(f"{name} must be classes that the training labels have, not {shown}.")
        return np.eye(len(self.classes))[[self.classes.index(one) for one in texts]]


def as_labels(y: ArrayLike, rows: int, name: str = "y") -> npt.NDArray:
    """Labels as an array of one or two dimensions with one entry per row, finite, of numbers or texts."""
    if np.ma.is_masked(y):
        raise ValueError(f"{name} has masked entries; drop those rows first.")
    try:
        array = np.asarray(y.detach().cpu() if hasattr(y, "detach") else y)
    except (ValueError, TypeError):
        raise ValueError(f"{name} must be a vector with one label per row.") from None
    if array.dtype.kind == "O" and array.size and all(isinstance(one, str) for one in array.ravel()):
        array = array.astype(str)
    if array.dtype.kind not in "fiubUS":
        raise ValueError(f"{name} must hold numbers or texts, not dtype {array.dtype}.")
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim not in (1, 2) or 0 in array.shape:
        raise ValueError(f"{name} must have one label per row, not shape {array.shape}.")
    if len(array) != rows:
        raise ValueError(f"{name} must have one entry for each of the {rows} rows, not {len(array)}.")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        missing = int(rows - np.isfinite(array.reshape(rows, -1)).all(axis=1).sum())
        raise ValueError(f"{name} must be finite, but {missing} of {rows} rows have NaN or infinity.")
    return array.astype(str) if array.dtype.kind == "S" else array


def _looks_like_classes(array: npt.NDArray) -> bool:
    """Whether floating point numbers are few and whole, as classes that were read as floats are."""
    if array.dtype.kind != "f" or _whole(array) is array:
        return False
    counts = np.unique(array, return_counts=True)[1]
    return 2 <= len(counts) <= FEW and len(array) >= 5 * len(counts)


def _whole(array: npt.NDArray) -> npt.NDArray:
    """A vector of whole numbers as integers; anything else as it is."""
    if array.ndim == 1 and array.dtype.kind == "f" and (array == np.round(array)).all():
        return array.astype(np.int64)
    return array


def _numbers(array: npt.NDArray, otherwise: str) -> Array:
    """Numbers as columns; texts are refused."""
    if array.dtype.kind == "U":
        raise ValueError(otherwise)
    return array.reshape(len(array), -1).astype(np.float64)


def _refuse_bad_classes(different: npt.NDArray, array: npt.NDArray, name: str) -> None:
    """Refuse a single class, classes in columns, and integers that look like numbers to be regressed on."""
    most = min(MOST_CLASSES, max(len(array) // 2, 2))
    if array.ndim != 1:
        raise ValueError(f"{name} must have one column to hold classes, not {array.shape[1]}.")
    if len(different) < 2:
        raise ValueError(f"{name} must hold at least two classes, not one only ({str(different[0])!r}).")
    if len(different) > most:
        raise ValueError(
            f"{name} has {len(different)} different labels in {len(array)} rows, too many for classes (at most {most}"
            "); give floating point numbers to predict a number."
        )
