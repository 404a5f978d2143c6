r"""Second-order coefficients at step 1 and m = d, rigorously, from the exact sums.

With :math:`p_k` the Poisson probabilities of mean n and :math:`r_k = p_{n-k}/p_n = \prod_{i<k}(1-i/n)`, the losses are

.. math:: \text{single shuffle: } p_n^2\sum_k H_kr_k^2, \quad p_n^2\sum_k\tfrac{k^2}{n^2}r_k^2; \qquad
   \text{flip-flop: } p_n, \quad V(n)-V(n+1),\ V(n) = \tfrac12 + 2p_n - p_n\sum_{k\ge0}r_k ,

the last one a rewriting of the paper's two Poisson expectations (:math:`\sum_{j\le n}(n-j)^2p_j = nP(N<n)`). So four
things are expanded, each with a bound of what is left for every n ≥ N: :math:`p_n` by Stirling's series;
:math:`\sum k^jr_k^w` by :math:`r_k^w = e^{-wk^2/2n}e^u`, u a polynomial of order s, and Euler and Maclaurin's formula;
the part of H that is not 2, by its values and by Cauchy's bound; and a difference in n by the binomial series.
"""

import math
from fractions import Fraction

from flint import acb, arb, arb_series, fmpq, fmpq_poly

from edgelaw_ledger.certificates import models
from edgelaw_ledger.certificates.balls import exact, precisely, root
from edgelaw_ledger.certificates.models import BITS, START, TERMS, Model, small, symmetric

RADIUS, SHOWN = 4, 200  # Cauchy's circle for the weights H_k, and how many of them are computed


# ------------------------------------------------------------------------------------------- Σ k^j r_k^w over k


@precisely(BITS)
def power_sum(weight: int, power: int) -> Model:
    """Σ_k k^power r_k^weight over n^((power+1)/2), for weight 1 or 2."""
    c = fmpq(weight, 2)
    total = Model([])
    for (degree, order), factor in _exponential(weight).items():
        if order < TERMS:
            total = total + _gaussian_sum(c, power + degree).times_power(order) * factor
        else:  # beyond the last power that is kept
            rest = symmetric(abs(factor) * _gaussian_bound(c, power + degree)) * small() ** (order - TERMS)
            total = total + Model([], rest)
    return total + Model([], symmetric(_taylor_rest(weight, power) + _far_rest(weight, power)))


def _faulhaber(m):
    """The polynomial Σ_{i<k} i^m in k."""
    k = fmpq_poly([0, 1])
    total, bernoulli = fmpq_poly([0]), [fmpq.bernoulli(j) for j in range(m + 1)]
    for j in range(m + 1):
        total += math.comb(m + 1, j) * bernoulli[j] * k ** (m + 1 - j)
    return total / (m + 1)


def _exponent(weight):
    """u = ck/n − w Σ_{2≤m≤L} (Σ_{i<k} i^m)/(m n^m) as {(a, b): factor} of y^a s^b, with k = y/s and n = s^(−2)."""
    terms = {(1, 1): fmpq(weight, 2)}
    for m in range(2, TERMS + 1):
        for a, factor in enumerate(_faulhaber(m).coeffs()):
            if factor != 0:
                key = (a, 2 * m - a)
                terms[key] = terms.get(key, fmpq(0)) - weight * factor / m
    return terms


@precisely(BITS)
def _exponential(weight):
    """Σ_{i<L} u^i/i! in the same form."""
    u, power, total = _exponent(weight), {(0, 0): fmpq(1)}, {(0, 0): fmpq(1)}
    for i in range(1, TERMS):
        product = {}
        for (a, b), x in power.items():
            for (e, f), y in u.items():
                product[a + e, b + f] = product.get((a + e, b + f), fmpq(0)) + x * y / i
        power = product
        for key, x in power.items():
            total[key] = total.get(key, fmpq(0)) + x
    return total


