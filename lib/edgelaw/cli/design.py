"""From a file and its options to a design, on this machine or on Dask."""

from edgelaw import inputs
from edgelaw.cli.terminal import Refusal, shortened


def prepared(arguments):
    """The design that the arguments describe."""
    source = inputs.open_matrix(arguments.file, arguments.key)
    return inputs.design(
        source,
        rows=arguments.rows,
        dims=arguments.dims,
        center=arguments.center,
        normalize=arguments.normalize,
        rng=arguments.seed,
    )


def decomposed(arguments, progress):
    """The same; with ``--dask`` its eigenvalues were found there, block by block."""
    where = address(arguments.dask)
    design = prepared(arguments)
    if where is not None:
        from edgelaw.cli import cluster

        with cluster.connect(where) as client:
            values = cluster.gram_eigenvalues(design, client, progress=progress)
        design.gram_eigenvalues = lambda progress=None: values  # what follows needs no second pass
    return design


def address(where):
    """Where Dask is: None for nowhere, "local", or an address."""
    if where in (None, "local") or "://" in where:
        return where
    raise Refusal(
        f"--dask must stand alone or be followed by an address such as tcp://host:8786, not {shortened(where)}."
    )
