"""Tables of text by either parser: read as they are written in the wild, refused by line and column."""

import gzip
import subprocess
import sys

import numpy as np
import pytest
from input_files import everything, load, refusal

from edgelaw_app.files import open_matrix, text


@pytest.fixture(params=["numpy", "cells"])
def parser(request, monkeypatch):
    """Lines at once or cell by cell, in chunks of a few lines."""
    monkeypatch.setattr(text, "_CHUNK", 64)
    if request.param == "cells":
        monkeypatch.setattr(np, "loadtxt", lambda *_, **__: None)


@pytest.mark.parametrize(
    "table",
    [
        "1,2\n3,4\n5,6",
        "a,b\n1,2\n3,4\n5,6\n",
        '"a","b"\n"1","2"\n"3","4"\n"5","6"\n',
        "0,1\n1,2\n3,4\n5,6\n",  # the column names that pandas gives
        "\ufeff1,2\r\n3,4\r\n5,6\r\n",
        "\n\n1;2\n\n3;4\n\n\n5;6\n\n",
        " 1 , 2.0\n3,4e0\n+5,6\n",
        "x\ty\n1\t2\n3\t4\n5\t6\n",
        "1,2\n3,4\n5,6\n  ",
        "\n1.0,2\n3,4\n5," + " " * 80 + "6\n",  # a line longer than a chunk of pyarrow's
    ],
)
def test_tables_are_read_as_they_are_written_in_the_wild(tmp_path, parser, table):
    (tmp_path / "x.csv").write_bytes(table.encode())
    np.testing.assert_array_equal(everything(tmp_path / "x.csv"), [[1, 2], [3, 4], [5, 6]])


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (
            "7,eight",
            "the text 'eight' in line 32, column 'right' (number 1, counted from 0); mend the line, or leave "
            "the column out with --drop right.",
        ),
        ("7,", "the text '' in line 32, column 'right'"),
        ("7,8,9", "line 32 has 3 cells and the first has 2"),
        ("7", "line 32 has 1 cells and the first has 2"),
        ("7,1_000", "the text '1_000' in line 32, column 'right'"),
        ("7," + "long" * 100, "the text 'longlonglonglonglonglonglonglonglonglong' in line 32"),
        ("1,N/A", "the text 'N/A' in line 32, column 'right'"),
        ("1,2\r3,4", "line 32 has 3 cells and the first has 2"),
    ],
)
def test_text_and_ragged_lines_are_refused_by_line_and_column(tmp_path, parser, bad, words):
    lines = ["left,right", *(f"{k},{k + 0.5}" for k in range(29)), "", bad, "1,2"]
    (tmp_path / "x.csv").write_text("\n".join(lines) + "\n")
    assert words in refusal(everything, tmp_path / "x.csv")


@pytest.mark.parametrize(
    "data", [b"a,b\n", b"\xff\xfe1\x00,\x002\x00\n", b"1,2\n\xff,3\n", b"\0\0\0\n", b"\n \n"]
)
def test_what_is_no_table_is_refused(tmp_path, parser, data):
    (tmp_path / "x.csv").write_bytes(data)
    refusal(everything, tmp_path / "x.csv")


def test_blocks_of_any_size_and_any_range_are_the_same_rows(tmp_path, parser):
    lines = [f"{k},{k / 2}" for k in range(50)]
    (tmp_path / "x.csv").write_text("\n\n".join(lines))
    source = open_matrix(tmp_path / "x.csv")
    rows = np.array([[k, k / 2] for k in range(50)])
    for size, start, stop in ((1, 0, 50), (7, 3, 29), (100, 49, 50)):
        blocks = list(source.blocks(size, start, stop))
        assert max(map(len, blocks)) <= size
        np.testing.assert_array_equal(np.concatenate(blocks), rows[start:stop])


def test_lines_that_agree_with_each_other_but_not_with_the_names_are_refused(tmp_path, parser):
    (tmp_path / "x.csv").write_text("a,b\n1,2,3\n4,5,6\n")
    assert "line 2 has 3 cells and the first has 2" in refusal(everything, tmp_path / "x.csv")


