"""Measure what an exact curve costs: 512 eigenvalues of real embeddings, 50 epochs, both losses, one core.

    OMP_NUM_THREADS=1 python benchmarks/curves.py     about two minutes; writes CURVES.md

Seconds of processor time, the error estimate included. The exit status is not zero if a bar is missed.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy is loaded

import pathlib
import sys
import time

import numpy as np

from edgelaw import data
from edgelaw.spectrum import gram_eigenvalues
from edgelaw.theory import BY_ORDER

HERE = pathlib.Path(__file__).resolve().parent
STEPS = (0.5, 1.0, 1.5, 1.8)
BARS = {"iid": 1, "random_reshuffle": 5, "single_shuffle": 10, "flip_flop": 20}


def seconds(theory, eigenvalues, step):
    """Processor seconds of one curve."""
    start = time.process_time()
    theory.curve(eigenvalues, 50, step)
    return time.process_time() - start


def main():
    """Measure, print, write, and say which bars were missed."""
    BY_ORDER["single_shuffle"].curve(np.linspace(0.01, 2, 30), 2)  # what is imported late is imported now
    lines = ["| order | data | " + " | ".join(f"step {step}" for step in STEPS) + " | bar |"]
    lines += ["|---|---|" + "---:|" * (len(STEPS) + 1)]
    missed = []
    for name in ("cifar10", "wikipedia"):
        X = data.preprocess(data.load(name).features, rows=512, dims=512, rng=0).X
        eigenvalues = np.maximum(gram_eigenvalues(data.normalize_rows(X)), 0)
        for order, bar in BARS.items():
            costs = [seconds(BY_ORDER[order], eigenvalues, step) for step in STEPS]
            lines.append(f"| {order} | {name} | " + " | ".join(f"{x:.2f}" for x in costs) + f" | {bar} |")
            if max(costs) > bar:
                missed.append(f"{order} on {name} took {max(costs):.1f} s, more than {bar}")
    text = "\n".join(
        ["# What an exact curve costs", "", __doc__.split("\n\n")[0], "Processor seconds.", "", *lines, ""]
    )
    print(text)
    (HERE / "CURVES.md").write_text(text, encoding="utf-8")
    if missed:
        sys.exit("Missed: " + "; ".join(missed) + ".")


if __name__ == "__main__":
    main()
