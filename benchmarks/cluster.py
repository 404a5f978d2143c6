"""Measure how the eigenvalues of a file cost with its rows, its columns and the number of workers.

    OMP_NUM_THREADS=1 python benchmarks/cluster.py     about two minutes; writes SCALING.md, which the book shows

Seconds are of processor time, summed over processes, so that a busy machine does not count. The extrapolation at
the end is arithmetic on what was measured here, printed with every factor.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy is loaded

import json
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROWS = (8192, 16384, 32768, 65536)  # at 512 columns
COLUMNS = (256, 512, 1024, 2048)  # at 16,384 rows
SHARED = (32768, 1024)  # in shards, for one worker and two
SHARDS = 8
BILLION, WIDE = 10**9, 4096
TURNS = int(os.environ.get("TURNS", 2))
TASKS = 4  # sums that a worker sends
LINK = 1e9  # bytes a second into the client, assumed


def save(folder, rows, columns, shards=1):
    """Random float32 rows with a mean, in one file or in shards."""
    rng = np.random.default_rng(rows + columns)
    for k in range(shards):
        part = rng.standard_normal((rows // shards, columns), dtype=np.float32) + np.float32(0.5)
        np.save(folder / f"{rows}x{columns}-{k}.npy", part)
    return str(folder / f"{rows}x{columns}-*.npy")


def parts(path):
    """Processor seconds of the three parts: the mean, the sum of the Gram matrix, the eigensolver."""
    from edgelaw_app import files
    from edgelaw_app.files import gram

    gram.spectra()  # what it imports is not counted
    made = files.design(files.open_matrix(path))
    times = [time.process_time()]
    survey = made.survey()
    times.append(time.process_time())
    sums = made.partial(0, None, survey)
    times.append(time.process_time())
    made.finish(survey, sums)
    times.append(time.process_time())
    return np.diff(times).tolist()


def alone(path):
    """The same in a process of its own, the best of some turns for each part."""
    command = [sys.executable, __file__, path]
    runs = [
        json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        for _ in range(TURNS)
    ]
    return np.min(runs, axis=0)


def _spent():
    """Processor seconds and peak memory in MB of a worker so far."""
    status = pathlib.Path("/proc/self/status").read_text()
    return time.process_time(), int(status.split("VmHWM:")[1].split()[0]) / 1024


def with_workers(path, workers):
    """Processor seconds of all workers, wall seconds, the growth of a worker's memory in MB, and the tasks."""
    from distributed import Client

    from edgelaw_app import files
    from edgelaw_app.cli import cluster

    assert cluster.TASKS_PER_WORKER == TASKS
    with Client(**cluster.LOCAL, n_workers=workers) as client:
        cluster.gram_eigenvalues(files.design(files.open_matrix(path), rows=5000, dims=20), client)  # imports
        before = list(client.run(_spent).values())
        start = time.perf_counter()
        made = files.design(files.open_matrix(path))
        values = cluster.gram_eigenvalues(made, client)
        wall = time.perf_counter() - start
        after = list(client.run(_spent).values())
    processor = sum(a[0] - b[0] for a, b in zip(after, before, strict=True))
    growth = max(a[1] - b[1] for a, b in zip(after, before, strict=True))
    return processor, wall, growth, len(made.parts(TASKS * workers)), values


def table(head, rows):
    """A table in Markdown, numbers to the right."""
    return [
        "| " + " | ".join(head) + " |",
        "|" + "---:|" * len(head),
        *("| " + " | ".join(row) + " |" for row in rows),
    ]


def growth(times, sizes, which):
    """Exponent of the growth of a part between the first and the last size."""
    return np.log(times[-1][which] / times[0][which]) / np.log(sizes[-1] / sizes[0])


def in_words(seconds):
    """A time in the unit that fits it."""
    for size, unit in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} seconds" if seconds < 10 else f"{seconds:.0f} seconds"


