r"""A spectrum F as random reshuffle needs it: its transform x, its average ⟨·⟩, its measure, and contours around it.

:math:`\rho/x + \langle\lambda/(1-\lambda x)\rangle = z` off F, with ⟨·⟩ the average of :mod:`edgelaw.exact.levy`: a
sample has :math:`x = \rho G(z)`, G the Cauchy transform of :math:`UU^\top`, a covariance x by Silverstein's equation.
"""

import functools
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from edgelaw._common.types import Array
from edgelaw.exact import levy, silverstein
from edgelaw.exact.batches import blocks

SCALE = 1.0  # eigenvalues below it look alike to the kernel; above a gap, it is in units of the gap
WIDTHS = 0.4, 0.5, 0.65, 0.85, 1.1, 1.4, 1.8, 2.3  # eccentricities tried, the closest first


class Resolution(NamedTuple):
    """Decimal digits of the trapezoidal rule, the part of the times s that is taken, the contour's width over usual."""

    digits: float
    times: float
    wide: float


FINE = Resolution(11.3, 0.92, 1.0)  # of curves
COARSE = Resolution(9.6, 0.84, 1.1)  # of what they are compared with

Complex = npt.NDArray[Any]  # on contours; real at a sample's eigenvalues


class Contour(NamedTuple):
    """An ellipse around [low, high] in log(1 + (z − low)/scale)."""

    low: float
    high: float
    scale: float
    eccentricity: float

    @property
    def length(self) -> float:
        """Of the interval in the logarithm."""
        return float(np.log1p((self.high - self.low) / self.scale))

    def lowered(self) -> "Contour":
        """The same, but no higher than a contour may be."""
        return self.scaled(
            min(1.0, float(np.arcsinh(2 * levy.HALF_HEIGHT / self.length)) / self.eccentricity)
        )

    def scaled(self, factor: float) -> "Contour":
        """An ellipse of another eccentricity about the same interval."""
        return self._replace(eccentricity=factor * self.eccentricity)

    def position(self, z: Complex) -> Complex:
        """Where z is if low and high are at −1 and 1."""
        return np.log1p((z - self.low) / self.scale) * 2 / self.length - 1

    def points(self, digits: float) -> tuple[Complex, Complex]:
        """Points of the upper half and dz/(2πi), of a trapezoidal rule with so many decimal digits."""
        count = int(np.ceil(max(digits * np.log(10) / 2 / self.eccentricity, 20)))
        angle = self.eccentricity + 1j * np.pi * (np.arange(count) + 0.5) / count
        u = self.length / 2 * (1 + np.cosh(angle))
        slope = self.scale * np.exp(u) * self.length / 2 * np.sinh(angle)
        return self.low + self.scale * np.expm1(u), slope / (2 * count)


@dataclass(frozen=True, eq=False)
class Law:
    """A spectrum F: the ends of its positive part, ρ = m/d, and the share of zeros.

    `transform` gives x and dx/dz at points z; `average` nodes and weights of ⟨·⟩, closed under conjugation, for
    functions analytic outside a contour; `measure` nodes and masses of the positive part, of a continuous one on a
    contour of a height, over its length, in the logarithm with a scale.
    """

    lowest: float
    highest: float
    rho: float
    null: float
    transform: Callable[[Complex], tuple[Complex, Complex]]
    average: Callable[[Contour], tuple[Complex, Complex]]
    measure: Callable[[float, float], tuple[Complex, Complex]]


def of_rows(rows: blocks.Rows, reach: float) -> Law:
    """The law of rows; if it is a covariance's, its measure comes within `reach` of the left edge."""
    if isinstance(rows, silverstein.PopulationRows):
        return population(rows, reach)
    return sample(rows.values, rows.shares, rows.rho)


def sample(values: Array, shares: Array, rho: float = 1.0) -> Law:
    """The law of m = ρd rows from the eigenvalues of XᵀX/m, of mean 1, zeros included; one just used is used again."""
    return _sample(values.tobytes(), shares.tobytes(), float(rho))


@functools.lru_cache(maxsize=2)
def _sample(value_bytes: bytes, share_bytes: bytes, rho: float) -> Law:
    values, shares = np.frombuffer(value_bytes), np.frombuffer(share_bytes)
    nodes, masses = rho * values[values > 0], shares[values > 0]
    gram, weights = levy.companion(values, shares, rho)

    def transform(z: Complex) -> tuple[Complex, Complex]:
        gap = 1 / (z[:, None] - gram)
        return rho * gap @ weights, -rho * (gap**2) @ weights

    @functools.cache
    def average(contour: Contour) -> tuple[Complex, Complex]:
        height = contour.length / 2 * np.sinh(contour.eccentricity)
        mean = levy.from_gram(gram, weights, rho, contour.low - contour.scale, 1e-13, float(height))
        # an atom at zero of rounding errors would put a pole in b
        kept = np.abs(mean.weights) > 1e-9 * (mean.nodes == 0)
        return mean.nodes[kept], mean.weights[kept]

    null = float(shares[values == 0].sum())
    return Law(
        float(nodes[0]), float(gram[-1]), rho, null, transform, average, lambda *where: (nodes, masses)
    )


