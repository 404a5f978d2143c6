r"""Dask, for more than one process or machine: Gram matrices and sweeps as tasks.

Dask is an optional extra, ``pip install 'edgelaw[dask]'``. The Gram matrix of a design is a sum over rows, so any split
of the rows will do: each task reads its own range of rows (whole shards where a format cannot be entered in the
middle) and returns d × d numbers, which are added up as they arrive. A worker is given its next range only after its
last sum has been fetched, so that it never holds more than that sum and the block of rows at hand. A task that dies
with its worker is run again by Dask, elsewhere; it has no side effects, so nothing is lost and nothing counted twice.
"""

import contextlib
import itertools
import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from edgelaw._common import arguments, extras
from edgelaw._common.types import Array, ArrayLike, Progress
from edgelaw.curves import LearningCurve
from edgelaw.orders import ORDERS
from edgelaw_app import files
from edgelaw_app.files import InputError

if TYPE_CHECKING:
    from distributed import Client

TASKS_PER_WORKER = 4  # enough to level out differences between workers, few enough to send few matrices


class Run(NamedTuple):
    """One simulated learning curve of a :func:`sweep`."""

    order: str
    step: float
    seed: int
    curve: LearningCurve


def connect(where: str = "local", workers: int | None = None, seconds: float = 5.0) -> "Client":
    """A Dask client, which is also a context that closes it.

    Parameters
    ----------
    where : str
        ``"local"`` starts worker processes on this machine, one thread each, and ends them when the client is closed;
        an address such as ``"tcp://10.0.0.1:8786"`` is a scheduler that runs already.
    workers : int, optional
        How many local processes; as many as cores by default.
    seconds : float
        How long to wait for a scheduler to answer.

    Returns
    -------
    distributed.Client

    Raises
    ------
    InputError
        When Dask is not installed, the address is not one or no scheduler answers there.
    """
    try:
        from distributed import Client
    except ImportError:
        raise InputError(extras.sentence("dask")) from None
    if not isinstance(where, str):
        raise InputError(f'where must be "local" or an address such as tcp://host:8786, not {where!r}.')
    if where == "local":
        workers = workers if workers is None else arguments.whole(workers, "workers", 1)
        return Client(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",  # any free port: two commands may run at the same time
            memory_limit=0,
            set_as_default=False,
        )
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
    protocol, _, place = where.rpartition("://")
    host, _, port = place.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535 or protocol not in ("", "tcp", "tls"):
        raise ValueError("an address looks like tcp://host:8786")
    if protocol == "tls":
        return
    with socket.create_connection((host.strip("[]"), int(port)), timeout=seconds) as connection:
        greeting = connection.recv(8)  # a scheduler speaks first, and begins with the length of what follows
    if len(greeting) < 8 or int.from_bytes(greeting, "little") > 2**20:
        raise ValueError("another service answers there")


def _results(
    client: "Client | None", task: Callable, calls: Sequence[tuple], shared: Sequence = ()
) -> Iterator[tuple[int, Any]]:
    """What ``task(*shared, *call)`` returns for each of `calls`, as they complete, each with its place in the list.

    Without a client one after the other, here. With one, no more are under way than there are threads, and a result
    leaves its worker before another task is sent.
    """
    if client is None:
        for place, call in enumerate(calls):
            yield place, task(*shared, *call)
        return
    from distributed import KilledWorker, as_completed

    waiting = iter(enumerate(calls))
    threads = sum(client.nthreads().values())
    if not threads:
        client.wait_for_workers(1, timeout=30)
        threads = sum(client.nthreads().values())
    places: dict[Any, int] = {}
    queue = as_completed(loop=client.loop, raise_errors=False)

    def send(count):
        for place, call in itertools.islice(waiting, count):
            future = client.submit(task, *shared, *call, pure=False)
            places[future.key] = place
            queue.add(future)

    try:
        send(threads)
        for future in queue:
            result = future.result()
            place = places.pop(future.key)
            future.release()
            del future
            send(1)
            yield place, result
    except KilledWorker:
        raise InputError(
            "Dask gave up on a task that ended its worker several times; the workers may have too little memory."
        ) from None
    finally:
        for future in list(queue.futures):
            with contextlib.suppress(Exception):
                future.cancel()


def _survey_part(made, start, stop):
    """What one range of rows tells about the mean and about equal rows."""
    return made.survey(start, stop)


def _gram_part(made, survey, start, stop):
    """The Gram sums of one range of rows, and a survey of it if there was none."""
    return made.accumulate(start, stop, survey)


