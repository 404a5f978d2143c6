r"""Flip-flop on any spectrum: the two-point boundary problem behind `flip_flop.curve`, and the losses from it.

For an average :math:`\langle\cdot\rangle` (`edgelaw.exact.levy`), a step η and m = ρ d rows, find
:math:`Y(s,\lambda)`, :math:`0 \le s \le \rho`, with Y(0) = 1 and, a tilde meaning :math:`s \to \rho - s`,

.. math:: Y' = \frac{\lambda}{D}\,(r - 2HY + z\tilde rY^2), \qquad D = H^2 - zr\tilde r, \qquad
   r = \Bigl\langle\frac{\lambda Y}{1-zY\tilde Y}\Bigr\rangle, \quad
   H = \frac1\eta + \Bigl\langle\frac{\lambda zY\tilde Y}{1-zY\tilde Y}\Bigr\rangle .

(In the notation of `flip_flop.curve`, q = 1/Ỹ and y = zY, R = r̃ and P = zr: Y does not grow, whatever λ.) H is
symmetric about ρ/2 and D constant. With :math:`Y_\rho = Y(\rho)` the generating functions of the losses are

.. math:: \sum_n z^n\,\text{test}_n = \Bigl\langle\frac1{1-zY_\rho}\Bigr\rangle, \qquad
   \sum_n z^n\,\text{train}_n = \Bigl\langle\frac\lambda{1-zY_\rho}\Bigr\rangle
   + \frac z\rho\int_0^\rho \frac{zrX^2 - 2HXX_1 + \tilde rX_1^2}{D}\,ds,

with :math:`X = \langle\lambda E\tilde Y/(1-zY\tilde Y)\rangle`,
:math:`X_1 = \langle\lambda E/(1-zY\tilde Y)\rangle` and
:math:`E' = -\frac\lambda D(H - z\tilde rY)E`, E(0) = 1. (q and y obey the same Riccati equation, which gives
g = EỸ/(1−zYỸ) in that notation.)

They are Stieltjes functions: losses are moments of the positive spectral measure of AᵀA. Their only singularity is a
cut from z*, the inverse of its largest eigenvalue other than 1; eigenvalues 1 are a pole at z = 1, known and
subtracted. If
the eigenvalues of the sample reach down to 1/n and less, z* = 1 does. Otherwise losses fall exponentially, and the
problem is solved along the real axis to see how far: until Newton's method fails or a transform stops growing, or
until the pole in λ of what is averaged, 1 − zY_ρ(λ) = 0, comes to the average's contour. (If all rows are independent
Y ≡ 1 at z = 1, for all λ, and that line is passed by interpolation.)

Then the problem is solved along a circle inside the cut (`flip_flop_circle`), from the far side, every guess
extrapolated from the last four solutions, by `flip_flop_collocation`. That is done at several resolutions, each with
another average, edge of panels, number of points and circle, until two agree.

On some samples with a gap no contour has all that belongs inside it, but not the pole. Where the above fails, or is
not accurate, the pole is followed instead (`flip_flop_pole`), with another contour and resolution twice, first on a
circle inside |z| = 1. If losses fall too far for that, then their rate gives an estimate of z*, and a circle beyond 1
the rest.
"""

import itertools
from dataclasses import dataclass

import numpy as np
import scipy

from edgelaw.exact import agreement
from edgelaw.exact.flip_flop import pole as flip_flop_pole
from edgelaw.exact.flip_flop.circle import Circle
from edgelaw.exact.flip_flop.collocation import Problem, Unsolved, graded_panels
from edgelaw.exact.flip_flop.spectra import SampleSpectrum

