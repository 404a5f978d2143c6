"""Tensors of torch and safetensors, and what else their files may hold."""

import numpy as np
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
