"""Distance to SGD of the curves of real labels: two data sets, two dimensions, four aspects, four steps.

    OMP_NUM_THREADS=1 python benchmarks/labels.py     about six minutes; writes LABELS.md
    ... --only cifar10 512 512                        that cell: prints its lines

IID, random reshuffle and single shuffle, one row per update, one-hot labels, rows centred and of norm √d after a random
projection, all rows that are not trained on held out. Theory over the mean of runs of SGD − 1, at epochs 1 to 100.
Where there are as many rows as dimensions or more, a difference may be at most 2 % plus three standard errors; with
fewer it is shown. With more than a thousand comparisons the largest of them is beyond three standard errors by chance:
an order and a step with a difference beyond the bar are run again, eight times as often and in fresh orders, and these
runs alone decide there; differences within the bar are not run again. The exit status is not zero if the bar is
missed then.
"""

import os

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy is loaded

import argparse
import itertools
import pathlib
import sys
from typing import NamedTuple

import numpy as np

from edgelaw import data, exact
from edgelaw.exact.labels import LabelledRows
from edgelaw_app.forecast.labelled import Labelled
from edgelaw_app.forecast.preparation import prepare

HERE = pathlib.Path(__file__).resolve().parent
ORDERS = {"IID": "iid", "random reshuffle": "random_reshuffle", "single shuffle": "single_shuffle"}
STEPS, RUNS, BAR, ERRORS = (0.3, 0.6, 1.0, 1.5), 12, 0.02, 3
AGAIN = 8  # times as many runs where a difference is beyond the bar
EPOCHS = np.array([1, 2, 3, 5, 8, 12, 20, 50, 100])
CELLS = {  # dimensions: rows and the last epoch
    256: {128: 100, 256: 100, 512: 100, 1024: 100},
    512: {256: 100, 512: 100, 1024: 100, 2048: 100},
}
LOSSES, HELD = ("train", "held_out"), 200  # held-out rows, at least


def problem(name, m, d):
    """Rows of equal norm with one-hot labels, those not chosen held out."""
    rng, pool = np.random.default_rng(0), data.load(name)
    features = pool.features.astype(float)
    features = features @ rng.standard_normal((features.shape[1], d)) / np.sqrt(d)
    here, there = np.split(rng.permutation(len(features)), [m])
    held = features[there], pool.labels[there]
    done = ("center", "intercept", "normalize")
    return prepare(features[here], pool.labels[here], held, done, rng)


def known_until(rows, order, step, epochs):
    """The epochs up to which theory answers, and its curve; later ones are refused where losses run out of digits."""
    while True:
        try:
            return epochs, exact.probe_curve(ORDERS[order], rows, epochs, step)
        except ArithmeticError:
            epochs = epochs[:-1]


def compared(prepared, rows, order, step, last, count=RUNS, seed=1):
    """Theory over the mean of the runs − 1 and the relative standard error, by loss and epoch."""
    epochs, curve = known_until(rows, order, step, EPOCHS[EPOCHS <= last])
    steps, rng = np.full(last, step), np.random.default_rng(seed)
    runs = Labelled(prepared).run(ORDERS[order], steps, np.arange(last + 1.0), count, rng).losses
    result = np.zeros((2, 2, len(EPOCHS)))  # loss, difference or error, epoch; zero where there is none
    for k, loss in enumerate(LOSSES):
        losses = runs[:, k, epochs]
        mean, error = losses.mean(axis=0), losses.std(axis=0, ddof=1) / np.sqrt(count)
        result[k, :, : len(epochs)] = getattr(curve, loss)[1:] / mean - 1, error / mean
    return result, int(epochs[-1])


def beyond(values):
    """How far the worst of differences (…, difference or error, epoch) is from theory, less three standard errors."""
    return float((np.abs(values[..., 0, :]) - ERRORS * values[..., 1, :]).max())


def cell(name, m, d, last):
    """All steps of a cell: order → array (steps, loss, difference or error, epoch); what was refused, and run again."""
    prepared = problem(name, m, d)
    rows = LabelledRows.of(prepared.X, prepared.T, prepared.held)
    results, refused, again = {}, [], []
    for order in ORDERS:
        made = [compared(prepared, rows, order, step, last) for step in STEPS]
        results[order] = np.array([values for values, _ in made])
        refused += [
            f"{name}, {m} × {d}, {order}, step {step}: theory answers to epoch {until}"
            for step, (_, until) in zip(STEPS, made, strict=True)
            if until < last
        ]
        for step, values in zip(STEPS, results[order], strict=True):
            if m >= d and beyond(values) > BAR:
                fresh, _ = compared(prepared, rows, order, step, last, AGAIN * RUNS, seed=2)
                again += [
                    Repeated(f"{name}, {m} × {d}, {order}, step {step}, {loss}", values[k], fresh[k])
                    for k, loss in enumerate(("training", "held-out"))
                    if max(beyond(values[k]), beyond(fresh[k])) > BAR
                ]
    return results, refused, again


