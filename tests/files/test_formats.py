"""Every format keeps the same contract: equal rows, equal refusals, and nothing but sentences for damaged files."""

import contextlib
import gzip
import os
import pickle
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
import safetensors.numpy
import scipy.sparse
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from input_files import WRITERS, Trap, X, arrow, everything, refusal

from edgelaw_app.files import InputError, open_matrix, opening


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
        part = list(source.blocks(40, start, stop))
        np.testing.assert_array_equal(np.concatenate([X[:0], *part]).astype(np.float32), X[start:stop])
    for indices in ([299, 0, 150], [5, 5, 4], np.random.default_rng(1).permutation(300), []):
        np.testing.assert_array_equal(source.take(indices).astype(np.float32), X[np.array(indices, int)])
    ranges = source.parts(3)
    assert [a for a, _ in ranges[1:]] == [b for _, b in ranges[:-1]]
    assert (ranges[0][0], ranges[-1][1]) == (0, 300)


@pytest.mark.parametrize(
    ("name", "rows"), [("x.npy", 1), ("x.npz", 7), ("x.csv", 300), ("x.parquet", 7), ("x.pt", 300)]
)
def test_the_first_nan_is_named(tmp_path, name, rows):
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
    message = refusal(everything, path, rows=rows)
    first, later = ("row 13, column '5'", "row 200, column '0'")
    assert f"there is nan in {first} (counted from 0)" in message
    assert later in refusal(open_matrix(path).take, [201, 7, 200])
    assert "there is inf in row 201" in refusal(open_matrix(path).take, [201, 7])


@pytest.mark.parametrize("name", [name for name in WRITERS if "." in name])
@pytest.mark.parametrize("kept", [5, 0.5, 0.97])
def test_a_truncated_file_is_refused(files, tmp_path, name, kept):
    data = (files / name).read_bytes()
    path = tmp_path / name
    cut = kept if isinstance(kept, int) else int(kept * len(data))
    if name in ("x.csv", "x.tsv"):  # a table cut between lines is a table: cut it within a number's line
        cut = data.rfind(b"\n", 0, cut) + 3 if cut > 5 else cut
    path.write_bytes(data[:cut])
    refusal(everything, path)


@pytest.mark.parametrize(
    "name", ["x.npy", "x.npz", "small.npz", "x.csv", "list.parquet", "x.safetensors", "x.pt"]
)
def test_a_file_that_vanishes_is_said_to_be_missing(files, tmp_path, name):
    shutil.copy(files / name, tmp_path / name)
    source = open_matrix(tmp_path / name)
    (tmp_path / name).unlink()
    assert name in refusal(list, source.blocks())


@pytest.mark.parametrize("ending", opening.FORMATS)
def test_a_pickle_is_never_loaded_whatever_it_is_called(tmp_path, ending):
    path = tmp_path / f"trap{ending}"
    for protocol in (0, 4):
        path.write_bytes(pickle.dumps(Trap(), protocol=protocol))
        refusal(everything, path)
    assert not Trap.sprung
    pickle.loads(path.read_bytes())
    assert Trap.sprung  # the trap works, so the assertion above means something
    Trap.sprung = False


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A small file of every format."""
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
    table, lists = pa.table({str(k): few[:, k] for k in range(5)}), pa.table({"e": pa.array(list(few))})
    pyarrow.feather.write_feather(table, str(folder / "x.feather"))
    pyarrow.feather.write_feather(lists, str(folder / "list.feather"), compression="uncompressed")
    arrow(folder / "x.arrow", table, pa.ipc.new_stream)
    arrow(folder / "list.arrow", lists, pa.ipc.new_stream)
    scipy.sparse.save_npz(folder / "sparse.npz", scipy.sparse.csr_array(few * (few > 2)))
    scipy.sparse.save_npz(folder / "coo.npz", scipy.sparse.coo_array(few * (few > 2)), compressed=False)
    safetensors.numpy.save_file({"e": few}, folder / "x.safetensors")
    torch.save(torch.from_numpy(few), folder / "x.pt")
    return folder


FUZZED = (
    "x.npy",
    "x.npz",
    "small.npz",
    "x.csv",
    "x.tsv.gz",
    "x.parquet",
    "list.parquet",
    "x.feather",
    "list.feather",
    "x.arrow",
    "list.arrow",
    "sparse.npz",
    "coo.npz",
    "x.safetensors",
    "x.pt",
)


@pytest.mark.parametrize("name", FUZZED)
def test_damaged_bytes_are_read_or_refused_and_nothing_else(small, tmp_path, name):
    place = tmp_path / name
    sound = (small / name).read_bytes()

    @settings(max_examples=30)
    @given(st.data())
    def damaged(data):
        content = bytearray(sound)
        for _ in range(data.draw(st.integers(1, 4))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
        content = content[: data.draw(st.sampled_from([len(content)] * 3 + [len(content) // 2]))]
        place.write_bytes(content)
        try:
            rows = everything(place)
            assert rows.ndim == 2
            assert np.isfinite(rows).all()
        except InputError as error:
            sentences.append(str(error))

    sentences = []
    damaged()
    assert sentences  # some damage was done
    assert not any("\n" in sentence for sentence in sentences)


@given(st.sampled_from([*opening.FORMATS]), st.binary(max_size=300))
def test_bytes_that_mean_nothing_are_refused(tmp_path_factory, ending, content):
    path = tmp_path_factory.getbasetemp() / f"noise{os.getpid()}{ending}"
    path.write_bytes(content)
    with contextlib.suppress(InputError):
        everything(path)
