"""Tables of numbers as text: comma-, semicolon- or tab-separated, plain or gzipped, read as a stream.

pyarrow parses the stream where it is installed, numpy the same lines where not. When neither can, and only then, the
lines are looked at one by one to say where the trouble is.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import importlib.util
import itertools
from collections.abc import Iterator
from typing import IO

import numpy as np

from edgelaw_app.files.columns import Choice, note, row_index
from edgelaw_app.files.errors import InputError, as_input_error
from edgelaw_app.files.reader import Reader, real_matrix, refuse_key, spans

_CHUNK = 2**23  # bytes of text that are parsed at once
_LINE = 2**24  # a longer line is not a line
_WIDEST = 2**20  # a line of more cells is not taken to pieces: every piece costs many times its characters
_ARROW = 2**14  # columns beyond which numpy parses: pyarrow takes about 9 kB a column


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
    """A .csv or .tsv file; a first line of column names is skipped, and a column that numbers the rows."""

    seeks = False
    dtype = np.dtype("f8")

    def __init__(self, path: str, key: str | None = None, choice: Choice | None = None) -> None:
        refuse_key(path, key)
        self.path = path
        self._zipped = path.lower().endswith(".gz")
        with as_input_error(path, "a table of numbers"):
            names = self._start()
            index = row_index(names)
            self._used = (choice or Choice()).numbers(path, self._width, names, index)
            if len(self._used) < self._width:
                self.numbers = self._used
            self.names = tuple(names[k] for k in self._used) if names else ()
            self.notes = note(self._used, self._width, names, index)
            rows = sum(1 for _ in self._lines())
            self.shape, _ = real_matrix(path, (rows, len(self._used)), self.dtype)

    def _open(self) -> IO[bytes]:
        return gzip.open(self.path, "rb") if self._zipped else open(self.path, "rb")  # type: ignore[return-value]

    def _start(self) -> list[str]:
        """Find the first line with anything in it: its separator, its width; the names if it is a line of names."""
        with self._open() as handle:
            number = 0
            while True:
                number += 1
                begin = handle.tell()
                line = handle.readline(_LINE)
                if not line:
                    raise InputError(f"{self.path} is empty.")
                text = self._decode(line, number).removeprefix("\ufeff").strip("\r\n")
                if len(line) == _LINE and not line.endswith(b"\n"):
                    raise InputError(f"{self.path} is not a table: line {number} does not end.")
                if text.strip():
                    break
            end = handle.tell()
        if "\0" in text:
            raise InputError(f"{self.path} is not text: line {number} contains a zero byte.")
        tabs = self.path.lower().removesuffix(".gz").endswith(".tsv")
        self._separator = "\t" if tabs else next((s for s in ",;\t" if s in text), ",")
        cells = self._cells(text, number)
        self._width = len(cells)
        if _are_names(cells):
            self._skipped, self._offset = number, end
            return cells
        mark = 3 if line.startswith(b"\xef\xbb\xbf") else 0  # the byte order mark
        self._skipped, self._offset = number - 1, begin + mark
        return []

    def _cells(self, text: str, number: int) -> list[str]:
        """The cells of a line; separators within quotes part none."""
        if text.count(self._separator) >= _WIDEST:
            raise InputError(f"{self.path} is not a table: line {number} has more than {_WIDEST:,} cells.")
        if '"' not in text:
            return [cell.strip() for cell in text.split(self._separator)]
        (cells,) = csv.reader([text], delimiter=self._separator, skipinitialspace=True)
        return [_bare(cell) for cell in cells]

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
            if self._width <= _ARROW and importlib.util.find_spec("pyarrow"):
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
        from pyarrow import csv as parser

        names = [str(k) for k in range(self._width)]
        used = [names[k] for k in self._used]
        options = {
            "read_options": parser.ReadOptions(column_names=names, use_threads=False, block_size=_CHUNK),
            "parse_options": parser.ParseOptions(delimiter=self._separator),
            "convert_options": parser.ConvertOptions(
                column_types=dict.fromkeys(used, pyarrow.float64()),
                include_columns=used,
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
            with parser.open_csv(stream, **options) as batches:
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
        while piece := _some(lines, rows):
            try:
                text = [line.decode("utf-8") for line in piece]
                if len(self._used) < self._width and any(
                    len(self._cells(one, 0)) != self._width for one in text
                ):
                    raise ValueError("lines differ in length")
                used = None if len(self._used) == self._width else self._used
                block = np.loadtxt(
                    text, delimiter=self._separator, ndmin=2, comments=None, quotechar='"', usecols=used
                )
                if block.shape != (len(piece), len(self._used)):
                    raise ValueError("lines differ in length")
            except ValueError:
                self._explain()
                raise
            yield block

    def _explain(self) -> None:
        """Refuse the first line that has another number of cells or a cell that is not a number, if there is one."""
        for number, line in self._lines():
            cells = self._cells(self._decode(line, number), number)
            for column in self._used:
                cell = cells[column] if column < len(cells) else "0"
                if _number(cell) is None:
                    shown = cell if len(cell) < 40 else cell[:37] + "..."
                    what = f"the text {shown!r}" if shown else "an empty cell"
                    raise InputError(
                        f"{self.path} must hold numbers only, but there is {what} in line {number}, "
                        f"column {column + 1}; columns and drop say which columns are read."
                    )
            if len(cells) != self._width:
                raise InputError(
                    f"{self.path} must have lines of equal length, but line {number} has {len(cells)} cells "
                    f"and the first has {self._width}."
                )


def _are_names(cells: list[str]) -> bool:
    """Whether the first line's cells are names of columns: no numbers, or numbers 0, 1, ... as pandas names columns."""
    numbers = [cell for cell in cells if _number(cell) is not None]
    if not numbers:
        return True
    return len(numbers) > 1 and numbers == [str(k) for k in range(len(numbers))]


def _some(lines: Iterator[tuple[int, bytes]], rows: int) -> list[bytes]:
    """The next lines: at most `rows`, and no more than are parsed at once."""
    piece: list[bytes] = []
    size = 0
    while len(piece) < rows and size < _CHUNK and (line := next(lines, None)) is not None:
        piece.append(line[1])
        size += len(line[1])
    return piece
