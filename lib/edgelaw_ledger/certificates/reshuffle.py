r"""Random reshuffle's training constant, by an integral equation of the second kind, solved with a proved error.

It is :math:`g(0)/2\sqrt{2\pi\eta'}`, :math:`\eta' = \eta(1+\eta/2)`, where at m = d

.. math:: R(\lambda)\,g(\lambda) - \int\kappa(\lambda,\mu)\,\mu\,g(\mu)\,dF(\mu) = 1, \qquad
   R = \frac{1-\bar a^2}\lambda, \quad \kappa = ⟦\varepsilon⟧[\lambda,\mu]^2 - ⟦(a-1)\varepsilon⟧[\lambda,\mu]^2
   - \eta\,⟦(a-1)H⟧[\lambda,\mu]

(the module :mod:`edgelaw.theory.random_reshuffle` explains the symbols). For an entire
:math:`\varphi = \sum\varphi_ka^k` the bracket :math:`⟦\varphi⟧` is :math:`\sum\varphi_k\alpha_k(\lambda)` with
polynomials :math:`\alpha_{k+1} = \lambda(\alpha_k-\alpha_{k-1})`, so that :math:`\kappa` and R are polynomials up to a
tail that Cauchy's and Markov's inequalities bound. 1/R is a polynomial Q up to :math:`1 - QR`, a polynomial again,
bounded by its Chebyshev coefficients. What is left is a linear system in balls, and one bound of its inverse.

In :math:`t = (\lambda-2)/2 \in [-1, 1]` the values of a polynomial at Chebyshev's points, if these are more than its
degree, give its Chebyshev coefficients, and if they are more than half its degree its integrals against
:math:`dF = (1-t)\,dt/\pi\sqrt{1-t^2}`, with nothing left out.
"""

from fractions import Fraction

from flint import arb, arb_mat, arb_poly, arb_series, fmpq, fmpz_poly

from edgelaw_ledger.certificates.balls import exact, precisely, root, symmetric

DEGREE = 64  # K: powers of a that are kept
KEPT = 56  # Chebyshev polynomials of the kernel that are kept
INVERSE = 128  # Chebyshev polynomials of Q
POINTS = 2 * DEGREE  # more than the degrees of κ and R
CIRCLE = 20  # Cauchy's circle |a| = 20
BITS = 1000


# ------------------------------------------------------------------------------------------- polynomials


def _bracket(coefficients):
    """⟦φ⟧ as a polynomial of λ, from the first coefficients of φ."""
    total, before, now = arb_poly([0]), fmpz_poly([0]), fmpz_poly([1])
    for factor in coefficients[1:]:
        total += factor * arb_poly(now)
        before, now = now, fmpz_poly([0, 1]) * (now - before)
    return total


def _tail(size):
    r"""A bound of a divided difference of what is left of ⟦φ⟧, if :math:`|φ| \le` size on :math:`|a| = 20`.

    :math:`|φ_k| \le \text{size}\cdot20^{-k}`, :math:`|α_k| \le k\,2^{k-1}` on [0, 4] since :math:`|a| \le 2`, and by
    Markov its slope is at most :math:`(k-1)^2/2` times that: the terms :math:`k^32^{k-2}20^{-k}` fall by more than
    one half.
    """
    k = DEGREE + 1
    return 2 * size * arb(2) ** (k - 2) * k**3 / arb(CIRCLE) ** k


def _slope_bound(coefficients):
    """An upper bound of a divided difference of ⟦φ⟧, by the same two inequalities."""
    return _total(c * arb(2) ** (k - 2) * k**3 for k, c in enumerate(coefficients))


def _total(values):
    """The sum of the absolute values."""
    return sum((abs(x) for x in values), arb(0))


@precisely(BITS)
def _cosines(count):
    """T_k(t_i), a row for each k < count, at Chebyshev's points t_i = cos((2i+1)π/2count)."""
    values = [arb.cos_pi_fmpq(fmpq(j, 2 * count)) for j in range(4 * count)]
    return arb_mat([[values[k * (2 * i + 1) % (4 * count)] for i in range(count)] for k in range(count)])


@precisely(BITS)
def _chebyshev(count):
    """The matrix that makes Chebyshev coefficients of values at so many points."""
    weights = [fmpq(2 if k else 1, count) for k in range(count)]
    return arb_mat([[w * x for x in row] for w, row in zip(weights, _cosines(count).tolist(), strict=True)])


def _rates(count):
    """λ at so many points."""
    return [2 + 2 * _cosines(count)[1, i] for i in range(count)]


def _column(values):
    return arb_mat([[x] for x in values])


