"""Whatever bytes and whatever options: a status, at most one sentence, and JSON or nothing; never a traceback."""

import dataclasses
import gzip
import importlib.util
import io
import json
import os

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.sparse
from running import refused, run

import edgelaw
import edgelaw_app
from edgelaw import data
from edgelaw.orders import ORDERS

ENDINGS = (
    ".npy",
    ".npz",
    ".csv",
    ".tsv",
    ".csv.gz",
    ".tsv.gz",
    ".parquet",
    ".feather",
    ".arrow",
    ".safetensors",
    ".pt",
    ".pth",
)
MATRIX = np.random.default_rng(5).normal(size=(26, 22))


def orderly(*words):
    """Run it, and see that it ended as it may."""
    status, out, err = run(*words)
    assert status in (0, 1, 2), (status, err)
    assert "Traceback" not in out + err
    assert "should not have happened" not in err, err
    if status == 0:
        assert err == ""
        assert json.loads(out, parse_constant=pytest.fail)["schema"].startswith("edgelaw.")
    else:
        assert out == ""
        assert len(err.splitlines()) == 1
        assert err.startswith("edgelaw: ")
        assert len(err) < 2000
    return status


def numpy_file():
    buffer = io.BytesIO()
    np.save(buffer, MATRIX)
    return buffer.getvalue()


def fortran_file():
    buffer = io.BytesIO()
    np.save(buffer, np.asfortranarray(MATRIX.astype(np.float32)))
    return buffer.getvalue()


def zip_file(save=np.savez):
    buffer = io.BytesIO()
    save(buffer, x_train=MATRIX, y=np.arange(26))
    return buffer.getvalue()


def table(delimiter=","):
    buffer = io.StringIO()
    np.savetxt(buffer, MATRIX, fmt="%.4g", delimiter=delimiter, header="a" + delimiter * 21)
    return buffer.getvalue().lstrip("# ").encode()


def torch_file():
    import torch

    buffer = io.BytesIO()
    torch.save({"x": torch.from_numpy(MATRIX)}, buffer)
    return buffer.getvalue()


def parquet_file():
    import pyarrow
    import pyarrow.parquet

    buffer = io.BytesIO()
    columns = {f"c{index}": MATRIX[:, index] for index in range(22)}
    pyarrow.parquet.write_table(pyarrow.table(columns), buffer)
    return buffer.getvalue()


def arrow_file(stream):
    import pyarrow

    buffer = io.BytesIO()
    columns = {f"c{index}": MATRIX[:, index] for index in range(22)} | {"label": ["a"] * 26}
    table = (
        pyarrow.table(columns).drop_columns("label")
        if stream
        else pyarrow.table({"e": list(MATRIX)} | columns)
    )
    with (pyarrow.ipc.new_stream if stream else pyarrow.ipc.new_file)(buffer, table.schema) as file:
        file.write_table(table, max_chunksize=10)
    return buffer.getvalue()


def sparse_file():
    buffer = io.BytesIO()
    scipy.sparse.save_npz(buffer, scipy.sparse.csr_array(MATRIX * (MATRIX > 0)))
    return buffer.getvalue()


def indexed_table():
    """As a data frame is written by pandas: an index without a name."""
    lines = table().decode().splitlines()[1:]
    rows = [",".join(["", *(f"c{k}" for k in range(22))]), *(f"{k},{line}" for k, line in enumerate(lines))]
    return "\n".join(rows).encode()


def safetensors_file():
    import safetensors.numpy

    return safetensors.numpy.save({"x": MATRIX})


MAKERS = {
    ".npy": (numpy_file, None),
    ".fortran.npy": (fortran_file, None),
    ".npz": (zip_file, None),
    ".packed.npz": (lambda: zip_file(np.savez_compressed), None),
    ".csv": (table, None),
    ".tsv": (lambda: table("\t"), None),
    ".csv.gz": (lambda: gzip.compress(table()), None),
    ".indexed.csv": (indexed_table, None),
    ".sparse.npz": (sparse_file, None),
    ".feather": (lambda: arrow_file(False), "pyarrow"),
    ".arrow": (lambda: arrow_file(True), "pyarrow"),
    ".pt": (torch_file, "torch"),
    ".parquet": (parquet_file, "pyarrow"),
    ".safetensors": (safetensors_file, "safetensors"),
}


def valid(ending):
    make, package = MAKERS[ending]
    if package and not importlib.util.find_spec(package):
        pytest.skip(f"{package} is not installed")
    return make()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


@pytest.mark.parametrize("ending", MAKERS)
def test_the_files_that_will_be_damaged_are_good(folder, ending):
    path = folder / f"good{ending}"
    path.write_bytes(valid(ending))
    assert orderly("spectrum", path, "--json") == 0


