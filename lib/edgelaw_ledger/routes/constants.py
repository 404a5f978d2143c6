"""Constants of the losses of Gaussian rows, m = d: limits of n^power times a loss, each measured once."""

import functools
from collections.abc import Callable, Sequence

import mpmath
import numpy as np

from edgelaw.theory import flip_flop, free, iid, single_shuffle
from edgelaw_ledger.evidence import Evidence, compared, off, true
from edgelaw_ledger.routes.comparing import close, require, within
from edgelaw_ledger.routes.equations import gaussian_iid
from edgelaw_ledger.routes.limits import constant
from edgelaw_ledger.routes.matrices import drawn
from edgelaw_ledger.routes.moments import (
    critical_moment,
    exact_train,
    lambert,
    moment_at_step,
    poisson_train,
    single_shuffle_loss,
    taylor,
)

STEPS = (0.1, 0.4, 1.0, 1.7, 1.9)

_LOSSES: dict[str, tuple[float, Callable, Callable]] = {  # the power, the library's loss, another route to it
    "trace": (0.5, free.trace_moment, moment_at_step),
    "single_shuffle test": (0.5, single_shuffle.test_loss, single_shuffle_loss),
    "single_shuffle train": (1.5, single_shuffle.train_loss, lambda n, step: exact_train(n)),
    "flip_flop test": (0.5, flip_flop.test_loss, lambda n, step: moment_at_step(n, step * (2 - step))),
    "flip_flop train": (1.5, flip_flop.train_loss, lambda n, step: poisson_train(n)),
    "iid test": (0.5, iid.test_loss, lambda n, step: gaussian_iid(n, step)[0]),
    "iid train": (1.5, iid.train_loss, lambda n, step: gaussian_iid(n, step)[1]),
}


@functools.cache
def _measured(name, step):
    """The limit, and whether the relative remainder is O(n^-1/2)."""
    power, loss, route = _LOSSES[name]
    order, _, which = name.partition(" ")
    epochs = (1, 2, 400 if order == "iid" else 3)
    require(close([float(route(n, step)) for n in epochs], loss(epochs, step), 1e-9), f"{name}, step {step}")
    if order in ("single_shuffle", "flip_flop"):
        require(within(*drawn(1.0, 8)[order, which], loss(8, 1.0), cap=0.007), f"{name} on random matrices")
    limit = constant(loss, power, step)
    n = np.array([2000, 32000])
    early, late = np.abs((n**power * loss(n, step) / limit - 1) * np.sqrt(n))
    return limit, bool(late < 1.1 * early + 0.01)


def limit(name: str, step: float = 1.0) -> float:
    """The limit of n^power times a loss, which another route and random matrices confirm; training losses at step 1."""
    return _measured(name, step)[0]


def constant_evidence(name: str, formula: Callable, what: str, steps: Sequence[float] = STEPS) -> Evidence:
    """Evidence that a printed constant is that limit at these steps, with a relative remainder O(n^-1/2)."""
    worst = max(abs(limit(name, s) / formula(s) - 1) for s in steps)
    return compared(
        off(f"{what}, at steps {', '.join(map(str, steps))}", worst, 1e-3),
        true("relative error O(n^-1/2)", all(_measured(name, s)[1] for s in steps)),
    )


def stirling(library: Callable, leading: float, *terms: float) -> Evidence:
    """Evidence for leading·n^(−1/2)(1 + t₁/n + t₂/n² + …), with these terms, as the expansion of nⁿe⁻ⁿ/n!."""
    power = len(terms) + 1
    with mpmath.workdps(50):

        def rest(n):
            expansion = 1 + sum(mpmath.mpf(t) / n**k for k, t in enumerate(terms, 1))
            return float(n**power * (critical_moment(n) * mpmath.sqrt(n) / leading - expansion))

        rests = [rest(n) for n in (200, 2000)]
        worst = max(abs(library(n) / float(critical_moment(n)) - 1) for n in (1, 30, 2000))
    require(worst < 1e-10, "the library's loss")
    expansion = "".join(f"{t:+.7f}/n^{k} " for k, t in enumerate(terms, 1))
    what = f"{leading:.6f} n^-1/2 (1 {expansion}+ O(n^-{power})), n^{power} times the rest"
    return compared(off(what, max(map(abs, rests)), 0.01))


def moments_off(form: Callable, *, ends: tuple[int, ...] = (1, 2, 5, 11)) -> float:
    """How far a formula of n and ρ is from the library's trace moments at step 1, and from Taylor coefficients."""
    worst = 0.0
    for rho in (0.4, 1.0, 2.2):
        by_series = taylor(lambda z, r=rho: r / (r + lambert(z, r)), 12)
        for n in ends:
            with mpmath.workdps(40):
                stated = form(n, mpmath.mpf(rho))
            worst = max(worst, *(abs(m / stated - 1) for m in (by_series[n], free.trace_moment(n, rho=rho))))
    return float(worst)
