r"""The operator T of random reshuffle on any spectrum, :math:`\mathbb E_\pi A^\top g(S) A \simeq (Tg)(S)`.

Let ⟨·⟩ be the average of :mod:`edgelaw.theory.levy`, η the step and m = ρd. For z off the spectrum F of
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

with ā and k/(λμ) entire. Numerics: ā by its integral, at the eigenvalues themselves; k/(λμ) by orthonormal
polynomials in :math:`\log(1+\lambda/0.3)`, from b on a contour around F. So the part of T that a large n depends
on is exact, and what is approximated is smooth. Everything is done on two contours, with two grids of s, and the
difference says how many polynomials the arithmetic can carry and how accurate the curve is.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.optimize
from numpy.polynomial import legendre

from edgelaw.theory import levy
from edgelaw.theory._any_spectrum import silverstein

_SCALE = 0.3  # eigenvalues below it look alike to the kernel
_LARGEST = 24  # polynomials
_FLOOR = 1e-12  # losses below it are held to an absolute accuracy
_TRUSTED = 1e-3  # a curve with a larger error is not returned
_DENSE = 1500  # up to so many nodes T may become a matrix


@dataclass(frozen=True, eq=False)
class Contour:
    """An ellipse around [low, high] in log(1 + (z − low)/scale): points, and dz/(2πi) by the trapezoidal rule."""

    low: float
    high: float
    scale: float
    eccentricity: float

    @property
    def length(self):
        return np.log1p((self.high - self.low) / self.scale)

    def scaled(self, factor):
        return Contour(self.low, self.high, self.scale, factor * self.eccentricity)

    def position(self, z):
        """Where z is if low and high are at −1 and 1."""
        return np.log1p((z - self.low) / self.scale) * 2 / self.length - 1

    def __call__(self, digits):
        """Points for an accuracy of e^(−digits)."""
        count = 2 * int(np.ceil(max(digits / 2 / self.eccentricity, 40)))
        angle = self.eccentricity + 2j * np.pi * (np.arange(count) + 0.5) / count
        u = self.length / 2 * (1 + np.cosh(angle))
        slope = self.scale * np.exp(u) * self.length / 2 * np.sinh(angle)
        return self.low + self.scale * np.expm1(u), slope / count


@dataclass(frozen=True, eq=False)
class Law:
    """A spectrum F as T needs it.

    `transform(z)` gives x and dx/dz; `average(contour)` nodes and weights of ⟨·⟩ for functions analytic outside the
    contour; `measure(fine)` nodes and masses of F without its null directions, a share `null`.
    """

    low: float
    high: float
    rho: float
    null: float
    transform: object
    average: object
    measure: object


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

    def radius(self):
        """The spectral radius of T between the polynomials of the basis."""
        weighted = self.basis.T * self.mass
        shift = (weighted * self.nodes) @ self.basis
        inside = (weighted * self.multiplier**2) @ self.basis + shift @ self.kernel @ shift
        return np.abs(scipy.linalg.eigvalsh(inside.real, (weighted @ self.basis).real)).max()


def losses(law, n, step):
    """Test and training loss of F's positive part at ascending n, and their relative error; or a refusal."""
    contour, parts = _resolutions(law, step)
    pole = 1 + 2 * max(0.0, -contour.scaled(1.1)(36)[0].real.min())
    tries = [_attempt(law, parts, n, pole, power) for power in (0, 1, 4)]
    better, error, radius = min(tries, key=lambda attempt: attempt[1])
    for other, allowed, _ in tries:  # each estimate must be true of the others too
        if np.isfinite(allowed):
            error = max(error, _distance(better, other) - 2 * allowed)
    asymmetry = parts[0].asymmetry
    if not (error <= _TRUSTED and radius <= 1 + _TRUSTED / 10 and asymmetry <= 1e-8):
        raise ArithmeticError(
            f"The reshuffle curve of this spectrum could not be computed: estimated relative error {error:.1e}, "
            f"spectral radius {radius:.4f}, asymmetry {asymmetry:.1e}."
        )
    return better, float(max(error, asymmetry))


