"""Checks of chapter 12's table of advice: a function per row that the Summary does not state as well.

The orders were compared in the recorded study (``data/torch_probe.md``): 42 grids, each order at its own best step on
one ladder with the best step inside. A range in a row runs over all the grids it names, both batch sizes unless one
is named, and both budgets unless one is named; its ends are compared as printed.
"""

import functools

import numpy as np

from edgelaw import kaczmarz
from edgelaw_app.training import study
from edgelaw_ledger.evidence import Evidence, decide
from edgelaw_ledger.own.practice import split

ERROR, TRAIN = study.MEASURES
TAUGHT = ("wide", "taught", "taught tall")  # CIFAR-10 rows, targets without noise


def printed(value):
    """A number as the table prints it: two decimals below ten, three digits above."""
    return round(float(value), 2) if value < 10 else float(f"{value:.3g}")


def as_printed(names, measured, stated, also=True):
    """Evidence that every measured number is the stated one as printed, and that `also` is so."""
    rounded = [printed(value) for value in measured]
    return decide(
        bool(rounded == list(stated) and also),
        measured=", ".join(f"{name} {value:g}" for name, value in zip(names, rounded, strict=True)),
        claimed=", ".join(f"{value:g}" for value in stated),
        tolerance="as printed",
    )


def ratios(grids, order, measure, budgets=study.BUDGETS):
    """An order's losses over random reshuffle's, each at its own best step."""
    return [grid.ratio(order, measure, budget).value for grid in grids for budget in budgets]


def ends(grids, order, budgets=study.BUDGETS):
    """Smallest and largest ratio in parameter error, then in training loss."""
    measured = [ratios(grids, order, measure, budgets) for measure in study.MEASURES]
    return [end(values) for values in measured for end in (min, max)]


def steps(grids, order, measure, budgets=study.BUDGETS):
    """Smallest and largest best step of an order."""
    measured = [grid.best_step(order, measure, budget) for grid in grids for budget in budgets]
    return [min(measured), max(measured)]


ENDS = ("parameter error from", "to", "training loss from", "to ")


def single_shuffle_isotropic(
    *, low: float = 0.76, high: float = 0.91, train_low: float = 0.61, train_high: float = 0.82
) -> Evidence:
    """Single shuffle over a fresh shuffle by SGD on square isotropic rows without noise, both batches and budgets."""
    measured = ends(study.chosen(["isotropic"], optimisers=["sgd"]), "single_shuffle")
    return as_printed(ENDS, measured, (low, high, train_low, train_high))


def single_shuffle_isotropic_otherwise(
    *,
    low: float = 0.71,
    high: float = 1.02,
    train_low: float = 0.48,
    train_high: float = 0.84,
    tall_low: float = 0.64,
    tall_high: float = 0.74,
) -> Evidence:
    """The same for momentum and Adam, and by SGD on four times as many rows after three epochs."""
    other = ends(study.chosen(["isotropic"], optimisers=["momentum", "adam"]), "single_shuffle")
    tall = ends(study.chosen(["isotropic tall"]), "single_shuffle", ["few"])
    measured = [*other, min(tall), max(tall)]
    stated = (low, high, train_low, train_high, tall_low, tall_high)
    return as_printed((*ENDS, "4d rows from", "4d rows to"), measured, stated)


def single_shuffle_embeddings(
    *, low: float = 1.0, high: float = 50.8, train_low: float = 1.04, train_high: float = 26.9
) -> Evidence:
    """Single shuffle over a fresh shuffle on CIFAR-10 rows, targets without noise, batches of 1, three aspects."""
    measured = ends(study.chosen(TAUGHT, batches=[1]), "single_shuffle")
    return as_printed(ENDS, measured, (low, high, train_low, train_high))


def single_shuffle_embeddings_in_batches(
    *, low: float = 0.90, high: float = 1.46, train_low: float = 0.72, train_high: float = 1.29
) -> Evidence:
    """The same in batches of 32."""
    measured = ends(study.chosen(TAUGHT, batches=[32]), "single_shuffle")
    return as_printed(ENDS, measured, (low, high, train_low, train_high))


def noisy_grids(batch=None):
    """Grids whose targets no weights fit."""
    return [grid for grid in study.grids() if grid.noisy and batch in (None, grid.batch)]


