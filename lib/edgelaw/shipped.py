"""Data sets that ship with the package: embeddings and recorded sweeps, each compared with its card's checksum.

Two arrays of embeddings ship: CIFAR-10 images through a ResNet-50 (:func:`cifar10`) and Wikipedia extracts through a
sentence encoder (:func:`wikipedia`). Each has a card with its source, licence, checksums and what differs from the
paper; :func:`shipped` lists them. :func:`sweep` gives the results of computations too long to repeat in a chapter.
"""

import hashlib
import io
import tomllib
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import numpy as np

from edgelaw._common import arguments

_FILES = {"cifar10": "cifar10_resnet50", "wikipedia": "wikipedia_mpnet"}
SWEEPS = (
    "any_spectrum",
    "embedding_traces",
    "explorer",
    "order_map",
    "pilots",
    "predict_accuracy",
    "real_embeddings",
    "torch_probe",
    "universal_gap",
    "what_breaks",
)  # each with card and script


@dataclass(frozen=True, eq=False)
class Embeddings:
    """A shipped array with what belongs to it.

    Attributes
    ----------
    name : str
        "cifar10" or "wikipedia".
    features : ndarray of shape (rows, columns), float32
        One embedding a row; stored as float16.
    labels : ndarray of integers
        Each row's class (CIFAR-10) or topic (Wikipedia), as an index into `classes`.
    classes : tuple of str
        The names of classes or topics.
    titles : tuple of str, or None
        The articles' titles; None for images.
    card : dict
        The machine-readable part of the data card.
    """

    name: str
    features: np.ndarray = field(repr=False)
    labels: np.ndarray = field(repr=False)
    classes: tuple
    titles: tuple | None = field(repr=False)
    card: dict = field(repr=False)


class Shipped(NamedTuple):
    """One array that ships: its name for :func:`load`, its file, its card, and the card's facts."""

    name: str
    path: Path
    card_path: Path
    card: dict


def folder():
    """Where the data is: in a checkout the repository's ``data``, in an installed package its ``_data``."""
    checkout = Path(__file__).resolve().parents[2]
    if (checkout / "pyproject.toml").is_file() and (checkout / "data").is_dir():
        return checkout / "data"
    return Path(str(resources.files("edgelaw") / "_data"))


def card(path):
    """The facts in a card's front part, which is TOML between two lines of ``+++``."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8").split("+++\n", 2)[1])
    except FileNotFoundError:
        raise FileNotFoundError(f"The data card {path} is missing; reinstall edgelaw.") from None


def shipped():
    """What ships with the package.

    Returns
    -------
    tuple of Shipped
        Name, file, card file and the card's facts of every array.

    Examples
    --------
    >>> from edgelaw import shipped
    >>> [(entry.name, entry.card["columns"]) for entry in shipped.shipped()]
    [('cifar10', 2048), ('wikipedia', 768)]
    """
    place = folder()
    entries = []
    for name, stem in _FILES.items():
        card_path = place / f"{stem}.md"
        entries.append(Shipped(name, place / f"{stem}.npz", card_path, card(card_path)))
    return tuple(entries)


def load(name):
    """Load a shipped array, after comparing its checksum with its card's.

    Parameters
    ----------
    name : {"cifar10", "wikipedia"}

    Returns
    -------
    Embeddings

    Examples
    --------
    >>> from edgelaw import shipped
    >>> wikipedia = shipped.load("wikipedia")
    >>> wikipedia.features.shape == (wikipedia.card["rows"], 768)
    True
    """
    if name not in _FILES:
        raise ValueError(f"name must be one of {', '.join(map(repr, _FILES))}, not {name!r}.")
    entry = next(entry for entry in shipped() if entry.name == name)
    try:
        content = entry.path.read_bytes()
    except FileNotFoundError:
        raise FileNotFoundError(f"The shipped file {entry.path} is missing; reinstall edgelaw.") from None
    if hashlib.sha256(content).hexdigest() != entry.card["sha256"]:
        raise ValueError(f"{entry.path} does not have the SHA-256 of its card: it is damaged or was changed.")
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        titles = tuple(arrays["titles"].tolist()) if "titles" in arrays else None
        return Embeddings(
            name=name,
            features=arrays["features"].astype(np.float32),
            labels=arrays["labels"],
            classes=tuple(arrays["classes"].tolist()),
            titles=titles,
            card=entry.card,
        )


def cifar10():
    """CIFAR-10 images through an ImageNet ResNet-50: 2048 average-pooled features a row, with class labels.

    The card, ``cifar10().card``, tells what differs from the paper's features (Keras's weights, a sample).

    Examples
    --------
    >>> from edgelaw import shipped
    >>> shipped.cifar10().classes[:3]
    ('airplane', 'automobile', 'bird')
    """
    return load("cifar10")


def wikipedia():
    """Extracts of English Wikipedia through a sentence encoder: 768 numbers a row, with titles and topics.

    Text by Wikipedia contributors, CC BY-SA 4.0. The card, ``wikipedia().card``, tells what differs from
    the paper's embeddings (another encoder, half the dimension, another selection of articles).

    Examples
    --------
    >>> from edgelaw import shipped
    >>> 'Mathematics' in shipped.wikipedia().classes
    True
    """
    return load("wikipedia")


def main():
    """Print what ships, with sizes and cards."""
    entries = shipped()
    total = sum(entry.path.stat().st_size for entry in entries)
    print(f"{len(entries)} arrays ship with edgelaw, {total / 1e6:.1f} MB together.")
    for entry in entries:
        card = entry.card
        size = f"{entry.path.stat().st_size / 1e6:.1f} MB"
        print(f"\n{entry.name}: {card['title']}")
        print(f"  file         {entry.path.name}, {card['rows']} x {card['columns']} {card['dtype']}, {size}")
        print(f"  load it      edgelaw.data.load({entry.name!r})")
        print(f"  source       {card['source']}")
        print(f"  licence      {card['licence']}")
        print(f"  attribution  {card['attribution']}")
        for i, difference in enumerate(card["differs_from_paper"]):
            print(f"  {'' if i else 'differs':<12} {difference}")
        print(f"  sha256       {card['sha256']}")
        print(f"  card         {entry.card_path}")


def sweep(name):
    """Results of a heavy sweep that ships with the package, as a dictionary of arrays, checked against its card.

    Parameters
    ----------
    name : str
        One of `SWEEPS`: "any_spectrum", "embedding_traces", "explorer" and so on.
        Made by ``data/build/<name>.py``; the card ``data/<name>.md`` says with which seed, and what the arrays mean.

    Examples
    --------
    >>> sweep("universal_gap")["steps"].tolist()
    [0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75]
    """
    path = folder() / f"{arguments.choice(name, 'name', SWEEPS)}.npz"
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != card(path.with_suffix(".md"))["sha256"]:
        raise ValueError(f"{path} does not have the SHA-256 of its card: it is damaged or was changed.")
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return dict(arrays)
