"""Processor seconds and memory of the two commands, imports included, on files of many shapes.

    OMP_NUM_THREADS=1 python benchmarks/forecasts.py     three minutes; writes FORECASTS.md

Every command runs in a process of its own, from start to end, compiled loops from the cache. The exit status is not
zero if one takes more than 20 processor seconds or 2 GB.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
SECONDS, MEGABYTES = 20, 2000  # bars
ROWS = (
    *((m, d) for m in (25, 96, 500, 4000) for d in (20, 96, 1000)),
    *((20_000, 96), (100_000, 40), (5000, 5000), (30, 20_000), (50_000, 768)),
)
LABELLED = ((500, 20, 2), (500, 1000, 2), (4000, 96, 10), (20_000, 96, 2), (2000, 2048, 10))


def features(m, d, rng):
    """Rows of covariance j^(-1/2)."""
    return (rng.standard_normal((m, d)) * np.arange(1, d + 1) ** -0.25).astype(np.float32)


def measured(words, folder):
    """The answer of a command as JSON, its processor seconds and its peak memory in megabytes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    watch = "import sys; from edgelaw_app.cli import main; status = main()\n"
    watch += "peak = next(line for line in open('/proc/self/status') if line.startswith('VmHWM'))\n"
    watch += "print(peak.split()[1], file=sys.stderr); sys.exit(status)"  # kilobytes
    ran = subprocess.run(
        [sys.executable, "-c", watch, *words, "--json"],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(ran.stdout), seconds, int(ran.stderr.split()[-1]) // 1000


def main():
    """Measure, write the page, and say whether the bars hold."""
    os.environ["OMP_NUM_THREADS"] = "1"
    lines, missed = [], []
    with tempfile.TemporaryDirectory() as folder:
        for index, (m, d, *classes) in enumerate((*ROWS, *LABELLED)):
            rng = np.random.default_rng(index)
            X = features(m, d, rng)
            content, words = {"x": X}, ["predict", "file.npz", "--key", "x"]
            if classes:
                scores = X @ rng.standard_normal((d, *classes)) / np.sqrt(d) + rng.standard_normal(
                    (m, *classes)
                )
                content["y"] = scores.argmax(axis=1)
                words = ["probe", "file.npz", "--key", "x", "--labels", "y"]
            np.savez(Path(folder, "file.npz"), **content)
            answer, seconds, megabytes = measured(words, folder)
            if not lines:  # the first run may have compiled
                answer, seconds, megabytes = measured(words, folder)
            known = answer["orders"][answer["advice"]["order"]]["how"]
            kind = f"{classes[0]} classes" if classes else "–"
            lines.append(
                f"| {m:,} × {d:,} | {kind} | {known} | {answer['operations']:.0e} | {seconds:.1f} | {megabytes:,} |"
            )
            print(lines[-1], flush=True)
            if seconds > SECONDS or megabytes > MEGABYTES:
                missed.append(f"{m:,} × {d:,}: {seconds:.0f} s, {megabytes:,} MB")
    page = [
        "# What a forecast costs",
        "",
        (__doc__ or "").split("\n\n")[0] + " Made by `benchmarks/forecasts.py`, which also says how.",
        "",
        "| rows × columns | labels | losses by | multiply-adds for running SGD | processor seconds | megabytes |",
        "|---|---|---|---:|---:|---:|",
        *lines,
        "",
        f"Bars of {SECONDS} processor seconds and {MEGABYTES:,} MB missed: {'; '.join(missed) or 'none'}.",
    ]
    (HERE / "FORECASTS.md").write_text("\n".join(page) + "\n")
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
