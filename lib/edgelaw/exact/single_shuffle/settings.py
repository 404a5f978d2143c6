r"""Single shuffle on any spectrum: from its two-variable generating functions to both losses at every epoch.

The coefficients :math:`[z^nw^n]` of Φ and Ψ (`pairs`) come from one graded circle (`graded_circle`), on which a
hundred points serve all epochs. Three things decide where it lies.

**The domain.** Φ(z, z̄) and Ψ(z, z̄) are squared norms as long as the series converge: where one is not positive the
domain has ended. Without a gap in the spectrum that is at :math:`z^* = 1` on the positive axis; with one
:math:`z^* > 1` is bisected. Wider circles say how far the domain reaches at other angles: near step 2 not far.

**The average.** α has a pole at :math:`\lambda = \log z/(\rho a)`, which the contour must keep outside. Its place in
the plane ζ of the Gram matrix's Cauchy transform is 0 at z = 1, about :math:`-1/(n\eta_{\mathrm{eff}})` at the z that
matter for n epochs, and positive beyond z = 1, where contours are in the gap. Where no contour can, the poles are
followed (`poles`), at several times the cost, or for batches and labels other contours are tried.

**The plateau.** Directions that no row has keep their share of the test loss. The pole that this share makes,
plateau/((1 − z)(1 − w)), is taken out of Φ, so that a circle may pass z = 1 on either side.
"""

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.optimize

from edgelaw._common.types import Array, Integers
from edgelaw.exact import agreement, graded_circle, levy, silverstein
from edgelaw.exact.agreement import Attempt
from edgelaw.exact.batches.partition import Partition
from edgelaw.exact.single_shuffle.pairs import Pairs
from edgelaw.exact.single_shuffle.poles import FollowedPairs
from edgelaw.exact.single_shuffle.short_batch import ShortBatchPairs

GAPPED = 3.0  # decay times of the smallest eigenvalue from which the losses' decay is exponential
LONG = 300  # epochs from which a hyperbola is tried: there a circle is slower and loses digits
BORNE = 1e-6  # relative difference of two averages at a pole of α that they bear, and their error
# contours left of zero: distances over that of the nearest pole at the last epoch, half-heights in the logarithm
CONTOURS = (1.0, 1.1), (8.0, 1.1), (1.0, 0.6), (8.0, 0.6), (1.0, 0.3)
NARROW = 0.85  # half-height of a contour in a gap: wider ones leave no room for the poles of few rows
_STATIONS = np.pi * (1 - (np.arange(256) + 0.5) / 256)  # angles on a circle: a may have branch points inside
_ALL_AROUND = (
    np.concatenate(  # singularities may come close in a narrow sector, next to step 2 about angle 0.35
        [np.linspace(np.pi, 1.1, 8), np.geomspace(1.0, 0.22, 16), np.geomspace(0.19, 0.005, 15), [0.0]]
    )
)

Contour = Callable[[int], npt.NDArray]


class Resolution(NamedTuple):
    """Decimal digits of an average and of a circle's interpolation (`graded_circle.plan` is careful), and the width of
    the contour.
    """

    average: float
    circle: float
    wide: float


RESOLUTIONS = (
    Resolution(13.0, 6.3, 1.0),
    Resolution(11.0, 5.2, 0.92),
)  # of curves, and of what they are compared with


