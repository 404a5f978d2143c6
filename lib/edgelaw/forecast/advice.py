"""Which order to take, and the sentence that says why."""

from collections.abc import Mapping

import numpy as np

from edgelaw.forecast.best_steps import BestStep
from edgelaw.forecast.results import Advice

TIE = 0.03  # orders whose losses differ by less are tied
WORDS = {
    "iid": "sampling with replacement",
    "random_reshuffle": "random reshuffle",
    "single_shuffle": "single shuffle",
    "flip_flop": "flip-flop",
}


def advise(
    losses: Mapping[str, float],
    errors: Mapping[str, float],
    steps: Mapping[str, float],
    epochs: int,
    loss: str = "test",
) -> Advice:
    """The order with the smallest loss at the last epoch, given all losses and their relative standard errors."""
    order = min(losses, key=lambda name: losses[name])
    best, at = losses[order], f"after {epochs} epochs the {loss} loss"
    if len(losses) == 1:
        return Advice(order, steps[order], f"Only {WORDS[order]} was asked for; {at} is {best:.3g}.", 0.0, ())
    gaps = {name: value / best - 1 if best > 0 else 0.0 for name, value in losses.items() if name != order}
    noise = {name: 2 * float(np.hypot(errors[name], errors[order])) for name in gaps}
    tie = tuple(name for name, gap in gaps.items() if gap <= max(TIE, noise[name]))
    behind = {name: gap for name, gap in gaps.items() if name not in tie}
    if not tie:
        reason = (
            f"{WORDS[order].capitalize()} at step {steps[order]:.3g}: {at} is {best:.3g}, {_others(behind)}"
        )
        return Advice(order, steps[order], reason, float(min(behind.values())), tie)
    widest = max(gaps[name] for name in tie)
    reason = (
        f"{' and '.join([WORDS[order].capitalize(), ', '.join(WORDS[name] for name in tie)])} cannot be told apart: "
        f"{at} is {best:.3g}, and the others are within {100 * widest:.1f} %"
    )
    reason += ", which is within the noise" if widest > TIE else ""
    if behind:
        second = _nearest(behind)
        reason += f"; {WORDS[second]}'s is {_more(behind[second])}"
    return Advice(order, steps[order], reason + ".", float(min(gaps.values())), tie)


def with_free_step(
    reason: str, best: Mapping[str, Mapping[str, BestStep] | None], loss: str, losses: Mapping[str, float]
) -> str:
    """The reason, and what a free choice of the step would gain, if that is more than a tie.

    `best` holds the best steps of each order, None where they are not known.
    """
    known = {name: steps[loss] for name, steps in best.items() if steps}
    if not known:
        return reason
    order = min(known, key=lambda name: known[name][1])
    step, least = known[order]
    if not least < (1 - TIE) * min(losses.values()):
        return reason
    equal = [
        WORDS[name] for name, (_, value) in known.items() if name != order and value <= (1 + TIE) * least
    ]
    also = (
        f" ({' and '.join(equal)} within {100 * TIE:.0f} % at the best step of that order)" if equal else ""
    )
    return f"{reason[:-1]}; free to choose the step, {WORDS[order]} at {step:.3g} leaves {least:.3g}{also}."


def _others(behind: Mapping[str, float]) -> str:
    """How far the nearest and the last of the other orders are behind."""
    second, worst = _nearest(behind), max(behind, key=lambda name: behind[name])
    text = f"and that of {WORDS[second]} is {_more(behind[second])}"
    return text + (f", of {WORDS[worst]} {_more(behind[worst])}." if worst != second else ".")


def _nearest(behind: Mapping[str, float]) -> str:
    return min(behind, key=lambda name: behind[name])


def _more(gap: float) -> str:
    """A relative difference in words."""
    return f"{100 * gap:.0f} % higher" if gap < 1 else f"{1 + gap:.3g} times as high"
