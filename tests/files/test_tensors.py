"""Tensors of torch, safetensors and zarr, and what else their files may hold."""

import json
import pickle

import numpy as np
import safetensors.torch
import torch
import zarr
from input_files import Trap, X, everything, refusal

from edgelaw_app.files import open_matrix, tensors


def test_bfloat16_is_read_as_float32(tmp_path):
    tensor = torch.from_numpy(X).to(torch.bfloat16)
    torch.save(tensor, tmp_path / "x.pt")
    safetensors.torch.save_file({"x": tensor}, tmp_path / "x.safetensors")
    for name in ("x.pt", "x.safetensors"):
        assert open_matrix(tmp_path / name).dtype == np.float32
        np.testing.assert_array_equal(everything(tmp_path / name), tensor.float().numpy())


def test_a_torch_file_holds_a_tensor_or_several_by_name(tmp_path):
    tensor = torch.arange(12.0).reshape(4, 3)
    torch.save({"embeddings": tensor.to(torch.bfloat16), "step": 3, "bias": tensor[0]}, tmp_path / "x.pth")
    np.testing.assert_array_equal(everything(tmp_path / "x.pth"), tensor.numpy())
    torch.save([1, 2, 3], tmp_path / "list.pt")
    assert "a tensor or a dictionary of tensors, not a list" in refusal(open_matrix, tmp_path / "list.pt")
    torch.save(tensor.to_sparse(), tmp_path / "sparse.pt")
    assert "a dense tensor of plain numbers" in refusal(open_matrix, tmp_path / "sparse.pt")


def test_a_safetensors_file_of_another_type_is_refused(tmp_path):
    safetensors.torch.save_file({"x": torch.eye(3, dtype=torch.bool)}, tmp_path / "bool.safetensors")
    assert "not dtype bool" in refusal(open_matrix, tmp_path / "bool.safetensors")
    eighths = torch.eye(4).to(torch.float8_e5m2)
    safetensors.torch.save_file({"x": eighths}, tmp_path / "x.safetensors")
    assert "not tensors of type F8_E5M2" in refusal(open_matrix, tmp_path / "x.safetensors")
    torch.save(eighths, tmp_path / "x.pt")
    assert "not torch.float8_e5m2" in refusal(open_matrix, tmp_path / "x.pt")


def test_a_store_of_a_few_bytes_that_means_terabytes_is_refused_or_read_in_pieces(tmp_path, monkeypatch):
    zarr.create_array(str(tmp_path / "x.zarr"), shape=(10**9, 30), chunks=(10**9, 30), dtype="f8")
    assert "in chunks of 240,000,000,000 bytes" in refusal(open_matrix, tmp_path / "x.zarr")
    monkeypatch.setattr(tensors, "_CHUNK", 30 * 8 * 50)
    zarr.create_array(str(tmp_path / "y.zarr"), data=np.arange(30.0 * 200).reshape(200, 30), chunks=(100, 10))
    blocks = list(tensors.Zarr(str(tmp_path / "y.zarr"), None).read(20, 190, 4096))
    assert max(map(len, blocks)) <= 50
    np.testing.assert_array_equal(np.concatenate(blocks), np.arange(30.0 * 200).reshape(200, 30)[20:190])


def test_pickled_objects_inside_good_containers_are_never_loaded(tmp_path):
    torch.save({"embeddings": torch.eye(3), "trap": Trap()}, tmp_path / "x.pt")
    assert "never loaded" in refusal(everything, tmp_path / "x.pt")
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
