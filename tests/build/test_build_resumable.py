"""An interrupted run continues, never restarts, and leaves no half-written file: tested by killing it."""

import io
import json
import signal
import subprocess
import sys
import tarfile
import textwrap
import time
from pathlib import Path

import cifar10
import numpy as np
import pytest
import resumable
import torch
from PIL import Image
from resumable import Progress, in_shards

BUILD = Path(resumable.__file__).parent
SILENT = io.StringIO


def run(folder, compute, count=10, batch=3, **job):
    return in_shards(count, compute, job, folder, batch, Progress(count, "rows", SILENT()))


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


def wait_for(condition, process, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, "the process ended by itself"
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)


def start(program, **names):
    """Run a program in a process of its own, with the build scripts on its path."""
    head = f"import os, sys, time\nsys.path.insert(0, {str(BUILD)!r})\n"
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen([sys.executable, "-c", head + textwrap.dedent(program).format(**names)], **silent)


def kill(process):
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL


def test_a_kill_in_the_middle_of_writing_leaves_the_old_file(tmp_path):
    path = tmp_path / "x.bin"
    path.write_bytes(b"old")
    program = """
    from edgelaw_app import atomic
    os.fsync = lambda descriptor: time.sleep(60)  # written, not yet renamed
    atomic.write({path!r}, b"n" * 100000)
    """
    process = start(program, path=str(path))
    wait_for(lambda: any(p.stat().st_size == 100000 for p in tmp_path.glob(".edgelaw-*.tmp")), process)
    kill(process)
    assert path.read_bytes() == b"old"


PROGRAM = """
import numpy as np
import resumable

def compute(rows):
    time.sleep({pause})
    with open({log!r}, "a") as log:
        log.write(str(rows.stop - rows.start) + "\\n")
    return np.arange(rows.start, rows.stop, dtype=float)[:, None] ** [0, 1]

progress = resumable.Progress(120, "rows")
matrix, seconds = resumable.in_shards(120, compute, {{}}, {cache!r}, 4, progress)
resumable.save({out!r}, {{"matrix": matrix}})
"""


def test_a_run_that_is_killed_twice_continues_and_ends_as_a_straight_one(tmp_path):
    def begin(name, pause):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        paths = {kind: str(folder / kind) for kind in ("log", "cache")}
        return start(PROGRAM, pause=pause, out=str(folder / "out.npz"), **paths)

    def shards():
        return sorted((tmp_path / "killed" / "cache").glob("*/0*.npz"))

    def rows_computed():
        return sum(map(int, (tmp_path / "killed" / "log").read_text().split()))

    out, kept = tmp_path / "killed" / "out.npz", 0
    for target in (5, 12):
        process = begin("killed", 0.03)
        wait_for(lambda target=target: len(shards()) >= target, process)
        kill(process)
        assert not out.exists()  # nothing appears under the final name before the end
        for shard in shards():  # and no batch is ever half there
            with np.load(shard) as arrays:
                assert arrays["rows"].shape == (4, 2)
        assert len(shards()) >= target > kept
        kept = len(shards())
    before = rows_computed()
    assert before <= 4 * (kept + 2)  # each kill lost at most the batch it interrupted
    stale = shards()[0].with_name(".edgelaw-0123456789abcdef.tmp")
    stale.write_bytes(b"what a kill in the middle of writing leaves")
    assert begin("killed", 0).wait() == 0
    assert rows_computed() - before == 120 - 4 * kept  # the last run computed exactly what was missing
    assert begin("straight", 0).wait() == 0
    assert out.read_bytes() == (tmp_path / "straight" / "out.npz").read_bytes()
    assert not stale.exists()


def package(path, images_per_file=20):
    """A file of the form of the CIFAR-10 package, with random images."""
    rng = np.random.default_rng(0)
    with tarfile.open(path, "w:gz") as archive:

        def add(name, content):
            info = tarfile.TarInfo(f"package/{name}")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))

        for name in [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]:
            pixels = rng.integers(0, 256, (images_per_file, 1024, 3), dtype=np.uint8)
            png = io.BytesIO()
            Image.fromarray(pixels).save(png, "PNG")
            add(f"{name}.png", png.getvalue())
        labels = [i % 10 for i in range(6 * images_per_file)]
        add("train_lables.json", json.dumps(labels[: 5 * images_per_file]).encode())
        add("test_lables.json", json.dumps(labels[5 * images_per_file :]).encode())


def test_an_interrupted_image_script_continues_and_ends_as_a_straight_one(tmp_path, monkeypatch):
    package(tmp_path / "images.tgz")
    torch.manual_seed(0)
    computed = []

    class Tiny(torch.nn.Conv2d):
        """A stand-in for the network."""

        stop_at = None

        def forward(self, x):
            if len(computed) == self.stop_at:
                raise KeyboardInterrupt
            computed.append(len(x))
            return super().forward(x).mean(dim=(2, 3))

    model = Tiny(3, 5, 8, stride=8)
    monkeypatch.setattr(cifar10, "fetch", lambda package, cache: tmp_path / "images.tgz")
    monkeypatch.setattr(
        cifar10, "load_model", lambda weights, cache: (model, "keras", {"weights": "stand-in"})
    )

    def run(name):
        places = ["--out", str(tmp_path / f"{name}.npz"), "--cache", str(tmp_path / name)]
        cifar10.main(["--images", "20", "--batch", "4", "--device", "cpu", *places])

    model.stop_at = 2
    with pytest.raises(KeyboardInterrupt):
        run("interrupted")
    assert not (tmp_path / "interrupted.npz").exists()
    model.stop_at = None
    run("interrupted")
    assert computed == [4] * 5
    run("straight")
    assert (tmp_path / "interrupted.npz").read_bytes() == (tmp_path / "straight.npz").read_bytes()
    with np.load(tmp_path / "straight.npz", allow_pickle=False) as arrays:
        assert arrays["features"].shape == (20, 5)
        assert np.bincount(arrays["labels"]).tolist() == [2] * 10
