r"""Single shuffle on any spectrum: from its two-variable generating functions to both losses at every epoch.

The coefficients :math:`[z^nw^n]` of Φ and Ψ (`pairs`) come from one graded circle (`graded_circle`), on which a
hundred points serve all epochs. Three things decide where it lies.

**The domain.** Φ(z, z̄) and Ψ(z, z̄) are squared norms as long as the series converge, so where one of them is not
positive the domain has ended, and by Cauchy and Schwarz a circle inside it is one on which both are analytic in z and
in w. Without a gap in the spectrum the domain ends at :math:`z^* = 1` on the positive axis. With one the losses decay
exponentially, and :math:`z^* > 1` is bisected. The same test on wider circles says how far the domain reaches at
other angles: near step 2 the cloud of inverse eigenvalues of A comes close from all sides, and the circle then needs
more points, less graded.

**The average.** α has a pole at :math:`\lambda = \log z/c`, whose place in the plane ζ of the Gram matrix's Cauchy
transform is 0 at z = 1, about :math:`-1/(n\eta_{\mathrm{eff}})` at the z that matter for n epochs, and positive for z
> 1. The contour of the average must keep it outside. In a gap it goes around the positive eigenvalues alone, if these
have the whole functional inside. Where no contour can, the poles are followed (`poles`), at several times the cost.
Batches and labels, whose poles are not followed, try other contours instead.

**The plateau.** Directions that no row has keep their share of the test loss. The pole that this share makes,
plateau/((1 − z)(1 − w)), is taken out of Φ, so that a circle may pass z = 1 on either side.

Everything is computed twice, with other averages and circles: an attempt for :func:`edgelaw.exact.agreement.settled`.
"""

import functools
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from edgelaw._common.types import Array, Integers
from edgelaw.exact import agreement, graded_circle, levy, silverstein
from edgelaw.exact.agreement import Attempt
from edgelaw.exact.single_shuffle import paths
from edgelaw.exact.single_shuffle.pairs import Pairs
from edgelaw.exact.single_shuffle.poles import FollowedPairs

GAP = 3.0  # with so many decay times of the smallest eigenvalue the losses' decay is exponential
DIGITS = 6.3, 5.2  # decimal, of the two circles' interpolation, as `graded_circle.plan` counts them (it is careful)
BORNE = 6.0  # decimal digits to which two averages agree at a pole of α that they bear, and in the weight they have
_WEAK = 4.0  # the same in negative powers of z: fewer are seen beyond a strong branch point
_DEEPEST = 13.0  # decimal digits of the square roots of the smallest losses that are computed: 1e-26
_AMPLIFIED = 4.0, 8.0, 16.0, 22.0  # logarithms of how much rounding is amplified: the more, the further from poles
_ANGLES = 1.2, 0.85, 0.6, 0.4, 0.25  # half-heights of the contours of the averages, the first that fits
_NARROW = 0.7, 0.5  # the same in a gap with fewer rows than dimensions
_WIDTHS = 1.0, 0.92  # of the contours of the two averages
_TOLERANCES = {False: (1e-11, 1e-9), True: (1e-13, 1e-11)}  # of the two averages, without and in a gap
_FOLLOWED = (-0.5, 0.85), (-2.0, 1.2), (-0.1, 1.2)  # place and half-height of contours that poles of α may enter
_STATIONS = np.pi * (1 - (np.arange(256) + 0.5) / 256)  # angles on a circle inside which c may have branch points
_ALL_AROUND = (
    np.concatenate(  # singularities may come close in a narrow sector, next to step 2 about angle 0.35
        [np.linspace(np.pi, 1.1, 8), np.geomspace(1.0, 0.22, 16), np.geomspace(0.19, 0.005, 15), [0.0]]
    )
)

Contour = Callable[[int], npt.NDArray]


class Update(Protocol):
    """An update for which settings are made."""

    def pairs(self, average: levy.Average, rho: float) -> Pairs:
        """Φ and Ψ of an average."""

    def inverse_rate(self, rho: float) -> float:
        """One over the effective step per row."""


