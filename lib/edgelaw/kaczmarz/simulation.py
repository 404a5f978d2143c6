"""SGD on least squares, row by row, at the speed of matrix products.

The update by row x with target y is the normalised (Kaczmarz) one,

    w ← w − step · (⟨x, w⟩ − y) x / ‖x‖²,      0 < step < 2,

or plain SGD's, w ← w − step · (⟨x, w⟩ − y) x. For rows U in visiting order, b consecutive updates of any
number of weight vectors W at once are exactly W ← W − Uᵀ M⁻¹ (U W − y), where M = I/step + the strictly
lower triangle of U Uᵀ. An epoch is therefore a few triangular solves between large matrix products
(`edgelaw.kaczmarz.blocks`); one or few weight vectors go through a compiled loop instead (`edgelaw.kaczmarz.compiled`).
Both are the definition, reordered: nothing is approximated.
"""

import concurrent.futures
import threading
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from edgelaw import orders
from edgelaw._common import arguments, threads
from edgelaw._common.types import Array, ArrayLike, Integers, Rng
from edgelaw.curves import LearningCurve
from edgelaw.kaczmarz import blocks, engines
from edgelaw.kaczmarz.problem import Problem

STARTS = ("random", "orthonormal", "all")
PROBES = 32


def simulate(
    X: ArrayLike,
    order: orders.Order,
    epochs: int,
    step: float = 1.0,
    probes: int = PROBES,
    runs: int = 1,
    batch: int = 1,
    y: ArrayLike | None = None,
    rng: Rng = 0,
    *,
    batch_mode: str = "projection",
    normalised: bool = True,
    probabilities: ArrayLike | None = None,
    record: Iterable[int] | None = None,
    progress: Callable[[int, int], object] | None = None,
    workers: int | None = None,
    method: str = "auto",
    starts: str = "random",
) -> LearningCurve:
    """Learning curves of SGD on the least-squares problem X w = y, from random unit starts or from all starts.

    A run has one order stream, shared by its probes, which start at w_0 = w* + a unit vector (`starts`).
    Returned are

    - test: the mean over probes and runs of ‖w_n − w*‖² / ‖w_0 − w*‖² (parameter error, not held-out loss);
    - train: the mean of (1/m) ‖X (w_n − w*)‖² / ‖w_0 − w*‖², for the normalised update with the rows
      of X scaled to norm √d; with inconsistent targets this is the *excess* over the smallest training loss.

    Both are 1 at n = 0: test exactly, train on average over starts (for plain SGD: the mean eigenvalue of
    XᵀX/m). Losses below 1e-300 (float32: 1e-72) come out as 0.

    Parameters
    ----------
    X : array (m, d)
        The rows; float32 is computed in float32, everything else in float64.
    order : str, edgelaw.orders.ShuffleBuffer or edgelaw.orders.BlockShuffle
        One of `edgelaw.orders.ORDERS`, or an order of `edgelaw.orders` with a parameter; those read the rows of X as
        the file that they shuffle, so the order in which X has them matters.
    epochs : int
        How many epochs to run; an epoch is m row visits.
    step : float
        In (0, 2) for the normalised update, in units of the full projection; in (0, 2 / max ‖x_i‖²) for
        plain SGD. In that range no single update can increase the error. For averages of b rows it is the
        step η of the averaged update, η/b per row, and may be b times as large: b orthogonal rows stand any
        step below 2b, b equal ones only steps below 2, and from 2b on every update increases the error of a
        random start on average. No update increases it up to 2b / λ_max(U Uᵀ), U the unit rows (without
        repeated rows in a batch, so not for ``iid``, and with b the rows of the shortest batch); what an
        order stands on average is :func:`edgelaw.exact.stability.stability`. The last batch of an epoch, if
        shorter, averages over its own r rows, as PyTorch's losses do, and so moves by η/r per row: leave
        it out when η is far above 2.
    probes : int
        Weight vectors per run; how they start is `starts`.
    runs : int
        Independent runs (order and starts); standard errors are over runs, and NaN for one run.
    batch : int
        Rows per update; the last batch of an epoch is shorter if `batch` does not divide m.
    y : array (m,), optional
        Targets; zero if absent. w* is the point at which the mean update vanishes: the least-squares
        solution (the one of smallest norm) with row i weighted by its probability, *of the rows as the
        update sees them*. So plain SGD has the ordinary solution, the normalised update that of the unit
        rows x_i / ‖x_i‖ with targets y_i / ‖x_i‖, and both agree when the targets are consistent, or for
        the normalised update with `probabilities` ∝ ‖x_i‖². If they are consistent (to rounding) y merely
        shifts the problem, and the curves are those of y = 0. If not, the losses end at a floor that
        depends on the step; a projected batch then has another stationary mean than w*, which stays the
        point of reference.
    rng : int or numpy.random.Generator
        Seed of everything random. Run r depends on it and on r only, not on how many runs there are.
    batch_mode : {"projection", "average"}
        How `batch` > 1 rows act: w ← w − step · X_B⁺ (X_B w − y_B), the (relaxed) projection onto the
        solutions of the batch, repeated or dependent rows included; or the average of the rows' single
        updates.
    normalised : bool
        The normalised update, or plain SGD.
    probabilities : array (m,), optional
        Row probabilities for the order ``iid``.
    record : iterable of int, optional
        The epochs at which to record, 0 always included; all of them if absent. A recording costs half an
        epoch. Where the compiled loop pauses to record, it adds up in another order: the choice may show in
        the last digits.
    progress : callable, optional
        Called as ``progress(done, total)``, in epochs summed over runs; one call at a time, from any
        thread.
    workers : int, optional
        Runs computed at the same time, by threads; by default as many as cores. For the orders that repeat,
        each holds a copy of the data in visiting order.
    method : {"auto", "blocked", "compiled"}
        Matrix products over blocks, or the compiled loop (`batch` = 1 only); by default the faster.
    starts : {"random", "orthonormal", "all"}
        Where the probes start: at w* plus independent uniform unit vectors; plus orthonormal ones (a random
        set of `probes` at most d), whose mean varies less; or plus each of the d coordinate vectors. The mean
        over all starts is the mean over uniform ones exactly, so only the order is left to chance, and
        standard errors are those of the order. `probes` is then d, and stays at its default in the call.

    Returns
    -------
    LearningCurve
        The same digits for the same seed on one machine, whatever the number of cores or workers: a run is
        computed by one thread, and BLAS is held to one thread meanwhile (`edgelaw._common.threads`).

    Raises
    ------
    OverflowError
        If SGD diverges so far that the weights overflow; the message has a step at which it cannot.

    Examples
    --------
    Orthogonal rows are solved in one epoch, whatever their order:

    >>> curve = simulate(np.diag([1.0, 2.0, 3.0]), "single_shuffle", epochs=1)
    >>> curve.epochs.tolist(), curve.test.tolist()
    ([0, 1], [1.0, 0.0])

    Two equal rows see one of two dimensions, so all starts together keep exactly half:

    >>> simulate([[1.0, 0.0], [1.0, 0.0]], "iid", epochs=1, starts="all").test.tolist()
    [1.0, 0.5]
    """
    rows = arguments.matrix(X, minimum=1)
    m, d = rows.shape
    probes, runs = _probes(probes, starts, d), arguments.whole(runs, "runs", 1)
    recorded = _recorded(record, arguments.whole(epochs, "epochs", 1))
    workers = threads.cores() if workers is None else arguments.whole(workers, "workers", 1)
    orders.stream(order, m, 0, probabilities)  # refuse what it refuses before any work is done
    with threads.one_blas_thread():
        problem = Problem(rows, y, step, batch, batch_mode, normalised)
        problem.centre(probabilities)
        halt = threading.Event()
        tick = _ticker(progress, runs * int(recorded[-1]), halt)

        def run(child: np.random.Generator) -> list[tuple[float, float]]:
            stream, W_0 = _drawn(starts, child, d, probes, order, m, probabilities)
            engine = engines.choose(problem, stream, probes, method)
            return [problem.losses(engine.rows, W) for W in engines.walk(engine, W_0, recorded, tick)]

        losses = np.array(_spread(run, arguments.generator(rng).spawn(runs), min(workers, runs), halt))
    mean = losses.mean(axis=0)
    error = losses.std(axis=0, ddof=1) / np.sqrt(runs) if runs > 1 else np.full_like(mean, np.nan)
    return LearningCurve(recorded, *mean.T, *error.T)


