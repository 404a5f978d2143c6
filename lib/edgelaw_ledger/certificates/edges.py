r"""The constants of three orders at a rational step, from exact expansions of generating functions at z = 1.

Power series with coefficients in :math:`\mathbb Q` become a constant by the transfer of singularities; only the last
factor, a root over :math:`\pi`, is a ball. None of the library's closed forms is used.
"""

import math
from fractions import Fraction

from flint import acb, arb, fmpq, fmpq_series

from edgelaw_ledger.certificates.balls import exact, precisely, root


def _variable():
    return fmpq_series([0, 1])


def _shuffle_ratios(eta, direction):
    """Φ·pq(p+q) and Ψ·(p+q) at the edge, approached with p : q = 1 : direction."""
    x = _variable()
    gaps = [x, direction * x]
    v = [1 - gap for gap in gaps]
    g = [1 - (1 - eta) * gap for gap in gaps]
    gg, u = g[0] * g[1], v[0] * v[1] / (g[0] * g[1])
    growth = ((1 - u) * gg).exp()
    closing = (1 - u * growth)[2]  # 1 − K is of second order
    # (e^((1−u)gg′) − 1)/(1 − u), whose numerator and denominator are of first order
    quotient = _divided(growth - 1, 1 - u)
    bracket = (g[0] + g[1]) / eta - 1 - (2 - eta) / eta * u * quotient
    if bracket[0] != 0 or (1 - u * growth)[1] != 0:
        raise ArithmeticError("Single shuffle's generating function has another singularity than stated.")
    width = 1 + direction
    return width * (1 - u)[1] / (eta**2 * closing), width * bracket[1] / closing


def _divided(top, bottom):
    """The quotient of two series without constant terms."""
    return fmpq_series(top.coeffs()[1:]) / fmpq_series(bottom.coeffs()[1:])


@precisely()
def shuffle_singularity(step: Fraction) -> tuple[arb, arb]:
    r"""The factors of the singularities of Φ and Ψ at (1, 1), in x = 1 − z and y = 1 − w.

    They multiply :math:`1/(\sqrt x\sqrt y(\sqrt x+\sqrt y))` and :math:`1/(\sqrt x+\sqrt y)`: Φ is
    :math:`c/(pq(p+q))` and Ψ is :math:`c'/(p+q)` to leading order, and :math:`-\log z = Ap^2` turns p into
    :math:`\sqrt{x/A}`.
    """
    eta = exact(step)
    curvature = branching(eta)
    ratios = {_shuffle_ratios(eta, fmpq(*direction)) for direction in ((1, 1), (2, 1), (1, 7))}
    if len(ratios) != 1:
        raise ArithmeticError("Single shuffle's singularity is not of the shape that its transfer needs.")
    ((test, train),) = ratios
    return test * curvature * root(curvature), train * root(curvature)


@precisely()
def single_shuffle(step: Fraction) -> tuple[arb, arb]:
    """Test and training constant: the two factors times the two integrals of the transfer."""
    test, train = shuffle_singularity(step)
    first, second = transfer_integrals()
    return test * first, train * second


@precisely()
def transfer_integrals() -> tuple[arb, arb]:
    r"""The integrals of these two shapes against :math:`e^{s+t}`, on Hankel's contours and over :math:`(2\pi i)^2`.

    By :math:`1/(a+b) = \int_0^\infty e^{-k(a+b)}dk` and two inverse Laplace transforms they are the integrals of
    :math:`e^{-k^2/2}/\pi` and :math:`k^2e^{-k^2/2}/4\pi` over k > 0: by quadrature up to 40, beyond which less than
    :math:`41e^{-800}` is left.
    """
    beyond = arb(0, 41 * arb(-800).exp())
    first = acb.integral(lambda k, _: (-k * k / 2).exp(), 0, 40).real + beyond
    second = acb.integral(lambda k, _: (-k * k / 2).exp() * k**2, 0, 40).real + beyond
    return first / arb.pi(), second / (4 * arb.pi())


def branching(tau: fmpq) -> fmpq:
    """The curvature of −log z = −log(1−x) + log(1−κx) − τx at x = 1 − q = 0, κ = 1 − τ."""
    x = _variable()
    return -((1 - x).log() - (1 - (1 - tau) * x).log() + tau * x)[2]


@precisely()
def trace_moment(step: Fraction) -> arb:
    r"""The limit of :math:`\sqrt n\,m_n`: :math:`\sum m_nz^n\sim1/(\eta x)` with :math:`-\log z\sim Bx^2`."""
    eta = exact(step)
    return root(branching(eta)) / (eta * root(arb.pi()))


@precisely()
def r_lambert_factor(step: Fraction) -> arb:
    r"""The squared limit of :math:`\sqrt{1-z}/(\eta+W_r)` over :math:`(2-\eta)/\eta`: the equation solved for z."""
    eta, x = exact(step), _variable()  # W = −η + x
    z = (eta - x) * x.exp() / (eta**2 + (1 - eta) * (eta - x))
    if z[0] != 1 or z[1] != 0:
        raise ArithmeticError("The r-Lambert function has no square root at z = 1.")
    return arb(-z[2] * eta / (2 - eta))


@precisely()
def lambert_square() -> arb:
    r"""The limit of :math:`(W_0(u-1/e)+1)^2/u`: with :math:`W = x-1`, u is :math:`e^{-1}(1+(x-1)e^x)`."""
    x = _variable()
    return arb.const_e() / (1 + (x - 1) * x.exp())[2]


@precisely()
def flip_flop_generating(step: Fraction) -> tuple[fmpq, arb]:
    r"""The training loss's generating function at z = 1, and minus its coefficient of :math:`\sqrt{1-z}`."""
    eta, x = exact(step), _variable()
    tau, c = eta * (2 - eta), eta**2
    # ∫₀¹ (1 + c(1−u)) e^(−ucx) du, term by term: ∫ u^k = 1/(k+1), ∫ u^k(1−u) = 1/((k+1)(k+2))
    terms = [(-c) ** k / math.factorial(k) * (fmpq(1, k + 1) + c / ((k + 1) * (k + 2))) for k in range(4)]
    series = (1 - (1 - tau) * x) / tau * fmpq_series(terms)
    return series[0], -series[1] / root(branching(tau))


@precisely()
def flip_flop(step: Fraction) -> tuple[arb, arb]:
    r"""Test and training constant: the factors of :math:`1/\sqrt{1-z}`, :math:`-2\sqrt{1-z}` over :math:`\sqrt\pi`."""
    return trace_moment(step * (2 - step)), flip_flop_generating(step)[1] / (2 * root(arb.pi()))


@precisely()
def iid(step: Fraction) -> tuple[arb, arb]:
    r"""Test and training constant by Watson's lemma: the density of rates in the angle at :math:`\theta = 0`.

    With :math:`h = a^2\cos^2(\theta/2)/|P|^2` the test loss is :math:`\frac2\pi\int h\,e^{-2\eta n\lambda}`, and
    :math:`\int_0^\infty e^{-2\eta n\theta^2}d\theta = \frac12\sqrt{\pi/2\eta n}`.
    """
    eta = exact(step)
    b = eta / 2
    a = 1 - b
    density = a**2 / (1 + 5 * b**2 - 4 * b * (1 + b) + 2 * b)  # |P|² at cos θ = cos 2θ = 1
    test = density / root(arb.pi()) / root(2 * eta)
    return test, test / (a * 4 * eta)