@dataclass(frozen=True)
class RowByRow:
    """The update by single rows at a step."""

    step: float

    def pairs(self, average: levy.Average, rho: float) -> Pairs:
        """Φ and Ψ of an average."""
        return Pairs(average, rho, self.step)

    def inverse_rate(self, rho: float) -> float:
        """One over the effective step."""
        return 1 / self.step - 0.5


@dataclass(frozen=True, eq=False)
class Rows:
    """A spectrum and an update on it: eigenvalues of XᵀX/m, mean 1, and their shares."""

    values: Array
    shares: Array
    rho: float
    update: Update

    @functools.cached_property
    def gram(self) -> tuple[Array, Array]:
        """The spectrum of the Gram matrix."""
        return levy.companion(self.values, self.shares, self.rho)

    @property
    def plateau(self) -> float:
        """What null directions keep of the test loss."""
        return float(self.shares[self.values == 0].sum())

    @property
    def rate(self) -> float:
        """One over the effective step."""
        return self.update.inverse_rate(self.rho)


@dataclass(frozen=True, eq=False)
class Setting:
    """Two averages of a spectrum, Φ and Ψ of each, and where the functions of z they give may be used.

    `gapped` says that the circle may go beyond z = 1; `least` is the logarithm of the amplification that the circle
    must at least allow, so that the poles keep clear. `contours` are those of the averages, the upper halves as
    functions of the number of points; a covariance has none.
    """

    plateau: float
    averages: tuple[levy.Average, ...]
    pairs: tuple[Pairs, ...]
    gapped: bool
    least: float = _AMPLIFIED[0]
    contours: tuple[Contour, ...] = ()

    @property
    def follows(self) -> bool:
        """Whether poles of α are followed."""
        return isinstance(self.pairs[0], FollowedPairs)


Maker = Callable[[], Setting]


def attempts(makers: list[Maker]) -> Iterator[Callable[[Integers], Attempt]]:
    """Attempts for `agreement.settled`, the best first."""
    return (functools.partial(_attempt, make) for make in makers)


def _attempt(make: Maker, n: Integers) -> Attempt:
    """Both losses at each positive n, ascending, at two resolutions; those so late that nothing is left are NaN."""
    setting = make()
    edge, gaps = domain(setting, int(n[-1]))
    results = np.full((2, 2, len(n)), np.nan)
    n = n[n <= max(2.0, _DEEPEST * np.log(10) / max(edge, 1e-9))]
    before = np.inf
    for points in (1.0, 1.4, 1.9):
        for which, curves in enumerate(results):
            curves[:, : len(n)] = _on_circle(setting, which, n, (edge, gaps), points)
        attempt = Attempt(*results, setting.plateau, _floor(setting))
        difference = attempt.difference()
        if difference < agreement.ENOUGH / 3 or difference > 0.3 * before:
            break  # what is left is the averages'
        before = difference
    return attempt


def _floor(setting: Setting) -> float:
    """The least error stated: circles are made for so much, and may agree better by chance."""
    return max(graded_circle.LEAST, *(average.error for average in setting.averages))


def solved_circle(
    setting: Setting, which: int, n: Integers, reach: tuple[float, Array], more: float
) -> tuple[graded_circle.Circle, npt.NDArray, npt.NDArray]:
    """A circle for the coefficients n, log z and what is solved at its points, for one of two resolutions.

    The domain's `reach` is the logarithm of z* and how much further it goes elsewhere.
    """
    edge, gaps = reach
    digits, pairs = DIGITS[which] * np.log(10), setting.pairs[which]
    points, distance, grading = graded_circle.plan(
        int(n[-1]), gaps, digits, 2.0 + 0.3 * which, setting.least
    )
    if grading == graded_circle.EVEN:
        distance /= np.sqrt(more)  # so that more points lessen both errors, of the rule and of rounding
    radius = np.exp(edge - distance)
    circle = graded_circle.circle(n, 2 * int(np.ceil(more * points / 2)), radius, grading)
    log_z = edge - distance + 1j * np.angle(circle.points)
    solved, worst = pairs.around(radius, log_z.imag)
    if not worst < 10**-paths.SOLVED:
        raise ArithmeticError(f"The equation for single shuffle's amplitude was solved only to {worst:.0e}.")
    if isinstance(pairs, FollowedPairs) and not pairs.negative_powers(log_z.imag, solved) < 10**-BORNE:
        raise ArithmeticError("Single shuffle's amplitude has a branch point inside the circle.")
    return circle, log_z, solved


