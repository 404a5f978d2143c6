r"""The operator T of random reshuffle on any spectrum, :math:`\mathbb E_\pi A^\top g(S) A \simeq (Tg)(S)`.

Let ⟨·⟩ be the average of :mod:`edgelaw.exact.levy`, η the step and m = ρd. For z off the spectrum F of
:math:`S = \sum_i u_iu_i^\top` let x solve :math:`\rho/x + \langle\lambda/(1-\lambda x)\rangle = z`, and
:math:`a = xz/\rho`, :math:`r = 1/(z(1-x\lambda))`, which is what :math:`(z-S)^{-1}` amounts to. Rows come in one
by one, s = (rows used)/d, and with :math:`\gamma = \langle\lambda r f\rangle`, :math:`c = \langle\lambda C\rangle`

.. math::

    f' = -\eta\lambda(f + a\gamma),\ f(0) = 1; \qquad
    C' = -2\eta\lambda C + \eta^2\lambda c + a\lambda(\eta^2\gamma^2 - 2\eta\gamma r f),\ C(0) = r

are :math:`(z-S)^{-1}A_s \simeq rf` and :math:`A_s(z-S)^{-1}A_s^\top \simeq C`. For two points, with
:math:`\langle\cdot\rangle_{12} = \langle\cdot\,r_1r_2\rangle`, :math:`\bar f = f_1(\rho-s)`,
:math:`\bar\gamma = \gamma_1(\rho-s)`, :math:`l = -\bar f'`, :math:`q = \gamma_2(s)`, c = c₂(s) and
:math:`D = 1 - a_1a_2\langle\lambda^2\rangle_{12}s`,

.. math::

    p &= \{\langle\lambda f_1(\rho)\rangle_{12} + a_2\textstyle\int_0^s q\langle\lambda l\rangle_{12}\}/D, \\
    P &= \langle\lambda f_1(\rho)\bar f\rangle_{12}
         + a_2\textstyle\int_0^s q(s')\langle\lambda l(s')\bar f\rangle_{12}ds'
         + \langle\lambda^2\bar f\rangle_{12}\int_0^s a_1a_2\{p + a_2qs'\langle\lambda l\rangle_{12}\}D^{-1}ds', \\
    b &= \langle f_1(\rho)^2\rangle_{12} + \textstyle\int_0^\rho\{\eta^2(c + a_2q^2)\langle\lambda\bar f^2r_1\rangle
         + a_1\eta^2c\bar\gamma^2 + a_1a_2(p - \eta q\bar\gamma)^2 - 2\eta a_2qP\}\,ds

is :math:`\mathbb E\operatorname{tr}[(z_1-S)^{-1}A(z_2-S)^{-1}A^\top]/d`: symmetric in z₁ and z₂, though it does not
look it. It is the double Cauchy transform of T, a multiplication and an integral,

.. math:: (Tg)(\lambda) = \bar a(\lambda)^2g(\lambda) + \int k(\lambda,\mu)g(\mu)\,dF(\mu), \qquad
    \bar a(\lambda) = -\frac{1}{2\pi i}\oint\frac{z\,e^{-\eta\rho/x}}{z-\lambda}\frac{x'}{x}\,dz,

with ā and k/(λμ) entire.

Numerics: ā by its integral, at the eigenvalues themselves; k/(λμ) by orthonormal polynomials in
:math:`\log(1+(\lambda-\text{low})/\text{scale})`, from b on an ellipse around F in that variable. So the part of T that
a large n depends on is exact, and what is approximated is smooth. Where F keeps off zero the ellipse does too: at zero
an epoch forgets nothing, while T itself may be as small as the loss it leaves, and only a contour on which b is as
small as T gives T to a relative accuracy. Everything is done on two contours, with two averages ⟨·⟩ and two grids of s,
and the difference says how many polynomials the arithmetic can carry and how accurate the curve is. One number is known
apart from all this: the test loss after an epoch, since the first rows are fresh to every order. Losses below 1e-12 on
which the two do not agree are continued by their last ratio. Where the second epoch is below 1e-12 already, the first
comes from flip-flop's equations, which have it to a relative accuracy.
"""

import functools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy
import scipy.linalg

