"""Tables of numbers as text: comma-, semicolon- or tab-separated, plain or gzipped, a few megabytes at a time.

Chunks of whole lines go to pyarrow's parser where it is installed and to numpy's where not. When a chunk cannot be
parsed, and only then, its lines are looked at one by one to say where the trouble is.
"""

import gzip
import importlib.util
import io

import numpy as np

from edgelaw.inputs.readers import InputError, only, real_matrix, refusing

_CHUNK = 2**23  # bytes of text parsed at once
_LINE = 2**27  # a longer line is not a line


def _number(cell):
    """The number in a cell of text, or None; as strict as the fast parsers."""
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None


def _bare(cell):
    """A cell without blanks and quotes around it."""
    return cell.strip().strip('"')


class Text:
    """A .csv or .tsv file; a first line of column names is skipped."""

    seeks, keys, dtype = False, (), np.dtype("f8")

    def __init__(self, path, key=None):
        only(path, key)
        self.path = path
        name = str(path).lower()
        self._zipped = name.endswith(".gz")
        tabs = name.removesuffix(".gz").endswith(".tsv")
        with refusing(path, "a table of numbers"):
            self._start(tabs)
            rows = sum(self._count(chunk) for _, chunk in self._chunks())
            real_matrix(path, (rows, self._width), self.dtype)
        self.shape = (rows, self._width)

    def _open(self):
        return gzip.open(self.path, "rb") if self._zipped else open(self.path, "rb")

    def _start(self, tabs):
        """Find the first line with anything in it: its separator, its width, whether it is a line of names."""
        with self._open() as handle:
            for number in range(1, 2**31):
                line = handle.readline(_LINE)
                if not line:
                    raise InputError(f"{self.path} is empty.")
                text = self._decode(line, number).removeprefix("\ufeff").strip("\r\n")
                if text.strip():
                    break
        if "\0" in text:
            raise InputError(f"{self.path} is not text: line {number} contains a zero byte.")
        self._separator = "\t" if tabs else next((s for s in ",;\t" if s in text), ",")
        cells = [_bare(cell) for cell in text.split(self._separator)]
        self._width = len(cells)
        named = not any(_number(cell) is not None for cell in cells)
        counted = len(cells) > 1 and cells == [str(k) for k in range(len(cells))]  # as pandas names columns
        self._skip = number if named or counted else number - 1

    def _decode(self, line, number):
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError:
            raise InputError(f"{self.path} is not text in UTF-8: see line {number}.") from None

    def _chunks(self):
        """Pairs of (number of the first line, whole lines), after the lines to skip."""
        with self._open() as handle:
            for _ in range(self._skip):
                handle.readline(_LINE)
            number, rest = self._skip + 1, b""
            if not self._skip and handle.read(3) != b"\xef\xbb\xbf":
                handle.seek(0)
            while piece := handle.read(_CHUNK):
                cut = piece.rfind(b"\n") + 1
                if not cut:
                    rest += piece
                    if len(rest) > _LINE:
                        raise InputError(f"{self.path} is not a table: line {number} does not end.")
                    continue
                chunk, rest = rest + piece[:cut], piece[cut:]
                yield number, chunk
                number += chunk.count(b"\n")
            if rest.strip():
                yield number, rest + b"\n"

    def _count(self, chunk):
        """How many lines have anything in them."""
        if chunk[:1] in b"\r\n" or b"\n\n" in chunk or b"\n\r\n" in chunk:
            return sum(bool(line.strip(b"\r\n")) for line in chunk.split(b"\n"))
        return chunk.count(b"\n")

    def read(self, start, stop, rows):
        """Blocks of rows; those before `start` are parsed and dropped."""
        now, kept = 0, []
        with refusing(self.path, "a table of numbers"):
            for number, chunk in self._chunks():
                if not self._count(chunk):
                    continue
                block = self._parse(number, chunk)
                a, b = max(start - now, 0), min(stop - now, len(block))
                now += len(block)
                for k in range(a, b, rows):
                    kept.append(block[k : min(k + rows, b)])
                    if sum(map(len, kept)) >= rows:
                        joined = np.concatenate(kept) if len(kept) > 1 else kept[0]
                        kept = [joined[rows:]] if len(joined) > rows else []
                        yield joined[:rows]
                if now >= stop:
                    break
            if kept:
                yield np.concatenate(kept)

    def _parse(self, number, chunk):
        """The numbers of some lines, or a sentence about the first cell that is none."""
        parse = self._by_arrow if importlib.util.find_spec("pyarrow") else self._by_numpy
        try:
            block = parse(chunk)
        except Exception:
            block = None
        if block is None or block.shape != (self._count(chunk), self._width):
            self._complain(number, chunk)
            block = self._by_numpy(chunk)  # what one parser dislikes and the rules allow
        return block

    def _by_arrow(self, chunk):
        import pyarrow
        from pyarrow import csv

        names = [str(k) for k in range(self._width)]
        table = csv.read_csv(
            pyarrow.py_buffer(chunk),
            read_options=csv.ReadOptions(column_names=names, use_threads=False, block_size=len(chunk) + 1),
            parse_options=csv.ParseOptions(delimiter=self._separator),
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(names, pyarrow.float64()),
                null_values=[],
                strings_can_be_null=False,
            ),
        )
        block = np.empty((len(table), self._width))
        for k, column in enumerate(table.columns):
            if column.null_count:
                return None
            block[:, k] = column.to_numpy()
        return block

    def _by_numpy(self, chunk):
        lines = io.StringIO(chunk.decode("utf-8"), newline="\n")
        return np.loadtxt(lines, delimiter=self._separator, ndmin=2, comments=None, quotechar='"')

    def _complain(self, number, chunk):
        """Say which line has another number of cells or which cell is not a number, if any."""
        for k, line in enumerate(chunk.split(b"\n")):
            text = self._decode(line, number + k).strip("\r\n")
            if not text:
                continue
            cells = text.split(self._separator)
            for column, cell in enumerate(cells[: self._width], 1):
                cell = _bare(cell)
                if _number(cell) is None:
                    shown = cell if len(cell) < 40 else cell[:37] + "..."
                    said = f"the text {shown!r}" if shown else "an empty cell"
                    raise InputError(
                        f"{self.path} must hold numbers only, but there is {said} in line {number + k}, "
                        f"column {column}."
                    )
            if len(cells) != self._width:
                raise InputError(
                    f"{self.path} must have lines of equal length, but line {number + k} has {len(cells)} cells "
                    f"and the first has {self._width}."
                )
