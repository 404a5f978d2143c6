"""Real embeddings: what ships, what a reader brings, and the paper's preprocessing of either.

Two arrays ship with the package: CIFAR-10 images through a ResNet-50 (:func:`cifar10`) and Wikipedia
extracts through a sentence encoder (:func:`wikipedia`). Each has a card with its source, licence, checksums
and what differs from the paper; :func:`shipped` lists them. :func:`load_embeddings` reads a reader's own
file, the paper's two files among them. :func:`preprocess` turns any of these into the square matrix of
Section 6.

No file is ever unpickled: numpy files are read with ``allow_pickle=False``, torch files as weights only.
"""

import hashlib
import io
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from edgelaw import _preprocess, inputs
from edgelaw._checks import unread_matrix
from edgelaw._shipped import folder as _folder

_FILES = {"cifar10": "cifar10_resnet50", "wikipedia": "wikipedia_mpnet"}


class Preprocessed(NamedTuple):
    """What :func:`preprocess` made, and how.

    Attributes
    ----------
    X : ndarray of shape (m, d), float64
        The matrix.
    rows : ndarray of m integers
        Which rows of the input these are, in this order.
    null : int
        How many eigenvalues of ``X.T @ X / m`` are zero by construction, whatever the data: d - m + 1 after
        centring when m <= d (so exactly 1 when m = d), d - m without centring when m < d, else 0.
    steps : tuple of str
        What was done, one sentence a step, in order.
    """

    X: np.ndarray
    rows: np.ndarray
    null: int
    steps: tuple


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


# Shipped arrays -------------------------------------------------------------------------------------------


def _card(path):
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
    >>> from edgelaw import embeddings
    >>> [(entry.name, entry.card["columns"]) for entry in embeddings.shipped()]
    [('cifar10', 2048), ('wikipedia', 768)]
    """
    folder = _folder()
    entries = []
    for name, stem in _FILES.items():
        card_path = folder / f"{stem}.md"
        entries.append(Shipped(name, folder / f"{stem}.npz", card_path, _card(card_path)))
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
    >>> from edgelaw import embeddings
    >>> wikipedia = embeddings.load("wikipedia")
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
    >>> from edgelaw import embeddings
    >>> embeddings.cifar10().classes[:3]
    ('airplane', 'automobile', 'bird')
    """
    return load("cifar10")


