r"""Flip-flop: the same permutation forwards and backwards in turn, on isotropic Gaussian rows, exactly.

Let :math:`A` be the forward epoch, :math:`B = A^\top A` and :math:`S = \sum_i u_i u_i^\top`, with
:math:`m = \rho d` unit rows and :math:`d \to \infty`. Reversing the rows turns :math:`A` into
:math:`A^\top` and leaves :math:`S` alone, so that the losses after :math:`n` epochs, odd or even, are

.. math:: \text{test} = \tfrac1d \mathbb{E} \operatorname{Tr} B^n, \qquad
          \text{train} = \tfrac1{\rho d} \mathbb{E} \operatorname{Tr} S B^n .

With :math:`\tau = \eta(2-\eta)`, :math:`\kappa = (1-\eta)^2 = 1-\tau` and :math:`c = \eta^2\rho` their
generating functions :math:`\sum_n z^n (\cdot)` are

.. math::

   \begin{gathered}
   \Phi = \frac{\tau+\kappa q}{\tau(1-q)}, \qquad
   G = \frac{\tau+\kappa q}{\tau} \int_0^1 \bigl(1 + c(1-u)\bigr) e^{-uc(1-q)}\,du, \\
   q = z\,(\tau+\kappa q)\,e^{-\tau\rho(1-q)} .
   \end{gathered}

:math:`q(z)` is the generating function of the total progeny of a branching process whose offspring are a
Bernoulli(κ) and a Poisson(τρ) variable together; it is critical exactly at :math:`\rho = 1`. (In the
variable :math:`h = \Phi - 1` of the paper, :math:`q = \tau h/(1+\tau h)`.) Lagrange's formula turns both into
sums of positive terms; with :math:`M \sim` Binomial(n, τ) and :math:`J \sim` Poisson(nτρ) independent,

.. math:: \text{test} = \mathbb{E}(M-J)^+ / \mathbb{E} M .

How it is known: *proved* at every fixed n, with an error of order 1/d in mean square (the book's pages of proofs);
found by the transport equations of the paper's appendix at a general step, and checked against matrices.
"""

import numpy as np
import scipy

from edgelaw._common import arguments
from edgelaw._common.types import ArrayLike, FloatOrArray

__all__ = [
    "effective_step",
    "test_constant",
    "test_loss",
    "train_constant",
    "train_loss",
]

_SMALLEST = 1e-300


def test_loss(n: ArrayLike, step: float = 1.0, rho: float = 1.0) -> FloatOrArray:
    r"""Mean of ‖w_n‖² / ‖w_0‖² after n epochs, :math:`\lim \mathbb{E}\operatorname{Tr}(A^\top A)^n/d`.

    .. math:: b_n = \frac{1}{n\tau}\,[q^{n-1}]\,\frac{(\tau+\kappa q)^n e^{-n\tau\rho(1-q)}}{(1-q)^2}
                  = \frac{\mathbb{E}(M-J)^+}{n\tau}, \qquad n \ge 1 .

    At step 1 and rho 1 this is :math:`n^n e^{-n}/n!`. For rho < 1 it tends to 1 − rho: the directions that no
    row touches. For rho > 1 it decays exponentially.

    Parameters
    ----------
    n : int or array of int
        Epochs, 0, 1, 2, ...; odd ones end with a forward, even ones with a backward pass.
    step : float
        In (0, 2).
    rho : float
        Rows per dimension, m/d > 0.

    Returns
    -------
    float or ndarray
        In the shape of `n`, 1 at n = 0. Relative error below 1e-12 for step in [0.05, 1.95], rho in [0.25, 4]
        and n up to 1e6 wherever the value exceeds 1e-250; below 1e-300 it is 0.

    Examples
    --------
    >>> round(test_loss(1), 8)  # exp(−1)
    0.36787944
    >>> test_loss([0, 1, 2, 3], step=0.5).round(4).tolist()
    [1.0, 0.4724, 0.3486, 0.2888]
    """
    return _evaluate(_test, n, step, rho)


