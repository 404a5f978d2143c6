"""SGD on least squares, row by row, at the speed of matrix products.

The update by row x with target y is the normalised (Kaczmarz) one,

    w ← w − step · (⟨x, w⟩ − y) x / ‖x‖²,      0 < step < 2,

or plain SGD's, w ← w − step · (⟨x, w⟩ − y) x. One or few weight vectors go through it as a compiled loop
(`edgelaw.kaczmarz.compiled`). Many go through a block of rows at once, by a triangular solve between large matrix
products (`edgelaw.kaczmarz.blocks`). Both are the definition, reordered: nothing is approximated.
"""

import concurrent.futures
import threading
from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np
from scipy.linalg import solve_triangular

from edgelaw import orders
from edgelaw._common import arguments, threads
from edgelaw._common.types import Array, ArrayLike, Rng
from edgelaw.curves import LearningCurve
from edgelaw.kaczmarz import engines
from edgelaw.kaczmarz.blocks import KEPT
from edgelaw.kaczmarz.problem import Problem

STARTS = ("random", "orthonormal", "all")
PROBES = 32
Result = TypeVar("Result")


def simulate(
    X: ArrayLike | Problem,
    order: orders.Order,
    epochs: ArrayLike,
    step: ArrayLike = 1.0,
    probes: int = PROBES,
    runs: int = 1,
    rng: Rng = 0,
    starts: str = "random",
) -> LearningCurve:
    """Learning curves of SGD on the least-squares problem X w = y, from random unit starts or from all starts.

    A run has one order stream, shared by its probes, which start at w_0 = w* + a unit vector (`starts`). The losses are
    those of a `LearningCurve`; with inconsistent targets the training loss is the *excess* over the smallest one.
    Losses below 1e-300 (float32: 1e-72) come out as 0. w* is where the mean update vanishes: the least-squares solution
    (of smallest norm, or with the ridge) of the rows *as the update sees them*, each weighted by its probability.
    Targets that are consistent to rounding merely shift the problem; others end at a floor that depends on the step.

    Parameters
    ----------
    X : array (m, d) or Problem
        The rows, for the normalised update row by row with targets zero; or a `Problem`, which has targets, batches,
        plain SGD, a ridge.
    order : str, edgelaw.orders.ShuffleBuffer or edgelaw.orders.BlockShuffle
        One of `edgelaw.orders.ORDERS`, or an order with a parameter, which reads the rows as X has them.
    epochs : int or array of int
        How many epochs to run, each m row visits, and all are recorded, at half an epoch's cost; or the epochs to
        record, 0 always included. The choice may show in the last digits.
    step : float, or array of one per epoch
        In (0, 2) for the normalised update; in (0, 2 / max ‖x_i‖²) for plain SGD. For averages of b rows it may be b
        times as large; what an order stands on average is :func:`edgelaw.exact.stability`. Steps of a schedule are
        taken as they are.
    probes, runs : int
        Weight vectors per run, and independent runs (order and starts), as many at the same time as there are cores;
        standard errors are over runs, and NaN for one run. Each run of an order that repeats holds a copy of the data.
    rng : int or numpy.random.Generator
        Seed of everything random. Run r depends on it and on r only. The same seed gives the same digits on one
        machine, whatever the number of cores.
    starts : {"random", "orthonormal", "all"}
        Where the probes start: at w* plus independent uniform unit vectors; plus a random set of at most d orthonormal
        ones, whose mean varies less; or plus each of the d coordinate vectors, where `probes` stays at its default: the
        mean over uniform ones exactly, so that standard errors are those of the order.

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
    """
    problem, recorded = X if isinstance(X, Problem) else Problem(X), arguments.epochs(epochs)
    m, d = problem.X.shape
    probes, runs = _probes(probes, starts, d), arguments.whole(runs, "runs", 1)
    steps = problem.steps(step, int(recorded[-1]))
    if problem.targets is not None and problem.targets.shape[1] > 1:
        raise ValueError(
            "y must have one output to be simulated from random starts; `iterates` takes several."
        )
    orders.stream(order, m, 0, problem.probabilities)  # refuse what it refuses before any work is done
    with threads.one_blas_thread():
        problem, origin = problem.centred()

        def run(child: np.random.Generator, halt: threading.Event) -> list[tuple[float, float]]:
            # What is drawn first is part of the digits of a seed: random starts after the order, others before it.
            S = np.linalg.qr(child.standard_normal((d, probes)))[0] if starts == "orthonormal" else np.eye(d)
            stream = orders.stream(order, m, child, problem.probabilities)
            if starts == "random":
                S = child.standard_normal((d, probes))
                S /= np.linalg.norm(S, axis=0)
            engine = engines.choose(problem, stream, probes)
            walk = engines.walk(engine, origin + S, recorded, steps, halt)
            return [problem.losses(engine.rows, W - origin) for W in walk]

        losses = np.array(by_run(run, rng, runs))
    mean = losses.mean(axis=0)
    error = losses.std(axis=0, ddof=1) / np.sqrt(runs) if runs > 1 else np.full_like(mean, np.nan)
    return LearningCurve(recorded, *mean.T, *error.T)


