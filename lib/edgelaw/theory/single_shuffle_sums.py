"""Single shuffle at step 1 as sums that can be done by hand, and their expansions for many epochs (chapter 5).

Another route to the losses of :mod:`edgelaw.theory.single_shuffle`, which has every name of this module too.
"""

import functools
import itertools
import math
from fractions import Fraction

import numpy as np
import scipy.optimize
from scipy.special import exprel, gammaincc, gammaln

from edgelaw._common import arguments
from edgelaw._common.types import Array, ArrayLike, FloatOrArray

_EXPONENTS = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)  # of Stirling's error


def queue_weights(count: int, rho: float = 1.0) -> tuple[Array, Array]:
    r"""The weights :math:`H_k` and :math:`G_k`, k < ``count``, of the sums for the two losses at step 1.

    .. math:: \sum_k H_k u^k = \frac{1-u}{1 - u e^{\rho(1-u)}}, \qquad
              \sum_k G_k u^k = \frac{1}{1-u} - \frac{1-\rho}{1 - u e^{\rho(1-u)}} .

    For rho < 1 a queue with Poisson arrivals at rate rho and unit service (M/D/1) holds k customers with probability
    :math:`(1-\rho) H_k` and more than k with probability :math:`G_k`; for rho > 1 both grow like :math:`c^{-k}`, c
    the solution of :math:`c\,e^{\rho(1-c)} = 1` below 1.

    >>> H, G = queue_weights(3)
    >>> [round(float(h), 9) for h in H], round(float(np.e - 1), 9), round(float(np.e**2 - 2 * np.e), 9)
    ([1.0, 1.718281828, 1.952492442], 1.718281828, 1.952492442)
    >>> [round(float(g), 9) for g in G]
    [1.0, 1.0, 1.0]
    """
    count, rho = arguments.whole(count, "count", 1), arguments.aspect(rho)
    H, G, log_c = _scaled_weights(count, rho)
    with np.errstate(over="ignore"):
        growth = np.exp(-log_c * np.arange(count))
    return H * growth, G * growth


def _scaled_weights(count, rho):
    """H_k c^k, G_k c^k and log c: the pole at c is split off, and the rest found on a circle by FFT."""
    log_c = _log_pole(rho)
    c, ratio = np.exp(log_c), _second(log_c) / exprel(log_c) ** 2  # ratio = (ρ − 1)/(1 − c)
    residue = 1 / (rho - ratio)
    first, radius = min(count, 200), 1.3
    points = 4 * first + 64
    s = radius * np.exp(2j * np.pi * np.arange(points) / points)
    pole, others = 1 - c * s * np.exp(rho * (1 - c * s)), residue / (1 - s)
    rest = np.array([(1 - c * s) / pole - others, 1 / (1 - c * s) - (1 - rho) / pole - ratio * others])
    H, G = (np.fft.fft(rest) / points)[:, :first].real / radius ** np.arange(first)
    pad = (0, count - first)
    return residue + np.pad(H, pad), ratio * residue + np.pad(G, pad), log_c


@functools.lru_cache(maxsize=16)
def _log_pole(rho):
    """log c: the t at which (e^t − 1)/t = 1/ρ, in a form that keeps its digits near ρ = 1."""
    low, high = -rho - 1, max(0.0, -2 * np.log(rho)) + 1
    return scipy.optimize.brentq(lambda t: t * _second(t) - (1 - rho) / rho, low, high, xtol=1e-300)


def _second(t):
    """(e^t − 1 − t)/t²."""
    if abs(t) < 1:
        return sum(t**j / math.factorial(j + 2) for j in range(20))
    return (np.expm1(t) - t) / t**2


def poisson(k: ArrayLike, mean: ArrayLike) -> FloatOrArray:
    r"""Poisson probabilities :math:`e^{-\mu}\mu^k/k!` to nearly full relative accuracy, also for huge means.

    >>> [float(round(p * np.exp(2), 12)) for p in poisson(np.array([-1, 0, 1, 2]), 2.0)]
    [0.0, 1.0, 2.0, 2.0]
    """
    k, mean = np.broadcast_arrays(np.asarray(k, dtype=np.float64), np.asarray(mean, dtype=np.float64))
    small = np.clip(k, 0, 15)
    large = np.maximum(k, 15.0)
    x = (large - mean) / mean
    near = np.abs(x) < 0.02
    small_x = np.where(near, x, 0.0)
    # (1+x) log(1+x) - x = x²/2 - x³/6 + x⁴/12 - ...
    phi = sum((-1) ** j * small_x**j / (j * (j - 1)) for j in range(2, 11))
    phi = np.where(near, phi, (1 + x) * np.log1p(np.where(near, 0.0, x)) - x)
    stirling = sum(c / large ** (2 * i + 1) for i, c in enumerate(_EXPONENTS))
    big = np.exp(-mean * phi - stirling) / np.sqrt(2 * np.pi * large)
    few = np.exp(small * np.log(mean) - mean - gammaln(small + 1))
    return np.where(k < 0, 0.0, np.where(k < 15, few, big))


