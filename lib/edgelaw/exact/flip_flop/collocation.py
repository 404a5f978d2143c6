r"""Newton's method for flip-flop's boundary problem at one z, on panels of Gauss points; see :mod:`.boundary`.

With α = r/D and β = H/D every node has its own Riccati equation :math:`Y' = \lambda(\alpha - 2\beta Y + z\tilde\alpha
Y^2)`, Y(0) = 1, where a tilde mirrors s. Linearised it is scalar and stable forwards, so a panel's unknowns follow from
its left end by a matrix of the panel's size, and a panel acts on the next by one number. What the nodes share are
α, at all points, and β, at half of them, since β is its own mirror image: one dense system of that size for a Newton
step. Gauss collocation is symmetric, so the mirrored equation is collocated too, and its order at the ends of panels
is twice the number of points in one.

Where :math:`\langle1/\lambda\rangle` is finite, as at an edge of exponent above 1, all Y approach 1 and r approaches H
as z → 1. So the unknown is u = 1 − Y, and with p = H − r and q = H − zr̃, which are sums of their own,

.. math:: u' = \frac\lambda D\bigl(p + q - 2qu - z\tilde ru^2\bigr), \qquad D = H(p + q) - pq, \qquad
   1 - zY\tilde Y = 1 - z + z(u + \tilde u - u\tilde u),

in which no digits are lost.

Arrays are (nodes, points), points running through all panels; a mirror image is the reversed last axis.
"""

import abc
import functools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.linalg
from numpy.polynomial import legendre

from edgelaw._common.types import Array
from edgelaw.exact import levy

Complex = npt.NDArray[np.complex128]
_FOLDS = 3.0  # by which the training loss may fall in a panel, and the fastest node's part in the first
_GROWTH = 4.0  # from panel to panel


class Unsolved(ArithmeticError):
    """Newton's method did not converge."""


class Equations(abc.ABC):
    """The average, and what a walk around a circle needs of the equations at one z: of single rows, or of batches."""

    def __init__(self, average: levy.Average) -> None:
        moving = average.nodes != 0
        self.still = average.weights[~moving].sum().real  # λ = 0: never moves
        self.nodes, self.weights = (x[moving].astype(complex) for x in (average.nodes, average.weights))
        self.moments = self.nodes * self.weights

    @abc.abstractmethod
    def start(self) -> Complex:
        """The unknown X at z = 0."""

    @abc.abstractmethod
    def first_epoch(self) -> Array:
        """Both losses after the first epoch, the derivatives of the transforms at z = 0; without what never moves."""

    @abc.abstractmethod
    def newton(self, z: complex, X: Complex) -> tuple[Complex, Complex]:
        """X at z and 1/(1 − zY) at its end from a guess; `Unsolved` if that takes more than a few steps."""

    @abc.abstractmethod
    def mean_of_squares(self, z: complex, X: Complex) -> complex:
        """What the training loss has besides the average of λ/(1 − zY), over z."""

    def transforms(self, z: complex, X: Complex, touched: Complex) -> Complex:
        """The generating functions of the test and of the training loss at z, where `touched` is 1/(1 − zY)."""
        test = self.weights @ touched + self.still / (1 - z)
        return np.array([test, self.moments @ touched + z * self.mean_of_squares(z, X)])


@functools.lru_cache(maxsize=16)
def gauss(points: int) -> tuple[Array, Array]:
    """Collocation at the Gauss points of [0, 1]: what maps values to the integrals from 0 on, and to that up to 1."""
    x, weights = legendre.leggauss(points)
    to_series = legendre.legvander(x, points - 1).T * weights * (np.arange(points)[:, None] + 0.5)
    integrals = legendre.legint(np.eye(points), lbnd=-1)
    return legendre.legvander(x, points) @ integrals @ to_series / 2, weights / 2


def graded_panels(rho: float, first: float, longest: float = np.inf) -> Array:
    """Lengths of panels of [0, ρ], symmetric: they grow from both ends, where the fastest solutions decay."""
    lengths = [min(first, longest)]
    while sum(lengths) < rho / 2:
        lengths.append(min(_GROWTH * lengths[-1], longest))
    return np.array(lengths + lengths[::-1]) * (rho / 2 / sum(lengths))