from edgelaw.exact import agreement, levy, silverstein
from edgelaw.exact.flip_flop import boundary as flip_flop_boundary
from edgelaw.exact.flip_flop import spectra as flip_flop_spectra
from edgelaw.exact.random_reshuffle import kick as reshuffle_kick
from edgelaw.exact.random_reshuffle import pairs as reshuffle_pairs

_SCALE = 1.0  # eigenvalues below it look alike to the kernel
_OF_LOWEST = 0.2  # so do, above a gap, those closer to the lowest one than this part of it
_HIGHEST = 1.1  # half the height of a contour in the logarithm, at most: further out, functions grow
_ISOLATED = 0.02  # the least distance from zero at which a contour may pass between F and zero
INSIDE = 0.8  # the average's contour, over b's
_DIGITS = 26  # of the trapezoidal rule, in powers of e
_LARGEST = 24  # polynomials
_FLOOR = 1e-12  # losses below it may be continued
_ACCURATE = 4e-4  # a smaller error is not improved on by trying other polynomials
_TRUSTED = 1e-3  # nor this by trying another contour
_SAFETY = 2.0  # between the difference of two resolutions and the stated error
_LEAST = 2e-9  # stated: where the two agree to more, they share errors
_LINE = 200  # points of F at which ā is compared with 1
_DENSE = 1500  # up to so many nodes T may become a matrix


class Resolution(NamedTuple):
    """One way to discretise: digits of the trapezoidal rule, in powers of e; the part of the times s taken; a width."""

    digits: float
    times: float
    wide: float


FINE = Resolution(_DIGITS, 0.92, 1.0)
ROUGH = Resolution(22, 0.84, 1.1), Resolution(_DIGITS, 0.88, 1.1)  # the second where the first is not enough


@dataclass(frozen=True)
class Rows:
    """An epoch of single rows at a step η. `batches.random_reshuffle.Epoch` has the same methods for batches."""

    step: float
    symmetric = contracts = True
    fewest = 1  # polynomials that a kernel takes

    def mean(self, x, rho):
        """What stands for the mean epoch in the contour integral of ā."""
        return np.exp(-self.step * rho / x)

    def pair(self, average, z, x, rho, part):
        """b at all pairs of the points z and of them and their conjugates, on the given part of the times s."""
        points = int(part * _times(self.step, rho, np.abs(average[0]).max()))
        return reshuffle_pairs.two_resolvents(average, z, x, rho, self.step, points)

    def end(self, average, z, x, rho, tau, part):
        """C at the end of an epoch, for the kick of residuals."""
        largest = max(np.abs(average[0]).max(), np.abs(tau).max())
        points = int(part * _times(self.step, rho, largest))
        return reshuffle_kick.end_of_rows(average, z, x, rho, self.step, tau, points)

    def rate(self, parts):
        """How fast the loss of isotropic rows falls in the first epoch."""
        return self.step * (2 - self.step) * parts.rho

    def at_once(self, law):
        """Losses after the first epoch, their error and the last epoch known, if the second leaves nothing."""
        if self.step * (2 - self.step) * law.rho > -np.log(flip_flop_boundary.AT_ONCE) / 2:
            first, error, known = flip_flop_boundary.first_epoch(law.spectrum, self.step)
            if first.max() < flip_flop_boundary.AT_ONCE:
                return first, error, known
        return None


class Losses(NamedTuple):
    """Test and training loss of F's positive part at each n, their relative error, the last epoch not continued."""

    values: np.ndarray
    error: float
    continued: int | None


@dataclass(frozen=True)
class Contour:
    """An ellipse around [low, high] in log(1 + (z − low)/scale): points, and dz/(2πi) by the trapezoidal rule."""

    low: float
    high: float
    scale: float
    eccentricity: float

    @property
    def length(self):
        """Its width in the logarithm."""
        return np.log1p((self.high - self.low) / self.scale)

    @property
    def height(self):
        """Half the height of the ellipse in the logarithm."""
        return self.length / 2 * np.sinh(self.eccentricity)

    def scaled(self, factor):
        """An ellipse of another eccentricity about the same interval."""
        return Contour(self.low, self.high, self.scale, factor * self.eccentricity)

    def position(self, z):
        """Where z is if low and high are at −1 and 1."""
        return np.log1p((z - self.low) / self.scale) * 2 / self.length - 1

    def __call__(self, digits=_DIGITS):
        """Points of the upper half, of a rule with an accuracy of e^(−digits)."""
        count = int(np.ceil(max(digits / 2 / self.eccentricity, 20)))
        angle = self.eccentricity + 1j * np.pi * (np.arange(count) + 0.5) / count
        u = self.length / 2 * (1 + np.cosh(angle))
        slope = self.scale * np.exp(u) * self.length / 2 * np.sinh(angle)
        return self.low + self.scale * np.expm1(u), slope / (2 * count)


