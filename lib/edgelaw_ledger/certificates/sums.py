"""Losses after n epochs, as enclosures: finite sums of positive terms, coefficients of power series, one integral."""

import functools
import itertools
import math
from fractions import Fraction

from flint import acb, arb, arb_series, fmpq

from edgelaw_ledger.certificates.balls import exact, precisely, symmetric
from edgelaw_ledger.certificates.expansions import RADIUS, queue_bound, queue_weights

SERIES = 1001  # coefficients of a power series that are kept
WIDE = 4000  # bits, where a long series loses some of them


def _poisson_below(n: int, mean) -> list[arb]:
    """Poisson probabilities of n, n − 1, …, 0."""
    mean = arb(mean)
    p = (n * mean.log() - mean).exp() / arb(n).fac()
    weights = [p]
    for k in range(n, 0, -1):
        p = p * k / mean
        weights.append(p)
    return weights


@precisely()
def shuffle_test(n: int) -> arb:
    """Single shuffle's test loss at step 1: Σ H_k P(N = n−k)²; beyond the computed H_k, 2 within Cauchy's bound."""
    weights, bound, total = queue_weights(), queue_bound(), arb(0)
    for k, p in enumerate(_poisson_below(n, n)):
        H = weights[k] if k < len(weights) else 2 + symmetric(bound * arb(RADIUS) ** -k)
        total += H * p**2
    return total


@precisely()
def shuffle_train(n: int) -> arb:
    """Single shuffle's training loss at step 1: Σ (k/n)² P(N = n−k)²."""
    terms = (fmpq(k, n) ** 2 * p**2 for k, p in enumerate(_poisson_below(n, n)))
    return sum(terms, arb(0))


@precisely(1000, 13)
def shuffle_test_at(n: int, step: Fraction) -> arb:
    r"""Single shuffle's test loss at any step, m = d and n ≤ 12, as a coefficient of the generating function.

    :math:`\Phi = \eta^{-2}\sum_i (vv')^i(gg'-vv')(gg')^{-i}e^{i(gg'-vv')}/((1-v)(1-v'))`, where
    :math:`e^{i(gg'-vv')}` is a function of v times the same of v′ times :math:`e^{i\eta^2-i\tau vv'}`: for each i and
    each power of :math:`vv'` the coefficient is a difference of two squares.
    """
    eta, v = exact(step), arb_series([0, 1])
    g = eta + (1 - eta) * v
    # z = (v/g) e^(η(1−v)): the coefficient of z^n is that of v^n after (g e^(−η(1−v)))^n times dlog z/dlog v
    turn = (g * (-eta * (1 - v)).exp()) ** n * (1 - (1 - eta) * v / g - eta * v)
    total, tau = arb(0), eta * (2 - eta)
    for i in range(n + 1):
        f = turn * (i * eta * (1 - eta) * v).exp() / (g**i * (1 - v))
        with_g, without, factor = (g * f).coeffs(), f.coeffs(), (arb(i) * eta**2).exp()
        for j in range(n - i + 1):
            left = n - i - j
            total += factor * (with_g[left] ** 2 - (without[left - 1] ** 2 if left else 0))
            factor = factor * (-i * tau) / (j + 1)
    return total / eta**2


@precisely()
def trace_moment(n: int, rho: Fraction) -> arb:
    """E(1 − N/n)₊ with N Poisson of mean ρn: the trace moment at step 1."""
    terms = (k * p for k, p in enumerate(_poisson_below(n, n * exact(rho))))
    return sum(terms, arb(0)) / n


@precisely(WIDE, SERIES)
def flip_flop_test(n: int, step: Fraction) -> arb:
    """Flip-flop's test loss, n ≤ 1000: E(M − J)₊/nτ, M binomial(n, τ), J Poisson(nτ), by a generating function."""
    eta, q = exact(step), arb_series([0, 1])
    tau = eta * (2 - eta)
    counts = ((tau + (1 - tau) * q) ** n * (n * tau * (q - 1)).exp()).coeffs()
    return sum(((n - i) * counts[i] for i in range(n)), arb(0)) / (n * tau)


@precisely(WIDE, SERIES)
def flip_flop_train(n: int, step: Fraction, rho: Fraction = Fraction(1)) -> arb:
    r"""Flip-flop's training loss, n ≤ 1000: :math:`\frac1n[q^{n-1}]G'(q)(\tau+\kappa q)^ne^{-n\tau\rho(1-q)}`."""
    if n >= SERIES:
        raise ValueError(f"n must be at most {SERIES - 1}: more coefficients are not kept.")
    eta, q = exact(step), arb_series([0, 1])
    tau, c = eta * (2 - eta), arb(eta**2 * exact(rho))
    moments = _moments(n + 2, c)
    inner = [c**k / arb(k).fac() * ((1 + c) * moments[k] - c * moments[k + 1]) for k in range(n + 1)]
    G = (tau + (1 - tau) * q) / tau * arb_series(inner)
    turn = (tau + (1 - tau) * q) ** n * (n * tau * exact(rho) * (q - 1)).exp()
    return (G.derivative() * turn)[n - 1] / n


def _moments(count, c):
    """∫₀¹ u^k e^(−cu) du for k < count, by the recurrence that gains digits downwards, from far beyond."""
    start = count + 300
    moments = [(-c).exp().union(arb(1)) / (start + 1)]  # the integrand is between e^(−c)u^k and u^k
    for k in range(start, 0, -1):
        moments.append((c * moments[-1] + (-c).exp()) / k)
    return moments[::-1][:count]


@precisely()
def flip_flop_poisson(n: int, rho: Fraction = Fraction(1)) -> arb:
    """The paper's two Poisson expectations for flip-flop's training loss at step 1."""
    r = exact(rho)
    first = sum((k * (r - k) * p for k, p in enumerate(_poisson_below(n, n * r))), arb(0))
    second = sum((k * (k - 1) * p for k, p in enumerate(_poisson_below(n + 1, (n + 1) * r))), arb(0))
    return (first / n + second / (n + 1)) / r


@precisely()
def iid(n: int, step: Fraction) -> tuple[arb, arb]:
    r"""Both losses of IID sampling: integrals of :math:`\frac2\pi e^{-2\eta n\lambda}a^2\cos^2\frac\theta2/|P|^2`."""
    eta = exact(step)
    b = arb(eta / 2)
    a = 1 - b

    def integrand(power, theta, _analytic):
        cos = theta.cos()
        size = 1 + 5 * b**2 - 4 * b * (1 + b) * cos + 2 * b * (2 * cos**2 - 1)
        rate = 2 - 2 * cos
        return (-2 * eta * n * rate).exp() * a**2 * (1 + cos) / 2 / size * (rate / a) ** power

    ends = [arb(0), arb.pi() / math.isqrt(n), arb.pi()]  # the peak at 0 is as wide as 1/√n
    losses = []
    for power in (0, 1):
        function = functools.partial(integrand, power)
        parts = [acb.integral(function, *pair, abs_tol=arb(2) ** -180) for pair in itertools.pairwise(ends)]
        losses.append(2 / arb.pi() * sum(parts, acb(0)).real)
    return losses[0], losses[1]


@precisely()
def first_reshuffled(step: Fraction) -> tuple[arb, arb]:
    r"""Random reshuffle after one epoch: :math:`W=e^{-\eta(2-\eta)}` and :math:`W+\frac{2-\eta}\eta(e^{-2\eta}-W)`."""
    eta = exact(step)
    test = arb(-eta * (2 - eta)).exp()
    return test, test + (2 - eta) / eta * (arb(-2 * eta).exp() - test)
