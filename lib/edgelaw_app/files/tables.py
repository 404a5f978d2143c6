"""Tables of Arrow: .parquet by row groups, .feather and .arrow by batches; columns of numbers, or of lists."""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from edgelaw_app.files.columns import Columns, text_columns
from edgelaw_app.files.errors import InputError
from edgelaw_app.files.reader import Opened, Reader, package, spans


class Table(Reader):
    """A file of several parts with rows; what is read are its numeric columns, or the numbers in one of lists."""

    _schema: Any
    _sizes: list[int]  # rows of each part

    def __init__(self, path: str) -> None:
        self.path, self.dtype = path, np.dtype("f8")
        package("pyarrow.parquet", path)
        self._look()
        self.shape = (sum(self._sizes), len(self._schema))

    def names(self) -> list[str]:
        """Those in the schema."""
        return self._schema.names

    @classmethod
    def opened(cls, path: str) -> Opened:
        """The columns of lists of numbers, each an array; or, where there is none, the table itself."""
        table = cls(path)
        lists = [field.name for field in table._schema if _inner(field.type) is not None]
        return {name: functools.partial(Lists, table, name) for name in lists} or {None: lambda: table}

    def _look(self) -> None:
        """Find the schema and the parts."""
        raise NotImplementedError

    def _batches(self, first: int, names: Sequence[str], rows: int) -> Iterator[Any]:
        """Some columns of a part and those after it, as Arrow's batches."""
        raise NotImplementedError

    def choose(self, columns: Columns | None = None, drop: Columns | None = None) -> Reader:
        """This table, of the columns asked for, which must hold numbers."""
        super().choose(columns, drop)
        kinds = {k: self._schema.types[k] for k in self.used_numbers()}
        texts = [k for k, kind in kinds.items() if not _is_number(kind)]
        if texts:
            names = self.names()
            _, few = next(self.rows(0, self.shape[0], 100, [names[k] for k in texts]))
            counts = [len(set(map(str, few.column(names[k]).to_pylist()))) for k in texts]
            raise text_columns(self.path, texts, names, texts[int(np.argmin(counts))])
        self.dtype = np.result_type(*map(_dtype, kinds.values()))
        return self

    def _blocks(self, start: int, stop: int, rows: int) -> Iterator[np.ndarray]:
        used = self.used_names()
        for _, batch in self.rows(start, stop, rows, used):
            columns = [column.to_numpy(zero_copy_only=False) for column in batch.select(used).columns]
            yield np.stack(columns, axis=1)  # one with missing values in float64, where they are NaN

    def rows(self, start: int, stop: int, rows: int, names: Sequence[str]) -> Iterator[tuple[int, Any]]:
        """Pairs of (number of the first row, batch of some columns)."""
        ends = np.cumsum(self._sizes)
        first = int(np.searchsorted(ends, start, side="right"))
        row = int(ends[first - 1]) if first else 0
        for batch in self._batches(first, names, rows) if start < stop else ():
            a, b = max(start - row, 0), min(stop - row, len(batch))
            for c, d in spans(a, b, rows):
                yield row + c, batch.slice(c, d - c)
            row += len(batch)
            if row >= stop:
                return

    def columns(self, numbers: list[int]) -> list[np.ndarray]:
        """The values of some columns, of any type; a missing one is refused."""
        names = [self.names()[k] for k in numbers]
        pieces: list[list[np.ndarray]] = [[] for _ in names]
        for row, batch in self.rows(0, self.shape[0], 2**16, names):
            for kept, name in zip(pieces, names, strict=True):
                column = batch.column(name)
                if column.null_count:
                    k = row + int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
                    raise InputError(
                        f"{self.path} has a missing label in {name!r}, in row {k} (counted from 0)."
                    )
                column = column.dictionary_decode() if hasattr(column, "dictionary_decode") else column
                kept.append(column.to_numpy(zero_copy_only=False))
        return [np.concatenate(kept) for kept in pieces]