def wikipedia():
    """Extracts of English Wikipedia through a sentence encoder: 768 numbers a row, with titles and topics.

    Text by Wikipedia contributors, CC BY-SA 4.0. The card, ``wikipedia().card``, tells what differs from
    the paper's embeddings (another encoder, half the dimension, another selection of articles).

    Examples
    --------
    >>> from edgelaw import embeddings
    >>> 'Mathematics' in embeddings.wikipedia().classes
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


# A reader's own file --------------------------------------------------------------------------------------


def load_embeddings(path, key=None):
    """Read a matrix of embeddings, one a row, whole into memory; :mod:`edgelaw.inputs` reads it in blocks.

    Reads the paper's own files as they are: ``cifar10_resnet50_embeddings.npz`` (key ``x_train``) and
    ``wiki_embeddings.npz`` (key ``embeddings``). Nothing is ever unpickled; a file that would need it is
    refused.

    Parameters
    ----------
    path : path to a file
        Of any format that :func:`edgelaw.inputs.open_matrix` reads.
    key : str, optional
        Which array of a file holding several. By default the only one there is, else the one called
        ``x_train``, ``embeddings`` or ``features``, else the only matrix.

    Returns
    -------
    ndarray of shape (rows, columns)
        float32 or float64 as stored; float16 becomes float32, integers become float64.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> from edgelaw import embeddings
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "wiki_embeddings.npz"
    ...     np.savez(path, embeddings=np.eye(4, 3))
    ...     embeddings.load_embeddings(path).shape
    (4, 3)
    """
    source = inputs.open_matrix(path, key)
    X = np.empty(source.shape, source.dtype)
    first = 0
    for block in source.blocks():
        X[first : first + len(block)] = block
        first += len(block)
    return X


# The paper's preprocessing --------------------------------------------------------------------------------


def preprocess(X, rows, dims, rng, center=True, normalize=True):
    r"""Subsample, project, centre and normalise embeddings, in the order of the paper's Section 6.

    1. Choose `rows` of the rows at random, without replacement.
    2. Multiply by a Gaussian matrix with entries of variance 1/`dims`, to `dims` columns.
    3. Subtract the mean of the rows (`center`).
    4. Scale every row to norm :math:`\sqrt d` (`normalize`), so that :math:`H = X^\top X/m` has trace d and
       mean eigenvalue 1.

    **The null direction.** Centring makes the rows sum to zero, :math:`\mathbf 1^\top X = 0`. Scaling the
    rows afterwards, :math:`X \mapsto DX`, destroys the zero mean but not the dependence:
    :math:`(D^{-1}\mathbf 1)^\top D X = 0`. So the rank is at most m - 1, and with m = d exactly one
    eigenvalue of H is zero, by construction and not because of the data. It is left in, as in the paper:
    the matrix is the paper's, and SGD never moves along that direction, so that ‖w‖² levels off at `null`/d
    of its start. It is counted in the result's `null`. An eigensolver returns it near :math:`\pm10^{-16}`, of
    either sign; :func:`edgelaw.spectrum.gram_eigenvalues` returns exactly 0.0, and
    :func:`edgelaw.spectrum.fit_edge` never takes its logarithm (by default it is one of the skipped, as in the
    paper). To have none, pass ``center=False`` or ``rows > dims``.

    Parameters
    ----------
    X : array of shape (available rows, available columns)
        Embeddings, one a row; any real dtype. Computations are in float64.
    rows : int or None
        m, at least 2 and at most what is available; None keeps all rows in their order.
    dims : int or None
        d, at least 2 and at most the available columns (more would give columns that depend on each other:
        refused); None keeps the columns, without a projection. With `dims` equal to the number of columns a
        square Gaussian matrix is still applied, because it changes the spectrum.
    rng : numpy.random.Generator or int
        Chooses the rows, then draws the projection.
    center, normalize : bool
        Whether to do steps 3 and 4.

    Returns
    -------
    Preprocessed
        ``X``, ``rows``, ``null`` and ``steps``: the matrix, which rows it was made of, how many eigenvalues
        are zero by construction, and what was done.

    Examples
    --------
    >>> import numpy as np
    >>> from edgelaw.embeddings import preprocess
    >>> made = preprocess(np.random.default_rng(0).normal(size=(100, 40)), rows=16, dims=16, rng=1)
    >>> made.X.shape, made.null
    ((16, 16), 1)
    >>> print(*made.steps, sep="\n")
    Chose 16 of 100 rows at random without replacement (seed 1).
    Projected 40 columns to 16 with a Gaussian matrix of entry variance 1/16 (seed 1, after the rows).
    Subtracted the mean row, which leaves 1 null direction(s).
    Scaled every row to norm sqrt(16).
    >>> np.allclose(np.linalg.norm(made.X, axis=1), 4)
    True
    """
    X = _embeddings(X)
    plan = _preprocess.plan(*X.shape, rows, dims, rng, center, normalize)
    chosen = np.arange(len(X)) if plan.chosen is None else plan.chosen
    projection = plan.projection(X.shape[1])
    X = X[chosen].astype(np.float64)
    if projection is not None:
        X = X @ projection
    mean = X.mean(axis=0) if center else None
    if center:
        X -= mean
    if normalize:
        norms = np.linalg.norm(X, axis=1)
        _preprocess.Norms(mean).add(norms, chosen)
        _preprocess.scale_rows(X, norms)
    return Preprocessed(X, chosen, plan.null, plan.steps)


def _embeddings(X):
    """A real, finite matrix in its own dtype: a large float16 array is not copied before it is subsampled."""
    X = unread_matrix(X)
    if not all(np.isfinite(X[i : i + 4096]).all() for i in range(0, len(X), 4096)):
        raise ValueError("X must be finite, but it contains NaN or infinity.")
    if X.dtype.kind == "f" and X.dtype.itemsize > 4 and max(X.max(), -X.min()) > inputs.LARGEST:
        raise ValueError(
            f"X must have entries below {inputs.LARGEST:g} in size, so that their squares are finite."
        )
    return X