def population(rows: silverstein.PopulationRows, reach: float) -> Law:
    """The law of Gaussian rows of a covariance.

    F is integrated on a thin contour around its continuous part, whose tip is within `reach` of the left edge.
    """
    values, shares, rho = rows.values, rows.shares, rows.rho
    left, right = float(rho * rows.leftmost()), rows.edge(rho)
    gauss = levy.from_covariance(values, shares, tolerance=1e-13)

    def transform(z: Complex) -> tuple[Complex, Complex]:
        x = -rows.companion(np.where(z.imag > 0, z, z.conj()) / rho)
        x = np.where(z.imag > 0, x, x.conj())
        return x, 1 / (((values / (1 - np.multiply.outer(x, values))) ** 2) @ shares - rho / x**2)

    def measure(scale: float, height: float) -> tuple[Complex, Complex]:
        thin = Contour(left, right, min(scale / 2, reach), 1.0)
        z, dz = map(_with_conjugates, thin.scaled(np.arcsinh(height / thin.length)).points(14))
        return z, (transform(z)[0] + (1 - rho) / z) * dz

    rule = gauss.nodes, gauss.weights
    return Law(left, right, rho, max(0.0, 1 - rho), transform, lambda contour: rule, measure)


def usable(law: Law) -> Iterator[Contour]:
    """Contours on which ⟨·⟩ is right, the most promising first: between F and zero if there is room, and around both.

    Each is as close as can be: closer to single eigenvalues x takes a value twice outside.
    """
    low = min(law.lowest, 0.9 * law.highest)  # an ellipse has a width, even around one eigenvalue
    bare = law.null == 0 and law.rho <= 1
    around = [(low if bare else 0.0, scale) for scale in (SCALE, SCALE / 3, 3 * SCALE)]
    between = [(low, part * SCALE * low) for part in (0.7, 0.5, 0.85) if low > 0]
    for low, scale in between + around:
        widths = (Contour(low, law.highest, scale, width).lowered() for width in WIDTHS)
        yield from itertools.islice((contour for contour in widths if _averages_well(law, contour)), 1)


@functools.lru_cache(maxsize=64)
def _averages_well(law: Law, contour: Contour) -> bool:
    """Whether the trapezoidal rule on a contour half as wide has ⟨λr⟩ = 1 − 1/a right on this one."""
    z, _ = contour.points(11)
    x, _ = law.transform(z)
    t, zeta, w = inner_rule(law, contour)
    error = (t / (1 - x[:, None] * t)) @ (-(zeta + (1 - law.rho) * t) * w) / z - 1 + law.rho / (x * z)
    return bool(np.abs(error).max() < 1e-11)


def inner_rule(law: Law, contour: Contour) -> tuple[Complex, Complex, Complex]:
    """1/x, ζ and x′dζ/(2πi) on a contour half as wide, with twice the digits: there are poles on both sides."""
    zeta, dz = contour.scaled(0.5).points(2 * FINE.digits)
    x, slope = law.transform(zeta)
    return _with_conjugates(1 / x), _with_conjugates(zeta), _with_conjugates(slope * dz)


def _with_conjugates(values: Complex) -> Complex:
    return np.append(values, values.conj())


class Points(NamedTuple):
    """Where an epoch is asked: points z of a contour's upper half, x there, nodes and weights of ⟨·⟩, and ρ = m/d."""

    z: Complex
    x: Complex
    nodes: Complex
    weights: Complex
    rho: float

    @property
    def a(self) -> Complex:
        """xz/ρ."""
        return self.x * self.z / self.rho

    def resolvent(self, at: Complex | None = None) -> Complex:
        """r = 1/(z(1 − xλ)), a row per node, or per λ given, and a column per point."""
        return 1 / (self.z * (1 - self.x * (self.nodes if at is None else at)[:, None]))

    def doubled(self) -> "Points":
        """Each point followed by its conjugate, and at last infinity with r = 1, where b is the loss of fresh rows."""
        z, x = (np.append(np.column_stack([v, v.conj()]), end) for v, end in ((self.z, 1.0), (self.x, 0.0)))
        return self._replace(z=z, x=x)
