"""Losses after few epochs, as enclosures: finite sums of positive terms and coefficients of power series."""

from fractions import Fraction

from flint import arb, arb_series

from edgelaw_ledger.certificates.balls import exact, precisely


def _poisson_below(n: int, mean) -> list[arb]:
    """Poisson probabilities of n, n − 1, …, 0."""
    mean = arb(mean)
    p = (n * mean.log() - mean).exp() / arb(n).fac()
    weights = [p]
    for k in range(n, 0, -1):
        p = p * k / mean
        weights.append(p)
    return weights


@precisely(1000, 13)
def single_shuffle_test(n: int, step: Fraction) -> arb:
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
def flip_flop_test(n: int, step: Fraction) -> arb:
    """Flip-flop's test loss, n ≤ 12: E(M − J)₊/nτ, M binomial(n, τ), J Poisson(nτ), by a generating function."""
    eta, q = exact(step), arb_series([0, 1])
    tau = eta * (2 - eta)
    counts = ((tau + (1 - tau) * q) ** n * (n * tau * (q - 1)).exp()).coeffs()
    return sum(((n - i) * counts[i] for i in range(n)), arb(0)) / (n * tau)


@precisely()
def flip_flop_poisson(n: int, rho: Fraction = Fraction(1)) -> arb:
    """The paper's two Poisson expectations for flip-flop's training loss at step 1."""
    r = exact(rho)
    first = sum((k * (r - k) * p for k, p in enumerate(_poisson_below(n, n * r))), arb(0))
    second = sum((k * (k - 1) * p for k, p in enumerate(_poisson_below(n + 1, (n + 1) * r))), arb(0))
    return (first / n + second / (n + 1)) / r
