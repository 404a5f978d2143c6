"""An interrupted run continues, never restarts, and leaves no half-written file: tested by killing it."""

import io
import json
import signal
import subprocess
import sys
import tarfile
import textwrap
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
import resumable
from PIL import Image
from resumable import Progress, atomic, in_shards

BUILD = Path(resumable.__file__).parent
SILENT = io.StringIO


def run(folder, compute, count=10, batch=3, **job):
    return in_shards(count, compute, job, folder, batch, Progress(count, "rows", SILENT()))


def test_the_rows_come_back_in_order_with_an_uneven_last_batch(tmp_path):
    rows = np.random.default_rng(0).normal(size=(10, 4)).astype(np.float32)
    matrix, seconds = run(tmp_path, lambda s: rows[s])
    np.testing.assert_array_equal(matrix, rows)
    assert seconds >= 0


def test_a_second_run_computes_nothing_and_another_job_shares_nothing(tmp_path):
    calls = []

    def compute(rows):
        calls.append(rows.start)
        return np.full((rows.stop - rows.start, 2), len(calls))

    first, seconds = run(tmp_path, compute, seed=0)
    again, same_seconds = run(tmp_path, compute, seed=0)
    assert calls == [0, 3, 6, 9]
    np.testing.assert_array_equal(first, again)
    assert same_seconds == pytest.approx(seconds)  # the time spent is remembered, not measured anew
    other, _ = run(tmp_path, compute, seed=1)
    assert len(calls) == 8
    assert not np.array_equal(other, first)


def test_an_error_in_the_middle_keeps_what_was_done(tmp_path):
    calls = []

    def compute(rows, fail):
        calls.append(rows.start)
        if rows.start == fail:
            raise RuntimeError("no more memory")
        return np.arange(rows.start, rows.stop, dtype=float)[:, None]

    with pytest.raises(RuntimeError, match="no more memory"):
        run(tmp_path, lambda s: compute(s, 6))
    matrix, _ = run(tmp_path, lambda s: compute(s, None))
    assert calls == [0, 3, 6, 6, 9]
    np.testing.assert_array_equal(matrix[:, 0], np.arange(10))


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 nonsense", None])
def test_a_damaged_or_wrong_batch_is_computed_again(tmp_path, damage):
    calls = []

    def compute(rows):
        calls.append(rows.start)
        return np.ones((rows.stop - rows.start, 2))

    run(tmp_path, compute)
    (shard,) = tmp_path.glob("*/000003.npz")
    if damage is None:
        np.savez(shard, rows=np.ones((2, 2)), seconds=0.0)
    else:
        shard.write_bytes(damage)
    matrix, _ = run(tmp_path, compute)
    assert calls == [0, 3, 6, 9, 3]
    assert matrix.shape == (10, 2)


def test_rows_that_are_not_finite_or_too_few_are_refused(tmp_path):
    with pytest.raises(ValueError, match="Rows 0 to 2"):
        run(tmp_path, lambda s: np.full((s.stop - s.start, 2), np.nan))
    with pytest.raises(ValueError, match=r"shape \(1, 2\)"):
        run(tmp_path, lambda s: np.ones((1, 2)))
    assert not list(tmp_path.glob("*/*.npz"))


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "x.npz"
    path.write_bytes(b"old")

    def write_half():
        with atomic(path) as handle:
            handle.write(b"half of the n")
            raise RuntimeError("disk full")

    with pytest.raises(RuntimeError, match="disk full"):
        write_half()
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["x.npz"]
    with atomic(path) as handle:
        handle.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"


def wait_for(condition, process, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, "the process ended by itself"
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.002)


def test_a_kill_in_the_middle_of_writing_leaves_the_old_file(tmp_path):
    path = tmp_path / "x.bin"
    path.write_bytes(b"old")
    program = f"""
    import sys, time
    sys.path.insert(0, {str(BUILD)!r})
    from resumable import atomic
    with atomic({str(path)!r}) as handle:
        handle.write(b"n" * 100000)
        handle.flush()
        time.sleep(60)
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)])
    wait_for(lambda: any(p.stat().st_size == 100000 for p in tmp_path.glob(".*.part")), process)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert path.read_bytes() == b"old"


def package(path, images_a_file=40):
    """A file of the form of the CIFAR-10 package, with random images."""
    rng = np.random.default_rng(0)
    with tarfile.open(path, "w:gz") as archive:

        def add(name, content):
            info = tarfile.TarInfo(f"package/{name}")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))

        for name in [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]:
            pixels = rng.integers(0, 256, (images_a_file, 1024, 3), dtype=np.uint8)
            png = io.BytesIO()
            Image.fromarray(pixels).save(png, "PNG")
            add(f"{name}.png", png.getvalue())
        labels = [i % 10 for i in range(6 * images_a_file)]
        add("train_lables.json", json.dumps(labels[: 5 * images_a_file]).encode())
        add("test_lables.json", json.dumps(labels[5 * images_a_file :]).encode())


STAND_IN = """
import os, sys, time
sys.path.insert(0, {build!r})
import torch, cifar10
from pathlib import Path

