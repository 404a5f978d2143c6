"""Files of every format become the same design, in blocks; what cannot is refused in one sentence."""

import contextlib
import gzip
import importlib
import importlib.util
import io
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import safetensors.numpy
import safetensors.torch
import torch
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st

from edgelaw import embeddings, inputs, spectrum
from edgelaw.inputs import InputError, design, designs, open_matrix, readers, text

X = (np.random.default_rng(0).normal(size=(300, 24)) * np.arange(1, 25) ** -0.5 + 2).astype(np.float32)


def refusal(call, *arguments, **options):
    """The one sentence of the InputError that a call must end in."""
    with pytest.raises(InputError) as excinfo:
        call(*arguments, **options)
    message = str(excinfo.value)
    assert message.endswith(".")
    assert "\n" not in message
    return message


def everything(path, key=None, rows=70):
    """A file's rows through its blocks."""
    return np.concatenate(list(open_matrix(path, key).blocks(rows)))


def write_text(path, separator, header=None):
    buffer = io.StringIO()
    np.savetxt(buffer, X, delimiter=separator, fmt="%.9g", header=header or "", comments="")
    data = buffer.getvalue().removeprefix("\n").encode()
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def write_zarr(path, group):
    if group:
        zarr.open_group(str(path), mode="w").create_array("weights", data=X, chunks=(64, 24))
    else:
        zarr.create_array(str(path), data=X, chunks=(50, 10))


def write_shards(path):
    path.mkdir()
    for k in range(4):
        np.save(path / f"part{k}.npy", X[75 * k : 75 * k + 75])


def parquet(path, table):
    pq.write_table(table, path, row_group_size=90)


WRITERS = {
    "x.npy": lambda path: np.save(path, X),
    "fortran.npy": lambda path: np.save(path, np.asfortranarray(X)),
    "x.npz": lambda path: np.savez(path, labels=np.arange(300), weights=X),
    "small.npz": lambda path: np.savez_compressed(path, weights=X),
    "fortran.npz": lambda path: np.savez_compressed(path, weights=np.asfortranarray(X)),
    "stored_fortran.npz": lambda path: np.savez(path, weights=np.asfortranarray(X)),
    "x.csv": lambda path: write_text(path, ",", ",".join(f"c{k}" for k in range(24))),
    "x.tsv": lambda path: write_text(path, "\t"),
    "x.csv.gz": lambda path: write_text(path, ";"),
    "columns.parquet": lambda path: parquet(path, pa.table({f"c{k}": X[:, k] for k in range(24)})),
    "list.parquet": lambda path: parquet(path, pa.table({"title": ["t"] * 300, "e": pa.array(list(X))})),
    "fixed.parquet": lambda path: parquet(
        path, pa.table({"e": pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), 24)})
    ),
    "x.safetensors": lambda path: safetensors.numpy.save_file({"weights": X, "bias": X[0]}, path),
    "x.pt": lambda path: torch.save(torch.from_numpy(X), path),
    "old.pth": lambda path: torch.save(
        {"weights": torch.from_numpy(X), "bias": torch.ones(3)}, path, _use_new_zipfile_serialization=False
    ),
    "x.zarr": lambda path: write_zarr(path, group=False),
    "group.zarr": lambda path: write_zarr(path, group=True),
    "shards": write_shards,
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """One file of every format, all holding X."""
    folder = tmp_path_factory.mktemp("formats")
    for name, write in WRITERS.items():
        write(folder / name)
    return folder


# every format


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_rows_in_blocks_ranges_and_by_number(files, name):
    source = open_matrix(files / name)
    text = ".csv" in name or ".tsv" in name
    assert source.shape == (300, 24)
    assert source.dtype == (np.float64 if text else np.float32)
    blocks = list(source.blocks(70))
    assert max(map(len, blocks)) <= 70
    assert {block.dtype for block in blocks} == {source.dtype}
    np.testing.assert_array_equal(np.concatenate(blocks).astype(np.float32), X)
    for start, stop in ((0, 1), (89, 181), (299, 300), (100, 100)):
        found = [block for block in source.blocks(40, start, stop)]
        np.testing.assert_array_equal(np.concatenate([X[:0], *found]).astype(np.float32), X[start:stop])
    for indices in ([299, 0, 150], [5, 5, 4], np.random.default_rng(1).permutation(300), []):
        np.testing.assert_array_equal(source.take(indices).astype(np.float32), X[np.array(indices, int)])
    ranges = source.parts(3)
    assert [a for a, _ in ranges[1:]] == [b for _, b in ranges[:-1]]
    assert (ranges[0][0], ranges[-1][1]) == (0, 300)


