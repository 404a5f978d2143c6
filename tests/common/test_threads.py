"""One BLAS thread while it is asked for, and work spread over threads, or not where there are none."""

import os
import threading

import numpy as np
import pytest

from edgelaw import kaczmarz
from edgelaw._common import threads
from edgelaw_app.files.gram import read_ahead


def in_use():
    return {library.get_num_threads() for library in threads.blas().lib_controllers}


@pytest.fixture
def two_blas_threads():
    if not threads.blas().lib_controllers:
        pytest.skip("numpy and scipy use a BLAS that threadpoolctl does not know")
    with threads.blas().limit(limits=2):
        if in_use() != {2}:
            pytest.skip("this BLAS has one thread only")
        yield


def test_blas_has_one_thread_inside_and_as_many_as_before_outside(two_blas_threads):
    inside = []

    def other_thread():
        with threads.one_blas_thread():
            pass
        inside.append(in_use())

    with threads.one_blas_thread():
        inside.append(in_use())
        with threads.one_blas_thread():
            pass
        inside.append(in_use())
        thread = threading.Thread(target=other_thread)  # its end must not end ours
        thread.start()
        thread.join()
    assert inside == [{1}, {1}, {1}]
    assert in_use() == {2}


def test_a_failure_inside_gives_the_threads_back(two_blas_threads):
    with pytest.raises(KeyError), threads.one_blas_thread():
        raise KeyError
    assert in_use() == {2}


def test_the_blas_of_numpy_and_that_of_scipy_are_both_found():
    prefixes = {library.prefix for library in threads.blas().lib_controllers if library.prefix}
    files = [library.filepath for library in threads.blas().lib_controllers]
    if not any("scipy_openblas" in path for path in files):
        pytest.skip(f"not the wheels of numpy and scipy: {files}")
    assert prefixes == {"libscipy_openblas"}
    assert len(files) == 2


def test_the_number_of_cores_is_known_without_affinity(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert threads.cores() == 1


@pytest.fixture
def no_threads(monkeypatch):
    def cannot(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", cannot)


def test_calls_go_to_threads_where_there_are_some():
    with threads.executor(2) as pool:
        assert pool.submit(threading.current_thread).result() is not threading.main_thread()
        assert list(pool.map(divmod, (7, 8), (2, 3))) == [(3, 1), (2, 2)]


def test_calls_are_made_by_the_caller_where_no_thread_can_be_started(no_threads):
    with threads.executor(2) as pool:
        assert pool.submit(threading.current_thread).result() is threading.main_thread()
        assert list(pool.map(divmod, (7, 8), (2, 3))) == [(3, 1), (2, 2)]
        failed = pool.submit(divmod, 1, 0)
    with pytest.raises(ZeroDivisionError):
        failed.result()


def test_ctrl_c_is_not_kept_for_later_where_no_thread_can_be_started(no_threads):
    def interrupted():
        raise KeyboardInterrupt

    with threads.executor(2) as pool, pytest.raises(KeyboardInterrupt):
        pool.submit(interrupted)


def test_a_simulation_without_threads_gives_the_same_digits(no_threads, monkeypatch):
    X = np.random.default_rng(0).standard_normal((20, 10))
    without = kaczmarz.simulate(X, "iid", 3, runs=4)
    monkeypatch.undo()
    assert (without.test == kaczmarz.simulate(X, "iid", 3, runs=4).test).all()


def test_files_are_read_without_threads(no_threads):
    assert list(read_ahead(iter("abc"))) == ["a", "b", "c"]