def single_shuffle_noisy(
    *, low: float = 1.12, high: float = 2.74, train_low: float = 1.04, train_high: float = 2.17
) -> Evidence:
    """Single shuffle over a fresh shuffle in all grids whose targets no weights fit, batches of 1, both budgets."""
    measured = ends(noisy_grids(1), "single_shuffle")
    return as_printed(ENDS, measured, (low, high, train_low, train_high))


def rest(grids):
    """All but momentum and Adam on cross-entropy."""
    return [grid for grid in grids if grid.loss == "squares" or grid.optimiser in ("sgd", "decay")]


def single_shuffle_noisy_in_batches(
    *,
    low: float = 0.99,
    high: float = 1.85,
    train_low: float = 0.68,
    train_high: float = 2.16,
    others: float = 0.95,
) -> Evidence:
    """The same in batches of 32, and the least training loss without momentum and Adam on cross-entropy."""
    grids = noisy_grids(32)
    measured = [*ends(grids, "single_shuffle"), min(ratios(rest(grids), "single_shuffle", TRAIN))]
    return as_printed((*ENDS, "others from"), measured, (low, high, train_low, train_high, others))


def flip_flop(
    *,
    low: float = 0.62,
    high: float = 0.93,
    error_low: float = 1.01,
    train_low: float = 0.95,
) -> Evidence:
    """Flip-flop over a fresh shuffle: isotropic rows with noise, the other grids with noise, all without."""
    isotropic = ends(study.chosen(["isotropic noisy"]), "flip_flop")
    others = ends([grid for grid in noisy_grids() if grid.problem != "isotropic noisy"], "flip_flop")
    quiet = ends([grid for grid in study.grids() if not grid.noisy], "flip_flop")
    measured = [min(isotropic), max(isotropic), others[0], others[2]]
    names = (
        "isotropic with noise from",
        "to",
        "others with noise, parameter error from",
        "training loss from",
    )
    return as_printed(names, measured, (low, high, error_low, train_low), also=min(quiet) > 1)


def steps_without_noise(
    *, error_low: float = 1.25, error_high: float = 1.75, train_low: float = 1.0, train_high: float = 1.5
) -> Evidence:
    """Best steps of random reshuffle by SGD row by row, five problems with exactly linear targets, both budgets."""
    grids = study.chosen(("isotropic", "isotropic tall", *TAUGHT), optimisers=["sgd"], batches=[1])
    measured = [*steps(grids, "random_reshuffle", ERROR), *steps(grids, "random_reshuffle", TRAIN)]
    stated = (error_low, error_high, train_low, train_high)
    return as_printed(ENDS, measured, stated, also=len(grids) == 5)


def steps_with_noise(
    *,
    early: float = 0.25,
    late_low: float = 0.125,
    late_high: float = 0.177,
    error_low: float = 0.125,
    error_high: float = 0.354,
) -> Evidence:
    """Best steps of random reshuffle by SGD row by row on noisy least squares, after 3 and after 12 epochs."""
    grids = study.chosen(["isotropic noisy", "tall"], ["squares"], ["sgd"], [1])
    first, last = (steps(grids, "random_reshuffle", TRAIN, [budget]) for budget in study.BUDGETS)
    measured = [*first, *last, *steps(grids, "random_reshuffle", ERROR, ["all"])]
    stated = [early, early, late_low, late_high, error_low, error_high]
    return decide(
        [round(step, 3) for step in measured] == stated,
        measured=", ".join(f"{step:.3f}" for step in measured),
        claimed=", ".join(f"{step:g}" for step in stated),
        tolerance="as printed",
    )


@functools.cache
def accuracies(epochs=(10, 1000), splits=4):
    """Held-out accuracy of random reshuffle at step 0.1 on labels, m = d = 256, after so many epochs."""
    measured = []
    for seed in range(splits):
        one = split(256, 256, seed)
        best = np.linalg.lstsq(one.X, one.targets, rcond=1e-10)[0]
        walk = kaczmarz.iterates(one.X, "random_reshuffle", epochs, -best, 0.1, rng=seed)
        scores = [one.held @ (best + E) for n, E in walk if n]
        measured.append([(each.argmax(axis=1) == one.held_labels).mean() for each in scores])
    return np.mean(measured, axis=0)


def stop_early(*, early: float = 0.75, late: float = 0.50) -> Evidence:
    """Held-out accuracy on labels at m = d after 10 and after 1000 epochs of step 0.1, four splits, run again."""
    return as_printed(("after 10 epochs", "after 1000"), accuracies(), (early, late))
