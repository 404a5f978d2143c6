r"""Single shuffle on any spectrum: from its two-variable generating functions to both losses at every epoch.

The coefficients :math:`[z^nw^n]` of Φ and Ψ (`pairs`) come from one graded circle (`graded_circle`), on which a
hundred points serve all epochs up to a few hundred. Three things decide where it lies.

**The domain.** Φ(z, z̄) and Ψ(z, z̄) are squared norms as long as the series converge, so where one of them is not
positive the domain has ended, and by Cauchy and Schwarz a circle inside it is one on which both are analytic in z and
in w. Without a gap in the spectrum the domain ends at :math:`z^* = 1` on the positive axis. With one the losses decay
exponentially, and :math:`z^* > 1` is bisected. The same test on wider circles says how far the domain reaches at
other angles: near step 2 the cloud of inverse eigenvalues of A comes close from all sides, and the circle then needs
more points, less graded.

**The average.** α has a pole at :math:`\lambda = \log z/c`, whose place in the plane ζ of the Gram matrix's Cauchy
transform is 0 at z = 1, about :math:`-1/(n\eta_{\mathrm{eff}})` at the z that matter for n epochs, and positive for z
> 1. The contour of the average must keep it outside. In a gap it goes around the positive eigenvalues alone, if these
have the whole functional inside. Where no contour can, the poles are followed (`poles`), at several times the
cost.

**The plateau.** Directions that no row has keep their share of the test loss. The pole that this share makes,
plateau/((1 − z)(1 − w)), is taken out of Φ, so that a circle may pass z = 1 on either side.

Everything is computed twice, with other averages and circles, and the difference is the error. For hundreds of epochs
without a gap there is a shorter way: a hyperbola in log z around the cut from z = 1, whose two dozen nodes serve all n
within a factor of two. It may enter the cloud, so it is believed only where two of different sizes agree.
"""

import dataclasses
import functools
import itertools
from dataclasses import dataclass

import numpy as np
import scipy

from edgelaw.exact import agreement, graded_circle, levy, silverstein
from edgelaw.exact.single_shuffle.pairs import Pairs
from edgelaw.exact.single_shuffle.poles import FollowedPairs

_GAP = 3.0  # with so many decay times of the smallest eigenvalue the losses' decay is exponential
_GAPS = np.array([0.02, 0.04, 0.07, 0.1, 0.15, 0.2, 0.3, 0.45, 0.7, 1.0, 1.5, 2.2, 3.0])
_LONG = 300  # beyond so many epochs a hyperbola is tried
_LONGEST = 4096  # epochs on a circle
_DIGITS = 14.5, 12.0  # of the two circles' interpolation, as `graded_circle.plan` counts them (it is careful)
_AGREED = 3e-7, 1e-6  # where two circles differ by more, the coarser gets more points; and next to the limit
_NEXT_TO_LIMIT = 0.09  # inverse effective steps below it: for single rows, steps above 1.7
_FEWEST, _MOST = 24, 1000  # points
_MOST_EVEN = 1600  # equidistant ones, which must be more than the epochs
_FEW = 32  # epochs, whose losses are computed down to e^(−2·60) of their start
_DEEPEST = 60.0, 15.0  # later ones only down to e^(−2·15), 1e-13
_ANGLES = 1.2, 0.85, 0.6, 0.4, 0.25  # half-heights of the contours of the averages, the first that fits
_NARROW = 0.7, 0.5  # the same in a gap with fewer rows than dimensions
_AMPLIFIED = 4.0, 8.0, 16.0, 22.0
_TRIES = 7  # settings
_PLAIN = 2  # of them settings without poles that are followed, before these
_FOLLOWED = (
    (-0.5, 0.85),
    (-2.0, 1.2),
    (-0.1, 1.2),
)  # place and half-height of contours that poles of α may enter
_STATIONS = 256  # equidistant, on the upper half of a circle inside which c may have branch points
_BRANCHED = (
    1e-4,
    1e-6,
)  # size of negative powers of z in c that such points leave, if they are strong, or weak
_MARGIN = 0.03  # from a branch point outside, whose aliases are then less than the second of these
_MOST_TURNS = 12  # of log z, whose poles are followed
_SOLVED = 1e-9  # the last relative change of c by Newton's method
_BORNE = 1e-6  # what two averages may differ by at a pole of α
_WIDTHS = 1.0, 0.92  # of the contours of the two averages
_TOLERANCES = {False: (1e-11, 1e-9), True: (1e-13, 1e-11)}  # of the two averages, without and in a gap
_ALL_AROUND = (
    np.concatenate(  # singularities may come close in a narrow sector, next to step 2 about angle 0.35
        [np.linspace(np.pi, 1.1, 8), np.geomspace(1.0, 0.22, 16), np.geomspace(0.19, 0.005, 15), [0.0]]
    )
)