SMALLEST = 1e-12  # losses below it are continued
AT_ONCE = 1e-6  # losses below it after one epoch are below 1e-12 after two, and continued
SAFETY = 3.0  # by which the difference of two resolutions is multiplied
_FLOOR = 2e-8  # errors are not stated to be less
_TINY = 1e-300
_ROUNDED = 2e-16  # what an average leaves of a loss that has vanished
_MANY = 200  # epochs; after more, losses are smaller, and the circle's tolerance too
_UNSURE = 1e-7  # losses below it are continued where two resolutions do not agree
_CLOSE_UP_TO = 256  # epochs beyond are computed at some only, if many, and interpolated
_MARGIN = 2.5  # the circle crosses the axis at z*·exp(−_MARGIN/n), which costs exp(_MARGIN) of the precision
_ENOUGH = 3e-5  # two resolutions that differ by less are not refined
_DISTRUSTED = 1e-4  # a small loss on which they differ by more is continued
_FASTER = 4.0  # than at z = 0 is what X does if it takes Y through infinity
_CLOSE = 0.4  # n·|log r| that keeps a circle off the pole at 1
_LEAST = 2.5  # n·log z* that makes a gap worth while
_BACK = 8  # solutions that a guess is extrapolated from
_TRIES = 60  # at most, to find the end of a gap
_FALL = 29.0  # in logarithms, from 1 to less than SMALLEST
_POOR = 1e-3  # an error stated above it is worth following the pole
_EDGES = 0.8, 0.6, 0.4  # log z* that is tried, over what the losses' last ratio says, which is too large
_HORIZONS = 1000, 10000  # epochs to see how losses fall, before all are asked for
_KNOWN = 1e-6  # losses above it are known from a circle inside |z| = 1, and one beyond must agree


@dataclass(frozen=True)
class Resolution:
    """One way to discretise: everything that should not matter."""

    left: float  # distance of the average's contour from the eigenvalues, over what it should be
    tolerance: float  # of the average
    points: int  # in a panel
    first: float  # panel, in units of the fastest decay
    growth: float  # from panel to panel
    folds: float  # by which a loss may fall in a panel
    margin: float  # of the circle
    circle: float  # its tolerance


RESOLUTIONS = (
    Resolution(1.5, 1e-7, 5, 6.0, 4.0, 1.8, 1.1 * _MARGIN, 1e-7),
    Resolution(1.0, 1e-9, 7, 6.0, 4.0, 3.0, _MARGIN, 1e-10),
    Resolution(0.8, 1e-10, 9, 5.0, 3.5, 3.0, 0.9 * _MARGIN, 1e-11),
)
_FAR_UNSURE = 1e-4  # losses below it are continued where two of the following do not agree
_FAR = (  # for averages of few different eigenvalues: contours and circles further out, which costs digits
    Resolution(9.0, 1e-9, 7, 6.0, 4.0, 3.0, 14.0, 1e-12),
    Resolution(7.6, 1e-10, 9, 5.0, 3.5, 3.0, 12.9, 1e-13),
)
_FINE = Resolution(1.0, 1e-10, 12, 4.0, 3.0, 2.5, _MARGIN, 1e-12)
_ROUGH = Resolution(1.0, 1e-7, 5, 6.0, 4.0, 2.5, _MARGIN, 1e-6)


def losses(spectrum, n, step, build=None):
    """Test and training loss at ascending epochs n ≥ 1, their relative error, and from where they are continued, if so.

    `spectrum` is a `SampleSpectrum` or a `PopulationSpectrum` (`flip_flop_spectra`). Losses are continued once they
    are below 1e-12, or below 1e-7 and no two resolutions agree on them any more (1e-4 where contours are further out,
    for few different eigenvalues, or the pole is followed); from the second on if that is below 1e-12 already. `build`
    makes the equations, `problem` if absent; with others no pole is followed.
    """
    build = build or problem
    if spectrum.gapped(step, 1):
        first, error, known = first_epoch(spectrum, step, build)
        if first.max() < AT_ONCE:
            values = np.exp(np.outer(np.log(np.maximum(first, _TINY)), n))
            values[0] += spectrum.null
            later = n[n > known]
            return values, error, int(later[0]) if len(later) else None
    edge = log_edge(spectrum, int(n[-1]), step, build)
    attempts = []
    for fraction in (1.0, 0.5, 0.0) if edge else (0.0,):
        attempts.append(_compared(spectrum, step, fraction * edge, n, build))
        if attempts[-1].error < _DISTRUSTED and attempts[-1].complete:
            break
    best = min(attempts, key=_rank)
    refused = not _stated(best) < agreement.LARGEST_ERROR
    if refused:
        best = min(best, _compared(spectrum, step, 0.0, n, build, _FAR, _FAR_UNSURE), key=_rank)
    sample = build is problem and isinstance(spectrum, SampleSpectrum)
    if sample and (not _stated(best) < _POOR or (refused and not best.complete)):
        followed = _followed(spectrum, step, n)
        best = followed if followed.error < _DISTRUSTED else min(best, followed, key=_rank)
    if not np.isfinite(best.error):
        raise Unsolved("The flip-flop equations could not be solved at two resolutions.")
    values, continued = interpolated(best.epochs, best.values, best.counts, n)
    values[0] += spectrum.null
    return values, _stated(best), continued


