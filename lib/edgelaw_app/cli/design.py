"""From a file and its options to a design, on this machine or on Dask."""

import argparse

from edgelaw._common.types import Progress
from edgelaw_app import files
from edgelaw_app.cli.terminal import Refusal, shortened


def decomposed(arguments: argparse.Namespace, progress: Progress) -> files.Design:
    """The design that the arguments describe; with ``--dask`` its eigenvalues are computed there and remembered."""
    where = address(arguments.dask)
    progress(0, 0, "reading")
    design = files.design(
        files.open_matrix(arguments.file, arguments.key, arguments.columns, arguments.drop),
        rows=arguments.rows,
        dims=arguments.dims,
        center=arguments.center,
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
