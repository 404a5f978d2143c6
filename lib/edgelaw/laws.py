r"""Laws of spectra: Marchenko and Pastur's, a power law at a left edge, and the edge of a square sample."""

from dataclasses import dataclass

import numpy as np
import scipy
import scipy.special

from edgelaw._common import arguments
from edgelaw._common.numerics import panels
from edgelaw._common.types import Array, ArrayLike, FloatOrArray

__all__ = ["EdgeFit", "MarchenkoPastur", "square_edge"]


@dataclass(frozen=True)
class EdgeFit:
    r"""A power law :math:`F(\lambda) \approx Q (\lambda - \lambda_0)^\beta` at the left edge of a spectrum."""

    beta: float  #: Exponent of the law.
    Q: float  #: Constant of the law.
    lambda_0: float = 0.0  #: Where the edge sits.
    count: int = 0  #: Number of eigenvalues the fit used (0 for an exact law).
    null: int = 0  #: Number of eigenvalues that are exactly zero.
    #: Weighted root mean square of log F minus the line: how straight the edge is, not how sure `beta` is.
    residual: float = 0.0
    window: tuple[float, float] = (0.0, np.inf)  #: Smallest and largest eigenvalue used.

    def cdf(self, x: ArrayLike) -> FloatOrArray:
        r"""The law itself, :math:`Q (x - \lambda_0)_+^\beta`: a fraction of the spectrum only near the edge."""
        return self.Q * np.maximum(np.asarray(x, dtype=float) - self.lambda_0, 0.0) ** self.beta

    def laplace(self, t: ArrayLike) -> FloatOrArray:
        r"""What the law says of :math:`\int e^{-t\lambda}\,dF` as t grows: gradient descent's test loss at t = 2ηn.

        It is :math:`Q\,\Gamma(\beta+1)\,t^{-\beta} e^{-\lambda_0 t}`, with a relative error of order 1/t.

        >>> round(float(EdgeFit(beta=0.5, Q=2 / np.pi).laplace(2.0)), 6)  # 1/√(2π): the paper's constant at n = 1
        0.398942
        """
        t = np.asarray(t, dtype=float)
        return self.Q * scipy.special.gamma(self.beta + 1) * t**-self.beta * np.exp(-self.lambda_0 * t)

    def line(self) -> tuple[Array, Array]:
        """Points of the law for a plot: over the window of the fit, or up to where an exact law reaches 1."""
        low, high = self.window
        if not 0 < low < high < np.inf:
            with np.errstate(over="ignore"):
                reach = float(np.float64(self.Q) ** (-1 / self.beta))
            low, high = self.lambda_0 + 1e-4 * reach, self.lambda_0 + reach
        x = np.geomspace(low, high, 60)
        return x, np.asarray(self.cdf(x))

    def _repr_html_(self) -> str:
        """The law in a notebook: a small plot over its window, and its numbers."""
        from edgelaw._common import notebook
        from edgelaw._common.notebook import number

        place = f"(λ − {number(self.lambda_0)})" if self.lambda_0 else "λ"
        how = f"fitted to {self.count:,} eigenvalues" if self.count else "an exact law"
        sentence = (
            f"Left edge, {how}: F(λ) ≈ Q {place}^β with β = {number(self.beta)} and Q = {number(self.Q)}."
        )
        picture = notebook.plot(
            [notebook.Line(*self.line(), color="#D55E00")], "eigenvalue λ", "F(λ)", sentence
        )
        if not self.count:
            return notebook.card(sentence, picture, [], [])
        window = f"{number(self.window[0])} to {number(self.window[1])}"
        row = [window, number(self.residual), f"{self.null:,}"]
        return notebook.card(sentence, picture, ["window", "residual of log F", "zero eigenvalues"], [row])


def square_edge(covariance_eigenvalues: ArrayLike) -> EdgeFit:
    r"""The left edge of a *square* sample, m = d, of rows with a given covariance: always :math:`\beta = 1/2`.

    :math:`F(\lambda) \approx \frac{2}{\pi}\sqrt{\ell\,\lambda}` as :math:`\lambda \to 0`, for eigenvalues of the sample
    at mean 1, with the covariance's eigenvalues τ at mean 1 and :math:`\ell = \langle 1/\tau\rangle`. **Proved**
    (thm-emb-square) for :math:`\ell < \infty`, as d → ∞.

    Examples
    --------
    >>> edge = square_edge(np.ones(8))  # isotropic: Marchenko and Pastur's 2/π
    >>> edge.beta, round(edge.Q, 6)
    (0.5, 0.63662)
    """
    values = arguments.eigenvalues(covariance_eigenvalues, "covariance_eigenvalues")
    if values[0] == 0:
        raise ValueError(
            "covariance_eigenvalues must be positive: a direction without variance makes Q infinite."
        )
    inverse = float((values.mean() / values).mean())
    return EdgeFit(0.5, float(2 / np.pi * np.sqrt(inverse)))