def train_loss(n: ArrayLike, step: float = 1.0, rho: float = 1.0) -> FloatOrArray:
    r"""Mean of (1/m) ‖X w_n‖² / ‖w_0‖² after n epochs, :math:`\lim \mathbb{E}\operatorname{Tr} S(A^\top A)^n/m`.

    .. math:: a_n = \frac{1}{n}\,[q^{n-1}]\,G'(q)\,(\tau+\kappa q)^n e^{-n\tau\rho(1-q)}, \qquad n \ge 1,

    with the entire function :math:`G` at the top of this module. In the paper's variables
    :math:`\rho\,G = (1+h)\bigl[\rho - \frac{2-\eta}{\eta} h (1 - e^{-\eta^2\rho/(1+\tau h)})\bigr]`, and the
    paper's :math:`a_n`, which starts at rho, is rho times this.

    Parameters
    ----------
    n : int or array of int
        Epochs, 0, 1, 2, ...; one formula serves odd and even n.
    step : float
        In (0, 2).
    rho : float
        Rows per dimension, m/d > 0.

    Returns
    -------
    float or ndarray
        In the shape of `n`, 1 at n = 0. Relative error as for `test_loss`.

    Examples
    --------
    >>> round(train_loss(1), 8)  # exp(−2)
    0.13533528
    >>> train_loss([0, 1, 2, 3], step=0.5).round(4).tolist()
    [1.0, 0.1589, 0.067, 0.0388]
    """
    return _evaluate(_train, n, step, rho)


def test_constant(step: float = 1.0) -> float:
    r"""The limit of √n · `test_loss` at rho = 1: :math:`\sqrt{(1/\tau - 1/2)/\pi}`, smallest at step 1.

    Examples
    --------
    >>> round(test_constant(), 6)
    0.398942
    """
    tau = _tau(arguments.step(step))
    return float(np.sqrt((1 / tau - 0.5) / np.pi))


def train_constant(step: float = 1.0) -> float:
    r"""The limit of :math:`n^{3/2}` · `train_loss` at rho = 1.

    .. math:: \frac{G'(1)}{\sqrt{2\pi\tau(2-\tau)}}, \qquad
              G'(1) = \frac{(1-\eta)^2 (1 + \eta^2/2) + \eta^2/2 + \eta^4/6}{\tau} .

    :math:`\sqrt2/(3\sqrt\pi)` at step 1; smallest, 0.1747, at step 0.708.

    Examples
    --------
    >>> round(train_constant(), 6)
    0.265962
    """
    eta = arguments.step(step)
    tau = _tau(eta)
    slope = ((1 - eta) ** 2 * (1 + eta**2 / 2) + eta**2 / 2 + eta**4 / 6) / tau
    return float(slope / np.sqrt(2 * np.pi * tau * (2 - tau)))


def effective_step(step: float) -> float:
    r"""The step of gradient descent with the same test-loss edge at m = d: :math:`\tau/(2-\tau)`. *Derived.*

    It is larger than the step below 1, smaller above, never larger than 1. Other spectra, batches:
    :func:`edgelaw.exact.effective_step`.

    Examples
    --------
    >>> effective_step(1.0)
    1.0
    >>> round(effective_step(0.5), 3), round(effective_step(1.5), 3)
    (0.6, 0.6)
    """
    return float(1 / (2 / _tau(arguments.step(step)) - 1))


# ------------------------------------------------------------------------------------------ how it is computed
#
# Both losses are coefficients of series with positive terms, so a circle through the minimum of the integrand on
# the positive axis loses no digits, and the trapezoidal rule on it is exact up to the terms that alias. Only an
# arc of width ~ 1/√n around the real axis counts: the cost does not depend on n, and no switch to an asymptote
# is needed. Logarithms are written in 1 − q, since n is multiplied on.


def _evaluate(loss, n, step, rho):
    """`loss` at every entry of n, in the shape of n."""
    eta, rho = arguments.step(step), arguments.aspect(rho)
    epochs = arguments.counts(n, "n")
    distinct, places = np.unique(epochs, return_inverse=True)
    values = np.array([loss(int(k), eta, rho) if k else 1.0 for k in distinct])
    values[values < _SMALLEST] = 0.0
    result = values[places].reshape(epochs.shape)
    return result if epochs.ndim else float(result)


def _tau(eta):
    """η(2 − η), the step of the squared update."""
    return eta * (2 - eta)


def _train(n, eta, rho):
    """The training loss at n ≥ 1, on the circle through the saddle point of ψ(q)/q."""
    tau, kappa, c = _tau(eta), (1 - eta) ** 2, eta**2 * rho
    gap = _saddle(tau, kappa, rho)
    radius = 1 - gap

    def weight(q, one_minus_q):
        m0, m1, m2 = _moments(c * one_minus_q)
        inner = m0 + c * (m0 - m1)
        slope = c * (m1 + c * (m1 - m2))
        return q * (kappa * inner + (tau + kappa * q) * slope) / tau

    spread = n * _variance(radius, tau, kappa, rho) + c * radius + 1
    nodes = 10 * np.sqrt(spread) + c * radius + 64
    return _circle(n, tau, kappa, rho, gap, weight, nodes)


