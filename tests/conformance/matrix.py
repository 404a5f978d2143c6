"""The samplers in every library: all cells are run, judged and written down for the book.

    make conformance     about ten minutes on two cores, with the environment there

A cell is a library, a number of processes, a number of workers and an order. It is run for three epochs, then again
until it is broken off in the middle of the second, then continued in new processes. RESULTS.json keeps the verdicts,
with the versions and a hash of what was tried; RESULTS.md is the same as tables, which the book shows.
"""

import collections
import hashlib
import importlib.metadata
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import tables
from sizes import BATCH, EPOCHS, RANKS, ROWS, saved

from edgelaw.orders import stream

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TRIED_HERE = ("job.py", "matrix.py", "others.py", "recipes.py", "requirements.txt", "sizes.py")
TRIED = ("lib/edgelaw_app/training/samplers.py", "lib/edgelaw_app/training/sharing.py")
TRIED += tuple(f"tests/conformance/{name}" for name in TRIED_HERE)
PATIENCE = 900  # seconds for one group of processes; a group that hangs is ended


def digest(root=ROOT):
    """SHA-256 over names and contents of what the cells exercise."""
    total = hashlib.sha256()
    for name in TRIED:
        total.update(f"{name} {hashlib.sha256((root / name).read_bytes()).hexdigest()}\n".encode())
    return total.hexdigest()


# judging ---------------------------------------------------------------------------------------------------


def epochs(shares):
    """The steps of all processes together, epoch by epoch: a list of lists of lists of row numbers.

    `shares` has, for each process, the rows of every step.
    """
    together = [list(itertools.chain(*parts)) for parts in zip(*shares, strict=True)]
    length = len(together) // EPOCHS
    return [together[k * length : (k + 1) * length] for k in range(EPOCHS)]


def order_kept(shares, order):
    """Whether every step has exactly the rows that the order has there; for one process, in its sequence too."""
    size = BATCH * len(shares)
    for number, steps in enumerate(epochs(shares)):
        rows = stream(order, ROWS, 0).epoch(number).tolist()
        expected = [rows[k : k + size] for k in range(0, ROWS, size)]
        if len(shares) > 1:
            steps, expected = [sorted(step) for step in steps], [sorted(step) for step in expected]
        if steps != expected:
            return False
    return True


def counts(shares):
    """Rows that an epoch leaves out and rows that it repeats; the most of all epochs."""
    tallies = [collections.Counter(row for step in steps for row in step) for steps in epochs(shares)]
    return max(ROWS - len(one) for one in tallies), max(sum(one.values()) - len(one) for one in tallies)


def continued(whole, resumed):
    """Whether every process saw after the interruption what it would have seen without, and has the same weights."""
    return all(
        after["seen"] == before["seen"][saved(len(whole)) :] and after["weights"] == before["weights"]
        for before, after in zip(whole, resumed, strict=True)
    )


def judged(runs, resumes):
    """The verdicts of one library in one group: from what every process saw, a dictionary by name of the cell."""
    verdicts = {}
    for name in runs[0]:
        kind, order, *rest = name.split()
        if rest[1:]:
            continue  # broken off: its continuation is judged
        whole = [run[name] for run in runs]
        shares = [one["seen"] for one in whole]
        left_out, repeated = counts(shares)
        verdict = {"left_out": left_out, "repeated": repeated, "warned": all(one["warned"] for one in whole)}
        if kind == "stock":
            verdict["sampler"] = whole[0]["sampler"]
        else:
            verdict["order"] = order_kept(shares, order)
        if kind != "mistake":
            verdict["resumed"] = continued(whole, [one[name] for one in resumes])
        else:
            verdict["warning"] = max(whole[0]["warned"], default="")
            verdict["approved"] = any(one["approved"] for one in whole)  # by check_loader
        verdicts[name] = verdict
    return verdicts


# running ---------------------------------------------------------------------------------------------------


def launched(library, ranks, phase, folder):
    """What the processes of one group saw."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)]
    command += [HERE / "job.py", library, phase, folder]
    environment = {"OMP_NUM_THREADS": "1", **os.environ}
    group = subprocess.Popen(
        command,
        cwd=HERE,  # where the server of the workers looks for what it loads once
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        printed, _ = group.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(group.pid, signal.SIGKILL)
        sys.exit(f"{library} with {ranks} processes did not end within {PATIENCE} seconds ({phase}).")
    if group.returncode:
        sys.exit(f"{printed.decode(errors='replace')}\n{library} with {ranks} processes failed ({phase}).")
    return [json.loads((Path(folder) / f"{phase}-{rank}.json").read_text()) for rank in range(ranks)]


def run():
    """Run every cell, and return the record."""
    names = ("torch", "torchdata", "accelerate", "lightning")
    record = {
        "digest": digest(),
        "versions": {name: importlib.metadata.version(name).split("+")[0] for name in names},
    }
    record["cells"] = {}
    for library in tables.LIBRARIES:
        for ranks in RANKS:
            print(f"... {library}, {ranks} processes", flush=True)
            with tempfile.TemporaryDirectory() as folder:
                runs = launched(library, ranks, "run", folder)
                resumes = launched(library, ranks, "resume", folder)
            for name, verdict in judged(runs, resumes).items():
                record["cells"][f"{library} {ranks} {name}"] = verdict
    return record


def main():
    """Run the cells, write the record and the tables of it, and fail if a cell of ours does."""
    record = run()
    tables.write(record)
    ours = [all(tables.passes(one)) for name, one in record["cells"].items() if " ours " in name]
    print(f"{sum(ours)} of {len(ours)} cells of ours pass, each in both respects.")
    sys.exit(not all(ours))


if __name__ == "__main__":
    main()