HEADS = (
    b"",
    b"\x93NUMPY\x01\x00",
    b"\x93NUMPY\x02\x00",
    b"PK\x03\x04",
    b"\x1f\x8b\x08",
    b"\x80\x04",
    b"PAR1",
    b"ARROW1\0\0",
    b"\xff\xff\xff\xff",
    b"FEA1",
    b"1,2\n",
)


@pytest.mark.parametrize("ending", ENDINGS)
@hypothesis.given(st.sampled_from(HEADS), st.binary(max_size=200))
@hypothesis.settings(max_examples=10)
def test_random_bytes_end_in_a_sentence_even_after_a_good_beginning(folder, ending, head, content):
    path = folder / f"random{ending}"
    path.write_bytes(head + content)
    assert orderly("spectrum", path, "--json") == 2


@st.composite
def damages(draw):
    """A function that damages bytes in a few places: changed, cut, removed, doubled."""
    kinds = st.sampled_from(["change", "cut", "remove", "double", "insert"])
    steps = draw(
        st.lists(st.tuples(kinds, st.floats(0, 1), st.binary(min_size=1, max_size=6)), min_size=1, max_size=4)
    )

    def damaged(content):
        for kind, place, some in steps:
            # half of the damage near the beginning, where the headers are
            at = (
                int(place * 2 * min(200, len(content)))
                if place < 0.5
                else int((place - 0.5) * 2 * len(content))
            )
            at = min(at, max(len(content) - 1, 0))
            if kind == "change":
                content = content[:at] + some + content[at + len(some) :]
            elif kind == "cut":
                content = content[:at]
            elif kind == "remove":
                content = content[:at] + content[at + len(some) :]
            elif kind == "double":
                content = content[:at] + content[at : at + 50] + content[at:]
            else:
                content = content[:at] + some + content[at:]
        return content

    return damaged


@pytest.mark.parametrize("ending", MAKERS)
@hypothesis.given(damages())
@hypothesis.settings(max_examples=25)
def test_damaged_files_end_in_a_sentence_or_in_numbers(folder, ending, damage):
    path = folder / f"damaged{ending}"
    path.write_bytes(damage(valid(ending)))
    orderly("spectrum", path, "--json")


@hypothesis.given(st.text(st.sampled_from("0123456789.,-+eE \t\n\r\"'nainf#;xé\0"), max_size=200))
@hypothesis.settings(max_examples=60)
def test_tables_of_any_kind_end_in_a_sentence(folder, content):
    path = folder / "text.csv"
    path.write_text(content, newline="")
    assert orderly("spectrum", path, "--json") == 2


@hypothesis.given(
    st.lists(
        st.lists(
            st.sampled_from(["1", "2.5", "-3e2", "", "nan", "1e999", "x", "1_0", " 4 "]),
            min_size=20,
            max_size=22,
        )
    ),
)
@hypothesis.settings(max_examples=30)
def test_tables_of_nearly_numbers_end_in_a_sentence_or_in_numbers(folder, rows):
    path = folder / "nearly.csv"
    path.write_text("\n".join(",".join(row) for row in rows))
    orderly("spectrum", path, "--json")


VALUES = st.one_of(
    st.sampled_from(
        [
            "0",
            "1",
            "2",
            "-1",
            "0.5",
            "1.999",
            "nan",
            "inf",
            "best",
            "22",
            "26",
            "",
            "1e400",
            "0x10",
            "٣",
            "0-19",
            "2-",
            "*",
            "-1",
            ",",
        ]
    ),
    st.integers(-5, 60).map(str),
    st.floats().map(str),
    st.text(max_size=8),
)
FLAGS = (
    "center",
    "no-center",
    "normalize",
    "no-normalize",
    "standardize",
    "classes",
    "no-classes",
    "nonsense",
)
TAKING = (
    "epochs",
    "target",
    "rows",
    "dims",
    "seed",
    "operations",
    "order",
    "key",
    "columns",
    "drop",
    "dask",
    "report",
    "plot",
    "batch",
    "labels",
    "held-out",
    "lr",
    "schedule",
    "weight-decay",
)
NAMES = st.sampled_from([f"--{name}" for name in FLAGS + TAKING])
OPTIONS = st.lists(st.tuples(NAMES, st.none() | VALUES), max_size=4)


def words_of(options):
    """The words of some options; a file may be written in the test's own folder only."""
    words = []
    for name, value in options:
        if name == "--dask":
            name, value = "--dask=nowhere", None  # alone it would start a cluster
        if name in ("--report", "--plot"):
            value = None if value is None else os.path.join("out", value.replace("/", "").replace("\0", ""))
        words += [name] if value is None else [name, value]
    return words


@pytest.fixture(scope="module")
def good(folder):
    path = folder / "whole.npy"
    np.save(path, MATRIX)
    return path


