"""Tensors of torch and safetensors, and what else their files may hold."""

import json

import numpy as np
import pytest
import safetensors.torch
import torch
from input_files import Trap, X, everything, refusal

from edgelaw_app.files import open_matrix


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
    assert "its arrays are: none" in refusal(open_matrix, tmp_path / "list.pt")
    torch.save(tensor.to_sparse(), tmp_path / "sparse.pt")
    assert "a tensor must be dense, of numbers that numpy has" in refusal(open_matrix, tmp_path / "sparse.pt")


def test_a_safetensors_file_of_another_type_is_refused(tmp_path):
    safetensors.torch.save_file({"x": torch.eye(3, dtype=torch.bool)}, tmp_path / "bool.safetensors")
    assert "not dtype bool" in refusal(open_matrix, tmp_path / "bool.safetensors")
    eighths = torch.eye(4).to(torch.float8_e5m2)
    safetensors.torch.save_file({"x": eighths}, tmp_path / "x.safetensors")
    assert "numpy has no numbers of type F8_E5M2" in refusal(open_matrix, tmp_path / "x.safetensors")
    torch.save(eighths, tmp_path / "x.pt")
    assert "not torch.float8_e5m2 of torch.strided" in refusal(open_matrix, tmp_path / "x.pt")


def test_pickled_objects_inside_good_containers_are_never_loaded(tmp_path):
    torch.save({"embeddings": torch.eye(3), "trap": Trap()}, tmp_path / "x.pt")
    assert "never loaded" in refusal(everything, tmp_path / "x.pt")
    assert not Trap.sprung


def tensor(**changes):
    return {"dtype": "F32", "shape": [4, 3], "data_offsets": [0, 48]} | changes


@pytest.mark.parametrize(
    "header",
    [
        b"[1, 2]",
        b"{",
        b"[" * 10**5,
        {"x": 3},
        {"x": {}},
        {"x": tensor(shape=[4, -3])},
        {"x": tensor(shape=[-4, -3])},
        {"x": tensor(shape=[4.0, 3])},
        {"x": tensor(shape="12")},
        {"x": tensor(shape=[2**40, 2**40], data_offsets=[0, 2**82])},
        {"x": tensor(data_offsets=[-48, 0])},
        {"x": tensor(data_offsets=[8, 56])},
        {"x": tensor(data_offsets=[0, 40])},
        {"x": tensor(data_offsets=[0.0, 48.0])},
        {"x": tensor(dtype=["F32"])},
        {"x": tensor(dtype="F4")},
    ],
)
def test_a_header_of_safetensors_that_lies_is_refused(tmp_path, header):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path = tmp_path / "x.safetensors"
    path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(48))
    refusal(everything, path)
    path.write_bytes((2**60).to_bytes(8, "little") + text + bytes(48))
    assert "it has no header of safetensors" in refusal(everything, path)
