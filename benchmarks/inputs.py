"""Cost of reading, preparing and decomposing a file over that of the product and the eigensolver on rows in memory.

    OMP_NUM_THREADS=1 python benchmarks/inputs.py    a few minutes, 1.5 GB of temporary files; writes INPUTS.md

The file holds 60,000 x 2048 float32 numbers. The yardstick has the prepared rows in memory already, in float64, and
does two things: numpy's X.T @ X (BLAS' symmetric product) of all rows, and the symmetric eigensolver. `edgelaw` opens
the file, reads it twice (for the mean, then for the sum), centres and scales every row, sums the same product block by
block and calls the same eigensolver. Each runs in a process of its own, in turns, imports not counted; the best of the
turns counts.

The exit status is not zero if a bar is missed.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy is loaded

import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROWS, COLUMNS = 60_000, 2048
TURNS = int(os.environ.get("TURNS", 2))
MOST = 1.3  # times the yardstick's processor time
MEMORY = 300  # MB beyond the Gram matrix and one block
FILES = {".npy": "x.npy", ".npz": "stored.npz", ".npz, compressed": "compressed.npz"}


def write(folder):
    """The files, all with the same numbers: anisotropic rows with a mean."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((ROWS, COLUMNS), dtype=np.float32)
    X *= np.linspace(0.2, 2, COLUMNS, dtype=np.float32)
    X += 0.5
    np.save(folder / "x.npy", X)
    np.savez(folder / "stored.npz", x=X)
    np.savez_compressed(folder / "compressed.npz", x=X)


def yardstick(folder):
    """Processor and wall seconds of product and eigensolver on rows in memory."""
    import scipy.linalg

    X = np.load(folder / "x.npy").astype(np.float64)
    start, processor = time.perf_counter(), time.process_time()
    values = scipy.linalg.eigvalsh((X.T @ X).T, overwrite_a=True, check_finite=False)
    return time.process_time() - processor, time.perf_counter() - start, float(values[-1])


def measured(path):
    """Processor and wall seconds of edgelaw on a file, and its largest eigenvalue."""
    from edgelaw_app import files

    start, processor = time.perf_counter(), time.process_time()
    values = files.design(files.open_matrix(path)).gram_eigenvalues()
    return time.process_time() - processor, time.perf_counter() - start, float(values[-1])


def child(what, path):
    """Run one measurement in this process and print it with the peak of its memory."""
    processor, wall, value = yardstick(path) if what == "yardstick" else measured(path)
    # Not getrusage: its peak is inherited from the process that started this one.
    status = pathlib.Path("/proc/self/status").read_text()
    peak = int(status.split("VmHWM:")[1].split()[0]) / 1024
    print(json.dumps({"processor": processor, "wall": wall, "peak": peak, "value": value}))


def run(what, path):
    """One measurement in a process of its own."""
    command = [sys.executable, __file__, what, str(path)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main():
    """Measure, print, write, and say which bars were missed."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        write(folder)
        turns = {name: [] for name in ("yardstick", *FILES)}
        for _ in range(TURNS):
            for name, runs in turns.items():
                runs.append(
                    run("yardstick", folder) if name == "yardstick" else run("file", folder / FILES[name])
                )
    best = {name: min(runs, key=lambda turn: turn["processor"]) for name, runs in turns.items()}
    wall = {name: min(turn["wall"] for turn in runs) for name, runs in turns.items()}
    assert max(best[name]["value"] for name in FILES) < min(best[name]["value"] for name in FILES) * (
        1 + 1e-12
    )
    gram, block = COLUMNS**2 * 8 / 2**20, 2**24 / 2**20
    allowed = gram + block + MEMORY
    lines = [
        "| | processor, s | ratio | wall, s | ratio | peak memory, MB |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    missed = []
    for name, turn in best.items():
        ratio = turn["processor"] / best["yardstick"]["processor"]
        elapsed = wall[name] / wall["yardstick"]
        numbers = (
            f"{turn['processor']:.1f} | {ratio:.2f} | {wall[name]:.1f} | {elapsed:.2f} | {turn['peak']:.0f}"
        )
        lines.append(f"| {name} | {numbers} |")
        if name == "yardstick":
            continue
        if turn["peak"] > allowed:
            missed.append(f"{name} needed {turn['peak']:.0f} MB, more than {allowed:.0f}")
        if ratio > MOST and "compressed" not in name:
            missed.append(f"{name} took {ratio:.2f} times the yardstick, more than {MOST}")
    text = "\n".join(
        [
            "# What a file costs beside the mathematics",
            "",
            __doc__.split("\n\n")[0],
            "",
            __doc__.split("\n\n")[2]
            .strip()
            .replace("The exit status is\nnot zero if a bar is missed.", "")
            .strip(),
            "",
            *lines,
            "",
            f"Bars: processor time at most {MOST} times the yardstick's; memory at most {allowed:.0f} MB, which is",
            f"the Gram matrix ({gram:.0f}), one block ({block:.0f} MB) and {MEMORY} MB; the yardstick holds all.",
            "A compressed file has no bar in time: it is decompressed twice, and random numbers decompress slowly.",
            "Reading runs in a thread beside the product, so wall ratios are smaller where a second core is free.",
            "",
        ]
    )
    print(text)
    (HERE / "INPUTS.md").write_text(text, encoding="utf-8")
    if missed:
        sys.exit("Missed: " + "; ".join(missed) + ".")


if __name__ == "__main__":
    if len(sys.argv) == 3:
        child(sys.argv[1], pathlib.Path(sys.argv[2]))
    else:
        main()