@pytest.mark.parametrize("name", ["x.npy", "x.npz", "x.csv", "list.parquet", "x.pt", "x.zarr", "shards"])
def test_a_design_travels_to_another_process(files, name):
    made = design(open_matrix(files / name), rows=60, dims=20, rng=3)
    again = pickle.loads(pickle.dumps(made))
    np.testing.assert_array_equal(again.matrix(), made.matrix())
    assert len(pickle.dumps(made)) < 20_000  # a description, not the data nor the projection


@pytest.mark.parametrize(
    ("stored", "read"), [("f2", "f4"), ("f4", "f4"), ("f8", "f8"), (">f4", "f8"), ("i4", "f8"), ("u1", "f8")]
)
def test_numbers_are_kept_or_widened_never_narrowed(tmp_path, stored, read):
    np.save(tmp_path / "x.npy", np.arange(12).reshape(4, 3).astype(stored))
    assert everything(tmp_path / "x.npy").dtype == np.dtype(read)
    np.testing.assert_array_equal(everything(tmp_path / "x.npy"), np.arange(12).reshape(4, 3))


def test_bfloat16_is_read_as_float32(tmp_path):
    tensor = torch.from_numpy(X).to(torch.bfloat16)
    torch.save(tensor, tmp_path / "x.pt")
    safetensors.torch.save_file({"x": tensor}, tmp_path / "x.safetensors")
    for name in ("x.pt", "x.safetensors"):
        assert open_matrix(tmp_path / name).dtype == np.float32
        np.testing.assert_array_equal(everything(tmp_path / name), tensor.float().numpy())


def test_the_only_matrix_is_found_and_keys_are_listed(tmp_path):
    np.savez(tmp_path / "x.npz", labels=np.arange(3), scale=1.0, anything=np.eye(3), text=np.array(["a"]))
    source = open_matrix(tmp_path / "x.npz")
    assert source.keys == ["labels", "scale", "anything", "text"]
    np.testing.assert_array_equal(everything(tmp_path / "x.npz"), np.eye(3))
    np.savez(tmp_path / "y.npz", a=np.eye(3), b=2 * np.eye(4))
    np.testing.assert_array_equal(everything(tmp_path / "y.npz", "b"), 2 * np.eye(4))
    assert "its arrays are: 'a', 'b'" in refusal(open_matrix, tmp_path / "y.npz")


@pytest.mark.parametrize("name", ["x.npz", "list.parquet", "x.safetensors", "old.pth", "group.zarr"])
def test_a_wrong_key_is_refused_with_the_keys(files, name):
    said = refusal(open_matrix, files / name, key="nothing")
    assert "no array 'nothing'" in said
    assert "'e'" in said if "parquet" in name else "'weights'" in said


@pytest.mark.parametrize("name", ["x.npy", "x.csv", "x.pt", "x.zarr"])
def test_a_key_for_a_file_without_keys_is_refused(files, name):
    assert "without a key" in refusal(open_matrix, files / name, key="x")


# shards


def test_shards_are_one_matrix_in_sorted_order_by_folder_or_pattern(files):
    np.testing.assert_array_equal(everything(files / "shards"), X)
    np.testing.assert_array_equal(everything(str(files / "shards" / "part[1-3].npy")), X[75:])


