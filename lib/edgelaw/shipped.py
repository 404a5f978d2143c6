"""Data sets that ship with the package: embeddings and recorded sweeps, each compared with its card's checksum.

Each has a card beside it with its source, licence, checksums and what differs from the paper.
"""

from __future__ import annotations

import hashlib
import io
import tomllib
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from edgelaw._common import arguments

FILES = {"cifar10": "cifar10_resnet50", "wikipedia": "wikipedia_mpnet"}  # arrays (.npz) and cards (.md)
SWEEPS = (
    "any_spectrum",
    "aspect_accuracy",
    "diagnostic_rates",
    "embedding_traces",
    "explorer",
    "finite_size",
    "loader_orders",
    "noise_map",
    "order_map",
    "pilots",
    "predict_accuracy",
    "real_embeddings",
    "sorted_files",
    "torch_probe",
    "universal_gap",
    "what_breaks",
)  # each with card and script


@dataclass(frozen=True, eq=False)
class Embeddings:
    """A shipped array of embeddings, one per row, with what belongs to it.

    `labels` are each row's class (CIFAR-10) or topic (Wikipedia) as an index into `classes`, `titles` the articles'
    (None for images), `card` the machine-readable part of the data card.
    """

    name: str
    features: np.ndarray = field(repr=False)
    labels: np.ndarray = field(repr=False)
    classes: tuple[str, ...]
    titles: tuple[str, ...] | None = field(repr=False)
    card: dict[str, Any] = field(repr=False)


def folder() -> Path:
    """Where the data is: in a checkout the repository's ``data``, in an installed package its ``_data``."""
    checkout = Path(__file__).resolve().parents[2]
    if (checkout / "pyproject.toml").is_file() and (checkout / "data").is_dir():
        return checkout / "data"
    return Path(str(resources.files("edgelaw") / "_data"))


def card(path: Path) -> dict[str, Any]:
    """The facts in a card's front part, which is TOML between two lines of ``+++``."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8").split("+++\n", 2)[1])
    except FileNotFoundError:
        raise FileNotFoundError(f"The data card {path} is missing; reinstall edgelaw.") from None


def read(name: str) -> bytes:
    """The content of a shipped file, after comparing its checksum with that of its card (same name, ending ".md").

    >>> read("moby_dick.txt")[:10]
    b'CHAPTER 1.'
    """
    path = folder() / name
    facts = card(path.with_suffix(".md"))
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise FileNotFoundError(f"The shipped file {path} is missing; reinstall edgelaw.") from None
    if hashlib.sha256(content).hexdigest() != facts["sha256"]:
        raise ValueError(f"{path} does not have the SHA-256 of its card: it is damaged or was changed.")
    return content


def load(name: str) -> Embeddings:
    """Load a shipped array, "cifar10" or "wikipedia", after comparing its checksum with its card's."""
    stem = FILES[arguments.choice(name, "name", FILES)]
    arrays = _arrays(stem)
    return Embeddings(
        name=name,
        features=arrays["features"].astype(np.float32),
        labels=arrays["labels"],
        classes=tuple(arrays["classes"].tolist()),
        titles=tuple(arrays["titles"].tolist()) if "titles" in arrays else None,
        card=card(folder() / f"{stem}.md"),
    )


def _arrays(stem: str) -> dict[str, np.ndarray]:
    """The arrays of a shipped file."""
    with np.load(io.BytesIO(read(f"{stem}.npz")), allow_pickle=False) as arrays:
        return dict(arrays)


def cifar10() -> Embeddings:
    """CIFAR-10 images through an ImageNet ResNet-50: 2048 average-pooled features per row, with class labels.

    The card, ``cifar10().card``, tells what differs from the paper's features (Keras's weights, a sample).

    >>> cifar10().classes[:3]
    ('airplane', 'automobile', 'bird')
    """
    return load("cifar10")


def wikipedia() -> Embeddings:
    """Extracts of English Wikipedia through a sentence encoder: 768 numbers per row, with titles and topics.

    Text by Wikipedia contributors, CC BY-SA 4.0. The card, ``wikipedia().card``, tells what differs from the paper's
    embeddings (another encoder, half the dimension, another selection of articles).
    """
    return load("wikipedia")


def sweep(name: str) -> dict[str, np.ndarray]:
    """Results of a heavy sweep that ships with the package, as a dictionary of arrays, checked against its card.

    One of `SWEEPS`, made by ``data/build/<name>.py``; the card ``data/<name>.md`` says what the arrays mean.

    >>> sweep("universal_gap")["steps"].tolist()
    [0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75]
    """
    return _arrays(arguments.choice(name, "name", SWEEPS))