def _on_circle(
    setting: Setting, which: int, n: Integers, reach: tuple[float, Array], more: float
) -> Array:
    """Both losses on one circle inside the domain."""
    circle, log_z, solved = solved_circle(setting, which, n, reach, more)
    values = setting.pairs[which].values(log_z, solved, circle.first, circle.second)
    pole = -1 / np.expm1(np.concatenate([log_z, log_z.conj()]))
    values[0] -= setting.plateau * pole[circle.first] * pole[circle.second]
    curves = np.stack([circle.pair_coefficients(row) for row in values])
    curves[0] += setting.plateau
    return curves


# ------------------------------------------------------------------------------------------------------- the domain


def domain(setting: Setting, last: int) -> tuple[float, Array]:
    """The logarithm of z*, and how much further the domain reaches at the angles `graded_circle.ANGLES`."""
    edge = _furthest_circle(setting, last) if setting.gapped else 0.0
    inside = np.ones(len(graded_circle.ANGLES), dtype=bool)
    gaps = np.zeros(len(inside))
    for gap in () if setting.follows else np.geomspace(0.02, 3.0, 13):  # else points are equidistant in any case
        log_z = edge + gap + 1j * graded_circle.ANGLES
        solved, worst = setting.pairs[1].around(np.exp(edge + gap), graded_circle.ANGLES)
        inside &= _positive(setting, log_z, solved) & (worst < 10**-paths.SOLVED)
        if not inside.any():
            break
        gaps[inside] = gap
    return edge, gaps


def _furthest_circle(setting: Setting, last: int) -> float:
    """The logarithm of the largest radius with a circle inside the domain, to a small part of 1/last."""
    if not setting.follows:
        return _furthest(functools.partial(inside_the_domain, setting), last)
    edge = _furthest(functools.partial(analytic, setting, _WEAK), last)
    # a branch point outside and nearer than some hundredths looks as if it were inside
    if edge < 0.03 or analytic(setting, BORNE, edge - 0.03):
        return edge
    return _furthest(functools.partial(analytic, setting, BORNE), last)


def _furthest(inside: Callable[[float], bool], last: int) -> float:
    """The largest number of which a condition is true, to a small part of 1/last, if it is false of all beyond."""
    low, high = 0.0, 0.5 / last
    while high < 30 and inside(high):
        low, high = high, 1.5 * high
    for _ in range(7):
        middle = (low + high) / 2
        low, high = (middle, high) if inside(middle) else (low, middle)
    return low


def analytic(setting: Setting, digits: float, logarithm: float) -> bool:
    """Whether c is analytic inside a circle and Φ and Ψ are positive all around: for poles that are followed.

    Beyond a branch point of c other sheets begin, on which Φ and Ψ may be positive as well. But then c has negative
    powers of z on the circle, which the trapezoidal rule finds. It also finds positive powers of the order of the
    number of stations: a circle closer to a branch point outside than some hundredths looks as if that were inside.
    """
    pairs = setting.pairs[1]
    solved, worst = pairs.around(np.exp(logarithm), _STATIONS)
    return (
        worst < 10**-paths.SOLVED
        and pairs.negative_powers(_STATIONS, solved) < 10**-digits  # type: ignore[attr-defined]
        and _bear_the_poles(setting, logarithm + 1j * _STATIONS, solved)
        and bool(_positive(setting, logarithm + 1j * _STATIONS, solved).all())
    )