def _supremum(values):
    """An upper bound on [−1, 1] of the polynomial with these values: |T_k| ≤ 1."""
    return _total((_chebyshev(len(values)) * _column(values)).entries())


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


def _kernel(eta, coefficients, sizes):
    """κ in Chebyshev polynomials of both variables, and a bound of what is left out."""
    first, second, third = (_difference(_bracket(c)) for c in coefficients[1:])
    count = range(POINTS)
    values = [[first[i][j] ** 2 - second[i][j] ** 2 - eta * third[i][j] for j in count] for i in count]
    table = _chebyshev(POINTS) * arb_mat(values) * _chebyshev(POINTS).transpose()
    rest = _total(table[i, j] for i in count for j in count if max(i, j) >= KEPT)
    tails, slopes = [_tail(size) for size in sizes], [_slope_bound(c) for c in coefficients]
    rest += eta * tails[3] + sum(tails[i] * (2 * slopes[i] + tails[i]) for i in (1, 2))
    return arb_mat([[table[i, j] for j in range(KEPT)] for i in range(KEPT)]), rest


def _difference(f):
    """f[λ, μ] at all pairs of points."""
    rates, slope = _rates(POINTS), f.derivative()
    pairs = [(x, f(x)) for x in rates]
    return [[(fx - fy) / (x - y) if x is not y else slope(x) for y, fy in pairs] for x, fx in pairs]


def _inverse_rate(coefficients, size):
    """A polynomial Q, by its values, and a bound of |Q − 1/R| on the spectrum."""
    count = INVERSE + POINTS
    b = -_bracket(coefficients).right_shift(1)  # (1 − ā)/λ, since ā = 1 at λ = 0
    slopes = [b(x) for x in _rates(count)]
    R = [y * (2 - x * y) for x, y in zip(_rates(count), slopes, strict=True)]
    chosen = (_chebyshev(count) * _column([1 / y for y in R])).mid().entries()[:INVERSE]  # any would do
    Q = (_cosines(count).transpose() * _column(chosen + [arb(0)] * POINTS)).entries()
    tail, height = _tail(size), _supremum(Q)
    moved = tail * (2 + 8 * _supremum(slopes) + 4 * tail)  # what the tail of b does to R
    residual = _supremum([1 - x * y for x, y in zip(Q, R, strict=True)]) + height * moved
    if not residual < 1:
        raise ArithmeticError("The polynomial does not invert the rate.")
    return Q, height * residual / (1 - residual)


# ------------------------------------------------------------------------------------------- the solution


@precisely(BITS, DEGREE + 1)
def potential(step: Fraction) -> arb:
    """g(0)."""
    eta = exact(step)
    coefficients, sizes = _functions(eta)
    kernel, left_out = _kernel(eta, coefficients, sizes)
    Q, error = _inverse_rate(coefficients[0], sizes[0])
    # the moments ∫ T_k μ/R dF, 1 − t = 2 − μ/2, by Gauss's formula, within 4 times the error of Q
    weights = [x * (2 - x / 2) * y / len(Q) for x, y in zip(_rates(len(Q)), Q, strict=True)]
    nu = [x + symmetric(4 * error) for x in (_cosines(len(Q)) * _column(weights)).entries()]
    mass = arb_mat([[(nu[i + j] + nu[abs(i - j)]) / 2 for j in range(KEPT)] for i in range(KEPT)])
    resolvent = (arb_mat(KEPT, KEPT, 1) - kernel * mass).solve(kernel)
    phi = (resolvent * _column(nu[:KEPT])).entries()
    moved = left_out * nu[0] * (1 + nu[0] * _total(resolvent.entries()))
    if not moved < 1:
        raise ArithmeticError("The kernel's remainder is too large for the inverse.")
    gap = moved / (1 - moved) * (1 + _total(phi))
    at_edge = sum((x * (-1) ** i for i, x in enumerate(phi)), arb(0)) + symmetric(gap)
    return (1 + at_edge) / (2 * rate(step))


def rate(step: Fraction) -> fmpq:
    r"""Minus the slope at 0 of the mean epoch :math:`\sum_k(-\eta)^ke_k/k!`, :math:`e_{k+1}=\lambda(e_k-e_{k-1})`.

    Only :math:`e_1 = \lambda` and :math:`e_2 = \lambda(\lambda-1)` have one.
    """
    eta = exact(step)
    return eta + eta**2 / 2


@precisely(BITS)
def random_reshuffle(step: Fraction) -> tuple[arb, arb]:
    """Test and training constant: gradient descent's at the rate of a slow direction, the second times g(0)."""
    test = 1 / root(2 * arb.pi() * rate(step))
    return test, test * potential(step) / 2
