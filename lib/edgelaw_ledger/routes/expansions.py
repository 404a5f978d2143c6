"""What several groups ask for: a printed constant as a limit, Stirling's expansion, and the library's first losses."""

import functools
from collections.abc import Callable, Sequence

import mpmath
import numpy as np

from edgelaw.theory import single_shuffle
from edgelaw_ledger.evidence import Evidence, compared, decide, off, true
from edgelaw_ledger.routes.comparing import close, require
from edgelaw_ledger.routes.limits import constant
from edgelaw_ledger.routes.moments import critical_moment, single_shuffle_loss


@functools.cache
def _late(loss: Callable, step: float) -> tuple[np.ndarray, np.ndarray]:
    """Two large n, and a loss there."""
    n = np.array([2000, 32000])
    return n, np.asarray(loss(n, step))


def constant_evidence(
    loss: Callable, power: float, formula: Callable, steps: Sequence[float], second: bool, what: str
) -> Evidence:
    """Evidence that a printed constant is the limit of n^power times a loss, with a relative remainder O(n^-1/2).

    `formula` gives the constant at a step; `second` says whether the second route to the loss agreed.
    """
    require(second, f"the second route to {what}")
    ratios, bounded = [], True
    for s in steps:
        ratios.append(constant(loss, power, s) / formula(s))
        n, late = _late(loss, s)
        early, late = np.abs((n**power * late / formula(s) - 1) * np.sqrt(n))
        bounded &= late < 1.1 * early + 0.01
    return compared(
        off(f"{what}, at steps {', '.join(map(str, steps))}", max(abs(r - 1) for r in ratios), 1e-3),
        true("relative error O(n^-1/2)", bounded),
    )


@functools.cache
def single_shuffle_agrees(n: int, step: float, rho: float = 1.0, tolerance: float = 1e-9) -> bool:
    """Whether the library's test loss of single shuffle is the double coefficient of Lagrange's formula."""
    return close(single_shuffle_loss(n, step, rho), single_shuffle.test_loss(n, step, rho), tolerance)


def stirling_evidence(leading: float, second: float, third: float, library: Callable) -> Evidence:
    """Evidence for leading·n^(−1/2)(1 − second/n + third/n² + O(n⁻³)) as the expansion of nⁿe⁻ⁿ/n!."""
    with mpmath.workdps(50):

        def rest(n):
            expansion = 1 - mpmath.mpf(second) / n + mpmath.mpf(third) / n**2
            return float(n**3 * (critical_moment(n) * mpmath.sqrt(n) / leading - expansion))

        rests = [rest(n) for n in (200, 2000)]
        worst = max(abs(library(n) / float(critical_moment(n)) - 1) for n in (1, 30, 2000))
    return decide(
        worst < 1e-10 and max(map(abs, rests)) < 0.01,
        measured=f"n^3 times the rest: {rests[0]:.5f}, {rests[1]:.5f} at n = 200, 2000 (139/51840 = "
        f"{139 / 51840:.5f})",
        claimed=f"{leading:.6f} n^-1/2 (1 - {second:.6f}/n + {third:.7f}/n^2 + O(n^-3))",
        tolerance="rest below 0.01 n^-3; library within 1e-10",
    )