@dataclass(frozen=True, eq=False)
class Flow:
    """Solutions of u' = −rate·u + force at every node: u = start·u₀ + inner·force in a panel whose left end is u₀.

    Its right end is factor·u₀ + finish·force. Arrays are (nodes, panels, ...).
    """

    inner: Complex
    start: Complex
    finish: Complex
    factors: Complex

    @classmethod
    def of(cls, rates: Complex, lengths: Array, points: int) -> "Flow":
        """For given rates at the points. The derivative in a panel is slopes·(u − u₀)/h, the end u₀ + ends·(u − u₀)."""
        integrals, weights = gauss(points)
        slopes = np.linalg.inv(integrals)
        ends = weights @ slopes
        matrices = np.tile(slopes / lengths[:, None, None] + 0j, (len(rates), 1, 1, 1))
        diagonal = np.arange(points)
        matrices[..., diagonal, diagonal] += rates.reshape(-1, len(lengths), points)
        inner = np.asarray(np.linalg.inv(matrices), dtype=np.complex128)
        start = inner @ slopes.sum(axis=1) / lengths[:, None]
        return cls(inner, start, ends @ inner, 1 + (start - 1) @ ends)

    def solution(self, force: Complex) -> tuple[Complex, Complex]:
        """u at all points and at the end, from 0 at the beginning and the force at all points."""
        force = force.reshape(self.start.shape)
        arriving = (self.finish * force).sum(axis=-1)
        left = [np.zeros(len(force), dtype=complex)]
        for factor, more in zip(self.factors.T, arriving.T, strict=True):
            left.append(factor * left[-1] + more)
        inside = self.start * np.array(left[:-1]).T[..., None] + (self.inner @ force[..., None])[..., 0]
        return inside.reshape(len(force), -1), left[-1]

    def responses(self, rows: Complex, columns: Complex) -> Complex:
        """Σ row·(response of u at a point to a force at another)·column over nodes: (3, points, 3, points).

        `rows` and `columns` are (3, nodes, points). A panel responds to earlier ones through its left end alone, so
        forces are carried there, and a product of matrices does the sum.
        """
        nodes, count, p = self.start.shape
        rows, columns = (x.reshape(3, nodes, count, p) for x in (rows, columns))
        result = np.zeros((count, 3, p, 3, count, p), dtype=complex)
        leaving = np.moveaxis(columns * self.finish, 1, -1)  # (3, panels, points, nodes)
        arriving = np.moveaxis(rows * self.start, 1, -1)
        carried = np.zeros((3, count, p, nodes), dtype=complex)
        for i in range(1, count):
            carried[:, : i - 1] *= self.factors[:, i - 1]
            carried[:, i - 1] = leaving[:, i - 1]
            earlier = carried[:, :i].reshape(-1, nodes)
            result[i, :, :, :, :i] = (arriving[:, i].reshape(-1, nodes) @ earlier.T).reshape(3, p, 3, i, p)
        # within a panel, for every source b: (3·p, nodes) @ (nodes, 3)
        inner = rows.transpose(2, 0, 3, 1)[:, None] * self.inner.transpose(1, 3, 2, 0)[:, :, None]
        within = inner.reshape(count, p, 3 * p, nodes) @ columns.transpose(2, 3, 1, 0)
        panels = np.arange(count)
        result[panels, :, :, :, panels] = within.reshape(count, p, 3, p, 3).transpose(0, 2, 3, 4, 1)
        return result.transpose(1, 0, 2, 3, 4, 5).reshape(3, count * p, 3, count * p)