class Repeated(NamedTuple):
    """A loss at a step whose runs were beyond the bar: the differences by epoch, and those of fresh runs."""

    where: str
    first: np.ndarray
    fresh: np.ndarray

    @property
    def missed(self):
        """Whether the fresh runs are beyond the bar, too."""
        return beyond(self.fresh) > BAR

    def __str__(self):
        """The epoch that was worst at first, then and in fresh runs, and the worst of all epochs of these."""
        place, worst = (
            int(np.argmax(np.where(values[1] > 0, np.abs(values[0]) - ERRORS * values[1], -np.inf)))
            for values in (self.first, self.fresh)
        )
        then, now, most = (
            f"{100 * values[0, at]:+.1f} ({100 * values[1, at]:.1f})"
            for values, at in ((self.first, place), (self.fresh, place), (self.fresh, worst))
        )
        return (
            f"{self.where}, epoch {EPOCHS[place]}: {then} in {RUNS} runs, {now} in {AGAIN * RUNS} fresh ones, "
            f"whose worst epoch is {EPOCHS[worst]} with {most}: {'beyond' if self.missed else 'within'} the bar"
        )


def described(values):
    """Root mean square, and the worst difference with its standard error."""
    off, error = (values[:, k][values[:, 1] > 0] for k in (0, 1))
    worst = np.argmax(np.abs(off))
    return f"{100 * np.sqrt((off**2).mean()):.1f}, {100 * off[worst]:+.1f} ({100 * error[worst]:.1f})"


def cell_lines(name, m, d, last, results):
    """The two lines of a cell in the table."""
    lines = []
    for k, loss in enumerate(("training", "held-out")):
        texts = [described(values[:, k]) for values in results.values()]
        lines.append(f"| {name} | {m} × {d} | {last} | {loss} | " + " | ".join(texts) + " |")
    return lines


def verdict(again, refusals):
    """What the runs that were made again decide, and what theory refused."""
    missed = [one for one in again if one.missed]
    text = "Every difference at m ≥ d is at most 2 % plus three standard errors"
    if again:
        text += ", where an order and a step beyond it, and only they, were run again, "
        text += f"{AGAIN} times as often, and these runs decide"
    text += "."
    if missed:
        text = "At m ≥ d differences are more than 2 % plus three standard errors in fresh runs, too."
    if again:
        text += "\n\nRun again:\n\n" + "\n".join(f"- {one}" for one in again)
    if refusals:
        text += "\n\nLosses below the digits of theory:\n\n" + "\n".join(f"- {x}" for x in refusals)
    return text, bool(missed)


def main():
    """Measure, write, and say whether the bar was met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs=3, metavar=("DATA", "ROWS", "DIMENSIONS"))
    only = parser.parse_args().only
    lines = [
        "# Labels: theory beside SGD",
        "",
        f"Distance to SGD: theory over the mean of {RUNS} runs − 1 in per cent, over steps "
        f"{', '.join(map(str, STEPS))} and "
        "epochs 1 to the last: root mean square, then the largest with the standard error of the runs there.",
        "",
        "One-hot labels; features projected at random, centred, every row scaled to norm √d, which `edgelaw probe` "
        "does with --normalize only. Rows as they are have unequal norms, which IID's theory has and the others' "
        "stated error counts: they are not in this table. Chapter 14 has some, at step 1.5 12 to 21 % off.",
        "",
        "| data | m × d | epochs | loss | IID | random reshuffle | single shuffle |",
        "|---|---|---:|---|---:|---:|---:|",
    ]
    again, refusals = [], []
    for name, (d, sizes) in itertools.product(("cifar10", "wikipedia"), CELLS.items()):
        for m, last in sizes.items():
            if len(data.load(name).features) < m + HELD or (only and only != [name, str(m), str(d)]):
                continue
            results, refused, repeated = cell(name, m, d, last)
            refusals += refused
            again += repeated
            lines += cell_lines(name, m, d, last, results)
            print(lines[-2], lines[-1], *map(str, repeated), sep="\n", flush=True)
    text, missed = verdict(again, refusals)
    if only:
        print(text)
    else:
        (HERE / "LABELS.md").write_text("\n".join([*lines, "", text, ""]))
    sys.exit(missed)


if __name__ == "__main__":
    main()