def iterates(
    X: ArrayLike | Problem,
    order: orders.Order,
    epochs: ArrayLike,
    start: ArrayLike,
    step: ArrayLike = 1.0,
    rng: Rng = 0,
) -> Iterator[tuple[int, Array]]:
    """The weights themselves: yields (n, w_n) at the recorded epochs, from a given start.

    `start` is w_0, (d,) or (d, probes), in the coordinates of the problem (not relative to w*); every yielded w_n is a
    new array of this shape. Targets with several columns belong to one column of weights each. The row indices are
    those of ``edgelaw.orders.stream(order, m, rng, probabilities)``; the rest is as in `simulate`.

    >>> pair = Problem(np.array([[2.0, 0.0], [0.0, 4.0]]), y=[2.0, 8.0])
    >>> [(n, w.tolist()) for n, w in iterates(pair, "single_shuffle", 1, start=np.zeros(2))]
    [(0, [0.0, 0.0]), (1, [1.0, 2.0])]
    """
    problem, recorded = X if isinstance(X, Problem) else Problem(X), arguments.epochs(epochs)
    m, d = problem.X.shape
    w_0 = arguments.real_array(start, "start", np.ndim(start) if np.ndim(start) in (1, 2) else 2)
    if len(w_0) != d or w_0.size == 0:
        raise ValueError(f"start must have one entry for each of the {d} columns of X, not {w_0.shape}.")
    W_0 = w_0.reshape(d, -1)
    outputs, probes = 1 if problem.targets is None else problem.targets.shape[1], W_0.shape[1]
    if outputs not in (1, probes):
        raise ValueError(f"start must have a column for each of the {outputs} outputs, not {probes}.")
    steps = problem.steps(step, int(recorded[-1]))
    engine = engines.choose(problem, orders.stream(order, m, rng, problem.probabilities), probes)
    walk = engines.walk(engine, W_0, recorded, steps)
    for n in recorded.tolist():
        with threads.one_blas_thread():
            W = next(walk)
        yield n, W.reshape(w_0.shape).copy()


def epoch_matrix(U: ArrayLike, step: float) -> Array:
    """The whole map w ↦ A w of an epoch without targets: A = (I − step·u_m u_mᵀ) ⋯ (I − step·u_1 u_1ᵀ) = I − Uᵀ M⁻¹ U.

    Here M = I/step + the strictly lower triangle of U Uᵀ. The rows (m, d) are in visiting order and used as they are.

    >>> epoch_matrix(np.array([[1.0, 0.0], [0.6, 0.8]]), step=1.0).round(2).tolist()
    [[0.0, -0.48], [0.0, 0.36]]
    """
    problem = Problem(arguments.matrix(U, "U", minimum=1), normalised=False)
    (step,), A = problem.steps(step, 1), np.eye(problem.X.shape[1], dtype=problem.X.dtype)
    with threads.one_blas_thread():
        for first in range(0, len(problem.X), KEPT):
            rows = problem.X[first : first + KEPT]
            M = rows @ rows.T
            np.fill_diagonal(M, 1 / step)
            A -= rows.T @ solve_triangular(M, rows @ A, lower=True, check_finite=False)
    return A


def by_run(
    run: Callable[[np.random.Generator, threading.Event], Result], rng: Rng, runs: int
) -> list[Result]:
    """The results of `run` for as many children of a generator, by as many threads as there are cores.

    The first failure, or Ctrl-C, sets the event for which the other runs look out.
    """
    children, halt = arguments.generator(rng).spawn(runs), threading.Event()
    with threads.one_blas_thread(), threads.executor(min(threads.cores(), runs)) as pool:
        futures = [pool.submit(run, child, halt) for child in children]
        try:
            finished, _ = concurrent.futures.wait(futures, return_when=concurrent.futures.FIRST_EXCEPTION)
            for future in finished:
                future.result()
        except BaseException:
            halt.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [future.result() for future in futures]


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