@dataclass(frozen=True, eq=False)
class Rows:
    """A spectrum and an update on it: eigenvalues of XᵀX/m, mean 1, and their shares.

    The `update` is the step of single rows, or the batches of an epoch. Averages may differ by the relative error
    `borne` at poles of α.
    """

    values: Array
    shares: Array
    rho: float
    update: float | Partition
    borne: float = BORNE

    @functools.cached_property
    def gram(self) -> tuple[Array, Array]:
        """The spectrum of the Gram matrix."""
        return levy.companion(self.values, self.shares, self.rho)

    def without_lone_zero(self) -> "Rows":
        """Without a row, where fewer rows than dimensions have a Gram matrix with a lone null eigenvalue.

        Centring makes such an eigenvalue, and it leaves no room for a contour between it and the others.
        """
        positive = float(self.shares[self.values > 0].sum())
        alone = self.rho < 1 and 1e-9 < 1 - positive / self.rho < 0.05
        return dataclasses.replace(self, rho=positive) if alone else self

    @property
    def smallest(self) -> float:
        """The smallest positive eigenvalue of the Gram matrix."""
        gram, _ = self.gram
        return float(gram[gram > 0][0])

    @property
    def plateau(self) -> float:
        """What null directions keep of the test loss."""
        return float(self.shares[self.values == 0].sum())

    @property
    def rate(self) -> float:
        """One over the effective step per row."""
        if not isinstance(self.update, Partition):
            return 1 / self.update - 0.5
        kappas, taus = self.update.kappas, self.update.taus
        return float((kappas / taus).sum() / self.rho - (1 - (kappas**2).sum() / self.rho**2) / 2)

    def pairs(self, average: levy.Average) -> Pairs:
        """Φ and Ψ of an average."""
        if not isinstance(self.update, Partition):
            return Pairs(average, self.rho, self.update)
        if not self.update.equal:
            return ShortBatchPairs(average, self.rho, self.update)
        return Pairs(average, self.rho, float(self.update.taus[0]), self.rho / self.update.batches)


@dataclass(frozen=True, eq=False)
class Setting:
    """Two averages of a spectrum, Φ and Ψ of each, and where the functions of z they give may be used.

    `gapped` says that the circle may go beyond z = 1. `contours` are those of the averages, the upper halves as
    functions of the number of points; a covariance has none.
    """

    plateau: float
    averages: tuple[levy.Average, ...]
    pairs: tuple[Pairs, ...]
    gapped: bool
    contours: tuple[Contour, ...] = ()
    borne: float = BORNE

    @property
    def floor(self) -> float:
        """The least error stated."""
        return max(graded_circle.LEAST, *(average.error for average in self.averages))


Maker = Callable[[], Setting]


def attempts(makers: list[Maker]) -> Iterator[Callable[[Integers], Attempt]]:
    """Attempts for `agreement.settled`, the best first."""
    return (functools.partial(attempt, setting) for setting in made(makers))


def made(makers: list[Maker]) -> Iterator[Setting]:
    """The settings that can be made."""
    for make in makers:
        with contextlib.suppress(ArithmeticError):
            yield make()


def attempt(setting: Setting, n: Integers) -> Attempt:
    """Both losses at each positive n, ascending, at two resolutions; those so late that nothing is left are NaN."""
    results = np.full((2, 2, len(n)), np.nan)
    early = len(n) if setting.gapped else _hyperbolas(setting, n, results)
    if early == 0:
        return Attempt(results[0], results[1], setting.plateau, setting.floor)
    reach = domain(setting, int(n[early - 1]))
    visible = -np.log(agreement.VISIBLE) / (2 * max(reach[0], 1e-9))
    last = max(2.0, visible, min(32, 4 * visible))  # of few epochs, what is much smaller too
    n = n[:early][n[:early] <= last]

    for which, curves in enumerate(results):
        curves[:, : len(n)] = _on_circle(setting, which, n, reach)
    return Attempt(results[0], results[1], setting.plateau, setting.floor)


def solved_circle(
    setting: Setting, which: int, n: Integers, reach: tuple[float, Array]
) -> tuple[graded_circle.Circle, npt.NDArray, npt.NDArray]:
    """A circle for the coefficients n, log z and what is solved at its points, for one of two resolutions.

    The domain's `reach` is the logarithm of z* and how much further it goes elsewhere.
    """
    edge, gaps = reach
    digits, pairs = RESOLUTIONS[which].circle * np.log(10), setting.pairs[which]
    points, distance, grading = graded_circle.plan(int(n[-1]), gaps, digits, 2.0 + 0.3 * which)
    circle = graded_circle.circle(n, 2 * int(np.ceil(max(points, 24) / 2)), np.exp(edge - distance), grading)
    log_z = edge - distance + 1j * np.angle(circle.points)
    solved = pairs.around(log_z)
    if not np.isfinite(solved).all():
        raise ArithmeticError("The equation for single shuffle's amplitude could not be solved on a circle.")
    if isinstance(pairs, FollowedPairs) and not pairs.negative_powers(log_z, solved) < BORNE:
        raise ArithmeticError("Single shuffle's amplitude has a branch point inside the circle.")
    return circle, log_z, solved