def _test(n, eta, rho):
    """The test loss at n ≥ 1; for rho < 1 the pole's residue 1 − rho and a circle outside of it."""
    tau, kappa = _tau(eta), (1 - eta) ** 2
    inside = rho >= 1
    gap = _between_pole_and_saddle(n, tau, kappa, rho, inside)

    def weight(q, one_minus_q):
        return q / (tau * one_minus_q**2)

    nodes = 10 * np.sqrt(n * _variance(1 - gap, tau, kappa, rho) + 1) + 64 + 45 / abs(np.log1p(-gap))
    value = _circle(n, tau, kappa, rho, gap, weight, nodes)
    return value if inside else 1 - rho + value


def _circle(n, tau, kappa, rho, gap, weight, nodes):
    """(1/n) · the mean of weight(q) (ψ(q)/q)ⁿ over the circle q = (1 − gap) exp(iθ), ψ = (τ+κq) exp(−τρ(1−q))."""
    r = 1 - gap
    peak = n * (np.log1p(-kappa * gap) - tau * rho * gap - np.log1p(-gap))
    nodes = int(np.ceil(nodes))
    reach = np.sqrt(20 / (n * _variance(r, tau, kappa, rho)))  # beyond: below exp(−40) of the peak
    last = nodes // 2
    if reach < 1:
        last = min(last, int(np.ceil(2 * np.arcsin(reach) * nodes / (2 * np.pi))))
    theta = 2 * np.pi * np.arange(last + 1) / nodes
    versine = 2 * np.sin(theta / 2) ** 2
    base = tau + kappa * r
    decay = 0.5 * np.log1p(-2 * tau * kappa * r * versine / base**2) - tau * rho * r * versine
    turn = np.arctan2(kappa * r * np.sin(theta), tau + kappa * r * np.cos(theta)) + tau * rho * r * np.sin(
        theta
    )
    q = r * np.exp(1j * theta)
    one_minus_q = gap + r * versine - 1j * r * np.sin(theta)
    values = (weight(q, one_minus_q) * np.exp(n * (decay + 1j * (turn - theta)))).real
    copies = np.full(last + 1, 2.0)  # every node but θ = 0 and θ = π has a conjugate
    copies[0] = 1
    if 2 * last == nodes:
        copies[-1] = 1
    return float(np.exp(peak) * (copies @ values) / nodes / n)


def _variance(r, tau, kappa, rho):
    """Variance of the tilted offspring: how fast (ψ(q)/q)ⁿ falls off the positive axis at radius r."""
    return tau * kappa * r / (tau + kappa * r) ** 2 + tau * rho * r


def _saddle(tau, kappa, rho):
    """1 − q at the minimum of ψ(q)/q on the positive axis: 0 exactly at rho = 1."""
    root = np.sqrt((rho * tau) ** 2 + 4 * rho * kappa)
    return 4 * (rho - 1) / ((rho * tau + root) * (root + 2 - rho * tau))


def _between_pole_and_saddle(n, tau, kappa, rho, inside):
    """1 − q at the minimum of q (1 − q)⁻² (ψ(q)/q)ⁿ for 0 < q < 1, or for q > 1 if not `inside`."""
    sign = 1 if inside else -1

    def slope(log):  # of the logarithm by log q, at |1 − q| = e^log; it is convex there, and so unimodal
        gap = sign * np.exp(log)
        q = 1 - gap
        return sign * (n * (kappa * q / (1 - kappa * gap) + tau * rho * q - 1) + 1 + 2 * q / gap)

    furthest = -(2.0**-53) if inside else 80.0
    if slope(furthest) > 0:  # after one epoch the minimum is at q = 0
        return sign * np.exp(furthest)
    return sign * np.exp(scipy.optimize.brentq(slope, -80.0, furthest))


def _moments(x):
    """∫₀¹ uᵏ exp(−ux) du for k = 0, 1, 2 and complex x: by recurrence, or by series where that would cancel."""
    small = np.abs(x) < 1.5
    safe = np.where(small, 1.0, x)
    decayed = np.exp(-safe)
    m0 = (1 - decayed) / safe
    m1 = (m0 - decayed) / safe
    m2 = (2 * m1 - decayed) / safe
    near = np.where(small, x, 0.0)
    s0, s1, s2 = (np.zeros_like(near) for _ in range(3))
    term = np.ones_like(near)
    for j in range(26):
        s0, s1, s2 = s0 + term / (j + 1), s1 + term / (j + 2), s2 + term / (j + 3)
        term = -term * near / (j + 1)
    return np.where(small, s0, m0), np.where(small, s1, m1), np.where(small, s2, m2)
