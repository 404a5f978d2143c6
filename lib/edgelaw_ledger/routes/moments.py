"""Trace moments and losses as series: Lambert's W, Poisson sums, Lagrange's formula, mostly by mpmath."""

import functools
import math
from collections.abc import Callable
from math import sqrt

import mpmath
import numpy as np


def taylor(function: Callable, count: int, radius: float = 0.5, points: int = 160) -> list:
    """Taylor coefficients at 0 by the trapezoidal rule on a circle, with mpmath at forty digits."""
    with mpmath.workdps(40):
        roots = [mpmath.expjpi(mpmath.mpf(2 * j) / points) for j in range(points)]
        # real on the real axis: the lower half of the circle is the conjugate of the upper
        half = [function(radius * root) for root in roots[: points // 2 + 1]]
        values = half + [mpmath.conj(value) for value in half[1 : points // 2]][::-1]
        return [
            (sum(value * roots[-j * k % points] for j, value in enumerate(values)) / points).real / radius**k
            for k in range(count)
        ]


def lambert(z, rho, branch: int = 0):
    """Lambert's W at −ρ exp(−ρ) z, by mpmath at its working precision."""
    rho = mpmath.mpf(rho)
    return mpmath.lambertw(-rho * mpmath.exp(-rho) * z, branch)


def stieltjes(rho, lam):
    """The paper's s(ρ, λ) = −1/((1 + W/ρ)λ), by mpmath."""
    return -1 / ((1 + lambert(1 / lam, rho) / rho) * lam)


@functools.cache
def stieltjes_residual() -> float:
    """What that form leaves of s_ρ = −1/λ − s_λ/s and of s(0, λ) = 1/(1 − λ), at three points, by mpmath."""
    with mpmath.workdps(40):
        points = [(mpmath.mpf(r), mpmath.mpf(x)) for r, x in (("0.8", "1.5"), ("1", "-2"), ("2", "1.2"))]
        rest = [
            1 / lam
            + mpmath.diff(stieltjes, (rho, lam), (1, 0))
            + mpmath.diff(stieltjes, (rho, lam), (0, 1)) / stieltjes(rho, lam)
            for rho, lam in points
        ]
        start = [stieltjes(mpmath.mpf(10) ** -25, lam) * (1 - lam) - 1 for _, lam in points]
        return float(max(map(abs, rest + start)))


def critical_moment(n):
    """nⁿ e⁻ⁿ / n!, by mpmath."""
    n = mpmath.mpf(n)
    return mpmath.exp(n * mpmath.log(n) - n - mpmath.loggamma(n + 1))


@functools.cache
def moment_at_step(n: int, step: float = 1.0, rho: float = 1.0):
    """The trace moment by Lagrange's formula and a three-term recurrence, by mpmath; at step 1 a Poisson sum."""
    with mpmath.workdps(60):
        eta, rho = mpmath.mpf(step), mpmath.mpf(rho)
        q, c = 1 - eta, n * eta**2 * rho
        before, f, total = mpmath.mpf(0), mpmath.exp(-n * eta * rho), mpmath.mpf(0)
        for k in range(n):
            total += (n - k) * f
            before, f = f, ((2 * q * k + c) * f - q * q * (k - 1) * before) / (k + 1)
        return total / n


@functools.cache
def poisson_train(n: int, rho: float = 1):
    """Flip-flop's training loss times ρ at step 1 in the paper's Poisson representation, by mpmath at fifty digits."""
    with mpmath.workdps(50):
        rho = mpmath.mpf(rho)
        p, q = mpmath.exp(-rho * n), mpmath.exp(-rho * (n + 1))
        first = second = mpmath.mpf(0)
        for k in range(n):
            first += p * (n - k) * (rho - n + k)
            second += q * (n + 1 - k) * (n - k)
            p *= rho * n / (k + 1)
            q *= rho * (n + 1) / (k + 1)
        return first / n + second / (n + 1)


def two_resolvents(a, b, step: float, rho: float):
    """The paper's F in its parameters alpha and beta."""
    delta = (1 - step - step * a) * (1 - step - step * b)
    kappa, gamma = step**2 * (1 + a + b) / delta, step**2 / delta
    growth = np.exp(kappa * rho)
    return kappa * a * b * growth / (kappa + gamma * a * b * (1 - growth))


def double_coefficient(f: Callable, n: int, radius: float, nodes: int = 64) -> float:
    """[h^n k^n] of a function of two variables, by the trapezoidal rule on two circles."""
    h = radius * np.exp(2j * np.pi * np.arange(nodes) / nodes)
    turned = (h / radius) ** -n
    return float((turned @ f(h[:, None], h[None, :]) @ turned).real / nodes**2 / radius ** (2 * n))


@functools.cache
def single_shuffle_loss(n: int, step: float, rho: float = 1.0, radius: float = 0.07) -> float:
    """Single shuffle's test loss for few epochs, as a coefficient by Lagrange's formula about x = y = infinity."""

    def phi(h):
        return (1 + h) * np.exp(-step * rho / (1 + step * h))

    def jacobian(h):
        return 1 - h / (1 + h) - h * step**2 * rho / (1 + step * h) ** 2

    def f(h, k):
        F = two_resolvents(-1 - h, -1 - k, step, rho)
        return F * (phi(h) * phi(k)) ** n * jacobian(h) * jacobian(k)

    return double_coefficient(f, n, radius)


@functools.cache
def _arrivals() -> np.ndarray:
    """The series of (1−u)/(1 − u e^(1−u)), by mpmath; it tends to 2 faster than 8^(−k)."""
    with mpmath.workdps(40):
        size = 30
        bottom = [-(mpmath.e * mpmath.mpf(-1) ** (k - 1) / mpmath.factorial(k - 1)) for k in range(1, size)]
        series: list = []
        for k in range(size):
            top = (1, -1)[k] if k < 2 else 0
            series.append(top - sum(bottom[j] * series[k - 1 - j] for j in range(k)))
        return np.array([float(x) for x in series])


@functools.cache
def _weights(n: int) -> np.ndarray:
    """Poisson probabilities of mean n at n, n−1, …: as far as they count."""
    reach = min(n, int(12 * sqrt(n)) + 20)
    with mpmath.workdps(40):
        p, weights = critical_moment(n), []
        for k in range(reach + 1):
            weights.append(float(p))
            p = p * (n - k) / n
    return np.array(weights)


@functools.cache
def exact_test(n: int) -> float:
    """Single shuffle's test loss at step 1, m = d, as Σ H_k P(N = n−k)²."""
    p = _weights(n)
    H = np.full(len(p), 2.0)
    H[:30] = _arrivals()[: len(p)]
    return math.fsum(H * p**2)


@functools.cache
def exact_train(n: int) -> float:
    """Single shuffle's training loss at step 1, m = d, as Σ (k/n)² P(N = n−k)²."""
    p = _weights(n)
    return math.fsum((np.arange(len(p)) / n * p) ** 2)