def _on_circle(setting: Setting, which: int, n: Integers, reach: tuple[float, Array]) -> Array:
    """Both losses on one circle inside the domain."""
    circle, log_z, solved = solved_circle(setting, which, n, reach)
    values = setting.pairs[which].values(log_z, solved, circle.first, circle.second)
    pole = -1 / np.expm1(np.concatenate([log_z, log_z.conj()]))
    values[0] -= setting.plateau * pole[circle.first] * pole[circle.second]
    curves = np.stack([circle.pair_coefficients(row) for row in values])
    curves[0] += setting.plateau
    return curves


# ----------------------------------------------------------------------------------------------------- the hyperbola


def _hyperbolas(setting: Setting, n: Integers, results: Array) -> int:
    """Fill in the losses of many epochs from the last one down; how many epochs are left for a circle."""
    first = len(n)
    while first and n[first - 1] > LONG:
        group = slice(np.searchsorted(n, max(n[first - 1] / 2, LONG), side="right"), first)
        try:
            small, large = (_hyperbola(setting, 1, n[group], points) for points in (10, 14))
            if not np.abs(small / large - 1).max() < agreement.ENOUGH:
                break
            results[0, :, group], results[1, :, group] = _hyperbola(setting, 0, n[group], 14), large
        except ArithmeticError:
            break
        first = group.start
    return first


def _hyperbola(setting: Setting, which: int, n: Integers, points: int) -> Array:
    """Both losses along Weideman and Trefethen's hyperbola in log z, which serves all n from smallest to largest."""
    ratio = n.max() / n.min()

    def width(angle: float) -> float:
        wide = ((np.pi - 2 * angle) * ratio + 4 * angle - np.pi) / ((4 * angle - np.pi) * np.sin(angle))
        return float(np.arccosh(wide))

    angle = scipy.optimize.minimize_scalar(
        lambda x: (2 * np.pi * x - np.pi**2) / width(x),
        bounds=(np.pi / 4 + 1e-3, np.pi / 2 - 1e-3),
        method="bounded",
    ).x
    h = width(angle) / points
    scale = (4 * np.pi * angle - np.pi**2) * points / (width(angle) * n.max())
    turned = 1j * (np.arange(points) + 0.5) * h - angle
    p, weights = scale * (1 + np.sin(turned)).conj(), h * scale * np.cos(turned).conj() / (2 * np.pi)
    solved = setting.pairs[which].around(-p[::-1])[::-1]
    if not np.isfinite(solved).all():
        raise ArithmeticError(
            "The equation for single shuffle's amplitude could not be solved on a hyperbola."
        )
    waves = weights * np.exp(np.multiply.outer(n, p))
    hyperbola = graded_circle.Circle(n, 1.0, np.exp(-p), waves, *graded_circle.all_pairs(points))
    values = setting.pairs[which].values(-p, solved, hyperbola.first, hyperbola.second)
    return np.stack([hyperbola.pair_coefficients(row) for row in values])


# ------------------------------------------------------------------------------------------------------- the domain


def domain(setting: Setting, last: int) -> tuple[float, Array]:
    """The logarithm of z*, and how much further the domain reaches at the angles `graded_circle.ANGLES`."""
    follows = isinstance(setting.pairs[1], FollowedPairs)
    edge = 0.0
    if setting.gapped:
        edge = _furthest(setting, analytic if follows else inside_the_domain, last)
    inside = np.ones(len(graded_circle.ANGLES), dtype=bool)
    gaps = np.zeros(len(inside))
    for gap in () if follows else np.geomspace(0.02, 3.0, 13):  # else points are equidistant in any case
        log_z = edge + gap + 1j * graded_circle.ANGLES
        inside &= _positive(setting, log_z, setting.pairs[1].around(log_z))
        if not inside.any():
            break
        gaps[inside] = gap
    return edge, gaps


