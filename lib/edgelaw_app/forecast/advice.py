"""Which order to take, and the sentence that says why."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from edgelaw_app.forecast.best_steps import BestStep
from edgelaw_app.forecast.exact_curves import FLOOR
from edgelaw_app.forecast.results import Advice

SIGMAS = 2.0  # orders whose losses differ by no more standard errors are tied
USELESS = 0.4  # relative standard error beyond which a loss less two of them is near zero; larger ones count as this
EVEN = 0.005  # relative: a smaller difference would be printed as 0 %, and is a tie whatever its error
PREFERRED = "random_reshuffle", "single_shuffle", "flip_flop", "iid"  # among tied orders
WORDS = {
    "iid": "sampling with replacement",
    "random_reshuffle": "random reshuffle",
    "single_shuffle": "single shuffle",
    "flip_flop": "flip-flop",
}


class Moment(NamedTuple):
    """When losses are compared.

    Attributes
    ----------
    time : float
        In epochs.
    rows : int
        Rows per epoch.
    early : bool
        Whether it is before the end of the budget, because a loss is below 1e-12 there.
    """

    time: float
    rows: int
    early: bool

    def __str__(self) -> str:
        if self.time < 1:
            when = f"after {self.time:.2g} epochs ({round(self.time * self.rows):,} rows)"
        else:
            when = f"after {self.time:.0f} epoch{'s' if self.time > 1 else ''}"
        return f"{when}, the last moment with all losses above 1e-12," if self.early else when


class Gap(NamedTuple):
    """By how much a loss is above the smallest, relatively, and the standard error of that."""

    size: float
    error: float

    def __str__(self) -> str:
        if self.size < 1:
            return f"{100 * self.size:.0f} ± {max(100 * self.error, 1):.0f} % higher"
        return f"{1 + self.size:.3g} times as high (± {max(100 * self.error / (1 + self.size), 1):.0f} %)"


def advise(
    losses: Mapping[str, float],
    errors: Mapping[str, float],
    steps: Mapping[str, float],
    moment: Moment,
    loss: str = "test",
) -> Advice:
    """The order to take, from all losses at a moment and their relative standard errors."""
    lowest = min(losses, key=lambda name: losses[name])
    words = {"test": "test", "train": "training"}[loss]
    at = f"{moment} the {words} loss"
    if len(losses) == 1:
        reason = f"Only {WORDS[lowest]} was asked for; {at} is {losses[lowest]:.3g}."
        return Advice(lowest, steps[lowest], reason, 0.0, 0.0, (), moment.time)
    gaps = {name: _gap(losses, errors, name, lowest) for name in losses if name != lowest}
    tied = {lowest, *(name for name, gap in gaps.items() if _is_tie(gap))}
    order = next(name for name in PREFERRED if name in tied)
    behind = {name: gap for name, gap in gaps.items() if name not in tied}
    tie = tuple(name for name in PREFERRED if name in tied and name != order)
    if tie:
        names = [WORDS[name] for name in (order, *tie)]
        widest = max((gaps[name] for name in tied if name != lowest), key=lambda gap: gap.size)
        reason = (
            f"{', '.join(names[:-1]).capitalize()} and {names[-1]} are tied. {at.capitalize()} is "
            f"{losses[lowest]:.3g}, the others {_within(widest)}"
        )
        reason += f"; that of {_others(behind)}." if behind else "."
    else:
        reason = (
            f"{WORDS[order].capitalize()} at step {steps[order]:.3g}: {at} is {losses[order]:.3g}, "
            f"and that of {_others(behind)}."
        )
    margin = min((behind or gaps).values())
    return Advice(order, steps[order], reason, margin.size, margin.error, tie, moment.time)


def _gap(losses: Mapping[str, float], errors: Mapping[str, float], name: str, lowest: str) -> Gap:
    ratio = losses[name] / losses[lowest]
    return Gap(ratio - 1, ratio * float(np.hypot(errors[name], errors[lowest])))


def _is_tie(gap: Gap) -> bool:
    """Whether the difference is below half a per cent, or at most two standard errors and a factor of five."""
    return gap.size < EVEN or gap.size <= SIGMAS * min(gap.error, USELESS * (1 + gap.size))


def _within(gap: Gap) -> str:
    """How far tied orders are from each other."""
    return "equal to it" if gap.size < 5e-4 else f"within {100 * gap.size:.1f} ± {100 * gap.error:.1f} %"


def _others(behind: Mapping[str, Gap]) -> str:
    """How far the nearest and the last of the other orders are behind."""
    second, worst = min(behind, key=lambda name: behind[name]), max(behind, key=lambda name: behind[name])
    text = f"{WORDS[second]} is {behind[second]}"
    return text + (f", of {WORDS[worst]} {behind[worst]}" if worst != second else "")


def with_free_step(
    reason: str,
    best: Mapping[str, Mapping[str, BestStep] | None],
    loss: str,
    losses: Mapping[str, float],
    error: float,
) -> str:
    """The reason, and what a free choice of the step would gain, if that is more than twice the error.

    `best` holds the best steps of each order, None where they are not known; `error` is the relative standard error of
    a loss.
    """
    known = {name: steps[loss] for name, steps in best.items() if steps}
    if not known:
        return reason
    order = min(known, key=lambda name: known[name].loss)
    step, least = known[order]
    tie = SIGMAS * np.sqrt(2) * error
    if not least < (1 - tie) * min(losses.values()):
        return reason
    equal = [
        WORDS[name]
        for name, (_, value) in known.items()
        if name != order and value <= max((1 + tie) * least, FLOOR)
    ]
    also = (
        f" ({' and '.join(equal)} as low within the error, at the best step of that order)" if equal else ""
    )
    left = f"{least:.3g}" if least >= FLOOR else f"less than {FLOOR:.0e}"
    return f"{reason[:-1]}; free to choose the step, {WORDS[order]} at {step:.3g} leaves {left}{also}."
