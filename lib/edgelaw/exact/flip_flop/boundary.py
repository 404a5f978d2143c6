r"""Flip-flop on any spectrum: the two-point boundary problem behind its curves, and the losses from it.

For an average :math:`\langle\cdot\rangle` (`edgelaw.exact.levy`), a step η and m = ρ d rows, find
:math:`Y(s,\lambda)`, :math:`0 \le s \le \rho`, with Y(0) = 1 and, a tilde meaning :math:`s \to \rho - s`,

.. math:: Y' = \frac{\lambda}{D}\,(r - 2HY + z\tilde rY^2), \qquad D = H^2 - zr\tilde r, \qquad
   r = \Bigl\langle\frac{\lambda Y}{1-zY\tilde Y}\Bigr\rangle, \quad
   H = \frac1\eta + \Bigl\langle\frac{\lambda zY\tilde Y}{1-zY\tilde Y}\Bigr\rangle .

H is symmetric about ρ/2 and D constant. With :math:`Y_\rho = Y(\rho)` the generating functions of the losses are

.. math:: \sum_n z^n\,\text{test}_n = \Bigl\langle\frac1{1-zY_\rho}\Bigr\rangle, \qquad
   \sum_n z^n\,\text{train}_n = \Bigl\langle\frac\lambda{1-zY_\rho}\Bigr\rangle
   + \frac z\rho\int_0^\rho \frac{zrX^2 - 2HXX_1 + \tilde rX_1^2}{D}\,ds,

with :math:`X = \langle\lambda E\tilde Y/(1-zY\tilde Y)\rangle`,
:math:`X_1 = \langle\lambda E/(1-zY\tilde Y)\rangle` and
:math:`E' = -\frac\lambda D(H - z\tilde rY)E`, E(0) = 1.

They are Stieltjes functions: losses are moments of the positive spectral measure of AᵀA. Their only singularity is a
cut from z*, the inverse of its largest eigenvalue other than 1; eigenvalues 1 are a pole at z = 1, known and
subtracted. If the eigenvalues of the sample reach down to 1/n and less, z* = 1 does, and the problem is solved along a
circle inside |z| = 1 (`graded_circle`), from the far side, every guess extrapolated from the last solutions, by
:mod:`.collocation`. Otherwise losses fall exponentially, and a circle inside 1 gives the first digits only. But ratios
of moments grow to 1/z*, so the rate at which those losses fall says where a circle beyond 1 may be.

An attempt is a circle, and two resolutions, each with another average, edge of panels, number of points and radius;
:mod:`edgelaw.exact.agreement` compares them.
"""

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgelaw._common.types import Array, Integers
from edgelaw.curves import VANISHED, LearningCurve
from edgelaw.exact import agreement, graded_circle, levy
from edgelaw.exact.flip_flop.collocation import Complex, Equations, Panels, Problem, Unsolved, graded_panels
from edgelaw.exact.flip_flop.spectra import Spectrum

FLOOR = 2e-8  # errors are not stated to be less: what rounding leaves of the sums over a circle
AT_ONCE = 1e-7  # losses below it after one epoch are nothing after two, and are continued
_FIRST_EPOCH = 1e-3  # as far as the circle's first loss may be from the known one, relative to it
_MANY_EPOCHS = 200  # after more, losses are smaller, and what the circle leaves must be too
_SHORTEST_STRIDE = 0.03  # from point to point, that is still tried
_GUESSES_FROM = 8  # solutions that a guess is extrapolated from
_FASTER_IN_CHARTS = 4.0  # than at z = 0 is what X does if it takes Y through infinity
_FALL_FOR_BEYOND = 10.0  # of losses in e-foldings: up to there a circle inside |z| = 1 keeps more digits
_NEARER = 0.85  # times an edge is the other one of an attempt
_EDGE_SHARES = 0.9, 0.6, 0.4  # of the rate at which losses fall: logarithms of z* that are tried


@dataclass(frozen=True)
class Resolution:
    """One way to discretise: everything that should not matter."""

    left: float  # distance of the average's contour from the eigenvalues, over what it should be
    tolerance: float  # of the average
    points: int  # in a panel
    first: float  # panel, in units of the fastest decay
    growth: float  # from panel to panel
    folds: float  # by which a loss may fall in a panel
    margin: float  # of the circle: it crosses the axis at z*·exp(−margin/n), which costs exp(margin) of the precision
    circle: float  # its tolerance


