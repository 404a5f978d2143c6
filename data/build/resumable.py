"""Long computations that survive an interruption, and files that are never seen half-written."""

import contextlib
import hashlib
import json
import os
import sys
import time
import zipfile
from pathlib import Path

import numpy as np


@contextlib.contextmanager
def atomic(path):
    """Open a temporary neighbour of `path`; it takes the name `path` only once it is whole and on disk.

    Whoever looks at `path` sees the old file or the new one, never a part of either, even after a power cut.
    """
    path = Path(path)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(part, "wb") as handle:
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def sha256(path):
    """The file's SHA-256 in hexadecimal."""
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


class Progress:
    """A progress bar on one line of a terminal; on anything else, a line for every twentieth of the way."""

    def __init__(self, total, what, stream=None):
        self.total, self.what = total, what
        self.stream = sys.stderr if stream is None else stream
        self.start, self.first, self.last = time.monotonic(), None, -1

    def show(self, done):
        """Draw the bar at `done` of `total`; the estimate counts only what this run has computed."""
        self.first = done if self.first is None else self.first
        twentieth = 20 * done // max(self.total, 1)
        terminal = self.stream.isatty()
        if not terminal and twentieth == self.last:
            return
        self.last = twentieth
        elapsed = time.monotonic() - self.start
        fresh = done - self.first
        left = f"{elapsed / fresh * (self.total - done):.0f} s left" if fresh else "starting"
        if done >= self.total:
            left = f"done in {elapsed:.0f} s"
        bar = "#" * twentieth + "." * (20 - twentieth)
        line = f"{self.what} [{bar}] {done}/{self.total}, {left}"
        end = "\n" if not terminal or done >= self.total else ""
        print(("\r\x1b[K" if terminal else "") + line, end=end, file=self.stream, flush=True)


def _read(path, rows):
    """A finished shard's rows and seconds; None if missing or unreadable, so that it is computed again."""
    try:
        with open(path, "rb") as handle, np.load(handle, allow_pickle=False) as shard:
            values, seconds = shard["rows"], float(shard["seconds"])
    except (OSError, KeyError, ValueError, EOFError, zipfile.BadZipFile):
        return None
    return (values, seconds) if values.ndim == 2 and len(values) == rows else None


def in_shards(count, compute, job, folder, batch, progress):
    """Compute a matrix a batch of rows at a time, keeping every finished batch on disk.

    Parameters
    ----------
    count : int
        Number of rows.
    compute : callable
        From a slice of row numbers to a float32 matrix of those rows.
    job : dict
        Everything that determines the result (inputs' checksums, seed, model). Its hash names the job's
        folder, so that a run continues its own batches and never another run's.
    folder : path
        Where jobs are kept.
    batch : int
        Rows per batch.
    progress : Progress
        Told of the rows done.

    Returns
    -------
    matrix : ndarray of shape (count, columns), float32
    seconds : float
        Time spent in `compute`, over all the runs that it took.
    """
    text = json.dumps({**job, "rows": count, "batch": batch}, sort_keys=True, indent=1)
    place = Path(folder) / hashlib.sha256(text.encode()).hexdigest()[:16]
    place.mkdir(parents=True, exist_ok=True)
    with atomic(place / "job.json") as handle:
        handle.write(text.encode())
    parts, total = [], 0.0
    progress.show(0)
    for start in range(0, count, batch):
        stop = min(start + batch, count)
        path = place / f"{start:06d}.npz"
        shard = _read(path, stop - start)
        if shard is None:
            began = time.perf_counter()
            values = np.asarray(compute(slice(start, stop)), dtype=np.float32)
            seconds = time.perf_counter() - began
            if values.ndim != 2 or len(values) != stop - start or not np.isfinite(values).all():
                raise ValueError(
                    f"Rows {start} to {stop - 1} came out with shape {values.shape} or not finite."
                )
            with atomic(path) as handle:
                np.savez(handle, rows=values, seconds=seconds)
            shard = values, seconds
        parts.append(shard[0])
        total += shard[1]
        progress.show(stop)
    for stale in place.glob(".*.part"):  # what a killed run was in the middle of writing
        stale.unlink(missing_ok=True)
    return np.concatenate(parts), total
