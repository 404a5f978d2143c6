r"""Single shuffle on any spectrum: from its two-variable generating functions to both losses at every epoch.

The coefficients :math:`[z^nw^n]` of Φ and Ψ (`pairs`) come from one graded circle (`graded_circle`), on which a
hundred points serve all epochs. Three things decide where it lies.

**The domain.** Φ(z, z̄) and Ψ(z, z̄) are squared norms as long as the series converge: where one is not positive the
domain has ended. Without a gap in the spectrum that is at :math:`z^* = 1` on the positive axis; with one
:math:`z^* > 1` is bisected. Wider circles say how far the domain reaches at other angles: near step 2 not far.

**The average.** α has a pole at :math:`\lambda = \log z/(\rho a)`, which the contour must keep outside. Its place in
the plane ζ of the Gram matrix's Cauchy transform is 0 at z = 1, about :math:`-1/(n\eta_{\mathrm{eff}})` at the z that
matter for n epochs, and positive beyond z = 1, where contours are in the gap. Where no contour can, the poles are
followed (`poles`), at several times the cost, or for batches and labels another contour is tried, further out.

**The plateau.** Directions that no row has keep their share of the test loss. The pole that this share makes,
plateau/((1 − z)(1 − w)), is taken out of Φ, so that a circle may pass z = 1 on either side.
"""

import contextlib
import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from edgelaw._common.types import Array, Integers
from edgelaw.exact import agreement, graded_circle, levy, silverstein
from edgelaw.exact.agreement import Attempt
from edgelaw.exact.batches.blocks import Rows, SampleRows
from edgelaw.exact.batches.partition import Partition
from edgelaw.exact.single_shuffle.pairs import Pairs
from edgelaw.exact.single_shuffle.poles import FollowedPairs
from edgelaw.exact.single_shuffle.short_batch import ShortBatchPairs

GAPPED = 3.0  # decay times of the smallest eigenvalue from which the losses' decay is exponential
BORNE = 1e-6  # relative difference of two averages at a pole of α that they bear, and their error
NARROW = (
    0.75  # of the half-height: wider contours in a gap, or far out, leave no room for the poles of few rows
)
_STATIONS = np.pi * (1 - (np.arange(256) + 0.5) / 256)  # angles on a circle: a may have branch points inside
_ALL_AROUND = (
    np.concatenate(  # singularities may come close in a narrow sector, next to step 2 about angle 0.35
        [np.linspace(np.pi, 1.1, 8), np.geomspace(1.0, 0.22, 16), np.geomspace(0.19, 0.005, 15), [0.0]]
    )
)


class Resolution(NamedTuple):
    """Decimal digits of an average and of a circle's interpolation, and the share of the half-height of contours."""

    average: float
    circle: float
    wide: float


# of curves, and of what they are compared with; `graded_circle.plan` is careful
RESOLUTIONS = Resolution(10.5, 6.3, 0.92), Resolution(10.5, 5.2, 0.85)


@dataclass(frozen=True, eq=False)
class Setting:
    """Φ and Ψ of two averages of a spectrum, and where the functions of z they give may be used.

    `gapped` says that the circle may go beyond z = 1. At poles of α the averages may differ by the relative error
    `borne`. `contours` are those of the averages; a covariance has none.
    """

    rows: Rows
    pairs: tuple[Pairs, ...]
    gapped: bool
    borne: float = BORNE
    contours: tuple[levy.Contour, ...] = ()

    @property
    def follows(self) -> bool:
        """Whether poles of α are followed."""
        return isinstance(self.pairs[0], FollowedPairs)

    @property
    def plateau(self) -> float:
        """What null directions keep of the test loss."""
        return max(0.0, 1 - self.rows.rho, float(self.rows.shares[self.rows.values == 0].sum()))

    @property
    def floor(self) -> float:
        """The least error stated."""
        return max(graded_circle.LEAST, *(pairs.average.error for pairs in self.pairs))


def attempt(setting: Setting, n: Integers) -> Attempt:
    """Both losses at each positive n, ascending, at two resolutions; those so late that nothing is left are NaN."""
    results = np.full((2, 2, len(n)), np.nan)
    reach = domain(setting, int(n[-1]))
    visible = -np.log(agreement.VISIBLE) / (2 * max(reach[0], 1e-9))
    early = n[n <= max(2.0, visible, min(32, 4 * visible))]  # of few epochs, what is much smaller too
    for which, curves in enumerate(results):
        curves[:, : len(early)] = _on_circle(setting, which, early, reach)
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
    if not pairs.negative_powers(log_z, solved) < BORNE:
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


