"""Dask, for more than one process or machine: a Gram matrix as tasks (``pip install 'edgelaw[dask]'``).

Each task reads its own range of rows and returns a survey or sums, which are merged as they arrive. A worker is given
its next range only after its last result has been fetched, so that it never holds more than that and one block of rows.
A task that dies with its worker is run again by Dask, elsewhere; it has no side effects.
"""

import re
import socket
from itertools import islice
from typing import TYPE_CHECKING, Any

from edgelaw._common.types import Array, Progress
from edgelaw_app import files

if TYPE_CHECKING:
    from distributed import Client

TASKS_PER_WORKER = 4  # enough to level out differences between workers, few enough to send few matrices
SECONDS = 5  # that a scheduler has to answer
LOCAL = {"threads_per_worker": 1, "memory_limit": 0, "dashboard_address": ":0"}  # any port


def eigenvalues(design: files.Design, where: str, progress: Progress | None = None) -> Array:
    """:func:`gram_eigenvalues` on ``"local"`` processes, one per core, or at the address of a running scheduler."""
    from distributed import Client, KilledWorker

    try:
        if where != "local":
            _hear(where)
        client = Client(**LOCAL) if where == "local" else Client(where, timeout=SECONDS)
    except Exception as error:  # whatever answers there
        reason = " ".join(str(error).split()).rstrip(".")
        raise files.InputError(
            f"No Dask scheduler answers at {where}; start one with `dask scheduler` ({reason})."
        ) from None
    try:
        with client:
            client.wait_for_workers(1, timeout=30)
            return gram_eigenvalues(design, client, progress)
    except KilledWorker:
        raise files.InputError(
            "Dask gave up on a task that ended its worker several times; the workers may have too little memory."
        ) from None


def _hear(where: str) -> None:
    """Raise where nobody speaks first, as a scheduler does: Dask would wait for ever, at its dashboard for one."""
    found = re.fullmatch(r"tcp://\[?(.+?)\]?:(\d+)", where)
    if not found:
        raise ValueError("an address looks like tcp://host:8786")
    with socket.create_connection((found[1], int(found[2])), timeout=SECONDS) as connection:
        length = int.from_bytes(connection.recv(8), "little")  # of what follows, in Dask's protocol
        if not 0 < length < 2**20:
            raise ValueError("another service answers there")


def gram_eigenvalues(design: files.Design, client: "Client", progress: Progress | None = None) -> Array:
    """Ascending eigenvalues of the Gram matrix of a design, summed up by a cluster; the design remembers them.

    Every worker must be able to read the files by the same absolute path. They are those of
    :meth:`edgelaw_app.files.Design.gram_eigenvalues` up to the order of summation (tested, also when a worker dies); a
    design of at most 4096 rows and columns is decomposed here.
    """
    if design.small:  # nothing to distribute
        return design.gram_eigenvalues(progress)
    from distributed import as_completed

    threads = client.nthreads()
    ranges = design.parts(TASKS_PER_WORKER * len(threads))
    sent: Any = design
    if design.source.in_memory:  # else every worker opens the files
        sent = client.scatter(design, broadcast=True, hash=False)

    def merged(survey: Any, what: str, done: int) -> Any:
        tasks = (client.submit(_part, sent, survey, *span, pure=False) for span in ranges)
        running = as_completed(islice(tasks, sum(threads.values())), with_results=True)
        total: Any = None
        for _, part in running:
            with files.named_errors(design.name):
                total = part if total is None else total.merge(part)
            running.update(islice(tasks, 1))
            done += 1
            if progress:
                progress(done, 2 * len(ranges), what)
        return total

    survey = merged(None, "reading the mean", 0)
    design.keep(survey)
    light = survey._replace(prints=None)  # workers need not know equal rows
    return design.finish(survey, merged(light, "summing the Gram matrix", len(ranges)))


def _part(made: files.Design, survey: Any, start: int, stop: int) -> Any:
    return made.survey(start, stop) if survey is None else made.partial(start, stop, survey)
