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

import numpy as np

from edgelaw import orders
from edgelaw._common import arguments, threads
from edgelaw.curves import LearningCurve
from edgelaw.kaczmarz import blocks

__all__ = ["LearningCurve", "epoch_matrix", "iterates", "simulate"]

BATCH_MODES = ("projection", "average")
METHODS = ("auto", "blocked", "compiled")
# The compiled loop is faster than blocks up to so many probes, or up to so many numbers in W (measured).
FEW_KEPT, SMALL_KEPT = 8, 2**12
FEW_FRESH, SMALL_FRESH = 24, 2**14


def simulate(
    X,
    order,
    epochs,
    step=1.0,
    probes=32,
    runs=1,
    batch=1,
    y=None,
    rng=0,
    *,
    batch_mode="projection",
    normalised=True,
    probabilities=None,
    record=None,
    progress=None,
    workers=None,
    method="auto",
):
    """Learning curves of SGD on the least-squares problem X w = y, from random unit starts.

    A run has one order stream, shared by its probes, which start at w_0 = w* + a random unit vector.
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
    order : str
        One of `edgelaw.orders.ORDERS`.
    epochs : int
        How many epochs to run; an epoch is m row visits.
    step : float
        In (0, 2) for the normalised update, in units of the full projection; in (0, 2 / max ‖x_i‖²) for
        plain SGD. In that range no single update can increase the error.
    probes : int
        Weight vectors per run, independent uniform directions.
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

    Returns
    -------
    LearningCurve
        The same digits for the same seed on one machine, whatever the number of cores or workers: a run is
        computed by one thread, and BLAS is held to one thread meanwhile (`edgelaw._common.threads`).

    Examples
    --------
    Orthogonal rows are solved in one epoch, whatever their order:

    >>> curve = simulate(np.diag([1.0, 2.0, 3.0]), "single_shuffle", epochs=1)
    >>> curve.epochs.tolist(), curve.test.tolist()
    ([0, 1], [1.0, 0.0])
    """
    X = arguments.matrix(X, minimum=1)
    probes, runs = arguments.whole(probes, "probes", 1), arguments.whole(runs, "runs", 1)
    recorded = _recorded(record, arguments.whole(epochs, "epochs", 1))
    workers = threads.cores() if workers is None else arguments.whole(workers, "workers", 1)
    orders.stream(order, len(X), 0, probabilities)  # refuse what it refuses before any work is done
    with threads.one_blas_thread():
        problem = _Problem(X, y, step, batch, batch_mode, normalised)
        problem.centre(probabilities)
        halt = threading.Event()
        tick = _ticker(progress, runs * int(recorded[-1]), halt)

        def run(child):
            stream = orders.stream(order, len(X), child, probabilities)
            starts = child.standard_normal((X.shape[1], probes))
            starts /= np.linalg.norm(starts, axis=0)
            engine = _engine(problem, stream, probes, method)
            return [problem.losses(engine.rows, W) for W in _walk(engine, starts, recorded, tick)]

        losses = np.array(_spread(run, arguments.generator(rng).spawn(runs), min(workers, runs), halt))
    mean = losses.mean(axis=0)
    error = losses.std(axis=0, ddof=1) / np.sqrt(runs) if runs > 1 else np.full_like(mean, np.nan)
    return LearningCurve(recorded, *mean.T, *error.T)


def iterates(
    X,
    order,
    epochs,
    start,
    step=1.0,
    batch=1,
    y=None,
    rng=0,
    *,
    batch_mode="projection",
    normalised=True,
    probabilities=None,
    record=None,
    method="auto",
):
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
    X = arguments.matrix(X, minimum=1)
    start = arguments.real_array(start, "start", np.ndim(start) if np.ndim(start) in (1, 2) else 2)
    if len(start) != X.shape[1] or start.size == 0:
        raise ValueError(
            f"start must have one entry for each of the {X.shape[1]} columns of X, not {start.shape}."
        )
    recorded = _recorded(record, arguments.whole(epochs, "epochs", 1))
    problem = _Problem(X, y, step, batch, batch_mode, normalised)
    stream = orders.stream(order, len(X), rng, probabilities)
    starts = start.reshape(len(start), -1)
    engine = _engine(problem, stream, starts.shape[1], method)
    walk = _walk(engine, starts, recorded)
    for n in recorded.tolist():
        with threads.one_blas_thread():
            W = next(walk)
        yield n, W.reshape(start.shape).copy()