COARSE = Resolution(1.5, 1e-8, 6, 6.0, 4.0, 2.4, 2.75, 1e-8)
FINE = Resolution(1.0, 1e-9, 7, 6.0, 4.0, 3.0, 2.5, 1e-10)
FINER = Resolution(0.8, 1e-10, 9, 5.0, 3.5, 3.0, 2.25, 1e-11)
# for circles beyond |z| = 1, where averages must be sharper
BEYOND = (
    Resolution(1.0, 1e-11, 7, 6.0, 4.0, 3.0, 2.5, 1e-10),
    Resolution(0.8, 1e-12, 9, 5.0, 3.5, 3.0, 2.25, 1e-11),
)
# for averages of few different eigenvalues: contours and circles further out, which costs digits
FAR = (
    Resolution(9.0, 1e-9, 7, 6.0, 4.0, 3.0, 14.0, 1e-12),
    Resolution(7.6, 1e-10, 9, 5.0, 3.5, 3.0, 12.9, 1e-13),
)


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
        return graded_circle.circle(n, self.size, self.radius, self.grading).coefficients(values)


Build = Callable[
    [float, int, Resolution], Equations
]  # of the logarithm of z*, the last epoch, and a resolution


def curve(n: Integers, spectrum: Spectrum, step: float, build: Build) -> LearningCurve:
    """The learning curve at n, with the error that two resolutions show."""
    return agreement.settled(n, _attempts(spectrum, step, int(n[-1]), build))


def _attempts(
    spectrum: Spectrum, step: float, last: int, build: Build
) -> Iterator[Callable[[Integers], agreement.Attempt]]:
    """Circles inside |z| = 1 and, if losses fall exponentially, beyond; then one with everything further out.

    Two circles beyond 1 have different edges, so that they do not agree if one of them is beyond the cut.
    """
    null = np.array([[spectrum.null], [0.0]])

    @functools.cache
    def at(edge: float, resolution: Resolution) -> Callable[[Integers], Array]:
        return losses(spectrum, edge, last, resolution, build)

    def attempt(
        edges: tuple[float, float], ways: tuple[Resolution, Resolution], n: Integers
    ) -> agreement.Attempt:
        coarse, fine = (at(edge, way)(n) + null for edge, way in zip(edges, ways, strict=True))
        return agreement.Attempt(fine, coarse, spectrum.null, FLOOR)

    inside: list = [functools.partial(attempt, (0.0, 0.0), (FINE, FINER))]
    if spectrum.gapped(step, last):
        fine, coarse = (build(np.inf, 1, resolution).first_epoch() for resolution in (FINER, FINE))
        if fine.max() < AT_ONCE:
            yield functools.partial(_vanished, fine, coarse, null)
            return
        rate = _rate(spectrum, last, build, float(fine[1]))
        edges = [(share * rate, _NEARER * share * rate) for share in _EDGE_SHARES]
        beyond = [
            functools.partial(attempt, pair, BEYOND) for pair in edges if pair[1] * last > 2 * FINE.margin
        ]
        inside = beyond + inside if rate * last > _FALL_FOR_BEYOND else inside + beyond
    yield from inside
    yield functools.partial(attempt, (0.0, 0.0), FAR)


def _vanished(fine: Array, coarse: Array, null: Array, n: Integers) -> agreement.Attempt:
    """Losses of which one epoch leaves nothing but what two resolutions, and rounding, say of the first."""
    rounding = float(np.finfo(float).eps / max(fine.min(), VANISHED))
    values, others = (_only_first(n, first) + null for first in (fine, coarse))
    return agreement.Attempt(values, others, float(null[0, 0]), FLOOR + 3 * rounding)


def _only_first(n: Integers, first: Array) -> Array:
    """Losses known after one epoch alone; noise is replaced by what equal eigenvalues would leave, nothing."""
    values = np.full((2, len(n)), np.nan)
    values[:, 0] = np.maximum(first, 1e-300)
    return values


def _rate(spectrum: Spectrum, last: int, build: Build, first: float) -> float:
    """How fast losses fall in the end, as far as a circle inside |z| = 1 sees it; else half of the fall to `first`."""
    n = np.arange(1, min(last, 50) + 1)
    rough = -np.log(max(first, VANISHED)) / 2
    try:
        values = losses(spectrum, 0.0, len(n), COARSE, build)(n)
    except ArithmeticError:
        return rough
    seen = (values > 1e-5).all(axis=0)
    train = np.append(1.0, values[1, : len(n) if seen.all() else int(np.argmin(seen))])
    return max(0.0, float(np.log(train[-2] / train[-1]))) if len(train) > 2 else rough


