"""Long computations that survive an interruption: every finished part is kept on disk and never computed again."""

import hashlib
import io
import json
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
from rich import progress as bars
from rich.console import Console

from edgelaw_app import atomic


def sha256(path):
    """The file's SHA-256 in hexadecimal."""
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def save(path, arrays, compressed=True):
    """Write an .npz that is there whole or not at all."""
    buffer = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(buffer, **arrays)
    atomic.write(path, buffer.getvalue())


class Progress:
    """A progress bar where a terminal is watching; on anything else, a line for every twentieth of the way.

    The estimate of the time left counts only what this run has computed. To be used as a context manager.
    """

    def __init__(self, total, what, stream=None):
        self.total, self.what = total, what
        self.stream = sys.stderr if stream is None else stream
        self.start, self.first, self.last = time.monotonic(), None, -1
        self._bar = self._task = None
        if self.stream.isatty():
            columns = ("{task.description}", bars.BarColumn(), bars.MofNCompleteColumn())
            times = (bars.TimeElapsedColumn(), bars.TimeRemainingColumn())
            self._bar = bars.Progress(*columns, *times, console=Console(file=self.stream))

    def __enter__(self):
        if self._bar:
            self._bar.start()
        return self

    def __exit__(self, *exception):
        if self._bar:
            self._bar.stop()

    def show(self, done):
        """Draw the bar at `done` of `total`."""
        if self._bar is None:
            self._print(done)
        elif self._task is None:
            self._task = self._bar.add_task(self.what, total=self.total, completed=done)
        else:
            self._bar.update(self._task, completed=done)

    def _print(self, done):
        self.first = done if self.first is None else self.first
        twentieth = 20 * done // max(self.total, 1)
        if twentieth == self.last:
            return
        self.last = twentieth
        elapsed, fresh = time.monotonic() - self.start, done - self.first
        left = f"{elapsed / fresh * (self.total - done):.0f} s left" if fresh else "starting"
        if done >= self.total:
            left = f"done in {elapsed:.0f} s"
        print(f"{self.what}: {done}/{self.total}, {left}", file=self.stream, flush=True)


def _read(path):
    """The arrays of a finished part; None if missing or unreadable, so that it is computed again."""
    try:
        with open(path, "rb") as handle, np.load(handle, allow_pickle=False) as part:
            return dict(part)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile):
        return None


def kept(path, compute, clock=time.process_time, valid=lambda arrays: True):
    """The arrays that an earlier run left at `path`, or compute them and leave them there.

    Parameters
    ----------
    path : path
        An .npz; one that cannot be read or is not valid is computed again.
    compute : callable
        Without arguments, to a dictionary of arrays.
    clock : callable
        Measures the seconds of `compute`: of processor time, or ``time.perf_counter`` for a model on several threads.
    valid : callable
        From the arrays on disk to whether they are what `compute` would give.

    Returns
    -------
    arrays : dict
    seconds : float
        That `compute` took, in whichever run it was.
    """
    arrays = _read(path)
    if arrays is None or "seconds" not in arrays or not valid(arrays):
        began = clock()
        arrays = {name: np.asarray(value) for name, value in compute().items()}
        arrays["seconds"] = np.array(clock() - began)
        save(path, arrays, compressed=False)
    return arrays, float(arrays.pop("seconds"))


def in_shards(count, compute, job, folder, batch, progress):
    """Compute a matrix in batches of rows, keeping every finished batch on disk.

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
    atomic.write(place / "job.json", text)
    slices = [slice(start, min(start + batch, count)) for start in range(0, count, batch)]
    paths = [place / f"{rows.start:06d}.npz" for rows in slices]
    there = [path.exists() for path in paths]
    done = sum(rows.stop - rows.start for rows, finished in zip(slices, there, strict=True) if finished)
    parts, total = [], 0.0
    with progress:
        progress.show(done)
        for path, rows, finished in zip(paths, slices, there, strict=True):
            arrays, seconds = kept(
                path,
                lambda rows=rows: {"rows": _checked(compute(rows), rows)},
                time.perf_counter,
                lambda arrays, rows=rows: _fits(arrays.get("rows"), rows),
            )
            parts.append(arrays["rows"])
            total += seconds
            done += 0 if finished else rows.stop - rows.start
            progress.show(done)
    tidy(place)
    return np.concatenate(parts), total


def tidy(folder):
    """Remove what a killed run was in the middle of writing."""
    for stale in Path(folder).glob(".edgelaw-*.tmp"):
        stale.unlink(missing_ok=True)


def _fits(values, rows):
    return values is not None and values.ndim == 2 and len(values) == rows.stop - rows.start


def _checked(values, rows):
    """The rows in float32, refused if they are not a finite matrix of as many rows."""
    values = np.asarray(values, dtype=np.float32)
    if not _fits(values, rows) or not np.isfinite(values).all():
        raise ValueError(
            f"Rows {rows.start} to {rows.stop - 1} came out with shape {values.shape} or not finite."
        )
    return values
