"""Does SGD do what theory says? One rule for what was measured, predicted and promised."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from edgelaw._common.types import Array, Integers
from edgelaw_app.forecast import ranking
from edgelaw_app.forecast.results import Check

SMALLEST = 1e-7  # of its start: a smaller loss is not compared
PRECISE = 1e-3  # of its start: a smaller loss varies much from run to run, and is not doubted
USELESS = 0.5  # a standard error above this part of what is promised decides nothing
NOT_RUN = Check("not run", "No run was made to compare with, because it would take too long.")


class Compared(NamedTuple):
    """What was measured and predicted over its start: arrays (orders, losses, epochs), NaN where that is nothing."""

    measured: Array
    error: Array  # standard error of what was measured
    predicted: Array
    promised: Sequence[float]  # how far theory may be off in each of the losses, relatively
    sigmas: float  # how many standard errors are beyond chance
    orders: Sequence[str]
    losses: Sequence[str]
    epochs: Array | Integers


def judged(compared: Compared, ran: str) -> Check:
    """The verdict on what SGD "run so" has done, in numbers of the worst place and in words.

    - **differs** if a loss is further off than promised by more than `sigmas` of its standard errors;
    - **agrees** if each is within what is promised and its standard error within half of that;
    - **undecided** otherwise.
    """
    predicted, promised = compared.predicted, np.array(compared.promised)[:, None]
    if not np.isfinite(compared.measured[np.isfinite(predicted)]).all():
        return Check(
            "differs",
            "SGD, run at the lr of theory, diverges, so the losses here come from runs at smaller ones.",
        )
    excess, error = compared.measured / predicted - 1, compared.error / predicted
    certain = (np.abs(excess) - compared.sigmas * error) / promised
    possible = np.maximum(np.abs(excess), error / USELESS) / promised
    possible = np.where(predicted > PRECISE, possible, 0.0)
    verdict, doubt = "differs", certain
    if not np.nanmax(certain) > 1:
        verdict, doubt = "agrees" if np.nanmax(possible) <= 1 else "undecided", possible
    at = np.unravel_index(np.nanargmax(doubt), excess.shape)
    order, loss, epoch = (
        names[int(k)]
        for names, k in zip((compared.orders, compared.losses, compared.epochs), at, strict=True)
    )
    where = f"the {loss} of {ranking.NAMES[order]} after {epoch:.0f} epoch{'s' if epoch != 1 else ''}"
    off = f"{100 * excess[at]:+.1f} ± {100 * error[at]:.1f} %"
    said = {
        "agrees": f"agrees with theory: the largest gap is {off}, {where}.",
        "differs": f"differs from theory: {where} is {off} off. These rows are too few, or not of the kind theory "
        "assumes (repeated, sparse or heavy-tailed rows are not).",
        "undecided": f"neither confirms theory nor contradicts it: {where} is {off} off.",
    }
    return Check(verdict, f"SGD, run {ran}, {said[verdict]}", float(excess[at]), float(error[at]))