def test_shards_that_do_not_fit_together_are_refused(tmp_path):
    assert "holds no shards" in refusal(open_matrix, tmp_path)
    np.save(tmp_path / "a.npy", np.eye(3))
    np.save(tmp_path / "b.npy", np.eye(4))
    assert re.search(r"equal width.*3 columns.*4", refusal(open_matrix, tmp_path))
    (tmp_path / "b.npy").rename(tmp_path / "b.csv")
    assert "several formats (.csv, .npy)" in refusal(open_matrix, tmp_path)
    assert "no file that fits the pattern" in refusal(open_matrix, tmp_path / "*.npz")


def test_shards_of_different_precision_are_read_in_the_better_one(tmp_path):
    np.save(tmp_path / "a.npy", X)
    np.save(tmp_path / "b.npy", X.astype(np.float64))
    assert open_matrix(tmp_path).dtype == np.float64
    assert everything(tmp_path).dtype == np.float64


# refusals


def test_what_is_missing_empty_or_of_another_format_is_refused(tmp_path):
    for name in ("x.npy", "x.zarr", "none.csv.gz"):
        assert "There is no file" in refusal(open_matrix, tmp_path / name)
        with pytest.raises(FileNotFoundError):
            open_matrix(tmp_path / name)
    assert "must be a .npy, .npz" in refusal(open_matrix, tmp_path / "x.pkl")
    assert "There is no file" in refusal(open_matrix, "a\0b.npy")
    for ending in designs.FORMATS:
        if ending != ".zarr":
            (tmp_path / f"empty{ending}").touch()
            assert re.search(r"empty|damaged", refusal(open_matrix, tmp_path / f"empty{ending}"))
    (tmp_path / "empty.zarr").mkdir()
    assert "empty.zarr" in refusal(open_matrix, tmp_path / "empty.zarr")


BAD = {
    "not shape (3,)": np.ones(3),
    "not shape (2, 2, 2)": np.ones((2, 2, 2)),
    "one column only": np.ones((3, 1)),
    "one row only": np.ones((1, 3)),
    "holds no numbers": np.ones((0, 3)),
    "not complex": np.ones((3, 3), complex),
    "not dtype bool": np.ones((3, 3), bool),
    "not dtype <U1": np.array([["x", "y"]] * 2),
    "real numbers": np.zeros((3, 3), [("a", "f4")]),
}


@pytest.mark.parametrize("words", BAD)
def test_arrays_that_are_no_real_matrix_are_refused(tmp_path, words):
    np.save(tmp_path / "x.npy", BAD[words])
    np.savez(tmp_path / "x.npz", BAD[words])
    assert words in refusal(open_matrix, tmp_path / "x.npy")
    assert words in refusal(open_matrix, tmp_path / "x.npz")


@pytest.mark.parametrize("rows", [1, 7, 300])
@pytest.mark.parametrize("name", ["x.npy", "x.npz", "x.csv", "x.parquet", "x.pt"])
def test_nan_is_counted_and_the_first_is_named(tmp_path, name, rows):
    bad = X.copy()
    bad[[13, 200, 201], [5, 0, 1]] = np.nan, np.nan, np.inf
    path = tmp_path / name
    writers = {
        "npy": lambda: np.save(path, bad),
        "npz": lambda: np.savez(path, bad),
        "csv": lambda: np.savetxt(path, bad, delimiter=","),
        "parquet": lambda: pq.write_table(pa.table({str(k): bad[:, k] for k in range(24)}), path),
        "pt": lambda: torch.save(torch.from_numpy(bad), path),
    }
    writers[path.suffix[1:]]()
    said = refusal(everything, path, rows=rows)
    assert "2 NaN and 1 infinite" in said
    assert "row 13, column 5" in said
    assert "row 200, column 0" in refusal(open_matrix(path).take, [201, 7, 200])