def test_sum(n: int, rho: float = 1.0) -> float:
    r"""The test loss at step 1 as a sum of n + 1 squares that can be done by hand for n = 1, 2, 3. *Exact.*

    :math:`\sum_{k=0}^n H_k [(1-\rho) P(N \le n-k) + \rho\, P(N = n-k)]^2`, N Poisson of mean ρn, with the :math:`H_k`
    of :func:`queue_weights`; the k = 0 bracket is the trace moment :math:`E \operatorname{tr} A^n/d`.

    >>> bool(np.isclose(test_sum(1), np.exp(-1), rtol=1e-12))
    True
    """
    n, rho = arguments.whole(n, "n", 0), arguments.aspect(rho)
    if n == 0:
        return 1.0
    k = np.arange(n + 1)
    H, _, log_c = _scaled_weights(n + 1, rho)
    below = (1 - rho) * gammaincc(n - k + 1, rho * n) if rho != 1 else 0.0
    bracket = below + rho * poisson(n - k, rho * n)
    return float(np.sum(H * (bracket * np.exp(-log_c * k / 2)) ** 2))


def train_sum(n: int, rho: float = 1.0) -> float:
    r"""The training loss at step 1: :math:`\frac1\rho \sum_{k=1}^n G_k (k/n)^2\, P(N = n-k)^2`, N Poisson of mean ρn.

    *Exact*; at rho = 1 every :math:`G_k` is 1.

    At rho = 1 and n = 2: :math:`e^{-4}\,(\tfrac14 \cdot 2^2 + 1)`.

    >>> bool(np.isclose(train_sum(2), 2 * np.exp(-4), rtol=1e-12))
    True
    """
    n, rho = arguments.whole(n, "n", 0), arguments.aspect(rho)
    if n == 0:
        return 1.0
    k = np.arange(n + 1)
    _, G, log_c = _scaled_weights(n + 1, rho)
    return float(np.sum(G * (k / n * poisson(n - k, rho * n) * np.exp(-log_c * k / 2)) ** 2) / rho)


def test_expansion(n: ArrayLike, terms: int = 4) -> FloatOrArray:
    r"""The first terms of the test loss at step 1 and rho 1 for large n, with exact coefficients.

    *Proved* (thm-ss-expansions).

    :math:`\frac{1}{2\sqrt\pi} n^{-1/2} + \frac{1}{6\pi} n^{-1} + \frac{1}{32\sqrt\pi} n^{-3/2} + \dots`

    >>> from edgelaw.theory.single_shuffle import test_loss
    >>> bool(abs(test_expansion(1000, terms=6) / test_loss(1000) - 1) < 1e-9)
    True
    """
    return _evaluate(expansion("test", terms), n)


def train_expansion(n: ArrayLike, terms: int = 4) -> FloatOrArray:
    r"""The same for the training loss, :math:`\frac{1}{8\sqrt\pi} n^{-3/2} + \frac{1}{12\pi} n^{-2} + \dots`.

    >>> from edgelaw.theory.single_shuffle import train_loss
    >>> bool(abs(train_expansion(1000, terms=6) / train_loss(1000) - 1) < 1e-9)
    True
    """
    return _evaluate(expansion("train", terms), n)


def _evaluate(coefficients, n):
    n = np.asarray(n, dtype=np.float64)
    if not (n > 0).all():
        raise ValueError("n must be positive: the expansion is one for large n.")
    return sum(float(c) / np.pi**over * n ** -float(power) for power, c, over in coefficients)


