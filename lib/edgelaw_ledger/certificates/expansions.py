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

from flint import acb, arb, arb_poly, arb_series, fmpq, fmpq_mpoly_ctx, fmpq_poly, fmpz_poly

from edgelaw_ledger.certificates import models
from edgelaw_ledger.certificates.balls import exact, precisely, root, symmetric, up_to
from edgelaw_ledger.certificates.models import BITS, START, TERMS, folded, small

RADIUS, SHOWN = 4, 200  # Cauchy's circle for the weights H_k, and how many of them are computed


# ------------------------------------------------------------------------------------------- Σ k^j r_k^w over k


@precisely(BITS)
def power_sum(weight: int, power: int) -> arb_poly:
    """Σ_k k^power r_k^weight over n^((power+1)/2), for weight 1 or 2."""
    c = fmpq(weight, 2)
    rest = _taylor_rest(weight, power) + _far_rest(weight, power)
    total = arb_poly([symmetric(rest)]).left_shift(TERMS)
    for (degree, order), factor in _exponential(weight):
        if order < TERMS:
            total += folded(_gaussian_sum(c, power + degree).left_shift(order) * factor)
        else:  # beyond the last power that is kept
            bound = symmetric(abs(factor) * _gaussian_bound(c, power + degree))
            total += folded(arb_poly([bound]).left_shift(order))
    return total


@precisely(BITS)
def _exponential(weight):
    r"""The terms ((a, b), factor) of :math:`\sum_{i<L}u^i/i!` as a polynomial in y and s: factor times y^a s^b.

    With k = y/s and :math:`n = s^{-2}` that is :math:`u = ck/n-w\sum_{2\le m\le L}\sum_{i<k}i^m/(mn^m)`, the inner sum
    by Faulhaber's formula.
    """
    y, s = fmpq_mpoly_ctx.get(("y", "s")).gens()
    u = fmpq(weight, 2) * y * s
    for m in range(2, TERMS + 1):
        for j in range(m + 1):
            factor = math.comb(m + 1, j) * fmpq.bernoulli(j) / (m * (m + 1))
            u -= weight * factor * y ** (m + 1 - j) * s ** (m - 1 + j)
    total = sum(u**i / math.factorial(i) for i in range(TERMS))
    return list(total.terms())


def _taylor_rest(weight, power):
    r"""What e^u less its Taylor polynomial, and the powers of k/n beyond L in r_k, add up to over k ≤ n/2.

    There :math:`|u| \le s(cy + wy^3/4)` and :math:`u \le c/2`; the logarithm's tail is between 0 and
    :math:`2wy^{L+2}s^L/((L+1)(L+2))`.
    """
    c, front = fmpq(weight, 2), arb(fmpq(weight, 4)).exp()
    rest = fmpq(2 * weight, (TERMS + 1) * (TERMS + 2)) * _gaussian_bound(c, power + TERMS + 2)
    for i in range(TERMS + 1):  # (cy + wy³/4)^L/L! by the binomial theorem
        factor = c ** (TERMS - i) / math.factorial(TERMS - i) * fmpq(weight, 4) ** i / math.factorial(i)
        rest += factor * _gaussian_bound(c, power + TERMS + 2 * i)
    return front * rest


def _far_rest(weight, power):
    """What k > n/2 adds, to the sum itself and to the one that replaces it; e^(−cn/8)n^(L/2) falls from n = 4L/c."""
    c = fmpq(weight, 2)
    front = (-arb(c) * START / 8).exp() * arb(START).sqrt() ** TERMS
    total = arb(c).exp() * _gaussian_bound(c / 2, power)
    for (degree, order), factor in _exponential(weight):
        total += abs(factor) * _gaussian_bound(c / 2, power + degree) * small() ** order
    return front * total.abs_upper()


def _integral(c, degree):
    """∫₀^∞ y^degree e^(−cy²) dy."""
    half = fmpq(degree + 1, 2)
    return arb(half).gamma() / (2 * arb(c) ** half)