def test_missing_values_in_parquet_count_as_nan_and_ragged_lists_are_refused(tmp_path):
    pq.write_table(pa.table({"a": [1, 2, None], "b": [1, 2, 3]}), tmp_path / "x.parquet")
    assert "1 NaN; the first is nan in row 2, column 0" in refusal(everything, tmp_path / "x.parquet")
    for lists in ([[1.0, 2.0], [3.0]], [[1.0, 2.0], None], [None, [1.0, 2.0]]):
        pq.write_table(pa.table({"a": lists}), tmp_path / "y.parquet")
        refusal(everything, tmp_path / "y.parquet")
    pq.write_table(pa.table({"a": [1.0, 2.0], "b": ["x", "y"]}), tmp_path / "z.parquet")
    assert "column 'b' holds string" in refusal(open_matrix, tmp_path / "z.parquet")
    assert "no array 'a'" in refusal(open_matrix, tmp_path / "z.parquet", key="a")


def test_numbers_too_large_to_square_or_to_tell_apart_are_refused(tmp_path):
    np.save(tmp_path / "x.npy", np.array([[1, 2], [2**53 + 2, 0]]))
    assert "beyond 2^53" in refusal(everything, tmp_path / "x.npy")
    np.save(tmp_path / "x.npy", np.array([[1, 2], [2**64 - 1, 0]], np.uint64))
    assert "row 1, column 0" in refusal(everything, tmp_path / "x.npy")
    np.save(tmp_path / "x.npy", np.array([[1, 2], [0, -1e200]]))
    assert "below 1e+100" in refusal(everything, tmp_path / "x.npy")
    np.save(
        tmp_path / "x.npy", np.full((2000, 9), 3e38, np.float32)
    )  # their sum overflows, their squares do not
    assert everything(tmp_path / "x.npy").max() == np.float32(3e38)


@pytest.mark.parametrize("name", [name for name in WRITERS if "." in name and "zarr" not in name])
@pytest.mark.parametrize("kept", [5, 0.5, 0.97])
def test_a_truncated_file_is_refused(files, tmp_path, name, kept):
    data = (files / name).read_bytes()
    path = tmp_path / name
    cut = kept if isinstance(kept, int) else int(kept * len(data))
    if name in ("x.csv", "x.tsv"):  # a table cut between lines is a table: cut it within a number's line
        cut = data.rfind(b"\n", 0, cut) + 3 if cut > 5 else cut
    path.write_bytes(data[:cut])
    refusal(everything, path)


def test_a_flipped_bit_inside_a_zip_is_noticed(tmp_path):
    np.savez(tmp_path / "x.npz", X)
    data = bytearray((tmp_path / "x.npz").read_bytes())
    data[5000] ^= 1
    (tmp_path / "x.npz").write_bytes(data)
    assert "damaged" in refusal(everything, tmp_path / "x.npz")


# pickles


class Trap:
    """Unpickling this leaves a mark."""

    sprung = False

    def __reduce__(self):
        return (_spring, ())


def _spring():
    Trap.sprung = True


@pytest.mark.parametrize("ending", designs.FORMATS)
def test_a_pickle_is_never_loaded_whatever_it_is_called(tmp_path, ending):
    path = tmp_path / f"trap{ending}"
    for protocol in (0, 4):
        path.write_bytes(pickle.dumps(Trap(), protocol=protocol))
        refusal(everything, path)
    assert not Trap.sprung
    pickle.loads(path.read_bytes())
    assert Trap.sprung  # the trap works, so the assertion above means something
    Trap.sprung = False


def test_pickled_objects_inside_good_containers_are_never_loaded(tmp_path):
    objects = np.array([[Trap(), 1], [2, 3]], dtype=object)
    np.save(tmp_path / "x.npy", objects, allow_pickle=True)
    np.savez(tmp_path / "x.npz", embeddings=objects)
    torch.save({"embeddings": torch.eye(3), "trap": Trap()}, tmp_path / "x.pt")
    for name in ("x.npy", "x.npz", "x.pt"):
        assert "never loaded" in refusal(everything, tmp_path / name)
    store = tmp_path / "x.zarr"
    store.mkdir()
    described = {
        "zarr_format": 2,
        "shape": [2, 2],
        "chunks": [2, 2],
        "dtype": "<f8",
        "fill_value": 0,
        "order": "C",
    }
    described |= {"compressor": None, "filters": [{"id": "pickle", "protocol": 4}]}
    (store / ".zarray").write_text(json.dumps(described))
    (store / "0.0").write_bytes(pickle.dumps(Trap()))
    refusal(everything, store)
    assert not Trap.sprung


