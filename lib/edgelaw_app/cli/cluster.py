"""Dask, for more than one process or machine: a Gram matrix as tasks (``pip install 'edgelaw[dask]'``).

Each task reads its own range of rows and returns a survey or sums, which are merged as they arrive. A worker is given
its next range only after its last result has been fetched, so that it never holds more than that and one block of rows.
A task that dies with its worker is run again by Dask, elsewhere; it has no side effects.
"""

import itertools
import socket
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from edgelaw._common import arguments, extras
from edgelaw._common.types import Array, Progress
from edgelaw_app import files
from edgelaw_app.files import InputError

if TYPE_CHECKING:
    from distributed import Client

TASKS_PER_WORKER = 4  # enough to level out differences between workers, few enough to send few matrices


def connect(where: str = "local", workers: int | None = None, seconds: float = 5.0) -> "Client":
    """A Dask client, which is also a context that closes it; refused where no scheduler answers within so many seconds.

    ``"local"`` starts processes on this machine, `workers` or as many as cores, and ends them with the client; an
    address such as ``"tcp://10.0.0.1:8786"`` is a scheduler that runs already.
    """
    try:
        from distributed import Client
    except ImportError:
        raise InputError(extras.sentence("dask")) from None
    if where == "local":
        workers = workers if workers is None else arguments.whole(workers, "workers", 1)
        local = {"n_workers": workers, "threads_per_worker": 1, "processes": True, "memory_limit": 0}
        return Client(**local, dashboard_address=":0", set_as_default=False)  # any port: two commands may run
    try:
        _ensure_scheduler(where, seconds)
        return Client(where, timeout=seconds, set_as_default=False)
    except (OSError, ValueError, TypeError, MemoryError) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise InputError(
            f"No Dask scheduler answers at {where}; start one with `dask scheduler` ({reason})."
        ) from None


def _ensure_scheduler(where: str, seconds: float) -> None:
    """Refuse an address at once where nothing listens, or where the first bytes are not those of Dask."""
    protocol, _, place = str(where).rpartition("://")
    host, _, port = place.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535 or protocol not in ("", "tcp", "tls"):
        raise ValueError("an address looks like tcp://host:8786")
    if protocol == "tls":
        return
    with socket.create_connection((host.strip("[]"), int(port)), timeout=seconds) as connection:
        greeting = connection.recv(8)  # a scheduler speaks first, and begins with the length of what follows
    if len(greeting) < 8 or int.from_bytes(greeting, "little") > 2**20:
        raise ValueError("another service answers there")


def _results(client: "Client | None", task: Callable, calls: Sequence[tuple]) -> Iterator[tuple[int, Any]]:
    """What ``task(*call)`` returns for each call, with its place, as they complete: here, or one per thread there."""
    if client is None:
        yield from ((place, task(*call)) for place, call in enumerate(calls))
        return
    from distributed import KilledWorker, as_completed

    client.wait_for_workers(1, timeout=30)
    waiting, places = iter(enumerate(calls)), {}
    queue = as_completed(loop=client.loop, raise_errors=False)

    def send(count: int) -> None:
        for place, call in itertools.islice(waiting, count):
            future = client.submit(task, *call, pure=False)
            places[future.key] = place
            queue.add(future)

    try:
        send(sum(client.nthreads().values()))
        for future in queue:
            result, place = future.result(), places[future.key]
            future.release()
            send(1)
            yield place, result
    except KilledWorker:
        raise InputError(
            "Dask gave up on a task that ended its worker several times; the workers may have too little memory."
        ) from None
    finally:
        client.cancel(list(queue.futures))


def _part(made: files.Design, survey: Any, start: int, stop: int) -> Any:
    return made.survey(start, stop) if survey is None else made.partial(start, stop, survey)


def gram_eigenvalues(
    design: files.Design, client: "Client | None" = None, progress: Progress | None = None
) -> Array:
    """Ascending eigenvalues of the Gram matrix of a design, summed up by a cluster; the design remembers them.

    Every worker must be able to read the files by the same absolute path; None runs the same tasks here. They are
    those of :meth:`edgelaw_app.files.Design.gram_eigenvalues` up to the order of summation (tested, also when a worker
    dies); a design of at most 4096 rows and columns is decomposed here.

    >>> import numpy as np
    >>> made = files.design(np.random.default_rng(0).normal(size=(5000, 20)))
    >>> there, here = gram_eigenvalues(made), files.design(made.source).gram_eigenvalues()
    >>> bool(abs(there - here).max() < 1e-10 * here[-1])
    True
    """
    if design.small:  # nothing to distribute
        return design.gram_eigenvalues(progress)
    ranges = design.parts(TASKS_PER_WORKER * (1 if client is None else max(len(client.nthreads()), 1)))
    sent: Any = design
    if client is not None and design.source.in_memory:  # else every worker opens the files
        sent = client.scatter(design, broadcast=True, hash=False)
    done = 0

    def merged(survey: Any, what: str) -> Any:
        nonlocal done
        total: Any = None
        for place, part in _results(client, _part, [(sent, survey, *span) for span in ranges]):
            with files.named_errors(design.name):
                total = part if total is None else total.merge(part)
            done += ranges[place][1] - ranges[place][0]
            if progress:
                progress(done, 2 * design.shape[0], what)
        return total

    survey = merged(None, "reading the mean")
    design.keep(survey)
    light = survey._replace(prints=None)  # workers need not know equal rows
    return design.finish(survey, merged(light, "summing the Gram matrix"))


def eigenvalues(design: files.Design, dask: str | None = None, progress: Progress | None = None) -> Array:
    """Eigenvalues of a design: here, or where ``dask`` says ("local", or a scheduler's address)."""
    if dask is None:
        return design.gram_eigenvalues(progress)
    with connect(dask) as client:
        return gram_eigenvalues(design, client, progress)
