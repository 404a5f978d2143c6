"""What an epoch must say of itself: of single rows (`rows.Rows`) or of averaged batches (`batches.Batches`)."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from edgelaw.exact.random_reshuffle.contours import Complex, Nodes

TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Points:
    """Where an epoch is asked: points z of a contour's upper half, x there, nodes and weights of ⟨·⟩, and ρ = m/d.

    ⟨·⟩ must be closed under conjugation.
    """

    z: Complex
    x: Complex
    nodes: Nodes
    weights: Nodes
    rho: float

    @property
    def a(self) -> Complex:
        """xz/ρ."""
        return self.x * self.z / self.rho

    def resolvent(self, at: Nodes | None = None) -> Complex:
        """r = 1/(z(1 − xλ)), a row per point and a column per node, or per λ given."""
        return 1 / (self.z[:, None] * (1 - self.x[:, None] * (self.nodes if at is None else at)))

    def mirrored(self) -> "Points":
        """The conjugate points."""
        return Points(self.z.conj(), self.x.conj(), self.nodes, self.weights, self.rho)


@dataclass(frozen=True, eq=False)
class Pairs:
    """b(z_i, z_j) and b(z_i, z̄_j), how far from its symmetry it is, and the first epoch's test loss."""

    plain: Complex
    conjugate: Complex
    asymmetry: float
    first: float


@dataclass(frozen=True, eq=False)
class End:
    """C(z, τ) at the end of an epoch, a row per z, and ∂C/∂τ at τ = 0 up to a multiple of 1/z."""

    values: Complex
    at_zero: Complex


class Epoch(Protocol):
    """An epoch at one step; `part` is the part of the usual number of times that a coarse computation takes."""

    @property
    def symmetric(self) -> bool:
        """Whether an epoch's matrix and its transpose have the same law."""

    def mean(self, x: Complex, rho: float) -> Complex:
        """What stands for the mean epoch in the contour integral of ā."""

    def pairs(self, points: Points, part: float) -> Pairs:
        """b at all pairs of the points, and of them and their conjugates."""

    def end(self, points: Points, tau: Complex, part: float) -> End:
        """C at the end of an epoch, for the kick of residuals."""


def largest(points: Points, tau: Nodes | None = None) -> float:
    """The largest size of a node, or of a τ."""
    return float(max(np.abs(points.nodes).max(), 0.0 if tau is None else np.abs(tau).max()))
