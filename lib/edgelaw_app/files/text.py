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

from edgelaw_app.files.columns import Columns, text_columns, typed
from edgelaw_app.files.errors import InputError
from edgelaw_app.files.reader import Opened, Reader

_CHUNK = 2**23  # bytes of text that are parsed at once
_LINE = 2**22  # a longer line is not a line: its cells would cost many times its characters
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
        self._first, self._count = self.cells(first[1]), sum(1 for _ in self.lines())
        self.head(_are_names(self._first))

    def head(self, header: bool) -> None:
        """Take the first line for a line of column names, or for the first row."""
        self.header, self.shape = int(header), (self._count - header, len(self._first))

    def names(self) -> list[str]:
        """Those in the first line, if it has names."""
        return self._first if self.header else super().names()

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
                text = line.rstrip(b"\r\n").decode("utf-8-sig" if number == 1 else "utf-8")
                if text.strip(" ") and not text.startswith("#"):
                    yield number, text

    def _open(self) -> IO[bytes]:
        zipped = self.path.lower().endswith(".gz")
        return gzip.open(self.path, "rb") if zipped else open(self.path, "rb")  # type: ignore[return-value]

    def cells(self, text: str) -> list[str]:
        """The cells of a line; separators within quotes part none."""
        if '"' in text:
            (cells,) = csv.reader([text], delimiter=self._separator, skipinitialspace=True)
            return [cell.strip().strip('"') for cell in cells]
        return [cell.strip() for cell in text.split(self._separator)]

    def choose(self, columns: Columns | None = None, drop: Columns | None = None) -> Reader:
        """This table, of the columns asked for; those of text are named all at once."""
        super().choose(columns, drop)
        few = _some(itertools.islice(self.lines(), self.header, None), _SAMPLE, 2**20)
        some = [self.cells(text) for _, text in few]
        filled = {k: [row[k] for row in some if k < len(row) and row[k]] for k in self.used_numbers()}
        texts = [
            k for k, cells in filled.items() if 2 * sum(number(cell) is None for cell in cells) > len(cells)
        ]
        if texts:
            classes = min(texts, key=lambda k: len(set(filled[k])))
            raise text_columns(self.path, texts, self.names(), classes)
        return self

    def columns(self, numbers: list[int]) -> list[np.ndarray]:
        """The texts of some columns; a missing one is refused."""
        texts: list[list[str]] = [[] for _ in numbers]
        for line, text in itertools.islice(self.lines(), self.header, None):
            cells = self.cells(text)
            for kept, column in zip(texts, numbers, strict=True):
                if column >= len(cells) or not cells[column]:
                    raise InputError(f"{self.path} has no label in its line {line}.")
                kept.append(cells[column])
        return [np.array(column, dtype=object) for column in texts]

    def _blocks(self, start: int, stop: int, rows: int) -> Iterator[np.ndarray]:
        lines = itertools.islice(self.lines(), self.header + start, self.header + stop)
        while piece := _some(lines, rows, _CHUNK):
            block, texts = None, [self._unquoted(text) for _, text in piece]
            if all(text.count(self._separator) == self.shape[1] - 1 for text in texts):
                with contextlib.suppress(ValueError):
                    block = np.loadtxt(
                        texts, delimiter=self._separator, comments=None, usecols=self.used, ndmin=2
                    )
            yield self._by_cells(piece) if block is None else block

    def _unquoted(self, text: str) -> str:
        """A line whose separators all part cells."""
        if '"' not in text:
            return text
        return self._separator.join(cell.replace(self._separator, " ") for cell in self.cells(text))

    def _by_cells(self, lines: list[Line]) -> np.ndarray:
        """The numbers in some lines cell by cell; the first that is none is named."""
        numbers = self.used_numbers()
        block = np.empty((len(lines), len(numbers)))
        for k, (line, text) in enumerate(lines):
            cells = self.cells(text)
            if len(cells) != self.shape[1]:
                raise InputError(
                    f"{self.path} must have lines of equal length, but line {line} has {len(cells)} cells and the "
                    f"first has {self.shape[1]}."
                )
            for j, column in enumerate(numbers):
                value = number(cells[column])
                if value is None:
                    raise InputError(
                        f"{self.path} must hold numbers only, but there is the text {cells[column][:40]!r} in line "
                        f"{line}, column {self.names()[column]!r} (number {column}, counted from 0); mend the line, "
                        f"or leave the column out with --drop {typed([column], self.names())}."
                    )
                block[k, j] = value
        return block


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