@dataclass(frozen=True)
class RowByRow:
    """The update by single rows at a step, for which settings are made."""

    step: float

    def pairs(self, average, rho):
        """Φ and Ψ of an average."""
        return Pairs(average, self.step, rho)

    def inverse_rate(self, rho):
        """One over the effective step."""
        return 1 / self.step - 0.5


@dataclass(frozen=True, eq=False)
class FollowedRows(RowByRow):
    """The same for a spectrum of the Gram matrix, with poles of α that are followed where a contour would end."""

    gram: np.ndarray
    parts: np.ndarray
    turns: np.ndarray

    def pairs(self, average, rho):
        """Φ and Ψ of an average."""
        return FollowedPairs(average, self.step, rho, self.gram, self.parts, self.turns)


@dataclass(frozen=True, eq=False)
class Setting:
    """Two averages of a spectrum for so many epochs, and where the functions of z they give may be used.

    `gapped` says that the circle may go beyond z = 1; `least` is the logarithm of the amplification that the circle
    must at least allow, so that the poles keep clear. `missing` is the share of the rows that was left out. `contours`
    are those of the averages, the upper halves as functions of the number of points; a covariance has none.
    """

    update: RowByRow
    rho: float
    plateau: float
    averages: tuple
    gapped: bool
    least: float = 4.0
    missing: float = 0.0
    contours: tuple = ()

    @property
    def follows(self):
        """Whether poles of α are followed."""
        return isinstance(self.update, FollowedRows)

    @property
    def next_to_limit(self):
        """Whether the step is so near to its limit that singularities come close from all sides."""
        return self.update.inverse_rate(self.rho) < _NEXT_TO_LIMIT

    @property
    def even(self):
        """How many points a circle of equidistant ones has."""
        if not self.next_to_limit:
            return graded_circle.PRECISE
        return graded_circle.DECAYING if self.gapped else graded_circle.QUICK

    @property
    def pairs(self):
        """Φ and Ψ with the fine and with the coarse average."""
        return [self.update.pairs(average, self.rho) for average in self.averages]


def attempts(settings):
    """Attempts for `agreement.settled`: both losses at two resolutions, one setting after the other."""
    return (functools.partial(_attempt, setting) for setting in itertools.islice(settings, _TRIES))


def _attempt(setting, n):
    fine, coarse = _losses(setting, n)
    floor = max(graded_circle.PRECISE.least, *(average.error for average in setting.averages))
    if setting.missing:
        both = np.concatenate([np.ones((2, 1)), fine], axis=1)
        curve = agreement.learning_curve(np.append(0, n), *both, floor)
        floor = agreement.with_a_row_less(curve, setting.missing).error
    return agreement.Attempt(fine, coarse, setting.plateau, floor)


def _losses(setting, n):
    results = np.full((2, 2, len(n)), np.nan)
    first = len(n)
    fine, coarse = setting.pairs
    if not setting.gapped:
        first = _hyperbolas(fine, coarse, n, results)
    if first:
        _on_circles(setting, fine, coarse, n[:first], results)
    return results


# ------------------------------------------------------------------------------------------------------- the circle


