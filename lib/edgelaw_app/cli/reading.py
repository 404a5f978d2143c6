"""The rows that a reader's arguments name: a design, or features with labels."""

import argparse
from typing import Any

import numpy as np

from edgelaw._common.types import Progress
from edgelaw_app import files
from edgelaw_app.cli.terminal import Refusal, shortened
from edgelaw_app.files import InputError, label_place


def decomposed(arguments: argparse.Namespace, progress: Progress) -> files.Design:
    """The design that the arguments describe; with ``--dask`` its eigenvalues are computed there and remembered."""
    where = address(arguments.dask)
    progress(0, 0, "reading")
    design = files.design(
        files.open_matrix(arguments.file, arguments.key, arguments.columns, arguments.drop),
        rows=arguments.rows,
        dims=arguments.dims,
        center=arguments.center is not False,
        normalize=arguments.normalize is not False,
        standardize=arguments.standardize,
        rng=arguments.seed,
    )
    if where is not None:
        from edgelaw_app.cli import cluster

        cluster.eigenvalues(design, where, progress)  # the design keeps them
    return design


def address(where: str | None) -> str | None:
    """Where Dask is: None for nowhere, "local", or an address."""
    if where in (None, "local") or "://" in where:
        return where
    raise Refusal(
        f"--dask must stand alone or be followed by an address such as tcp://host:8786, not {shortened(where)}."
    )


def features_and_labels(arguments: argparse.Namespace) -> tuple[files.Pair, Any]:
    """What the arguments name, with the rows and dimensions they ask for; and what to test on, as `probe` takes it."""
    other: Any = _held_out_kind(arguments.held_out)
    place, name = label_place(arguments.labels, arguments.file)
    only = {"columns": arguments.columns, "drop": arguments.drop}
    X, y, notes, warnings = files.read_pair(arguments.file, place, name, arguments.key, **only)
    if isinstance(other, str):
        features, key, label_file, label_name = _held_out_place(other, arguments, name)
        other = files.read_pair(features, label_file, label_name, key, **only)[:2]
    rng, rows, dims = np.random.default_rng(arguments.seed), arguments.rows, arguments.dims
    if rows is not None:
        if rows > len(X):
            raise InputError(
                f"--rows must be at most {len(X):,}, the number of rows in the file, not {rows:,}."
            )
        chosen = np.sort(rng.permutation(len(X))[:rows])
        X, y = X[chosen], y[chosen]
        notes = (*notes, f"Chose {rows:,} rows at random (seed {arguments.seed}).")
    if dims is not None:
        G = rng.standard_normal((X.shape[1], dims)) / np.sqrt(dims)
        notes = (*notes, f"Projected {X.shape[1]:,} columns at random onto {dims:,}.")
        X = X @ G
        other = (other[0] @ G, other[1]) if isinstance(other, tuple) else other
    return files.Pair(X, y, notes, warnings), other


def _held_out_kind(text: str) -> float | str | None:
    """A fraction, None, or the text of files."""
    if text == "none":
        return None
    try:
        value = float(text)
    except ValueError:
        return text
    if not 0 < value < 1:
        raise Refusal(f"--held-out must be a fraction strictly between 0 and 1, a file, or none, not {text}.")
    return value


def _held_out_place(
    text: str, arguments: argparse.Namespace, label_name: str | None
) -> tuple[str, str | None, str, str | None]:
    """The file and key of held-out features, the file and name of their labels."""
    first, comma, second = text.partition(",")
    if not comma:
        features, key = label_place(text, arguments.file)
        if label_name is None:
            raise Refusal(
                f"--held-out {shortened(text)} does not say where its labels are; give FEATURES,LABELS, two files."
            )
        return features, key or arguments.key, features, label_name
    features, key = label_place(first, arguments.file)
    label_file, name = label_place(second, features)
    return features, key, label_file, name