def edge(law, step):
    r"""The rate −ā′(0) at a left edge at zero, the potential g(0) there, and their relative error; or a refusal.

    g solves :math:`(1-T)g = \lambda`. Divided by λ that is
    :math:`g(\lambda)(1-\bar a^2)/\lambda = 1 + \sum\psi_i(\lambda)K_{ij}c_j` with
    :math:`c_j = \int\psi_j\mu g\,dF`: a linear system for c, as large as the number of polynomials ψ.
    """
    contour, parts = _resolutions(law, step)
    kernels = [_kernel(law, part, 1.0, 0) for part in parts]
    sizes = _sizes(kernels[0][1], kernels[1][1], len(parts[0].nodes))
    rates = [_rate_at_zero(law, step, at) for at in (contour, contour.scaled(1.1))]
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


def _rate_at_zero(law, step, contour):
    """−ā′(0), by the derivative of ā's contour integral."""
    z, dz = contour(80)
    x, slope = law.transform(z)
    return float((np.exp(-step * law.rho / x) / z * slope / x * dz).sum().real)


def _potential_at_zero(part, basis, kernel, origin, rate):
    """g(0), with the polynomials at zero in `origin`."""
    weighted = basis.T * (part.mass * part.nodes**2 / (1 - part.multiplier**2))
    c = np.linalg.solve(np.eye(len(kernel)) - (weighted @ basis).real @ kernel, weighted.sum(axis=1).real)
    return float((1 + origin @ kernel @ c) / (2 * rate))


def _resolutions(law, step):
    """The contour, and what it and a wider one with a coarser grid give."""
    contour = _contour(law)
    return contour, [_parts(law, step, contour, 48), _parts(law, step, contour.scaled(1.1), 40)]


def _attempt(law, parts, n, pole, power):
    """Losses, their error and the spectral radius, with one choice of polynomials."""
    (one, basis, kernel, _), (other, rougher, rough, _) = (
        (part, *_kernel(law, part, pole, power)) for part in parts
    )
    size, fewer = _sizes(kernel, rough, len(one.nodes))
    operator = Operator(one.nodes, one.mass, one.multiplier, basis[:, :size], kernel[:size, :size])
    check = Operator(other.nodes, other.mass, other.multiplier, rougher[:, :fewer], rough[:fewer, :fewer])
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        better, worse = operator.losses(n), check.losses(n)
    error = _distance(better, worse) if fewer < size or size == len(one.nodes) else np.inf
    return better, error, operator.radius()


def _distance(better, worse):
    """The largest relative difference, infinite if there is no number."""
    with np.errstate(over="ignore", invalid="ignore"):
        distance = np.max(np.abs(better - worse) / np.maximum(np.abs(better), _FLOOR), initial=0.0)
    return distance if np.isfinite(distance) else np.inf


def _contour(law):
    """The first contour on which ⟨·⟩ is right, from close ones to wide ones.

    The test is :math:`\\langle\\lambda r\\rangle = 1 - 1/a`. It fails on a contour so close to single eigenvalues that
    x takes a value twice outside. A contour that wraps around in the logarithm meets functions that grow.
    """
    for scale in (_SCALE, 10 * _SCALE):
        for eccentricity in (0.35 if law.high > 20 else 0.4, 0.5, 0.65, 0.85, 1.1, 1.4, 1.8, 2.3):
            contour = Contour(law.low, law.high, scale, eccentricity)
            if contour.length / 2 * np.sinh(eccentricity) > 1.3:
                contour = Contour(law.low, law.high, scale, np.arcsinh(2.6 / contour.length))
            z, _ = contour(36)
            x, _ = law.transform(z)
            t, w = law.average(contour.scaled(0.5))
            wrong = np.abs((w * t / (1 - x[:, None] * t)).sum(axis=1) / z - 1 + law.rho / (x * z)).max()
            if wrong < 1e-12:
                return contour
            if contour.eccentricity < eccentricity:
                break
    raise ArithmeticError(
        "The reshuffle curve of this spectrum could not be computed: it has too few different eigenvalues, or gaps "
        "too wide, for a contour around it."
    )


def _sizes(kernel, rough, nodes):
    """How many polynomials: the number with the least sum of what is left out and what the two contours disagree on.

    The rough computation takes one less, unless they are all there are.
    """
    largest = min(len(kernel), len(rough))
    complete = largest == nodes
    noise = np.maximum.accumulate([np.abs((kernel - rough)[k, : k + 1]).max() for k in range(largest)])
    shell = np.array([np.abs(kernel[k, : k + 1]).max() for k in range(largest)])
    beyond = np.append(np.minimum.accumulate(shell[1:]), 0.0 if complete else np.inf)
    size = 1 + int(np.argmin(noise + beyond))
    return size, size if complete and size == largest else max(1, size - 1)