def inside_the_domain(setting: Setting, logarithm: float) -> bool:
    """Whether a circle is clear of the poles of α and inside the domain of Φ and Ψ, as the coarse average sees it."""
    log_z = logarithm + 1j * _ALL_AROUND
    solved, worst = setting.pairs[1].around(np.exp(logarithm), _ALL_AROUND)
    return (
        worst < 10**-paths.SOLVED
        and _bear_the_poles(setting, log_z, solved)
        and bool(_positive(setting, log_z, solved).all())
    )


def _positive(setting: Setting, log_z: npt.NDArray, solved: npt.NDArray) -> npt.NDArray:
    """Whether Φ without its plateau and Ψ are positive at the points (z, z̄) of a circle, angle by angle."""
    pairs, distance = setting.pairs[1], np.abs(np.expm1(log_z))
    with np.errstate(all="ignore"):
        phi, psi = pairs.diagonal(log_z, solved)
        phi = phi - setting.plateau / distance**2
        sure = distance > 0.02  # closer to the pole Φ without it has no digits
        return ((log_z.imag > 0) | pairs.real(solved)) & (psi > 0) & ((phi > 0) | ~sure)


def _bear_the_poles(setting: Setting, log_z: npt.NDArray, solved: npt.NDArray) -> bool:
    """Whether the averages agree at the poles of α as functions of λ, for points z and what is solved there."""
    with np.errstate(all="ignore"):
        poles = setting.pairs[1].poles(log_z, solved).reshape(-1, 1)
        one, other = (average(poles / (poles - average.nodes)) for average in setting.averages)
        return bool((np.abs(one - other) < 10**-BORNE * (1 + np.abs(one))).all())


# ----------------------------------------------------------------------------------------------------- the averages


def of_sample(rows: Rows, last: int, follow: bool = False, gaps: bool = True) -> list[Maker]:
    """Makers of settings for `last` epochs on a sample spectrum, the best first.

    Without `gaps` no contour leaves out zero. With `follow` poles of α are followed where a contour has no room for
    them, or where two resolutions differ without.
    """
    places = _places(rows, last) if gaps else _outside(rows, last)
    plain = [functools.partial(around_the_poles, rows, last, place) for place in places]
    if not follow:
        return plain
    return [*plain[:2], *(functools.partial(followed, rows, last, *contour) for contour in _FOLLOWED)]


def around_the_poles(rows: Rows, last: int, place: float) -> Setting:
    """A setting with contours past this place left of the eigenvalues, as wide as the poles of α allow."""
    gapped = place > 0
    for angle in _NARROW if gapped and rows.rho < 1 else _ANGLES:
        contours, averages = _averages(rows, place, angle, _TOLERANCES[gapped])
        if gapped and rows.rho > 1 and not all(_complete(average, rows.plateau) for average in averages):
            break
        pairs = tuple(rows.update.pairs(average, rows.rho) for average in averages)
        for least in _AMPLIFIED:
            setting = Setting(rows.plateau, averages, pairs, gapped, least, contours)
            if _clear(setting, -least / (2 * last)):
                return setting
    raise ArithmeticError(
        "No contour around this spectrum keeps clear of the poles of single shuffle's resolvent."
    )


def _clear(setting: Setting, logarithm: float) -> bool:
    """Whether amplitudes are known all around a circle and the averages bear the poles of α."""
    solved, worst = setting.pairs[1].around(np.exp(logarithm), _ALL_AROUND)
    return worst < 10**-paths.SOLVED and _bear_the_poles(setting, logarithm + 1j * _ALL_AROUND, solved)


