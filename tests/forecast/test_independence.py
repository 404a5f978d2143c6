"""Nothing in a forecast depends on time, load, cores or threads."""

import json
import os
import resource
import subprocess
import sys
import time

import numpy as np

from edgelaw import data
from edgelaw._common import threads
from edgelaw_app.forecast import predict


def rows():
    """Rows in pairs: the theory is mistrusted, so that simulations are run too."""
    X = data.gaussian(24, 32, rng=0)
    return np.concatenate([X, X + 0.01 * data.gaussian(24, 32, rng=1)])


def forecast():
    return predict(rows(), 3, ("iid", "single_shuffle"), target=0.5, operations=6e7).to_dict()


def test_a_slow_clock_changes_nothing(monkeypatch):
    usual = forecast()
    hours = iter(range(10**9))
    for name in ("time", "monotonic", "perf_counter", "process_time"):
        monkeypatch.setattr(time, name, lambda: 3600.0 * next(hours))
    assert forecast() == usual


def test_the_number_of_cores_changes_nothing(monkeypatch):
    results = []
    for count in (1, 4):
        monkeypatch.setattr(threads, "cores", lambda count=count: count)
        results.append(forecast())
    assert results[0] == results[1]
    assert results[0]["check"]["verdict"] == "differs"
    assert results[0]["orders"]["iid"]["how"] != "theory"


def test_the_number_of_blas_threads_changes_no_digit_and_hardly_the_cost(tmp_path):
    np.save(tmp_path / "rows.npy", data.gaussian(150, 120, rng=3))
    command = [sys.executable, "-m", "edgelaw_app", "predict", "rows.npy", "--epochs", "9", "--json"]
    outputs, costs = [], []
    for count in ("1", "1", "8"):  # the first may compile
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        environment = {**os.environ, **dict.fromkeys(names, count)}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, check=True, timeout=300
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        costs.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        outputs.append(json.loads(done.stdout))
    assert outputs[0] == outputs[1] == outputs[2]
    assert costs[2] < 2 * costs[1] + 1
