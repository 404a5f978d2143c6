"""Parquet: columns of numbers, columns of lists, and what they may not be."""

import pyarrow as pa
import pyarrow.parquet as pq
from input_files import everything, refusal

from edgelaw.inputs import open_matrix


def test_missing_values_in_parquet_count_as_nan_and_ragged_lists_are_refused(tmp_path):
    pq.write_table(pa.table({"a": [1, 2, None], "b": [1, 2, 3]}), tmp_path / "x.parquet")
    assert "1 NaN; the first is nan in row 2, column 0" in refusal(everything, tmp_path / "x.parquet")
    for lists in ([[1.0, 2.0], [3.0]], [[1.0, 2.0], None], [None, [1.0, 2.0]]):
        pq.write_table(pa.table({"a": lists}), tmp_path / "y.parquet")
        refusal(everything, tmp_path / "y.parquet")
    pq.write_table(pa.table({"a": [1.0, 2.0], "b": ["x", "y"]}), tmp_path / "z.parquet")
    assert "column 'b' holds string" in refusal(open_matrix, tmp_path / "z.parquet")
    assert "no array 'a'" in refusal(open_matrix, tmp_path / "z.parquet", key="a")


def test_a_table_without_rows_or_columns_is_refused(tmp_path):
    pq.write_table(pa.table({"a": pa.array([], pa.list_(pa.float32()))}), tmp_path / "x.parquet")
    assert "holds no numbers" in refusal(open_matrix, tmp_path / "x.parquet")
    pq.write_table(pa.table({}), tmp_path / "x.parquet")
    assert "holds no numbers" in refusal(open_matrix, tmp_path / "x.parquet")


def test_row_groups_are_the_parts_and_a_missing_one_is_noticed(tmp_path):
    pq.write_table(pa.table({"a": range(9), "b": range(9)}), tmp_path / "x.parquet", row_group_size=4)
    source = open_matrix(tmp_path / "x.parquet")
    assert source.parts(9) == [(0, 4), (4, 8), (8, 9)]
    source._readers[0]._ends[-1] = 12
    source._readers[0].shape = (12, 2)
    source = type(source)(source._readers, source.name)
    assert "it ends after row 9 of 12" in refusal(list, source.blocks())
