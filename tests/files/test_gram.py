"""One pass over rows: fingerprints, reading ahead, and memory that does not grow with the file."""

import subprocess
import sys

import numpy as np
import pytest

from edgelaw_app.files import InputError, gram, survey


def test_fingerprints_of_distinct_rows_differ_where_sums_would_not():
    rows = np.eye(64, dtype=np.float64) * -2 + 1  # one sign flipped per row
    pairs = np.ones((2016, 64))
    for k, (i, j) in enumerate(np.argwhere(np.triu(np.ones((64, 64)), 1))):
        pairs[k, [i, j]] = -1
    prints = survey.fingerprints(np.concatenate([rows, pairs]))
    assert len(np.unique(prints)) == 64 + 2016


def test_reading_ahead_keeps_order_passes_errors_on_and_stops_when_told():
    assert list(gram.read_ahead(range(20))) == list(range(20))

    def failing():
        yield 1
        raise InputError("No.")

    with pytest.raises(InputError, match="No"):
        list(gram.read_ahead(failing()))
    made = []
    walk = gram.read_ahead(made.append(k) or k for k in range(1000))
    assert next(walk) == 0
    walk.close()
    assert len(made) <= 3


def test_a_survey_of_more_rows_than_are_remembered_knows_the_mean_and_no_duplicates(monkeypatch):
    monkeypatch.setattr(survey, "REMEMBERED", 3)
    rows = np.arange(12.0).reshape(4, 3)
    some, other = gram.survey(rows[:3]), gram.survey(rows[3:])
    both = gram.merge(some, other)
    assert both.mean.tolist() == [4.5, 5.5, 6.5]
    assert (some.duplicates, both.duplicates, gram.merge(both, other).duplicates) == (0, None, None)


MEASURE = """
import sys
from edgelaw_app import files
def run(path):
    files.design(files.open_matrix(path)).gram_eigenvalues()
    # not getrusage, whose peak is inherited from the process that started this one
    return int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) // 1024
small = [run(path) for path in sys.argv[1:3]]
print(max(run(path) for path in sys.argv[3:]) - max(small))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_file_larger_than_its_blocks_is_never_in_memory_whole(tmp_path):
    rows = np.random.default_rng(0).standard_normal((70_000, 200), dtype=np.float32)  # 56 MB, 112 in float64
    paths = [str(tmp_path / name) for name in ("small.npy", "small.npz", "large.npy", "large.npz")]
    for path, part in zip(paths, (rows[:10_000], rows[:10_000], rows, rows), strict=True):
        np.save(path, part) if path.endswith("npy") else np.savez(path, part)
    run = subprocess.run([sys.executable, "-c", MEASURE, *paths], capture_output=True, text=True, check=True)
    assert int(run.stdout) < 32  # megabytes; the larger files in memory whole would be 48 more
    for path in paths:
        (tmp_path / path).unlink()
