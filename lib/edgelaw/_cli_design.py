"""From a file and its options to a design, on this machine or on Dask."""

import contextlib

from edgelaw import inputs
from edgelaw._cli_common import Refusal, shortened


@contextlib.contextmanager
def opened(arguments, progress):
    """The design that the arguments describe; with ``--dask`` its eigenvalues were found there, block by block."""
    where = _address(arguments.dask)
    source = inputs.open_matrix(arguments.file, arguments.key)
    design = inputs.design(
        source,
        rows=arguments.rows,
        dims=arguments.dims,
        center=arguments.center,
        normalize=arguments.normalize,
        rng=arguments.seed,
    )
    if where is not None:
        from edgelaw import cluster

        with cluster.connect(where) as client:
            values = cluster.gram_eigenvalues(design, client, progress=progress)
        design.gram_eigenvalues = lambda progress=None: values  # what follows needs no second pass
    yield design


def _address(where):
    """Where Dask is: None for nowhere, "local", or an address."""
    if where in (None, "local") or "://" in where:
        return where
    raise Refusal(
        f"--dask must stand alone or be followed by an address such as tcp://host:8786, not {shortened(where)}; "
        "put the file before it."
    )
