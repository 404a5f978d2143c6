"""Ctrl-C: a command ends at once, whatever it is computing, says so, and leaves no half-written file behind."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from running import run

from edgelaw_app import files
from edgelaw_app.cli import terminal


@pytest.fixture(autouse=True)
def ctrl_c():
    """A signal is seen, here and in a process that is started, even where tests run in the background of a shell."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def matrix(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.random.default_rng(0).normal(size=(30, 24)))
    return tmp_path


@pytest.mark.skipif(os.name == "nt", reason="a signal cannot be sent to one process")
def test_a_process_in_the_middle_of_lapack_ends_within_a_second_or_so():
    """Singular values of 3000 rows in 3000 columns take ten seconds or more, and a signal is seen after them."""
    code = (
        "import sys, numpy as np\nfrom edgelaw import spectrum\nfrom edgelaw_app import cli, files\n"
        "X = np.random.default_rng(0).normal(size=(3000, 3000))\n"
        "files.open_matrix = lambda *_: print('busy', flush=True) or spectrum.gram_eigenvalues(X)\n"
        "sys.argv = ['edgelaw', 'spectrum', 'x.npy']\nsys.exit(cli.main())"
    )
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", code], **pipes) as process:
        assert process.stdout.readline() == "busy\n"
        time.sleep(0.5)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
        took = time.monotonic() - began
    assert (process.returncode, out, err.splitlines()[-1]) == (130, "", "edgelaw: stopped.")
    assert "Traceback" not in err
    assert took < 3  # on a busy machine; a second elsewhere


@pytest.mark.skipif(os.name == "nt", reason="a signal cannot be sent to one process")
def test_processes_that_a_command_started_end_with_it(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import multiprocessing, sys, time\nfrom concurrent.futures import ProcessPoolExecutor\n"
        "from edgelaw_app import cli\nfrom edgelaw_app.cli import demo\n"
        "def run(_):\n"
        "    pool = ProcessPoolExecutor(2, mp_context=multiprocessing.get_context('spawn'))\n"
        "    waits = [pool.submit(time.sleep, 60) for _ in range(2)]\n"
        "    print(*pool._processes, flush=True)\n"
        "    return waits[0].result()\n"
        "demo.run = run\n"
        "if __name__ == '__main__':\n    sys.argv = ['edgelaw', 'demo']\n    sys.exit(cli.main())\n"
    )
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, str(script)], **pipes) as process:
        children = list(map(int, process.stdout.readline().split()))
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
    assert len(children) == 2
    limit = time.monotonic() + 20
    while any(alive(child) for child in children):
        assert time.monotonic() < limit
        time.sleep(0.1)


def alive(pid):
    """Whether a process runs; one that has ended and that nobody has asked for does not."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_a_process_of_somebody_else_is_not_ended_and_the_work_ends_too(matrix, monkeypatch):
    ended = threading.Event()

    def endless(*_):
        try:
            os.kill(os.getpid(), signal.SIGINT)
            while True:
                time.sleep(0.01)
        finally:
            ended.set()

    monkeypatch.setattr(files, "open_matrix", endless)
    assert run("spectrum", "x.npy") == (130, "", "edgelaw: stopped.\n")
    assert ended.wait(5)


def test_work_that_has_only_begun_is_asked_to_end_too(monkeypatch):
    begun, ended, start = threading.Event(), threading.Event(), threading.Thread.start

    def endless():
        try:
            begun.set()
            while True:
                time.sleep(0.01)
        finally:
            ended.set()

    def interrupted(thread):
        start(thread)
        begun.wait(60)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        terminal.interruptible(endless, process=False)
    assert ended.wait(5)


def test_a_file_that_is_being_written_is_not_left_half_written(matrix, monkeypatch):
    (matrix / "r.svg").write_text("before")

    def slow(_):
        os.kill(os.getpid(), signal.SIGINT)
        while True:
            time.sleep(0.01)

    monkeypatch.setattr(terminal, "GRACE", 10)
    monkeypatch.setattr(os, "fsync", slow)
    assert run("spectrum", "x.npy", "--plot", "r.svg") == (130, "", "edgelaw: stopped.\n")
    assert sorted(os.listdir()) == ["r.svg", "x.npy"]
    assert (matrix / "r.svg").read_text() == "before"


def test_what_goes_wrong_in_the_work_goes_wrong_where_it_was_asked_for():
    def broken():
        raise ZeroDivisionError("of the work")

    with pytest.raises(ZeroDivisionError, match="of the work") as caught:
        terminal.interruptible(broken, process=False)
    assert caught.traceback[-1].name == "broken"
    assert terminal.interruptible(lambda: 7, process=False) == 7