def _furthest(setting: Setting, inside: Callable[[Setting, float], bool], last: int) -> float:
    """The largest number of which a condition is true, to a small part of 1/last, if it is false of all beyond."""
    low, high = 0.0, 0.5 / last
    while high < 30 and inside(setting, high):
        low, high = high, 1.25 * high
    for _ in range(7):
        middle = (low + high) / 2
        low, high = (middle, high) if inside(setting, middle) else (low, middle)
    return low


def analytic(setting: Setting, logarithm: float) -> bool:
    """Whether a is analytic inside a circle and Φ and Ψ are positive all around: for poles that are followed.

    Beyond a branch point of a other sheets begin, on which Φ and Ψ may be positive as well. But then a has negative
    powers of z on the circle, which the trapezoidal rule finds.
    """
    log_z, pairs = logarithm + 1j * _STATIONS, setting.pairs[1]
    solved = pairs.around(log_z)
    few = isinstance(pairs, FollowedPairs) and pairs.negative_powers(log_z, solved) < BORNE
    return few and _clear(setting, log_z, solved) and bool(_positive(setting, log_z, solved).all())


def inside_the_domain(setting: Setting, logarithm: float) -> bool:
    """Whether a circle is clear of the poles of α and inside the domain of Φ and Ψ, as the coarse average sees it."""
    log_z = logarithm + 1j * _ALL_AROUND
    solved = setting.pairs[1].around(log_z)
    return _clear(setting, log_z, solved) and bool(_positive(setting, log_z, solved).all())


def _clear(setting: Setting, log_z: npt.NDArray, solved: npt.NDArray) -> bool:
    """Whether amplitudes are known and the averages agree at the poles of α as functions of λ."""
    with np.errstate(all="ignore"):
        poles = setting.pairs[1].poles(log_z, solved).reshape(-1, 1)
        one, other = (average(poles / (poles - average.nodes)) for average in setting.averages)
        return bool((np.abs(one - other) < setting.borne * (1 + np.abs(one))).all())


def _positive(setting: Setting, log_z: npt.NDArray, solved: npt.NDArray) -> npt.NDArray:
    """Whether Φ without its plateau and Ψ are positive at the points (z, z̄) of a circle, angle by angle."""
    pairs, distance = setting.pairs[1], np.abs(np.expm1(log_z))
    with np.errstate(all="ignore"):
        phi, psi = pairs.diagonal(log_z, solved)
        phi = phi - setting.plateau / distance**2
        sure = distance > 0.02  # closer to the pole Φ without it has no digits
        return ((log_z.imag > 0) | pairs.real(solved)) & (psi > 0) & ((phi > 0) | ~sure)


# ----------------------------------------------------------------------------------------------------- the averages


def of_sample(rows: Rows, last: int, follow: bool = False, gaps: bool = True) -> list[Maker]:
    """Makers of settings for `last` epochs on a sample spectrum, the best first.

    Without `gaps` no contour leaves out zero. With `follow` poles of α are followed where a contour has no room for
    them, or where two resolutions differ without.
    """
    left = -1.5 * max(rows.rate, 0.1) / last  # of zero
    makers: list[Maker] = [
        functools.partial(around_the_poles, rows, last, far * left, height) for far, height in CONTOURS
    ]
    if follow:
        makers[1:] = [functools.partial(followed, rows, last, -0.5, CONTOURS[0][1])]
    if gaps and last * rows.smallest / rows.rate > GAPPED:
        makers.insert(0, functools.partial(around_the_poles, rows, last, 0.5 * rows.smallest, NARROW))
    return makers


