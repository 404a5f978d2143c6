r"""Random reshuffle's training constant: an integral equation of the second kind, solved with a proved error.

The constant is :math:`g(0)/2\sqrt{2\pi\eta'}`, :math:`\eta' = \eta(1+\eta/2)`, where at m = d

.. math:: R(\lambda)\,g(\lambda) - \int\kappa(\lambda,\mu)\,\mu\,g(\mu)\,dF(\mu) = 1, \qquad
   R = \frac{1-\bar a^2}\lambda, \quad \kappa = ⟦\varepsilon⟧[\lambda,\mu]^2 - ⟦(a-1)\varepsilon⟧[\lambda,\mu]^2
   - \eta\,⟦(a-1)H⟧[\lambda,\mu]

(the module :mod:`edgelaw.theory.random_reshuffle` explains the symbols). For an entire
:math:`\varphi = \sum\varphi_ka^k` the bracket :math:`⟦\varphi⟧` is :math:`\sum\varphi_k\alpha_k(\lambda)` with
polynomials :math:`\alpha_{k+1} = \lambda(\alpha_k-\alpha_{k-1})`, so that :math:`\kappa` and R are polynomials up to a
tail that Cauchy's and Markov's inequalities bound. 1/R is a polynomial Q up to :math:`1 - QR`, a polynomial again,
bounded by its Chebyshev coefficients. What is left is a linear system in balls, and one bound of its inverse. In
:math:`t = (\lambda-2)/2 \in [-1, 1]` the law is :math:`dF = (1-t)\,dt/\pi\sqrt{1-t^2}`, whose moments are rational.
"""

import math
from fractions import Fraction

from flint import arb, arb_mat, arb_poly, arb_series, fmpq, fmpz_poly

from edgelaw_ledger.certificates.balls import exact, precisely, root
from edgelaw_ledger.certificates.edges import reshuffle_rate
from edgelaw_ledger.certificates.models import symmetric

DEGREE = 64  # K: powers of a that are kept
KEPT = 56  # Chebyshev polynomials of the kernel that are kept
INVERSE = 128  # the degree of Q
CIRCLE = 20  # Cauchy's circle |a| = 20
BITS = 1000


# ------------------------------------------------------------------------------------------- polynomials in t


def _brackets():
    """α_0, …, α_K as polynomials of t, λ = 2 + 2t."""
    rate, alphas = fmpz_poly([2, 2]), [fmpz_poly([0]), fmpz_poly([1])]
    while len(alphas) <= DEGREE:
        alphas.append(rate * (alphas[-1] - alphas[-2]))
    return alphas


def _bracket(coefficients):
    """⟦φ⟧ from the first coefficients of φ."""
    total = arb_poly([0])
    for factor, alpha in zip(coefficients, _brackets(), strict=True):
        total += factor * arb_poly(alpha)
    return total


def _tail(size):
    r"""A bound of a divided difference of what is left of ⟦φ⟧, if :math:`|φ| \le` size on :math:`|a| = 20`.

    :math:`|φ_k| \le \text{size}\cdot20^{-k}`, :math:`|α_k| \le k\,2^{k-1}` on [0, 4] since :math:`|a| \le 2`, and by
    Markov its slope is at most :math:`(k-1)^2/2` times that: the terms :math:`k^32^{k-2}20^{-k}` fall by more than
    one half.
    """
    k = DEGREE + 1
    return 2 * size * arb(2) ** (k - 2) * k**3 / arb(CIRCLE) ** k


