"""Tables of numbers as text: comma-, semicolon- or tab-separated, plain or gzipped, read as a stream.

pyarrow parses the stream where it is installed, numpy the same lines where not. When neither can, and only then, the
lines are looked at one by one to say where the trouble is.
"""

from __future__ import annotations

import contextlib
import gzip
import importlib.util
import itertools
from collections.abc import Iterator
from typing import IO

import numpy as np

from edgelaw.inputs.errors import InputError, as_input_error
from edgelaw.inputs.reader import Reader, real_matrix, refuse_key, spans

_CHUNK = 2**23  # bytes of text that pyarrow parses at once
_LINE = 2**27  # a longer line is not a line


def _number(cell: str) -> float | None:
    """The number in a cell of text, or None; as strict as the fast parsers."""
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None


def _bare(cell: str) -> str:
    """A cell without blanks and quotes around it."""
    return cell.strip().strip('"')


class Text(Reader):
    """A .csv or .tsv file; a first line of column names is skipped."""

    seeks = False
    dtype = np.dtype("f8")

    def __init__(self, path: str, key: str | None = None) -> None:
        refuse_key(path, key)
        self.path = path
        self._zipped = path.lower().endswith(".gz")
        with as_input_error(path, "a table of numbers"):
            self._start()
            rows = sum(1 for _ in self._lines())
            self.shape, _ = real_matrix(path, (rows, self._width), self.dtype)

    def _open(self) -> IO[bytes]:
        return gzip.open(self.path, "rb") if self._zipped else open(self.path, "rb")  # type: ignore[return-value]

    def _start(self) -> None:
        """Find the first line with anything in it: its separator, its width, whether it is a line of names."""
        with self._open() as handle:
            number = 0
            while True:
                number += 1
                begin = handle.tell()
                line = handle.readline(_LINE)
                if not line:
                    raise InputError(f"{self.path} is empty.")
                text = self._decode(line, number).removeprefix("\ufeff").strip("\r\n")
                if text.strip():
                    break
            end = handle.tell()
        if "\0" in text:
            raise InputError(f"{self.path} is not text: line {number} contains a zero byte.")
        tabs = self.path.lower().removesuffix(".gz").endswith(".tsv")
        self._separator = "\t" if tabs else next((s for s in ",;\t" if s in text), ",")
        cells = [_bare(cell) for cell in text.split(self._separator)]
        self._width = len(cells)
        named = not any(_number(cell) is not None for cell in cells)
        counted = len(cells) > 1 and cells == [str(k) for k in range(len(cells))]  # as pandas names columns
        if named or counted:
            self._skipped, self._offset = number, end
        else:
            mark = 3 if line.startswith(b"\xef\xbb\xbf") else 0  # the byte order mark
            self._skipped, self._offset = number - 1, begin + mark

    def _decode(self, line: bytes, number: int) -> str:
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError:
            raise InputError(f"{self.path} is not text in UTF-8: see line {number}.") from None

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        """Pairs of (number, line) below the column names; empty lines are left out."""
        with self._open() as handle:
            handle.seek(self._offset)
            number = self._skipped
            while line := handle.readline(_LINE):
                number += 1
                text = line.rstrip(b"\r\n")
                if len(text) == _LINE:
                    raise InputError(f"{self.path} is not a table: line {number} does not end.")
                if b"\r" in text:  # which some parsers take for the end of a line
                    raise InputError(f"{self.path} is not a table: line {number} holds a carriage return.")
                if text.strip() or (text and line.endswith(b"\n")):
                    yield number, text

    def read(self, start: int, stop: int, rows: int) -> Iterator[np.ndarray]:
        """Blocks of rows; those before `start` are read and dropped."""
        row = start
        with as_input_error(self.path, "a table of numbers"):
            if importlib.util.find_spec("pyarrow"):
                for block in self._by_arrow(start, stop):
                    yield from (block[a:b] for a, b in spans(0, len(block), rows))
                    row += len(block)
                if row < stop:
                    self._explain()  # and if nothing is wrong, numpy reads what pyarrow dislikes
            if row < stop:
                yield from self._by_numpy(row, stop, rows)

    def _by_arrow(self, start: int, stop: int) -> Iterator[np.ndarray]:
        """Blocks of rows by pyarrow's parser; they end too early where it cannot read on."""
        import pyarrow
        from pyarrow import csv

        names = [str(k) for k in range(self._width)]
        options = {
            "read_options": csv.ReadOptions(column_names=names, use_threads=False, block_size=_CHUNK),
            "parse_options": csv.ParseOptions(delimiter=self._separator),
            "convert_options": csv.ConvertOptions(
                column_types=dict.fromkeys(names, pyarrow.float64()),
                null_values=[],
                strings_can_be_null=False,
            ),
        }
        compression = "gzip" if self._zipped else None
        with (
            contextlib.suppress(pyarrow.ArrowException, OSError),
            pyarrow.input_stream(self.path, compression=compression) as stream,
        ):
            stream.read(self._offset)
            row = 0
            with csv.open_csv(stream, **options) as batches:
                for batch in batches:
                    a, b = max(start - row, 0), min(stop - row, len(batch))
                    if a < b:
                        part = batch.slice(a, b - a)
                        yield np.stack([column.to_numpy() for column in part.columns], axis=1)
                    row += len(batch)
                    if row >= stop:
                        return

    def _by_numpy(self, start: int, stop: int, rows: int) -> Iterator[np.ndarray]:
        """Blocks of rows by numpy's parser."""
        lines = itertools.islice(self._lines(), start, stop)
        while piece := [line for _, line in itertools.islice(lines, rows)]:
            try:
                text = [line.decode("utf-8") for line in piece]
                block = np.loadtxt(text, delimiter=self._separator, ndmin=2, comments=None, quotechar='"')
                if block.shape != (len(piece), self._width):
                    raise ValueError("lines differ in length")
            except ValueError:
                self._explain()
                raise
            yield block

    def _explain(self) -> None:
        """Refuse the first line that has another number of cells or a cell that is not a number, if there is one."""
        for number, line in self._lines():
            cells = self._decode(line, number).split(self._separator)
            for column, cell in enumerate(map(_bare, cells[: self._width]), 1):
                if _number(cell) is None:
                    shown = cell if len(cell) < 40 else cell[:37] + "..."
                    what = f"the text {shown!r}" if shown else "an empty cell"
                    raise InputError(
                        f"{self.path} must hold numbers only, but there is {what} in line {number}, "
                        f"column {column}."
                    )
            if len(cells) != self._width:
                raise InputError(
                    f"{self.path} must have lines of equal length, but line {number} has {len(cells)} cells "
                    f"and the first has {self._width}."
                )