@hypothesis.given(OPTIONS)
@hypothesis.settings(max_examples=50)
def test_spectrum_takes_any_options(good, options):
    orderly("spectrum", good, "--json", *words_of(options))


@pytest.fixture(scope="module")
def prediction():
    X = data.gaussian(24, 24, rng=0)
    return edgelaw.predict(X, epochs=3, orders=["iid"])


def passed(rng, progress, orders=ORDERS, lr=1.0, operations=1.0, epochs=1, batch=1):
    """What both forecasts may be given."""
    assert 1 <= epochs <= 100_000
    assert batch >= 1
    assert lr > 0
    assert set(orders) <= set(ORDERS)
    assert rng >= 0
    assert operations > 0


@hypothesis.given(options=OPTIONS)
@hypothesis.settings(max_examples=100)
def test_predict_takes_any_options_and_passes_on_good_ones_only(good, prediction, options):
    def validated(design, target=0.5, **options):
        assert min(design.shape) >= 2
        passed(**options)
        assert 0 < target < 1
        return prediction

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edgelaw_app.forecast, "predict", validated)
        orderly("predict", good, "--json", *words_of(options))


@pytest.fixture(scope="module")
def probed():
    X = data.gaussian(60, 24, rng=0)
    return edgelaw.probe(X, X[:, 0], epochs=2, orders=["iid"])


@hypothesis.given(options=OPTIONS)
@hypothesis.settings(max_examples=100)
def test_probe_takes_any_options_and_passes_on_good_ones_only(good, probed, options):
    def validated(X, y, *, schedule="constant", weight_decay=0.0, **options):
        assert len(X) == len(y)
        rows = {one.name for one in dataclasses.fields(edgelaw_app.forecast.Preparation)}
        passed(**{name: value for name, value in options.items() if name not in rows})
        assert schedule in ("constant", "cosine", "linear")
        assert weight_decay >= 0
        return probed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edgelaw_app.forecast, "probe", validated)
        np.save(good.parent / "labels.npy", MATRIX[:, 0])
        orderly("probe", good, "--json", "--labels", good.parent / "labels.npy", *words_of(options))


# Every kind of matrix once, with shapes, learning rates and centring spread over them.
ODD = [
    ("integers", (24, 20), None, True),
    ("sparse", (24, 24), "0.02", True),
    ("low rank", (26, 22), "0.007", False),
    ("huge", (2, 20), "0.047", False),
    ("tiny", (20, 26), "0.02", True),
    ("vanishing", (24, 20), "0.02", True),
    ("vanishing", (24, 24), "0.02", False),
    ("repeated", (22, 20), "0.02", True),
]


@pytest.mark.parametrize(("kind", "shape", "lr", "center"), ODD)
def test_predict_ends_well_on_odd_matrices(folder, kind, shape, lr, center):
    rng = np.random.default_rng(3)
    X = rng.normal(size=shape)
    X = {
        "integers": np.round(3 * X).astype(np.int16),
        "sparse": X * (rng.random(shape) < 0.1),
        "low rank": X[:, :2] @ rng.normal(size=(2, shape[1])),
        "huge": X * 1e90,
        "tiny": X * 1e-90,
        "vanishing": X * 1e-200,
        "repeated": X[rng.integers(0, 2, shape[0])],
    }[kind]
    np.save(folder / "odd.npy", X)
    words = ["--epochs", "3", "--operations", "1e8", "--center" if center else "--no-center"]
    words += ["--lr", lr] if lr else []
    words += ["--order", "iid"] + ["--order", "single_shuffle"] * (lr == "0.02")
    assert orderly("predict", folder / "odd.npy", "--json", *words) in (0, 2)


@pytest.mark.parametrize("size", [1e-120, 1e-200, 1e-300])
@pytest.mark.parametrize("center", ["--center", "--no-center"])
def test_small_numbers_have_the_spectrum_of_large_ones(folder, size, center):
    np.save(folder / "large.npy", MATRIX)
    np.save(folder / "small.npy", MATRIX * size)
    large, small = (run("spectrum", folder / name, "--json", center) for name in ("large.npy", "small.npy"))
    assert (large[0], small[0]) == (0, 0)
    values = [np.array(json.loads(out)["eigenvalues"]) for _, out, _ in (large, small)]
    assert np.allclose(values[1], values[0], rtol=1e-9, atol=1e-12)
    if size < 1e-140:
        line = refused("spectrum", folder / "small.npy", center, "--no-normalize")
        assert "so small that their squares vanish" in line


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_pipe_is_refused_and_nobody_waits(folder, ending):
    path = folder / f"pipe{ending}"
    os.mkfifo(path)
    assert "is not a regular file" in refused("predict", path)
    path.unlink()
