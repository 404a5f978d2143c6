"""Worker processes find the same eigenvalues and curves as this process, also when one of them dies."""

import os
import re
import signal
import socket
import sys
import threading
import time

import numpy as np
import pytest
from running import run

from edgelaw_app import files
from edgelaw_app.cli import cluster
from edgelaw_app.files import InputError, design, open_matrix

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client():
    """Two worker processes, ended with the module."""
    with distributed.Client(**cluster.LOCAL, n_workers=2) as client:
        yield client


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    """6000 rows of 30 columns with a large mean, in nine files of unequal length."""
    folder = tmp_path_factory.mktemp("shards")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 30)) * np.arange(1, 31) ** -0.5 + 5
    for k, part in enumerate(np.split(X, [100, 900, 1600, 2500, 2501 + 1, 4000, 4700, 5900])):
        np.save(folder / f"{k}.npy", part)
    return folder


def assert_same(values, expected):
    """Equal to 1e-10 of the largest, and zeros where zeros are."""
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-10 * expected[-1])
    np.testing.assert_array_equal(values == 0, expected == 0)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("normalize", [True, False])
def test_two_processes_find_the_eigenvalues_of_one(client, shards, center, normalize):
    options = {"center": center, "normalize": normalize}
    calls = []
    made = design(open_matrix(shards), **options)
    values = cluster.gram_eigenvalues(made, client, lambda *call: calls.append(call))
    assert_same(values, design(open_matrix(shards), **options).gram_eigenvalues())
    done, total, what = calls[-1]
    assert done == total >= 16  # two readings, about eight ranges each
    assert what == "summing the Gram matrix"
    assert [call[0] for call in calls] == sorted(call[0] for call in calls)
    assert made.duplicates == 0  # found by the workers, too
    np.testing.assert_array_equal(made.gram_eigenvalues(), values)  # and remembered


def test_chosen_rows_and_projections_are_the_same_on_workers(client, shards):
    options = {"rows": 4500, "dims": 22, "rng": 3}
    values = cluster.gram_eigenvalues(design(open_matrix(shards), **options), client)
    assert_same(values, design(open_matrix(shards), **options).gram_eigenvalues())


def test_an_array_in_memory_is_sent_to_the_workers(client, shards):
    X = np.concatenate(list(open_matrix(shards).blocks()))
    assert_same(cluster.gram_eigenvalues(design(X), client), design(X).gram_eigenvalues())


def test_a_worker_killed_while_it_sums_costs_nothing(client, shards, tmp_path, monkeypatch):
    mark = tmp_path / "killed"
    real = cluster._part

    def deadly(made, survey, start, stop):  # sent to the workers by value
        if survey and start >= 2000 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return real(made, survey, start, stop)

    monkeypatch.setattr(cluster, "_part", deadly)
    before = set(client.run(os.getpid).values())
    calls = []
    made = design(open_matrix(shards))
    values = cluster.gram_eigenvalues(made, client, lambda *call: calls.append(call))
    assert mark.exists()
    assert_same(values, design(open_matrix(shards)).gram_eigenvalues())
    assert calls[-1][0] == calls[-1][1]
    client.wait_for_workers(2, timeout=120)
    assert len(before & set(client.run(os.getpid).values())) == 1  # one died and was replaced


def test_a_worker_killed_from_outside_costs_nothing(client, shards):
    client.wait_for_workers(2, timeout=120)
    pids = list(client.run(os.getpid).values())

    def kill(done, total, what):
        if what == "summing the Gram matrix" and pids:
            os.kill(pids.pop(), signal.SIGKILL)
            pids.clear()

    values = cluster.gram_eigenvalues(design(open_matrix(shards)), client, kill)
    assert_same(values, design(open_matrix(shards)).gram_eigenvalues())
    client.wait_for_workers(2, timeout=120)


def test_what_a_worker_refuses_is_refused_here_in_the_same_words(client, shards, tmp_path):
    for path in shards.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    bad = np.load(tmp_path / "5.npy")
    bad[7, 3] = np.nan
    np.save(tmp_path / "5.npy", bad)
    row = open_matrix(shards)._ends[5] + 7
    with pytest.raises(InputError, match=f"there is nan in row {row}, column '3'"):
        cluster.gram_eigenvalues(design(open_matrix(tmp_path)), client)
    bad[7] = 0
    np.save(tmp_path / "5.npy", bad)
    with pytest.raises(InputError, match=f"Row {row} of .* is zero"):
        cluster.gram_eigenvalues(design(open_matrix(tmp_path), center=False), client)


# connecting


def refusal(where):
    """The sentence with which an address is refused."""
    with pytest.raises(InputError, match=r"^No Dask scheduler answers at ") as caught:
        cluster.eigenvalues(design(np.zeros((2, 20))), where)
    return str(caught.value)


def test_where_nobody_listens_is_told_at_once():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    start = time.monotonic()
    assert re.search(rf" at tcp://127\.0\.0\.1:{port}; .*refused", refusal(f"tcp://127.0.0.1:{port}"))
    assert time.monotonic() - start < 5


@pytest.mark.parametrize("greeting", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"", None])
def test_something_else_that_answers_or_is_silent_is_not_taken_for_a_scheduler(greeting, monkeypatch):
    monkeypatch.setattr(cluster, "SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:
        over = threading.Event()

        def answer():
            caller, _ = server.accept()
            with caller:
                if greeting is None:
                    over.wait(60)
                caller.sendall(greeting or b"")

        thread = threading.Thread(target=answer)
        thread.start()
        sentence = refusal(f"tcp://127.0.0.1:{server.getsockname()[1]}")
        assert ("timed out" if greeting is None else "another service answers there") in sentence
        over.set()
        thread.join()


@pytest.mark.parametrize("where", ["nowhere", "tcp://host", "ftp://host:1", "tcp://host:port"])
def test_an_address_that_is_none_is_refused(where):
    assert "tcp://host:8786" in refusal(where)


def test_a_running_scheduler_is_used(client, shards):
    made = design(open_matrix(shards))
    values = cluster.eigenvalues(made, client.scheduler.address)
    assert_same(values, design(open_matrix(shards)).gram_eigenvalues())


def test_dask_missing_is_told_with_its_extra(shards, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    status, out, err = run("spectrum", shards, "--dask")
    assert (status, out) == (1, "")
    assert "edgelaw[dask]" in err


def test_a_small_design_is_decomposed_here(client, shards):
    made = design(open_matrix(shards), rows=50)
    np.testing.assert_array_equal(
        cluster.gram_eigenvalues(made, client), files.design(open_matrix(shards), rows=50).gram_eigenvalues()
    )
