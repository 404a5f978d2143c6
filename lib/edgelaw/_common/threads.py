"""Threads: one for BLAS while a simulation runs, and as many as wanted, or can be had, for the runs themselves.

A matrix product splits its work differently over different numbers of threads, and the last digits follow.
"""

import concurrent.futures
import contextlib
import functools
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

import threadpoolctl

_lock = threading.Lock()
_users = 0  # simulations under way in this process, which may run in several of the caller's threads
_limits = contextlib.ExitStack()


@functools.cache
def blas() -> threadpoolctl.ThreadpoolController:
    """The BLAS libraries of numpy and scipy: looked for once, since that takes milliseconds."""
    import scipy.linalg  # noqa: F401  (its BLAS is its own, and can be found only when it is loaded)

    return threadpoolctl.ThreadpoolController().select(user_api="blas")


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Within this context the process's BLAS uses one thread; afterwards as many as before."""
    global _users
    with _lock:
        if _users == 0:
            _limits.enter_context(blas().limit(limits=1))
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _limits.close()


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def executor(workers: int) -> concurrent.futures.Executor:
    """So many threads that take calls; where none can be started, as in browsers, the caller's own, call by call."""
    try:  # because a limit of the system may be reached at any time
        threading.Thread(target=int).start()
    except RuntimeError:
        return Synchronous()
    return concurrent.futures.ThreadPoolExecutor(workers)


class Synchronous(concurrent.futures.Executor):
    """An executor without threads: what is submitted is done at once, and Ctrl-C goes to who submits."""

    def submit(self, function: Callable, /, *arguments: Any, **options: Any) -> concurrent.futures.Future:
        """The result of the call, or its failure."""
        future: concurrent.futures.Future = concurrent.futures.Future()
        try:
            future.set_result(function(*arguments, **options))
        except Exception as failure:
            future.set_exception(failure)
        return future
