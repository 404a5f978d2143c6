"""One BLAS thread while a simulation runs, so that its digits do not depend on the number of cores.

A matrix product splits its work differently over different numbers of threads, and the last digits follow.
The simulator's parallelism is over runs, each computed from start to end by one thread, so BLAS has no use
for more. The number of BLAS threads is the process's own, set at run time through the library that numpy
and scipy loaded. OpenBLAS is found in the wheels of numpy and scipy on every platform, and on Linux
wherever it was loaded from; with another BLAS nothing is changed here, and its own variable (such as
``MKL_NUM_THREADS=1``) gives the same guarantee.
"""

import contextlib
import ctypes
import functools
import os
import pathlib
import threading
from collections.abc import Callable, Iterator

import numpy
import scipy

_lock = threading.Lock()
_users = 0  # simulations under way in this process, which may run in several of the caller's threads
_before: list[int] = []


def _libraries() -> list[pathlib.Path]:
    """Paths of the OpenBLAS libraries of this process."""
    paths: set[pathlib.Path] = set()
    for module in (numpy, scipy):
        home = pathlib.Path(str(module.__file__)).parent
        for folder in (home.parent / f"{module.__name__}.libs", home / ".dylibs"):
            paths.update(folder.glob("*openblas*"))
    maps = pathlib.Path("/proc/self/maps")
    if maps.exists():
        loaded = (line.split(maxsplit=5)[-1] for line in maps.read_text().splitlines())
        paths.update(pathlib.Path(name) for name in loaded if "openblas" in pathlib.Path(name).name)
    return sorted(paths)


@functools.cache
def _controls() -> list[tuple[Callable[[], int], Callable[[int], object]]]:
    """Pairs of functions (threads in use, set threads), one pair per library."""
    controls = []
    for path in _libraries():
        library = ctypes.CDLL(str(path))
        for prefix in ("scipy_openblas", "openblas"):
            for suffix in ("", "64_", "_64"):
                get = getattr(library, f"{prefix}_get_num_threads{suffix}", None)
                put = getattr(library, f"{prefix}_set_num_threads{suffix}", None)
                if get and put:
                    controls.append((get, put))
    return controls


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Within this context the process's BLAS uses one thread; afterwards as many as before."""
    global _users, _before
    with _lock:
        if _users == 0:
            _before = [get() for get, _ in _controls()]
            for _, put in _controls():
                put(1)
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                for (_, put), threads in zip(_controls(), _before, strict=True):
                    put(threads)


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
