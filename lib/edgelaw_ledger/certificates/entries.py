"""What a certificate is: a ball, the library's value and the paper's, and how they compare."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import flint
from flint import arb

from edgelaw_ledger.certificates.balls import BITS, around, exact, root
from edgelaw_ledger.ledger import Claim, load

CONTAINED, EXCLUDED = "contained", "excluded"
EXACTLY, AT_LEAST = "=", "≥"
CLOSED = 1e-14  # relative rounding of a few operations on a closed form
#: What a formula knows besides the stated numbers and the place; pm(r) is the ball [−r, r].
KNOWN = {"exp": lambda x: arb(x).exp(), "sqrt": root, "pm": lambda r: arb(0, r)}


@functools.cache
def ledger() -> dict[str, Claim]:
    """The paper's claims."""
    return load()


@dataclass(frozen=True)
class Paper:
    """What a claim says a number is: a formula in the numbers that its check states, exp, sqrt, pm, pi, and a place."""

    claim: str
    formula: str
    at: Mapping[str, arb] = field(default_factory=dict)  # what the formula knows of the place: see `at`
    source: str = ""  # another claim whose check states the numbers, where the claim's own does not
    relation: str = EXACTLY  # or that the number is not smaller

    @property
    def names(self) -> frozenset[str]:
        """Which of the stated numbers count here."""
        mentioned = compile(self.formula, self.claim, "eval").co_names
        return frozenset(mentioned).difference(self.at, KNOWN, ["pi"])

    def stated(self) -> dict[str, float]:
        """Those numbers."""
        everything = ledger()[self.source or self.claim].stated()
        return {name: everything[name] for name in self.names}

    def value(self, **moved: float) -> arb:
        """The stated value as a ball, with the stated numbers as they are or some of them moved."""
        balls = {name: around(value) for name, value in {**self.stated(), **moved}.items()}
        with flint.ctx.workprec(BITS):
            return arb(eval(self.formula, {**KNOWN, "pi": arb.pi(), **self.at, **balls}))


def at(step: Fraction | int = 1, rho: Fraction | int = 1) -> dict[str, arb]:
    """The place of a formula: η, τ = η(2 − η) and ρ, dyadic numbers."""
    return {"eta": arb(exact(step)), "tau": arb(exact(step * (2 - step))), "rho": arb(exact(rho))}


def papers(place: Mapping[str, arb] | None = None, /, **formulas: str | Sequence[str]) -> tuple[Paper, ...]:
    """What these claims say, each by a formula or by several."""
    pairs = [(c, f) for c, given in formulas.items() for f in ([given] if isinstance(given, str) else given)]
    return tuple(Paper(claim, formula, place or {}) for claim, formula in pairs)


@dataclass(frozen=True)
class Certificate:
    """A quantity, its ball, the library's value, the claims about it, and the rounding that the library is allowed."""

    part: str
    quantity: str
    ball: arb
    ours: float | None = None
    papers: tuple[Paper, ...] = ()
    rounding: float = CLOSED

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
        excluded = self.ball < stated if paper.relation == AT_LEAST else not self.ball.overlaps(stated)
        return EXCLUDED if excluded else CONTAINED
