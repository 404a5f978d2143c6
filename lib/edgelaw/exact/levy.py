r"""The average behind every learning curve on an arbitrary spectrum.

The large-d equations of all orders contain the data through one linear functional :math:`\langle\varphi\rangle` of
functions of an eigenvalue: the mean over the covariance's eigenvalues (`from_covariance`) or, from a sample, what has
the free cumulants of its spectrum as moments (`from_sample`). With G the Cauchy transform of that and
:math:`t = 1/G(\zeta)`,

.. math:: \Bigl\langle\frac{t}{t-\lambda}\Bigr\rangle = \frac{\zeta}{t}, \qquad\text{so}\qquad
   \langle\varphi\rangle = \frac{1}{2\pi i}\oint \varphi(t)\,\frac{\zeta}{t^2}\,dt ,

a sum over the poles of a rational approximation to :math:`\zeta/t` on a contour, read off a Loewner pencil (the
appendix "Any spectrum").
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
Contour = Callable[[int], npt.NDArray]  # so many points of its upper half, from right to left
_LOEWNER = 60, 120, 200, 240  # points on half of it: more where eigenvalues are seen one by one


@dataclass(frozen=True, eq=False)
class Average:
    r"""Nodes and weights of the functional :math:`\langle\varphi\rangle = \sum_k w_k \varphi(\lambda_k)`.

    They are real for a covariance, and complex and closed under conjugation for a sample; the weights, and weights
    times nodes, add up to 1. `error` is the largest deviation of :math:`\langle t/(t-\lambda)\rangle` on the contour:
    what to expect of functions of order one that are analytic inside.

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
    r"""The average from the eigenvalues of :math:`X^\top X/m` for m = ρd rows whose left basis is Haar.

    Zeros are included, on any scale; `weights` are their shares if not equal, and no more than ρ of them are positive.
    Functions averaged may be singular at −`reach` and beyond; n epochs at an effective step c bring them to about
    1/(cn). An `Average.error` above the `tolerance` is an `ArithmeticError`. The free cumulants of a spectrum:

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
    """The average from the spectrum of the m × m Gram matrix (`companion`), with an `ellipse` in ζ as the contour.

    It is around the eigenvalues above the pole. Functions are singular at ζ ≈ −1/(cn) after n epochs at step c.
    """
    inside = values[values > pole]
    return from_contour(values, shares, rho, lambda points: ellipse(inside, pole, points, angle), tolerance)


def from_contour(values: Array, shares: Array, rho: float, contour: Contour, tolerance: float) -> Average:
    """The average from the spectrum of the Gram matrix for functions analytic inside a contour in ζ.

    `contour(points)` gives so many points of its upper half, from right to left. The last node is 0, with what is left.
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
    """
    best: tuple = (None, None, np.inf)
    for points in _LOEWNER:
        before = best[2]
        t, y = sampled(2 * points + 1)
        matrix, sizes = _pencil(*sampled(points))
        for sharper in (1.0, 0.1, 1e-2):
            visible = sizes > max(sharper * tolerance, 1e-14) * sizes[0]  # the others are noise
            count = max(1, int(visible.sum()))
            poles = np.linalg.eigvals(matrix[:count, :count] / sizes[:count, None]).astype(complex)
            best = min(best, _fitted(poles, t, y), key=lambda result: result[2])
            if best[2] <= tolerance:
                return best
        if best[2] > before / 2:
            break  # more points do not help
    return best


def from_covariance(
    eigenvalues: ArrayLike, weights: ArrayLike | None = None, reach: float = 0.02, tolerance: float = 1e-10
) -> Average:
    r"""The average from the eigenvalues of a covariance: a Gauss rule in :math:`\log(\lambda + \text{reach})`.

    The arguments are those of `from_sample`. Where the eigenvalues are few, they are the nodes.

    >>> average = from_covariance(1 / np.sqrt(np.arange(1, 1001)))
    >>> len(average.nodes) < 30, round(float(average(average.nodes)), 9)
    (True, 1.0)
    """
    values, shares = arguments.spectrum(eigenvalues, weights)
    reach = arguments.number(reach, "reach", 0)
    tolerance = arguments.number(tolerance, "tolerance", 0)
    t, size = ellipse(values, -reach)[:, None], 12
    exact = (shares * t / (t - values)).sum(axis=1)
    while True:
        nodes, masses = _gauss(values, shares, reach, size)
        error = np.abs((masses * t / (t - nodes)).sum(axis=1) - exact).max()
        if error <= tolerance or size >= len(values):
            return Average(nodes, masses, float(error))
        size += size // 2


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
        return min(reach, values[0])
    return float(np.exp(bracketed_root(excess, low, high + 1)))


def ellipse(
    values: Array, pole: float, points: int = _LOEWNER[-1], angle: float = HALF_HEIGHT
) -> npt.NDArray:
    """The upper half of an ellipse in log(ζ − pole) about the values above the pole, from right to left."""
    low, high = np.log(values[0] - pole), np.log(values[-1] - pole)
    theta = np.pi * (np.arange(points) + 0.5) / points
    width = np.hypot((high - low) / 2, angle)
    return pole + np.exp((low + high) / 2 + width * np.cos(theta) + 1j * angle * np.sin(theta))


def _fitted(poles: npt.NDArray, t: npt.NDArray, y: npt.NDArray) -> tuple[npt.NDArray, npt.NDArray, float]:
    """Poles p inside the contour, residues r and the error of y(t) = 1 + Σ r/(t − p), with these poles, real or in
    pairs.

    Poles at zero (a derivative there, as for equal eigenvalues) become two of opposite sign. Poles outside take part in
    the fit: a contour that leaves out a lone null eigenvalue needs them.
    """
    small = 2e-5 * np.abs(t).min()
    tiny = np.abs(poles) < 2 * small
    poles = np.concatenate([poles[~tiny], [small, -small] if tiny.any() else []])
    real, upper = poles[poles.imag == 0].real, poles[poles.imag > 0]
    one, other = 1 / (t[:, None] - upper), 1 / (t[:, None] - upper.conj())
    columns = np.concatenate([1 / (t[:, None] - real), one + other, 1j * (one - other)], axis=1)
    columns, target = (np.concatenate([part.real, part.imag]) for part in (columns, y - 1))
    sizes = np.linalg.norm(columns, axis=0)
    solution = np.linalg.lstsq(columns / sizes, target, rcond=1e-13)[0] / sizes
    first, second, third = np.split(solution, [len(real), len(real) + len(upper)])
    pairs = second + 1j * third
    nodes = np.concatenate([real, upper, upper.conj()])
    inside = _encloses(t, nodes)
    residues = np.concatenate([first, pairs, pairs.conj()])
    return nodes[inside], residues[inside], np.abs(columns @ solution - target).max()


def _pencil(t: npt.NDArray, y: npt.NDArray) -> tuple[Array, Array]:
    """The Loewner pencil of points and their conjugates: the second matrix in the singular basis of the first.

    Points are left and right in turn; the matrices of y − 1 are scaled by √|t| on both sides and made real.
    """
    (left, values), (right, others) = ((t[k::2], y[k::2] - 1) for k in (0, 1))
    left, values, right, others = (np.concatenate([x, x.conj()]) for x in (left, values, right, others))
    scale = np.sqrt(np.abs(left))[:, None] * np.sqrt(np.abs(right)) / (left[:, None] - right)
    plain = _of_conjugate_pairs((values[:, None] - others) * scale)
    shifted = _of_conjugate_pairs(((left * values)[:, None] - right * others) * scale)
    rows, sizes, columns = np.linalg.svd(plain)
    return rows.T @ shifted @ columns.T, sizes


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
    """The Gauss rule of the measure for polynomials in log(λ + reach), or the measure itself if it is as small."""
    if size >= len(values):
        return values, shares
    u = np.log(values + reach)
    centre, scale = (u[0] + u[-1]) / 2, (u[-1] - u[0]) / 2
    roots, masses = sources.gauss_rule((u - centre) / scale, shares, size)
    return np.maximum(np.exp(centre + scale * roots) - reach, 0), masses
