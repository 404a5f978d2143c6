"""Which order to take: one rule for margins and ties, whatever the losses are and however they are known."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from edgelaw_app.forecast.results import FLOOR, with_error

SIGMAS = 2.0  # orders whose losses differ by no more standard errors are not told apart
UNDECIDED = 0.2  # standard error of a margin above which that is no tie
EVEN = 0.005  # relative: a smaller difference would be printed as 0 %, and is a tie however certain it is
PREFERRED = "random_reshuffle", "single_shuffle", "flip_flop", "iid"  # among those not told apart
NAMES = {
    "iid": "sampling with replacement",
    "random_reshuffle": "random reshuffle",
    "single_shuffle": "single shuffle",
    "flip_flop": "flip-flop",
}
DOES = {
    "iid": "rows drawn with replacement",
    "random_reshuffle": "shuffled anew every epoch",
    "single_shuffle": "shuffled once",
    "flip_flop": "shuffled once, forwards and backwards in turn",
}


class Margin(NamedTuple):
    """By how much an order's loss is above another's, relatively, and the standard error of that."""

    size: float
    error: float

    @property
    def tied(self) -> bool:
        """Whether the two are equal as far as that is known, and it is known well enough."""
        return self.open and self.error <= UNDECIDED

    @property
    def open(self) -> bool:
        """Whether either may be ahead: by the logarithm of the ratio, since a loss is not below zero."""
        return self.size < EVEN or np.log1p(self.size) <= SIGMAS * self.error / (1 + self.size)

    def __str__(self) -> str:
        if self.size < 1:
            return f"{100 * self.size:.0f} ± {max(100 * self.error, 1):.0f} % more"
        times = f"{1 + self.size:.3g}" if self.size < 999 else f"{1 + self.size:,.0f}"
        # result cli-1
        return f"{times} times as much (± {max(100 * self.error / (1 + self.size), 1):.0f} %)"


class Ranking(NamedTuple):
    """The order to take, and how far each of the others is above it: below, by what is no difference, if tied."""

    order: str
    margins: dict[str, Margin]

    @property
    def rival(self) -> str:
        """The nearest order that is behind, or the nearest of all; empty if there is no other."""
        behind = {name: one for name, one in self.margins.items() if not one.open and name != self.order}
        others = behind or {name: one for name, one in self.margins.items() if name != self.order}
        return min(others, key=lambda name: others[name].size, default="")

    @property
    def open(self) -> tuple[str, ...]:
        """The orders that are not told apart from the one to take, in the order of preference."""
        return tuple(
            name
            for name in PREFERRED
            if name in self.margins and name != self.order and self.margins[name].open
        )

    @property
    def verdict(self) -> str:
        """ "ahead", "tied", "undecided" or "alone"."""
        if len(self.margins) == 1:
            return "alone"
        if not self.open:
            return "ahead"
        return "tied" if all(self.margins[name].tied for name in self.open) else "undecided"


def ranked(losses: Mapping[str, tuple[float, float]]) -> Ranking:
    """The ranking of orders by their losses in units of their start, each with its relative standard error.

    The order to take is the first of those preferred that is tied with, or below, each of the others.
    """
    losses = {name: (np.inf if np.isnan(one) else one, error) for name, (one, error) in losses.items()}
    lowest = min(losses, key=lambda name: max(losses[name][0], FLOOR))

    def over(name: str, other: str) -> Margin:
        (one, error), (two, other_error) = losses[name], losses[other]
        ratio = max(one, FLOOR) / max(two, FLOOR)
        if losses[name] == losses[other] or max(one, two) <= FLOOR:  # the same runs; or both are nothing
            return Margin(ratio - 1, 0.0)
        spread = ratio * float(np.hypot(error, other_error))
        return Margin(ratio - 1, spread if np.isfinite(spread) else np.inf)

    def holds(name: str) -> bool:
        margins = [over(name, other) for other in losses]
        return name == lowest or all(one.size <= 0 or one.tied for one in margins)

    order = next(name for name in PREFERRED if name in losses and holds(name))
    return Ranking(order, {name: over(name, order) for name in losses})


def in_words(ranking: Ranking, values: Mapping[str, tuple[float, float]]) -> str:
    """A sentence on the other orders, which goes on after a colon; empty if there are none."""
    parts = []
    tied = [NAMES[name] for name in ranking.open if ranking.margins[name].tied]
    unsure = [name for name in ranking.open if not ranking.margins[name].tied]
    if tied:
        # result cli-2
        parts.append(f"{_listed(tied)} {'are' if len(tied) > 1 else 'is'} tied with it")
    if unsure:
        spread = min(100 * max(ranking.margins[name].error for name in unsure), 999)
        names = _listed([NAMES[name] for name in unsure])
        # result cli-3
        parts.append(f"against {names} it is undecided (the margin is known to ± {spread:.0f} % only)")
    behind = [name for name in ranking.margins if name != ranking.order and name not in ranking.open]
    for name in sorted(behind, key=lambda name: values[name][0]):
        leaves = f"leaves {ranking.margins[name]}" if np.isfinite(values[name][0]) else "diverges"
        parts.append(f"{NAMES[name]} {leaves}")
    return f"{'; '.join(parts)}." if parts else ""


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def value_in_words(value: float, error: float, start: float = 1.0) -> str:
    """A loss in a sentence."""
    return with_error(value, error, start).replace("< ", "less than ")
