"""Columns are chosen by name, number or range; those that number the rows are left out, and it is said."""

import pickle

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from input_files import WRITERS, X, arrow, load, refusal

from edgelaw_app.files import design, open_matrix
from edgelaw_app.files.columns import chosen

NAMES = [f"emb_{k}" for k in range(24)]
LABELS = [f"class {k % 3}, or so" for k in range(300)]
TABLES = {
    "csv": lambda path, table: write_csv(path, table, ","),
    "tsv": lambda path, table: write_csv(path, table, "\t"),
    "parquet": lambda path, table: pq.write_table(table, path, row_group_size=90),
    "feather": lambda path, table: pyarrow.feather.write_feather(table, str(path)),
    "arrow": lambda path, table: arrow(path, table, pa.ipc.new_stream),
}


def write_csv(path, table, separator):
    rows = zip(*table.to_pydict().values(), strict=True)
    quoted = [
        separator.join(f'"{cell}"' if isinstance(cell, str) else repr(cell) for cell in row) for row in rows
    ]
    path.write_text("\n".join([separator.join(table.column_names), *quoted]))


def table(**more):
    columns = {name: X[:, k].astype(np.float64) for k, name in enumerate(NAMES)}
    return pa.table(more | columns | {"label": LABELS})


@pytest.fixture(params=TABLES)
def write(request, tmp_path):
    """Writes a table in a format whose columns have names, and gives the path."""

    def written(content):
        path = tmp_path / f"x.{request.param}"
        TABLES[request.param](path, content)
        return path

    return written


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"drop": "label"}, range(24)),
        ({"drop": ["label", "emb_0", 5]}, [k for k in range(24) if k not in (0, 5)]),
        ({"columns": "emb_*"}, range(24)),
        ({"columns": "emb_*", "drop": "emb_1?"}, [*range(10), *range(20, 24)]),
        ({"columns": "emb_3, emb_7,9"}, [3, 7, 9]),
        ({"columns": ["3-9", "emb_11"]}, [*range(3, 10), 11]),
        ({"columns": "20-", "drop": "-1"}, [20, 21, 22, 23]),
        ({"columns": [np.int64(3), 1], "drop": []}, [1, 3]),
        ({"columns": range(4)}, [0, 1, 2, 3]),
    ],
)
def test_columns_are_read_by_name_pattern_number_and_range(write, options, expected):
    path = write(table())
    source = open_matrix(path, **options)
    np.testing.assert_array_equal(load(path, **options), X[:, list(expected)])
    np.testing.assert_array_equal(source.take([299, 5]), X[[299, 5]][:, list(expected)])
    assert source.columns == [NAMES[k] for k in expected]
    assert source.notes == (f"Read {len(expected)} of 25 columns, as asked.",)


def test_text_is_refused_with_what_to_do_about_it(write):
    message = refusal(load, write(table()))
    assert message.endswith(
        "(or of no plain numbers): 'label'; leave them out with --drop label, or learn one with --labels label."
    )


@pytest.mark.parametrize("name", [name for name in WRITERS if not name.startswith("columns.")])
def test_columns_without_names_are_read_by_number(files, name):
    named = name == "x.csv"
    source = open_matrix(files / name, columns="1-20", drop=[3, -1 if named else 20])
    assert source.shape == (300, 19 if named else 18)
    expected = [k for k in range(1, 21) if k != 3 and (named or k != 20)]
    assert source.columns == [f"c{k}" if named else str(k) for k in expected]
    blocks = np.concatenate(list(source.blocks(70)))
    np.testing.assert_array_equal(blocks.astype(np.float32), X[:, expected])
    np.testing.assert_array_equal(source.take([7, 299]).astype(np.float32), X[[7, 299]][:, expected])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(source)).take([7]), source.take([7]))
    assert source.parts(3) == open_matrix(files / name).parts(3)
    if not named:
        assert "its columns are: '0', '1'" in refusal(open_matrix, files / name, drop="c3")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"drop": "lable"}, "has no column 'lable'; its columns are: 'emb_0', 'emb_1'"),
        ({"columns": "emb_*", "drop": "0-24"}, "has no column left: all 25 are dropped"),
        ({"columns": "25"}, "or by number 0 to 24"),
        ({"columns": "-26"}, "no column '-26'"),
        ({"columns": "9-3"}, "no column '9-3'"),
        ({"columns": "emb_0,"}, "has no column ''"),
        ({"columns": "none_*"}, "has no column 'none_*'"),
        ({"columns": "emb_0"}, "not an array of shape (300, 1)"),
        ({"columns": []}, "no column left"),
        ({"columns": [True]}, "has no column True"),
        ({"drop": [1.5]}, "has no column 1.5"),
        ({"drop": "x" * 1000}, "..."),
    ],
)
def test_columns_that_are_not_there_are_refused(write, options, words):
    assert words in refusal(open_matrix, write(table()), **options)


@pytest.mark.parametrize("name", ["", "Unnamed: 0", "__index_level_0__"])
def test_an_index_of_rows_is_left_out_and_named(write, name):
    path = write(table(**{name: np.arange(300)}).drop_columns("label"))
    source = open_matrix(path)
    assert source.columns == NAMES
    assert source.notes == (f"Left out as row numbers: {name!r}.".replace("''", "the first, without a name"),)
    np.testing.assert_array_equal(load(path), X)
    assert design(source).steps[0] == source.notes[0]
    asked = open_matrix(path, columns="0-24")
    assert asked.shape == (300, 25)
    assert asked.notes == ()
    np.testing.assert_array_equal(asked.take([299])[0, :2], [299, X[299, 0]])


def test_a_data_frame_with_numbered_columns_is_read_without_its_index(tmp_path):
    lines = [",".join(["", *map(str, range(24))])]
    lines += [",".join([str(k), *map(repr, row.tolist())]) for k, row in enumerate(X.astype(np.float64))]
    (tmp_path / "x.csv").write_text("\n".join(lines))
    np.testing.assert_array_equal(load(tmp_path / "x.csv"), X)
    np.testing.assert_array_equal(load(tmp_path / "x.csv", columns="0,1"), X[:, :2])


def test_shards_of_other_columns_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n3,4\n")
    (tmp_path / "b.csv").write_text("b,a\n1,2\n3,4\n")
    assert "the same columns in the same order" in refusal(open_matrix, tmp_path)


def test_a_name_wins_over_a_number_and_a_list():
    names = ["2", "a,b", "1", "0"]
    assert chosen("x", names, "2") == [0]
    assert chosen("x", names, "a,b", "2") == [1]
    assert chosen("x", names, ["3", "1"], ()) == [2, 3]