def around_the_poles(rows: Rows, last: int, place: float, height: float) -> Setting:
    """A setting with contours past this place left of the eigenvalues, if the poles of α allow.

    In a gap Φ and Ψ must be positive beyond z = 1, as they are where nothing of the average is left out. On spectra of
    random rows nothing is. The functional of a few levels, or of an exact power law, has a part further left, and a
    curve without that part would be wrong at both resolutions alike.
    """
    contours, averages = _averages(rows, place, height)
    setting = Setting(
        rows.plateau, averages, tuple(map(rows.pairs, averages)), place > 0, contours, rows.borne
    )
    log_z = -graded_circle.AMPLIFIED / (2 * last) + 1j * _ALL_AROUND
    if not _clear(setting, log_z, setting.pairs[1].around(log_z)):
        raise ArithmeticError(
            "No contour around this spectrum keeps clear of the poles of single shuffle's resolvent."
        )
    if setting.gapped and not inside_the_domain(setting, 0.01 / last):
        raise ArithmeticError(
            "Where this average leaves out zero, it does not have the whole spectrum inside."
        )
    return setting


def in_the_gap(rows: Rows) -> Iterator[Setting]:
    """Settings with contours between 0 and a sample's spectrum, for z up to 1 and more rows than dimensions."""
    last = 1 + int(rows.rate / rows.smallest)
    places = (0.5 * rows.smallest, 0.7 * rows.smallest, 0.85 * rows.smallest)
    height = CONTOURS[0][1]
    yield from made([functools.partial(around_the_poles, rows, last, place, height) for place in places])


def followed(rows: Rows, last: int, place: float, height: float) -> Setting:
    """A setting of single rows in which poles of α may enter the contours, because they are followed."""
    gram, parts = rows.gram
    contours, averages = _averages(rows, place, height)
    reach = (1 / (parts / (contours[0](60)[:, None] - gram)).sum(axis=1)).imag.max()
    a = rows.pairs(averages[0]).around(np.array([1j * np.pi]))
    # turns: 12 where a is not known
    most = int(np.ceil(np.nanmin([reach * np.abs(a[0, 0]) / (2 * np.pi), 12]))) + 1
    turns = np.arange(-most - 1.0, most + 1)
    step = 1 / (rows.rate + 0.5)
    pairs = tuple(FollowedPairs(average, rows.rho, step, rows.gram, turns) for average in averages)
    gapped = bool(last * rows.smallest / rows.rate > GAPPED)
    return Setting(rows.plateau, averages, pairs, gapped, contours)


def _averages(
    rows: Rows, place: float, height: float
) -> tuple[tuple[Contour, ...], tuple[levy.Average, ...]]:
    """The contours and averages of the two resolutions, or a refusal if one of them is bad."""
    gram, parts = rows.gram
    inside = gram[gram > place]
    contours = tuple(
        functools.partial(levy.ellipse, inside, place, angle=each.wide * height) for each in RESOLUTIONS
    )
    averages = tuple(
        levy.from_contour(gram, parts, rows.rho, contour, 10**-each.average)
        for contour, each in zip(contours, RESOLUTIONS, strict=True)
    )
    if max(average.error for average in averages) > BORNE:
        raise ArithmeticError(
            "The average over this spectrum has no rational representation on this contour."
        )
    return contours, averages


def of_covariance(rows: Rows, last: int) -> list[Maker]:
    """Makers of settings for `last` epochs on rows of a covariance with these positive eigenvalues and shares."""

    def make(gapped: bool) -> Setting:
        averages = tuple(
            levy.from_covariance(rows.values, rows.shares, 0.1 / np.sqrt(last), 10**-each.average)
            for each in RESOLUTIONS
        )
        return Setting(
            max(0.0, 1 - rows.rho), averages, tuple(map(rows.pairs, averages)), gapped, borne=rows.borne
        )

    edge = silverstein.PopulationRows(rows.values, rows.shares, rows.rho).leftmost()
    gapped = last * edge * rows.rho / rows.rate > GAPPED
    return [functools.partial(make, choice) for choice in ((True, False) if gapped else (False,))]
