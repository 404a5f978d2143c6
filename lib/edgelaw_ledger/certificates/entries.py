"""What a certificate is: a ball, the library's value and the paper's, and how they compare."""

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import flint
from flint import arb

from edgelaw_ledger.certificates.balls import BITS, DOUBLE, around
from edgelaw_ledger.ledger import Claim, LedgerError, load

CONTAINED, EXCLUDED = "contained", "excluded"
EXACTLY, AT_LEAST = "=", "≥"


@functools.cache
def ledger() -> dict[str, Claim]:
    """The paper's claims."""
    return load()


class _Read(dict):
    """The numbers that a claim's check states, as balls; it remembers which were asked for."""

    def __init__(self, stated: Mapping[str, float]) -> None:
        super().__init__({name: around(value) for name, value in stated.items()})
        self.asked: set[str] = set()

    def __getitem__(self, name):
        self.asked.add(name)
        return super().__getitem__(name)


@dataclass(frozen=True)
class Paper:
    """What a claim says a number is: a formula in the numbers that the claim's check states.

    `source` names another claim whose check states them, where the claim's own does not. `relation` is "=", or "≥"
    for a claim that the number is not smaller.
    """

    claim: str
    formula: Callable[[Mapping[str, arb]], arb]
    source: str = ""
    relation: str = EXACTLY

    def _evaluated(self, moved):
        stated = _Read({**ledger()[self.source or self.claim].stated(), **moved})
        with flint.ctx.workprec(BITS):
            return arb(self.formula(stated)), stated.asked

    def value(self, **moved: float) -> arb:
        """The stated value as a ball, with the stated numbers as they are or some of them moved."""
        return self._evaluated(moved)[0]

    @functools.cached_property
    def names(self) -> frozenset[str]:
        """Which of the stated numbers count here."""
        return frozenset(self._evaluated({})[1])

    def stated(self) -> dict[str, float]:
        """Those numbers."""
        everything = ledger()[self.source or self.claim].stated()
        return {name: everything[name] for name in self.names}


@dataclass(frozen=True)
class Certificate:
    """A quantity, its ball, the library's value with the rounding that is allowed it, and the claims about it."""

    part: str
    quantity: str
    ball: arb
    ours: float | None = None
    rounding: float = DOUBLE
    papers: tuple[Paper, ...] = field(default=())

    def agrees(self, ours: float | None = None) -> bool:
        """Whether the ball meets all that the library's double may stand for."""
        value = self.ours if ours is None else ours
        if value is None:
            raise ValueError(f"The library has no function for this: {self.quantity}.")
        with flint.ctx.workprec(BITS):
            return self.ball.overlaps(around(float(value), self.rounding))

    def verdict(self, paper: Paper, **moved: float) -> str:
        """Whether the ball contains what the paper states, or excludes it."""
        stated = paper.value(**moved)
        if paper.relation == AT_LEAST:
            return EXCLUDED if self.ball < stated else CONTAINED
        return CONTAINED if self.ball.overlaps(stated) else EXCLUDED


def corrected_fraction(claim: str) -> float:
    """The coefficient p/q of a correction that reads "±\\frac{p}{qn}", where the library has no function for it."""
    match = re.search(r"([+-]?)\s*\\frac\{(\d+)\}\{(\d+)n\}", ledger()[claim].correction)
    if not match:
        raise LedgerError(f"{claim}: its correction states no fraction over n.")
    return float(Fraction(f"{match[1]}{match[2]}/{match[3]}"))