def _taylor_rest(weight, power):
    r"""What e^u less its Taylor polynomial, and the powers of k/n beyond L in r_k, add up to over k ≤ n/2.

    There :math:`|u| \le s(cy + wy^3/4)` and :math:`u \le c/2`; the logarithm's tail is between 0 and
    :math:`2wy^{L+2}s^L/((L+1)(L+2))`.
    """
    c, front = fmpq(weight, 2), arb(fmpq(weight, 4)).exp()
    total = arb(0)
    for i in range(TERMS + 1):  # (cy + wy³/4)^L by the binomial theorem
        factor = math.comb(TERMS, i) * c ** (TERMS - i) * fmpq(weight, 4) ** i
        total += factor * _gaussian_bound(c, power + TERMS + 2 * i)
    total = total / arb(TERMS).fac()
    tail = fmpq(2 * weight, (TERMS + 1) * (TERMS + 2)) * _gaussian_bound(c, power + TERMS + 2)
    return front * (total + tail)


def _far_rest(weight, power):
    """What k > n/2 adds, to the sum itself and to the one that replaces it: e^(−cn/8) takes all of it."""
    c = fmpq(weight, 2)
    if START * c < 4 * TERMS:
        raise ArithmeticError("START is too small for the far part to fall with n.")
    front = (-arb(c) * START / 8).exp() * arb(START).sqrt() ** TERMS
    total = arb(c).exp() * _gaussian_bound(c / 2, power)
    for (degree, order), factor in _exponential(weight).items():
        total += abs(factor) * _gaussian_bound(c / 2, power + degree) * small() ** order
    return front * total.abs_upper()


def _integral(c, degree):
    """∫₀^∞ y^degree e^(−cy²) dy."""
    half = fmpq(degree + 1, 2)
    return arb(half).gamma() / (2 * (arb(c).log() * half).exp())


def _gaussian_bound(c, degree):
    """An upper bound of s Σ_k F(ks), F = y^degree e^(−cy²): the integral, and s times the maximum of F."""
    top = (arb(degree) / (2 * arb(c) * arb.const_e())).sqrt() ** degree if degree else arb(1)
    return _integral(c, degree) + small() * top