def epoch_matrix(U, step):
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
    problem = _Problem(arguments.matrix(U, "U", minimum=1), None, step, 1, "projection", normalised=False)
    kept = blocks.KeptBlocks(problem.rows(), None, problem.step, 1, "projection")
    A = np.eye(problem.X.shape[1], dtype=problem.X.dtype)
    with threads.one_blas_thread():
        for k in range(0, len(A), 256):  # panels whose change fits into the cache
            panel = np.ascontiguousarray(A[:, k : k + 256])
            kept.epoch(panel)
            A[:, k : k + 256] = panel
    return A


class _Problem:
    """Rows, targets and update rule, checked, in the units of the update."""

    def __init__(self, X, y, step, batch, batch_mode, normalised):
        self.X = X
        self.batch = arguments.whole(batch, "batch", 1)
        self.batch_mode = arguments.choice(batch_mode, "batch_mode", BATCH_MODES)
        self.norms = _norms(X)
        self.normalised = bool(normalised)
        if self.normalised:
            self.step = arguments.step(step)
            if not self.norms.all():
                raise ValueError(
                    f"X must have no zero row, but row {self.norms.argmin()} is zero; leave it out."
                )
        else:
            limit = 2 / max(self.norms.max(), 1e-150) ** 2
            self.step = arguments.number(step, "step (for rows as they are, below 2 / max ‖x‖²)", 0, limit)
        self.targets = None
        self._precision = np.finfo(X.dtype).eps
        if y is not None:
            y = arguments.real_array(y, "y", 1)
            if len(y) != len(X):
                raise ValueError(f"y must have one entry for each of the {len(X)} rows of X, not {len(y)}.")
            self._precision = max(self._precision, np.finfo(y.dtype).eps)
            self.targets = y / self.norms if self.normalised else y.astype(np.float64)

    def rows(self, places=None):
        """The rows as the update sees them, all or those at `places`: a copy only where it has to be."""
        if places is None and not self.normalised:
            return np.ascontiguousarray(self.X)
        rows = np.array(self.X, order="C") if places is None else np.take(self.X, places, axis=0)
        if self.normalised:
            norms = self.norms if places is None else self.norms[places]
            np.divide(rows, norms[:, None], out=rows, casting="same_kind")
        return rows

    def centre(self, probabilities):
        """Move the origin to w*, where the mean update vanishes; consistent targets are gone then."""
        if self.targets is None:
            return
        weights = np.ones(len(self.X)) if probabilities is None else len(self.X) * np.asarray(probabilities)
        A = self.rows().astype(np.float64) * np.sqrt(weights)[:, None]
        b = self.targets * np.sqrt(weights)
        solution = np.linalg.lstsq(A, b, rcond=None)[0]
        size = np.linalg.norm(A) * np.linalg.norm(solution) + np.linalg.norm(b)
        if np.linalg.norm(A @ solution - b) <= max(A.shape) * self._precision * size:
            self.targets = None
        else:
            self.targets = self.targets - self.rows() @ solution

    def losses(self, rows, W):
        """Test and training loss of the errors W (d, probes), averaged over the probes."""
        scale = W.shape[0] / len(rows) if self.normalised else 1 / len(rows)
        return _squares(W).mean(), scale * _squares(rows @ W).mean()


class _Compiled:
    """Epochs by the compiled loop."""

    layout = "F"  # each probe contiguous
    overhead = 2**8  # of an epoch, in multiplications

    def __init__(self, problem, stream):
        from edgelaw.kaczmarz.compiled import sweep  # numba is imported when it is needed, not before

        self._sweep, self._stream, self._step = sweep, stream, problem.X.dtype.type(problem.step)
        self.rows = problem.rows(stream.permutation)
        targets = np.zeros(stream.rows) if problem.targets is None else problem.targets
        self._places = None
        if stream.permutation is not None:
            targets = targets[stream.permutation]
            self._places = stream.permutation.argsort()
        self._targets = targets.astype(self.rows.dtype)

    def advance(self, W, start, count):
        visits = self._stream.epochs(start, count).ravel()
        if self._places is not None:
            visits = self._places[visits]
        residuals = np.empty(W.shape[1], dtype=W.dtype)
        self._sweep(self.rows, self._targets, W.T, residuals, visits, self._step)