# text


@pytest.fixture(params=["pyarrow", "numpy"])
def parser(request, monkeypatch):
    """Either parser of text, with chunks of a few lines."""
    monkeypatch.setattr(text, "_CHUNK", 64)
    if request.param == "numpy":
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    return request.param


@pytest.mark.parametrize(
    "text",
    [
        "1,2\n3,4\n5,6",
        "a,b\n1,2\n3,4\n5,6\n",
        '"a","b"\n"1","2"\n"3","4"\n"5","6"\n',
        "0,1\n1,2\n3,4\n5,6\n",  # the column names that pandas gives
        "\ufeff1,2\r\n3,4\r\n5,6\r\n",
        "\n\n1;2\n\n3;4\n\n\n5;6\n\n",
        " 1 , 2.0\n3,4e0\n+5,6\n",
        "x\ty\n1\t2\n3\t4\n5\t6\n",
    ],
)
def test_tables_are_read_as_they_are_written_in_the_wild(tmp_path, parser, text):
    (tmp_path / "x.csv").write_bytes(text.encode())
    np.testing.assert_array_equal(everything(tmp_path / "x.csv"), [[1, 2], [3, 4], [5, 6]])


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ("7,eight", "the text 'eight' in line 32, column 2"),
        ("7,", "an empty cell in line 32, column 2"),
        ("7,8,9", "line 32 has 3 cells and the first has 2"),
        ("7", "line 32 has 1 cells and the first has 2"),
        ("7,1_000", "the text '1_000' in line 32, column 2"),
        ("7," + "long" * 100, "..."),
        ("1,N/A", "the text 'N/A' in line 32, column 2"),
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


def test_both_parsers_read_every_digit(tmp_path, monkeypatch):
    wanted = np.random.default_rng(2).normal(size=(50, 4)) * 10.0 ** np.arange(-150, 50, 50)
    (tmp_path / "x.csv").write_text("\n".join(",".join(map(repr, row)) for row in wanted.tolist()))
    np.testing.assert_array_equal(everything(tmp_path / "x.csv"), wanted)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    np.testing.assert_array_equal(everything(tmp_path / "x.csv"), wanted)


# optional packages


@pytest.mark.parametrize(
    ("name", "extra"),
    [("x.pt", "torch"), ("list.parquet", "parquet"), ("x.safetensors", "safetensors"), ("x.zarr", "zarr")],
)
def test_a_missing_package_is_named_with_the_extra_that_brings_it(files, monkeypatch, name, extra):
    def missing(module):
        raise ImportError(module)

    monkeypatch.setattr(importlib, "import_module", missing)
    assert f"pip install 'edgelaw[{extra}]'" in refusal(open_matrix, files / name)


def test_importing_inputs_imports_nothing_heavy():
    heavy = ("scipy", "torch", "pyarrow", "zarr", "dask")
    code = f"import sys, edgelaw.inputs; print([name for name in {heavy} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