class Parquet(Table):
    """A .parquet file, read by its row groups."""

    def _look(self) -> None:
        with self._open() as file:
            self._schema, rows = file.schema_arrow, file.metadata.num_rows
            self._sizes = [file.metadata.row_group(k).num_rows for k in range(file.metadata.num_row_groups)]
        if min(self._sizes, default=0) < 0 or sum(self._sizes) != rows:
            raise ValueError(f"its row groups do not add up to its {rows} rows")

    def _open(self) -> Any:
        import pyarrow.parquet

        # small buffers: a column of a row group is otherwise read whole
        return pyarrow.parquet.ParquetFile(self.path, buffer_size=2**16, pre_buffer=False)

    def _batches(self, first: int, names: Sequence[str], rows: int) -> Iterator[Any]:
        with self._open() as file:
            groups = range(first, len(self._sizes))
            yield from file.iter_batches(rows, row_groups=groups, columns=names, use_threads=False)


class Ipc(Table):
    """A .feather or .arrow file: Arrow's own format, as a file with a table of its batches or as a stream of them."""

    def _look(self) -> None:
        with open(self.path, "rb") as file:
            self._stream = file.read(6) != b"ARROW1"  # as Hugging Face's datasets are
        with self._file() as file:
            self._schema = file.schema
        self._sizes = [len(batch) for batch in self._batches(0, self._schema.names[:1], 0)]

    @contextlib.contextmanager
    def _file(self, names: Sequence[str] = ()) -> Iterator[Any]:
        """The file, from which some columns are read."""
        import pyarrow
        from pyarrow import ipc

        included = [self._schema.names.index(name) for name in names]
        options = ipc.IpcReadOptions(included_fields=included, use_threads=False)
        made = ipc.open_stream if self._stream else ipc.open_file
        with pyarrow.memory_map(self.path) as mapped, made(mapped, options=options) as file:
            yield file

    def _batches(self, first: int, names: Sequence[str], rows: int) -> Iterator[Any]:
        with self._file(names) as file:
            parts: Iterable[Any]
            if self._stream:
                parts = itertools.islice(file, first, None)
            else:
                parts = map(file.get_batch, range(first, file.num_record_batches))
            for batch in parts:
                batch.validate(full=True)  # lists whose ends lie beyond the file would be read there
                yield batch


class Lists(Reader):
    """A column of lists of numbers, all of the same length: one list per row."""

    def __init__(self, table: Table, name: str) -> None:
        self.path, self._table, self._name = table.path, table, name
        self.dtype, self._width = _dtype(_inner(table._schema.field(name).type)), 0
        for _, batch in table.rows(0, min(1, table.shape[0]), 1, [name]):
            first = batch.column(name)[0]
            self._width = len(first) if first.is_valid else 0
        self.shape = (table.shape[0], self._width)

    def _blocks(self, start: int, stop: int, rows: int) -> Iterator[np.ndarray]:
        import pyarrow.compute

        for row, batch in self._table.rows(start, stop, rows, [self._name]):
            column = batch.column(self._name)
            lengths = pyarrow.compute.list_value_length(column).to_numpy(zero_copy_only=False)
            for wrong in np.flatnonzero(lengths != self._width):  # a missing list has length NaN
                raise ValueError(
                    f"the list in row {row + wrong} is not of length {self._width}, as the first"
                )
            yield column.flatten().to_numpy(zero_copy_only=False).reshape(len(batch), self._width)


def _is_number(kind: Any) -> bool:
    """Whether an arrow type is one of numbers or truth values."""
    from pyarrow import types

    return types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind)


def _inner(kind: Any) -> Any:
    """What a list holds, if it holds numbers; else None."""
    from pyarrow import types

    lists = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    return kind.value_type if lists and _is_number(kind.value_type) else None


def _dtype(kind: Any) -> np.dtype:
    """NumPy's type of an arrow type of numbers; arrow's own `to_pandas_dtype` wants pandas."""
    import pyarrow

    return pyarrow.array([], kind).to_numpy(zero_copy_only=False).dtype
