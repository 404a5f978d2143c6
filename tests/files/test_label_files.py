"""Labels from files of every format, and what is refused."""

import gzip

import numpy as np
import pytest

from edgelaw_app.files import InputError, label_place
from edgelaw_app.files.label_files import read_labels

WORDS = np.array(["ash", "oak", "yew", "oak"])
WHOLE = np.array([3, 1, 2, 1])


def parquet(path, columns):
    table = pytest.importorskip("pyarrow").table(columns)
    pytest.importorskip("pyarrow.parquet").write_table(table, path)


def feather(path, columns):
    table = pytest.importorskip("pyarrow").table(columns)
    pytest.importorskip("pyarrow.feather").write_feather(table, str(path))


def torch_file(path, arrays):
    torch = pytest.importorskip("torch")
    torch.save({name: torch.tensor(array) for name, array in arrays.items()}, path)


def safetensors(path, arrays):
    pytest.importorskip("safetensors.numpy").save_file(arrays, path)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("l.npz", lambda path, arrays: np.savez(path, **arrays)),
        ("l.parquet", parquet),
        ("l.feather", feather),
        ("l.pt", torch_file),
        ("l.safetensors", safetensors),
    ],
)
def test_every_format_gives_back_its_labels(tmp_path, name, write):
    path = str(tmp_path / name)
    write(path, {"y": WHOLE, "z": 0.5 * WHOLE})
    assert read_labels(path, "y", 4).tolist() == WHOLE.tolist()
    assert read_labels(path, "z", 4).tolist() == (0.5 * WHOLE).tolist()
    with pytest.raises(InputError, match="'q'"):
        read_labels(path, "q", 4)
    with pytest.raises(InputError, match="name one as"):
        read_labels(path, None, 4)


def test_texts_in_tables_and_arrays(tmp_path):
    np.save(tmp_path / "w.npy", WORDS)
    parquet(tmp_path / "w.parquet", {"w": WORDS.tolist()})
    for name in ("w.npy", "w.parquet"):
        assert read_labels(str(tmp_path / name), None, 4).tolist() == WORDS.tolist()


@pytest.mark.parametrize(
    "text", ["w\nash\noak\nyew\noak\n", "ash\noak\nyew\noak", "\ufeffw\n\nash\noak\nyew\noak\n"]
)
@pytest.mark.parametrize("zipped", [True, False])
def test_a_line_of_names_is_known_by_the_number_of_rows(tmp_path, text, zipped):
    path = tmp_path / ("w.csv.gz" if zipped else "w.csv")
    path.write_bytes(gzip.compress(text.encode()) if zipped else text.encode())
    assert read_labels(str(path), None, 4).tolist() == WORDS.tolist()


def test_columns_by_name_by_number_and_several(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a,b,"c,d"\n1,2.5,x\n2,3.5,"y,z"\n')
    assert read_labels(str(path), "a", 2).dtype.kind == "i"
    assert read_labels(str(path), "b", 2).tolist() == [2.5, 3.5]
    assert read_labels(str(path), "c,d", 2).tolist() == ["x", "y,z"]
    assert read_labels(str(path), "-1", 2).tolist() == ["x", "y,z"]
    assert read_labels(str(path), "a,b", 2).tolist() == [[1.0, 2.5], [2.0, 3.5]]
    with pytest.raises(InputError, match="numbers in several columns"):
        read_labels(str(path), "a,2", 2)
    with pytest.raises(InputError, match="its columns are: 'a', 'b'"):
        read_labels(str(path), "q", 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,\n2,3\n", "no label in its line 2"),
        ("a,b\n1\n2,3\n", "no label in its line 2"),
        ("1,2\n3,4\n5,6\n7,8\n", r"each of the 2 rows, not an array of shape \(4, 2\)"),
    ],
)
def test_tables_with_gaps_are_refused(tmp_path, text, message):
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_labels(str(path), "1", 2)


def test_missing_values_and_foreign_files_are_refused(tmp_path):
    parquet(tmp_path / "n.parquet", {"y": [1, None, 2]})
    with pytest.raises(InputError, match="missing label in 'y', in row 1"):
        read_labels(str(tmp_path / "n.parquet"), "y", 3)
    (tmp_path / "y.txt").write_text("1\n2\n")
    with pytest.raises(InputError, match=r"must be a file that ends in \.npy"):
        read_labels(str(tmp_path / "y.txt"), None, 2)
    with pytest.raises(InputError, match="is a folder"):
        read_labels(str(tmp_path), None, 2)
    (tmp_path / "bad.npz").write_bytes(b"PK\x03\x04 nothing")
    with pytest.raises(InputError, match="damaged"):
        read_labels(str(tmp_path / "bad.npz"), None, 2)
    np.save(tmp_path / "c.npy", np.ones(3, dtype=complex))
    with pytest.raises(InputError, match="numbers or texts"):
        read_labels(str(tmp_path / "c.npy"), None, 3)


def test_a_name_alone_is_looked_for_in_the_features(tmp_path):
    assert label_place("y", "x.npz") == ("x.npz", "y")
    (tmp_path / "y").touch()
    assert label_place(str(tmp_path / "y"), "x.npz") == (str(tmp_path / "y"), None)
    assert label_place("a:b", "x.csv") == ("x.csv", "a:b")