def first_epoch(spectrum, step, build=None):
    """Both losses after the first epoch, the same for every order, without null directions' share; and their error.

    And whether they are above 1e-12, or else 0 is the last epoch that is known.
    """
    build = build or problem
    coarse, fine = (build(spectrum, step, np.inf, 1, way).first_epoch() for way in (RESOLUTIONS[-1], _FINE))
    if fine.min() < SMALLEST:
        alike = np.exp(
            -step * (2 - step) * spectrum.rho
        )  # as if all directions were, where only noise is left
        return np.where(fine > 10 * _ROUNDED, fine, alike), _FLOOR, 0
    return fine, SAFETY * float((np.abs(coarse / fine - 1) + _ROUNDED / fine).max()) + _FLOOR, 1


@dataclass(frozen=True, eq=False)
class Compared:
    """Losses at some epochs (without the null directions' share), how many of them are computed, and their error."""

    epochs: np.ndarray
    values: np.ndarray
    counts: tuple[int, int]
    error: float

    @property
    def complete(self):
        """Whether all losses above 1e-12 are among those computed."""
        return all(
            (loss[count:] <= SMALLEST).all() for loss, count in zip(self.values, self.counts, strict=True)
        )


def _compared(spectrum, step, edge, n, build, resolutions=None, small=_UNSURE):
    """The losses at the first resolution that agrees with the one before, or the one that agrees best."""
    last = int(n[-1]) if edge == 0 else min(int(n[-1]), max(3, int(np.ceil(_FALL / edge)) + 1))
    epochs = epochs_to_compute(n[n <= last], last)
    best, previous = Compared(epochs, np.empty((2, 0)), (0, 0), np.inf), None
    demanding = edge > 0 and spectrum.independent_rows  # Y turns around, and losses fall fast
    for resolution in resolutions or RESOLUTIONS[1 if demanding else 0 :]:
        try:
            present = solved(spectrum, step, edge, last, epochs, resolution, build)
        except ArithmeticError:
            continue
        if previous is not None:
            attempt = _agreement(epochs, present, previous, spectrum.null, small)
            best = min(best, attempt, key=_rank)
        previous = present
        if best.error < _ENOUGH and best.complete:
            break
    return best


def _followed(spectrum, step, n):
    """The losses with the pole followed: inside |z| = 1, and beyond if they fall too far for that."""
    last = int(n[-1])
    for horizon in [*(epoch for epoch in _HORIZONS if epoch < last), last]:
        near = _pole_compared(spectrum, step, 0.0, n[n <= horizon], horizon)
        if not near.complete:
            break
    if near.complete or not _stated(near) < agreement.LARGEST_ERROR:
        return near
    at, train = np.append(0, near.epochs), np.append(1.0, near.values[1])
    (x, y), (before, after) = (values[near.counts[1] - 1 :][:2] for values in (at, train))
    if not before > after > 0:
        return near
    rate = np.log(before / after) / (y - x)
    last = min(last, max(3, int(np.ceil(_FALL / rate)) + 1))
    for fraction in _EDGES:
        far = _pole_compared(spectrum, step, fraction * rate, n[n <= last], last)
        if far.error < _DISTRUSTED and far.complete and _agree(near, far):
            return far
    return near