# designs


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize(("rows", "dims"), [(None, None), (100, None), (None, 21), (80, 20)])
def test_a_streamed_design_is_the_preprocessed_matrix(files, center, normalize, rows, dims):
    options = {"rows": rows, "dims": dims, "rng": 7, "center": center, "normalize": normalize}
    wanted = embeddings.preprocess(X, **options)
    for name in ("x.npy", "x.npz", "list.parquet"):
        made = design(open_matrix(files / name), **options)
        assert (made.shape, made.steps, made.null) == (wanted.X.shape, wanted.steps, wanted.null)
        assert (made.seed, made.bytes, made.duplicates) == (7, wanted.X.nbytes, 0)
        np.testing.assert_allclose(made.matrix(), wanted.X, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(np.concatenate(list(made.blocks(33))), wanted.X, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(made.take([7, 0, 7]), wanted.X[[7, 0, 7]], rtol=1e-12, atol=1e-12)


def test_a_generator_is_used_and_moved_on_as_preprocess_does(files):
    one, other = np.random.default_rng(5), np.random.default_rng(5)
    made = design(open_matrix(files / "x.npy"), rows=50, dims=20, rng=one)
    wanted = embeddings.preprocess(X, 50, 20, other)
    np.testing.assert_allclose(made.matrix(), wanted.X, rtol=1e-12, atol=1e-12)
    assert made.seed is None
    assert one.random() == other.random()


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize(("rows", "dims"), [(None, None), (4500, 30)])
def test_the_streamed_spectrum_is_that_of_the_matrix(tmp_path, center, normalize, rows, dims):
    rng = np.random.default_rng(1)
    wide = rng.normal(size=(5000, 40)) * np.arange(1, 41) ** -1.0 + 30 * rng.normal(size=40)
    np.save(tmp_path / "x.npy", wide)
    np.savez(tmp_path / "x.npz", wide)
    options = {"rows": rows, "dims": dims, "rng": 2, "center": center, "normalize": normalize}
    singular = np.linalg.svd(embeddings.preprocess(wide, **options).X, compute_uv=False)[::-1]
    wanted, calls = singular**2 / (rows or 5000), []
    for name in ("x.npy", "x.npz"):
        made = design(open_matrix(tmp_path / name), **options)
        found = made.gram_eigenvalues(progress=lambda *call: calls.append(call))
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-13 * wanted[-1])
        assert calls[-1][:2] == (made.shape[0], made.shape[0])
        assert made.duplicates == 0
        np.testing.assert_array_equal(made.gram_eigenvalues(), found)


def test_a_large_mean_costs_no_digits_of_a_centred_spectrum():
    small = np.random.default_rng(3).normal(size=(5000, 20))
    found = design(small + 1e6, normalize=False).gram_eigenvalues()
    wanted = np.linalg.eigvalsh(np.cov(small.T, bias=True))
    np.testing.assert_allclose(found, wanted, rtol=1e-7)  # 1e6 plus a number near 1 keeps ten digits of it
    naive = np.linalg.eigvalsh(
        (small + 1e6).T @ (small + 1e6) / 5000 - np.outer(*[(small + 1e6).mean(axis=0)] * 2)
    )
    assert abs(naive / wanted - 1).max() > 1e-4  # what subtracting afterwards would have left


@pytest.mark.parametrize(("m", "d"), [(30, 40), (40, 40), (60, 40)])
def test_zeros_by_construction_are_exact_zeros(m, d):
    made = design(np.random.default_rng(4).normal(size=(m, d)) + 1)
    values = made.gram_eigenvalues()
    assert made.null == max(d - m + 1, 0)
    assert (values == 0).sum() == made.null
    np.testing.assert_array_equal(values, spectrum.gram_eigenvalues(made.matrix()))


def test_a_null_direction_of_a_long_file_is_an_exact_zero():
    long = np.random.default_rng(4).normal(size=(5000, 21))
    long[:, 20] = long[:, 0] - long[:, 1]
    values = design(long).gram_eigenvalues()
    assert (values == 0).sum() == 1
    assert values[1] > 0.01


def test_equal_rows_are_counted_and_refused_only_where_nothing_is_left():
    rng = np.random.default_rng(5)
    signs = rng.choice([-1.0, 1.0], size=(2000, 33)).astype(np.float32)
    distinct = len(np.unique(signs, axis=0))
    assert design(signs).duplicates == 2000 - distinct
    repeated = np.concatenate([signs, signs[:10], signs[:10]])
    assert design(repeated, center=False).duplicates == 2020 - distinct
    equal = np.tile(rng.normal(size=(1, 25)), (30, 1))
    for options in ({}, {"center": False}, {"normalize": False}, {"center": False, "normalize": False}):
        assert "all equal" in refusal(
            lambda options=options: design(np.tile(equal, (200, 1)), **options).gram_eigenvalues()
        )
    assert "all equal" in refusal(design(equal).gram_eigenvalues)


def test_fingerprints_of_distinct_rows_differ_where_sums_would_not():
    rows = np.eye(64, dtype=np.float64) * -2 + 1  # one sign flipped a row
    pairs = np.ones((2016, 64))
    for k, (i, j) in enumerate(np.argwhere(np.triu(np.ones((64, 64)), 1))):
        pairs[k, [i, j]] = -1
    found = inputs.fingerprints(np.concatenate([rows, pairs]))
    assert len(np.unique(found)) == 64 + 2016


def test_a_row_that_cannot_be_scaled_is_named_in_the_files_own_numbering():
    rows = np.random.default_rng(6).normal(size=(100, 20))
    rows[50:] = -rows[:50]
    rows = np.concatenate([rows, np.zeros((1, 20))])  # zero, and the mean
    assert "Row 100 of X equals the mean row" in refusal(design(rows).matrix)
    assert "Row 100 of X is zero" in refusal(design(rows, center=False).gram_eigenvalues)
    assert design(rows, normalize=False).matrix().shape == (101, 20)
    long = np.concatenate([rows] + [rows[:100]] * 50)
    assert "Row 100 of X equals the mean row" in refusal(design(long).gram_eigenvalues)
    assert "Row 100 of X equals the mean row" in refusal(design(long, rows=5101, rng=1).gram_eigenvalues)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rows": 301}, "rows must be at most the 300"),
        ({"rows": 1}, "rows must be an integer of at least 2"),
        ({"rows": 2.5}, "rows must be an integer"),
        ({"dims": 25}, "dims must be at most the 24"),
        ({"dims": 19}, "leaves 19 dimensions, but at least 20"),
        ({"rng": -1}, "rng must be"),
    ],
)
def test_a_design_that_cannot_be_is_refused(files, options, words):
    assert words in refusal(design, open_matrix(files / "x.npy"), **options)