@dataclass(frozen=True, eq=False)
class Law:
    """A spectrum F as T needs it.

    `lowest` and `highest` are the ends of its positive part and `null` the share of zeros; `transform(z)` gives x and
    dx/dz; `average(contour)` nodes and weights of ⟨·⟩ for functions analytic outside the contour;
    `measure(contour, fine)` nodes and masses of the positive part; `spectrum` is the one of flip-flop's equations.
    """

    lowest: float
    highest: float
    rho: float
    null: float
    transform: object
    average: object
    measure: object
    spectrum: object


@dataclass(frozen=True, eq=False)
class Operator:
    """T on nodes of F: diag(multiplier²) + λ ψ kernel ψᵀ λ mass."""

    nodes: np.ndarray
    mass: np.ndarray
    multiplier: np.ndarray
    basis: np.ndarray
    kernel: np.ndarray

    def losses(self, n):
        """∫ Tⁿ1 dF and ∫ λ Tⁿ1 dF at ascending n: single steps, and powers of the matrix over long ways."""
        left = self.nodes[:, None] * self.basis @ self.kernel
        right = self.basis.T * (self.nodes * self.mass)
        square, state, now = self.multiplier**2, np.ones_like(self.multiplier), 0
        powers, sums = [], np.empty((2, len(n)))
        for place, target in enumerate(n):
            if target - now > 2000 and len(self.nodes) <= _DENSE:
                powers = powers or [np.diag(square) + left @ right]
                for bit in range(int(target - now).bit_length()):
                    if bit == len(powers):
                        powers.append(powers[-1] @ powers[-1])
                    if (int(target - now) >> bit) & 1:
                        state = powers[bit] @ state
            else:
                for _ in range(target - now):
                    state = square * state + left @ (right @ state)
            now = target
            sums[:, place] = (self.mass @ state).real, ((self.mass * self.nodes) @ state).real
        return sums


def losses(law, n, epoch):
    """The losses of F's positive part at ascending n, on the first contour that gives them accurately; or a refusal.

    `epoch` is `Rows(step)`, or `batches.random_reshuffle.Epoch`.
    """
    vanished = epoch.at_once(law)
    if vanished is not None:
        first, error, known = vanished
        return _at_once(law, first, n, error, known)
    best = Losses(np.ones((2, len(n))), np.inf, None)
    for contour in usable_contours(law):
        fine = contour_parts(law, epoch, contour, FINE)
        for rough in ROUGH:
            parts = fine, contour_parts(law, epoch, contour, rough)
            for power in (0, 1, 4) if contour.low < _ISOLATED else (0,):
                attempt = _attempt(law, parts, n, epoch, power)
                best = min(best, attempt, key=lambda result: result.error)
                if best.error <= _ACCURATE:
                    return best
            if best.error <= _TRUSTED:
                return best
    if not best.error <= agreement.LARGEST_ERROR:
        raise ArithmeticError(
            f"The reshuffle curve of this spectrum could not be computed: estimated relative error {best.error:.1e}."
        )
    return best


def _at_once(law, first, n, error, known):
    """Losses that have all but vanished after the first epoch, continued by the ratio that it gives."""
    start = np.array([1 - law.null, law.rho])
    ratio = np.maximum(first * [1, law.rho] / start, 1e-300)
    return Losses(start[:, None] * ratio[:, None] ** n, error, known if n[-1] > known else None)


