"""Tables of numbers as text: comma-, semicolon- or tab-separated, plain or gzipped, read as a stream of lines.

NumPy turns some lines at once into numbers; where it cannot, they are looked at cell by cell to say which is none.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import itertools
from collections.abc import Iterator
from typing import IO

import numpy as np

from edgelaw_app.files.columns import Choice, called, row_index, text_columns, typed
from edgelaw_app.files.errors import InputError
from edgelaw_app.files.reader import Opened, Reader

_CHUNK = 2**23  # bytes of text that are parsed at once
_LINE = 2**24  # a longer line is not a line
_WIDEST = 2**20  # a line of more cells is not taken to pieces: every piece costs many times its characters
_SAMPLE = 100  # lines that tell columns of text from columns of numbers
Line = tuple[int, str]  # its number, counted from 1, and what it holds


class Text(Reader):
    """A .csv or .tsv file; lines that begin with #, empty lines and a first line of column names are skipped."""

    seeks = False
    dtype = np.dtype("f8")

    def __init__(self, path: str) -> None:
        self.path = path
        first = next(self.lines(), None)
        if first is None:
            raise InputError(f"{path} is empty.")
        tabs = path.lower().removesuffix(".gz").endswith(".tsv")
        self._separator = "\t" if tabs else next((sign for sign in ",;\t" if sign in first[1]), ",")
        self._first, self._count = self.cells(first), sum(1 for _ in self.lines())
        self.head(_are_names(self._first))

    def head(self, header: bool) -> None:
        """Take the first line for a line of column names, or for the first row."""
        self.header, self.names = int(header), tuple(self._first) if header else ()
        self.index, self.shape = row_index(self.names), (self._count - self.header, len(self._first))

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
                if len(line) == _LINE and not line.endswith(b"\n"):
                    raise InputError(f"{self.path} is not a table: line {number} does not end.")
                try:
                    text = line.rstrip(b"\r\n").decode("utf-8-sig" if number == 1 else "utf-8")
                except UnicodeDecodeError:
                    raise InputError(f"{self.path} is not text in UTF-8: see line {number}.") from None
                if "\r" in text:  # which some parsers take for the end of a line
                    raise InputError(f"{self.path} is not a table: line {number} holds a carriage return.")
                if text.strip(" ") and not text.startswith("#"):
                    yield number, text

    def _open(self) -> IO[bytes]:
        zipped = self.path.lower().endswith(".gz")
        return gzip.open(self.path, "rb") if zipped else open(self.path, "rb")  # type: ignore[return-value]

    def cells(self, line: Line) -> list[str]:
        """The cells of a line; separators within quotes part none."""
        number, text = line
        if text.count(self._separator) >= _WIDEST:
            raise InputError(f"{self.path} is not a table: line {number} has more than {_WIDEST:,} cells.")
        if '"' in text:
            (cells,) = csv.reader([text], delimiter=self._separator, skipinitialspace=True)
            return [cell.strip().strip('"') for cell in cells]
        return [cell.strip() for cell in text.split(self._separator)]

    def choose(self, choice: Choice) -> Reader:
        """This table, of the columns asked for; those of text are named all at once."""
        super().choose(choice)
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
        lines = itertools.islice(self.lines(), self.header + start, self.header + stop)
        while piece := _some(lines, rows, _CHUNK):
            block = None
            if all(self._width(line) == self.shape[1] for line in piece):
                with contextlib.suppress(ValueError):
                    block = np.loadtxt(
                        [text for _, text in piece],
                        delimiter=self._separator,
                        comments=None,
                        quotechar='"',
                        usecols=self.used,
                        ndmin=2,
                    )
            yield self._by_cells(piece) if block is None or len(block) < len(piece) else block

    def _width(self, line: Line) -> int:
        """How many cells a line has."""
        return len(self.cells(line)) if '"' in line[1] else line[1].count(self._separator) + 1

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
            if len(cells) != self.shape[1]:
                raise InputError(
                    f"{self.path} must have lines of equal length, but line {line[0]} has {len(cells)} cells and the "
                    f"first has {self.shape[1]}."
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
    """The next lines: at most `rows`, and no more after so many characters."""
    piece: list[Line] = []
    size = 0
    while len(piece) < rows and size < most and (line := next(lines, None)) is not None:
        piece.append(line)
        size += len(line[1])
    return piece
