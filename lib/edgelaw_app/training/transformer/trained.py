"""What ships: the text, the model trained on it, stored in eight bits, and spectra recorded during training."""

import io

import numpy as np
import numpy.typing as npt
import torch

from edgelaw import shipped
from edgelaw._common import arguments
from edgelaw._common.types import ArrayLike
from edgelaw_app.training.transformer.model import Transformer


def shipped_text() -> str:
    """The first ten chapters of Moby-Dick, in lower case: the text that the shipped model was trained on.

    Examples
    --------
    >>> "call me ishmael." in shipped_text()
    True
    """
    return shipped.read("moby_dick.txt").decode("utf-8").lower()


def shipped_model() -> Transformer:
    """The model whose body the chapter freezes; its weights are stored in eight bits, its head is zero.

    Returns
    -------
    Transformer

    Examples
    --------
    >>> model = shipped_model()
    >>> model.width, model.depth, model.length, float(model.head.weight.detach().abs().max())
    (128, 2, 64, 0.0)
    """
    arrays = _arrays("transformer_body.npz")
    names = [name for name in arrays if name + ".scale" in arrays]
    state = {name: torch.as_tensor(unpack(arrays[name], arrays[name + ".scale"])) for name in names}
    characters, width = state["character.weight"].shape
    depth = sum(name.endswith("mix.weight") for name in names)
    model = Transformer(
        characters, width, depth, len(state["place.weight"]), heads=int(arrays["heads"]), rng=0
    )
    model.load_state_dict({**state, "head.weight": torch.zeros(characters, width)})
    return model


def shipped_runs() -> dict[str, np.ndarray]:
    """Spectra over training, at several widths, depths and seeds: the arrays that the data card describes.

    Examples
    --------
    >>> shipped_runs()["width_64_depth_2"].shape  # seed, checkpoint, eigenvalue
    (4, 6, 64)
    """
    return _arrays("transformer_runs.npz")


def _arrays(name: str) -> dict[str, np.ndarray]:
    with np.load(io.BytesIO(shipped.read(name)), allow_pickle=False) as arrays:
        return dict(arrays)


def pack(weight: ArrayLike) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """A matrix in eight bits: integers from -127 to 127, and one scale per row.

    Examples
    --------
    >>> whole, scale = pack(np.array([[0.5, -1.0], [0.0, 0.0]]))
    >>> whole.tolist(), unpack(whole, scale).round(2).tolist()
    ([[64, -127], [0, 0]], [[0.5, -1.0], [0.0, 0.0]])
    """
    values = arguments.real_array(weight, "weight", 2)
    scale = (np.abs(values).max(axis=1, keepdims=True) / 127).astype(np.float32)
    whole = np.rint(np.divide(values, scale, out=np.zeros_like(values), where=scale > 0))
    return whole.astype(np.int8), scale


def unpack(whole: npt.NDArray[np.int8], scale: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """The matrix that :func:`pack` stored, rounded to 1/254 of its rows' largest entries."""
    return whole.astype(np.float32) * scale
