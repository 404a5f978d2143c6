"""A path, a pattern or a folder names files; which array of a file is read; what is missing is said."""

import importlib
import os
import socket
import subprocess
import sys

import numpy as np
import pytest
from input_files import X, everything, load, refusal

from edgelaw import data
from edgelaw_app.files import open_matrix, opening


def test_the_only_matrix_is_found_and_keys_are_listed(tmp_path):
    np.savez(tmp_path / "x.npz", labels=np.arange(3), scale=1.0, anything=np.eye(3), text=np.array(["a"]))
    np.testing.assert_array_equal(everything(tmp_path / "x.npz"), np.eye(3))
    np.savez(tmp_path / "y.npz", a=np.eye(3), b=2 * np.eye(4))
    np.testing.assert_array_equal(everything(tmp_path / "y.npz", "b"), 2 * np.eye(4))
    assert "its arrays are: 'a', 'b'" in refusal(open_matrix, tmp_path / "y.npz")


@pytest.mark.parametrize("name", ["x.npz", "list.parquet", "x.safetensors", "old.pth"])
def test_a_wrong_key_is_refused_with_the_keys(files, name):
    message = refusal(open_matrix, files / name, key="nothing")
    assert "no array 'nothing'" in message
    assert "'e'" in message if "parquet" in name else "'weights'" in message


@pytest.mark.parametrize("name", ["x.npy", "x.csv", "x.pt"])
def test_a_key_for_a_file_without_keys_is_refused(files, name):
    assert "without a key" in refusal(open_matrix, files / name, key="x")


def test_shards_are_one_matrix_in_sorted_order_by_folder_or_pattern(files):
    np.testing.assert_array_equal(everything(files / "shards"), X)
    np.testing.assert_array_equal(everything(str(files / "shards" / "part[1-3].npy")), X[75:])


def test_shards_that_do_not_fit_together_are_refused(tmp_path):
    assert "There is no file in or of" in refusal(open_matrix, tmp_path)
    np.save(tmp_path / "a.npy", np.eye(3))
    np.save(tmp_path / "b.npy", np.eye(4))
    assert "the same columns in the same order" in refusal(open_matrix, tmp_path)
    (tmp_path / "b.npy").rename(tmp_path / "b.csv")
    assert "must name files of one format, not .csv and .npy; give a pattern." in refusal(
        open_matrix, tmp_path
    )
    assert "There is no file in or of" in refusal(open_matrix, tmp_path / "*.npz")


def test_shards_of_different_precision_are_read_in_the_better_one(tmp_path):
    np.save(tmp_path / "a.npy", X)
    np.save(tmp_path / "b.npy", X.astype(np.float64))
    assert open_matrix(tmp_path).dtype == np.float64
    assert everything(tmp_path).dtype == np.float64


def test_what_is_missing_empty_or_of_another_format_is_refused(tmp_path):
    for name in ("x.npy", "none.csv.gz"):
        assert "There is no file" in refusal(open_matrix, tmp_path / name)
        with pytest.raises(FileNotFoundError):
            open_matrix(tmp_path / name)
    assert "must be a file that ends in .npy, .npz" in refusal(open_matrix, tmp_path / "x.pkl")
    assert "There is no file" in refusal(open_matrix, "a\0b.npy")
    refusal(open_matrix, "a\0*.npy")
    for ending in opening.FORMATS:
        (tmp_path / f"empty{ending}").touch()
        assert "is empty." in refusal(open_matrix, tmp_path / f"empty{ending}")
    (tmp_path / "folder.npz").mkdir()
    assert "only a folder of that name" in refusal(open_matrix, tmp_path / "folder.npz")


def test_what_the_system_will_not_open_is_refused(tmp_path, monkeypatch):
    np.save(tmp_path / "x.npy", X)

    def forbidden(path, *mode):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("builtins.open", forbidden)
    assert "protected or of another format: [Errno 13] Permission denied" in refusal(
        open_matrix, tmp_path / "x.npy"
    )
    monkeypatch.setattr(opening.glob, "glob", lambda *_, **__: forbidden("shards"))
    assert "protected or of another format: [Errno 13] Permission denied" in refusal(
        open_matrix, tmp_path / "*.npy"
    )


@pytest.mark.parametrize("ending", opening.FORMATS)
def test_pipes_sockets_and_devices_are_refused_and_nobody_waits(tmp_path, ending):
    pipe, link, place = tmp_path / f"pipe{ending}", tmp_path / f"link{ending}", tmp_path / f"socket{ending}"
    os.mkfifo(pipe)
    link.symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(place))
        for path in (pipe, link, place):
            assert f"{path} is not a regular file" in refusal(open_matrix, path)
    assert "is not a regular file" in refusal(open_matrix, tmp_path)
    assert "is not a regular file" in refusal(open_matrix, tmp_path / "*")
    for path in ("/dev/zero", "/dev/stdin", tmp_path / "no ending"):
        assert "must be a file that ends in .npy" in refusal(open_matrix, path)


@pytest.mark.parametrize(
    ("name", "extra"),
    [("x.pt", "torch"), ("list.parquet", "parquet")],
)
def test_a_missing_package_is_named_with_the_extra_that_brings_it(files, monkeypatch, name, extra):
    def missing(module):
        raise ImportError(module)

    monkeypatch.setattr(importlib, "import_module", missing)
    assert f"pip install 'edgelaw[{extra}]'" in refusal(open_matrix, files / name)


def test_neither_data_nor_inputs_loads_a_parser_before_there_is_a_file():
    heavy = ("scipy", "torch", "pyarrow", "safetensors", "dask", "matplotlib")
    code = (
        "import sys, edgelaw.data, edgelaw.shipped\n"
        f"print([name for name in ('edgelaw_app.files', *{heavy}) if name in sys.modules])\n"
        f"import edgelaw_app.files; print([name for name in {heavy} if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split("\n") == ["[]", "[]", ""]


# the paper's own files


def test_the_papers_cifar_file_is_read_without_a_key(tmp_path):
    path = tmp_path / "cifar10_resnet50_embeddings.npz"
    x_train = np.random.default_rng(0).random((60, 2048), dtype=np.float32)
    np.savez(path, x_train=x_train, y_train=np.arange(60) % 10, x_test=x_train[:5])
    read = load(path)
    assert read.dtype == np.float32
    np.testing.assert_array_equal(read, x_train)


def test_the_papers_wikipedia_file_is_read_without_a_key(tmp_path):
    path = tmp_path / "wiki_embeddings.npz"
    array = np.random.default_rng(0).normal(size=(43, 1536))
    np.savez_compressed(path, embeddings=array, titles=np.array(["a"] * 43))
    np.testing.assert_array_equal(load(path), array)
    assert data.preprocess(load(path), 32, 32, rng=0).X.shape == (32, 32)