def losses(
    spectrum: Spectrum, edge: float, last: int, resolution: Resolution, build: Build
) -> Callable[[Integers], Array]:
    """Both losses at any epochs, without what null directions keep of the test loss; NaN where nothing is left."""
    if edge > 0:
        last = min(last, int(np.ceil(-np.log(agreement.VISIBLE) / edge)) + 1)
    many = min(1.0, _MANY_EPOCHS / last)
    margin = resolution.margin * min(1.0, 5 * many) ** 0.5  # rounding errors count more after many epochs
    circle = Circle.of(edge, margin / last, resolution.circle * many**1.5)
    present = build(edge, last, resolution)
    transforms = around(present, circle)
    transforms[0] -= spectrum.null / (1 - circle.z(np.arange(circle.size // 2)))
    first = present.first_epoch() + np.array([present.still - spectrum.null, 0.0])

    def at(n: Integers) -> Array:
        values = np.full((2, len(n)), np.nan)
        within = n <= last
        values[:, within] = circle.coefficients(transforms, n[within])
        if n[0] == 1:
            if not (np.abs(values[:, 0] - first) < _FIRST_EPOCH * first + AT_ONCE).all():
                raise Unsolved(
                    "A pole of flip-flop's equations is on the wrong side of the contour of the average."
                )
            values[:, 0] = first
        return values

    return at


def newton_tolerance(last: int) -> float:
    """Relative size of a last step of Newton's method, which leaves its square."""
    return 1e-7 * min(1.0, _MANY_EPOCHS / last)


def single_rows(
    spectrum: Spectrum,
    step: float,
    edge: float,
    last: int,
    resolution: Resolution,
    probes: Array | None = None,
) -> Problem:
    """The boundary problem of single rows for a spectrum, at a resolution of it; first come nodes without weight.

    What a loss falls in the first epoch, it falls over [0, ρ]: a panel covers so many e-foldings only.
    """
    average = spectrum.average(step, edge, last, resolution.left, resolution.tolerance)
    if probes is not None:
        nodes, weights = np.append(probes, average.nodes), np.append(0 * probes, average.weights)
        average = levy.Average(nodes, weights, average.error)
    turned = edge > 0 and spectrum.independent_rows  # z may be above 1
    fastest = 2 * step * np.abs(average.nodes).max() * (_FASTER_IN_CHARTS if turned else 1)

    def on_panels(longest: float) -> Problem:
        lengths = graded_panels(spectrum.rho, fastest, resolution.first, resolution.growth, longest)
        return Problem(average, step, Panels.of(lengths, resolution.points), turned, newton_tolerance(last))

    rough = on_panels(np.inf)
    fall = -np.log(np.clip(rough.first_epoch()[1], VANISHED, 1.0))
    longest = resolution.folds * spectrum.rho / max(fall, 1e-9)
    return rough if longest > rough.panels.lengths.max() else on_panels(longest)


# ------------------------------------------------------------------------------------------------ around the circle


def around(
    equations: Equations, circle: Circle, transforms_of: Callable[..., Complex] | None = None
) -> Complex:
    """The transforms at points of a circle's upper half, walked along from −r; others if a function is given."""
    transforms_of = transforms_of or equations.transforms
    X, end = along_axis(equations, circle.z(0))
    transforms, history = [transforms_of(circle.z(0), X, end)], [(0.0, X)]
    for place in range(1, circle.size // 2):
        X, end = _advanced(equations, history, circle, place)
        transforms.append(transforms_of(circle.z(place), X, end))
    return np.array(transforms).T


def _advanced(
    equations: Equations, history: list[tuple[float, Complex]], circle: Circle, place: float
) -> tuple[Complex, Complex]:
    """The solution at a point, by halves of the way where Newton's method fails; all go into the history."""
    ahead = place
    while True:
        try:
            X, end = equations.newton(circle.z(ahead), extrapolated(equations, history, ahead))
        except Unsolved:
            ahead = (history[-1][0] + ahead) / 2
            if ahead - history[-1][0] < _SHORTEST_STRIDE:
                raise
            continue
        history.append((ahead, X))
        if ahead == place:
            return X, end
        ahead = place


def along_axis(equations: Equations, z: complex) -> tuple[Complex, Complex]:
    """X at z and its end, from z = 0 on a straight line, which crosses no cut if z is not positive."""
    X, at, stride = equations.start(), 0.0, 1.0
    while True:
        ahead = min(1.0, at + stride)
        try:
            X, end = equations.newton(ahead * z, X, steps=12)
        except Unsolved:
            stride /= 4
            if stride < 1e-6:
                raise
            continue
        if ahead == 1:
            return X, end
        at, stride = ahead, 3 * ahead


def extrapolated(equations: Equations, history: list[tuple[float, Complex]], place: float) -> Complex:
    """The unknown at a place by the polynomial through the last few, in the charts that suit the last."""
    del history[:-_GUESSES_FROM]
    history[:] = zip((at for at, _ in history), equations.charted([X for _, X in history]), strict=True)
    places = np.array([at for at, _ in history])
    gaps, ahead = places[:, None] - places, np.tile(place - places, (len(places), 1))
    np.fill_diagonal(gaps, 1.0)
    np.fill_diagonal(ahead, 1.0)
    weights = (ahead / gaps).prod(axis=1)  # Lagrange's
    return sum(weight * X for weight, (_, X) in zip(weights, history, strict=True))