def test_few_columns_and_bad_arrays_are_refused(tmp_path):
    assert "leaves 3 dimensions" in refusal(design, np.eye(3))
    assert "rectangular" in refusal(design, [[1, 2], [3]])
    assert "not shape (3,)" in refusal(design, np.ones(3))
    nan = np.ones((30, 30))
    nan[3, 4] = np.nan
    assert "row 3, column 4" in refusal(design(nan).matrix)
    assert "row 3, column 4" in refusal(design(nan).gram_eigenvalues)


@pytest.mark.parametrize("indices", [[300], [-1], [[1]], [0.5]])
def test_row_numbers_are_checked(files, indices):
    with pytest.raises(ValueError, match="indices"):
        open_matrix(files / "x.npy").take(indices)


def test_looking_ahead_keeps_order_passes_errors_on_and_stops_when_told():
    assert list(inputs.ahead(range(20))) == list(range(20))

    def failing():
        yield 1
        raise InputError("No.")

    with pytest.raises(InputError, match="No"):
        list(inputs.ahead(failing()))
    made = []
    walk = inputs.ahead(made.append(k) or k for k in range(1000))
    assert next(walk) == 0
    walk.close()
    assert len(made) <= 3


MEASURE = """
import sys
from edgelaw import inputs
def run(path):
    inputs.design(inputs.open_matrix(path)).gram_eigenvalues()
    # not getrusage, whose peak is inherited from the process that started this one
    return int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) // 1024
warm = run(sys.argv[1])
print(run(sys.argv[2]) - warm)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("name", ["big.npy", "big.npz"])
def test_a_file_larger_than_its_blocks_is_never_in_memory_whole(tmp_path, name):
    rng = np.random.default_rng(0)
    save = np.save if name.endswith("npy") else np.savez
    save(tmp_path / f"small{name}", rng.standard_normal((20_000, 200), dtype=np.float32))  # 16 MB
    save(tmp_path / name, rng.standard_normal((120_000, 200), dtype=np.float32))  # 96 MB, 192 in float64
    paths = [str(tmp_path / f"small{name}"), str(tmp_path / name)]
    run = subprocess.run([sys.executable, "-c", MEASURE, *paths], capture_output=True, text=True, check=True)
    assert int(run.stdout) < 25  # megabytes more for 80 more in the file
    (tmp_path / name).unlink()


# fuzz


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The bytes of a small file of every format; of zarr those of all its files."""
    folder = tmp_path_factory.mktemp("fuzz")
    few = X[:12, :5]
    np.save(folder / "x.npy", few)
    np.savez(folder / "x.npz", few)
    np.savez_compressed(folder / "small.npz", few)
    np.savetxt(folder / "x.csv", few, delimiter=",", header="a,b,c,d,e", comments="")
    (folder / "x.tsv.gz").write_bytes(
        gzip.compress((folder / "x.csv").read_bytes().replace(b",", b"\t"), mtime=0)
    )
    pq.write_table(pa.table({str(k): few[:, k] for k in range(5)}), folder / "x.parquet")
    pq.write_table(pa.table({"e": pa.array(list(few))}), folder / "list.parquet")
    safetensors.numpy.save_file({"e": few}, folder / "x.safetensors")
    torch.save(torch.from_numpy(few), folder / "x.pt")
    zarr.create_array(str(folder / "x.zarr"), data=few, chunks=(4, 5))
    return folder