def _pole_compared(spectrum, step, edge, n, last):
    """The losses at epochs up to the last by the first two ways to follow the pole that agree, or agree best."""
    epochs = np.union1d(epochs_to_compute(np.arange(1, last + 1), last), epochs_to_compute(n, last))
    best, previous, failed = Compared(epochs, np.empty((2, 0)), (0, 0), np.inf), None, 0
    for way in flip_flop_pole.WAYS:
        try:
            present = flip_flop_pole.losses(spectrum, step, edge, last, epochs, way)
        except ArithmeticError:
            failed += 1
            if failed > len(flip_flop_pole.WAYS) - 2:
                break  # no two are left
            continue
        if previous is not None:
            attempt = _agreement(epochs, present, previous, spectrum.null, _FAR_UNSURE)
            best = min(best, attempt, key=_rank)
        previous = present
        if best.error < _DISTRUSTED:
            break
    return best


def _agree(near, far):
    """Whether two circles give the same losses, where they are known from both."""
    _, i, j = np.intersect1d(near.epochs, far.epochs, return_indices=True)
    one, other = near.values[:, i], far.values[:, j]
    known = (one > _KNOWN) & (i < np.array(near.counts)[:, None])
    return bool((np.abs(other - one)[known] < _POOR * one[known]).all())


def _stated(compared):
    """The error that is stated."""
    return SAFETY * compared.error + _FLOOR


def _rank(compared):
    """First what agrees well enough, the more of it the better; then what agrees best."""
    trusted = compared.error < _DISTRUSTED
    return not trusted, -min(compared.counts) if trusted else 0, compared.error


def _agreement(epochs, fine, coarse, null, small):
    """How far two resolutions agree, and how well: losses that are `small` are left out where they do not."""
    with np.errstate(divide="ignore", invalid="ignore"):
        difference = np.abs(coarse - fine) / np.abs(fine + np.array([[null], [0.0]]))
    counts, error = [], 0.0
    for loss, differences in zip(fine, difference, strict=True):
        needed = np.where(loss < SMALLEST, _ENOUGH, np.where(loss < small, _DISTRUSTED, np.inf))
        ends = ~(loss > 0) | ~(differences < needed)
        count = int(np.argmax(ends)) if ends.any() else len(loss)
        counts.append(max(count, 1))
        error = max(error, differences[: counts[-1]].max())
    return Compared(epochs, fine, tuple(counts), float(error) if np.isfinite(error) else np.inf)


def epochs_to_compute(n, last):
    """Epochs that the losses at n follow from: n itself and the last two, or if n are many some that are close."""
    close = 2.0 ** np.arange(np.log2(_CLOSE_UP_TO), np.log2(max(last, _CLOSE_UP_TO)), 1 / 12)
    many = np.concatenate([np.arange(1, min(last, _CLOSE_UP_TO) + 1), close])
    some = np.append(n, 1) if len(n) < len(many) else many
    return np.unique(np.concatenate([some, [max(last - 1, 1), last]]).astype(int))


def interpolated(computed, values, counts, n):
    """Losses at n from the first few computed of each: smooth in between, and continued by the last ratio.

    Also the first of the epochs n at which a loss is continued, or None.
    """
    result, continued = np.empty((2, len(n))), None
    for i, (loss, count) in enumerate(zip(values, counts, strict=True)):
        at, log = np.append(0, computed[:count]), np.append(0.0, np.log(np.maximum(loss[:count], _TINY)))
        within = np.minimum(n, at[-1])
        places = np.searchsorted(at, within)
        result[i] = log[places]
        between = at[places] != within
        if between.any():
            result[i, between] = scipy.interpolate.make_interp_spline(np.log(at[1:]), log[1:], k=7)(
                np.log(within[between])
            )
        slope = (log[-1] - log[-2]) / (at[-1] - at[-2])
        result[i] += (n - within) * slope
        if n[-1] > at[-1]:
            first = int(n[n > at[-1]][0])
            continued = first if continued is None else min(continued, first)
    return np.exp(result), continued


# ------------------------------------------------------------------------------------------------ one resolution


