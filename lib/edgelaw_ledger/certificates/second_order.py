"""Certificates of the coefficients beyond the leading one, at step 1 and m = d."""

import math
from collections.abc import Iterator
from fractions import Fraction

from flint import arb

from edgelaw.theory import flip_flop, single_shuffle
from edgelaw_ledger.certificates import expansions
from edgelaw_ledger.certificates.entries import Certificate, Paper, corrected_fraction
from edgelaw_ledger.certificates.naming import CLOSED


def _coefficient(quantity, ball, ours, *papers):
    return Certificate("expansions", quantity, ball, ours, CLOSED, papers)


def _absent(power):
    """What a remainder O(n^−q) says of the coefficient of n^−power: that it is 0 if q is larger, else nothing."""
    return lambda p: arb(0) if p["power"] > power else arb(0, 1)


def _library(loss):
    return [float(c) / math.pi**over for _, c, over in single_shuffle.expansion(loss, 3)]


def shuffle_test() -> Iterator[Certificate]:
    """Single shuffle's test loss: the second coefficient, whose printed sign is wrong, and the third."""
    _, second, third = expansions.shuffle_test().coefficients[:3]
    leading = expansions.shuffle_test().coefficients[0]
    ours = _library("test")
    printed = [Paper("D15", lambda p: p["second"])]
    printed += [Paper(claim, lambda p: p["second"], source="D15") for claim in ("D16", "D17")]
    yield _coefficient("single shuffle, test, of $n^{-1}$", second, ours[1], *printed)
    yield _coefficient("single shuffle, test, of $n^{-1}$ over that of $n^{-1/2}$", second / leading,
                       ours[1] / ours[0], Paper("D18", lambda p: p["relative"]))  # fmt: skip
    yield _coefficient("single shuffle, test, of $n^{-3/2}$", third, ours[2], Paper("D16", _absent(1.5)))


def shuffle_train() -> Iterator[Certificate]:
    """Single shuffle's training loss: the second coefficient, which is right, and the third."""
    leading, second, third = expansions.shuffle_train().coefficients[:3]
    ours = _library("train")
    yield _coefficient("single shuffle, training, of $n^{-2}$", second, ours[1],
                       Paper("D20", lambda p: p["second"]))  # fmt: skip
    yield _coefficient("single shuffle, training, of $n^{-2}$ over that of $n^{-3/2}$", second / leading,
                       ours[1] / ours[0], Paper("D20", lambda p: p["relative"]),
                       Paper("D22", lambda p: arb(0)))  # fmt: skip
    yield _coefficient("single shuffle, training, of $n^{-5/2}$", third, ours[2],
                       Paper("D21", _absent(2.5)))  # fmt: skip


def flip_flop_train() -> Iterator[Certificate]:
    """Flip-flop's training loss: the second coefficient, whose printed value is wrong."""
    leading, _, second = expansions.flip_flop_train().coefficients[:3]
    printed = [Paper("E12", lambda p: p["second"]), Paper("E13", lambda p: p["second"], source="E12")]
    yield _coefficient("flip-flop, training, of $n^{-5/2}$ over that of $n^{-3/2}$", second / leading,
                       corrected_fraction("E12"), *printed)  # fmt: skip


def overdetermined() -> Iterator[Certificate]:
    """Trace moments at ρ > 1 over the law that is printed for them, for every n from 1000 on: it should tend to 1."""
    for rho in (Fraction(3, 2), Fraction(2)):
        inverse, scaled = expansions.overdetermined_ratio(rho, 1000)
        yield _coefficient(f"$m_n({rho})$ over the printed law, every $n\\ge1000$", inverse * scaled, None,
                           Paper("D8", lambda p: arb(1)))  # fmt: skip


def stirling() -> Iterator[Certificate]:
    """Flip-flop's test loss, which is the trace moment: Stirling's series."""
    leading, _, second, _, third = expansions.critical_moment().coefficients[:5]
    claims, name = ("C2", "D5", "E4"), "flip-flop, test ($n^ne^{-n}/n!$), of"
    yield _coefficient(f"{name} $n^{{-1/2}}$", leading, flip_flop.test_constant(),
                       *(Paper(claim, lambda p: p["leading"]) for claim in claims))  # fmt: skip
    yield _coefficient(f"{name} $n^{{-3/2}}$ over that of $n^{{-1/2}}$", second / leading, None,
                       *(Paper(claim, lambda p: -p["second"]) for claim in claims))  # fmt: skip
    yield _coefficient(f"{name} $n^{{-5/2}}$ over that of $n^{{-1/2}}$", third / leading, None,
                       *(Paper(claim, lambda p: p["third"]) for claim in claims[1:]))  # fmt: skip