def _on_circles(setting, fine, coarse, n, results):
    """Fill in the losses of the epochs n; those so late that nothing is left stay NaN."""
    if n[-1] > _LONGEST and not setting.gapped:
        raise _too_long(setting, int(n[-1]), _LONGEST)
    edge, gaps = domain(setting, coarse, int(n[-1]))
    deepest, later = np.array(_DEEPEST) / max(edge, 1e-9)
    n = n[n <= max(2.0, min(_FEW, deepest), later)]
    points, place = 1.0, slice(len(n))

    def computed(resolution):
        pairs = (fine, coarse)[resolution]
        return _on_circle(pairs, setting, n, edge, gaps, points, _DIGITS[resolution], 2.0 + 0.3 * resolution)

    one, other = computed(0), computed(1)
    agreed = _AGREED[setting.next_to_limit]
    while not _difference(one, other) < agreed and points < 1.9:
        points *= 1.4
        before, other = other, computed(1)
        if _difference(before, other) < 0.3 * _difference(one, other):
            break  # what is left is the averages'
        one = computed(0)
    results[0, :, place], results[1, :, place] = one, other


def _difference(one, other):
    return agreement.Attempt(one, other, 0.0, 0.0).difference()


def _too_long(setting, last, most):
    """The refusal of a circle for so many epochs."""
    return ArithmeticError(
        f"Single shuffle at step {setting.update.step:g} is not yet near its edge at epoch {last}, and a circle for so "
        f"many epochs takes too long: ask for at most {most} epochs, or for a smaller step."
    )