def problem(spectrum, step, edge, last, resolution, probes=()):
    """The boundary problem for a spectrum, and a resolution of it.

    What a loss falls in the first epoch, it falls over [0, ρ]: a panel covers so many e-foldings only.
    """
    average = spectrum.average(step, edge, last, resolution.left, resolution.tolerance)
    turned = edge > 0 and spectrum.independent_rows  # z may be above 1
    fastest = 2 * step * np.abs(average.nodes).max() * (_FASTER if turned else 1)

    same = 1e-7 * min(1.0, _MANY / last)

    def on_panels(longest):
        panels = graded_panels(spectrum.rho, fastest, resolution.first, resolution.growth, longest)
        return Problem(average, step, spectrum.rho, panels, resolution.points, probes, turned, same)

    rough = on_panels(np.inf)
    fall = -np.log(np.clip(rough.first_epoch()[1], SMALLEST, 1.0))
    longest = resolution.folds * spectrum.rho / max(fall, 1e-9)
    return rough if longest > rough.panels.max() else on_panels(longest)


def solved(spectrum, step, edge, last, epochs, resolution, build):
    """Both losses at the epochs, without what null directions keep of the test loss."""
    many = min(1.0, _MANY / last)
    margin = resolution.margin * min(1.0, 5 * many) ** 0.5  # rounding errors count more after many epochs
    if abs(edge * last - margin) < _CLOSE:  # not through the pole at 1
        margin += 2 * _CLOSE
    circle = Circle(edge, margin / last, resolution.circle * many**1.5)
    present = build(spectrum, step, edge, last, resolution)
    transforms = around(present, circle)
    transforms[0] -= spectrum.null / (1 - circle.z(circle.x))
    values = circle.coefficients(transforms, epochs)
    if edge > 0:  # directly, in case it is tiny already
        values[:, 0] = present.first_epoch()
        values[0, 0] += present.still - spectrum.null
    return values


def around(problem, circle, transforms_of=None):
    """The transforms at the points of a circle's upper half, walked along from −r; others if a function is given."""
    x, transforms_of = circle.x, transforms_of or problem.transforms
    Y, end = along_axis(problem, circle.z(x[0]))
    transforms, history, i = [transforms_of(circle.z(x[0]), Y, end)], [(x[0], Y)], 1
    ahead = x[1:2]
    while i < len(x):
        z = circle.z(ahead[0])
        try:
            Y, end = problem.newton(z, extrapolated(problem, history, ahead[0]))
        except Unsolved:  # half the way
            ahead = (history[-1][0] + ahead) / 2
            if ahead[0] - history[-1][0] < 0.03 * (x[1] - x[0]):
                raise
            continue
        history.append((ahead[0], Y))
        if ahead[0] == x[i]:
            transforms.append(transforms_of(z, Y, end))
            i += 1
        ahead = x[i : i + 1]
    return np.array(transforms).T


def along_axis(problem, z):
    """Y at z and its end, from z = 0 on a straight line, which crosses no cut if z is not positive."""
    Y, at, stride = problem.start(), 0.0, 1.0
    while True:
        ahead = min(1.0, at + stride)
        try:
            Y, end = problem.newton(ahead * z, Y, steps=12)
        except Unsolved:
            stride /= 4
            if stride < 1e-6:
                raise
            continue
        if ahead == 1:
            return Y, end
        at, stride = ahead, 3 * ahead


def extrapolated(problem, history, x):
    """The unknown at x by the polynomial through the last few of (x, unknown), in the charts that suit the last."""
    del history[:-_BACK]
    history[:] = zip((at for at, _ in history), problem.charted([X for _, X in history]), strict=True)
    places = np.array([at for at, _ in history])
    gaps, ahead = places[:, None] - places, np.tile(x - places, (len(places), 1))
    np.fill_diagonal(gaps, 1.0)
    np.fill_diagonal(ahead, 1.0)
    weights = (ahead / gaps).prod(axis=1)  # Lagrange's
    return sum(weight * X for weight, (_, X) in zip(weights, history, strict=True))


# ------------------------------------------------------------------------------------------------ the edge of the cut


def log_edge(spectrum, last, step, build):
    """The logarithm of a lower bound of z*, close to it or to where the average ends; 0 without an appreciable gap."""
    if not spectrum.gapped(step, last):
        return 0.0
    try:
        edge = _March(build(spectrum, step, np.inf, last, _ROUGH, spectrum.probes), spectrum, last).edge()
    except ArithmeticError:
        return 0.0
    return edge if edge * last > _LEAST else 0.0


