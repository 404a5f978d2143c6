"""The public name of ``edgelaw.cli.cluster``: Gram matrices and sweeps on Dask."""

from edgelaw.cli.cluster import (
    Run,
    connect,
    eigenvalues,
    gram_eigenvalues,
    sweep,
)

__all__ = [
    "Run",
    "connect",
    "eigenvalues",
    "gram_eigenvalues",
    "sweep",
]