def test_a_line_without_an_end_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "_LINE", 100)
    (tmp_path / "x.csv").write_text("1,2\n" + "3," * 60)
    assert "line 2 does not end" in refusal(open_matrix, tmp_path / "x.csv")


def endless(path):
    """4 GB of one line."""
    path.write_bytes(gzip.compress(b"12," * 2**20) * 1300)


def endless_second(path):
    """4 GB of one line, after a good one."""
    path.write_bytes(gzip.compress(b"1,2\n") + gzip.compress(b"12," * 2**20) * 1300)


def wide(path):
    """More columns than pyarrow could parse within the memory, and a line that is too short."""
    path.write_bytes(gzip.compress((b"1," * 600_000 + b"1\n") * 2 + b"1\n"))


def cells(path):
    """Two lines of more cells than are taken to pieces."""
    with gzip.open(path, "wb") as file:
        file.write((b"1," * (2**21 + 1) + b"1\n") * 2)


def names(path):
    """As many names as there may be, and lines that are no numbers."""
    with gzip.open(path, "wb") as file:
        file.write(b"abcdefghij," * (2**20 - 1) + b"x\n" + (b"x," * (2**20 - 1) + b"x\n") * 3)


def quotes(path):
    """Quotes and separators, a line that does not part where it seems to."""
    with gzip.open(path, "wb") as file:
        file.write((b'"1","' * 2**19 + b"\n") * 20)


def texts(path):
    """Many lines of many cells of text."""
    with gzip.open(path, "wb") as file:
        for _ in range(120):
            file.write(b"ab," * 2**18 + b"ab\n")


@pytest.mark.parametrize("make", [endless, endless_second, wide, cells, names, quotes, texts])
def test_a_small_file_that_means_gigabytes_is_refused_in_little_memory(tmp_path, make):
    path = tmp_path / "x.csv.gz"
    make(path)
    assert path.stat().st_size < 4_500_000
    code = (
        "import resource, sys\n"
        "import pyarrow.csv, edgelaw_app.files as inputs\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try:\n    inputs.open_matrix(sys.argv[1]).matrix()\n"
        "except inputs.InputError as error:\n    print(error)\n"
        "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)\n"
    )
    run = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, timeout=300)
    sentence, megabytes = run.stdout.splitlines()
    assert sentence.startswith(str(path))
    assert int(megabytes) < 500, megabytes


def test_ragged_lines_are_refused_when_some_columns_are_read(tmp_path, parser):
    (tmp_path / "x.csv").write_text('a,b,c,d\n"x, y",2,3,4\n"z",5,6,7\n')
    source = open_matrix(tmp_path / "x.csv", drop="a")
    assert source.take([1, 0]).tolist() == [[5, 6, 7], [2, 3, 4]]
    (tmp_path / "x.csv").write_text('a,b,c,d\n"x, y",2,3,4\n"z",5,6,7,8\n')
    assert "line 3 has 5 cells and the first has 4" in refusal(load, tmp_path / "x.csv", drop="a")
    (tmp_path / "x.csv").write_text('a,b,c,d\n"x, y",2,3,4\n"z",5,six,7\n"z",5,6,7\n')
    message = refusal(load, tmp_path / "x.csv", drop="a")
    assert "the text 'six' in line 3, column 'c'" in message


def test_separators_within_quotes_part_no_cells_wherever_the_quotes_begin(tmp_path, parser):
    (tmp_path / "x.csv").write_text('a,b,c\n1, "2,3,4", 5\n6,"7,8,9",10\n11,12,13\n')
    assert load(tmp_path / "x.csv", drop="b").tolist() == [[1, 5], [6, 10], [11, 13]]


def test_both_parsers_read_every_digit(tmp_path, parser):
    numbers = np.random.default_rng(2).normal(size=(50, 4)) * 10.0 ** np.arange(-150, 50, 50)
    (tmp_path / "x.csv").write_text("\n".join(",".join(map(repr, row)) for row in numbers.tolist()))
    np.testing.assert_array_equal(everything(tmp_path / "x.csv"), numbers)
