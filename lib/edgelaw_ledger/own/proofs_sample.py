"""Checks of the third page of proofs: formulas against exact counts of words, and what the aspect ratio changes."""

from fractions import Fraction
from itertools import product

from edgelaw.theory.free import words
from edgelaw_ledger.evidence import Evidence, decide

# No law has these free cumulants: the second would be its variance
NO_LAW = tuple(Fraction(x) for x in (1, -3, 2, 5, 7, -11, 13, 2, -3, 4, 5, -6, 7, 8, 9, 1))
ASPECTS = (Fraction(1, 2), Fraction(1), Fraction(2))


def formulas_are_words(*, powers: int = 6, epochs: int = 3) -> Evidence:
    """Coefficients of the closed formulas in rational arithmetic against sums over non-crossing partitions."""
    equal = total = 0
    for n, rho in product(range(1, epochs + 1), ASPECTS):
        for order, factors in (("single_shuffle", "A" * n + "B" * n), ("flip_flop", "BA" * n)):
            test, train = words.formulas(order, n, powers, NO_LAW, rho)
            for k in range(1, powers + 1):
                equal += test[k] == rho * words.evaluate(words.losses(factors, k), NO_LAW)
                equal += train[k] == words.evaluate(words.losses("S" + factors, k), NO_LAW)
                total += 2
    return decide(
        equal == total and NO_LAW[1] < 0,
        measured=f"{equal} of {total} coefficients are equal as fractions",
        claimed=f"all, up to the power {powers} of the step, after 1 to {epochs} epochs",
        tolerance="none: rational numbers",
    )


def reshuffled_epoch_is_words(*, powers: int = 4) -> Evidence:
    """Coefficients of the double transform of a reshuffled epoch against sums over non-crossing partitions."""
    equal = total = 0
    for rho in (ASPECTS[0], ASPECTS[2]):
        table = words.reshuffled(powers, 1, NO_LAW, rho)
        for i, j, k in product(range(2), range(2), range(powers + 1)):
            word = words.losses("S" * i + "A" + "S" * j + "B", k)
            equal += table[i][j][k] == rho * words.evaluate(word, NO_LAW) + (i == j == k == 0)
            total += 1
    return decide(
        equal == total,
        measured=f"{equal} of {total} coefficients are equal as fractions",
        claimed=f"all, up to the power {powers} of the step",
        tolerance="none: rational numbers",
    )


def aspect_ratio_scales(*, powers: int = 6) -> Evidence:
    """Coefficients of both losses at three aspect ratios and the same free cumulants of the Gram matrix."""
    same = proportional = True
    for order, n in product(("single_shuffle", "flip_flop"), (1, 2)):
        tests, trains = zip(*(words.formulas(order, n, powers, NO_LAW, rho) for rho in ASPECTS), strict=True)
        same &= trains[0] == trains[1] == trains[2]
        for rho, test in zip(ASPECTS, tests, strict=True):
            proportional &= test[1:] == [rho * x for x in tests[1][1:]]
    return decide(
        same and proportional,
        measured=f"training losses equal: {same}; one minus test loss proportional: {proportional}",
        claimed="both, at m = d/2, d and 2d",
        tolerance="none: rational numbers",
    )