@precisely(BITS)
def _gaussian_sum(c, degree):
    """s Σ_{k≥0} F(ks) by Euler and Maclaurin, F = y^degree e^(−cy²)."""
    terms = [_integral(c, degree), arb(fmpq(1, 2)) if degree == 0 else arb(0)] + [arb(0)] * (TERMS + 2)
    count = (TERMS + 1) // 2
    for i in range(1, count + 1):
        excess = 2 * i - 1 - degree  # F^(2i−1)(0) is (2i−1)! times a Taylor coefficient of F
        if excess >= 0 and excess % 2 == 0:
            slope = (-c) ** (excess // 2) / math.factorial(excess // 2)
            terms[2 * i] -= fmpq.bernoulli(2 * i) / (2 * i) * slope
    bound = abs(fmpq.bernoulli(2 * count)) / math.factorial(2 * count) * _variation(c, degree, 2 * count)
    terms[2 * count] += symmetric(bound)
    return Model(terms)


def _variation(c, degree, order):
    """An upper bound of ∫₀^∞ |F^(order)|, from the absolute values of its polynomial's coefficients."""
    y = fmpq_poly([0, 1])
    polynomial = y**degree
    for _ in range(order):
        polynomial = polynomial.derivative() - 2 * c * y * polynomial
    return sum((abs(x) * _integral(c, i) for i, x in enumerate(polynomial.coeffs())), arb(0))


# ------------------------------------------------------------------------------------------- the weights H of the queue


@precisely(2000, SHOWN + 1)
def queue_weights() -> list[arb]:
    """The first H_k: the series of (1−u)/(1 − u e^(1−u))."""
    u = arb_series([0, 1])
    return ((1 - u) / (1 - u * (1 - u).exp())).coeffs()[:SHOWN]


@precisely(100)
def queue_bound() -> arb:
    r"""C with :math:`|H_k-2| \le C\,4^{-k}`: the largest value of :math:`f - 2/(1-u)` on the circle :math:`|u| = 4`.

    Inside it :math:`1 - ue^{1-u}` vanishes at u = 1 only. For such a u, :math:`|u| = e^{x-1}` and, as
    :math:`|y| \le 4 < 2\pi`, either the argument of u is y, and then
    :math:`|u| = y/\sin y \ge 1 \ge e^{y\cot y-1} = |u|` makes y = 0, or it differs from y by :math:`2\pi` and has
    the other sign.
    """
    largest, pieces = arb(0), 2000
    for j in range(pieces):
        angle = arb(fmpq(2 * j + 1, pieces)) + symmetric(arb(fmpq(1, pieces)))  # in units of π
        u = RADIUS * acb(angle.cos_pi(), angle.sin_pi())
        value = (1 - u) / (1 - u * (1 - u).exp()) - 2 / (1 - u)
        largest = largest.max(arb(value.abs_upper()))
    if not largest.is_finite():
        raise ArithmeticError("The circle meets a zero of 1 - u exp(1 - u).")
    return largest


@precisely(BITS)
def queue_part() -> Model:
    r""":math:`\sum_k(H_k-2)r_k^2`: by powers of 1/n, with Bonferroni's inequalities for the products :math:`r_k^2`."""
    count = (TERMS + 1) // 2
    coefficients, rest = [arb(0)] * (2 * count), arb(0)
    for k, weight in enumerate(queue_weights()):
        for i, symmetric_sum in enumerate(_products(k, count)):
            coefficients[2 * i] += (weight - 2) * symmetric_sum
        rest += abs(weight - 2) * k ** (2 * count)
    tail = 2 * queue_bound() * arb(RADIUS) ** -SHOWN  # Σ_{k≥SHOWN} 4^(−k) k^a ≤ 2·4^(−SHOWN) SHOWN^a
    for i in range(count):
        coefficients[2 * i] += symmetric(tail * SHOWN ** (2 * i) / math.factorial(i))
    rest = count * (rest + tail * SHOWN ** (2 * count))
    return Model(coefficients[:TERMS], symmetric(rest) * small() ** (2 * count - TERMS))


def _products(k, count):
    """The first coefficients in x of ∏_{i<k} (1 − ix)²."""
    series = [1] + [0] * (count - 1)
    for i in range(1, k):
        for _ in range(2):
            series = [series[j] - (i * series[j - 1] if j else 0) for j in range(count)]
    return series


# ------------------------------------------------------------------------------------------- the losses


@precisely(BITS)
def overdetermined_ratio(rho: Fraction, start: int) -> tuple[arb, arb]:
    r"""Balls of 1/n and of q for every n ≥ start, where q/n is the trace moment at ρ > 1 over the paper's law for it.

    :math:`m_n/P(N=n) = 1-(\rho-1)\sum_{k\ge1}\rho^{-k}r_k`, and :math:`1-x_k \le r_k \le 1-x_k+x_k^2/2` with
    :math:`x_k = k(k-1)/2n` (Bonferroni; for k > n, where r is 0, both bounds hold as well). The law is
    :math:`P(N=n)` over Stirling's factor, which is between 1 and :math:`e^{-1/12n}`.
    """
    x = 1 / exact(rho)
    first = x**2 / (1 - x) ** 3  # Σ k(k−1)/2 x^k
    squared = x**2 * (1 + 4 * x + x**2) / (1 - x) ** 5  # Σ (k(k−1)/2)² x^k
    front = 1 / x - 1
    inverse = arb(fmpq(1, 2 * start)) + symmetric(fmpq(1, 2 * start))  # [0, 1/start]
    gap = front * squared / 2 * inverse
    spread = gap / 2 + symmetric(gap / 2)  # [0, gap], for any of these n
    return inverse, (front * first - spread) * (-inverse / 12).exp()


@precisely(BITS)
def critical_moment() -> Model:
    """√n p_n, the test loss of flip-flop and the trace moment: n^n e^(−n)/n! times √n."""
    return models.stirling() * (1 / root(2 * arb.pi()))


@precisely(BITS)
def shuffle_test() -> Model:
    """√n times single shuffle's test loss."""
    p = critical_moment()
    return p * p * (power_sum(2, 0) * 2 + queue_part().times_power(1))


@precisely(BITS)
def shuffle_train() -> Model:
    """n^(3/2) times single shuffle's training loss."""
    p = critical_moment()
    return p * p * power_sum(2, 2)


@precisely(BITS)
def flip_flop_train() -> Model:
    """n^(3/2) times flip-flop's training loss: V(n) − V(n+1), term by term."""
    p = critical_moment()
    late = p.times_power(1) * 2 - p * power_sum(1, 0)
    difference = Model([])
    for i in range(1, TERMS):  # a constant cancels exactly
        part = (Model([1]) - models.binomial(fmpq(-i, 2))) * late.coefficients[i]
        difference = difference + part.times_power(i)
    # |R(n) n^(−L/2) − R(n+1)(n+1)^(−L/2)| is at most 2|R| s^L
    return (difference + Model([], symmetric(2 * late.rest))).over_power(3)
