"""Tables of numbers as text: comma-, semicolon- or tab-separated, plain or gzipped, read as a stream of lines.

pyarrow turns some lines at once into numbers where it is installed. Where it is not, or cannot, the standard library's
csv does, cell by cell, and says where the trouble is.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import itertools
from collections.abc import Iterator
from typing import IO

import numpy as np

from edgelaw._common import extras
from edgelaw_app.files.columns import Choice, called, row_index, text_columns, typed
from edgelaw_app.files.errors import InputError, as_input_error
from edgelaw_app.files.reader import Opened, Reader

_CHUNK = 2**23  # bytes of text that are parsed at once
_LINE = 2**24  # a longer line is not a line
_WIDEST = 2**20  # a line of more cells is not taken to pieces: every piece costs many times its characters
_ARROW = 2**14  # columns beyond which pyarrow is not asked: it takes about 9 kB a column
_SAMPLE = 100  # lines that tell columns of text from columns of numbers
Line = tuple[int, bytes]  # its number, counted from 1, and what it holds


class Text(Reader):
    """A .csv or .tsv file; lines that begin with #, empty lines and a first line of column names are skipped."""

    seeks = False
    chosen_by_format = True
    dtype = np.dtype("f8")

    def __init__(self, path: str) -> None:
        self.path, self._arrow = path, extras.installed("pyarrow")
        with as_input_error(path, "a table of numbers"):
            number, first = next(self.lines(), (0, b""))
            if not number:
                raise InputError(f"{path} is empty.")
            tabs = path.lower().removesuffix(".gz").endswith(".tsv")
            self._separator = "\t" if tabs else next((sign for sign in ",;\t" if sign.encode() in first), ",")
            cells = self.cells((number, first))
            self.width, self._first, self._count = len(cells), cells, sum(1 for _ in self.lines())
            self.head(_are_names(cells))

    def head(self, header: int) -> None:
        """Take the first line for a line of column names, or for the first row."""
        self.header, self.names = int(header), tuple(self._first) if header else ()
        self.index, self.shape = row_index(self.names), (self._count - self.header, self.width)

    @classmethod
    def opened(cls, path: str) -> Opened:
        """The one table of a file."""
        return {None: lambda: cls(path)}

    def lines(self) -> Iterator[Line]:
        """The lines with anything in them, comments left out; memory is bounded whatever the file claims to be."""
        with self._open() as handle:
            number = 0
            while line := handle.readline(_LINE):
                number += 1
                text = line.rstrip(b"\r\n")
                if number == 1:
                    text = text.removeprefix(b"\xef\xbb\xbf")  # the byte order mark
                if len(line) == _LINE and not line.endswith(b"\n"):
                    raise InputError(f"{self.path} is not a table: line {number} does not end.")
                if b"\r" in text:  # which some parsers take for the end of a line
                    raise InputError(f"{self.path} is not a table: line {number} holds a carriage return.")
                if text.strip(b" ") and not text.startswith(b"#"):
                    yield number, text

    def _open(self) -> IO[bytes]:
        zipped = self.path.lower().endswith(".gz")
        return gzip.open(self.path, "rb") if zipped else open(self.path, "rb")  # type: ignore[return-value]

    def cells(self, line: Line) -> list[str]:
        """The cells of a line; separators within quotes part none."""
        number, content = line
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError:
            raise InputError(f"{self.path} is not text in UTF-8: see line {number}.") from None
        if text.count(self._separator) >= _WIDEST:
            raise InputError(f"{self.path} is not a table: line {number} has more than {_WIDEST:,} cells.")
        if '"' in text:
            (cells,) = csv.reader([text], delimiter=self._separator, skipinitialspace=True)
            return [cell.strip().strip('"') for cell in cells]
        return [cell.strip() for cell in text.split(self._separator)]

    def choose(self, choice: Choice) -> Reader:
        """This table, of the columns asked for; those of text are named all at once."""
        super().choose(choice)
        with as_input_error(self.path, "a table of numbers"):
            few = _some(itertools.islice(self.lines(), self.header, None), _SAMPLE, 2**20)
            some = [self.cells(line) for line in few]
        columns = {k: [row[k] for row in some if k < len(row) and row[k]] for k in self._numbers()}
        texts = [
            k for k, cells in columns.items() if 2 * sum(number(cell) is None for cell in cells) > len(cells)
        ]
        if texts:
            classes = min(texts, key=lambda k: len(set(columns[k])))
            raise text_columns(self.path, texts, self.names, classes)
        return self

    def columns(self, numbers: list[int]) -> list[np.ndarray]:
        """The texts of some columns; a missing one is refused."""
        texts: list[list[str]] = [[] for _ in numbers]
        with as_input_error(self.path, "a table of text"):
            for line in itertools.islice(self.lines(), self.header, None):
                cells = self.cells(line)
                for kept, column in zip(texts, numbers, strict=True):
                    if column >= len(cells) or not cells[column]:
                        raise InputError(f"{self.path} has no label in its line {line[0]}.")
                    kept.append(cells[column])
        return [np.array(column, dtype=object) for column in texts]

    def _numbers(self) -> list[int]:
        """The numbers of the columns that are read."""
        return list(range(self.shape[1])) if self.used is None else self.used

    def _blocks(self, start: int, stop: int, rows: int) -> Iterator[np.ndarray]:
        with as_input_error(self.path, "a table of numbers"):
            lines = itertools.islice(self.lines(), self.header + start, self.header + stop)
            while piece := _some(lines, rows, _CHUNK):
                block = self._by_arrow(piece) if self._arrow and self.width <= _ARROW else None
                yield self._by_cells(piece) if block is None else block

    def _by_arrow(self, lines: list[Line]) -> np.ndarray | None:
        """The numbers in some lines by pyarrow's parser; None where it cannot."""
        with contextlib.suppress(ImportError):
            import pyarrow
            from pyarrow import csv as parser

            names = [str(k) for k in range(self.width)]
            used = [names[k] for k in self._numbers()]
            data = b"\n".join(line for _, line in lines)
            with contextlib.suppress(pyarrow.ArrowInvalid):
                table = parser.read_csv(
                    pyarrow.BufferReader(data),
                    parser.ReadOptions(column_names=names, use_threads=False, block_size=len(data) + 1),
                    parser.ParseOptions(delimiter=self._separator),
                    parser.ConvertOptions(
                        column_types=dict.fromkeys(used, pyarrow.float64()),
                        include_columns=used,
                        null_values=[],
                        strings_can_be_null=False,
                    ),
                )
                if len(table) == len(lines):
                    return np.stack([column.to_numpy() for column in table.columns], axis=1)
        return None

    def _by_cells(self, lines: list[Line]) -> np.ndarray:
        """The numbers in some lines cell by cell; the first that is none is named."""
        numbers = self._numbers()
        block = np.empty((len(lines), len(numbers)))
        for k, line in enumerate(lines):
            cells = self.cells(line)
            for j, column in enumerate(numbers):
                value = number(cells[column]) if column < len(cells) else 0.0
                if value is None:
                    raise self._no_number(cells[column], line[0], column)
                block[k, j] = value
            if len(cells) != self.width:
                raise InputError(
                    f"{self.path} must have lines of equal length, but line {line[0]} has {len(cells)} cells and the "
                    f"first has {self.width}."
                )
        return block

    def _no_number(self, cell: str, line: int, column: int) -> InputError:
        """What is said of a cell that is no number."""
        shown = repr(cell if len(cell) < 40 else cell[:37] + "...")
        return InputError(
            f"{self.path} must hold numbers only, but there is {f'the text {shown}' if cell else 'an empty cell'} in "
            f"line {line}, {called(column, self.names)}; mend the line, or leave the column out with --drop "
            f"{typed([column], self.names)}."
        )


def number(cell: str) -> float | None:
    """The number in a cell of text, or None; as strict as the fast parser."""
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None


def _are_names(cells: list[str]) -> bool:
    """Whether the first line's cells are names of columns: no numbers, or numbers 0, 1, ... as pandas names columns."""
    numbers = [cell for cell in cells if number(cell) is not None]
    if not numbers:
        return True
    return len(numbers) > 1 and numbers == [str(k) for k in range(len(numbers))]


def _some(lines: Iterator[Line], rows: int, most: int) -> list[Line]:
    """The next lines: at most `rows`, and no more after so many bytes."""
    piece: list[Line] = []
    size = 0
    while len(piece) < rows and size < most and (line := next(lines, None)) is not None:
        piece.append(line)
        size += len(line[1])
    return piece