def edge(law, epoch):
    r"""The rate −ā′(0) at a left edge at zero, the potential g(0) there, and their relative error; or a refusal.

    g solves :math:`(1-T)g = \lambda`. Divided by λ that is
    :math:`g(\lambda)(1-\bar a^2)/\lambda = 1 + \sum\psi_i(\lambda)K_{ij}c_j` with
    :math:`c_j = \int\psi_j\mu g\,dF`: a linear system for c, as large as the number of polynomials ψ.
    """
    contour = next(usable_contours(law))
    parts = [contour_parts(law, epoch, contour, resolution) for resolution in (FINE, ROUGH[-1])]
    kernels = [kernel_of(part, 0) for part in parts]
    sizes = kernel_sizes(kernels[0][1], kernels[1][1], len(parts[0].nodes))
    rates = [reshuffle_kick.rate_at_zero(law, epoch, at) for at in (contour, contour.scaled(1.1))]
    values = [
        _potential_at_zero(part, basis[:, :size], kernel[:size, :size], origin[:size], rate)
        for part, (basis, kernel, origin), size, rate in zip(parts, kernels, sizes, rates, strict=True)
    ]
    error = max(abs(pair[1] / pair[0] - 1) for pair in (rates, values))
    if not error <= _TRUSTED:
        raise ArithmeticError(
            f"The edge constants of random reshuffle could not be computed: estimated relative error {error:.1e}."
        )
    return rates[0], values[0], float(error)


def amplification(law, epoch):
    r"""Below 1 exactly where the spectral radius of T is: the larger of ā² on F and of what the kernel adds.

    T preserves positivity, so that its spectral radius is an eigenvalue. With k = λμ ΣKψψ it is below 1 if ā² is and if
    the radius of :math:`K\int\psi\psi^\top\lambda^2(1-\bar a^2)^{-1}dF` is, a matrix as large as the number of ψ.
    """
    contour = next(usable_contours(law))
    line = np.linspace(law.lowest, law.highest, _LINE)[1:]  # ā = 1 at an edge at zero
    largest = float((_multiplier(law, epoch, contour, line) ** 2).max())
    if not largest < 1:
        return largest
    one, other = (contour_parts(law, epoch, contour, resolution) for resolution in (FINE, ROUGH[-1]))
    basis, kernel, _ = kernel_of(one, 0)
    size, _ = kernel_sizes(kernel, kernel_of(other, 0)[1], len(one.nodes))
    basis, kernel = basis[:, :size], kernel[:size, :size]
    share = (basis.T * (one.mass * one.nodes**2 / (1 - one.multiplier**2))) @ basis
    return max(largest, float(np.abs(np.linalg.eigvals(kernel @ share.real)).max()))


def _potential_at_zero(part, basis, kernel, origin, rate):
    """g(0), with the polynomials at zero in `origin`."""
    weighted = basis.T * (part.mass * part.nodes**2 / (1 - part.multiplier**2))
    c = np.linalg.solve(np.eye(len(kernel)) - (weighted @ basis).real @ kernel, weighted.sum(axis=1).real)
    return float((1 + origin @ kernel @ c) / (2 * rate))


def usable_contours(law):
    """Contours on which ⟨·⟩ is right, the most promising first: between F and zero if there is room, and around both.

    Each is as close as can be. The test is :math:`\\langle\\lambda r\\rangle = 1 - 1/a`. It fails on a contour so close
    to single eigenvalues that x takes a value twice outside. A contour that wraps around in the logarithm meets
    functions that grow.
    """
    bare = law.null == 0 and law.rho <= 1
    low = min(law.lowest, 0.9 * law.highest)  # an ellipse has a width, even around one eigenvalue
    around = [(low if bare else 0.0, scale) for scale in (_SCALE, _SCALE / 3, 3 * _SCALE)]
    between = [(low, min(max(_SCALE, _OF_LOWEST * low), part * low)) for part in (0.7, 0.5, 0.85)]
    ends = between + around if law.lowest > _ISOLATED else around + between * (law.lowest > 0)
    usable = 0
    for low, scale in dict.fromkeys(ends):  # far from zero the scales between are one
        for eccentricity in (0.4, 0.5, 0.65, 0.85, 1.1, 1.4, 1.8, 2.3):
            contour = Contour(low, law.highest, scale, eccentricity)
            if contour.height > _HIGHEST:
                contour = contour.scaled(np.arcsinh(2 * _HIGHEST / contour.length) / eccentricity)
            if _averages_well(law, contour):
                usable += 1
                yield contour
                break
            if contour.eccentricity < eccentricity:
                break
    if not usable:
        raise ArithmeticError(
            "The reshuffle curve of this spectrum could not be computed: it has too few different eigenvalues, or "
            "gaps too wide, for a contour around it."
        )