# ------------------------------------------------------------------------------------------------------- the domain


def domain(setting: Setting, last: int) -> tuple[float, Array]:
    """The logarithm of z*, and how much further the domain reaches at the angles `graded_circle.ANGLES`."""
    edge = _furthest(setting, last) if setting.gapped else 0.0
    gaps, inside = np.zeros((2, len(graded_circle.ANGLES)))
    inside = inside == 0
    for gap in (
        () if setting.follows else np.geomspace(0.02, 3.0, 13)
    ):  # else points are equidistant in any case
        log_z = edge + gap + 1j * graded_circle.ANGLES
        inside &= _positive(setting, log_z, setting.pairs[1].around(log_z))
        if not inside.any():
            break
        gaps[inside] = gap
    return edge, gaps


def _furthest(setting: Setting, last: int) -> float:
    """The logarithm of the largest circle inside the domain, to a small part of 1/last."""
    low, high = 0.0, 0.5 / last
    while high < 30 and inside_the_domain(setting, high):
        low, high = high, 1.25 * high
    for _ in range(7):
        middle = (low + high) / 2
        low, high = (middle, high) if inside_the_domain(setting, middle) else (low, middle)
    return low


def inside_the_domain(setting: Setting, logarithm: float) -> bool:
    """Whether a circle is clear of the poles of α and inside the domain of Φ and Ψ, as the coarse average sees it.

    Where poles are followed other sheets begin beyond a branch point of a, on which Φ and Ψ may be positive as well.
    But then a has negative powers of z on the circle, which the trapezoidal rule finds.
    """
    log_z, pairs = logarithm + 1j * (_STATIONS if setting.follows else _ALL_AROUND), setting.pairs[1]
    solved = pairs.around(log_z)
    if not pairs.negative_powers(log_z, solved) < BORNE:
        return False
    return _clear(setting, log_z, solved) and bool(_positive(setting, log_z, solved).all())


def _clear(setting: Setting, log_z: npt.NDArray, solved: npt.NDArray) -> bool:
    """Whether amplitudes are known and the averages agree at the poles of α as functions of λ."""
    with np.errstate(all="ignore"):
        poles = setting.pairs[1].poles(log_z, solved).reshape(-1, 1)
        averages = (pairs.average for pairs in setting.pairs)
        one, other = (average(poles / (poles - average.nodes)) for average in averages)
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


Place = tuple[
    float, float, bool
]  # where a contour passes, its share of the half-height, whether poles are followed


def of(rows: Rows, update: float | Partition, last: int, borne: float = BORNE) -> Iterator[Setting]:
    """The settings that can be made for `last` epochs of single rows or of batches, the best first."""
    smallest = _smallest(rows)
    gapped = last * smallest / rate(rows.rho, update) > GAPPED
    if not isinstance(rows, SampleRows):
        yield from _of_covariance(rows, update, last, gapped, borne)
        return
    places = left_of_zero(rows.rho, update, last)
    if isinstance(
        update, Partition
    ):  # next to the largest stable step poles come close to few rows' spectrum
        places += [(place, height / 2, False) for place, height, _ in places] + [(places[0][0], 0.25, False)]
    else:
        places[1] = (-0.5, 1.0, True)
    yield from made(rows, update, last, [(0.5 * smallest, NARROW, False)] * gapped + places, borne)


def left_of_zero(rho: float, update: float | Partition, last: int) -> list[Place]:
    """Contours around zero: short of the nearest pole at the last epoch, and eight times as far out."""
    near = -1.5 * max(rate(rho, update), 0.1) / last
    return [(near, 1.0, False), (8 * near, NARROW, False)]


def in_the_gap(rows: SampleRows, step: float) -> Iterator[Setting]:
    """Settings with contours between 0 and a sample's spectrum, for z up to 1 and more rows than dimensions."""
    smallest = _smallest(rows)
    places = [(share * smallest, 1.0, False) for share in (0.5, 0.7, 0.85)]
    return made(rows, step, 1 + int(rate(rows.rho, step) / smallest), places)


def made(
    rows: SampleRows, update: float | Partition, last: int, places: Iterable[Place], borne: float = BORNE
) -> Iterator[Setting]:
    """The settings that can be made with these contours."""
    for place in places:
        with contextlib.suppress(ArithmeticError):
            yield around(rows, update, last, *place, borne)