def _gaussian_bound(c, degree):
    """An upper bound of s Σ_k F(ks), F = y^degree e^(−cy²): the integral, and s times the maximum of F."""
    top = (arb(degree) / (2 * arb(c) * arb.const_e())).sqrt() ** degree if degree else arb(1)
    return _integral(c, degree) + small() * top


@precisely(BITS)
def _gaussian_sum(c, degree):
    """s Σ_{k≥0} F(ks) by Euler and Maclaurin, F = y^degree e^(−cy²)."""
    terms = [_integral(c, degree), fmpq(int(degree == 0), 2)] + [arb(0)] * (TERMS - 1)
    for order in range(2, TERMS + 1, 2):
        half, odd = divmod(order - 1 - degree, 2)
        if half >= 0 and not odd:  # F^(order−1)(0) is (order−1)! times a Taylor coefficient of F
            terms[order] -= fmpq.bernoulli(order) / order * (-c) ** half / math.factorial(half)
    bound = abs(fmpq.bernoulli(TERMS)) / math.factorial(TERMS) * _variation(c, degree, TERMS)
    terms[TERMS] += symmetric(bound)
    return arb_poly(terms)


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
def queue_part() -> arb_poly:
    r""":math:`\sum_k(H_k-2)r_k^2`: by powers of 1/n, with Bonferroni's inequalities for the products :math:`r_k^2`."""
    count = TERMS // 2
    total, rest, product = arb_poly([0]), arb(0), fmpz_poly([1])  # product: the first powers in 1/n of r_k²
    for k, weight in enumerate(queue_weights()):
        total += (weight - 2) * arb_poly(product)
        rest += abs(weight - 2) * k**TERMS
        product = (product * fmpz_poly([1, -k]) ** 2).truncate(count)
    tail = 2 * queue_bound() * arb(RADIUS) ** -SHOWN  # Σ_{k≥SHOWN} 4^(−k) k^a ≤ 2·4^(−SHOWN) SHOWN^a
    terms = [total[i] + symmetric(tail * SHOWN ** (2 * i) / math.factorial(i)) for i in range(count)]
    return models.even([*terms, symmetric(count * (rest + tail * SHOWN**TERMS))])


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
    inverse = up_to(fmpq(1, start))
    spread = up_to(front * squared / 2 * arb(fmpq(1, start)))
    return inverse, (front * first - spread) * (-inverse / 12).exp()


@precisely(BITS)
def critical_moment() -> arb_poly:
    """√n p_n, the test loss of flip-flop and the trace moment: n^n e^(−n)/n! times √n."""
    return models.stirling() * (1 / root(2 * arb.pi()))


@precisely(BITS)
def shuffle_test() -> arb_poly:
    """√n times single shuffle's test loss."""
    square = folded(critical_moment() ** 2)
    return folded(square * (power_sum(2, 0) * 2 + folded(queue_part().left_shift(1))))


@precisely(BITS)
def shuffle_train() -> arb_poly:
    """n^(3/2) times single shuffle's training loss."""
    return folded(folded(critical_moment() ** 2) * power_sum(2, 2))


@precisely(BITS)
def flip_flop_train() -> arb_poly:
    """n^(3/2) times flip-flop's training loss: V(n) − V(n+1), term by term."""
    p = critical_moment()
    late = folded(p.left_shift(1) * 2 - p * power_sum(1, 0))
    # a constant cancels exactly, and |R(n) n^(−L/2) − R(n+1)(n+1)^(−L/2)| is at most 2|R| s^L
    difference = arb_poly([symmetric(2 * late[TERMS])]).left_shift(TERMS)
    for i in range(1, TERMS):
        difference += folded((late[i] * (1 - models.binomial(fmpq(-i, 2)))).left_shift(i))
    return models.over_power(difference, 3)
