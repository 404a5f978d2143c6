"""Parquet, feather and arrow: columns of numbers, columns of lists, and what they may not be."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from input_files import arrow, everything, refusal

from edgelaw_app.files import open_matrix


def test_missing_values_in_parquet_count_as_nan_and_ragged_lists_are_refused(tmp_path):
    pq.write_table(pa.table({"a": [1, 2, None], "b": [1, 2, 3]}), tmp_path / "x.parquet")
    assert "there is nan in row 2, column 'a' (counted from 0)" in refusal(everything, tmp_path / "x.parquet")
    for lists in ([[1.0, 2.0], [3.0]], [[1.0, 2.0], None], [None, [1.0, 2.0]]):
        pq.write_table(pa.table({"a": lists}), tmp_path / "y.parquet")
        refusal(everything, tmp_path / "y.parquet")
    pq.write_table(pa.table({"a": [1.0, 2.0], "b": ["x", "y"]}), tmp_path / "z.parquet")
    assert "of no plain numbers): 'b'; leave" in refusal(open_matrix, tmp_path / "z.parquet")
    assert "without a key" in refusal(open_matrix, tmp_path / "z.parquet", key="a")


def test_a_table_without_rows_or_columns_is_refused(tmp_path):
    pq.write_table(pa.table({"a": pa.array([], pa.list_(pa.float32()))}), tmp_path / "x.parquet")
    assert "not an array of shape (0, 0)" in refusal(open_matrix, tmp_path / "x.parquet")
    pq.write_table(pa.table({}), tmp_path / "x.parquet")
    assert "not an array of shape (0, 0)" in refusal(open_matrix, tmp_path / "x.parquet")


def test_rows_within_row_groups_are_found_and_a_missing_one_is_noticed(tmp_path):
    pq.write_table(pa.table({"a": range(9), "b": range(9)}), tmp_path / "x.parquet", row_group_size=4)
    source = open_matrix(tmp_path / "x.parquet")
    for start, stop in ((0, 4), (3, 9), (5, 6)):
        assert np.concatenate(list(source.blocks(2, start, stop)))[:, 0].tolist() == [*range(start, stop)]
    source._readers[0].shape = (12, 2)
    source = type(source)(source._readers, source.name)
    assert "it ends after row 9 of 12" in refusal(list, source.blocks())


def test_feather_of_the_first_version_is_refused_and_damaged_files_are(tmp_path):
    (tmp_path / "x.feather").write_bytes(b"FEA1" + bytes(100) + b"FEA1")
    assert "is damaged, protected or of another format" in refusal(open_matrix, tmp_path / "x.feather")
    (tmp_path / "x.arrow").write_bytes(b"ARROW1\0\0" + bytes(100))
    assert "is damaged, protected or of another format" in refusal(open_matrix, tmp_path / "x.arrow")


def test_missing_values_and_ragged_lists_are_refused_in_arrow_too(tmp_path):
    arrow(tmp_path / "x.arrow", pa.table({"a": [1, 2, None], "b": [1, 2, 3]}), pa.ipc.new_stream)
    assert "there is nan in row 2, column 'a' (counted from 0)" in refusal(everything, tmp_path / "x.arrow")
    arrow(tmp_path / "x.arrow", pa.table({"a": [[1.0, 2.0], [3.0]]}), pa.ipc.new_stream)
    assert "the list in row 1 is not of length 2" in refusal(everything, tmp_path / "x.arrow")
    arrow(tmp_path / "x.arrow", pa.table({"a": pa.array([], pa.list_(pa.float32()))}), pa.ipc.new_file)
    assert "not an array of shape (0, 0)" in refusal(open_matrix, tmp_path / "x.arrow")


def test_a_stream_that_ends_early_is_noticed(tmp_path):
    arrow(tmp_path / "x.arrow", pa.table({"a": range(300), "b": range(300)}), pa.ipc.new_stream)
    source = open_matrix(tmp_path / "x.arrow")
    assert np.concatenate(list(source.blocks(50, 100, 200)))[:, 0].tolist() == [*range(100, 200)]
    arrow(tmp_path / "x.arrow", pa.table({"a": range(100), "b": range(100)}), pa.ipc.new_stream)
    assert "it ends after row 100 of 300" in refusal(list, source.blocks())


def test_the_folder_of_a_saved_dataset_is_read(tmp_path):
    for k in range(2):
        part = pa.table({"label": range(4), "vector": [[1.0 * k, 2.0, 3.0]] * 4})
        arrow(tmp_path / f"data-0000{k}-of-00002.arrow", part, pa.ipc.new_stream)
    (tmp_path / "state.json").write_text("{}")
    (tmp_path / "dataset_info.json").write_text("{}")
    assert everything(tmp_path).tolist() == [[0, 2, 3]] * 4 + [[1, 2, 3]] * 4
