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

They are Stieltjes functions with a cut from z* on, the inverse of the largest eigenvalue of AᵀA other than 1;
eigenvalues 1 are a pole at z = 1, known and subtracted. If the sample's eigenvalues reach down to 1/n, z* = 1, and the
problem is solved along a circle inside |z| = 1 (`graded_circle`), from the far side, by :mod:`.collocation`. Otherwise
losses fall exponentially: the rate at which the first digits fall says where a circle beyond 1 may be.
"""

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgelaw._common.types import Array, Integers
from edgelaw.curves import VANISHED, LearningCurve
from edgelaw.exact import agreement, graded_circle, levy
from edgelaw.exact.flip_flop import walk
from edgelaw.exact.flip_flop.collocation import Complex, Equations, Panels, Problem, Unsolved, graded_panels
from edgelaw.exact.flip_flop.spectra import FINE, FINER, Resolution, Spectrum

_BELOW = 0.85  # times what the rate says is an edge, and times that the other one of an attempt
_FOLDS = 3.0  # by which the training loss may fall in a panel, and the fastest node's part in the first


@dataclass(frozen=True)
class Circle:
    """A graded circle of an even number of points, of which the upper half is walked along."""

    radius: float
    size: int
    grading: float

    @classmethod
    def of(cls, edge: float, margin: float, tolerance: float) -> "Circle":
        """The circle of log radius `edge` − `margin`, with a cut from exp(edge) on."""
        grading = float(np.sinh(margin / 2))
        half = int(np.ceil(np.log(50 / tolerance) * graded_circle.period(grading) / np.pi**2))
        return cls(float(np.exp(edge - margin)), 2 * half, grading)

    def z(self, place: Any) -> Any:
        """Points by their numbers from −r on, which may be fractions."""
        angles, _ = graded_circle.angles((np.asarray(place) + 0.5) / self.size, self.grading)
        return self.radius * np.exp(1j * angles)

    def coefficients(self, values: Complex, n: Integers) -> Array:
        """[zⁿ] of functions by their values at the points (last axis)."""
        weights = graded_circle.circle(n, self.size, self.radius, self.grading).weights
        return 2 * (values @ weights.T).real * self.radius ** (-1.0 * n)


Build = Callable[
    [levy.Average, bool, int], Equations
]  # of an average, whether z goes beyond 1, and points in a panel


def curve(n: Integers, spectrum: Spectrum, step: float, build: Build) -> LearningCurve:
    """The learning curve at n, with the error that two resolutions show."""
    return agreement.settled(n, _attempts(spectrum, step, int(n[-1]), build))


def _attempts(
    spectrum: Spectrum, step: float, last: int, build: Build
) -> Iterator[Callable[[Integers], agreement.Attempt]]:
    """A circle beyond |z| = 1 if losses fall exponentially, then one inside.

    The two circles of an attempt beyond 1 have different edges, so that they do not agree if one is beyond the cut.
    """
    null, time = np.array([[spectrum.null], [0.0]]), last / (1 / step - 0.5)

    @functools.cache
    def equations(beyond: bool, way: Resolution) -> Equations:
        return build(spectrum.average(beyond, time, way), beyond and spectrum.independent_rows, way.points)

    @functools.cache
    def at(edge: float, last: int, way: Resolution) -> Callable[[Integers], Array]:
        return losses(equations(edge > 0, way), spectrum.null, edge, last, way)

    def attempt(edge: float, last: int, n: Integers) -> agreement.Attempt:
        coarse, fine = (at(z, last, way)(n) + null for z, way in ((edge, FINE), (_BELOW * edge, FINER)))
        return agreement.Attempt(fine, coarse, spectrum.null, graded_circle.LEAST)

    if 2 * spectrum.lowest * time > 1:  # else nothing falls exponentially so soon
        first = equations(False, FINE).first_epoch()
        if first.max() < agreement.AT_ONCE and spectrum.gapped:
            fine, coarse = (equations(True, way).first_epoch() for way in (FINER, FINE))
            rounded = 10 * np.finfo(float).eps / fine.max() if fine.max() > VANISHED else 0.0
            yield functools.partial(
                agreement.vanished, fine, coarse, spectrum.null, graded_circle.LEAST + rounded
            )
            return
        edge = _edge(functools.partial(at, 0.0, last, FINE), last, float(first[1]))
        if edge * last > 1 and spectrum.gapped:
            visible = int(np.ceil(-np.log(agreement.VISIBLE) / edge)) + 1
            yield functools.partial(attempt, edge, min(last, visible))
    yield functools.partial(attempt, 0.0, last)


def _edge(inside: Callable[[], Callable[[Integers], Array]], last: int, first: float) -> float:
    """A logarithm below that of z*, from how fast the training losses on a circle inside |z| = 1 fall in the end.

    With a cut that begins like a root they fall like z*⁻ⁿn^(−3/2).
    """
    if first < graded_circle.LEAST or last == 1:
        return -_BELOW * np.log(max(first, graded_circle.LEAST)) / 2
    n = agreement.supporting_epochs(np.unique(np.geomspace(1, last, 32).astype(int)))
    try:
        train = inside()(n)[1]
    except ArithmeticError:
        return 0.0
    late = np.flatnonzero((np.diff(n) == 1) & (np.minimum.accumulate(train)[1:] > graded_circle.LEAST))
    if not len(late):
        return float(-_BELOW * np.log(first) / 2)
    before, after = train[late[-1] :][:2]
    return float(_BELOW * (np.log(before / after) - 1.5 / n[late[-1] + 1]))


def losses(
    equations: Equations, null: float, edge: float, last: int, way: Resolution
) -> Callable[[Integers], Array]:
    """Both losses at any epochs, without what null directions keep of the test loss; NaN where nothing is left."""
    circle = Circle.of(edge, way.margin / last, 10 * way.tolerance)
    transforms = walk.around(equations, circle.z, circle.size // 2, equations.transforms)
    transforms[0] -= null / (1 - circle.z(np.arange(circle.size // 2)))
    first = equations.first_epoch() + np.array([equations.still - null, 0.0])

    def at(n: Integers) -> Array:
        values = np.full((2, len(n)), np.nan)
        within = n <= last
        values[:, within] = circle.coefficients(transforms, n[within])
        if n[0] == 1:
            if not (np.abs(values[:, 0] - first) < agreement.LARGEST_ERROR * first + agreement.AT_ONCE).all():
                raise Unsolved(
                    "A pole of flip-flop's equations is on the wrong side of the contour of the average."
                )
            values[:, 0] = first
        return values

    return at


def single_rows(
    rho: float, step: float, average: levy.Average, turned: bool, points: int, probes: Array | None = None
) -> Problem:
    """The boundary problem of single rows, with so many points in a panel; Y may be infinite if it is `turned`.

    First come nodes without weight, the `probes`. A panel covers so many e-foldings of the training loss only, which
    falls at most like that of isotropic rows.
    """
    if probes is not None:
        nodes, weights = np.append(probes, average.nodes), np.append(0 * probes, average.weights)
        average = levy.Average(nodes, weights, average.error)
    first, longest = _FOLDS / (step * np.abs(average.nodes).max()), _FOLDS / (step * (2 - step))
    lengths = graded_panels(rho, float(first), longest)
    return Problem(average, step, Panels.of(lengths, points), turned)