@functools.lru_cache(maxsize=64)
def _averages_well(law, contour):
    """Whether the trapezoidal rule on a contour half as wide has ⟨λr⟩ right on this one."""
    z, _ = contour()
    x, _ = law.transform(z)
    zeta, dz = contour.scaled(0.5)(42)
    inner, slope = law.transform(zeta)
    w = -(zeta + (1 - law.rho) / inner) * slope * dz
    t, w = np.concatenate([1 / inner, 1 / inner.conj()]), np.concatenate([w, w.conj()])
    return np.abs((t / (1 - x[:, None] * t)) @ w / z - 1 + law.rho / (x * z)).max() < 1e-11


def _attempt(law, parts, n, epoch, power):
    """Losses and their error, with one choice of polynomials: where two resolutions agree, and the test loss falls."""
    one, other = parts
    null = np.array([[law.null], [0.0]])
    (basis, kernel, _), (rougher, rough, _) = (kernel_of(part, power) for part in parts)
    size, fewer = kernel_sizes(kernel, rough, len(one.nodes), epoch.fewest)
    operator = Operator(one.nodes, one.mass, one.multiplier, basis[:, :size], kernel[:size, :size])
    check = Operator(other.nodes, other.mass, other.multiplier, rougher[:, :fewer], rough[:fewer, :fewer])
    with np.errstate(all="ignore"):
        better, worse = operator.losses(n), check.losses(n)
        distance = np.abs((worse - better) / (null + better)).max(axis=0)
        rise = np.diff(better[0]) / (law.null + better[0, :-1])
    if epoch.contracts:
        distance[1:] = np.maximum(distance[1:], rise)
    if not (fewer < size or size == len(one.nodes)):
        distance[1:] = np.inf
    distance[n == 1] = np.maximum(distance[n == 1], np.abs(one.first / (law.null + better[0, n == 1]) - 1))
    return _continued(n, better, distance, epoch.rate(one), one.asymmetry)


def _continued(n, values, distance, rate, asymmetry):
    """The losses, continued by their last ratio from where one is small beside its start and not vouched for.

    The error is that of the epochs before.
    A loss that is small after the first epoch has no ratio; then it is e^(−η(2−η)ρ), that of isotropic rows. The
    ratio is made smaller if what was computed, which is below 1e-12 and inaccurate, is smaller than that.
    """
    small = (np.abs(values) < _FLOOR * values[:, :1]).any(axis=0) & ~(distance < _ACCURATE)
    count = int(np.argmax(small)) if small.any() else len(n)
    error = _SAFETY * distance[1:count].max(initial=0.0) + asymmetry * (count > 1) + _LEAST
    if not np.isfinite(error):
        error = np.inf
    if count == len(n):
        return Losses(values, float(error), None)
    values, last, width = values.copy(), values[:, count - 1], n[count] - n[count - 1]
    slope = np.full(2, -rate)
    if n[count - 1] > 0:
        slope = np.log(last / values[:, count - 2]) / (n[count - 1] - n[count - 2])
    slope = np.minimum(slope, np.log(np.maximum(np.abs(values[:, count]), 1e-300) / last) / width)
    values[:, count:] = last[:, None] * np.exp(np.multiply.outer(slope, n[count:] - n[count - 1]))
    return Losses(values, float(error), int(n[count - 1]))


def kernel_sizes(kernel, rough, nodes, fewest=1):
    """How many polynomials: the number with the least sum of what is left out and what the two contours disagree on.

    The rough computation takes one less, unless they are all there are.
    """
    largest = min(len(kernel), len(rough))
    complete = largest == nodes
    difference = (kernel - rough)[:largest, :largest]
    noise, shell = (
        np.array([np.abs([x[k, : k + 1], x[: k + 1, k]]).max() for k in range(largest)])
        for x in (difference, kernel)
    )
    noise = np.maximum.accumulate(noise)
    beyond = np.append(np.minimum.accumulate(shell[1:]), 0.0 if complete else np.inf)
    size = 1 + int(np.argmin(noise + beyond))
    return size, size if complete and size == largest else max(fewest, size - 1)