class _Blocked:
    """Epochs by triangular solves and matrix products."""

    layout = "C"  # the d × probes matrix as BLAS likes it
    overhead = 2**19

    def __init__(self, problem, stream):
        self._stream = stream
        self.rows = problem.rows(stream.permutation)
        targets = problem.targets
        if targets is not None:
            targets = targets if stream.permutation is None else targets[stream.permutation]
            targets = targets.astype(self.rows.dtype)
        kind = blocks.FreshBlocks if stream.permutation is None else blocks.KeptBlocks
        self._epochs = kind(self.rows, targets, problem.step, problem.batch, problem.batch_mode)

    def advance(self, W, start, count):
        for n in range(start, start + count):
            if self._stream.permutation is None:
                self._epochs.epoch(W, self._stream.epoch(n))
            else:
                self._epochs.epoch(W, self._stream.backwards(n))


def _engine(problem, stream, probes, method):
    """The engine asked for, or the faster one."""
    arguments.choice(method, "method", METHODS)
    if method == "compiled" and problem.batch > 1:
        raise ValueError(f"method 'compiled' goes row by row and needs batch=1, not {problem.batch}.")
    few, small = (FEW_FRESH, SMALL_FRESH) if stream.permutation is None else (FEW_KEPT, SMALL_KEPT)
    few = probes <= few or probes * problem.X.shape[1] <= small
    if method == "compiled" or (method == "auto" and problem.batch == 1 and few):
        return _Compiled(problem, stream)
    return _Blocked(problem, stream)


def _walk(engine, starts, recorded, tick=lambda count: None):
    """Yield the weights (d, probes) at each recorded epoch; they change when the next is asked for."""
    m, d = engine.rows.shape
    W = np.array(starts, dtype=engine.rows.dtype, order=engine.layout)
    # Pieces short enough to report progress, to keep few indices in memory, and to notice what has vanished.
    piece = max(1, min(2**20 // m, 2**28 // (m * d * W.shape[1] + engine.overhead)))
    now = 0
    for n in recorded.tolist():
        while now < n:
            count = min(piece, n - now)
            engine.advance(W, now, count)
            now += count
            W[:, _squares(W) < _VANISHED[W.dtype.type]] = 0  # subnormal numbers are a hundred times slower
            tick(count)
        yield W


_VANISHED = {np.float64: 1e-300, np.float32: 1e-72}


def _squares(A):
    """Squared norms of the columns, summed in float64."""
    return np.einsum("ij,ij->j", A, A, dtype=np.float64)


def _norms(X):
    """Row norms, in float64, without overflow or underflow and without a second copy of X."""
    norms = np.empty(len(X))
    for k in range(0, len(X), 256):
        part = X[k : k + 256].astype(np.float64)
        largest = np.maximum(np.abs(part).max(axis=1), np.finfo(np.float64).tiny)
        norms[k : k + 256] = largest * np.linalg.norm(part / largest[:, None], axis=1)
    return norms


def _recorded(record, epochs):
    """The epochs to record, ascending, 0 included."""
    if record is None:
        return np.arange(epochs + 1)
    numbers = np.array([arguments.whole(n, "record", 0) for n in record], dtype=np.int64)
    if numbers.size == 0 or numbers.max() > epochs:
        raise ValueError(
            f"record must name at least one epoch between 0 and epochs={epochs}, and none beyond."
        )
    return np.union1d(numbers, 0)


def _ticker(progress, total, halt):
    """A function that adds up the epochs done and reports them, one thread at a time, until halted."""
    lock, done = threading.Lock(), 0

    def tick(count):
        nonlocal done
        if halt.is_set():
            raise concurrent.futures.CancelledError
        if progress is not None:
            with lock:
                done += count
                progress(done, total)

    return tick


def _spread(run, children, workers, halt):
    """The results of `run` for each child, by so many threads; the first failure, or Ctrl-C, halts them all."""
    if workers == 1:
        return [run(child) for child in children]
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
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
