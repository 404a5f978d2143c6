"""Simulate IID sampling at full size, once, and record means and standard errors for `test_iid.py`.

It takes several minutes on a core, too long for every run of the tests: ``python tests/theory/record_iid.py``, or
with the names of some designs, which leaves the record of the others alone. The tests compare the theory with the
record, and a piece of the record with a fresh simulation.
"""

import sys
from pathlib import Path

import numpy as np

from edgelaw import data, kaczmarz

RECORD = Path(__file__).with_name("iid_simulated.npz")
EPOCHS, PROBES, STEPS = 100, 64, (0.5, 1.0, 1.5)
RUNS = {"gaussian": 48, "beta 0.3": 24, "beta 0.75": 280}  # enough for the standard errors asked for


def design(name):
    """The matrix of that name, as it was simulated."""
    if name == "gaussian":
        return data.gaussian(1024, 1024, rng=1).astype(np.float32)
    return data.power_law(512, 512, beta=float(name.split()[1]), rng=1).astype(np.float32)


def main(names):
    """Simulate these designs at every step, and record means, standard errors and each first run."""
    record = dict(np.load(RECORD)) if RECORD.exists() else {}
    for name in names:
        X, runs = design(name), RUNS[name]
        for step in STEPS:
            many = kaczmarz.simulate(X, "iid", EPOCHS, step=step, probes=PROBES, runs=runs, rng=0)
            first = kaczmarz.simulate(X, "iid", EPOCHS, step=step, probes=PROBES, runs=1, rng=0)
            columns = (many.test, many.train, many.test_se, many.train_se, first.test, first.train)
            record[f"{name}, step {step}"] = np.stack(columns)
    np.savez_compressed(RECORD, **record)


if __name__ == "__main__":
    main(sys.argv[1:] or RUNS)