FUZZED = (
    "x.npy",
    "x.npz",
    "small.npz",
    "x.csv",
    "x.tsv.gz",
    "x.parquet",
    "list.parquet",
    "x.safetensors",
    "x.pt",
)


@pytest.mark.parametrize("name", [*FUZZED, "x.zarr"])
def test_damaged_bytes_are_read_or_refused_and_nothing_else(small, tmp_path, name):
    place = tmp_path / name
    if name.endswith("zarr"):
        shutil.copytree(small / name, place)
    victims = (
        sorted(p for p in (small / name).rglob("*") if p.is_file()) if place.is_dir() else [small / name]
    )

    @settings(max_examples=60)
    @given(st.data())
    def damaged(data):
        victim = data.draw(st.sampled_from(victims))
        content = bytearray(victim.read_bytes())
        for _ in range(data.draw(st.integers(1, 4))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
        content = content[: data.draw(st.sampled_from([len(content)] * 3 + [len(content) // 2]))]
        target = place / victim.relative_to(small / name) if place.is_dir() else place
        target.write_bytes(content)
        try:
            rows = everything(place)
            assert rows.ndim == 2
            assert np.isfinite(rows).all()
        except InputError as error:
            told.append(str(error))
        finally:
            target.write_bytes(victim.read_bytes())

    told = []
    damaged()
    assert told  # some damage was done
    assert not any("\n" in sentence for sentence in told)


@given(st.sampled_from([e for e in designs.FORMATS if e != ".zarr"]), st.binary(max_size=300))
def test_bytes_that_mean_nothing_are_refused(tmp_path_factory, ending, content):
    path = tmp_path_factory.getbasetemp() / f"noise{os.getpid()}{ending}"
    path.write_bytes(content)
    with contextlib.suppress(InputError):
        everything(path)


def test_a_zip_with_a_member_that_lies_about_its_size_is_refused(tmp_path):
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        head, {"descr": "<f4", "fortran_order": False, "shape": (10**9, 10**6)}
    )
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("x.npy", head.getvalue() + b"0" * 100)
    (tmp_path / "x.npy").write_bytes(head.getvalue() + b"0" * 100)
    assert "truncated" in refusal(open_matrix, tmp_path / "x.npz")
    assert "truncated" in refusal(open_matrix, tmp_path / "x.npy")


@pytest.mark.parametrize(
    "name", ["x.npy", "x.npz", "small.npz", "x.csv", "list.parquet", "x.safetensors", "x.pt"]
)
def test_a_file_that_vanishes_is_said_to_be_missing(files, tmp_path, name):
    shutil.copy(files / name, tmp_path / name)
    source = open_matrix(tmp_path / name)
    (tmp_path / name).unlink()
    assert name in refusal(list, source.blocks())


def test_a_large_fortran_array_in_a_zip_is_refused_with_a_way_out(files, monkeypatch):
    monkeypatch.setattr(readers, "_WHOLE", 1000)
    assert "numpy.ascontiguousarray" in refusal(open_matrix, files / "fortran.npz")
