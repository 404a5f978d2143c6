"""Measure how near the curves of real labels are to SGD: two data sets, two dimensions, four aspects, four steps.

    OMP_NUM_THREADS=1 python benchmarks/labels.py     about five minutes; writes LABELS.md

IID, random reshuffle and single shuffle, one row per update, one-hot labels, rows centred and of norm √d after a random
projection, all rows that are not trained on held out. Theory over the mean of runs of SGD − 1, at epochs 1 to 20 for
every cell and to 100 in 256 dimensions. Where there are as many rows as dimensions or more, a difference may be at
most 2 % and three standard errors; with fewer it is shown. The exit status is not zero if that bar is missed.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy is loaded

import itertools
import pathlib
import sys

import numpy as np

from edgelaw import data
from edgelaw.labels import preparation, simulation
from edgelaw.theory.noise import LabelledRows, iid, random_reshuffle, single_shuffle

HERE = pathlib.Path(__file__).resolve().parent
ORDERS = {"IID": iid, "random reshuffle": random_reshuffle, "single shuffle": single_shuffle}
STEPS, RUNS, BAR, ERRORS = (0.3, 0.6, 1.0, 1.5), 12, 0.02, 3
EPOCHS = np.array([1, 2, 3, 5, 8, 12, 20, 50, 100])
CELLS = {  # dimensions: rows and the last epoch
    256: {128: 100, 256: 100, 512: 100, 1024: 20},
    512: {256: 20, 512: 20, 1024: 20, 2048: 20},
}
LOSSES, HELD = ("train", "held_out"), 200  # held-out rows, at least


def problem(name, m, d):
    """Rows of equal norm with one-hot labels, those not chosen held out."""
    rng, pool = np.random.default_rng(0), data.load(name)
    features = pool.features.astype(float)
    features = features @ rng.standard_normal((features.shape[1], d)) / np.sqrt(d)
    here, there = np.split(rng.permutation(len(features)), [m])
    held = features[there], pool.labels[there]
    return preparation.prepare(features[here], pool.labels[here], held, True, True, True, rng)


def known_until(rows, order, step, epochs):
    """The epochs up to which theory answers, and its curve; later ones are refused where losses run out of digits."""
    while True:
        try:
            return epochs, ORDERS[order].curve(rows, epochs, step)
        except ArithmeticError:
            epochs = epochs[:-1]


def compared(prepared, rows, order, step, last):
    """Theory over the mean of the runs − 1 and the relative standard error, by loss and epoch."""
    epochs, curve = known_until(rows, order, step, EPOCHS[EPOCHS <= last])
    rates = np.full(last, step / prepared.scale)
    rng = np.random.default_rng(1)
    runs = simulation.simulate(prepared, order.lower().replace(" ", "_"), rates, 1, 0.0, RUNS, rng)
    result = np.zeros((2, 2, len(EPOCHS)))  # loss, difference or error, epoch; zero where there is none
    for k, loss in enumerate(LOSSES):
        losses = getattr(runs, loss)[:, epochs]
        mean, error = losses.mean(axis=0), losses.std(axis=0, ddof=1) / np.sqrt(RUNS)
        result[k, :, : len(epochs)] = getattr(curve, loss)[1:] / mean - 1, error / mean
    return result, int(epochs[-1])


def cell(name, m, d, last):
    """All steps of a cell: order → array (steps, loss, difference or error, epoch), and what was refused."""
    prepared = problem(name, m, d)
    rows = LabelledRows.of(prepared.X, prepared.T, prepared.held)
    results, refused = {}, []
    for order in ORDERS:
        made = [compared(prepared, rows, order, step, last) for step in STEPS]
        results[order] = np.array([values for values, _ in made])
        refused += [
            f"{name}, {m} × {d}, {order}, step {step}: theory answers to epoch {until}"
            for step, (_, until) in zip(STEPS, made, strict=True)
            if until < last
        ]
    return results, refused


def described(values):
    """Root mean square, the worst difference with its standard error, and how far it is beyond the bar."""
    off, error = (values[:, k][values[:, 1] > 0] for k in (0, 1))
    worst = np.argmax(np.abs(off))
    beyond = (np.abs(off) - ERRORS * error).max()
    text = f"{100 * np.sqrt((off**2).mean()):.1f}, {100 * off[worst]:+.1f} ({100 * error[worst]:.1f})"
    return text, beyond


def main():
    """Measure, write, and say whether the bar was met."""
    lines = [
        "# Labels: theory beside SGD",
        "",
        f"Differences of theory and the mean of {RUNS} runs in per cent, over steps {', '.join(map(str, STEPS))} and "
        "epochs 1 to the last: root mean square, then the largest with the standard error of the runs there.",
        "",
        "| data | m × d | epochs | loss | IID | random reshuffle | single shuffle |",
        "|---|---|---:|---|---:|---:|---:|",
    ]
    missed, refusals = [], []
    for name, (d, sizes) in itertools.product(("cifar10", "wikipedia"), CELLS.items()):
        for m, last in sizes.items():
            if len(data.load(name).features) < m + HELD:
                continue
            results, refused = cell(name, m, d, last)
            refusals += refused
            for k, loss in enumerate(("training", "held-out")):
                texts = []
                for order, values in results.items():
                    text, beyond = described(values[:, k])
                    texts.append(text)
                    if m >= d and beyond > BAR:
                        missed.append(f"{name}, {m} × {d}, {loss}, {order}: {100 * beyond:.1f} %")
                lines.append(f"| {name} | {m} × {d} | {last} | {loss} | " + " | ".join(texts) + " |")
            print(lines[-2], lines[-1], sep="\n", flush=True)
    verdict = "Every difference at m ≥ d is within 2 % and three standard errors."
    if missed:
        verdict = "Beyond 2 % and three standard errors at m ≥ d:\n\n" + "\n".join(f"- {x}" for x in missed)
    if refusals:
        verdict += "\n\nLosses below the digits of theory:\n\n" + "\n".join(f"- {x}" for x in refusals)
    (HERE / "LABELS.md").write_text("\n".join([*lines, "", verdict, ""]))
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