def around(
    rows: SampleRows,
    update: float | Partition,
    last: int,
    place: float,
    height: float,
    follow: bool = False,
    borne: float = BORNE,
) -> Setting:
    """A setting with contours past this place left of the eigenvalues, if the poles of α allow or are followed.

    In a gap Φ and Ψ must be positive beyond z = 1, as they are where nothing of the average is left out. On spectra of
    random rows nothing is. The functional of a few levels, or of an exact power law, has a part further left, and a
    curve without that part would be wrong at both resolutions alike.
    """
    if rows.gram[0] == 0 < place and (rows.parts / (place - rows.gram)).sum() < 0:  # as centring leaves one
        raise ArithmeticError("A contour in the gap leaves out what few zero eigenvalues do to the average.")
    inside, height = rows.gram[rows.gram > place], height * levy.HALF_HEIGHT
    contours = tuple(
        functools.partial(levy.ellipse, inside, place, angle=each.wide * height) for each in RESOLUTIONS
    )
    averages = [
        levy.from_contour(*rows.spectrum, rows.rho, contour, 10**-each.average)
        for contour, each in zip(contours, RESOLUTIONS, strict=True)
    ]
    if max(average.error for average in averages) > BORNE:
        raise ArithmeticError(
            "The average over this spectrum has no rational representation on this contour."
        )
    if follow and not isinstance(update, Partition):
        return _followed(rows, update, last, averages, contours)
    pairs = tuple(_pairs(average, rows.rho, update) for average in averages)
    setting = Setting(rows, pairs, place > 0, borne, contours)
    log_z = -graded_circle.AMPLIFIED / (2 * last) + 1j * _ALL_AROUND
    if not _clear(setting, log_z, pairs[1].around(log_z)):
        raise ArithmeticError(
            "No contour around this spectrum keeps clear of the poles of single shuffle's resolvent."
        )
    if setting.gapped and not inside_the_domain(setting, 0.01 / last):
        raise ArithmeticError(
            "Where this average leaves out zero, it does not have the whole spectrum inside."
        )
    return setting


def _followed(
    rows: SampleRows,
    step: float,
    last: int,
    averages: list[levy.Average],
    contours: tuple[levy.Contour, ...],
) -> Setting:
    """A setting of single rows in which poles of α may enter the contours, because they are followed."""
    a = Pairs(averages[0], rows.rho, step).around(np.array([1j * np.pi]))
    reach = (1 / (rows.parts / (contours[0](60)[:, None] - rows.gram)).sum(axis=1)).imag.max()
    # turns: 12 where a is not known
    most = int(np.ceil(np.nanmin([reach * np.abs(a[0, 0]) / (2 * np.pi), 12]))) + 1
    turns = np.arange(-most - 1.0, most + 1)
    pairs = tuple(FollowedPairs(average, rows.rho, step, rows.spectrum, turns) for average in averages)
    gapped = last * _smallest(rows) / rate(rows.rho, step) > GAPPED
    return Setting(rows, pairs, gapped, contours=contours)


def _of_covariance(
    rows: Rows, update: float | Partition, last: int, gapped: bool, borne: float
) -> Iterator[Setting]:
    """Settings on rows of a covariance with these positive eigenvalues and shares."""
    averages = (
        levy.from_covariance(rows.values, rows.shares, 0.1 / np.sqrt(last), 10**-each.average)
        for each in RESOLUTIONS
    )
    pairs = tuple(_pairs(average, rows.rho, update) for average in averages)
    for beyond in (True, False) if gapped else (False,):
        yield Setting(rows, pairs, beyond, borne)


def _smallest(rows: Rows) -> float:
    """The smallest positive eigenvalue of the Gram matrix, or the left edge of its law."""
    if isinstance(rows, SampleRows):
        return float(rows.gram[rows.gram > 0][0])
    return rows.leftmost() * rows.rho if isinstance(rows, silverstein.PopulationRows) else 0.0


def rate(rho: float, update: float | Partition) -> float:
    """One over the effective step per row."""
    if not isinstance(update, Partition):
        return 1 / update - 0.5
    kappas, taus = update.kappas, update.taus
    return float((kappas / taus).sum() / rho - (1 - (kappas**2).sum() / rho**2) / 2)


def _pairs(average: levy.Average, rho: float, update: float | Partition) -> Pairs:
    """Φ and Ψ of an average."""
    if not isinstance(update, Partition):
        return Pairs(average, rho, update)
    if not update.equal:
        return ShortBatchPairs(average, rho, update)
    return Pairs(average, rho, float(update.taus[0]), rho / update.batches)