def iterates(
    X: ArrayLike,
    order: orders.Order,
    epochs: int,
    start: ArrayLike,
    step: float = 1.0,
    batch: int = 1,
    y: ArrayLike | None = None,
    rng: Rng = 0,
    *,
    batch_mode: str = "projection",
    normalised: bool = True,
    probabilities: ArrayLike | None = None,
    record: Iterable[int] | None = None,
    method: str = "auto",
) -> Iterator[tuple[int, Array]]:
    """The weights themselves: yields (n, w_n) at the recorded epochs, from a given start.

    The parameters are those of `simulate`, except for

    start : array (d,) or (d, probes)
        w_0, in the coordinates of the problem (not relative to w*); every yielded w_n is a new array of
        this shape.
    rng : int or numpy.random.Generator
        The row indices are those of ``edgelaw.orders.stream(order, m, rng, probabilities)``.

    Examples
    --------
    Two rows, visited once each in either order, project onto both equations:

    >>> X, y = np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([2.0, 8.0])
    >>> [(n, w.tolist()) for n, w in iterates(X, "single_shuffle", 1, start=np.zeros(2), y=y)]
    [(0, [0.0, 0.0]), (1, [1.0, 2.0])]
    """
    rows = arguments.matrix(X, minimum=1)
    w_0 = arguments.real_array(start, "start", np.ndim(start) if np.ndim(start) in (1, 2) else 2)
    if len(w_0) != rows.shape[1] or w_0.size == 0:
        raise ValueError(
            f"start must have one entry for each of the {rows.shape[1]} columns of X, not {w_0.shape}."
        )
    recorded = _recorded(record, arguments.whole(epochs, "epochs", 1))
    problem = Problem(rows, y, step, batch, batch_mode, normalised)
    stream = orders.stream(order, len(rows), rng, probabilities)
    W_0 = w_0.reshape(len(w_0), -1)
    engine = engines.choose(problem, stream, W_0.shape[1], method)
    walk = engines.walk(engine, W_0, recorded)
    for n in recorded.tolist():
        with threads.one_blas_thread():
            W = next(walk)
        yield n, W.reshape(w_0.shape).copy()