@dataclass(frozen=True, eq=False)
class Parts:
    """What one contour gives: F's nodes and masses, ā on them, Chebyshev polynomials there, outside and at zero, b.

    `null` is the share of zeros inside the contour, `first` the test loss after an epoch, `pole` that of χ; b is
    `symmetric` unless an epoch and its transpose differ in law.
    """

    nodes: np.ndarray
    mass: np.ndarray
    multiplier: np.ndarray
    inside: np.ndarray
    outside: np.ndarray
    origin: np.ndarray
    z: np.ndarray
    dz: np.ndarray
    b: np.ndarray
    conjugate: np.ndarray
    asymmetry: float
    null: float
    first: float
    pole: float
    rho: float
    symmetric: bool


def contour_parts(law, epoch, contour, resolution):
    """What a contour gives at a resolution; the pole of χ is to the left of all contours."""
    pole = 1 + 2 * max(0.0, -contour.scaled(ROUGH[-1].wide)()[0].real.min())
    contour = contour.scaled(resolution.wide)
    z, dz = contour(resolution.digits)
    x, _ = law.transform(z)
    nodes, mass = law.measure(contour, resolution is FINE)
    multiplier = _multiplier(law, epoch, contour, nodes)
    average = law.average(contour.scaled(INSIDE))
    b = epoch.pair(average, z, x, law.rho, resolution.times)
    inside, outside = (_chebyshev(contour.position(at)) for at in (nodes, z))
    null = law.null if contour.low == 0 else 0.0
    origin = _chebyshev(contour.position(np.zeros(1))) if contour.low < contour.scale else outside[:1].real
    return Parts(
        *(nodes, mass, multiplier, inside, outside, origin, z, dz),
        *(b.plain, b.conjugate, b.asymmetry, null, b.first, pole),
        *(law.rho, epoch.symmetric),
    )


def _times(step, rho, largest):
    """How many points of s give b to 1e-13 of its size: more if rates are high, and if b is small but not too small."""
    digits = step * (2 - step) * rho
    return int(18 + 5 * np.log1p(step * rho * largest) + (0.75 * digits if digits < -np.log(_FLOOR) else 0))


def _multiplier(law, epoch, contour, nodes):
    """ā at points inside the contour."""
    z, dz = contour(80)
    x, slope = law.transform(z)
    integrand = epoch.mean(x, law.rho) * z * slope / x * dz
    values = (1 / (nodes[:, None] - z)) @ integrand
    if np.iscomplexobj(nodes):
        return values + ((1 / (nodes.conj()[:, None] - z)) @ integrand).conj()
    return 2 * values.real


def kernel_of(part, power):
    """Polynomials ψ on the nodes, k/(λμ) = Σ kernel ψψ, and ψ(0): tested with χψ, where ψ are orthonormal for χλ dF.

    χ is a power of λ/(λ + pole), which silences null directions, the more so the wider the gap above them; χ = 1 is
    better where eigenvalues span many scales.
    """
    chi, outer = ((at / (at + part.pole)) ** power for at in (part.nodes, part.z))
    triangle = _orthonormal(part.inside, chi * part.nodes * part.mass)
    count = len(triangle)
    basis, outside, origin = (
        scipy.linalg.solve_triangular(triangle, table[:, :count].T, trans=1).T
        for table in (part.inside, part.outside, part.origin)
    )
    tests, outside = basis * chi[:, None], outside * (outer * part.dz)[:, None]
    kernel = 2 * (outside.T @ (part.b @ outside + part.conjugate @ outside.conj())).real
    kernel = kernel - (tests.T @ (tests * (part.mass * part.multiplier**2)[:, None])).real
    if power == 0:
        kernel = kernel - part.null * origin.T @ origin
    return basis, (kernel + kernel.T) / 2 if part.symmetric else kernel, origin[0]


def polynomials(contour, nodes, mass, at=None):
    """ψ, orthonormal for λ dF on these nodes, a column each: there, or at points of any kind."""
    triangle = _orthonormal(_chebyshev(contour.position(nodes)), nodes * mass)
    table = _chebyshev(contour.position(nodes if at is None else at))[:, : len(triangle)]
    return scipy.linalg.solve_triangular(triangle, table.T, trans=1).T


