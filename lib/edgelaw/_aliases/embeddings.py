"""An earlier name of what is now in ``edgelaw.data``, ``edgelaw.shipped`` and ``edgelaw.inputs``."""

from edgelaw.data import (
    Embeddings,
    Preprocessed,
    cifar10,
    load,
    load_embeddings,
    preprocess,
    shipped,
    wikipedia,
)
from edgelaw.shipped import Shipped, main

__all__ = [
    "Embeddings",
    "Preprocessed",
    "Shipped",
    "cifar10",
    "load",
    "load_embeddings",
    "main",
    "preprocess",
    "shipped",
    "wikipedia",
]