def epoch_matrix(U: ArrayLike, step: float) -> Array:
    """The whole map of an epoch: A = (I − step·u_m u_mᵀ) ⋯ (I − step·u_1 u_1ᵀ) = I − Uᵀ M⁻¹ U.

    Here M = I/step + the strictly lower triangle of U Uᵀ, and w ↦ A w is one epoch on the homogeneous
    problem.

    Parameters
    ----------
    U : array (m, d)
        The rows in visiting order, used as they are: unit rows for the normalised update.
    step : float
        Positive, and below 2 / max ‖u_i‖².

    Returns
    -------
    ndarray (d, d)

    Examples
    --------
    >>> epoch_matrix(np.array([[1.0, 0.0], [0.6, 0.8]]), step=1.0).round(2).tolist()
    [[0.0, -0.48], [0.0, 0.36]]
    """
    problem = Problem(arguments.matrix(U, "U", minimum=1), None, step, 1, "projection", normalised=False)
    kept = blocks.KeptBlocks(problem.rows(), None, problem.step, 1, "projection")
    A = np.eye(problem.X.shape[1], dtype=problem.X.dtype)
    with threads.one_blas_thread():
        for k in range(0, len(A), 256):  # panels whose change fits into the cache
            panel = np.ascontiguousarray(A[:, k : k + 256])
            kept.epoch(panel)
            A[:, k : k + 256] = panel
    return A


def _probes(probes: int, starts: str, dims: int) -> int:
    """How many weight vectors a run has: as many as asked for, or as dimensions where all starts are taken."""
    probes = arguments.whole(probes, "probes", 1)
    if arguments.choice(starts, "starts", STARTS) == "all":
        if probes != PROBES:
            raise ValueError(f'probes is the number of columns for starts="all"; leave it out, not {probes}.')
        return dims
    if starts == "orthonormal" and probes > dims:
        raise ValueError(
            f"probes must be at most {dims} to be orthonormal in {dims} dimensions, not {probes}."
        )
    return probes


def _drawn(
    starts: str,
    rng: np.random.Generator,
    dims: int,
    probes: int,
    order: orders.Order,
    rows: int,
    probabilities: ArrayLike | None,
) -> tuple[orders.Stream, Array]:
    """The order stream and the starts (dims, probes) of one run.

    What is drawn first is part of the digits that a seed stands for: the stream before random starts, orthonormal
    starts before the stream.
    """
    if starts == "orthonormal":
        basis = np.linalg.qr(rng.standard_normal((dims, probes)))[0]
        return orders.stream(order, rows, rng, probabilities), basis
    stream = orders.stream(order, rows, rng, probabilities)
    if starts == "all":
        return stream, np.eye(dims)
    directions = rng.standard_normal((dims, probes))
    return stream, directions / np.linalg.norm(directions, axis=0)


def _recorded(record: Iterable[int] | None, epochs: int) -> Integers:
    """The epochs to record, ascending, 0 included."""
    if record is None:
        return np.arange(epochs + 1)
    numbers = np.array([arguments.whole(n, "record", 0) for n in record], dtype=np.int64)
    if numbers.size == 0 or numbers.max() > epochs:
        raise ValueError(
            f"record must name at least one epoch between 0 and epochs={epochs}, and none beyond."
        )
    return np.union1d(numbers, 0)


def _ticker(
    progress: Callable[[int, int], object] | None, total: int, halt: threading.Event
) -> Callable[[int], None]:
    """A function that adds up the epochs done and reports them, one thread at a time, until halted."""
    lock, done = threading.Lock(), 0

    def tick(count: int) -> None:
        nonlocal done
        if halt.is_set():
            raise concurrent.futures.CancelledError
        if progress is not None:
            with lock:
                done += count
                progress(done, total)

    return tick


def _spread(run: Callable, children: list[np.random.Generator], workers: int, halt: threading.Event) -> list:
    """The results of `run` for each child, by so many threads; the first failure, or Ctrl-C, halts them all."""
    if workers == 1:
        return [run(child) for child in children]
    with threads.executor(workers) as pool:
        futures = [pool.submit(run, child) for child in children]
        try:
            finished, _ = concurrent.futures.wait(futures, return_when=concurrent.futures.FIRST_EXCEPTION)
            for future in finished:
                future.result()
        except BaseException:
            halt.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [future.result() for future in futures]