def solved_circle(pairs, setting, n, edge, gaps, more, digits, amplified):
    """A circle for the coefficients n inside the domain's edge (the logarithm of z*), and the exponents c on it."""
    points, distance, grading = graded_circle.plan(
        int(n[-1]), gaps, digits, amplified, setting.least, setting.even
    )
    most = _MOST
    if grading == graded_circle.EVEN:
        if points > _MOST_EVEN:
            few = (_MOST_EVEN - setting.even.besides) / setting.even.per_coefficient
            raise _too_long(setting, int(n[-1]), 100 * int(few // 100))
        most = max(_MOST, points)
        distance /= np.sqrt(more)  # so that more points lessen both errors, of the rule and of rounding
    points = 2 * int(np.ceil(min(more * max(points, _FEWEST), most) / 2))
    radius = np.exp(edge - distance)
    circle = graded_circle.circle(n, points, radius, grading)
    c, worst = pairs.around(radius, np.angle(circle.points))
    if not worst < _SOLVED:
        raise ArithmeticError(f"The equation for single shuffle's exponent was solved only to {worst:.0e}.")
    if setting.follows and not pairs.negative_powers(np.angle(circle.points), c) < _BRANCHED[-1]:
        raise ArithmeticError("Single shuffle's exponent has a branch point inside the circle.")
    return circle, c


def _on_circle(pairs, setting, n, edge, gaps, more, digits, amplified):
    """Both losses on one circle inside the domain's edge."""
    circle, c = solved_circle(pairs, setting, n, edge, gaps, more, digits, amplified)
    values = pairs.values(circle.points, c, circle.first, circle.second)
    pole = 1 / (1 - np.concatenate([circle.points, circle.points.conj()]))
    values[0] -= setting.plateau * pole[circle.first] * pole[circle.second]
    curves = np.stack([circle.pair_coefficients(row) for row in values])
    curves[0] += setting.plateau
    return curves


def domain(setting, pairs, last):
    """The logarithm of z*, and how much further the domain reaches at the angles `graded_circle.ANGLES`."""
    edge = _furthest_circle(setting, pairs, last) if setting.gapped else 0.0
    inside = np.ones(len(graded_circle.ANGLES), dtype=bool)
    gaps = np.zeros(len(inside))
    if setting.follows:
        return edge, gaps  # equidistant points, in any case
    for gap in _GAPS:
        c, worst = pairs.around(np.exp(edge + gap), graded_circle.ANGLES)
        inside &= _positive(setting, pairs, edge + gap, graded_circle.ANGLES, c) & (worst < _SOLVED)
        if not inside.any():
            break
        gaps[inside] = gap
    return edge, gaps


def _furthest_circle(setting, pairs, last):
    """The logarithm of the largest radius with a circle inside the domain, to a small part of 1/last."""

    if not setting.follows:
        return _furthest(functools.partial(_inside, setting, pairs), last, 1.25)
    for branched in _BRANCHED:
        edge = _furthest(functools.partial(_analytic, setting, pairs, branched), last, 1.5)
        if edge < _MARGIN or _analytic(setting, pairs, _BRANCHED[-1], edge - _MARGIN):
            break
    return edge


def _furthest(inside, last, faster):
    """The largest number of which a condition is true, to a small part of 1/last, if it is false of all beyond."""
    low, high = 0.0, 0.5 / last
    while high < 30 and inside(high):
        low, high = high, faster * high
    for _ in range(7):
        middle = (low + high) / 2
        low, high = (middle, high) if inside(middle) else (low, middle)
    return low


def _analytic(setting, pairs, branched, logarithm):
    """Whether c is analytic inside a circle and Φ and Ψ are positive all around: for poles that are followed.

    Beyond a branch point of c other sheets begin, on which Φ and Ψ may be positive as well. But then c has negative
    powers of z on the circle, which the trapezoidal rule finds. It also finds positive powers of the order of the
    number of stations: a circle closer to a branch point outside than some hundredths looks as if that were inside.
    """
    angles = np.pi * (1 - (np.arange(_STATIONS) + 0.5) / _STATIONS)
    c, worst = pairs.around(np.exp(logarithm), angles)
    return (
        worst < _SOLVED
        and pairs.negative_powers(angles, c) < branched
        and _bear_the_poles(setting, pairs, logarithm + 1j * angles, c)
        and bool(_positive(setting, pairs, logarithm, angles, c).all())
    )


def _positive(setting, pairs, logarithm, angles, c):
    """Whether Φ without its plateau and Ψ are positive at the points (z, z̄) of a circle, angle by angle."""
    z = np.exp(logarithm + 1j * angles)
    with np.errstate(all="ignore"):
        phi, psi = pairs.diagonal(z, c)
        phi = phi - setting.plateau / np.abs(1 - z) ** 2
        sure = np.abs(1 - z) > 0.02  # closer to the pole Φ without it has no digits
        real = (angles > 0) | pairs.real(c)
    return real & (psi > 0) & ((phi > 0) | ~sure)


def inside_the_domain(setting, logarithm):
    """Whether a circle is clear of the poles of α and inside the domain of Φ and Ψ, as the coarse average sees it."""
    return _inside(setting, setting.pairs[1], logarithm)


def _inside(setting, pairs, logarithm):
    """Whether that is so with these functions Φ and Ψ."""
    c, worst = pairs.around(np.exp(logarithm), _ALL_AROUND)
    return (
        worst < _SOLVED
        and _bear_the_poles(setting, pairs, logarithm + 1j * _ALL_AROUND, c)
        and bool(_positive(setting, pairs, logarithm, _ALL_AROUND, c).all())
    )


def _clear(setting, pairs, logarithm):
    """Whether c is known all around a circle and the averages bear the poles of α."""
    c, worst = pairs.around(np.exp(logarithm), _ALL_AROUND)
    return worst < _SOLVED and _bear_the_poles(setting, pairs, logarithm + 1j * _ALL_AROUND, c)


def _bear_the_poles(setting, pairs, log_z, c):
    """Whether the averages agree at the poles of α as functions of λ, for points z and c there."""
    with np.errstate(all="ignore"):
        poles = pairs.poles(log_z, c).reshape(-1, 1)
        one, other = (average(poles / (poles - average.nodes)) for average in setting.averages)
        return bool((np.abs(one - other) < _BORNE * (1 + np.abs(one))).all())


# ----------------------------------------------------------------------------------------------------- the hyperbola


def _hyperbolas(fine, coarse, n, results):
    """Fill in the losses of many epochs from the last one down; how many epochs are left for a circle."""
    first = len(n)
    while first and n[first - 1] > _LONG:
        start = np.searchsorted(n, max(n[first - 1] / 2, _LONG), side="right")
        group = slice(start, first)
        try:
            small, large = (_hyperbola(coarse, n[group], points) for points in (10, 14))
            if not np.abs(small / large - 1).max() < 3e-6:
                break
            results[0, :, group], results[1, :, group] = _hyperbola(fine, n[group], 14), large
        except ArithmeticError:
            break
        first = start
    return first


def _hyperbola(pairs, n, points):
    """Both losses along a hyperbola in log z that serves all n from the smallest to the largest."""
    p, weights = _hyperbola_nodes(n.min(), n.max(), points)
    z = np.exp(-p)
    solved = []
    for at in z:
        turned, worst = pairs.around(np.abs(at), np.array([np.angle(at)]))
        if not worst < _SOLVED:
            raise ArithmeticError(
                f"The equation for single shuffle's exponent was solved only to {worst:.0e}."
            )
        solved.append(turned[0])
    waves = weights * np.exp(np.multiply.outer(n, p))
    hyperbola = graded_circle.Circle(n, 1.0, z, waves, *graded_circle.all_pairs(len(z)))
    values = pairs.values(z, np.array(solved), hyperbola.first, hyperbola.second)
    return np.stack([hyperbola.pair_coefficients(row) for row in values])


def _hyperbola_nodes(first, last, points):
    """Nodes p, e^(−p) in the upper half plane, and weights of Weideman and Trefethen's hyperbola for these times."""
    ratio = last / first

    def width(angle):
        return np.arccosh(
            ((np.pi - 2 * angle) * ratio + 4 * angle - np.pi) / ((4 * angle - np.pi) * np.sin(angle))
        )

    angle = scipy.optimize.minimize_scalar(
        lambda x: (2 * np.pi * x - np.pi**2) / width(x),
        bounds=(np.pi / 4 + 1e-3, np.pi / 2 - 1e-3),
        method="bounded",
    ).x
    h = width(angle) / points
    scale = (4 * np.pi * angle - np.pi**2) * points / (width(angle) * last)
    u = (np.arange(points) + 0.5) * h
    p = scale * (1 + np.sin(1j * u - angle))
    weights = h * scale * np.cos(1j * u - angle) / (2 * np.pi)
    return p.conj(), weights.conj()


# ------------------------------------------------------------------------------------------------------ the averages


def of_sample(values, shares, rho, update, last, places=None, gaps=True, follow=False):
    """Settings for `last` epochs on a sample spectrum: eigenvalues of XᵀX/m, mean 1, and their shares; the best first.

    If no contour goes around a lone null eigenvalue at the distance that so many epochs need, it is left out. So many
    `places` are tried at which contours pass zero, or all; without `gaps` none that leaves out zero. With `follow`
    poles of α are followed where a contour has no room for them, or where two resolutions differ without.
    """
    settings = _around_the_poles(values, shares, rho, update, last, places, gaps)
    if not follow:
        yield from settings
        return
    crowded = []
    for setting in itertools.islice(settings, _PLAIN):
        if setting.least > _AMPLIFIED[0] or setting.missing:
            crowded.append(setting)
            break
        yield setting
    yield from followed(values, shares, rho, update, last)
    yield from crowded
    yield from settings


def _around_the_poles(values, shares, rho, update, last, places, gaps):
    """Settings whose contours keep the poles of α outside."""
    fewer, missing = agreement.without_lone_zero(values, shares, rho)
    gram, _ = levy.companion(values, shares, fewer)
    rate = update.inverse_rate(fewer)
    poles = _poles(gram, rate, last) if gaps else _outside(rate, last)
    if missing:
        yield from _settings(
            values, shares, rho, update, last, _outside(update.inverse_rate(rho), last)[:places]
        )
    for setting in _settings(values, shares, fewer, update, last, poles[:places]):
        yield dataclasses.replace(setting, missing=missing)


def in_the_gap(values, shares, rho, update):
    """Settings with contours between 0 and a sample's spectrum, for z up to 1 and more rows than dimensions."""
    gram, _ = levy.companion(values, shares, rho)
    yield from _settings(values, shares, rho, update, 1, _inside_the_gap(gram))


def _settings(values, shares, rho, update, last, poles):
    """Settings with contours that keep their distance from these poles, as wide as the poles of α allow."""
    plateau = float(shares[values == 0].sum())
    gram, parts = levy.companion(values, shares, rho)
    unclear: list[Setting] = []
    for pole in poles:
        for angle in _NARROW if pole > 0 and rho < 1 else _ANGLES:
            contours = tuple(
                functools.partial(_ellipse, gram[gram > pole], pole, part * angle) for part in _WIDTHS
            )
            averages = _averages(gram, parts, rho, contours, _TOLERANCES[pole > 0])
            if averages is None:
                break
            if pole > 0 and rho > 1 and not all(_complete(average, plateau) for average in averages):
                break
            pairs = update.pairs(averages[1], rho)
            for least in _AMPLIFIED:
                setting = Setting(update, rho, plateau, averages, pole > 0, least, contours=contours)
                if _clear(setting, pairs, -least / (2 * last)):
                    yield setting
                    break
                unclear.append(setting)
            else:
                continue
            break
    yield from unclear[:: len(_AMPLIFIED)]


def followed(values, shares, rho, update, last):
    """Settings in which poles of α may enter the contours, because they are followed."""
    plateau = float(shares[values == 0].sum())
    gram, parts = levy.companion(values, shares, rho)
    gapped = last * gram[gram > 0][0] / update.inverse_rate(rho) > _GAP
    for pole, angle in _FOLLOWED:
        contours = tuple(functools.partial(_ellipse, gram, pole, part * angle) for part in _WIDTHS)
        averages = _averages(gram, parts, rho, contours, _TOLERANCES[True])
        if averages is None:
            continue
        height = (1 / (parts / (contours[0](60)[:, None] - gram)).sum(axis=1)).imag.max()
        c, _ = update.pairs(averages[0], rho).around(1.0, np.array([np.pi]))
        most = min(int(np.ceil(height * np.abs(c[0]) / (2 * np.pi * rho))), _MOST_TURNS) + 1
        rows = FollowedRows(update.step, gram, parts, np.arange(-most - 1.0, most + 1))
        yield Setting(rows, rho, plateau, averages, gapped, contours=contours)


def _averages(gram, parts, rho, contours, tolerances):
    """The fine and the coarse average, or None if one of them is bad: the coarse one is computed first."""
    averages: list[levy.Average] = []
    for contour, tolerance in zip(contours[::-1], tolerances[::-1], strict=True):
        averages.insert(0, levy.from_contour(gram, parts, rho, contour, tolerance))
        if averages[0].error > 1e-6:
            return None
    return tuple(averages)


def _ellipse(inside, pole, angle, points):
    """The contour of `levy.from_gram`."""
    return levy.ellipse(inside, pole, points, angle)


def _complete(average, plateau):
    """Whether a contour that leaves out zero has the functional inside: its weight is what null directions leave.

    It has on the spectra of random rows. The functional of a few levels, or of an exact power law, has a part further
    left, and a curve without that part would be wrong at both resolutions alike.
    """
    inside = average.weights[average.nodes != 0].sum()
    return bool(abs(inside - (1 - plateau)) < _BORNE)


def _poles(gram, inverse_rate, last):
    """Where the average may keep its distance, the best place first: in a gap, or left of zero."""
    smallest = gram[gram > 0][0]
    decays = last * smallest / inverse_rate
    outside, inside = _outside(inverse_rate, last), _inside_the_gap(gram)
    if decays < _GAP:
        return outside
    if decays < 2 * _GAP:
        return (*outside[:1], *inside, *outside[1:])
    return (*inside[:1], *outside[:1], *inside[1:], *outside[1:])


def _inside_the_gap(gram):
    """Places between 0 and the smallest positive eigenvalue of the Gram matrix."""
    smallest = gram[gram > 0][0]
    return 0.5 * smallest, 0.7 * smallest, 0.85 * smallest


def _outside(inverse_rate, last):
    """Places left of zero, for so many epochs."""
    left = 1.5 * max(inverse_rate, 0.1) / last
    return -left, -1.8 * left, -2.7 * left, -8 * left


def of_covariance(values, shares, rho, update, last):
    """Settings for `last` epochs on rows of a covariance with these positive eigenvalues, mean 1, and shares."""
    reach = 0.1 * np.sqrt(1.0 / last)
    averages = tuple(levy.from_covariance(values, shares, reach, tolerance) for tolerance in (1e-11, 1e-9))
    edge = silverstein.Sample(values, shares, rho).leftmost(lambda x, v: 1.0)
    gapped = last * edge * rho / update.inverse_rate(rho) > _GAP
    yield Setting(update, rho, max(0.0, 1 - rho), averages, gapped)
    if gapped:
        yield Setting(update, rho, max(0.0, 1 - rho), averages, gapped=False)
