"""When not to believe a forecast of a probe."""

from __future__ import annotations

import numpy as np

from edgelaw.exact.labels import LabelledRows
from edgelaw_app.labels.results import Caution, ProbeForecast

UNEQUAL = 0.5  # variance of squared norms over their squared mean
DISAGREE = 0.05  # relative difference of theory and runs that is reported
FEW_HELD_OUT = 100
LATE = 0.04  # training loss over its start below which fewer rows than dimensions go wrong
ABOVE, OFF = 31, 3  # per cent, runs over theory: training, held-out; benchmarks/LABELS.md, which a test reads
NEAR = 0.5  # part of the largest stable learning rate


def cautions(made: ProbeForecast, rows: LabelledRows, missing: list[str]) -> tuple[Caution, ...]:
    """All cautions that apply, the weightiest first."""
    every = [
        _disagreement(made),
        _few_rows(made),
        _unequal_norms(rows, made),
        _long_rows(made),
        _near_the_limit(made),
        _few_held_out(made),
        _missing(made, missing),
    ]
    return tuple(caution for caution in every if caution is not None)


def _disagreement(made: ProbeForecast) -> Caution | None:
    if made.simulated is None:
        return None
    with np.errstate(invalid="ignore"):
        gap = made.simulated.loss[1:] / made.loss[1:] - 1
    if not np.isfinite(gap).all():
        return Caution("disagreement", "Runs of SGD at these settings diverge: take a smaller learning rate.")
    worst = int(np.abs(gap).argmax())
    if abs(gap[worst]) <= max(DISAGREE, 3 * made.simulated.error):
        return None
    return Caution(
        "disagreement",
        f"Runs of SGD at these settings differ from the forecast by {100 * gap[worst]:+.0f} % at epoch {worst + 1}: "
        "these features are not of the kind that the theory assumes, and the forecast is a guide only.",
    )


def _few_rows(made: ProbeForecast) -> Caution | None:
    m, d = made.shape
    if m >= d or made.train[-1] > LATE * made.train[0]:
        return None
    return Caution(
        "few_rows",
        f"With fewer rows than dimensions ({m:,} < {d:,}) a training loss below {100 * LATE:.0f} % of its start was "
        f"found to be up to {ABOVE} % above its forecast, and the held-out loss up to {OFF} % above or below.",
    )


def _unequal_norms(rows: LabelledRows, made: ProbeForecast) -> Caution | None:
    one = made.orders[made.order]
    unsure = one.how == "theory" and one.error > DISAGREE and rows.norm_spread > 0
    if not (rows.norm_spread > UNEQUAL or unsure) or made.simulated is not None:
        return None
    return Caution(
        "unequal_norms",
        f"The squared norms of the rows differ (variance {rows.norm_spread:.2g} of their squared mean), and the theory "
        "of shuffled orders assumes equal ones; --simulate compares.",
    )


def _long_rows(made: ProbeForecast) -> Caution | None:
    longest = float(np.einsum("ij,ij->i", made.data.X, made.data.X).max())
    if max(made.rates) * longest < 2 * made.batch:
        return None
    return Caution(
        "long_rows",
        f"The longest row is so long that an update by it overshoots from lr = {2 * made.batch / longest:.3g} on; the "
        "theory does not see single rows, and a run may diverge.",
    )


def _near_the_limit(made: ProbeForecast) -> Caution | None:
    if max(made.rates) < NEAR * made.largest_lr:
        return None
    return Caution(
        "edge_of_stability",
        f"This learning rate is more than {100 * NEAR:.0f} % of the largest stable one, {made.largest_lr:.3g}: single "
        "runs scatter widely there.",
    )


def _few_held_out(made: ProbeForecast) -> Caution | None:
    if not 0 < made.held_out_rows < FEW_HELD_OUT:
        return None
    return Caution(
        "few_held_out",
        f"Only {made.held_out_rows} rows are held out, so that their loss is an uncertain guide to that of others.",
    )


def _missing(made: ProbeForecast, missing: list[str]) -> Caution | None:
    if not missing:
        return None
    names = " and ".join(name.replace("_", " ") for name in missing)
    return Caution("too_large", f"There is no theory for {names} here, and simulating would take too long.")