@dataclass(frozen=True)
class MarchenkoPastur:
    r"""Limit law of the eigenvalues of :math:`X^\top X / m` for an m × d Gaussian design, aspect ρ = m/d.

    Computed in the angle :math:`\lambda = 1 + r^2 - 2 r \cos\theta`, :math:`r = \rho^{-1/2}`, in which the law is
    :math:`\tfrac{2}{\pi} \sin^2\theta / \lambda \, d\theta`, and a fraction 1 − ρ of the eigenvalues is zero for ρ < 1.
    The CDF is *relatively* accurate to about 1e-13 at the left edge too, as far as x minus the edge is representable.

    Examples
    --------
    >>> law = MarchenkoPastur(1.0)
    >>> law.support, round(float(law.cdf(1.0)), 6), law.edge.beta
    ((0.0, 4.0), 0.608998, 0.5)
    """

    aspect: float = 1.0

    def __post_init__(self):
        object.__setattr__(self, "aspect", arguments.aspect(self.aspect, "aspect"))

    @property
    def _r(self):
        return self.aspect**-0.5

    @property
    def support(self) -> tuple[float, float]:
        """Left and right end of the continuous part."""
        return (1 - self._r) ** 2, (1 + self._r) ** 2

    @property
    def atom(self) -> float:
        """Fraction of the eigenvalues that is zero."""
        return max(0.0, 1 - self.aspect)

    @property
    def edge(self) -> EdgeFit:
        """The exact left edge of the continuous part, at ρ = 1 a hard one at 0, β = 1/2; else a soft one, β = 3/2."""
        left, right = self.support
        if left == 0:
            return EdgeFit(0.5, 2 / np.pi, 0.0, window=(left, right))
        return EdgeFit(1.5, 2 / (3 * np.pi * self._r**1.5 * left), left, window=(left, right))

    def rule(self) -> tuple[Array, Array]:
        r"""Points λ and weights of the continuous part, on panels of the angle that shrink towards both ends.

        So they serve :math:`(1-\eta\lambda)^{2n}` and :math:`e^{-2\eta n\lambda}` for every n.

        >>> x, weights = MarchenkoPastur(2.0).rule()
        >>> round(float(weights.sum()), 12), round(float(weights @ x), 12)
        (1.0, 1.0)
        """
        angle, weights = panels(np.append(0.0, np.geomspace(1e-12, np.pi / 2, 50)), 28)
        (left, right), distance = self.support, 4 * self._r * np.sin(angle / 2) ** 2
        x = np.concatenate([left + distance, right - distance])
        return x, np.tile(2 / np.pi * weights * np.sin(angle) ** 2, 2) / x

    def pdf(self, x: ArrayLike) -> FloatOrArray:
        """Density of the continuous part (the atom of ρ < 1 is not in it)."""
        x = self._points(x)
        left, right = self.support
        inside = (x > left) & (x < right)
        safe = np.where(inside, x, 0.5 * (left + right))
        density = np.sqrt((right - safe) * (safe - left)) / (2 * np.pi * self._r**2 * safe)
        return np.where(inside, density, 0.0)[()]

    def cdf(self, x: ArrayLike) -> FloatOrArray:
        """Fraction of the eigenvalues at or below x, the atom included."""
        x = self._points(x)
        return np.where(x < 0, 0.0, self.atom + self._mass(self._angle(x)))[()]

    def quantile(self, p: ArrayLike) -> FloatOrArray:
        """The smallest x with ``cdf(x) >= p``, for p in [0, 1]."""
        p = np.asarray(p, dtype=float)
        if not ((p >= 0) & (p <= 1)).all():
            raise ValueError("p must be a probability between 0 and 1.")
        target = np.clip(p - self.atom, 0.0, None)
        low, high, theta = np.zeros_like(target), np.full_like(target, np.pi), np.full_like(target, np.pi / 2)
        for _ in range(200):  # Newton, kept inside a shrinking bracket
            excess, before = self._mass(theta) - target, theta
            low, high = np.where(excess < 0, theta, low), np.where(excess < 0, high, theta)
            with np.errstate(divide="ignore", invalid="ignore"):
                newton = theta - excess / self._density(theta)
            theta = np.where((newton > low) & (newton < high), newton, 0.5 * (low + high))
            if (np.abs(theta - before) <= 1e-15 * before).all():
                break
        x = (1 - self._r) ** 2 + 4 * self._r * np.sin(theta / 2) ** 2
        x = np.where(target >= min(1.0, self.aspect), self.support[1], x)
        return np.where(p <= self.atom, 0.0 if self.atom else self.support[0], x)[()]

    def _points(self, x: ArrayLike) -> Array:
        x = np.asarray(x)
        if x.dtype.kind not in "fiub" or np.isnan(x).any():
            raise ValueError("x must hold real numbers, none of them NaN.")
        return x.astype(float)

    def _angle(self, x):
        """θ of each x, clipped to the support."""
        return 2 * np.arcsin(np.sqrt(np.clip((x - self.support[0]) / (4 * self._r), 0.0, 1.0)))

    def _density(self, theta):
        return 2 / np.pi * np.sin(theta) ** 2 / ((1 - self._r) ** 2 + 4 * self._r * np.sin(theta / 2) ** 2)

    def _mass(self, theta):
        """∫₀^θ of the density, by Gauss–Legendre after θ = g sinh u, which moves the poles at θ ≈ ± i g away."""
        gap = abs(np.log(self._r))
        if gap == 0:
            return (theta + np.sin(theta)) / np.pi
        nodes, weights = panels([0.0, 1.0], 128)
        u = np.multiply.outer(np.arcsinh(theta / gap), nodes)
        values = self._density(gap * np.sinh(u)) * gap * np.cosh(u)
        return (values @ weights) * np.arcsinh(theta / gap)