def extrapolated(mean, product):
    """The lines about a billion rows, from measured rates: bytes/s of the mean, operations/s of the sum."""
    m, d = BILLION, WIDE
    operations, read, matrix = m * d**2, 4 * m * d, 8 * d**2
    summing, reading = operations / product, read / mean
    busy = summing + reading
    most = np.sqrt(busy * LINK / (TASKS * matrix))
    intro = (
        f"With m = 10⁹ rows of d = {d} float32 numbers, the file has 4 m d = {read / 1e12:.1f} TB and is read twice, "
        f"{2 * read / 1e12:.1f} TB in all. The Gram matrix takes m d² = {operations:.2e} operations: "
        f"{summing / 3600:.0f} hours of one core at the {product / 1e9:.0f} GFLOP/s measured above, including the "
        f"preparation of rows. The mean takes {reading / 3600:.1f} hours at the {mean / 1e9:.1f} GB/s measured above "
        "(files in the page cache: a disk may be slower). "
        f"The eigensolver, (4/3) d³ = {4 / 3 * d**3:.1e} operations, is negligible beside it. "
        f"A worker needs {matrix / 1e6:.0f} MB for its sum and about 50 MB for its blocks, and reads "
        f"{2 * read / busy / 1e6:.0f} MB/s on average. There are {TASKS} tasks per worker, each of which sends "
        f"its sum of 8 d² = {matrix / 1e6:.0f} MB to the client, over a link of {LINK / 1e9:g} GB/s "
        "(assumed, not measured):"
    )
    rows = []
    for workers in (1, 16, 128, 1024):
        sent = TASKS * workers * matrix
        times = (busy / workers, sent / LINK, busy / workers + sent / LINK)
        first, second, both = map(in_words, times)
        rows.append([f"{workers:,}", first, f"{sent / 1e9:.1f} GB", second, both])
    head = ("workers", "reading and summing", "sums sent", "sending", "together")
    outro = (
        "The time with W workers is T/W + W·S, where T is that of one core and S that of sending one worker's sums. It "
        f"is least at W = √(T/S) ≈ {most:.0f}, where the client's link is as busy as the workers; both T and S grow as "
        "d², so that this number hardly depends on d. With more workers, sums would have to be added before "
        "they reach the client."
    )
    return [*textwrap.wrap(intro, 118), "", *table(head, rows), "", *textwrap.wrap(outro, 118)]


def main():
    """Measure, print and write."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        by_rows = [alone(save(folder, m, 512)) for m in ROWS]
        by_columns = [alone(save(folder, 16384, d)) for d in COLUMNS]
        path = save(folder, *SHARED, SHARDS)
        turns = [[with_workers(path, workers) for workers in (1, 2)] for _ in range(TURNS)]
        shared = [min(runs, key=lambda run: run[0]) for runs in zip(*turns, strict=True)]
    assert abs(shared[0][4] - shared[1][4]).max() < 1e-10 * shared[0][4][-1]
    m, d = 16384, COLUMNS[-1]
    product, mean = m * d**2 / by_columns[-1][1], 4 * m * d / by_columns[-1][0]
    head = ("the mean, s", "the sum, s", "the eigensolver, s", "GFLOP/s of the sum")

    def line(size, times, m, d):
        return [f"{size:,}", *(f"{x:.3f}" for x in times), f"{m * d**2 / times[1] / 1e9:.0f}"]

    lines = [
        "## Measured",
        "",
        "Processor seconds of one core, float32 files read, centred and scaled. Rows, at 512 columns:",
        "",
        *table(("rows m", *head), [line(m, f, m, 512) for m, f in zip(ROWS, by_rows, strict=True)]),
        "",
        f"The sum grows as m to the power {growth(by_rows, ROWS, 1):.2f}; the eigensolver's time does not depend on m.",
        "Columns, at 16,384 rows:",
        "",
        *table(
            ("columns d", *head), [line(d, f, 16384, d) for d, f in zip(COLUMNS, by_columns, strict=True)]
        ),
        "",
        f"The sum grows as d to the power {growth(by_columns, COLUMNS, 1):.2f}, the eigensolver as d to the power "
        f"{growth(by_columns, COLUMNS, 2):.2f}, the mean as d to the power {growth(by_columns, COLUMNS, 0):.2f}.",
        f"Workers, on {SHARED[0]:,} × {SHARED[1]:,} in {SHARDS} shards, both reads and the sums together:",
        "",
        *table(
            ("workers", "tasks", "processor time of all, s", "ratio", "growth of a worker's memory, MB"),
            [
                [
                    str(k + 1),
                    str(run[3]),
                    f"{run[0]:.2f}",
                    f"{run[0] / shared[0][0]:.2f}",
                    f"{run[2]:.0f}",
                ]
                for k, run in enumerate(shared)
            ],
        ),
        "",
        f"The sum has {8 * SHARED[1] ** 2 / 2**20:.0f} MB here and a block 16 MB, of which two are in use: one is",
        "summed while the next is prepared, beside the rows as they were read.",
        "",
        "## A billion rows, on paper",
        "",
        *extrapolated(mean, product),
        "",
    ]
    text = "\n".join(lines)
    print(text)
    (HERE / "SCALING.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) == 2:
        print(json.dumps(parts(sys.argv[1])))
    else:
        main()
