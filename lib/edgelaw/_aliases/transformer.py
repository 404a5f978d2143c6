"""The public name of ``edgelaw.training.transformer``: a small language model and its head."""

from edgelaw.training.transformer import (
    LOSSES,
    HeadProblem,
    Transformer,
    contexts,
    encode,
    features,
    head_problem,
    pack,
    shipped_model,
    shipped_runs,
    shipped_text,
    train,
    unpack,
)

__all__ = [
    "LOSSES",
    "HeadProblem",
    "Transformer",
    "contexts",
    "encode",
    "features",
    "head_problem",
    "pack",
    "shipped_model",
    "shipped_runs",
    "shipped_text",
    "train",
    "unpack",
]
