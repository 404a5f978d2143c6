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
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from edgelaw._checks import generator, unread_matrix, whole
from edgelaw._shipped import folder as _folder

_FILES = {"cifar10": "cifar10_resnet50", "wikipedia": "wikipedia_mpnet"}
_USUAL_KEYS = ("x_train", "embeddings", "features")  # the paper's two files, then ours
_LARGEST = 1e100  # squares of larger entries would overflow


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
    """Read a matrix of embeddings, one a row, from a .npz, .npy, .pt or .pth file.

    Reads the paper's own files as they are: ``cifar10_resnet50_embeddings.npz`` (key ``x_train``) and
    ``wiki_embeddings.npz`` (key ``embeddings``). Nothing is ever unpickled; a file that would need it is
    refused.

    Parameters
    ----------
    path : path to a file
    key : str, optional
        Which array of a .npz, or which tensor of a .pt holding several. By default the only one there is,
        else the one called ``x_train``, ``embeddings`` or ``features``.

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
    path = Path(path)
    if path.suffix not in (".npz", ".npy", ".pt", ".pth"):
        raise ValueError(f"{path} must be a .npz, .npy, .pt or .pth file.")
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}.")
    array = _read_torch(path, key) if path.suffix in (".pt", ".pth") else _read_numpy(path, key)
    if array.dtype.kind not in "fiu":
        raise ValueError(f"{path} must hold real numbers, not dtype {array.dtype}.")
    if array.ndim != 2 or min(array.shape) < 2:
        raise ValueError(
            f"{path} must hold a matrix of at least 2 x 2, one embedding a row, not shape {array.shape}."
        )
    if not _finite(array):
        raise ValueError(f"{path} must hold finite numbers, but it contains NaN or infinity.")
    if array.dtype == np.float16:
        return array.astype(np.float32)
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)


def _read_numpy(path, key):
    """An array of a .npz or the array of a .npy, refusing pickles and damaged files."""
    try:
        with open(path, "rb") as handle:
            loaded = np.load(handle, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return _only(loaded, path, key)
            with loaded:
                return loaded[_pick(loaded.files, path, key)]
    except (zipfile.BadZipFile, EOFError, OSError) as error:
        raise ValueError(f"{path} is damaged or not a numpy file: {error}.") from None
    except ValueError as error:
        if "pickle" in str(error).lower() or "object array" in str(error).lower():
            raise ValueError(
                f"{path} holds pickled objects, which are never loaded: save a plain array."
            ) from None
        if str(error).startswith(str(path)):
            raise
        raise ValueError(f"{path} is damaged or not a numpy file: {error}.") from None


def _read_torch(path, key):
    """A tensor of a torch file, read as weights only; torch is imported only for such a file."""
    import torch

    try:
        loaded = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises many kinds, none of them documented
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(f"{path} cannot be read as tensors only, so it is refused: {reason}") from None
    if isinstance(loaded, dict):
        tensors = {str(name): value for name, value in loaded.items() if isinstance(value, torch.Tensor)}
        loaded = tensors[_pick(list(tensors), path, key)]
    elif isinstance(loaded, torch.Tensor):
        _only(loaded, path, key)
    else:
        raise ValueError(
            f"{path} must hold a tensor or a dictionary of tensors, not a {type(loaded).__name__}."
        )
    loaded = loaded.detach()
    return (loaded.float() if loaded.dtype == torch.bfloat16 else loaded).numpy()


def _only(array, path, key):
    """The single array of a file without keys."""
    if key is not None:
        raise ValueError(f"{path} holds one array without a key, so key must be left out, not {key!r}.")
    return array


def _pick(keys, path, key):
    """Which of a file's arrays to read."""
    listed = ", ".join(map(repr, keys)) or "none"
    if key is not None:
        if key not in keys:
            raise ValueError(f"{path} has no array {key!r}; its arrays are: {listed}.")
        return key
    if len(keys) == 1:
        return keys[0]
    for usual in _USUAL_KEYS:
        if usual in keys:
            return usual
    raise ValueError(f"{path} needs a key that says which array to read; its arrays are: {listed}.")


def _finite(array):
    """Whether every entry is finite, a block of rows at a time so that a large file needs no second copy."""
    return all(np.isfinite(array[i : i + 4096]).all() for i in range(0, len(array), 4096))


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
    available, columns = X.shape
    seed = "" if isinstance(rng, np.random.Generator | np.random.SeedSequence) else f"seed {rng}"
    rng = generator(rng)
    steps = []
    if rows is None:
        chosen = np.arange(available)
        steps.append(f"Kept all {available} rows in their order.")
    else:
        rows = whole(rows, "rows", 2)
        if rows > available:
            raise ValueError(f"rows must be at most the {available} that X has, not {rows}.")
        chosen = rng.choice(available, rows, replace=False)
        said = f" ({seed})" if seed else ""
        steps.append(f"Chose {rows} of {available} rows at random without replacement{said}.")
    X = X[chosen].astype(np.float64)
    if dims is None:
        steps.append(f"Kept all {columns} columns, without a projection.")
    else:
        dims = whole(dims, "dims", 2)
        if dims > columns:
            raise ValueError(f"dims must be at most the {columns} columns that X has, not {dims}.")
        X = X @ (rng.standard_normal((columns, dims)) / np.sqrt(dims))
        said = f" ({seed}, after the rows)" if seed else ""
        steps.append(
            f"Projected {columns} columns to {dims} with a Gaussian matrix of entry variance 1/{dims}{said}."
        )
    m, d = X.shape
    null = max(d - (m - 1 if center else m), 0)
    size = np.linalg.norm(X, axis=1).max()
    if center:
        X -= X.mean(axis=0)
        steps.append(f"Subtracted the mean row, which leaves {null} null direction(s).")
    if normalize:
        norms = np.linalg.norm(X, axis=1)
        if norms.min() <= 1e-12 * size:  # what rounding leaves of a row that is the mean
            row = chosen[norms.argmin()]
            reason = "equals the mean row" if center else "is zero"
            raise ValueError(
                f"Row {row} of X {reason}, so it cannot be scaled to norm sqrt(d); leave it out."
            )
        X *= (np.sqrt(d) / norms)[:, None]
        steps.append(f"Scaled every row to norm sqrt({d}).")
    return Preprocessed(X, chosen, null, tuple(steps))


def _embeddings(X):
    """A real, finite matrix in its own dtype: a large float16 array is not copied before it is subsampled."""
    X = unread_matrix(X)
    if not _finite(X):
        raise ValueError("X must be finite, but it contains NaN or infinity.")
    if X.dtype.kind == "f" and X.dtype.itemsize > 4 and max(X.max(), -X.min()) > _LARGEST:
        raise ValueError(f"X must have entries below {_LARGEST:g} in size, so that their squares are finite.")
    return X
