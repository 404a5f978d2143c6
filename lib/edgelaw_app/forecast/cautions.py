"""What a reader is warned of: each caution has a consequence and a remedy, the weightiest first."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from edgelaw import exact, spectrum
from edgelaw_app.forecast import labelled
from edgelaw_app.forecast.labelled import Labelled
from edgelaw_app.forecast.preparation import Prepared
from edgelaw_app.forecast.results import Advice, Caution, Check, OrderForecast
from edgelaw_app.forecast.spectral import Spectral

FEW_ROWS = 40  # rows without labels, below which eigenvalues are no spectrum
FEW_HELD_OUT = 100
UNEQUAL_COLUMNS = 30.0  # largest over smallest spread of a column: above, scaling is worth a look
WORTH = 0.05  # relative: what scaling must gain to be advised
GAIN = 0.01  # relative, on zero weights: what is worth training for
NEAR = 0.5  # part of the largest stable learning rate
UNEQUAL_NORMS = 0.5  # variance of squared norms over their squared mean
ABOVE, OFF = 31, 3  # per cent, runs over theory: training, held-out; benchmarks/LABELS.md, which a test reads
IMBALANCED = 0.8  # share of the largest class
ALONE, BELOW = 0.999, 15  # share of the targets along one direction; per cent, how far runs were below theory


def without_labels(problem: Spectral, check: Check, target: float | None) -> Iterator[Caution]:
    """The cautions of rows without labels."""
    (m, d), null, design = problem.shape, problem.null, problem.design
    if check.verdict != "agrees":
        yield Caution(check.verdict.replace(" ", "_"), check.text)
    if m < FEW_ROWS:
        yield Caution(
            "few_rows",
            f"{m} rows are too few for a spectrum: single runs differ widely from these means, so give more rows.",
        )
    for sentence in design.warnings:
        yield Caution("columns", sentence)
    yield from _scales(problem)
    if design.duplicates:
        yield Caution(
            "duplicates",
            f"{design.duplicates} rows repeat an earlier one, which lowers the training loss below the forecast; drop "
            "them.",
        )
    if null and (m < d or null > 0.05):
        never = f", so the target {target:g} is never reached" if target and target < null else ""
        yield Caution(
            "plateau",
            f"{round(null * d):,} of {d:,} directions are in no row: {null:.2g} of the parameter error stays whatever "
            f"SGD does{never}. Orders are ranked by the training loss where that is most of what is left.",
        )


def _scales(problem: Spectral) -> Iterator[Caution]:
    """Columns of very different scale, of which SGD sees the widest only."""
    scales = problem.design.scales
    if scales.ratio < UNEQUAL_COLUMNS or problem.design.standardized:
        return
    rank = spectrum.effective_rank(problem.eigenvalues)
    yield Caution(
        "scale",
        f"Columns differ in scale by a factor of {scales.ratio:,.0f} (widest {scales.largest!r}, narrowest "
        f"{scales.smallest!r}): rows have an effective rank of {rank:.2g} of {problem.shape[1]:,}, so that SGD hardly "
        "learns what narrow columns say; --standardize gives all the same scale.",
    )


def with_labels(
    problem: Labelled, made: Mapping[str, OrderForecast], advice: Advice, check: Check, orders: Sequence[str]
) -> Iterator[Caution]:
    """The cautions of rows with labels, of which some of the orders may have been left out."""
    one, prepared, (m, d) = made[advice.order], problem.prepared, problem.shape
    if check.verdict == "differs":
        yield Caution("differs", check.text)
    yield from _few_classes(problem, one)
    if no_gain(problem, one, advice.loss):
        yield Caution(
            "no_gain",
            "SGD learns next to nothing of these labels from these features: give more rows or another scale, or solve "
            "directly.",
        )
    if one.how == "theory" and problem.doubtful(one.values):
        yield Caution(
            "few_rows",
            f"With fewer rows than dimensions ({m:,} < {d:,}) a training loss below {100 * labelled.LATE:.0f} % of its "
            f"start was found to be up to {ABOVE} % above its forecast, and the held-out loss up to {OFF} % off; more "
            "--operations let SGD be run instead.",
        )
    if problem.on_one_direction > ALONE and check.verdict == "not run":
        yield Caution(
            "one_direction",
            f"The labels lie along one direction of the rows, where SGD was found about {BELOW} % below its forecast, "
            "which averages over directions; more --operations let SGD be run beside it.",
        )
    if problem.rows.norm_spread > UNEQUAL_NORMS and check.verdict == "not run":
        yield Caution(
            "unequal_norms",
            f"The squared norms of the rows differ (variance {problem.rows.norm_spread:.2g} of their squared mean), "
            "and the theory of shuffled orders assumes equal ones; --normalize makes them equal.",
        )
    if one.step > NEAR * problem.row_limit < problem.limit(advice.order):
        yield Caution(
            "long_rows",
            f"The longest row overshoots from lr = {problem.row_limit * problem.unit:.3g} on, so that single runs "
            "scatter widely near it; --normalize gives all rows one length.",
        )
    elif one.step > NEAR * problem.limit(advice.order):
        largest = problem.limit(advice.order) * problem.unit
        yield Caution(
            "near_the_limit",
            f"SGD diverges from lr = {largest:.3g} on, and single runs scatter widely near "
            "it; half this lr is safer.",
        )
    held = 0 if prepared.held is None else len(prepared.held[0])
    if 0 < held < FEW_HELD_OUT:
        yield Caution(
            "few_held_out",
            f"Only {held} rows are held out, so that another {held} may choose another learning rate; give more by "
            "--held-out.",
        )
    if missing := [order for order in orders if order not in made]:
        names = " and ".join(name.replace("_", " ") for name in missing)
        yield Caution(
            "left_out",
            f"{names.capitalize()} is left out: it has no theory here, and running it would take too long.",
        )


def no_gain(problem: Labelled, one: OrderForecast, loss: str) -> bool:
    """Whether no learning rate is much better than zero weights."""
    return bool(one.losses[loss].min() > (1 - GAIN) * problem.start)


def _few_classes(problem: Labelled, one: OrderForecast) -> Iterator[Caution]:
    """Classes of very different size, of which only the largest may be predicted."""
    name, share = problem.largest_class
    if share is None or share < IMBALANCED:
        return
    if one.accuracy is None:
        text = f"always answering it is {100 * share:.1f} % accurate"
    elif one.accuracy[0] <= share + 0.002:
        text = (
            f"the probe predicts it only, so that its accuracy of {100 * one.accuracy[0]:.1f} % says nothing"
        )
    else:
        text = f"always answering it is {100 * share:.1f} % accurate, the probe {100 * one.accuracy[0]:.1f} %"
    yield Caution(
        "imbalanced",
        f"{100 * share:.0f} % of the held-out rows are of class {name!r}: {text}; train on as many rows of each class.",
    )


def of_scale(prepared: Prepared, standardized: Prepared | None, epochs: int, batch: int) -> Iterator[Caution]:
    """Whether standardised columns would train better, by the best losses of IID, whose theory costs little."""
    spreads = prepared.X.std(axis=0)
    ratio = spreads.max() / spreads[spreads > 1e-12 * spreads.max()].min()
    if standardized is None or ratio < UNEQUAL_COLUMNS:
        return
    now, then = (_best_by_iid(one, epochs, batch) for one in (prepared, standardized))
    if then < (1 - WORTH) * now:
        name = "training" if prepared.held is None else "held-out"
        yield Caution(
            "scale",
            f"Columns differ in scale by a factor of {ratio:,.0f}, which slows SGD down: with --standardize the {name} "
            f"loss after {epochs} epochs would be about {then:.3g} instead of {now:.3g}.",
        )


def _best_by_iid(prepared: Prepared, epochs: int, batch: int) -> float:
    """The deciding loss at the best of a few learning rates."""
    problem = Labelled(prepared, batch)
    highest = 0.9 * problem.highest("iid")
    steps = highest * np.geomspace(1e-3, 1, 10)
    curves = (exact.probe_curve("iid", problem.rows, [epochs], step, batch) for step in steps)
    return min(float((one.train if one.held_out is None else one.held_out)[-1]) for one in curves)