torch.set_num_threads(1)
torch.manual_seed(0)

class Tiny(torch.nn.Conv2d):
    '''A stand-in for the network: slow enough to be caught in the middle.'''
    def forward(self, x):
        time.sleep({pause})
        with open({log!r}, "a") as log:
            log.write(str(len(x)) + "\\n")
        return super().forward(x).mean(dim=(2, 3))

cifar10.fetch = lambda package, cache: Path({tarball!r})
cifar10.load_model = lambda weights, cache: (Tiny(3, 5, 8, stride=8), "keras", {{"weights": "stand-in"}})
cifar10.main(["--images", "120", "--batch", "4", "--device", "cpu", "--out", {out!r}, "--cache", {cache!r}])
"""


def test_the_image_script_survives_being_killed(tmp_path):
    tarball = tmp_path / "images.tgz"
    package(tarball)

    def start(name, pause):
        (tmp_path / name).mkdir(exist_ok=True)
        paths = {kind: str(tmp_path / name / kind) for kind in ("log", "cache")}
        out = str(tmp_path / name / "out.npz")
        program = STAND_IN.format(build=str(BUILD), pause=pause, tarball=str(tarball), out=out, **paths)
        silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen([sys.executable, "-c", program], **silent)

    def shards():
        return sorted((tmp_path / "killed" / "cache").glob("jobs/*/0*.npz"))

    def rows_computed():
        return sum(map(int, (tmp_path / "killed" / "log").read_text().split()))

    def whole(path):
        with zipfile.ZipFile(path) as archive:
            return archive.testzip() is None

    out = tmp_path / "killed" / "out.npz"
    kept = 0
    for target in (5, 12):
        process = start("killed", 0.02)

        def reached(target=target):
            assert not out.exists()  # nothing appears under the final name before the end
            assert all(whole(shard) for shard in shards())  # and no batch is ever half there
            return len(shards()) >= target

        wait_for(reached, process)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        assert all(whole(shard) for shard in shards())
        assert not out.exists()
        assert len(shards()) >= target > kept
        kept = len(shards())
    before = rows_computed()
    assert before <= 4 * (kept + 2)  # each kill lost at most the batch it interrupted
    assert start("killed", 0).wait() == 0
    assert rows_computed() - before == 120 - 4 * kept  # the last run computed exactly what was missing
    assert start("straight", 0).wait() == 0
    assert out.read_bytes() == (tmp_path / "straight" / "out.npz").read_bytes()
    left = [p for p in tmp_path.rglob("*") if p.name.endswith(".part")]
    assert not left
    with np.load(out, allow_pickle=False) as arrays:
        assert arrays["features"].shape == (120, 5)
        assert np.bincount(arrays["labels"]).tolist() == [12] * 10


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_the_progress_bar_redraws_one_line_on_a_terminal():
    stream = Terminal()
    bar = Progress(40, "images", stream)
    for done in (0, 20, 40):
        bar.show(done)
    drawn = stream.getvalue()
    assert drawn.count("\n") == 1
    assert drawn.endswith("\n")
    assert "[##########..........] 20/40" in drawn
    assert "done in" in drawn


def test_the_progress_bar_counts_only_this_runs_work_in_its_estimate(monkeypatch):
    clock = iter([0.0, 0.0, 10.0])
    monkeypatch.setattr("resumable.time.monotonic", lambda: next(clock))
    stream = SILENT()
    bar = Progress(100, "images", stream)
    bar.show(50)  # half was there already
    bar.show(60)  # ten more in ten seconds
    assert "60/100, 40 s left" in stream.getvalue()


def test_a_log_file_gets_at_most_a_line_for_every_twentieth():
    stream = SILENT()
    bar = Progress(1000, "images", stream)
    for done in range(1001):
        bar.show(done)
    assert len(stream.getvalue().splitlines()) == 21
    assert "\r" not in stream.getvalue()
