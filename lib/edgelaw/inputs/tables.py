"""Tables: the numeric columns of a .parquet file, or its one column of lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from edgelaw.inputs.errors import InputError, as_input_error
from edgelaw.inputs.reader import Reader, package, pick, real_matrix


class Parquet(Reader):
    """The numeric columns of a .parquet file, or its one column of lists."""

    def __init__(self, path: str, key: str | None = None) -> None:
        package("pyarrow.parquet", "parquet", path)
        self.path = path
        with as_input_error(path, "a parquet file"), self._open() as file:
            schema, rows = file.schema_arrow, file.metadata.num_rows
            groups = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
            if min(groups, default=0) < 0 or sum(groups) != rows:
                raise InputError(f"{path} is damaged: its row groups do not add up to its {rows} rows.")
            self._ends = np.cumsum([0, *groups])
            self.keys = tuple(field.name for field in schema if _inner(field.type) is not None)
            self._lists = key is not None or bool(self.keys)
            if self._lists:
                self._columns = [pick(self.keys, path, key)]
                kinds = [_dtype(_inner(schema.field(self._columns[0]).type))]
                width = self._first_length(file) if rows else 0
            else:
                self._columns = list(schema.names)
                kinds = [self._number(field) for field in schema]
                width = len(kinds)
            dtype = np.result_type(*kinds) if kinds else np.dtype("f8")
            self.shape, self.dtype = real_matrix(path, (rows, width), dtype)

    def _open(self) -> Any:
        import pyarrow.parquet

        # small buffers: a column of a row group is otherwise read whole
        return pyarrow.parquet.ParquetFile(self.path, buffer_size=2**16, pre_buffer=False)

    def _first_length(self, file: Any) -> int:
        """The length of the first list; 0 where it is missing."""
        first = next(file.iter_batches(1, columns=self._columns), None)
        if first is None or not first.column(0)[0].is_valid:
            return 0
        return len(first.column(0)[0])

    def _number(self, field: Any) -> Any:
        from pyarrow import types

        if not (types.is_floating(field.type) or types.is_integer(field.type)):
            raise InputError(
                f"{self.path} must hold numbers only, but its column {field.name!r} holds {field.type}."
            )
        return _dtype(field.type)

    def cuts(self, size: int) -> Sequence[int]:
        """The beginnings of the row groups: half a group costs as much as a whole one."""
        return self._ends[:-1].tolist()

    def read(self, start: int, stop: int, rows: int) -> Iterator[np.ndarray]:
        """Blocks of raw rows, from the row groups that have them."""
        ends = self._ends
        groups = [i for i in range(len(ends) - 1) if ends[i] < stop and ends[i + 1] > start]
        with as_input_error(self.path, "a parquet file"), self._open() as file:
            row = int(ends[groups[0]]) if groups else start
            for batch in file.iter_batches(rows, row_groups=groups, columns=self._columns, use_threads=False):
                a, b = max(start - row, 0), min(stop - row, len(batch))
                if a < b:
                    piece = batch.slice(a, b - a)
                    yield self._from_lists(piece, row + a) if self._lists else self._from_columns(piece)
                row += len(batch)
        if row < stop:
            raise InputError(f"{self.path} is truncated: it ends after row {row} of {self.shape[0]}.")

    def _from_columns(self, batch: Any) -> np.ndarray:
        """Columns side by side; one with missing values in float64, where they are NaN."""
        dtypes = [np.dtype("f8") if column.null_count else self.dtype for column in batch.columns]
        arrays = [column.to_numpy(zero_copy_only=False) for column in batch.columns]
        return np.stack(
            [array.astype(dtype, copy=False) for array, dtype in zip(arrays, dtypes, strict=True)], axis=1
        )

    def _from_lists(self, batch: Any, first: int) -> np.ndarray:
        """One list per row, all of the same length."""
        import pyarrow.compute

        column, width = batch.column(0), self.shape[1]
        lengths = pyarrow.compute.list_value_length(column).to_numpy(zero_copy_only=False)
        wrong = np.flatnonzero(lengths != width)  # a missing list has length NaN
        if len(wrong):
            raise InputError(
                f"{self.path} must have lists of equal length, but the one in row {first + wrong[0]} is not "
                f"of length {width} (rows counted from 0)."
            )
        return column.flatten().to_numpy(zero_copy_only=False).reshape(len(batch), width)


def _inner(kind: Any) -> Any:
    """What a list holds, if it holds numbers; else None."""
    from pyarrow import types

    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        inner = kind.value_type
        return inner if types.is_floating(inner) or types.is_integer(inner) else None
    return None


def _dtype(kind: Any) -> np.dtype:
    """NumPy's type of an arrow type of numbers; arrow's own `to_pandas_dtype` wants pandas."""
    import pyarrow

    return pyarrow.array([], kind).to_numpy(zero_copy_only=False).dtype
