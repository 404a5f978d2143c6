r"""Flip-flop on any spectrum: the two-point boundary problem behind its curves, and the losses from it.

For an average ⟨·⟩, a step η and m = ρd rows, find :math:`Y(s,\lambda)`, :math:`0 \le s \le \rho`, with Y(0) = 1 and, a
tilde meaning :math:`s \to \rho - s` (:math:`1/\tilde Y` is q in the appendix "Any spectrum"),

.. math:: Y' = \frac{\lambda}{D}\,(r - 2HY + z\tilde rY^2), \qquad D = H^2 - zr\tilde r, \qquad
   r = \Bigl\langle\frac{\lambda Y}{1-zY\tilde Y}\Bigr\rangle, \quad
   H = \frac1\eta + \Bigl\langle\frac{\lambda zY\tilde Y}{1-zY\tilde Y}\Bigr\rangle .

H is symmetric about ρ/2 and D constant. With :math:`Y_\rho = Y(\rho)` and :math:`E' = -\frac\lambda D(H - z\tilde
rY)E`, E(0) = 1, the generating functions of the losses are

.. math:: \Bigl\langle\frac1{1-zY_\rho}\Bigr\rangle, \qquad \Bigl\langle\frac\lambda{1-zY_\rho}\Bigr\rangle
   + \frac z\rho\int_0^\rho \frac{zrX^2 - 2HXX_1 + \tilde rX_1^2}{D}\,ds, \qquad
   X, X_1 = \Bigl\langle\frac{\lambda E\,(\tilde Y, 1)}{1-zY\tilde Y}\Bigr\rangle .

They are Stieltjes functions with a cut from z = 1 on, or from beyond; what null directions keep is a pole at z = 1,
known and subtracted. :mod:`.collocation` solves the problem along a circle inside |z| = 1 (`graded_circle`), from the
far side. That leaves some 1e-14 of the start, so a loss goes on by a law when it has become small.

Functions of λ that are averaged have poles at 1 − zY_ρ(λ) = 0: in the plane of the Gram matrix's eigenvalues ζ,
λ = 1/(ρG(ζ)), left of zero by about 1/(nη') for n epochs, η' of the order of 1/(1/η − 1/2).
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from edgelaw._common.types import Array, Integers
from edgelaw.curves import LearningCurve
from edgelaw.exact import agreement, graded_circle, levy
from edgelaw.exact.batches.blocks import Rows, SampleRows
from edgelaw.exact.flip_flop.collocation import Complex, Equations, Unsolved

_GUESSES_FROM = 8  # solutions that a guess of the next is extrapolated from

Build = Callable[[levy.Average, int], Equations]  # from an average, and the number of points in a panel


@dataclass(frozen=True)
class Resolution:
    """One way to discretise: everything that should not matter."""

    left: float  # how far left of the poles of functions the average's contour has its own
    digits: int  # decimal ones of the average; the circle has one less
    points: int  # in a panel

    def average(self, rows: Rows, time: float) -> levy.Average:
        """The average for so many epochs times the effective step."""
        if isinstance(rows, SampleRows):
            return levy.from_gram(rows.gram, rows.parts, rows.rho, -self.left / time, 0.1**self.digits)
        reach = 0.07 * self.left / math.sqrt(time)
        return levy.from_covariance(rows.values, rows.shares, reach, 0.1**self.digits)

    def circle(self, last: int) -> "Circle":
        """The circle for so many epochs: it crosses the axis at exp(−margin/n), and loses exp(margin) in precision."""
        return Circle(math.sqrt(2 * self.left) / last, 10 * 0.1**self.digits)


FINE, FINER = Resolution(6.0, 13, 7), Resolution(4.5, 14, 8)


class Circle:
    """The circle of log radius −`margin`, graded, of which the upper half is walked along."""

    def __init__(self, margin: float, tolerance: float) -> None:
        self.radius, self.grading = math.exp(-margin), math.sinh(margin / 2)
        half = math.ceil(math.log(50 / tolerance) * graded_circle.period(self.grading) / math.pi**2)
        angles, _ = graded_circle.angles((np.arange(half) + 0.5) / (2 * half), self.grading)
        self.points = self.radius * np.exp(1j * angles)  # from −r on

    def coefficients(self, values: Complex, n: Integers) -> Array:
        """[zⁿ] of functions by their values at the points (last axis)."""
        weights = graded_circle.circle(n, 2 * len(self.points), self.radius, self.grading).weights
        return 2 * (values @ weights.T).real * self.radius ** (-1.0 * n)

    def around(self, equations: Equations, seen: Callable[[complex, Complex, Complex], Complex]) -> Complex:
        """What is `seen` of the solutions at the points (last axis): of z, X and 1/(1 − zY) at the end of Y."""
        values: list[Complex] = []
        history = [equations.start()]
        for z in self.points.tolist():
            try:
                X, touched = equations.newton(z, _extrapolated(history))
            except Unsolved:
                X, touched = equations.newton(z, history[-1])
            history = [*(history if values else []), X][-_GUESSES_FROM:]
            values.append(seen(z, X, touched))
        return np.array(values).T


def _extrapolated(history: list[Complex]) -> Complex:
    """The next of equidistant values, by the polynomial through them all."""
    signed = (-((-1) ** k) * math.comb(len(history), k) * X for k, X in enumerate(reversed(history), start=1))
    return sum(signed, np.zeros_like(history[-1]))


def curve(n: Integers, rows: Rows, step: float, build: Build) -> LearningCurve:
    """The learning curve at n, with the error that two resolutions show."""
    return agreement.settled(n, [functools.partial(_attempt, rows, step, build)])


def _attempt(rows: Rows, step: float, build: Build, n: Integers) -> agreement.Attempt:
    last, null = int(n[-1]), null_share(rows)
    coarse, fine = (
        losses(build(way.average(rows, last / (1 / step - 0.5)), way.points), null, n, way)
        for way in (FINE, FINER)
    )
    level = np.array([[null], [0.0]])
    gap = np.maximum(np.abs(coarse - fine), 4 * np.finfo(float).eps)  # what both have lost by rounding
    return agreement.Attempt(fine + level, fine + gap + level, null, graded_circle.LEAST)


def null_share(rows: Rows) -> float:
    """The share of directions that no row has."""
    return (
        float(rows.shares[rows.values == 0].sum()) if isinstance(rows, SampleRows) else max(0.0, 1 - rows.rho)
    )


def losses(equations: Equations, null: float, n: Integers, way: Resolution) -> Array:
    """Both losses at the epochs n, from 1 on, above what null directions keep."""
    circle = way.circle(int(n[-1]))
    transforms = circle.around(equations, equations.transforms)
    transforms[0] -= null / (1 - circle.points)
    values, first = circle.coefficients(transforms, n), equations.first_epoch()
    first[0] += equations.still - null
    if not (np.abs(values[:, 0] - first) < agreement.LARGEST_ERROR * first + agreement.AT_ONCE).all():
        raise Unsolved("A pole of flip-flop's equations is on the wrong side of the contour of the average.")
    values[:, 0] = first
    return values
