"""What a probe aims at: a vector of numbers, several columns of them, or classes as one-hot columns."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from edgelaw._common.types import Array, ArrayLike, Integers

FEW = 20  # different whole numbers, each several times: floats that are classes
MOST_CLASSES = 1000  # more different labels than this are no classes for a linear probe


@dataclass(frozen=True, eq=False)
class Targets:
    """Targets in the columns that the loss sums over.

    Attributes
    ----------
    values : array (m, k)
        One column per output; for classes one column per class, 1 in the row's own and 0 elsewhere.
    classes : tuple of str, or None
        The classes in sorted order; None for numbers.
    """

    values: Array = field(repr=False)
    classes: tuple[str, ...] | None
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, y: ArrayLike, rows: int, name: str = "y", classes: bool | None = None) -> Targets:
        """Targets from labels: integers, booleans and texts are classes, floating point numbers are numbers.

        Parameters
        ----------
        y : array (m,) or (m, k)
            A vector of integers, booleans or texts is a vector of classes. A vector or matrix of floats, and a matrix
            of integers, are numbers to be regressed on.
        rows : int
            How many rows there must be.
        name : str
            What to call them in a refusal.
        classes : bool, optional
            Whether they are classes, whatever their type. By default floating point numbers that are few and whole
            are, and a note says so.

        Examples
        --------
        >>> Targets.of(["cat", "dog", "cat"], 3).values.tolist(), Targets.of([1, 0, 1], 3).classes
        ([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], ('0', '1'))
        >>> Targets.of([0.5, 2.0, 1.0], 3).values.shape
        (3, 1)
        """
        array = as_labels(y, rows, name)
        notes: tuple[str, ...] = ()
        if classes is None and _looks_like_classes(array):
            classes, count = True, len(np.unique(array))
            notes = (
                f"Took the {count} different whole numbers of {name} as classes; with classes=False (--no-classes) "
                "they are numbers.",
            )
        if classes and array.ndim == 1 and array.dtype.kind == "f" and (array == np.round(array)).all():
            array = array.astype(np.int64)
        if classes is None:
            classes = array.ndim == 1 and array.dtype.kind != "f"
        if not classes and array.dtype.kind in "US":
            raise ValueError(f"{name} holds texts, which can only be classes.")
        if not classes:
            values = _numbers(array)
            if (values == values[0]).all():
                raise ValueError(
                    f"{name} must not be the same number in every row: there is nothing to learn."
                )
            return cls(values, None)
        different, places = np.unique(array, return_inverse=True)
        _refuse_bad_classes(different, rows, name)
        return cls(one_hot(places, len(different)), tuple(str(one) for one in different.tolist()), notes)

    def like(self, y: ArrayLike, rows: int, name: str = "held-out labels") -> Array:
        """The targets (rows, k) of other rows in the same columns; a class that is not among these is refused."""
        array = as_labels(y, rows, name)
        if self.classes is None:
            if array.dtype.kind not in "fiub":
                raise ValueError(f"{name} must be numbers, as the training labels are, not texts.")
            values = _numbers(array)
            if values.shape[1] != self.values.shape[1]:
                raise ValueError(
                    f"{name} must have {self.values.shape[1]} column(s), as the training labels have, "
                    f"not {values.shape[1]}."
                )
            return values
        known = {one: place for place, one in enumerate(self.classes)}
        whole = array.dtype.kind == "f" and bool((array == np.round(array)).all())
        array = array.astype(np.int64) if whole and array.ndim == 1 else array
        texts = [str(one) for one in array.tolist()] if array.ndim == 1 else []
        unknown = sorted(set(texts) - set(known))
        if array.ndim != 1 or unknown:
            shown = repr(unknown[0]) if unknown else f"{array.shape[1]} columns"
            raise ValueError(f"{name} must be classes that the training labels have, not {shown}.")
        return one_hot(np.array([known[one] for one in texts], dtype=np.int64), len(known))


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


def one_hot(places: Integers, count: int) -> Array:
    """One row per label, 1 in the column of its class."""
    hot = np.zeros((len(places), count))
    hot[np.arange(len(places)), np.ravel(places)] = 1.0
    return hot


def _looks_like_classes(array: npt.NDArray) -> bool:
    """Whether floating point numbers are few and whole, as classes that were read as floats are."""
    if array.dtype.kind != "f" or array.ndim != 1 or not (array == np.round(array)).all():
        return False
    counts = np.unique(array, return_counts=True)[1]
    return 2 <= len(counts) <= FEW and len(array) >= 5 * len(counts)


def _numbers(array: npt.NDArray) -> Array:
    """Numbers as columns."""
    return array.reshape(len(array), -1).astype(np.float64)


def _refuse_bad_classes(different: npt.NDArray, rows: int, name: str) -> None:
    """Refuse a single class, texts in columns, and integers that look like numbers to be regressed on."""
    if different.ndim != 1 or len(different) < 2:
        raise ValueError(
            f"{name} must hold at least two classes, not one only ({str(different.ravel()[0])!r})."
        )
    if len(different) > min(MOST_CLASSES, max(rows // 2, 2)):
        raise ValueError(
            f"{name} has {len(different)} different labels in {rows} rows, too many for classes (at most "
            f"{min(MOST_CLASSES, max(rows // 2, 2))}); give floating point numbers to predict a number."
        )