def _chebyshev(polynomial):
    """The Chebyshev coefficients of a polynomial."""
    coefficients = polynomial.coeffs()
    result = [arb(0)] * len(coefficients)
    for n, c in enumerate(coefficients):
        for k in range(n // 2 + 1):  # t^n = 2^(1−n) Σ binomial(n, k) T_{n−2k}, T_0 with one half
            share = fmpq(math.comb(n, k), 2 ** max(n - 1, 0))
            result[n - 2 * k] += c * (share / 2 if n == 2 * k and n else share)
    return result


def _supremum(polynomial):
    """An upper bound on [−1, 1]: |T_k| ≤ 1."""
    return sum((abs(c) for c in _chebyshev(polynomial)), arb(0))


# ------------------------------------------------------------------------------------------- the kernel and the rate


def _functions(eta):
    """The Taylor coefficients of aε, ε, (a−1)ε and (a−1)H, and bounds of the four on the circle."""
    a = arb_series([0, 1])
    epsilon = (-eta * a).exp()
    y = eta * (2 * a - 2 + eta)
    front = arb(eta) ** 2 / 2 * arb(-eta * (2 - eta)).exp()
    H = (-2 * eta * a).exp() / 2 + front * (1 - (-y).exp()) / y
    functions = [a * epsilon, epsilon, (a - 1) * epsilon, (a - 1) * H]
    coefficients = [(f.coeffs() + [arb(0)] * DEGREE)[: DEGREE + 1] for f in functions]
    grown = (arb(eta) * CIRCLE).exp()
    H_size = grown**2 / 2 + front * (arb(eta) * (2 * CIRCLE + 2 - eta)).exp()  # |(1 − e^(−y))/y| ≤ e^|y|
    sizes = [CIRCLE * grown, grown, (CIRCLE + 1) * grown, (CIRCLE + 1) * H_size]
    return coefficients, sizes


def _slope_bound(coefficients):
    """An upper bound of a divided difference of ⟦φ⟧, by the same two inequalities."""
    return sum((abs(c) * arb(2) ** (k - 2) * k**3 for k, c in enumerate(coefficients)), arb(0))


def _difference(coefficients):
    """⟦φ⟧[λ, μ] as a table of powers of t and t′: f_{i+j+1}/2."""
    f = _bracket(coefficients).coeffs()
    return [
        [f[i + j + 1] / 2 if i + j + 1 < len(f) else arb(0) for j in range(DEGREE)] for i in range(DEGREE)
    ]


def _squared(table):
    """The square of a polynomial in t and t′, as one in t with t′ = t^(2K)."""
    packed = _packed(table)
    return packed * packed


def _packed(table):
    width = 2 * DEGREE
    return arb_poly([x for row in table for x in [*row, *([arb(0)] * (width - len(row)))]])


def _kernel(eta, coefficients, sizes):
    """κ in Chebyshev polynomials of both variables, and a bound of what is left out."""
    _, first, second, third = coefficients
    packed = _squared(_difference(first)) - _squared(_difference(second)) - eta * _packed(_difference(third))
    flat, width = packed.coeffs(), 2 * DEGREE
    flat += [arb(0)] * (width * width - len(flat))
    rows = [_chebyshev(arb_poly(flat[i * width : (i + 1) * width])) for i in range(width)]
    rows = [row + [arb(0)] * (width - len(row)) for row in rows]
    columns = [_chebyshev(arb_poly([row[j] for row in rows])) for j in range(width)]
    columns = [column + [arb(0)] * (width - len(column)) for column in columns]
    dropped = sum(
        (abs(columns[j][i]) for i in range(width) for j in range(width) if max(i, j) >= KEPT), arb(0)
    )
    tails, slopes = [_tail(size) for size in sizes], [_slope_bound(c) for c in coefficients]
    rest = dropped + eta * tails[3]
    for i in (1, 2):
        rest += tails[i] * (2 * slopes[i] + tails[i])
    return arb_mat([[columns[j][i] for j in range(KEPT)] for i in range(KEPT)]), rest


def _inverse_rate(coefficients, size):
    """A polynomial Q and a bound of |Q − 1/R| on the spectrum."""
    lam = arb_poly([2, 2])
    mean_epoch = _bracket(coefficients)
    b = arb_poly(_quotient((1 - mean_epoch).coeffs()))  # (1 − ā)/λ, since ā = 1 at λ = 0
    rate = b * (2 - lam * b)
    Q = _interpolated(rate)
    tail, height = _tail(size), _supremum(Q)
    moved = tail * (2 + 8 * _supremum(b) + 4 * tail)  # what the tail of b does to R
    residual = _supremum(1 - Q * rate) + height * moved
    if not residual < 1:
        raise ArithmeticError("The polynomial does not invert the rate.")
    return Q, height * residual / (1 - residual)


def _quotient(coefficients):
    """A polynomial that vanishes at t = −1, over 2(1 + t): synthetic division."""
    quotient, carry = [], arb(0)
    for c in coefficients[:0:-1]:
        carry = c - carry
        quotient.append(carry / 2)
    return quotient[::-1]


def _interpolated(rate):
    """The polynomial through 1/R at Chebyshev's points; only its residual has to be proved."""
    count = INVERSE
    angles = [fmpq(2 * i + 1, 2 * count) for i in range(count)]
    values = [1 / rate(arb.cos_pi_fmpq(x)).mid() for x in angles]
    total = arb_poly([0])
    for k in range(count):
        c = sum((v * arb.cos_pi_fmpq(k * x) for v, x in zip(values, angles, strict=True)), arb(0))
        total += (c * (2 if k else 1) / count).mid() * arb_poly(fmpz_poly.chebyshev_t(k))
    return total


# ------------------------------------------------------------------------------------------- the solution


def _moments(polynomial, count):
    """∫ T_k(t) polynomial(t) dF for k < count: ∫ T_j T_k dt/π√(1−t²) is 0, 1/2 or, for j = k = 0, 1."""
    weighted = _chebyshev(polynomial * arb_poly([1, -1]))
    weighted += [arb(0)] * (count - len(weighted))
    return [weighted[k] / (2 if k else 1) for k in range(count)]


@precisely(BITS, DEGREE + 1)
def potential(step: Fraction) -> arb:
    """g(0)."""
    eta = exact(step)
    coefficients, sizes = _functions(eta)
    kernel, left_out = _kernel(eta, coefficients, sizes)
    Q, error = _inverse_rate(coefficients[0], sizes[0])
    spread = symmetric(4 * error)  # of every moment of μ/R
    nu = [x + spread for x in _moments(arb_poly([2, 2]) * Q, 2 * KEPT)]
    mass = arb_mat([[(nu[i + j] + nu[abs(i - j)]) / 2 for j in range(KEPT)] for i in range(KEPT)])
    identity = arb_mat([[int(i == j) for j in range(KEPT)] for i in range(KEPT)])
    resolvent = (identity - kernel * mass).solve(kernel)
    solution = resolvent * arb_mat([[x] for x in nu[:KEPT]])
    phi = [solution[i, 0] for i in range(KEPT)]
    norm = 1 + nu[0] * sum((abs(x) for x in resolvent.entries()), arb(0))
    moved = left_out * nu[0] * norm
    if not moved < 1:
        raise ArithmeticError("The kernel's remainder is too large for the inverse.")
    gap = moved / (1 - moved) * (1 + sum((abs(x) for x in phi), arb(0)))
    at_edge = sum((x * (-1) ** i for i, x in enumerate(phi)), arb(0)) + symmetric(gap)
    return (1 + at_edge) / (2 * reshuffle_rate(step))


@precisely(BITS)
def train_constant(step: Fraction) -> arb:
    """The limit of n^(3/2) times random reshuffle's training loss."""
    return potential(step) / (2 * root(2 * arb.pi() * reshuffle_rate(step)))
