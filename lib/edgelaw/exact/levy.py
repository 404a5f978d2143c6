r"""The average behind every learning curve on an arbitrary spectrum.

For rows of a given covariance the large-d equations of all orders contain the data through one linear functional
:math:`\langle\varphi\rangle` of functions of an eigenvalue, with :math:`\langle1\rangle = \langle\lambda\rangle = 1`:

- from the covariance, :math:`\langle\varphi\rangle` is the mean of φ over its eigenvalues (`from_covariance`);
- from a sample of m = d rows, :math:`\langle\lambda^n\rangle` is the n-th *free cumulant* of the spectrum F of the
  sample, its Lévy measure in the sense of free probability (`from_sample`; for other m see there). With G the Cauchy
  transform of F and :math:`t = 1/G(\zeta)`,

.. math:: \Bigl\langle\frac{t}{t-\lambda}\Bigr\rangle = \frac{\zeta}{t}, \qquad\text{so}\qquad
   \langle\varphi\rangle = \frac{1}{2\pi i}\oint \varphi(t)\,\frac{\zeta}{t^2}\,dt .

No population spectrum is estimated, and none need exist: the functional is exact for the eigenvalues given, and it
may be one that no positive measure gives. It is represented by nodes and weights, :math:`\langle\varphi\rangle =
\sum_k w_k\varphi(\lambda_k)`. For a sample they are the poles and residues of a rational approximation to
:math:`\zeta/t` on a contour around the support, read off a Loewner pencil: two or three dozen complex nodes, closed
under conjugation, where the trapezoidal rule on the contour would take several times as many. For Marchenko–Pastur
the one node λ = 1 comes out. For a covariance they are a Gauss rule in :math:`\log(\lambda + \text{reach})`, real and
positive.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from edgelaw._common import arguments
from edgelaw._common.numerics import bracketed_root
from edgelaw._common.types import Array, ArrayLike
from edgelaw.exact import sources

__all__ = ["Average", "from_covariance", "from_sample"]

HALF_HEIGHT = 1.2  # of the contour in log(λ + reach): functions averaged must be analytic inside it
_ON_CONTOUR = 240  # on the upper half of the contour
_LOEWNER = 60, 120, 200, 240  # points there that give the nodes: more where eigenvalues are seen one by one


@dataclass(frozen=True, eq=False)
class Average:
    r"""Nodes and weights of the functional :math:`\langle\varphi\rangle = \sum_k w_k \varphi(\lambda_k)`.

    Attributes
    ----------
    nodes, weights : ndarray
        Real for a covariance; complex and closed under conjugation for a sample. The weights add up to 1, and so do
        weights times nodes.
    error : float
        The largest deviation of :math:`\langle t/(t-\lambda)\rangle` from its exact value on the contour: the
        accuracy to be expected for functions of order one that are analytic inside.

    Examples
    --------
    >>> average = from_covariance([0.5, 1.5], reach=0.1)
    >>> round(float(average(average.nodes**2)), 6)
    1.25
    """

    nodes: npt.NDArray = field(repr=False)
    weights: npt.NDArray = field(repr=False)
    error: float

    def __call__(self, values: npt.ArrayLike) -> npt.NDArray:
        """⟨φ⟩ from the values of φ at the nodes, which run along the last axis."""
        return np.asarray(values) @ self.weights


def from_sample(
    eigenvalues: ArrayLike,
    weights: ArrayLike | None = None,
    reach: float = 0.02,
    tolerance: float = 1e-6,
    rho: float = 1.0,
) -> Average:
    r"""The average from the eigenvalues of a sample of m = ρd rows, whose left basis is Haar.

    For ρ ≠ 1 it is the m × m matrix :math:`XX^\top/m` whose free cumulants count, since
    :math:`\langle\lambda^n\rangle = \rho\,\kappa_n`: it is a free sum of d rank-one matrices, one a dimension. Its
    spectrum is that of :math:`X^\top X/m` with zeros added (m > d) or removed (m < d). With
    :math:`t = 1/G(\zeta)` for this spectrum, :math:`\langle t/(t-\lambda)\rangle = 1 + \rho\,(\zeta/t - 1)`.

    Parameters
    ----------
    eigenvalues : array_like
        Of :math:`X^\top X/m`, zeros included, on any scale: they are divided by their mean.
    weights : array_like, optional
        The share of the spectrum at each eigenvalue, if not equal: a quadrature of a continuous law.
    reach : float
        Functions averaged may have singularities at :math:`-\text{reach}` and beyond on the negative axis; n epochs
        at an effective step c bring them to about :math:`1/(cn)`.
    tolerance : float
        Wanted for `Average.error`.
    rho : float
        m/d. No more than this share of the eigenvalues may be positive.

    Returns
    -------
    Average
        With complex nodes.

    Raises
    ------
    ArithmeticError
        If no rational approximation is that accurate.

    Examples
    --------
    The free cumulants of a spectrum: its mean, its variance, ...

    >>> average = from_sample(np.linspace(0, 2, 41))
    >>> [round(float(average(average.nodes**k).real), 5) for k in (0, 1, 2)]
    [1.0, 1.0, 0.35]
    """
    rho = arguments.aspect(rho)
    values, shares = companion(*arguments.spectrum(eigenvalues, weights), rho)
    reach = rho * arguments.number(reach, "reach", 0)
    tolerance = arguments.number(tolerance, "tolerance", 0)
    average = from_gram(values, shares, rho, -_reached(values, shares, reach), tolerance)
    if not average.error <= tolerance:
        raise ArithmeticError(
            f"The average over this spectrum has an error of {average.error:.1e}, more than {tolerance:.1e}: ask for a "
            "larger reach (fewer epochs) or tolerance."
        )
    return average


def from_gram(
    values: Array, shares: Array, rho: float, pole: float, tolerance: float = 1e-8, angle: float = HALF_HEIGHT
) -> Average:
    r"""The average from the spectrum of the m × m Gram matrix, mean 1, for functions analytic inside a given contour.

    The contour is an ellipse in :math:`\log(\zeta - \text{pole})` around the eigenvalues above the pole: seen in ζ, not
    in t, so that it keeps its distance from single eigenvalues whatever the gaps. A function may be singular at the
    image of the pole in t and beyond. After n epochs at an effective step c that is at
    :math:`\zeta \approx -1/(cn)`; in a gap the pole may be positive.

    Parameters
    ----------
    values, shares : ndarray
        As `companion` returns them, ascending.
    rho : float
        m/d.
    pole : float
        Below the eigenvalues that the contour goes around; those below it stay outside.
    tolerance : float
        Aimed at for `Average.error`, which says what was reached.
    angle : float
        Half the height of the ellipse.

    Returns
    -------
    Average
        With complex nodes; the last one is 0 and takes what the others leave of the weight.

    Examples
    --------
    >>> flat = from_gram(np.array([1.0]), np.array([1.0]), 1.0, pole=-0.1)
    >>> [round(float(flat(flat.nodes**k).real), 6) for k in (0, 1, 2)]
    [1.0, 1.0, 0.0]
    """
    inside = values[values > pole]
    return from_contour(values, shares, rho, lambda points: ellipse(inside, pole, points, angle), tolerance)


def from_contour(
    values: Array, shares: Array, rho: float, contour: Callable[[int], npt.NDArray], tolerance: float
) -> Average:
    """The average from the spectrum of the Gram matrix for functions analytic inside a contour in ζ.

    `contour(points)` gives so many points of its upper half, from right to left; the rest is as in `from_gram`.

    Examples
    --------
    >>> circle = lambda points: 1 + 1.1 * np.exp(1j * np.pi * (np.arange(points) + 0.5) / points)
    >>> average = from_contour(np.array([0.5, 1.5]), np.array([0.5, 0.5]), 1.0, circle, 1e-8)
    >>> round(float(average(average.nodes**2).real), 6)
    0.25
    """

    def sampled(points: int) -> tuple[npt.NDArray, npt.NDArray]:
        zeta = contour(points)
        t = 1 / (shares / (zeta[:, None] - values)).sum(axis=1)
        return t, zeta / t

    nodes, residues, error = rational(sampled, tolerance)
    masses = rho * residues / nodes
    return Average(np.append(nodes / rho, 0), np.append(masses, 1 - masses.sum()), float(error))


def rational(
    sampled: Callable[[int], tuple[npt.NDArray, npt.NDArray]], tolerance: float
) -> tuple[npt.NDArray, npt.NDArray, float]:
    """Poles p, residues r and the error of 1 + Σ r/(t − p), which is to be y(t) on a contour.

    `sampled(points)` gives t and y at so many points of the contour's upper half, from right to left. Only poles inside
    are returned.

    Examples
    --------
    >>> def sampled(points):
    ...     t = 2 * np.exp(1j * np.pi * (np.arange(points) + 0.5) / points)
    ...     return t, 1 + 0.5 / (t - 1)
    >>> poles, residues, error = rational(sampled, 1e-10)
    >>> len(poles), round(float(poles[0].real), 8), round(float(residues[0].real), 8)
    (1, 1.0, 0.5)
    """
    best: tuple = (None, None, np.inf)
    for points in _LOEWNER:
        before = best[2]
        t, y = sampled(2 * points + 1)
        matrix, sizes = _pencil(*sampled(points))
        for sharper in (1.0, 0.1, 1e-2):
            poles = _pencil_poles(matrix, sizes, max(sharper * tolerance, 1e-14))
            attempt = _rational(poles, t, y, 2e-5 * np.abs(t).min())
            best = min(best, attempt, key=lambda result: result[2])
            if best[2] <= tolerance:
                return best
        if best[2] > before / 2:
            break  # more points do not help
    return best


def from_covariance(
    eigenvalues: ArrayLike,
    weights: ArrayLike | None = None,
    reach: float = 0.02,
    tolerance: float = 1e-10,
) -> Average:
    r"""The average from the eigenvalues of a covariance: a Gauss rule in :math:`\log(\lambda + \text{reach})`.

    Parameters
    ----------
    eigenvalues : array_like
        Non-negative, on any scale.
    weights, reach, tolerance
        As in `from_sample`.

    Returns
    -------
    Average
        With real non-negative nodes and positive weights; the eigenvalues themselves where they are few.

    Examples
    --------
    >>> average = from_covariance(1 / np.sqrt(np.arange(1, 1001)))
    >>> len(average.nodes) < 30, round(float(average(average.nodes)), 9)
    (True, 1.0)
    """
    values, shares = arguments.spectrum(eigenvalues, weights)
    reach = arguments.number(reach, "reach", 0)
    tolerance = arguments.number(tolerance, "tolerance", 0)
    t = ellipse(values, -reach)
    y = (shares * t[:, None] / (t[:, None] - values)).sum(axis=1)
    size = 8
    while True:
        size = min(size + size // 2, len(values))
        nodes, masses = (values, shares) if size == len(values) else _gauss(values, shares, reach, size)
        error = np.abs((masses * t[:, None] / (t[:, None] - nodes)).sum(axis=1) - y).max()
        if error <= tolerance or size == len(values):
            return Average(nodes, masses, float(error))


def companion(values: Array, shares: Array, rho: float) -> tuple[Array, Array]:
    """The spectrum of the m × m Gram matrix, m = ρd, of mean 1, from that of the d × d one: other zeros."""
    positive = values > 0
    shares = shares[positive] / rho
    null = 1 - shares.sum()
    if null < -1e-9:
        raise ValueError(
            f"{shares.sum() * rho:.3g} of the eigenvalues are positive, more than the share rho = {rho:.3g} that "
            "so few rows can carry."
        )
    values = values[positive] * rho
    if null < 1e-9:
        return values, shares / shares.sum()
    return np.append(0.0, values), np.append(null, shares)


def _reached(values: Array, shares: Array, reach: float) -> float:
    """How far left of zero ζ is when t = 1/G(ζ) is at −reach."""

    def excess(log: float) -> float:
        return reach * (shares / (np.exp(log) + values)).sum() - 1

    low, high = -80.0, np.log(reach + 1)  # by Jensen, G(−ζ) ≥ −1/ζ, and ζ + 1 ≥ reach at the root
    if excess(low) <= 0:  # a gap: t = −reach lies between zero and the spectrum
        return np.exp(low) if values[0] == 0 else min(reach, values[0])
    return float(np.exp(bracketed_root(excess, low, high + 1)))


def ellipse(values: Array, pole: float, points: int = _ON_CONTOUR, angle: float = HALF_HEIGHT) -> npt.NDArray:
    """The upper half of an ellipse in log(ζ − pole) about the values above the pole, from right to left."""
    low, high = np.log(values[0] - pole), np.log(values[-1] - pole)
    half = (high - low) / 2
    theta = np.pi * (np.arange(points) + 0.5) / points
    u = (low + high) / 2 + np.hypot(half, angle) * np.cos(theta) + 1j * angle * np.sin(theta)
    return pole + np.exp(u)


def _rational(
    poles: npt.NDArray, t: npt.NDArray, y: npt.NDArray, small: float
) -> tuple[npt.NDArray, npt.NDArray, float]:
    """Nodes p, residues r and the error of y(t) = 1 + Σ r/(t − p) with these poles.

    Poles at zero (a derivative there, as for equal eigenvalues) become two of opposite sign, ±small. Poles outside the
    contour take part in the fit and are then left out: functions averaged are analytic inside, and see nothing of
    them. A contour that leaves out a lone null eigenvalue needs them.
    """
    tiny = np.abs(poles) < 2 * small
    poles = np.concatenate([poles[~tiny], [small, -small] if tiny.any() else []])
    real = poles[poles.imag == 0].real
    upper = poles[poles.imag > 0]
    one, other = 1 / (t[:, None] - upper), 1 / (t[:, None] - upper.conj())
    columns = np.concatenate([1 / (t[:, None] - real), one + other, 1j * (one - other)], axis=1)
    columns, target = np.concatenate([columns.real, columns.imag]), np.concatenate([y.real - 1, y.imag])
    sizes = np.linalg.norm(columns, axis=0)
    solution = np.linalg.lstsq(columns / sizes, target, rcond=1e-13)[0] / sizes
    error = np.abs(columns @ solution - target).max()
    first, second, third = np.split(solution, [len(real), len(real) + len(upper)])
    pairs = second + 1j * third
    nodes, residues = (
        np.concatenate([real, upper, upper.conj()]),
        np.concatenate([first, pairs, pairs.conj()]),
    )
    inside = _encloses(t, nodes)
    return nodes[inside], residues[inside], error


def _pencil(t: npt.NDArray, y: npt.NDArray) -> tuple[Array, Array]:
    """The Loewner pencil of points and their conjugates: the second matrix in the singular basis of the first.

    Points are left and right in turn. The Loewner matrices of y − 1, which vanishes at infinity, are scaled by
    √|t| on both sides and made real by the unitary map of conjugate pairs.
    """
    (left, values), (right, others) = ((t[k::2], y[k::2] - 1) for k in (0, 1))
    left, values, right, others = (np.concatenate([x, x.conj()]) for x in (left, values, right, others))
    scale = np.sqrt(np.abs(left))[:, None] * np.sqrt(np.abs(right)) / (left[:, None] - right)
    plain = _of_conjugate_pairs((values[:, None] - others) * scale)
    shifted = _of_conjugate_pairs(((left * values)[:, None] - right * others) * scale)
    rows, sizes, columns = np.linalg.svd(plain)
    return rows.T @ shifted @ columns.T, sizes


def _pencil_poles(matrix: Array, sizes: Array, truncation: float) -> npt.NDArray:
    """Poles of the rational function that a pencil suggests, real or in pairs; below the truncation is noise."""
    count = max(1, int((sizes > truncation * sizes[0]).sum()))
    return np.linalg.eigvals(matrix[:count, :count] / sizes[:count, None]).astype(complex)


def _of_conjugate_pairs(matrix: npt.NDArray) -> Array:
    """A matrix over points followed by their conjugates, in the basis of real and imaginary parts: it is real."""
    for _ in range(2):
        one, other = np.split(matrix, 2)
        matrix = np.concatenate([one + other, (one - other) / 1j]).T / np.sqrt(2)
    return matrix.real


def _encloses(upper: npt.NDArray, points: npt.NDArray) -> npt.NDArray:
    """Whether the closed curve with this upper half winds around the points."""
    curve = np.concatenate([upper, upper[::-1].conj(), upper[:1]])
    turns = np.angle((curve[1:, None] - points) / (curve[:-1, None] - points)).sum(axis=0)
    return np.abs(turns) > np.pi


def _gauss(values: Array, shares: Array, reach: float, size: int) -> tuple[Array, Array]:
    """The Gauss rule of the measure for polynomials in log(λ + reach)."""
    u = np.log(values + reach)
    centre, scale = (u[0] + u[-1]) / 2, (u[-1] - u[0]) / 2
    roots, masses = sources.gauss_rule((u - centre) / scale, shares, size)
    return np.maximum(np.exp(centre + scale * roots) - reach, 0), masses