@dataclass(frozen=True, eq=False)
class Fields:
    """At a given u: 1/(1 − zYỸ) at all nodes, and at all points what they share."""

    inverse: Complex
    H: Complex
    p: Complex
    q: Complex

    @property
    def r(self) -> Complex:
        """Of H less p."""
        return self.H - self.p

    @property
    def D(self) -> Complex:
        """H² − zrr̃."""
        return self.H * (self.p + self.q) - self.p * self.q

    def changes(self, z: complex, dr: Complex, dH: Complex) -> Complex:
        """Changes of α at all points and of β at half of them by those of r and H (first axis: points)."""
        r, H, D = (x.reshape(-1, *[1] * (dr.ndim - 1)) for x in (self.r, self.H, self.D))
        dD = 2 * H * dH - z * (r[::-1] * dr + r * dr[::-1])
        half = len(r) // 2
        return np.concatenate([(dr - r / D * dD) / D, ((dH - H / D * dD) / D)[:half]])


class Problem(Equations):
    """The boundary problem of m = ρd single rows for one average and step, with so many points in a panel.

    A panel covers so many e-foldings of the training loss only, which falls at most like that of isotropic rows. First
    come nodes without weight, the `probes`.
    """

    def __init__(
        self, average: levy.Average, rho: float, step: float, points: int, probes: Complex | None = None
    ) -> None:
        super().__init__(average)
        self.rho, self.step, self.points = rho, step, points
        fastest, longest = float(np.abs(average.nodes).max()), _FOLDS / (step * (2 - step))
        self.lengths = graded_panels(rho, _FOLDS / (step * fastest), longest)
        if probes is not None:
            self.nodes, self.weights = np.append(probes, self.nodes), np.append(0 * probes, self.weights)
            self.moments = self.nodes * self.weights

    @functools.cached_property
    def _at_zero(self) -> tuple[Complex, Complex]:
        """u at z = 0 and its end: its equations are linear there, and one step solves them."""
        u = np.zeros((len(self.nodes), self.points * len(self.lengths)), dtype=complex)
        return self._corrected(0j, u, self.linearised(0j, u))[:2]

    def start(self) -> Complex:
        """As of all equations."""
        return self._at_zero[0]

    def first_epoch(self) -> Array:
        """As of all equations."""
        u, end = self._at_zero
        return np.array(
            [self.weights @ (1 - end), self.moments @ (1 - end) + self.mean_of_squares(0j, u)]
        ).real

    # ------------------------------------------------------------------------------------------- Newton's method

    def newton(self, z: complex, X: Complex, steps: int = 8) -> tuple[Complex, Complex]:
        """As of all equations. A step of relative size ε leaves an error of ε².

        Close to the solution its derivatives are good enough for the next steps, which leave ε times their own size,
        and cost a fraction.
        """
        for _ in range(steps):
            try:
                linear = self.linearised(z, X)
            except (np.linalg.LinAlgError, ValueError):  # far from any solution
                break
            first = np.inf
            for _ in range(3):
                better, end, size = self._corrected(z, X, linear)
                first = min(first, size)
                if first * size < 1e-18:
                    return better, 1 / (1 - z + z * end)
                X = better if size < 0.5 else X + 0.5 / size * (better - X)
                if not size < 1e-3:
                    break
        raise Unsolved("Newton's method for the flip-flop equations did not converge.")

    def _corrected(self, z: complex, u: Complex, linear: "Linearised") -> tuple[Complex, Complex, float]:
        """A better u, its end and the relative size of the change, with the derivatives at a u nearby."""
        with np.errstate(all="ignore"):
            forcing = self._slope(z, u, self._fields(z, u)) + linear.rates * u
            change = u - linear.flow.solution(forcing)[0]  # of Y
            direct, mirrored, level = (linear.rows * change).sum(axis=1)
            shifts = linear.fields.changes(z, direct + mirrored[::-1], level + level[::-1])
            shifts = scipy.linalg.lu_solve(linear.solver, shifts, check_finite=False)
            alpha, half = np.split(shifts, [u.shape[1]])
            columns, beta = linear.columns, np.concatenate([half, half[::-1]])
            forcing -= columns[0] * alpha + columns[1] * alpha[::-1] + columns[2] * beta
            better, end = linear.flow.solution(forcing)
            moved = np.abs(better - u) / (np.abs(u) + abs(1 - z) / (1 + abs(z)))
            return better, end, float(moved.max())

    def linearised(self, z: complex, u: Complex) -> "Linearised":
        """Newton's equations at u."""
        with np.errstate(all="ignore"):
            fields, Y = self._fields(z, u), 1 - u
            rates, back = 2 * self._half_rates(z, u, fields), Y[:, ::-1]
            flow = Flow.of(rates, self.lengths, self.points)
            rows = (
                self.moments[:, None] * fields.inverse**2 * np.stack([np.ones_like(Y), z * back**2, z * back])
            )
            columns = self.nodes[:, None] * np.stack([np.ones_like(Y), z * Y**2, -2 * Y])
            matrix = -fields.changes(z, *_folded(flow.responses(rows, columns)))
            matrix[np.diag_indices(len(matrix))] += 1
            return Linearised(fields, rates, rows, columns, flow, scipy.linalg.lu_factor(matrix))

    def _fields(self, z: complex, u: Complex) -> Fields:
        back = u[:, ::-1]
        inverse = 1 / (1 - z + z * (u + back - u * back))
        seen = (1 - u) * inverse, z * (1 - back) * inverse  # Y/(1 − zYỸ) and its mirror image, times z
        H, p, q = (self.moments @ x for x in ((1 - u) * seen[1], (1 - z + z * back) * seen[0], u * seen[1]))
        return Fields(inverse, 1 / self.step + H, 1 / self.step - p, 1 / self.step - q)

    def _slope(self, z: complex, u: Complex, at: Fields) -> Complex:
        """u'."""
        return self.nodes[:, None] * ((at.p + at.q - 2 * at.q * u - z * at.r[::-1] * u * u) / at.D)

    def _half_rates(self, z: complex, u: Complex, at: Fields) -> Complex:
        """Minus the derivative of u' by u, halved: E' = −half·E."""
        return self.nodes[:, None] * ((at.q + z * at.r[::-1] * u) / at.D)

    # ------------------------------------------------------------------------------------------------ training loss

    def decayed(self, z: complex, u: Complex) -> tuple[Complex, Complex]:
        """E at all points and at s = ρ, from E(0) = 1."""
        integrals, weights = gauss(self.points)
        rates = self._half_rates(z, u, self._fields(z, u)).reshape(len(u), -1, self.points)
        rates = rates * self.lengths[:, None]
        ends = (rates @ weights).cumsum(axis=1)
        inside = ends[..., None] - (rates @ weights)[..., None] + rates @ integrals.T
        return np.exp(-inside.reshape(u.shape)), np.exp(-ends[:, -1])

    def mean_of_squares(self, z: complex, X: Complex) -> complex:
        """(1/ρ) ∫ (zαx² − 2βxy + α̃y²) ds, x = ⟨λEỸ/(1 − zYỸ)⟩, y = ⟨λE/(1 − zYỸ)⟩, from y − x and y."""
        at = self._fields(z, X)
        weighted = self.decayed(z, X)[0] * at.inverse
        less, y, q = self.moments @ (weighted * X[:, ::-1]), self.moments @ weighted, at.q[::-1]
        squares = (z * at.r * less**2 + 2 * q * less * y - (q + at.p[::-1]) * y**2) / at.D
        return complex(self.lengths @ squares.reshape(-1, self.points) @ gauss(self.points)[1]) / self.rho


@dataclass(frozen=True, eq=False)
class Linearised:
    """Newton's equations at some u: derivatives of r, r̃ and H by Y (rows), and of Y' by α, α̃ and β (columns)."""

    fields: Fields
    rates: Complex
    rows: Complex
    columns: Complex
    flow: Flow
    solver: tuple[Complex, npt.NDArray]


def _folded(responses: Complex) -> tuple[Complex, Complex]:
    """Derivatives of r and H at all points by α at all points and by β at half of them: mirror images added up."""
    half = responses.shape[1] // 2
    by_r = responses[0] + responses[1][::-1]
    by_H = responses[2] + responses[2][::-1]

    def columns(by: Complex) -> Complex:
        return np.concatenate([by[:, 0] + by[:, 1, ::-1], (by[:, 2] + by[:, 2, ::-1])[:, :half]], axis=1)

    return columns(by_r), columns(by_H)