class _March:
    """The solution along the positive axis, as far as it goes.

    Two things end it, and are seen coming: 1 − zY_ρ vanishes at a probe, or the determinant of Newton's equations
    vanishes, like the root of the distance, at z*. Beyond, Newton's method fails, or gives another solution, with a
    determinant of another sign. Transforms and their slopes must grow, as those of positive measures do.
    """

    def __init__(self, problem, spectrum, last):
        self.problem, self.spectrum, self.last, self.probes = problem, spectrum, last, spectrum.probes
        self.history, self.values, self.clear, self.regular = [], [], [], []
        self.unit = None
        Y = problem.start()
        for z in (0.2, 0.4, 0.6, 0.8):
            Y, _ = problem.newton(complex(z), Y, steps=12)
            self.history.append((np.log(z), Y))
        if spectrum.independent_rows and problem.ones() is not None:
            self.history.append((0.0, problem.ones()))

    def edge(self):
        """log z, to a fraction of 1/last, or of itself where losses fall soon; less than 0 without a gap."""
        stride, wall = _LEAST / self.last, np.inf
        self.at = 0.0
        for _ in range(_TRIES):
            small = 0.5 * max(1 / self.last, self.at / _FALL)
            limit = min(wall, _zero(self.clear), _zero(self.regular))
            if limit - self.at < small or self.at > _FALL:
                break
            stride = min(stride, 0.6 * (wall - self.at), 0.75 * (limit - self.at))
            if self.reached(self.at + stride):
                stride *= 2
            else:
                wall = self.at + stride
                stride /= 2
        return self.at

    def reached(self, ahead):
        """Go to log z = ahead if there is a solution that continues the last ones."""
        z = complex(np.exp(ahead))
        try:
            Y, end = self.problem.newton(z, extrapolated(self.problem, self.history, ahead))
        except Unsolved:
            return False
        values = self.problem.transforms(z, Y, end).real
        values[0] -= self.spectrum.null / (1 - z.real)
        sign, size = self.problem.determinant(z, Y)
        self.unit = (sign, size) if self.unit is None else self.unit
        regular = (sign / self.unit[0]).real * np.exp(2 * (size - self.unit[1]))
        clear = self.clearance(z.real, end)
        if not (regular > 0 and clear > 0 and self.grows(z.real, values)):
            return False
        self.at = ahead
        self.values.append((z.real, values))
        self.regular.append((ahead, regular))
        self.clear.append((ahead, clear))
        self.history.append((ahead, Y))
        return True

    def grows(self, z, values):
        """Whether transforms, and their slopes, are larger than before."""
        if not self.values:
            return bool((values > 0).all())
        slopes = [
            (new - old) / (x - y)
            for (y, old), (x, new) in itertools.pairwise([*self.values[-2:], (z, values)])
        ]
        return bool((slopes[0] > 0).all() and (slopes[-1] >= slopes[0] * (1 - 1e-6)).all())

    def clearance(self, z, end):
        """1 − zY_ρ at the probe, or an angle that vanishes with it at one of two; 1 without a probe.

        With independent rows it is compared with 1 − z. To the left it falls from there to zero; to the right, where Y
        passes through infinity, it rises to infinity and then from minus infinity to zero.
        """
        if not len(self.probes):
            return 1.0
        inverse = self.problem.touched(z, end)[-len(self.probes) :].real
        if not self.spectrum.independent_rows:
            return 1 / inverse[0]
        left, right = np.arctan((1 - z) * inverse)
        angle = min(np.pi / 2 - left if left > 0 else 0.0, np.pi / 2 + right)
        return angle if not self.clear or angle < 1.01 * self.clear[-1][1] else 0.0


def _zero(points):
    """Where a falling function will vanish, by linear extrapolation from the last two points."""
    if len(points) < 2:
        return np.inf
    (x, before), (y, after) = points[-2:]
    return y + after * (y - x) / (before - after) if before > after else np.inf