def gram_eigenvalues(
    design_or_source: files.Design | files.Source,
    client: "Client | None",
    progress: Progress | None = None,
) -> Array:
    r"""Ascending eigenvalues of :math:`X^\top X / m`, the Gram matrix summed up by a cluster.

    Parameters
    ----------
    design_or_source : files.Design or files.Source
        Every worker must be able to read the files by the same absolute path. A source is prepared by the defaults of
        :func:`edgelaw_app.files.design`. A design of at most 4096 rows and columns is decomposed here.
    client : distributed.Client or None
        Of :func:`connect`. None runs the same tasks here, one after the other.
    progress : callable, optional
        Called as ``progress(done, total, what)``, in rows.

    Returns
    -------
    numpy.ndarray, shape (d,)
        Those of :meth:`edgelaw_app.files.Design.gram_eigenvalues` on the Gram route, up to the order of summation:
        within :math:`10^{-10} \lambda_{\max}` (tested, also when a worker dies). Zeros are exact.

    Examples
    --------
    >>> made = files.design(np.random.default_rng(0).normal(size=(5000, 20)))
    >>> there, here = gram_eigenvalues(made, client=None), made.gram_eigenvalues()
    >>> bool(abs(there - here).max() < 1e-10 * here[-1])
    True
    """
    made = files.design(design_or_source) if isinstance(design_or_source, files.Source) else design_or_source
    if made.small:  # nothing to distribute
        return made.gram_eigenvalues(progress)
    workers = 1 if client is None else max(len(client.nthreads()), 1)
    ranges = made.parts(TASKS_PER_WORKER * workers)
    passes = 2 if made.center else 1
    survey: Any = None
    gram: Any = None
    mean: Any = None
    done = 0

    def report(rows: int, what: str) -> None:
        nonlocal done
        done += rows
        if progress:
            progress(done, passes * made.shape[0], what)

    with _shared(made, client) as shared:
        if made.center:
            for _, part in _results(client, _survey_part, ranges, [shared]):
                survey = part if survey is None else survey.merge(part)
                report(part.count, "reading the mean")
            made.keep(survey)
            survey, mean = None, survey.without_prints()
        for _, (part, seen) in _results(client, _gram_part, ranges, [shared, mean]):
            report(part.count, "summing the Gram matrix")
            with files.named_errors(made.name):
                gram = part if gram is None else gram.merge(part)
            if seen is not None:
                survey = seen if survey is None else survey.merge(seen)
    return made.finish(gram, survey)


@contextlib.contextmanager
def _shared(made: files.Design, client: "Client | None") -> Iterator[Any]:
    """A design as the tasks get it: as it is if it names files, sent ahead once if it is an array in memory."""
    if client is None or not made.in_memory:
        yield made
    else:
        future = client.scatter(made, broadcast=True, hash=False)
        yield future
        future.release()


def _simulate(X, order, step, seed, epochs, probes):
    """One learning curve."""
    from edgelaw import kaczmarz

    return kaczmarz.simulate(X, order, epochs, step, probes=probes, rng=seed)


def _matrix(made):
    """A design's rows, on the worker that asks."""
    return made.matrix()


def sweep(
    design: files.Design | ArrayLike,
    orders: Iterable[str] | str,
    steps: Iterable[float] | float,
    seeds: Iterable[int] | int,
    epochs: int,
    client: "Client | None" = None,
    progress: Progress | None = None,
    probes: int = 16,
) -> list[Run]:
    """Simulated learning curves for every combination of order, step and seed.

    Parameters
    ----------
    design : files.Design or array of shape (m, d)
        It must fit into the memory of a worker.
    orders : iterable of str
        Of ``edgelaw.orders.ORDERS``.
    steps : iterable of float
        In (0, 2).
    seeds : iterable of int
        Seeds of order and starts; the same seed gives the same digits wherever it runs.
    epochs : int
    client : distributed.Client, optional
        Of :func:`connect`; without it the same tasks run here, one after the other.
    progress : callable, optional
        Called as ``progress(done, total, what)``, in curves.
    probes : int
        Starts averaged in every curve.

    Returns
    -------
    list of Run
        ``order``, ``step``, ``seed`` and ``curve`` (a ``curves.LearningCurve``), in the order of the arguments,
        seeds fastest.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(40, 30))
    >>> runs = sweep(X, ["iid", "single_shuffle"], [0.5, 1.0], [0], epochs=3)
    >>> [(run.order, run.step, len(run.curve.test)) for run in runs][-1]
    ('single_shuffle', 1.0, 4)
    """
    grid = _grid(orders, steps, seeds)
    epochs, probes = arguments.whole(epochs, "epochs", 1), arguments.whole(probes, "probes", 1)
    X = _rows(design, client)
    calls = [(*place, epochs, probes) for place in grid]
    runs: dict[int, Run] = {}
    for k, curve in _results(client, _simulate, calls, [X]):
        runs[k] = Run(*grid[k], curve)
        if progress:
            progress(len(runs), len(grid), "simulating")
    return [runs[k] for k in range(len(grid))]


def _rows(design: files.Design | ArrayLike, client: "Client | None") -> Any:
    """The rows as the tasks of a sweep take them: an array here, or a promise of one on the workers."""
    if not isinstance(design, files.Design):
        X = arguments.matrix(design, minimum=1)
        return X if client is None else client.scatter(X, broadcast=True, hash=False)
    if client is None:
        return design.matrix()
    if design.in_memory:
        return client.scatter(design.matrix(), broadcast=True, hash=False)
    return client.submit(_matrix, design, pure=False)  # a task, so that it is made again if its worker dies


def _grid(
    names: Iterable[str] | str, steps: Iterable[float] | float, seeds: Iterable[int] | int
) -> list[tuple[str, float, int]]:
    """All combinations, validated before any work is done."""
    names = [arguments.choice(name, "orders", ORDERS) for name in _as_list(names, "orders")]
    steps = [arguments.step(step, "steps") for step in _as_list(steps, "steps")]
    seeds = [arguments.whole(seed, "seeds", 0) for seed in _as_list(seeds, "seeds")]
    return list(itertools.product(names, steps, seeds))


def _as_list(values: Any, name: str) -> list:
    """At least one value; a single word or number is a list of one."""
    values = [values] if isinstance(values, str) or np.isscalar(values) else list(values)
    if not values:
        raise ValueError(f"{name} must hold at least one value.")
    return values


def eigenvalues(design: files.Design, dask: str | None = None, progress: Progress | None = None) -> Array:
    """Eigenvalues of a design: here, or where ``dask`` says ("local", or a scheduler's address).

    Examples
    --------
    >>> made = files.design(np.random.default_rng(0).normal(size=(50, 30)))
    >>> eigenvalues(made).shape
    (30,)
    """
    if dask is None:
        return design.gram_eigenvalues(progress)
    with connect(dask) as client:
        return gram_eigenvalues(design, client, progress)
