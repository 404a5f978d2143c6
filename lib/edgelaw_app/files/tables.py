"""Tables: the numeric columns of a .parquet, .feather or .arrow file, or its one column of lists."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from edgelaw_app.files.columns import Choice, note, row_index
from edgelaw_app.files.errors import InputError, as_input_error
from edgelaw_app.files.reader import Reader, package, pick, real_matrix, spans


class _Table(Reader):
    """The numeric columns of a table, or its one column of lists."""

    _lists: bool
    _columns: list[str]  # which the table's columns to read
    _ends: np.ndarray  # the numbers of the rows with which its parts begin, and of all rows
    _places: list[int] | slice = slice(None)  # which numbers of a list to read

    def _choose(self, schema: Any, key: str | None, choice: Choice) -> list[np.dtype]:
        """Choose the columns and give their types; what is not numbers is refused."""
        self.keys = tuple(field.name for field in schema if _inner(field.type) is not None)
        self._lists = key is not None or bool(self.keys)
        if self._lists:
            self._columns = [pick(self.keys, self.path, key)]
            return [_dtype(_inner(schema.field(self._columns[0]).type))]
        names = list(schema.names)
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"{self.path} has more than one column of the name {twice!r}.")
        index = row_index(names, _declared_index(schema))
        used = choice.numbers(self.path, len(names), names, index) if names else []
        self._columns = [names[k] for k in used]
        self.names, self.numbers = tuple(self._columns), used if len(used) < len(names) else None
        self.notes = note(used, len(names), names, index)
        return [self._number(schema.field(k)) for k in used]

    def _measure(self, kinds: list[np.dtype], width: int, choice: Choice) -> None:
        """Set the shape; of lists of this width some numbers may be chosen, too."""
        rows = int(self._ends[-1])
        if self._lists and width and not choice.everything:
            self._places = choice.numbers(f"{self.path} (its lists in {self._columns[0]!r})", width)
            self.numbers, self.notes = self._places, note(self._places, width)
        self._width = width if self._lists else len(kinds)
        dtype = np.result_type(*kinds) if kinds else np.dtype("f8")
        columns = len(self._places) if isinstance(self._places, list) else self._width
        self.shape, self.dtype = real_matrix(self.path, (rows, columns), dtype)

    def _number(self, field: Any) -> np.dtype:
        from pyarrow import types

        if not (types.is_floating(field.type) or types.is_integer(field.type)):
            raise InputError(
                f"{self.path} must hold numbers only, but its column {field.name!r} holds {field.type}; "
                "columns and drop say which columns are read."
            )
        return _dtype(field.type)

    def cuts(self, size: int) -> Sequence[int]:
        """The beginnings of the parts that a file is stored in: half of one costs as much as all of it."""
        return self._ends[:-1].tolist() if self.seeks else [0]

    def _overlapping(self, start: int, stop: int) -> list[int]:
        """Which parts have rows from `start` to `stop`."""
        ends = self._ends
        return [i for i in range(len(ends) - 1) if ends[i] < stop and ends[i + 1] > start]

    def _array(self, batch: Any, first: int) -> np.ndarray:
        """The numbers of a batch whose first row has this number."""
        return self._from_lists(batch, first) if self._lists else self._from_columns(batch)

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

        column, width = batch.column(0), self._width
        lengths = pyarrow.compute.list_value_length(column).to_numpy(zero_copy_only=False)
        wrong = np.flatnonzero(lengths != width)  # a missing list has length NaN
        if len(wrong):
            raise InputError(
                f"{self.path} must have lists of equal length, but the one in row {first + wrong[0]} is not "
                f"of length {width} (rows counted from 0)."
            )
        lists = column.flatten().to_numpy(zero_copy_only=False).reshape(len(batch), width)
        return lists[:, self._places]


class Parquet(_Table):
    """A .parquet file, read by its row groups."""

    def __init__(self, path: str, key: str | None = None, choice: Choice | None = None) -> None:
        package("pyarrow.parquet", path)
        self.path, choice = path, choice or Choice()
        with as_input_error(path, "a parquet file"), self._open() as file:
            rows = file.metadata.num_rows
            groups = [file.metadata.row_group(i).num_rows for i in range(file.metadata.num_row_groups)]
            if min(groups, default=0) < 0 or sum(groups) != rows:
                raise InputError(f"{path} is damaged: its row groups do not add up to its {rows} rows.")
            self._ends = np.cumsum([0, *groups])
            kinds = self._choose(file.schema_arrow, key, choice)
            first = next(file.iter_batches(1, columns=self._columns), None) if self._lists and rows else None
            self._measure(kinds, _first_length(first), choice)

    def _open(self) -> Any:
        import pyarrow.parquet

        # small buffers: a column of a row group is otherwise read whole
        return pyarrow.parquet.ParquetFile(self.path, buffer_size=2**16, pre_buffer=False)

    def read(self, start: int, stop: int, rows: int) -> Iterator[np.ndarray]:
        """Blocks of raw rows, from the row groups that have them."""
        groups = self._overlapping(start, stop)
        with as_input_error(self.path, "a parquet file"), self._open() as file:
            row = int(self._ends[groups[0]]) if groups else start
            for batch in file.iter_batches(rows, row_groups=groups, columns=self._columns, use_threads=False):
                a, b = max(start - row, 0), min(stop - row, len(batch))
                if a < b:
                    yield self._array(batch.slice(a, b - a), row + a)
                row += len(batch)
        if row < stop:
            raise InputError(f"{self.path} is truncated: it ends after row {row} of {self.shape[0]}.")


class Ipc(_Table):
    """A .feather or .arrow file: Arrow's own format, as a file with a table of its batches or as a stream of them."""

    def __init__(self, path: str, key: str | None = None, choice: Choice | None = None) -> None:
        package("pyarrow", path)
        self.path, choice = path, choice or Choice()
        with open(path, "rb") as file:
            start = file.read(8)
        if start[:4] == b"FEA1":
            raise InputError(f"{path} is a feather file of version 1; write it again with version 2.")
        if not start:
            raise InputError(f"{path} is empty.")
        self.seeks = start[:6] == b"ARROW1"  # else a stream, as Hugging Face's datasets are
        with as_input_error(path, "an arrow or feather file"):
            with self._open() as (schema, _):
                kinds = self._choose(schema, key, choice)
            first, sizes = None, []
            with self._open(self._columns if self._lists else self._columns[:1]) as (_, batches):
                for batch in batches(None):
                    first = batch.slice(0, 1) if first is None and len(batch) else first
                    sizes.append(len(batch))
            self._ends = np.cumsum([0, *sizes])
            self._measure(kinds, _first_length(first) if self._lists else 0, choice)

    @contextlib.contextmanager
    def _open(self, columns: Sequence[str] | None = None) -> Iterator[tuple[Any, Any]]:
        """The schema, and a function that gives the batches of these numbers, or all; of some columns, or of all."""
        import pyarrow
        from pyarrow import ipc

        with pyarrow.memory_map(self.path) as mapped:
            opened = ipc.open_file if self.seeks else ipc.open_stream
            with opened(mapped) as file:
                schema = file.schema
            included = [] if columns is None else [schema.names.index(name) for name in columns]
            mapped.seek(0)
            options = ipc.IpcReadOptions(included_fields=included, use_threads=False)
            with opened(mapped, options=options) as file:

                def batches(numbers: list[int] | None) -> Iterator[Any]:
                    if self.seeks:
                        every = range(file.num_record_batches) if numbers is None else numbers
                        made: Iterator[Any] = (file.get_batch(k) for k in every)
                    else:
                        made = iter(file)
                    for batch in made:
                        batch.validate(full=True)  # lists whose ends lie beyond the file would be read there
                        yield batch

                yield schema, batches

    def read(self, start: int, stop: int, rows: int) -> Iterator[np.ndarray]:
        """Blocks of raw rows, from the batches that have them."""
        numbers = self._overlapping(start, stop)
        with as_input_error(self.path, "an arrow or feather file"), self._open(self._columns) as (_, batches):
            row = int(self._ends[numbers[0]]) if numbers and self.seeks else 0
            for batch in batches(numbers) if numbers else ():
                a, b = max(start - row, 0), min(stop - row, len(batch))
                for c, d in spans(a, b, rows):
                    yield self._array(batch.select(self._columns).slice(c, d - c), row + c)
                row += len(batch)
                if row >= stop:
                    return
        if row < stop:
            raise InputError(f"{self.path} is truncated: it ends after row {row} of {self.shape[0]}.")


def _first_length(batch: Any) -> int:
    """The length of the first list; 0 where it is missing."""
    if batch is None or not batch.column(0)[0].is_valid:
        return 0
    return len(batch.column(0)[0])


def _declared_index(schema: Any) -> list[str]:
    """The columns that pandas says are the index of its table."""
    try:
        columns = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))["index_columns"]
        return [name for name in columns if isinstance(name, str)]
    except (ValueError, KeyError, TypeError, RecursionError):
        return []


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