@dataclass(frozen=True, eq=False)
class Parts:
    """What one contour gives: F's nodes and masses, ā on them, Chebyshev polynomials there and outside, and b."""

    nodes: np.ndarray
    mass: np.ndarray
    multiplier: np.ndarray
    inside: np.ndarray
    outside: np.ndarray
    z: np.ndarray
    dz: np.ndarray
    b: np.ndarray
    asymmetry: float


def _parts(law, step, contour, points):
    z, dz = contour(36)
    x, _ = law.transform(z)
    nodes, mass = law.measure(points == 48)
    multiplier = _multiplier(law, step, contour, nodes)
    upper = np.flatnonzero(z.imag > 0)
    b = two_resolvents(law.average(contour.scaled(0.5)), z, x, law.rho, step, upper, points)
    asymmetry = np.abs(b[:, upper] - b[:, upper].T).max() / np.abs(x).max() ** 2
    inside, outside = (_chebyshev(contour.position(at)) for at in (nodes, z))
    return Parts(nodes, mass, multiplier, inside, outside, z, dz, b, asymmetry)


def _multiplier(law, step, contour, nodes):
    """ā at points inside the contour."""
    z, dz = contour(80)
    x, slope = law.transform(z)
    integrand = np.exp(-step * law.rho / x) * z * slope / x * dz
    values = (integrand / (nodes[:, None] - z)).sum(axis=1)
    return values if np.iscomplexobj(nodes) else values.real


def _kernel(law, part, pole, power):
    """Polynomials ψ on the nodes, k/(λμ) = Σ kernel ψψ, and ψ(0): tested with χψ, where ψ are orthonormal for χλ dF.

    χ is a power of λ/(λ + pole), which silences null directions, the more so the wider the gap above them; χ = 1 is
    better where eigenvalues span many scales.
    """
    chi, outer = ((at / (at + pole)) ** power for at in (part.nodes, part.z))
    triangle = _orthonormal(part.inside, chi * part.nodes * part.mass)
    count = len(triangle)
    origin = (-1.0) ** np.arange(_LARGEST)[None, :]  # the polynomials at the left end of the contour, zero
    basis, outside, origin = (
        scipy.linalg.solve_triangular(triangle, table[:, :count].T, trans=1).T
        for table in (part.inside, part.outside, origin)
    )
    tests, outside = basis * chi[:, None], outside * (outer * part.dz)[:, None]
    kernel = 2 * (outside[part.z.imag > 0].T @ part.b @ outside).real
    kernel = kernel - (tests.T @ (tests * (part.mass * part.multiplier**2)[:, None])).real
    if power == 0 and law.low == 0:
        kernel = kernel - law.null * origin.T @ origin
    return basis, (kernel + kernel.T) / 2, origin[0]


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


def two_resolvents(average, z, x, rho, step, rows, points):
    """b(z_i, z_j) for i in rows and all j."""
    t, w = average
    s, cumulative, weights = _grid(points, rho, step * np.abs(t).max() * rho)
    r, a, f, end, gamma, c = _one_resolvent(t, w, z, x, rho, step, cumulative, weights)
    q, c, s = gamma.T, c.T, s[:, None]
    table = np.empty((len(rows), len(z)), dtype=complex)
    for place, i in enumerate(rows):
        back, before = f[i][:, ::-1], gamma[i][::-1, None]  # the grid is symmetric: these are at ρ − s
        change = -step * t[:, None] * (back + a[i] * before.T)
        W = (w * r[i] * r).T
        pairs = ((t[:, None] * back)[:, :, None] * (change[:, None, :] * cumulative)).reshape(len(t), -1)
        pairs = (pairs.T @ W).reshape(points, points, -1)
        lone = (t[:, None] * change).T @ W
        D = 1 - a[i] * a * (t**2 @ W) * s
        p = ((t * end[i]) @ W + a * (cumulative @ (q * lone))) / D
        P = ((t * end[i])[:, None] * back).T @ W + a * np.einsum("stz,tz->sz", pairs, q)
        P += ((t**2)[:, None] * back).T @ W * (cumulative @ (a[i] * a * (p + a * q * s * lone) / D))
        integrand = step**2 * (c + a * q**2) * ((w * t * r[i]) @ back**2)[:, None]
        integrand += a[i] * step**2 * c * before**2 + a[i] * a * (p - step * q * before) ** 2
        integrand -= 2 * step * a * q * P
        table[place] = end[i] ** 2 @ W + weights @ integrand
    return table