def followed(rows: Rows, last: int, place: float, angle: float) -> Setting:
    """A setting of single rows in which poles of α may enter the contours, because they are followed."""
    gram, parts = rows.gram
    contours, averages = _averages(rows, place, angle, _TOLERANCES[True])
    height = (1 / (parts / (contours[0](60)[:, None] - gram)).sum(axis=1)).imag.max()
    step = 1 / (rows.rate + 0.5)
    a, _ = Pairs(averages[0], rows.rho, step).around(1.0, np.array([np.pi]))
    most = min(int(np.ceil(height * np.abs(a[0, 0]) / (2 * np.pi))), 12) + 1
    turns = np.arange(-most - 1.0, most + 1)
    pairs = tuple(FollowedPairs(average, rows.rho, step, rows.gram, turns) for average in averages)
    gapped = bool(last * gram[gram > 0][0] / rows.rate > GAP)
    return Setting(rows.plateau, averages, pairs, gapped, contours=contours)


def _averages(
    rows: Rows, place: float, angle: float, tolerances: tuple[float, float]
) -> tuple[tuple[Contour, ...], tuple[levy.Average, ...]]:
    """The contours and averages of the two resolutions, or a refusal if one of them is bad."""
    gram, parts = rows.gram
    inside = gram[gram > place]
    contours = tuple(functools.partial(_ellipse, inside, place, width * angle) for width in _WIDTHS)
    averages = tuple(
        levy.from_contour(gram, parts, rows.rho, contour, tolerance)
        for contour, tolerance in zip(contours, tolerances, strict=True)
    )
    if max(average.error for average in averages) > 10**-BORNE:
        raise ArithmeticError("The average over this spectrum has no rational representation on this contour.")
    return contours, averages


def _ellipse(inside: Array, place: float, angle: float, points: int) -> npt.NDArray:
    """The contour of `levy.from_gram`."""
    return levy.ellipse(inside, place, points, angle)


def _complete(average: levy.Average, plateau: float) -> bool:
    """Whether a contour that leaves out zero has the functional inside: its weight is what null directions leave.

    It has on the spectra of random rows. The functional of a few levels, or of an exact power law, has a part further
    left, and a curve without that part would be wrong at both resolutions alike.
    """
    inside = average.weights[average.nodes != 0].sum()
    return bool(abs(inside - (1 - plateau)) < 10**-BORNE)


def _places(rows: Rows, last: int) -> tuple[float, ...]:
    """Where the contour may pass zero, the best place first: in a gap, or left of zero."""
    outside, inside = _outside(rows, last), in_the_gap(rows)
    decays = last * rows.gram[0][rows.gram[0] > 0][0] / rows.rate
    if decays < GAP:
        return outside
    if decays < 2 * GAP:
        return (*outside[:1], *inside, *outside[1:])
    return tuple(itertools.chain(*zip(inside, outside, strict=False), outside[len(inside) :]))


def in_the_gap(rows: Rows) -> tuple[float, ...]:
    """Places between 0 and the smallest positive eigenvalue of the Gram matrix."""
    smallest = rows.gram[0][rows.gram[0] > 0][0]
    return 0.5 * smallest, 0.7 * smallest, 0.85 * smallest


def _outside(rows: Rows, last: int) -> tuple[float, ...]:
    """Places left of zero, for so many epochs."""
    left = 1.5 * max(rows.rate, 0.1) / last
    return -left, -1.8 * left, -2.7 * left, -8 * left


def of_covariance(rows: Rows, last: int) -> list[Maker]:
    """Makers of settings for `last` epochs on rows of a covariance with these positive eigenvalues and shares."""

    def make(gapped: bool) -> Setting:
        averages = tuple(
            levy.from_covariance(rows.values, rows.shares, 0.1 / np.sqrt(last), tolerance)
            for tolerance in _TOLERANCES[False]
        )
        pairs = tuple(rows.update.pairs(average, rows.rho) for average in averages)
        return Setting(max(0.0, 1 - rows.rho), averages, pairs, gapped)

    edge = silverstein.Sample(rows.values, rows.shares, rows.rho).leftmost(lambda x, v: 1.0)
    gapped = last * edge * rows.rho / rows.rate > GAP
    return [functools.partial(make, choice) for choice in ((True, False) if gapped else (False,))]
