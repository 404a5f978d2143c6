r"""The epoch as a free product: S-transforms, Lambert functions, trace moments and the law of the singular values.

As d → ∞ the moments :math:`m_n = \lim \mathrm{tr}(A^n)/d` of an epoch :math:`A = \prod_{i \le m} (I - \eta\, u_i
u_i^\top)`, m = ρd isotropic unit rows, are those of an infinite free product. With q = 1 − η,

.. math::

   z = v \exp\!\Big(\eta\rho\,\frac{1-v}{1-qv}\Big), \qquad \sum_{n\ge0} m_n z^n = \frac{1}{1-v}, \qquad v(0) = 0,

and at η = 1, :math:`v = -W_0(-\rho e^{-\rho} z)/\rho`. The *squared singular values* of A obey the same formulas with
η(2 − η) in the place of η. *Proved* (prop-epoch-moments) for the free product, and by resolvents that an epoch of
single rows has this limit.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy
import scipy.special

from edgelaw._common import arguments
from edgelaw._common.lambert import lambert_w, r_lambert, r_lambert_branch_points
from edgelaw._common.types import Array, ArrayLike, FloatOrArray, Integers
from edgelaw.theory._epochs import by_epoch

__all__ = [
    "SquaredSingularValues",
    "block_trace_moment",
    "eigenvalue_boundary",
    "generating_function",
    "lambert_w",
    "moments_from_s_series",
    "r_lambert",
    "r_lambert_branch_points",
    "s_series",
    "s_transform",
    "second_moments",
    "trace_moment",
]

_ARTANH = [0.0, *(1 / k for k in range(3, 39, 2))]  # of (artanh t)/t − 1 in powers of t²


def s_transform(
    z: npt.ArrayLike, step: float = 1.0, rho: float = 1.0, blocks: int | None = None
) -> FloatOrArray:
    r"""S-transform of an epoch: of the free product of m block updates, or of its limit.

    The limit is :math:`\exp(\eta\rho/(1+\eta z))`. z is near 0; for steps up to 1 every real z > −1 + ρ/m will do.

    One block is one projection of trace 1 − ρ, with S-transform (1 + z)/(1 + z − ρ):

    >>> float(s_transform(1.0, rho=0.5, blocks=1)), round(float(s_transform(1.0, rho=0.5)), 6)
    (1.3333333333333333, 1.284025)
    """
    eta, rho = arguments.step(step), arguments.aspect(rho)
    z = np.asarray(z)
    if blocks is None:
        return np.exp(eta * rho / (1 + eta * z))[()]
    m = arguments.whole(blocks, "blocks", 1)
    t, q = rho / m, 1 - eta
    if eta * t >= 1:
        raise ValueError(
            f"blocks must exceed step * rho = {eta * rho:g}, or the mean of a block is not positive, not {m}."
        )
    # ψ(w) = z  ⇔  q(1+z) w² − (1 − ηt + (1+q)z) w + z = 0; the root that vanishes with z
    b = 1 - eta * t + (1 + q) * z
    root = np.sqrt(b * b - 4 * q * z * (1 + z))
    return ((2 * (1 + z) / (b + root)) ** m)[()]


def s_series(moments: ArrayLike) -> Array:
    r"""Coefficients of the S-transform, :math:`S(z) = s_0 + s_1 z + \dots`, from moments :math:`m_1, \dots, m_N`.

    Formal power series: nothing has to converge. `moments_from_s_series` inverts it.

    A projection of trace 1/2 has S(z) = (1 + z)/(1/2 + z) = 2 − 2z + 4z² − …

    >>> s_series([0.5, 0.5, 0.5]).tolist()
    [2.0, -2.0, 4.0]
    """
    m = arguments.real_array(moments, "moments", 1)
    if len(m) == 0 or m[0] == 0:
        raise ValueError("moments must begin with a first moment that is not zero.")
    inverse = _revert(m)
    return inverse + np.concatenate([[0.0], inverse[:-1]])


def moments_from_s_series(series: ArrayLike) -> Array:
    r"""Moments :math:`m_1, \dots, m_N` of the variable whose S-transform has the given first N coefficients."""
    s = arguments.real_array(series, "series", 1)
    if len(s) == 0 or s[0] == 0:
        raise ValueError("series must begin with a coefficient that is not zero.")
    signs = (-1.0) ** np.arange(len(s))
    return _revert(np.convolve(s, signs)[: len(s)])  # z/(1+z) · S(z) is the inverse of the moment series


def _revert(f):
    """The inverse under composition of f_1 z + f_2 z² + …, by Lagrange: n g_n = [z^(n−1)] (z/f)^n."""
    size = len(f)
    reciprocal = np.zeros(size)
    reciprocal[0] = 1 / f[0]
    for k in range(1, size):
        reciprocal[k] = -(f[1 : k + 1] @ reciprocal[:k][::-1]) / f[0]
    power, g = np.array([1.0]), np.zeros(size)
    for n in range(1, size + 1):
        power = np.convolve(power, reciprocal)[:size]
        g[n - 1] = power[n - 1] / n
    return g


def _log_z(omega, eta, rho):
    """log z as a function of ω = 1 − v, without cancellation at ω = 0 (where it is of second order if ρ = 1)."""
    q = 1 - eta
    return (rho - 1) * omega + _log1p_minus(-omega) - rho * q * omega**2 / (eta + q * omega)


def _log1p_minus(x):
    """log(1 + x) − x for complex x."""
    near = np.abs(x) < 0.5
    y = np.where(near, x, 0)
    t = y / (2 + y)  # log(1 + y) is 2 artanh t
    series = 2 * t * np.polynomial.polynomial.polyval(t * t, _ARTANH) - y * t
    with np.errstate(divide="ignore"):
        return np.where(near, series, np.log(1 + np.where(near, 0, x)) - x)


def generating_function(z: npt.ArrayLike, step: float = 1.0, rho: float = 1.0) -> FloatOrArray:
    r"""The generating function :math:`\sum_{n \ge 0} m_n z^n` of the trace moments, :math:`|z| < 1`, to 1e-12.

    It is 1/(1 − v), v the one solution in the unit disc (Rouché) of the equation at the head of this module.
    """
    eta, rho = arguments.step(step), arguments.aspect(rho)
    z = np.asarray(z)
    if z.dtype.kind not in "fiubc" or not (np.abs(z) < 1).all():
        raise ValueError("z must hold numbers of modulus below 1.")
    w = z.astype(complex).ravel()
    q = 1 - eta
    v = np.zeros_like(w)
    for _ in range(30):  # a contraction of the unit disc in the hyperbolic metric: it always converges
        v = w * np.exp(-eta * rho * (1 - v) / (1 - q * v))
    omega = 1 - v
    large = np.abs(w) > 0.05  # below, thirty iterations have converged to all digits
    log_w = np.log1p(np.where(large, w, 0.5) - 1)
    for _ in range(60):
        back = 1 - w * np.exp(-eta * rho * omega / (eta + q * omega))
        safe = np.where(large, omega, 0.5)
        error = _log_z(safe, eta, rho) - log_w
        error = error.real + 1j * (np.mod(error.imag + np.pi, 2 * np.pi) - np.pi)
        slope = 1 / (1 - safe) - eta**2 * rho / (eta + q * safe) ** 2
        new = safe + error / np.where(slope == 0, 1, slope)
        following = np.where(large & (np.abs(1 - new) < 1), new, back)
        done = np.abs(following - omega) <= 1e-15 * np.abs(following)
        omega = following
        if done.all():
            break
    value = (1 / omega).reshape(z.shape)
    return (value if z.dtype.kind == "c" else value.real)[()]


def trace_moment(n: ArrayLike, step: float = 1.0, rho: float = 1.0) -> FloatOrArray:
    r"""The limit of :math:`\mathbb{E}\,\mathrm{tr}(A^n)/d` for n epochs of single shuffle, rows isotropic, m = ρd.

    For steps up to 1 it is :math:`\mathbb{E}(1 - N/n)_+`, N a sum of Poisson(nηρ) many geometric variables of mean
    1/η. Relative error below 1e-10 (measured against exact sums for steps in [0.05, 1.95], ρ in [0.25, 4], n up to
    10⁸).

    >>> round(float(trace_moment(2)) / (2 * math.exp(-2)), 10)  # nⁿ / (eⁿ n!) at n = 2
    1.0
    >>> round(float(trace_moment(1, step=0.5, rho=2.0)) / math.exp(-1), 10)
    1.0
    """
    eta, rho = arguments.step(step), arguments.aspect(rho)
    plateau = max(0.0, 1 - rho)
    return by_epoch(
        n, lambda later: plateau + coefficients(later, lambda omega: omega**-2, eta, rho, pole=True)
    )


def coefficients(
    n: Integers, slope: Callable[[npt.NDArray], npt.NDArray], step: float, rho: float, pole: bool = False
) -> Array:
    """Taylor coefficients :math:`[z^n]G` of a function of v, at ascending n ≥ 1, by Lagrange inversion.

    Integrals over circles through the saddle; ``slope`` is dG/dv as a function of ω = 1 − v. Where G has a ``pole``
    at v = 1 and ρ < 1, the circle runs beyond it and what the pole contributes is left out.
    """
    parts = np.array_split(n.astype(float), 1 + len(n) // 256)
    return np.concatenate([_contour(part, slope, step, rho, pole) for part in parts])


def _contour(n, slope, eta, rho, pole):
    """The coefficients at an array of n of similar size, by the trapezoidal rule on circles."""
    q, kappa = 1 - eta, eta**2 * rho
    r = _radius(n, eta, rho, pole)
    # Beyond this angle the integrand is below e^-42 of its largest value.
    level = (1 - r) / (1 - q * r) + 42 / (n * eta * rho)
    cosine = (1 + q * r**2 - level * (1 + q**2 * r**2)) / ((1 + q) * r - 2 * q * r * level)
    sensible = (cosine > -1) & (cosine < 1) & ((1 + q) > 2 * q * level)
    reach = np.where(sensible, np.arccos(np.clip(cosine, -1, 1)), np.pi)
    width = np.sqrt((1 - q * r) ** 3 / (n * kappa * r * (1 + q * r)))
    strip = np.abs(np.log(r)) if pole else np.inf
    if q != 0 and (rho < 1 or not pole):
        strip = np.minimum(strip, 0.8 * np.log(1 / (abs(q) * r)))
    nodes = int(np.ceil((reach / np.minimum(0.25 * width, np.pi * strip / 42)).max())) + 8
    theta = np.multiply.outer(reach / nodes, np.arange(nodes + 1))
    v = r[:, None] * np.exp(1j * theta)
    small = 2j * r[:, None] * np.exp(0.5j * theta) * np.sin(theta / 2)  # v − r without cancellation
    omega = (1 - r)[:, None] - small
    integrand = np.exp(-n[:, None] * _log_z(omega, eta, rho)) * v * slope(omega)
    weights = np.ones(nodes + 1)
    weights[[0, -1]] = 0.5
    return (integrand.real @ weights) * reach / (nodes * np.pi * n)


def _radius(n, eta, rho, pole):
    """Circles through the saddle of the n-th power, or as far from a pole at v = 1 as the power is wide there."""
    q, kappa = 1 - eta, eta**2 * rho
    spread = 1.5 * np.sqrt(eta / (n * rho * (2 - eta)))  # in units of the angle
    disc = kappa * (kappa + 4 * q)
    saddle = 2 / (2 * q + kappa + math.sqrt(disc)) if disc > 0 else 1.0
    if not pole:
        return np.full_like(n, saddle)
    if rho >= 1:
        return np.minimum(saddle, 1 - np.minimum(spread, 0.5))
    room = min(0.6 * (1 / max(abs(q), 1e-3) - 1), 1.0)  # before the singularity at 1/q
    beyond = saddle - 1 if q >= 0 else min(saddle - 1, room)
    return 1 + np.maximum(np.minimum(spread, room), beyond)


def block_trace_moment(n: ArrayLike, blocks: int, rho: float = 1.0) -> FloatOrArray:
    r"""`trace_moment` of block Kaczmarz with m blocks at step 1: :math:`\mathbb{E}(1 - N/n)_+`, N binomial(mn, ρ/m).

    The moments of A and of :math:`AA^\top` are equal.

    Two blocks at ρ = 1 are two free projections of trace 1/2, with moments of the arcsine law and an atom at 0:

    >>> [round(float(m), 12) for m in block_trace_moment([0, 1, 2, 3], blocks=2)]
    [1.0, 0.25, 0.1875, 0.15625]
    """
    rho = arguments.aspect(rho)
    m = arguments.whole(blocks, "blocks", 1)
    if m < rho:
        raise ValueError(f"blocks must be at least rho = {rho:g}, or a block has no direction left, not {m}.")
    t, counts = rho / m, arguments.counts(n, "n")

    def one(n):
        if n == 0:
            return 1.0
        k = np.arange(n)
        logs = scipy.special.xlogy(k, t) + scipy.special.xlog1py(m * n - k, -t)
        ways = scipy.special.gammaln(m * n + 1) - scipy.special.gammaln([k + 1, m * n - k + 1]).sum(axis=0)
        return float(np.exp(logs + ways) @ (1 - k / n))

    return np.array([one(int(count)) for count in counts.flat]).reshape(counts.shape)[()]


def second_moments(dims: int, blocks: int, size: int = 1, step: float = 1.0) -> tuple[float, float, float]:
    r"""Exact expectations of :math:`\mathrm{tr}(A^2)/d`, :math:`\mathrm{tr}(AA^\top)/d`, :math:`(\mathrm{tr}A/d)^2`.

    At finite d, of m block updates that project on uniform subspaces of dimension b = ``size``. *Proved*
    (prop-second-moments). The variance of tr(A)/d is the third minus :math:`(1 - \eta b/d)^{2m}`.

    >>> [round(float(x), 6) for x in second_moments(2, 1)]  # one row in the plane: a projection of trace 1/2
    [0.5, 0.5, 0.25]
    """
    d, m = arguments.whole(dims, "dims", 2), arguments.whole(blocks, "blocks", 1)
    b = arguments.whole(size, "size", 1)
    eta = arguments.step(step)
    if b > d:
        raise ValueError(f"size must be at most dims = {d}, not {b}.")
    beta = b * (d - b) / (d * (d - 1) * (d + 2))
    alpha = b / d - (d + 1) * beta
    keep, e2 = 1 - 2 * eta * b / d, eta**2
    same, other = keep + e2 * alpha, e2 * beta
    M = [[same, other, other], [0.0, 1 - eta * (2 - eta) * b / d, 0.0], [other, other, same]]
    start = np.array([d, d, float(d) ** 2])  # tr A², tr AAᵀ, (tr A)²
    square, gram, trace = np.linalg.matrix_power(M, m) @ start / [d, d, d**2]
    return float(square), float(gram), float(trace)


@dataclass(frozen=True)
class SquaredSingularValues:
    r"""Limit law of the squared singular values of an epoch matrix: support, atom, density, CDF, quantiles, moments.

    With τ = η(2 − η), q = (1 − η)² and the angle φ of v = s e^{iφ}, the law is explicit along the curve

    .. math::

       \begin{gathered}
       q^2 s^2 - \Big(2q\cos\varphi + \tau^2\rho\,\frac{\sin\varphi}{\varphi}\Big) s + 1 = 0, \qquad
       \log x = -\log s - \tau\rho\,\mathrm{Re}\frac{1-v}{1-qv}, \\
       F(x) = 1 - \frac1\pi\Big[\frac{\varphi}{\tau} - (1-\rho)\arg(1-v) - \rho\arg(1-qv)\Big], \qquad
       x f(x) = \frac1\pi\,\mathrm{Im}\frac{1}{1-v} .
       \end{gathered}

    A mass 1 − ρ sits at 1 when ρ < 1. The law is the same for 2 − step. At step 1 it reaches down to 0, where
    :math:`F(x) \approx \rho/\log(1/x)`. CDF and quantile have errors of about 1e-13 inside the support and 1e-8
    within 1e-15 of its ends. *Proved* (thm-singular-law).

    >>> law = SquaredSingularValues(rho=1.0)
    >>> law.support, law.atom
    ((0.0, 1.0), 0.0)
    >>> round(float(law.cdf(law.quantile(0.25))), 12)
    0.25
    >>> round(float(law.moment(2)), 12) == round(2 * math.exp(-2), 12)
    True
    """

    rho: float = 1.0
    step: float = 1.0

    def __post_init__(self):
        object.__setattr__(self, "step", arguments.step(self.step))
        object.__setattr__(self, "rho", arguments.aspect(self.rho))

    @property
    def atom(self) -> float:
        """Mass at 1, the fraction of directions that no row touches."""
        return max(0.0, 1 - self.rho)

    @cached_property
    def support(self) -> tuple[float, float]:
        """The two ends of the continuous part (without the atom); an end below 1e-308 is 0.0."""
        t = np.array([0.0, np.pi])
        low = 0.0 if self._q == 0 else float(np.exp(self._log_x(t)[1]))
        return low, 1.0 if self.rho == 1 else float(np.exp(self._log_x(t)[0]))

    @property
    def _tau(self):
        return self.step * (2 - self.step)

    @property
    def _q(self):
        return (1 - self.step) ** 2

    @cached_property
    def _top(self):
        """The largest angle on the curve: φ tan(φ/2) = τ²ρ/(2q), and π at step 1."""
        if self._q == 0:
            return np.pi
        target = self._tau**2 * self.rho / (2 * self._q)
        return scipy.optimize.brentq(
            lambda phi: phi * np.sin(phi / 2) - target * np.cos(phi / 2), 0, np.pi, xtol=1e-300
        )

    def _curve(self, t):
        """φ and s at the parameter t: from 0 (right end of the support) to π (left end; π/2 at step 1)."""
        q, kappa, top = self._q, self._tau**2 * self.rho, self._top
        turn = np.pi / 2 - t
        phi, rest = top * np.sin(t), 2 * top * np.sin(turn / 2) ** 2  # rest = top − φ
        half = np.sinc(phi / (2 * np.pi))  # sin(φ/2)/(φ/2)
        # b − 2q, which vanishes at the top, as a difference of the same expression at φ and at the top
        change = 2 * np.sin((phi + top) / 4) * np.sin(rest / 4)
        excess = kappa * half * (change + rest * np.cos(top / 2) / top)
        excess = excess + 8 * q * np.sin(phi / 2) * np.cos((phi + top) / 4) * np.sin(rest / 4)
        b = excess + 2 * q
        with np.errstate(divide="ignore"):
            s = 2 / (b + np.sqrt(excess * (b + 2 * q)))
            return phi, s if q == 0 else np.where(t <= np.pi / 2, s, 1 / (q * q * s))

    def _log_x(self, t):
        phi, s = self._curve(t)
        q, c = self._q, np.cos(phi)
        with np.errstate(invalid="ignore"):
            ratio = (1 - (1 + q) * s * c + q * s * s) / (1 - 2 * q * s * c + (q * s) ** 2)
            value = -np.log(s) - self._tau * self.rho * ratio
        return np.where(np.isfinite(s), value, -np.inf)

    def _below(self, t):
        """The CDF at the parameter t, without the atom."""
        phi, s = self._curve(t)
        first = np.arctan2(s * np.sin(phi), 1 - s * np.cos(phi))  # −arg(1 − v), in [0, π]
        second = np.arctan2(self._q * s * np.sin(phi), 1 - self._q * s * np.cos(phi))
        return 1 - (phi / self._tau + (1 - self.rho) * first + self.rho * second) / np.pi

    def _solve(self, function, target):
        """The parameter at which a decreasing function of it takes the target values, by bisection."""
        low = np.zeros_like(target)
        high = np.full_like(target, np.pi / 2 if self._q == 0 else np.pi)
        for _ in range(64):
            middle = (low + high) / 2
            above = function(middle) > target
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        return (low + high) / 2

    def cdf(self, x: ArrayLike) -> FloatOrArray:
        """Fraction of the squared singular values up to x, the atom at 1 included."""
        x = _real(x, "x")
        low, high = self.support
        inside = (x > low) & (x < high)
        t = self._solve(self._log_x, np.log(np.where(inside, x, 0.5 * (low + high))))
        value = np.where(inside, self._below(t), np.where(x >= high, min(1.0, self.rho), 0.0))
        return np.where(x >= 1, 1.0, np.clip(value, 0, 1))[()]

    def pdf(self, x: ArrayLike) -> FloatOrArray:
        """Density of the continuous part, which has mass min(1, ρ); 0 outside the support."""
        x = _real(x, "x")
        low, high = self.support
        inside = (x > low) & (x < high)
        safe = np.where(inside, x, 0.5 * (low + high))
        phi, s = self._curve(self._solve(self._log_x, np.log(safe)))
        distance = (1 - s) ** 2 + 4 * s * np.sin(phi / 2) ** 2
        return np.where(inside, s * np.sin(phi) / (np.pi * safe * distance), 0.0)[()]

    def quantile(self, p: ArrayLike) -> FloatOrArray:
        """The x with cdf(x) = p, for p strictly between 0 and 1; 1.0 in the atom."""
        p = _real(p, "p")
        if not ((p > 0) & (p < 1)).all():
            raise ValueError("p must lie strictly between 0 and 1.")
        inside = p < min(1.0, self.rho)
        t = self._solve(self._below, np.where(inside, p, 0.5 * min(1.0, self.rho)))
        return np.where(inside, np.exp(self._log_x(t)), 1.0)[()]

    def moment(self, n: ArrayLike) -> FloatOrArray:
        r"""Limit of :math:`\mathrm{tr}((AA^\top)^n)/d`: the trace moment at the step η(2 − η)."""
        return trace_moment(n, self._tau, self.rho)


def eigenvalue_boundary(angles: ArrayLike, rho: float = 1.0) -> npt.NDArray:
    r"""The curve in the complex plane around the eigenvalues of an epoch matrix at step 1.

    The mean square of the resolvent is finite outside of it. :math:`\lambda = v^{-1} e^{-\rho(1 - v)}`, :math:`v =
    \sqrt t\, e^{i\theta}`, t ≠ 1 the other solution of :math:`t e^{\rho(1-t)} = 1` (t = 1 at ρ = 1). For ρ < 1 an
    eigenvalue 1 of multiplicity d − m lies outside. *Derived* (prop-eigenvalue-edge), and checked on matrices.

    >>> complex(eigenvalue_boundary(0.0)), round(float(eigenvalue_boundary(math.pi).real * math.exp(2)), 12)
    ((1+0j), -1.0)
    """
    rho = arguments.aspect(rho)
    theta = _real(angles, "angles")
    t = 1.0
    if rho != 1:
        t = -float(lambert_w(-rho * math.exp(-rho), branch=0 if rho > 1 else -1)) / rho
    v = math.sqrt(t) * np.exp(1j * theta)
    return (np.exp(-rho * (1 - v)) / v)[()]


def _real(values: ArrayLike, name: str) -> Array:
    array = np.asarray(values)
    if array.dtype.kind not in "fiub" or not np.isfinite(array).all():
        raise ValueError(f"{name} must hold finite real numbers.")
    return array.astype(float)