def expansion(loss: str, terms: int) -> list[tuple[Fraction, Fraction, float]]:
    r"""Exact coefficients: a list of (power, c, over), each for a term :math:`c\,\pi^{-over}\, n^{-power}`.

    At step 1 and rho 1, with p = 1 − v and w = p + q − pq, both losses are

    .. math:: \Bigl(\frac{1}{2\pi i}\Bigr)^2 \iint f\; e^{n(\gamma(p) + \gamma(q))}\, dp\, dq, \qquad
              \gamma(p) = \frac{p^2}{2} + \frac{p^3}{3} + \dots,

    with :math:`f = w/\bigl((1-w)(1-(1-w)e^w)\bigr)` for test and :math:`pq/(w(1-w))` for training. Scaling
    :math:`p \to p/\sqrt n` leaves integrals of :math:`p^a q^b (p+q)^{-m} e^{(p^2+q^2)/2}`, which are
    :math:`\int_0^\infty \frac{s^{m-1}}{(m-1)!} \mathrm{He}_a(s) \mathrm{He}_b(s)\, \frac{e^{-s^2}}{2\pi}\, ds`.

    >>> [str(c) for _, c, _ in expansion("test", 2)], [str(c) for _, c, _ in expansion("train", 2)]
    (['1/2', '1/6'], ['1/8', '1/12'])
    """
    arguments.choice(loss, "loss", ("test", "train"))
    return _expansion(loss, arguments.whole(terms, "terms", 1))


@functools.lru_cache(maxsize=16)
def _expansion(loss, terms):
    shift = 0 if loss == "test" else 2  # f starts at degree -1 or, thanks to the factor pq, +1
    outer, inner = _outer_series(loss, terms), _exponential_series(terms)
    coefficients = []
    for order in range(terms):  # n^(-1/2 - shift/2 - order/2)
        total = Fraction(0)
        for i, j, r in itertools.product(range(order + 1), repeat=3):
            if i + j + r > order:
                continue
            # w^(i-1) of f contains (pq)^j (p+q)^(i-1-j)
            factor = (math.comb(i - 1, j) * (-1) ** j if i else 1) * outer[i]
            extra = j + (shift > 0)
            for (a, x), (b, y) in itertools.product(inner[r].items(), inner[order - i - j - r].items()):
                total += factor * x * y * _integral(a + extra, b + extra, 1 + j - i)[order % 2]
        coefficients.append((Fraction(1 + shift + order, 2), total, 0.5 if order % 2 == 0 else 1))
    return coefficients


def _outer_series(loss, terms):
    """Coefficients of w·f, or of w·f/(pq), in powers of w."""
    if loss == "train":
        return [Fraction(1)] * terms
    bottom = [Fraction(k + 1, math.factorial(k + 2)) for k in range(terms)]
    bottom = [bottom[k] - (bottom[k - 1] if k else 0) for k in range(terms)]
    top = []
    for k in range(terms):
        top.append((Fraction(k == 0) - sum(bottom[k - i] * top[i] for i in range(k))) / bottom[0])
    return top


def _exponential_series(terms):
    """Polynomials e_r(p) = Σ coefficient·p^a with exp(Σ_r x^r p^(r+2)/(r+2)) = Σ_r x^r e_r(p)."""
    polynomials = [{0: Fraction(1)}]
    for r in range(1, terms):
        new = {}
        for i in range(1, r + 1):
            for a, x in polynomials[r - i].items():
                new[a + i + 2] = new.get(a + i + 2, 0) + Fraction(i, (i + 2) * r) * x
        polynomials.append(new)
    return polynomials


@functools.cache
def _hermite(a):
    """The powers of the monic Hermite polynomial He_a and their coefficients."""
    return [
        (a - 2 * j, (-1) ** j * math.comb(a, 2 * j) * math.factorial(2 * j) // math.factorial(j) // 2**j)
        for j in range(a // 2 + 1)
    ]


@functools.cache
def _integral(a, b, m):
    """The integral of p^a q^b (p+q)^(-m) e^((p²+q²)/2): a pair, the coefficients of 1/√π and 1/π."""
    if m <= 0:
        pairs = ((math.comb(-m, i), a + i, b - m - i) for i in range(1 - m))
        return Fraction(0), sum(
            (Fraction(c * _at_zero(x) * _at_zero(y), 2) for c, x, y in pairs), Fraction(0)
        )
    even = odd = Fraction(0)
    for (i, x), (j, y) in itertools.product(_hermite(a), _hermite(b)):
        power = i + j + m - 1
        if power % 2:  # ∫ s^power e^(-s²) ds = ((power-1)/2)!/2
            odd += Fraction(x * y * math.factorial(power // 2), 4)
        else:  # = √π (power)!/(power/2)!/2^(power+1)
            even += Fraction(x * y * math.factorial(power), math.factorial(power // 2) * 2 ** (power + 2))
    return even / math.factorial(m - 1), odd / math.factorial(m - 1)


def _at_zero(a):
    """He_a(0)."""
    return dict(_hermite(a)).get(0, 0)