def _chebyshev(y):
    """T_0, T_1, ... at points of any kind, a column each."""
    table = np.ones((len(y), _LARGEST), dtype=y.dtype)
    table[:, 1] = y
    for k in range(2, _LARGEST):
        table[:, k] = 2 * y * table[:, k - 1] - table[:, k - 2]
    return table


def _orthonormal(table, weights):
    """The triangle R such that the columns of table R⁻¹ are orthonormal; fewer columns if there are no more."""
    if np.iscomplexobj(table):
        gram = (table.T @ (table * weights[:, None])).real
        for count in range(len(gram), 0, -1):
            try:
                triangle = np.linalg.cholesky(gram[:count, :count]).T
            except np.linalg.LinAlgError:
                continue
            break
    else:
        triangle = np.linalg.qr(np.sqrt(weights)[:, None] * table, mode="r")
    small = np.abs(np.diag(triangle)) < 1e-6 * np.abs(triangle[0, 0])
    count = np.argmax(small) if small.any() else len(triangle)
    return triangle[:count, :count]


def sample(values, shares, rho=1.0):
    """The law of a sample of m = ρd rows: `values` are the eigenvalues of XᵀX/m, of mean 1, zeros included.

    Those of S are ρ times them, and :math:`x = \\rho G(z)` with G the Cauchy transform of the m × m matrix
    :math:`UU^\\top`. Contours and averages do not depend on the step: a law just used is used again.
    """
    return _sample(values.tobytes(), shares.tobytes(), float(rho))


@functools.lru_cache(maxsize=2)
def _sample(values, shares, rho):
    values, shares = np.frombuffer(values), np.frombuffer(shares)
    null = float(shares[values == 0].sum())
    positive, parts = rho * values[values > 0], shares[values > 0]
    gram, weights = levy.companion(values, shares, rho)

    def transform(z):
        gap = 1 / (z[:, None] - gram)
        return rho * gap @ weights, -rho * (gap**2) @ weights

    @functools.cache
    def average(contour):
        mean = levy.from_gram(gram, weights, rho, contour.low - contour.scale, 1e-13, contour.height)
        kept = np.abs(mean.weights) > 1e-9 * (
            mean.nodes == 0
        )  # an atom at zero of rounding errors puts a pole in b
        return mean.nodes[kept], mean.weights[kept]

    spectrum = flip_flop_spectra.SampleSpectrum(values, shares, rho)
    return Law(
        *(float(positive[0]), float(gram[-1]), rho, null),
        *(transform, average, lambda *_: (positive, parts), spectrum),
    )


def population(values, shares, rho, reach):
    """The law of S for m = ρd Gaussian rows whose covariance has these positive eigenvalues, of mean 1.

    F is integrated on a thin contour around its continuous part, whose tip is within `reach` of the left edge.
    """
    covariance = silverstein.Sample(values, shares, rho)
    edge = rho * covariance.leftmost(lambda x, v: 1.0)

    def excess(log):  # of −x² dz/dx over ρ, along x < 1/max: its zero is the right edge
        ratio = values / (values[-1] * (1 + np.exp(log)) - values)
        return np.log(shares @ ratio**2 / rho)

    x = 1 / (values[-1] * (1 + np.exp(scipy.optimize.brentq(excess, -30, 30))))
    high = rho / x + shares @ (values / (1 - values * x))
    gauss = levy.from_covariance(values, shares, tolerance=1e-13)

    def transform(z):
        x = -covariance.companion(np.where(z.imag > 0, z, z.conj()) / rho)
        x = np.where(z.imag > 0, x, x.conj())
        return x, 1 / (((values / (1 - np.multiply.outer(x, values))) ** 2) @ shares - rho / x**2)

    def measure(contour, fine):
        thin = Contour(edge, high, min(contour.scale / 2, reach), 1.0)
        thin = Contour(edge, high, thin.scale, np.arcsinh((0.8 if fine else 0.7) / thin.length))
        z, dz = thin(32)
        z, dz = np.concatenate([z, z.conj()]), np.concatenate([dz, dz.conj()])
        return z, (transform(z)[0] + (1 - rho) / z) * dz

    null = max(0.0, 1 - rho)
    spectrum = flip_flop_spectra.PopulationSpectrum(values, shares, rho)
    return Law(
        *(float(edge), float(high), rho, null),
        *(transform, lambda _: (gauss.nodes, gauss.weights), measure, spectrum),
    )