def _one_resolvent(t, w, z, x, rho, step, cumulative, weights):
    """r (z, t), a (z), f (z, t, s), f at ρ (z, t), γ (z, s), c (z, s): the equations in integral form, implicit."""
    count, points, one = len(t), len(cumulative), np.eye(len(cumulative))
    r, a = 1 / (z[:, None] * (1 - x[:, None] * t)), x * z / rho
    solve = np.linalg.inv(one + step * t[:, None, None] * cumulative)
    start, response = solve.sum(axis=2), solve @ cumulative
    total = ((w * t**2 * r) @ response.reshape(count, -1)).reshape(-1, points, points)
    total = one + (step * a)[:, None, None] * total
    gamma = np.linalg.solve(total, ((w * t * r) @ start)[..., None])[..., 0]
    answer = (response.reshape(-1, points) @ gamma.T).reshape(count, points, -1).transpose(2, 0, 1)
    f = start - (step * a)[:, None, None] * t[:, None] * answer
    end = 1 - step * t * ((f + (a[:, None] * gamma)[:, None, :]) @ weights)
    solve = np.linalg.inv(one + 2 * step * t[:, None, None] * cumulative)
    start, response = solve.sum(axis=2), solve @ cumulative
    source = step * (a[:, None] * gamma)[:, None, :] * (step * gamma[:, None, :] - 2 * r[:, :, None] * f)
    free = r[:, :, None] * start + t[:, None] * (response @ source.transpose(1, 2, 0)).transpose(2, 0, 1)
    total = one - step**2 * ((w * t**2) @ response.reshape(count, -1)).reshape(points, points)
    c = np.linalg.solve(total, np.tensordot(w * t, free, (0, 1)).T).T
    return r, a, f, end, gamma, c


def _grid(points, rho, rate):
    """Gauss points on (0, ρ), dense at both ends if rates are high; ∫₀ˢ as a matrix, ∫₀^ρ as weights."""
    y, w = legendre.leggauss(points)
    P = legendre.legvander(y, points)
    order = np.arange(1, points)
    integrals = np.concatenate([(y + 1)[:, None], (P[:, 2:] - P[:, :-2]) / (2 * order + 1)], axis=1)
    cumulative = integrals @ ((P[:, :-1] * w[:, None]).T * (np.arange(points) + 0.5)[:, None])
    steep = min(4.0, 0.01 + np.log(max(rate, 1.0)) / 2)
    slope = rho * steep / np.cosh(steep * y) ** 2 / np.tanh(steep) / 2
    return rho * (1 + np.tanh(steep * y) / np.tanh(steep)) / 2, cumulative * slope, w * slope


def sample(values, shares, rho=1.0):
    """The law of a sample of m = ρd rows: `values` are the eigenvalues of XᵀX/m, of mean 1, zeros included.

    Those of S are ρ times them, and :math:`x = \\rho G(z)` with G the Cauchy transform of the m × m matrix
    :math:`UU^\\top`.
    """
    null = float(shares[values == 0].sum())
    positive, parts = rho * values[values > 0], shares[values > 0]
    gram, weights = levy.companion(values, shares, rho)
    low = float(min(gram[0], gram[-1] - 0.1)) if gram[0] > 0.05 and rho == 1 else 0.0

    def transform(z):
        gap = 1 / (z[:, None] - gram)
        return rho * gap @ weights, -rho * (gap**2) @ weights

    def average(contour):
        zeta, dz = contour(42)
        x, slope = transform(zeta)
        return 1 / x, -(zeta + (1 - rho) / x) * slope * dz

    return Law(low, float(gram[-1]), rho, null, transform, average, lambda fine: (positive, parts))


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

    def measure(fine):
        thin = Contour(edge, high, min(_SCALE, reach), 1.0)
        thin = Contour(edge, high, thin.scale, np.arcsinh((0.8 if fine else 0.7) / thin.length))
        z, dz = thin(32)
        return z, (transform(z)[0] + (1 - rho) / z) * dz

    low = float(edge) if edge > 0.05 else 0.0
    return Law(
        low, float(high), rho, max(0.0, 1 - rho), transform, lambda _: (gauss.nodes, gauss.weights), measure
    )
